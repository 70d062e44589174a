//! `@staging`: transactions, and what programs put into them.
//!
//! A node below a transaction is held as long as the kernel knows it, so that its number belongs to
//! no other node: the number is the inode number on the disk, in a range of its own. Names are
//! always looked up on the disk.

mod changes;
mod marker;
mod open;
mod room;
mod rows;

use std::ffi::OsStr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::node::{Node, STAGING_INO};
use super::{Attr, Entry, Ino, NodeKind, Tree, TreeError};
use crate::base::clock::now_ms;
use crate::staging::{Staging, Transaction};
use crate::storage::posix::{self, Directory, Kind, PosixError, Stat};

pub use changes::Changes;
pub(super) use open::StagedFile;
use room::Room;
pub(super) use rows::StagedRows;

/// Numbers of staged nodes have bit 61 set and 62 and 63 clear, so that they meet none of the others.
const STAGED: Ino = 1 << 61;

/// Those of `.status` have this bit too.
const STATUS: Ino = 1 << 60;

/// How long the kernel may take a staged name to mean the same node, and believe its attributes.
/// It sees each change itself, but for the time of a change by way of a shared mapping.
const STAGED_NAMES: Duration = Duration::from_secs(1);

/// The file that tells how a transaction stands, in its directory.
pub(super) const STATUS_NAME: &str = ".status";

/// The number of a node with an inode number on the disk.
pub(super) fn staged_ino(inode: u64) -> Ino {
    // No local file system uses the four highest bits. Where one did, two nodes that differ in
    // these alone would be refused at look-up, not mixed up.
    STAGED | (inode ^ inode >> 60) & (STATUS - 1)
}

/// The number of the `.status` of a transaction.
fn status_ino(top: u64) -> Ino {
    staged_ino(top) | STATUS
}

/// Whether a number is that of a node below a transaction.
pub fn is_staged(ino: Ino) -> bool {
    ino >> 61 == 1
}

/// A node below a transaction, or its directory.
#[derive(Debug)]
pub(super) struct Staged {
    transaction: Arc<Transaction>,
    held: Held,
    /// Device and inode number.
    identity: (u64, u64),
    room: Room,
}

#[derive(Debug)]
enum Held {
    /// The directory of the transaction itself.
    Top,
    Directory(Directory),
    File(posix::Node),
}

impl Staged {
    fn top(transaction: Arc<Transaction>) -> Result<(Staged, Stat), PosixError> {
        let stat = transaction.files().stat()?;
        let staged = Staged {
            transaction,
            held: Held::Top,
            identity: (stat.device, stat.inode),
            room: Room::default(),
        };
        Ok((staged, stat))
    }

    /// What has a name in this directory.
    fn child(&self, name: &OsStr) -> Result<(Staged, Stat), TreeError> {
        let node = self.directory()?.child(name)?;
        let stat = node.stat()?;
        let held = match stat.kind {
            Kind::File => Held::File(node),
            Kind::Directory => Held::Directory(Directory::from_node(node)?),
            Kind::Other => {
                return Err(TreeError::NotPermitted {
                    reason: "it is neither a file nor a directory: something else than this mount \
                             put it there; remove it from the staging directory on the disk"
                        .to_owned(),
                });
            }
        };
        let staged = Staged {
            transaction: self.transaction.clone(),
            held,
            identity: (stat.device, stat.inode),
            room: Room::default(),
        };
        Ok((staged, stat))
    }

    pub(super) fn kind(&self) -> NodeKind {
        match self.held {
            Held::Top | Held::Directory(_) => NodeKind::Directory,
            Held::File(_) => NodeKind::File,
        }
    }

    fn ino(&self) -> Ino {
        staged_ino(self.identity.1)
    }

    fn is_top(&self) -> bool {
        matches!(self.held, Held::Top)
    }

    fn directory(&self) -> Result<&Directory, TreeError> {
        match &self.held {
            Held::Top => Ok(self.transaction.files()),
            Held::Directory(directory) => Ok(directory),
            Held::File(_) => Err(TreeError::NotADirectory(self.ino())),
        }
    }

    fn file(&self) -> Result<&posix::Node, TreeError> {
        match &self.held {
            Held::File(node) => Ok(node),
            Held::Top | Held::Directory(_) => Err(TreeError::IsADirectory(self.ino())),
        }
    }

