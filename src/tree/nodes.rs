//! Inodes: what each number stands for, as long as the kernel remembers it.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

use super::staging::Staged;
use super::{Ino, NodeKind, ROOT_INO};
use crate::base::Version;
use crate::base::hash::stable_hash64;
use crate::snapshot::{FileId, Generation, ProvenanceView};
use crate::staging::Transaction;
use crate::view::Presentation;

/// `@latest`.
pub(super) const LATEST_INO: Ino = 2;
/// `@info`.
pub(super) const INFO_INO: Ino = 3;
/// `@info/latest`.
pub(super) const INFO_LATEST_INO: Ino = 4;
/// `@info/history.jsonl`.
pub(super) const INFO_HISTORY_INO: Ino = 5;
/// `@info/metrics`.
pub(super) const INFO_METRICS_INO: Ino = 6;

/// `@staging`.
pub(super) const STAGING_INO: Ino = 7;

/// Which version a directory shows.
#[derive(Clone)]
pub(super) enum Base {
    /// The newest one, at each opening.
    Latest,
    /// This one for ever.
    Version(Arc<Generation>, Version),
}

/// A file of `@info/vN/`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InfoFile {
    Schema,
    Detail,
    Files,
    Commit,
}

impl InfoFile {
    pub(super) const ALL: [InfoFile; 4] = [
        InfoFile::Schema,
        InfoFile::Detail,
        InfoFile::Files,
        InfoFile::Commit,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            InfoFile::Schema => "schema.json",
            InfoFile::Detail => "detail.json",
            InfoFile::Files => "files.jsonl",
            InfoFile::Commit => "commit.json",
        }
    }
}

/// What an inode stands for.
#[derive(Clone)]
pub(super) enum Node {
    Root,
    Info,
    InfoLatest,
    InfoHistory,
    InfoMetrics,
    InfoVersion(Arc<Generation>, Version),
    InfoFile(Arc<Generation>, Version, InfoFile),
    /// `@latest`, `@vN`, or a directory below (`path`, `""` for the version directory itself).
    Directory {
        base: Base,
        path: Arc<str>,
    },
    /// A data file, presented.
    File {
        generation: Arc<Generation>,
        presentation: Arc<Presentation>,
        provenance: Option<ProvenanceView>,
        id: FileId,
    },
    /// A spelling of a version, or a time.
    Link {
        target: Arc<str>,
    },
    /// `@staging`.
    Staging,
    /// What lies below it.
    Staged(Arc<Staged>),
    /// How a transaction stands.
    Status(Arc<Transaction>),
}

impl Node {
    pub(super) fn kind(&self) -> NodeKind {
        match self {
            Node::Root
            | Node::Info
            | Node::InfoVersion(..)
            | Node::Directory { .. }
            | Node::Staging => NodeKind::Directory,
            Node::Staged(staged) => staged.kind(),
            Node::InfoLatest
            | Node::InfoHistory
            | Node::InfoMetrics
            | Node::InfoFile(..)
            | Node::File { .. }
            | Node::Status(_) => NodeKind::File,
            Node::Link { .. } => NodeKind::Symlink,
        }
    }
}

/// The inode number of a directory or a link: bit 62 set, bit 63 clear, so that it meets neither
/// the fixed ones nor those of files.
fn hashed(generation: u64, parts: &[&[u8]]) -> Ino {
    let generation = generation.to_le_bytes();
    let mut all: Vec<&[u8]> = vec![&generation];
    all.extend(parts);
    stable_hash64("deltafs directory v1", &all) & !(1 << 63) | 1 << 62
}

/// The inode number of a version directory or one below it.
pub(super) fn directory_ino(base: &Base, path: &str) -> Ino {
    match base {
        Base::Latest if path.is_empty() => LATEST_INO,
        Base::Latest => hashed(0, &[b"latest", path.as_bytes()]),
        Base::Version(generation, version) => hashed(
            generation.number(),
            &[b"version", &version.to_le_bytes(), path.as_bytes()],
        ),
    }
}

