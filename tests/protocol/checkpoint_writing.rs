//! "Checkpoints" under "Requirements for Writers", "Checkpoint Schema", "V2 Spec", "Version Checksum
//! File" and "Last Checkpoint File", as duties of whoever writes them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use deltafs::base::Version;
use deltafs::base::clock::now_ms;
use deltafs::log::checkpoint::write::WriteError;
use deltafs::snapshot::checkpoint::{
    CheckpointError, CheckpointReport, after_commit, write_checkpoint,
};
use deltafs::storage::PutOutcome;
use serde_json::{Value, json};

use crate::ID;
use crate::support::{
    Action, Checkpoint, TableBuilder, actions_in, add, commit_info, domain, domain_removed, dv,
    field, generation_of, live, logged, metadata, parquet_schema, protocol, remove, table_features,
    txn,
};

const DAY: i64 = 24 * 60 * 60 * 1000;

const FORMS: [Checkpoint; 8] = [
    Checkpoint::Classic,
    Checkpoint::Parts(3),
    Checkpoint::ClassicV2(0),
    Checkpoint::ClassicV2(2),
    Checkpoint::Parquet(0),
    Checkpoint::Parquet(3),
    Checkpoint::Json(0),
    Checkpoint::Json(2),
];

fn write(table: &TableBuilder, version: Version) -> CheckpointReport {
    write_checkpoint(&table.generation(), version)
        .unwrap_or_else(|error| panic!("version {version}: {error}"))
}

/// All actions of the checkpoint, those of its sidecars in place of the `sidecar` actions.
fn written(table: &TableBuilder, report: &CheckpointReport) -> Vec<(String, Value)> {
    let mut actions = Vec::new();
    for (name, fields) in actions_in(&table.path(&report.written.file.path)) {
        if name == "sidecar" {
            let path = fields["path"].as_str().unwrap().to_owned();
            actions.extend(actions_in(&table.log(&format!("_sidecars/{path}"))));
        } else {
            actions.push((name, fields));
        }
    }
    actions
}

fn named<'a>(actions: &'a [(String, Value)], name: &str) -> Vec<&'a Value> {
    actions
        .iter()
        .filter(|(found, _)| found == name)
        .map(|(_, fields)| fields)
        .collect()
}

/// By path and deletion vector.
fn by_key(fields: &[&Value]) -> BTreeMap<String, Value> {
    let keyed: BTreeMap<String, Value> = fields
        .iter()
        .map(|fields| {
            let vector = &fields["deletionVector"]["pathOrInlineDv"];
            (format!("{} {vector}", fields["path"]), (*fields).clone())
        })
        .collect();
    assert_eq!(keyed.len(), fields.len(), "each once: {fields:?}");
    keyed
}

/// The actions as a checkpoint keeps them: `dataChange` is false, absent fields are absent.
fn kept(actions: impl IntoIterator<Item = Action>, name: &str) -> BTreeMap<String, Value> {
    let kept: Vec<Value> = actions
        .into_iter()
        .filter(|action| action.name == name)
        .map(|action| {
            let mut action = action.with("dataChange", false);
            if name == "remove" {
                action = action.without("stats").without("tags");
            }
            action.fields.retain(|_, value| !value.is_null());
            Value::Object(action.fields)
        })
        .collect();
    by_key(&kept.iter().collect::<Vec<_>>())
}

fn young() -> i64 {
    now_ms() - DAY
}

