//! Files that are read without having been opened.
//!
//! A kernel that was answered ENOSYS by OPEN sends none for the rest of the mount, and no RELEASE:
//! its opens cost nothing, and its reads name an inode only. What they read is opened here when a
//! name is looked up, or else at the first read, and stays open for the next ones.

use std::num::NonZeroUsize;
use std::sync::Arc;

use fuser::Errno;
use lru::LruCache;
use parking_lot::Mutex;

use super::call::{Context, call, notify};
use super::nodes::Nodes;
use crate::storage::posix::Access;
use crate::tree::Ino;

/// Files that are kept open. The kernel's page cache has what was read before, so that a program
/// reads from few files at a time; each takes a descriptor, and the disk space of a deleted file.
const KEPT: NonZeroUsize = NonZeroUsize::new(256).expect("256 is not zero");

/// A file that is open as long as this lives.
#[derive(Debug)]
pub(super) struct Reader<N: Nodes> {
    nodes: Arc<N>,
    ino: Ino,
    handle: u64,
}

impl<N: Nodes> Reader<N> {
    /// The handle to read from.
    pub fn handle(&self) -> u64 {
        self.handle
    }
}

impl<N: Nodes> Drop for Reader<N> {
    fn drop(&mut self) {
        notify(Context::new("release", self.ino), || {
            // Nothing was written by way of it.
            let _ = self.nodes.release(self.handle);
        });
    }
}

/// The files that were read last, open.
#[derive(Debug)]
pub(super) struct Readers<N: Nodes> {
    nodes: Arc<N>,
    kept: Mutex<LruCache<Ino, Arc<Reader<N>>>>,
}

impl<N: Nodes> Readers<N> {
    /// No open files yet.
    pub fn new(nodes: Arc<N>) -> Readers<N> {
        Readers {
            nodes,
            kept: Mutex::new(LruCache::new(KEPT)),
        }
    }

    /// The open file of an inode. What changes is opened anew at each call. The error is that of
    /// opening it.
    pub fn of(&self, ino: Ino) -> Result<Arc<Reader<N>>, Errno> {
        if let Some(kept) = self.kept.lock().get(&ino) {
            return Ok(kept.clone());
        }
        let opened = call(Context::new("open", ino), || {
            self.nodes.open_backed(ino, Access::Read, None)
        })?;
        let reader = Arc::new(Reader {
            nodes: self.nodes.clone(),
            ino,
            handle: opened.handle,
        });
        if opened.immutable {
            // What falls out is closed when the lock is no longer held.
            let _fallen_out = self.kept.lock().push(ino, reader.clone());
        }
        Ok(reader)
    }

    /// The kernel has forgotten an inode.
    pub fn forget(&self, ino: Ino) {
        let _forgotten = self.kept.lock().pop(&ino);
    }
}
