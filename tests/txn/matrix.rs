//! Every kind of commit against every kind of winner, under both isolation levels.

use std::collections::BTreeSet;

use deltafs::txn::{self, CommitOutcome, IsolationLevel, Proposal, WinningCommit};

use crate::kinds::{Kind, Place, make, table};
use crate::support::{commit, committed, live};

/// What becomes of a commit that works on the files f1 and f2 of partition a (rows; an overwrite
/// works on all files of the table or of the partition) when a winner was faster (columns). A
/// column stands for a kind and its place: `same` files, `other` files of the same partition, or
/// another partition `b`.
///
/// `.` commits behind the winner. Else Delta's exception: A ConcurrentAppend, R
/// ConcurrentDeleteRead, D ConcurrentDeleteDelete, M MetadataChanged, P ProtocolChanged, T
/// ConcurrentTransaction. `./A` is `.` under WriteSerializable and A under Serializable.
const MATRIX: &str = "
                   append       read-append overwrite over-part delete         rewrite        compaction     metadata protocol batch
                   same b       same b      same      same b    same other b   same other b   same other b   same     same     same
append             .    .       .    .      .         .    .    .    .     .   .    .     .   .    .     .   M        P        .
read-append        ./A  .       A    .      A         A    .    R    R     .   A    A     .   .    .     .   M        P        ./A
overwrite          ./A  ./A     A    A      A         A    A    R    R     R   A    A     A   R    R     R   M        P        ./A
over-part          ./A  .       A    .      A         A    .    R    R     .   A    A     .   R    R     .   M        P        ./A
delete             ./A  .       A    .      A         A    .    R    R     .   A    A     .   R    .     .   M        P        ./A
rewrite            ./A  .       A    .      A         A    .    R    R     .   A    A     .   R    .     .   M        P        ./A
compaction         .    .       .    .      D         D    .    D    .     .   D    .     .   D    .     .   M        P        .
metadata           .    .       .    .      .         .    .    .    .     .   .    .     .   .    .     .   M        P        .
protocol           .    .       .    .      .         .    .    .    .     .   .    .     .   .    .     .   M        P        .
batch              .    .       .    .      .         .    .    .    .     .   .    .     .   .    .     .   M        P        T
";

#[derive(Debug)]
struct Cell {
    mine: Kind,
    winner: Kind,
    place: Place,
    write_serializable: char,
    serializable: char,
}

fn kind(name: &str) -> Kind {
    match name {
        "append" => Kind::Append,
        "read-append" => Kind::ReadAppend,
        "overwrite" => Kind::Overwrite,
        "over-part" => Kind::OverwritePartition,
        "delete" => Kind::Delete,
        "rewrite" => Kind::Rewrite,
        "compaction" => Kind::Compaction,
        "metadata" => Kind::ChangeMetadata,
        "protocol" => Kind::ChangeProtocol,
        "batch" => Kind::Batch,
        other => panic!("{other} is no kind"),
    }
}

/// The cells of [`MATRIX`].
fn cells() -> Vec<Cell> {
    let mut lines = MATRIX.lines().filter(|line| !line.is_empty());
    let winners: Vec<Kind> = lines
        .next()
        .expect("a header")
        .split_whitespace()
        .map(kind)
        .collect();
    // Each winner's places begin with `same`.
    let mut at = 0;
    let mut columns = Vec::new();
    for place in lines.next().expect("a second header").split_whitespace() {
        let place = match place {
            "same" => {
                at += 1;
                Place::Same
            }
            "other" => Place::OtherFiles,
            _ => Place::OtherPartition,
        };
        columns.push((winners[at - 1], place));
    }
    let mut cells = Vec::new();
    for line in lines {
        let mut words = line.split_whitespace();
        let mine = kind(words.next().expect("a kind"));
        let words: Vec<&str> = words.collect();
        assert_eq!(words.len(), columns.len(), "{line}");
        for (word, (winner, place)) in words.iter().zip(&columns) {
            let mut letters = word.chars();
            let first = letters.next().expect("a letter");
            cells.push(Cell {
                mine,
                winner: *winner,
                place: *place,
                write_serializable: first,
                serializable: letters.nth(1).unwrap_or(first),
            });
        }
    }
    assert_eq!(cells.len(), 10 * 19);
    cells
}

