//! The directory of entries: their names, and how many there may be.
#![allow(clippy::disallowed_methods)]

use std::fs::{self, DirBuilder, File, Metadata};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use uuid::Uuid;

use super::super::{Capacity, StorageError};
use super::entry::{CacheFile, check};
use super::{EntryKey, error};
use crate::base::clock;

/// The form of names and entries; another form gets another directory beside it.
const FORM: &str = "v1";

/// Where entries are written before they have a name.
const TEMPORARIES: &str = "tmp";

/// How long ago the last use may be without being marked anew.
const FRESH: Duration = Duration::from_secs(60);

/// How long a temporary file is let be that nobody locks: its writer may not have come to it yet.
const UNLOCKED_GRACE: Duration = Duration::from_secs(60);

/// How long a temporary file is let be where locks do not work.
const UNKNOWN_GRACE: Duration = Duration::from_secs(24 * 60 * 60);

/// What a file takes on disk is a multiple of this, bytes.
const BLOCK: u64 = 4096;

/// Free space that entries leave on their file system: a twentieth of it, or this, bytes.
const MOST_RESERVE: u64 = 1 << 30;

/// A directory of entries.
#[derive(Debug)]
pub(super) struct Directory {
    /// `DIR/v1`.
    root: PathBuf,
    limit: u64,
    usage: Mutex<Usage>,
    /// Held by the one thread that removes entries.
    trimming: Mutex<()>,
}

/// What is known of the space that entries take, bytes; nothing at first.
#[derive(Debug, Default)]
struct Usage {
    /// What all took when they were last counted, and what this process added since.
    total: u64,
    /// What this process added since.
    added: u64,
    /// What all were allowed to take then.
    room: u64,
}

/// An entry that has no name yet. Its file is removed on drop unless it was published.
#[derive(Debug)]
pub(super) struct Temporary<'a> {
    directory: &'a Directory,
    path: PathBuf,
    published: bool,
}

/// An entry as the directory shows it.
#[derive(Debug)]
struct Listed {
    used: SystemTime,
    size: u64,
    path: PathBuf,
}

impl Directory {
    pub(super) fn open(directory: &Path, limit: u64) -> Result<Directory, StorageError> {
        let root = directory.join(FORM);
        let opened = make_dir(&root).and_then(|()| fs::read_dir(&root).map(drop));
        opened.map_err(|source| error("open", &root, source))?;
        let metadata = fs::metadata(&root).map_err(|source| error("open", &root, source))?;
        check_private(&root, &metadata)?;
        let directory = Directory {
            root,
            limit,
            usage: Mutex::default(),
            trimming: Mutex::new(()),
        };
        directory.remove_leftovers();
        if limit == 0 {
            directory.trim();
        }
        Ok(directory)
    }

