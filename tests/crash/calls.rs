//! The system calls that touch files: what each does, and to which path.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// What a call does to the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It changes something.
    Change,
    /// It makes a change durable.
    Sync,
    /// It looks.
    Read,
}

/// Where a call's arguments tell the file.
#[derive(Debug, Clone, Copy)]
enum Place {
    /// An argument is a descriptor.
    Fd(usize),
    /// An argument is a directory's descriptor, and another a path from there.
    At(usize, usize),
    /// An argument is a path from the working directory.
    Path(usize),
}

/// A call of a thread that has been stopped before it.
#[derive(Debug, Clone)]
pub struct Call {
    /// Its name.
    pub name: &'static str,
    /// What it does.
    pub kind: Kind,
    /// The file it is about, as far as the name goes.
    pub path: PathBuf,
    /// Whether it makes a file without a name.
    pub is_unnamed: bool,
}

impl std::fmt::Display for Call {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}({})", self.name, self.path.display())
    }
}

/// Of `O_TMPFILE`, what is not `O_DIRECTORY`.
const UNNAMED: u64 = (libc::O_TMPFILE & !libc::O_DIRECTORY) as u64;

/// The calls among those that open which make a file, with a name or without, or cut one off.
const OPEN_CHANGES: u64 = (libc::O_CREAT | libc::O_TRUNC) as u64 | UNNAMED;

/// `FICLONE` and `FICLONERANGE`; other requests of ioctl change nothing that tests look at.
const CLONES: [u64; 2] = [0x4004_9409, 0x4020_940d];

impl Call {
    /// The call with this number and these arguments of the thread `tid`; `None` where it is about
    /// no file.
    pub fn of(tid: libc::pid_t, number: u64, arguments: &[u64; 6]) -> Option<Call> {
        let (name, kind, place) = known(number.try_into().ok()?)?;
        let memory = Memory::of(tid);
        let flags = match name {
            "openat" => arguments[2],
            "openat2" => memory.word(arguments[2])?,
            "open" => arguments[1],
            _ => 0,
        };
        let kind = match name {
            _ if flags & OPEN_CHANGES != 0 => Kind::Change,
            "ioctl" if !CLONES.contains(&arguments[1]) => return None,
            _ => kind,
        };
        let path = match place {
            Place::Fd(fd) => opened(tid, arguments[fd])?,
            Place::Path(path) => opened(tid, AT_FDCWD)?.join(memory.text(arguments[path])?),
            Place::At(fd, path) => match memory.text(arguments[path]).unwrap_or_default() {
                // What is open as the descriptor itself.
                empty if empty.is_empty() => opened(tid, arguments[fd])?,
                path if path.starts_with('/') => PathBuf::from(path),
                path => opened(tid, arguments[fd])?.join(path),
            },
        };
        Some(Call {
            name,
            kind,
            path,
            is_unnamed: flags & UNNAMED != 0,
        })
    }

    /// Whether it makes something durable, or changes something.
    pub fn is_step(&self) -> bool {
        matches!(self.kind, Kind::Change | Kind::Sync)
    }

    /// Whether it is about something below `root`, or `root` itself.
    pub fn is_below(&self, root: &Path) -> bool {
        self.path.starts_with(root)
    }
}

const AT_FDCWD: u64 = libc::AT_FDCWD as u64;

/// The path of an open file of a thread.
pub fn opened(tid: libc::pid_t, fd: u64) -> Option<PathBuf> {
    // A descriptor is a C int, whatever the upper half of the register holds.
    let link = match fd as i32 {
        libc::AT_FDCWD => format!("/proc/{tid}/cwd"),
        fd => format!("/proc/{tid}/fd/{fd}"),
    };
    fs::read_link(link).ok()
}

/// The memory of a stopped thread.
struct Memory(Option<File>);

impl Memory {
    fn of(tid: libc::pid_t) -> Memory {
        Memory(File::open(format!("/proc/{tid}/mem")).ok())
    }

    fn word(&self, at: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        self.0.as_ref()?.read_exact_at(&mut bytes, at).ok()?;
        Some(u64::from_ne_bytes(bytes))
    }

