//! What is written beside checkpoints: the pointer to the last one, version checksums.

use std::path::PathBuf;

use deltafs::storage::PutOutcome;

use super::*;

/// "Last Checkpoint File Schema".
#[test]
fn the_pointer_says_what_was_written() {
    for form in ["classic", "v2"] {
        let table = busy_table(&[], form);
        let report = write(&table, 6);
        assert!(report.pointed_to);
        let pointer = last_checkpoint(&table);
        let size = |path: &PathBuf| std::fs::metadata(path).unwrap().len();
        let mut sum = size(&table.path(&report.written.file.path));
        for sidecar in &report.written.sidecars {
            sum += size(&table.path(&sidecar.path));
        }
        assert_eq!(pointer["version"], 6);
        assert_eq!(pointer["size"], report.written.actions);
        assert_eq!(pointer["sizeInBytes"], sum);
        assert_eq!(pointer["numOfAddFiles"], 3);
        assert_eq!(pointer.get("parts"), None);
        assert_eq!(pointer["checksum"].as_str().unwrap().len(), 32);
        let v2 = pointer.get("v2Checkpoint");
        assert_eq!(v2.is_some(), form == "v2");
        if let Some(v2) = v2 {
            assert_eq!(v2["path"], report.written.file.name());
        }
    }
}

/// The pointer never goes back.
#[test]
fn the_pointer_stays_with_a_newer_checkpoint() {
    let table = busy_table(&[], "classic");
    assert!(write(&table, 5).pointed_to);
    assert!(!write(&table, 4).pointed_to);
    assert_eq!(last_checkpoint(&table)["version"], 5);
    assert!(write(&table, 5).pointed_to);
    assert!(write(&table, 6).pointed_to);
    assert_eq!(last_checkpoint(&table)["version"], 6);
    // One that nobody can read points nowhere.
    table.write_log("_last_checkpoint", "{\"version\":\"x");
    assert!(write(&table, 2).pointed_to);
    assert_eq!(last_checkpoint(&table)["version"], 2);
}

/// Some readers (delta-kernel-rs, and DuckDB with it) refuse a table whose pointer names a checkpoint
/// that is not there: newer commits may have been taken away with it.
#[test]
fn a_pointer_to_a_checkpoint_that_is_not_there_is_replaced() {
    let table = busy_table(&[], "classic");
    for lie in [5, 6, 7, u64::MAX] {
        table.write_log(
            "_last_checkpoint",
            json!({"version": lie, "size": 1}).to_string(),
        );
        assert!(write(&table, 4).pointed_to, "{lie}");
        assert_eq!(last_checkpoint(&table)["version"], 4);
    }
}

/// `delta.checkpointInterval`: after every so many commits.
#[test]
fn checkpoints_are_due_at_multiples_of_the_interval() {
    for (interval, due) in [
        (None, vec![10]),
        (Some("4"), vec![4, 8]),
        (Some("1"), (1..=10).collect()),
    ] {
        let meta = metadata(ID);
        let meta = match interval {
            None => meta,
            Some(interval) => meta.property("delta.checkpointInterval", interval),
        };
        let mut table = TableBuilder::with_actions([protocol(1, 2), meta]);
        table.commit_adds(10);
        let generation = table.generation();
        let mut found = Vec::new();
        for version in 0..=10 {
            let after = after_commit(&generation, version);
            assert_eq!(after.checksum.unwrap(), PutOutcome::Created);
            if let Some(checkpoint) = after.checkpoint {
                found.push(checkpoint.unwrap().version);
            }
        }
        assert_eq!(found, due);
        // The listing learned of them.
        let known: Vec<Version> = generation.listing().checkpoint_versions().collect();
        assert_eq!(known, due);
        // A second time there is nothing to do.
        let again = after_commit(&generation, 10);
        assert_eq!(again.checksum.unwrap(), PutOutcome::AlreadyExists);
        assert!(again.checkpoint.is_none());
        table.delete_commits(0..=due.last().unwrap() - 1);
        table.check(&table.generation(), [10]);
    }
}

fn checksum(table: &TableBuilder, version: Version) -> Value {
    let bytes = std::fs::read(table.log(&format!("{version:020}.crc"))).unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

/// "Version Checksum File Schema": "Writers MUST ensure all metrics in the Version Checksum accurately
/// reflect table state after Action Reconciliation".
#[test]
fn version_checksums_say_what_the_version_is() {
    let table = busy_table(&[], "classic");
    let generation = table.generation();
    // In an order in which sizes are derived from one another forwards, backwards, and anew.
    for version in [6, 2, 3, 0, 5, 1, 4] {
        let after = after_commit(&generation, version);
        assert_eq!(after.checksum.unwrap(), PutOutcome::Created);
        let found = checksum(&table, version);
        let mut expected = table.checksum(version);
        let state = table.reference(version);
        let fields = |name: &str| -> Value {
            let others = state.non_file_actions();
            let fields = others.into_iter().filter(|action| action.name == name);
            fields.map(|action| json!(action.fields)).collect()
        };
        expected["setTransactions"] = fields("txn");
        expected["domainMetadata"] = fields("domainMetadata");
        assert_eq!(found, expected, "version {version}");
        let snapshot = generation.snapshot(version).unwrap();
        assert_eq!(generation.checksum_problem(&snapshot), None);
    }
}

/// "Writers MUST NOT overwrite existing Version Checksum files".
#[test]
fn a_version_checksum_that_is_there_stays() {
    let table = busy_table(&[], "classic");
    table.write_log("00000000000000000006.crc", "{}");
    let after = after_commit(&table.generation(), 6);
    assert_eq!(after.checksum.unwrap(), PutOutcome::AlreadyExists);
    assert_eq!(checksum(&table, 6), json!({}));
}

/// "txnId: A unique identifier for the transaction that produced this commit", "inCommitTimestampOpt:
/// Present if and only if In-Commit Timestamps are enabled".
#[test]
fn a_version_checksum_has_what_the_commit_says_of_itself() {
    let meta = metadata(ID).property("delta.enableInCommitTimestamps", "true");
    let mut table = TableBuilder::with_actions([
        commit_info().in_commit_timestamp(17).with("txnId", "t0"),
        protocol(1, 7).with("writerFeatures", json!(["inCommitTimestamp"])),
        meta,
    ]);
    table.commit([add("a")]);
    let generation = table.generation();
    assert!(after_commit(&generation, 0).checksum.is_ok());
    let found = checksum(&table, 0);
    assert_eq!(
        (&found["txnId"], &found["inCommitTimestampOpt"]),
        (&json!("t0"), &json!(17))
    );
    // Without its time there is no right checksum of a version.
    let error = after_commit(&generation, 1).checksum.unwrap_err();
    assert!(
        matches!(error, CheckpointError::NoInCommitTimestamp { version: 1 }),
        "{error}"
    );
}
