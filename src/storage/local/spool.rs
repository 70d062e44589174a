//! Where transactions are staged: directories on a local disk, each owned by one process.
//!
//! ```text
//! SPOOL/ID/lock                held (flock) by the process that serves the transaction
//! SPOOL/ID/transaction.json    what is known of it, replaced whole and durably
//! SPOOL/ID/attempt             the commit under way: written over, durable before it begins
//! SPOOL/ID/outcome             what became of it: written over, and lost with the power
//! SPOOL/ID/files/              the user's files
//! SPOOL/ID/scratch/            files made of them, which are no one's once no commit runs
//! ```

mod publish;
mod walk;

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{self, AtFlags, FileType, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{Gid, Uid};

use super::super::StorageError;
use super::super::posix::Owner;
use super::beneath::Root;
use super::write::sync_dir;
use super::{error_of, write};

pub use publish::{HowPublished, Publisher};
pub use walk::{EntryKind, WalkedEntry};

const LOCK: &str = "lock";
const RECORD: &str = "transaction.json";
const ATTEMPT: &str = "attempt";
const OUTCOME: &str = "outcome";
const FILES: &str = "files";
const SCRATCH: &str = "scratch";

/// The largest record that is read, bytes. It names each file of a commit.
const RECORD_MAX: u64 = 256 << 20;

/// The directory of all transactions.
#[derive(Debug)]
pub struct Spool {
    root: Root,
    shown: PathBuf,
}

/// The directory of one transaction, owned by this process as long as the value lives.
#[derive(Debug)]
pub struct SpoolDirectory {
    id: String,
    shown: PathBuf,
    directory: OwnedFd,
    files: OwnedFd,
    scratch: OwnedFd,
    attempt: File,
    outcome: File,
    scratch_number: AtomicU64,
    /// Its lock goes when it is closed.
    _lock: OwnedFd,
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
        let root = Root::open(&shown).map_err(failed)?;
        Ok(Some(Spool { root, shown }))
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
            let made = self.opened(id, directory, lock)?;
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

    /// Tries to own the directory of a transaction.
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
                Err(Errno::NOENT) => return Ok(Claim::InUse),
                directory => directory?,
            };
            let lock = match open_lock(&directory, OFlags::empty()) {
                Err(Errno::NOENT) => return Ok(incomplete(None)),
                lock => lock?,
            };
            match fs::flock(&lock, FlockOperation::NonBlockingLockExclusive) {
                Err(Errno::WOULDBLOCK) => return Ok(Claim::InUse),
                locked => locked?,
            }
            let held = lock.try_clone().map_err(|_| Errno::MFILE)?;
            let record = fs::statat(&directory, RECORD, AtFlags::SYMLINK_NOFOLLOW);
            match self.opened(id, directory, lock) {
                // With a record, somebody's files may be in it, whatever else is missing.
                Err(Errno::NOENT) if matches!(record, Err(Errno::NOENT)) => {
                    Ok(incomplete(Some(held)))
                }
                opened => opened.map(Claim::Owned),
            }
        })();
        claimed.map_err(|errno| fault("open", &shown, errno))
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
        let name = format!(".probe-{}.tmp", uuid::Uuid::new_v4());
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

    fn directory(&self) -> rustix::io::Result<OwnedFd> {
        self.root
            .open_beneath("", OFlags::RDONLY | OFlags::DIRECTORY)
    }

    fn opened(
        &self,
        id: &str,
        directory: OwnedFd,
        lock: OwnedFd,
    ) -> rustix::io::Result<SpoolDirectory> {
        Ok(SpoolDirectory {
            id: id.to_owned(),
            shown: self.shown.join(id),
            files: subdirectory(&directory, FILES)?,
            scratch: subdirectory(&directory, SCRATCH)?,
            attempt: open_note(&directory, ATTEMPT, OFlags::empty())?,
            outcome: open_note(&directory, OUTCOME, OFlags::empty())?,
            scratch_number: AtomicU64::new(0),
            directory,
            _lock: lock,
        })
    }
}

