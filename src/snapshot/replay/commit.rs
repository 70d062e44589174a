//! Applying a commit to a state.

use std::collections::HashSet;
use std::sync::Arc;

use parking_lot::RwLock;

use super::{State, intern_add};
use crate::base::Version;
use crate::log::actions::{
    Add, CheckpointMetadata, CommitInfo, DeletionVectorDescriptor, DomainMetadata, Metadata,
    Protocol, Remove, SetTransaction, Sidecar,
};
use crate::log::commit::ActionSink;
use crate::log::names::COMPACTION_SUFFIX;
use crate::snapshot::file_table::{FileId, FileTable, decode_path};
use crate::snapshot::run::Step;

/// Applies one commit (or compaction) to a state, and notes what it changed.
pub(in crate::snapshot) struct CommitApplier<'a> {
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
    pub(in crate::snapshot) fn new(
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
    pub(in crate::snapshot) fn finish(mut self) -> Step {
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
