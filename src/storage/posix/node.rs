//! A file or directory that is held, whatever its name is.

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::fs::{self, AtFlags, CWD, FileType, Gid, Mode, OFlags, Timespec, Timestamps, Uid};
use rustix::fs::{UTIME_NOW, UTIME_OMIT};
use rustix::io::Errno;

use super::error::failed;
use super::{Owner, PosixError};

/// What kind of node it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link, device, named pipe or socket.
    Other,
}

impl Kind {
    pub(super) fn of(kind: FileType) -> Kind {
        match kind {
            FileType::RegularFile => Kind::File,
            FileType::Directory => Kind::Directory,
            _ => Kind::Other,
        }
    }
}

/// A time: seconds since the epoch, and nanoseconds into the second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time {
    /// Seconds since the epoch, negative before it.
    pub seconds: i64,
    /// 0 to 999,999,999.
    pub nanoseconds: u32,
}

/// What is to become of a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeChange {
    /// It stays.
    Keep,
    /// It becomes what the clock of the file system says.
    Now,
    /// It becomes this.
    To(Time),
}

/// What `stat` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    /// Device number.
    pub device: u64,
    /// Inode number on it.
    pub inode: u64,
    /// The kind of node.
    pub kind: Kind,
    /// Permission bits, with set-uid, set-gid and sticky.
    pub permissions: u16,
    /// Hard link count.
    pub links: u32,
    /// Owner and group.
    pub owner: Owner,
    /// Size in bytes.
    pub size: u64,
    /// Space taken, in units of 512 bytes.
    pub blocks: u64,
    /// The size in which to do I/O, in bytes.
    pub block_size: u32,
    /// Last access.
    pub accessed: Time,
    /// Last change of the content.
    pub modified: Time,
    /// Last change of the content or an attribute.
    pub changed: Time,
}

impl From<fs::Stat> for Stat {
    // The widths of these fields depend on the architecture.
    #[allow(clippy::useless_conversion, clippy::unnecessary_cast)]
    fn from(stat: fs::Stat) -> Stat {
        let time = |seconds, nanoseconds| Time {
            seconds,
            nanoseconds: nanoseconds as u32,
        };
        Stat {
            device: stat.st_dev,
            inode: stat.st_ino,
            kind: Kind::of(FileType::from_raw_mode(stat.st_mode)),
            permissions: (stat.st_mode & 0o7777) as u16,
            links: u32::try_from(stat.st_nlink).unwrap_or(u32::MAX),
            owner: Owner {
                uid: stat.st_uid,
                gid: stat.st_gid,
            },
            size: stat.st_size as u64,
            blocks: stat.st_blocks as u64,
            block_size: u32::try_from(stat.st_blksize).unwrap_or(4096),
            accessed: time(stat.st_atime as i64, stat.st_atime_nsec),
            modified: time(stat.st_mtime as i64, stat.st_mtime_nsec),
            changed: time(stat.st_ctime as i64, stat.st_ctime_nsec),
        }
    }
}

/// What an open file may be used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Reading.
    Read,
    /// Writing.
    Write,
    /// Both.
    ReadWrite,
}

impl Access {
    pub(super) fn flags(self) -> OFlags {
        match self {
            Access::Read => OFlags::RDONLY,
            Access::Write => OFlags::WRONLY,
            Access::ReadWrite => OFlags::RDWR,
        }
    }

    /// Whether the file may be written to.
    pub fn writes(self) -> bool {
        self != Access::Read
    }
}

/// A file or directory, held by an `O_PATH` descriptor.
#[derive(Debug)]
pub struct Node {
    fd: OwnedFd,
}

impl Node {
    pub(super) fn new(fd: OwnedFd) -> Node {
        Node { fd }
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// A path that leads to the node, for calls that take no `O_PATH` descriptor.
    pub(super) fn magic_link(&self) -> String {
        format!("/proc/self/fd/{}", self.fd.as_raw_fd())
    }

    /// Its attributes.
    pub fn stat(&self) -> Result<Stat, PosixError> {
        Ok(fs::fstat(&self.fd).map_err(failed("stat"))?.into())
    }

    /// Opens the file. A node of another kind than a regular file is EISDIR or EINVAL: opening a
    /// named pipe would wait.
    pub fn open(&self, access: Access) -> Result<File, PosixError> {
        let failed = failed("open");
        let stat = fs::fstat(&self.fd).map_err(&failed)?;
        match Kind::of(FileType::from_raw_mode(stat.st_mode)) {
            Kind::File => {}
            Kind::Directory => return Err(failed(Errno::ISDIR)),
            Kind::Other => return Err(failed(Errno::INVAL)),
        }
        let flags = access.flags() | OFlags::CLOEXEC | OFlags::NOCTTY;
        let fd = fs::open(self.magic_link(), flags, Mode::empty()).map_err(&failed)?;
        Ok(File::from(fd))
    }

    /// Sets the permission bits. A file gets no set-uid and set-gid.
    pub fn set_permissions(&self, permissions: u16) -> Result<(), PosixError> {
        let failed = failed("chmod");
        let stat = fs::fstat(&self.fd).map_err(&failed)?;
        let kind = Kind::of(FileType::from_raw_mode(stat.st_mode));
        let mode = Mode::from_raw_mode(effective(kind, permissions).into());
        fs::chmodat(CWD, self.magic_link(), mode, AtFlags::empty()).map_err(&failed)
    }

    /// Gives the node to another user or group; `None` leaves it.
    pub fn set_owner(&self, uid: Option<u32>, gid: Option<u32>) -> Result<(), PosixError> {
        let failed = failed("chown");
        // The highest number stands for "leave it" in the system call itself.
        if uid == Some(u32::MAX) || gid == Some(u32::MAX) {
            return Err(failed(Errno::INVAL));
        }
        let (uid, gid) = (uid.map(Uid::from_raw), gid.map(Gid::from_raw));
        fs::chownat(&self.fd, c"", uid, gid, AtFlags::EMPTY_PATH).map_err(failed)
    }

    /// Sets the times of last access and last modification.
    pub fn set_times(&self, accessed: TimeChange, modified: TimeChange) -> Result<(), PosixError> {
        let spec = |change| match change {
            TimeChange::Keep => Timespec {
                tv_sec: 0,
                tv_nsec: UTIME_OMIT,
            },
            TimeChange::Now => Timespec {
                tv_sec: 0,
                tv_nsec: UTIME_NOW,
            },
            TimeChange::To(time) => Timespec {
                tv_sec: time.seconds,
                tv_nsec: time.nanoseconds.into(),
            },
        };
        let times = Timestamps {
            last_access: spec(accessed),
            last_modification: spec(modified),
        };
        fs::utimensat(CWD, self.magic_link(), &times, AtFlags::empty()).map_err(failed("utimens"))
    }

    /// Sets the size of the file, which need not be open.
    pub fn set_size(&self, size: u64) -> Result<(), PosixError> {
        super::set_size(&self.open(Access::Write)?, size)
    }
}

/// The permission bits that a node of some kind can have: what lies here may end up in a table,
/// where a file that runs as its owner has no place.
pub(super) fn effective(kind: Kind, permissions: u16) -> u16 {
    match kind {
        Kind::Directory => permissions & 0o7777,
        Kind::File | Kind::Other => permissions & 0o1777,
    }
}
