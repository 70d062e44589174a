//! Dates and instants of Spark's old calendar.

use arrow::array::{ArrayRef, Date32Array, RecordBatch, TimestampMicrosecondArray};

use super::*;
use crate::parquet::testing::file_of_batch;

#[test]
fn dates_and_instants_of_the_calendar_before_spark_3_are_converted_unless_all_are_recent() {
    let fields =
        ["date", "timestamp", "timestamp_ntz"].map(|name| column(name, &format!("{name:?}")));
    let schema = schema(&fields.join(","));
    let shape = PresentedSchema {
        schema: &schema,
        partition_columns: &[],
        mapping: MappingMode::None,
        layout: Layout::Flat,
    };
    let shown = |days: i32, entries: &[(&str, &str)]| {
        let micros = || TimestampMicrosecondArray::from(vec![i64::from(days) * 86_400_000_000]);
        let columns: [(&str, ArrayRef); 3] = [
            ("date", Arc::new(Date32Array::from(vec![days]))),
            ("timestamp", Arc::new(micros().with_timezone("UTC"))),
            ("timestamp_ntz", Arc::new(micros())),
        ];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let footer = footer_of(file_of_batch(&batch, 1, entries));
        let columns = plan(&footer, &shape, &[]).unwrap();
        let sources = columns.iter().map(|column| {
            let text = show(column);
            text.split(" = ").last().unwrap().to_owned()
        });
        sources.collect::<Vec<_>>().join(", ")
    };
    let version = "org.apache.spark.version";
    let marked = [(version, "3.5.0"), ("org.apache.spark.legacyDateTime", "")];
    for (days, entries, wanted) in [
        (
            -141_428,
            &marked[..],
            "OldDays of leaf 0, OldMicros of leaf 1, leaf 2",
        ),
        // Before 1900, and after 1582.
        (-30_000, &marked, "leaf 0, OldMicros of leaf 1, leaf 2"),
        (0, &marked, "leaf 0, leaf 1, leaf 2"),
        (-141_428, &marked[..1], "leaf 0, leaf 1, leaf 2"),
        (-141_428, &[], "leaf 0, leaf 1, leaf 2"),
        (
            -141_428,
            &[(version, "2.4.8")],
            "OldDays of leaf 0, OldMicros of leaf 1, leaf 2",
        ),
    ] {
        assert_eq!(shown(days, entries), wanted, "{days} {entries:?}");
    }
    // The zone of what is old has to be known.
    let plan_in = |zone: &str, days: i32| {
        let micros = TimestampMicrosecondArray::from(vec![i64::from(days) * 86_400_000_000]);
        let column: ArrayRef = Arc::new(micros.with_timezone("UTC"));
        let batch = RecordBatch::try_from_iter([("timestamp", column)]).unwrap();
        let entries = [marked[0], marked[1], ("org.apache.spark.timeZone", zone)];
        plan(&footer_of(file_of_batch(&batch, 1, &entries)), &shape, &[])
    };
    plan_in("Europe/Berlin", -141_428).unwrap();
    plan_in("Mars/Olympus", 0).unwrap();
    let error = plan_in("Mars/Olympus", -141_428).unwrap_err();
    assert_eq!(error.column, "timestamp");
    assert!(error.found.contains("\"Mars/Olympus\""), "{error}");
    for (data_type, wanted) in [
        (r#""timestamp""#, "OldInt96ToMicros"),
        (r#""timestamp_ntz""#, "Int96ToMicros"),
    ] {
        let fields = [column("c", data_type)];
        let file = empty_file("optional int96 c;", &[(version, "3.0.1")]);
        let shape = PresentedSchema {
            schema: &super::schema(&fields[0]),
            ..shape
        };
        let shown = show(&plan(&footer_of(file), &shape, &[]).unwrap()[0]);
        assert!(
            shown.ends_with(&format!(" = {wanted} of leaf 0")),
            "{shown}"
        );
    }
}
