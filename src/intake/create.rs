//! The first protocol and metadata of a new table.

mod properties;

use std::collections::{BTreeMap, BTreeSet};

use uuid::Uuid;

use super::constraints::Rules;
use super::schema::{
    MAX_ID, assign_ids, column_metadata, features_of_types, first_bad_name, reserved_column,
};
use super::{IntakeError, Target};
use crate::base::clock::now_ms;
use crate::log::actions::{Format, Metadata, Protocol};
use crate::protocol::{CheckpointSettings, check_writable};
use crate::schema::{DataType, MappingMode, PrimitiveType, StructType};
use crate::snapshot::TableShape;

/// Features that every table supports whose writer version is 2: they stay when features are listed.
const DEFAULT: [&str; 2] = ["appendOnly", "invariants"];
/// Features that readers have to know.
const READERS: &[&str] = &[
    "columnMapping",
    "deletionVectors",
    "timestampNtz",
    "typeWidening",
    "v2Checkpoint",
    "vacuumProtocolCheck",
    "variantShredding",
    "variantType",
];
/// Properties that take a feature where they are true.
const BY_PROPERTY: &[(&str, &[&str])] = &[
    ("delta.enableChangeDataFeed", &["changeDataFeed"]),
    ("delta.enableDeletionVectors", &["deletionVectors"]),
    (
        "delta.enableRowTracking",
        &["rowTracking", "domainMetadata"],
    ),
    ("delta.enableInCommitTimestamps", &["inCommitTimestamp"]),
    ("delta.enableTypeWidening", &["typeWidening"]),
    (
        "delta.enableVariantShredding",
        &["variantShredding", "variantType"],
    ),
    (
        "delta.enableIcebergCompatV1",
        &["icebergCompatV1", "columnMapping"],
    ),
    (
        "delta.enableIcebergCompatV2",
        &["icebergCompatV2", "columnMapping"],
    ),
    (
        "delta.enableIcebergCompatV3",
        &["icebergCompatV3", "columnMapping"],
    ),
];
/// Features without which others cannot be supported (PROTOCOL.md, the section of each).
const REQUIRED: &[(&str, &str)] = &[
    ("clustering", "domainMetadata"),
    ("icebergCompatV1", "columnMapping"),
    ("icebergCompatV2", "columnMapping"),
    ("icebergCompatV3", "columnMapping"),
    ("rowTracking", "domainMetadata"),
    ("variantShredding", "variantType"),
];
/// Column metadata that takes a feature.
const BY_COLUMN: &[(&str, &str)] = &[
    ("delta.generationExpression", "generatedColumns"),
    ("CURRENT_DEFAULT", "allowColumnDefaults"),
    ("delta.identity.start", "identityColumns"),
];

/// The protocol and metadata of version 0 of a table with that schema, partition columns and table
/// properties.
///
/// The protocol is (1, 2) where that is enough; else it lists all features: those that types,
/// properties (`delta.enableChangeDataFeed`, ..., `delta.feature.NAME` = `supported`) and column
/// metadata take, and those that every table of writer version 2 has. A feature that this release
/// does not enforce is refused, as in [`check_writable`], and so is an expression that this release
/// does not evaluate, and a property that Delta does not know.
pub fn new_table(
    mut schema: StructType,
    partition_by: &[String],
    properties: &BTreeMap<String, String>,
) -> Result<(Protocol, Metadata), IntakeError> {
    let refused = |problem: String| IntakeError::NewTable { problem };
    for version in ["delta.minReaderVersion", "delta.minWriterVersion"] {
        if properties.contains_key(version) {
            return Err(refused(format!(
                "{version} follows from the features of the table; leave it out, and ask for a \
                 feature with delta.feature.NAME = supported"
            )));
        }
    }
    properties::check(properties)?;
    let mut configuration = properties.clone();
    let mut features = requested_features(&mut configuration)?;
    let mode = configuration.get("delta.columnMapping.mode");
    let mapping = MappingMode::from_property(mode.map(String::as_str))
        .map_err(|error| refused(error.to_string()))?;
    if mapping != MappingMode::None {
        features.insert("columnMapping".to_owned());
        let greatest = assign_ids(&mut schema, 0);
        configuration.insert(MAX_ID.to_owned(), greatest.to_string());
    }
    check_schema(&schema, partition_by, mapping)?;
    features.extend(features_of_types(&schema).into_iter().map(str::to_owned));
    for (key, feature) in BY_COLUMN {
        if column_metadata(&schema, key) {
            features.insert((*feature).to_owned());
        }
    }
    for (feature, required) in REQUIRED {
        if features.contains(*feature) {
            features.insert((*required).to_owned());
        }
    }
    if features.contains("clustering") && !partition_by.is_empty() {
        let problem = "a table with partition columns cannot be clustered; leave one of them out";
        return Err(refused(problem.to_owned()));
    }
    if configuration
        .get("delta.enableRowTracking")
        .is_some_and(|v| is_true(v))
    {
        for (key, prefix) in [
            ("materializedRowIdColumnName", "_row-id-col-"),
            (
                "materializedRowCommitVersionColumnName",
                "_row-commit-version-col-",
            ),
        ] {
            let name = format!("{prefix}{}", Uuid::new_v4());
            configuration.insert(format!("delta.rowTracking.{key}"), name);
        }
    }
    let protocol = protocol(features);
    let metadata = Metadata {
        id: Uuid::new_v4().to_string(),
        name: None,
        description: None,
        format: Format::default(),
        schema_string: schema.to_json(),
        partition_columns: partition_by.to_vec(),
        created_time: Some(now_ms()),
        configuration,
    };
    let rules = check_writable(&protocol, &metadata, &schema)?;
    if rules.change_data_feed
        && let Some(column) = reserved_column(&schema)
    {
        return Err(refused(format!(
            "column {column} has a name that the change data feed needs; rename it, or leave out \
             delta.enableChangeDataFeed"
        )));
    }
    CheckpointSettings::of(&protocol, &metadata)?;
    // Rows could not be added before somebody mended an expression that cannot be read.
    let shape =
        TableShape::of(0, &protocol, &metadata).map_err(|error| refused(error.to_string()))?;
    let target = Target {
        protocol: &protocol,
        metadata: &metadata,
        shape: &shape,
        rules: &rules,
        clustering: &[],
        now: now_ms(),
    };
    Rules::compile(&target, &|_| true)?;
    Ok((protocol, metadata))
}

