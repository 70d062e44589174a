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

/// How a file came by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HowPublished {
    /// It is the very file, under a second name.
    Linked,
    /// It is a copy.
    Copied,
}

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
    /// Directories with new names, by their paths.
    touched: parking_lot::Mutex<BTreeMap<String, OwnedFd>>,
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
        let directory = {
            let mut touched = self.touched.lock();
            match touched.get(parent) {
                Some(directory) => directory.try_clone().map_err(|error| errno_of(&error))?,
                None => {
                    let made = write::dir_made(&self.root, parent)?;
                    let held = made.try_clone().map_err(|error| errno_of(&error))?;
                    touched.insert(parent.to_owned(), held);
                    made
                }
            }
        };
        let by_descriptor = format!("/proc/self/fd/{}", file.as_raw_fd());
        let flags = AtFlags::SYMLINK_FOLLOW;
        match fs::linkat(fs::CWD, by_descriptor.as_str(), &directory, name, flags) {
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
        self.copy(file, &directory, name, modified)?;
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

    /// Makes the owner of the table the owner of a file that was published, where this process may:
    /// once the commit has succeeded, since until then the file is also the user's.
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
        let (user, group) = self.owner;
        let user = Some(rustix::process::Uid::from_raw(user));
        let group = Some(rustix::process::Gid::from_raw(group));
        fs::fchown(file, user, group)
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
            sync_dir(directory).map_err(|errno| fault("sync", &self.shown.join(path), errno))?;
        }
        Ok(())
    }

    /// Takes names back, durably; those that are not there are no error. All are tried; the error is
    /// the first one's.
    pub fn withdraw<'a>(
        &self,
        paths: impl IntoIterator<Item = &'a str>,
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
