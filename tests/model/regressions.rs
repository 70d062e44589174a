//! Sequences that failed once, shrunk.

use super::ops::Op::{Other as Do, Unseen, User as See};
use super::ops::Other::{
    AddAgain, Append, AppendTwo, ChangeSchema, Checkpoint, CleanUp, DamageCheckpoint, DamageCommit,
    DamagedCommit, DeleteRows, Describe, Drop, Gap, Make, Mend, Overwrite, Remove, Vacuum,
};
use super::ops::User::{Forget, ListRoot, LookAtEverything, LookUpLatest, Remount, Time};
use super::ops::{New, Op};
use super::reference::Mode;
use super::user::run;

/// A file in the table root that holds `id`.
const FILE: New = New {
    place: 0,
    kind: 0,
    value: 0,
};
/// One that holds `id` and `extra`.
const EXTRA: New = New { kind: 1, ..FILE };

fn holds(mode: Mode, sequence: &[Op]) {
    if let Err(fault) = run(mode, sequence) {
        panic!("{fault}");
    }
}

fn holds_in_all_modes(sequence: &[Op]) {
    for mode in [Mode::Flat, Mode::Hive, Mode::Raw] {
        holds(mode, sequence);
    }
}

/// A file that was gone was told with the size of the log for ever, and came back with another.
#[test]
fn a_file_that_comes_back_has_its_size() {
    let new = |place, kind| New {
        place,
        kind,
        value: 0,
    };
    holds(
        Mode::Flat,
        &[
            Unseen(Append(new(0, 0))),
            Unseen(Append(new(3, 1))),
            Unseen(Remove(49)),
            Do(Vacuum(0)),
            Do(Append(new(0, 0))),
            Do(AddAgain(0)),
        ],
    );
}

/// Directories dated from 1970, for as long as the kernel cared to remember.
#[test]
fn a_damaged_newest_commit_leaves_the_others_their_times() {
    holds_in_all_modes(&[Do(DamagedCommit(0))]);
    holds_in_all_modes(&[Unseen(DamagedCommit(0)), Do(Append(FILE)), Do(Mend(false))]);
    holds_in_all_modes(&[Do(Append(FILE)), Do(Append(FILE)), Do(DamageCommit(1, 0))]);
}

/// `@latest/sub/f.parquet` was lost with the last file in `sub`.
#[test]
fn names_in_directories_of_latest_outlive_the_directory() {
    let hive = New { kind: 2, ..FILE };
    holds(
        Mode::Raw,
        &[Do(Append(New { place: 3, ..FILE })), Do(Remove(0))],
    );
    holds(Mode::Hive, &[Do(Overwrite(2, hive)), Do(Remove(0))]);
    // Another look at the log from its start.
    let sub = New { place: 1, ..FILE };
    let mended = [Do(DamagedCommit(0)), Do(Mend(false))];
    holds(
        Mode::Raw,
        &[&[Do(Append(sub)), Do(Remove(0))], &mended[..]].concat(),
    );
}

/// A damaged commit at the end took the names away that were listed before it.
#[test]
fn names_of_latest_outlive_a_damaged_commit() {
    holds_in_all_modes(&[Do(Append(FILE)), Do(DamagedCommit(0))]);
}

/// Names were found in the last 64 versions that `@latest` had shown.
#[test]
fn names_of_latest_outlive_a_hundred_versions() {
    let mut sequence = vec![Do(Append(FILE))];
    sequence.extend([Do(Overwrite(0, FILE)); 100]);
    sequence.extend([Unseen(Checkpoint(101)), Unseen(CleanUp(0, false))]);
    holds_in_all_modes(&sequence);
}

/// It opened as the schema before had it.
#[test]
fn a_refused_name_of_latest_is_refused_behind_a_damaged_commit() {
    holds(
        Mode::Flat,
        &[
            Do(ChangeSchema(1)),
            Do(Append(FILE)),
            Do(DamagedCommit(0)),
            See(Forget(1)),
            See(LookUpLatest(0)),
        ],
    );
}

