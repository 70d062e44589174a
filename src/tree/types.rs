//! What the tree says of its nodes.

use std::ffi::OsStr;
use std::fs::File;
use std::sync::Arc;
use std::time::Duration;

use jiff::tz::TimeZone;

use super::Ino;
use crate::base::clock::TimestampMs;
use crate::staging::Staging;
use crate::storage::posix::{Owner, Stat};
use crate::view::ViewOptions;

/// What kind of node an inode is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeKind {
    /// A directory.
    Directory,
    /// A regular file.
    File,
    /// A symbolic link (time names, spellings of version names).
    Symlink,
}

/// What `stat` says of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attr {
    /// Inode number.
    pub ino: Ino,
    /// Directory, file or symlink.
    pub kind: NodeKind,
    /// Size in bytes.
    pub size: u64,
    /// How many of these bytes take room on a disk, about: a presented file may have gaps of zeros.
    pub occupied: u64,
    /// Modification time, milliseconds since the epoch; stands for the other times too.
    pub modified: TimestampMs,
    /// Permission bits.
    pub permissions: u16,
    /// Hard link count.
    pub links: u32,
    /// Whose it is, where it is not whose all of the mount is.
    pub owner: Option<Owner>,
    /// What the disk says of a staged node, which has an owner, permissions and times of its own.
    pub stored: Option<Stat>,
}

impl Attr {
    pub(super) fn new(ino: Ino, kind: NodeKind, size: u64, modified: TimestampMs) -> Attr {
        Attr {
            ino,
            kind,
            size,
            occupied: size,
            modified,
            permissions: match kind {
                NodeKind::Directory => 0o555,
                NodeKind::File => 0o444,
                NodeKind::Symlink => 0o777,
            },
            links: if kind == NodeKind::Directory { 2 } else { 1 },
            owner: None,
            stored: None,
        }
    }
}

/// A node together with how long the kernel may remember it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// The node.
    pub attr: Attr,
    /// How long the name may be taken to mean this inode.
    pub entry_ttl: Duration,
    /// How long the attributes may be taken to be these.
    pub attr_ttl: Duration,
}

/// An open file.
#[derive(Debug)]
pub struct Opened {
    /// To be given to [`Tree::read`](super::Tree::read) and [`Tree::release`](super::Tree::release).
    pub handle: u64,
    /// The local file whose bytes, all of them, are this node's: for kernel passthrough.
    pub backing: Option<Arc<File>>,
    /// Whether the content of this inode never changes, so that its page cache may be kept.
    pub immutable: bool,
    /// Whether this is a file that programs write to, by way of the kernel alone, so that its page
    /// cache may be kept; size and times of the backing file change.
    pub staged: bool,
}

/// One row of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirEntry<'a> {
    /// The name; text everywhere but in staging directories.
    pub name: &'a OsStr,
    /// Its inode number.
    pub ino: Ino,
    /// Its kind.
    pub kind: NodeKind,
    /// Where the listing goes on behind this row: the `offset` of a later
    /// [`Tree::readdir`](super::Tree::readdir).
    pub next_offset: u64,
    /// The node, where it was asked for and is known without work. A row with `Some` counts as one
    /// look-up of the inode **if the callback takes it** (returns `Continue`).
    pub entry: Option<Entry>,
}

/// How a tree looks.
#[derive(Debug, Clone)]
pub struct TreeOptions {
    /// How many of the newest versions the root lists; `None` for all.
    pub list_limit: Option<usize>,
    /// How files are presented.
    pub view: ViewOptions,
    /// The zone of time names without an offset.
    pub timezone: TimeZone,
    /// The transactions, on a mount that may be written to.
    pub staging: Option<Arc<Staging>>,
    /// Owner of `@staging`, where it is not that of all of the mount.
    pub staging_owner: Option<Owner>,
    /// Permission bits of `@staging`: who may begin transactions.
    pub staging_permissions: u16,
    /// Whether files are read that nobody has opened: then what changes stays, from one
    /// [`Tree::getattr`](super::Tree::getattr) to the next, as that one told it.
    pub reads_unopened: bool,
}

impl Default for TreeOptions {
    fn default() -> TreeOptions {
        TreeOptions {
            list_limit: Some(1000),
            view: ViewOptions::default(),
            timezone: TimeZone::UTC,
            staging: None,
            staging_owner: None,
            staging_permissions: 0o755,
            reads_unopened: false,
        }
    }
}
