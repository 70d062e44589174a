//! "Checkpoints" under "Requirements for Writers", "Checkpoint Schema", "V2 Spec", "Version Checksum
//! File" and "Last Checkpoint File", as duties of whoever writes them.

mod beside;
mod histories;
mod statistics;

use std::collections::BTreeMap;

use deltafs::base::Version;
use deltafs::base::clock::now_ms;
use deltafs::log::checkpoint::write::WriteError;
use deltafs::snapshot::checkpoint::{
    CheckpointError, CheckpointReport, after_commit, write_checkpoint,
};
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

fn last_checkpoint(table: &TableBuilder) -> Value {
    let bytes = std::fs::read(table.log("_last_checkpoint")).unwrap();
    serde_json::from_slice(&bytes).unwrap()
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