/// Names in the raw view may begin as hidden ones do.
#[test]
fn names_of_latest_may_begin_with_an_underscore() {
    let underscore = New { place: 4, ..FILE };
    holds(
        Mode::Raw,
        &[
            Unseen(Append(underscore)),
            See(ListRoot),
            Do(DamageCommit(1, 0)),
            Unseen(Mend(false)),
            Do(Remove(0)),
        ],
    );
}

/// Versions that have only a checkpoint were not searched.
#[test]
fn names_of_latest_are_found_in_versions_without_commit() {
    holds(
        Mode::Raw,
        &[
            Do(Append(FILE)),
            Do(Append(FILE)),
            Do(Remove(0)),
            Do(Checkpoint(2)),
            Unseen(CleanUp(0, true)),
            Do(DamageCommit(0, 0)),
        ],
    );
}

/// `@v3/f0.parquet`, which version 3 must refuse, opened with the bytes that it has in version 1.
#[test]
fn an_own_name_means_nothing_in_a_version_of_another_schema() {
    holds(
        Mode::Flat,
        &[
            Do(AppendTwo(FILE, FILE)),
            Do(Overwrite(1, FILE)),
            Do(AddAgain(0)),
        ],
    );
    holds(
        Mode::Flat,
        &[
            Do(Checkpoint(0)),
            Do(AppendTwo(FILE, EXTRA)),
            Do(DamageCommit(0, 0)),
            Unseen(ChangeSchema(1)),
        ],
    );
}

/// A checkpoint stands in for a damaged commit, also where files are named after the schemas that
/// all the commits tell of.
#[test]
fn a_checkpoint_stands_in_for_a_damaged_commit() {
    holds_in_all_modes(&[Do(Checkpoint(0)), Do(DamageCommit(0, 1))]);
    // The mount has listed the log before the checkpoint came.
    holds_in_all_modes(&[Unseen(Checkpoint(0)), Do(DamageCommit(0, 2))]);
}

/// It was taken for a commit of no consequence, and its files for ones of the schema before.
#[test]
fn a_damaged_commit_tells_no_schema() {
    holds(
        Mode::Flat,
        &[
            Unseen(Describe),
            Unseen(ChangeSchema(1)),
            Unseen(Append(EXTRA)),
            Unseen(Append(FILE)),
            See(ListRoot),
            Unseen(Checkpoint(2)),
            Do(DamageCommit(2, 2)),
        ],
    );
}

/// A mount that had seen the gap did not see it mended.
#[test]
fn a_gap_that_is_mended_is_gone() {
    holds_in_all_modes(&[Do(Gap), See(Remount), Do(Mend(false))]);
    holds_in_all_modes(&[Do(Gap), See(Remount), Unseen(Mend(false))]);
    holds_in_all_modes(&[Do(Gap), See(Remount), Do(Mend(true))]);
}

/// The version that filled the gap was the answer to every time before it.
#[test]
fn a_gap_that_is_mended_has_a_time() {
    holds_in_all_modes(&[Do(Gap), See(Remount), See(ListRoot), Do(Mend(false))]);
    // Asked for before anything else.
    let time = See(Time(69, 0));
    holds_in_all_modes(&[Do(Gap), See(Remount), Unseen(Mend(false)), time]);
    // Nothing is known before the gap.
    let cleaned_up = [Do(Checkpoint(0)), Unseen(CleanUp(0, true)), Do(Gap)];
    holds_in_all_modes(&[&cleaned_up[..], &[See(ListRoot), Do(Mend(false))]].concat());
}

/// All inode numbers changed.
#[test]
fn a_log_cleaned_up_while_nobody_looked_is_of_the_same_table() {
    let idle = [Do(Append(FILE)), Unseen(Append(FILE)), Unseen(Append(FILE))];
    let cleaned_up = [
        Unseen(Checkpoint(3)),
        Do(CleanUp(0, false)),
        See(LookAtEverything),
    ];
    holds_in_all_modes(&[&idle[..], &cleaned_up].concat());
    // What is left cannot be read to its end.
    let damaged = [Unseen(CleanUp(0, true)), Unseen(DamagedCommit(0))];
    holds_in_all_modes(&[&[Do(Checkpoint(0)), Unseen(Append(FILE))], &damaged[..]].concat());
    let unread = [
        Unseen(ChangeSchema(0)),
        Unseen(ChangeSchema(0)),
        Unseen(Checkpoint(1)),
    ];
    holds_in_all_modes(&[&unread[..], &[Do(CleanUp(0, false)), Do(Append(FILE))]].concat());
}

