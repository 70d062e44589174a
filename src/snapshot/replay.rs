//! Action reconciliation: what a checkpoint or a commit does to a state (PROTOCOL.md, "Action
//! Reconciliation").

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use parking_lot::RwLock;
use roaring::RoaringBitmap;

use super::SnapshotError;
use super::file_table::{FileId, FileTable, NewFile, decode_path};
use super::run::Step;
use super::state::{Definition, Snapshot};
use crate::base::Version;
use crate::log::actions::{
    Add, CheckpointMetadata, CommitInfo, DeletionVectorDescriptor, DomainMetadata, Metadata,
    Protocol, Remove, SetTransaction, Sidecar,
};
use crate::log::checkpoint::{AddBatch, AddSink, CheckpointState};
use crate::log::commit::ActionSink;
use crate::log::names::{COMPACTION_SUFFIX, commit_name};

/// A state under construction.
#[derive(Default)]
pub(super) struct State {
    protocol: Option<Arc<Protocol>>,
    metadata: Option<Arc<Metadata>>,
    /// Of `protocol` and `metadata`; absent while one of them is.
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

/// Interns the adds of a checkpoint.
pub(super) struct CheckpointFiller<'a> {
    table: &'a RwLock<FileTable>,
    files: RoaringBitmap,
    source: Option<(String, u32)>,
}

impl<'a> CheckpointFiller<'a> {
    pub(super) fn new(table: &'a RwLock<FileTable>) -> CheckpointFiller<'a> {
        CheckpointFiller {
            table,
            files: RoaringBitmap::new(),
            source: None,
        }
    }

    pub(super) fn into_files(self) -> RoaringBitmap {
        self.files
    }

    fn source(&mut self, table: &mut FileTable, path: &str) -> u32 {
        match &self.source {
            Some((known, id)) if known == path => *id,
            _ => {
                let id = table.add_source(path);
                self.source = Some((path.to_owned(), id));
                id
            }
        }
    }
}

impl AddSink for CheckpointFiller<'_> {
    fn expect(&mut self, rows: usize) {
        self.table.write().reserve(rows);
    }

    fn batch(&mut self, path: &str, adds: &AddBatch) -> Result<(), String> {
        let table = self.table;
        let mut table = table.write();
        let source = self.source(&mut table, path);
        let mut values: Vec<(&str, Option<&str>)> = Vec::new();
        let mut ids: Vec<FileId> = Vec::with_capacity(adds.rows());
        for row in 0..adds.rows() {
            let Some(raw) = adds.path(row)? else {
                continue;
            };
            let at = |problem: String| format!("row {}: {problem}", adds.file_row(row));
            let size = adds
                .size(row)
                .ok_or_else(|| at("add.size is null".to_owned()))?;
            values.clear();
            adds.partition_values(row, |column, value| values.push((column, value)))?;
            let deletion_vector = adds
                .deletion_vector(row)?
                .map(|dv| table.deletion_vector(dv.to_descriptor()));
            let partition = table.partition(&values);
            let id = intern(
                &mut table,
                raw,
                size,
                adds.modification_time(row).unwrap_or(0),
                partition,
                deletion_vector,
                (source, adds.file_row(row)),
            )
            .map_err(at)?;
            ids.push(id);
        }
        // Numbers mostly ascend, which a bitmap takes in bulk much faster.
        if self.files.append(ids.iter().copied()).is_err() {
            self.files.extend(ids);
        }
        Ok(())
    }

    fn single(&mut self, path: &str, line: u32, add: Add<'_>) -> Result<(), String> {
        let table = self.table;
        let mut table = table.write();
        let source = self.source(&mut table, path);
        let id = intern_add(&mut table, add, (source, line))?;
        self.files.insert(id);
        Ok(())
    }

    fn finish(&self) -> Result<(), String> {
        let table = self.table.read();
        match table.twin_among(&self.files) {
            None => Ok(()),
            Some(id) => Err(format!(
                "it has several add actions of {:?}, expected one for each path",
                table.get(id).path
            )),
        }
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

/// Applies one commit (or compaction) to a state, and notes what it changed.
pub(super) struct CommitApplier<'a> {
    table: &'a RwLock<FileTable>,
    state: &'a mut State,
    path: &'a str,
    source: Option<u32>,
    step: Step,
    redefined: bool,
    /// Files that an add of the same path took the place of, with no remove so far.
    superseded: Vec<FileId>,
    /// The logical files that a compaction has had an action of; `None` for a commit.
    compacted: Option<HashSet<(String, Option<String>)>>,
}

impl<'a> CommitApplier<'a> {
    /// `path` is the file of the log; the step leads from `previous` to `version`.
    pub(super) fn new(
        table: &'a RwLock<FileTable>,
        state: &'a mut State,
        path: &'a str,
        previous: Option<Version>,
        version: Version,
    ) -> CommitApplier<'a> {
        CommitApplier {
            step: Step::new(previous, version),
            table,
            state,
            path,
            source: None,
            redefined: false,
            superseded: Vec::new(),
            compacted: path.ends_with(COMPACTION_SUFFIX).then(HashSet::new),
        }
    }

