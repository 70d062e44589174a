//! "Version Checksum File" and "State Validation".

use serde_json::{Value, json};

use crate::ID;
use crate::support::{Checkpoint, TableBuilder, add, logged, remove};

fn table() -> TableBuilder {
    let mut table = TableBuilder::with_schema(ID);
    table.commit([add("a").size(10), add("b").size(5)]);
    table.commit([remove("a"), add("c").size(1)]);
    table
}

fn problem(table: &TableBuilder, version: u64) -> Option<String> {
    let generation = table.generation();
    let snapshot = generation
        .snapshot(version)
        .expect("a checksum never stands in the way");
    generation.checksum_problem(&snapshot)
}

/// "Independently computing the same metrics by performing Action Reconciliation on the table state"
/// and "Comparing the computed values against those recorded in the Version Checksum".
#[test]
fn a_right_checksum_is_no_problem() {
    let table = table();
    for version in 0..=2 {
        table.write_checksum(version, &table.checksum(version));
    }
    for version in 0..=2 {
        assert_eq!(problem(&table, version), None, "version {version}");
    }
    table.checkpoint(1, Checkpoint::Classic);
    assert_eq!(problem(&table, 2), None);
}

/// "If any discrepancy is found between computed and recorded values, the table state at that
/// version should be considered potentially corrupted", "readers SHOULD surface the discrepancy to
/// users via error messaging".
#[test]
fn a_discrepancy_is_told_with_both_values() {
    let table = table();
    let changed = |field: &str, value: Value| {
        let mut checksum = table.checksum(2);
        checksum[field] = value;
        table.write_checksum(2, &checksum);
        let (problem, logs) = logged(|| problem(&table, 2).expect(field));
        assert!(logs.contains("version checksum differs"), "{logs}");
        problem
    };
    let files = changed("numFiles", json!(3));
    assert!(files.contains('3') && files.contains('2'), "{files}");
    let size = changed("tableSizeBytes", json!(16));
    assert!(size.contains("16") && size.contains('6'), "{size}");
    let mut metadata = table.checksum(2)["metadata"].clone();
    metadata["id"] = json!("another");
    let id = changed("metadata", metadata);
    assert!(id.contains("another"), "{id}");
}

/// "Readers MUST continue functioning if Version Checksum files are missing": or if they cannot be
/// read.
#[test]
fn a_checksum_that_is_missing_or_unreadable_is_no_problem() {
    let table = table();
    assert_eq!(problem(&table, 2), None);
    for content in ["", "{", "[]", "{}", "{\"numFiles\":\"x\"}", "\0"] {
        table.write_log("00000000000000000002.crc", content);
        assert_eq!(problem(&table, 2), None, "{content:?}");
    }
}

/// Fields that are required but that this reader does not compare may be odd.
#[test]
fn only_what_was_replayed_is_compared() {
    let table = table();
    let mut checksum = table.checksum(2);
    checksum["numMetadata"] = json!(17);
    checksum["allFiles"] = json!([{"nonsense": true}]);
    checksum["fileSizeHistogram"] = json!(null);
    checksum["later"] = json!({});
    table.write_checksum(2, &checksum);
    assert_eq!(problem(&table, 2), None);
}
