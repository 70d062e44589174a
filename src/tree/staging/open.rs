//! Open staged files.

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;

use super::{Staged, marker};
use crate::staging::Transaction;
use crate::storage::posix::{self, Access, Seek};
use crate::tree::node::Node;
use crate::tree::open_files::OpenFile;
use crate::tree::{Ino, Opened, Tree, TreeError};

/// How much of a file is copied by one call: more would keep the caller waiting for it all without
/// a way to end it.
const COPIED_AT_ONCE: u64 = 64 << 20;

/// The smallest file that is written back when it is closed, bytes.
const WRITTEN_BACK_FROM: u64 = 1 << 20;

/// A staged file that is open. As long as one is that may be written to, the transaction knows.
#[derive(Debug)]
pub(in crate::tree) struct StagedFile {
    file: Arc<File>,
    staged: Arc<Staged>,
    access: Access,
}

impl StagedFile {
    /// An open staged file; the caller has opened `file` after [`Staged::about_to_open`].
    fn new(staged: &Arc<Staged>, file: File, access: Access) -> StagedFile {
        if access.writes() {
            staged.transaction.note_writer(staged.identity.1);
        }
        StagedFile {
            file: Arc::new(file),
            staged: staged.clone(),
            access,
        }
    }

    fn transaction(&self) -> &Arc<Transaction> {
        &self.staged.transaction
    }

    pub(in crate::tree) fn file(&self) -> &File {
        &self.file
    }

    /// The file, where it was open for writing, is still there, and is large enough for that to
    /// matter.
    pub(in crate::tree) fn to_be_written_back(&self) -> Option<Arc<File>> {
        let written = self.access.writes().then_some(&self.file)?;
        let is_large = written
            .metadata()
            .is_ok_and(|found| found.len() >= WRITTEN_BACK_FROM && found.nlink() > 0);
        is_large.then(|| written.clone())
    }

    /// Reads from it.
    pub(in crate::tree) fn read(&self, buffer: &mut [u8], offset: u64) -> Result<usize, TreeError> {
        Ok(posix::read_at(&self.file, buffer, offset)?)
    }
}

impl Drop for StagedFile {
    fn drop(&mut self) {
        if self.access.writes() {
            self.transaction().writer_gone(self.staged.identity.1);
        }
        self.staged.closed();
    }
}

impl Tree {
    /// Opens a staged file.
    pub(in crate::tree) fn open_staged(
        &self,
        staged: &Arc<Staged>,
        access: Access,
    ) -> Result<Opened, TreeError> {
        let node = staged.file()?;
        // Held until the transaction knows of the writer.
        let _leave = match access.writes() {
            true => Some(staged.transaction.modify()?),
            false => None,
        };
        staged.about_to_open()?;
        let file = node.open(access).inspect_err(|_| staged.closed())?;
        Ok(self.opened_staged(staged, file, access))
    }

    /// The handle of a staged file, opened after [`Staged::about_to_open`].
    pub(in crate::tree) fn opened_staged(
        &self,
        staged: &Arc<Staged>,
        file: File,
        access: Access,
    ) -> Opened {
        let file = StagedFile::new(staged, file, access);
        // What passes through the kernel is written without asking us, also when it is to be
        // durable at once: the marker may not.
        let passes = !marker::may_be(staged);
        let backing = passes.then(|| file.file.clone());
        let handle = self.open_handle(OpenFile::Staged(file));
        Opened {
            handle,
            backing,
            immutable: false,
            staged: true,
        }
    }

    fn with_staged<T>(
        &self,
        ino: Ino,
        handle: u64,
        work: impl FnOnce(&StagedFile) -> Result<T, TreeError>,
    ) -> Result<T, TreeError> {
        match &*self.open_file(handle)? {
            OpenFile::Staged(file) => work(file),
            OpenFile::Data(_) | OpenFile::Memory(_) => Err(TreeError::ReadOnly(ino)),
        }
    }

