//! Schemas that evolve, and those of new tables.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, BooleanArray, Date32Array, Decimal128Array, Float32Array, Int8Array,
    Int16Array, ListArray, NullArray, StructArray, TimestampMicrosecondArray, UInt32Array,
    UInt64Array,
};
use arrow::datatypes::{DataType, Field, Int32Type};
use serde_json::{Value, json};

use super::support::{IntakeBuilder, IntakeTable, file_of, staged, typed};
use super::{ints, longs, mapped, texts};
use crate::intake::{IntakeError, SchemaChange, StagedFile, evolve, new_table, schema_of_file};
use crate::log::actions::{Metadata, Protocol};
use crate::schema::StructType;

fn evolved(
    table: &IntakeTable,
    files: &[Vec<u8>],
    how: SchemaChange,
) -> Result<Option<(Metadata, Option<Protocol>)>, IntakeError> {
    let files: Vec<StagedFile> = files
        .iter()
        .map(|bytes| staged("in.parquet", &[], bytes))
        .collect();
    evolve(&table.metadata, &table.shape, &table.protocol, &files, how)
}

fn merged(table: &IntakeTable, files: &[Vec<u8>]) -> Option<Metadata> {
    let evolved = evolved(table, files, SchemaChange::Merge).unwrap();
    evolved.map(|(metadata, protocol)| {
        assert_eq!(protocol, None);
        metadata
    })
}

fn overwritten(table: &IntakeTable, files: &[Vec<u8>]) -> Metadata {
    evolved(table, files, SchemaChange::Overwrite)
        .unwrap()
        .unwrap()
        .0
}

/// `name type` of each column, ` NOT NULL` where it is so.
fn columns(metadata: &Metadata) -> Vec<String> {
    let schema = StructType::parse(&metadata.schema_string).unwrap();
    let columns = schema.fields.iter().map(|field| {
        let null = if field.nullable { "" } else { " NOT NULL" };
        format!("{} {}{null}", field.name, field.data_type)
    });
    columns.collect()
}

fn column_metadata(metadata: &Metadata, name: &str) -> Value {
    let schema = StructType::parse(&metadata.schema_string).unwrap();
    Value::Object(schema.field(name).unwrap().metadata.clone())
}

fn structs(fields: Vec<(&str, ArrayRef)>) -> ArrayRef {
    let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) = fields
        .into_iter()
        .map(|(name, array)| (Field::new(name, array.data_type().clone(), true), array))
        .unzip();
    Arc::new(StructArray::new(fields.into(), arrays, None))
}

#[test]
fn f8_files_that_fit_change_nothing() {
    let table = typed("a", "long").not_null("b", "string").build();
    let files = [
        file_of([("B", texts(["x"])), ("a", ints([1]))]),
        file_of([("b", texts(["x"]))]),
    ];
    assert!(merged(&table, &files).is_none());
    let other = evolved(&table, &[file_of([("z", longs([1]))])], SchemaChange::None);
    assert!(other.unwrap().is_none());
    assert!(merged(&table, &[]).is_none());
}

#[test]
fn new_columns_come_behind_the_others_nullable() {
    let inner =
        r#"{"type":"struct","fields":[{"name":"x","type":"long","nullable":true,"metadata":{}}]}"#;
    let table = typed("s", inner).not_null("a", "long").build();
    let group = structs(vec![("y", texts(["a"])), ("X", longs([1]))]);
    let first = file_of([("n", texts(["x"])), ("a", longs([1])), ("S", group)]);
    let second = file_of([
        ("a", longs([1])),
        ("d", Arc::new(Date32Array::from(vec![1])) as ArrayRef),
    ]);
    let metadata = merged(&table, &[first, second]).unwrap();
    assert_eq!(
        columns(&metadata),
        [
            "s struct<x:long,y:string>",
            "a long NOT NULL",
            "n string",
            "d date"
        ]
    );
    assert_eq!(metadata.configuration, table.metadata.configuration);
}

