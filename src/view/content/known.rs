//! What was found out about files: classes and sizes.

use lru::LruCache;
use parking_lot::Mutex;

use crate::base::clock::TimestampMs;
use crate::snapshot::FileId;
use crate::view::Class;

/// How many files are remembered.
const KNOWN: usize = 1 << 20;

/// What is known of a presented file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Known {
    /// Absent where an earlier mount has found out the size.
    pub(super) class: Option<Class>,
    pub(super) size: u64,
    /// When the data file was modified that was looked at.
    pub(super) modified: Option<TimestampMs>,
}

/// What is known of presented files, the least lately used of which goes when there are too many.
pub(super) struct KnownFiles(Mutex<LruCache<FileId, Known>>);

impl Default for KnownFiles {
    fn default() -> KnownFiles {
        // Grown as files are met: a bound given here would be reserved for each schema at once.
        KnownFiles(Mutex::new(LruCache::unbounded()))
    }
}

impl KnownFiles {
    /// What is known of a file.
    pub(super) fn get(&self, id: FileId) -> Option<Known> {
        self.0.lock().get(&id).copied()
    }

    /// Notes what is known of a file; returns what was known before.
    pub(super) fn put(&self, id: FileId, known: Known) -> Option<Known> {
        let mut files = self.0.lock();
        let before = files.put(id, known);
        if files.len() > KNOWN {
            files.pop_lru();
        }
        before
    }
}
