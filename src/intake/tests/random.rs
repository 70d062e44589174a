//! Random rows: what is taken in is what was staged, and statistics bound it.

use std::collections::HashMap;
use std::sync::Arc;

use ::parquet::file::properties::WriterProperties;
use arrow::array::{
    Array, ArrayRef, AsArray, Float64Array, Int32Array, RecordBatch, StringArray,
    TimestampNanosecondArray,
};
use arrow::compute::concat;
use arrow::datatypes::{DataType, Field, Float64Type, Int64Type, Schema, TimestampMicrosecondType};
use proptest::prelude::*;
use serde_json::value::RawValue;

use super::support::{Taken, file_with, typed};

#[derive(Debug, Clone)]
struct Row {
    number: Option<i32>,
    float: Option<f64>,
    text: Option<String>,
    /// Microseconds.
    time: Option<i64>,
    partition: Option<u8>,
}

fn row() -> impl Strategy<Value = Row> {
    let float = prop_oneof![
        4 => any::<f64>(),
        1 => Just(f64::NAN),
        1 => Just(-0.0),
        1 => Just(f64::INFINITY),
        2 => (-100..100_i32).prop_map(f64::from),
    ];
    let text = prop_oneof!["[a-c]{0,3}", "[x\u{10FFFF}é]{28,80}", any::<String>(),];
    let time = -62_000_000_000_000_000_i64..9_000_000_000_000_000;
    (
        proptest::option::weighted(0.9, any::<i32>()),
        proptest::option::weighted(0.9, float),
        proptest::option::weighted(0.9, text),
        // Nanoseconds of 64 bits hold fewer years.
        proptest::option::weighted(
            0.9,
            time.prop_map(|time| time.clamp(-9_000_000_000_000_000, i64::MAX)),
        ),
        proptest::option::weighted(0.8, 0..4_u8),
    )
        .prop_map(|(number, float, text, time, partition)| Row {
            number,
            float,
            text,
            time,
            partition,
        })
}

fn staged(rows: &[Row], group_rows: usize, order: bool) -> Vec<u8> {
    let numbers: Int32Array = rows.iter().map(|row| row.number).collect();
    let floats: Float64Array = rows.iter().map(|row| row.float).collect();
    let texts: StringArray = rows.iter().map(|row| row.text.as_deref()).collect();
    let times: TimestampNanosecondArray = rows
        .iter()
        .map(|row| row.time.map(|micros| micros * 1_000))
        .collect();
    let parts: Int32Array = rows
        .iter()
        .map(|row| row.partition.map(i32::from))
        .collect();
    let mut columns: Vec<(&str, ArrayRef)> = vec![
        ("N", Arc::new(numbers)),
        ("f", Arc::new(floats)),
        ("t", Arc::new(texts)),
        ("z", Arc::new(times.with_timezone("UTC"))),
        ("p", Arc::new(parts)),
    ];
    if order {
        columns.reverse();
    }
    let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) = columns
        .into_iter()
        .map(|(name, array)| (Field::new(name, array.data_type().clone(), true), array))
        .unzip();
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).unwrap();
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(group_rows))
        .build();
    file_with(&batch, properties)
}

/// The rows of all files, as comparable texts, sorted.
fn presented(taken: &[Taken]) -> Vec<String> {
    let mut rows = Vec::new();
    for taken in taken {
        let columns = ["n", "f", "t", "z"].map(|name| taken.column(name));
        for row in 0..taken.rows().num_rows() {
            let [n, f, t, z] = &columns;
            let number = n
                .is_valid(row)
                .then(|| n.as_primitive::<Int64Type>().value(row));
            let float = f
                .is_valid(row)
                .then(|| f.as_primitive::<Float64Type>().value(row).to_bits());
            let text = t
                .is_valid(row)
                .then(|| t.as_string::<i32>().value(row).to_owned());
            let time = z
                .is_valid(row)
                .then(|| z.as_primitive::<TimestampMicrosecondType>().value(row));
            let partition = taken.partition("p").map(|text| text.parse::<u8>().unwrap());
            rows.push(format!(
                "{number:?} {float:?} {text:?} {time:?} {partition:?}"
            ));
        }
    }
    rows.sort();
    rows
}

fn given(rows: &[Row]) -> Vec<String> {
    let mut texts: Vec<String> = rows
        .iter()
        .map(|row| {
            let number = row.number.map(i64::from);
            let float = row.float.map(f64::to_bits);
            format!(
                "{number:?} {float:?} {:?} {:?} {:?}",
                row.text, row.time, row.partition
            )
        })
        .collect();
    texts.sort();
    texts
}

