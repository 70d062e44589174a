//! A run: consecutive versions that were replayed once and can be walked in both directions.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::SnapshotError;
use super::file_table::FileId;
use super::state::{Definition, Snapshot};
use crate::base::Version;
use crate::log::actions::{DomainMetadata, SetTransaction};
use crate::log::names::commit_name;

/// A named entry before and after a commit.
type Change<T> = (String, Option<T>, Option<T>);

/// Protocol and metadata before and after a commit; absent while one of the two is.
type Redefinition = (Option<Arc<Definition>>, Option<Arc<Definition>>);

/// What one commit changed, so that it can be undone and done again.
#[derive(Debug)]
pub(super) struct Step {
    /// The version before; `None` before the first.
    pub previous: Option<Version>,
    /// The version after.
    pub version: Version,
    /// Files in the order in which they became live (`true`) or not.
    files: Vec<(FileId, bool)>,
    /// Protocol and metadata before and after, where the commit changed them.
    pub definition: Option<Redefinition>,
    pub transactions: Vec<Change<SetTransaction>>,
    pub domains: Vec<Change<DomainMetadata>>,
}

impl Step {
    pub(super) fn new(previous: Option<Version>, version: Version) -> Step {
        Step {
            previous,
            version,
            files: Vec::new(),
            definition: None,
            transactions: Vec::new(),
            domains: Vec::new(),
        }
    }

    /// Notes that `id` became live or ceased to be.
    pub(super) fn note_file(&mut self, id: FileId, live: bool) {
        self.files.push((id, live));
    }

    fn apply(&self, snapshot: &mut Snapshot) -> Result<(), SnapshotError> {
        for (id, live) in &self.files {
            set(snapshot, *id, *live);
        }
        snapshot.version = self.version;
        if let Some((_, after)) = &self.definition {
            snapshot.definition = defined(after, self.version)?;
        }
        apply_changes(
            &mut snapshot.transactions,
            self.transactions.iter().map(|(id, _, after)| (id, after)),
        );
        apply_changes(
            &mut snapshot.domains,
            self.domains.iter().map(|(name, _, after)| (name, after)),
        );
        Ok(())
    }

    fn undo(&self, previous: Version, snapshot: &mut Snapshot) -> Result<(), SnapshotError> {
        for (id, live) in self.files.iter().rev() {
            set(snapshot, *id, !*live);
        }
        snapshot.version = previous;
        if let Some((before, _)) = &self.definition {
            snapshot.definition = defined(before, previous)?;
        }
        apply_changes(
            &mut snapshot.transactions,
            self.transactions
                .iter()
                .rev()
                .map(|(id, before, _)| (id, before)),
        );
        apply_changes(
            &mut snapshot.domains,
            self.domains
                .iter()
                .rev()
                .map(|(name, before, _)| (name, before)),
        );
        Ok(())
    }
}

fn set(snapshot: &mut Snapshot, id: FileId, live: bool) {
    if live {
        snapshot.files.insert(id);
    } else {
        snapshot.files.remove(id);
    }
}

fn defined(
    definition: &Option<Arc<Definition>>,
    version: Version,
) -> Result<Arc<Definition>, SnapshotError> {
    definition
        .clone()
        .ok_or_else(|| SnapshotError::MissingAction {
            version,
            action: "protocol or metaData",
            missing_from: commit_name(0),
        })
}

fn apply_changes<'a, T: Clone + 'a>(
    map: &mut Arc<BTreeMap<String, T>>,
    changes: impl Iterator<Item = (&'a String, &'a Option<T>)>,
) {
    for (key, value) in changes {
        let map = Arc::make_mut(map);
        match value {
            Some(value) => map.insert(key.clone(), value.clone()),
            None => map.remove(key),
        };
    }
}

/// Invariants: `steps` are contiguous (each begins at the version where the one before ends), the
/// first begins at the run's first version; `newest` is the state behind the last step.
pub(super) struct Run {
    first: Version,
    steps: Vec<Step>,
    newest: Arc<Snapshot>,
}

impl Run {
    /// A run of one version.
    pub(super) fn new(snapshot: Arc<Snapshot>) -> Run {
        Run {
            first: snapshot.version,
            steps: Vec::new(),
            newest: snapshot,
        }
    }

    /// The newest state of the run.
    pub(super) fn newest(&self) -> &Arc<Snapshot> {
        &self.newest
    }

    /// Takes up further commits; `newest` is the state behind the last of `steps`.
    pub(super) fn extend(&mut self, steps: Vec<Step>, newest: Arc<Snapshot>) {
        debug_assert_eq!(steps.last().map(|s| s.version), Some(newest.version));
        debug_assert_eq!(
            steps.first().and_then(|s| s.previous),
            Some(self.newest.version)
        );
        self.steps.extend(steps);
        self.newest = newest;
    }

    /// Whether the state of `version` can be had by walking.
    pub(super) fn reaches(&self, version: Version) -> bool {
        version == self.first || self.step_to(version).is_ok()
    }

    /// The newest version of the run below `version`.
    pub(super) fn last_before(&self, version: Version) -> Option<Version> {
        let behind = self.steps.partition_point(|step| step.version < version);
        match behind.checked_sub(1) {
            Some(at) => Some(self.steps[at].version),
            None => Some(self.first).filter(|first| *first < version),
        }
    }

    fn step_to(&self, version: Version) -> Result<usize, usize> {
        self.steps
            .binary_search_by_key(&version, |step| step.version)
    }

    /// The state of `version`, which the run [reaches](Run::reaches), walked to from `start`, any
    /// state of this run, or from the newest.
    pub(super) fn walk(
        &self,
        start: Option<&Snapshot>,
        version: Version,
    ) -> Result<Snapshot, SnapshotError> {
        // How many steps lie at or before a version's state.
        let done = |version: Version| self.step_to(version).map_or(0, |at| at + 1);
        let mut snapshot = start.unwrap_or(&self.newest).clone();
        let (from, to) = (done(snapshot.version), done(version));
        for step in self.steps.get(from..to).unwrap_or_default() {
            step.apply(&mut snapshot)?;
        }
        for step in self.steps.get(to..from).unwrap_or_default().iter().rev() {
            snapshot.version = step.version;
            step.undo(step.previous.unwrap_or(self.first), &mut snapshot)?;
        }
        Ok(snapshot)
    }
}
