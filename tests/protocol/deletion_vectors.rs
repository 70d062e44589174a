//! "Deletion Vectors".

use serde_json::json;

use crate::ID;
use crate::support::{Checkpoint, TableBuilder, add, metadata, remove, table_features};

/// "If `offset` is `None` then `<storageType><pathOrInlineDv>`. Otherwise
/// `<storageType><pathOrInlineDv>@<offset>`."
#[test]
fn unique_ids_are_derived_as_specified() {
    let relative = json!({"storageType": "u", "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^",
        "offset": 4, "sizeInBytes": 40, "cardinality": 6});
    let absolute = json!({"storageType": "p", "pathOrInlineDv": "s3://t/dv.bin",
        "offset": 0, "sizeInBytes": 40, "cardinality": 6});
    let inline = json!({"storageType": "i", "pathOrInlineDv": "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L",
        "sizeInBytes": 40, "cardinality": 6});
    let null_offset = json!({"storageType": "i", "pathOrInlineDv": "x", "offset": null,
        "sizeInBytes": 40, "cardinality": 6});
    let mut table =
        TableBuilder::with_actions([table_features(&["deletionVectors"]), metadata(ID)]);
    table.commit([
        add("a").dv(&relative),
        add("b").dv(&absolute),
        add("c").dv(&inline),
        add("d").dv(&null_offset),
        add("e").dv(&json!(null)),
    ]);
    let expected = [
        Some("uab^-aqEH.-t@S}K{vb[*k^@4"),
        Some("ps3://t/dv.bin@0"),
        Some("iwi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L"),
        Some("ix"),
        None,
    ];
    let ids = |table: &TableBuilder| -> Vec<Option<String>> {
        table.live(1).into_iter().map(|(_, dv)| dv).collect()
    };
    assert_eq!(ids(&table), expected.map(|id| id.map(str::to_owned)));
    table.checkpoint(1, Checkpoint::Classic);
    table.delete_commits(0..=1);
    assert_eq!(ids(&table), expected.map(|id| id.map(str::to_owned)));
}

/// "Uniquely identifies a DV for a given file. This is used for snapshot reconstruction": vectors in
/// one file differ by offset alone.
#[test]
fn vectors_in_one_file_differ_by_their_offset() {
    let at = |offset: i32| json!({"storageType": "u", "pathOrInlineDv": "x", "offset": offset, "sizeInBytes": 40, "cardinality": 1});
    let mut table = TableBuilder::with_schema(ID);
    table.commit([add("f").dv(&at(1))]);
    table.commit([remove("f").dv(&at(1)), add("f").dv(&at(2))]);
    table.commit([remove("f").dv(&at(1))]);
    assert_eq!(table.live(3), [("f".to_owned(), Some("ux@2".to_owned()))]);
}

/// "Readers must read the table considering the existence of DVs, even when the
/// `delta.enableDeletionVectors` table property is not set." So does every rule about files with
/// one: they are not presented as they are.
#[test]
fn vectors_count_without_the_property() {
    let table_of = |property: Option<&str>| {
        let mut action = metadata(ID);
        if let Some(value) = property {
            action = action.property("delta.enableDeletionVectors", value);
        }
        let mut table = TableBuilder::with_actions([table_features(&["deletionVectors"]), action]);
        table.commit([add("f.parquet").dv(&crate::support::dv("x"))]);
        table
    };
    for property in [None, Some("false"), Some("true")] {
        let table = table_of(property);
        assert_eq!(
            table.live(1),
            [("f.parquet".to_owned(), Some("ux@1".to_owned()))]
        );
        let names = crate::support::list(&table.tree(), "@v1").unwrap();
        assert_eq!(names.len(), 1);
        assert!(
            names[0].starts_with("f~"),
            "not under the data file's own name: {names:?}"
        );
    }
}

/// A file of which every row is deleted has nothing to show: it is live, and not listed.
#[test]
fn a_file_without_live_rows_is_not_listed() {
    let vector = |cardinality: i64| json!({"storageType": "u", "pathOrInlineDv": "x", "offset": cardinality, "sizeInBytes": 40, "cardinality": cardinality});
    let of = |path: &str, cardinality: i64, records: serde_json::Value| {
        add(path)
            .dv(&vector(cardinality))
            .stats(json!({ "numRecords": records }))
    };
    let mut table =
        TableBuilder::with_actions([table_features(&["deletionVectors"]), metadata(ID)]);
    table.commit([
        of("all.parquet", 3, json!(3)),
        of("some.parquet", 2, json!(3)),
        of("unknown.parquet", 3, json!(null)),
        add("whole.parquet").stats(json!({"numRecords": 0})),
    ]);
    let stems = |table: &TableBuilder, version: &str| -> Vec<String> {
        let names = crate::support::list(&table.tree(), version).unwrap();
        let stem = |name: &String| name.split(['~', '.']).next().unwrap_or_default().to_owned();
        let mut stems: Vec<String> = names.iter().map(stem).collect();
        stems.sort();
        stems
    };
    let expected = ["some", "unknown", "whole"];
    assert_eq!(stems(&table, "@v1"), expected);
    assert_eq!(table.live(1).len(), 4);
    table.checkpoint(1, Checkpoint::Classic);
    table.delete_commits(0..=1);
    assert_eq!(stems(&table, "@v1"), expected);
}
