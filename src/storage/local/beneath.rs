//! Opening paths without ever leaving a directory.

use std::collections::HashSet;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use rustix::fs::{self, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::{Errno, Result};

/// How often an open is tried again that the kernel could not decide because of a concurrent
/// rename (`EAGAIN`), or that a signal interrupted.
const ATTEMPTS: usize = 16;

/// How many symlinks a path may lead through, and how long it may be: the kernel's own limits.
const LINKS_MAX: usize = 40;
const PATH_MAX: usize = 4096;

/// A directory below which paths are opened.
#[derive(Debug)]
pub(super) struct Root {
    fd: OwnedFd,
    /// Without symlinks, as of when it was opened.
    canonical: PathBuf,
    resolver: Resolver,
    /// New directories whose names are known to be durable, by device and inode number.
    settled: Mutex<HashSet<(u64, u64)>>,
}

/// Who keeps a path below the root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Resolver {
    /// The kernel: openat2 with `RESOLVE_BENEATH`.
    Kernel,
    /// One openat with `O_NOFOLLOW` a segment, with the same answers, where the kernel (before 5.6)
    /// or a seccomp filter has no openat2.
    Components,
}

impl Root {
    /// Opens a directory.
    pub(super) fn open(path: &Path) -> Result<Root> {
        let root = Root::open_by_components(path)?;
        let resolver = match open_kernel(root.fd(), ".", OFlags::PATH | OFlags::DIRECTORY) {
            // Seccomp filters of before openat2 answer EPERM.
            Err(Errno::NOSYS | Errno::PERM) => Resolver::Components,
            opened => opened.map(|_| Resolver::Kernel)?,
        };
        Ok(Root { resolver, ..root })
    }

    /// Opens a directory, below which openat2 is never used.
    pub(super) fn open_by_components(path: &Path) -> Result<Root> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = fs::openat(fs::CWD, path, flags, Mode::empty())?;
        Ok(Root {
            fd,
            canonical: canonicalize(path)?,
            resolver: Resolver::Components,
            settled: Mutex::default(),
        })
    }

    /// Whether [`Root::note_settled`] was told of a directory.
    pub(super) fn is_settled(&self, directory: &fs::Stat) -> bool {
        let id = (directory.st_dev, directory.st_ino);
        self.settled.lock().contains(&id)
    }

    /// Notes that the name of a directory is durable.
    pub(super) fn note_settled(&self, directory: &fs::Stat) {
        let id = (directory.st_dev, directory.st_ino);
        self.settled.lock().insert(id);
    }

    /// The directory itself, open with `O_PATH`.
    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Opens an existing `path`, which is plain (see `is_plain`) or `""`, the root itself.
    /// Symlinks are followed as long as they stay below the root; else `EXDEV` or `ELOOP`.
    pub(super) fn open_beneath(&self, path: &str, flags: OFlags) -> Result<OwnedFd> {
        let path = if path.is_empty() { "." } else { path };
        match self.open_once(path, flags) {
            // An absolute symlink, which may lead back below the root.
            Err(Errno::XDEV) => self.open_resolved(path, flags),
            opened => opened,
        }
    }

    fn open_once(&self, path: &str, flags: OFlags) -> Result<OwnedFd> {
        match self.resolver {
            Resolver::Kernel => open_kernel(self.fd(), path, flags),
            Resolver::Components => open_components(self.fd(), path, flags),
        }
    }

    /// Opens what the symlinks in `path` lead to. Whatever changes between resolving and
    /// opening, the opening itself stays below the root.
    fn open_resolved(&self, path: &str, flags: OFlags) -> Result<OwnedFd> {
        let real = canonicalize(&self.canonical.join(path)).ok();
        let beneath = real
            .as_deref()
            .and_then(|real| real.strip_prefix(&self.canonical).ok()?.to_str());
        match beneath {
            Some("") => self.open_once(".", flags),
            Some(beneath) => self.open_once(beneath, flags),
            None => Err(Errno::XDEV),
        }
    }
}

fn open_kernel(root: BorrowedFd<'_>, path: &str, flags: OFlags) -> Result<OwnedFd> {
    let flags = flags | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    let mut attempt = 1;
    loop {
        match fs::openat2(root, path, flags, Mode::empty(), resolve) {
            Err(Errno::AGAIN | Errno::INTR) if attempt < ATTEMPTS => attempt += 1,
            opened => return opened,
        }
    }
}

fn open_components(root: BorrowedFd<'_>, path: &str, flags: OFlags) -> Result<OwnedFd> {
    if path.len() >= PATH_MAX {
        return Err(Errno::NAMETOOLONG);
    }
    // The directories entered below the root, and the segments still to take, the next one last.
    let mut entered: Vec<OwnedFd> = Vec::new();
    let mut rest: Vec<Vec<u8>> = reversed(path.as_bytes());
    let mut links = 0;
    while let Some(segment) = rest.pop() {
        let at = entered.last().map_or(root, |fd| fd.as_fd());
        match segment.as_slice() {
            b"" | b"." => {}
            b".." => {
                entered.pop().ok_or(Errno::XDEV)?;
            }
            name => {
                let step = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let fd = fs::openat(at, name, step, Mode::empty())?;
                match FileType::from_raw_mode(fs::fstat(&fd)?.st_mode) {
                    FileType::Directory => entered.push(fd),
                    FileType::Symlink if links == LINKS_MAX => return Err(Errno::LOOP),
                    FileType::Symlink => {
                        links += 1;
                        let target = fs::readlinkat(&fd, c"", Vec::new())?.into_bytes();
                        if target.starts_with(b"/") {
                            return Err(Errno::XDEV);
                        }
                        rest.extend(reversed(&target));
                    }
                    _ if !rest.is_empty() || flags.contains(OFlags::DIRECTORY) => {
                        return Err(Errno::NOTDIR);
                    }
                    _ if flags.contains(OFlags::PATH) => return Ok(fd),
                    // It opens as what it was just seen to be, or not at all.
                    _ => {
                        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                        return fs::openat(at, name, flags, Mode::empty());
                    }
                }
            }
        }
    }
    let at = entered.last().map_or(root, |fd| fd.as_fd());
    fs::openat(at, c".", flags | OFlags::CLOEXEC, Mode::empty())
}

fn reversed(path: &[u8]) -> Vec<Vec<u8>> {
    path.rsplit(|byte| *byte == b'/')
        .map(<[u8]>::to_vec)
        .collect()
}

/// `path` without symlinks: a name, that opening beneath the root has still to confirm.
#[allow(clippy::disallowed_methods)]
fn canonicalize(path: &Path) -> Result<PathBuf> {
    std::fs::canonicalize(path).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
}
