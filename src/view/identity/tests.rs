mod partitions;
mod types;

use super::*;
use crate::parquet::testing::{empty_file, footer_of};
use crate::schema::{MappingMode, StructType};

fn schema(fields: &str) -> StructType {
    StructType::parse(&format!(r#"{{"type":"struct","fields":[{fields}]}}"#)).unwrap()
}

/// A column of a type in JSON.
fn column(name: &str, data_type: &str) -> String {
    format!(r#"{{"name":"{name}","type":{data_type},"nullable":true,"metadata":{{}}}}"#)
}

fn mapped(name: &str, physical: &str, id: i32) -> String {
    format!(
        r#"{{"name":"{name}","type":"long","nullable":true,"metadata":{{"delta.columnMapping.id":{id},"delta.columnMapping.physicalName":"{physical}"}}}}"#
    )
}

fn compare_with(
    file: &str,
    schema: &StructType,
    partition_columns: &[&str],
    mapping: MappingMode,
    layout: Layout,
) -> Result<(), Mismatch> {
    let partition_columns: Vec<String> = partition_columns
        .iter()
        .map(|column| (*column).to_owned())
        .collect();
    let shape = PresentedSchema {
        schema,
        partition_columns: &partition_columns,
        mapping,
        layout,
    };
    compare(&footer_of(empty_file(file, &[])), &shape, &[])
}

fn flat(file: &str, fields: &str) -> Result<(), Mismatch> {
    compare_with(file, &schema(fields), &[], MappingMode::None, Layout::Flat)
}

/// Whether `file`, which declares the column `c`, is identity for a table of that type.
fn one(file: &str, data_type: &str) -> Result<(), Mismatch> {
    flat(file, &column("c", data_type))
}

#[test]
fn a_mismatch_says_what_and_where() {
    assert_eq!(
        one("optional int96 c;", r#""timestamp""#)
            .unwrap_err()
            .to_string(),
        "column c: the file has INT96, the table timestamp"
    );
    let nested =
        r#"{"type":"array","elementType":{"type":"struct","fields":[{"name":"x","type":"long"}]}}"#;
    let file = "optional group c (LIST) { repeated group list { optional group element {
        optional int32 x; } } }";
    assert_eq!(
        one(file, nested).unwrap_err().to_string(),
        "column c.element.x: the file has INT32, the table long"
    );
}

#[test]
fn columns_have_to_be_the_same_in_the_same_order() {
    let table = [column("a", r#""long""#), column("b", r#""string""#)].join(",");
    let (a, b) = ("optional int64 a;", "optional binary b (STRING);");
    let of = |file: String| flat(&file, &table).map_err(|mismatch| mismatch.to_string());
    assert_eq!(of(format!("{a}{b}")), Ok(()));
    assert_eq!(
        of(format!("{b}{a}")).unwrap_err(),
        "column a: the file has it as column 2, the table it as column 1"
    );
    assert_eq!(
        of(a.to_owned()).unwrap_err(),
        "column b: the file has no such column, the table string"
    );
    assert_eq!(
        of(format!("{a} optional int32 x; {b}")).unwrap_err(),
        "column x: the file has INT32, the table no such column"
    );
    assert_eq!(
        of(format!("{a}{b} optional binary _change_type (STRING);")).unwrap_err(),
        "column _change_type: the file has BYTE_ARRAY STRING, the table no such column"
    );
    assert!(of(format!("{a}{b}{a}")).unwrap_err().contains("same name"));
    assert!(
        of(format!("optional int64 A;{b}"))
            .unwrap_err()
            .contains("column A")
    );
    assert!(of(String::new()).unwrap_err().contains("column a"));
}

#[test]
fn void_columns_are_absent() {
    let table = [column("v", r#""void""#), column("a", r#""long""#)].join(",");
    assert_eq!(flat("optional int64 a;", &table), Ok(()));
    let with = flat("optional int32 v; optional int64 a;", &table).unwrap_err();
    assert_eq!(with.column, "v");
    let nested =
        r#"{"type":"struct","fields":[{"name":"v","type":"null"},{"name":"x","type":"long"}]}"#;
    assert_eq!(
        one("optional group c { optional int64 x; }", nested),
        Ok(())
    );
    let array = r#"{"type":"array","elementType":"void"}"#;
    assert!(
        one(
            "optional group c (LIST) { repeated group list { optional int32 e; } }",
            array
        )
        .is_err()
    );
}

#[test]
fn the_layout_decides_where_partition_columns_are() {
    let table = schema(&[column("p", r#""string""#), column("a", r#""long""#)].join(","));
    let none = MappingMode::None;
    let without = "optional int64 a;";
    let with = "optional binary p (STRING); optional int64 a;";
    assert_eq!(
        compare_with(without, &table, &["p"], none, Layout::Hive),
        Ok(())
    );
    assert_eq!(
        compare_with(with, &table, &["p"], none, Layout::Flat),
        Ok(()),
        "no rows"
    );
    let twice = compare_with(with, &table, &["p"], none, Layout::Hive).unwrap_err();
    assert_eq!(twice.column, "p");
    let missing = compare_with(without, &table, &["p"], none, Layout::Flat).unwrap_err();
    assert_eq!(
        missing.to_string(),
        "column p: the file has no such column, the table string"
    );
}

#[test]
fn under_mapping_by_name_physical_names_have_to_be_the_logical_ones() {
    let by_name = |file: &str, fields: &str| {
        compare_with(file, &schema(fields), &[], MappingMode::Name, Layout::Flat)
    };
    assert_eq!(by_name("optional int64 a;", &mapped("a", "a", 1)), Ok(()));
    assert_eq!(
        by_name("optional int64 col_1;", &mapped("a", "col_1", 1))
            .unwrap_err()
            .to_string(),
        "column a: the file has it under its physical name \"col_1\", the table it under its \
         logical name"
    );
    // The column was renamed from x to a, and the file has another column that was once called a.
    let mismatch = by_name("optional int64 a;", &mapped("a", "x", 1)).unwrap_err();
    assert!(mismatch.expected.contains("\"x\""), "{mismatch}");
    // Without mapping a recorded physical name means nothing.
    assert_eq!(flat("optional int64 a;", &mapped("a", "col_1", 1)), Ok(()));
}

#[test]
fn under_mapping_by_id_the_file_has_to_have_the_ids() {
    let by_id = |file: &str, fields: &str| {
        compare_with(file, &schema(fields), &[], MappingMode::Id, Layout::Flat)
    };
    let table = mapped("a", "col_1", 7);
    assert_eq!(by_id("optional int64 a = 7;", &table), Ok(()));
    for file in [
        "optional int64 a = 8;",
        "optional int64 a;",
        "optional int64 col_1 = 7;",
    ] {
        assert!(by_id(file, &table).is_err(), "{file}");
    }
    assert!(by_id("optional int64 a;", &column("a", r#""long""#)).is_err());
}

#[test]
fn metadata_that_misleads_readers_is_no_identity() {
    let table = schema(&column("a", r#""long""#));
    let shape = PresentedSchema {
        schema: &table,
        partition_columns: &[],
        mapping: MappingMode::None,
        layout: Layout::Flat,
    };
    let file = empty_file(
        "optional int64 a;",
        &[("pandas", r#"{"index_columns":["a"]}"#)],
    );
    assert_eq!(
        compare(&footer_of(file), &shape, &[])
            .unwrap_err()
            .to_string(),
        "column a: the file has metadata \"pandas\" by which some readers see an index instead of \
         a column, the table columns of its own types"
    );
    let file = empty_file("optional int64 a;", &[("ARROW:schema", "?")]);
    let mismatch = compare(&footer_of(file), &shape, &[])
        .unwrap_err()
        .to_string();
    assert!(
        mismatch.starts_with("all columns: the file has metadata"),
        "{mismatch}"
    );
}
