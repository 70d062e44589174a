//! Action reconciliation: what a checkpoint or a commit does to a state (PROTOCOL.md, "Action
//! Reconciliation").

mod checkpoint;
mod commit;

use std::collections::BTreeMap;
use std::sync::Arc;

use roaring::RoaringBitmap;

use super::SnapshotError;
use super::file_table::{FileId, FileTable, NewFile, decode_path};
use super::state::{Definition, Snapshot};
use crate::base::Version;
use crate::log::actions::{Add, DomainMetadata, Metadata, Protocol, SetTransaction};
use crate::log::checkpoint::CheckpointState;
use crate::log::names::commit_name;

pub(super) use checkpoint::CheckpointFiller;
pub(super) use commit::CommitApplier;

/// A state under construction.
#[derive(Default)]
pub(super) struct State {
    protocol: Option<Arc<Protocol>>,
    metadata: Option<Arc<Metadata>>,
    /// What `protocol` and `metadata` make; absent while one of them is.
    definition: Option<Arc<Definition>>,
    files: RoaringBitmap,
    transactions: Arc<BTreeMap<String, SetTransaction>>,
    domains: Arc<BTreeMap<String, DomainMetadata>>,
}

impl State {
    /// Goes on from a snapshot.
    pub(super) fn from_snapshot(snapshot: &Snapshot) -> State {
        State {
            protocol: Some(snapshot.definition.protocol.clone()),
            metadata: Some(snapshot.definition.metadata.clone()),
            definition: Some(snapshot.definition.clone()),
            files: snapshot.files.clone(),
            transactions: snapshot.transactions.clone(),
            domains: snapshot.domains.clone(),
        }
    }

    /// Begins with the actions of the checkpoint of `version` and the files its adds named.
    pub(super) fn from_checkpoint(
        version: Version,
        checkpoint: CheckpointState,
        files: RoaringBitmap,
    ) -> State {
        let mut state = State {
            protocol: checkpoint.protocol.map(Arc::new),
            metadata: checkpoint.metadata.map(Arc::new),
            definition: None,
            files,
            transactions: Arc::new(
                checkpoint
                    .transactions
                    .into_iter()
                    .map(|txn| (txn.app_id.clone(), txn))
                    .collect(),
            ),
            domains: Arc::new(
                checkpoint
                    .domains
                    .into_iter()
                    .filter(|domain| !domain.removed)
                    .map(|domain| (domain.domain.clone(), domain))
                    .collect(),
            ),
        };
        state.define(version);
        state
    }

    /// Works out the definition anew.
    fn define(&mut self, version: Version) {
        if let (Some(protocol), Some(metadata)) = (&self.protocol, &self.metadata) {
            let definition = Definition::new(version, protocol.clone(), metadata.clone());
            definition.warn(version);
            self.definition = Some(Arc::new(definition));
        }
    }

    /// The snapshot that the state has come to.
    pub(super) fn to_snapshot(&self, version: Version) -> Result<Snapshot, SnapshotError> {
        let Some(definition) = &self.definition else {
            return Err(SnapshotError::MissingAction {
                version,
                action: if self.protocol.is_none() {
                    "protocol"
                } else {
                    "metaData"
                },
                missing_from: commit_name(0),
            });
        };
        Ok(Snapshot {
            version,
            definition: definition.clone(),
            files: self.files.clone(),
            transactions: self.transactions.clone(),
            domains: self.domains.clone(),
        })
    }
}

/// Interns an `add` from JSON.
pub(super) fn intern_add(
    table: &mut FileTable,
    add: Add<'_>,
    at: (u32, u32),
) -> Result<FileId, String> {
    let values: Vec<(&str, Option<&str>)> = add
        .partition_values
        .iter()
        .map(|(column, value)| (&**column, value.as_deref()))
        .collect();
    let partition = table.partition(&values);
    let deletion_vector = add.deletion_vector.map(|dv| table.deletion_vector(dv));
    intern(
        table,
        &add.path,
        add.size,
        add.modification_time,
        partition,
        deletion_vector,
        at,
    )
}

fn intern(
    table: &mut FileTable,
    raw_path: &str,
    size: i64,
    modified: i64,
    partition: u32,
    deletion_vector: Option<u32>,
    (source, position): (u32, u32),
) -> Result<FileId, String> {
    let (path, absolute) = decode_path(raw_path).map_err(|error| error.to_string())?;
    let size = u64::try_from(size)
        .map_err(|_| format!("add of {raw_path:?} has size {size}, expected 0 or more"))?;
    table
        .intern(&NewFile {
            path: &path,
            absolute,
            size,
            modified,
            partition,
            deletion_vector,
            source,
            position,
        })
        .ok_or_else(|| "more than 2^32 - 2 logical files".to_owned())
}
