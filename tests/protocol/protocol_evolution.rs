//! "Protocol Evolution", "Table Features", "Reader Version Requirements".

use deltafs::snapshot::SnapshotError;
use deltafs::tree::TreeError;
use serde_json::json;

use crate::support::{
    Action, TableBuilder, add, list, metadata, other, protocol, table_features, tree_read,
};
use crate::{ID, plain};

fn unreadable(action: Action) -> String {
    let table = TableBuilder::with_actions([action, metadata(ID), add("f")]);
    let snapshot = table.snapshot(0).expect("the state itself can be told");
    assert_eq!(snapshot.files().len(), 1);
    snapshot
        .readable()
        .expect_err("it is not readable")
        .to_string()
}

fn readable(action: Action) {
    let table = TableBuilder::with_actions([action.clone(), metadata(ID)]);
    if let Err(error) = table.snapshot(0).unwrap().readable() {
        panic!("{action:?}: {error}");
    }
}

/// "In the case where a client is running an invalid protocol version, an error should be thrown
/// instructing the user to upgrade to a newer protocol version of their Delta client library."
#[test]
fn an_unknown_reader_version_is_refused_with_advice() {
    for version in [4, 99, i32::MAX] {
        let error = unreadable(protocol(version, 7).with("readerFeatures", json!([])));
        assert!(
            error.contains(&format!("reader version {version}")),
            "{error}"
        );
        assert!(error.contains("upgrade"), "{error}");
    }
    for version in [0, -1, i32::MIN] {
        unreadable(protocol(version, 2));
    }
}

/// "to read a table, readers must implement and respect all features listed in `readerFeatures`".
#[test]
fn an_unknown_reader_feature_is_refused_by_name() {
    let error = unreadable(table_features(&["deletionVectors", "fooBar", "bazQux"]));
    assert!(
        error.contains("fooBar") && error.contains("bazQux"),
        "{error}"
    );
    assert!(error.contains("version 0"), "{error}");
}

/// "Valid Feature Names in Table Features": those for readers.
#[test]
fn the_reader_features_of_the_specification_are_known() {
    readable(table_features(&[]));
    for feature in [
        "columnMapping",
        "deletionVectors",
        "timestampNtz",
        "v2Checkpoint",
        "catalogManaged",
        "vacuumProtocolCheck",
        "typeWidening",
        "variantType",
        "variantShredding",
    ] {
        readable(table_features(&[feature]));
    }
}

/// "to write a table, writers must implement and respect all features listed in `writerFeatures`":
/// a reader need not know them, nor the writer version.
#[test]
fn writer_features_do_not_concern_readers() {
    readable(protocol(1, 7).with("writerFeatures", json!(["fooBar"])));
    readable(protocol(2, 7).with("writerFeatures", json!(["columnMapping", "fooBar"])));
    readable(table_features(&[]).with("writerFeatures", json!(["fooBar"])));
    readable(protocol(1, 99));
}

/// "When the table's Reader Version is 3, `readerFeatures` must exist in the `protocol` action", and
/// with reader version 3 "Writer Version must be 7".
#[test]
fn a_contradictory_protocol_is_refused() {
    let error = unreadable(protocol(3, 7).with("writerFeatures", json!([])));
    assert!(error.contains("readerFeatures"), "{error}");
    let error = unreadable(protocol(3, 5).with("readerFeatures", json!([])));
    assert!(error.contains("minWriterVersion 5"), "{error}");
}

/// "Reader features only exists when Reader Version is 3": a list beside a lower version says
/// nothing.
#[test]
fn reader_features_count_from_reader_version_3_on() {
    readable(protocol(1, 2).with("readerFeatures", json!(["fooBar"])));
}

/// "clients can assume that unrecognized actions, fields, and/or metadata domains are never required
/// in order to correctly interpret the transaction log. Clients must ignore such unrecognized
/// fields, and should not produce an error when reading a table that contains unrecognized fields."
#[test]
fn unknown_actions_and_fields_are_ignored() {
    let deep = json!({"a": [{"b": {"c": [null, 1.5, "x"]}}]});
    let mut table = TableBuilder::with_actions([
        protocol(1, 2).with("later", deep.clone()),
        metadata(ID).with("later", deep.clone()),
        other("laterAction", json!({"path": "g", "size": "not a number"})),
    ]);
    table.commit([add("f")
        .with("later", deep.clone())
        .with("tags", json!({"k": null}))]);
    table.write_log(
        "00000000000000000002.json",
        "{}\n{\"laterAction\":7}\n{\"add\":null,\"remove\":null,\"later\":[]}\n",
    );
    assert_eq!(table.live(2), [plain("f")]);
}

/// "The latest `protocol` action seen wins": versions before an upgrade stay readable, and what the
/// upgrade concerns is refused alone.
#[test]
fn an_upgrade_makes_only_later_versions_unreadable() {
    let mut table = TableBuilder::with_schema(ID);
    let file = table.data(
        "f.parquet",
        &crate::support::batch([("id", crate::support::longs([1]))]),
    );
    table.commit([file]);
    table.commit([table_features(&["fooBar"])]);
    let tree = table.tree();
    assert_eq!(list(&tree, "@v1").unwrap(), ["f.parquet"]);
    assert!(tree_read(&tree, "@v1/f.parquet").is_ok());
    let error = list(&tree, "@v2").unwrap_err();
    let TreeError::Snapshot(source) = &error else {
        panic!("{error}");
    };
    assert!(matches!(
        **source,
        SnapshotError::Protocol { version: 2, .. }
    ));
    assert_eq!(deltafs::errno::of_tree(&error), libc::EOPNOTSUPP);
    // A later downgrade is readable again.
    table.commit([protocol(1, 2)]);
    assert_eq!(list(&tree, "@v3").unwrap(), ["f.parquet"]);
}
