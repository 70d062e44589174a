//! The directory tree of a mounted table: names, inodes, handles, listings. Knows nothing of FUSE
//! and is tested without a mount.

mod attributes;
mod error;
mod file_node;
mod info;
mod inodes;
mod listing;
mod lookup;
mod metrics;
mod missing;
pub mod names;
mod node;
mod open_files;
mod staging;
mod types;
mod versions;
mod xattrs;

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use self::info::{InfoCache, Told};
use self::inodes::Inodes;
use self::listing::Listing;
use self::metrics::Counters;
use self::missing::Missing;
use self::node::{Base, Node};
use self::open_files::OpenFile;
use self::staging::StagedRows;
use self::versions::Versions;
use crate::base::Version;
use crate::base::clock::now_ms;
use crate::snapshot::{Generation, Table};
use crate::storage::Capacity;

pub use error::TreeError;
pub use staging::{Changes, is_staged};
pub use types::{Attr, DirEntry, Entry, NodeKind, Opened, TreeOptions};

/// An inode number. Stable across remounts for everything but open handles.
pub type Ino = u64;

/// The root directory of the mount.
pub const ROOT_INO: Ino = 1;

/// How long the kernel may remember what never changes.
const FOREVER: Duration = Duration::from_secs(86_400);

/// How long the kernel may take a name in the root to mean the same directory: another table may
/// come to stand at the same place. And how long it may believe the attributes of directories that
/// move on: every path through them asks for these, while a listing is asked for anew each time.
const ROOT_NAMES: Duration = Duration::from_secs(1);

/// The directory tree of a mounted table. One method a request of the kernel, in the kernel's terms:
/// nodes are named by their inode numbers, which count look-ups until [`Tree::forget`] takes them
/// back, and what is open by handles. Any thread may call any method.
pub struct Tree {
    versions: Versions,
    options: TreeOptions,
    inodes: Inodes,
    next_handle: AtomicU64,
    open_files: Mutex<HashMap<u64, Arc<OpenFile>>>,
    open_directories: Mutex<HashMap<u64, Arc<Listing>>>,
    info: InfoCache,
    told: Told,
    missing: Missing,
    counters: Counters,
    /// When a transaction began or ended last.
    staging_changed: AtomicI64,
}

impl fmt::Debug for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tree").finish_non_exhaustive()
    }
}

impl Tree {
    /// The tree of a table.
    pub fn new(table: Arc<Table>, options: TreeOptions) -> Tree {
        Tree {
            versions: Versions::new(table, options.view.clone()),
            options,
            inodes: Inodes::default(),
            next_handle: AtomicU64::new(1),
            open_files: Mutex::default(),
            open_directories: Mutex::default(),
            info: InfoCache::default(),
            told: Told::default(),
            missing: Missing::default(),
            counters: Counters::default(),
            staging_changed: AtomicI64::new(now_ms()),
        }
    }

    fn table(&self) -> &Table {
        self.versions.table()
    }

    fn node(&self, ino: Ino) -> Result<Node, TreeError> {
        self.inodes.get(ino).ok_or(TreeError::UnknownInode(ino))
    }

    /// A number that no handle has had.
    fn new_handle(&self) -> u64 {
        self.next_handle.fetch_add(1, Ordering::Relaxed)
    }

    /// The kernel has forgotten `count` look-ups of `ino`.
    pub fn forget(&self, ino: Ino, count: u64) {
        self.inodes.forget(ino, count);
    }

    /// The target of a symlink.
    pub fn readlink(&self, ino: Ino) -> Result<String, TreeError> {
        match self.node(ino)? {
            Node::Link { target } => Ok(target.to_string()),
            _ => Err(TreeError::NotASymlink(ino)),
        }
    }

    /// Opens a directory: the listing is one snapshot, taken now.
    pub fn opendir(&self, ino: Ino) -> Result<u64, TreeError> {
        Counters::add(&self.counters.listings, 1);
        let listing = match self.node(ino)? {
            Node::Root => {
                let generation = self.table().refresh_versions()?;
                let versions = self.listed_versions(&generation);
                Listing::root(&generation, &versions, self.options.staging.is_some())
            }
            Node::Info => {
                let generation = self.table().refresh_versions()?;
                Listing::info(&generation, &self.listed_versions(&generation))
            }
            Node::InfoVersion(generation, version) => {
                Listing::info_version(ino, &generation, version)
            }
            Node::Directory { base, path } => {
                let view = self.versions.now(&base)?;
                if matches!(base, Base::Latest) {
                    self.versions.show(&view);
                }
                Listing::version(ino, view, base, path)?
            }
            Node::Staging => Listing::Staged(StagedRows::transactions(self.staging()?.clone())),
            Node::Staged(staged) => Listing::Staged(StagedRows::directory(staged)?),
            Node::InfoLatest
            | Node::InfoHistory
            | Node::InfoMetrics
            | Node::InfoFile(..)
            | Node::File(_)
            | Node::Link { .. }
            | Node::Status(_) => return Err(TreeError::NotADirectory(ino)),
        };
        let handle = self.new_handle();
        let listing = Arc::new(listing);
        self.open_directories.lock().insert(handle, listing);
        Ok(handle)
    }

    /// The newest versions that can be rebuilt, as many as the root lists, ascending.
    fn listed_versions(&self, generation: &Generation) -> Vec<Version> {
        let limit = self.options.list_limit.unwrap_or(usize::MAX);
        let mut versions: Vec<Version> = generation
            .rebuildable()
            .into_iter()
            .rev()
            .flat_map(|range| range.rev())
            .take(limit)
            .collect();
        versions.reverse();
        versions
    }

    /// Lists an open directory from `offset` on (0 is the start) until it ends or `take` breaks.
    /// A row at which `take` breaks was not taken and comes again. With `plus`, rows carry entries
    /// where these are known without work.
    pub fn readdir(
        &self,
        handle: u64,
        offset: u64,
        plus: bool,
        take: &mut dyn FnMut(&DirEntry<'_>) -> ControlFlow<()>,
    ) -> Result<(), TreeError> {
        let listing = self.open_directories.lock().get(&handle).cloned();
        let listing = listing.ok_or(TreeError::UnknownHandle(handle))?;
        listing.read(&self.inodes, offset, plus, take)
    }

    /// Closes a directory handle.
    pub fn releasedir(&self, handle: u64) {
        self.open_directories.lock().remove(&handle);
    }

    /// The value of an extended attribute; [`TreeError::NoAttribute`] when the node has none of
    /// that name.
    pub fn getxattr(&self, ino: Ino, name: &OsStr) -> Result<Vec<u8>, TreeError> {
        let none = || TreeError::NoAttribute(name.to_string_lossy().into_owned());
        let text = name.to_str().ok_or_else(none)?;
        // Tools ask for security.* and system.* all the time.
        if !text.starts_with(xattrs::PREFIX) {
            return Err(none());
        }
        xattrs::get(self, &self.node(ino)?, text)?.ok_or_else(none)
    }

    /// The names of a node's extended attributes.
    pub fn listxattr(&self, ino: Ino) -> Result<Vec<String>, TreeError> {
        xattrs::list(self, &self.node(ino)?)
    }

    /// Space of the device behind the table; `None` where the notion does not exist.
    pub fn capacity(&self) -> Option<Capacity> {
        self.table().current().roots().table().capacity()
    }
}
