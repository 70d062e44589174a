//! What is due after a commit, away from those who wait for its answer.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use parking_lot::Mutex;

use crate::base::Version;
use crate::base::clock::{TimestampMs, now_ms};
use crate::log::{LOG_DIR, SIDECAR_DIR};
use crate::snapshot::Table;
use crate::snapshot::checkpoint::after_commit;
use crate::storage::Spool;

/// How long after a temporary file was written nobody is going to give it its name any more,
/// milliseconds.
const LEFT_FOR_GOOD: TimestampMs = 24 * 60 * 60 * 1000;

enum Job {
    Committed(Arc<Table>, Version),
    /// Answered when everything before it is done.
    Settle(Sender<()>),
}

/// A thread that is started for the first commit, and joined when this is dropped, all its work
/// done.
#[derive(Default)]
pub(super) struct Worker {
    running: Mutex<Option<(Sender<Job>, JoinHandle<()>)>>,
}

impl fmt::Debug for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker").finish_non_exhaustive()
    }
}

impl Worker {
    /// Has checksum and, where one is due, checkpoint of a version made; after the first one, also
    /// the log tidied.
    pub(super) fn committed(&self, table: &Arc<Table>, version: Version) {
        let mut running = self.running.lock();
        if running.is_none() {
            let (sender, receiver) = channel();
            let thread = thread::Builder::new().name("after-commit".to_owned());
            match thread.spawn(move || work(&receiver)) {
                Ok(thread) => *running = Some((sender, thread)),
                Err(error) => {
                    tracing::debug!(%error, "no thread: what is due after a commit is done now");
                    drop(running);
                    make(table, version);
                    return;
                }
            }
        }
        if let Some((sender, _)) = &*running {
            // The thread ends with this value only.
            let _ = sender.send(Job::Committed(table.clone(), version));
        }
    }

    /// Waits until all that was asked for is done.
    pub(super) fn settle(&self) {
        let (answer, done) = channel();
        if let Some((sender, _)) = &*self.running.lock() {
            let _ = sender.send(Job::Settle(answer));
        } else {
            return;
        }
        let _ = done.recv();
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if let Some((sender, thread)) = self.running.lock().take() {
            drop(sender);
            // A panic has been logged where it happened.
            let _ = thread.join();
        }
    }
}

fn work(jobs: &Receiver<Job>) {
    let mut tidied = false;
    while let Ok(job) = jobs.recv() {
        match job {
            Job::Committed(table, version) => {
                make(&table, version);
                if !std::mem::replace(&mut tidied, true) {
                    tidy(&table);
                }
            }
            Job::Settle(answer) => drop(answer.send(())),
        }
    }
}

/// Removes what writers of this program left in the log that were killed: temporary files, where the
/// file system has to give these names. Readers ignore them, and nobody else removes them.
fn tidy(table: &Table) {
    let generation = table.current();
    let root = Path::new(generation.roots().table().root());
    for directory in [LOG_DIR, SIDECAR_DIR] {
        let tidied = Spool::open(root, directory).and_then(|opened| match opened {
            Some(opened) => opened.remove_leftovers(now_ms() - LEFT_FOR_GOOD),
            None => Ok(0),
        });
        match tidied {
            Ok(0) => {}
            Ok(count) => tracing::info!(directory, count, "removed what killed writers had left"),
            Err(error) => tracing::debug!(directory, %error, "what killed writers left stays"),
        }
    }
}

/// Never fails the commit, which is done: what goes wrong is logged where it does.
fn make(table: &Table, version: Version) {
    match table.refresh() {
        Ok(generation) => drop(after_commit(&generation, version)),
        Err(error) => tracing::warn!(version, %error, "no checkpoint: the table cannot be read"),
    }
}
