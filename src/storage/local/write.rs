//! Writing files whole, durably, and atomically.

mod leftovers;
mod temporary;

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{self, AtFlags, Mode, OFlags, StatxFlags};
use rustix::io::{Errno, Result};

use self::temporary::Temporary;
use super::super::PutOutcome;
use super::beneath::Root;
use crate::base::clock::{TimestampMs, now_ms};

pub(super) use leftovers::remove_leftovers;
pub(super) use temporary::temporary_name;

/// After this time, milliseconds, every file system has written by itself what nobody has fsynced: 5 to
/// 30 seconds are usual.
const WRITTEN_BY_ITSELF: TimestampMs = 2 * 60 * 1000;

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
    if let Some(unnamed) = Temporary::unnamed(dir, content)? {
        match unnamed.link_to(name) {
            Ok(PutOutcome::Created) => {
                unnamed.settle()?;
                return sync_dir(dir);
            }
            // For an instant it has a name of its own.
            Ok(PutOutcome::AlreadyExists) => {
                unnamed.replace(name)?;
                return sync_dir(dir);
            }
            Err(errno) if cannot_link(errno) => {}
            Err(errno) => return Err(errno),
        }
    }
    Temporary::named(dir, name, content)?.replace(name)?;
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
    let outcome = match create_unnamed(&dir, name, content) {
        Ok(Some(outcome)) => outcome,
        Err(errno) if !cannot_link(errno) => return Err(errno.into()),
        Ok(None) | Err(_) => create_by_name(&dir, name, content)?,
    };
    if outcome == PutOutcome::Created {
        sync_dir(&dir)?;
    }
    Ok(outcome)
}

/// [`create`], without what makes the name durable; `None` where a file has to have a name from the
/// first.
fn create_unnamed(dir: &OwnedFd, name: &str, content: &[u8]) -> Result<Option<PutOutcome>> {
    let Some(unnamed) = Temporary::unnamed(dir, content)? else {
        return Ok(None);
    };
    let outcome = unnamed.link_to(name)?;
    if outcome == PutOutcome::Created {
        unnamed.settle()?;
    }
    Ok(Some(outcome))
}

/// [`create`], without what makes the name durable, where a file has to have a name from the first.
fn create_by_name(
    dir: &OwnedFd,
    name: &str,
    content: &[u8],
) -> std::result::Result<PutOutcome, CreateError> {
    let mut temporary = Temporary::named(dir, name, content)?;
    match temporary.link_to(name) {
        Err(link) if cannot_link(link) => match temporary.rename_to(name) {
            Err(rename @ (Errno::INVAL | Errno::OPNOTSUPP | Errno::NOSYS)) => {
                Err(CreateError::NotAtomic { link, rename })
            }
            renamed => Ok(renamed?),
        },
        linked => Ok(linked?),
    }
}

/// Whether what linkat said is that it cannot be done here: by the file system, or, of a file
/// without a name, because there is no `/proc`.
fn cannot_link(errno: Errno) -> bool {
    matches!(
        errno,
        Errno::PERM | Errno::OPNOTSUPP | Errno::NOSYS | Errno::MLINK | Errno::NOENT | Errno::XDEV
    )
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

/// Removes an empty directory.
pub(super) fn remove_directory(root: &Root, path: &str) -> Result<()> {
    let (parent, name) = split(path);
    let dir = root.open_beneath(parent, OFlags::PATH | OFlags::DIRECTORY)?;
    fs::unlinkat(dir, name, AtFlags::REMOVEDIR)
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
        Ok(opened) => {
            settle(root, dir, &opened)?;
            return Ok(opened);
        }
        Err(errno) => return Err(errno),
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

/// Makes the name of a directory durable that somebody else has made lately, and may not have made
/// durable: most writers never do.
fn settle(root: &Root, dir: &str, opened: &OwnedFd) -> Result<()> {
    if dir.is_empty() || !is_new(opened)? {
        return Ok(());
    }
    let stat = fs::fstat(opened)?;
    if root.is_settled(&stat) {
        return Ok(());
    }
    let (parent, _) = split(dir);
    let above = root.open_beneath(parent, OFlags::RDONLY | OFlags::DIRECTORY)?;
    sync_dir(&above)?;
    settle(root, parent, &above)?;
    root.note_settled(&stat);
    Ok(())
}

/// Whether a directory was made lately, or that cannot be told.
fn is_new(dir: &OwnedFd) -> Result<bool> {
    let found = match fs::statx(dir, c"", AtFlags::EMPTY_PATH, StatxFlags::BTIME) {
        Err(Errno::NOSYS) => return Ok(true),
        found => found?,
    };
    let made = found.stx_btime.tv_sec.saturating_mul(1000);
    let has_time = found.stx_mask & StatxFlags::BTIME.bits() != 0;
    Ok(!has_time || now_ms() < made.saturating_add(WRITTEN_BY_ITSELF))
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
