//! The directory of one transaction.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{self, AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::super::super::StorageError;
use super::super::write;
use super::notes::{open_note, read_note, write_note};
use super::{FILES, RECORD, fault, io_fault, publish, subdirectory};

pub(super) const ATTEMPT: &str = "attempt";
pub(super) const OUTCOME: &str = "outcome";
pub(super) const SCRATCH: &str = "scratch";

/// The largest record that is read, bytes. It names each file of a commit.
pub(super) const RECORD_MAX: u64 = 256 << 20;

/// The directory of one transaction, owned by this process as long as the value lives.
#[derive(Debug)]
pub struct SpoolDirectory {
    pub(super) id: String,
    pub(super) shown: PathBuf,
    pub(super) directory: OwnedFd,
    pub(super) files: OwnedFd,
    scratch: Arc<OwnedFd>,
    attempt: File,
    outcome: File,
    scratch_number: AtomicU64,
    /// Its lock goes when it is closed.
    _lock: OwnedFd,
}

impl SpoolDirectory {
    /// Takes an open directory of which this process has the lock; ENOENT where it is not whole.
    pub(super) fn new(
        id: &str,
        shown: PathBuf,
        directory: OwnedFd,
        lock: OwnedFd,
    ) -> rustix::io::Result<SpoolDirectory> {
        Ok(SpoolDirectory {
            id: id.to_owned(),
            shown,
            files: subdirectory(&directory, FILES)?,
            scratch: Arc::new(subdirectory(&directory, SCRATCH)?),
            attempt: open_note(&directory, ATTEMPT, OFlags::empty())?,
            outcome: open_note(&directory, OUTCOME, OFlags::empty())?,
            scratch_number: AtomicU64::new(0),
            directory,
            _lock: lock,
        })
    }

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

    /// Whether the user's files may have hard links in another directory: not on another disk.
    pub fn may_link_to(&self, other: &str) -> bool {
        match (fs::fstat(&self.files), fs::stat(other)) {
            (Ok(files), Ok(other)) => files.st_dev == other.st_dev,
            _ => true,
        }
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

    /// Notes a commit under way in place of the one before; `None` that there is none. A loss of power
    /// may undo either, until [`SpoolDirectory::sync_attempt`].
    pub fn set_attempt(&self, attempt: Option<&[u8]>) -> Result<(), StorageError> {
        let failed = |source| io_fault("write", &self.shown.join(ATTEMPT), source);
        match attempt {
            Some(note) => write_note(&self.attempt, note).map_err(failed),
            None => self.attempt.set_len(0).map_err(failed),
        }
    }

    /// Makes what was noted of a commit under way durable.
    pub fn sync_attempt(&self) -> Result<(), StorageError> {
        (self.attempt.sync_data())
            .map_err(|source| io_fault("write", &self.shown.join(ATTEMPT), source))
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
        let file = fs::openat(&*self.scratch, &name, flags, Mode::from_raw_mode(0o644))
            .map_err(|errno| fault("create", &shown, errno))?;
        Ok(SpoolFile {
            directory: self.scratch.clone(),
            file: Some(Arc::new(File::from(file))),
            name,
            shown: shown.display().to_string(),
        })
    }

    /// A copy of `file` that nobody else knows, as it is now. Without `sharing`, it has blocks of its
    /// own: those of a file that could not be fsynced do not have its content.
    pub fn copy_to_scratch(&self, file: &File, sharing: bool) -> Result<SpoolFile, StorageError> {
        let copy = self.create_scratch()?;
        let to = copy.open()?;
        let copied = match sharing {
            true => publish::copy_content(file, &to),
            false => publish::copy_by_hand(file, &to),
        };
        copied
            .map_err(|errno| fault("write", &self.shown.join(SCRATCH).join(&copy.name), errno))?;
        Ok(copy)
    }

    /// Removes what interrupted commits have left in the scratch directory.
    pub fn clear_scratch(&self) -> Result<(), StorageError> {
        let failed = |errno| fault("clear", &self.shown.join(SCRATCH), errno);
        for entry in fs::Dir::read_from(&*self.scratch).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            if matches!(entry.file_name().to_bytes(), b"." | b"..") {
                continue;
            }
            match fs::unlinkat(&*self.scratch, entry.file_name(), AtFlags::empty()) {
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
    directory: Arc<OwnedFd>,
    /// `None` once it is closed.
    file: Option<Arc<File>>,
    name: String,
    shown: String,
}

impl SpoolFile {
    /// The file, open for reading and writing.
    pub fn open(&self) -> Result<Arc<File>, StorageError> {
        if let Some(file) = &self.file {
            return Ok(file.clone());
        }
        let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = fs::openat(&*self.directory, &self.name, flags, Mode::empty());
        let file = file.map_err(|errno| fault("open", self.shown.as_ref(), errno))?;
        Ok(Arc::new(File::from(file)))
    }

    /// Makes what was written durable, and closes the file: what could not be written is told now,
    /// since nobody may remember it until it is open again.
    pub fn close(&mut self) -> Result<(), StorageError> {
        match self.file.take() {
            None => Ok(()),
            Some(file) => {
                (file.sync_all()).map_err(|source| io_fault("fsync", self.shown.as_ref(), source))
            }
        }
    }

    fn written(&self) -> io::Result<&File> {
        let closed = || io::Error::other("it is closed");
        self.file.as_deref().ok_or_else(closed)
    }

    /// Its path, for messages.
    pub fn shown(&self) -> &str {
        &self.shown
    }
}

impl Write for SpoolFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.written()?.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.written()?.flush()
    }
}

impl Seek for SpoolFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.written()?.seek(to)
    }
}

impl Drop for SpoolFile {
    fn drop(&mut self) {
        // What stays is cleared when the transaction commits again, or is removed.
        let _ = fs::unlinkat(&*self.directory, &self.name, AtFlags::empty());
    }
}

pub(super) fn read_all(file: &File, limit: u64) -> io::Result<Vec<u8>> {
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
