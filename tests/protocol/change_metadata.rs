//! "Change Metadata" and "Format Specification".

use deltafs::log::LogError;
use deltafs::snapshot::SnapshotError;
use serde_json::json;

use crate::ID;
use crate::support::{TableBuilder, add, metadata, protocol, schema};

/// "The first version of a table must contain a `metaData` action." It must contain a `protocol`
/// action as well: "A given snapshot of a Delta table consists of: a single `protocol` action, a
/// single `metaData` action".
#[test]
fn the_first_version_must_have_metadata_and_protocol() {
    for (present, missing) in [(metadata(ID), "protocol"), (protocol(1, 2), "metaData")] {
        let table = TableBuilder::with_actions([present, add("f")]);
        let error = table.snapshot(0).unwrap_err();
        let SnapshotError::MissingAction {
            version: 0, action, ..
        } = &error
        else {
            panic!("{error}");
        };
        assert_eq!(*action, missing);
    }
}

/// "Subsequent `metaData` actions completely overwrite the current metadata of the table."
#[test]
fn later_metadata_overwrites_all_of_it() {
    let first = metadata(ID)
        .property("a", "1")
        .with("description", "old")
        .with("name", "n");
    let mut table = TableBuilder::with_actions([protocol(1, 2), first]);
    let mut wider = ID.to_vec();
    wider.push(("name", "string"));
    table.commit([metadata(&wider).property("b", "2")]);
    let generation = table.generation();
    let newest = generation.snapshot(1).unwrap();
    assert_eq!(newest.metadata().description, None);
    assert_eq!(newest.metadata().name, None);
    assert_eq!(newest.metadata().schema_string, schema(&wider));
    assert_eq!(
        newest.metadata().configuration.keys().collect::<Vec<_>>(),
        ["b"]
    );
    let oldest = generation.snapshot(0).unwrap();
    assert_eq!(oldest.metadata().description.as_deref(), Some("old"));
    assert_eq!(oldest.metadata().schema_string, schema(ID));
    assert_eq!(oldest.readable().unwrap().schema.fields.len(), 1);
}

/// "Every metadata action **must** include required fields at a minimum": `id` is the one without
/// which a table cannot be told from another.
#[test]
fn metadata_without_an_id_is_an_error() {
    let table = TableBuilder::with_actions([protocol(1, 2), metadata(ID).without("id")]);
    let error = table.snapshot(0).unwrap_err();
    assert!(
        matches!(error, SnapshotError::Log(LogError::BadLine { line: 2, .. })),
        "{error}"
    );
}

/// `name`, `description` and `createdTime` are optional; null is as good as absent.
#[test]
fn optional_fields_may_be_null_or_absent() {
    let bare = metadata(ID).without("createdTime").without("configuration");
    for action in [
        bare.clone(),
        bare.with("name", json!(null))
            .with("description", json!(null))
            .with("createdTime", json!(null))
            .with("configuration", json!(null))
            .with("partitionColumns", json!(null)),
    ] {
        let table = TableBuilder::with_actions([protocol(1, 2), action]);
        let snapshot = table.snapshot(0).unwrap();
        assert!(snapshot.readable().is_ok());
        assert!(snapshot.metadata().partition_columns.is_empty());
    }
}

/// `configuration` is a `Map[String, String]`; a property that was unset may be left as null.
#[test]
fn a_null_property_is_an_unset_one() {
    let action = metadata(ID).with("configuration", json!({"a": null, "b": "1"}));
    let table = TableBuilder::with_actions([protocol(1, 2), action]);
    let snapshot = table.snapshot(0).unwrap();
    assert_eq!(
        snapshot.metadata().configuration.keys().collect::<Vec<_>>(),
        ["b"]
    );
}

/// "As of Delta Lake 0.3.0, user-facing APIs only allow the creation of tables where `format =
/// 'parquet'`": another format is refused by name, and the state is still known.
#[test]
fn a_table_of_another_format_is_refused_by_name() {
    let action = metadata(ID).with("format", json!({"provider": "orc", "options": {}}));
    let table = TableBuilder::with_actions([protocol(1, 2), action, add("f")]);
    let snapshot = table.snapshot(0).unwrap();
    assert_eq!(snapshot.files().len(), 1);
    let error = snapshot.readable().unwrap_err();
    assert!(matches!(&*error, SnapshotError::NotParquet { version: 0, found } if found == "orc"));
}

/// A `format` that does not say a provider is that of every table.
#[test]
fn a_format_that_says_nothing_is_parquet() {
    for format in [json!({}), json!({"options": {}}), json!(null)] {
        let action = metadata(ID).with("format", format.clone());
        let table = TableBuilder::with_actions([protocol(1, 2), action, add("f")]);
        let snapshot = table.snapshot(0).unwrap();
        assert!(snapshot.readable().is_ok(), "{format}");
        assert_eq!(snapshot.metadata().format.provider, "parquet", "{format}");
    }
}

/// "Schema of the table": one that cannot be parsed makes the version unreadable, not the table.
#[test]
fn a_broken_schema_costs_only_its_versions() {
    let mut table = TableBuilder::with_schema(ID);
    table.commit([metadata(ID).with("schemaString", "{\"type\":\"struct\",\"fields\":[")]);
    table.commit([metadata(ID)]);
    let generation = table.generation();
    for (version, readable) in [(0, true), (1, false), (2, true)] {
        let snapshot = generation.snapshot(version).unwrap();
        assert_eq!(snapshot.readable().is_ok(), readable, "version {version}");
    }
}
