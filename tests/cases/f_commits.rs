//! Commits.

use std::collections::BTreeSet;
use std::sync::Arc;

use deltafs::base::Version;
use deltafs::log::write::{AddFile, RemoveFile};
use deltafs::storage::{PutOutcome, StorageError};
use deltafs::txn::{CommitOutcome, Proposal, Reads, TxnError};

use crate::ID;
use crate::support::{
    PartitionIs, TableBuilder, add, append, commit, committed, info_of, io_error, live, metadata,
    named, new_add, new_remove, new_txn, proposal, protocol, scripted,
};

/// Replaces the file `old` of partition a by `new`, on top of version 1.
fn overwrite(old: &str, new: &str) -> Proposal {
    Proposal {
        reads: Reads::Partitions(Arc::new(PartitionIs("p", "a"))),
        adds: vec![new_add(new, &[("p", "a")])],
        removes: vec![new_remove(old, &[("p", "a")])],
        ..proposal(1)
    }
}

/// `old` in partition a and `b` in partition b, in version 1.
fn partitioned() -> TableBuilder {
    let columns = metadata(&[("id", "long"), ("p", "string")]).partitioned_by(&["p"]);
    let mut table = TableBuilder::with_actions([protocol(1, 2), columns]);
    table.commit([add("old").partition("p", "a"), add("b").partition("p", "b")]);
    table
}

fn files(table: &TableBuilder, version: Version) -> Vec<String> {
    let live = live(&table.generation(), version);
    live.into_iter().map(|(path, _)| path).collect()
}

/// delta-rs#2279, #2609, #268: a commit that was answered by an error had landed, and was made
/// twice.
#[test]
fn f1_a_commit_whose_answer_is_an_error_is_made_once() {
    let table = TableBuilder::with_schema(ID);
    let (store, open) = scripted(&table.root(), true);
    // The link is made, then the reply fails.
    store.on_put(|store, path, content| {
        assert_eq!(store.put_if_absent(path, content)?, PutOutcome::Created);
        Err(io_error())
    });
    let mine = append(0, [new_add("mine", &[])]);
    assert_eq!(committed(&open, &mine), 1);
    store.heal();
    assert_eq!(committed(&open, &mine), 1);
    assert_eq!(files(&table, 1), ["mine"]);
    assert!(!table.commit_path(2).exists());
}

/// delta-rs#3622: the second of two overwrites of a partition removed the file of the first.
#[test]
fn f2_of_two_overwrites_of_one_partition_the_second_conflicts() {
    let table = partitioned();
    let (a, b) = (table.open(), table.open());
    assert_eq!(committed(&a, &overwrite("old", "of-a")), 2);
    let outcome = commit(&b, &overwrite("old", "of-b")).unwrap();
    let CommitOutcome::Conflicted(conflict) = outcome else {
        panic!("{outcome:?}");
    };
    assert_eq!(conflict.name(), "ConcurrentAppend");
    assert!(conflict.to_string().contains("partition p=a"), "{conflict}");
    assert_eq!(files(&table, 2), ["b", "of-a"]);
    assert!(!table.commit_path(3).exists());
}

/// delta-rs#2700, PR 3982; delta#326, PR 1305, PR 7331: an append conflicted with a compaction.
#[test]
fn f4_an_append_does_not_conflict_with_a_compaction() {
    let table = partitioned();
    let compaction = Proposal {
        reads: Reads::WholeTable,
        adds: vec![AddFile {
            data_change: false,
            ..new_add("compacted", &[("p", "a")])
        }],
        removes: vec![RemoveFile {
            data_change: false,
            ..new_remove("old", &[("p", "a")])
        }],
        ..proposal(1)
    };
    let (blind, reading) = (table.open(), table.open());
    assert_eq!(committed(&table.open(), &compaction), 2);
    assert_eq!(
        committed(&blind, &append(1, [new_add("new", &[("p", "a")])])),
        3
    );
    // Nor does one that had read the rows which the compaction moved.
    let computed = Proposal {
        reads: Reads::Partitions(Arc::new(PartitionIs("p", "a"))),
        ..append(1, [new_add("computed", &[("p", "b")])])
    };
    assert_eq!(committed(&reading, &computed), 4);
    assert_eq!(files(&table, 4), ["b", "compacted", "computed", "new"]);
}

