//! Open files.

use std::fs::File;
use std::sync::Arc;

use super::file_node::FileNode;
use super::metrics::Counters;
use super::node::Node;
use super::staging::StagedFile;
use super::{Ino, Opened, Tree, TreeError};
use crate::storage::posix::Access;
use crate::storage::read_memory;
use crate::view::{OpenPlan, PresentedFile, ViewError};

/// What a file handle stands for.
pub(super) enum OpenFile {
    Data(PresentedFile),
    Memory(Arc<[u8]>),
    Staged(StagedFile),
}

impl Tree {
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
        let (content, immutable) = match node {
            Node::File(file) => return self.open_data(ino, &file, backed_from),
            Node::Status(transaction) => (transaction.status().into(), false),
            Node::InfoLatest | Node::InfoHistory | Node::InfoMetrics => {
                let make = || self.changing(&node);
                let content = match self.options.reads_unopened {
                    true => self.told.told(ino, make)?,
                    false => make()?,
                };
                (content, false)
            }
            Node::InfoFile(generation, version, file) => {
                (self.info_content(ino, &generation, version, file)?, true)
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
            handle: self.open_handle(OpenFile::Memory(content)),
            backing: None,
            immutable,
            staged: false,
        })
    }

    fn open_data(
        &self,
        ino: Ino,
        node: &FileNode,
        backed_from: Option<u64>,
    ) -> Result<Opened, TreeError> {
        let plan = node.plan();
        let file = self.open_presented(node, &plan)?;
        // The kernel, and who asked it, go by the size that they were told.
        if self.inodes.size_told(ino) != Some(file.size()) {
            return Err(TreeError::OtherSize(ino));
        }
        let backing = match backed_from.is_some_and(|least| file.size() >= least) {
            true => node.presentation.backing(&plan, &file),
            false => file.as_file().cloned(),
        };
        Ok(Opened {
            handle: self.open_handle(OpenFile::Data(file)),
            backing,
            immutable: true,
            staged: false,
        })
    }

    fn open_presented(&self, node: &FileNode, plan: &OpenPlan) -> Result<PresentedFile, TreeError> {
        node.presentation.open(plan).map_err(|error| {
            if matches!(error, ViewError::Missing { .. })
                && self.missing.note(&node.generation, node.id)
            {
                tracing::warn!(%error, "a live data file is gone");
            }
            error.into()
        })
    }

    /// A handle of a file.
    pub(super) fn open_handle(&self, file: OpenFile) -> u64 {
        let handle = self.new_handle();
        self.open_files.lock().insert(handle, Arc::new(file));
        handle
    }

    /// The file of a handle.
    pub(super) fn open_file(&self, handle: u64) -> Result<Arc<OpenFile>, TreeError> {
        let file = self.open_files.lock().get(&handle).cloned();
        file.ok_or(TreeError::UnknownHandle(handle))
    }

    /// Fills `buffer` from `offset` of an open file; returns fewer bytes only at its end.
    pub fn read(&self, handle: u64, buffer: &mut [u8], offset: u64) -> Result<usize, TreeError> {
        let file = self.open_file(handle)?;
        let read = match &*file {
            OpenFile::Data(reader) => reader.read_at(buffer, offset)?,
            OpenFile::Staged(file) => file.read(buffer, offset)?,
            OpenFile::Memory(content) => read_memory(content, buffer, offset),
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
}
