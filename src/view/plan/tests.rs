//! What is planned for files of every kind, written as a line of text.

mod calendar;
mod nested;
mod partitions;
mod types;

use std::fmt::Write;
use std::sync::Arc;

use arrow::array::{Float64Array, Int64Array};

use super::*;
use crate::parquet::testing::{empty_file, file_of, footer_of};
use crate::parquet::{Annotation, LeafSource, OutputKind, Repetition};
use crate::schema::StructType;
use crate::view::Layout;

fn schema(fields: &str) -> StructType {
    StructType::parse(&format!(r#"{{"type":"struct","fields":[{fields}]}}"#)).unwrap()
}

/// A nullable column of a type in JSON.
fn column(name: &str, data_type: &str) -> String {
    format!(r#"{{"name":"{name}","type":{data_type},"nullable":true,"metadata":{{}}}}"#)
}

/// The same, mapped to a physical name and an id.
fn mapped(name: &str, data_type: &str, physical: &str, id: i32) -> String {
    format!(
        r#"{{"name":"{name}","type":{data_type},"nullable":true,"metadata":{{"delta.columnMapping.id":{id},"delta.columnMapping.physicalName":"{physical}"}}}}"#
    )
}

/// A table, and the partition values of a file of it.
struct Table<'a> {
    fields: &'a [String],
    partition_columns: &'a [&'a str],
    values: &'a [Option<&'a str>],
    mapping: MappingMode,
    layout: Layout,
}

impl Table<'_> {
    /// What is planned for a file of these columns.
    fn of(&self, file: &str) -> Result<String, Mismatch> {
        let schema = schema(&self.fields.join(","));
        let partition_columns: Vec<String> = self
            .partition_columns
            .iter()
            .map(|column| (*column).to_owned())
            .collect();
        let shape = PresentedSchema {
            schema: &schema,
            partition_columns: &partition_columns,
            mapping: self.mapping,
            layout: self.layout,
        };
        let columns = plan(&footer_of(empty_file(file, &[])), &shape, self.values)?;
        Ok(columns.iter().map(show).collect::<Vec<_>>().join("; "))
    }
}

/// A table without partition columns.
fn table(fields: &[String]) -> Table<'_> {
    Table {
        fields,
        partition_columns: &[],
        values: &[],
        mapping: MappingMode::None,
        layout: Layout::Flat,
    }
}

/// `?` optional, `*` repeated, `!` required; then name, id, annotation, children or source.
fn show(node: &OutputNode) -> String {
    let mut text = match node.repetition {
        Repetition::Required => "!",
        Repetition::Optional => "?",
        Repetition::Repeated => "*",
    }
    .to_owned();
    text.push_str(&node.name);
    if let Some(id) = node.id {
        write!(text, "#{id}").unwrap();
    }
    if node.annotation != Annotation::None {
        write!(text, " {}", node.annotation).unwrap();
    }
    match &node.kind {
        OutputKind::Group(children) => {
            let children: Vec<String> = children.iter().map(show).collect();
            write!(text, "{{{}}}", children.join(", ")).unwrap();
        }
        OutputKind::Leaf { physical, source } => {
            write!(text, " {physical} = ").unwrap();
            match source {
                LeafSource::Original(leaf) => write!(text, "leaf {leaf}").unwrap(),
                LeafSource::Converted { leaf, conversion } => {
                    write!(text, "{conversion:?} of leaf {leaf}").unwrap();
                }
                LeafSource::Constant(value) => write!(text, "{value:?}").unwrap(),
                LeafSource::Null { definition } => write!(text, "null at {definition}").unwrap(),
                LeafSource::NullBeside {
                    beside,
                    definition,
                    repetition,
                } => write!(text, "null at {definition}, {repetition} beside {beside}").unwrap(),
            }
        }
    }
    text
}

/// How the column `c` of a type is presented from a file with that column.
fn one(file: &str, data_type: &str) -> Result<String, Mismatch> {
    table(&[column("c", data_type)]).of(file)
}

const LONGS: &str = r#"{"type":"array","elementType":"long","containsNull":true}"#;