    /// `DIR/v1`.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    pub(super) fn limit(&self) -> u64 {
        self.limit
    }

    pub(super) fn get(&self, key: &EntryKey) -> Option<CacheFile> {
        let path = self.path(key);
        let mut options = File::options();
        options.read(true);
        options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
        let opened = options.open(&path).and_then(|file| {
            let checked = check(&file, key)?;
            let used = file.metadata()?.modified()?;
            Ok((file, checked, used))
        });
        match opened {
            Ok((file, Ok(size), used)) => {
                let now = clock::ms_to_system_time(clock::now_ms());
                // A read-only file system forgets who was used; that is no reason to fail.
                if now.duration_since(used).is_ok_and(|age| age > FRESH) {
                    let _ = file.set_modified(now);
                }
                let modified = clock::system_time_to_ms(used);
                Some(CacheFile::new(
                    file,
                    path.display().to_string(),
                    size,
                    modified,
                ))
            }
            Ok((_, Err(problem), _)) => {
                tracing::warn!(
                    entry = %path.display(), %problem, "a cache entry is damaged and is removed"
                );
                let _ = fs::remove_file(&path);
                None
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                tracing::debug!(entry = %path.display(), %error, "a cache entry cannot be read");
                None
            }
        }
    }

    /// A new file to write an entry to, locked.
    pub(super) fn temporary(&self) -> io::Result<(Temporary<'_>, File)> {
        let path = self.root.join(TEMPORARIES).join(Uuid::new_v4().to_string());
        let create = || {
            File::options()
                .read(true)
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(&path)
        };
        let file = or_make_dir(&path, create)?;
        // Where locks do not work, age alone tells what is left over.
        let _ = file.try_lock();
        let temporary = Temporary {
            directory: self,
            path,
            published: false,
        };
        Ok((temporary, file))
    }

    /// The space of its file system.
    pub(super) fn space(&self) -> Option<Capacity> {
        Some(Capacity::of(&rustix::fs::statvfs(&self.root).ok()?))
    }

    /// A new file that has no name and never gets one.
    pub(super) fn nameless(&self) -> io::Result<File> {
        File::options()
            .read(true)
            .write(true)
            .mode(0o600)
            .custom_flags(libc::O_TMPFILE | libc::O_EXCL)
            .open(&self.root)
    }

    /// Removes entries, the longest unused first, until what is there keeps the limit and leaves
    /// space on the file system. One thread does it; others that come meanwhile go on.
    pub(super) fn trim(&self) {
        let Some(_trimming) = self.trimming.try_lock() else {
            return;
        };
        let mut entries = self.entries();
        let mut total: u64 = entries.iter().map(|entry| entry.size).sum();
        let room = self.room(total);
        if total > room {
            // Further than must be, so that the next entry does not cost another count.
            let target = room - room / 10;
            entries.sort_unstable_by_key(|entry| entry.used);
            for entry in &entries {
                if total <= target {
                    break;
                }
                match fs::remove_file(&entry.path) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => {
                        tracing::debug!(
                            entry = %entry.path.display(), %error,
                            "a cache entry cannot be removed"
                        );
                    }
                    _ => total -= entry.size,
                }
            }
        }
        *self.usage.lock() = Usage {
            total,
            added: 0,
            room,
        };
    }

    /// How many bytes entries may take, which take `total` now.
    fn room(&self, total: u64) -> u64 {
        let Some(space) = self.space() else {
            return self.limit;
        };
        let room = total.saturating_add(space.available);
        let room = room.saturating_sub(reserve(&space));
        self.limit.min(room)
    }

    /// Counts an entry that this process added, and all of them when it is time.
    fn added(&self, size: u64) {
        let mut usage = self.usage.lock();
        usage.added += size;
        usage.total += size;
        // Other processes add too: after a sixteenth they are counted as well.
        if usage.total <= usage.room && usage.added <= usage.room / 16 {
            return;
        }
        drop(usage);
        self.trim();
    }

    /// All entries that are there now.
    fn entries(&self) -> Vec<Listed> {
        let mut entries = Vec::new();
        for shard in names(&self.root) {
            if shard.file_name().len() != 2 {
                continue;
            }
            for file in names(&shard.path()) {
                let Ok(metadata) = file.metadata() else {
                    continue;
                };
                if let (true, Ok(used)) = (metadata.is_file(), metadata.modified()) {
                    entries.push(Listed {
                        used,
                        size: on_disk(metadata.len()),
                        path: file.path(),
                    });
                }
            }
        }
        entries
    }

    /// Removes the temporary files of processes that are gone.
    fn remove_leftovers(&self) {
        let now = clock::ms_to_system_time(clock::now_ms());
        for file in names(&self.root.join(TEMPORARIES)) {
            let age = file.metadata().and_then(|metadata| metadata.modified());
            let age = age.map_or(Duration::ZERO, |at| {
                now.duration_since(at).unwrap_or_default()
            });
            let is_left = age > UNKNOWN_GRACE
                || age > UNLOCKED_GRACE
                    && File::open(file.path()).is_ok_and(|file| file.try_lock().is_ok());
            if is_left {
                let _ = fs::remove_file(file.path());
            }
        }
    }

    fn path(&self, key: &EntryKey) -> PathBuf {
        let hex: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
        let (shard, name) = hex.split_at(2);
        self.root.join(shard).join(name)
    }
}

impl Temporary<'_> {
    /// Gives the file, of `size` bytes and durable, the name of its entry, unless it is larger
    /// than all entries together may be; returns where it is.
    pub(super) fn publish(&mut self, key: &EntryKey, size: u64) -> io::Result<Option<PathBuf>> {
        if on_disk(size) > self.directory.limit {
            return Ok(None);
        }
        let path = self.directory.path(key);
        or_make_dir(&path, || fs::rename(&self.path, &path))?;
        self.published = true;
        self.directory.added(on_disk(size));
        Ok(Some(path))
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if !self.published {
            // What stays is removed by a later process.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// `act` on `path`; where the directory of `path` is missing, once more after making it.
fn or_make_dir<T>(path: &Path, act: impl Fn() -> io::Result<T>) -> io::Result<T> {
    match (act(), path.parent()) {
        (Err(error), Some(parent)) if error.kind() == io::ErrorKind::NotFound => {
            make_dir(parent)?;
            act()
        }
        (done, _) => done,
    }
}

fn make_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Refuses a directory that others than its user (and root) may write to.
fn check_private(root: &Path, metadata: &Metadata) -> Result<(), StorageError> {
    let user = rustix::process::geteuid().as_raw();
    let problem = if metadata.uid() != user {
        format!("it belongs to uid {}, not to {user}", metadata.uid())
    } else if metadata.mode() & 0o022 != 0 {
        format!(
            "its mode {:04o} lets others write to it",
            metadata.mode() & 0o7777
        )
    } else {
        return Ok(());
    };
    Err(StorageError::Unsupported {
        location: root.display().to_string(),
        operation: "keeping a cache",
        reason: format!(
            "{problem}, and what they write would be served as rows; give a --cache-dir of your own"
        ),
    })
}

/// What is in a directory; nothing where it cannot be listed.
fn names(directory: &Path) -> impl Iterator<Item = fs::DirEntry> {
    fs::read_dir(directory).into_iter().flatten().flatten()
}

/// The free space of a file system that may be taken, bytes; `None` where what there is, is left to
/// others.
pub(in crate::storage) fn spare(space: &Capacity) -> Option<u64> {
    space.available.checked_sub(reserve(space))
}

fn reserve(space: &Capacity) -> u64 {
    (space.total / 20).min(MOST_RESERVE)
}

fn on_disk(size: u64) -> u64 {
    size.next_multiple_of(BLOCK)
}
