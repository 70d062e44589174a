use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int8Array, Int16Array,
    Int32Array, Int64Array, StringArray, TimestampMicrosecondArray,
};

use super::*;
use crate::parquet::testing::{empty_file, file_of, footer_of};

fn schema(fields: &str) -> StructType {
    StructType::parse(&format!(r#"{{"type":"struct","fields":[{fields}]}}"#)).unwrap()
}

/// A column of a type in JSON.
fn column(name: &str, data_type: &str) -> String {
    format!(r#"{{"name":"{name}","type":{data_type},"nullable":true,"metadata":{{}}}}"#)
}

fn mapped(name: &str, physical: &str, id: i32) -> String {
    format!(
        r#"{{"name":"{name}","type":"long","nullable":true,"metadata":{{"delta.columnMapping.id":{id},"delta.columnMapping.physicalName":"{physical}"}}}}"#
    )
}

fn compare_with(
    file: &str,
    schema: &StructType,
    partition_columns: &[&str],
    mapping: MappingMode,
    layout: Layout,
) -> Result<(), Mismatch> {
    let partition_columns: Vec<String> = partition_columns
        .iter()
        .map(|column| (*column).to_owned())
        .collect();
    let shape = TableShape {
        schema,
        partition_columns: &partition_columns,
        mapping,
        layout,
    };
    compare(&footer_of(empty_file(file, &[])), &shape, &[])
}

fn flat(file: &str, fields: &str) -> Result<(), Mismatch> {
    compare_with(file, &schema(fields), &[], MappingMode::None, Layout::Flat)
}

/// Whether `file`, which declares the column `c`, is identity for a table of that type.
fn one(file: &str, data_type: &str) -> Result<(), Mismatch> {
    flat(file, &column("c", data_type))
}

/// How each type has to be stored.
const SAME: &[(&str, &str)] = &[
    (r#""boolean""#, "boolean c"),
    (r#""byte""#, "int32 c (INTEGER(8,true))"),
    (r#""byte""#, "int32 c (INT_8)"),
    (r#""short""#, "int32 c (INTEGER(16,true))"),
    (r#""integer""#, "int32 c"),
    (r#""integer""#, "int32 c (INTEGER(32,true))"),
    (r#""long""#, "int64 c"),
    (r#""long""#, "int64 c (INTEGER(64,true))"),
    (r#""float""#, "float c"),
    (r#""double""#, "double c"),
    (r#""string""#, "binary c (STRING)"),
    (r#""string""#, "binary c (UTF8)"),
    (r#""varchar(3)""#, "binary c (STRING)"),
    (r#""varchar(3)""#, "binary c (UTF8)"),
    (r#""binary""#, "binary c"),
    (r#""date""#, "int32 c (DATE)"),
    (r#""timestamp""#, "int64 c (TIMESTAMP(MICROS,true))"),
    (r#""timestamp_ntz""#, "int64 c (TIMESTAMP(MICROS,false))"),
    (r#""decimal(9,2)""#, "int32 c (DECIMAL(9,2))"),
    (r#""decimal(9,2)""#, "int64 c (DECIMAL(9,2))"),
    (r#""decimal(18,18)""#, "int64 c (DECIMAL(18,18))"),
    (
        r#""decimal(38,0)""#,
        "fixed_len_byte_array(16) c (DECIMAL(38,0))",
    ),
    (
        r#""decimal(10,2)""#,
        "fixed_len_byte_array(5) c (DECIMAL(10,2))",
    ),
    (r#""decimal(10,2)""#, "binary c (DECIMAL(10,2))"),
];

#[test]
fn each_type_is_identity_only_as_it_is_stored() {
    for (data_type, _) in SAME {
        for (other_type, stored) in SAME {
            for repetition in ["optional", "required"] {
                let file = format!("{repetition} {stored};");
                let same = SAME.contains(&(data_type, stored));
                let found = one(&file, data_type);
                assert_eq!(
                    found.is_ok(),
                    same,
                    "{data_type} ({other_type}) in {file}: {found:?}"
                );
            }
        }
    }
}

#[test]
fn other_ways_to_store_are_no_identity() {
    for (data_type, file) in [
        (r#""timestamp""#, "optional int96 c;"),
        (r#""timestamp_ntz""#, "optional int96 c;"),
        (
            r#""timestamp""#,
            "optional int64 c (TIMESTAMP(MILLIS,true));",
        ),
        (
            r#""timestamp""#,
            "optional int64 c (TIMESTAMP(NANOS,true));",
        ),
        (r#""timestamp""#, "optional int64 c (TIMESTAMP_MICROS);"),
        (r#""timestamp_ntz""#, "optional int64 c (TIMESTAMP_MICROS);"),
        (
            r#""timestamp_ntz""#,
            "optional int64 c (TIMESTAMP(MILLIS,false));",
        ),
        (r#""integer""#, "optional int32 c (INTEGER(32,false));"),
        (r#""long""#, "optional int64 c (INTEGER(64,false));"),
        (r#""long""#, "optional int64 c (TIME(MICROS,true));"),
        (r#""string""#, "optional binary c (JSON);"),
        (r#""string""#, "optional binary c (ENUM);"),
        (r#""binary""#, "optional binary c (BSON);"),
        (r#""binary""#, "optional fixed_len_byte_array(3) c;"),
        (r#""binary""#, "optional fixed_len_byte_array(16) c (UUID);"),
        (
            r#""float""#,
            "optional fixed_len_byte_array(2) c (FLOAT16);",
        ),
        (r#""decimal(9,2)""#, "optional int32 c (DECIMAL(9,3));"),
        (r#""decimal(9,2)""#, "optional int32 c (DECIMAL(8,2));"),
        (r#""decimal(9,0)""#, "optional int32 c;"),
        (
            r#""decimal(38,0)""#,
            "optional fixed_len_byte_array(17) c (DECIMAL(38,0));",
        ),
        (r#""long""#, "repeated int64 c;"),
        (
            r#"{"type":"array","elementType":"long"}"#,
            "repeated int64 c;",
        ),
        (r#""long""#, "optional group c { optional int64 c; }"),
        (r#"{"type":"struct","fields":[]}"#, "optional int64 c;"),
    ] {
        let mismatch = one(file, data_type).unwrap_err();
        assert_eq!(mismatch.column, "c", "{mismatch}");
    }
}

#[test]
fn a_mismatch_says_what_and_where() {
    assert_eq!(
        one("optional int96 c;", r#""timestamp""#)
            .unwrap_err()
            .to_string(),
        "column c: the file has INT96, the table timestamp"
    );
    let nested =
        r#"{"type":"array","elementType":{"type":"struct","fields":[{"name":"x","type":"long"}]}}"#;
    let file = "optional group c (LIST) { repeated group list { optional group element {
        optional int32 x; } } }";
    assert_eq!(
        one(file, nested).unwrap_err().to_string(),
        "column c.element.x: the file has INT32, the table long"
    );
}

#[test]
fn columns_have_to_be_the_same_in_the_same_order() {
    let table = [column("a", r#""long""#), column("b", r#""string""#)].join(",");
    let (a, b) = ("optional int64 a;", "optional binary b (STRING);");
    let of = |file: String| flat(&file, &table).map_err(|mismatch| mismatch.to_string());
    assert_eq!(of(format!("{a}{b}")), Ok(()));
    assert_eq!(
        of(format!("{b}{a}")).unwrap_err(),
        "column a: the file has it as column 2, the table it as column 1"
    );
    assert_eq!(
        of(a.to_owned()).unwrap_err(),
        "column b: the file has no such column, the table string"
    );
    assert_eq!(
        of(format!("{a} optional int32 x; {b}")).unwrap_err(),
        "column x: the file has INT32, the table no such column"
    );
    assert_eq!(
        of(format!("{a}{b} optional binary _change_type (STRING);")).unwrap_err(),
        "column _change_type: the file has BYTE_ARRAY STRING, the table no such column"
    );
    assert!(of(format!("{a}{b}{a}")).unwrap_err().contains("same name"));
    assert!(
        of(format!("optional int64 A;{b}"))
            .unwrap_err()
            .contains("column A")
    );
    assert!(of(String::new()).unwrap_err().contains("column a"));
}

#[test]
fn structs_are_compared_field_by_field() {
    let table = r#"{"type":"struct","fields":[{"name":"x","type":"long"},{"name":"y","type":{"type":"struct","fields":[{"name":"z","type":"date"}]}}]}"#;
    let y = "required group y { optional int32 z (DATE); }";
    assert_eq!(
        one(
            &format!("optional group c {{ required int64 x; {y} }}"),
            table
        ),
        Ok(())
    );
    for (file, column) in [
        (
            format!("optional group c {{ {y} required int64 x; }}"),
            "c.x",
        ),
        ("optional group c { optional int64 x; }".to_owned(), "c.y"),
        (
            format!("optional group c {{ optional int64 x; {y} optional int64 w; }}"),
            "c.w",
        ),
        (
            "optional group c { optional int64 x; optional group y { optional int32 z; } }"
                .to_owned(),
            "c.y.z",
        ),
        (format!("repeated group c {{ optional int64 x; {y} }}"), "c"),
    ] {
        assert_eq!(one(&file, table).unwrap_err().column, column, "{file}");
    }
}

#[test]
fn lists_are_identity_where_readers_agree() {
    let longs = r#"{"type":"array","elementType":"long"}"#;
    let structs =
        r#"{"type":"array","elementType":{"type":"struct","fields":[{"name":"x","type":"long"}]}}"#;
    let pairs = r#"{"type":"array","elementType":{"type":"struct","fields":[{"name":"x","type":"long"},{"name":"y","type":"long"}]}}"#;
    let nested = r#"{"type":"array","elementType":{"type":"array","elementType":"long"}}"#;
    let x = "optional int64 x;";
    for (table, inner, same) in [
        (
            longs,
            "repeated group list { optional int64 element; }",
            true,
        ),
        (
            longs,
            "repeated group list { required int64 element; }",
            true,
        ),
        (longs, "repeated group bag { optional int64 array; }", true),
        (longs, "repeated int64 array;", true),
        (longs, "repeated int32 array;", false),
        (
            longs,
            "repeated group list { optional int32 element; }",
            false,
        ),
        (
            longs,
            "repeated group list { repeated int64 element; }",
            false,
        ),
        (
            longs,
            "repeated group list { optional group element { optional int64 x; } }",
            false,
        ),
        (
            longs,
            "optional group list { optional int64 element; }",
            false,
        ),
        (longs, "required int64 element;", false),
        (
            structs,
            "repeated group list { optional group element { optional int64 x; } }",
            true,
        ),
        (structs, "repeated group array { optional int64 x; }", false),
        (
            structs,
            "repeated group c_tuple { optional int64 x; }",
            false,
        ),
        (
            structs,
            "repeated group element { optional int64 x; }",
            false,
        ),
        (longs, "repeated group array { optional int64 x; }", false),
        (longs, "repeated group c_tuple { optional int64 x; }", false),
        (
            pairs,
            "repeated group element { optional int64 x; optional int64 y; }",
            true,
        ),
        (
            pairs,
            "repeated group array { optional int64 x; optional int64 y; }",
            true,
        ),
        (
            pairs,
            "repeated group array { optional int64 y; optional int64 x; }",
            false,
        ),
        (
            nested,
            "repeated group list { optional group element (LIST) { repeated group list {
                optional int64 element; } } }",
            true,
        ),
        (
            nested,
            "repeated group array (LIST) { repeated int64 array; }",
            true,
        ),
        (
            nested,
            "repeated group list { repeated int64 array; }",
            false,
        ),
        (
            nested,
            "repeated group array (MAP) { repeated int64 array; }",
            false,
        ),
    ] {
        let file = format!("optional group c (LIST) {{ {inner} }}");
        let found = one(&file, table);
        assert_eq!(found.is_ok(), same, "{table} in {file}: {found:?}");
    }
    assert!(
        one(
            &format!("optional group c {{ repeated group list {{ {x} }} }}"),
            longs
        )
        .is_err()
    );
}

#[test]
fn maps_are_identity_where_readers_agree() {
    let table = r#"{"type":"map","keyType":"string","valueType":"long"}"#;
    let key = "required binary key (STRING);";
    let value = "optional int64 value;";
    for (file, same) in [
        (
            format!("optional group c (MAP) {{ repeated group key_value {{ {key} {value} }} }}"),
            true,
        ),
        (
            format!("required group c (MAP) {{ repeated group map {{ {key} {value} }} }}"),
            true,
        ),
        (
            format!(
                "optional group c (MAP) {{ repeated group map (MAP_KEY_VALUE) {{ {key} {value} }} }}"
            ),
            true,
        ),
        (
            "optional group c (MAP) { repeated group entries { required binary k (UTF8);
                required int64 v; } }"
                .to_owned(),
            true,
        ),
        (
            format!(
                "optional group c (MAP_KEY_VALUE) {{ repeated group map {{ {key} {value} }} }}"
            ),
            false,
        ),
        (
            format!(
                "optional group c (MAP) {{ repeated group key_value {{
                    optional binary key (STRING); {value} }} }}"
            ),
            false,
        ),
        (
            format!("optional group c (MAP) {{ repeated group key_value {{ {value} {key} }} }}"),
            false,
        ),
        (
            format!("optional group c (MAP) {{ repeated group key_value {{ {key} }} }}"),
            false,
        ),
        (
            format!("optional group c (MAP) {{ optional group key_value {{ {key} {value} }} }}"),
            false,
        ),
        (
            format!(
                "optional group c (MAP) {{ repeated group key_value {{ {key}
                    optional int32 value; }} }}"
            ),
            false,
        ),
        (
            format!(
                "optional group c (MAP) {{ repeated group key_value {{ {key}
                    repeated int64 value; }} }}"
            ),
            false,
        ),
        (
            format!("optional group c (LIST) {{ repeated group key_value {{ {key} {value} }} }}"),
            false,
        ),
    ] {
        let found = one(&file, table);
        assert_eq!(found.is_ok(), same, "{file}: {found:?}");
    }
}

#[test]
fn a_variant_is_the_group_of_its_two_binaries() {
    let table = r#""variant""#;
    for (file, same) in [
        (
            "optional group c { required binary value; required binary metadata; }",
            true,
        ),
        (
            "optional group c { required binary metadata; optional binary value; }",
            true,
        ),
        ("optional group c { required binary metadata; }", false),
        (
            "optional group c { required binary metadata; required binary other; }",
            false,
        ),
        (
            "optional group c { required binary metadata; required binary value (UTF8); }",
            false,
        ),
        (
            "optional group c { required binary metadata; optional binary value;
                optional int64 typed_value; }",
            false,
        ),
        ("optional binary c;", false),
    ] {
        assert_eq!(one(file, table).is_ok(), same, "{file}");
    }
    let structure = r#"{"type":"struct","fields":[{"name":"value","type":"binary"},{"name":"metadata","type":"binary"}]}"#;
    let file = "optional group c { required binary value; required binary metadata; }";
    assert_eq!(one(file, structure), Ok(()));
}

#[test]
fn void_columns_are_absent() {
    let table = [column("v", r#""void""#), column("a", r#""long""#)].join(",");
    assert_eq!(flat("optional int64 a;", &table), Ok(()));
    let with = flat("optional int32 v; optional int64 a;", &table).unwrap_err();
    assert_eq!(with.column, "v");
    let nested =
        r#"{"type":"struct","fields":[{"name":"v","type":"null"},{"name":"x","type":"long"}]}"#;
    assert_eq!(
        one("optional group c { optional int64 x; }", nested),
        Ok(())
    );
    let array = r#"{"type":"array","elementType":"void"}"#;
    assert!(
        one(
            "optional group c (LIST) { repeated group list { optional int32 e; } }",
            array
        )
        .is_err()
    );
}

#[test]
fn the_layout_decides_where_partition_columns_are() {
    let table = schema(&[column("p", r#""string""#), column("a", r#""long""#)].join(","));
    let none = MappingMode::None;
    let without = "optional int64 a;";
    let with = "optional binary p (STRING); optional int64 a;";
    assert_eq!(
        compare_with(without, &table, &["p"], none, Layout::Hive),
        Ok(())
    );
    assert_eq!(
        compare_with(with, &table, &["p"], none, Layout::Flat),
        Ok(()),
        "no rows"
    );
    let twice = compare_with(with, &table, &["p"], none, Layout::Hive).unwrap_err();
    assert_eq!(twice.column, "p");
    let missing = compare_with(without, &table, &["p"], none, Layout::Flat).unwrap_err();
    assert_eq!(
        missing.to_string(),
        "column p: the file has no such column, the table string"
    );
}

#[test]
fn under_mapping_by_name_physical_names_have_to_be_the_logical_ones() {
    let by_name = |file: &str, fields: &str| {
        compare_with(file, &schema(fields), &[], MappingMode::Name, Layout::Flat)
    };
    assert_eq!(by_name("optional int64 a;", &mapped("a", "a", 1)), Ok(()));
    assert_eq!(
        by_name("optional int64 col_1;", &mapped("a", "col_1", 1))
            .unwrap_err()
            .to_string(),
        "column a: the file has it under its physical name \"col_1\", the table it under its \
         logical name"
    );
    // The column was renamed from x to a, and the file has another column that was once called a.
    let mismatch = by_name("optional int64 a;", &mapped("a", "x", 1)).unwrap_err();
    assert!(mismatch.expected.contains("\"x\""), "{mismatch}");
    // Without mapping a recorded physical name means nothing.
    assert_eq!(flat("optional int64 a;", &mapped("a", "col_1", 1)), Ok(()));
}

#[test]
fn under_mapping_by_id_the_file_has_to_have_the_ids() {
    let by_id = |file: &str, fields: &str| {
        compare_with(file, &schema(fields), &[], MappingMode::Id, Layout::Flat)
    };
    let table = mapped("a", "col_1", 7);
    assert_eq!(by_id("optional int64 a = 7;", &table), Ok(()));
    for file in [
        "optional int64 a = 8;",
        "optional int64 a;",
        "optional int64 col_1 = 7;",
    ] {
        assert!(by_id(file, &table).is_err(), "{file}");
    }
    assert!(by_id("optional int64 a;", &column("a", r#""long""#)).is_err());
}

#[test]
fn metadata_that_misleads_readers_is_no_identity() {
    let table = schema(&column("a", r#""long""#));
    let shape = TableShape {
        schema: &table,
        partition_columns: &[],
        mapping: MappingMode::None,
        layout: Layout::Flat,
    };
    let file = empty_file(
        "optional int64 a;",
        &[("pandas", r#"{"index_columns":["a"]}"#)],
    );
    assert_eq!(
        compare(&footer_of(file), &shape, &[])
            .unwrap_err()
            .to_string(),
        "column a: the file has metadata \"pandas\" by which some readers see an index instead of \
         a column, the table columns of its own types"
    );
    let file = empty_file("optional int64 a;", &[("ARROW:schema", "?")]);
    let mismatch = compare(&footer_of(file), &shape, &[])
        .unwrap_err()
        .to_string();
    assert!(
        mismatch.starts_with("all columns: the file has metadata"),
        "{mismatch}"
    );
}

/// Whether a file with the partition column `p` of these values, two to a row group, is identity
/// for the partition value.
fn partition(data_type: &str, values: ArrayRef, value: Option<&str>) -> bool {
    let bytes = file_of(&[("p", values)], 2);
    let table = schema(&column("p", data_type));
    let partition_columns = ["p".to_owned()];
    let shape = TableShape {
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
        (r#""date""#, date(19_723), Some("2024-01-01T05:00"), false),
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
            false,
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
            false,
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