/// Nothing but the checkpoint tells whether it is still the same table.
#[test]
fn a_table_with_nothing_but_a_checkpoint_can_be_dropped() {
    let checkpoint = [Unseen(Checkpoint(0)), Do(CleanUp(0, true))];
    holds_in_all_modes(&[&checkpoint[..], &[Do(Drop(false)), Do(Make(0))]].concat());
    holds_in_all_modes(&[&checkpoint[..], &[Do(Drop(true)), Do(Make(0))]].concat());
    holds_in_all_modes(&[&checkpoint[..], &[Do(DamageCheckpoint(0, 0))]].concat());
    let unseen = [
        Do(Checkpoint(0)),
        Unseen(CleanUp(0, true)),
        Do(DamageCheckpoint(0, 0)),
    ];
    holds_in_all_modes(&unseen);
}

/// A mount sees the table that takes the place of another, also in a directory of its own.
#[test]
fn a_table_can_be_dropped_and_made_again() {
    for keeps_root in [false, true] {
        holds_in_all_modes(&[
            Do(Append(FILE)),
            Do(Drop(keeps_root)),
            Do(Make(0)),
            Do(Append(FILE)),
        ]);
        holds_in_all_modes(&[Do(Append(FILE)), Unseen(Drop(keeps_root)), Do(Make(1))]);
    }
}

/// A listing up to ten seconds old may name versions that are gone.
#[test]
fn the_root_may_list_what_was_cleaned_up_a_moment_ago() {
    holds_in_all_modes(&[
        Do(Append(FILE)),
        Do(Checkpoint(1)),
        Do(Append(FILE)),
        Unseen(CleanUp(0, false)),
        Unseen(DamagedCommit(0)),
    ]);
}

/// A name that the mount cannot explain any more, behind a newest version that it cannot read, was
/// expected not to be there, which nobody can tell.
#[test]
fn a_name_that_the_log_does_not_explain_may_be_behind_the_damage() {
    holds(
        Mode::Flat,
        &[
            Do(Overwrite(0, New { place: 2, ..FILE })),
            Do(DeleteRows(0)),
            Do(Checkpoint(3)),
            Unseen(Append(FILE)),
            Do(Append(FILE)),
            Do(Append(FILE)),
            Do(CleanUp(0, true)),
            Unseen(DamageCommit(34, 0)),
        ],
    );
}

/// Each `metaData` action began to find out anew how files are shown; so one and the same name had
/// attributes for ever in one version, and for the moment in another.
#[test]
fn a_file_is_told_in_one_way_under_all_descriptions_of_a_schema() {
    let space = New { place: 2, ..FILE };
    holds_in_all_modes(&[
        Do(AppendTwo(New { kind: 1, ..space }, space)),
        Do(Describe),
        Do(Remove(55)),
        Do(Vacuum(0)),
        Do(Remove(0)),
    ]);
}

/// The cut fell between two lines, where nobody can see it: that is another commit, not a damage.
#[test]
fn a_commit_that_is_cut_off_is_cut_within_a_line() {
    let [sub, underscore] = [1, 4].map(|place| New { place, ..FILE });
    holds_in_all_modes(&[
        Unseen(Overwrite(0, FILE)),
        Unseen(Remove(0)),
        Do(Append(FILE)),
        Unseen(AppendTwo(sub, sub)),
        Do(Overwrite(3, underscore)),
        Do(Append(FILE)),
        Unseen(Append(FILE)),
        Do(Append(FILE)),
        Do(Append(FILE)),
        Do(DamageCommit(125, 1)),
    ]);
}
