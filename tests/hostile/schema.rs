//! Schema strings.

use deltafs::schema::{MappingMode, SchemaError, StructType, shape_fingerprint};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Everything that looks at a schema.
fn exercise(text: &str) -> bool {
    let Ok(schema) = StructType::parse(text) else {
        return false;
    };
    assert_eq!(StructType::parse(&schema.to_json()).as_ref(), Ok(&schema));
    for mapping in [MappingMode::None, MappingMode::Name, MappingMode::Id] {
        shape_fingerprint(&schema, &["a".to_owned()], mapping);
        let _ = schema.check_mapping(mapping);
    }
    let _ = schema.partition_fields(&["a".to_owned(), "b".to_owned()]);
    for field in &schema.fields {
        let _ = (
            field.data_type.to_string(),
            field.column_id(),
            field.comment(),
        );
    }
    true
}

#[test]
fn nesting_without_end() {
    for (open, close) in [
        ("[", "]"),
        ("{\"type\":", "}"),
        ("{\"type\":\"array\",\"elementType\":", "}"),
        (
            "{\"type\":\"struct\",\"fields\":[{\"name\":\"a\",\"type\":",
            "}]}",
        ),
        (
            "{\"type\":\"struct\",\"fields\":[{\"name\":\"a\",\"metadata\":{\"x\":",
            "}}]}",
        ),
        ("{\"type\":\"map\",\"keyType\":\"long\",\"valueType\":", "}"),
    ] {
        for levels in [129, 10_000, 300_000] {
            let cut_off = open.repeat(levels);
            assert!(!exercise(&cut_off));
            assert!(!exercise(&format!(
                "{cut_off}\"long\"{}",
                close.repeat(levels)
            )));
        }
    }
}

#[test]
fn arrays_in_one_another_up_to_the_limit() {
    let nested = |levels: usize| {
        let open = "{\"type\":\"array\",\"elementType\":".repeat(levels);
        let data_type = format!("{open}\"long\"{}", "}".repeat(levels));
        format!("{{\"type\":\"struct\",\"fields\":[{{\"name\":\"a\",\"type\":{data_type}}}]}}")
    };
    assert!(exercise(&nested(124)));
    assert!(!exercise(&nested(125)));
}

#[test]
fn keys_that_appear_twice() {
    for text in [
        r#"{"type":"struct","type":"struct","fields":[]}"#,
        r#"{"type":"struct","fields":[],"fields":[]}"#,
        r#"{"type":"struct","fields":[{"name":"a","type":"long","type":"long"}]}"#,
        r#"{"type":"struct","fields":[{"name":"a","type":"long","nullable":true,"nullable":true}]}"#,
        r#"{"type":"struct","fields":[{"name":"a","type":"long","metadata":{},"metadata":{}}]}"#,
        r#"{"type":"struct","fields":[{"name":"a","type":{"type":"array","elementType":"long","elementType":"date"}}]}"#,
    ] {
        let error = StructType::parse(text).unwrap_err();
        assert!(error.to_string().contains("duplicate field"), "{error}");
    }
}

#[test]
fn numbers_beyond_every_type() {
    for data_type in [
        "decimal(999999999999999999999,1)",
        "decimal(10,99999999999999999999)",
        "decimal(-1,0)",
        "decimal(1)",
        "decimal(1,1,1)",
        "decimal(",
        "decimal)",
        "varchar(99999999999999999999)",
        "char()",
        "char(-1)",
    ] {
        let schema = json!({"type": "struct", "fields": [{"name": "a", "type": data_type}]});
        let error = StructType::parse(&schema.to_string()).unwrap_err();
        assert!(
            matches!(
                error,
                SchemaError::InvalidDecimal { .. } | SchemaError::UnknownType { .. }
            ),
            "{error}"
        );
    }
    let ids = [
        json!(1e300),
        json!(-1e300),
        json!(u64::MAX),
        json!(null),
        json!({}),
        json!("1"),
    ];
    for id in ids {
        let schema = json!({"type": "struct", "fields": [{"name": "a", "type": "long",
            "metadata": {"delta.columnMapping.id": id, "delta.columnMapping.physicalName": id}}]});
        assert!(exercise(&schema.to_string()));
        let schema = StructType::parse(&schema.to_string()).unwrap();
        assert_eq!(schema.fields[0].column_id(), None);
        assert!(schema.check_mapping(MappingMode::Id).is_err());
    }
}

#[test]
fn names_of_every_kind() {
    let names = [
        "", "a.b", "a`b", "\u{0}", "\n", "\u{202E}", "😀", "a/b", "..", "a:b",
    ];
    let fields: Vec<Value> = names
        .iter()
        .map(|name| json!({"name": name, "type": "long"}))
        .collect();
    assert!(exercise(
        &json!({"type": "struct", "fields": fields}).to_string()
    ));
    let long = "x".repeat(1_000_000);
    assert!(exercise(
        &json!({"type": "struct", "fields": [{"name": long, "type": "long"}]}).to_string()
    ));
}

#[test]
fn very_many_columns() {
    let fields: Vec<Value> = (0..50_000)
        .map(|i| json!({"name": format!("c{i}"), "type": "long"}))
        .collect();
    assert!(exercise(
        &json!({"type": "struct", "fields": fields}).to_string()
    ));
}

/// JSON made of the words of schemas.
fn schema_like() -> impl Strategy<Value = Value> {
    let word = prop_oneof![
        Just("struct"),
        Just("array"),
        Just("map"),
        Just("long"),
        Just("void"),
        Just("variant"),
        Just("decimal(5,2)"),
        Just("varchar(3)"),
        Just("a"),
        Just("A"),
        Just("b"),
        Just(""),
    ];
    let leaf = prop_oneof![
        8 => word.clone().prop_map(|word| json!(word)),
        1 => any::<bool>().prop_map(|value| json!(value)),
        1 => any::<i64>().prop_map(|value| json!(value)),
        1 => Just(Value::Null),
    ];
    leaf.prop_recursive(6, 40, 4, move |inner| {
        let field = (word.clone(), inner.clone(), any::<bool>()).prop_map(
            |(name, data_type, nullable)| {
                json!({"name": name, "type": data_type, "nullable": nullable, "metadata": {}})
            },
        );
        prop_oneof![
            3 => prop::collection::vec(field, 0..4)
                .prop_map(|fields| json!({"type": "struct", "fields": fields})),
            2 => inner.clone().prop_map(|element| json!({"type": "array", "elementType": element})),
            2 => (inner.clone(), inner.clone()).prop_map(
                |(key, value)| json!({"type": "map", "keyType": key, "valueType": value})
            ),
            1 => prop::collection::vec(inner.clone(), 0..3).prop_map(|list| json!(list)),
            1 => inner.prop_map(|value| json!({"type": value})),
        ]
    })
}

proptest! {
    #[test]
    fn json_made_of_the_words_of_schemas(value in schema_like(), wrapped: bool) {
        let value = if wrapped {
            json!({"type": "struct", "fields": [{"name": "c", "type": value}]})
        } else {
            value
        };
        exercise(&value.to_string());
    }
}
