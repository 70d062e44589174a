//! What the user has left in a transaction.

use std::os::fd::OwnedFd;

use rustix::fs::{self, AtFlags, FileType};
use rustix::io::Errno;

use super::super::super::StorageError;
use super::{FILES, SpoolDirectory, fault, subdirectory};

/// How deep directories may lie in each other.
const DEPTH_MAX: usize = 64;

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link, a device, a pipe or a socket.
    Other,
    /// Anything whose name is no UTF-8; its path tells as much of it as can be told.
    Misnamed,
    /// A directory deeper than any that is looked into.
    TooDeep,
}

/// An entry below the directory of the user's files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WalkedEntry {
    /// Its path below that directory.
    pub path: String,
    /// What it is.
    pub kind: EntryKind,
    /// Its size, bytes.
    pub size: u64,
    /// Its inode number on the disk.
    pub inode: u64,
    /// When its content was changed last, nanoseconds since the epoch.
    pub modified_ns: i128,
}

impl WalkedEntry {
    /// Whether `file`, open since, is the one that was seen.
    pub fn is_same(&self, file: &std::fs::File) -> std::io::Result<bool> {
        Ok(fs::fstat(file)?.st_ino == self.inode)
    }

    /// Whether `file`, open since, has the size and the time that the entry was seen with.
    pub fn is_still(&self, file: &std::fs::File) -> std::io::Result<bool> {
        let stat = fs::fstat(file)?;
        Ok(stat.st_size.unsigned_abs() == self.size
            && stat.st_ino == self.inode
            && modified_ns(&stat) == self.modified_ns)
    }
}

fn modified_ns(stat: &fs::Stat) -> i128 {
    i128::from(stat.st_mtime) * 1_000_000_000 + i128::from(stat.st_mtime_nsec)
}

fn inodes_below(directory: &OwnedFd, found: &mut Vec<u64>, depth: usize) -> rustix::io::Result<()> {
    if depth > DEPTH_MAX {
        return Ok(());
    }
    for entry in fs::Dir::read_from(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        found.push(entry.ino());
        match subdirectory(directory, name) {
            Ok(inner) => inodes_below(&inner, found, depth + 1)?,
            // No directory, or gone, or one that nothing can be committed from.
            Err(Errno::NOTDIR | Errno::LOOP | Errno::NOENT | Errno::ACCESS) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

impl SpoolDirectory {
    /// All entries below the user's directory for which `enter` says yes, sorted by path; what is
    /// below a directory for which it says no is left out, and so is what is below one that is
    /// [`EntryKind::Misnamed`] or [`EntryKind::TooDeep`].
    pub fn walk(
        &self,
        enter: &dyn Fn(&str, EntryKind) -> bool,
    ) -> Result<Vec<WalkedEntry>, StorageError> {
        let mut found = Vec::new();
        self.walk_below(&self.files, "", enter, &mut found, 0)?;
        found.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(found)
    }

    /// The inode numbers of all that is below the user's directory, whatever its names are, as deep as
    /// files can be committed from.
    pub fn inodes(&self) -> Result<Vec<u64>, StorageError> {
        let mut found = Vec::new();
        inodes_below(&self.files, &mut found, 0)
            .map_err(|errno| fault("list", &self.shown.join(FILES), errno))?;
        Ok(found)
    }

    fn walk_below(
        &self,
        directory: &OwnedFd,
        path: &str,
        enter: &dyn Fn(&str, EntryKind) -> bool,
        found: &mut Vec<WalkedEntry>,
        depth: usize,
    ) -> Result<(), StorageError> {
        let failed = |errno| fault("list", &self.shown.join(FILES).join(path), errno);
        for entry in fs::Dir::read_from(directory).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            let text = name.to_string_lossy();
            let below = match path {
                "" => text.to_string(),
                _ => format!("{path}/{text}"),
            };
            let stat = match fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
                Err(Errno::NOENT) => continue,
                stat => stat.map_err(failed)?,
            };
            let kind = match FileType::from_raw_mode(stat.st_mode) {
                _ if name.to_str().is_err() => EntryKind::Misnamed,
                FileType::RegularFile => EntryKind::File,
                FileType::Directory if depth >= DEPTH_MAX => EntryKind::TooDeep,
                FileType::Directory => EntryKind::Directory,
                _ => EntryKind::Other,
            };
            if !enter(&below, kind) {
                continue;
            }
            if kind == EntryKind::Directory {
                let inner = subdirectory(directory, name).map_err(failed)?;
                self.walk_below(&inner, &below, enter, found, depth + 1)?;
            }
            found.push(WalkedEntry {
                path: below,
                kind,
                size: stat.st_size.unsigned_abs(),
                inode: stat.st_ino,
                modified_ns: modified_ns(&stat),
            });
        }
        Ok(())
    }
}
