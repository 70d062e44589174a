//! Open directories: each listing is one snapshot.

mod fixed;
mod version;

use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use super::inodes::Inodes;
use super::node::{Base, Node};
use super::staging::StagedRows;
use super::{Attr, DirEntry, Entry, Ino, NodeKind, ROOT_NAMES, TreeError};
use crate::base::Version;
use crate::snapshot::Generation;
use crate::view::VersionView;
use fixed::FixedRows;
use version::VersionRows;

/// How many rows come before all others: `.` and `..`.
const DOTS: u64 = 2;

/// An open directory.
pub(super) enum Listing {
    /// The root, `@info` or a directory below that.
    Fixed(FixedRows),
    /// A version directory or one below it.
    Version(VersionRows),
    /// `@staging` or a directory below it.
    Staged(StagedRows),
}

impl Listing {
    /// The root: `@latest`, `@info`, `versions`, and `@staging` where there is one.
    pub(super) fn root(
        generation: &Arc<Generation>,
        versions: &[Version],
        staging: bool,
    ) -> Listing {
        Listing::Fixed(FixedRows::root(generation, versions, staging))
    }

    /// `@info`.
    pub(super) fn info(generation: &Arc<Generation>, versions: &[Version]) -> Listing {
        Listing::Fixed(FixedRows::info(generation, versions))
    }

    /// `@info/vN`.
    pub(super) fn info_version(
        ino: Ino,
        generation: &Arc<Generation>,
        version: Version,
    ) -> Listing {
        Listing::Fixed(FixedRows::info_version(ino, generation, version))
    }

    /// The directory `path` of a version.
    pub(super) fn version(
        ino: Ino,
        view: Arc<VersionView>,
        base: Base,
        path: Arc<str>,
    ) -> Result<Listing, TreeError> {
        VersionRows::new(ino, view, base, path).map(Listing::Version)
    }

    /// Offers the rows behind `offset` to `take`. The offset of a row is its position, `.` and `..`
    /// included, counted from 1.
    pub(super) fn read(
        &self,
        inodes: &Inodes,
        offset: u64,
        plus: bool,
        take: &mut dyn FnMut(&DirEntry<'_>) -> ControlFlow<()>,
    ) -> Result<(), TreeError> {
        let offers = Offers { inodes, plus, take };
        let _: ControlFlow<()> = match self {
            Listing::Fixed(rows) => rows.read(offset, offers),
            Listing::Version(rows) => rows.read(offset, offers),
            Listing::Staged(rows) => return rows.read(offset, take),
        };
        Ok(())
    }
}

/// Where the rows of one request go.
struct Offers<'a> {
    inodes: &'a Inodes,
    /// Whether rows carry entries where these are known without work.
    plus: bool,
    take: &'a mut dyn FnMut(&DirEntry<'_>) -> ControlFlow<()>,
}

impl Offers<'_> {
    /// Offers `.` and `..`, as far as they are behind `offset`.
    fn dots(&mut self, ino: Ino, parent: Ino, offset: u64) -> ControlFlow<()> {
        for (next_offset, name, ino) in [(1, ".", ino), (DOTS, "..", parent)] {
            if offset < next_offset {
                (self.take)(&DirEntry {
                    name: OsStr::new(name),
                    ino,
                    kind: NodeKind::Directory,
                    next_offset,
                    entry: None,
                })?;
            }
        }
        ControlFlow::Continue(())
    }

    /// Offers a row of which number and kind are known at once, and the rest only with work: it
    /// carries attributes that the kernel must not believe for any time.
    fn bare(&mut self, name: &str, ino: Ino, next_offset: u64, node: &Node) -> ControlFlow<()> {
        let kind = node.kind();
        (self.take)(&DirEntry {
            name: OsStr::new(name),
            ino,
            kind,
            next_offset,
            entry: self.plus.then(|| Entry {
                attr: Attr::new(ino, kind, 0, 0),
                entry_ttl: ROOT_NAMES,
                attr_ttl: Duration::ZERO,
            }),
        })?;
        if self.plus {
            self.inodes.remember(ino, || node.clone());
        }
        ControlFlow::Continue(())
    }
}