    fn node(&self) -> &posix::Node {
        match &self.held {
            Held::Top => self.transaction.files().node(),
            Held::Directory(directory) => directory.node(),
            Held::File(node) => node,
        }
    }

    /// Whether `name` in this directory is the status of the transaction.
    fn is_status(&self, name: &OsStr) -> bool {
        self.is_top() && name == STATUS_NAME
    }
}

impl Tree {
    /// The transactions; there are none on a read-only mount.
    pub(super) fn staging(&self) -> Result<&Arc<Staging>, TreeError> {
        let staging = self.options.staging.as_ref();
        staging.ok_or(TreeError::UnknownInode(STAGING_INO))
    }

    /// The attributes of `@staging`.
    pub(super) fn staging_entry(&self) -> Result<Entry, TreeError> {
        self.staging()?;
        let modified = self.staging_changed.load(Ordering::Relaxed);
        let mut attr = Attr::new(STAGING_INO, NodeKind::Directory, 0, modified);
        attr.permissions = self.options.staging_permissions;
        attr.owner = self.options.staging_owner;
        Ok(Entry {
            attr,
            entry_ttl: STAGED_NAMES,
            attr_ttl: STAGED_NAMES,
        })
    }

    fn staging_has_changed(&self) {
        self.staging_changed.store(now_ms(), Ordering::Relaxed);
    }

    /// Finds a transaction. Counts as one look-up.
    pub(super) fn lookup_transaction(&self, name: &OsStr) -> Result<Entry, TreeError> {
        let transaction = self.staging()?.get(name);
        let transaction = transaction.ok_or_else(|| TreeError::NotFound {
            name: name.to_string_lossy().into_owned(),
            reason: "there is no such transaction; mkdir begins one".to_owned(),
        })?;
        let (staged, stat) = Staged::top(transaction)?;
        self.remember_staged(staged, &stat)
    }

    /// Finds what has a name in a staged directory. Counts as one look-up.
    pub(super) fn lookup_staged(&self, parent: &Staged, name: &OsStr) -> Result<Entry, TreeError> {
        if parent.is_status(name) {
            let ino = status_ino(parent.identity.1);
            let transaction = parent.transaction.clone();
            self.inodes
                .remember(ino, || Node::Status(transaction.clone()));
            return Ok(self.status_entry(ino, &transaction));
        }
        let (staged, stat) = parent.child(name)?;
        self.remember_staged(staged, &stat)
    }

    /// Tells of a staged node that is about to be handed to the kernel, and counts that.
    fn remember_staged(&self, staged: Staged, stat: &Stat) -> Result<Entry, TreeError> {
        let ino = staged.ino();
        let identity = staged.identity;
        self.inodes.remember(ino, || Node::Staged(Arc::new(staged)));
        match self.inodes.get(ino) {
            Some(Node::Staged(known)) if known.identity == identity => Ok(staged_entry(ino, stat)),
            _ => {
                self.inodes.forget(ino, 1);
                Err(TreeError::SameNumber(ino))
            }
        }
    }

    /// The attributes of a staged node.
    pub(super) fn staged_attributes(&self, staged: &Staged) -> Result<Entry, TreeError> {
        Ok(staged_entry(staged.ino(), &staged.node().stat()?))
    }

    /// The attributes of a `.status`.
    pub(super) fn status_entry(&self, ino: Ino, transaction: &Transaction) -> Entry {
        let size = transaction.status().len() as u64;
        Entry {
            attr: Attr::new(ino, NodeKind::File, size, now_ms()),
            entry_ttl: STAGED_NAMES,
            attr_ttl: Duration::ZERO,
        }
    }
}

fn staged_entry(ino: Ino, stat: &Stat) -> Entry {
    let kind = match stat.kind {
        Kind::Directory => NodeKind::Directory,
        Kind::File | Kind::Other => NodeKind::File,
    };
    let modified = stat.modified;
    let ms = modified
        .seconds
        .saturating_mul(1000)
        .saturating_add(i64::from(modified.nanoseconds / 1_000_000));
    Entry {
        attr: Attr {
            ino,
            kind,
            size: stat.size,
            occupied: stat.size,
            modified: ms,
            permissions: stat.permissions,
            links: stat.links,
            owner: None,
            stored: Some(*stat),
        },
        entry_ttl: STAGED_NAMES,
        attr_ttl: STAGED_NAMES,
    }
}
