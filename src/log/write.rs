//! Writing actions: the lines of a commit file (PROTOCOL.md, "Delta Log Entries", "Actions").

use std::collections::BTreeMap;

use bytes::Bytes;
use serde::Serialize;
use serde_json::{Map, Value};

use super::actions::{
    DeletionVectorDescriptor, DomainMetadata, Metadata, Protocol, SetTransaction,
};
use crate::base::clock::TimestampMs;

/// `add` as it is written (PROTOCOL.md, "Add File and Remove File").
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AddFile {
    /// The path as the log has it: [`Location::to_log_path`](crate::storage::Location::to_log_path).
    pub path: String,
    /// The values of the partition columns: physical names, serialised values, null for null.
    pub partition_values: BTreeMap<String, Option<String>>,
    /// Size of the data file, bytes.
    pub size: u64,
    /// When the logical file was made, milliseconds since the epoch.
    pub modification_time: TimestampMs,
    /// Whether the rows are new, rather than moved here from files removed by the same commit.
    pub data_change: bool,
    /// The statistics, JSON text (PROTOCOL.md, "Per-file Statistics").
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stats: Option<String>,
    /// What others noted about the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tags: Option<BTreeMap<String, Option<String>>>,
    /// The deletion vector of the logical file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deletion_vector: Option<DeletionVectorDescriptor>,
    /// The row id of the first row (PROTOCOL.md, "Row IDs").
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_row_id: Option<i64>,
    /// The version that first added the path (PROTOCOL.md, "Row commit versions").
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_row_commit_version: Option<i64>,
    /// Who clustered the rows (PROTOCOL.md, "Clustered Table").
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clustering_provider: Option<String>,
}

/// `remove` as it is written (PROTOCOL.md, "Add File and Remove File").
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RemoveFile {
    /// The path as the `add` of the file has it.
    pub path: String,
    /// When, milliseconds since the epoch: VACUUM keeps the file for a while after it.
    pub deletion_timestamp: TimestampMs,
    /// Whether the rows are gone, rather than moved to files added by the same commit.
    pub data_change: bool,
    /// Whether `partition_values`, `size` and `tags` are those of the `add`.
    pub extended_file_metadata: bool,
    /// The values of the partition columns: physical names, serialised values, null for null.
    pub partition_values: BTreeMap<String, Option<String>>,
    /// Size of the data file, bytes.
    pub size: u64,
    /// The deletion vector of the logical file that goes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deletion_vector: Option<DeletionVectorDescriptor>,
    /// As the `add` of the file has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_row_id: Option<i64>,
    /// As the `add` of the file has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_row_commit_version: Option<i64>,
    /// As the `add` of the file has them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tags: Option<BTreeMap<String, Option<String>>>,
}

/// The lines of a commit file in the making: one action a line, each a JSON object. `commitInfo` is to
/// come first, as in-commit timestamps demand (PROTOCOL.md, "Writer Requirements for In-Commit
/// Timestamps").
#[derive(Debug, Clone, Default)]
pub struct CommitLines(Vec<u8>);

impl CommitLines {
    /// Adds a `commitInfo`.
    pub fn commit_info(&mut self, info: &Map<String, Value>) {
        self.line("commitInfo", info);
    }

    /// Adds a `protocol`.
    pub fn protocol(&mut self, protocol: &Protocol) {
        self.line("protocol", protocol);
    }

    /// Adds a `metaData`.
    pub fn metadata(&mut self, metadata: &Metadata) {
        self.line("metaData", metadata);
    }

    /// Adds a `txn`.
    pub fn transaction(&mut self, transaction: &SetTransaction) {
        self.line("txn", transaction);
    }

    /// Adds a `domainMetadata`.
    pub fn domain(&mut self, domain: &DomainMetadata) {
        self.line("domainMetadata", domain);
    }

    /// Adds an `add`.
    pub fn add(&mut self, add: &AddFile) {
        self.line("add", add);
    }

    /// Adds a `remove`.
    pub fn remove(&mut self, remove: &RemoveFile) {
        self.line("remove", remove);
    }

    /// Adds lines made before.
    pub fn append(&mut self, lines: &CommitLines) {
        self.0.extend_from_slice(&lines.0);
    }

