//! Writing: which staged files are taken in, and what the log says of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryArray, Date32Array, Float64Array, Int32Array, Int64Array,
    RecordBatch, StringArray, TimestampMicrosecondArray, TimestampNanosecondArray,
};
use arrow::datatypes::{DataType, Field, Schema, TimestampMicrosecondType};
use deltafs::errno;
use deltafs::intake::new_table;
use parquet::data_type::{Int96, Int96Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use serde_json::json;

use crate::support::intake::{IntakeTable, file_of, file_of_batch, typed};

fn longs(values: impl IntoIterator<Item = impl Into<Option<i64>>>) -> ArrayRef {
    Arc::new(values.into_iter().map(Into::into).collect::<Int64Array>())
}

fn doubles(values: impl IntoIterator<Item = f64>) -> ArrayRef {
    Arc::new(Float64Array::from_iter_values(values))
}

fn texts(values: &[&str]) -> ArrayRef {
    Arc::new(StringArray::from(values.to_vec()))
}

fn errno_of(table: &IntakeTable, bytes: &[u8]) -> (i32, String) {
    match table.accept(bytes) {
        Ok(_) => panic!("the file was taken in"),
        Err(error) => (errno::of_intake(&error), error.to_string()),
    }
}

/// delta-rs#352, PR 1887; delta-rs#1880; trino PR 14068; delta#1239.
#[test]
fn f10_constraints_and_invariants_are_evaluated() {
    let table = typed("a", "long")
        .property("delta.constraints.c", "a > 0")
        .build();
    assert!(table.one(&file_of([("a", longs([1, 2]))])).is_as_staged());
    let (number, text) = errno_of(&table, &file_of([("a", longs([1, 2, 3, -1]))]));
    assert_eq!(number, libc::EINVAL);
    for part in [
        "in.parquet",
        "row 3",
        "CHECK constraint c",
        "a > 0",
        "a = -1",
    ] {
        assert!(text.contains(part), "{text}");
    }
    // Null is not true.
    let (_, text) = errno_of(&table, &file_of([("a", longs([None]))]));
    assert!(text.contains("a = null"), "{text}");

    let invariant = r#"{"delta.invariants":"{\"expression\":{\"expression\":\"x > 3\"}}"}"#;
    let table = typed("y", "long")
        .field("x", "long", true, invariant)
        .build();
    let (_, text) = errno_of(
        &table,
        &file_of([("x", longs([4, 3])), ("y", longs([1, 1]))]),
    );
    assert!(text.contains("invariant of column x"), "{text}");

    // What cannot be evaluated is refused by name.
    let table = typed("a", "long")
        .property("delta.constraints.odd", "my_udf(a) > 0")
        .build();
    let (number, text) = errno_of(&table, &file_of([("a", longs([1]))]));
    assert_eq!(number, libc::EOPNOTSUPP);
    assert!(
        text.contains("CHECK constraint odd") && text.contains("my_udf"),
        "{text}"
    );
}

/// delta-rs#4549; delta PR 5984.
#[test]
fn f11_a_catalog_managed_table_is_not_written() {
    let refused = typed("a", "long").features(&["catalogManaged"]).try_build();
    let Err(error) = refused else {
        panic!("the table is writable");
    };
    assert_eq!(errno::of_protocol(&error), libc::EOPNOTSUPP);
    assert!(error.to_string().contains("catalogManaged"), "{error}");
}

/// glaredb#1605; clickhouse-java#1161; delta-rs#1648.
#[test]
fn f14_nanoseconds_become_microseconds_without_loss_or_are_refused() {
    let table = typed("t", "timestamp")
        .column("n", "timestamp_ntz")
        .features(&["timestampNtz"])
        .build();
    let nanos = |values: Vec<i64>| TimestampNanosecondArray::from(values);
    let file = |first: Vec<i64>, second: Vec<i64>| {
        let instants: ArrayRef = Arc::new(nanos(first).with_timezone("UTC"));
        let clocks: ArrayRef = Arc::new(nanos(second));
        file_of([("t", instants), ("n", clocks)])
    };
    let taken = table.one(&file(vec![1_000, -1_000], vec![5_000_000, 0]));
    let values = taken.column("t");
    let micros = values.as_primitive::<TimestampMicrosecondType>();
    assert_eq!(micros.values().to_vec(), [1, -1]);
    assert_eq!(micros.timezone(), Some("UTC"));
    let values = taken.column("n");
    let micros = values.as_primitive::<TimestampMicrosecondType>();
    assert_eq!(micros.values().to_vec(), [5_000, 0]);
    assert_eq!(micros.timezone(), None);
    assert_eq!(
        taken.stats["minValues"]["t"],
        json!("1969-12-31T23:59:59.999Z")
    );
    assert_eq!(
        taken.stats["maxValues"]["t"],
        json!("1970-01-01T00:00:00.001Z")
    );
    assert_eq!(
        taken.stats["maxValues"]["n"],
        json!("1970-01-01T00:00:00.005")
    );

    let (number, text) = errno_of(&table, &file(vec![1_000, 2_000, 3_000, 4_001], vec![0; 4]));
    assert_eq!(number, libc::EINVAL);
    for part in ["column t", "row 3", "1970-01-01T00:00:00.000004001"] {
        assert!(text.contains(part), "{text}");
    }

    // pandas makes naive times by default: no instants.
    let clocks: ArrayRef = Arc::new(nanos(vec![0]));
    let (_, text) = errno_of(&table, &file_of([("t", clocks)]));
    assert!(
        text.contains("column t") && text.contains("tz_localize"),
        "{text}"
    );
}

/// kernel-rs#279, #921; polars PR 23398; arrow-rs#4075.
#[test]
fn f15_int96_is_taken_for_microseconds_of_any_year() {
    // 9999-12-31T23:59:59.999999Z, 0001-01-01T00:00:00Z, the epoch: days and nanoseconds.
    let table = typed("t", "timestamp").build();
    let bytes = int96_file(&[(2_932_896, 86_399_999_999_000), (-719_162, 0), (0, 0)]);
    let taken = table.one(&bytes);
    let values = taken.column("t");
    let micros = values.as_primitive::<TimestampMicrosecondType>();
    assert_eq!(
        micros.values().to_vec(),
        [253_402_300_799_999_999, -62_135_596_800_000_000, 0]
    );
    assert_eq!(
        taken.stats["minValues"]["t"],
        json!("0001-01-01T00:00:00.000Z")
    );

    let (_, text) = errno_of(&table, &int96_file(&[(0, 0), (0, 1)]));
    assert!(text.contains("column t") && text.contains("1 ns"), "{text}");
}

fn int96_file(values: &[(i64, u64)]) -> Vec<u8> {
    let message = parse_message_type("message m { optional int96 t; }").unwrap();
    let mut bytes = Vec::new();
    let properties = Arc::new(WriterProperties::builder().build());
    let mut writer = SerializedFileWriter::new(&mut bytes, Arc::new(message), properties).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    let values: Vec<Int96> = values
        .iter()
        .map(|(day, nanos)| {
            let mut value = Int96::new();
            let day = u32::try_from(day + 2_440_588).unwrap();
            value.set_data(*nanos as u32, (nanos >> 32) as u32, day);
            value
        })
        .collect();
    let levels = vec![1; values.len()];
    column
        .typed::<Int96Type>()
        .write_batch(&values, Some(&levels), None)
        .unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
    bytes
}

/// delta-rs#2419.
#[test]
fn f17_comments_do_not_matter() {
    let table = typed("b", "string")
        .field("a", "long", true, r#"{"comment":"a number"}"#)
        .build();
    let taken = table.one(&file_of([("a", longs([1])), ("b", texts(&["x"]))]));
    assert!(taken.is_as_staged(), "nor does the order of columns");
}

/// delta-rs#3316, #3744; floe PR 99; delta#796.
#[test]
fn f19_nullability_is_proven_by_counts_or_by_reading() {
    let table = typed("b", "long").not_null("a", "long").build();
    assert!(table.one(&file_of([("a", longs([1, 2]))])).is_as_staged());
    let (number, text) = errno_of(
        &table,
        &file_of([("a", longs([Some(1), Some(2), Some(3), None]))]),
    );
    assert_eq!(number, libc::EINVAL);
    assert!(
        text.contains("column a") && text.contains("row 3"),
        "{text}"
    );

    // Without statistics the levels are read.
    let properties = || {
        WriterProperties::builder()
            .set_statistics_enabled(parquet::file::properties::EnabledStatistics::None)
            .build()
    };
    let batch = |values: ArrayRef| {
        let field = Field::new("a", DataType::Int64, true);
        RecordBatch::try_new(Arc::new(Schema::new(vec![field])), vec![values]).unwrap()
    };
    let without = crate::support::intake::file_with(&batch(longs([1, 2])), properties());
    let taken = table.one(&without);
    assert!(taken.is_as_staged());
    assert!(
        taken
            .stats
            .get("nullCount")
            .is_none_or(|counts| counts.get("a").is_none())
    );
    let without = crate::support::intake::file_with(&batch(longs([Some(1), None])), properties());
    let (_, text) = errno_of(&table, &without);
    assert!(
        text.contains("column a") && text.contains("row 1"),
        "{text}"
    );

    // A file that is stricter than the table.
    let field = Field::new("b", DataType::Int64, false);
    let other = Field::new("a", DataType::Int64, false);
    let schema = Arc::new(Schema::new(vec![field, other]));
    let strict = RecordBatch::try_new(schema, vec![longs([1]), longs([2])]).unwrap();
    assert!(table.one(&file_of_batch(&strict)).is_as_staged());

    // A column that must not be null and is not there.
    let (_, text) = errno_of(&table, &file_of([("b", longs([1]))]));
    assert!(text.contains("no column a"), "{text}");
}

/// delta-rs#1411; ray PR 54447.
#[test]
fn f20_infinity_and_nan_are_no_bounds() {
    let table = typed("x", "double").build();
    let stats = |values: &[f64]| {
        let taken = table.one(&file_of([("x", doubles(values.iter().copied()))]));
        assert!(taken.is_as_staged());
        taken.stats
    };
    let infinite = stats(&[1.0, f64::INFINITY]);
    assert_eq!(infinite["minValues"]["x"], json!(1.0));
    assert!(infinite["maxValues"].get("x").is_none());
    let nothing = stats(&[f64::NAN]);
    assert!(nothing["minValues"].get("x").is_none() && nothing["maxValues"].get("x").is_none());
    // NaN is the greatest to Spark.
    let some = stats(&[1.0, f64::NAN, 2.0]);
    assert_eq!(some["minValues"]["x"], json!(1.0));
    assert!(some["maxValues"].get("x").is_none());
    let finite = stats(&[1.0, 0.0, 2.5]);
    assert_eq!(finite["maxValues"]["x"], json!(2.5));
    assert_eq!(finite["minValues"]["x"], json!(-0.0));
}

/// delta-rs#1805.
#[test]
fn f23_binary_columns_have_no_bounds() {
    let table = typed("b", "binary").column("l", "boolean").build();
    let large = vec![7_u8; 1024 * 1024];
    let values: ArrayRef = Arc::new(BinaryArray::from(vec![large.as_slice()]));
    let flags: ArrayRef = Arc::new(arrow::array::BooleanArray::from(vec![true]));
    let taken = table.one(&file_of([("b", values), ("l", flags)]));
    assert_eq!(
        taken.stats,
        json!({"numRecords": 1, "minValues": {}, "maxValues": {}, "nullCount": {"b": 0, "l": 0}})
    );
    assert!(taken.file.stats.len() < 200);
}

/// trino#13389.
#[test]
fn f24_null_is_counted_and_is_no_bound() {
    let table = typed("a", "long").build();
    let taken = table.one(&file_of([("a", longs([Some(1), None]))]));
    assert_eq!(
        taken.stats,
        json!({"numRecords": 2, "minValues": {"a": 1}, "maxValues": {"a": 1}, "nullCount": {"a": 1}})
    );
    let nothing = table.one(&file_of([("a", longs([None, None]))]));
    assert_eq!(
        nothing.stats,
        json!({"numRecords": 2, "minValues": {}, "maxValues": {}, "nullCount": {"a": 2}})
    );
}

/// duckdb-delta#96; delta PR 6547.
#[test]
fn f25_statistics_leave_partition_columns_out() {
    let table = typed("p", "integer")
        .column("a", "long")
        .partitioned_by(&["p"])
        .build();
    let parts: ArrayRef = Arc::new(Int32Array::from(vec![7, 7]));
    let bytes = file_of([("p", parts), ("a", longs([1, 2]))]);
    for directories in [&[][..], &[("p", Some("7"))]] {
        let taken = table.accept_in(directories, &bytes).unwrap();
        assert_eq!(taken.len(), 1);
        assert_eq!(
            taken[0].stats,
            json!({"numRecords": 2, "minValues": {"a": 1}, "maxValues": {"a": 2}, "nullCount": {"a": 0}})
        );
        assert_eq!(taken[0].partition("p"), Some("7"));
        assert_eq!(taken[0].names(), ["a"], "it lies in the log alone");
    }
}

/// delta#91.
#[test]
fn f27_what_is_no_whole_parquet_file_is_refused() {
    let table = typed("a", "long").build();
    let whole = file_of([("a", longs(0..1000))]);
    let cut = &whole[..whole.len() - 100];
    let mut other_magic = whole.clone();
    let end = other_magic.len();
    other_magic[end - 4..].copy_from_slice(b"ORC1");
    let mut encrypted = whole.clone();
    encrypted[end - 4..].copy_from_slice(b"PARE");
    let mut damaged = whole.clone();
    damaged[4..200].fill(0xAB);
    for bytes in [cut, b"", b"a,b\n1,2\n", b"PAR1", &other_magic, &encrypted] {
        let (number, text) = errno_of(&table, bytes);
        assert_eq!(number, libc::EINVAL, "{text}");
        assert!(text.contains("in.parquet"), "{text}");
    }
    // Pages are looked at where values are needed.
    let strict = typed("a", "long")
        .property("delta.constraints.c", "a >= 0")
        .build();
    assert!(strict.accept(&whole).is_ok());
    let (number, text) = errno_of(&strict, &damaged);
    assert_eq!(number, libc::EINVAL, "{text}");
    assert!(text.contains("damaged"), "{text}");
}

/// delta-rs#2882.
#[test]
fn f32_a_table_with_times_without_zone_lists_all_its_features() {
    let schema = typed("t", "timestamp_ntz")
        .features(&["timestampNtz"])
        .build()
        .shape
        .schema;
    let (protocol, metadata) = new_table(schema, &[], &BTreeMap::new()).unwrap();
    assert_eq!(
        (protocol.min_reader_version, protocol.min_writer_version),
        (3, 7)
    );
    let features = |names: &Option<Vec<String>>| names.clone().unwrap().join(" ");
    assert_eq!(features(&protocol.reader_features), "timestampNtz");
    assert_eq!(
        features(&protocol.writer_features),
        "appendOnly invariants timestampNtz"
    );
    assert!(metadata.schema_string.contains("\"timestamp_ntz\""));
    let plain = typed("t", "timestamp").build().shape.schema;
    let (protocol, _) = new_table(plain, &[], &BTreeMap::new()).unwrap();
    assert_eq!(
        (protocol.min_reader_version, protocol.min_writer_version),
        (1, 2)
    );
    assert_eq!(
        (protocol.reader_features, protocol.writer_features),
        (None, None)
    );
}

/// delta-rs PR 4357.
#[test]
fn f34_partition_values_come_from_directories_or_columns_or_the_file_is_refused() {
    let table = typed("p", "string")
        .column("d", "date")
        .column("a", "long")
        .partitioned_by(&["p", "d"])
        .build();
    let rows = file_of([("a", longs([1, 2]))]);
    let (number, text) = errno_of(&table, &rows);
    assert_eq!(number, libc::EINVAL);
    assert!(
        text.contains("column p") && text.contains("p=..."),
        "{text}"
    );

    let directories = [("d", Some("2024-02-29")), ("p", None)];
    let taken = table.accept_in(&directories, &rows).unwrap();
    assert!(taken[0].is_as_staged());
    assert_eq!(taken[0].partition("d"), Some("2024-02-29"));
    assert_eq!(taken[0].partition("p"), None);

    for (directories, part) in [
        (
            &[("p", Some("x")), ("d", Some("2024-02-30"))][..],
            "2024-02-30",
        ),
        (&[("p", Some("x")), ("q", Some("1"))], "q=..."),
        (&[("p", Some("x")), ("P", Some("y"))], "two directories"),
    ] {
        let Err(error) = table.accept_in(directories, &rows) else {
            panic!("{directories:?}");
        };
        assert!(error.to_string().contains(part), "{error}");
    }

    // Several values in one file become several files.
    let days: ArrayRef = Arc::new(Date32Array::from(vec![Some(0), Some(1), Some(0), None]));
    let mixed = file_of([
        ("a", longs([1, 2, 3, 4])),
        ("d", days),
        ("p", texts(&["x", "x", "x", "y/z"])),
    ]);
    let taken = table.accept(&mixed).unwrap();
    let found: Vec<(Option<&str>, Option<&str>, Vec<i64>)> = taken
        .iter()
        .map(|taken| {
            assert_eq!(taken.names(), ["a"]);
            let values = taken.column("a");
            let values = values.as_any().downcast_ref::<Int64Array>().unwrap();
            (
                taken.partition("p"),
                taken.partition("d"),
                values.values().to_vec(),
            )
        })
        .collect();
    assert_eq!(
        found,
        [
            (Some("x"), Some("1970-01-01"), vec![1, 3]),
            (Some("x"), Some("1970-01-02"), vec![2]),
            (Some("y/z"), None, vec![4]),
        ]
    );

    // Directory and column have to agree.
    let agreeing = [("p", Some("x"))];
    let days: ArrayRef = Arc::new(Date32Array::from(vec![0, 1]));
    let both = file_of([("a", longs([1, 2])), ("d", days), ("p", texts(&["x", "w"]))]);
    let Err(error) = table.accept_in(&agreeing, &both) else {
        panic!("the second row is of another partition");
    };
    let text = error.to_string();
    assert!(text.contains("\"w\"") && text.contains("row 1"), "{text}");
}

/// Times beyond milliseconds still lie within the bounds.
#[test]
fn bounds_of_times_are_rounded_outwards() {
    let table = typed("t", "timestamp").build();
    let times = TimestampMicrosecondArray::from(vec![1_500, 2_500]).with_timezone("UTC");
    let times: ArrayRef = Arc::new(times);
    assert_eq!(times.len(), 2);
    let taken = table.one(&file_of([("t", times)]));
    assert!(taken.is_as_staged());
    assert_eq!(
        taken.stats["minValues"]["t"],
        json!("1970-01-01T00:00:00.001Z")
    );
    assert_eq!(
        taken.stats["maxValues"]["t"],
        json!("1970-01-01T00:00:00.003Z")
    );
}
