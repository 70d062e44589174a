//! A store that fails: what is answered, and what is in the log.

use bytes::Bytes;
use deltafs::storage::{PutOutcome, StorageError, Store};
use deltafs::txn::{self, CommitOptions, CommitOutcome, Proposal, TxnError, find_commit};
use uuid::Uuid;

use crate::support::{
    ScriptedStore, TableBuilder, append, commit, committed, info_of, io_error, live, named,
    new_add, proposal, remote_error, scripted,
};

fn table() -> TableBuilder {
    TableBuilder::with_schema(&[("id", "long")])
}

fn mine() -> Proposal {
    append(0, [new_add("mine.parquet", &[])])
}

/// The content of a commit by somebody else.
fn of_another() -> Bytes {
    let info = "{\"commitInfo\":{\"operation\":\"WRITE\",\"isBlindAppend\":true}}";
    let add = crate::support::add("other.parquet").to_line();
    Bytes::from(format!("{info}\n{add}\n"))
}

/// How often the commit of `proposal` is in the log.
fn times_committed(table: &TableBuilder, proposal: &Proposal) -> usize {
    let newest = table.generation().newest();
    (0..=newest)
        .filter(|version| info_of(table, *version)["txnId"] == proposal.id.to_string())
        .count()
}

fn found(store: &ScriptedStore, proposal: &Proposal) -> Option<u64> {
    find_commit(store, 1, proposal.id).unwrap()
}

/// A put that is done, and answered by an error.
fn done_then(
    error: fn() -> StorageError,
) -> impl FnMut(&dyn Store, &str, Bytes) -> Result<PutOutcome, StorageError> {
    move |store, path, content| {
        assert_eq!(store.put_if_absent(path, content)?, PutOutcome::Created);
        Err(error())
    }
}

#[test]
fn a_commit_that_landed_although_the_put_failed_is_a_commit() {
    for (is_local, error) in [(true, io_error as fn() -> _), (false, remote_error)] {
        let table = table();
        let (store, open) = scripted(&table.root(), is_local);
        store.on_put(done_then(error));
        let mine = mine();
        assert_eq!(committed(&open, &mine), 1);
        store.heal();
        // A retry, for whatever reason, adds nothing.
        assert_eq!(committed(&open, &mine), 1);
        assert_eq!(times_committed(&table, &mine), 1);
        assert_eq!(live(&table.generation(), 1).len(), 1);
    }
}

#[test]
fn a_commit_that_the_store_says_was_there_already_may_be_our_own() {
    // As after a request that a client library repeated by itself.
    let table = table();
    let (store, open) = scripted(&table.root(), false);
    store.on_put(|store, path, content| {
        let _ = store.put_if_absent(path, content.clone())?;
        store.put_if_absent(path, content)
    });
    let mine = mine();
    assert_eq!(committed(&open, &mine), 1);
    assert_eq!(table.generation().newest(), 1);
}

#[test]
fn a_local_failure_that_left_nothing_is_final() {
    let table = table();
    let (store, open) = scripted(&table.root(), true);
    store.on_put(|_, _, _| Err(io_error()));
    let error = commit(&open, &mine()).unwrap_err();
    assert!(matches!(error, TxnError::Put { version: 1, .. }), "{error}");
    let puts = store.take_calls();
    let puts = puts.iter().filter(|call| call.starts_with("put_if_absent"));
    assert_eq!(puts.count(), 1);
    assert_eq!(table.generation().newest(), 0);
}

#[test]
fn a_remote_failure_that_left_nothing_is_tried_again_at_the_same_version() {
    let table = table();
    let (store, open) = scripted(&table.root(), false);
    let mut failures = 2;
    store.on_put(move |store, path, content| match failures {
        0 => store.put_if_absent(path, content),
        _ => {
            failures -= 1;
            Err(remote_error())
        }
    });
    assert_eq!(committed(&open, &mine()), 1);
}

#[test]
fn a_request_that_arrives_late_is_found_by_the_next_one() {
    let table = table();
    let (store, open) = scripted(&table.root(), false);
    let mut late = None;
    store.on_put(move |store, path, content| match late.take() {
        None => {
            late = Some(content);
            Err(remote_error())
        }
        Some(first) => {
            assert_eq!(store.put_if_absent(path, first)?, PutOutcome::Created);
            store.put_if_absent(path, content)
        }
    });
    let mine = mine();
    assert_eq!(committed(&open, &mine), 1);
    assert_eq!(times_committed(&table, &mine), 1);
}