/// A table with every kind of action and every field of file actions.
fn busy_table(extra: &[(&str, &str)], form: &str) -> TableBuilder {
    let mut meta = metadata(&[("id", "long"), ("p", "string")]).partitioned_by(&["p"]);
    meta = meta
        .with("name", "busy")
        .with("description", "a table")
        .property("delta.checkpointPolicy", form);
    for (name, value) in extra {
        meta = meta.property(name, value);
    }
    let features = ["deletionVectors", "v2Checkpoint"];
    let protocol = table_features(&features).with(
        "writerFeatures",
        json!([
            "deletionVectors",
            "v2Checkpoint",
            "domainMetadata",
            "rowTracking"
        ]),
    );
    let mut table = TableBuilder::with_actions([commit_info(), protocol, meta]);
    let full = |path: &str, p: Option<&str>, row: i64| {
        add(path)
            .partition("p", p)
            .size(1000 + row)
            .modified(1_700_000_000_000 + row)
            .stats(json!({"numRecords": row, "minValues": {"id": row}, "nullCount": {"id": 0}}))
            .with("tags", json!({"INSERTION_TIME": "17", "empty": ""}))
            .with("baseRowId", row)
            .with("defaultRowCommitVersion", 1)
            .with("clusteringProvider", "liquid")
    };
    table.commit([full("p=x/a", Some("x"), 1), full("p=y/b%20b", Some("y"), 2)]);
    table.commit([
        remove("p=x/a").with("deletionTimestamp", young()),
        full("p=x/a", Some("x"), 3).dv(&dv("first")),
        txn("app", 1).with("lastUpdated", young()),
        domain("d", "1"),
    ]);
    table.commit([
        remove("p=x/a")
            .dv(&dv("first"))
            .with("deletionTimestamp", young())
            .with("extendedFileMetadata", true)
            .with("partitionValues", json!({"p": "x"}))
            .with("size", 1003)
            .with("baseRowId", 3)
            .with("defaultRowCommitVersion", 1)
            .with("stats", "{\"numRecords\":3}")
            .with("tags", json!({"a": "b"})),
        full("p=x/a", Some("x"), 4).dv(&dv("second")),
        add("nothing-known").partition("p", None),
        txn("app", 2),
        txn("other", 7),
        domain("e", "{\"x\":1}"),
    ]);
    table.commit([
        // Long ago: expired.
        remove("never-seen"),
        remove("p=y/b%20b").with("deletionTimestamp", young()),
        domain_removed("d"),
    ]);
    // Live again: no tombstone.
    table.commit([full("p=y/b%20b", Some("y"), 5), add("q").partition("p", "")]);
    table.commit([remove("q").with("deletionTimestamp", young())]);
    table
}

/// Compares the checkpoint with what the commits add up to, field by field.
fn check_whole(table: &TableBuilder, report: &CheckpointReport) {
    let version = report.version;
    let state = table.reference(version);
    let actions = written(table, report);
    assert_eq!(
        by_key(&named(&actions, "add")),
        kept(state.file_actions(), "add"),
        "version {version}"
    );
    let mut tombstones = kept(state.file_actions(), "remove");
    tombstones
        .retain(|_, remove| remove["deletionTimestamp"].as_i64().unwrap_or(0) > now_ms() - 7 * DAY);
    assert_eq!(by_key(&named(&actions, "remove")), tombstones);
    let one = |name: &str| {
        let found = named(&actions, name);
        assert_eq!(found.len(), 1, "{name}");
        found[0].clone()
    };
    assert_eq!(one("protocol"), json!(state.protocol().unwrap().fields));
    assert_eq!(one("metaData"), json!(state.metadata().unwrap().fields));
    let texts = |name: &str| -> Vec<String> {
        named(&actions, name)
            .iter()
            .map(|f| f.to_string())
            .collect()
    };
    let expected = |name: &str| -> Vec<String> {
        let others = state.non_file_actions();
        let fields = others.into_iter().filter(|action| action.name == name);
        fields
            .map(|action| json!(action.fields).to_string())
            .collect()
    };
    assert_eq!(texts("txn"), expected("txn"));
    assert_eq!(texts("domainMetadata"), expected("domainMetadata"));
    let written = &report.written;
    assert_eq!(written.adds as usize, state.adds().len());
    assert_eq!(
        written.actions as usize,
        actions.len() + written.sidecars.len()
    );
    let known = [
        "protocol",
        "metaData",
        "txn",
        "domainMetadata",
        "add",
        "remove",
        "checkpointMetadata",
    ];
    assert!(
        actions
            .iter()
            .all(|(name, _)| known.contains(&name.as_str()))
    );
}

