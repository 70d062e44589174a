//! A table from its creation to its end at one place: its log, the file table, and the versions
//! built so far. A table that is dropped and made again at the same path is another generation.

mod checkpointed;
mod times;

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use lru::LruCache;
use parking_lot::{Mutex, RwLock, RwLockReadGuard};
use roaring::RoaringBitmap;

use self::checkpointed::KnownSize;
use super::SnapshotError;
use super::file_table::{FileId, FileRef, FileTable};
use super::provenance::Provenance;
use super::replay::{CheckpointFiller, CommitApplier, State};
use super::run::{Run, Step};
use super::state::Snapshot;
use crate::base::Version;
use crate::log::checkpoint::read_checkpoint;
use crate::log::checksum::read_checksum;
use crate::log::commit::read_actions;
use crate::log::history::read_commit_info;
use crate::log::listing::{CommitSource, LogListing, LogSegment};
use crate::log::names::{commit_name, compaction_name};
use crate::log::statistics::{records_in_json, records_in_parquet};
use crate::log::times::CommitTimes;
use crate::log::{LogError, log_path};
use crate::storage::{Store, TableRoots};

/// How many versions are kept as bitmaps; others are walked to again.
const CACHED_VERSIONS: NonZeroUsize = NonZeroUsize::new(128).expect("128 is not zero");

/// A checkpoint nearer than an already built version by more than this many commits is read anew.
const WALK_AT_MOST: u64 = 200;

/// Commit files fetched together.
const COMMITS_AT_ONCE: usize = 64;

/// See the module.
pub struct Generation {
    number: u64,
    roots: TableRoots,
    store: Arc<dyn Store>,
    files: RwLock<FileTable>,
    listing: RwLock<Arc<LogListing>>,
    /// Locked while log files are read; taken before `files` and `cache`.
    runs: Mutex<Vec<Run>>,
    cache: Mutex<LruCache<Version, Arc<Snapshot>>>,
    times: Mutex<CommitTimes>,
    provenance: Mutex<Provenance>,
    /// Of files with a deletion vector: whether it deletes every row.
    all_deleted: Mutex<HashMap<FileId, bool>>,
    /// Taken before `files`.
    known_size: Mutex<KnownSize>,
    ended: AtomicBool,
}

impl Generation {
    pub(super) fn new(number: u64, roots: TableRoots, listing: LogListing) -> Generation {
        Generation {
            number,
            store: roots.table().clone(),
            roots,
            files: RwLock::default(),
            listing: RwLock::new(Arc::new(listing)),
            runs: Mutex::default(),
            cache: Mutex::new(LruCache::new(CACHED_VERSIONS)),
            times: Mutex::default(),
            provenance: Mutex::default(),
            all_deleted: Mutex::default(),
            known_size: Mutex::default(),
            ended: AtomicBool::new(false),
        }
    }

    /// Counts the tables that have stood at this path since the start, from 0.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The table root and the other places that data files may lie.
    pub fn roots(&self) -> &TableRoots {
        &self.roots
    }