#[test]
fn bytes_and_shorts_widen_and_the_rest_only_where_the_table_says_so() {
    let builder = typed("b", "byte")
        .column("i", "integer")
        .column("f", "float")
        .column("m", "decimal(5,2)")
        .column(
            "l",
            r#"{"type":"array","elementType":"integer","containsNull":true}"#,
        );
    let decimals = Decimal128Array::from(vec![1])
        .with_precision_and_scale(8, 3)
        .unwrap();
    let list = ListArray::from_iter_primitive::<Int32Type, _, _>([Some([Some(1)])]);
    let longs_in_list = arrow::compute::cast(
        &list,
        &DataType::List(Arc::new(Field::new("item", DataType::Int64, true))),
    )
    .unwrap();
    let file = file_of([
        ("b", Arc::new(Int16Array::from(vec![1])) as ArrayRef),
        ("i", longs([1])),
        ("f", Arc::new(arrow::array::Float64Array::from(vec![1.0]))),
        ("m", Arc::new(decimals)),
        ("l", longs_in_list),
    ]);
    let plain = merged(&builder.clone().build(), std::slice::from_ref(&file)).unwrap();
    assert_eq!(
        columns(&plain),
        [
            "b short",
            "i integer",
            "f float",
            "m decimal(5,2)",
            "l array<integer>"
        ]
    );
    assert_eq!(
        column_metadata(&plain, "b"),
        json!({}),
        "no feature, no record"
    );

    let widening = builder
        .property("delta.enableTypeWidening", "true")
        .features(&["typeWidening"])
        .build();
    let metadata = merged(&widening, std::slice::from_ref(&file)).unwrap();
    assert_eq!(
        columns(&metadata),
        [
            "b short",
            "i long",
            "f double",
            "m decimal(8,3)",
            "l array<long>"
        ]
    );
    assert_eq!(
        column_metadata(&metadata, "i"),
        json!({"delta.typeChanges": [{"fromType": "integer", "toType": "long"}]})
    );
    assert_eq!(
        column_metadata(&metadata, "l"),
        json!({"delta.typeChanges": [
            {"fromType": "integer", "toType": "long", "fieldPath": "element"}
        ]})
    );
    // What is no widening stays, and the file is refused.
    let wrong = file_of([("i", texts(["x"]))]);
    assert!(merged(&widening, std::slice::from_ref(&wrong)).is_none());
    assert!(widening.refusal(&wrong).contains("column i"));
}

#[test]
fn new_columns_get_ids_and_physical_names_under_mapping() {
    let table = IntakeBuilder::default()
        .field("a", "long", true, &mapped(4, "col-a"))
        .property("delta.columnMapping.mode", "name")
        .property("delta.columnMapping.maxColumnId", "9")
        .features(&["columnMapping"])
        .build();
    let group = structs(vec![("x y", longs([1]))]);
    let file = file_of([("a", longs([1])), ("g, h", group)]);
    let metadata = merged(&table, &[file]).unwrap();
    assert_eq!(
        metadata.configuration["delta.columnMapping.maxColumnId"],
        "11"
    );
    let schema = StructType::parse(&metadata.schema_string).unwrap();
    assert_eq!(schema.fields[0].physical_name(), Some("col-a"));
    assert_eq!(schema.fields[1].column_id(), Some(10));
    let name = schema.fields[1].physical_name().unwrap();
    assert!(name.starts_with("col-") && name.len() == 40, "{name}");
    let crate::schema::DataType::Struct(inner) = &schema.fields[1].data_type else {
        panic!("{:?}", schema.fields[1]);
    };
    assert_eq!(inner.fields[0].column_id(), Some(11));
    assert_ne!(inner.fields[0].physical_name(), Some(name));
}

#[test]
fn names_and_types_that_take_a_feature_are_refused() {
    let table = typed("a", "long").build();
    let refusal = |file: Vec<u8>| {
        let refused = evolved(&table, &[file], SchemaChange::Merge);
        refused.unwrap_err().to_string()
    };
    let text = refusal(file_of([("b c", longs([1]))]));
    assert!(
        text.contains("b c") && text.contains("column mapping"),
        "{text}"
    );
    let text = refusal(file_of([("s", structs(vec![("x=y", longs([1]))]))]));
    assert!(text.contains("s.x=y"), "{text}");
    let times: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![1]));
    let text = refusal(file_of([("n", times.clone())]));
    assert!(
        text.contains("timestampNtz") && text.contains("column n"),
        "{text}"
    );
    let text = refusal(file_of([("u", Arc::new(NullArray::new(1)) as ArrayRef)]));
    assert!(
        text.contains("column u") && text.contains("no type"),
        "{text}"
    );
    let feed = typed("a", "long")
        .property("delta.enableChangeDataFeed", "true")
        .build();
    let reserved = file_of([("_Commit_Version", longs([1]))]);
    let text = evolved(&feed, std::slice::from_ref(&reserved), SchemaChange::Merge).unwrap_err();
    assert!(text.to_string().contains("change data feed"), "{text}");
    assert!(
        merged(&table, &[reserved]).is_some(),
        "without a feed it may"
    );
    let ntz = typed("a", "long").features(&["timestampNtz"]).build();
    let metadata = merged(&ntz, &[file_of([("n", times)])]).unwrap();
    assert_eq!(columns(&metadata), ["a long", "n timestamp_ntz"]);
}

