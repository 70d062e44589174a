//! Clones that are kept from open to open.
//!
//! What is kept has its pages in memory, as data files have: what was read once is not read from the
//! disk again. But it keeps the blocks that it shares on the disk too, also after the data file was
//! removed, or the entry of the disk cache. So a thread, which lives as long as anything is kept,
//! looks which of these are gone, and lets go of their clones.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use lru::LruCache;
use parking_lot::{Condvar, Mutex};
use rustix::fs::fstat;
use rustix::process::{Resource, getrlimit};

use super::super::cache::EntryKey;
use crate::base::clock::monotonic;

/// How many there are at most.
const MOST: u64 = 1024;

/// Of how many files that this process may have open one may be a clone: each is an open file, and holds
/// one or two others, and who reads needs some too.
const SHARE: u64 = 8;

/// What is in them that is not shared may take that much at most, bytes.
const MOST_BYTES: u64 = 256 << 20;

/// How often it is looked which files are gone.
const EVERY: Duration = Duration::from_secs(60);

/// The clones that are kept.
#[derive(Debug)]
pub(super) struct Kept {
    shared: Arc<Shared>,
    most: usize,
    limit: u64,
    every: Duration,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug)]
struct Shared {
    held: Mutex<Held>,
    changed: Condvar,
}

#[derive(Debug)]
struct Held {
    clones: LruCache<EntryKey, Entry>,
    bytes: u64,
    /// Whether a thread looks after it.
    is_watched: bool,
    is_closed: bool,
}

#[derive(Debug)]
struct Entry {
    file: Arc<File>,
    bytes: u64,
    /// Whose blocks it shares.
    sources: Vec<Arc<File>>,
}

impl Kept {
    /// Keeps clones of up to `limit` bytes that are not shared.
    pub(super) fn new(limit: u64) -> Kept {
        Kept::looking(limit, EVERY)
    }

    /// As [`Kept::new`], and looks so often which data files are gone.
    pub(super) fn looking(limit: u64, every: Duration) -> Kept {
        Kept {
            shared: Arc::new(Shared {
                held: Mutex::new(Held {
                    clones: LruCache::unbounded(),
                    bytes: 0,
                    is_watched: false,
                    is_closed: false,
                }),
                changed: Condvar::new(),
            }),
            most: most(getrlimit(Resource::Nofile).current),
            limit: limit.min(MOST_BYTES),
            every,
            thread: Mutex::new(None),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.shared.held.lock().clones.len()
    }

    /// A clone that is kept and whole.
    pub(super) fn get(&self, key: &EntryKey) -> Option<Arc<File>> {
        let file = {
            let mut held = self.shared.held.lock();
            held.clones.get(key)?.file.clone()
        };
        match lost(&file) {
            None => Some(file),
            Some(error) => {
                tracing::debug!(%error, "a clone lost its tail on the way to the disk");
                drop(self.shared.held.lock().remove(key));
                None
            }
        }
    }

    /// Keeps a clone whose own bytes are as many as said, and that shares those of `sources`.
    pub(super) fn put(&self, key: EntryKey, file: &Arc<File>, bytes: u64, sources: Vec<Arc<File>>) {
        if bytes > self.limit {
            return;
        }
        let entry = Entry {
            file: file.clone(),
            bytes,
            sources,
        };
        let mut gone = Vec::new();
        let mut held = self.shared.held.lock();
        held.bytes += bytes;
        if let Some(before) = held.clones.put(key, entry) {
            held.bytes -= before.bytes;
            gone.push(before);
        }
        while held.clones.len() > self.most || held.bytes > self.limit {
            gone.extend(held.remove_oldest());
        }
        let is_watched = std::mem::replace(&mut held.is_watched, true);
        drop(held);
        // Closing frees blocks, which takes time: not under the lock.
        drop(gone);
        if !is_watched {
            self.watch();
        }
    }

    /// Lets go of all.
    pub(super) fn clear(&self) {
        let mut held = self.shared.held.lock();
        held.bytes = 0;
        let gone = std::mem::replace(&mut held.clones, LruCache::unbounded());
        drop(held);
        drop(gone);
    }

    fn watch(&self) {
        let (shared, every) = (self.shared.clone(), self.every);
        let thread = Builder::new().name("clones".to_owned());
        match thread.spawn(move || shared.look_after(every)) {
            // The one before has ended, or is about to.
            Ok(thread) => drop(self.thread.lock().replace(thread)),
            Err(error) => {
                // Tried again at the next one.
                tracing::debug!(%error, "no thread to let go of clones");
                self.shared.held.lock().is_watched = false;
            }
        }
    }
}

impl Held {
    fn remove(&mut self, key: &EntryKey) -> Option<Entry> {
        let entry = self.clones.pop(key)?;
        self.bytes -= entry.bytes;
        Some(entry)
    }

    /// Those that share blocks of a file that has no name any more.
    fn remove_orphans(&mut self) -> Vec<Entry> {
        let is_gone = |file: &Arc<File>| fstat(file).is_ok_and(|stat| stat.st_nlink == 0);
        let is_orphan = |entry: &Entry| entry.sources.iter().any(is_gone);
        let orphans: Vec<EntryKey> = self
            .clones
            .iter()
            .filter_map(|(key, entry)| is_orphan(entry).then_some(*key))
            .collect();
        orphans.iter().filter_map(|key| self.remove(key)).collect()
    }

    fn remove_oldest(&mut self) -> Option<Entry> {
        let (_, entry) = self.clones.pop_lru()?;
        self.bytes -= entry.bytes;
        Some(entry)
    }
}

impl Shared {
    /// Until nothing is kept.
    fn look_after(&self, every: Duration) {
        let mut held = self.held.lock();
        while !held.is_closed && !held.clones.is_empty() {
            let due = monotonic() + every;
            while !held.is_closed && !self.changed.wait_until(&mut held, due).timed_out() {}
            let gone = held.remove_orphans();
            drop(held);
            drop(gone);
            held = self.held.lock();
        }
        held.is_watched = false;
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.shared.held.lock().is_closed = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.lock().take() {
            // It has nothing to panic on, and there is nobody to tell.
            let _ = thread.join();
        }
    }
}

/// How many clones are kept where so many files may be open.
pub(super) fn most(open: Option<u64>) -> usize {
    let share = open.map_or(MOST, |open| open / SHARE);
    usize::try_from(share.min(MOST)).expect("a thousand at most")
}

/// What went wrong when bytes of a file were written to the disk, behind the back of who wrote them.
fn lost(file: &File) -> Option<std::io::Error> {
    // SAFETY: the call takes numbers only, and the descriptor is open as long as `file` is.
    let waited =
        unsafe { libc::sync_file_range(file.as_raw_fd(), 0, 0, libc::SYNC_FILE_RANGE_WAIT_BEFORE) };
    (waited != 0).then(std::io::Error::last_os_error)
}
