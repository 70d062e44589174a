//! What a commit says of itself, and what depends on the version: row ids and commit times.

use deltafs::base::clock::now_ms;
use deltafs::log::write::AddFile;
use deltafs::txn::{self, CommitOptions, CommitOutcome, Operation, Proposal, Reads, TxnError};
use serde_json::{Value, json};

use crate::support::{
    Action, Checkpoint, TableBuilder, add, append, commit, commit_info, committed, domain, info_of,
    metadata, named, new_add, new_dv, new_remove, other, proposal, protocol,
};

const DAY: i64 = 86_400_000;

fn with_features(features: &[&str]) -> Action {
    protocol(1, 7).with("writerFeatures", json!(features))
}

fn timed() -> Action {
    metadata(&[("id", "long")]).property("delta.enableInCommitTimestamps", "true")
}

/// A commit at `ms` by its own word.
fn at(ms: i64) -> Action {
    commit_info().in_commit_timestamp(ms)
}

fn time_of(table: &TableBuilder, version: u64) -> i64 {
    info_of(table, version)["inCommitTimestamp"]
        .as_i64()
        .expect("a time")
}

#[test]
fn commit_info_says_what_delta_says() {
    let table = TableBuilder::with_schema(&[("id", "long")]);
    let mut operation = Operation::named("WRITE");
    for (name, value) in [
        ("mode", json!("Append")),
        ("partitionBy", json!(["a \"b\""])),
        ("auto", json!(false)),
        ("nothing", Value::Null),
    ] {
        operation.parameters.insert(name.to_owned(), value);
    }
    operation
        .metrics
        .insert("numFiles".to_owned(), "1".to_owned());
    let mine = Proposal {
        operation,
        user_metadata: Some("by hand".to_owned()),
        ..append(0, [new_add("f", &[])])
    };
    let before = now_ms();
    assert_eq!(committed(&table.open(), &mine), 1);
    let mut info = info_of(&table, 1);
    let timestamp = info["timestamp"].as_i64().unwrap();
    assert!((before..=now_ms()).contains(&timestamp));
    info.as_object_mut().unwrap().shift_remove("timestamp");
    assert_eq!(
        info,
        json!({
            "operation": "WRITE",
            "operationParameters": {
                "mode": "Append",
                "partitionBy": "[\"a \\\"b\\\"\"]",
                "auto": false,
                "nothing": null,
            },
            "readVersion": 0,
            "isolationLevel": "WriteSerializable",
            "isBlindAppend": true,
            "operationMetrics": {"numFiles": "1"},
            "userMetadata": "by hand",
            "engineInfo": concat!("deltafs/", env!("CARGO_PKG_VERSION")),
            "txnId": mine.id.to_string(),
        })
    );
}

#[test]
fn only_what_read_nothing_and_removes_nothing_is_a_blind_append() {
    let mut table = TableBuilder::with_schema(&[("id", "long")]);
    table.commit([add("f"), add("g")]);
    let open = table.open();
    let reader = Proposal {
        reads: Reads::WholeTable,
        ..append(1, [new_add("h", &[])])
    };
    let remover = Proposal {
        removes: vec![new_remove("f", &[])],
        ..proposal(2)
    };
    let mover = Proposal {
        adds: vec![AddFile {
            data_change: false,
            ..new_add("i", &[])
        }],
        removes: vec![deltafs::log::write::RemoveFile {
            data_change: false,
            ..new_remove("g", &[])
        }],
        ..proposal(3)
    };
    for (proposal, version, level) in [
        (reader, 2, "WriteSerializable"),
        (remover, 3, "WriteSerializable"),
        (mover, 4, "SnapshotIsolation"),
    ] {
        assert_eq!(committed(&open, &proposal), version);
        let info = info_of(&table, version);
        assert_eq!(info["isBlindAppend"], false, "{info}");
        assert_eq!(info["isolationLevel"], level, "{info}");
    }
}

