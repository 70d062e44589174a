//! A directory of immutable entries that can be made again: rewritten parts of data files, and
//! small facts about them.
//!
//! ```text
//! DIR/v1/ab/cd...   an entry: its content, then a trailer; named by the 64 hex digits of its key
//! DIR/v1/tmp/UUID   an entry being written, locked by whoever writes it
//! DIR/v1/facts      facts, appended to; facts.old, those before
//! ```
//!
//! Several mounts and processes may share a directory, and anything in it may vanish at any moment.
//! An entry is a function of its key, so two processes that make the same one at once write the
//! same bytes, and it does not matter whose rename comes last: that costs the work twice, where a
//! lock between processes could cost a read that never ends.
//!
//! An entry gets its name only after `fdatasync`, so a name never stands for bytes that power loss
//! took. Opening one checks the trailer (key, length, and a checksum over itself), and the content
//! of small entries against its checksum; that a disk gives back what was synced to it is taken on
//! trust for the rest, as it is for the data files.
//!
//! Whatever the directory cannot do (it is full, read-only, gone) is done in a file without a name
//! instead, so a bad cache costs time and never a read.

mod directory;
mod entry;
mod facts;
mod flight;
mod spool;

use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use super::StorageError;
use directory::Directory;
use facts::Facts;
use flight::{Flights, Turn};
use spool::Spool;

pub(super) use directory::spare;
pub use entry::CacheFile;

/// Names an entry: a SHA-256 over all that its content depends on.
pub type EntryKey = [u8; 32];

/// Names a fact: the first half of a SHA-256 over all that its value depends on.
pub type FactKey = [u8; 16];

/// How much is written to an entry at once, bytes.
const BUFFER: usize = 256 << 10;

/// The cache; see the module. All methods may be called from several threads at once.
pub struct DiskCache {
    directory: Option<Directory>,
    flights: Flights<CacheFile>,
    facts: Facts,
    warned: AtomicBool,
}

impl fmt::Debug for DiskCache {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let root = self.directory.as_ref().map(Directory::root);
        formatter
            .debug_struct("DiskCache")
            .field("directory", &root)
            .finish_non_exhaustive()
    }
}

impl DiskCache {
    /// Opens the cache in `directory`, made (mode 0700) where it is missing, and removes what
    /// processes that died left half written. Its entries are kept below `limit` bytes by removing
    /// those whose last use is longest ago; 0 keeps none.
    ///
    /// An error when the directory can be neither made nor listed, or others may write to it:
    /// what they put there would be served as rows.
    pub fn open(directory: &Path, limit: u64) -> Result<DiskCache, StorageError> {
        let directory = Directory::open(directory, limit)?;
        Ok(DiskCache {
            facts: Facts::open(directory.root()),
            directory: Some(directory),
            flights: Flights::default(),
            warned: AtomicBool::new(false),
        })
    }

    /// A cache that keeps facts in memory, and of entries only those that are open.
    pub fn without_directory() -> DiskCache {
        DiskCache {
            directory: None,
            flights: Flights::default(),
            facts: Facts::in_memory(),
            warned: AtomicBool::new(false),
        }
    }

    /// [`DiskCache::open`], or [`DiskCache::without_directory`] and a warning where that fails or
    /// there is no directory.
    pub fn open_or_without(directory: Option<&Path>, limit: u64) -> DiskCache {
        let opened = match directory {
            Some(directory) => DiskCache::open(directory, limit),
            None => {
                tracing::warn!(
                    "no place for a cache: neither XDG_CACHE_HOME nor HOME is set; what is made \
                     for a read is forgotten when the file is closed: give --cache-dir"
                );
                return DiskCache::without_directory();
            }
        };
        opened.unwrap_or_else(|error| {
            tracing::warn!(
                %error,
                "the cache directory cannot be used; what is made for a read is forgotten when the \
                 file is closed: give another --cache-dir"
            );
            DiskCache::without_directory()
        })
    }

    /// An entry that is there and whole, and marks it as used. One that is damaged is removed.
    pub fn get(&self, key: &EntryKey) -> Option<CacheFile> {
        self.directory.as_ref()?.get(key)
    }