    /// The logical files that versions refer to. To be held for a short time, and never twice by
    /// one thread: a writer that waits in between would block both.
    pub fn files(&self) -> RwLockReadGuard<'_, FileTable> {
        self.files.read()
    }

    /// What lies in the log.
    pub fn listing(&self) -> Arc<LogListing> {
        self.listing.read().clone()
    }

    /// Takes a listing read a moment ago. The log grows at its end: the commits behind the newest
    /// one listed were seen since.
    pub(super) fn set_listing(&self, mut listing: LogListing) {
        let mut known = self.listing.write();
        let mut next = listing.newest().map_or(0, |newest| newest + 1);
        while known.has_commit(next) {
            listing.push_commit(next);
            next += 1;
        }
        *known = Arc::new(listing);
    }

    /// Lists the log anew.
    pub fn relist(&self) -> Result<(), SnapshotError> {
        self.set_listing(LogListing::read(&*self.store)?);
        Ok(())
    }

    pub(super) fn push_commit(&self, version: Version) {
        Arc::make_mut(&mut self.listing.write()).push_commit(version);
    }

    /// Another table has taken the place: the log is not this table's any more. What is in memory
    /// stays.
    pub(super) fn end(&self) {
        self.ended.store(true, Ordering::Relaxed);
    }

    /// The id of the table; `None` where no version has been built so far.
    pub(super) fn table_id(&self) -> Option<String> {
        let runs = self.runs.lock();
        runs.last().map(|run| run.newest().metadata().id.clone())
    }

    /// The newest version of which the log has a file.
    pub fn newest(&self) -> Version {
        self.listing.read().newest().unwrap_or(0)
    }

    /// The versions that can be rebuilt, ascending.
    pub fn rebuildable(&self) -> Vec<RangeInclusive<Version>> {
        self.listing.read().rebuildable()
    }

    /// The state of `version`, from memory, by walking from a version built before, or from the
    /// log.
    pub fn snapshot(&self, version: Version) -> Result<Arc<Snapshot>, SnapshotError> {
        if let Some(snapshot) = self.cache.lock().get(&version) {
            return Ok(snapshot.clone());
        }
        let mut runs = self.runs.lock();
        // Another thread may have built it while this one waited.
        if let Some(snapshot) = self.cache.lock().get(&version) {
            return Ok(snapshot.clone());
        }
        let snapshot = match self.build(&mut runs, version) {
            Err(error @ SnapshotError::Log(_)) => {
                // The log may have been cleaned up or mended since it was listed, or there is a
                // checkpoint to begin with by now: what is there decides.
                let before = self.listing();
                self.relist()?;
                if *self.listing() == *before {
                    return Err(error);
                }
                self.build(&mut runs, version)?
            }
            other => other?,
        };
        self.cache.lock().put(version, snapshot.clone());
        Ok(snapshot)
    }

    fn build(&self, runs: &mut Vec<Run>, version: Version) -> Result<Arc<Snapshot>, SnapshotError> {
        if let Some(run) = runs.iter().find(|run| run.reaches(version)) {
            return Ok(Arc::new(self.walk(run, version)?));
        }
        if self.ended.load(Ordering::Relaxed) {
            return Err(SnapshotError::from(LogError::VersionNotFound {
                version,
                reason: "another table has taken the place of this one".to_owned(),
            }));
        }
        let listing = self.listing();
        let mut segments = listing.segments(version)?.peekable();
        if let Some((at, start)) = nearest_below(runs, version) {
            let checkpoint = segments.peek().and_then(LogSegment::checkpoint_version);
            let distance = version - start;
            let from_checkpoint = checkpoint.map_or(u64::MAX, |at| version - at);
            if (distance <= WALK_AT_MOST || distance <= from_checkpoint)
                && let Some(commits) = listing.plain_commits(start + 1, version)
            {
                match self.go_on(runs, at, start, &commits) {
                    Ok(snapshot) => return Ok(snapshot),
                    // A checkpoint behind the commit that cannot be read may stand in for it.
                    Err(error) if checkpoint > Some(start) => {
                        tracing::debug!(version, %error, "commits cannot be replayed");
                    }
                    Err(error) => return Err(error),
                }
            }
        }
        let snapshot = self.load(runs, &listing, version, segments)?;
        self.cross_check(&snapshot);
        Ok(snapshot)
    }

    /// Replays `commits` behind version `start` of the run at `at`.
    fn go_on(
        &self,
        runs: &mut Vec<Run>,
        at: usize,
        start: Version,
        commits: &[CommitSource],
    ) -> Result<Arc<Snapshot>, SnapshotError> {
        if start == runs[at].newest().version() {
            return self.extend(&mut runs[at], commits);
        }
        // The version lies within a compaction: branch off before it.
        let mut branch = Run::new(Arc::new(self.walk(&runs[at], start)?));
        let snapshot = self.extend(&mut branch, commits)?;
        runs.push(branch);
        Ok(snapshot)
    }

    /// Tries the ways to build `version` from the log, best first.
    fn load(
        &self,
        runs: &mut Vec<Run>,
        listing: &LogListing,
        version: Version,
        segments: impl Iterator<Item = LogSegment>,
    ) -> Result<Arc<Snapshot>, SnapshotError> {
        let mut first_fault = None;
        for segment in segments {
            let mut run = match self.begin(listing, &segment) {
                Ok(run) => run,
                Err(SnapshotError::Log(error)) if error.is_checkpoint_fault() => {
                    tracing::warn!(version, %error, "a checkpoint cannot be used; trying another way");
                    first_fault.get_or_insert(error);
                    continue;
                }
                Err(error) => return Err(error),
            };
            let base = run.newest().version();
            let commits: Vec<CommitSource> = segment
                .commits
                .into_iter()
                .filter(|source| end_of(source) > base)
                .collect();
            let result = match self.extend(&mut run, &commits) {
                Err(error) if has_compaction(&commits) => {
                    tracing::warn!(version, %error, "a log compaction cannot be used; reading commits");
                    match listing.plain_commits(run.newest().version() + 1, version) {
                        Some(plain) => self.extend(&mut run, &plain),
                        None => Err(error),
                    }
                }
                result => result,
            };
            runs.push(run);
            return result;
        }
        Err(match first_fault {
            Some(first) => LogError::NoUsableCheckpoint {
                version,
                first: Box::new(first),
            }
            .into(),
            None => LogError::VersionNotFound {
                version,
                reason: "the log cannot rebuild it".to_owned(),
            }
            .into(),
        })
    }

    /// The run that begins with the segment's checkpoint, or with its first commits.
    fn begin(&self, listing: &LogListing, segment: &LogSegment) -> Result<Run, SnapshotError> {
        if let Some((version, files)) = &segment.checkpoint {
            let mut filler = CheckpointFiller::new(&self.files);
            let checkpoint = read_checkpoint(&*self.store, *version, files, &mut filler)?;
            let state = State::from_checkpoint(*version, checkpoint, filler.into_files());
            return Ok(Run::new(Arc::new(state.to_snapshot(*version)?)));
        }
        match self.begin_with(segment.version, &segment.commits) {
            Err(error) if has_compaction(&segment.commits) => {
                tracing::warn!(
                    version = segment.version,
                    %error,
                    "a log compaction cannot be used; reading commits"
                );
                match listing.plain_commits(0, segment.version) {
                    Some(plain) => self.begin_with(segment.version, &plain),
                    None => Err(error),
                }
            }
            result => result,
        }
    }

    /// The run that begins with the first of `commits` by which a table is there.
    fn begin_with(&self, version: Version, commits: &[CommitSource]) -> Result<Run, SnapshotError> {
        let mut state = State::default();
        let mut outcome = None;
        for source in commits {
            let path = path_of(source);
            let bytes = self.store.get(&path)?;
            self.apply(&mut state, source, &path, &bytes, None)?;
            match state.to_snapshot(end_of(source)) {
                Ok(snapshot) => return Ok(Run::new(Arc::new(snapshot))),
                // Versions before the first protocol and metadata are no versions.
                Err(error) => outcome = Some(error),
            }
        }
        Err(outcome.unwrap_or_else(|| {
            LogError::VersionNotFound {
                version,
                reason: "the log holds no commit".to_owned(),
            }
            .into()
        }))
    }

    /// Replays `commits` behind the newest version of `run`. Where one fails, the run takes up those
    /// before it, so that asking again does not read them again.
    fn extend(
        &self,
        run: &mut Run,
        commits: &[CommitSource],
    ) -> Result<Arc<Snapshot>, SnapshotError> {
        match self.replay(run, commits) {
            Ok(newest) => Ok(newest),
            Err((good, error)) => {
                if good > 0 {
                    // They were just read; should that change, the next caller reads them.
                    let _ = self.replay(run, &commits[..good]);
                }
                Err(error)
            }
        }
    }

    /// Replays `commits` behind the newest version of `run`; where one fails, the run stays as it
    /// was, and the error comes with the number of commits before it.
    fn replay(
        &self,
        run: &mut Run,
        commits: &[CommitSource],
    ) -> Result<Arc<Snapshot>, (usize, SnapshotError)> {
        let Some(last) = commits.last() else {
            return Ok(run.newest().clone());
        };
        let mut state = State::from_snapshot(run.newest());
        let mut previous = run.newest().version();
        let mut steps = Vec::with_capacity(commits.len());
        for chunk in commits.chunks(COMMITS_AT_ONCE) {
            let paths: Vec<String> = chunk.iter().map(path_of).collect();
            let contents = self.store.get_many(&paths);
            for ((source, path), bytes) in chunk.iter().zip(&paths).zip(contents) {
                let step = bytes
                    .map_err(SnapshotError::from)
                    .and_then(|bytes| self.apply(&mut state, source, path, &bytes, Some(previous)))
                    .map_err(|error| (steps.len(), error))?;
                steps.push(step);
                previous = end_of(source);
            }
        }
        let snapshot = state
            .to_snapshot(end_of(last))
            .map_err(|error| (0, error))?;
        let snapshot = Arc::new(snapshot);
        run.extend(steps, snapshot.clone());
        Ok(snapshot)
    }

    fn apply(
        &self,
        state: &mut State,
        source: &CommitSource,
        path: &str,
        bytes: &[u8],
        previous: Option<Version>,
    ) -> Result<Step, SnapshotError> {
        let mut applier = CommitApplier::new(&self.files, state, path, previous, end_of(source));
        read_actions(path, bytes, &mut applier)?;
        Ok(applier.finish())
    }

    /// Walks within `run`, from the cached version nearest to `version`.
    fn walk(&self, run: &Run, version: Version) -> Result<Snapshot, SnapshotError> {
        let start = {
            let cache = self.cache.lock();
            cache
                .iter()
                .filter(|(cached, _)| run.reaches(**cached))
                .min_by_key(|(cached, _)| cached.abs_diff(version))
                .map(|(_, snapshot)| snapshot.clone())
        };
        let start = start.filter(|start| {
            start.version().abs_diff(version) < run.newest().version().abs_diff(version)
        });
        run.walk(start.as_deref(), version)
    }

    /// Compares a snapshot with the version checksum, if there is one, and warns of differences.
    fn cross_check(&self, snapshot: &Snapshot) {
        if let Some(problem) = self.checksum_problem(snapshot) {
            tracing::warn!(version = snapshot.version(), %problem, "version checksum differs");
        }
    }

    /// What the version checksum says otherwise than the snapshot; `None` when it agrees or there
    /// is none (PROTOCOL.md, "State Validation").
    pub fn checksum_problem(&self, snapshot: &Snapshot) -> Option<String> {
        let checksum = read_checksum(&*self.store, snapshot.version())?;
        let files = snapshot.files().len();
        if i64::try_from(files) != Ok(checksum.num_files) {
            return Some(format!(
                "the checksum counts {} live files, the log has {files}",
                checksum.num_files
            ));
        }
        let size = self.size_of(snapshot);
        if i64::try_from(size) != Ok(checksum.table_size_bytes) {
            return Some(format!(
                "the checksum adds up to {} bytes, the log to {size}",
                checksum.table_size_bytes
            ));
        }
        if let Some(metadata) = &checksum.metadata
            && metadata.id != snapshot.metadata().id
        {
            return Some(format!(
                "the checksum is of table {}, the log of {}",
                metadata.id,
                snapshot.metadata().id
            ));
        }
        None
    }

    /// `numRecords` of live files, read from where their statistics lie. Files without that
    /// statistic have no entry.
    pub fn num_records(&self, ids: &RoaringBitmap) -> Result<HashMap<FileId, i64>, SnapshotError> {
        let mut by_source: HashMap<Arc<str>, HashMap<u32, FileId>> = HashMap::new();
        {
            let files = self.files();
            for id in ids {
                let at = files.get(id).statistics;
                by_source
                    .entry(at.path)
                    .or_default()
                    .insert(at.position, id);
            }
        }
        let mut records = HashMap::new();
        for (path, positions) in by_source {
            let wanted: RoaringBitmap = positions.keys().copied().collect();
            let found = if path.ends_with(".json") {
                records_in_json(&*self.store, &path, &wanted)
            } else {
                records_in_parquet(&*self.store, &path, &wanted)
            };
            let found = match found {
                Ok(found) => found,
                // Cleaned up since: the statistics are gone with it.
                Err(LogError::Storage(error)) if error.is_not_found() => continue,
                Err(error) => return Err(error.into()),
            };
            records.extend(
                found
                    .into_iter()
                    .filter_map(|(position, count)| Some((*positions.get(&position)?, count))),
            );
        }
        Ok(records)
    }

    /// The live files of a version of which every row is deleted, by what their statistics say of
    /// the number of their rows. Statistics that cannot be read say nothing.
    pub fn without_rows(&self, snapshot: &Snapshot) -> RoaringBitmap {
        let mut found = RoaringBitmap::new();
        let mut unknown = RoaringBitmap::new();
        let mut all_deleted = self.all_deleted.lock();
        let some_deleted = snapshot.files() & self.files().with_deletion_vector();
        for id in some_deleted {
            match all_deleted.get(&id) {
                Some(true) => drop(found.insert(id)),
                Some(false) => {}
                None => drop(unknown.insert(id)),
            }
        }
        if unknown.is_empty() {
            return found;
        }
        let records = match self.num_records(&unknown) {
            Ok(records) => records,
            Err(error) => {
                tracing::debug!(%error, "which files have no live rows cannot be told");
                return found;
            }
        };
        let files = self.files();
        for id in unknown {
            let deleted = files.get(id).deletion_vector;
            let deleted = deleted.map(|vector| vector.descriptor.cardinality);
            let all = deleted.is_some() && deleted == records.get(&id).copied();
            all_deleted.insert(id, all);
            if all {
                found.insert(id);
            }
        }
        found
    }

    /// The `commitInfo` of a version; empty where there is none.
    pub fn commit_info(
        &self,
        version: Version,
    ) -> Result<serde_json::Map<String, serde_json::Value>, SnapshotError> {
        Ok(read_commit_info(&*self.store, version)?)
    }

    /// The commit file of a version, as it is.
    pub fn commit_file(&self, version: Version) -> Result<Bytes, SnapshotError> {
        Ok(self.store.get(&log_path(&commit_name(version)))?)
    }

    /// Follows the schema from version 0 to `version`, where all those commit files are there, so
    /// that [`ProvenanceView::added_under`] can answer.
    pub fn prepare_provenance(&self, version: Version) -> Result<ProvenanceView, SnapshotError> {
        let listing = self.listing();
        let mut provenance = self.provenance.lock();
        let complete = provenance.extend(&*self.store, &listing, &self.files, version)?;
        Ok(ProvenanceView {
            complete,
            uniform: provenance.uniform(),
        })
    }
}

