//! One transaction: the directory of its files, and whether they may be changed.

use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::{Condvar, Mutex, RwLock, RwLockReadGuard};
use uuid::Uuid;

use super::leaving::Leaving;
use super::record::{Attempt, Failure, Outcome, Prepared, Record, State};
use super::status::status;
use super::{Shared, StagingError};
use crate::base::Version;
use crate::base::clock::monotonic;
use crate::storage::posix::Directory;
use crate::storage::{SpoolDirectory, StorageError};

/// How long a commit waits for files to be closed for good that were closed a moment ago, because
/// they are to be committed, or because they were removed and the disk is full: the kernel tells of a
/// `close` only after it has returned.
const CLOSING: Duration = Duration::from_millis(500);

/// A directory of `@staging`.
///
/// What changes its files holds a [`ModifyGuard`]; a commit waits for these to be gone, and lets no
/// new one be had until it is done. Writes that the kernel makes without asking cannot be held back
/// so: [`Transaction::note_writer`] tells of the files that may get some.
pub struct Transaction {
    pub(super) shared: Arc<Shared>,
    pub(super) directory: Arc<SpoolDirectory>,
    files: Directory,
    /// The number of the table's generation that it was begun for.
    pub(super) generation: u64,
    pub(super) record: Mutex<Record>,
    /// Of a commit of which nothing tells how it went: what was answered last.
    unresolved: Mutex<Option<Failure>>,
    gate: RwLock<()>,
    committing: AtomicBool,
    writers: Mutex<HashMap<u64, usize>>,
    writer_gone: Condvar,
}

/// Keeps a commit waiting while something is changed.
#[derive(Debug)]
pub struct ModifyGuard<'a>(#[expect(dead_code, reason = "held")] RwLockReadGuard<'a, ()>);

impl std::fmt::Debug for Transaction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Transaction")
            .field("name", &self.name())
            .finish_non_exhaustive()
    }
}

impl Transaction {
    pub(super) fn new(
        shared: Arc<Shared>,
        directory: SpoolDirectory,
        files: Directory,
        generation: u64,
        record: Record,
    ) -> Transaction {
        Transaction {
            shared,
            files,
            directory: Arc::new(directory),
            generation,
            record: Mutex::new(record),
            unresolved: Mutex::new(None),
            gate: RwLock::new(()),
            committing: AtomicBool::new(false),
            writers: Mutex::default(),
            writer_gone: Condvar::new(),
        }
    }

    /// The name of its directory.
    pub fn name(&self) -> String {
        self.record.lock().name.clone()
    }

    /// The directory on disk that holds the user's files.
    pub fn files(&self) -> &Directory {
        &self.files
    }

    /// Where on the disk its files lie, for messages.
    pub fn place(&self) -> PathBuf {
        self.directory.shown_files()
    }

