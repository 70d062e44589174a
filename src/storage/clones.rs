//! Files that begin with the blocks of a data file, shared with it, and end in bytes of their own.
//!
//! On a file system that shares blocks between files (XFS with `reflink=1`, btrfs) a presented file
//! that begins with its data file can be made a real one at the cost of what stands behind the
//! data: `FICLONERANGE` of the whole blocks, then a write of the rest. The kernel can then read it
//! without asking anybody.
//!
//! A clone has no name (`O_TMPFILE`), on the table's own file system or that of the cache directory:
//! it takes less than 0.1 ms to make, which is less than keeping one under a name would cost in
//! care. Nothing has to be published, shared, checked or evicted on the disk; nobody else can
//! reach it; what copies the table does not meet it; and it is gone with the process, however
//! that ends. What one costs is its tail, and the blocks of the data file after that was
//! removed: then it is let go, see `clones/kept.rs`.
//!
//! Whatever stands in the way of a clone, the file is read as it would be without.

mod kept;
mod make;

use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use lru::LruCache;
use parking_lot::Mutex;

use super::cache::{CacheFile, DiskCache, EntryKey, is_full, spare};
use super::{ObjectReader, Store};
use crate::base::clock::monotonic;
use crate::base::hash::stable_hash256;
use kept::Kept;
use make::{Begun, Source, make};

/// Presented files below this size, bytes, are not cloned. Making a clone takes as long as this process
/// takes to answer for some 200 KiB, so that from here on one is paid for by the first read of a
/// twentieth of the file; and as many clones as are kept stand for some gigabytes at least.
const LEAST: u64 = 4 << 20;

/// How long none is made after one could not be made because the disk is full, or so slow that an open
/// would have to wait. As long as the kernel leaves written data in memory, for which cloning waits.
const PAUSE: Duration = Duration::from_secs(30);

/// How long a file is not tried again of which no clone could be made: it may be in many pieces, so
/// that it would take as long each time.
const LONG_PAUSE: Duration = Duration::from_secs(300);

/// How many such files are remembered.
const REMEMBERED: NonZeroUsize = NonZeroUsize::new(1024).expect("1024 is not zero");

/// The clones of a mount. All methods may be called from several threads at once.
#[derive(Debug)]
pub struct Clones {
    /// Whether they may be made on the table's own file system.
    in_table: bool,
    /// Whose directory is the other place.
    cache: Option<Arc<DiskCache>>,
    kept: Kept,
    refused: Mutex<Refused>,
    made: AtomicU64,
}

/// Where clones are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Place {
    Table,
    Cache,
}

/// What is not worth trying.
#[derive(Debug)]
struct Refused {
    /// Places that do not share blocks with a device.
    pairs: HashSet<(Place, u64)>,
    /// When any file is tried again.
    all_until: Option<Instant>,
    /// When a file is tried again.
    until: LruCache<EntryKey, Instant>,
}

/// A file that begins with another one.
#[derive(Debug)]
pub struct CloneParts<'a> {
    /// The other one, open.
    pub original: &'a dyn ObjectReader,
    /// How many bytes of it are at the beginning.
    pub prefix: u64,
    /// Where zeros are in their place, in ascending order and without overlap.
    pub holes: Vec<Range<u64>>,
    /// What stands behind them, with where; in ascending order and without overlap. What they
    /// leave out is zeros.
    pub pieces: Vec<(u64, Piece<'a>)>,
    /// The size of the whole.
    pub size: u64,
}

/// Bytes of a clone that are not the data file's.
#[derive(Debug)]
pub enum Piece<'a> {
    /// In memory.
    Memory(&'a [u8]),
    /// In an entry of the disk cache.
    Cached {
        /// The entry, open.
        file: &'a CacheFile,
        /// The first of its bytes. Where it lies as far behind the beginning of a [`BLOCK`] as the
        /// piece does in the clone, blocks can be shared with the entry.
        start: u64,
        /// How many.
        length: u64,
    },
}

impl Piece<'_> {
    fn len(&self) -> u64 {
        match *self {
            Piece::Memory(bytes) => bytes.len() as u64,
            Piece::Cached { length, .. } => length,
        }
    }
}

/// What a file system shares between files is a multiple of this, bytes.
pub const BLOCK: u64 = 4096;

impl Clones {
    /// None are ever made.
    pub fn none() -> Clones {
        Clones::new(false, None, 0)
    }

