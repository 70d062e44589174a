//! Logical files of the table, as nodes of the tree.

use std::sync::Arc;
use std::time::Duration;

use super::{Attr, Entry, FOREVER, Ino, NodeKind};
use crate::base::clock::TimestampMs;
use crate::snapshot::{FileId, Generation, ProvenanceView};
use crate::view::{OpenPlan, Presentation, VersionView};

/// A logical file, and how it is presented.
#[derive(Clone)]
pub(super) struct FileNode {
    pub(super) generation: Arc<Generation>,
    pub(super) presentation: Arc<Presentation>,
    /// Where files came from, where names depend on it.
    pub(super) provenance: Option<ProvenanceView>,
    pub(super) id: FileId,
}

impl FileNode {
    /// The file as a version shows it.
    pub(super) fn of(view: &VersionView, id: FileId) -> FileNode {
        FileNode {
            generation: view.generation().clone(),
            presentation: view.presentation().clone(),
            provenance: view.provenance(),
            id,
        }
    }

    /// What has to be opened for it.
    pub(super) fn plan(&self) -> OpenPlan {
        self.presentation
            .plan(&self.generation.files(), self.id, self.provenance)
    }

    /// Its attributes. The file itself is looked at where nothing else tells the size.
    pub(super) fn entry(&self, ino: Ino) -> Entry {
        let files = self.generation.files();
        let file = files.get(self.id);
        let (in_log, modified) = (file.size, file.modified);
        let known = self.presentation.known_size(&file, self.provenance);
        drop(files);
        let found = || self.presentation.sizes(&[self.plan()]).into_iter().next();
        match known.or_else(|| found().flatten()) {
            Some(size) => file_entry(ino, size, in_log, modified),
            // It may come back.
            None => Entry {
                attr_ttl: Duration::ZERO,
                ..file_entry(ino, in_log, in_log, modified)
            },
        }
    }
}

/// The attributes of a presented file of `size` bytes, made of a data file of `in_log` bytes. Names and
/// contents of files never change.
pub(super) fn file_entry(ino: Ino, size: u64, in_log: u64, modified: TimestampMs) -> Entry {
    Entry {
        attr: Attr {
            // Beyond that it is mostly gaps, and how large they are is known once the file is made.
            occupied: size.min(in_log),
            ..Attr::new(ino, NodeKind::File, size, modified)
        },
        entry_ttl: FOREVER,
        attr_ttl: FOREVER,
    }
}
