use arrow::array::{AsArray, RecordBatch, StructArray};
use serde_json::{Value, json};

use super::super::rows::{AddRows, FileLine};
use super::*;

fn schema() -> StructType {
    let field = |name: &str, kind: Value| json!({"name": name, "type": kind, "nullable": true, "metadata": {"delta.columnMapping.physicalName": format!("col-{name}"), "delta.columnMapping.id": 1}});
    let inner = json!({"type": "struct", "fields": [field("x", json!("integer")), field("flag", json!("boolean"))]});
    let fields = vec![
        field("l", json!("long")),
        field("b", json!("byte")),
        field("f", json!("float")),
        field("d", json!("double")),
        field("dec", json!("decimal(20,2)")),
        field("s", json!("string")),
        field("day", json!("date")),
        field("t", json!("timestamp")),
        field("w", json!("timestamp_ntz")),
        field("flag", json!("boolean")),
        field("bytes", json!("binary")),
        field("inner", inner),
        field(
            "list",
            json!({"type": "array", "elementType": "long", "containsNull": true}),
        ),
        field("p", json!("date")),
        field("q", json!("timestamp")),
    ];
    StructType::parse(&json!({"type": "struct", "fields": fields}).to_string()).expect("a schema")
}

fn layout(mapping: MappingMode) -> StatisticsLayout {
    StatisticsLayout::of(&schema(), &["p".to_owned(), "q".to_owned()], mapping)
}

fn adds(fields: &[Value]) -> StructArray {
    let mut rows = AddRows::new();
    for fields in fields {
        let line = json!({"add": fields}).to_string();
        let actions: FileLine<'_> = serde_json::from_str(&line).expect("an action");
        rows.push(&actions.add.expect("an add"), 1).expect("a row");
    }
    rows.finish().expect("rows")
}

fn add(stats: Option<&str>, p: Option<&str>, q: Option<&str>) -> Value {
    json!({
        "path": "x", "size": 1, "stats": stats,
        "partitionValues": {"p": p, "q": q},
    })
}

/// What the typed columns say, as JSON again.
fn round_trip(stats: &str) -> Option<Value> {
    round_trip_text(stats).map(|text| serde_json::from_str(&text).expect("JSON"))
}

fn round_trip_text(stats: &str) -> Option<String> {
    let parsed = layout(MappingMode::None)
        .parse(&adds(&[add(Some(stats), None, None)]), None)
        .expect("columns");
    let text = json_of(&parsed[1]).expect("text");
    text.is_valid(0).then(|| text.value(0).to_owned())
}

#[test]
fn statistics_become_typed_and_back() {
    let values = json!({
        "l": i64::MIN, "b": -128, "f": 0.5, "d": 1e300, "dec": "DEC",
        "s": "a\"\u{e9}", "day": "2024-02-29", "t": "2024-02-29T12:00:00.123456Z",
        "w": "2024-02-29T12:00:00.000001", "inner": {"x": -7},
    });
    let text = values
        .to_string()
        // More digits than a double has.
        .replace("\"DEC\"", "123456789012345678.25");
    let stats = format!(
        r#"{{"numRecords":3,"minValues":{text},"maxValues":{text},"nullCount":{{"l":0,"list":2,"inner":{{"x":1,"flag":1}}}},"tightBounds":false}}"#
    );
    let found = round_trip(&stats).expect("statistics");
    let expected: Value = serde_json::from_str(&stats).expect("JSON");
    assert_eq!(found, expected);
    let text = round_trip_text(&stats).expect("statistics");
    assert!(text.contains(":123456789012345678.25,"), "{text}");
}

#[test]
fn numbers_that_json_has_none_for_are_texts() {
    let stats = r#"{"maxValues":{"d":"Infinity","f":"NaN","l":"x"},"minValues":{"d":"-Infinity"}}"#;
    let expected =
        json!({"maxValues": {"d": "Infinity", "f": "NaN"}, "minValues": {"d": "-Infinity"}});
    let found = round_trip(stats).expect("statistics");
    assert_eq!(found, expected);
}

#[test]
fn what_is_no_statistic_of_its_column_is_left_out() {
    let stats = r#"{"numRecords":"3","minValues":{"l":1.5,"b":300,"dec":0.001,"s":7,"day":"2024-02-30","t":"2024-01-01T00:00:00","w":"2024-01-01T00:00:00Z","inner":5,"flag":true,"unknown":1},"maxValues":[],"nullCount":null,"extra":{}}"#;
    let found = round_trip(stats).expect("statistics");
    assert_eq!(found, json!({"minValues": {}}));
}

