//! Where bytes live: one [`Store`] for a local directory or an object store.
//!
//! This floor alone uses `object_store`, a tokio runtime and `std::fs`. Everything above is
//! synchronous and sees paths as decoded text relative to a store's root, `/`-separated, without a
//! leading slash, e.g. `_delta_log/00000000000000000000.json` or `region=A%2FA/part-0.parquet`.

pub mod cache;
pub mod clones;
mod error;
mod local;
mod location;
mod object;
pub mod posix;
mod roots;
mod url;

#[cfg(test)]
mod conformance;

use std::fmt;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use crate::base::clock::TimestampMs;

pub use error::StorageError;
pub use local::spool::{
    Claim, EntryKind, HowPublished, Leftover, Publisher, Spool, SpoolDirectory, SpoolFile,
    WalkedEntry,
};
pub use location::Location;
pub use roots::TableRoots;
pub use url::{StoreOptions, TableUrl, open_store};

/// What a listing or a `head` says about an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectMeta {
    /// Path relative to the store's root.
    pub path: String,
    /// Size in bytes.
    pub size: u64,
    /// Last modification, milliseconds since the epoch.
    pub modified: TimestampMs,
}

/// Whether a put-if-absent created its object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum PutOutcome {
    /// The object was not there, and is now, durably.
    Created,
    /// Another object was there already; it was left as it was.
    AlreadyExists,
}

/// Space of the device behind a store, in bytes and file counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capacity {
    /// Bytes in all.
    pub total: u64,
    /// Bytes free.
    pub free: u64,
    /// Bytes an unprivileged user may still write.
    pub available: u64,
    /// Inodes in all.
    pub files: u64,
    /// Inodes free.
    pub files_free: u64,
}

impl Capacity {
    fn of(space: &rustix::fs::StatVfs) -> Capacity {
        let bytes = |blocks: u64| blocks.saturating_mul(space.f_frsize);
        Capacity {
            total: bytes(space.f_blocks),
            free: bytes(space.f_bfree),
            available: bytes(space.f_bavail),
            files: space.f_files,
            files_free: space.f_ffree,
        }
    }
}

/// An object open for random reads. It stays readable, with the same bytes, after the object's
/// name is gone (local files), or answers an error (object stores).
pub trait ObjectReader: Send + Sync + fmt::Debug {
    /// What was true of the object when it was opened.
    fn meta(&self) -> &ObjectMeta;

    /// Fills `buffer` from `offset` on and returns how many bytes there were: fewer than
    /// `buffer.len()` only at the end of the object.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, StorageError>;

    /// The open local file, where there is one.
    fn as_file(&self) -> Option<&Arc<File>>;
}

/// [`ObjectReader::read_at`] of bytes that are in memory.
pub fn read_memory(bytes: &[u8], buffer: &mut [u8], offset: u64) -> usize {
    let start = usize::try_from(offset).map_or(bytes.len(), |at| at.min(bytes.len()));
    let count = buffer.len().min(bytes.len() - start);
    buffer[..count].copy_from_slice(&bytes[start..start + count]);
    count
}

/// A tree of objects under one root. All calls block; every backend passes `conformance`.
///
/// No call leaves the root: a path with an empty, `.` or `..` segment or a NUL, and a symlink that
/// leads out, is [`StorageError::Outside`]. A directory is not an object: asked for as one, it is
/// [`StorageError::NotFound`]; a named pipe, socket or device is [`StorageError::Unsupported`].
pub trait Store: Send + Sync + fmt::Debug {
    /// The root as the user would write it, for messages: `/data/orders` or `s3://bucket/orders`.
    fn root(&self) -> &str;

    /// The names directly in `dir` that are greater than `after` (byte order), sorted, without a
    /// `stat` of each where the backend can avoid it. Directories are left out where the backend
    /// knows them without a `stat`. An absent directory is [`StorageError::NotFound`] on file
    /// systems and empty on object stores.
    fn list_names(&self, dir: &str, after: Option<&str>) -> Result<Vec<String>, StorageError>;

    /// The objects directly in `dir` whose names are greater than `after`, sorted by name, with
    /// size and modification time.
    fn list(&self, dir: &str, after: Option<&str>) -> Result<Vec<ObjectMeta>, StorageError>;

    /// Size and modification time of one object.
    fn head(&self, path: &str) -> Result<ObjectMeta, StorageError>;

    /// [`Store::head`] of many, in parallel where that helps; results in the order of `paths`.
    fn head_many(&self, paths: &[String]) -> Vec<Result<ObjectMeta, StorageError>>;

    /// A whole object.
    fn get(&self, path: &str) -> Result<Bytes, StorageError>;

    /// [`Store::get`] of many, in parallel where that helps; results in the order of `paths`.
    fn get_many(&self, paths: &[String]) -> Vec<Result<Bytes, StorageError>>;

    /// Part of an object; shorter than asked only where the object ends.
    fn get_range(&self, path: &str, range: Range<u64>) -> Result<Bytes, StorageError>;

    /// An object for random reads.
    fn open(&self, path: &str) -> Result<Box<dyn ObjectReader>, StorageError>;

    /// Writes an object whole, replacing what is there; durable when it returns: on file systems
    /// the file and its directory are fsynced, and a crash leaves the old or the new content.
    fn put(&self, path: &str, content: Bytes) -> Result<(), StorageError>;

    /// Writes an object whole unless one is there: of several racing callers exactly one sees
    /// [`PutOutcome::Created`]. Durable when it returns.
    fn put_if_absent(&self, path: &str, content: Bytes) -> Result<PutOutcome, StorageError>;

    /// Makes what was created in a directory durable, whoever created it. Object stores have
    /// nothing to do: what can be seen there is durable.
    fn sync_dir(&self, dir: &str) -> Result<(), StorageError> {
        let _ = dir;
        Ok(())
    }

    /// Removes an object; [`StorageError::NotFound`] when it is not there.
    fn delete(&self, path: &str) -> Result<(), StorageError>;

    /// Space of the device behind the store; `None` where the notion does not exist.
    fn capacity(&self) -> Option<Capacity>;

    /// A new file on the device of the root that has no name and never gets one: nothing in the
    /// root is changed, and it is gone when it is closed. [`io::ErrorKind::Unsupported`] where the
    /// notion does not exist.
    fn nameless(&self) -> io::Result<File> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// A store of what stands at this root's location now, when that is no longer what this store
    /// opened: a directory that was removed or renamed, and another one made in its place. `None`
    /// as long as it is the same, or nothing is there, and for stores that go by names alone.
    fn successor(&self) -> Result<Option<Arc<dyn Store>>, StorageError> {
        Ok(None)
    }

    /// Whether a change made by anyone is visible to the very next call at the cost of a system
    /// call (local), rather than a network round trip.
    fn is_local(&self) -> bool;
}