fn name(letter: char) -> &'static str {
    match letter {
        'A' => "ConcurrentAppend",
        'R' => "ConcurrentDeleteRead",
        'D' => "ConcurrentDeleteDelete",
        'M' => "MetadataChanged",
        'P' => "ProtocolChanged",
        'T' => "ConcurrentTransaction",
        other => panic!("{other} is no exception"),
    }
}

/// A batch that meets its own application: an older batch conflicts, see `idempotence`.
fn older(winner: Proposal) -> Proposal {
    let transaction = winner
        .transaction
        .clone()
        .map(|txn| crate::support::new_txn(&txn.app_id, txn.version - 1));
    Proposal {
        transaction,
        ..winner
    }
}

fn run(level: IsolationLevel, expected: impl Fn(&Cell) -> char) {
    let mut wrong = Vec::new();
    for cell in cells() {
        let builder = table(level.name());
        let other = builder.open();
        let own = builder.open();
        let winner = older(make(&other, cell.winner, cell.place, "winner"));
        let mine = make(&own, cell.mine, Place::Same, "mine");
        assert_eq!(committed(&other, &winner), 2);

        // Purely, from the winner's commit file.
        let intent = txn::Intent::of(&mine, Some(own.current().snapshot(1).unwrap().metadata()));
        let intent = intent.unwrap();
        let bytes = std::fs::read(builder.commit_path(2)).unwrap();
        let winning = WinningCommit::parse(2, "2.json", &bytes, intent.detail()).unwrap();
        let used = match mine.only_rearranges() {
            true => IsolationLevel::SnapshotIsolation,
            false => level,
        };
        let pure = txn::check(&intent, &winning, used).err();

        // And on the table.
        let outcome = commit(&own, &mine).unwrap();
        let found = match &outcome {
            CommitOutcome::Committed { version: 3 } => '.',
            CommitOutcome::Conflicted(conflict) => {
                assert_eq!(Some(conflict), pure.as_ref(), "{cell:?}");
                assert_eq!(conflict.version(), 2, "{cell:?}");
                assert!(conflict.to_string().starts_with(conflict.name()));
                "ARDMPT"
                    .chars()
                    .find(|letter| name(*letter) == conflict.name())
                    .unwrap()
            }
            other => panic!("{cell:?}: {other:?}"),
        };
        if found != expected(&cell) {
            wrong.push(format!(
                "{cell:?} under {level:?}: found {found}, {outcome:?}"
            ));
            continue;
        }
        assert_eq!(pure.is_none(), found == '.', "{cell:?}: {pure:?}");

        // The table is what the commits that count add up to.
        let mut files: BTreeSet<String> = (1..=6).map(|n| format!("f{n}")).collect();
        let counting = [Some(&winner), (found == '.').then_some(&mine)];
        for proposal in counting.into_iter().flatten() {
            for remove in &proposal.removes {
                files.remove(&remove.path);
            }
            files.extend(proposal.adds.iter().map(|add| add.path.clone()));
        }
        let newest = if found == '.' { 3 } else { 2 };
        let generation = builder.generation();
        assert_eq!(generation.newest(), newest, "{cell:?}");
        let live: BTreeSet<String> = live(&generation, newest)
            .into_iter()
            .map(|(path, _)| path)
            .collect();
        assert_eq!(live, files, "{cell:?}");
    }
    assert_eq!(wrong, [""; 0], "{} cells", wrong.len());
}

#[test]
fn under_write_serializable() {
    run(IsolationLevel::WriteSerializable, |cell| {
        cell.write_serializable
    });
}

#[test]
fn under_serializable() {
    run(IsolationLevel::Serializable, |cell| cell.serializable);
}
