//! How each type has to be stored.

use super::*;

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
