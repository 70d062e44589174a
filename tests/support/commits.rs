//! Commits made through the library.

use std::collections::BTreeMap;

use deltafs::base::Version;
use deltafs::log::actions::{DeletionVectorDescriptor, SetTransaction};
use deltafs::log::write::{AddFile, RemoveFile};
use deltafs::snapshot::Table;
use deltafs::txn::{
    self, CommitOptions, CommitOutcome, Operation, PartitionFilter, Proposal, TxnError,
};
use serde_json::Value;
use uuid::Uuid;

use super::table::TableBuilder;

/// The condition `column = value`, on serialised partition values.
#[derive(Debug)]
pub struct PartitionIs(pub &'static str, pub &'static str);

impl PartitionFilter for PartitionIs {
    fn may_match(&self, values: &BTreeMap<String, Option<String>>) -> bool {
        values
            .get(self.0)
            .is_none_or(|value| value.as_deref() == Some(self.1))
    }
}

/// Partition values as text.
pub fn values(values: &[(&str, &str)]) -> BTreeMap<String, Option<String>> {
    values
        .iter()
        .map(|(column, value)| ((*column).to_owned(), Some((*value).to_owned())))
        .collect()
}

/// An `add` of a file of 100 bytes and 10 rows that no test needs to exist.
pub fn new_add(path: &str, partition: &[(&str, &str)]) -> AddFile {
    AddFile {
        path: path.to_owned(),
        partition_values: values(partition),
        size: 100,
        modification_time: 1_700_000_000_000,
        data_change: true,
        stats: Some("{\"numRecords\":10}".to_owned()),
        tags: None,
        deletion_vector: None,
        base_row_id: None,
        default_row_commit_version: None,
        clustering_provider: None,
    }
}

/// A `remove`.
pub fn new_remove(path: &str, partition: &[(&str, &str)]) -> RemoveFile {
    RemoveFile {
        path: path.to_owned(),
        deletion_timestamp: 1_700_000_000_000,
        data_change: true,
        extended_file_metadata: true,
        partition_values: values(partition),
        size: 100,
        deletion_vector: None,
        base_row_id: None,
        default_row_commit_version: None,
        tags: None,
    }
}

/// The descriptor that [`dv`](super::dv) has as JSON.
pub fn new_dv(id: &str) -> DeletionVectorDescriptor {
    serde_json::from_value(super::dv(id)).expect("a descriptor")
}

/// A `txn`.
pub fn new_txn(app_id: &str, version: i64) -> SetTransaction {
    SetTransaction {
        app_id: app_id.to_owned(),
        version,
        last_updated: None,
    }
}

/// A proposal without actions, on top of `read`.
pub fn proposal(read: impl Into<Option<Version>>) -> Proposal {
    Proposal::new(Uuid::new_v4(), read.into(), Operation::named("WRITE"))
}

/// A blind append.
pub fn append(read: Version, adds: impl IntoIterator<Item = AddFile>) -> Proposal {
    Proposal {
        adds: adds.into_iter().collect(),
        ..proposal(read)
    }
}

/// Commits with default options.
pub fn commit(table: &Table, proposal: &Proposal) -> Result<CommitOutcome, TxnError> {
    txn::commit(table, proposal, &CommitOptions::default())
}

/// The version of a commit that must succeed.
pub fn committed(table: &Table, proposal: &Proposal) -> Version {
    match commit(table, proposal) {
        Ok(CommitOutcome::Committed { version }) => version,
        other => panic!("a commit was expected, not {other:?}"),
    }
}

/// The actions of a commit file.
pub fn actions_of(table: &TableBuilder, version: Version) -> Vec<Value> {
    let text = std::fs::read_to_string(table.commit_path(version)).expect("a commit file");
    text.lines()
        .map(|line| serde_json::from_str(line).expect("each line is JSON"))
        .collect()
}

/// The fields of the actions of one name in a commit file.
pub fn named(table: &TableBuilder, version: Version, name: &str) -> Vec<Value> {
    actions_of(table, version)
        .into_iter()
        .filter_map(|mut action| action.get_mut(name).map(Value::take))
        .collect()
}

/// The `commitInfo` of a commit file, which has to be its first action.
pub fn info_of(table: &TableBuilder, version: Version) -> Value {
    actions_of(table, version)[0]["commitInfo"].clone()
}