    fn text(&self, at: u64) -> Option<String> {
        if at == 0 {
            return None;
        }
        let mut bytes = vec![0; libc::PATH_MAX as usize];
        // Less than asked for where the mapping ends.
        let count = self.0.as_ref()?.read_at(&mut bytes, at).ok()?;
        let end = bytes[..count].iter().position(|byte| *byte == 0)?;
        bytes.truncate(end);
        String::from_utf8(bytes).ok()
    }
}

fn known(number: libc::c_long) -> Option<(&'static str, Kind, Place)> {
    use Kind::{Change, Read, Sync};
    use Place::{At, Fd, Path};
    Some(match number {
        libc::SYS_openat => ("openat", Read, At(0, 1)),
        libc::SYS_openat2 => ("openat2", Read, At(0, 1)),
        libc::SYS_write => ("write", Change, Fd(0)),
        libc::SYS_writev => ("writev", Change, Fd(0)),
        libc::SYS_pwrite64 => ("pwrite64", Change, Fd(0)),
        libc::SYS_pwritev => ("pwritev", Change, Fd(0)),
        libc::SYS_pwritev2 => ("pwritev2", Change, Fd(0)),
        libc::SYS_ftruncate => ("ftruncate", Change, Fd(0)),
        libc::SYS_fallocate => ("fallocate", Change, Fd(0)),
        libc::SYS_copy_file_range => ("copy_file_range", Change, Fd(2)),
        libc::SYS_sendfile => ("sendfile", Change, Fd(0)),
        libc::SYS_splice => ("splice", Change, Fd(2)),
        libc::SYS_ioctl => ("ioctl", Change, Fd(0)),
        libc::SYS_fchmod => ("fchmod", Change, Fd(0)),
        libc::SYS_fchmodat => ("fchmodat", Change, At(0, 1)),
        libc::SYS_fchown => ("fchown", Change, Fd(0)),
        libc::SYS_fchownat => ("fchownat", Change, At(0, 1)),
        libc::SYS_utimensat => ("utimensat", Change, At(0, 1)),
        libc::SYS_linkat => ("linkat", Change, At(2, 3)),
        libc::SYS_symlinkat => ("symlinkat", Change, At(1, 2)),
        libc::SYS_renameat => ("renameat", Change, At(2, 3)),
        libc::SYS_renameat2 => ("renameat2", Change, At(2, 3)),
        libc::SYS_unlinkat => ("unlinkat", Change, At(0, 1)),
        libc::SYS_mkdirat => ("mkdirat", Change, At(0, 1)),
        libc::SYS_fsync => ("fsync", Sync, Fd(0)),
        libc::SYS_fdatasync => ("fdatasync", Sync, Fd(0)),
        libc::SYS_syncfs => ("syncfs", Sync, Fd(0)),
        libc::SYS_read => ("read", Read, Fd(0)),
        libc::SYS_readv => ("readv", Read, Fd(0)),
        libc::SYS_pread64 => ("pread64", Read, Fd(0)),
        libc::SYS_getdents64 => ("getdents64", Read, Fd(0)),
        libc::SYS_fstat => ("fstat", Read, Fd(0)),
        libc::SYS_newfstatat => ("newfstatat", Read, At(0, 1)),
        libc::SYS_statx => ("statx", Read, At(0, 1)),
        libc::SYS_flock => ("flock", Read, Fd(0)),
        // Calls that newer machines do without.
        #[cfg(target_arch = "x86_64")]
        libc::SYS_open => ("open", Read, Path(0)),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_creat => ("creat", Change, Path(0)),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_rename => ("rename", Change, Path(1)),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_link => ("link", Change, Path(1)),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_unlink => ("unlink", Change, Path(0)),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_mkdir => ("mkdir", Change, Path(0)),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_rmdir => ("rmdir", Change, Path(0)),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_chmod => ("chmod", Change, Path(0)),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_truncate => ("truncate", Change, Path(0)),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_stat => ("stat", Read, Path(0)),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_lstat => ("lstat", Read, Path(0)),
        _ => return None,
    })
}
