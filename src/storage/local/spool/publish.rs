//! Giving files their names in the table.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{self, AtFlags, Mode, OFlags, Timespec, Timestamps};
use rustix::io::Errno;

use super::super::super::StorageError;
use super::super::beneath::Root;
use super::super::write::{self, sync_dir};
use super::fault;
use crate::base::clock::TimestampMs;

/// How often a file is given its name while others take the directory away that it is to lie in.
const TRIES: usize = 8;

/// How a file came by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HowPublished {
    /// It is the very file, under a second name.
    Linked,
    /// It is a copy.
    Copied,
}

/// How many directories are held open.
const HELD_MAX: usize = 256;

/// Puts data files into a table directory. What it has made is durable once
/// [`Publisher::make_durable`] has returned.
#[derive(Debug)]
pub struct Publisher {
    root: Root,
    shown: PathBuf,
    /// The owner of the table directory, who is to own what is put there.
    owner: (u32, u32),
    /// The permission bits of what is put there.
    mode: u32,
    /// Directories with new names, by their paths; open, as long as these are not too many.
    touched: parking_lot::Mutex<BTreeMap<String, Option<OwnedFd>>>,
}

impl Publisher {
    /// Into the directory `table`. Files get the permission bits `mode`.
    pub fn open(table: &Path, mode: u32) -> Result<Publisher, StorageError> {
        let failed = |errno| fault("open", table, errno);
        let root = Root::open(table).map_err(failed)?;
        let stat = fs::fstat(root.fd()).map_err(failed)?;
        Ok(Publisher {
            root,
            shown: table.to_owned(),
            owner: (stat.st_uid, stat.st_gid),
            mode,
            touched: parking_lot::Mutex::default(),
        })
    }

    /// Makes a file that nobody can change any more durable, with the mode of a file of the table, and
    /// `modified` for its modification time, whatever it was: VACUUM goes by it to tell files of
    /// commits under way from those nobody wants.
    pub fn prepare(&self, file: &File, modified: TimestampMs) -> Result<(), StorageError> {
        let prepared = self
            .settle(file, modified)
            .and_then(|()| fs::fsync(file.as_fd()));
        prepared.map_err(|errno| fault("fsync a data file for", &self.shown, errno))
    }

    /// Gives `file`, which was prepared, the name `path`, which nothing may have yet. Where it cannot
    /// be linked, it is copied.
    pub fn publish(
        &self,
        file: &File,
        path: &str,
        modified: TimestampMs,
    ) -> Result<HowPublished, StorageError> {
        self.publish_inner(file, path, modified)
            .map_err(|errno| fault("create", &self.shown.join(path), errno))
    }

    fn publish_inner(
        &self,
        file: &File,
        path: &str,
        modified: TimestampMs,
    ) -> rustix::io::Result<HowPublished> {
        let (parent, name) = write::split(path);
        let mut tries = 0;
        loop {
            tries += 1;
            let directory = self.directory(parent)?;
            match self.publish_in(&directory, file, name, modified) {
                // Somebody else has taken the directory away, which was empty so far.
                Err(Errno::NOENT) if tries < TRIES => drop(self.touched.lock().remove(parent)),
                published => return published,
            }
        }
    }

    /// A directory of the table, made where it is missing.
    fn directory(&self, path: &str) -> rustix::io::Result<OwnedFd> {
        let mut touched = self.touched.lock();
        match touched.get(path) {
            Some(Some(directory)) => directory.try_clone().map_err(|error| errno_of(&error)),
            Some(None) => write::dir_made(&self.root, path),
            None => {
                let made = write::dir_made(&self.root, path)?;
                let held = (touched.len() < HELD_MAX).then(|| made.try_clone());
                let held = held.transpose().map_err(|error| errno_of(&error))?;
                touched.insert(path.to_owned(), held);
                Ok(made)
            }
        }
    }

