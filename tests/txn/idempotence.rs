//! `txn`: a batch of an application is committed once (PROTOCOL.md, "Transaction Identifiers").

use deltafs::base::Version;
use deltafs::txn::{CommitOutcome, Conflict, Proposal, Reads};

use crate::support::{
    Checkpoint, TableBuilder, append, commit, committed, named, new_add, new_txn, txn,
};

fn batch(read: Version, app_id: &str, version: i64) -> Proposal {
    Proposal {
        transaction: Some(new_txn(app_id, version)),
        ..append(read, [new_add(&format!("{app_id}-{version}.parquet"), &[])])
    }
}

fn already_applied(outcome: CommitOutcome) -> Option<Version> {
    match outcome {
        CommitOutcome::AlreadyApplied { version } => version,
        other => panic!("it was there already, not {other:?}"),
    }
}

fn table() -> TableBuilder {
    TableBuilder::with_schema(&[("id", "long")])
}

#[test]
fn the_txn_action_says_when() {
    let table = table();
    assert_eq!(committed(&table.open(), &batch(0, "app", 7)), 1);
    let [txn] = &named(&table, 1, "txn")[..] else {
        panic!("one txn");
    };
    assert_eq!(txn["appId"], "app");
    assert_eq!(txn["version"], 7);
    assert!(txn["lastUpdated"].is_i64(), "{txn}");
}

#[test]
fn a_batch_that_the_snapshot_has_is_done_and_the_version_that_brought_it_is_told() {
    let mut table = table();
    table.commit([txn("app", 1)]);
    table.commit([txn("app", 2), txn("other", 9)]);
    table.commit([txn("other", 10)]);
    table.commit([txn("app", 5)]);
    table.commit_adds(40);
    let newest = table.generation().newest();
    let open = table.open();
    for (version, expected) in [(1, 1), (2, 2), (3, 4), (5, 4)] {
        let outcome = commit(&open, &batch(newest, "app", version)).unwrap();
        assert_eq!(already_applied(outcome), Some(expected), "batch {version}");
    }
    assert_eq!(table.generation().newest(), newest);
    assert_eq!(committed(&open, &batch(newest, "app", 6)), newest + 1);
}

#[test]
fn a_batch_older_than_the_log_is_done_by_nobody_knows_which_version() {
    let mut table = table();
    table.commit([txn("app", 1)]);
    table.commit_adds(2);
    table.checkpoint(3, Checkpoint::Classic);
    table.delete_commits(0..=2);
    let outcome = commit(&table.open(), &batch(3, "app", 1)).unwrap();
    assert_eq!(already_applied(outcome), None);
}

#[test]
fn a_batch_that_another_instance_brought_meanwhile_is_done_whatever_else_happened() {
    for theirs in [5, 6] {
        let table = table();
        let own = table.open();
        let mut mine = batch(0, "app", 5);
        // It would conflict with the append before it, had the batch not been brought behind it.
        mine.reads = Reads::WholeTable;
        let other = table.open();
        let reader = Proposal {
            reads: Reads::WholeTable,
            ..append(0, [new_add("f", &[])])
        };
        assert_eq!(committed(&other, &reader), 1);
        assert_eq!(committed(&other, &batch(1, "app", theirs)), 2);
        assert_eq!(already_applied(commit(&own, &mine).unwrap()), Some(2));
        assert_eq!(table.generation().newest(), 2);
    }
}

#[test]
fn an_older_batch_of_the_same_application_meanwhile_is_a_conflict() {
    let table = table();
    let own = table.open();
    assert_eq!(committed(&table.open(), &batch(0, "app", 4)), 1);
    let outcome = commit(&own, &batch(0, "app", 5)).unwrap();
    let CommitOutcome::Conflicted(Conflict::ConcurrentTransaction { app_id, theirs, .. }) =
        &outcome
    else {
        panic!("{outcome:?}");
    };
    assert_eq!((app_id.as_str(), *theirs), ("app", 4));
    // A fresh read settles it.
    assert_eq!(committed(&own, &batch(1, "app", 5)), 2);
}

#[test]
fn two_instances_that_race_with_one_batch_bring_it_once() {
    const INSTANCES: usize = 8;
    let table = table();
    let barrier = std::sync::Barrier::new(INSTANCES);
    let outcomes: Vec<CommitOutcome> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..INSTANCES)
            .map(|_| {
                let (open, barrier) = (table.open(), &barrier);
                scope.spawn(move || {
                    barrier.wait();
                    commit(&open, &batch(0, "app", 1)).unwrap()
                })
            })
            .collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    let mut brought = 0;
    for outcome in outcomes {
        match outcome {
            CommitOutcome::Committed { version: 1 } => brought += 1,
            CommitOutcome::AlreadyApplied { version: Some(1) } => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(brought, 1);
    assert_eq!(table.generation().newest(), 1);
}

#[test]
fn batches_of_different_applications_commit_side_by_side() {
    let table = table();
    let own = table.open();
    assert_eq!(committed(&table.open(), &batch(0, "one", 1)), 1);
    assert_eq!(committed(&own, &batch(0, "two", 1)), 2);
}
