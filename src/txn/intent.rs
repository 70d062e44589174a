//! What a proposal depends on: what winning commits are checked against.

use std::collections::{BTreeSet, HashSet};

use super::TxnError;
use super::file::FileKey;
use super::proposal::{Proposal, Reads};
use super::winner::{Detail, WinningCommit, WinningFile};
use crate::log::actions::Metadata;

/// What a proposal read, and what it writes.
#[derive(Debug, Clone)]
pub struct Intent {
    reads: Reads,
    removes: HashSet<FileKey>,
    /// Files that winners added: not read, though they may be where was read.
    added_since: HashSet<FileKey>,
    pub(super) creates_table: bool,
    pub(super) changes_metadata: bool,
    /// `txn.appId` and `txn.version`.
    pub(super) application: Option<(String, i64)>,
    pub(super) domains: BTreeSet<String>,
}

impl Intent {
    /// The intent of a proposal. `read` is the metadata of the version that was read; `None` where
    /// the table is to be created. [`TxnError::Invalid`] for the path of a `remove` that cannot be
    /// decoded.
    pub fn of(proposal: &Proposal, read: Option<&Metadata>) -> Result<Intent, TxnError> {
        let is_partitioned = read.is_some_and(|metadata| !metadata.partition_columns.is_empty());
        let mut removes = HashSet::with_capacity(proposal.removes.len());
        for remove in &proposal.removes {
            let key = FileKey::new(&remove.path, remove.deletion_vector.as_ref());
            removes.insert(key.map_err(|error| TxnError::Invalid {
                problem: error.to_string(),
            })?);
        }
        Ok(Intent {
            reads: match &proposal.reads {
                // Without partition columns there is nothing to tell files apart by.
                Reads::Partitions(_) if !is_partitioned => Reads::WholeTable,
                reads => reads.clone(),
            },
            removes,
            added_since: HashSet::new(),
            creates_table: proposal.read_version.is_none(),
            changes_metadata: proposal.metadata.is_some(),
            application: proposal
                .transaction
                .as_ref()
                .map(|txn| (txn.app_id.clone(), txn.version)),
            domains: proposal
                .domains
                .iter()
                .map(|domain| domain.domain.clone())
                .collect(),
        })
    }

    /// How much of winners has to be read.
    pub fn detail(&self) -> Detail {
        match self.reads {
            Reads::Nothing if self.removes.is_empty() => Detail::WithoutFiles,
            _ => Detail::Files,
        }
    }

    /// Whether it matters in which partition a file is.
    pub(super) fn asks_for_partitions(&self) -> bool {
        matches!(self.reads, Reads::Partitions(_))
    }

    /// Takes note of a winner without conflict.
    pub fn pass(&mut self, winner: &WinningCommit) {
        if matches!(self.reads, Reads::Nothing) {
            return;
        }
        // What was rearranged holds rows that were read, unless none of them was; and a file added
        // again without change may be one that was read.
        let holds_new_rows = match winner.only_rearranges() {
            true => {
                !winner.removes.is_empty() && !winner.removes.iter().any(|file| self.has_read(file))
            }
            false => true,
        };
        if holds_new_rows {
            let is_new = |file: &&WinningFile| file.data_change || winner.only_rearranges();
            let new = winner.adds.iter().filter(is_new);
            self.added_since.extend(new.map(|file| file.key.clone()));
        }
    }

    /// Whether a winner brought the batch of the application that this is, or a later one. Had the
    /// commit begun after it, there would have been nothing to do; so there is not now.
    pub(super) fn is_superseded_by(&self, winner: &WinningCommit) -> bool {
        self.application.as_ref().is_some_and(|(app_id, version)| {
            let mut theirs = (winner.transactions.iter()).filter(|txn| txn.app_id == *app_id);
            theirs
                .next_back()
                .is_some_and(|txn| txn.version >= *version)
        })
    }

    /// Whether the proposal removes the file.
    pub(super) fn removes(&self, file: &FileKey) -> bool {
        self.removes.contains(file)
    }

    /// Whether a file that a winner added would have been read.
    pub(super) fn would_read(&self, file: &WinningFile) -> bool {
        match &self.reads {
            Reads::Nothing => false,
            Reads::WholeTable => true,
            Reads::Partitions(filter) => match &file.partition_values {
                None => true,
                Some(values) => filter.may_match(values),
            },
        }
    }

    /// Whether a file that a winner removed was read.
    pub(super) fn has_read(&self, file: &WinningFile) -> bool {
        self.would_read(file) && !self.added_since.contains(&file.key)
    }
}