    fn publish_in(
        &self,
        directory: &OwnedFd,
        file: &File,
        name: &str,
        modified: TimestampMs,
    ) -> rustix::io::Result<HowPublished> {
        let by_descriptor = format!("/proc/self/fd/{}", file.as_raw_fd());
        let flags = AtFlags::SYMLINK_FOLLOW;
        match fs::linkat(fs::CWD, by_descriptor.as_str(), directory, name, flags) {
            Ok(()) => return Ok(HowPublished::Linked),
            Err(
                Errno::XDEV
                | Errno::PERM
                | Errno::OPNOTSUPP
                | Errno::NOSYS
                | Errno::MLINK
                | Errno::NOENT,
            ) => {}
            Err(errno) => return Err(errno),
        }
        self.copy(file, directory, name, modified)?;
        Ok(HowPublished::Copied)
    }

    fn copy(
        &self,
        file: &File,
        directory: &OwnedFd,
        name: &str,
        modified: TimestampMs,
    ) -> rustix::io::Result<()> {
        let flags =
            OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let target = fs::openat(directory, name, flags, Mode::from_raw_mode(0o644))?;
        let copied = copy_content(file, &target)
            .and_then(|()| self.settle(&target, modified))
            .and_then(|()| fs::fsync(&target));
        if copied.is_err() {
            let _ = fs::unlinkat(directory, name, AtFlags::empty());
        }
        copied
    }

    /// Makes the owner of the table the owner of a file that was published, durably, where this process
    /// may: once the commit has succeeded, since until then the file is also the user's. From then on
    /// he must not be able to change it, not after a loss of power either.
    pub fn own(&self, file: &File) -> Result<(), StorageError> {
        self.own_inner(file)
            .map_err(|errno| fault("chown in", &self.shown, errno))
    }

    /// [`Publisher::own`], of a file by its name.
    pub fn own_named(&self, path: &str) -> Result<(), StorageError> {
        let file = self
            .root
            .open_beneath(path, OFlags::RDONLY | OFlags::NONBLOCK);
        let owned = file.and_then(|file| self.own_inner(file));
        owned.map_err(|errno| fault("chown", &self.shown.join(path), errno))
    }

    fn own_inner(&self, file: impl AsFd) -> rustix::io::Result<()> {
        if !rustix::process::geteuid().is_root() {
            return Ok(());
        }
        let file = file.as_fd();
        let stat = fs::fstat(file)?;
        let (user, group) = self.owner;
        if (stat.st_uid, stat.st_gid) == self.owner {
            return Ok(());
        }
        let user = Some(rustix::process::Uid::from_raw(user));
        let group = Some(rustix::process::Gid::from_raw(group));
        fs::fchown(file, user, group)?;
        fs::fsync(file)
    }

    /// Mode and time as a file of the table has them. Whoever may read the table may read the file.
    fn settle(&self, file: impl AsFd, modified: TimestampMs) -> rustix::io::Result<()> {
        let file = file.as_fd();
        fs::fchmod(file, Mode::from_raw_mode(self.mode))?;
        let time = Timespec {
            tv_sec: modified.div_euclid(1000),
            tv_nsec: modified.rem_euclid(1000) * 1_000_000,
        };
        fs::futimens(
            file,
            &Timestamps {
                last_access: time,
                last_modification: time,
            },
        )
    }

    /// Makes the names given so far durable.
    pub fn make_durable(&self) -> Result<(), StorageError> {
        let touched = self.touched.lock();
        for (path, directory) in &*touched {
            let synced = match directory {
                Some(directory) => sync_dir(directory),
                None => write::sync(&self.root, path),
            };
            synced.map_err(|errno| fault("sync", &self.shown.join(path), errno))?;
        }
        Ok(())
    }

