//! Directories and files of the local disk with all that POSIX has: for a tree that programs write
//! into as they write to any other.
//!
//! A node is held by an `O_PATH` descriptor, so that it stays this node whatever becomes of its
//! name, and so that its inode number is not given to another as long as it is held. Names are
//! looked up one at a time and symbolic links are never followed: no call leaves the directory it
//! is made on. Errors carry the number that the system gave, for the program that made the call.
//!
//! Needs `/proc`: by way of it an `O_PATH` descriptor is opened and its attributes are set.

mod directory;
mod error;
mod file;
mod node;

#[cfg(test)]
mod tests;

pub use directory::{Directory, NewFile, Replacing, Row};
pub use error::PosixError;
pub use file::{
    Range, Seek, allocate, begin_writeback, copy_range, read_at, seek, set_size, sync, write_all_at,
};
pub use node::{Access, Kind, Node, Stat, Time, TimeChange};

/// To whom a node belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owner {
    /// User id.
    pub uid: u32,
    /// Group id.
    pub gid: u32,
}
