//! Listings of version directories and those below them.

use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use super::{DOTS, Offers};
use crate::snapshot::FileId;
use crate::tree::file_node::{FileNode, file_entry};
use crate::tree::node::{Base, Node, directory_ino, file_ino, join};
use crate::tree::{DirEntry, Entry, Ino, NodeKind, ROOT_INO, TreeError};
use crate::view::{OpenPlan, VersionView};

/// How many files are looked at for their sizes together.
const SIZES_AT_ONCE: usize = 64;

/// An open directory of a version: its subdirectories, then its files.
pub(in crate::tree) struct VersionRows {
    ino: Ino,
    parent: Ino,
    view: Arc<VersionView>,
    base: Base,
    path: Arc<str>,
    subdirectories: Vec<String>,
}

impl VersionRows {
    /// See [`Listing::version`](super::Listing::version).
    pub(super) fn new(
        ino: Ino,
        view: Arc<VersionView>,
        base: Base,
        path: Arc<str>,
    ) -> Result<VersionRows, TreeError> {
        let parent = match path.rsplit_once('/') {
            _ if path.is_empty() => ROOT_INO,
            Some((parent, _)) => directory_ino(&base, parent),
            None => directory_ino(&base, ""),
        };
        let subdirectories = if view.is_flat() {
            Vec::new()
        } else {
            view.directories()?
                .subdirectories(&path)
                .map(str::to_owned)
                .collect()
        };
        Ok(VersionRows {
            ino,
            parent,
            view,
            base,
            path,
            subdirectories,
        })
    }

    /// Offers the rows behind `offset`.
    pub(super) fn read(&self, offset: u64, mut offers: Offers<'_>) -> ControlFlow<()> {
        offers.dots(self.ino, self.parent, offset)?;
        let skip = offset.saturating_sub(DOTS);
        let skipped = usize::try_from(skip).unwrap_or(usize::MAX);
        for (at, name) in self.subdirectories.iter().enumerate().skip(skipped) {
            let child = join(&self.path, name);
            let ino = directory_ino(&self.base, &child);
            let node = Node::Directory {
                base: self.base.clone(),
                path: child.into(),
            };
            offers.bare(name, ino, DOTS + 1 + at as u64, &node)?;
        }
        let first = skip.saturating_sub(self.subdirectories.len() as u64);
        if self.view.is_flat() {
            let files = self.view.files();
            let mut ids = files.iter();
            if let Some(id) = u32::try_from(first).ok().and_then(|at| files.select(at)) {
                ids.advance_to(id);
                self.offer_files(ids, first, &mut offers)?;
            }
        } else {
            let directories = self.view.directories().ok();
            let files = directories
                .and_then(|all| all.files(&self.path))
                .unwrap_or_default();
            let skipped = usize::try_from(first).unwrap_or(usize::MAX);
            let ids = files.iter().copied().skip(skipped);
            self.offer_files(ids, first, &mut offers)?;
        }
        ControlFlow::Continue(())
    }

    /// Offers files, the first of which is the one at that position.
    fn offer_files(
        &self,
        mut ids: impl Iterator<Item = FileId>,
        first: u64,
        offers: &mut Offers<'_>,
    ) -> ControlFlow<()> {
        if !offers.plus {
            return self.offer_some(ids, first, offers);
        }
        // The kernel asks for attributes at the start of every listing; from then on only where
        // somebody wants them.
        let wanted = first > 0;
        let mut at = first;
        loop {
            let some: Vec<FileId> = ids.by_ref().take(SIZES_AT_ONCE).collect();
            if some.is_empty() {
                return ControlFlow::Continue(());
            }
            if wanted {
                self.find_sizes(&some);
            }
            let count = some.len() as u64;
            self.offer_some(some.into_iter(), at, offers)?;
            at += count;
        }
    }

    /// Looks at those of the files whose sizes are not known.
    fn find_sizes(&self, ids: &[FileId]) {
        let presentation = self.view.presentation();
        let provenance = self.view.provenance();
        let files = self.view.generation().files();
        let plans: Vec<OpenPlan> = ids
            .iter()
            .filter(|id| {
                presentation
                    .known_size(&files.get(**id), provenance)
                    .is_none()
            })
            .map(|id| presentation.plan(&files, *id, provenance))
            .collect();
        drop(files);
        presentation.sizes(&plans);
    }

    fn offer_some(
        &self,
        ids: impl Iterator<Item = FileId>,
        first: u64,
        offers: &mut Offers<'_>,
    ) -> ControlFlow<()> {
        let generation = self.view.generation();
        let files = generation.files();
        let rows_before = DOTS + self.subdirectories.len() as u64;
        // The inode belongs to the path below the version directory, the row to its last part.
        let mut path = join(&self.path, "");
        let directory = path.len();
        for (at, id) in (first..).zip(ids) {
            let file = files.get(id);
            path.truncate(directory);
            self.view.name(&file, &mut path);
            let ino = file_ino(generation, &path);
            let row = |entry| DirEntry {
                name: OsStr::new(&path[directory..]),
                ino,
                kind: NodeKind::File,
                next_offset: rows_before + at + 1,
                entry,
            };
            if !offers.plus {
                (offers.take)(&row(None))?;
                continue;
            }
            let known = self
                .view
                .presentation()
                .known_size(&file, self.view.provenance());
            // What the kernel knows it may have open, and must not be told otherwise of.
            let size = known.or_else(|| offers.inodes.size_told(ino));
            let entry = file_entry(ino, size.unwrap_or(0), file.size, file.modified);
            (offers.take)(&row(Some(match known {
                Some(_) => entry,
                // Attributes that are not to be believed for any time: who wants them has the
                // kernel look the name up.
                None => Entry {
                    entry_ttl: Duration::ZERO,
                    attr_ttl: Duration::ZERO,
                    ..entry
                },
            })))?;
            let node = || Node::File(FileNode::of(&self.view, id));
            match size {
                Some(size) => offers.inodes.remember_file(ino, size, node),
                None => offers.inodes.remember(ino, node),
            }
        }
        ControlFlow::Continue(())
    }
}