/// delta-rs#3066, #1595, #3166: commits failed under load after 15 attempts without a pause.
#[test]
fn f6_twenty_writers_make_twenty_commits_each() {
    const WRITERS: usize = 20;
    const COMMITS: usize = 20;
    let table = TableBuilder::with_schema(ID);
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let open = table.open();
            scope.spawn(move || {
                let mut read = 0;
                for n in 0..COMMITS {
                    read = committed(
                        &open,
                        &append(read, [new_add(&format!("{writer}-{n}"), &[])]),
                    );
                }
            });
        }
    });
    let generation = table.generation();
    let newest = generation.newest();
    assert_eq!(newest, (WRITERS * COMMITS) as Version);
    let found: BTreeSet<String> = files(&table, newest).into_iter().collect();
    let expected = (0..WRITERS).flat_map(|w| (0..COMMITS).map(move |n| format!("{w}-{n}")));
    assert_eq!(found, expected.collect());
    // Each of them once.
    let ids: BTreeSet<String> = (1..=newest)
        .map(|version| info_of(&table, version)["txnId"].to_string())
        .collect();
    assert_eq!(ids.len(), WRITERS * COMMITS);
}

/// qbeast#267; delta-rs#3829: each append wrote the metadata again, so that appends conflicted.
#[test]
fn f8_appends_leave_the_metadata_alone_and_commit_side_by_side() {
    let table = TableBuilder::with_schema(ID);
    let (a, b) = (table.open(), table.open());
    assert_eq!(committed(&a, &append(0, [new_add("a", &[])])), 1);
    assert_eq!(committed(&b, &append(0, [new_add("b", &[])])), 2);
    for version in [1, 2] {
        for name in ["metaData", "protocol"] {
            assert!(named(&table, version, name).is_empty());
        }
        assert_eq!(info_of(&table, version)["isBlindAppend"], true);
    }
    assert_eq!(files(&table, 2), ["a", "b"]);
}

/// delta-rs#2580, #2340; qbeast#274: a batch was applied twice, or after a newer one.
#[test]
fn f9_a_batch_and_those_before_it_are_applied_once() {
    let table = TableBuilder::with_schema(ID);
    let open = table.open();
    let batch = |read, version: i64, file: &str| Proposal {
        transaction: Some(new_txn("1", version)),
        ..append(read, [new_add(file, &[])])
    };
    assert_eq!(committed(&open, &batch(0, 5, "five")), 1);
    // From a fresh read, from the read of the first time, and an older batch.
    for again in [
        batch(1, 5, "again"),
        batch(0, 5, "again"),
        batch(1, 4, "four"),
    ] {
        let outcome = commit(&open, &again).unwrap();
        assert!(
            matches!(outcome, CommitOutcome::AlreadyApplied { version: Some(1) }),
            "{outcome:?}"
        );
    }
    assert_eq!(files(&table, 1), ["five"]);
    assert!(!table.commit_path(2).exists());
    assert_eq!(committed(&open, &batch(1, 6, "six")), 2);
}

/// delta-rs#1348, #2057: a store without an atomic put lost commits.
#[test]
fn f31_a_store_without_put_if_absent_is_refused() {
    let table = TableBuilder::with_schema(ID);
    let (store, open) = scripted(&table.root(), true);
    store.on_put(|_, path, _| {
        Err(StorageError::Unsupported {
            location: path.to_owned(),
            operation: "creating a file only where none is",
            reason: "the file system knows no hard links".to_owned(),
        })
    });
    let error = commit(&open, &append(0, [new_add("mine", &[])])).unwrap_err();
    assert!(
        matches!(
            &error,
            TxnError::Put {
                source: StorageError::Unsupported { .. },
                ..
            }
        ),
        "{error}"
    );
    assert!(error.to_string().contains("hard links"), "{error}");
    assert!(!table.commit_path(1).exists());
}