#[test]
fn hostile_texts_are_no_statistics() {
    let deep = "[".repeat(100_000);
    let texts = [
        "",
        "{",
        "null",
        "[]",
        "3",
        "\"x\"",
        deep.as_str(),
        "{\"a\":",
    ];
    for text in texts {
        assert_eq!(round_trip(text), None, "{}", text.len());
    }
    let deep = format!("{{\"minValues\":{}", "{\"inner\":".repeat(100_000));
    assert_eq!(round_trip(&deep), None);
}

#[test]
fn names_are_those_in_files() {
    let layout = layout(MappingMode::Name);
    let fields = layout.fields();
    let names = |field: &Field| -> Vec<String> {
        match field.data_type() {
            ArrowType::Struct(fields) => fields.iter().map(|f| f.name().clone()).collect(),
            other => panic!("{other}"),
        }
    };
    assert_eq!(names(&fields[0]), ["col-p", "col-q"]);
    assert_eq!(
        names(&fields[1]),
        [
            "numRecords",
            "minValues",
            "maxValues",
            "nullCount",
            "tightBounds"
        ]
    );
    let ArrowType::Struct(statistics) = fields[1].data_type() else {
        panic!("a struct");
    };
    // Neither booleans nor bytes nor lists have bounds, partition columns have no statistics.
    assert_eq!(
        names(&statistics[1]),
        ["l", "b", "f", "d", "dec", "s", "day", "t", "w", "inner"].map(|n| format!("col-{n}"))
    );
    assert_eq!(names(&statistics[3]).len(), 13);
}

#[test]
fn partition_values_become_typed() {
    let rows = adds(&[
        add(None, Some("2024-01-31"), Some("2024-01-31 00:00:01.5")),
        add(None, Some(""), Some("2024-01-31T00:00:01.500000Z")),
        add(None, None, Some("2024-01-31T01:00:01.5+01:00")),
    ]);
    let parsed = layout(MappingMode::None)
        .parse(&rows, None)
        .expect("columns");
    let batch = RecordBatch::from(parsed[0].as_struct());
    let days = batch
        .column(0)
        .as_primitive::<arrow::datatypes::Date32Type>();
    assert_eq!(days.iter().collect::<Vec<_>>(), [Some(19_753), None, None]);
    let times = batch
        .column(1)
        .as_primitive::<arrow::datatypes::TimestampMicrosecondType>();
    assert_eq!(
        times.iter().collect::<Vec<_>>(),
        [Some(1_706_659_201_500_000); 3]
    );
    // Adds without statistics have none.
    assert_eq!(parsed[1].null_count(), 3);
}

#[test]
fn a_partition_value_of_another_type_is_refused_by_name() {
    let rows = adds(&[add(None, Some("yesterday"), None)]);
    let error = layout(MappingMode::None).parse(&rows, None).unwrap_err();
    assert!(
        error.contains("yesterday") && error.contains("column p") && error.contains("date"),
        "{error}"
    );
}

#[test]
fn decimals_are_exact_or_none() {
    let cases = [
        ("12.34", 10, 2, Some(1234)),
        ("-12.3", 10, 2, Some(-1230)),
        ("1E+3", 10, 2, Some(100_000)),
        ("1.25e1", 10, 2, Some(1250)),
        ("100", 3, 0, Some(100)),
        ("0.10", 3, 1, Some(1)),
        ("0.000", 3, 1, Some(0)),
        ("0.01", 3, 1, None),
        ("1000", 3, 0, None),
        ("1e999999999", 38, 0, None),
        ("1e-999999999", 38, 0, None),
        ("1e99999999999999999999", 38, 0, None),
        ("", 10, 2, None),
        (".", 10, 2, None),
        ("1.2.3", 10, 2, None),
        ("0x10", 10, 2, None),
        (
            "99999999999999999999999999999999999999",
            38,
            0,
            Some(10_i128.pow(38) - 1),
        ),
    ];
    for (text, precision, scale, expected) in cases {
        assert_eq!(value::decimal(text, precision, scale), expected, "{text}");
    }
}
