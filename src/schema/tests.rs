use proptest::prelude::*;

use super::fingerprint::canonical_text;
use super::*;

fn parse(fields: &str) -> Result<StructType, SchemaError> {
    StructType::parse(&format!(r#"{{"type":"struct","fields":[{fields}]}}"#))
}

fn column(name: &str, data_type: &str) -> String {
    format!(r#"{{"name":"{name}","type":{data_type},"nullable":true,"metadata":{{}}}}"#)
}

fn one_type(data_type: &str) -> Result<DataType, SchemaError> {
    parse(&column("c", data_type)).map(|mut schema| schema.fields.remove(0).data_type)
}

/// The example of PROTOCOL.md, "Schema Serialization Format".
const EXAMPLE: &str = concat!(
    r#"{"type":"struct","fields":[{"name":"a","type":"integer","nullable":false,"metadata":{}},"#,
    r#"{"name":"b","type":{"type":"struct","fields":[{"name":"d","type":"integer","#,
    r#""nullable":false,"metadata":{}}]},"nullable":true,"metadata":{}},"#,
    r#"{"name":"c","type":{"type":"array","elementType":"integer","containsNull":false},"#,
    r#""nullable":true,"metadata":{}},"#,
    r#"{"name":"e","type":{"type":"array","elementType":{"type":"struct","fields":[{"name":"d","#,
    r#""type":"integer","nullable":false,"metadata":{}}]},"containsNull":true},"#,
    r#""nullable":true,"metadata":{}},"#,
    r#"{"name":"f","type":{"type":"map","keyType":"string","valueType":"string","#,
    r#""valueContainsNull":true},"nullable":true,"metadata":{}}]}"#,
);

#[test]
fn the_example_of_the_specification_comes_back_byte_for_byte() {
    let schema = StructType::parse(EXAMPLE).unwrap();
    assert_eq!(schema.fields.len(), 5);
    assert!(!schema.fields[0].nullable);
    assert_eq!(
        schema.fields[3].data_type.to_string(),
        "array<struct<d:integer>>"
    );
    assert_eq!(schema.to_json(), EXAMPLE);
}

#[test]
fn every_primitive_type_has_its_name() {
    for name in [
        "string",
        "long",
        "integer",
        "short",
        "byte",
        "float",
        "double",
        "boolean",
        "binary",
        "date",
        "timestamp",
        "timestamp_ntz",
        "void",
        "decimal(38,38)",
        "decimal(1,0)",
        "variant",
    ] {
        assert_eq!(one_type(&format!("{name:?}")).unwrap().to_string(), name);
    }
}

#[test]
fn other_spellings_are_understood() {
    for (spelling, name) in [
        ("null", "void"),
        ("decimal", "decimal(10,0)"),
        ("decimal( 5 , 2 )", "decimal(5,2)"),
        ("timestamp_ltz", "timestamp"),
    ] {
        assert_eq!(
            one_type(&format!("{spelling:?}")).unwrap().to_string(),
            name
        );
    }
    assert_eq!(
        one_type(r#"{"type":"variant"}"#).unwrap(),
        DataType::Variant
    );
}

#[test]
fn char_and_varchar_are_strings_that_keep_their_spelling() {
    for spelling in ["char(5)", "varchar(10)"] {
        let schema = parse(&column("c", &format!("{spelling:?}"))).unwrap();
        let field = &schema.fields[0];
        assert_eq!(field.data_type, DataType::Primitive(PrimitiveType::String));
        assert_eq!(field.metadata["__CHAR_VARCHAR_TYPE_STRING"], *spelling);
    }
}

#[test]
fn unknown_types_are_named_with_their_column() {
    for (data_type, name, column) in [
        (r#""geometry""#, "geometry", "c"),
        (r#""point(4326)""#, "point(4326)", "c"),
        (r#""int""#, "int", "c"),
        (r#""char(x)""#, "char(x)", "c"),
        (r#"{"type":"opaque","class":"x"}"#, "opaque", "c"),
        (r#""interval month to day""#, "interval month to day", "c"),
        (r#""interval second to day""#, "interval second to day", "c"),
        (
            r#"{"type":"array","elementType":"time(6)"}"#,
            "time(6)",
            "c.element",
        ),
        (
            r#"{"type":"map","keyType":"string","valueType":"interval"}"#,
            "interval",
            "c.value",
        ),
        (
            r#"{"type":"struct","fields":[{"name":"x","type":"LONG"}]}"#,
            "LONG",
            "c.x",
        ),
    ] {
        let expected = SchemaError::UnknownType {
            column: column.into(),
            type_name: name.into(),
        };
        assert_eq!(one_type(data_type).unwrap_err(), expected);
    }
}

#[test]
fn types_of_engines_come_back_as_they_were_and_say_what_is_stored() {
    let vector = concat!(
        r#"{"type":"udt","class":"org.apache.spark.ml.linalg.VectorUDT","pyClass":null,"sqlType":"#,
        r#"{"type":"struct","fields":[{"name":"size","type":"integer","nullable":true,"metadata":{}}]}}"#
    );
    for (json, name, stored_as) in [
        (vector, "udt<struct<size:integer>>", "struct<size:integer>"),
        (
            r#""interval year to month""#,
            "interval year to month",
            "integer",
        ),
        (r#""interval month""#, "interval month", "integer"),
        (
            r#""interval day to second""#,
            "interval day to second",
            "long",
        ),
        (
            r#""interval hour to minute""#,
            "interval hour to minute",
            "long",
        ),
        (r#""geometry(OGC:CRS84)""#, "geometry(OGC:CRS84)", "binary"),
        (
            r#""geography(OGC:CRS84, spherical)""#,
            "geography(OGC:CRS84, spherical)",
            "binary",
        ),
    ] {
        let schema = parse(&column("c", json)).unwrap();
        let found = &schema.fields[0].data_type;
        assert_eq!(found.to_string(), name);
        assert_eq!(found.foreign().unwrap().stored_as.to_string(), stored_as);
        assert!(schema.to_json().contains(json), "{}", schema.to_json());
        // Column mapping does not reach into it.
        let mapped = mapped("c", "c", "7").replace(r#""long""#, json);
        assert_eq!(
            parse(&mapped).unwrap().check_mapping(MappingMode::Id),
            Ok(())
        );
    }
    for (json, problem) in [
        (r#"{"type":"udt","class":"x"}"#, "sqlType"),
        (r#"{"type":"udt","sqlType":7}"#, "sqlType"),
        (r#"{"type":"udt","sqlType":"seven"}"#, "unknown type"),
    ] {
        let error = one_type(json).unwrap_err().to_string();
        assert!(error.contains(problem), "{error}");
    }
}

#[test]
fn decimals_outside_the_range_are_refused() {
    for spelling in [
        "decimal(0,0)",
        "decimal(39,0)",
        "decimal(5,6)",
        "decimal(5,-1)",
        "decimal(,)",
        "decimal(300,1)",
    ] {
        let error = one_type(&format!("{spelling:?}")).unwrap_err();
        assert!(
            matches!(error, SchemaError::InvalidDecimal { .. }),
            "{spelling}: {error}"
        );
    }
}

#[test]
fn names_equal_regardless_of_case_are_refused() {
    let error = parse(&[column("Äpfel", r#""long""#), column("äPFEL", r#""long""#)].join(","));
    let expected = SchemaError::DuplicateColumn {
        parent: "the table".into(),
        first: "Äpfel".into(),
        second: "äPFEL".into(),
    };
    assert_eq!(error.unwrap_err(), expected);

    let inner = [column("x", r#""long""#), column("X", r#""long""#)].join(",");
    let error = one_type(&format!(
        r#"{{"type":"array","elementType":{{"type":"struct","fields":[{inner}]}}}}"#
    ));
    assert!(matches!(
        error.unwrap_err(),
        SchemaError::DuplicateColumn { parent, .. } if parent == "c.element"
    ));

    let twice_but_nested = format!(
        r#"{{"type":"struct","fields":[{}]}}"#,
        column("c", r#""long""#)
    );
    assert!(
        one_type(&twice_but_nested).is_ok(),
        "one name may stand on two levels"
    );
}

#[test]
fn what_is_missing_has_its_default_and_what_is_unknown_is_ignored() {
    let schema = StructType::parse(
        r#"{"fields":[{"type":{"elementType":"long","type":"array","x":[{}]},"name":"a","y":1}],
            "type":"struct","z":null}"#,
    )
    .unwrap();
    assert!(schema.fields[0].nullable);
    assert_eq!(
        schema.to_json(),
        r#"{"type":"struct","fields":[{"name":"a","type":{"type":"array","elementType":"long","containsNull":true},"nullable":true,"metadata":{}}]}"#
    );
}

#[test]
fn malformed_schemas_are_refused() {
    for text in [
        "",
        "{}",
        "null",
        "[]",
        "\"long\"",
        "{\"type\":\"struct\"}",
        "{\"type\":\"struct\",\"fields\":{}}",
        "{\"type\":\"array\",\"elementType\":\"long\"}",
        "{\"type\":\"struct\",\"fields\":[]} x",
        "{\"type\":\"struct\",\"fields\":[{\"name\":\"a\"}]}",
        "{\"type\":\"struct\",\"fields\":[{\"type\":\"long\"}]}",
        "{\"type\":\"struct\",\"fields\":[{\"name\":1,\"type\":\"long\"}]}",
        "{\"type\":\"struct\",\"fields\":[{\"name\":\"a\",\"type\":\"long\",\"nullable\":\"no\"}]}",
        "{\"type\":\"struct\",\"fields\":[{\"name\":\"a\",\"type\":\"long\",\"metadata\":[]}]}",
        "{\"type\":\"struct\",\"fields\":[{\"name\":\"a\",\"type\":{\"type\":\"array\"}}]}",
        "{\"type\":\"struct\",\"fields\":[{\"name\":\"a\",\"type\":{\"type\":\"map\",\"keyType\":\"long\"}}]}",
    ] {
        assert!(StructType::parse(text).is_err(), "{text}");
    }
}

#[test]
fn a_key_that_appears_twice_is_refused() {
    let error = StructType::parse(
        r#"{"type":"struct","fields":[{"name":"a","name":"b","type":"long","nullable":true}]}"#,
    )
    .unwrap_err();
    assert!(
        error.to_string().contains("duplicate field `name`"),
        "{error}"
    );
}

#[test]
fn deep_nesting_is_refused_and_reasonable_nesting_is_not() {
    fn nested(levels: usize) -> String {
        let open = r#"{"type":"struct","fields":[{"name":"a","type":"#.repeat(levels);
        let close = r#"}]}"#.repeat(levels);
        format!("{open}\"long\"{close}")
    }
    assert!(StructType::parse(&nested(40)).is_ok());
    for levels in [43, 1_000, 1_000_000] {
        let error = StructType::parse(&nested(levels)).unwrap_err();
        assert!(error.to_string().contains("recursion limit"), "{error}");
    }
}

#[test]
fn partition_columns_have_to_be_primitive_columns_named_once() {
    let schema = StructType::parse(EXAMPLE).unwrap();
    let fields = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        schema.partition_fields(&names).map(|fields| fields.len())
    };
    assert_eq!(fields(&["a"]), Ok(1));
    assert_eq!(fields(&[]), Ok(0));
    assert!(matches!(
        fields(&["p"]),
        Err(SchemaError::UnknownPartitionColumn { .. })
    ));
    assert!(matches!(
        fields(&["A"]),
        Err(SchemaError::UnknownPartitionColumn { .. })
    ));
    assert!(matches!(
        fields(&["a", "a"]),
        Err(SchemaError::RepeatedPartitionColumn { .. })
    ));
    assert!(matches!(
        fields(&["b"]),
        Err(SchemaError::PartitionColumnType { .. })
    ));
}

fn mapped(name: &str, physical: &str, id: &str) -> String {
    format!(
        r#"{{"name":"{name}","type":"long","nullable":true,"metadata":{{"delta.columnMapping.id":{id},"delta.columnMapping.physicalName":"{physical}","comment":"hi"}}}}"#
    )
}

#[test]
fn a_mapped_column_goes_by_its_physical_name_only_under_mapping() {
    let schema = parse(&mapped("a", "col-1", "7")).unwrap();
    let field = &schema.fields[0];
    assert_eq!(field.name_in_files(MappingMode::None), "a");
    assert_eq!(field.name_in_files(MappingMode::Name), "col-1");
    assert_eq!(field.name_in_files(MappingMode::Id), "col-1");
    assert_eq!(field.column_id(), Some(7));
    assert_eq!(field.comment(), Some("hi"));
    assert_eq!(
        parse(&mapped("a", "c", "4294967296")).unwrap().fields[0].column_id(),
        None
    );
}

#[test]
fn mapping_is_checked_for_what_it_needs() {
    let plain = parse(&column("a", r#""long""#)).unwrap();
    assert_eq!(plain.check_mapping(MappingMode::None), Ok(()));
    for mode in [MappingMode::Name, MappingMode::Id] {
        assert!(matches!(
            plain.check_mapping(mode),
            Err(SchemaError::Unmapped { .. })
        ));
    }

    let no_id = parse(&mapped("a", "c", "\"x\"")).unwrap();
    assert_eq!(no_id.check_mapping(MappingMode::Name), Ok(()));
    assert!(matches!(
        no_id.check_mapping(MappingMode::Id),
        Err(SchemaError::Unmapped {
            key: "delta.columnMapping.id",
            ..
        })
    ));

    let same_name = parse(&[mapped("a", "c", "1"), mapped("b", "c", "2")].join(",")).unwrap();
    assert!(matches!(
        same_name.check_mapping(MappingMode::Name),
        Err(SchemaError::AmbiguousMapping { first, second, .. }) if first == "a" && second == "b"
    ));
    let same_id = parse(&[mapped("a", "c", "1"), mapped("b", "d", "1")].join(",")).unwrap();
    assert_eq!(same_id.check_mapping(MappingMode::Name), Ok(()));
    assert!(matches!(
        same_id.check_mapping(MappingMode::Id),
        Err(SchemaError::AmbiguousMapping { .. })
    ));
}

#[test]
fn mapping_modes_are_read_from_the_property() {
    assert_eq!(MappingMode::from_property(None), Ok(MappingMode::None));
    assert_eq!(
        MappingMode::from_property(Some("none")),
        Ok(MappingMode::None)
    );
    assert_eq!(
        MappingMode::from_property(Some("Name")),
        Ok(MappingMode::Name)
    );
    assert_eq!(MappingMode::from_property(Some("id")), Ok(MappingMode::Id));
    assert!(MappingMode::from_property(Some("both")).is_err());
}

fn shape(fields: &str, partition_columns: &[&str], mapping: MappingMode) -> u64 {
    let partition_columns: Vec<String> = partition_columns
        .iter()
        .map(|name| (*name).to_owned())
        .collect();
    shape_fingerprint(&parse(fields).unwrap(), &partition_columns, mapping)
}

#[test]
fn the_canonical_text_and_its_hash_never_change() {
    let schema = StructType::parse(EXAMPLE).unwrap();
    let text = canonical_text(&schema, &["a".to_owned()], MappingMode::None);
    assert_eq!(
        text,
        "struct<1:a:integer!1:b:struct<1:d:integer!>?1:c:array<integer!>?\
         1:e:array<struct<1:d:integer!>?>?1:f:map<string,string?>?>/1:a"
    );
    assert_eq!(
        shape_fingerprint(&schema, &["a".to_owned()], MappingMode::None),
        SHAPE_OF_THE_EXAMPLE
    );
    let months = parse(&column("a", r#""interval month""#)).unwrap();
    assert_eq!(
        canonical_text(&months, &[], MappingMode::None),
        "struct<1:a:as<integer>?>/"
    );
    let mapped = parse(&mapped("a", "col-1", "7")).unwrap();
    assert_eq!(
        canonical_text(&mapped, &[], MappingMode::None),
        "struct<1:a:long?>/"
    );
    assert_eq!(
        canonical_text(&mapped, &[], MappingMode::Name),
        "struct<1:a=5:col-1:long?>/"
    );
    assert_eq!(
        canonical_text(&mapped, &[], MappingMode::Id),
        "struct<1:a=5:col-1#7:long?>/"
    );
}

/// Worked out once, and for ever.
const SHAPE_OF_THE_EXAMPLE: u64 = 6_129_555_241_025_201_451;

#[test]
fn metadata_that_shapes_nothing_leaves_the_fingerprint_alone() {
    let plain = column("a", r#""long""#);
    let decorated = r#"{"name":"a","type":"long","nullable":true,"metadata":{"comment":"x",
        "CURRENT_DEFAULT":"1","delta.generationExpression":"b","delta.invariants":"{}",
        "delta.columnMapping.physicalName":"col-1","delta.columnMapping.id":3}}"#;
    let none = MappingMode::None;
    assert_eq!(shape(&plain, &[], none), shape(decorated, &[], none));
}

#[test]
fn a_table_upgraded_to_mapping_keeps_its_fingerprint() {
    let upgraded = mapped("a", "a", "1");
    assert_eq!(
        shape(&upgraded, &[], MappingMode::None),
        shape(&upgraded, &[], MappingMode::Name)
    );
}

#[test]
fn whatever_shapes_files_changes_the_fingerprint() {
    let none = MappingMode::None;
    let a = column("a", r#""long""#);
    let b = column("b", r#""long""#);
    let both = format!("{a},{b}");
    let required = a.replace("\"nullable\":true", "\"nullable\":false");
    let array = column(
        "a",
        r#"{"type":"array","elementType":"long","containsNull":true}"#,
    );
    let strict = array.replace("\"containsNull\":true", "\"containsNull\":false");
    let all = [
        shape(&a, &[], none),
        shape(&b, &[], none),
        shape(&both, &[], none),
        shape(&format!("{b},{a}"), &[], none),
        shape(&both, &["a"], none),
        shape(&both, &["b"], none),
        shape(&both, &["a", "b"], none),
        shape(&both, &["b", "a"], none),
        shape(&required, &[], none),
        shape(&column("a", r#""integer""#), &[], none),
        shape(&array, &[], none),
        shape(&strict, &[], none),
        shape(&mapped("a", "p", "1"), &[], MappingMode::Name),
        shape(&mapped("a", "q", "1"), &[], MappingMode::Name),
        shape(&mapped("a", "p", "1"), &[], MappingMode::Id),
        shape(&mapped("a", "p", "2"), &[], MappingMode::Id),
    ];
    for (index, one) in all.iter().enumerate() {
        for other in &all[index + 1..] {
            assert_ne!(one, other, "case {index}");
        }
    }
}

#[test]
fn the_characters_that_spark_escapes_are_escaped() {
    assert_eq!(escape_hive("US"), "US");
    assert!(matches!(
        escape_hive("B B é 😀 ~!@$&()-_+,.;<>|}`"),
        std::borrow::Cow::Borrowed(_)
    ));
    assert_eq!(escape_hive("A/A"), "A%2FA");
    assert_eq!(escape_hive("x%3Ay"), "x%253Ay");
    assert_eq!(escape_hive("/a"), "%2Fa");
    assert_eq!(
        escape_hive("\"#%'*/:=?\\\x7f{[]^"),
        "%22%23%25%27%2A%2F%3A%3D%3F%5C%7F%7B%5B%5D%5E"
    );
    let controls: String = (0u8..0x20).map(char::from).collect();
    assert_eq!(escape_hive(&controls).len(), 32 * 3);
}

#[test]
fn unescaping_takes_what_other_writers_escape() {
    assert_eq!(unescape_hive("A%2FA"), "A/A");
    assert_eq!(unescape_hive("%C3%A9%2f"), "é/");
    assert_eq!(unescape_hive("100%"), "100%");
    assert_eq!(unescape_hive("%zz%4"), "%zz%4");
    assert_eq!(unescape_hive("%é1"), "%é1");
    assert_eq!(unescape_hive("a%FFb"), "a%FFb");
}

#[test]
fn the_empty_string_is_null() {
    assert!(is_null_partition_value(None));
    assert!(is_null_partition_value(Some("")));
    assert!(!is_null_partition_value(Some(" ")));
}

proptest! {
    #[test]
    fn escaped_text_is_one_safe_path_segment_and_comes_back(text in any::<String>()) {
        let escaped = escape_hive(&text);
        prop_assert!(!escaped.contains(['/', ':', '=', '\0', '\\']));
        prop_assert_eq!(unescape_hive(&escaped), text.as_str());
    }

    #[test]
    fn unescaping_never_panics(text in "[%0-9a-fé]{0,24}") {
        unescape_hive(&text);
    }

    #[test]
    fn parsing_never_panics(text in any::<String>()) {
        let _ = StructType::parse(&text);
    }

    #[test]
    fn a_damaged_schema_is_an_error_or_a_schema(at in 0..EXAMPLE.len(), byte in any::<u8>()) {
        let mut bytes = EXAMPLE.as_bytes().to_vec();
        bytes[at] = byte;
        if let Ok(text) = String::from_utf8(bytes)
            && let Ok(schema) = StructType::parse(&text)
        {
            prop_assert_eq!(StructType::parse(&schema.to_json()), Ok(schema));
        }
    }
}
