//! The directory tree of a mounted table: names, inodes, handles, listings. Knows nothing of FUSE
//! and is tested without a mount.

mod attributes;
mod error;
mod info;
mod listing;
mod lookup;
pub mod names;
mod nodes;
mod staging;
mod types;
mod versions;

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fmt;
use std::fs::File;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use self::info::{Counters, Gauges, InfoCache, Missing, Told};
use self::listing::Listing;
use self::nodes::{Base, InfoFile, Node, Nodes};
use self::staging::{StagedFile, StagedRows};
use self::versions::Versions;
use crate::base::Version;
use crate::base::clock::{TimestampMs, now_ms};
use crate::snapshot::{FileId, Generation, ProvenanceView, Table};
use crate::storage::Capacity;
use crate::storage::posix::Access;
use crate::view::{OpenPlan, Presentation, PresentedFile, ViewError};

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

enum OpenFile {
    Data(PresentedFile),
    Memory(Arc<[u8]>),
    Staged(StagedFile),
}

/// See the module.
pub struct Tree {
    versions: Versions,
    options: TreeOptions,
    nodes: Nodes,
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
            nodes: Nodes::default(),
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
        self.nodes.get(ino).ok_or(TreeError::UnknownInode(ino))
    }

    /// The kernel has forgotten `count` look-ups of `ino`.
    pub fn forget(&self, ino: Ino, count: u64) {
        self.nodes.forget(ino, count);
    }

    /// The attributes of a node.
    pub fn getattr(&self, ino: Ino) -> Result<Entry, TreeError> {
        let node = self.node(ino)?;
        let kind = node.kind();
        let plain = |size, modified| Attr::new(ino, kind, size, modified);
        let entry = |attr, entry_ttl, attr_ttl| Entry {
            attr,
            entry_ttl,
            attr_ttl,
        };
        Ok(match node {
            Node::Root | Node::Info => {
                let modified = self.table().refresh().ok().map_or(0, newest_time);
                entry(plain(0, modified), FOREVER, ROOT_NAMES)
            }
            Node::InfoLatest | Node::InfoHistory | Node::InfoMetrics
                if self.options.reads_unopened =>
            {
                let (content, made) = self.told.tell(ino, || self.changing(&node))?;
                entry(plain(content.len() as u64, made), FOREVER, info::TOLD)
            }
            Node::InfoLatest => {
                let size = self.latest_text()?.len() as u64;
                entry(plain(size, now_ms()), FOREVER, Duration::ZERO)
            }
            // Their size is known once they are read: like files of /proc they show none.
            Node::InfoHistory | Node::InfoMetrics => {
                entry(plain(0, now_ms()), FOREVER, Duration::ZERO)
            }
            Node::InfoVersion(generation, version) => {
                let (modified, lasts) = time_of(&generation, version);
                entry(plain(0, modified), ROOT_NAMES, lasts)
            }
            Node::InfoFile(generation, version, file) => {
                let content = self.info_content(ino, &generation, version, file)?;
                let (modified, lasts) = time_of(&generation, version);
                entry(plain(content.len() as u64, modified), FOREVER, lasts)
            }
            Node::Directory { base, path } => match base {
                Base::Latest => {
                    let modified = self.table().refresh().ok().map_or(0, newest_time);
                    let names = if path.is_empty() { FOREVER } else { ROOT_NAMES };
                    entry(plain(0, modified), names, ROOT_NAMES)
                }
                Base::Version(generation, version) => {
                    let names = if path.is_empty() { ROOT_NAMES } else { FOREVER };
                    let (modified, lasts) = time_of(&generation, version);
                    entry(plain(0, modified), names, lasts)
                }
            },
            Node::File {
                generation,
                presentation,
                provenance,
                id,
            } => {
                let presented = PresentedName {
                    generation: &generation,
                    presentation: &presentation,
                    provenance,
                };
                let entry = presented.entry(ino, id);
                self.nodes.tell_size(ino, entry.attr.size);
                entry
            }
            Node::Link { target } => entry(plain(target.len() as u64, 0), ROOT_NAMES, FOREVER),
            Node::Staging => self.staging_entry()?,
            Node::Staged(staged) => self.staged_attributes(&staged)?,
            Node::Status(transaction) => self.status_entry(ino, &transaction),
        })
    }

    fn latest_text(&self) -> Result<String, TreeError> {
        Ok(format!("{}\n", self.table().refresh()?.newest()))
    }

    /// The target of a symlink.
    pub fn readlink(&self, ino: Ino) -> Result<String, TreeError> {
        match self.node(ino)? {
            Node::Link { target } => Ok(target.to_string()),
            _ => Err(TreeError::NotASymlink(ino)),
        }
    }

    /// Opens a file for reading.
    pub fn open(&self, ino: Ino) -> Result<Opened, TreeError> {
        self.open_for(ino, Access::Read)
    }

    /// Opens a file; only what is staged may be written to.
    pub fn open_for(&self, ino: Ino, access: Access) -> Result<Opened, TreeError> {
        self.open_backed(ino, access, None)
    }

    /// As [`Tree::open_for`]. From `backed_from` bytes on, a file that has no backing file gets one
    /// made, where that can be done; `None` where none is of use.
    pub fn open_backed(
        &self,
        ino: Ino,
        access: Access,
        backed_from: Option<u64>,
    ) -> Result<Opened, TreeError> {
        Counters::add(&self.counters.opens, 1);
        self.open_node(ino, access, backed_from)
            .inspect_err(|_| Counters::add(&self.counters.open_errors, 1))
    }

    fn open_node(
        &self,
        ino: Ino,
        access: Access,
        backed_from: Option<u64>,
    ) -> Result<Opened, TreeError> {
        let node = self.node(ino)?;
        if let Node::Staged(staged) = &node {
            return self.open_staged(staged, access);
        }
        if access.writes() {
            return Err(TreeError::ReadOnly(ino));
        }
        let mut backing = None;
        let (file, immutable) = match node {
            Node::Status(transaction) => (memory(transaction.status()), false),
            Node::File {
                generation,
                presentation,
                provenance,
                id,
            } => {
                let plan = presentation.plan(&generation.files(), id, provenance);
                let file = self.open_data(&generation, &presentation, &plan, id)?;
                // The kernel, and who asked it, go by the size that they were told.
                if self.nodes.size_told(ino) != Some(file.size()) {
                    return Err(TreeError::OtherSize(ino));
                }
                backing = match backed_from.is_some_and(|least| file.size() >= least) {
                    true => presentation.backing(&plan, &file),
                    false => file.as_file().cloned(),
                };
                (OpenFile::Data(file), true)
            }
            Node::InfoLatest | Node::InfoHistory | Node::InfoMetrics => {
                let make = || self.changing(&node);
                let content = match self.options.reads_unopened {
                    true => self.told.told(ino, make)?,
                    false => make()?,
                };
                (OpenFile::Memory(content), false)
            }
            Node::InfoFile(generation, version, file) => {
                let content = self.info_content(ino, &generation, version, file)?;
                (OpenFile::Memory(content), true)
            }
            Node::Root
            | Node::Info
            | Node::InfoVersion(..)
            | Node::Directory { .. }
            | Node::Staging
            | Node::Staged(_) => return Err(TreeError::IsADirectory(ino)),
            Node::Link { .. } => return Err(TreeError::UnknownInode(ino)),
        };
        Ok(Opened {
            handle: self.open_handle(file),
            backing,
            immutable,
            staged: false,
        })
    }

    fn open_handle(&self, file: OpenFile) -> u64 {
        let handle = self.next_handle.fetch_add(1, Ordering::Relaxed);
        self.open_files.lock().insert(handle, Arc::new(file));
        handle
    }

    fn open_file(&self, handle: u64) -> Result<Arc<OpenFile>, TreeError> {
        let file = self.open_files.lock().get(&handle).cloned();
        file.ok_or(TreeError::UnknownHandle(handle))
    }

    fn open_data(
        &self,
        generation: &Generation,
        presentation: &Presentation,
        plan: &OpenPlan,
        id: FileId,
    ) -> Result<PresentedFile, TreeError> {
        presentation.open(plan).map_err(|error| {
            if matches!(error, ViewError::Missing { .. }) && self.missing.note(generation, id) {
                tracing::warn!(%error, "a live data file is gone");
            }
            error.into()
        })
    }

    /// The content of a node that changes.
    fn changing(&self, node: &Node) -> Result<Arc<[u8]>, TreeError> {
        let content = match node {
            Node::InfoLatest => self.latest_text()?.into_bytes(),
            Node::InfoHistory => info::history(&*self.table().refresh()?),
            _ => self.metrics(),
        };
        Ok(content.into())
    }

    fn info_content(
        &self,
        ino: Ino,
        generation: &Arc<Generation>,
        version: Version,
        file: InfoFile,
    ) -> Result<Arc<[u8]>, TreeError> {
        self.info.get_or_make(ino, || {
            info::version_file(generation, version, file, || {
                self.versions.of(generation, version)
            })
        })
    }

    fn metrics(&self) -> Vec<u8> {
        let current = self.table().current();
        info::metrics(
            &self.counters,
            &Gauges {
                inodes: self.nodes.len(),
                file_handles: self.open_files.lock().len(),
                directory_handles: self.open_directories.lock().len(),
                latest_version: current.newest(),
                known_files: current.files().len(),
                clones: self.options.view.clones.kept(),
                clones_made: self.options.view.clones.made(),
            },
        )
    }

    /// Fills `buffer` from `offset` of an open file; returns fewer bytes only at its end.
    pub fn read(&self, handle: u64, buffer: &mut [u8], offset: u64) -> Result<usize, TreeError> {
        let file = self.open_file(handle)?;
        let read = match &*file {
            OpenFile::Data(reader) => reader.read_at(buffer, offset)?,
            OpenFile::Staged(file) => file.read(buffer, offset)?,
            OpenFile::Memory(content) => {
                let start =
                    usize::try_from(offset).map_or(content.len(), |at| at.min(content.len()));
                let count = buffer.len().min(content.len() - start);
                buffer[..count].copy_from_slice(&content[start..start + count]);
                count
            }
        };
        Counters::add(&self.counters.reads, 1);
        Counters::add(&self.counters.read_bytes, read as u64);
        Ok(read)
    }

    /// Whether a read of an open file has to make first what it reads, which may take seconds.
    pub fn read_takes_long(&self, handle: u64, offset: u64, size: u32) -> bool {
        match self.open_files.lock().get(&handle).map(Arc::as_ref) {
            Some(OpenFile::Data(file)) => file.takes_long(offset, size.into()),
            Some(OpenFile::Memory(_) | OpenFile::Staged(_)) | None => false,
        }
    }

    /// Closes a file handle. What is returned has been written to, and had better be on its way to
    /// the disk ([`posix::begin_writeback`](crate::storage::posix::begin_writeback)): a commit is
    /// likely to wait for it.
    pub fn release(&self, handle: u64) -> Option<Arc<File>> {
        let closed = self.open_files.lock().remove(&handle);
        // The last close of a deleted file frees its space, which takes time: not under the lock.
        match closed.as_deref() {
            Some(OpenFile::Staged(file)) => file.to_be_written_back(),
            Some(OpenFile::Data(_) | OpenFile::Memory(_)) | None => None,
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
                Listing::files(ino, view, base, path)?
            }
            Node::Staging => Listing::Staged(StagedRows::transactions(self.staging()?.clone())),
            Node::Staged(staged) => Listing::Staged(StagedRows::directory(staged)?),
            Node::InfoLatest
            | Node::InfoHistory
            | Node::InfoMetrics
            | Node::InfoFile(..)
            | Node::File { .. }
            | Node::Link { .. }
            | Node::Status(_) => return Err(TreeError::NotADirectory(ino)),
        };
        let handle = self.next_handle.fetch_add(1, Ordering::Relaxed);
        self.open_directories
            .lock()
            .insert(handle, Arc::new(listing));
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
        listing.read(&self.nodes, offset, plus, take)
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
        if !text.starts_with(attributes::PREFIX) {
            return Err(none());
        }
        attributes::get(self, &self.node(ino)?, text)?.ok_or_else(none)
    }

    /// The names of a node's extended attributes.
    pub fn listxattr(&self, ino: Ino) -> Result<Vec<String>, TreeError> {
        attributes::list(self, &self.node(ino)?)
    }

    /// Space of the device behind the table; `None` where the notion does not exist.
    pub fn capacity(&self) -> Option<Capacity> {
        self.table().current().roots().table().capacity()
    }
}

