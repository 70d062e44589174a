//! The actions of the log (PROTOCOL.md, "Actions"), as far as readers need their fields.
//! Unknown fields and unknown actions are ignored, as "Protocol Evolution" demands.

mod values;

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::base::clock::TimestampMs;
use values::{null_as_default, properties, whole_or_zero};
pub(super) use values::{partition_values, whole, whole_or_null};

/// `metaData` (PROTOCOL.md, "Change Metadata").
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Metadata {
    /// Unique id of the table.
    pub id: String,
    /// The table's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The table's description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// How data files are encoded.
    #[serde(default, deserialize_with = "null_as_default")]
    pub format: Format,
    /// The schema as JSON text; empty where the action has none, which Delta on Spark takes for a
    /// table without columns.
    #[serde(default, deserialize_with = "null_as_default")]
    pub schema_string: String,
    /// Logical names of the partition columns, in order.
    #[serde(default, deserialize_with = "null_as_default")]
    pub partition_columns: Vec<String>,
    /// When this action was made, milliseconds since the epoch.
    #[serde(
        default,
        deserialize_with = "whole_or_null",
        skip_serializing_if = "Option::is_none"
    )]
    pub created_time: Option<TimestampMs>,
    /// Table properties.
    #[serde(default, deserialize_with = "properties")]
    pub configuration: BTreeMap<String, String>,
}

/// PROTOCOL.md, "Format Specification".
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Format {
    /// `parquet` in every table that Delta Lake since 0.3 makes.
    pub provider: String,
    /// Options of the provider.
    #[serde(deserialize_with = "properties")]
    pub options: BTreeMap<String, String>,
}

impl Default for Format {
    fn default() -> Format {
        Format {
            provider: "parquet".to_owned(),
            options: BTreeMap::new(),
        }
    }
}

/// `protocol` (PROTOCOL.md, "Protocol Evolution").
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Protocol {
    /// The reader version a reader must support.
    pub min_reader_version: i32,
    /// The writer version a writer must support.
    pub min_writer_version: i32,
    /// Features a reader must support; present exactly from reader version 3 on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reader_features: Option<Vec<String>>,
    /// Features a writer must support; present exactly from writer version 7 on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writer_features: Option<Vec<String>>,
}

/// PROTOCOL.md, "Deletion Vector Descriptor Schema".
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeletionVectorDescriptor {
    /// `u` (relative path from a UUID), `p` (absolute path) or `i` (inline).
    pub storage_type: String,
    /// What `storage_type` says.
    pub path_or_inline_dv: String,
    /// Where the vector begins in its file, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<i32>,
    /// Size of the serialised vector, bytes.
    pub size_in_bytes: i32,
    /// How many rows are deleted.
    pub cardinality: i64,
}

impl DeletionVectorDescriptor {
    /// `deletionVector.uniqueId` (PROTOCOL.md, "Derived Fields").
    pub fn unique_id(&self) -> String {
        match self.offset {
            None => format!("{}{}", self.storage_type, self.path_or_inline_dv),
            Some(offset) => format!("{}{}@{offset}", self.storage_type, self.path_or_inline_dv),
        }
    }
}

/// Partition values as the log has them: physical column names, serialised values, null for null.
pub type PartitionValues<'a> = Vec<(Cow<'a, str>, Option<Cow<'a, str>>)>;

/// `add` (PROTOCOL.md, "Add File and Remove File"), without its statistics.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Add<'a> {
    /// The path as the log has it: a URI, relative to the table root or absolute.
    #[serde(borrow)]
    pub path: Cow<'a, str>,
    /// The values of the partition columns.
    #[serde(
        borrow,
        default,
        deserialize_with = "partition_values",
        rename = "partitionValues"
    )]
    pub partition_values: PartitionValues<'a>,
    /// Size of the data file, bytes.
    #[serde(deserialize_with = "whole")]
    pub size: i64,
    /// When the logical file was made, milliseconds since the epoch; 0 where the log does not say.
    #[serde(default, deserialize_with = "whole_or_zero")]
    pub modification_time: TimestampMs,
    /// The deletion vector of the logical file.
    #[serde(default)]
    pub deletion_vector: Option<DeletionVectorDescriptor>,
}

/// `remove`, as far as it says which logical file goes.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Remove<'a> {
    /// The path as the log has it.
    #[serde(borrow)]
    pub path: Cow<'a, str>,
    /// The deletion vector of the logical file.
    #[serde(default)]
    pub deletion_vector: Option<DeletionVectorDescriptor>,
}

/// `txn` (PROTOCOL.md, "Transaction Identifiers").
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SetTransaction {
    /// Who makes the transactions.
    pub app_id: String,
    /// How far it has come.
    pub version: i64,
    /// When, milliseconds since the epoch.
    #[serde(
        default,
        deserialize_with = "whole_or_null",
        skip_serializing_if = "Option::is_none"
    )]
    pub last_updated: Option<TimestampMs>,
}

/// `domainMetadata` (PROTOCOL.md, "Domain Metadata").
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DomainMetadata {
    /// The name of the domain.
    pub domain: String,
    /// Its configuration.
    #[serde(default)]
    pub configuration: String,
    /// Whether this is a tombstone.
    #[serde(default)]
    pub removed: bool,
}

/// `sidecar` (PROTOCOL.md, "Sidecar File Information").
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Sidecar {
    /// URI-encoded; a bare file name, or a path that ends in one.
    pub path: String,
    /// Size of the file, bytes.
    pub size_in_bytes: i64,
}

/// `checkpointMetadata` (PROTOCOL.md, "Checkpoint Metadata").
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct CheckpointMetadata {
    /// The version of the checkpoint.
    pub version: i64,
}

/// The fields of `commitInfo` (PROTOCOL.md, "Commit Provenance Information") that mean something
/// here; the rest is kept as text.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CommitInfo {
    /// PROTOCOL.md, "In-Commit Timestamps": milliseconds since the epoch.
    #[serde(default)]
    pub in_commit_timestamp: Option<TimestampMs>,
}

/// One line of a commit file: at most one field is set in a valid log.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ActionLine<'a> {
    /// `add`.
    #[serde(borrow, default)]
    pub add: Option<Add<'a>>,
    /// `remove`.
    #[serde(borrow, default)]
    pub remove: Option<Remove<'a>>,
    /// `metaData`.
    #[serde(default)]
    pub meta_data: Option<Metadata>,
    /// `protocol`.
    #[serde(default)]
    pub protocol: Option<Protocol>,
    /// `txn`.
    #[serde(default)]
    pub txn: Option<SetTransaction>,
    /// `domainMetadata`.
    #[serde(default)]
    pub domain_metadata: Option<DomainMetadata>,
    /// `commitInfo`, unparsed.
    #[serde(borrow, default)]
    pub commit_info: Option<&'a RawValue>,
    /// `checkpointMetadata`, in V2 checkpoints only.
    #[serde(default)]
    pub checkpoint_metadata: Option<CheckpointMetadata>,
    /// `sidecar`, in V2 checkpoints only.
    #[serde(default)]
    pub sidecar: Option<Sidecar>,
}
