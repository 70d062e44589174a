//! What the adapter asks of a tree.

use std::ffi::OsStr;
use std::fmt;
use std::fs::File;
use std::ops::ControlFlow;
use std::sync::Arc;

use crate::storage::Capacity;
use crate::storage::posix::{Access, NewFile, Range, Replacing, Seek};
use crate::tree::{Changes, DirEntry, Entry, Ino, Opened, Tree, TreeError};

/// The calls of [`Tree`], with its contracts. A trait, so that the adapter and everything around a
/// mount can be tested over a tree made for the test.
///
/// A listing begins with `.` and `..`. Offsets of rows are below 2^63, because the kernel counts
/// them as signed numbers, and names are neither empty nor longer than 1024 bytes and hold no
/// slash: the kernel refuses a whole listing for one such row.
pub trait Nodes: Send + Sync + fmt::Debug + 'static {
    /// See [`Tree::lookup`].
    fn lookup(&self, parent: Ino, name: &OsStr) -> Result<Entry, TreeError>;
    /// See [`Tree::forget`].
    fn forget(&self, ino: Ino, count: u64);
    /// See [`Tree::getattr`].
    fn getattr(&self, ino: Ino) -> Result<Entry, TreeError>;
    /// See [`Tree::readlink`].
    fn readlink(&self, ino: Ino) -> Result<String, TreeError>;
    /// See [`Tree::open_backed`].
    fn open(&self, ino: Ino, access: Access, backed_from: Option<u64>)
    -> Result<Opened, TreeError>;
    /// See [`Tree::read`].
    fn read(&self, handle: u64, buffer: &mut [u8], offset: u64) -> Result<usize, TreeError>;
    /// See [`Tree::read_takes_long`].
    fn read_takes_long(&self, handle: u64, offset: u64, size: u32) -> bool;
    /// See [`Tree::release`].
    fn release(&self, handle: u64) -> Option<Arc<File>>;
    /// See [`Tree::opendir`].
    fn opendir(&self, ino: Ino) -> Result<u64, TreeError>;
    /// See [`Tree::readdir`].
    fn readdir(
        &self,
        handle: u64,
        offset: u64,
        plus: bool,
        take: &mut dyn FnMut(&DirEntry<'_>) -> ControlFlow<()>,
    ) -> Result<(), TreeError>;
    /// See [`Tree::releasedir`].
    fn releasedir(&self, handle: u64);
    /// See [`Tree::getxattr`].
    fn getxattr(&self, ino: Ino, name: &OsStr) -> Result<Vec<u8>, TreeError>;
    /// See [`Tree::listxattr`].
    fn listxattr(&self, ino: Ino) -> Result<Vec<String>, TreeError>;
    /// See [`Tree::capacity`].
    fn capacity(&self) -> Option<Capacity>;
    /// See [`Tree::mkdir`].
    fn mkdir(&self, parent: Ino, name: &OsStr, new: NewFile) -> Result<Entry, TreeError>;
    /// See [`Tree::mknod`].
    fn mknod(&self, parent: Ino, name: &OsStr, new: NewFile) -> Result<Entry, TreeError>;
    /// See [`Tree::create`].
    fn create(
        &self,
        parent: Ino,
        name: &OsStr,
        new: NewFile,
        access: Access,
        exclusive: bool,
    ) -> Result<(Entry, Opened), TreeError>;
    /// See [`Tree::unlink`].
    fn unlink(&self, parent: Ino, name: &OsStr) -> Result<(), TreeError>;
    /// See [`Tree::rmdir`].
    fn rmdir(&self, parent: Ino, name: &OsStr) -> Result<(), TreeError>;
    /// See [`Tree::rename`].
    fn rename(
        &self,
        parent: Ino,
        name: &OsStr,
        new_parent: Ino,
        new_name: &OsStr,
        replacing: Replacing,
    ) -> Result<(), TreeError>;
    /// See [`Tree::rename_commits`].
    fn rename_commits(&self, parent: Ino, name: &OsStr, new_parent: Ino, new_name: &OsStr) -> bool;
    /// See [`Tree::link`].
    fn link(&self, ino: Ino, new_parent: Ino, new_name: &OsStr) -> Result<Entry, TreeError>;
    /// See [`Tree::setattr`].
    fn setattr(&self, ino: Ino, handle: Option<u64>, changes: Changes) -> Result<Entry, TreeError>;
    /// See [`Tree::write`].
    fn write(&self, ino: Ino, handle: u64, bytes: &[u8], offset: u64) -> Result<usize, TreeError>;
    /// See [`Tree::allocate`].
    fn allocate(&self, ino: Ino, handle: u64, flags: u32, range: Range) -> Result<(), TreeError>;
    /// See [`Tree::copy_range`].
    fn copy_range(
        &self,
        ino: Ino,
        from: (u64, u64),
        to: (u64, u64),
        length: u64,
    ) -> Result<usize, TreeError>;
    /// See [`Tree::next`].
    fn next(&self, handle: u64, what: Seek, offset: u64) -> Result<Option<u64>, TreeError>;
    /// See [`Tree::fsync`].
    fn fsync(&self, ino: Ino, handle: u64, data_only: bool) -> Result<(), TreeError>;
    /// See [`Tree::written_before_commit`].
    fn written_before_commit(&self, ino: Ino) -> Vec<Ino>;
    /// See [`Tree::fsyncdir`].
    fn fsyncdir(&self, ino: Ino) -> Result<(), TreeError>;
    /// See [`Tree::refuse_attribute`].
    fn refuse_attribute(&self, ino: Ino) -> TreeError;
    /// See [`Tree::refuse_special`].
    fn refuse_special(&self, parent: Ino) -> TreeError;
}