/// What [`Generation::prepare_provenance`] found out.
#[derive(Debug, Clone, Copy)]
pub struct ProvenanceView {
    complete: bool,
    uniform: Option<u64>,
}

impl ProvenanceView {
    /// Whether the log reaches back far enough to tell.
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// Fingerprint of the schema of the version whose commit first added the data file; `None`
    /// when the log does not reach back far enough to tell.
    pub fn added_under(&self, file: &FileRef<'_>) -> Option<u64> {
        if !self.complete {
            return None;
        }
        self.uniform.or(file.added_under)
    }
}

fn has_compaction(commits: &[CommitSource]) -> bool {
    commits
        .iter()
        .any(|source| matches!(source, CommitSource::Compaction(..)))
}

fn end_of(source: &CommitSource) -> Version {
    match source {
        CommitSource::Commit(version) => *version,
        CommitSource::Compaction(_, last) => *last,
    }
}

fn path_of(source: &CommitSource) -> String {
    match source {
        CommitSource::Commit(version) => log_path(&commit_name(*version)),
        CommitSource::Compaction(first, last) => log_path(&compaction_name(*first, *last)),
    }
}

/// The run, and the version in it, from which `version` is reached by the fewest further commits.
fn nearest_below(runs: &[Run], version: Version) -> Option<(usize, Version)> {
    runs.iter()
        .enumerate()
        .filter_map(|(at, run)| Some((at, run.last_before(version)?)))
        .max_by_key(|(_, start)| *start)
}
