//! Types that are converted, and values that are lost.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, Date32Array, Decimal128Array, DictionaryArray, FixedSizeBinaryArray,
    Float32Array, Int8Array, Int16Array, LargeStringArray, NullArray, StringViewArray,
    TimestampMillisecondArray, UInt8Array, UInt16Array, UInt32Array, UInt64Array,
};
use arrow::datatypes::{
    DataType, Decimal128Type, Float64Type, Int16Type, Int32Type, Int64Type,
    TimestampMicrosecondType,
};

use serde_json::json;

use super::support::{file_of, typed};
use super::{ints, longs, texts};
use crate::parquet::Footer;
use crate::parquet::testing::MemoryObject;

/// The column of a table with one column of `data_type` after `array` was taken in.
fn converted(data_type: &str, array: ArrayRef) -> ArrayRef {
    let taken = typed("a", data_type).build().one(&file_of([("a", array)]));
    assert!(!taken.is_as_staged(), "{data_type}");
    taken.column("a")
}

fn numbers(array: &ArrayRef) -> Vec<Option<i64>> {
    let wide = arrow::compute::cast(array, &DataType::Int64).unwrap();
    wide.as_primitive::<Int64Type>().iter().collect()
}

#[test]
fn whole_numbers_widen() {
    let signed: [(ArrayRef, &[&str]); 3] = [
        (
            Arc::new(Int8Array::from(vec![Some(-128), None])),
            &["short", "integer", "long"],
        ),
        (
            Arc::new(Int16Array::from(vec![Some(-128), None])),
            &["integer", "long"],
        ),
        (ints([Some(-128), None]), &["long"]),
    ];
    for (array, types) in signed {
        for data_type in types {
            assert_eq!(
                numbers(&converted(data_type, array.clone())),
                [Some(-128), None]
            );
        }
    }
    let short = converted("short", Arc::new(UInt8Array::from(vec![255])));
    assert_eq!(short.as_primitive::<Int16Type>().values().to_vec(), [255]);
    let integer = converted("integer", Arc::new(UInt16Array::from(vec![65_535])));
    assert_eq!(
        integer.as_primitive::<Int32Type>().values().to_vec(),
        [65_535]
    );
    let long = converted("long", Arc::new(UInt32Array::from(vec![u32::MAX])));
    assert_eq!(
        long.as_primitive::<Int64Type>().values().to_vec(),
        [4_294_967_295]
    );
}

#[test]
fn unsigned_numbers_of_64_bits_are_taken_as_far_as_they_fit() {
    let fits: ArrayRef = Arc::new(UInt64Array::from(vec![
        Some(9_223_372_036_854_775_807),
        None,
    ]));
    assert_eq!(numbers(&converted("long", fits)), [Some(i64::MAX), None]);
    let large: ArrayRef = Arc::new(UInt64Array::from(vec![1, 9_223_372_036_854_775_808]));
    let text = typed("a", "long")
        .build()
        .refusal(&file_of([("a", large.clone())]));
    for part in ["column a", "9223372036854775808", "row 1", "long"] {
        assert!(text.contains(part), "{text}");
    }
    let decimal = converted("decimal(20,0)", large);
    assert_eq!(
        decimal.as_primitive::<Decimal128Type>().values().to_vec(),
        [1, 9_223_372_036_854_775_808]
    );
}

