//! What the adapter asks of a tree.

use std::ffi::OsStr;
use std::fmt;
use std::fs::File;
use std::ops::ControlFlow;
use std::sync::Arc;

use crate::storage::Capacity;
use crate::storage::posix::{Access, NewFile, Range, Replacing, Seek};
use crate::tree::{Changes, DirEntry, Entry, Ino, Opened, Tree, TreeError};

/// A trait with the methods of [`Tree`] that are listed, and [`Tree`] as one that has it.
macro_rules! methods_of_tree {
    (
        $(#[$about:meta])*
        $(fn $name:ident(&self $(, $argument:ident: $type:ty)* $(,)?) $(-> $result:ty)?;)*
    ) => {
        $(#[$about])*
        pub trait Nodes: Send + Sync + fmt::Debug + 'static {
            $(
                #[doc = concat!("See [`Tree::", stringify!($name), "`].")]
                fn $name(&self $(, $argument: $type)*) $(-> $result)?;
            )*
        }

        impl Nodes for Tree {
            $(
                fn $name(&self $(, $argument: $type)*) $(-> $result)? {
                    Tree::$name(self $(, $argument)*)
                }
            )*
        }
    };
}

methods_of_tree! {
    /// The calls of [`Tree`] that the kernel's requests become, with its contracts. A trait, so that the adapter and everything around a
    /// mount can be tested over a tree made for the test.
    ///
    /// A listing begins with `.` and `..`. Offsets of rows are below 2^63, because the kernel counts
    /// them as signed numbers, and names are neither empty nor longer than 1024 bytes and hold no
    /// slash: the kernel refuses a whole listing for one such row.
    fn lookup(&self, parent: Ino, name: &OsStr) -> Result<Entry, TreeError>;
    fn forget(&self, ino: Ino, count: u64);
    fn getattr(&self, ino: Ino) -> Result<Entry, TreeError>;
    fn readlink(&self, ino: Ino) -> Result<String, TreeError>;
    fn open_backed(
        &self,
        ino: Ino,
        access: Access,
        backed_from: Option<u64>,
    ) -> Result<Opened, TreeError>;
    fn read(&self, handle: u64, buffer: &mut [u8], offset: u64) -> Result<usize, TreeError>;
    fn read_takes_long(&self, handle: u64, offset: u64, size: u32) -> bool;
    fn release(&self, handle: u64) -> Option<Arc<File>>;
    fn opendir(&self, ino: Ino) -> Result<u64, TreeError>;
    fn readdir(
        &self,
        handle: u64,
        offset: u64,
        plus: bool,
        take: &mut dyn FnMut(&DirEntry<'_>) -> ControlFlow<()>,
    ) -> Result<(), TreeError>;
    fn releasedir(&self, handle: u64);
    fn getxattr(&self, ino: Ino, name: &OsStr) -> Result<Vec<u8>, TreeError>;
    fn listxattr(&self, ino: Ino) -> Result<Vec<String>, TreeError>;
    fn capacity(&self) -> Option<Capacity>;
    fn mkdir(&self, parent: Ino, name: &OsStr, new: NewFile) -> Result<Entry, TreeError>;
    fn mknod(&self, parent: Ino, name: &OsStr, new: NewFile) -> Result<Entry, TreeError>;
    fn create(
        &self,
        parent: Ino,
        name: &OsStr,
        new: NewFile,
        access: Access,
        exclusive: bool,
    ) -> Result<(Entry, Opened), TreeError>;
    fn unlink(&self, parent: Ino, name: &OsStr) -> Result<(), TreeError>;
    fn rmdir(&self, parent: Ino, name: &OsStr) -> Result<(), TreeError>;
    fn rename(
        &self,
        parent: Ino,
        name: &OsStr,
        new_parent: Ino,
        new_name: &OsStr,
        replacing: Replacing,
    ) -> Result<(), TreeError>;
    fn rename_commits(&self, parent: Ino, name: &OsStr, new_parent: Ino, new_name: &OsStr) -> bool;
    fn link(&self, ino: Ino, new_parent: Ino, new_name: &OsStr) -> Result<Entry, TreeError>;
    fn setattr(&self, ino: Ino, handle: Option<u64>, changes: Changes) -> Result<Entry, TreeError>;
    fn write(&self, ino: Ino, handle: u64, bytes: &[u8], offset: u64) -> Result<usize, TreeError>;
    fn allocate(&self, ino: Ino, handle: u64, flags: u32, range: Range) -> Result<(), TreeError>;
    fn copy_range(
        &self,
        ino: Ino,
        from: (u64, u64),
        to: (u64, u64),
        length: u64,
    ) -> Result<usize, TreeError>;
    fn seek(&self, handle: u64, what: Seek, offset: u64) -> Result<Option<u64>, TreeError>;
    fn fsync(&self, ino: Ino, handle: u64, data_only: bool) -> Result<(), TreeError>;
    fn written_before_commit(&self, ino: Ino) -> Vec<Ino>;
    fn fsyncdir(&self, ino: Ino) -> Result<(), TreeError>;
    fn refuse_attribute(&self, ino: Ino) -> TreeError;
    fn refuse_special(&self, parent: Ino) -> TreeError;
}
