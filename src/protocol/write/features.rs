//! Writer features by name: which are known, and which hinder a writer of this release where they
//! are active.

use std::collections::BTreeSet;

use super::{COLLATIONS, DEFAULT, GENERATION, IDENTITY, INVARIANTS, find_field, is_true};
use crate::log::actions::{Metadata, Protocol};
use crate::protocol::ProtocolError;
use crate::schema::{StructField, StructType};

/// The writer features of the legacy writer versions: each version has those of the ones before it
/// (PROTOCOL.md, "Writer Version Requirements").
const LEGACY: &[(i32, &str)] = &[
    (2, "appendOnly"),
    (2, "invariants"),
    (3, "checkConstraints"),
    (4, "changeDataFeed"),
    (4, "generatedColumns"),
    (5, "columnMapping"),
    (6, "identityColumns"),
];

/// When a feature keeps this release from writing.
#[derive(Debug, Clone, Copy)]
enum Hindrance {
    /// Never: what it demands is done, or does not concern what is written here.
    None,
    /// Always, for that reason.
    Listed(&'static str),
    /// Where that table property is true.
    Property(&'static str),
    /// Where that table property is set at all.
    PropertySet(&'static str),
    /// Where a column, nested ones too, has a metadata key that begins so.
    Column(&'static str),
    /// Where a nested column has that metadata key; of top-level ones it is enforced.
    NestedColumn(&'static str),
}

/// Every writer feature that is known. A name that is not here is refused.
const KNOWN: &[(&str, Hindrance)] = &[
    ("appendOnly", Hindrance::None),
    ("invariants", Hindrance::NestedColumn(INVARIANTS)),
    ("checkConstraints", Hindrance::None),
    ("generatedColumns", Hindrance::NestedColumn(GENERATION)),
    ("allowColumnDefaults", Hindrance::NestedColumn(DEFAULT)),
    ("changeDataFeed", Hindrance::None),
    ("columnMapping", Hindrance::None),
    ("identityColumns", Hindrance::Column(IDENTITY)),
    ("deletionVectors", Hindrance::None),
    ("rowTracking", Hindrance::None),
    ("timestampNtz", Hindrance::None),
    ("domainMetadata", Hindrance::None),
    ("v2Checkpoint", Hindrance::None),
    (
        "catalogManaged",
        Hindrance::Listed(
            "its commits are made by the catalog alone, and one made in the file system would \
             corrupt table and catalog; write through the catalog",
        ),
    ),
    (
        "icebergCompatV1",
        Hindrance::Property("delta.enableIcebergCompatV1"),
    ),
    (
        "icebergCompatV2",
        Hindrance::Property("delta.enableIcebergCompatV2"),
    ),
    (
        "icebergCompatV3",
        Hindrance::Property("delta.enableIcebergCompatV3"),
    ),
    (
        "icebergWriterCompatV1",
        Hindrance::Property("delta.enableIcebergWriterCompatV1"),
    ),
    (
        "icebergWriterCompatV3",
        Hindrance::Property("delta.enableIcebergWriterCompatV3"),
    ),
    ("clustering", Hindrance::None),
    ("vacuumProtocolCheck", Hindrance::None),
    ("inCommitTimestamp", Hindrance::None),
    ("typeWidening", Hindrance::None),
    ("variantType", Hindrance::None),
    ("variantShredding", Hindrance::None),
    ("checkpointProtection", Hindrance::None),
    ("materializePartitionColumns", Hindrance::None),
    ("collations", Hindrance::Column(COLLATIONS)),
    (
        "coordinatedCommits",
        Hindrance::PropertySet("delta.coordinatedCommits.commitCoordinator-preview"),
    ),
    (
        "redirectReaderWriter",
        Hindrance::PropertySet("delta.redirectReaderWriter-preview"),
    ),
    (
        "redirectWriterOnly",
        Hindrance::PropertySet("delta.redirectWriterOnly-preview"),
    ),
];

/// Older names of features.
const ALIASES: &[(&str, &str)] = &[
    ("catalogOwned", "catalogManaged"),
    ("managedCommit", "coordinatedCommits"),
];

/// The writer features that a protocol supports, by their final names.
pub(super) struct Supported {
    features: BTreeSet<String>,
}

impl Supported {
    /// Those of a protocol action. A preview's name means the same as the final one.
    pub(super) fn of(protocol: &Protocol) -> Result<Supported, ProtocolError> {
        let version = protocol.min_writer_version;
        let features = match version {
            1..=6 => LEGACY
                .iter()
                .filter(|(since, _)| *since <= version)
                .map(|(_, name)| (*name).to_owned())
                .collect(),
            7 => {
                let names = protocol.writer_features.as_ref().ok_or_else(|| {
                    ProtocolError::Contradiction {
                        problem: "minWriterVersion 7 without writerFeatures, which must exist then"
                            .to_owned(),
                    }
                })?;
                names.iter().map(|name| final_name(name)).collect()
            }
            found => return Err(ProtocolError::WriterVersion { found }),
        };
        Ok(Supported { features })
    }

    /// Whether a feature is among them.
    pub(super) fn has(&self, name: &str) -> bool {
        self.features.contains(name)
    }
}

fn final_name(name: &str) -> String {
    let name = name.strip_suffix("-preview").unwrap_or(name);
    let alias = ALIASES.iter().find(|(older, _)| *older == name);
    alias.map_or(name, |(_, newer)| newer).to_owned()
}

/// Refuses what hinders, every feature of it by name.
pub(super) fn check(
    supported: &Supported,
    metadata: &Metadata,
    schema: &StructType,
) -> Result<(), ProtocolError> {
    let mut problems = Vec::new();
    for name in &supported.features {
        let Some((_, hindrance)) = KNOWN.iter().find(|(known, _)| known == name) else {
            problems.push(format!("{name} (this release does not know it)"));
            continue;
        };
        if let Some(reason) = hinders(*hindrance, metadata, schema) {
            problems.push(format!("{name} ({reason})"));
        }
    }
    if !problems.is_empty() {
        return Err(ProtocolError::WriterFeatures { features: problems });
    }
    match find_field(schema, &|field| field.data_type.foreign().is_some()) {
        None => Ok(()),
        Some(column) => Err(ProtocolError::ForeignType { column }),
    }
}

fn hinders(hindrance: Hindrance, metadata: &Metadata, schema: &StructType) -> Option<String> {
    let value = |property: &str| metadata.configuration.get(property);
    match hindrance {
        Hindrance::None => None,
        Hindrance::Listed(reason) => Some(reason.to_owned()),
        Hindrance::Property(property) => {
            is_true(metadata, property).then(|| format!("table property {property} is true"))
        }
        Hindrance::PropertySet(property) => {
            value(property).map(|value| format!("table property {property} is {value:?}"))
        }
        Hindrance::Column(prefix) => {
            let column = find_field(schema, &|field| has_key(field, prefix))?;
            Some(format!("column {column} uses it"))
        }
        Hindrance::NestedColumn(key) => schema.fields.iter().find_map(|field| {
            let alone = StructType {
                fields: vec![StructField {
                    metadata: serde_json::Map::new(),
                    ..field.clone()
                }],
            };
            let column = find_field(&alone, &|field| field.metadata.contains_key(key))?;
            Some(format!(
                "the nested column {column} has {key}, which is enforced of top-level columns alone"
            ))
        }),
    }
}

fn has_key(field: &StructField, prefix: &str) -> bool {
    field.metadata.keys().any(|key| key.starts_with(prefix))
}

/// The names of the features that this release knows, for documentation to be checked against.
#[cfg(test)]
pub(super) fn known() -> impl Iterator<Item = &'static str> {
    KNOWN.iter().map(|(name, _)| *name)
}