    /// Writes to an open file, and returns how much: less than all when the disk is full.
    pub fn write(
        &self,
        ino: Ino,
        handle: u64,
        bytes: &[u8],
        offset: u64,
    ) -> Result<usize, TreeError> {
        self.with_staged(ino, handle, |file| {
            let _leave = file.transaction().modify()?;
            Ok(posix::write_all_at(&file.file, bytes, offset)?)
        })
    }

    /// `fallocate` on an open file, with the flags of the system call.
    pub fn allocate(
        &self,
        ino: Ino,
        handle: u64,
        flags: u32,
        range: posix::Range,
    ) -> Result<(), TreeError> {
        self.with_staged(ino, handle, |file| {
            let _leave = file.transaction().modify()?;
            Ok(posix::allocate(&file.file, flags, range)?)
        })
    }

    /// Copies between open files, from and to handle and offset, and returns how much: less than
    /// all of it where it is long. [`TreeError::NotSupported`] where the kernel has to do it by
    /// reading and writing.
    pub fn copy_range(
        &self,
        ino: Ino,
        from: (u64, u64),
        to: (u64, u64),
        length: u64,
    ) -> Result<usize, TreeError> {
        let source = self.open_file(from.0)?;
        let source = match &*source {
            OpenFile::Staged(file) => Some(file.file()),
            OpenFile::Data(file) => file.as_file().map(Arc::as_ref),
            OpenFile::Memory(_) => None,
        };
        let source = source.ok_or(TreeError::NotSupported("copying within the disk"))?;
        self.with_staged(ino, to.0, |file| {
            let _leave = file.transaction().modify()?;
            let length = length.min(COPIED_AT_ONCE) as usize;
            let copied = posix::copy_range((source, from.1), (&file.file, to.1), length)?;
            Ok(copied)
        })
    }

    /// Where the next data or hole of an open file begins; `None` when there is none. Takes as long as
    /// a read of the last byte.
    pub fn seek(&self, handle: u64, what: Seek, offset: u64) -> Result<Option<u64>, TreeError> {
        let size = match &*self.open_file(handle)? {
            OpenFile::Staged(file) => {
                return match posix::seek(&file.file, what, offset) {
                    Err(error) if error.errno() == libc::ENXIO => Ok(None),
                    found => Ok(Some(found?)),
                };
            }
            OpenFile::Data(file) => return Ok(file.seek(what, offset)?),
            OpenFile::Memory(content) => content.len() as u64,
        };
        Ok((offset < size).then_some(match what {
            Seek::Data => offset,
            Seek::Hole => size,
        }))
    }

    /// The files that are open for writing in the transaction which an fsync of `ino`, its marker,
    /// or a rename to the marker in `ino`, its directory, commits. None for any other node.
    pub fn written_before_commit(&self, ino: Ino) -> Vec<Ino> {
        let Ok(Node::Staged(staged)) = self.node(ino) else {
            return Vec::new();
        };
        if !staged.is_top() && !marker::may_be(&staged) {
            return Vec::new();
        }
        let open = self.open_files.lock();
        let mut written: Vec<Ino> = open
            .values()
            .filter_map(|file| match &**file {
                OpenFile::Staged(file) if file.access.writes() => Some(file),
                _ => None,
            })
            .filter(|file| Arc::ptr_eq(file.transaction(), &staged.transaction))
            .map(|file| file.staged.ino())
            .filter(|written| *written != ino)
            .collect();
        written.sort_unstable();
        written.dedup();
        written
    }

    /// Makes what an open file holds durable. On the marker of a transaction, commits it, which may
    /// take seconds.
    pub fn fsync(&self, ino: Ino, handle: u64, data_only: bool) -> Result<(), TreeError> {
        match &*self.open_file(handle)? {
            OpenFile::Staged(file) => {
                if marker::is(file.transaction(), file.staged.identity.1)? {
                    let version = file.transaction().commit()?;
                    tracing::debug!(ino, version, "committed");
                    return Ok(());
                }
                let synced = posix::sync(&file.file, data_only);
                if synced.is_err() {
                    file.transaction().note_unwritten(&file.file);
                }
                Ok(synced?)
            }
            OpenFile::Data(_) | OpenFile::Memory(_) => Ok(()),
        }
    }
}
