//! A table from its creation to its end at one place: its log, the file table, and the versions
//! built so far. A table that is dropped and made again at the same path is another generation.

mod checkpointed;
mod checksum;
mod rebuild;
mod records;
mod times;

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use lru::LruCache;
use parking_lot::{Mutex, RwLock, RwLockReadGuard};

use self::checkpointed::KnownSize;
use super::SnapshotError;
use super::file_table::{FileId, FileRef, FileTable};
use super::provenance::Provenance;
use super::run::Run;
use super::state::Snapshot;
use crate::base::Version;
use crate::log::history::read_commit_info;
use crate::log::listing::LogListing;
use crate::log::log_path;
use crate::log::names::commit_name;
use crate::log::times::CommitTimes;
use crate::storage::{Store, TableRoots};

/// How many versions are kept as bitmaps; others are walked to again.
const CACHED_VERSIONS: NonZeroUsize = NonZeroUsize::new(128).expect("128 is not zero");

/// How often a version is tried to be built from a log that changes meanwhile.
const ATTEMPTS: usize = 8;

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
        let mut attempts = ATTEMPTS;
        let snapshot = loop {
            match self.build(&mut runs, version) {
                Err(error @ SnapshotError::Log(_)) => {
                    // The log may have been cleaned up or mended since it was listed, or there is
                    // a checkpoint to begin with by now: what is there decides.
                    let before = self.listing();
                    self.relist()?;
                    attempts -= 1;
                    if attempts == 0 || *self.listing() == *before {
                        return Err(error);
                    }
                }
                other => break other?,
            }
        };
        self.cache.lock().put(version, snapshot.clone());
        Ok(snapshot)
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