#[test]
fn floats_dates_and_times_widen() {
    let double = converted("double", Arc::new(Float32Array::from(vec![0.1, f32::NAN])));
    let double = double.as_primitive::<Float64Type>();
    assert_eq!(double.value(0), f64::from(0.1_f32));
    assert!(double.value(1).is_nan());
    let double = converted("double", ints([i32::MAX]));
    assert_eq!(
        double.as_primitive::<Float64Type>().value(0),
        2_147_483_647.0
    );

    let table = typed("a", "timestamp_ntz")
        .features(&["timestampNtz"])
        .build();
    let days: ArrayRef = Arc::new(Date32Array::from(vec![-1, 1]));
    let taken = table.one(&file_of([("a", days)]));
    let micros = taken.column("a");
    let micros = micros.as_primitive::<TimestampMicrosecondType>();
    assert_eq!(micros.values().to_vec(), [-86_400_000_000, 86_400_000_000]);
    let beyond: ArrayRef = Arc::new(Date32Array::from(vec![i32::MAX]));
    assert!(
        table
            .refusal(&file_of([("a", beyond)]))
            .contains("column a")
    );

    let millis = TimestampMillisecondArray::from(vec![1, -1]).with_timezone("UTC");
    let micros = converted("timestamp", Arc::new(millis));
    let micros = micros.as_primitive::<TimestampMicrosecondType>();
    assert_eq!(micros.values().to_vec(), [1_000, -1_000]);
    let beyond = TimestampMillisecondArray::from(vec![i64::MAX]).with_timezone("UTC");
    let text = typed("a", "timestamp")
        .build()
        .refusal(&file_of([("a", Arc::new(beyond))]));
    assert!(text.contains("row 0"), "{text}");
}

#[test]
fn decimals_grow() {
    let decimal = |precision, scale, values: Vec<i128>| -> ArrayRef {
        let array = Decimal128Array::from(values);
        Arc::new(array.with_precision_and_scale(precision, scale).unwrap())
    };
    let grown = converted(
        "decimal(38,10)",
        decimal(28, 2, vec![-123, i128::from(u64::MAX)]),
    );
    assert_eq!(grown.data_type(), &DataType::Decimal128(38, 10));
    assert_eq!(
        grown.as_primitive::<Decimal128Type>().values().to_vec(),
        [-12_300_000_000, i128::from(u64::MAX) * 100_000_000]
    );
    let grown = converted("decimal(12,2)", ints([7]));
    assert_eq!(
        grown.as_primitive::<Decimal128Type>().values().to_vec(),
        [700]
    );
    let table = typed("a", "decimal(10,2)").build();
    for narrower in [decimal(10, 1, vec![1]), decimal(10, 3, vec![1]), longs([1])] {
        let text = table.refusal(&file_of([("a", narrower)]));
        assert!(text.contains("decimal(10,2)"), "{text}");
    }
}

#[test]
fn what_is_only_called_otherwise_is_copied() {
    let table = typed("a", "integer")
        .column("m", "decimal(9,2)")
        .column("u", "short")
        .build();
    let decimals = Decimal128Array::from(vec![-1, 2])
        .with_precision_and_scale(5, 2)
        .unwrap();
    let bytes = file_of([
        ("a", Arc::new(Int8Array::from(vec![-1, 1])) as ArrayRef),
        ("m", Arc::new(decimals)),
        ("u", Arc::new(UInt8Array::from(vec![0, 255]))),
    ]);
    let taken = table.one(&bytes);
    let footer = Footer::read(&MemoryObject::new(bytes.clone())).unwrap();
    let end = usize::try_from(footer.data_end()).unwrap();
    assert_eq!(taken.bytes[..end], bytes[..end]);
    let schema = taken.rows().schema();
    let types: Vec<&DataType> = schema
        .fields()
        .iter()
        .map(|field| field.data_type())
        .collect();
    let expected = [DataType::Int32, DataType::Decimal128(9, 2), DataType::Int16];
    assert_eq!(types, expected.iter().collect::<Vec<_>>());
    assert_eq!(
        taken.stats["maxValues"],
        json!({"a": 1, "m": 0.02, "u": 255})
    );
    assert_eq!(
        taken.stats["minValues"],
        json!({"a": -1, "m": -0.01, "u": 0})
    );
}

