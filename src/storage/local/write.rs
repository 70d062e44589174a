//! Writing files whole, durably, and atomically.

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{self, AtFlags, Mode, OFlags, RenameFlags};
use rustix::io::{Errno, Result};
use uuid::Uuid;

use super::super::PutOutcome;
use super::beneath::Root;

/// The longest name a file can have, in bytes, on the file systems of Linux.
const NAME_MAX: usize = 255;

/// Why a file could not be created.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum CreateError {
    /// A system call failed.
    System(Errno),
    /// The file system has no way to create a whole file only where none is.
    NotAtomic {
        /// What linkat said.
        link: Errno,
        /// What renameat2 said.
        rename: Errno,
    },
}

impl From<Errno> for CreateError {
    fn from(errno: Errno) -> CreateError {
        CreateError::System(errno)
    }
}

/// Writes a file, replacing what has its name; a crash leaves the old or the new one.
pub(super) fn replace(root: &Root, path: &str, content: &[u8]) -> Result<()> {
    let (dir, name) = parent_made(root, path)?;
    replace_in(&dir, name, content)
}

/// [`replace`] of a name directly in an open directory.
pub(super) fn replace_in(dir: &OwnedFd, name: &str, content: &[u8]) -> Result<()> {
    let mut temporary = Temporary::write(dir, name, content)?;
    fs::renameat(dir, &temporary.name, dir, name)?;
    temporary.gone = true;
    sync_dir(dir)
}

/// Writes a file unless something has its name.
pub(super) fn create(
    root: &Root,
    path: &str,
    content: &[u8],
) -> std::result::Result<PutOutcome, CreateError> {
    let (dir, name) = parent_made(root, path)?;
    // Spares a loser the writing; the answer that counts is linkat's.
    if fs::statat(&dir, name, AtFlags::SYMLINK_NOFOLLOW).is_ok() {
        return Ok(PutOutcome::AlreadyExists);
    }
    let mut temporary = Temporary::write(&dir, name, content)?;
    let outcome = match temporary.link_to(name) {
        Ok(outcome) => outcome,
        Err(link @ (Errno::PERM | Errno::OPNOTSUPP | Errno::NOSYS | Errno::MLINK)) => {
            match temporary.rename_to(name) {
                Err(rename @ (Errno::INVAL | Errno::OPNOTSUPP | Errno::NOSYS)) => {
                    return Err(CreateError::NotAtomic { link, rename });
                }
                renamed => renamed?,
            }
        }
        Err(errno) => return Err(errno.into()),
    };
    drop(temporary);
    if outcome == PutOutcome::Created {
        sync_dir(&dir)?;
    }
    Ok(outcome)
}

/// Makes the entries of a directory durable.
pub(super) fn sync(root: &Root, dir: &str) -> Result<()> {
    sync_dir(root.open_beneath(dir, OFlags::RDONLY | OFlags::DIRECTORY)?)
}

/// Removes a file, or a symlink itself.
pub(super) fn remove(root: &Root, path: &str) -> Result<()> {
    let (parent, name) = split(path);
    let dir = root.open_beneath(parent, OFlags::PATH | OFlags::DIRECTORY)?;
    fs::unlinkat(dir, name, AtFlags::empty())
}

/// A file under a name of its own, whole and fsynced, which is removed on drop unless it is gone.
#[derive(Debug)]
struct Temporary<'a> {
    dir: &'a OwnedFd,
    name: String,
    gone: bool,
}

impl<'a> Temporary<'a> {
    fn write(dir: &'a OwnedFd, target: &str, content: &[u8]) -> Result<Temporary<'a>> {
        let name = temporary_name(target);
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = fs::openat(dir, &name, flags, Mode::from_raw_mode(0o666))?;
        let temporary = Temporary {
            dir,
            name,
            gone: false,
        };
        let mut rest = content;
        while !rest.is_empty() {
            match rustix::io::write(&file, rest) {
                Ok(0) => return Err(Errno::IO),
                Ok(count) => rest = &rest[count..],
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno),
            }
        }
        fs::fsync(&file)?;
        Ok(temporary)
    }

    /// Gives the file a second name unless that is taken.
    fn link_to(&self, name: &str) -> Result<PutOutcome> {
        let linked = fs::linkat(self.dir, &self.name, self.dir, name, AtFlags::empty());
        match linked {
            Ok(()) => Ok(PutOutcome::Created),
            // On NFS a repeated request whose first answer was lost fails although it was done.
            Err(_) if self.is_linked_as(name) => Ok(PutOutcome::Created),
            Err(Errno::EXIST) => Ok(PutOutcome::AlreadyExists),
            Err(errno) => Err(errno),
        }
    }

    fn is_linked_as(&self, name: &str) -> bool {
        let stat = |name: &str| fs::statat(self.dir, name, AtFlags::SYMLINK_NOFOLLOW);
        match (stat(&self.name), stat(name)) {
            (Ok(own), Ok(other)) => own.st_dev == other.st_dev && own.st_ino == other.st_ino,
            _ => false,
        }
    }

    /// Moves the file to another name unless that is taken.
    fn rename_to(&mut self, name: &str) -> Result<PutOutcome> {
        let flags = RenameFlags::NOREPLACE;
        match fs::renameat_with(self.dir, &self.name, self.dir, name, flags) {
            Ok(()) => {
                self.gone = true;
                Ok(PutOutcome::Created)
            }
            Err(Errno::EXIST) => Ok(PutOutcome::AlreadyExists),
            Err(errno) => Err(errno),
        }
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if !self.gone {
            // A file that stays is litter that readers of the directory ignore.
            let _ = fs::unlinkat(self.dir, &self.name, AtFlags::empty());
        }
    }
}

/// `.TARGET.UUID.tmp`, the target cut so that the whole is a name that a file can have.
fn temporary_name(target: &str) -> String {
    let uuid = Uuid::new_v4();
    let room = NAME_MAX - format!("..{uuid}.tmp").len();
    let target = &target[..target.floor_char_boundary(room)];
    format!(".{target}.{uuid}.tmp")
}

/// A path's directory (`""` for the root) and last name.
pub(super) fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

/// The open directory of `path`, made where it is missing, and the last name.
fn parent_made<'a>(root: &Root, path: &'a str) -> Result<(OwnedFd, &'a str)> {
    let (parent, name) = split(path);
    Ok((dir_made(root, parent)?, name))
}

/// Opens a directory, after making it and those above it durably where they are missing.
pub(super) fn dir_made(root: &Root, dir: &str) -> Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY;
    match root.open_beneath(dir, flags) {
        Err(Errno::NOENT) if !dir.is_empty() => {}
        opened => return opened,
    }
    let (parent, name) = split(dir);
    let above = dir_made(root, parent)?;
    match fs::mkdirat(&above, name, Mode::from_raw_mode(0o777)) {
        // A racing caller made it, and may not have made it durable yet.
        Ok(()) | Err(Errno::EXIST) => sync_dir(&above)?,
        Err(errno) => return Err(errno),
    }
    root.open_beneath(dir, flags)
}

pub(super) fn sync_dir(dir: impl AsFd) -> Result<()> {
    match fs::fsync(dir) {
        // A file system without the notion: entries are durable as they are made.
        Err(Errno::INVAL) => Ok(()),
        done => done,
    }
}

#[cfg(test)]
mod tests;