/// "A checkpoint contains the complete replay of all actions, up to and including the checkpointed
/// table version, with invalid actions removed."
///
/// "The checkpoint **must** contain all information regarding the following actions": protocol,
/// metadata, files added and not yet removed, files recently removed and not yet expired, transaction
/// identifiers, domain metadata that has not been removed.
#[test]
fn a_checkpoint_of_commits_holds_all_they_add_up_to() {
    for form in ["classic", "v2"] {
        for version in 0..=6 {
            let table = busy_table(&[], form);
            check_whole(&table, &write(&table, version));
        }
    }
}

/// The same, where a checkpoint of any form comes before, and takes the place of the commits.
#[test]
fn a_checkpoint_builds_on_the_one_before_it() {
    for form in ["classic", "v2"] {
        for before in FORMS {
            for at in [2, 3, 5, 6] {
                let table = busy_table(&[], form);
                // What support writes has no tombstone fields but these.
                let names = table.checkpoint(at, before);
                table.delete_commits(0..=at - 1);
                let report = write(&table, 6);
                let actions = written(&table, &report);
                let live = table.reference(6).live();
                assert_eq!(named(&actions, "add").len(), live.len(), "{names:?}");
                // Stands in for the whole log.
                table.delete_commits(at..=6);
                for name in names
                    .iter()
                    .filter(|name| table.log(name) != table.path(&report.written.file.path))
                {
                    table.delete_log(name);
                }
                table.check(&table.generation(), [6]);
            }
        }
    }
}

/// Rows go from checkpoint to checkpoint with all their fields.
#[test]
fn every_field_survives_from_checkpoint_to_checkpoint() {
    for (first, second) in [("classic", "classic"), ("v2", "v2")] {
        let table = busy_table(&[], first);
        let before = write(&table, 3);
        check_whole(&table, &before);
        table.delete_commits(0..=3);
        let report = write(&table, 6);
        check_whole(&table, &report);
        assert_eq!(
            second,
            if report.written.is_v2 {
                "v2"
            } else {
                "classic"
            }
        );
        table.delete_commits(4..=6);
        table.check(&table.generation(), [6, 3]);
        // And once more, from itself.
        check_whole(&table, &write(&table, 6));
    }
}