#[test]
fn overwriting_takes_the_schema_of_the_files() {
    let commented = r#"{"comment":"kept"}"#;
    let table = typed("gone", "long")
        .field("same", "string", false, commented)
        .field("other", "integer", true, commented)
        .column("p", "date")
        .partitioned_by(&["p"])
        .build();
    let first = file_of([("other", texts(["x"])), ("same", texts(["y"]))]);
    let second = file_of([("other", texts(["x"])), ("more", longs([1]))]);
    let metadata = overwritten(&table, &[first, second]);
    assert_eq!(
        columns(&metadata),
        ["other string", "same string", "more long", "p date"]
    );
    assert_eq!(
        column_metadata(&metadata, "same"),
        json!({"comment": "kept"})
    );
    assert_eq!(column_metadata(&metadata, "other"), json!({}));

    // The wider of the types of several files.
    let files = [file_of([("a", ints([1]))]), file_of([("a", longs([1]))])];
    let metadata = overwritten(&typed("a", "string").build(), &files);
    assert_eq!(columns(&metadata), ["a long"]);
}

#[test]
fn overwriting_keeps_the_physical_names_of_columns_that_stay() {
    let inner = format!(
        r#"{{"type":"struct","fields":[{{"name":"x","type":"long","nullable":true,"metadata":{}}}]}}"#,
        mapped(3, "col-x")
    );
    let table = IntakeBuilder::default()
        .field("a", "long", true, &mapped(1, "col-a"))
        .field("s", &inner, true, &mapped(2, "col-s"))
        .property("delta.columnMapping.mode", "id")
        .property("delta.columnMapping.maxColumnId", "3")
        .features(&["columnMapping"])
        .build();
    let group = structs(vec![("y", longs([1])), ("x", longs([1]))]);
    let metadata = overwritten(&table, &[file_of([("s", group), ("b", longs([1]))])]);
    let schema = StructType::parse(&metadata.schema_string).unwrap();
    schema
        .check_mapping(crate::schema::MappingMode::Id)
        .unwrap();
    assert_eq!(schema.fields[0].physical_name(), Some("col-s"));
    assert!(metadata.schema_string.contains("\"col-x\""));
    assert!(!metadata.schema_string.contains("\"col-a\""));
    assert_eq!(
        metadata.configuration["delta.columnMapping.maxColumnId"],
        "5"
    );
}

#[test]
fn files_have_the_types_that_spark_reads() {
    let decimals = Decimal128Array::from(vec![1])
        .with_precision_and_scale(30, 4)
        .unwrap();
    let list = ListArray::from_iter_primitive::<Int32Type, _, _>([Some([Some(1)])]);
    let file = file_of([
        ("b", Arc::new(Int8Array::from(vec![1])) as ArrayRef),
        ("u", Arc::new(UInt32Array::from(vec![1]))),
        ("w", Arc::new(UInt64Array::from(vec![1]))),
        ("f", Arc::new(Float32Array::from(vec![1.0]))),
        ("o", Arc::new(BooleanArray::from(vec![true]))),
        ("m", Arc::new(decimals)),
        (
            "t",
            Arc::new(TimestampMicrosecondArray::from(vec![1]).with_timezone("Europe/Berlin")),
        ),
        ("n", Arc::new(TimestampMicrosecondArray::from(vec![1]))),
        ("l", Arc::new(list)),
        ("s", structs(vec![("x", texts(["a"]))])),
    ]);
    let schema = schema_of_file(&staged("in.parquet", &[], &file)).unwrap();
    let types: Vec<String> = schema
        .fields
        .iter()
        .map(|field| format!("{} {}", field.name, field.data_type))
        .collect();
    assert_eq!(
        types,
        [
            "b byte",
            "u long",
            "w decimal(20,0)",
            "f float",
            "o boolean",
            "m decimal(30,4)",
            "t timestamp",
            "n timestamp_ntz",
            "l array<integer>",
            "s struct<x:string>"
        ]
    );
    assert!(schema.fields.iter().all(|field| field.nullable));
    // A table of that schema takes the file in.
    let (protocol, metadata) = new_table(schema.clone(), &[], &BTreeMap::new()).unwrap();
    let rules = crate::protocol::check_writable(&protocol, &metadata, &schema).unwrap();
    let table = IntakeTable {
        clustering: Vec::new(),
        protocol,
        metadata,
        shape: crate::snapshot::TableShape {
            schema,
            mapping: Default::default(),
            fingerprint: 0,
        },
        rules,
    };
    assert_eq!(table.one(&file).rows().num_rows(), 1);
}

