//! Wrong rows or columns.

use std::fs;

use serde_json::json;

use crate::support::{
    Checkpoint, TableBuilder, add, dv, field, inline_vector, list, logged, metadata, parquet_longs,
    protocol, remove, table_features, tree_read,
};
use crate::{ID, errno_of, ids, plain};

/// xtable#595: the same path counted twice once it had a deletion vector.
#[test]
fn b1_a_file_with_a_new_vector_is_one_file() {
    let mut table = TableBuilder::with_schema(ID);
    table.commit([add("f")]);
    table.commit([remove("f"), add("f").dv(&dv("x"))]);
    assert_eq!(table.live(2), [("f".to_owned(), Some("ux@1".to_owned()))]);
    table.checkpoint(2, Checkpoint::Classic);
    assert_eq!(table.live(2).len(), 1);
    assert_eq!(list(&table.tree(), "@v2").unwrap().len(), 1);
}

/// trino#31253: a remove without the vector of the file it means.
#[test]
fn b2_a_remove_without_the_vector_leaves_the_file_and_is_told() {
    // By the protocol, (f, NULL) is another logical file than (f, dv1).
    let live = [("f".to_owned(), Some("udv1@1".to_owned())), plain("g")];
    let mut table = TableBuilder::with_schema(ID);
    table.commit([add("f").dv(&dv("dv1"))]);
    table.commit([remove("f"), add("g")]);
    let (found, logs) = logged(|| table.live(2));
    assert_eq!(found, live);
    assert!(logs.contains("remove") && logs.contains("path=f"), "{logs}");

    // The same where the file was known without a vector before.
    let mut table = TableBuilder::with_schema(ID);
    table.commit([add("f")]);
    table.commit([remove("f"), add("f").dv(&dv("dv1"))]);
    table.commit([remove("f"), add("g")]);
    let (found, logs) = logged(|| table.live(3));
    assert_eq!(found, live);
    assert!(logs.contains("remove") && logs.contains("path=f"), "{logs}");

    // What is right is not warned of: in either order.
    let mut table = TableBuilder::with_schema(ID);
    table.commit([add("f")]);
    table.commit([add("f").dv(&dv("dv1")), remove("f")]);
    table.commit([remove("f").dv(&dv("dv1")), add("f").dv(&dv("dv2"))]);
    table.commit([remove("f").dv(&dv("dv2")), remove("never-there")]);
    let (found, logs) = logged(|| table.live(4));
    assert_eq!(found, []);
    assert_eq!(logs, "");
}

/// trino#30685: `delta.enableDeletionVectors=false` made readers ignore vectors that are there.
#[test]
fn b3_vectors_count_when_the_property_is_off() {
    let features = table_features(&["deletionVectors"]);
    let on = metadata(ID).property("delta.enableDeletionVectors", "true");
    let mut table = TableBuilder::with_actions([features, on]);
    let file = table.data("f.parquet", &ids([10, 11, 12]));
    table.commit([file.dv(&inline_vector(&[1]))]);
    table.checkpoint(1, Checkpoint::Classic);
    table.commit([metadata(ID).property("delta.enableDeletionVectors", "false")]);
    table.delete_commits(0..=1);
    let tree = table.tree();
    for version in ["@v1", "@v2"] {
        let names = list(&tree, version).unwrap();
        assert_eq!(names.len(), 1);
        // Right rows or a refusal.
        match tree_read(&tree, &format!("{version}/{}", names[0])) {
            Ok(bytes) => assert_eq!(parquet_longs(&bytes, "id"), [Some(10), Some(12)]),
            Err(error) => assert_eq!(deltafs::errno::of_tree(&error), libc::EOPNOTSUPP, "{error}"),
        }
    }
}