    /// A compaction holds the reconciled actions of its commits, so one of each logical file. Where
    /// it holds more, their order is not known to be that of the commits, which tell.
    fn once(
        &mut self,
        raw_path: &str,
        deletion_vector: Option<&DeletionVectorDescriptor>,
    ) -> Result<(), String> {
        let Some(compacted) = &mut self.compacted else {
            return Ok(());
        };
        let (path, _) = decode_path(raw_path).map_err(|error| error.to_string())?;
        let key = (
            path.into_owned(),
            deletion_vector.map(DeletionVectorDescriptor::unique_id),
        );
        match compacted.replace(key) {
            None => Ok(()),
            Some((path, _)) => Err(format!(
                "it has several actions of {path:?} with one deletion vector, expected the last one only"
            )),
        }
    }

    /// What the commit changed.
    pub(super) fn finish(mut self) -> Step {
        if self.redefined {
            let before = self.state.definition.clone();
            self.state.define(self.step.version);
            self.step.definition = Some((before, self.state.definition.clone()));
        }
        for id in &self.superseded {
            tracing::warn!(
                file = %self.path,
                path = %self.table.read().get(*id).path,
                "an add action names a live data file with another deletion vector and the commit \
                 has no remove for the old one, as the protocol demands; the new one counts"
            );
        }
        self.step
    }

    fn set_live(&mut self, id: FileId, live: bool) {
        let changed = if live {
            self.state.files.insert(id)
        } else {
            self.state.files.remove(id)
        };
        if changed {
            self.step.note_file(id, live);
        }
    }
}

impl ActionSink for CommitApplier<'_> {
    fn add(&mut self, line: u32, add: Add<'_>) -> Result<(), String> {
        self.once(&add.path, add.deletion_vector.as_ref())?;
        let table = self.table;
        let mut table = table.write();
        let source = match self.source {
            Some(source) => source,
            None => *self.source.insert(table.add_source(self.path)),
        };
        let id = intern_add(&mut table, add, (source, line))?;
        let file = table.get(id);
        // "A collection of add actions with unique path keys, corresponding to the newest
        // (path, deletionVector.uniqueId) pair encountered for each path."
        let others: Vec<FileId> = table
            .with_path(file.path, file.absolute)
            .filter(|other| *other != id && self.state.files.contains(*other))
            .collect();
        drop(table);
        for other in others {
            self.superseded.push(other);
            self.set_live(other, false);
        }
        self.set_live(id, true);
        Ok(())
    }

    fn remove(&mut self, remove: Remove<'_>) -> Result<(), String> {
        self.once(&remove.path, remove.deletion_vector.as_ref())?;
        let (path, absolute) = decode_path(&remove.path).map_err(|error| error.to_string())?;
        let table = self.table.read();
        let found: Vec<FileId> = table
            .find(&path, absolute, remove.deletion_vector.as_ref())
            .collect();
        let counts = found
            .iter()
            .any(|id| self.state.files.contains(*id) || self.superseded.contains(id));
        if !counts && self.compacted.is_none() {
            // A tombstone of a file never seen here: normal after a cleanup. One that misses the
            // deletion vector of a live file leaves that file alive, as the protocol has it, and
            // is worth a word. In a compaction it may be older than the add beside it.
            let live = table
                .with_path(&path, absolute)
                .find(|id| self.state.files.contains(*id));
            if let Some(id) = live {
                tracing::warn!(
                    file = %self.path,
                    path = %path,
                    live = ?table.get(id).deletion_vector.map(|dv| &dv.unique_id),
                    removed = ?remove.deletion_vector.as_ref().map(|dv| dv.unique_id()),
                    "a remove action names another deletion vector than the live file has; by the \
                     protocol the file stays live"
                );
            }
        }
        drop(table);
        for id in found {
            self.superseded.retain(|superseded| *superseded != id);
            self.set_live(id, false);
        }
        Ok(())
    }

    fn metadata(&mut self, metadata: Metadata) -> Result<(), String> {
        self.state.metadata = Some(Arc::new(metadata));
        self.redefined = true;
        Ok(())
    }

    fn protocol(&mut self, protocol: Protocol) -> Result<(), String> {
        self.state.protocol = Some(Arc::new(protocol));
        self.redefined = true;
        Ok(())
    }

    fn transaction(&mut self, transaction: SetTransaction) {
        let map = Arc::make_mut(&mut self.state.transactions);
        let id = transaction.app_id.clone();
        let before = map.insert(id.clone(), transaction.clone());
        self.step.transactions.push((id, before, Some(transaction)));
    }

    fn domain(&mut self, domain: DomainMetadata) {
        let map = Arc::make_mut(&mut self.state.domains);
        let name = domain.domain.clone();
        let after = (!domain.removed).then_some(domain);
        let before = match &after {
            Some(domain) => map.insert(name.clone(), domain.clone()),
            None => map.remove(&name),
        };
        self.step.domains.push((name, before, after));
    }

    fn commit_info(&mut self, _info: CommitInfo) {}

    fn checkpoint_metadata(&mut self, _metadata: CheckpointMetadata) -> Result<(), String> {
        Err(only_in_checkpoints())
    }

    fn sidecar(&mut self, _sidecar: Sidecar) -> Result<(), String> {
        Err(only_in_checkpoints())
    }
}

fn only_in_checkpoints() -> String {
    "found in a commit file; the protocol allows it in V2 checkpoints only".to_owned()
}
