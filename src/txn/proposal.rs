//! What a writer wants to commit, and what it read to come to want it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};
use uuid::Uuid;

use crate::base::Version;
use crate::log::actions::{DomainMetadata, Metadata, Protocol, SetTransaction};
use crate::log::write::{AddFile, RemoveFile};

/// A condition on partition values, as far as it tells files apart.
pub trait PartitionFilter: Send + Sync + fmt::Debug {
    /// Whether a file with these partition values may hold rows that the condition is about.
    /// `values` has physical column names and serialised values, null for null (an empty text is
    /// handed over as null). Where it cannot tell, as for a column that is missing, it says yes.
    fn may_match(&self, values: &BTreeMap<String, Option<String>>) -> bool;
}

/// What was read of the table at the read version, apart from the files removed.
#[derive(Debug, Clone)]
pub enum Reads {
    /// Nothing: what is committed does not depend on the rows of the table.
    Nothing,
    /// The rows of some partitions. In a table without partition columns this is the whole table.
    Partitions(Arc<dyn PartitionFilter>),
    /// All rows.
    WholeTable,
}

/// Which concurrent commits a commit may be reordered with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IsolationLevel {
    /// What the table holds is what the commits made one after another in the order of their
    /// versions would have made.
    Serializable,
    /// The same, except that what blind appends added since the read version is to the commit as
    /// if it came later. (As in Delta, that is said of each commit for itself: where another one
    /// read such rows, there may be no one order that explains all of them.)
    WriteSerializable,
    /// Only two commits that remove the same file conflict. It is for commits that move rows from
    /// file to file, all of whose actions say `dataChange: false`.
    SnapshotIsolation,
}

impl IsolationLevel {
    /// The level by Delta's name, in any case.
    pub fn parse(name: &str) -> Option<IsolationLevel> {
        [
            IsolationLevel::Serializable,
            IsolationLevel::WriteSerializable,
            IsolationLevel::SnapshotIsolation,
        ]
        .into_iter()
        .find(|level| level.name().eq_ignore_ascii_case(name))
    }

    /// Delta's name.
    pub fn name(self) -> &'static str {
        match self {
            IsolationLevel::Serializable => "Serializable",
            IsolationLevel::WriteSerializable => "WriteSerializable",
            IsolationLevel::SnapshotIsolation => "SnapshotIsolation",
        }
    }
}

/// What `commitInfo` says about the operation (PROTOCOL.md, "Commit Provenance Information").
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Operation {
    /// Delta's name of it: `WRITE`, `OPTIMIZE`, `CREATE TABLE`, ...
    pub name: String,
    /// Its parameters. A list or an object is written as Delta writes it: as its JSON text.
    pub parameters: Map<String, Value>,
    /// What it did, as text: `numFiles`, `numOutputRows`, `numOutputBytes`, ...
    pub metrics: BTreeMap<String, String>,
}

impl Operation {
    /// An operation without parameters and metrics.
    pub fn named(name: &str) -> Operation {
        Operation {
            name: name.to_owned(),
            ..Operation::default()
        }
    }
}

/// A commit to make. [`commit`](super::commit) adds what depends on the version: `commitInfo`, row
/// ids, in-commit timestamps.
#[derive(Debug, Clone)]
pub struct Proposal {
    /// Our transaction id, `commitInfo.txnId`: by it the commit is found again in the log.
    pub id: Uuid,
    /// The version that was read; `None` creates the table.
    pub read_version: Option<Version>,
    /// `metaData.id` of the table that was read. Where it is given, a table that has taken its
    /// place is not written to.
    pub table_id: Option<String>,
    /// What was read, apart from the files of `removes`.
    pub reads: Reads,
    /// The files to add.
    pub adds: Vec<AddFile>,
    /// The files to remove: live at the read version.
    pub removes: Vec<RemoveFile>,
    /// New metadata; `None` keeps the metadata, which lets appends commit side by side.
    pub metadata: Option<Metadata>,
    /// A new protocol.
    pub protocol: Option<Protocol>,
    /// Makes the commit idempotent (PROTOCOL.md, "Transaction Identifiers"): done already when the
    /// table has this version of the application, or a later one.
    pub transaction: Option<SetTransaction>,
    /// Metadata domains to set, without `delta.rowTracking`, which follows from the adds.
    pub domains: Vec<DomainMetadata>,
    /// What the commit is.
    pub operation: Operation,
    /// `commitInfo.userMetadata`.
    pub user_metadata: Option<String>,
    /// The isolation level; `None` for the table's own.
    pub isolation: Option<IsolationLevel>,
}

impl Proposal {
    /// A proposal without actions that read nothing.
    pub fn new(id: Uuid, read_version: Option<Version>, operation: Operation) -> Proposal {
        Proposal {
            id,
            read_version,
            table_id: None,
            reads: Reads::Nothing,
            adds: Vec::new(),
            removes: Vec::new(),
            metadata: None,
            protocol: None,
            transaction: None,
            domains: Vec::new(),
            operation,
            user_metadata: None,
            isolation: None,
        }
    }

    /// Whether it only adds files and read nothing: Delta's `isBlindAppend`.
    pub fn is_blind_append(&self) -> bool {
        matches!(self.reads, Reads::Nothing) && self.removes.is_empty()
    }

    /// Whether it only moves rows from file to file (PROTOCOL.md, "Add File and Remove File",
    /// `dataChange`).
    pub fn only_rearranges(&self) -> bool {
        let has_files = !self.adds.is_empty() || !self.removes.is_empty();
        let changes_data = self.adds.iter().any(|add| add.data_change)
            || self.removes.iter().any(|remove| remove.data_change);
        let has_others = self.metadata.is_some()
            || self.protocol.is_some()
            || self.transaction.is_some()
            || !self.domains.is_empty();
        has_files && !changes_data && !has_others
    }
}