#[test]
fn the_level_is_the_proposals_or_the_tables_and_never_one_that_does_not_fit() {
    let level = "delta.isolationLevel";
    let table = |value: &str| {
        TableBuilder::with_actions([
            protocol(1, 2),
            metadata(&[("id", "long")]).property(level, value),
        ])
    };
    let serializable = table("serializable");
    let open = serializable.open();
    assert_eq!(committed(&open, &append(0, [])), 1);
    assert_eq!(info_of(&serializable, 1)["isolationLevel"], "Serializable");
    let weaker = Proposal {
        isolation: Some(txn::IsolationLevel::WriteSerializable),
        ..append(1, [])
    };
    assert_eq!(committed(&open, &weaker), 2);
    assert_eq!(
        info_of(&serializable, 2)["isolationLevel"],
        "WriteSerializable"
    );
    for value in ["SnapshotIsolation", "Chaos"] {
        let error = commit(&table(value).open(), &append(0, [])).unwrap_err();
        assert!(matches!(error, TxnError::Protocol(_)), "{error}");
        assert!(error.to_string().contains(value), "{error}");
    }
    let none = Proposal {
        isolation: Some(txn::IsolationLevel::SnapshotIsolation),
        ..append(2, [new_add("f", &[])])
    };
    let error = commit(&open, &none).unwrap_err();
    assert!(matches!(error, TxnError::Invalid { .. }), "{error}");
}

#[test]
fn a_table_without_in_commit_timestamps_gets_none() {
    let table = TableBuilder::with_schema(&[("id", "long")]);
    assert_eq!(committed(&table.open(), &append(0, [])), 1);
    assert!(info_of(&table, 1).get("inCommitTimestamp").is_none());
}

#[test]
fn in_commit_timestamps_increase_whatever_the_clock_says() {
    let future = now_ms() + DAY;
    let table =
        TableBuilder::with_actions([at(future), with_features(&["inCommitTimestamp"]), timed()]);
    let open = table.open();
    assert_eq!(committed(&open, &append(0, [])), 1);
    assert_eq!(time_of(&table, 1), future + 1);
    // The word of the winner counts, not that of the version that was read.
    let other = table.open();
    assert_eq!(committed(&other, &append(1, [])), 2);
    assert_eq!(committed(&open, &append(1, [])), 3);
    assert_eq!(time_of(&table, 3), future + 3);
}

#[test]
fn an_in_commit_timestamp_is_now_where_that_is_later() {
    let table = TableBuilder::with_actions([at(5), with_features(&["inCommitTimestamp"]), timed()]);
    let before = now_ms();
    assert_eq!(committed(&table.open(), &append(0, [])), 1);
    assert!((before..=now_ms()).contains(&time_of(&table, 1)));
}

#[test]
fn the_commit_that_enables_in_commit_timestamps_says_from_when_on() {
    let mut table = TableBuilder::with_actions([
        with_features(&["inCommitTimestamp"]),
        metadata(&[("id", "long")]),
    ]);
    let own = table.open();
    let mut metadata = own.current().snapshot(0).unwrap().metadata().clone();
    let property = "delta.enableInCommitTimestamps".to_owned();
    metadata.configuration.insert(property, "true".to_owned());
    let mine = Proposal {
        metadata: Some(metadata),
        ..proposal(0)
    };
    // A winner, by which the version is another one, and whose time lies ahead.
    table.commit_adds(1);
    let future = now_ms() + DAY;
    table.set_modified(1, future);
    assert_eq!(committed(&own, &mine), 2);
    assert_eq!(time_of(&table, 2), future + 1);
    let configuration = named(&table, 2, "metaData")[0]["configuration"].clone();
    assert_eq!(
        configuration,
        json!({
            "delta.enableInCommitTimestamps": "true",
            "delta.inCommitTimestampEnablementVersion": "2",
            "delta.inCommitTimestampEnablementTimestamp": (future + 1).to_string(),
        })
    );
    assert_eq!(committed(&own, &append(2, [])), 3);
    assert_eq!(time_of(&table, 3), future + 2);
    // Another change of the metadata leaves that as it is.
    let metadata = own
        .refresh()
        .unwrap()
        .snapshot(3)
        .unwrap()
        .metadata()
        .clone();
    let again = Proposal {
        metadata: Some(metadata.clone()),
        ..proposal(3)
    };
    assert_eq!(committed(&own, &again), 4);
    let written = named(&table, 4, "metaData")[0]["configuration"].clone();
    assert_eq!(written, configuration);
}

