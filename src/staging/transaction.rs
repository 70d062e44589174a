//! One transaction: the directory of its files, and whether they may be changed.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::{Condvar, Mutex, RwLock, RwLockReadGuard};

use super::record::{Attempt, Failure, Outcome, Record, State};
use super::status::status;
use super::{Shared, StagingError};
use crate::base::Version;
use crate::base::clock::monotonic;
use crate::storage::posix::Directory;
use crate::storage::{SpoolDirectory, StorageError};

/// How long a commit waits for files to be closed for good that were closed a moment ago: the
/// kernel tells of that only after `close` has returned.
const CLOSING: Duration = Duration::from_millis(500);

/// A directory of `@staging`.
///
/// What changes its files holds a [`ModifyGuard`]; a commit waits for these to be gone, and lets no
/// new one be had until it is done. Writes that the kernel makes without asking cannot be held back
/// so: [`Transaction::note_writer`] tells of the files that may get some.
pub struct Transaction {
    pub(super) shared: Arc<Shared>,
    pub(super) directory: SpoolDirectory,
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
    /// The inodes of files that could not be fsynced.
    unwritten: Mutex<HashSet<u64>>,
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
            directory,
            generation,
            record: Mutex::new(record),
            unresolved: Mutex::new(None),
            gate: RwLock::new(()),
            committing: AtomicBool::new(false),
            writers: Mutex::default(),
            writer_gone: Condvar::new(),
            unwritten: Mutex::default(),
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

    /// Notes that a file could not be fsynced. It is not to be believed when that works later.
    pub(super) fn note_unwritten(&self, file: &File) {
        if let Ok(metadata) = file.metadata() {
            self.unwritten.lock().insert(metadata.ino());
        }
    }

    /// Whether [`Transaction::note_unwritten`] was told of a file.
    pub(super) fn is_unwritten(&self, inode: u64) -> bool {
        self.unwritten.lock().contains(&inode)
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
        let result = self.commit_alone();
        if let Err(error) = &result {
            self.note_failure(error);
        }
        self.committing.store(false, Ordering::Relaxed);
        result
    }

    /// Remembers a failure, for `.status`, across mounts too. An attempt of which nothing tells how it
    /// went stays in the record, to be looked for.
    fn note_failure(&self, error: &StagingError) {
        let (file, column) = error.place();
        let failure = Failure {
            name: error.delta_name(),
            message: with_sources(error),
            errno: (self.shared.options.errno_of)(error),
            file,
            column,
        };
        let mut record = self.record.lock();
        if matches!(record.state, State::Committing { .. }) {
            *self.unresolved.lock() = Some(failure);
            return;
        }
        record.state = State::Failed { failure };
        let bytes = record.to_bytes();
        drop(record);
        if let Err(error) = self.directory.set_record(&bytes) {
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

    /// Notes an attempt, durably: from here on its outcome has to be looked for.
    pub(super) fn begin_attempt(&self, attempt: Attempt) -> Result<(), StagingError> {
        self.directory.set_attempt(Some(&attempt.to_bytes()))?;
        self.record.lock().state = State::Committing { attempt };
        Ok(())
    }

    /// Notes what an attempt has come to. Where the note is lost, the log tells the same.
    pub(super) fn end_attempt(&self, outcome: Outcome) -> Result<(), StagingError> {
        let noted = self.directory.set_outcome(&outcome.to_bytes());
        self.record.lock().state = outcome.into_state();
        Ok(noted?)
    }

    /// Sets the state, on disk first.
    pub(super) fn set_state(&self, state: State) -> Result<(), StagingError> {
        let mut record = self.record.lock().clone();
        record.state = state;
        self.directory.set_record(&record.to_bytes())?;
        *self.record.lock() = record;
        Ok(())
    }
}

/// An error with what is below it.
fn with_sources(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let more = error.to_string();
        // Transparent errors say the same again.
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        source = error.source();
    }
    text
}
