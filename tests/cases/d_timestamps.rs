//! Timestamps.

use std::fs;
use std::path::Path;

use deltafs::base::clock::now_ms;
use jiff::Timestamp;

use crate::support::{
    TableBuilder, add, commit_info, generation_of, logged, metadata, protocol, resolve, xattr,
};
use crate::{ID, errno_of};

const DAY: i64 = 86_400_000;

/// Midnight of 2024-01-`day`, UTC.
fn january(day: i64) -> i64 {
    1_704_067_200_000 + (day - 1) * DAY
}

/// Versions 0, 1 and 2, committed on 2024-01-10, -12 and -14.
fn table() -> TableBuilder {
    let mut table = TableBuilder::with_schema(ID);
    table.commit_adds(2);
    for version in 0..=2 {
        table.set_modified(version, january(10 + 2 * version as i64));
    }
    table
}

/// What the tree answers to a time: the version, or nothing.
fn version_at(table: &TableBuilder, time: &str) -> Option<String> {
    let tree = table.tree();
    match crate::support::lookup(&tree, &format!("@{time}")) {
        Ok(entry) => Some(tree.readlink(entry.attr.ino).unwrap()),
        Err(error) => {
            assert_eq!(deltafs::errno::of_tree(&error), libc::ENOENT, "{error}");
            None
        }
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &target),
            false => {
                fs::copy(entry.path(), &target).unwrap();
            }
        }
    }
}

/// delta#192: copying a table changes the times of its commits.
#[test]
fn d1_a_copy_has_the_times_of_its_files_unless_commits_carry_their_own() {
    let plain = table();
    let features = protocol(1, 7).with("writerFeatures", serde_json::json!(["inCommitTimestamp"]));
    let enabled = metadata(ID).property("delta.enableInCommitTimestamps", "true");
    let mut in_commit = TableBuilder::new();
    in_commit.commit([
        commit_info().in_commit_timestamp(january(10)),
        features,
        enabled,
    ]);
    in_commit.commit([commit_info().in_commit_timestamp(january(12)), add("f")]);
    let asked = january(11);
    let now = now_ms();
    for (table, copied) in [(&plain, None), (&in_commit, Some(0))] {
        let there = table.generation().version_at("then", asked, now);
        assert_eq!(there.unwrap(), 0);
        let target = table.outside().join("copy");
        copy(&table.root(), &target);
        let there = generation_of(&target).version_at("then", asked, now);
        assert_eq!(there.ok(), copied);
    }
}

/// delta#1972: `commitInfo.timestamp` taken for the time, which the protocol does not promise.
#[test]
fn d2_the_timestamp_in_commit_info_is_not_the_time() {
    let mut table = TableBuilder::with_schema(ID);
    table.commit([commit_info().with("timestamp", january(1)), add("f")]);
    table.set_modified(0, january(5));
    table.set_modified(1, january(10));
    assert_eq!(table.generation().timestamp(1).unwrap(), Some(january(10)));
    assert_eq!(version_at(&table, "2024-01-09").as_deref(), Some("@v0"));
    assert_eq!(version_at(&table, "2024-01-10").as_deref(), Some("@v1"));
    let time = xattr(&table.tree(), "@v1", "user.delta.timestamp").unwrap();
    assert_eq!(time, "2024-01-10T00:00:00.000Z");
}

/// delta#4294: in-commit timestamps enabled, the modification time used.
#[test]
fn d3_an_in_commit_timestamp_is_the_time() {
    let features = protocol(1, 7).with("writerFeatures", serde_json::json!(["inCommitTimestamp"]));
    let enabled = metadata(ID).property("delta.enableInCommitTimestamps", "true");
    let mut table = TableBuilder::new();
    table.commit([commit_info().in_commit_timestamp(100), features, enabled]);
    table.set_modified(0, 999);
    let generation = table.generation();
    assert_eq!(generation.timestamp(0).unwrap(), Some(100));
    assert_eq!(generation.version_at("then", 100, 1_000).unwrap(), 0);
    assert!(generation.version_at("then", 99, 1_000).is_err());
}

/// kernel-rs PR 2663: times that do not increase.
#[test]
fn d5_times_are_made_increasing() {
    let mut table = TableBuilder::with_schema(ID);
    table.commit_adds(2);
    for (version, ms) in [(0, 10), (1, 8), (2, 12)] {
        table.set_modified(version, ms);
    }
    let generation = table.generation();
    for (version, ms) in [(0, 10), (1, 11), (2, 12)] {
        assert_eq!(generation.timestamp(version).unwrap(), Some(ms));
        assert_eq!(generation.version_at("then", ms, 1_000).unwrap(), version);
    }
    // The same when the versions are asked for, or made, one by one.
    let generation = table.generation();
    assert_eq!(generation.timestamp(1).unwrap(), Some(11));
    table.commit_adds(1);
    table.set_modified(3, 9);
    assert_eq!(table.generation().timestamp(3).unwrap(), Some(13));
}

/// delta#6827: a time after the last commit.
#[test]
fn d6_after_the_last_commit_is_the_latest_and_the_future_is_nothing() {
    let table = table();
    assert_eq!(version_at(&table, "2024-06-01").as_deref(), Some("@v2"));
    let just_now = Timestamp::from_millisecond(now_ms() - 60_000).unwrap();
    assert_eq!(
        version_at(&table, &format!("{just_now:.0}")).as_deref(),
        Some("@v2")
    );
    let tomorrow = Timestamp::from_millisecond(now_ms() + DAY).unwrap();
    let tree = table.tree();
    let (errno, message) = errno_of(resolve(&tree, &format!("@{tomorrow:.0}")));
    assert_eq!(errno, libc::ENOENT);
    assert!(message.contains("future"), "{message}");
    assert_eq!(version_at(&table, "2999-01-01"), None);
}

/// connectors PR 346: a time before the first version that can be rebuilt.
#[test]
fn d8_before_the_first_version_is_nothing_and_the_reason_is_logged() {
    let mut table = table();
    for version in ["1990-01-01", "2024-01-09T23:59:59.999Z"] {
        let (found, logs) = logged(|| version_at(&table, version));
        assert_eq!(found, None);
        assert!(
            logs.contains("oldest version that can be rebuilt is 0"),
            "{logs}"
        );
        assert_eq!(logs.lines().count(), 1, "one line: {logs}");
    }
    assert_eq!(version_at(&table, "2024-01-10").as_deref(), Some("@v0"));
    // After a cleanup the first is a later one.
    table.commit_adds(1);
    table.set_modified(3, january(16));
    table.checkpoint(2, crate::support::Checkpoint::Classic);
    table.delete_commits(0..=1);
    let (found, logs) = logged(|| version_at(&table, "2024-01-13"));
    assert_eq!(found, None);
    assert!(
        logs.contains("oldest version that can be rebuilt is 2"),
        "{logs}"
    );
}