/// The inode number of `@info/vN`, or of a file in it.
pub(super) fn info_ino(generation: &Generation, version: Version, file: Option<InfoFile>) -> Ino {
    let name = file.map_or("", InfoFile::name);
    hashed(
        generation.number(),
        &[b"info", &version.to_le_bytes(), name.as_bytes()],
    )
}

/// The inode number of a link.
pub(super) fn link_ino(generation: &Generation, name: &str, target: &str) -> Ino {
    hashed(
        generation.number(),
        &[b"link", name.as_bytes(), target.as_bytes()],
    )
}

/// The inode number of a presented file: the same in every version and across remounts, since its
/// path below the version directory is bound to one content.
pub(super) fn file_ino(generation: &Generation, path: &str) -> Ino {
    let ino = crate::view::name::inode_of(path);
    match generation.number() {
        0 => ino,
        // Another table at the same place may use the same names for other bytes.
        number => ino ^ (stable_hash64("deltafs generation v1", &[&number.to_le_bytes()]) >> 2),
    }
}

struct Known {
    node: Node,
    lookups: u64,
    /// Of a data file: the size that the kernel was told last.
    size: Option<u64>,
}

/// The inodes that the kernel knows, with how often it was told of each.
#[derive(Default)]
pub(super) struct Nodes {
    known: Mutex<HashMap<Ino, Known>>,
}

impl Nodes {
    /// The node of an inode.
    pub(super) fn get(&self, ino: Ino) -> Option<Node> {
        match ino {
            ROOT_INO => Some(Node::Root),
            LATEST_INO => Some(Node::Directory {
                base: Base::Latest,
                path: "".into(),
            }),
            INFO_INO => Some(Node::Info),
            INFO_LATEST_INO => Some(Node::InfoLatest),
            INFO_HISTORY_INO => Some(Node::InfoHistory),
            INFO_METRICS_INO => Some(Node::InfoMetrics),
            STAGING_INO => Some(Node::Staging),
            _ => self.known.lock().get(&ino).map(|known| known.node.clone()),
        }
    }

    /// Counts one look-up of an inode. Fixed ones are always known.
    pub(super) fn remember(&self, ino: Ino, node: impl FnOnce() -> Node) {
        if ino <= STAGING_INO {
            return;
        }
        self.known
            .lock()
            .entry(ino)
            .or_insert_with(|| Known {
                node: node(),
                lookups: 0,
                size: None,
            })
            .lookups += 1;
    }

    /// Counts one look-up of a data file that comes with its size.
    pub(super) fn remember_file(&self, ino: Ino, size: u64, node: impl FnOnce() -> Node) {
        let mut known = self.known.lock();
        let known = known.entry(ino).or_insert_with(|| Known {
            node: node(),
            lookups: 0,
            size: None,
        });
        known.lookups += 1;
        known.size = Some(size);
    }

    /// Notes the size of a data file that the kernel is told.
    pub(super) fn tell_size(&self, ino: Ino, size: u64) {
        if let Some(known) = self.known.lock().get_mut(&ino) {
            known.size = Some(size);
        }
    }

    /// The size of a data file that the kernel was told last, if it was.
    pub(super) fn size_told(&self, ino: Ino) -> Option<u64> {
        self.known.lock().get(&ino)?.size
    }

    /// Takes back `count` look-ups; an inode without any is forgotten.
    pub(super) fn forget(&self, ino: Ino, count: u64) {
        let mut known = self.known.lock();
        let mut forgotten = None;
        if let Some(entry) = known.get_mut(&ino) {
            entry.lookups = entry.lookups.saturating_sub(count);
            if entry.lookups == 0 {
                forgotten = known.remove(&ino);
            }
        }
        // A kernel that forgets a million entries should get their memory back.
        if known.capacity() > 4096 && known.len() < known.capacity() / 8 {
            known.shrink_to_fit();
        }
        drop(known);
        // A staged file that was deleted gives its space back now, which takes time.
        drop(forgotten);
    }

    /// How many inodes are known.
    pub(super) fn len(&self) -> usize {
        self.known.lock().len()
    }
}