    /// To be held while files are made, changed or renamed. An error while a commit runs, and once
    /// it has succeeded.
    pub fn modify(&self) -> Result<ModifyGuard<'_>, StagingError> {
        self.resolve_first()?;
        let guard = self.removing()?;
        let record = self.record.lock();
        match record.state {
            State::Committed { version, .. } => Err(StagingError::Committed {
                name: record.name.clone(),
                version,
            }),
            State::Open | State::Failed { .. } | State::Committing { .. } => Ok(guard),
        }
    }

    /// Finds out what became of an attempt that is in doubt, where there is one: until then, the
    /// staged files may be a version's data files, under other names.
    pub(super) fn resolve_first(&self) -> Result<(), StagingError> {
        if !matches!(self.record.lock().state, State::Committing { .. }) {
            return Ok(());
        }
        let Some(_alone) = self.gate.try_write() else {
            return Err(StagingError::Committing { name: self.name() });
        };
        let failure = self.unresolved.lock().clone();
        match (self.resolve()?, failure) {
            (None, Some(failure)) => self.set_state(State::Failed { failure }),
            _ => Ok(()),
        }
    }

    /// To be held while files are removed: also once they have been committed.
    pub fn removing(&self) -> Result<ModifyGuard<'_>, StagingError> {
        match self.gate.try_read() {
            Some(guard) => Ok(ModifyGuard(guard)),
            None => Err(StagingError::Committing { name: self.name() }),
        }
    }

    /// Notes that a file, by its inode number on the disk, is open for writing.
    pub fn note_writer(&self, inode: u64) {
        *self.writers.lock().entry(inode).or_default() += 1;
    }

    /// Takes a [`Transaction::note_writer`] back.
    pub fn writer_gone(&self, inode: u64) {
        let mut writers = self.writers.lock();
        if let Some(count) = writers.get_mut(&inode) {
            *count -= 1;
            if *count == 0 {
                writers.remove(&inode);
            }
        }
        self.writer_gone.notify_all();
    }

    /// The removed files that are still open.
    pub(crate) fn leaving(&self) -> &Leaving {
        &self.shared.leaving
    }

    /// Whether a staged file may be a data file of the table too, under another name that it has or
    /// had there.
    pub(crate) fn may_be_in_the_table(&self) -> bool {
        let is_published = match self.record.lock().state {
            State::Committed { .. } | State::Committing { .. } => true,
            State::Open | State::Failed { .. } => false,
        };
        let generation = self.shared.table.current();
        is_published
            && self
                .directory
                .may_link_to(generation.roots().table().root())
    }

    /// Notes that a file could not be fsynced, for mounts to come too: the pages that could not be
    /// written outlive this process. It is not to be believed when an fsync works later.
    pub(crate) fn note_unwritten(&self, file: &File) {
        let Ok(metadata) = file.metadata() else {
            return;
        };
        let mut record = self.record.lock();
        if !record.unwritten.insert(metadata.ino()) {
            return;
        }
        let mut noted = record.clone();
        if matches!(noted.state, State::Committing { .. }) {
            // The note of the attempt tells that.
            noted.state = State::Open;
        }
        if let Err(error) = self.directory.set_record(&noted.to_bytes()) {
            tracing::warn!(
                %error,
                "that the disk did not take a staged file could not be noted on disk"
            );
        }
    }

    /// Whether [`Transaction::note_unwritten`] was told of a file.
    pub(super) fn is_unwritten(&self, inode: u64) -> bool {
        self.record.lock().unwritten.contains(&inode)
    }

    /// Those of `inodes` that stay open for writing, after a moment for closes under way.
    pub(super) fn still_written(&self, inodes: &[u64]) -> Vec<u64> {
        let until = monotonic() + CLOSING;
        let mut writers = self.writers.lock();
        loop {
            let open: Vec<u64> = (inodes.iter().copied())
                .filter(|inode| writers.contains_key(inode))
                .collect();
            if open.is_empty() || self.writer_gone.wait_until(&mut writers, until).timed_out() {
                return open;
            }
        }
    }

    /// The content of `.status`.
    pub fn status(&self) -> Vec<u8> {
        let committing = self.committing.load(Ordering::Relaxed);
        let record = self.record.lock();
        status(&record, committing, self.unresolved.lock().as_ref())
    }

    /// The version that it has become.
    pub fn committed(&self) -> Option<Version> {
        match self.record.lock().state {
            State::Committed { version, .. } => Some(version),
            State::Open | State::Failed { .. } | State::Committing { .. } => None,
        }
    }

    /// Commits what is staged, as the marker says. Blocks until it is decided: `Ok` means that the
    /// version is there and durable; asked again, it gives the same answer. An error leaves the
    /// table as it was and the staged files where they are, and asking again tries again. After
    /// [`StagingError::Unknown`], asking again first looks what became of it.
    pub fn commit(&self) -> Result<Version, StagingError> {
        let _alone = self.gate.write();
        if let Some(version) = self.committed() {
            return Ok(version);
        }
        self.committing.store(true, Ordering::Relaxed);
        let left = self.shared.leaving.count();
        let mut result = self.commit_alone();
        if let Err(error) = &result
            && (self.shared.options.errno_of)(error) == libc::ENOSPC
            && self.shared.leaving.wait(left, CLOSING)
        {
            tracing::debug!(%error, "room has become free meanwhile: once more");
            result = self.commit_alone();
        }
        if let Err(error) = &result {
            self.note_failure(error);
        }
        self.committing.store(false, Ordering::Relaxed);
        result
    }

    /// Remembers a failure, for `.status`, across mounts too. An attempt of which nothing tells how it
    /// went stays in the record, to be looked for.
    fn note_failure(&self, error: &StagingError) {
        let failure = error.to_failure((self.shared.options.errno_of)(error));
        let mut record = self.record.lock();
        if matches!(record.state, State::Committing { .. }) {
            *self.unresolved.lock() = Some(failure);
            return;
        }
        record.state = State::Failed { failure };
        if let Err(error) = self.directory.set_record(&record.to_bytes()) {
            tracing::warn!(%error, "a failure could not be noted on disk");
        }
    }

    /// Notes that an attempt is known to have failed, and left nothing. The failure is going to be
    /// noted on disk; should that be lost, or this, it is looked for once more, in vain. Where its
    /// data files could not be taken back, it stays an attempt to be resolved, lest nobody knows of
    /// them any more.
    pub(super) fn attempt_is_over(&self, withdrawn: Result<(), StorageError>) {
        if let Err(error) = withdrawn {
            tracing::warn!(%error, "data files that no version names cannot be removed yet");
            return;
        }
        self.record.lock().state = State::Open;
        *self.unresolved.lock() = None;
        if let Err(error) = self.directory.set_attempt(None) {
            tracing::debug!(%error, "the end of an attempt could not be noted on disk");
        }
    }

    /// Notes an attempt. A kill does not lose that; the power may, until
    /// [`Transaction::begin_attempt`].
    pub(super) fn announce_attempt(&self, attempt: &Attempt) -> Result<(), StagingError> {
        Ok(self.directory.set_attempt(Some(&attempt.to_bytes()))?)
    }

    /// Makes the note of an attempt durable: from here on its outcome has to be looked for.
    pub(super) fn begin_attempt(&self, attempt: Attempt) -> Result<(), StagingError> {
        self.directory.sync_attempt()?;
        self.record.lock().state = State::Committing { attempt };
        Ok(())
    }

    /// Notes that all files of an attempt have been fsynced.
    pub(super) fn note_prepared(&self, attempt: Uuid) {
        let note = Prepared { prepared: attempt };
        if let Err(error) = self.directory.set_outcome(&note.to_bytes()) {
            tracing::debug!(%error, "that the data files are durable could not be noted");
        }
    }

    /// Notes what an attempt has come to. Where the note is lost, the log tells the same.
    pub(super) fn end_attempt(&self, outcome: Outcome) -> Result<(), StagingError> {
        let noted = self.directory.set_outcome(&outcome.to_bytes());
        self.record.lock().state = outcome.into_state();
        Ok(noted?)
    }

    /// Sets the state, on disk first.
    pub(super) fn set_state(&self, state: State) -> Result<(), StagingError> {
        let mut record = self.record.lock();
        let mut next = record.clone();
        next.state = state;
        self.directory.set_record(&next.to_bytes())?;
        *record = next;
        Ok(())
    }
}
