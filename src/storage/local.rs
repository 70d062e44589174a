//! A local directory as a [`Store`].
//!
//! Native rather than `object_store::local::LocalFileSystem`, which follows symlinks out of its
//! root, percent-encodes names on disk and has no file descriptor to hand to kernel passthrough.

mod beneath;
mod listing;
mod read;
pub(super) mod spool;
mod write;

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use rustix::fs::{self, FileType, OFlags};
use rustix::io::Errno;

use super::location::is_plain;
use super::{Capacity, ObjectMeta, ObjectReader, PutOutcome, StorageError, Store};
use crate::base::parallel;
use beneath::Root;

/// How many paths [`LocalStore::each`] wants before it starts threads: below, starting them costs
/// about as much as the system calls they share.
const PARALLEL_FROM: usize = 256;

/// The most threads [`LocalStore::each`] starts. More than cores, because on network file systems
/// each call waits.
const PARALLEL_THREADS: usize = 8;

/// A directory, held open: it stays this directory when its name moves.
#[derive(Debug)]
pub(super) struct LocalStore {
    /// Absolute, without a trailing slash unless it is `/`.
    name: String,
    root: Root,
}

impl LocalStore {
    /// Opens `path` as a root. [`StorageError::NotFound`] unless it is a directory.
    pub(super) fn open(path: &Path) -> Result<LocalStore, StorageError> {
        LocalStore::open_with(path, Root::open)
    }

    /// As [`LocalStore::open`], and never with openat2.
    #[cfg(test)]
    pub(super) fn open_by_components(path: &Path) -> Result<LocalStore, StorageError> {
        LocalStore::open_with(path, Root::open_by_components)
    }

    fn open_with(
        path: &Path,
        open: fn(&Path) -> rustix::io::Result<Root>,
    ) -> Result<LocalStore, StorageError> {
        let shown = path.to_string_lossy().into_owned();
        let absolute = std::path::absolute(path).map_err(|source| StorageError::Io {
            operation: "resolve",
            location: shown,
            source,
        })?;
        let mut name = absolute.to_string_lossy().into_owned();
        while name.len() > 1 && name.ends_with('/') {
            name.pop();
        }
        match open(&absolute) {
            Ok(root) => Ok(LocalStore { name, root }),
            // There is no root yet that the path could lie outside of.
            Err(errno @ Errno::LOOP) => Err(StorageError::Io {
                operation: "open",
                location: name,
                source: errno.into(),
            }),
            Err(errno) => Err(error_of("open", name.clone(), &name, errno)),
        }
    }

    /// The full path of an object, for messages.
    fn location(&self, path: &str) -> String {
        match path {
            "" => self.name.clone(),
            _ => format!("{}/{path}", self.name.trim_end_matches('/')),
        }
    }

    fn error(&self, operation: &'static str, path: &str, errno: Errno) -> StorageError {
        error_of(operation, self.location(path), &self.name, errno)
    }

    fn outside(&self, path: &str) -> StorageError {
        StorageError::Outside {
            location: self.location(path),
            root: self.name.clone(),
        }
    }

    /// Refuses the path of an object that has an empty, `.` or `..` segment, or a NUL.
    fn check_object(&self, path: &str) -> Result<(), StorageError> {
        match is_plain(path) {
            true => Ok(()),
            false => Err(self.outside(path)),
        }
    }

    /// As [`LocalStore::check_object`] for a directory, which may be the root itself, `""`.
    fn check_dir(&self, path: &str) -> Result<(), StorageError> {
        match path {
            "" => Ok(()),
            _ => self.check_object(path),
        }
    }

    /// Refuses what is not a regular file.
    fn check_regular(
        &self,
        operation: &'static str,
        path: &str,
        stat: &fs::Stat,
    ) -> Result<(), StorageError> {
        let found = match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => return Ok(()),
            FileType::Directory => return Err(self.error(operation, path, Errno::NOENT)),
            FileType::Fifo => "a named pipe",
            FileType::Socket => "a socket",
            FileType::CharacterDevice | FileType::BlockDevice => "a device",
            FileType::Symlink => "a symbolic link",
            FileType::Unknown => "of an unknown kind",
        };
        Err(StorageError::Unsupported {
            location: self.location(path),
            operation,
            reason: format!("it is {found}, not a regular file; remove it from the table"),
        })
    }

    /// `call` for each path, in order of `paths`; by several threads when there are many.
    fn each<T: Send>(&self, paths: &[String], call: impl Fn(&str) -> T + Sync) -> Vec<T> {
        let threads = match paths.len() {
            ..PARALLEL_FROM => 1,
            _ => parallel::cores().saturating_mul(2).min(PARALLEL_THREADS),
        };
        parallel::map("storage", threads, paths, |path| call(path))
    }
}

impl Store for LocalStore {
    fn root(&self) -> &str {
        &self.name
    }

    fn list_names(&self, dir: &str, after: Option<&str>) -> Result<Vec<String>, StorageError> {
        self.check_dir(dir)?;
        listing::names(&self.root, dir, after).map_err(|errno| self.error("list", dir, errno))
    }

    fn list(&self, dir: &str, after: Option<&str>) -> Result<Vec<ObjectMeta>, StorageError> {
        self.check_dir(dir)?;
        listing::objects(&self.root, dir, after).map_err(|errno| self.error("list", dir, errno))
    }

