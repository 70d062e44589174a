//! Where transactions are staged: directories on a local disk, each owned by one process.
//!
//! ```text
//! SPOOL/ID/lock                held (flock) by the process that serves the transaction
//! SPOOL/ID/transaction.json    what is known of it, replaced whole and durably
//! SPOOL/ID/attempt             the commit under way: written over, durable before it begins
//! SPOOL/ID/outcome             that its files are durable, then what became of it: written over, and
//!                              lost with the power
//! SPOOL/ID/files/              the user's files
//! SPOOL/ID/scratch/            files made of them, which are no one's once no commit runs
//! ```

mod directory;
mod notes;
mod publish;
mod remove;
mod walk;

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{self, AtFlags, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use rustix::path::Arg;
use rustix::process::{Gid, Uid};

use super::super::StorageError;
use super::super::posix::Owner;
use super::beneath::Root;
use super::write::sync_dir;
use super::{error_of, write};
use crate::base::clock::TimestampMs;
use directory::{ATTEMPT, OUTCOME, SCRATCH};
use notes::open_note;
use remove::remove_directory;

pub use directory::{SpoolDirectory, SpoolFile};
pub use publish::{HowPublished, Publisher};
pub use walk::{EntryKind, WalkedEntry};

const LOCK: &str = "lock";
const RECORD: &str = "transaction.json";
const FILES: &str = "files";

/// The directory of all transactions.
#[derive(Debug)]
pub struct Spool {
    root: Root,
    shown: PathBuf,
}

/// What came of an attempt to own the directory of a transaction.
#[derive(Debug)]
pub enum Claim {
    /// It is owned now.
    Owned(SpoolDirectory),
    /// Another process owns it.
    InUse,
    /// It is not whole: whoever made it, or removed it, was interrupted.
    Incomplete(Leftover),
}

/// What is left of the directory of a transaction.
#[derive(Debug)]
pub struct Leftover {
    id: String,
    /// Owned, as far as there is one.
    lock: Option<OwnedFd>,
}

impl Spool {
    /// Opens the directory of all transactions, after making it where it is missing: below `base`,
    /// an existing directory, in `path` (plain names joined by `/`), none of which may be a
    /// symlink.
    pub fn create(base: &Path, path: &str) -> Result<Spool, StorageError> {
        Spool::open_with(base, path, true)?.ok_or_else(|| StorageError::NotFound {
            location: base.join(path).display().to_string(),
        })
    }

    /// As [`Spool::create`], but `None` where it is missing.
    pub fn open(base: &Path, path: &str) -> Result<Option<Spool>, StorageError> {
        Spool::open_with(base, path, false)
    }

    fn open_with(base: &Path, path: &str, make: bool) -> Result<Option<Spool>, StorageError> {
        let shown = base.join(path);
        let failed = |errno| fault("open", &shown, errno);
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let mut at = fs::open(base, flags, Mode::empty()).map_err(failed)?;
        for name in path.split('/') {
            match fs::openat(&at, name, flags | OFlags::NOFOLLOW, Mode::empty()) {
                Err(Errno::NOENT) if make => {
                    match fs::mkdirat(&at, name, Mode::from_raw_mode(0o755)) {
                        Ok(()) | Err(Errno::EXIST) => sync_dir(&at).map_err(failed)?,
                        Err(errno) => return Err(failed(errno)),
                    }
                    at = fs::openat(&at, name, flags | OFlags::NOFOLLOW, Mode::empty())
                        .map_err(failed)?;
                }
                Err(Errno::NOENT) => return Ok(None),
                opened => at = opened.map_err(failed)?,
            }
        }
        // The directory that was just opened, whatever has its name now.
        let opened = PathBuf::from(format!("/proc/self/fd/{}", at.as_raw_fd()));
        let root = Root::open(&opened).map_err(failed)?;
        Ok(Some(Spool { root, shown }))
    }

    /// Whether what was opened is still what its path leads to: somebody may have removed it, or
    /// have put another table in the place of the one that it lies in.
    pub fn is_in_place(&self) -> bool {
        let opened = self.directory().and_then(fs::fstat);
        let there = fs::stat(&self.shown);
        matches!((opened, there), (Ok(one), Ok(other))
            if (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino))
    }

    /// The ids of the transactions, sorted; other names are none of ours.
    pub fn ids(&self) -> Result<Vec<String>, StorageError> {
        let failed = |errno| fault("list", &self.shown, errno);
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let directory = self.root.open_beneath("", flags).map_err(failed)?;
        let mut ids = Vec::new();
        for entry in fs::Dir::read_from(&directory).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            if let Ok(name) = entry.file_name().to_str()
                && uuid::Uuid::try_parse(name).is_ok()
            {
                ids.push(name.to_owned());
            }
        }
        ids.sort();
        Ok(ids)
    }

    /// Makes the directory of a new transaction, with its first record, durably, and owns it. The
    /// directory of the user's files belongs to `owner` and has the permission bits of `mode`. A
    /// crash or an error on the way leaves nothing, or what [`Claim::Incomplete`] tells.
    pub fn begin(
        &self,
        owner: Owner,
        mode: u32,
        record: &[u8],
    ) -> Result<SpoolDirectory, StorageError> {
        const TRIES: u32 = 8;
        let mut tries = 0;
        loop {
            tries += 1;
            let id = uuid::Uuid::new_v4().to_string();
            match self.make(&id, owner, mode, record) {
                // Until it is locked, another process may take it for a leftover and remove it.
                Err(Errno::NOENT | Errno::WOULDBLOCK) if tries < TRIES => {}
                made => return made.map_err(|errno| fault("make", &self.shown.join(id), errno)),
            }
        }
    }

    fn make(
        &self,
        id: &str,
        owner: Owner,
        mode: u32,
        record: &[u8],
    ) -> rustix::io::Result<SpoolDirectory> {
        let all = self.directory()?;
        fs::mkdirat(&all, id, Mode::from_raw_mode(0o755))?;
        let made = (|| {
            let directory = subdirectory(&all, id)?;
            let lock = open_lock(&directory, OFlags::CREATE)?;
            fs::flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
            fs::mkdirat(&directory, FILES, Mode::from_raw_mode(0o700))?;
            fs::mkdirat(&directory, SCRATCH, Mode::from_raw_mode(0o700))?;
            for name in [ATTEMPT, OUTCOME] {
                open_note(&directory, name, OFlags::CREATE | OFlags::EXCL)?;
            }
            let made = SpoolDirectory::new(id, self.shown.join(id), directory, lock)?;
            let stat = fs::fstat(&made.files)?;
            if (stat.st_uid, stat.st_gid) != (owner.uid, owner.gid) {
                let (user, group) = (Uid::from_raw(owner.uid), Gid::from_raw(owner.gid));
                fs::fchown(&made.files, Some(user), Some(group))?;
            }
            fs::fchmod(&made.files, Mode::from_raw_mode(mode & 0o7777))?;
            // Syncs the directory too. The record comes last: with it, all is there.
            write::replace_in(&made.directory, RECORD, record)?;
            sync_dir(&all)?;
            Ok(made)
        })();
        if made.is_err() {
            let _ = remove_directory(&all, id);
        }
        made
    }

    /// Tries to own the directory of a transaction. One that another user has made is
    /// [`StorageError::Unsupported`]: what its record says is nothing that this process has written.
    pub fn claim(&self, id: &str) -> Result<Claim, StorageError> {
        let shown = self.shown.join(id);
        let incomplete = |lock| {
            Claim::Incomplete(Leftover {
                id: id.to_owned(),
                lock,
            })
        };
        let claimed = (|| {
            let directory = match subdirectory(&self.directory()?, id) {
                // Removed since it was listed.
                Err(Errno::NOENT) => return Ok(Ok(Claim::InUse)),
                directory => directory?,
            };
            let stat = fs::fstat(&directory)?;
            if stat.st_uid != rustix::process::geteuid().as_raw() {
                return Ok(Err(stat.st_uid));
            }
            let lock = match open_lock(&directory, OFlags::empty()) {
                Err(Errno::NOENT) => return Ok(Ok(incomplete(None))),
                lock => lock?,
            };
            match fs::flock(&lock, FlockOperation::NonBlockingLockExclusive) {
                Err(Errno::WOULDBLOCK) => return Ok(Ok(Claim::InUse)),
                locked => locked?,
            }
            let held = lock.try_clone().map_err(|_| Errno::MFILE)?;
            let record = fs::statat(&directory, RECORD, AtFlags::SYMLINK_NOFOLLOW);
            match SpoolDirectory::new(id, self.shown.join(id), directory, lock) {
                // With a record, somebody's files may be in it, whatever else is missing.
                Err(Errno::NOENT) if matches!(record, Err(Errno::NOENT)) => {
                    Ok(Ok(incomplete(Some(held))))
                }
                opened => opened.map(|opened| Ok(Claim::Owned(opened))),
            }
        })();
        let claimed = claimed.map_err(|errno| fault("open", &shown, errno))?;
        claimed.map_err(|owner| StorageError::Unsupported {
            location: shown.display().to_string(),
            operation: "taking over a transaction",
            reason: format!(
                "it belongs to user {owner}, and this process runs as another; mount as that user \
                 to finish it, or remove the directory"
            ),
        })
    }

    /// Removes the directory of a transaction that is not whole, with what is in it.
    pub fn remove_incomplete(&self, leftover: &Leftover) -> Result<(), StorageError> {
        let removed = self.directory().and_then(|all| match leftover.lock {
            Some(_) => remove_directory(&all, &leftover.id),
            // The lock comes first and goes last: there is nothing else in it, unless somebody is
            // just making it.
            None => match fs::unlinkat(&all, &leftover.id, AtFlags::REMOVEDIR) {
                Err(Errno::NOENT | Errno::NOTEMPTY | Errno::EXIST) => Ok(()),
                removed => removed,
            },
        });
        removed.map_err(|errno| fault("remove", &self.shown.join(&leftover.id), errno))
    }

    /// Removes the directory of a transaction, with what is in it. After an error it is as it was;
    /// once its record is gone, the next mount removes what could not be removed now.
    pub fn remove(&self, directory: &SpoolDirectory) -> Result<(), StorageError> {
        match fs::unlinkat(&directory.directory, RECORD, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(errno) => return Err(fault("remove", &directory.shown, errno)),
        }
        let removed = sync_dir(&directory.directory)
            .and_then(|()| self.directory())
            .and_then(|all| remove_directory(&all, &directory.id));
        if let Err(errno) = removed {
            tracing::warn!(
                directory = %directory.shown.display(),
                %errno,
                "what is left of a removed transaction stays until the next mount"
            );
        }
        Ok(())
    }

    /// Whether this file system can make a file only where none is, which commits need: by a hard
    /// link, or by renaming without replacing.
    pub fn probe(&self) -> Result<(), StorageError> {
        let name = write::temporary_name("probe");
        let all = self
            .directory()
            .map_err(|errno| fault("open", &self.shown, errno))?;
        let created = write::create(&self.root, &name, b"");
        let _ = fs::unlinkat(&all, &name, AtFlags::empty());
        match created {
            Ok(_) => Ok(()),
            Err(write::CreateError::System(errno)) => Err(fault("write to", &self.shown, errno)),
            Err(write::CreateError::NotAtomic { link, rename }) => Err(StorageError::Unsupported {
                location: self.shown.display().to_string(),
                operation: "creating a file only where none is",
                reason: format!(
                    "the file system knows neither hard links ({link}) nor rename without \
                     replacing ({rename}), so that two writers could overwrite each other's \
                     commit; keep the table on a file system that does"
                ),
            }),
        }
    }

    /// Removes the temporary files directly in this directory that processes of ours left which were
    /// killed, as far as they were written before a time; how many there were.
    pub fn remove_leftovers(&self, before: TimestampMs) -> Result<usize, StorageError> {
        let removed = self
            .directory()
            .and_then(|directory| write::remove_leftovers(&directory, before));
        removed.map_err(|errno| fault("tidy", &self.shown, errno))
    }

    fn directory(&self) -> rustix::io::Result<OwnedFd> {
        self.root
            .open_beneath("", OFlags::RDONLY | OFlags::DIRECTORY)
    }
}

fn open_lock(directory: &OwnedFd, create: OFlags) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | create;
    fs::openat(directory, LOCK, flags, Mode::from_raw_mode(0o600))
}

fn subdirectory(at: impl AsFd, name: impl Arg) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    fs::openat(at, name, flags, Mode::empty())
}

fn fault(operation: &'static str, path: &Path, errno: Errno) -> StorageError {
    let shown = path.display().to_string();
    error_of(operation, shown.clone(), &shown, errno)
}

fn io_fault(operation: &'static str, path: &Path, source: io::Error) -> StorageError {
    match Errno::from_io_error(&source) {
        Some(errno) => fault(operation, path, errno),
        None => StorageError::Io {
            operation,
            location: path.display().to_string(),
            source,
        },
    }
}