#[test]
fn a_version_in_doubt_that_another_takes_is_out_of_doubt() {
    let table = table();
    let (store, open) = scripted(&table.root(), false);
    let mut calls = 0;
    store.on_put(move |store, path, content| {
        calls += 1;
        if calls == 1 {
            let _ = store.put_if_absent(path, of_another())?;
            return Err(remote_error());
        }
        store.put_if_absent(path, content)
    });
    let mine = mine();
    assert_eq!(committed(&open, &mine), 2);
    assert_eq!(live(&table.generation(), 2).len(), 2);
}

#[test]
fn an_outcome_that_cannot_be_told_is_unknown_and_never_tried_at_another_version() {
    let table = table();
    let (store, open) = scripted(&table.root(), false);
    store.on_put(|_, _, _| Err(remote_error()));
    let mine = mine();
    let outcome = commit(&open, &mine).unwrap();
    assert!(
        matches!(outcome, CommitOutcome::Unknown { version: 1, .. }),
        "{outcome:?}"
    );
    let puts = store.take_calls();
    let puts: Vec<_> = (puts.iter())
        .filter(|call| call.starts_with("put_if_absent"))
        .collect();
    assert!(puts.len() > 1);
    assert!(puts.iter().all(|put| put.ends_with("00001.json")));
    // The store is back: it is not there, and can be committed.
    store.heal();
    assert_eq!(found(&store, &mine), None);
    assert_eq!(committed(&open, &mine), 1);
    assert_eq!(found(&store, &mine), Some(1));
}

#[test]
fn a_commit_that_cannot_be_looked_for_is_unknown_until_it_can() {
    let table = table();
    let (store, open) = scripted(&table.root(), false);
    store.on_put(done_then(remote_error));
    // The commit file is not looked at before the put, but for the refresh.
    let mut refreshed = false;
    store.on_call(move |call| {
        if !call.ends_with("00001.json") {
            return None;
        }
        std::mem::replace(&mut refreshed, true).then(remote_error)
    });
    let mine = mine();
    let outcome = commit(&open, &mine).unwrap();
    assert!(
        matches!(outcome, CommitOutcome::Unknown { version: 1, .. }),
        "{outcome:?}"
    );
    store.heal();
    assert_eq!(found(&store, &mine), Some(1));
    assert_eq!(committed(&open, &mine), 1);
    assert_eq!(times_committed(&table, &mine), 1);
}

#[test]
fn a_commit_found_in_the_log_is_answered_for_once_it_is_durable() {
    let table = table();
    let (store, open) = scripted(&table.root(), true);
    store.on_put(done_then(io_error));
    store.on_call(|call| call.starts_with("sync_dir").then(io_error));
    let mine = mine();
    let outcome = commit(&open, &mine).unwrap();
    assert!(
        matches!(outcome, CommitOutcome::Unknown { version: 1, .. }),
        "{outcome:?}"
    );
    let error = find_commit(&*store, 1, mine.id).unwrap_err();
    assert!(error.to_string().contains("somewhere"), "{error}");
    store.heal();
    store.take_calls();
    assert_eq!(found(&store, &mine), Some(1));
    assert!(
        store
            .take_calls()
            .contains(&"sync_dir _delta_log".to_owned())
    );
}

#[test]
fn a_commit_costs_no_listing_and_no_reading() {
    let mut table = table();
    table.commit_adds(3);
    let (store, open) = scripted(&table.root(), true);
    let snapshot = open.current().snapshot(3).unwrap();
    store.take_calls();
    let mine = append(snapshot.version(), [new_add("mine.parquet", &[])]);
    assert_eq!(committed(&open, &mine), 4);
    let commit = |version: u64| format!("_delta_log/{version:020}.json");
    assert_eq!(
        store.take_calls(),
        [
            format!("head {}", commit(3)),
            format!("head {}", commit(4)),
            format!("put_if_absent {}", commit(4)),
        ]
    );
}

#[test]
fn losing_costs_reading_the_winners_and_no_snapshot() {
    let table = table();
    let (store, open) = scripted(&table.root(), true);
    let _ = open.current().snapshot(0).unwrap();
    let mut others = 2;
    store.on_put(move |store, path, content| {
        if others > 0 {
            others -= 1;
            let _ = store.put_if_absent(path, of_another())?;
        }
        store.put_if_absent(path, content)
    });
    store.take_calls();
    assert_eq!(committed(&open, &mine()), 3);
    let commit = |version: u64| format!("_delta_log/{version:020}.json");
    assert_eq!(
        store.take_calls(),
        [
            format!("head {}", commit(0)),
            format!("head {}", commit(1)),
            format!("put_if_absent {}", commit(1)),
            format!("get {}", commit(1)),
            format!("get {}", commit(2)),
            format!("put_if_absent {}", commit(2)),
            format!("get {}", commit(2)),
            format!("get {}", commit(3)),
            format!("put_if_absent {}", commit(3)),
        ]
    );
}