#[test]
fn a_time_before_which_is_gone_is_taken_from_the_checksum_or_refused() {
    let mut table =
        TableBuilder::with_actions([at(5), with_features(&["inCommitTimestamp"]), timed()]);
    let future = now_ms() + DAY;
    table.commit([at(future)]);
    table.checkpoint(1, Checkpoint::Classic);
    table.delete_commits(0..=1);
    let open = table.open();
    let error = commit(&open, &append(1, [])).unwrap_err();
    assert!(
        matches!(error, TxnError::CommitTime { version: 1, .. }),
        "{error}"
    );
    let mut checksum = table.checksum(1);
    checksum["inCommitTimestampOpt"] = json!(future);
    table.write_checksum(1, &checksum);
    assert_eq!(committed(&open, &append(1, [])), 2);
    assert_eq!(time_of(&table, 2), future + 1);
}

#[test]
fn after_the_end_of_time_there_is_no_commit() {
    let table =
        TableBuilder::with_actions([at(i64::MAX), with_features(&["inCommitTimestamp"]), timed()]);
    let error = commit(&table.open(), &append(0, [])).unwrap_err();
    assert!(
        matches!(error, TxnError::CommitTime { version: 0, .. }),
        "{error}"
    );
}

fn tracked() -> TableBuilder {
    TableBuilder::with_actions([
        with_features(&["rowTracking", "domainMetadata"]),
        metadata(&[("id", "long")]).property("delta.enableRowTracking", "true"),
    ])
}

/// (baseRowId, defaultRowCommitVersion) of each add of a version.
fn row_ids(table: &TableBuilder, version: u64) -> Vec<(i64, i64)> {
    named(table, version, "add")
        .iter()
        .map(|add| {
            let number = |name: &str| add[name].as_i64().expect("a number");
            (number("baseRowId"), number("defaultRowCommitVersion"))
        })
        .collect()
}

fn high_water_mark(table: &TableBuilder, version: u64) -> Vec<Value> {
    named(table, version, "domainMetadata")
        .iter()
        .filter(|domain| domain["domain"] == "delta.rowTracking")
        .map(|domain| {
            assert_eq!(domain["removed"], false);
            serde_json::from_str::<Value>(domain["configuration"].as_str().unwrap()).unwrap()
                ["rowIdHighWaterMark"]
                .take()
        })
        .collect()
}

#[test]
fn new_files_get_row_ids_behind_those_given_out_also_by_winners() {
    let table = tracked();
    let own = table.open();
    let other = table.open();
    let adds = |names: [&str; 2]| names.map(|name| new_add(name, &[]));
    let mine = append(0, adds(["a", "b"]));
    assert_eq!(committed(&other, &append(0, adds(["c", "d"]))), 1);
    assert_eq!(row_ids(&table, 1), [(0, 1), (10, 1)]);
    assert_eq!(high_water_mark(&table, 1), [19]);
    // One by a winner that gives out none.
    assert_eq!(committed(&other, &proposal(1)), 2);
    assert_eq!(high_water_mark(&table, 2), [0; 0]);
    assert_eq!(committed(&own, &mine), 3);
    assert_eq!(row_ids(&table, 3), [(20, 3), (30, 3)]);
    assert_eq!(high_water_mark(&table, 3), [39]);
    // From the snapshot.
    assert_eq!(committed(&table.open(), &append(3, adds(["e", "f"]))), 4);
    assert_eq!(row_ids(&table, 4), [(40, 4), (50, 4)]);
}

#[test]
fn a_file_added_again_keeps_its_row_ids() {
    let table = tracked();
    let open = table.open();
    assert_eq!(committed(&open, &append(0, [new_add("a", &[])])), 1);
    let mine = Proposal {
        reads: Reads::WholeTable,
        adds: vec![AddFile {
            deletion_vector: Some(new_dv("x")),
            base_row_id: Some(0),
            default_row_commit_version: Some(1),
            ..new_add("a", &[])
        }],
        removes: vec![new_remove("a", &[])],
        ..proposal(1)
    };
    assert_eq!(committed(&open, &mine), 2);
    assert_eq!(row_ids(&table, 2), [(0, 1)]);
    assert_eq!(high_water_mark(&table, 2), [0; 0]);
    let tags = |version| info_of(&table, version)["tags"].clone();
    assert_eq!(tags(2), json!({"delta.rowTracking.preserved": "true"}));
    let rewrite = Proposal {
        reads: Reads::WholeTable,
        adds: vec![new_add("b", &[])],
        removes: vec![deltafs::log::write::RemoveFile {
            deletion_vector: Some(new_dv("x")),
            ..new_remove("a", &[])
        }],
        ..proposal(2)
    };
    assert_eq!(committed(&open, &rewrite), 3);
    assert_eq!(row_ids(&table, 3), [(10, 3)]);
    assert_eq!(tags(3), json!({"delta.rowTracking.preserved": "false"}));
}