/// kernel-rs#1120: the physical name used although column mapping is off.
#[test]
fn b9_without_a_mapping_mode_the_logical_name_counts() {
    let column = field(
        "id",
        json!("long"),
        json!({"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "col-x"}),
    );
    let schema = json!({"type": "struct", "fields": [column]}).to_string();
    for (protocol, property) in [
        (protocol(1, 2), None),
        (protocol(1, 2), Some("name")),
        (protocol(2, 5), Some("none")),
    ] {
        let mut action = metadata(&[]).with("schemaString", schema.clone());
        if let Some(mode) = property {
            action = action.property("delta.columnMapping.mode", mode);
        }
        let mut table = TableBuilder::with_actions([protocol, action]);
        let file = table.data("f.parquet", &ids([10, 11]));
        table.commit([file]);
        let bytes = tree_read(&table.tree(), "@v1/f.parquet").unwrap();
        assert_eq!(parquet_longs(&bytes, "id"), [Some(10), Some(11)]);
    }
}

/// delta#1978: removed files read, so that rows double.
#[test]
fn b15_an_overwritten_table_has_the_last_rows_only() {
    let mut table = TableBuilder::with_schema(ID);
    for version in 1..=3_i64 {
        let file = table.data(&format!("f{version}.parquet"), &ids([version]));
        let mut actions = vec![file];
        if version > 1 {
            actions.push(remove(&format!("f{}.parquet", version - 1)));
        }
        table.commit(actions);
    }
    assert!(
        fs::exists(table.path("f1.parquet")).unwrap(),
        "nothing was vacuumed"
    );
    let tree = table.tree();
    assert_eq!(list(&tree, "@latest").unwrap(), ["f3.parquet"]);
    for version in 1..=3_i64 {
        let names = list(&tree, &format!("@v{version}")).unwrap();
        let name = format!("f{version}.parquet");
        assert_eq!(names, std::slice::from_ref(&name));
        let bytes = tree_read(&tree, &format!("@v{version}/{name}")).unwrap();
        assert_eq!(parquet_longs(&bytes, "id"), [Some(version)]);
    }
}

/// kernel-rs#2189: a `timestamp_ntz` column without the table feature, which Spark reads.
#[test]
fn b18_a_column_without_its_feature_is_served_with_a_warning() {
    let mut table = TableBuilder::with_schema(ID);
    table.commit([add("f.parquet")]);
    table.commit([metadata(&[("id", "long"), ("t", "timestamp_ntz")])]);
    table.commit([add("g.parquet")]);
    let (listed, logs) = logged(|| {
        let tree = table.tree();
        let listed = ["@v1", "@v2", "@v3"].map(|version| list(&tree, version).unwrap().len());
        // Asked for again.
        list(&tree, "@v2").unwrap();
        listed
    });
    assert_eq!(listed, [1, 1, 2]);
    assert_eq!(
        logs.matches("timestampNtz").count(),
        1,
        "one warning: {logs}"
    );
}

/// polars#24533: an opaque error for what a reader does not support.
#[test]
fn b19_a_refusal_names_the_feature_and_refuses_only_what_is_needed() {
    let name_mapping = field(
        "id",
        json!("long"),
        json!({"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "id"}),
    );
    let mapped = metadata(&[])
        .with(
            "schemaString",
            json!({"type": "struct", "fields": [name_mapping]}).to_string(),
        )
        .property("delta.columnMapping.mode", "name");
    for (protocol, metadata) in [
        (protocol(2, 5), mapped),
        (table_features(&["deletionVectors"]), metadata(ID)),
    ] {
        let mut table = TableBuilder::with_actions([protocol, metadata]);
        let file = table.data("f.parquet", &ids([1]));
        table.commit([file]);
        let tree = table.tree();
        let names = list(&tree, "@v1").unwrap();
        let bytes = tree_read(&tree, &format!("@v1/{}", names[0])).unwrap();
        assert_eq!(parquet_longs(&bytes, "id"), [Some(1)]);
    }
    let table = TableBuilder::with_actions([table_features(&["fooBar"]), metadata(ID)]);
    let (errno, message) = errno_of(list(&table.tree(), "@v0"));
    assert_eq!(errno, libc::EOPNOTSUPP);
    assert!(message.contains("fooBar"), "{message}");
}
