//! Expressions, rows, and what comes out.

mod functions;
mod hostile;
mod operators;
mod partitions;
mod refused;

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Float32Array, Float64Array,
    Int8Array, Int16Array, Int32Array, Int32Builder, Int64Array, ListArray, MapBuilder,
    RecordBatch, StringArray, StringBuilder, StructArray, TimestampMicrosecondArray,
};
use arrow::datatypes::{Field, Int32Type};

use super::*;

const DAY: i64 = 86_400_000_000;

/// A column of every type.
pub(super) fn schema() -> StructType {
    let field = |name: &str, data_type: &str| {
        format!(r#"{{"name":"{name}","type":{data_type},"nullable":true,"metadata":{{}}}}"#)
    };
    let fields = [
        ("b", r#""byte""#),
        ("s", r#""short""#),
        ("i", r#""integer""#),
        ("l", r#""long""#),
        ("f", r#""float""#),
        ("d", r#""double""#),
        ("dec", r#""decimal(10,2)""#),
        ("big", r#""decimal(38,18)""#),
        ("t", r#""string""#),
        ("bin", r#""binary""#),
        ("flag", r#""boolean""#),
        ("day", r#""date""#),
        ("ts", r#""timestamp""#),
        ("ntz", r#""timestamp_ntz""#),
        ("n", r#""void""#),
        (
            "st",
            r#"{"type":"struct","fields":[
                {"name":"x","type":"integer","nullable":true,"metadata":{}},
                {"name":"Name","type":"string","nullable":true,"metadata":{}}]}"#,
        ),
        (
            "arr",
            r#"{"type":"array","elementType":"integer","containsNull":true}"#,
        ),
        (
            "m",
            r#"{"type":"map","keyType":"string","valueType":"integer","valueContainsNull":true}"#,
        ),
        ("a.b", r#""integer""#),
        ("Mixed", r#""integer""#),
    ];
    let fields: Vec<String> = fields
        .iter()
        .map(|(name, kind)| field(name, kind))
        .collect();
    let text = format!(r#"{{"type":"struct","fields":[{}]}}"#, fields.join(","));
    StructType::parse(&text).unwrap()
}

/// An ordinary row, a row of nulls, and a row of extremes.
pub(super) fn batch() -> RecordBatch {
    let micros = [Some(19_724 * DAY + 45_296_250_000), None, Some(-1)];
    let x: ArrayRef = Arc::new(Int32Array::from(vec![Some(7), None, Some(-1)]));
    let name: ArrayRef = Arc::new(StringArray::from(vec![Some("seven"), None, Some("")]));
    let mut map = MapBuilder::new(None, StringBuilder::new(), Int32Builder::new());
    map.keys().append_value("k");
    map.values().append_value(1);
    map.append(true).unwrap();
    map.append(false).unwrap();
    map.append(true).unwrap();
    let arrays = [
        Some(vec![Some(1), Some(2), Some(3)]),
        None,
        Some(vec![None]),
    ];
    let columns: Vec<(&str, ArrayRef)> = vec![
        (
            "b",
            Arc::new(Int8Array::from(vec![Some(5), None, Some(i8::MIN)])),
        ),
        (
            "s",
            Arc::new(Int16Array::from(vec![Some(300), None, Some(i16::MAX)])),
        ),
        (
            "i",
            Arc::new(Int32Array::from(vec![Some(10), None, Some(i32::MAX)])),
        ),
        (
            "l",
            Arc::new(Int64Array::from(vec![Some(-3), None, Some(i64::MIN)])),
        ),
        (
            "f",
            Arc::new(Float32Array::from(vec![Some(0.1), None, Some(f32::NAN)])),
        ),
        (
            "d",
            Arc::new(Float64Array::from(vec![Some(2.5), None, Some(-0.0)])),
        ),
        (
            "dec",
            Arc::new(
                Decimal128Array::from(vec![Some(1050), None, Some(-9_999_999_999)])
                    .with_precision_and_scale(10, 2)
                    .unwrap(),
            ),
        ),
        (
            "big",
            Arc::new(
                Decimal128Array::from(vec![
                    Some(1_500_000_000_000_000_000),
                    None,
                    Some(10i128.pow(38) - 1),
                ])
                .with_precision_and_scale(38, 18)
                .unwrap(),
            ),
        ),
        (
            "t",
            Arc::new(StringArray::from(vec![Some("Hello"), None, Some("ü ")])),
        ),
        (
            "bin",
            Arc::new(BinaryArray::from(vec![
                Some(b"\x01\xff".as_slice()),
                None,
                Some(b""),
            ])),
        ),
        (
            "flag",
            Arc::new(BooleanArray::from(vec![Some(true), None, Some(false)])),
        ),
        (
            "day",
            Arc::new(Date32Array::from(vec![Some(19_724), None, Some(-1)])),
        ),
        (
            "ts",
            Arc::new(TimestampMicrosecondArray::from(micros.to_vec()).with_timezone("UTC")),
        ),
        (
            "ntz",
            Arc::new(TimestampMicrosecondArray::from(micros.to_vec())),
        ),
        ("n", Arc::new(arrow::array::NullArray::new(3))),
        (
            "st",
            Arc::new(
                StructArray::try_new(
                    vec![
                        Field::new("x", Arrow::Int32, true),
                        Field::new("Name", Arrow::Utf8, true),
                    ]
                    .into(),
                    vec![x, name],
                    Some(vec![true, false, true].into()),
                )
                .unwrap(),
            ),
        ),
        (
            "arr",
            Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(arrays)),
        ),
        ("m", Arc::new(map.finish())),
        ("a.b", Arc::new(Int32Array::from(vec![1, 2, 3]))),
        ("Mixed", Arc::new(Int32Array::from(vec![1, 2, 3]))),
    ];
    RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, array)| (name, array, true)),
    )
    .unwrap()
}

/// The value in each row as text, `!` where there is none.
pub(super) fn values(sql: &str) -> Vec<String> {
    let expression = Expression::parse(sql, &schema()).unwrap_or_else(|error| panic!("{error}"));
    let batch = batch();
    let columns = expression.bind(&batch).unwrap();
    let data_type = expression.data_type();
    (0..3)
        .map(
            |row| match expression.root.evaluate(&Row::of_batch(&columns, row)) {
                Err(_) => "!".to_owned(),
                value => shown(value, data_type),
            },
        )
        .collect()
}

/// Checks a table of expressions and their values in the three rows; values that are equal in all
/// of them are given once.
pub(super) fn check(table: &[(&str, &str)]) {
    let mut wrong = Vec::new();
    for (sql, expected) in table {
        let mut expected: Vec<&str> = expected.split(" | ").collect();
        if expected.len() == 1 {
            expected = vec![expected[0]; 3];
        }
        let found = values(sql);
        if found != expected {
            wrong.push(format!(
                "{sql}: {} instead of {}",
                found.join(" | "),
                expected.join(" | ")
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The error that `sql` is refused with, over [`schema`].
pub(super) fn refusal(sql: &str) -> ExpressionError {
    match Expression::parse(sql, &schema()) {
        Err(error) => error,
        Ok(expression) => panic!("{sql} is read as {:?}", expression.root),
    }
}