    /// Adds one line. JSON text has no line feed of its own: those in strings are escaped.
    fn line(&mut self, name: &str, fields: &impl Serialize) {
        self.0.extend_from_slice(b"{\"");
        self.0.extend_from_slice(name.as_bytes());
        self.0.extend_from_slice(b"\":");
        serde_json::to_writer(&mut self.0, fields)
            .expect("writing to memory does not fail, and every map has text for keys");
        self.0.extend_from_slice(b"}\n");
    }

    /// The content of the file.
    pub fn into_bytes(self) -> Bytes {
        Bytes::from(self.0)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::log::actions::Format;

    fn add(path: &str) -> AddFile {
        AddFile {
            path: path.to_owned(),
            partition_values: BTreeMap::from([
                ("p".to_owned(), Some("a\n\u{2028}\"b".to_owned())),
                ("q".to_owned(), None),
            ]),
            size: 10,
            modification_time: 5,
            data_change: true,
            stats: Some("{\"numRecords\":1}".to_owned()),
            tags: None,
            deletion_vector: None,
            base_row_id: None,
            default_row_commit_version: None,
            clustering_provider: None,
        }
    }

    /// The actions of a commit file, one a line.
    fn parsed(bytes: &[u8]) -> Vec<Value> {
        let text = std::str::from_utf8(bytes).expect("UTF-8");
        assert!(text.ends_with('\n'), "{text}");
        text.lines()
            .map(|line| serde_json::from_str(line).expect("each line is JSON"))
            .collect()
    }

    #[test]
    fn a_commit_is_one_action_a_line() {
        let mut info = Map::new();
        info.insert("operation".to_owned(), json!("WRITE"));
        let mut commit = CommitLines::default();
        commit.commit_info(&info);
        commit.add(&add("p=a%0A/f.parquet"));
        assert_eq!(
            parsed(&commit.into_bytes()),
            [
                json!({"commitInfo": {"operation": "WRITE"}}),
                json!({"add": {
                    "path": "p=a%0A/f.parquet",
                    "partitionValues": {"p": "a\n\u{2028}\"b", "q": null},
                    "size": 10,
                    "modificationTime": 5,
                    "dataChange": true,
                    "stats": "{\"numRecords\":1}",
                }}),
            ]
        );
    }

    #[test]
    fn fields_that_are_not_there_are_left_out() {
        let mut commit = CommitLines::default();
        commit.protocol(&Protocol {
            min_reader_version: 1,
            min_writer_version: 2,
            reader_features: None,
            writer_features: None,
        });
        commit.metadata(&Metadata {
            id: "1".to_owned(),
            name: None,
            description: None,
            format: Format::default(),
            schema_string: "{}".to_owned(),
            partition_columns: Vec::new(),
            created_time: None,
            configuration: BTreeMap::new(),
        });
        commit.transaction(&SetTransaction {
            app_id: "app".to_owned(),
            version: 3,
            last_updated: None,
        });
        commit.domain(&DomainMetadata {
            domain: "d".to_owned(),
            configuration: "{}".to_owned(),
            removed: false,
        });
        commit.remove(&RemoveFile {
            path: "f".to_owned(),
            deletion_timestamp: 7,
            data_change: false,
            extended_file_metadata: true,
            partition_values: BTreeMap::new(),
            size: 1,
            deletion_vector: Some(DeletionVectorDescriptor {
                storage_type: "i".to_owned(),
                path_or_inline_dv: "x".to_owned(),
                offset: None,
                size_in_bytes: 1,
                cardinality: 1,
            }),
            base_row_id: None,
            default_row_commit_version: None,
            tags: None,
        });
        assert_eq!(
            parsed(&commit.into_bytes()),
            [
                json!({"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}),
                json!({"metaData": {
                    "id": "1",
                    "format": {"provider": "parquet", "options": {}},
                    "schemaString": "{}",
                    "partitionColumns": [],
                    "configuration": {},
                }}),
                json!({"txn": {"appId": "app", "version": 3}}),
                json!({"domainMetadata": {"domain": "d", "configuration": "{}", "removed": false}}),
                json!({"remove": {
                    "path": "f",
                    "deletionTimestamp": 7,
                    "dataChange": false,
                    "extendedFileMetadata": true,
                    "partitionValues": {},
                    "size": 1,
                    "deletionVector": {
                        "storageType": "i", "pathOrInlineDv": "x", "sizeInBytes": 1, "cardinality": 1,
                    },
                }}),
            ]
        );
    }
}