    /// The entry `key`, written by `write` unless it is there. Of several callers in this process
    /// one writes while the others wait, and get what it made; when `write` fails, its caller gets
    /// the error, nothing is kept, and the next of those waiting tries. `write` must not ask for
    /// the same key itself.
    ///
    /// The file stays readable as long as it is open, whatever becomes of the entry. `E` is made
    /// from a [`StorageError`] only when no place takes the bytes: neither the cache directory nor
    /// the temporary directory nor memory.
    pub fn make<E: From<StorageError>>(
        &self,
        key: &EntryKey,
        write: impl FnOnce(&mut dyn Write) -> Result<(), E>,
    ) -> Result<CacheFile, E> {
        let lead = match self.flights.turn(key) {
            Turn::Landed(file) => return Ok(file),
            Turn::Lead(lead) => lead,
        };
        // Another process, or whoever led before this turn, may have made it.
        let file = match self.get(key) {
            Some(file) => file,
            None => self.write(key, write)?,
        };
        lead.land(file.clone());
        Ok(file)
    }

    /// A new file without a name on the file system of the directory, where there is one, and how much
    /// it may take there, see [`spare`].
    pub(super) fn nameless(&self) -> Option<(io::Result<File>, Option<u64>)> {
        let directory = self.directory.as_ref()?;
        let room = directory.space().and_then(|space| spare(&space));
        Some((directory.nameless(), room))
    }

    /// A fact, where it is known.
    pub fn recall(&self, key: &FactKey) -> Option<u64> {
        self.facts.recall(key)
    }

    /// Keeps a fact, for this process and those that open the cache later. It may be forgotten:
    /// after some hundred thousand others, or by a crash.
    pub fn remember(&self, key: FactKey, value: u64) {
        self.facts.remember(&[(key, value)]);
    }

    fn write<E: From<StorageError>>(
        &self,
        key: &EntryKey,
        write: impl FnOnce(&mut dyn Write) -> Result<(), E>,
    ) -> Result<CacheFile, E> {
        let no_place = |error| self::error("write", Path::new("a cache entry"), error);
        let home = self.directory.as_ref().filter(|home| home.limit() > 0);
        let mut writer = BufWriter::with_capacity(BUFFER, Spool::begin(home).map_err(no_place)?);
        if let Err(error) = write(&mut writer) {
            // Dropped as it is, it would write its buffer first.
            let _ = writer.into_parts();
            return Err(error);
        }
        let spool = writer
            .into_inner()
            .map_err(|error| no_place(error.into_error()))?;
        let finished = spool.finish(key).map_err(no_place)?;
        if let (Some(directory), Some(problem)) = (home, finished.problem) {
            self.warn_once(directory.root(), &problem);
            if is_full(&problem) {
                // Perhaps of entries: then the oldest make room for the next.
                directory.trim();
            }
        }
        Ok(finished.file)
    }

    fn warn_once(&self, root: &Path, problem: &io::Error) {
        if self.warned.swap(true, Ordering::Relaxed) {
            tracing::debug!(%problem, "the cache directory took no entry");
            return;
        }
        tracing::warn!(
            directory = %root.display(),
            %problem,
            "the cache directory took no entry; what is made for a read is forgotten when the file \
             is closed, until the directory can be written to again (said once)"
        );
    }
}

/// Where the cache lies unless the user says otherwise: `$XDG_CACHE_HOME/deltafs`, else
/// `/var/cache/deltafs` for root, else `$HOME/.cache/deltafs`. `None` where none of these is known.
pub fn default_directory() -> Option<PathBuf> {
    directory_by(
        std::env::var_os("XDG_CACHE_HOME"),
        std::env::var_os("HOME"),
        rustix::process::geteuid().is_root(),
    )
}

/// A variable that is empty or holds a relative path counts as unset, as the XDG specification
/// has it.
fn directory_by(xdg: Option<OsString>, home: Option<OsString>, is_root: bool) -> Option<PathBuf> {
    let absolute = |value: Option<OsString>| value.map(PathBuf::from).filter(|p| p.is_absolute());
    let base = match (absolute(xdg), is_root) {
        (Some(xdg), _) => xdg,
        (None, true) => PathBuf::from("/var/cache"),
        (None, false) => absolute(home)?.join(".cache"),
    };
    Some(base.join("deltafs"))
}

/// The error floor's word for what the system said.
fn error(operation: &'static str, path: &Path, source: io::Error) -> StorageError {
    let location = path.display().to_string();
    match source.kind() {
        io::ErrorKind::NotFound => StorageError::NotFound { location },
        io::ErrorKind::PermissionDenied => StorageError::PermissionDenied {
            location,
            source: Box::new(source),
        },
        _ if is_full(&source) => StorageError::Full { location },
        _ => StorageError::Io {
            operation,
            location,
            source,
        },
    }
}

pub(super) fn is_full(error: &io::Error) -> bool {
    use io::ErrorKind::{QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded)
}

#[cfg(test)]
mod tests;
