//! Metadata by which readers see other columns.

use std::collections::HashMap;

use arrow::array::{
    Date32Array, DictionaryArray, DurationMicrosecondArray, LargeStringArray, RecordBatch,
    StringViewArray,
};
use arrow::datatypes::{DataType, Field, Schema};

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