#[test]
fn a_race_that_is_lost_too_often_can_be_run_again() {
    let table = table();
    let (store, open) = scripted(&table.root(), true);
    store.on_put(|store, path, _| {
        store
            .put_if_absent(path, of_another())
            .map(|_| PutOutcome::AlreadyExists)
    });
    let options = CommitOptions {
        max_attempts: 3,
        ..CommitOptions::default()
    };
    let mine = mine();
    let outcome = txn::commit(&open, &mine, &options).unwrap();
    assert!(
        matches!(outcome, CommitOutcome::Retryable { attempts: 3 }),
        "{outcome:?}"
    );
    assert_eq!(found(&store, &mine), None);
    store.heal();
    assert_eq!(committed(&open, &mine), 4);
}

#[test]
fn a_deadline_ends_a_race_too() {
    let table = table();
    let (store, open) = scripted(&table.root(), true);
    store.on_put(|store, path, _| {
        store
            .put_if_absent(path, of_another())
            .map(|_| PutOutcome::AlreadyExists)
    });
    let options = CommitOptions {
        deadline: std::time::Duration::from_millis(30),
        ..CommitOptions::default()
    };
    let outcome = txn::commit(&open, &mine(), &options).unwrap();
    let CommitOutcome::Retryable { attempts } = outcome else {
        panic!("{outcome:?}");
    };
    assert!(attempts > 0);
}

#[test]
fn a_winner_that_cannot_be_read_stops_the_commit() {
    for (content, expected) in [("", "is empty"), ("{\"add\":{\"path\":\"f", "line 1")] {
        let table = table();
        let open = table.open();
        table.write_log("00000000000000000001.json", content);
        let error = commit(&open, &proposal(0)).unwrap_err();
        assert!(matches!(error, TxnError::Log(_)), "{error}");
        assert!(error.to_string().contains(expected), "{error}");
        assert!(!table.commit_path(2).exists());
    }
}

#[test]
fn a_directory_in_the_place_of_the_commit_file_is_no_race() {
    let table = table();
    let open = table.open();
    std::fs::create_dir(table.commit_path(1)).unwrap();
    let error = commit(&open, &mine()).unwrap_err();
    assert!(
        matches!(error, TxnError::Occupied { version: 1, .. }),
        "{error}"
    );
    assert!(error.to_string().contains("00000000000000000001.json"));
}

#[test]
fn a_commit_is_found_from_where_it_can_be_and_only_there() {
    let mut table = table();
    table.commit_adds(2);
    let open = table.open();
    let mine = append(2, [new_add("mine.parquet", &[])]);
    assert_eq!(committed(&open, &mine), 3);
    let (store, _) = scripted(&table.root(), true);
    assert_eq!(find_commit(&*store, 0, mine.id).unwrap(), Some(3));
    assert_eq!(find_commit(&*store, 3, mine.id).unwrap(), Some(3));
    assert_eq!(find_commit(&*store, 4, mine.id).unwrap(), None);
    assert_eq!(find_commit(&*store, 0, Uuid::new_v4()).unwrap(), None);
    // Where the log was cleaned up, nobody can say that it was not committed.
    table.commit_at(4, [crate::support::commit_info()]);
    table.checkpoint(2, crate::support::Checkpoint::Classic);
    table.delete_commits(0..=1);
    let error = find_commit(&*store, 1, Uuid::new_v4()).unwrap_err();
    assert!(
        matches!(
            error,
            TxnError::LogCleaned {
                read: 1,
                missing: 1
            }
        ),
        "{error}"
    );
    assert_eq!(find_commit(&*store, 3, mine.id).unwrap(), Some(3));
    assert_eq!(named(&table, 3, "add").len(), 1);
}

#[test]
fn a_winner_that_may_be_our_own_and_cannot_be_read_leaves_the_outcome_open() {
    let table = table();
    let (store, open) = scripted(&table.root(), false);
    // A client library that repeats a request whose answer was lost says "exists" of our own.
    store.on_put(|store, path, content| {
        let _ = store.put_if_absent(path, content.clone())?;
        store.put_if_absent(path, content)
    });
    store.on_call(|call| {
        (call.starts_with("get ") && call.ends_with("00001.json")).then(remote_error)
    });
    let mine = mine();
    let outcome = commit(&open, &mine).unwrap();
    assert!(
        matches!(outcome, CommitOutcome::Unknown { version: 1, .. }),
        "{outcome:?}"
    );
    store.heal();
    assert_eq!(committed(&open, &mine), 1);
    assert_eq!(times_committed(&table, &mine), 1);
}