impl SpoolDirectory {
    /// Its id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The permission bits that a file has which this process makes without a wish of its own.
    pub fn default_mode(&self) -> u32 {
        let record = fs::statat(&self.directory, RECORD, AtFlags::SYMLINK_NOFOLLOW);
        record.map_or(0o644, |stat| stat.st_mode & 0o666)
    }

    /// The path of the directory of the user's files, for messages.
    pub fn shown_files(&self) -> PathBuf {
        self.shown.join(FILES)
    }

    /// The directory of the user's files.
    pub fn files(&self) -> BorrowedFd<'_> {
        self.files.as_fd()
    }

    /// The record; `None` where there is none.
    pub fn record(&self) -> Result<Option<Vec<u8>>, StorageError> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let shown = self.shown.join(RECORD);
        match fs::openat(&self.directory, RECORD, flags, Mode::empty()) {
            Ok(file) => read_all(&File::from(file), RECORD_MAX)
                .map(Some)
                .map_err(|source| io_fault("read", &shown, source)),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(fault("open", &shown, errno)),
        }
    }

    /// Replaces the record, whole and durably.
    pub fn set_record(&self, record: &[u8]) -> Result<(), StorageError> {
        write::replace_in(&self.directory, RECORD, record)
            .map_err(|errno| fault("write", &self.shown.join(RECORD), errno))
    }

    /// What was noted of a commit under way; `None` where nothing was, or not all of it before a
    /// loss of power: then what was to follow has not begun.
    pub fn attempt(&self) -> Result<Option<Vec<u8>>, StorageError> {
        read_note(&self.attempt)
            .map_err(|source| io_fault("read", &self.shown.join(ATTEMPT), source))
    }

    /// Notes a commit under way, durably, in place of the one before; `None` that there is none,
    /// which a loss of power may undo.
    pub fn set_attempt(&self, attempt: Option<&[u8]>) -> Result<(), StorageError> {
        let failed = |source| io_fault("write", &self.shown.join(ATTEMPT), source);
        match attempt {
            Some(note) => write_note(&self.attempt, note)
                .and_then(|()| self.attempt.sync_data())
                .map_err(failed),
            None => self.attempt.set_len(0).map_err(failed),
        }
    }

    /// What was noted of the outcome of a commit; `None` where nothing was, or it was lost.
    pub fn outcome(&self) -> Result<Option<Vec<u8>>, StorageError> {
        read_note(&self.outcome)
            .map_err(|source| io_fault("read", &self.shown.join(OUTCOME), source))
    }

    /// Notes the outcome of a commit in place of the one before. It survives the process, not a loss
    /// of power.
    pub fn set_outcome(&self, outcome: &[u8]) -> Result<(), StorageError> {
        write_note(&self.outcome, outcome)
            .map_err(|source| io_fault("write", &self.shown.join(OUTCOME), source))
    }

    /// Opens one of the user's files, which is a regular file, for reading.
    pub fn open_file(&self, path: &str) -> Result<File, StorageError> {
        let shown = self.shown.join(FILES).join(path);
        let failed = |errno| fault("open", &shown, errno);
        let (parent, name) = write::split(path);
        let parent = self.files_directory(parent).map_err(failed)?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = fs::openat(parent, name, flags, Mode::empty()).map_err(failed)?;
        let stat = fs::fstat(&file).map_err(failed)?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Ok(File::from(file)),
            _ => Err(StorageError::Unsupported {
                location: shown.display().to_string(),
                operation: "read",
                reason: "it is not a regular file; remove it".to_owned(),
            }),
        }
    }

    /// The content of one of the user's files of at most `limit` bytes.
    pub fn read_file(&self, path: &str, limit: u64) -> Result<Vec<u8>, StorageError> {
        let file = self.open_file(path)?;
        read_all(&file, limit)
            .map_err(|source| io_fault("read", &self.shown.join(FILES).join(path), source))
    }

    /// Whether the user has left nothing.
    pub fn is_empty(&self) -> Result<bool, StorageError> {
        let failed = |errno| fault("list", &self.shown.join(FILES), errno);
        let directory = fs::openat(
            &self.files,
            ".",
            OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC,
            Mode::empty(),
        )
        .map_err(failed)?;
        for entry in fs::Dir::new(directory).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            if !matches!(entry.file_name().to_bytes(), b"." | b"..") {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// A new file that nobody else knows.
    pub fn create_scratch(&self) -> Result<SpoolFile, StorageError> {
        let number = self.scratch_number.fetch_add(1, Ordering::Relaxed);
        let name = format!("{number}-{}", uuid::Uuid::new_v4());
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let shown = self.shown.join(SCRATCH).join(&name);
        let file = fs::openat(&self.scratch, &name, flags, Mode::from_raw_mode(0o644))
            .map_err(|errno| fault("create", &shown, errno))?;
        Ok(SpoolFile {
            directory: self
                .scratch
                .try_clone()
                .map_err(|source| io_fault("open", &shown, source))?,
            file: File::from(file),
            name,
            shown: shown.display().to_string(),
        })
    }

    /// A copy of `file` that nobody else knows, as it is now. Without `sharing`, it has blocks of its
    /// own: those of a file that could not be fsynced do not have its content.
    pub fn copy_to_scratch(&self, file: &File, sharing: bool) -> Result<SpoolFile, StorageError> {
        let copy = self.create_scratch()?;
        let copied = match sharing {
            true => publish::copy_content(file, copy.file()),
            false => publish::copy_by_hand(file, copy.file()),
        };
        copied
            .map_err(|errno| fault("write", &self.shown.join(SCRATCH).join(&copy.name), errno))?;
        Ok(copy)
    }

    /// Removes what interrupted commits have left in the scratch directory.
    pub fn clear_scratch(&self) -> Result<(), StorageError> {
        let failed = |errno| fault("clear", &self.shown.join(SCRATCH), errno);
        for entry in fs::Dir::read_from(&self.scratch).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            if matches!(entry.file_name().to_bytes(), b"." | b"..") {
                continue;
            }
            match fs::unlinkat(&self.scratch, entry.file_name(), AtFlags::empty()) {
                Ok(()) | Err(Errno::NOENT) => {}
                Err(errno) => return Err(failed(errno)),
            }
        }
        Ok(())
    }

    /// A directory below the user's files, no symlink on the way.
    fn files_directory(&self, path: &str) -> rustix::io::Result<OwnedFd> {
        let mut at = subdirectory(&self.files, ".")?;
        for name in path.split('/').filter(|name| !name.is_empty()) {
            at = subdirectory(&at, name)?;
        }
        Ok(at)
    }
}

