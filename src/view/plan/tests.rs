use std::fmt::Write;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, Date32Array, Float64Array, Int64Array, RecordBatch, TimestampMicrosecondArray,
};

use super::*;
use crate::parquet::testing::{empty_file, file_of, file_of_batch, footer_of};
use crate::parquet::{LeafSource, PhysicalType};
use crate::schema::PrimitiveType;

fn schema(fields: &str) -> StructType {
    StructType::parse(&format!(r#"{{"type":"struct","fields":[{fields}]}}"#)).unwrap()
}

/// A nullable column of a type in JSON.
fn column(name: &str, data_type: &str) -> String {
    format!(r#"{{"name":"{name}","type":{data_type},"nullable":true,"metadata":{{}}}}"#)
}

fn mapped(name: &str, data_type: &str, physical: &str, id: i32) -> String {
    format!(
        r#"{{"name":"{name}","type":{data_type},"nullable":true,"metadata":{{"delta.columnMapping.id":{id},"delta.columnMapping.physicalName":"{physical}"}}}}"#
    )
}

struct Table<'a> {
    fields: &'a [String],
    partition_columns: &'a [&'a str],
    values: &'a [Option<&'a str>],
    mapping: MappingMode,
    layout: Layout,
}

impl Table<'_> {
    fn of(&self, file: &str) -> Result<String, Mismatch> {
        let schema = schema(&self.fields.join(","));
        let partition_columns: Vec<String> = self
            .partition_columns
            .iter()
            .map(|column| (*column).to_owned())
            .collect();
        let shape = TableShape {
            schema: &schema,
            partition_columns: &partition_columns,
            mapping: self.mapping,
            layout: self.layout,
        };
        let columns = plan(&footer_of(empty_file(file, &[])), &shape, self.values)?;
        Ok(columns.iter().map(show).collect::<Vec<_>>().join("; "))
    }
}

fn table(fields: &[String]) -> Table<'_> {
    Table {
        fields,
        partition_columns: &[],
        values: &[],
        mapping: MappingMode::None,
        layout: Layout::Flat,
    }
}

/// `?` optional, `*` repeated, `!` required; then name, id, annotation, children or source.
fn show(node: &OutputNode) -> String {
    let mut text = match node.repetition {
        Repetition::Required => "!",
        Repetition::Optional => "?",
        Repetition::Repeated => "*",
    }
    .to_owned();
    text.push_str(&node.name);
    if let Some(id) = node.id {
        write!(text, "#{id}").unwrap();
    }
    if node.annotation != Annotation::None {
        write!(text, " {}", node.annotation).unwrap();
    }
    match &node.kind {
        OutputKind::Group(children) => {
            let children: Vec<String> = children.iter().map(show).collect();
            write!(text, "{{{}}}", children.join(", ")).unwrap();
        }
        OutputKind::Leaf { physical, source } => {
            write!(text, " {physical} = ").unwrap();
            match source {
                LeafSource::Original(leaf) => write!(text, "leaf {leaf}").unwrap(),
                LeafSource::Converted { leaf, conversion } => {
                    write!(text, "{conversion:?} of leaf {leaf}").unwrap();
                }
                LeafSource::Constant(value) => write!(text, "{value:?}").unwrap(),
                LeafSource::Null { definition } => write!(text, "null at {definition}").unwrap(),
                LeafSource::NullBeside {
                    beside,
                    definition,
                    repetition,
                } => write!(text, "null at {definition}, {repetition} beside {beside}").unwrap(),
            }
        }
    }
    text
}

/// How the column `c` of a type is presented from a file with that column.
fn one(file: &str, data_type: &str) -> Result<String, Mismatch> {
    table(&[column("c", data_type)]).of(file)
}

