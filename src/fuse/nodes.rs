//! What the adapter asks of a tree.

use std::ffi::OsStr;
use std::fmt;
use std::ops::ControlFlow;

use crate::storage::Capacity;
use crate::tree::{DirEntry, Entry, Ino, Opened, Tree, TreeError};

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
    /// See [`Tree::open`].
    fn open(&self, ino: Ino) -> Result<Opened, TreeError>;
    /// See [`Tree::read`].
    fn read(&self, handle: u64, buffer: &mut [u8], offset: u64) -> Result<usize, TreeError>;
    /// See [`Tree::read_takes_long`].
    fn read_takes_long(&self, handle: u64, offset: u64, size: u32) -> bool;
    /// See [`Tree::release`].
    fn release(&self, handle: u64);
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

    fn open(&self, ino: Ino) -> Result<Opened, TreeError> {
        Tree::open(self, ino)
    }

    fn read(&self, handle: u64, buffer: &mut [u8], offset: u64) -> Result<usize, TreeError> {
        Tree::read(self, handle, buffer, offset)
    }

    fn read_takes_long(&self, handle: u64, offset: u64, size: u32) -> bool {
        Tree::read_takes_long(self, handle, offset, size)
    }

    fn release(&self, handle: u64) {
        Tree::release(self, handle);
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
}
