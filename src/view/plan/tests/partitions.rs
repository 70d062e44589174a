//! Partition columns.

use super::*;
use crate::schema::DataType;

#[test]
fn b13_partition_columns_hold_what_the_log_says_whatever_the_file_holds() {
    let fields = [column("p", r#""integer""#), column("a", r#""long""#)];
    let mut table = table(&fields);
    table.partition_columns = &["p"];
    table.values = &[Some("7")];
    for file in ["optional int64 a;", "optional int32 p; optional int64 a;"] {
        let shown = table.of(file).unwrap();
        assert!(
            shown.starts_with(r#"?p INT32 = b"\x07\0\0\0"; ?a INT64"#),
            "{shown}"
        );
    }
    table.layout = Layout::Hive;
    assert_eq!(
        table.of("optional int32 p; optional int64 a;").unwrap(),
        "?a INT64 = leaf 1"
    );
}

#[test]
fn partition_values_of_each_type() {
    let hex = |bytes: Vec<u8>| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
    let encode = |text: &str, data_type: &str| {
        let schema = schema(&column("p", data_type));
        let DataType::Primitive(primitive) = schema.fields[0].data_type else {
            panic!("{data_type}");
        };
        let (_, physical) = leaf::storage(primitive).unwrap();
        partition::encode(text, primitive, physical).map(hex)
    };
    for (text, data_type, wanted) in [
        ("é", r#""string""#, "c3a9"),
        ("\u{1}\u{2}", r#""binary""#, "0102"),
        ("true", r#""boolean""#, "01"),
        ("-1", r#""byte""#, "ffffffff"),
        ("-32768", r#""short""#, "0080ffff"),
        ("1.5", r#""float""#, "0000c03f"),
        ("1.0E10", r#""double""#, "000000205fa00242"),
        ("-Infinity", r#""double""#, "000000000000f0ff"),
        ("1970-01-02", r#""date""#, "01000000"),
        ("1969-12-31", r#""date""#, "ffffffff"),
        ("1970-01-01 00:00:00", r#""timestamp""#, "0000000000000000"),
        (
            "1970-01-01 00:00:00.000001",
            r#""timestamp""#,
            "0100000000000000",
        ),
        (
            "1970-01-01T00:00:01.000000Z",
            r#""timestamp""#,
            "40420f0000000000",
        ),
        (
            "1970-01-01 00:00:01",
            r#""timestamp_ntz""#,
            "40420f0000000000",
        ),
        (
            "9999-12-31 23:59:59.999999",
            r#""timestamp""#,
            "ff5f73cc0c448403",
        ),
        (
            "9999-12-31T23:59:59.999999Z",
            r#""timestamp""#,
            "ff5f73cc0c448403",
        ),
        (
            "1970-01-01T02:00:00+02:00",
            r#""timestamp""#,
            "0000000000000000",
        ),
        (
            "0001-01-01 00:00:00",
            r#""timestamp_ntz""#,
            "0040d400014023ff",
        ),
        ("1.20", r#""decimal(5,2)""#, "78000000"),
        ("1.2", r#""decimal(5,2)""#, "78000000"),
        ("1.2000", r#""decimal(5,2)""#, "78000000"),
        ("-0.01", r#""decimal(12,2)""#, "ffffffffffffffff"),
        ("-1", r#""decimal(20,0)""#, "ffffffffffffffffff"),
        // As Java prints them.
        (
            "0E-18",
            r#""decimal(38,18)""#,
            "00000000000000000000000000000000",
        ),
        ("1E-2", r#""decimal(5,2)""#, "01000000"),
        ("-1.2E+2", r#""decimal(5,2)""#, "20d1ffff"),
        // Years beyond four digits, and before the first.
        ("1970-1-2", r#""date""#, "01000000"),
        ("+10000-01-01", r#""date""#, "a1c02c00"),
        ("-0044-03-15", r#""date""#, "dbc6f4ff"),
        ("0000-02-29", r#""date""#, "9305f5ff"),
        (
            "+10000-01-01 00:00:00",
            r#""timestamp""#,
            "006073cc0c448403",
        ),
        (
            "-0001-12-31 00:00:00",
            r#""timestamp_ntz""#,
            "00a011392a2323ff",
        ),
        (
            "1970-01-01 00:00:01 UTC",
            r#""timestamp""#,
            "40420f0000000000",
        ),
        // As Spark reads what other writers left.
        ("F", r#""boolean""#, "00"),
        ("yes", r#""boolean""#, "01"),
        ("1970-01-02 12:00:00", r#""date""#, "01000000"),
        ("1970-01-02T00:00:00.000Z", r#""date""#, "01000000"),
        (
            "1970-01-01 00:00:00.000001999",
            r#""timestamp""#,
            "0100000000000000",
        ),
        (
            "1970-01-01T00:00:00.000001999+00:00",
            r#""timestamp""#,
            "0100000000000000",
        ),
        (
            "1970-01-01 00:00:00.000001999",
            r#""timestamp_ntz""#,
            "0100000000000000",
        ),
    ] {
        assert_eq!(
            encode(text, data_type).as_deref(),
            Some(wanted),
            "{text} as {data_type}"
        );
    }
    for (text, data_type) in [
        ("128", r#""byte""#),
        ("x", r#""integer""#),
        ("1970-02-30", r#""date""#),
        ("1970-01", r#""date""#),
        ("1970-001-01", r#""date""#),
        ("70-01-01", r#""date""#),
        ("1970-+1-01", r#""date""#),
        ("9999999-01-01", r#""date""#),
        ("1970-01-01 ", r#""timestamp""#),
        ("1970-01-01 00:00:00 1970-01-01", r#""timestamp""#),
        ("1970-01-01T1970-01-01T00:00:00", r#""timestamp_ntz""#),
        ("1970-01-01 00:00:00Z", r#""timestamp_ntz""#),
        ("+999999-01-01 00:00:00", r#""timestamp""#),
        ("1E+3", r#""decimal(5,2)""#),
        ("1E-3", r#""decimal(5,2)""#),
        ("1E", r#""decimal(5,2)""#),
        ("1E99999999999", r#""decimal(5,2)""#),
        ("1000", r#""decimal(5,2)""#),
        ("1.234", r#""decimal(5,2)""#),
        (".", r#""decimal(5,2)""#),
        ("1969-12-31 23:59:60", r#""timestamp""#),
        ("1969-12-31T23:59:60Z", r#""timestamp""#),
        ("1969-12-31T23:59:60+00:00", r#""timestamp""#),
        ("1969-12-31 23:59:60", r#""timestamp_ntz""#),
        ("2", r#""boolean""#),
    ] {
        assert_eq!(encode(text, data_type), None, "{text} as {data_type}");
    }
}

#[test]
fn a12_null_and_empty_partition_values_are_null() {
    let fields = [column("p", r#""string""#), column("a", r#""long""#)];
    let mut table = table(&fields);
    table.partition_columns = &["p"];
    for values in [&[Some("")][..], &[None], &[]] {
        table.values = values;
        assert_eq!(
            table.of("optional int64 a;").unwrap(),
            "?p STRING BYTE_ARRAY = null at 0; ?a INT64 = leaf 0"
        );
    }
    table.values = &[Some("x")];
    let fields = [
        r#"{"name":"p","type":"date","nullable":false,"metadata":{}}"#.to_owned(),
        column("a", r#""long""#),
    ];
    let table = Table {
        fields: &fields,
        ..table
    };
    let error = table.of("optional int64 a;").unwrap_err();
    assert_eq!(error.column, "p");
    assert!(error.found.contains("\"x\""), "{error}");
}

#[test]
fn a_missing_constant_is_stored_as_the_type_says() {
    let fields = [
        r#"{"name":"p","type":"decimal(20,2)","nullable":false,"metadata":{}}"#.to_owned(),
        column("a", r#""long""#),
    ];
    let mut table = table(&fields);
    table.partition_columns = &["p"];
    table.values = &[Some("1.00")];
    let shown = table.of("optional int64 a;").unwrap();
    assert!(
        shown.starts_with(
            "!p DECIMAL(20, 2) FIXED_LEN_BYTE_ARRAY(9) = b\"\\0\\0\\0\\0\\0\\0\\0\\0d\""
        ),
        "{shown}"
    );
}