#[test]
fn a_refusal_does_not_end_a_doubt() {
    let table = table();
    let (store, open) = scripted(&table.root(), false);
    let mut calls = 0;
    store.on_put(move |_, path, _| {
        calls += 1;
        match calls {
            1 => Err(remote_error()),
            _ => Err(StorageError::PermissionDenied {
                location: path.to_owned(),
                source: "the token has expired".into(),
            }),
        }
    });
    let outcome = commit(&open, &mine()).unwrap();
    let CommitOutcome::Unknown { version: 1, source } = &outcome else {
        panic!("{outcome:?}");
    };
    assert!(source.to_string().contains("expired"), "{source}");
}

/// How a call fails.
#[derive(Debug, Clone, Copy)]
enum Failure {
    /// It does nothing.
    Before,
    /// It does what it should, and says that it failed.
    After,
}

/// What a commit says when the call number `at` fails, with two other writers before it; the table,
/// the proposal, and how many calls there were.
fn failing_at(
    at: usize,
    failure: Failure,
    is_local: bool,
) -> (TableBuilder, Proposal, Option<CommitOutcome>, usize) {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    let mut table = TableBuilder::with_actions([
        crate::support::commit_info().in_commit_timestamp(5),
        crate::support::protocol(1, 7)
            .with("writerFeatures", serde_json::json!(["inCommitTimestamp"])),
        crate::support::metadata(&[("id", "long")])
            .property("delta.enableInCommitTimestamps", "true"),
    ]);
    table.commit([crate::support::commit_info().in_commit_timestamp(6)]);
    let (store, open) = scripted(&table.root(), is_local);
    let _ = open.current().snapshot(1).unwrap();
    table.commit([
        crate::support::commit_info().in_commit_timestamp(7),
        crate::support::add("first.parquet"),
    ]);
    let error = if is_local { io_error } else { remote_error };
    let calls = Arc::new(AtomicUsize::new(0));
    let fails = {
        let calls = calls.clone();
        move || calls.fetch_add(1, Ordering::Relaxed) == at
    };
    let mut raced = false;
    store.on_put({
        let fails = fails.clone();
        move |store, path, content| {
            if !std::mem::replace(&mut raced, true) {
                let _ = store.put_if_absent(path, of_another())?;
            }
            match (fails(), failure) {
                (false, _) => store.put_if_absent(path, content),
                (true, Failure::Before) => Err(error()),
                (true, Failure::After) => {
                    let _ = store.put_if_absent(path, content)?;
                    Err(error())
                }
            }
        }
    });
    store.on_call(move |_| fails().then(error));
    let mine = append(1, [new_add("mine.parquet", &[])]);
    let outcome = commit(&open, &mine).ok();
    (table, mine, outcome, calls.load(Ordering::Relaxed))
}

#[test]
fn whichever_call_fails_the_answer_is_true_and_trying_again_commits_once() {
    for (failure, is_local) in [
        (Failure::Before, true),
        (Failure::Before, false),
        (Failure::After, true),
        (Failure::After, false),
    ] {
        let mut committed_in_all = 0;
        for at in 0.. {
            let (table, mine, outcome, calls) = failing_at(at, failure, is_local);
            let scene = format!("call {at} fails ({failure:?}, local: {is_local}): {outcome:?}");
            let times = times_committed(&table, &mine);
            match outcome {
                Some(CommitOutcome::Committed { version }) => {
                    committed_in_all += 1;
                    assert_eq!(times, 1, "{scene}");
                    let info = info_of(&table, version);
                    assert_eq!(info["txnId"], mine.id.to_string(), "{scene}");
                }
                Some(CommitOutcome::Unknown { .. }) => assert!(times <= 1, "{scene}"),
                None => assert_eq!(times, 0, "{scene}"),
                Some(_) => panic!("{scene}"),
            }
            let version = committed(&table.open(), &mine);
            assert_eq!(times_committed(&table, &mine), 1, "{scene}");
            let files = live(&table.generation(), version);
            assert!(
                files.contains(&("mine.parquet".to_owned(), None)),
                "{scene}"
            );
            if calls <= at {
                // Nothing failed any more.
                assert!(at > 5, "{at} calls");
                break;
            }
        }
        assert!(committed_in_all > 0);
    }
}
