//! "In-Commit Timestamps"; where a table has none, what Delta on Spark does with modification times.

use deltafs::log::LogError;
use deltafs::snapshot::{Generation, SnapshotError};

use crate::ID;
use crate::support::{Action, Checkpoint, TableBuilder, add, commit_info, metadata, protocol};

const NOW: i64 = 1_000_000_000_000;

fn at(generation: &Generation, ms: i64) -> Option<u64> {
    match generation.version_at("then", ms, NOW) {
        Ok(version) => Some(version),
        Err(SnapshotError::Log(LogError::NoVersionAtTime { .. })) => None,
        Err(error) => panic!("{error}"),
    }
}

fn times(generation: &Generation) -> Vec<i64> {
    let time = |version| {
        generation
            .timestamp(version)
            .unwrap()
            .expect("a commit file")
    };
    (0..=generation.newest()).map(time).collect()
}

fn enabled() -> Action {
    metadata(ID).property("delta.enableInCommitTimestamps", "true")
}

fn ict_protocol() -> Action {
    protocol(1, 7).with("writerFeatures", serde_json::json!(["inCommitTimestamp"]))
}

/// A table with in-commit timestamps from the start: 100, 200, 300; modification times say
/// otherwise.
fn always() -> TableBuilder {
    let mut table = TableBuilder::new();
    table.commit([
        commit_info().in_commit_timestamp(100),
        ict_protocol(),
        enabled(),
    ]);
    table.commit([commit_info().in_commit_timestamp(200), add("a")]);
    table.commit([commit_info().in_commit_timestamp(300), add("b")]);
    for (version, ms) in [(0, 9_000), (1, 5), (2, 7_000)] {
        table.set_modified(version, ms);
    }
    table
}

/// Enabled in version 2 at 300; before, the modification times are 100 and 200.
fn later() -> TableBuilder {
    let mut table = TableBuilder::with_schema(ID);
    table.commit([add("a")]);
    table.commit([
        commit_info().in_commit_timestamp(300),
        ict_protocol(),
        enabled()
            .property("delta.inCommitTimestampEnablementVersion", "2")
            .property("delta.inCommitTimestampEnablementTimestamp", "300"),
    ]);
    table.commit([commit_info().in_commit_timestamp(400), add("b")]);
    for (version, ms) in [(0, 100), (1, 200), (2, 99_000), (3, 1)] {
        table.set_modified(version, ms);
    }
    table
}

/// "For tables with In-Commit timestamps enabled, readers should use the `inCommitTimestamp` as the
/// commit timestamp for operations like time travel and `DESCRIBE HISTORY`."
#[test]
fn in_commit_timestamps_are_the_commit_times() {
    let table = always();
    let generation = table.generation();
    assert_eq!(times(&generation), [100, 200, 300]);
    for (ms, version) in [
        (99, None),
        (100, Some(0)),
        (199, Some(0)),
        (200, Some(1)),
        (300, Some(2)),
        (NOW, Some(2)),
    ] {
        assert_eq!(at(&generation, ms), version, "{ms}");
    }
}

/// "For commits with version >= `delta.inCommitTimestampEnablementVersion`, readers should use the
/// `inCommitTimestamp` field of the `commitInfo` action. For commits with version < ..., readers
/// should use the file modification timestamp."
#[test]
fn times_are_split_at_the_enablement_version() {
    let table = later();
    assert_eq!(times(&table.generation()), [100, 200, 300, 400]);
}

/// "If `timestamp X` >= `delta.inCommitTimestampEnablementTimestamp`, only table versions >=
/// `delta.inCommitTimestampEnablementVersion` should be considered for the query. Otherwise, only
/// table versions less than `delta.inCommitTimestampEnablementVersion` should be considered".
#[test]
fn time_travel_considers_one_side_of_the_enablement() {
    let table = later();
    let generation = table.generation();
    for (ms, version) in [
        (99, None),
        (100, Some(0)),
        (200, Some(1)),
        (299, Some(1)),
        (300, Some(2)),
        (399, Some(2)),
        (400, Some(3)),
    ] {
        assert_eq!(at(&generation, ms), version, "{ms}");
    }
}