/// The features that properties take. `delta.feature.NAME` is no property of the table and goes.
fn requested_features(
    configuration: &mut BTreeMap<String, String>,
) -> Result<BTreeSet<String>, IntakeError> {
    let refused = |problem: String| IntakeError::NewTable { problem };
    let mut features = BTreeSet::new();
    for (key, value) in configuration.iter() {
        if let Some(feature) = key.strip_prefix("delta.feature.") {
            if !matches!(value.as_str(), "supported" | "enabled") {
                return Err(refused(format!(
                    "{key} is {value:?}; expected \"supported\""
                )));
            }
            features.insert(feature.to_owned());
        } else if key.starts_with("delta.constraints.") {
            features.insert("checkConstraints".to_owned());
        } else if key == "delta.checkpointPolicy" && value == "v2" {
            features.insert("v2Checkpoint".to_owned());
        } else if let Some((_, taken)) = BY_PROPERTY.iter().find(|(property, _)| property == key)
            && is_true(value)
        {
            features.extend(taken.iter().map(|name| (*name).to_owned()));
        }
    }
    configuration.retain(|key, _| !key.starts_with("delta.feature."));
    Ok(features)
}

fn is_true(value: &str) -> bool {
    value.eq_ignore_ascii_case("true")
}

fn check_schema(
    schema: &StructType,
    partition_by: &[String],
    mapping: MappingMode,
) -> Result<(), IntakeError> {
    let refused = |problem: String| IntakeError::NewTable { problem };
    if schema.fields.is_empty() {
        return Err(refused("its schema has no columns; give it one".to_owned()));
    }
    if let Some((column, problem)) = first_bad_name(schema, mapping) {
        return Err(refused(format!("column {column}: {problem}")));
    }
    if schema.has_type(&DataType::Primitive(PrimitiveType::Void)) {
        let problem = "a column has the type void, which holds nothing; give it another";
        return Err(refused(problem.to_owned()));
    }
    let fields = schema
        .partition_fields(partition_by)
        .map_err(|_| refused(partition_problem(schema, partition_by)))?;
    if fields.len() == schema.fields.len() {
        let problem = "every column is a partition column; leave one that is not";
        return Err(refused(problem.to_owned()));
    }
    schema
        .check_mapping(mapping)
        .map_err(|error| refused(error.to_string()))
}

/// What is wrong with partition columns.
fn partition_problem(schema: &StructType, partition_by: &[String]) -> String {
    for (index, column) in partition_by.iter().enumerate() {
        if partition_by[..index].contains(column) {
            return format!("the partition column {column} is named twice");
        }
        match schema.field(column) {
            None => {
                let names: Vec<&str> = schema.fields.iter().map(|f| f.name.as_str()).collect();
                return format!(
                    "the partition column {column} is no column of it; its columns are {}",
                    names.join(", ")
                );
            }
            Some(field) if !matches!(field.data_type, DataType::Primitive(_)) => {
                return format!(
                    "the partition column {column} is {}; only columns without parts can partition \
                     a table",
                    field.data_type
                );
            }
            Some(_) => {}
        }
    }
    "its partition columns make no sense".to_owned()
}

fn protocol(mut features: BTreeSet<String>) -> Protocol {
    features.retain(|name| !DEFAULT.contains(&name.as_str()));
    if features.is_empty() {
        return Protocol {
            min_reader_version: 1,
            min_writer_version: 2,
            reader_features: None,
            writer_features: None,
        };
    }
    features.extend(DEFAULT.map(str::to_owned));
    let is_for_readers = |name: &&String| {
        let name = name.strip_suffix("-preview").unwrap_or(name);
        READERS.contains(&name)
    };
    let readers: Vec<String> = features.iter().filter(is_for_readers).cloned().collect();
    Protocol {
        min_reader_version: if readers.is_empty() { 1 } else { 3 },
        min_writer_version: 7,
        reader_features: (!readers.is_empty()).then_some(readers),
        writer_features: Some(features.into_iter().collect()),
    }
}