fn last_checkpoint(table: &TableBuilder) -> Value {
    let bytes = std::fs::read(table.log("_last_checkpoint")).unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

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

/// "The following examples uses a table with two partition columns": the columns have the names and
/// Parquet types that Delta on Spark gives them.
#[test]
fn the_schema_is_that_of_the_protocol() {
    let table = busy_table(&[], "classic");
    let schema = parquet_schema(&table.path(&write(&table, 6).written.file.path));
    for expected in [
        "OPTIONAL group protocol {",
        "OPTIONAL INT32 minReaderVersion;",
        "OPTIONAL group readerFeatures (LIST) {\n      REPEATED group list {\n        OPTIONAL BYTE_ARRAY element (STRING);",
        "OPTIONAL group metaData {",
        "OPTIONAL BYTE_ARRAY schemaString (STRING);",
        "OPTIONAL group partitionColumns (LIST) {",
        "OPTIONAL group configuration (MAP) {\n      REPEATED group key_value {\n        REQUIRED BYTE_ARRAY key (STRING);\n        OPTIONAL BYTE_ARRAY value (STRING);",
        "OPTIONAL group txn {\n    OPTIONAL BYTE_ARRAY appId (STRING);\n    OPTIONAL INT64 version;\n    OPTIONAL INT64 lastUpdated;",
        "OPTIONAL group add {\n    OPTIONAL BYTE_ARRAY path (STRING);\n    OPTIONAL group partitionValues (MAP) {",
        "OPTIONAL INT64 size;",
        "OPTIONAL INT64 modificationTime;",
        "OPTIONAL BOOLEAN dataChange;",
        "OPTIONAL group tags (MAP) {",
        "OPTIONAL INT64 baseRowId;",
        "OPTIONAL INT64 defaultRowCommitVersion;",
        "OPTIONAL BYTE_ARRAY clusteringProvider (STRING);",
        "OPTIONAL BYTE_ARRAY stats (STRING);",
        "OPTIONAL group deletionVector {\n      OPTIONAL BYTE_ARRAY storageType (STRING);\n      OPTIONAL BYTE_ARRAY pathOrInlineDv (STRING);\n      OPTIONAL INT32 offset;\n      OPTIONAL INT32 sizeInBytes;\n      OPTIONAL INT64 cardinality;",
        "OPTIONAL group remove {",
        "OPTIONAL INT64 deletionTimestamp;",
    ] {
        assert!(schema.contains(expected), "{expected}\nin\n{schema}");
    }
    for forbidden in [
        "commitInfo",
        "cdc",
        "sidecar",
        "stats_parsed",
        "checkpointMetadata",
    ] {
        assert!(!schema.contains(forbidden), "{forbidden}\nin\n{schema}");
    }
}

fn typed_table(properties: &[(&str, &str)]) -> TableBuilder {
    let mapped = |name: &str, kind: &str, id: i64| {
        let metadata = json!({
            "delta.columnMapping.id": id,
            "delta.columnMapping.physicalName": format!("col-{name}"),
        });
        field(name, json!(kind), metadata)
    };
    let fields = [
        mapped("asset", "string", 1),
        mapped("quantity", "double", 2),
        mapped("is_available", "boolean", 3),
        mapped("date", "date", 4),
        mapped("region", "string", 5),
    ];
    let mut meta = metadata(ID)
        .with(
            "schemaString",
            json!({"type": "struct", "fields": fields}).to_string(),
        )
        .partitioned_by(&["date", "region"])
        .property("delta.columnMapping.mode", "name");
    for (name, value) in properties {
        meta = meta.property(name, value);
    }
    let mut table = TableBuilder::with_actions([table_features(&["columnMapping"]), meta]);
    let stats = json!({
        "numRecords": 2,
        "minValues": {"col-asset": "a", "col-quantity": 0.5},
        "maxValues": {"col-asset": "b", "col-quantity": 1.5},
        "nullCount": {"col-asset": 0, "col-quantity": 1, "col-is_available": 2},
    });
    table.commit([
        add("x")
            .partition("col-date", "2024-01-31")
            .partition("col-region", "EU")
            .stats(stats),
        add("y")
            .partition("col-date", None)
            .partition("col-region", ""),
    ]);
    table
}

/// "stats_parsed: ... This field needs to be written when statistics are available and the table
/// property: `delta.checkpoint.writeStatsAsStruct` is set to `true`", "partitionValues_parsed: In this
/// struct, the column names correspond to the partition columns and the values are stored in their
/// corresponding data type", by physical names under column mapping.
#[test]
fn statistics_are_written_as_struct_where_the_table_asks() {
    let table = typed_table(&[("delta.checkpoint.writeStatsAsStruct", "true")]);
    let report = write(&table, 1);
    let adds = by_key(&named(&written(&table, &report), "add"));
    let x = &adds["\"x\" null"];
    assert_eq!(
        x["partitionValues_parsed"],
        json!({"col-date": 19_753, "col-region": "EU"})
    );
    let text: Value = serde_json::from_str(x["stats"].as_str().unwrap()).unwrap();
    assert_eq!(x["stats_parsed"], text);
    let y = &adds["\"y\" null"];
    assert_eq!(y["partitionValues_parsed"], json!({}));
    assert_eq!((y.get("stats"), y.get("stats_parsed")), (None, None));
    let schema = parquet_schema(&table.path(&report.written.file.path));
    for expected in [
        "OPTIONAL group partitionValues_parsed {\n      OPTIONAL INT32 col-date (DATE);\n      OPTIONAL BYTE_ARRAY col-region (STRING);\n    }",
        "OPTIONAL group stats_parsed {\n      OPTIONAL INT64 numRecords;\n      OPTIONAL group minValues {\n        OPTIONAL BYTE_ARRAY col-asset (STRING);\n        OPTIONAL DOUBLE col-quantity;\n      }",
    ] {
        assert!(schema.contains(expected), "{expected}\nin\n{schema}");
    }
}

/// "`delta.checkpoint.writeStatsAsJson` ... When this property is set to `false`, this field should be
/// omitted from the checkpoint." The statistics come back as JSON from the struct when the table
/// changes its mind.
#[test]
fn statistics_are_left_out_as_json_and_come_back() {
    let off = ("delta.checkpoint.writeStatsAsJson", "false");
    let mut table = typed_table(&[off, ("delta.checkpoint.writeStatsAsStruct", "true")]);
    let report = write(&table, 1);
    let path = table.path(&report.written.file.path);
    assert!(!parquet_schema(&path).contains(" stats ("));
    let expected = by_key(&named(&written(&table, &report), "add"))["\"x\" null"].clone();

    let meta = table.reference(1).metadata().unwrap().clone();
    let meta = meta
        .property("delta.checkpoint.writeStatsAsJson", "true")
        .property("delta.checkpoint.writeStatsAsStruct", "false");
    table.commit([meta]);
    table.delete_commits(0..=1);
    let adds = by_key(&named(&written(&table, &write(&table, 2)), "add"));
    let x = &adds["\"x\" null"];
    let text: Value = serde_json::from_str(x["stats"].as_str().unwrap()).unwrap();
    assert_eq!(text, expected["stats_parsed"]);
    assert_eq!(x.get("stats_parsed"), None);
    assert_eq!(adds["\"y\" null"].get("stats"), None);
    // And the statistics are still found by who needs them.
    let generation = table.generation();
    let snapshot = generation.snapshot(2).unwrap();
    let records = generation.num_records(snapshot.files()).unwrap();
    assert_eq!(records.into_values().collect::<Vec<_>>(), [2]);
}

/// "A tombstone expires when *current time* ... exceeds the expiration threshold added to the
/// `remove` action timestamp."
#[test]
fn tombstones_are_kept_until_they_expire() {
    for (retention, kept) in [
        (None, vec!["6d"]),
        (Some("interval 30 days"), vec!["6d", "8d"]),
        (Some("interval 1 hour"), vec![]),
    ] {
        let meta = metadata(ID);
        let meta = match retention {
            None => meta,
            Some(text) => meta.property("delta.deletedFileRetentionDuration", text),
        };
        let mut table = TableBuilder::with_actions([protocol(1, 2), meta]);
        let at =
            |path: &str, days: i64| remove(path).with("deletionTimestamp", now_ms() - days * DAY);
        table.commit([
            at("6d", 6),
            at("8d", 8),
            at("40d", 40),
            remove("no-time").without("deletionTimestamp"),
        ]);
        let found = |version: Version| -> Vec<String> {
            let actions = written(&table, &write(&table, version));
            by_key(&named(&actions, "remove"))
                .into_values()
                .map(|fields| fields["path"].as_str().unwrap().to_owned())
                .collect()
        };
        assert_eq!(found(1), kept, "{retention:?}");
        // From the checkpoint again.
        table.delete_commits(0..=0);
        assert_eq!(found(1), kept, "{retention:?}");
    }
}

/// `delta.setTransactionRetentionDuration`: older ones go. One that does not say when it was made
/// stays: dropping it could make a stream write twice.
#[test]
fn transactions_are_kept_until_they_expire() {
    for (retention, kept) in [
        (None, vec!["new", "no-time", "old"]),
        (Some("interval 2 days"), vec!["new", "no-time"]),
    ] {
        let meta = metadata(ID);
        let meta = match retention {
            None => meta,
            Some(text) => meta.property("delta.setTransactionRetentionDuration", text),
        };
        let mut table = TableBuilder::with_actions([protocol(1, 2), meta]);
        table.commit([
            txn("new", 1).with("lastUpdated", now_ms() - DAY),
            txn("old", 1).with("lastUpdated", now_ms() - 3 * DAY),
            txn("no-time", 1),
        ]);
        let actions = written(&table, &write(&table, 1));
        let found: Vec<&str> = named(&actions, "txn")
            .iter()
            .map(|fields| fields["appId"].as_str().unwrap())
            .collect();
        assert_eq!(found, kept);
    }
}

/// "Each v2 spec checkpoint includes exactly one Checkpoint Metadata action", "All sidecar files reside
/// in the `_delta_log/_sidecars` directory", "Having partial add and remove file actions in V2
/// Checkpoint and partial entries in sidecar files is not allowed".
#[test]
fn a_v2_checkpoint_has_its_file_actions_in_sidecars() {
    let table = busy_table(&[], "v2");
    let report = write(&table, 6);
    let top = actions_in(&table.path(&report.written.file.path));
    let names: Vec<&str> = top.iter().map(|(name, _)| name.as_str()).collect();
    assert!(
        !names.contains(&"add") && !names.contains(&"remove"),
        "{names:?}"
    );
    assert_eq!(
        named(&top, "checkpointMetadata"),
        [&json!({"version": 6, "tags": {}})]
    );
    let sidecars = named(&top, "sidecar");
    assert_eq!(sidecars.len(), 1);
    let name = sidecars[0]["path"].as_str().unwrap();
    assert!(!name.contains('/'));
    let meta = std::fs::metadata(table.log(&format!("_sidecars/{name}"))).unwrap();
    assert_eq!(sidecars[0]["sizeInBytes"], meta.len());
    let modified = deltafs::base::clock::system_time_to_ms(meta.modified().unwrap());
    assert_eq!(sidecars[0]["modificationTime"], modified);
    // A table without files has no sidecar.
    let table = busy_table(&[], "v2");
    let report = write(&table, 0);
    assert_eq!(report.written.sidecars, []);
    check_whole(&table, &report);
}

/// "A UUID-named v2 Checkpoint should only be created by clients if the v2 checkpoint table feature is
/// enabled."
#[test]
fn a_table_without_the_feature_has_classic_checkpoints() {
    let meta = metadata(ID).property("delta.checkpointPolicy", "v2");
    let mut table = TableBuilder::with_actions([protocol(1, 2), meta]);
    table.commit([add("a")]);
    let report = write(&table, 1);
    assert_eq!(
        report.written.file.name(),
        "00000000000000000001.checkpoint.parquet"
    );
}

/// "`delta.parquet.compression.codec`: Compression codec writers SHOULD use for new Parquet data and
/// checkpoint files", "`delta.parquet.format.version`".
#[test]
fn pages_are_as_the_table_wants_them() {
    let codecs = [
        "uncompressed",
        "none",
        "SNAPPY",
        "gzip",
        "lz4",
        "lz4_raw",
        "zstd",
        "brotli",
    ];
    for codec in codecs {
        for pages in ["1.0.0", "2.12.0"] {
            let table = busy_table(
                &[
                    ("delta.parquet.compression.codec", codec),
                    ("delta.parquet.format.version", pages),
                ],
                "classic",
            );
            check_whole(&table, &write(&table, 6));
        }
    }
}

/// A property that means nothing keeps the checkpoint from being written, and the table from nothing.
#[test]
fn a_property_that_means_nothing_is_told() {
    let meta = metadata(ID).property("delta.checkpointInterval", "often");
    let mut table = TableBuilder::with_actions([protocol(1, 2), meta]);
    table.commit_adds(10);
    let (after, logs) = logged(|| after_commit(&table.generation(), 10));
    assert!(after.checksum.is_ok());
    let error = after.checkpoint.unwrap().unwrap_err().to_string();
    assert!(
        error.contains("delta.checkpointInterval") && error.contains("often"),
        "{error}"
    );
    assert!(logs.contains("the checkpoint was not written"), "{logs}");
}

/// "In such cases, a client can choose which checkpoint to use": where the one before cannot be read,
/// an older one or the commits lead to the same checkpoint.
#[test]
fn a_checkpoint_that_cannot_be_read_is_not_built_upon() {
    let table = busy_table(&[], "classic");
    table.write_log("00000000000000000004.checkpoint.parquet", "PAR1 none PAR1");
    check_whole(&table, &write(&table, 6));
    let table = busy_table(&[], "classic");
    write(&table, 2);
    table.write_log("00000000000000000004.checkpoint.parquet", "PAR1 none PAR1");
    table.delete_commits(0..=1);
    check_whole(&table, &write(&table, 6));
}

/// Of an action that comes again, "statistics and other information from the latest version should
/// replace that from any previous version", and what newer versions say does not count.
#[test]
fn the_newest_add_of_a_file_counts() {
    let mut table = TableBuilder::with_schema(ID);
    for records in 1..=3 {
        table.commit([add("a")
            .modified(records)
            .stats(json!({"numRecords": records}))]);
    }
    // All versions are known to one generation, in any order.
    let generation = table.generation();
    for version in [3, 1, 2] {
        generation.snapshot(version).unwrap();
    }
    for version in [2, 1, 3, 2] {
        let report = write_checkpoint(&generation, version).unwrap();
        check_whole(&table, &report);
    }
}

/// A log that was changed since it was read does not lead to a checkpoint.
#[test]
fn a_log_that_says_otherwise_than_the_version_makes_no_checkpoint() {
    for form in ["classic", "v2"] {
        for line in [
            // Gone.
            "{\"commitInfo\":{}}\n",
            // Of another size.
            "{\"add\":{\"path\":\"f1.parquet\",\"size\":1,\"partitionValues\":{}}}\n",
            // In another partition.
            "{\"add\":{\"path\":\"f1.parquet\",\"size\":100,\"partitionValues\":{\"p\":\"1\"}}}\n",
            // With another deletion vector.
            "{\"add\":{\"path\":\"f1.parquet\",\"size\":100,\"deletionVector\":{\"storageType\":\"u\",\"pathOrInlineDv\":\"x\",\"sizeInBytes\":1,\"cardinality\":1}}}\n",
        ] {
            let meta = metadata(ID).property("delta.checkpointPolicy", form);
            let mut table = TableBuilder::with_actions([
                table_features(&["v2Checkpoint", "deletionVectors"]),
                meta,
            ]);
            table.commit_adds(2);
            let generation = table.generation();
            generation.snapshot(2).unwrap();
            table.write_log("00000000000000000001.json", line);
            let error = write_checkpoint(&generation, 2).unwrap_err();
            assert!(
                matches!(error, CheckpointError::Write(WriteError::Differs { .. })),
                "{error}"
            );
            let left: Vec<String> = std::fs::read_dir(table.log(""))
                .unwrap()
                .chain(std::fs::read_dir(table.log("_sidecars")).unwrap())
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .filter(|name| !name.ends_with(".json") && name != "_sidecars")
                .collect();
            assert_eq!(left, [""; 0], "{line}");
        }
    }
}

/// Statistics as struct go from checkpoint to checkpoint as they are, and are made anew where the
/// schema has changed.
#[test]
fn statistics_as_struct_follow_the_schema() {
    let as_struct = ("delta.checkpoint.writeStatsAsStruct", "true");
    for as_json in ["true", "false"] {
        let mut table = typed_table(&[as_struct, ("delta.checkpoint.writeStatsAsJson", as_json)]);
        let adds = |table: &TableBuilder, version| {
            by_key(&named(&written(table, &write(table, version)), "add"))
        };
        let first = adds(&table, 1);
        table.commit([add("z").partition("col-date", None)]);
        table.delete_commits(0..=1);
        let second = adds(&table, 2);
        for key in ["\"x\" null", "\"y\" null"] {
            assert_eq!(second[key], first[key]);
        }
        // A wider type and another column.
        let mut meta = table.reference(2).metadata().unwrap().clone();
        let schema = meta
            .text("schemaString")
            .replace("\"double\"", "\"decimal(20,4)\"");
        meta = meta.with("schemaString", schema);
        table.commit([meta]);
        table.delete_commits(2..=2);
        let third = adds(&table, 3);
        let wider = &third["\"x\" null"]["stats_parsed"];
        assert_eq!(wider["minValues"]["col-quantity"], "0.5000");
        assert_eq!(wider["numRecords"], 2);
        assert_eq!(
            wider["nullCount"],
            first["\"x\" null"]["stats_parsed"]["nullCount"]
        );
    }
}

/// Chance that is the same for the same number.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

/// "To replay the log, scan all file actions and keep only the newest reference for each logical file":
/// files come, go, come again, get deletion vectors; checkpoints are written in between, of any version
/// and from one another, and the log before them is cleaned up.
#[test]
fn histories_of_any_kind_are_checkpointed() {
    for seed in 1..=25_u64 {
        let mut chance = Chance(0x9E37_79B9_7F4A_7C15_u64.wrapping_mul(seed));
        let mut meta = metadata(&[("id", "long"), ("p", "string")]).partitioned_by(&["p"]);
        if chance.below(2) == 0 {
            meta = meta.property("delta.checkpointPolicy", "v2");
        }
        let features = table_features(&["v2Checkpoint", "deletionVectors"]).with(
            "writerFeatures",
            json!(["v2Checkpoint", "deletionVectors", "domainMetadata"]),
        );
        let mut table = TableBuilder::with_actions([features, meta]);
        let mut generation = table.generation();
        let mut oldest = 0;
        for version in 1..=12 {
            let live = table.reference(version - 1).adds().clone();
            let mut actions = Vec::new();
            for number in 0..8 {
                let path = format!("f%20{number}");
                let decoded = format!("f {number}");
                let known = live.iter().find(|((path, _), _)| *path == decoded);
                let fresh = |chance: &mut Chance| {
                    let file = add(&path)
                        .partition("p", (number > 2).then_some("v"))
                        .size(i64::try_from(number).unwrap())
                        .modified(i64::try_from(version * 10 + number).unwrap())
                        .stats(json!({"numRecords": version}));
                    match chance.below(3) {
                        0 => file.with("tags", json!({"version": version.to_string()})),
                        1 => file.with("baseRowId", version),
                        _ => file,
                    }
                };
                let gone = |known: &Action, chance: &mut Chance| {
                    let age = i64::try_from(chance.below(14)).unwrap();
                    let remove =
                        remove(&path).with("deletionTimestamp", now_ms() - age * DAY - DAY / 2);
                    match known.fields.get("deletionVector") {
                        Some(vector) => remove.dv(vector),
                        None => remove,
                    }
                };
                match (known, chance.below(6)) {
                    (None, 0 | 1) => actions.push(fresh(&mut chance)),
                    (Some((_, known)), 0) => actions.push(gone(known, &mut chance)),
                    (Some((_, known)), 1) => {
                        actions.push(gone(known, &mut chance));
                        let vector = dv(&format!("v{version}x{number}"));
                        actions.push(fresh(&mut chance).dv(&vector));
                    }
                    // The same logical file, told anew.
                    (Some((_, known)), 2) => {
                        let again = fresh(&mut chance);
                        actions.push(match known.fields.get("deletionVector") {
                            Some(vector) => again.dv(vector),
                            None => again,
                        });
                    }
                    _ => {}
                }
            }
            match chance.below(4) {
                0 => actions.push(txn(&format!("app{}", chance.below(2)), 7)),
                1 => actions.push(domain(&format!("d{}", chance.below(2)), "x")),
                2 => actions.push(domain_removed("d1")),
                _ => actions.push(commit_info()),
            }
            table.commit(actions);
            if chance.below(2) == 0 {
                generation = table.generation();
            }
            if chance.below(2) == 0 {
                let at = oldest + chance.below(version - oldest + 1);
                generation.relist().unwrap();
                let report = write_checkpoint(&generation, at)
                    .unwrap_or_else(|error| panic!("history {seed}, version {at}: {error}"));
                check_whole(&table, &report);
                if chance.below(3) == 0 && at > oldest {
                    table.delete_commits(oldest..=at - 1);
                    oldest = at;
                }
            }
        }
        table.check(&table.generation(), [12, oldest]);
    }
}

/// "If two checkpoint writers race to create the same classic checkpoint, the latest writer wins":
/// whoever wins, what is there is whole at every moment.
#[test]
fn writers_of_one_checkpoint_do_not_harm_each_other() {
    for form in ["classic", "v2"] {
        let table = busy_table(&[], form);
        let (root, live_files) = (table.root(), table.reference(6).live());
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..5 {
                        match write_checkpoint(&generation_of(&root), 6) {
                            Ok(_) | Err(CheckpointError::Write(WriteError::Replaced { .. })) => {}
                            Err(error) => panic!("{error}"),
                        }
                        assert_eq!(live(&generation_of(&root), 6), live_files);
                    }
                });
            }
        });
        assert_eq!(last_checkpoint(&table)["version"], 6);
        table.delete_commits(0..=6);
        table.check(&table.generation(), [6]);
    }
}