/// Checks that the statistics of a file hold for its rows, as Spark orders them.
fn check_statistics(taken: &Taken) {
    let stats = &taken.stats;
    let rows = taken.rows().num_rows();
    assert_eq!(stats["numRecords"], rows);
    let bound = |side: &str, name: &str| bound(taken, side, name);
    for name in ["n", "f", "t", "z"] {
        let column = taken.column(name);
        assert_eq!(stats["nullCount"][name], column.null_count());
        for row in (0..rows).filter(|row| column.is_valid(*row)) {
            for (side, is_least) in [("minValues", true), ("maxValues", false)] {
                let Some(bound) = bound(side, name) else {
                    continue;
                };
                let holds = holds(&column, row, &bound, is_least);
                assert!(holds, "{name} row {row}: {side} {bound}");
            }
        }
    }
    if taken.column("n").null_count() < rows {
        assert!(bound("minValues", "n").is_some() && bound("maxValues", "n").is_some());
    }
}

/// A bound as JSON. Numbers are not parsed by serde_json, whose floats may be off by a bit.
fn bound(taken: &Taken, side: &str, name: &str) -> Option<String> {
    type Raw<'a> = HashMap<&'a str, &'a RawValue>;
    let stats: Raw<'_> = serde_json::from_str(&taken.file.stats).unwrap();
    let bounds: Raw<'_> = serde_json::from_str(stats[side].get()).unwrap();
    Some(bounds.get(name)?.get().to_owned())
}

fn holds(column: &ArrayRef, row: usize, bound: &str, is_least: bool) -> bool {
    let ordered = |ordering: std::cmp::Ordering| match is_least {
        true => ordering.is_ge(),
        false => ordering.is_le(),
    };
    match column.data_type() {
        DataType::Int64 => ordered(
            column
                .as_primitive::<Int64Type>()
                .value(row)
                .cmp(&bound.parse().unwrap()),
        ),
        // NaN is the greatest.
        DataType::Float64 => {
            let value = column.as_primitive::<Float64Type>().value(row);
            let value = if value.is_nan() { f64::NAN } else { value };
            ordered(value.total_cmp(&bound.parse().unwrap()))
        }
        DataType::Utf8 => ordered(
            column
                .as_string::<i32>()
                .value(row)
                .cmp(&serde_json::from_str::<String>(bound).unwrap()),
        ),
        DataType::Timestamp(..) => {
            let bound: jiff::Timestamp = bound.trim_matches('"').parse().unwrap();
            let value = column.as_primitive::<TimestampMicrosecondType>().value(row);
            ordered(value.cmp(&bound.as_microsecond()))
        }
        other => panic!("{other}"),
    }
}

proptest! {
    #![proptest_config(crate::base::random::cases(120))]

    #[test]
    fn rows_are_those_that_were_staged(
        rows in proptest::collection::vec(row(), 1..60),
        group_rows in 1..20_usize,
        order: bool,
    ) {
        let table = typed("p", "integer")
            .column("n", "long")
            .column("f", "double")
            .column("t", "string")
            .column("z", "timestamp")
            .partitioned_by(&["p"])
            .build();
        let taken = table.accept(&staged(&rows, group_rows, order)).unwrap();
        prop_assert_eq!(presented(&taken), given(&rows));
        taken.iter().for_each(check_statistics);
    }

    #[test]
    fn statistics_of_files_that_stay_hold_too(
        rows in proptest::collection::vec(row(), 1..60),
        group_rows in 1..20_usize,
    ) {
        let table = typed("n", "integer").column("f", "double").column("t", "string").build();
        let numbers: Int32Array = rows.iter().map(|row| row.number).collect();
        let floats: Float64Array = rows.iter().map(|row| row.float).collect();
        let texts: StringArray = rows.iter().map(|row| row.text.as_deref()).collect();
        let fields = [("n", DataType::Int32), ("f", DataType::Float64), ("t", DataType::Utf8)];
        let fields: Vec<Field> = fields.into_iter().map(|(n, t)| Field::new(n, t, true)).collect();
        let arrays: Vec<ArrayRef> = vec![Arc::new(numbers), Arc::new(floats), Arc::new(texts)];
        let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).unwrap();
        let properties = WriterProperties::builder().set_max_row_group_row_count(Some(group_rows));
        let taken = table.one(&file_with(&batch, properties.build()));
        prop_assert!(taken.is_as_staged());
        for name in ["f", "t"] {
            let column = taken.column(name);
            let column = concat(&[&column]).unwrap();
            for row in (0..column.len()).filter(|row| column.is_valid(*row)) {
                for (side, is_least) in [("minValues", true), ("maxValues", false)] {
                    if let Some(bound) = bound(&taken, side, name) {
                        prop_assert!(holds(&column, row, &bound, is_least), "{name} {row} {side}");
                    }
                }
            }
        }
    }
}
