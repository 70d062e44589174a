//! What a commit read, told from what it did not.

use std::sync::Arc;

use deltafs::txn::{CommitOutcome, Proposal, Reads};
use serde_json::json;

use crate::support::{
    Action, PartitionIs, TableBuilder, add, append, commit, commit_info, committed, metadata,
    new_add, protocol, remove,
};

/// f1 in partition a and f2 in partition b, in version 1.
fn table() -> TableBuilder {
    let columns = metadata(&[("id", "long"), ("p", "string")]).partitioned_by(&["p"]);
    let mut table = TableBuilder::with_actions([protocol(1, 2), columns]);
    table.commit([add("f1").partition("p", "a"), add("f2").partition("p", "b")]);
    table
}

/// Reads partition a at version 1 and adds to partition b.
fn reader() -> Proposal {
    Proposal {
        reads: Reads::Partitions(Arc::new(PartitionIs("p", "a"))),
        ..append(1, [new_add("mine", &[("p", "b")])])
    }
}

/// What becomes of [`reader`] when winners commit these actions.
fn against(winners: impl IntoIterator<Item = Vec<Action>>) -> Option<(&'static str, String)> {
    let mut table = table();
    let open = table.open();
    for winner in winners {
        table.commit(winner);
    }
    match commit(&open, &reader()).unwrap() {
        CommitOutcome::Committed { .. } => None,
        CommitOutcome::Conflicted(conflict) => Some((conflict.name(), conflict.to_string())),
        other => panic!("{other:?}"),
    }
}