    fn head(&self, path: &str) -> Result<ObjectMeta, StorageError> {
        self.check_object(path)?;
        let stat = self
            .root
            .open_beneath(path, OFlags::PATH)
            .and_then(fs::fstat)
            .map_err(|errno| self.error("stat", path, errno))?;
        self.check_regular("stat", path, &stat)?;
        Ok(read::meta(path.to_owned(), &stat))
    }

    fn head_many(&self, paths: &[String]) -> Vec<Result<ObjectMeta, StorageError>> {
        self.each(paths, |path| self.head(path))
    }

    fn get(&self, path: &str) -> Result<Bytes, StorageError> {
        self.get_range(path, 0..u64::MAX)
    }

    fn get_many(&self, paths: &[String]) -> Vec<Result<Bytes, StorageError>> {
        self.each(paths, |path| self.get(path))
    }

    fn get_range(&self, path: &str, range: Range<u64>) -> Result<Bytes, StorageError> {
        let (file, stat) = self.open_file(path)?;
        let end = range.end.min(read::size(&stat));
        read::range(&file, range.start..end)
            .map(Bytes::from)
            .map_err(|errno| self.error("read", path, errno))
    }

    fn open(&self, path: &str) -> Result<Box<dyn ObjectReader>, StorageError> {
        let (file, stat) = self.open_file(path)?;
        Ok(Box::new(read::LocalReader::new(
            file,
            read::meta(path.to_owned(), &stat),
            self.location(path),
        )))
    }

    fn put(&self, path: &str, content: Bytes) -> Result<(), StorageError> {
        self.check_object(path)?;
        write::replace(&self.root, path, &content).map_err(|errno| self.error("write", path, errno))
    }

    fn put_if_absent(&self, path: &str, content: Bytes) -> Result<PutOutcome, StorageError> {
        self.check_object(path)?;
        match write::create(&self.root, path, &content) {
            Ok(outcome) => Ok(outcome),
            Err(write::CreateError::System(errno)) => Err(self.error("create", path, errno)),
            Err(write::CreateError::NotAtomic { link, rename }) => Err(StorageError::Unsupported {
                location: self.location(path),
                operation: "creating a file only where none is",
                reason: format!(
                    "the file system knows neither hard links ({link}) nor rename without \
                     replacing ({rename}); commit to a table on a file system that does"
                ),
            }),
        }
    }

    fn sync_dir(&self, dir: &str) -> Result<(), StorageError> {
        self.check_dir(dir)?;
        write::sync(&self.root, dir).map_err(|errno| self.error("sync", dir, errno))
    }

    fn delete(&self, path: &str) -> Result<(), StorageError> {
        self.check_object(path)?;
        match write::remove(&self.root, path) {
            // A directory is no object.
            Err(Errno::ISDIR) => Err(self.error("delete", path, Errno::NOENT)),
            done => done.map_err(|errno| self.error("delete", path, errno)),
        }
    }

    fn capacity(&self) -> Option<Capacity> {
        Some(Capacity::of(&fs::fstatvfs(self.root.fd()).ok()?))
    }

    fn nameless(&self) -> std::io::Result<std::fs::File> {
        let flags = OFlags::TMPFILE | OFlags::EXCL | OFlags::RDWR | OFlags::CLOEXEC;
        let mode = fs::Mode::from_raw_mode(0o600);
        Ok(fs::openat(self.root.fd(), ".", flags, mode)?.into())
    }

    fn successor(&self) -> Result<Option<Arc<dyn Store>>, StorageError> {
        let Ok(now) = fs::stat(&*self.name) else {
            return Ok(None);
        };
        let held = fs::fstat(self.root.fd()).map_err(|errno| self.error("stat", "", errno))?;
        if (now.st_dev, now.st_ino) == (held.st_dev, held.st_ino) {
            return Ok(None);
        }
        Ok(Some(Arc::new(LocalStore::open(Path::new(&self.name))?)))
    }

    fn is_local(&self) -> bool {
        true
    }
}

impl LocalStore {
    /// Opens a regular file for reading. `O_NONBLOCK`: opening a named pipe returns at once, to
    /// be refused.
    fn open_file(&self, path: &str) -> Result<(std::fs::File, fs::Stat), StorageError> {
        self.check_object(path)?;
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        let fd = match self.root.open_beneath(path, flags) {
            // What the system says of a socket or of a device without a driver.
            Err(Errno::NXIO | Errno::NODEV) => {
                return Err(StorageError::Unsupported {
                    location: self.location(path),
                    operation: "read",
                    reason: "it is a socket or a device, not a regular file; remove it from the \
                             table"
                        .to_owned(),
                });
            }
            opened => opened.map_err(|errno| self.error("open", path, errno))?,
        };
        let stat = fs::fstat(&fd).map_err(|errno| self.error("stat", path, errno))?;
        self.check_regular("read", path, &stat)?;
        Ok((std::fs::File::from(fd), stat))
    }
}

/// The error floor's word for an errno.
fn error_of(operation: &'static str, location: String, root: &str, errno: Errno) -> StorageError {
    match errno {
        Errno::NOENT | Errno::NOTDIR => StorageError::NotFound { location },
        Errno::LOOP | Errno::XDEV => StorageError::Outside {
            location,
            root: root.to_owned(),
        },
        Errno::ACCESS | Errno::PERM => StorageError::PermissionDenied {
            location,
            source: Box::new(std::io::Error::from(errno)),
        },
        Errno::NOSPC | Errno::DQUOT => StorageError::Full { location },
        _ => StorageError::Io {
            operation,
            location,
            source: errno.into(),
        },
    }
}
