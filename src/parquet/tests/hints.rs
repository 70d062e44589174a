//! Metadata by which readers see other columns.

use std::collections::HashMap;

use arrow::array::{
    Date32Array, DictionaryArray, DurationMicrosecondArray, LargeStringArray, RecordBatch,
    StringViewArray,
};
use arrow::datatypes::{DataType, Field, Schema};

use serde_json::json;

use super::*;
use crate::parquet::testing::file_of_batch;

fn hint_of(column: ArrayRef) -> Option<String> {
    let footer = read(file_of(&[("a", column)], 10)).unwrap();
    footer
        .misleading_hint()
        .map(|hint| format!("{} {} {}", hint.key, hint.column, hint.effect))
}

#[test]
fn an_arrow_schema_that_only_holds_values_otherwise_is_harmless() {
    let columns: [ArrayRef; 5] = [
        Arc::new(StringArray::from(vec!["x"])),
        Arc::new(LargeStringArray::from(vec!["x"])),
        Arc::new(StringViewArray::from(vec!["x"])),
        Arc::new(TimestampMicrosecondArray::from(vec![1]).with_timezone("+00:00")),
        Arc::new(TimestampMicrosecondArray::from(vec![1])),
    ];
    for column in columns {
        assert_eq!(hint_of(column), None);
    }
    assert_eq!(read(small_file()).unwrap().misleading_hint(), None);
    assert_eq!(
        footer_of(empty_file("optional int64 a;", &[])).misleading_hint(),
        None
    );
}

#[test]
fn an_arrow_schema_with_other_types_is_reported() {
    let dictionary: DictionaryArray<Int32Type> = vec!["x", "y"].into_iter().collect();
    let zoned = TimestampMicrosecondArray::from(vec![1]).with_timezone("Europe/Berlin");
    let columns: [(ArrayRef, &str); 3] = [
        (
            Arc::new(DurationMicrosecondArray::from(vec![1])),
            "ARROW:schema a Duration(µs)",
        ),
        (
            Arc::new(dictionary),
            "ARROW:schema a Dictionary(Int32, Utf8)",
        ),
        (
            Arc::new(zoned),
            "ARROW:schema a Timestamp(µs, \"Europe/Berlin\")",
        ),
    ];
    for (column, expected) in columns {
        assert_eq!(hint_of(column).as_deref(), Some(expected));
    }

    let field = Field::new("a", DataType::Int64, true).with_metadata(HashMap::from([(
        "ARROW:extension:name".to_owned(),
        "my.money".to_owned(),
    )]));
    let column: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    let batch = RecordBatch::try_new(Arc::new(Schema::new(vec![field])), vec![column]).unwrap();
    let hint = read(file_of_batch(&batch, 10, &[]))
        .unwrap()
        .misleading_hint()
        .unwrap();
    assert_eq!(hint.effect, "the extension type my.money");

    let broken = footer_of(empty_file("optional int64 a;", &[("ARROW:schema", "!")]));
    assert!(
        broken
            .misleading_hint()
            .unwrap()
            .effect
            .starts_with("an error")
    );
}