#[test]
fn columns_are_found_renamed_ordered_and_dropped() {
    let fields = [
        mapped("b", r#""string""#, "col-2", 2),
        mapped("a", r#""long""#, "col-1", 1),
    ];
    let mut table = table(&fields);
    let file = "optional int64 col-1; optional int32 gone; optional binary col-2 (STRING);";
    table.mapping = MappingMode::Name;
    assert_eq!(
        table.of(file).unwrap(),
        "?b#2 STRING BYTE_ARRAY = leaf 2; ?a#1 INT64 = leaf 0"
    );
}

#[test]
fn under_id_mapping_names_do_not_matter() {
    let fields = [
        mapped("a", r#""long""#, "col-1", 1),
        mapped("b", r#""long""#, "col-2", 2),
    ];
    let mut table = table(&fields);
    table.mapping = MappingMode::Id;
    assert_eq!(
        table
            .of("optional int64 x = 2; optional int64 a = 5; optional int64 col-1;")
            .unwrap(),
        "?a#1 INT64 = null at 0; ?b#2 INT64 = leaf 0"
    );
}

#[test]
fn b9_without_mapping_a_physical_name_means_nothing() {
    let fields = [mapped("a", r#""long""#, "col-1", 1)];
    assert_eq!(
        table(&fields)
            .of("optional int64 col-1; optional int64 a;")
            .unwrap(),
        "?a INT64 = leaf 1"
    );
}

#[test]
fn a_name_that_differs_in_case_alone_is_the_column_unless_another_is_exact() {
    assert_eq!(
        one("optional int64 C;", r#""long""#).unwrap(),
        "?c INT64 = leaf 0"
    );
    assert_eq!(
        one("optional int64 C; optional int64 c;", r#""long""#).unwrap(),
        "?c INT64 = leaf 1"
    );
    let two = table(&[column("Id", r#""long""#)]).of("optional int64 ID; optional int64 id;");
    assert!(two.unwrap_err().found.contains("several"));
}

#[test]
fn b11_a_missing_column_is_null_at_any_depth() {
    let nested = r#"{"type":"struct","fields":[{"name":"x","type":"long","nullable":true,"metadata":{}},{"name":"y","type":{"type":"map","keyType":"string","valueType":"long","valueContainsNull":true},"nullable":true,"metadata":{}}]}"#;
    assert_eq!(
        one("optional int64 other;", nested).unwrap(),
        "?c{?x INT64 = null at 0, ?y MAP{*key_value{!key STRING BYTE_ARRAY = null at 0, ?value \
         INT64 = null at 0}}}"
    );
    // There is nothing to count nulls by: the levels of the column beside it tell.
    let beside = one("optional group c { optional int64 x; }", nested).unwrap();
    assert!(
        beside.starts_with(
            "?c{?x INT64 = leaf 0, ?y MAP{*key_value{!key STRING BYTE_ARRAY = null at 1"
        ),
        "{beside}"
    );
    let required = one("required group c { optional int64 x; }", nested).unwrap();
    assert!(
        required.contains("!key STRING BYTE_ARRAY = null at 0"),
        "{required}"
    );
}

#[test]
fn a_missing_column_that_is_never_null_is_refused() {
    let field = r#"{"name":"c","type":"long","nullable":false,"metadata":{}}"#.to_owned();
    let error = table(&[field]).of("optional int64 other;").unwrap_err();
    assert_eq!(error.column, "c");
    assert_eq!(error.found, "no such column");
}

#[test]
fn a_column_that_is_always_null_is_null_as_any_type() {
    let null = "optional int32 c (UNKNOWN);";
    assert_eq!(
        one(null, r#""string""#).unwrap(),
        "?c STRING BYTE_ARRAY = null at 0"
    );
    assert_eq!(
        one(null, LONGS).unwrap(),
        "?c LIST{*list{?element INT64 = null at 0}}"
    );
    // Where it lies in something that may itself be null, its own levels tell.
    assert_eq!(
        one(
            "optional group c (LIST) { repeated group list { optional int32 element (UNKNOWN); } }",
            LONGS
        )
        .unwrap(),
        "?c LIST{*list{?element INT64 = null at 2, 1 beside 0}}"
    );
    let nested =
        r#"{"type":"struct","fields":[{"name":"x","type":"date","nullable":true,"metadata":{}}]}"#;
    assert_eq!(
        one("optional group c { optional int32 x (UNKNOWN); }", nested).unwrap(),
        "?c{?x DATE INT32 = null at 1, 0 beside 0}"
    );
    let never = r#"{"name":"c","type":"long","nullable":false,"metadata":{}}"#.to_owned();
    let error = table(&[never]).of(null).unwrap_err();
    assert_eq!(error.column, "c");
    assert!(error.found.contains("always null"), "{error}");
}

#[test]
fn a_file_without_column_ids_is_none_of_a_table_that_is_mapped_by_them() {
    let fields = schema(&mapped("a", r#""long""#, "a", 1));
    let shape = PresentedSchema {
        schema: &fields,
        partition_columns: &[],
        mapping: MappingMode::Id,
        layout: Layout::Flat,
    };
    let rows = footer_of(file_of(&[("a", Arc::new(Int64Array::from(vec![7])))], 1));
    let error = plan(&rows, &shape, &[]).unwrap_err();
    assert_eq!(error.found, "no column ids");
    plan(
        &footer_of(empty_file("optional int64 a;", &[])),
        &shape,
        &[],
    )
    .unwrap();
}

#[test]
fn a_file_without_rows_is_shown_whatever_its_columns_are() {
    let fields = schema(&[column("a", r#""long""#), column("p", r#""date""#)].join(","));
    let mut shape = PresentedSchema {
        schema: &fields,
        partition_columns: &["p".to_owned()],
        mapping: MappingMode::None,
        layout: Layout::Flat,
    };
    let shown = |bytes: Vec<u8>, shape: &PresentedSchema<'_>| {
        let columns = plan_or_nothing(&footer_of(bytes), shape, &[Some("no date")])?;
        Ok::<_, Mismatch>(columns.iter().map(show).collect::<Vec<_>>().join("; "))
    };
    let empty = || empty_file("optional double a;", &[]);
    assert_eq!(
        shown(empty(), &shape).unwrap(),
        "?a INT64 = null at 0; ?p DATE INT32 = null at 0"
    );
    let rows = file_of(&[("a", Arc::new(Float64Array::from(vec![7.0])))], 1);
    assert_eq!(shown(rows, &shape).unwrap_err().column, "a");
    shape.layout = Layout::Hive;
    assert_eq!(shown(empty(), &shape).unwrap(), "?a INT64 = null at 0");
}

#[test]
fn b17_void_columns_are_not_shown() {
    let fields = [column("v", r#""void""#), column("a", r#""long""#)];
    assert_eq!(
        table(&fields).of("optional int64 a;").unwrap(),
        "?a INT64 = leaf 0"
    );
    let only = table(&fields[..1]).of("optional int64 a;").unwrap_err();
    assert!(only.expected.contains("at least one column"), "{only}");
}