fn memory(content: Vec<u8>) -> OpenFile {
    OpenFile::Memory(content.into())
}

/// The commit time of a version, and how long it may be believed; the epoch when nothing tells it,
/// and when a damaged log does not tell it now.
fn time_of(generation: &Generation, version: Version) -> (TimestampMs, Duration) {
    match generation.timestamp(version) {
        Ok(time) => (time.unwrap_or(0), FOREVER),
        Err(_) => (0, Duration::ZERO),
    }
}

fn newest_time(generation: Arc<Generation>) -> TimestampMs {
    time_of(&generation, generation.newest()).0
}

/// How files of some version are presented.
struct PresentedName<'a> {
    generation: &'a Generation,
    presentation: &'a Presentation,
    provenance: Option<ProvenanceView>,
}

impl PresentedName<'_> {
    /// The attributes of a presented file, looking at the file for its size where it has to be.
    fn entry(&self, ino: Ino, id: FileId) -> Entry {
        let files = self.generation.files();
        let file = files.get(id);
        let (in_log, modified) = (file.size, file.modified);
        let size = self.presentation.known_size(&file, self.provenance);
        let plan = match size {
            Some(size) => return file_entry(ino, size, modified),
            None => self.presentation.plan(&files, id, self.provenance),
        };
        drop(files);
        match self.presentation.sizes(&[plan]).first().copied().flatten() {
            Some(size) => file_entry(ino, size, modified),
            // It may come back.
            None => Entry {
                attr_ttl: Duration::ZERO,
                ..file_entry(ino, in_log, modified)
            },
        }
    }
}

/// The attributes of a presented file. Names and contents of files never change.
fn file_entry(ino: Ino, size: u64, modified: TimestampMs) -> Entry {
    Entry {
        attr: Attr::new(ino, NodeKind::File, size, modified),
        entry_ttl: FOREVER,
        attr_ttl: FOREVER,
    }
}