#[test]
fn a_pandas_index_is_reported() {
    let hint = |pandas: &str| {
        footer_of(empty_file("optional int64 a;", &[("pandas", pandas)])).misleading_hint()
    };
    let index = hint(r#"{"index_columns":["a"],"columns":[]}"#).unwrap();
    assert_eq!((index.key, index.column.as_str()), ("pandas", "a"));
    assert_eq!(
        hint(r#"{"index_columns":[{"kind":"range","start":0}],"columns":[]}"#),
        None
    );
    assert_eq!(hint(r#"{"index_columns":[]}"#), None);
    assert!(hint("{").unwrap().effect.starts_with("an error"));
}

#[test]
fn pandas_names_and_extension_types_of_others_are_reported() {
    let hint = |pandas: serde_json::Value| {
        let entries = [("pandas", &*pandas.to_string())];
        footer_of(empty_file("optional double a;", &entries))
            .misleading_hint()
            .map(|hint| (hint.column, hint.effect))
    };
    let column = |name: serde_json::Value, kind: &str| {
        hint(json!({
            "index_columns": [],
            "column_indexes": [{"name": null, "pandas_type": "unicode"}],
            "columns": [{"name": name, "field_name": "a", "numpy_type": kind}],
        }))
    };
    assert_eq!(column(json!("a"), "float64"), None);
    assert_eq!(column(json!("a"), "Float64"), None);
    let found = |column: &str, effect: &str| Some((column.to_owned(), effect.to_owned()));
    assert_eq!(
        column(json!("a"), "Int64"),
        found("a", "values of the type Int64")
    );
    assert_eq!(
        column(json!("a"), "string"),
        found("a", "values of the type string")
    );
    assert_eq!(column(json!("b"), "float64"), found("a", "the name \"b\""));
    assert_eq!(
        column(json!(null), "float64"),
        found("a", "a column without a name")
    );
    let levels = |kinds: &[&str]| {
        let kinds = kinds.iter().map(|kind| json!({"pandas_type": kind}));
        hint(json!({"column_indexes": kinds.collect::<Vec<_>>(), "columns": []}))
    };
    assert_eq!(levels(&["unicode"]), None);
    assert_eq!(levels(&["int64"]), found("", "names of the type int64"));
    assert_eq!(
        levels(&["unicode", "unicode"]),
        found("", "names of 2 levels")
    );
}

#[test]
fn geometries_are_reported() {
    let hint =
        |geo: &str| footer_of(empty_file("optional binary g;", &[("geo", geo)])).misleading_hint();
    let found = hint(r#"{"version":"1.1.0","columns":{"g":{"encoding":"WKB"}}}"#).unwrap();
    assert_eq!(
        (found.key, &*found.column, &*found.effect),
        ("geo", "g", "a geometry")
    );
    // That of a column which is not there any more.
    assert_eq!(hint(r#"{"columns":{"h":{"encoding":"WKB"}}}"#), None);
    for broken in ["{", "{}"] {
        assert!(hint(broken).unwrap().effect.starts_with("an error"));
    }
}

#[test]
fn a_schema_of_spark_that_is_not_the_files_is_reported() {
    let file = "optional int32 i; optional int64 l; optional binary s (UTF8); optional binary b;
        optional int32 d (DATE); optional int64 t (TIMESTAMP(MICROS,true));
        optional int64 n (TIMESTAMP(MICROS,false)); optional int32 y (INTEGER(8,true));
        optional fixed_len_byte_array(9) e (DECIMAL(20,3));
        optional group p { optional double x; }
        optional group a (LIST) { repeated group list { optional int32 element; } }
        optional group m (MAP) { repeated group key_value { required binary key (UTF8); optional float value; } }";
    let right = || {
        let field = |name: &str, kind: serde_json::Value| json!({"name": name, "type": kind, "nullable": true, "metadata": {}});
        vec![
            field("i", json!("integer")),
            field("l", json!("long")),
            field("s", json!("string")),
            field("b", json!("binary")),
            field("d", json!("date")),
            field("t", json!("timestamp")),
            field("n", json!("timestamp_ntz")),
            field("y", json!("byte")),
            field("e", json!("decimal(20,3)")),
            field(
                "p",
                json!({"type": "struct", "fields": [field("x", json!("double"))]}),
            ),
            field(
                "a",
                json!({"type": "array", "elementType": "integer", "containsNull": true}),
            ),
            field(
                "m",
                json!({"type": "map", "keyType": "string", "valueType": "float",
                    "valueContainsNull": true}),
            ),
        ]
    };
    let hint = |fields: Vec<serde_json::Value>| {
        let row = json!({"type": "struct", "fields": fields}).to_string();
        let entries = [("org.apache.spark.sql.parquet.row.metadata", &*row)];
        footer_of(empty_file(file, &entries))
            .misleading_hint()
            .map(|hint| hint.column)
    };
    assert_eq!(hint(right()), None);
    let changed = |at: usize, key: &str, value: serde_json::Value| {
        let mut fields = right();
        fields[at][key] = value;
        hint(fields)
    };
    let cases = [
        (0, "i", json!("long")),
        (0, "i", json!("interval day to second")),
        (1, "l", json!("interval month")),
        (3, "b", json!("string")),
        (5, "t", json!("timestamp_ntz")),
        (8, "e", json!("decimal(20,2)")),
        (10, "a", json!("string")),
        (10, "a", json!({"type": "array", "elementType": "long"})),
        (
            9,
            "p.x",
            json!({"type": "struct", "fields": [{"name": "x", "type": "float"}]}),
        ),
        (
            9,
            "p.x",
            json!({"type": "struct", "fields": [{"name": "y", "type": "double"}]}),
        ),
        (
            9,
            "p",
            json!({"type": "udt", "class": "Point", "sqlType": "double"}),
        ),
        (
            11,
            "m",
            json!({"type": "map", "keyType": "string", "valueType": "double"}),
        ),
    ];
    for (at, column, kind) in cases {
        assert_eq!(
            changed(at, "type", kind.clone()),
            Some(column.to_owned()),
            "{kind}"
        );
    }
    let stored = right()[9]["type"].clone();
    for (at, kind) in [
        (0, json!("interval year to month")),
        (1, json!("interval hour to second")),
        (
            9,
            json!({"type": "udt", "class": "Point", "sqlType": stored}),
        ),
    ] {
        assert_eq!(changed(at, "type", kind.clone()), None, "{kind}");
    }
    assert_eq!(changed(1, "name", json!("k")), Some("l".to_owned()));
    let mut fewer = right();
    fewer.pop();
    assert_eq!(hint(fewer), Some(String::new()));
    let mut swapped = right();
    swapped.swap(0, 1);
    assert_eq!(hint(swapped), Some("i".to_owned()));
}

#[test]
fn an_older_calendar_is_reported_unless_all_dates_are_recent() {
    let hint = |column: ArrayRef, entries: &[(&str, &str)]| {
        let batch = RecordBatch::try_from_iter_with_nullable([("a", column, true)]).unwrap();
        let footer = read(file_of_batch(&batch, 2, entries)).unwrap();
        footer.misleading_hint().map(|hint| (hint.key, hint.column))
    };
    let legacy = [("org.apache.spark.legacyDateTime", "")];
    let found = Some(("org.apache.spark.legacyDateTime", "a".to_owned()));
    let dates = |first: i32| -> ArrayRef {
        Arc::new(Date32Array::from(vec![
            Some(20_000),
            None,
            None,
            None,
            Some(first),
        ]))
    };
    assert_eq!(hint(dates(-141_428), &legacy), found);
    assert_eq!(hint(dates(-141_427), &legacy), None);
    assert_eq!(hint(dates(-141_428), &[]), None);
    let instants = |first: i64| -> ArrayRef {
        Arc::new(TimestampMicrosecondArray::from(vec![first]).with_timezone("UTC"))
    };
    assert_eq!(hint(instants(-2_208_988_800_000_001), &legacy), found);
    assert_eq!(hint(instants(-2_208_988_800_000_000), &legacy), None);
    // Wall-clock times and other types have no calendar to convert.
    assert_eq!(
        hint(
            Arc::new(TimestampMicrosecondArray::from(vec![i64::MIN])),
            &legacy
        ),
        None
    );
    assert_eq!(
        hint(Arc::new(Int64Array::from(vec![i64::MIN])), &legacy),
        None
    );
}