impl Nodes for Tree {
    fn lookup(&self, parent: Ino, name: &OsStr) -> Result<Entry, TreeError> {
        Tree::lookup(self, parent, name)
    }

    fn forget(&self, ino: Ino, count: u64) {
        Tree::forget(self, ino, count);
    }

    fn getattr(&self, ino: Ino) -> Result<Entry, TreeError> {
        Tree::getattr(self, ino)
    }

    fn readlink(&self, ino: Ino) -> Result<String, TreeError> {
        Tree::readlink(self, ino)
    }

    fn open(
        &self,
        ino: Ino,
        access: Access,
        backed_from: Option<u64>,
    ) -> Result<Opened, TreeError> {
        self.open_backed(ino, access, backed_from)
    }

    fn read(&self, handle: u64, buffer: &mut [u8], offset: u64) -> Result<usize, TreeError> {
        Tree::read(self, handle, buffer, offset)
    }

    fn read_takes_long(&self, handle: u64, offset: u64, size: u32) -> bool {
        Tree::read_takes_long(self, handle, offset, size)
    }

    fn release(&self, handle: u64) -> Option<Arc<File>> {
        Tree::release(self, handle)
    }

    fn opendir(&self, ino: Ino) -> Result<u64, TreeError> {
        Tree::opendir(self, ino)
    }

    fn readdir(
        &self,
        handle: u64,
        offset: u64,
        plus: bool,
        take: &mut dyn FnMut(&DirEntry<'_>) -> ControlFlow<()>,
    ) -> Result<(), TreeError> {
        Tree::readdir(self, handle, offset, plus, take)
    }

    fn releasedir(&self, handle: u64) {
        Tree::releasedir(self, handle);
    }

    fn getxattr(&self, ino: Ino, name: &OsStr) -> Result<Vec<u8>, TreeError> {
        Tree::getxattr(self, ino, name)
    }

    fn listxattr(&self, ino: Ino) -> Result<Vec<String>, TreeError> {
        Tree::listxattr(self, ino)
    }

    fn capacity(&self) -> Option<Capacity> {
        Tree::capacity(self)
    }

    fn mkdir(&self, parent: Ino, name: &OsStr, new: NewFile) -> Result<Entry, TreeError> {
        Tree::mkdir(self, parent, name, new)
    }

    fn mknod(&self, parent: Ino, name: &OsStr, new: NewFile) -> Result<Entry, TreeError> {
        Tree::mknod(self, parent, name, new)
    }

    fn create(
        &self,
        parent: Ino,
        name: &OsStr,
        new: NewFile,
        access: Access,
        exclusive: bool,
    ) -> Result<(Entry, Opened), TreeError> {
        Tree::create(self, parent, name, new, access, exclusive)
    }

    fn unlink(&self, parent: Ino, name: &OsStr) -> Result<(), TreeError> {
        Tree::unlink(self, parent, name)
    }

    fn rmdir(&self, parent: Ino, name: &OsStr) -> Result<(), TreeError> {
        Tree::rmdir(self, parent, name)
    }

    fn rename(
        &self,
        parent: Ino,
        name: &OsStr,
        new_parent: Ino,
        new_name: &OsStr,
        replacing: Replacing,
    ) -> Result<(), TreeError> {
        Tree::rename(self, parent, name, new_parent, new_name, replacing)
    }

    fn rename_commits(&self, parent: Ino, name: &OsStr, new_parent: Ino, new_name: &OsStr) -> bool {
        Tree::rename_commits(self, parent, name, new_parent, new_name)
    }

    fn link(&self, ino: Ino, new_parent: Ino, new_name: &OsStr) -> Result<Entry, TreeError> {
        Tree::link(self, ino, new_parent, new_name)
    }

    fn setattr(&self, ino: Ino, handle: Option<u64>, changes: Changes) -> Result<Entry, TreeError> {
        Tree::setattr(self, ino, handle, changes)
    }

    fn write(&self, ino: Ino, handle: u64, bytes: &[u8], offset: u64) -> Result<usize, TreeError> {
        Tree::write(self, ino, handle, bytes, offset)
    }

    fn allocate(&self, ino: Ino, handle: u64, flags: u32, range: Range) -> Result<(), TreeError> {
        Tree::allocate(self, ino, handle, flags, range)
    }

    fn copy_range(
        &self,
        ino: Ino,
        from: (u64, u64),
        to: (u64, u64),
        length: u64,
    ) -> Result<usize, TreeError> {
        Tree::copy_range(self, ino, from, to, length)
    }

    fn next(&self, handle: u64, what: Seek, offset: u64) -> Result<Option<u64>, TreeError> {
        Tree::next(self, handle, what, offset)
    }

    fn fsync(&self, ino: Ino, handle: u64, data_only: bool) -> Result<(), TreeError> {
        Tree::fsync(self, ino, handle, data_only)
    }

    fn written_before_commit(&self, ino: Ino) -> Vec<Ino> {
        Tree::written_before_commit(self, ino)
    }

    fn fsyncdir(&self, ino: Ino) -> Result<(), TreeError> {
        Tree::fsyncdir(self, ino)
    }

    fn refuse_attribute(&self, ino: Ino) -> TreeError {
        Tree::refuse_attribute(self, ino)
    }

    fn refuse_special(&self, parent: Ino) -> TreeError {
        Tree::refuse_special(self, parent)
    }
}