#[test]
fn columns_are_found_renamed_ordered_and_dropped() {
    let fields = [
        mapped("b", r#""string""#, "col-2", 2),
        mapped("a", r#""long""#, "col-1", 1),
    ];
    let mut table = table(&fields);
    let file = "optional int64 col-1; optional int32 gone; optional binary col-2 (STRING);";
    table.mapping = MappingMode::Name;
    assert_eq!(
        table.of(file).unwrap(),
        "?b#2 STRING BYTE_ARRAY = leaf 2; ?a#1 INT64 = leaf 0"
    );
}

#[test]
fn under_id_mapping_names_do_not_matter() {
    let fields = [
        mapped("a", r#""long""#, "col-1", 1),
        mapped("b", r#""long""#, "col-2", 2),
    ];
    let mut table = table(&fields);
    table.mapping = MappingMode::Id;
    assert_eq!(
        table
            .of("optional int64 x = 2; optional int64 a = 5; optional int64 col-1;")
            .unwrap(),
        "?a#1 INT64 = null at 0; ?b#2 INT64 = leaf 0"
    );
}

#[test]
fn b9_without_mapping_a_physical_name_means_nothing() {
    let fields = [mapped("a", r#""long""#, "col-1", 1)];
    assert_eq!(
        table(&fields)
            .of("optional int64 col-1; optional int64 a;")
            .unwrap(),
        "?a INT64 = leaf 1"
    );
}

#[test]
fn a_name_that_differs_in_case_alone_is_the_column_unless_another_is_exact() {
    assert_eq!(
        one("optional int64 C;", r#""long""#).unwrap(),
        "?c INT64 = leaf 0"
    );
    assert_eq!(
        one("optional int64 C; optional int64 c;", r#""long""#).unwrap(),
        "?c INT64 = leaf 1"
    );
    let two = table(&[column("Id", r#""long""#)]).of("optional int64 ID; optional int64 id;");
    assert!(two.unwrap_err().found.contains("several"));
}

#[test]
fn b11_a_missing_column_is_null_at_any_depth() {
    let nested = r#"{"type":"struct","fields":[{"name":"x","type":"long","nullable":true,"metadata":{}},{"name":"y","type":{"type":"map","keyType":"string","valueType":"long","valueContainsNull":true},"nullable":true,"metadata":{}}]}"#;
    assert_eq!(
        one("optional int64 other;", nested).unwrap(),
        "?c{?x INT64 = null at 0, ?y MAP{*key_value{!key STRING BYTE_ARRAY = null at 0, ?value \
         INT64 = null at 0}}}"
    );
    // There is nothing to count nulls by: the levels of the column beside it tell.
    let beside = one("optional group c { optional int64 x; }", nested).unwrap();
    assert!(
        beside.starts_with(
            "?c{?x INT64 = leaf 0, ?y MAP{*key_value{!key STRING BYTE_ARRAY = null at 1"
        ),
        "{beside}"
    );
    let required = one("required group c { optional int64 x; }", nested).unwrap();
    assert!(
        required.contains("!key STRING BYTE_ARRAY = null at 0"),
        "{required}"
    );
}

#[test]
fn a_missing_column_that_is_never_null_is_refused() {
    let field = r#"{"name":"c","type":"long","nullable":false,"metadata":{}}"#.to_owned();
    let error = table(&[field]).of("optional int64 other;").unwrap_err();
    assert_eq!(error.column, "c");
    assert_eq!(error.found, "no such column");
}

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
        ("1970-01-01 00:00:00.0000001", r#""timestamp""#),
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
fn b12_widened_types_are_relabelled_or_converted() {
    for (file, data_type, wanted) in [
        (
            "int32 c (INTEGER(8,true))",
            r#""short""#,
            "INT(16) INT32 = leaf 0",
        ),
        (
            "int32 c (INTEGER(16,true))",
            r#""integer""#,
            "INT32 = leaf 0",
        ),
        ("int32 c", r#""long""#, "INT64 = Int32ToInt64 of leaf 0"),
        ("int32 c", r#""double""#, "DOUBLE = Int32ToDouble of leaf 0"),
        ("float c", r#""double""#, "DOUBLE = FloatToDouble of leaf 0"),
        (
            "int32 c (DATE)",
            r#""timestamp_ntz""#,
            "TIMESTAMP(MICROS, local) INT64 = DaysToMicros of leaf 0",
        ),
        (
            "int32 c (DECIMAL(5,2))",
            r#""decimal(9,2)""#,
            "DECIMAL(9, 2) INT32 = leaf 0",
        ),
        (
            "int32 c (DECIMAL(5,2))",
            r#""decimal(10,2)""#,
            "DECIMAL(10, 2) INT64 = Decimal { shift: 0 } of leaf 0",
        ),
        (
            "int32 c (DECIMAL(5,2))",
            r#""decimal(8,5)""#,
            "DECIMAL(8, 5) INT32 = Decimal { shift: 3 } of leaf 0",
        ),
        (
            "int64 c",
            r#""decimal(22,2)""#,
            "DECIMAL(22, 2) FIXED_LEN_BYTE_ARRAY(10) = Decimal { shift: 2 } of leaf 0",
        ),
        (
            "int32 c",
            r#""decimal(10,0)""#,
            "DECIMAL(10, 0) INT64 = Decimal { shift: 0 } of leaf 0",
        ),
        (
            "int96 c",
            r#""timestamp""#,
            "TIMESTAMP(MICROS, UTC) INT64 = Int96ToMicros of leaf 0",
        ),
        (
            "int64 c (TIMESTAMP(NANOS,true))",
            r#""timestamp""#,
            "TIMESTAMP(MICROS, UTC) INT64 = NanosToMicros of leaf 0",
        ),
        (
            "int64 c (TIMESTAMP_MILLIS)",
            r#""timestamp""#,
            "TIMESTAMP(MICROS, UTC) INT64 = MillisToMicros of leaf 0",
        ),
        (
            "int32 c (INTEGER(16,false))",
            r#""integer""#,
            "INT32 = leaf 0",
        ),
        (
            "int32 c (INTEGER(32,false))",
            r#""long""#,
            "INT64 = Unsigned32ToInt64 of leaf 0",
        ),
        (
            "int32 c (INTEGER(32,false))",
            r#""decimal(10,0)""#,
            "DECIMAL(10, 0) INT64 = UnsignedToDecimal { shift: 0 } of leaf 0",
        ),
        (
            "int64 c (INTEGER(64,false))",
            r#""decimal(20,0)""#,
            "DECIMAL(20, 0) FIXED_LEN_BYTE_ARRAY(9) = UnsignedToDecimal { shift: 0 } of leaf 0",
        ),
        (
            "int96 c",
            r#""timestamp_ntz""#,
            "TIMESTAMP(MICROS, local) INT64 = Int96ToMicros of leaf 0",
        ),
        (
            "fixed_len_byte_array(4) c",
            r#""binary""#,
            "BYTE_ARRAY = FixedToByteArray of leaf 0",
        ),
        (
            "fixed_len_byte_array(16) c (UUID)",
            r#""binary""#,
            "BYTE_ARRAY = FixedToByteArray of leaf 0",
        ),
        ("binary c (JSON)", r#""binary""#, "BYTE_ARRAY = leaf 0"),
    ] {
        let shown = one(&format!("optional {file};"), data_type).unwrap();
        assert_eq!(
            shown.strip_prefix("?c ").unwrap(),
            wanted,
            "{file} as {data_type}"
        );
    }
}

#[test]
fn a_column_that_is_always_null_is_null_as_any_type() {
    let null = "optional int32 c (UNKNOWN);";
    assert_eq!(
        one(null, r#""string""#).unwrap(),
        "?c STRING BYTE_ARRAY = null at 0"
    );
    assert_eq!(
        one(null, LONGS).unwrap(),
        "?c LIST{*list{?element INT64 = null at 0}}"
    );
    // Where it lies in something that may itself be null, its own levels tell.
    assert_eq!(
        one(
            "optional group c (LIST) { repeated group list { optional int32 element (UNKNOWN); } }",
            LONGS
        )
        .unwrap(),
        "?c LIST{*list{?element INT64 = null at 2, 1 beside 0}}"
    );
    let nested =
        r#"{"type":"struct","fields":[{"name":"x","type":"date","nullable":true,"metadata":{}}]}"#;
    assert_eq!(
        one("optional group c { optional int32 x (UNKNOWN); }", nested).unwrap(),
        "?c{?x DATE INT32 = null at 1, 0 beside 0}"
    );
    let never = r#"{"name":"c","type":"long","nullable":false,"metadata":{}}"#.to_owned();
    let error = table(&[never]).of(null).unwrap_err();
    assert_eq!(error.column, "c");
    assert!(error.found.contains("always null"), "{error}");
}

#[test]
fn a_file_without_column_ids_is_none_of_a_table_that_is_mapped_by_them() {
    let fields = schema(&mapped("a", r#""long""#, "a", 1));
    let shape = TableShape {
        schema: &fields,
        partition_columns: &[],
        mapping: MappingMode::Id,
        layout: Layout::Flat,
    };
    let rows = footer_of(file_of(&[("a", Arc::new(Int64Array::from(vec![7])))], 1));
    let error = plan(&rows, &shape, &[]).unwrap_err();
    assert_eq!(error.found, "no column ids");
    plan(
        &footer_of(empty_file("optional int64 a;", &[])),
        &shape,
        &[],
    )
    .unwrap();
}

#[test]
fn dates_and_instants_of_the_calendar_before_spark_3_are_converted_unless_all_are_recent() {
    let fields =
        ["date", "timestamp", "timestamp_ntz"].map(|name| column(name, &format!("{name:?}")));
    let schema = schema(&fields.join(","));
    let shape = TableShape {
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
        let shape = TableShape {
            schema: &super::tests::schema(&fields[0]),
            ..shape
        };
        let shown = show(&plan(&footer_of(file), &shape, &[]).unwrap()[0]);
        assert!(
            shown.ends_with(&format!(" = {wanted} of leaf 0")),
            "{shown}"
        );
    }
}

#[test]
fn a_file_without_rows_is_shown_whatever_its_columns_are() {
    let fields = schema(&[column("a", r#""long""#), column("p", r#""date""#)].join(","));
    let mut shape = TableShape {
        schema: &fields,
        partition_columns: &["p".to_owned()],
        mapping: MappingMode::None,
        layout: Layout::Flat,
    };
    let shown = |bytes: Vec<u8>, shape: &TableShape<'_>| {
        let columns = plan_or_nothing(&footer_of(bytes), shape, &[Some("no date")])?;
        Ok::<_, Mismatch>(columns.iter().map(show).collect::<Vec<_>>().join("; "))
    };
    let empty = || empty_file("optional double a;", &[]);
    assert_eq!(
        shown(empty(), &shape).unwrap(),
        "?a INT64 = null at 0; ?p DATE INT32 = null at 0"
    );
    let rows = file_of(&[("a", Arc::new(Float64Array::from(vec![7.0])))], 1);
    assert_eq!(shown(rows, &shape).unwrap_err().column, "a");
    shape.layout = Layout::Hive;
    assert_eq!(shown(empty(), &shape).unwrap(), "?a INT64 = null at 0");
}

#[test]
fn what_may_lose_something_is_refused() {
    for (file, data_type) in [
        ("int64 c", r#""integer""#),
        ("int32 c (INTEGER(32,true))", r#""short""#),
        ("int32 c (INTEGER(32,false))", r#""integer""#),
        ("int64 c (INTEGER(64,false))", r#""long""#),
        ("double c", r#""float""#),
        ("int32 c (DECIMAL(9,2))", r#""decimal(8,2)""#),
        ("int32 c (DECIMAL(9,2))", r#""decimal(9,1)""#),
        ("int32 c (DECIMAL(9,2))", r#""decimal(9,3)""#),
        ("int64 c", r#""decimal(10,0)""#),
        ("binary c (STRING)", r#""long""#),
        ("int64 c (TIMESTAMP(MICROS,true))", r#""timestamp_ntz""#),
        ("fixed_len_byte_array(16) c (UUID)", r#""string""#),
        ("int32 c (INTEGER(32,false))", r#""decimal(9,0)""#),
        ("int64 c (INTEGER(64,false))", r#""decimal(19,0)""#),
        ("int32 c (INTEGER(32,false))", r#""double""#),
        ("group c { optional int64 x; }", r#""long""#),
    ] {
        let end = if file.ends_with('}') { "" } else { ";" };
        let refused = one(&format!("optional {file}{end}"), data_type);
        assert!(refused.is_err(), "{file} as {data_type}: {refused:?}");
    }
    // Without annotation, it may be a short that was written by others than Spark.
    let shown = one("optional int32 c;", r#""short""#).unwrap();
    assert_eq!(shown, "?c INT(16) INT32 = leaf 0");
}

#[test]
fn integers_of_a_size_that_there_is_not_are_refused() {
    for physical in [PhysicalType::Int32, PhysicalType::Int64] {
        for bits in [i8::MIN, -8, 0, 24, i8::MAX] {
            for signed in [true, false] {
                let annotation = Annotation::Integer { bits, signed };
                let made = leaf::convert(PrimitiveType::Long, physical, annotation, 0);
                assert!(made.is_none(), "{physical} {annotation}");
            }
        }
    }
}

const LONGS: &str = r#"{"type":"array","elementType":"long","containsNull":true}"#;
const STRUCTS: &str = r#"{"type":"array","elementType":{"type":"struct","fields":[{"name":"x","type":"long","nullable":true,"metadata":{}}]},"containsNull":true}"#;

#[test]
fn lists_of_every_form_are_shown_in_three_levels() {
    for (file, data_type, wanted) in [
        (
            "optional group c (LIST) { repeated group bag { optional int64 item; } }",
            LONGS,
            "?c LIST{*bag{?item INT64 = leaf 0}}",
        ),
        (
            "optional group c (LIST) { repeated int64 array; }",
            LONGS,
            "?c LIST{*list{!element INT64 = leaf 0}}",
        ),
        (
            "repeated int64 c;",
            LONGS,
            "!c LIST{*list{!element INT64 = leaf 0}}",
        ),
        (
            "optional group c (LIST) { repeated group array { optional int64 x; } }",
            STRUCTS,
            "?c LIST{*list{!element{?x INT64 = leaf 0}}}",
        ),
        (
            "optional group c (LIST) { repeated group c_tuple { optional int64 x; } }",
            STRUCTS,
            "?c LIST{*list{!element{?x INT64 = leaf 0}}}",
        ),
        (
            "optional group c (LIST) { repeated group list { optional group element { optional int64 \
             x; } } }",
            STRUCTS,
            "?c LIST{*list{?element{?x INT64 = leaf 0}}}",
        ),
        (
            "optional group c (LIST) { repeated group array { optional int64 item; } }",
            LONGS,
            "?c LIST{*list{?item INT64 = leaf 0}}",
        ),
        (
            "optional group c (LIST) { repeated group element { optional int64 x; optional int64 y; } }",
            STRUCTS,
            "?c LIST{*list{!element{?x INT64 = leaf 0}}}",
        ),
    ] {
        assert_eq!(one(file, data_type).unwrap(), wanted, "{file}");
    }
}

#[test]
fn a_field_missing_from_a_struct_in_a_list_follows_its_neighbour() {
    let element = r#"{"type":"array","elementType":{"type":"struct","fields":[{"name":"x","type":"long","nullable":true,"metadata":{}},{"name":"y","type":"date","nullable":true,"metadata":{}}]},"containsNull":true}"#;
    assert_eq!(
        one(
            "optional group c (LIST) { repeated group list { optional group element { optional \
             int64 x; } } }",
            element
        )
        .unwrap(),
        "?c LIST{*list{?element{?x INT64 = leaf 0, ?y DATE INT32 = null at 3, 1 beside 0}}}"
    );
}

#[test]
fn maps_keep_their_form_and_lose_old_annotations() {
    let map = r#"{"type":"map","keyType":"string","valueType":"integer","valueContainsNull":true}"#;
    assert_eq!(
        one(
            "optional group c (MAP) { repeated group map (MAP_KEY_VALUE) { required binary key \
             (UTF8); optional int32 value; } }",
            map
        )
        .unwrap(),
        "?c MAP{*map{!key STRING BYTE_ARRAY = leaf 0, ?value INT32 = leaf 1}}"
    );
    let optional_keys = one(
        "optional group c (MAP) { repeated group map { optional binary key (UTF8); optional int32 \
         value; } }",
        map,
    );
    assert!(optional_keys.unwrap_err().found.contains("null"));
}

#[test]
fn b17_void_columns_are_not_shown() {
    let fields = [column("v", r#""void""#), column("a", r#""long""#)];
    assert_eq!(
        table(&fields).of("optional int64 a;").unwrap(),
        "?a INT64 = leaf 0"
    );
    let only = table(&fields[..1]).of("optional int64 a;").unwrap_err();
    assert!(only.expected.contains("at least one column"), "{only}");
}

#[test]
fn variants_are_shown_as_they_are_and_shredded_ones_are_called_so() {
    let plain = "optional group c { required binary value; required binary metadata; }";
    assert_eq!(
        one(plain, r#""variant""#).unwrap(),
        "?c{!value BYTE_ARRAY = leaf 0, !metadata BYTE_ARRAY = leaf 1}"
    );
    let typed_alone = "optional group c { required binary metadata; optional int64 typed_value; }";
    assert_eq!(
        one(typed_alone, r#""variant""#).unwrap(),
        "?c VARIANT{!metadata BYTE_ARRAY = leaf 0, ?typed_value INT64 = leaf 1}"
    );
    let shredded = "optional group c { required binary metadata; optional binary value; optional \
                    int64 typed_value; }";
    assert_eq!(
        one(shredded, r#""variant""#).unwrap(),
        "?c VARIANT{!metadata BYTE_ARRAY = leaf 0, ?value BYTE_ARRAY = leaf 1, ?typed_value INT64 \
         = leaf 2}"
    );
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