    /// The directories above `paths` that are not there, each before those in it: who gives files
    /// these names is going to make them.
    pub fn missing_directories<'a>(&self, paths: impl IntoIterator<Item = &'a str>) -> Vec<String> {
        let mut above = BTreeSet::new();
        for path in paths {
            let mut at = write::split(path).0;
            while !at.is_empty() && above.insert(at) {
                at = write::split(at).0;
            }
        }
        let flags = OFlags::PATH | OFlags::DIRECTORY;
        let is_missing =
            |path: &&str| matches!(self.root.open_beneath(path, flags), Err(Errno::NOENT));
        let missing = above.into_iter().filter(is_missing);
        missing.map(str::to_owned).collect()
    }

    /// Takes names back, durably; those that are not there are no error. All are tried; the error is
    /// the first one's. Then removes those of `directories`, sorted as
    /// [`Publisher::missing_directories`] has them, in which there is nothing.
    pub fn withdraw<'a>(
        &self,
        paths: impl IntoIterator<Item = &'a str>,
        directories: &'a [String],
    ) -> Result<(), StorageError> {
        let mut first = None;
        let mut parents = BTreeSet::new();
        for path in paths {
            match write::remove(&self.root, path) {
                Ok(()) => drop(parents.insert(write::split(path).0)),
                Err(Errno::NOENT) => {}
                Err(errno) => {
                    first.get_or_insert_with(|| fault("remove", &self.shown.join(path), errno));
                }
            }
        }
        for directory in directories.iter().rev() {
            match write::remove_directory(&self.root, directory) {
                Ok(()) => {
                    parents.remove(directory.as_str());
                    parents.insert(write::split(directory).0);
                }
                Err(Errno::NOENT) => drop(parents.remove(directory.as_str())),
                Err(errno) => {
                    let shown = self.shown.join(directory);
                    tracing::debug!(directory = %shown.display(), %errno, "a directory stays");
                }
            }
        }
        for parent in parents {
            if let Err(errno) = write::sync(&self.root, parent) {
                first.get_or_insert_with(|| fault("sync", &self.shown.join(parent), errno));
            }
        }
        first.map_or(Ok(()), Err)
    }
}

/// All of one file into another, which is empty: by sharing blocks where the file system can.
pub(super) fn copy_content(from: &File, to: impl AsFd) -> rustix::io::Result<()> {
    if fs::ioctl_ficlone(&to, from).is_ok() {
        return Ok(());
    }
    const CHUNK: usize = 1 << 30;
    let mut at = 0;
    loop {
        let mut read_at = at;
        match fs::copy_file_range(from, Some(&mut read_at), &to, None, CHUNK) {
            Ok(0) => return Ok(()),
            Ok(count) => at += count as u64,
            Err(Errno::INTR) => {}
            Err(Errno::XDEV | Errno::NOSYS | Errno::OPNOTSUPP | Errno::INVAL) if at == 0 => {
                return copy_by_hand(from, to);
            }
            Err(errno) => return Err(errno),
        }
    }
}

/// [`copy_content`], each byte read and written.
pub(super) fn copy_by_hand(from: &File, to: impl AsFd) -> rustix::io::Result<()> {
    let mut buffer = vec![0; 1 << 20];
    let mut at = 0;
    loop {
        let count = match rustix::io::pread(from, &mut buffer, at) {
            Ok(0) => return Ok(()),
            Err(Errno::INTR) => continue,
            count => count?,
        };
        let mut rest = &buffer[..count];
        while !rest.is_empty() {
            match rustix::io::write(&to, rest) {
                Ok(0) => return Err(Errno::IO),
                Ok(written) => rest = &rest[written..],
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno),
            }
        }
        at += count as u64;
    }
}

fn errno_of(error: &io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use tempfile::TempDir;

    use super::*;

    #[test]
    fn a_directory_that_was_taken_away_is_made_again_and_goes_when_it_is_empty() {
        let table = TempDir::new().expect("a temporary directory");
        let at = |path: &str| table.path().join(path);
        let publisher = Publisher::open(table.path(), 0o644).expect("a directory");
        let mut file = tempfile::tempfile_in(table.path()).expect("can be made");
        file.write_all(b"content").expect("can be written");

        let paths = ["p=1/q=1/a", "p=1/b", "c"];
        let missing = publisher.missing_directories(paths);
        assert_eq!(missing, ["p=1", "p=1/q=1"]);
        publisher.publish(&file, paths[0], 0).expect("is made");
        assert!(publisher.missing_directories(paths).is_empty());
        // As another process does that has made it and fails.
        publisher.withdraw([paths[0]], &missing).expect("goes");
        assert!(!at("p=1").exists());
        publisher.publish(&file, paths[0], 0).expect("is made");
        publisher.publish(&file, paths[1], 0).expect("is made");
        publisher.make_durable().expect("can be synced");
        publisher.withdraw([paths[0]], &missing).expect("goes");
        assert!(at("p=1/b").exists() && !at("p=1/q=1").exists());
    }
}
