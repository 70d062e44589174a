//! What inode numbers stand for, and the number of each.

use std::sync::Arc;

use super::file_node::FileNode;
use super::staging::Staged;
use super::{Ino, NodeKind};
use crate::base::Version;
use crate::base::hash::stable_hash64;
use crate::snapshot::Generation;
use crate::staging::Transaction;
use crate::view::name;

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
    File(FileNode),
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
            | Node::File(_)
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
    let ino = name::inode_of(path);
    match generation.number() {
        0 => ino,
        // Another table at the same place may use the same names for other bytes.
        number => ino ^ (stable_hash64("deltafs generation v1", &[&number.to_le_bytes()]) >> 2),
    }
}

/// The path of a child of a directory below a version directory; of the directory itself, with a
/// slash behind it, for the empty name.
pub(super) fn join(parent: &str, name: &str) -> String {
    match parent {
        "" => name.to_owned(),
        _ => format!("{parent}/{name}"),
    }
}