#[test]
fn ways_to_hold_text_do_not_matter() {
    let table = typed("a", "string").build();
    let dictionary: DictionaryArray<Int32Type> = ["x", "y", "x"].into_iter().collect();
    let arrays: [(ArrayRef, bool); 4] = [
        (texts(["x", "y", "x"]), true),
        (Arc::new(LargeStringArray::from(vec!["x", "y", "x"])), true),
        (Arc::new(StringViewArray::from(vec!["x", "y", "x"])), true),
        // Readers that follow its ARROW:schema would see categories: it gets a footer without.
        (Arc::new(dictionary), false),
    ];
    for (array, as_staged) in arrays {
        let taken = table.one(&file_of([("a", array)]));
        assert_eq!(taken.is_as_staged(), as_staged);
        let footer = Footer::read(&MemoryObject::new(taken.bytes.clone())).unwrap();
        assert_eq!(footer.misleading_hint(), None);
        assert_eq!(taken.column("a").as_string::<i32>().value(1), "y");
    }
    let bytes = FixedSizeBinaryArray::try_from_iter([[1_u8, 2], [3, 4]].iter()).unwrap();
    let binary = converted("binary", Arc::new(bytes));
    assert_eq!(binary.as_binary::<i32>().value(1), [3, 4]);
}

#[test]
fn a_column_without_a_type_is_null_of_any() {
    let table = typed("a", "long")
        .column("b", "string")
        .not_null("c", "long")
        .build();
    let nulls: ArrayRef = Arc::new(NullArray::new(2));
    let taken = table.one(&file_of([("a", nulls.clone()), ("c", longs([1, 2]))]));
    assert_eq!(taken.names(), ["c"], "what is not there is null");
    assert_eq!(taken.stats["nullCount"]["a"], 2);
    // Beside a column that is encoded anew it gets the table's type.
    let taken = table.one(&file_of([("a", nulls.clone()), ("c", ints([1, 2]))]));
    let column = taken.column("a");
    assert_eq!(column.data_type(), &DataType::Int64);
    assert_eq!(column.null_count(), 2);
    let text = table.refusal(&file_of([("c", nulls)]));
    assert!(text.contains("column c is null"), "{text}");
}

#[test]
fn other_types_are_refused_and_told_what_to_do() {
    let time: ArrayRef = Arc::new(arrow::array::Time64MicrosecondArray::from(vec![1]));
    for (data_type, array, parts) in [
        ("long", texts(["1"]), ["BYTE_ARRAY STRING", "cast"]),
        ("integer", longs([1]), ["INT64", "cast"]),
        ("string", longs([1]), ["INT64", "string"]),
        ("long", time, ["TIME", "long"]),
        ("date", ints([1]), ["INT32", "date"]),
    ] {
        let text = typed("a", data_type)
            .build()
            .refusal(&file_of([("a", array)]));
        assert!(text.contains("column a"), "{text}");
        for part in parts {
            assert!(text.contains(part), "{text}");
        }
    }
}

#[test]
fn the_table_may_name_the_codec_of_what_is_encoded_anew() {
    let file = file_of([("a", ints([1]))]);
    let property = "delta.parquet.compression.codec";
    for (value, codec) in [
        ("ZSTD", Some("zstd")),
        ("none", None),
        ("lzo", Some("snappy")),
    ] {
        let taken = typed("a", "long")
            .property(property, value)
            .build()
            .one(&file);
        assert_eq!(taken.file.codec, codec, "{value}");
    }
}

#[test]
fn what_is_encoded_anew_keeps_its_codec_and_other_columns() {
    let table = typed("a", "long").column("b", "string").build();
    let rows = 10_000;
    let values: Vec<String> = (0..rows).map(|row| format!("text {row}")).collect();
    let staged = file_of([
        ("a", ints(0..rows)),
        ("b", texts(values.iter().map(String::as_str))),
    ]);
    let taken = table.one(&staged);
    assert_eq!(taken.file.codec, Some("snappy"));
    assert_eq!(taken.file.num_records, 10_000);
    assert_eq!(
        numbers(&taken.column("a")),
        (0..10_000).map(Some).collect::<Vec<_>>()
    );
    assert_eq!(
        taken.column("b").as_string::<i32>().value(9_999),
        "text 9999"
    );
    assert_eq!(taken.stats["maxValues"]["a"], 9_999);
    assert_eq!(taken.stats["maxValues"]["b"], "text 9999");
}