#[test]
fn a_file_whose_rows_are_not_counted_is_refused_where_rows_are_tracked() {
    let table = tracked();
    let open = table.open();
    for stats in [None, Some("{}"), Some("{\"numRecords\":-1}"), Some("x")] {
        let mine = append(
            0,
            [AddFile {
                stats: stats.map(str::to_owned),
                ..new_add("a b", &[])
            }],
        );
        let error = commit(&open, &mine).unwrap_err();
        assert!(matches!(error, TxnError::NoRecordCount { .. }), "{error}");
        assert!(error.to_string().contains("a b"), "{error}");
    }
    assert_eq!(table.generation().newest(), 0);
}

#[test]
fn suspended_row_tracking_gives_out_nothing() {
    let table = TableBuilder::with_actions([
        with_features(&["rowTracking", "domainMetadata"]),
        metadata(&[("id", "long")]).property("delta.rowTrackingSuspended", "true"),
    ]);
    assert_eq!(committed(&table.open(), &append(0, [new_add("a", &[])])), 1);
    assert!(named(&table, 1, "add")[0].get("baseRowId").is_none());
    assert_eq!(named(&table, 1, "domainMetadata").len(), 0);
}

#[test]
fn a_high_water_mark_that_makes_no_sense_is_refused() {
    for configuration in ["", "{}", "{\"rowIdHighWaterMark\":\"x\"}"] {
        let mut table = tracked();
        table.commit([domain("delta.rowTracking", configuration)]);
        let error = commit(&table.open(), &append(1, [new_add("a", &[])])).unwrap_err();
        assert!(matches!(error, TxnError::RowIds { .. }), "{error}");
    }
    let mut table = tracked();
    let last = format!("{{\"rowIdHighWaterMark\":{}}}", i64::MAX - 3);
    table.commit([domain("delta.rowTracking", &last)]);
    let error = commit(&table.open(), &append(1, [new_add("a", &[])])).unwrap_err();
    assert!(matches!(error, TxnError::RowIds { .. }), "{error}");
}

#[test]
fn two_commits_that_set_one_domain_conflict_as_in_delta() {
    let table = TableBuilder::with_actions([
        with_features(&["domainMetadata"]),
        metadata(&[("id", "long")]),
    ]);
    let set = |name: &str| Proposal {
        domains: vec![deltafs::log::actions::DomainMetadata {
            domain: name.to_owned(),
            configuration: "{}".to_owned(),
            removed: false,
        }],
        ..proposal(0)
    };
    let own = table.open();
    assert_eq!(committed(&table.open(), &set("one")), 1);
    assert_eq!(committed(&own, &set("two")), 2);
    match commit(&own, &set("one")).unwrap() {
        CommitOutcome::Conflicted(conflict) => {
            assert_eq!(conflict.name(), "ConcurrentTransaction");
            assert_eq!(conflict.version(), 1);
            assert!(conflict.to_string().contains("\"one\""), "{conflict}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_commit_far_behind_goes_on_top_of_all_winners() {
    let mut table = TableBuilder::with_schema(&[("id", "long")]);
    let own = table.open();
    table.commit_adds(100);
    table.commit([other(
        "cdc",
        json!({"path": "c", "size": 1, "dataChange": false}),
    )]);
    let options = CommitOptions::default();
    let outcome = txn::commit(&own, &append(0, [new_add("mine", &[])]), &options).unwrap();
    assert!(
        matches!(outcome, CommitOutcome::Committed { version: 102 }),
        "{outcome:?}"
    );
    assert_eq!(info_of(&table, 102)["readVersion"], 0);
}