/// A file in the scratch directory. Its name goes when this is dropped; what was published of it
/// stays.
#[derive(Debug)]
pub struct SpoolFile {
    directory: OwnedFd,
    file: File,
    name: String,
    shown: String,
}

impl SpoolFile {
    /// The open file.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Its path, for messages.
    pub fn shown(&self) -> &str {
        &self.shown
    }
}

impl Write for SpoolFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Seek for SpoolFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

impl Drop for SpoolFile {
    fn drop(&mut self) {
        // What stays is cleared when the transaction commits again, or is removed.
        let _ = fs::unlinkat(&self.directory, &self.name, AtFlags::empty());
    }
}

/// A note is written over in place: a checksum in front of it tells whether all of it is there.
const CHECKSUM: usize = 4;

fn write_note(mut file: &File, note: &[u8]) -> io::Result<()> {
    let mut content = crc32fast::hash(note).to_le_bytes().to_vec();
    content.extend_from_slice(note);
    file.set_len(0)?;
    file.seek(SeekFrom::Start(0))?;
    file.write_all(&content)
}

fn read_note(mut file: &File) -> io::Result<Option<Vec<u8>>> {
    file.seek(SeekFrom::Start(0))?;
    let content = read_all(file, RECORD_MAX)?;
    let Some((checksum, note)) = content.split_first_chunk::<CHECKSUM>() else {
        return Ok(None);
    };
    let is_whole = crc32fast::hash(note) == u32::from_le_bytes(*checksum);
    Ok(is_whole.then(|| note.to_vec()))
}

