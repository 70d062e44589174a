//! Numbers out of every range.

use serde_json::{Value, json};

use super::support::{Checkpoint, TableBuilder, add, commit_info, metadata, other, protocol, txn};
use super::visit::visit;

const ID: &[(&str, &str)] = &[("id", "long")];

/// As text, since not all of them are numbers to this machine.
const NUMBERS: [&str; 18] = [
    "-1",
    "0",
    "2147483647",
    "2147483648",
    "-2147483649",
    "9223372036854775807",
    "-9223372036854775808",
    "9223372036854775808",
    "18446744073709551616",
    "1e300",
    "1e999",
    "-1e999",
    "0.5",
    "1.0",
    "1e3",
    "null",
    "\"1\"",
    "true",
];

/// Puts each number in the place of `7777777` in a line.
fn with_each_number(line: &Value, mut check: impl FnMut(&str, String)) {
    let text = line.to_string();
    assert!(text.contains("7777777"), "{text}");
    for number in NUMBERS {
        check(number, text.replace("7777777", number));
    }
}

#[test]
fn numbers_in_actions_are_an_error_or_a_value() {
    let dv = |field: &str| {
        let mut dv = super::support::dv("x");
        dv[field] = json!(7_777_777);
        add("f.parquet").dv(&dv)
    };
    for action in [
        add("f.parquet").with("size", 7_777_777),
        add("f.parquet").with("modificationTime", 7_777_777),
        dv("offset"),
        dv("sizeInBytes"),
        dv("cardinality"),
        add("f.parquet").with("stats", "{\"numRecords\":7777777}"),
        txn("a", 7_777_777),
        txn("a", 1).with("lastUpdated", 7_777_777),
        metadata(ID).with("createdTime", 7_777_777),
        protocol(1, 2).with("minReaderVersion", 7_777_777),
        protocol(1, 2).with("minWriterVersion", 7_777_777),
        commit_info().with("inCommitTimestamp", 7_777_777),
        commit_info().with("timestamp", 7_777_777),
    ] {
        with_each_number(&action.to_value(), |_, line| {
            let mut table = TableBuilder::with_schema(ID);
            let enabled = metadata(ID).property("delta.enableInCommitTimestamps", "true");
            table.commit([commit_info().in_commit_timestamp(1), enabled]);
            table.write_log("00000000000000000002.json", &line);
            visit(&table.root());
            assert_eq!(table.live(1), [], "{line}");
        });
    }
}

/// The largest sizes add up to the largest size, and no further.
#[test]
fn huge_sizes_add_up() {
    let mut table = TableBuilder::with_schema(ID);
    table.commit(
        (0..5)
            .map(|at| add(&format!("f{at}.parquet")).size(i64::MAX))
            .collect::<Vec<_>>(),
    );
    table.write_checksum(1, &json!({"tableSizeBytes": i64::MAX, "numFiles": 5}));
    let generation = table.generation();
    assert_eq!(
        generation.size_of(&generation.snapshot(1).unwrap()),
        u64::MAX
    );
    assert!(visit(&table.root()) > 0);
}

#[test]
fn times_at_the_ends_are_times() {
    for ms in [i64::MIN, i64::MIN + 1, i64::MAX - 1, i64::MAX] {
        let enabled = metadata(ID)
            .property("delta.enableInCommitTimestamps", "true")
            .property(
                "delta.inCommitTimestampEnablementVersion",
                &i64::MAX.to_string(),
            )
            .property(
                "delta.inCommitTimestampEnablementTimestamp",
                &i64::MAX.to_string(),
            );
        let mut table = TableBuilder::with_actions([
            commit_info().in_commit_timestamp(ms),
            protocol(1, 2),
            enabled.clone(),
        ]);
        table.commit([add("f.parquet").modified(ms)]);
        visit(&table.root());
        table.commit([
            commit_info().in_commit_timestamp(ms),
            metadata(ID).property("delta.enableInCommitTimestamps", "true"),
        ]);
        visit(&table.root());
    }
}

#[test]
fn numbers_in_other_files_are_an_error_or_a_value() {
    let checksum = json!({"tableSizeBytes": 7_777_777, "numFiles": 7_777_777});
    let hint = json!({"version": 7_777_777, "size": 7_777_777, "parts": 7_777_777});
    let checkpoint_metadata = json!({"checkpointMetadata": {"version": 7_777_777}});
    let sidecar =
        json!({"sidecar": {"path": "x", "sizeInBytes": 7_777_777, "modificationTime": 7_777_777}});
    let name = "00000000000000000001.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json";
    let mut table = TableBuilder::with_schema(ID);
    table.commit_adds(2);
    let check = |file: &str, line: &Value| {
        with_each_number(line, |_, line| {
            table.write_log(file, &line);
            visit(&table.root());
            table.check(&table.generation(), [2, 1, 0]);
        });
        table.delete_log(file);
    };
    check("00000000000000000002.crc", &checksum);
    check("_last_checkpoint", &hint);
    check(name, &checkpoint_metadata);
    check(name, &sidecar);
}

/// What Parquet holds is a number of its type, and may still be none of Delta's.
#[test]
fn numbers_in_parquet_checkpoints_are_an_error_or_a_value() {
    let dv = |field: &str, value: i64| {
        let mut dv = super::support::dv("x");
        dv[field] = json!(value);
        add("f.parquet").dv(&dv)
    };
    let mut files = vec![];
    for value in [-1, i64::from(i32::MIN), i64::from(i32::MAX)] {
        files.extend([
            dv("offset", value),
            dv("sizeInBytes", value),
            dv("cardinality", value),
        ]);
    }
    for value in [i64::MIN, -1, i64::MAX] {
        files.extend([
            dv("cardinality", value),
            add("f.parquet").size(value),
            add("f.parquet").modified(value),
            other(
                "sidecar",
                json!({"path": "x.parquet", "sizeInBytes": value}),
            ),
            other("checkpointMetadata", json!({"version": value})),
        ]);
    }
    for action in files {
        let mut table = TableBuilder::with_schema(ID);
        table.commit_adds(2);
        let others = table.reference(1).non_file_actions();
        table.checkpoint_of(1, Checkpoint::Classic, others, vec![action]);
        visit(&table.root());
        table.delete_commits(0..=1);
        visit(&table.root());
    }
}
