//! Statistics: which columns, and bounds that are certain.

use std::sync::Arc;

use ::parquet::basic::ColumnOrder;
use ::parquet::file::metadata::ParquetMetaDataReader;
use ::parquet::file::properties::{EnabledStatistics, WriterProperties};
use arrow::array::{
    ArrayRef, Date32Array, Decimal128Array, Float32Array, Float64Array, Int16Array, RecordBatch,
    StructArray,
};
use arrow::datatypes::{DataType, Field, Schema};
use serde_json::{Value, json};

use super::support::{IntakeBuilder, file_of, file_with, typed};
use super::{ints, longs, texts};

fn keys(value: &Value) -> Vec<&str> {
    value
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect()
}

#[test]
fn the_first_32_leaves_are_indexed_unless_properties_say_otherwise() {
    let names: Vec<String> = (0..40).map(|index| format!("c{index}")).collect();
    let build = |properties: &[(&str, &str)]| {
        let mut table = IntakeBuilder::default();
        for name in &names {
            table = table.column(name, "long");
        }
        for (key, value) in properties {
            table = table.property(key, value);
        }
        table.build()
    };
    let fields: Vec<Field> = names
        .iter()
        .map(|n| Field::new(n, DataType::Int64, true))
        .collect();
    let arrays = names.iter().map(|_| longs([1])).collect();
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).unwrap();
    let bytes = file_with(&batch, WriterProperties::builder().build());
    let stats = build(&[]).one(&bytes).stats;
    assert_eq!(keys(&stats["minValues"]).len(), 32);
    assert_eq!(keys(&stats["nullCount"]).last(), Some(&"c31"));
    let count = "delta.dataSkippingNumIndexedCols";
    for (value, expected) in [("2", 2), ("0", 0), ("-1", 40)] {
        let stats = build(&[(count, value)]).one(&bytes).stats;
        assert_eq!(keys(&stats["maxValues"]).len(), expected, "{value}");
    }
    let list = "delta.dataSkippingStatsColumns";
    let stats = build(&[(count, "1"), (list, "C39, `c5`")])
        .one(&bytes)
        .stats;
    assert_eq!(keys(&stats["minValues"]), ["c5", "c39"]);
}

#[test]
fn leaves_of_structs_count_one_by_one() {
    let inner = r#"{"type":"struct","fields":[
        {"name":"x","type":"long","nullable":true,"metadata":{}},
        {"name":"y","type":"long","nullable":true,"metadata":{}}]}"#;
    let group = || -> ArrayRef {
        let fields = ["x", "y"].map(|name| Field::new(name, DataType::Int64, true));
        Arc::new(StructArray::new(
            fields.to_vec().into(),
            vec![longs([1]), longs([2])],
            None,
        ))
    };
    let bytes = file_of([("s", group()), ("a", longs([3]))]);
    let table = |property: &str, value: &str| {
        typed("s", inner)
            .column("a", "long")
            .property(property, value)
            .build()
    };
    let stats = table("delta.dataSkippingNumIndexedCols", "1")
        .one(&bytes)
        .stats;
    assert_eq!(stats["minValues"], json!({"s": {"x": 1}}));
    for (list, expected) in [
        ("s.Y", json!({"s": {"y": 2}})),
        ("s", json!({"s": {"x": 1, "y": 2}})),
    ] {
        let stats = table("delta.dataSkippingStatsColumns", list)
            .one(&bytes)
            .stats;
        assert_eq!(stats["minValues"], expected);
    }
}

#[test]
fn bounds_are_tight_where_deletion_vectors_could_make_them_wide() {
    let table = typed("a", "long").features(&["deletionVectors"]).build();
    let stats = table.one(&file_of([("a", longs([1]))])).stats;
    assert_eq!(stats["tightBounds"], json!(true));
    let plain = typed("a", "long")
        .build()
        .one(&file_of([("a", longs([1]))]))
        .stats;
    assert!(plain.get("tightBounds").is_none());
}