fn open_note(directory: &OwnedFd, name: &str, create: OFlags) -> rustix::io::Result<File> {
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | create;
    fs::openat(directory, name, flags, Mode::from_raw_mode(0o600)).map(File::from)
}

fn open_lock(directory: &OwnedFd, create: OFlags) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | create;
    fs::openat(directory, LOCK, flags, Mode::from_raw_mode(0o600))
}

fn subdirectory(at: impl AsFd, name: &str) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    fs::openat(at, name, flags, Mode::empty())
}

/// Removes the directory of a transaction with all in it, its lock last: as long as anything is
/// there, nobody else can own it.
fn remove_directory(all: &OwnedFd, id: &str) -> rustix::io::Result<()> {
    let there = |done: rustix::io::Result<()>| match done {
        Err(Errno::NOENT) => Ok(()),
        done => done,
    };
    let directory = match subdirectory(all, id) {
        Err(Errno::NOENT) => return Ok(()),
        directory => directory?,
    };
    for entry in fs::Dir::read_from(&directory)? {
        let entry = entry?;
        let name = entry.file_name().to_str().map_err(|_| Errno::ILSEQ)?;
        if matches!(name, "." | ".." | LOCK) {
            continue;
        }
        match fs::unlinkat(&directory, name, AtFlags::empty()) {
            Err(Errno::ISDIR | Errno::PERM) => remove_tree(&directory, name)?,
            removed => there(removed)?,
        }
    }
    there(fs::unlinkat(&directory, LOCK, AtFlags::empty()))?;
    there(fs::unlinkat(all, id, AtFlags::REMOVEDIR))
}

/// Removes `name` in `at` with all below it. Symlinks are removed, not followed.
fn remove_tree(at: &OwnedFd, name: &str) -> rustix::io::Result<()> {
    // Directories still to be emptied, each with the path from `at`; children come after parents.
    let mut found = vec![name.to_owned()];
    let mut next = 0;
    while next < found.len() {
        let path = found[next].clone();
        next += 1;
        let mut directory = subdirectory(at, ".")?;
        let mut gone = false;
        for part in path.split('/') {
            match subdirectory(&directory, part) {
                Ok(below) => directory = below,
                Err(Errno::NOENT) => gone = true,
                Err(errno) => return Err(errno),
            }
        }
        if gone {
            continue;
        }
        for entry in fs::Dir::read_from(&directory)? {
            let entry = entry?;
            let file_name = entry.file_name();
            if matches!(file_name.to_bytes(), b"." | b"..") {
                continue;
            }
            match fs::unlinkat(&directory, file_name, AtFlags::empty()) {
                Ok(()) | Err(Errno::NOENT) => {}
                Err(Errno::ISDIR | Errno::PERM) => {
                    let below = file_name.to_str().map_err(|_| Errno::ILSEQ)?;
                    found.push(format!("{path}/{below}"));
                }
                Err(errno) => return Err(errno),
            }
        }
    }
    for path in found.iter().rev() {
        let (parent, last) = write::split(path);
        let mut directory = subdirectory(at, ".")?;
        let mut gone = false;
        for part in parent.split('/').filter(|part| !part.is_empty()) {
            match subdirectory(&directory, part) {
                Ok(below) => directory = below,
                Err(Errno::NOENT) => gone = true,
                Err(errno) => return Err(errno),
            }
        }
        if gone {
            continue;
        }
        match fs::unlinkat(&directory, last, AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

fn read_all(file: &File, limit: u64) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    file.take(limit.saturating_add(1))
        .read_to_end(&mut content)?;
    match content.len() as u64 > limit {
        true => Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("it is larger than {limit} bytes"),
        )),
        false => Ok(content),
    }
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