    /// Makes clones in the table, where that is allowed, or else in the directory of `cache`, where
    /// these lie on the file system of the data file. Those that nobody has open are kept below
    /// `limit` bytes, not counting the blocks that they share.
    pub fn new(in_table: bool, cache: Option<Arc<DiskCache>>, limit: u64) -> Clones {
        Clones {
            in_table,
            cache,
            kept: Kept::new(limit),
            refused: Mutex::new(Refused {
                pairs: HashSet::new(),
                all_until: None,
                until: LruCache::new(REMEMBERED),
            }),
            made: AtomicU64::new(0),
        }
    }

    /// Whether a file of `size` bytes is cloned.
    pub fn are_made_of(&self, size: u64) -> bool {
        (self.in_table || self.cache.is_some()) && size >= LEAST
    }

    /// How many are kept.
    pub fn kept(&self) -> usize {
        self.kept.len()
    }

    /// How many have been made.
    pub fn made(&self) -> u64 {
        self.made.load(Ordering::Relaxed)
    }

    /// A file that holds `parts`, made unless one is kept; `None` where it cannot be made. `key`
    /// names all that the bytes depend on beside the data file, whose identity is added here.
    /// `table` is the store of the table.
    pub fn get(
        &self,
        key: &EntryKey,
        parts: &CloneParts<'_>,
        table: &dyn Store,
    ) -> Option<Arc<File>> {
        let source = match Source::of(parts.original) {
            Some(Ok(source)) => source,
            Some(Err(error)) => {
                tracing::debug!(%error, "a data file cannot be looked at for a clone");
                return None;
            }
            None => return None,
        };
        let key = stable_hash256("deltafs clone v1", &[key, &source.identity()]);
        if let Some(file) = self.kept.get(&key) {
            return Some(file);
        }
        if self.refused.lock().waits(&key) {
            return None;
        }
        for place in [Place::Table, Place::Cache] {
            let pair = (place, source.device());
            if self.refused.lock().pairs.contains(&pair) {
                continue;
            }
            let Some(begun) = self.begin(place, table) else {
                continue;
            };
            match begun.and_then(|begun| make(begun, &source, parts)) {
                Ok(made) => {
                    self.made.fetch_add(1, Ordering::Relaxed);
                    let file = Arc::new(made.file);
                    self.kept.put(key, &file, made.copied, made.sources);
                    return Some(file);
                }
                Err(error) => {
                    let path = &parts.original.meta().path;
                    tracing::debug!(?place, path, %error, "no clone of a data file");
                    if is_full(&error) {
                        // Of what clones hold, perhaps.
                        self.kept.clear();
                    }
                    self.refused.lock().note(pair, key, &error);
                }
            }
        }
        None
    }

    /// A new file at a place, where it is one of this mount's.
    fn begin(&self, place: Place, table: &dyn Store) -> Option<io::Result<Begun>> {
        match place {
            Place::Table => self.in_table.then(|| {
                let room = table.capacity().and_then(|space| spare(&space));
                Begun::new(table.nameless(), room)
            }),
            Place::Cache => {
                let (file, room) = self.cache.as_ref()?.nameless()?;
                Some(Begun::new(file, room))
            }
        }
    }
}

impl Refused {
    fn waits(&mut self, key: &EntryKey) -> bool {
        let now = monotonic();
        let until = self.until.get(key).copied();
        [self.all_until, until]
            .into_iter()
            .flatten()
            .any(|until| until > now)
    }

    /// Takes note that no clone of the file of `key` could be made.
    fn note(&mut self, pair: (Place, u64), key: EntryKey, error: &io::Error) {
        if lasts(error) {
            self.pairs.insert(pair);
            return;
        }
        let now = monotonic();
        self.until.put(key, now + LONG_PAUSE);
        if is_full(error) || error.kind() == io::ErrorKind::TimedOut {
            self.all_until = Some(now + PAUSE);
        }
    }
}

/// Whether what the system said will be the same for every other file of the same device.
fn lasts(error: &io::Error) -> bool {
    use io::ErrorKind::{CrossesDevices, IsADirectory, Unsupported};
    // The last is what a kernel says that does not know files without a name.
    matches!(error.kind(), CrossesDevices | Unsupported | IsADirectory)
        || error.raw_os_error() == Some(libc::ENOTTY)
}

#[cfg(test)]
mod tests;