fn name(found: Option<(&'static str, String)>) -> Option<&'static str> {
    found.map(|(name, _)| name)
}

#[test]
fn a_remove_without_partition_values_is_of_the_partition_that_its_add_said() {
    assert_eq!(
        name(against([vec![remove("f1")]])),
        Some("ConcurrentDeleteRead")
    );
    assert_eq!(name(against([vec![remove("f2")]])), None);
    // Of a file that nothing is known of, it cannot be told that it was not read.
    assert_eq!(
        name(against([vec![remove("f3")]])),
        Some("ConcurrentDeleteRead")
    );
}

#[test]
fn a_winner_that_does_not_say_whether_it_is_a_blind_append_is_none() {
    let added = || add("f3").partition("p", "a");
    assert_eq!(name(against([vec![added()]])), Some("ConcurrentAppend"));
    let info = |value: serde_json::Value| commit_info().with("isBlindAppend", value);
    assert_eq!(name(against([vec![info(json!(true)), added()]])), None);
    for other in [json!(false), json!("true"), json!(1), json!(null)] {
        assert_eq!(
            name(against([vec![info(other), added()]])),
            Some("ConcurrentAppend")
        );
    }
}

#[test]
fn a_file_added_behind_the_read_version_was_not_read_and_may_go_again() {
    let blind = commit_info().with("isBlindAppend", true);
    let added = add("f3").partition("p", "a");
    let removed = remove("f3").partition("p", "a");
    assert_eq!(name(against([vec![blind, added], vec![removed]])), None);
}

#[test]
fn a_file_added_again_without_change_is_still_the_one_that_was_read() {
    let blind = commit_info().with("isBlindAppend", true);
    let again = add("f1").partition("p", "a").with("dataChange", false);
    let removed = remove("f1").partition("p", "a");
    let found = against([vec![blind, again], vec![removed]]);
    assert_eq!(name(found), Some("ConcurrentDeleteRead"));
}

#[test]
fn files_that_claim_to_bring_no_rows_and_replace_none_are_taken_for_new_rows() {
    let claimed = add("f3").partition("p", "a").with("dataChange", false);
    assert_eq!(
        name(against([vec![claimed.clone()]])),
        Some("ConcurrentAppend")
    );
    // But for a row tracking backfill, which adds the live files again.
    let backfill = commit_info().with("operation", "ROW TRACKING BACKFILL");
    let again = add("f1").partition("p", "a").with("dataChange", false);
    assert_eq!(name(against([vec![backfill.clone(), again.clone()]])), None);
    let removed = remove("f1").partition("p", "a");
    let found = against([vec![backfill, again], vec![removed]]);
    assert_eq!(name(found), Some("ConcurrentDeleteRead"));
}

#[test]
fn null_is_a_partition_of_its_own() {
    let null = |value: Option<&'static str>| add("f3").partition("p", value);
    assert_eq!(name(against([vec![null(None)]])), None);
    assert_eq!(name(against([vec![null(Some(""))]])), None);
    // A file that does not say where it lies may lie anywhere.
    assert_eq!(name(against([vec![add("f3")]])), Some("ConcurrentAppend"));
    assert_eq!(
        name(against([vec![add("f3").without("partitionValues")]])),
        Some("ConcurrentAppend")
    );
}

#[test]
fn a_message_says_who_did_what_where_and_what_to_do() {
    let info = commit_info().with("operation", "MERGE");
    let (_, message) = against([
        vec![commit_info()],
        vec![info, add("x%20y").partition("p", "a")],
    ])
    .expect("a conflict");
    assert_eq!(
        message,
        "ConcurrentAppend: version 3 (MERGE) added x y to partition p=a, which this commit had \
         read; begin again from version 3"
    );
}

#[test]
fn a_table_without_partitions_is_one() {
    let mut table = TableBuilder::with_schema(&[("id", "long")]);
    table.commit_adds(1);
    let open = table.open();
    table.commit_adds(1);
    let mine = Proposal {
        reads: Reads::Partitions(Arc::new(PartitionIs("p", "a"))),
        ..append(1, [new_add("mine", &[])])
    };
    let outcome = commit(&open, &mine).unwrap();
    let CommitOutcome::Conflicted(conflict) = outcome else {
        panic!("{outcome:?}");
    };
    assert_eq!(conflict.name(), "ConcurrentAppend");
    assert!(conflict.to_string().contains("to the table"), "{conflict}");
}

#[test]
fn a_file_is_the_same_however_its_path_is_written_and_another_with_another_deletion_vector() {
    let removes = |dv: Option<&str>| {
        let mut table = TableBuilder::with_schema(&[("id", "long")]);
        table.commit([add("a b")]);
        let open = table.open();
        let winner = remove("./a%20b");
        table.commit([match dv {
            Some(id) => winner.dv(&crate::support::dv(id)),
            None => winner,
        }]);
        let mine = Proposal {
            removes: vec![crate::support::new_remove("a%20b", &[])],
            ..append(1, [])
        };
        commit(&open, &mine).unwrap()
    };
    let outcome = removes(None);
    let CommitOutcome::Conflicted(conflict) = outcome else {
        panic!("{outcome:?}");
    };
    assert_eq!(conflict.name(), "ConcurrentDeleteRead");
    // A tombstone of a logical file that is not live removes nothing.
    let outcome = removes(Some("x"));
    assert!(
        matches!(outcome, CommitOutcome::Committed { version: 3 }),
        "{outcome:?}"
    );
}

#[test]
fn winners_are_read_as_strictly_as_versions() {
    for line in [
        "[null,null]",
        "{\"add\":{\"path\":\"%ff\"}}",
        "{\"remove\":{}}",
        "7",
    ] {
        let table = table();
        let open = table.open();
        table.write_log("00000000000000000002.json", line);
        let error = commit(&open, &reader()).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("00000000000000000002.json line 1"),
            "{error}"
        );
    }
    // What the protocol does not know is no business of anybody's.
    let mut table = table();
    let open = table.open();
    table.commit([crate::support::other("newThing", json!({"x": 1}))]);
    assert_eq!(committed(&open, &reader()), 3);
}

/// Bytes of a winner are data from outside: whatever they are, they are read or refused.
#[test]
fn a_mutated_winner_is_read_or_refused() {
    use deltafs::txn::{Detail, WinningCommit};
    use proptest::prelude::*;

    let commit = [
        commit_info()
            .with("txnId", "1a2b3c4d-0000-4000-8000-000000000001")
            .with("isBlindAppend", true),
        crate::support::txn("app", 1),
        crate::support::domain("d", "{}"),
        add("a%20b")
            .partition("p", "a")
            .dv(&crate::support::dv("x")),
        remove("c").partition("p", None),
    ];
    let text: String = commit
        .iter()
        .map(|action| action.to_line() + "\n")
        .collect();
    let bytes = text.into_bytes();
    let length = bytes.len();
    let edits = prop::collection::vec((0..length, any::<u8>()), 0..4);
    proptest!(crate::support::cases(2000), |(edits in edits, end in 0..=length)| {
        let mut mutated = bytes.clone();
        for (at, byte) in edits {
            mutated[at] = byte;
        }
        mutated.truncate(end);
        for detail in [Detail::Files, Detail::WithoutFiles] {
            if let Err(error) = WinningCommit::parse(2, "2.json", &mutated, detail) {
                prop_assert!(error.to_string().contains("2.json"), "{}", error);
            }
        }
    });
}
