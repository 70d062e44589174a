//! Tests of what writers are bound by.

use std::collections::BTreeMap;

use super::*;

fn protocol(reader: i32, writer: i32, reads: &[&str], writes: &[&str]) -> Protocol {
    let names = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect());
    Protocol {
        min_reader_version: reader,
        min_writer_version: writer,
        reader_features: (reader == 3).then(|| names(reads)).flatten(),
        writer_features: (writer == 7).then(|| names(writes)).flatten(),
    }
}

fn metadata(properties: &[(&str, &str)]) -> Metadata {
    let configuration: BTreeMap<String, String> = properties
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect();
    Metadata {
        id: "t".to_owned(),
        name: None,
        description: None,
        format: Default::default(),
        schema_string: String::new(),
        partition_columns: Vec::new(),
        created_time: None,
        configuration,
    }
}

fn schema(fields: &str) -> StructType {
    StructType::parse(&format!(r#"{{"type":"struct","fields":[{fields}]}}"#)).unwrap()
}

fn column(name: &str, metadata: &str) -> String {
    format!(r#"{{"name":"{name}","type":"integer","nullable":true,"metadata":{metadata}}}"#)
}

fn refusal(protocol: &Protocol, metadata: &Metadata, schema: &StructType) -> String {
    check_writable(protocol, metadata, schema)
        .unwrap_err()
        .to_string()
}

#[test]
fn plain_tables_of_every_legacy_version_are_writable() {
    for writer in 1..=6 {
        let reader = if writer >= 5 { 2 } else { 1 };
        let rules = check_writable(
            &protocol(reader, writer, &[], &[]),
            &metadata(&[]),
            &schema(&column("a", "{}")),
        );
        assert_eq!(rules.unwrap(), WriteRules::default(), "{writer}");
    }
    for writer in [0, 8] {
        let text = refusal(
            &protocol(1, writer, &[], &[]),
            &metadata(&[]),
            &StructType::default(),
        );
        assert!(text.contains(&format!("writer version {writer}")), "{text}");
    }
}

#[test]
fn features_that_are_listed_and_not_active_do_not_hinder() {
    let listed: Vec<&str> = features::known()
        .filter(|name| *name != "catalogManaged")
        .collect();
    let rules = check_writable(
        &protocol(1, 7, &[], &listed),
        &metadata(&[]),
        &schema(&column("a", "{}")),
    )
    .unwrap();
    assert!(!rules.append_only && !rules.change_data_feed && !rules.type_widening);
    assert!(rules.row_tracking && rules.deletion_vectors && rules.v2_checkpoint);
}

#[test]
fn f11_a_catalog_managed_table_is_refused() {
    for name in ["catalogManaged", "catalogOwned-preview"] {
        let text = refusal(
            &protocol(3, 7, &[name], &[name, "inCommitTimestamp"]),
            &metadata(&[]),
            &StructType::default(),
        );
        assert!(
            text.contains("catalogManaged") && text.contains("through the catalog"),
            "{text}"
        );
    }
}

#[test]
fn unknown_features_and_active_ones_that_are_not_enforced_are_refused_by_name() {
    let text = refusal(
        &protocol(1, 7, &[], &["fooBar", "appendOnly"]),
        &metadata(&[]),
        &StructType::default(),
    );
    assert!(text.contains("writer feature fooBar"), "{text}");

    for (feature, property) in [
        ("icebergCompatV1", "delta.enableIcebergCompatV1"),
        ("icebergCompatV2", "delta.enableIcebergCompatV2"),
        ("icebergCompatV3", "delta.enableIcebergCompatV3"),
        ("icebergWriterCompatV1", "delta.enableIcebergWriterCompatV1"),
        ("icebergWriterCompatV3", "delta.enableIcebergWriterCompatV3"),
    ] {
        let protocol = protocol(1, 7, &[], &[feature]);
        let text = refusal(
            &protocol,
            &metadata(&[(property, "true")]),
            &StructType::default(),
        );
        assert!(text.contains(feature) && text.contains(property), "{text}");
        let off = metadata(&[(property, "false")]);
        assert!(check_writable(&protocol, &off, &StructType::default()).is_ok());
    }
}

#[test]
fn identity_and_collated_columns_are_refused_where_there_are_any() {
    let identity = schema(&column(
        "id",
        r#"{"delta.identity.start":1,"delta.identity.step":1}"#,
    ));
    for protocol in [
        protocol(1, 6, &[], &[]),
        protocol(1, 7, &[], &["identityColumns"]),
    ] {
        let text = refusal(&protocol, &metadata(&[]), &identity);
        assert!(
            text.contains("identityColumns (column id uses it)"),
            "{text}"
        );
    }
    let nested = schema(
        r#"{"name":"s","nullable":true,"metadata":{},"type":{"type":"array","containsNull":true,
        "elementType":{"type":"struct","fields":[{"name":"c","type":"string","nullable":true,
        "metadata":{"__COLLATIONS":{"c":"ICU.UNICODE_CI"}}}]}}}"#,
    );
    let text = refusal(
        &protocol(1, 7, &[], &["collations-preview"]),
        &metadata(&[]),
        &nested,
    );
    assert!(text.contains("column s.element.c uses it"), "{text}");
}

#[test]
fn rules_are_collected_from_properties_and_columns() {
    let schema = schema(
        &[
            column(
                "a",
                r#"{"delta.invariants":"{\"expression\": { \"expression\": \"a > 3\"} }"}"#,
            ),
            column("b", r#"{"delta.generationExpression":"a + 1"}"#),
            column("c", r#"{"CURRENT_DEFAULT":"42"}"#),
        ]
        .join(","),
    );
    let properties = metadata(&[
        ("delta.constraints.positive", "a > 0"),
        ("delta.appendOnly", "TRUE"),
        ("delta.enableChangeDataFeed", "true"),
    ]);
    let rules = check_writable(&protocol(1, 4, &[], &[]), &properties, &schema).unwrap();
    assert_eq!(rules.check_constraints, [rule("positive", "a > 0")]);
    assert_eq!(rules.invariants, [rule("a", "a > 3")]);
    assert_eq!(rules.generated, [rule("b", "a + 1")]);
    assert!(rules.append_only && rules.change_data_feed);
    // Writer version 4 does not know defaults.
    assert_eq!(rules.defaults, []);
    let listed = protocol(1, 7, &[], &["allowColumnDefaults"]);
    let rules = check_writable(&listed, &properties, &schema).unwrap();
    assert_eq!(rules.defaults, [rule("c", "42")]);
    assert!(!rules.change_data_feed, "not listed");
    assert_eq!(rules.check_constraints.len(), 1, "a rule all the same");
}

#[test]
fn a_rule_that_is_damaged_is_an_error() {
    let schema = schema(&column("a", r#"{"delta.invariants":"a > 3"}"#));
    let text = refusal(&protocol(1, 2, &[], &[]), &metadata(&[]), &schema);
    assert!(text.contains("delta.invariants"), "{text}");
}

#[test]
fn writer_version_7_without_features_is_contradictory() {
    let mut protocol = protocol(1, 7, &[], &[]);
    protocol.writer_features = None;
    let text = refusal(&protocol, &metadata(&[]), &StructType::default());
    assert!(text.contains("writerFeatures"), "{text}");
}

#[test]
fn the_documentation_has_every_feature() {
    let text = include_str!("../../../docs/WRITING.md");
    let rows: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("| `"))
        .collect();
    for name in features::known() {
        let cell = format!("`{name}`");
        let documented = rows
            .iter()
            .any(|row| row.split(" | ").next().unwrap().contains(&cell));
        assert!(documented, "{name}");
    }
}