#[test]
fn every_type_has_its_form() {
    let table = typed("t", "short")
        .column("d", "date")
        .column("m", "decimal(25,3)")
        .column("f", "float")
        .column("s", "string")
        .build();
    let decimals = Decimal128Array::from(vec![-1, 12_345_678_901_234_567_890_i128]);
    let decimals = decimals.with_precision_and_scale(25, 3).unwrap();
    let long = format!("{}!", "u".repeat(32));
    let bytes = file_of([
        ("t", Arc::new(Int16Array::from(vec![-5, 5])) as ArrayRef),
        ("d", Arc::new(Date32Array::from(vec![-719_162, 2_932_896]))),
        ("m", Arc::new(decimals)),
        ("f", Arc::new(Float32Array::from(vec![0.1, 0.2]))),
        ("s", texts(["", long.as_str()])),
    ]);
    let taken = table.one(&bytes);
    assert!(taken.is_as_staged());
    assert!(
        taken.file.stats.contains(r#""m":-0.001"#),
        "{}",
        taken.file.stats
    );
    assert!(
        taken.file.stats.contains(r#""m":12345678901234567.890"#),
        "{}",
        taken.file.stats
    );
    let (least, greatest) = (&taken.stats["minValues"], &taken.stats["maxValues"]);
    assert_eq!((&least["t"], &greatest["t"]), (&json!(-5), &json!(5)));
    assert_eq!(
        (&least["d"], &greatest["d"]),
        (&json!("0001-01-01"), &json!("9999-12-31"))
    );
    assert_eq!(greatest["f"], json!(f64::from(0.2_f32)));
    let cut = format!("{}\u{10FFFF}", "u".repeat(32));
    assert_eq!((&least["s"], &greatest["s"]), (&json!(""), &json!(cut)));
}

#[test]
fn years_that_texts_do_not_have_have_no_bounds() {
    let table = typed("d", "date").build();
    let days: ArrayRef = Arc::new(Date32Array::from(vec![0, 3_000_000]));
    let stats = table.one(&file_of([("d", days)])).stats;
    assert_eq!(stats["minValues"], json!({"d": "1970-01-01"}));
    assert_eq!(stats["maxValues"], json!({}));
}

#[test]
fn row_groups_without_values_do_not_hinder() {
    // Row groups have three rows.
    let table = typed("a", "long").build();
    let values = [None, None, None, Some(4), None, Some(2), None];
    let stats = table.one(&file_of([("a", longs(values))])).stats;
    assert_eq!(
        (&stats["minValues"]["a"], &stats["maxValues"]["a"]),
        (&json!(2), &json!(4))
    );
    assert_eq!(stats["nullCount"]["a"], json!(5));
}

#[test]
fn files_encoded_anew_have_orders_that_all_readers_know() {
    let table = typed("a", "long").column("x", "double").build();
    let floats = |values: Vec<f64>| -> ArrayRef { Arc::new(Float64Array::from(values)) };
    let bytes = file_of([("a", ints([1, 2])), ("x", floats(vec![2.0, f64::NAN]))]);
    let taken = table.one(&bytes);
    let metadata = ParquetMetaDataReader::new()
        .parse_and_finish(&bytes::Bytes::from(taken.bytes.clone()))
        .unwrap();
    for leaf in 0..2 {
        let order = metadata.file_metadata().column_order(leaf);
        assert!(
            matches!(order, ColumnOrder::TYPE_DEFINED_ORDER(_)),
            "{order:?}"
        );
    }
    assert_eq!(taken.stats["minValues"], json!({"a": 1, "x": 2.0}));
    assert_eq!(taken.stats["maxValues"], json!({"a": 2}));
    let bytes = file_of([("a", ints([1, 2])), ("x", floats(vec![2.0, 3.0]))]);
    assert_eq!(
        table.one(&bytes).stats["maxValues"],
        json!({"a": 2, "x": 3.0})
    );
}

#[test]
fn columns_that_cluster_the_table_have_statistics_in_any_case() {
    let table = typed("a", "long")
        .column("b", "long")
        .column(
            "s",
            r#"{"type":"struct","fields":[{"name":"x","type":"string","nullable":true,"metadata":{}}]}"#,
        )
        .property("delta.dataSkippingNumIndexedCols", "1")
        .features(&["clustering", "domainMetadata"])
        .clustered_by(&["b"])
        .clustered_by(&["s", "x"])
        .build();
    let text = Field::new("x", DataType::Utf8, true);
    let inner = StructArray::from(vec![(Arc::new(text), texts(["p", "q"]))]);
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("a", longs([1, 2])),
        ("b", longs([Some(7), None])),
        ("s", Arc::new(inner)),
    ];
    let expected = json!({
        "numRecords": 2,
        "minValues": {"a": 1, "b": 7, "s": {"x": "p"}},
        "maxValues": {"a": 2, "b": 7, "s": {"x": "q"}},
        "nullCount": {"a": 0, "b": 1, "s": {"x": 0}},
    });
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let kept = table.one(&file_with(&batch, WriterProperties::builder().build()));
    assert!(kept.is_as_staged());
    assert_eq!(kept.stats, expected);

    let none = WriterProperties::builder().set_statistics_enabled(EnabledStatistics::None);
    let silent = table.one(&file_with(&batch, none.build()));
    assert!(!silent.is_as_staged(), "its footer tells nothing");
    assert_eq!(silent.stats, expected);

    // A file without the columns has nothing but nulls in them.
    let lacking = table.one(&file_of([("a", longs([1]))]));
    assert!(lacking.is_as_staged());
    assert_eq!(
        lacking.stats["nullCount"],
        json!({"a": 0, "b": 1, "s": {"x": 1}})
    );
}
