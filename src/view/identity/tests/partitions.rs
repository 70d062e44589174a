//! Partition columns that a file holds itself.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int8Array, Int16Array,
    Int32Array, Int64Array, StringArray, TimestampMicrosecondArray,
};

use super::*;
use crate::parquet::testing::file_of;

/// Whether a file with the partition column `p` of these values, two to a row group, is identity
/// for the partition value.
fn partition(data_type: &str, values: ArrayRef, value: Option<&str>) -> bool {
    let bytes = file_of(&[("p", values)], 2);
    let table = schema(&column("p", data_type));
    let partition_columns = ["p".to_owned()];
    let shape = PresentedSchema {
        schema: &table,
        partition_columns: &partition_columns,
        mapping: MappingMode::None,
        layout: Layout::Flat,
    };
    compare(&footer_of(bytes), &shape, &[value]).is_ok()
}

#[test]
fn partition_values_in_the_file_are_proven_to_be_those_of_the_log() {
    let decimal = |value: i128, precision, scale| -> ArrayRef {
        let array = Decimal128Array::from(vec![value; 3]);
        Arc::new(array.with_precision_and_scale(precision, scale).unwrap())
    };
    let at = |micros: i64| TimestampMicrosecondArray::from(vec![micros; 3]);
    let instant = || -> ArrayRef { Arc::new(at(1_704_067_200_123_456).with_timezone("UTC")) };
    let wall_clock = || -> ArrayRef { Arc::new(at(1_704_067_200_000_000)) };
    let string = || -> ArrayRef { Arc::new(StringArray::from(vec!["US"; 3])) };
    let date = |days: i32| -> ArrayRef { Arc::new(Date32Array::from(vec![days; 3])) };
    let cases: Vec<(&str, ArrayRef, Option<&str>, bool)> = vec![
        (r#""string""#, string(), Some("US"), true),
        (r#""string""#, string(), Some("us"), false),
        (r#""string""#, string(), Some(""), false),
        (r#""string""#, string(), None, false),
        (
            r#""string""#,
            Arc::new(StringArray::from(vec!["US", "US", "DE"])),
            Some("US"),
            false,
        ),
        (
            r#""string""#,
            Arc::new(StringArray::from(vec![None::<&str>; 3])),
            None,
            true,
        ),
        (
            r#""string""#,
            Arc::new(StringArray::from(vec![None::<&str>; 3])),
            Some(""),
            true,
        ),
        (
            r#""string""#,
            Arc::new(StringArray::from(vec![None::<&str>; 3])),
            Some("US"),
            false,
        ),
        (
            r#""boolean""#,
            Arc::new(BooleanArray::from(vec![true; 3])),
            Some("true"),
            true,
        ),
        (
            r#""boolean""#,
            Arc::new(BooleanArray::from(vec![true; 3])),
            Some("false"),
            false,
        ),
        (
            r#""byte""#,
            Arc::new(Int8Array::from(vec![-1; 3])),
            Some("-1"),
            true,
        ),
        (
            r#""byte""#,
            Arc::new(Int8Array::from(vec![-1; 3])),
            Some("255"),
            false,
        ),
        (
            r#""short""#,
            Arc::new(Int16Array::from(vec![300; 3])),
            Some("300"),
            true,
        ),
        (
            r#""integer""#,
            Arc::new(Int32Array::from(vec![7; 3])),
            Some("7"),
            true,
        ),
        (
            r#""integer""#,
            Arc::new(Int32Array::from(vec![7; 3])),
            Some("x"),
            false,
        ),
        (
            r#""integer""#,
            Arc::new(Int32Array::from(vec![7, 7, 8])),
            Some("7"),
            false,
        ),
        (
            r#""integer""#,
            Arc::new(Int32Array::from(vec![Some(7), None])),
            Some("7"),
            false,
        ),
        (
            r#""long""#,
            Arc::new(Int64Array::from(vec![i64::MIN; 3])),
            Some("-9223372036854775808"),
            true,
        ),
        (r#""date""#, date(19_723), Some("2024-01-01"), true),
        (r#""date""#, date(-1), Some("1969-12-31"), true),
        (r#""date""#, date(19_723), Some("2024-01-01T05:00"), true),
        (r#""date""#, date(19_723), Some("2024-01-02"), false),
        (
            r#""timestamp""#,
            instant(),
            Some("2024-01-01T00:00:00.123456Z"),
            true,
        ),
        (
            r#""timestamp""#,
            instant(),
            Some("2024-01-01T00:00:00.123456789Z"),
            true,
        ),
        (
            r#""timestamp""#,
            instant(),
            Some("2024-01-01 00:00:00.123456"),
            true,
        ),
        (
            r#""timestamp_ntz""#,
            wall_clock(),
            Some("2024-01-01 00:00:00"),
            true,
        ),
        (
            r#""timestamp_ntz""#,
            wall_clock(),
            Some("2024-01-01 00:00:01"),
            false,
        ),
        (
            r#""decimal(5,2)""#,
            decimal(-1_250, 5, 2),
            Some("-12.50"),
            true,
        ),
        (
            r#""decimal(5,2)""#,
            decimal(-1_250, 5, 2),
            Some("-12.5"),
            true,
        ),
        (
            r#""decimal(5,2)""#,
            decimal(1_250, 5, 2),
            Some("12.500"),
            true,
        ),
        (
            r#""decimal(5,2)""#,
            decimal(1_250, 5, 2),
            Some("1.25E1"),
            true,
        ),
        (
            r#""decimal(12,5)""#,
            decimal(100_000, 12, 5),
            Some("1"),
            true,
        ),
        (
            r#""decimal(38,2)""#,
            decimal(-1, 38, 2),
            Some("-0.01"),
            true,
        ),
        (
            r#""decimal(38,2)""#,
            decimal(-1, 38, 2),
            Some("-0.02"),
            false,
        ),
        (
            r#""double""#,
            Arc::new(Float64Array::from(vec![1.0; 3])),
            Some("1.0"),
            false,
        ),
    ];
    for (data_type, values, value, same) in cases {
        let shown = format!("{data_type} {values:?} {value:?}");
        assert_eq!(partition(data_type, values, value), same, "{shown}");
    }
}