#[test]
fn new_tables_list_what_they_need() {
    let schema = |columns: IntakeBuilder| columns.features(&["timestampNtz"]).build().shape.schema;
    let plain = || schema(typed("a", "long").column("b", "string"));
    let create = |schema: StructType, partition_by: &[&str], properties: &[(&str, &str)]| {
        let partition_by: Vec<String> =
            partition_by.iter().map(|name| (*name).to_owned()).collect();
        let properties = properties.iter();
        let properties = properties.map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        new_table(schema, &partition_by, &properties.collect())
    };
    let (protocol, metadata) = create(plain(), &["b"], &[("delta.appendOnly", "true")]).unwrap();
    assert_eq!(
        (protocol.min_reader_version, protocol.min_writer_version),
        (1, 2)
    );
    assert_eq!(protocol.writer_features, None);
    assert_eq!(metadata.partition_columns, ["b"]);
    assert_eq!(metadata.id.len(), 36);

    let writers = |properties: &[(&str, &str)]| {
        let (protocol, metadata) = create(plain(), &[], properties).unwrap();
        let reader = protocol.min_reader_version;
        (
            reader,
            protocol.writer_features.unwrap().join(" "),
            metadata,
        )
    };
    let (reader, features, _) = writers(&[("delta.enableChangeDataFeed", "true")]);
    assert_eq!(
        (reader, features.as_str()),
        (1, "appendOnly changeDataFeed invariants")
    );
    let (reader, features, _) = writers(&[("delta.constraints.c", "a > 0")]);
    assert_eq!(
        (reader, features.as_str()),
        (1, "appendOnly checkConstraints invariants")
    );
    let (reader, features, metadata) = writers(&[("delta.feature.deletionVectors", "supported")]);
    assert_eq!(
        (reader, features.as_str()),
        (3, "appendOnly deletionVectors invariants")
    );
    assert!(metadata.configuration.is_empty());
    let (_, features, metadata) = writers(&[("delta.columnMapping.mode", "name")]);
    assert_eq!(features, "appendOnly columnMapping invariants");
    assert_eq!(
        metadata.configuration["delta.columnMapping.maxColumnId"],
        "2"
    );
    for (feature, expected) in [
        ("rowTracking", "domainMetadata invariants rowTracking"),
        ("clustering", "clustering domainMetadata invariants"),
        (
            "variantShredding",
            "invariants variantShredding variantType",
        ),
    ] {
        let (_, features, _) = writers(&[(&format!("delta.feature.{feature}"), "supported")]);
        assert_eq!(features, format!("appendOnly {expected}"));
    }
    let (_, features, metadata) = writers(&[("delta.enableRowTracking", "true")]);
    assert_eq!(features, "appendOnly domainMetadata invariants rowTracking");
    assert!(
        metadata
            .configuration
            .contains_key("delta.rowTracking.materializedRowIdColumnName")
    );

    let default = r#"{"CURRENT_DEFAULT":"oops("}"#;
    for (schema, partition_by, properties, part) in [
        (plain(), &["a", "b"][..], &[][..], "every column"),
        (plain(), &["c"], &[], "c is no column"),
        (plain(), &["a", "a"], &[], "named twice"),
        (StructType::default(), &[], &[], "no columns"),
        (
            plain(),
            &[],
            &[("delta.enableIcebergCompatV2", "true")],
            "icebergCompatV2",
        ),
        (
            plain(),
            &[],
            &[("delta.feature.fooBar", "supported")],
            "fooBar",
        ),
        (
            plain(),
            &[],
            &[("delta.minWriterVersion", "5")],
            "minWriterVersion",
        ),
        (
            plain(),
            &["b"],
            &[("delta.feature.clustering", "supported")],
            "cannot be clustered",
        ),
        (
            plain(),
            &[],
            &[("delta.appendonly", "true")],
            "delta.appendOnly",
        ),
        (
            plain(),
            &[],
            &[("delta.checkpointInterval", "often")],
            "1 or more",
        ),
        (
            plain(),
            &[],
            &[("delta.logRetentionDuration", "5 parsecs")],
            "interval",
        ),
        (plain(), &[], &[("delta.constraints.c", "z > 0")], "\"z\""),
        (
            schema(typed("a", "long").field("b", "long", true, default)),
            &[],
            &[],
            "oops(",
        ),
        (
            schema(typed("a", "long").column("_change_type", "long")),
            &[],
            &[("delta.enableChangeDataFeed", "true")],
            "_change_type",
        ),
        (
            schema(typed("a b", "long").column("c", "long")),
            &[],
            &[],
            "column mapping",
        ),
    ] {
        let text = create(schema, partition_by, properties)
            .unwrap_err()
            .to_string();
        assert!(text.contains(part), "{text}");
    }
}