/// The same after the log was cleaned up to a checkpoint.
#[test]
fn a_checkpoint_keeps_the_enablement() {
    let table = later();
    table.checkpoint(1, Checkpoint::Classic);
    table.delete_commits(0..=0);
    let generation = table.generation();
    assert_eq!(at(&generation, 199), None);
    assert_eq!(at(&generation, 250), Some(1));
    assert_eq!(at(&generation, 300), Some(2));
}

/// "the `commitInfo` action must be the first action in the commit": one that a writer put elsewhere
/// is found all the same.
#[test]
fn a_commit_info_that_is_not_first_is_found() {
    let mut table = always();
    table.commit([add("c"), commit_info().in_commit_timestamp(400)]);
    let long = "x".repeat(40_000);
    table.commit([add(&long), commit_info().in_commit_timestamp(500)]);
    table.commit([commit_info().with("long", long).in_commit_timestamp(600)]);
    assert_eq!(times(&table.generation()), [100, 200, 300, 400, 500, 600]);
}

/// Properties that are no numbers are an error that names them, wherever a time is asked for.
#[test]
fn an_enablement_that_is_no_number_is_an_error() {
    for name in [
        "delta.inCommitTimestampEnablementVersion",
        "delta.inCommitTimestampEnablementTimestamp",
    ] {
        for value in ["", "x", "-1", "1.5", "99999999999999999999"] {
            let action = enabled()
                .property("delta.inCommitTimestampEnablementVersion", "0")
                .property("delta.inCommitTimestampEnablementTimestamp", "0")
                .property(name, value);
            let table = TableBuilder::with_actions([ict_protocol(), action]);
            let generation = table.generation();
            let error = generation.timestamp(0).unwrap_err().to_string();
            assert!(error.contains(name), "{error}");
            assert!(generation.version_at("x", 0, NOW).is_err());
            assert!(
                generation.snapshot(0).unwrap().readable().is_ok(),
                "data is served"
            );
        }
    }
}

/// Enablement as of the newest version counts: "The table property `delta.enableInCommitTimestamps`
/// must be set to `true`".
#[test]
fn without_the_property_modification_times_count() {
    for value in [None, Some("false")] {
        let mut table = always();
        let mut action = metadata(ID);
        if let Some(value) = value {
            action = action.property("delta.enableInCommitTimestamps", value);
        }
        table.commit([commit_info().in_commit_timestamp(400), action]);
        for (version, ms) in [(0, 1_000), (1, 2_000), (2, 3_000), (3, 4_000)] {
            table.set_modified(version, ms);
        }
        assert_eq!(times(&table.generation()), [1_000, 2_000, 3_000, 4_000]);
    }
}

/// Delta on Spark: commit times that do not increase are moved to 1 ms after the one before.
#[test]
fn modification_times_are_made_increasing() {
    let mut table = TableBuilder::with_schema(ID);
    table.commit_adds(5);
    for (version, ms) in [(0, 10), (1, 8), (2, 12), (3, 12), (4, 5), (5, 100)] {
        table.set_modified(version, ms);
    }
    let generation = table.generation();
    assert_eq!(times(&generation), [10, 11, 12, 13, 14, 100]);
    for (ms, version) in [
        (9, None),
        (10, Some(0)),
        (11, Some(1)),
        (12, Some(2)),
        (99, Some(4)),
    ] {
        assert_eq!(at(&generation, ms), version, "{ms}");
    }
}

/// A version whose commit file is gone has no time: "Checkpoints ... do not preserve `commitInfo`
/// actions".
#[test]
fn a_version_without_commit_file_has_no_time() {
    let table = later();
    table.checkpoint(1, Checkpoint::Classic);
    table.delete_commits(0..=1);
    let generation = table.generation();
    assert_eq!(generation.timestamp(1).unwrap(), None);
    assert_eq!(generation.timestamp(2).unwrap(), Some(300));
    assert_eq!(at(&generation, 250), None);
}
