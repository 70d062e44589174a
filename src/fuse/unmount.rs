//! Unmounting.

use std::path::{Path, PathBuf};

use rustix::io::Errno;
use rustix::mount::UnmountFlags;

use super::mountinfo::{self, Device};
use super::{FS_TYPE, FuseError, fusermount};

/// How an unmount went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unmounted {
    /// Nobody was using it.
    Clean,
    /// It was in use, and is detached: gone from the directory tree, alive for those inside.
    Detached,
    /// It was not mounted any more.
    Absent,
}

/// Unmounts what is mounted last on `mountpoint`, whatever it is: the caller has looked. Not
/// `lazy`, and in use, it is [`FuseError::Busy`]. The file system is not asked, so a dead one
/// unmounts too.
pub fn unmount_at(mountpoint: &Path, lazy: bool) -> Result<(), FuseError> {
    let flags = if lazy {
        UnmountFlags::NOFOLLOW | UnmountFlags::DETACH
    } else {
        UnmountFlags::NOFOLLOW
    };
    match rustix::mount::unmount(mountpoint, flags) {
        Ok(()) => Ok(()),
        Err(Errno::PERM) => fusermount::unmount(mountpoint, lazy),
        Err(Errno::BUSY) => Err(FuseError::Busy {
            mountpoint: mountpoint.to_owned(),
        }),
        Err(errno) => Err(FuseError::Unmount {
            mountpoint: mountpoint.to_owned(),
            source: errno.into(),
        }),
    }
}

/// Unmounts one particular mount, from any thread.
#[derive(Debug, Clone)]
pub struct Unmounter {
    pub(super) mountpoint: PathBuf,
    /// `None` when `/proc` could not be read at mount time; then the mountpoint alone decides.
    pub(super) device: Option<Device>,
}

impl Unmounter {
    /// Unmounts, lazily if it is in use. A mount that somebody else has made on the same directory
    /// since is left alone.
    pub fn unmount(&self) -> Result<Unmounted, FuseError> {
        if !self.is_mounted() {
            return Ok(Unmounted::Absent);
        }
        match unmount_at(&self.mountpoint, false) {
            Ok(()) => Ok(Unmounted::Clean),
            Err(FuseError::Busy { .. }) => {
                unmount_at(&self.mountpoint, true)?;
                tracing::warn!(
                    mountpoint = %self.mountpoint.display(),
                    "the mount is in use: detached, those inside lose it"
                );
                Ok(Unmounted::Detached)
            }
            Err(error) => Err(error),
        }
    }

    fn is_mounted(&self) -> bool {
        let Some(device) = self.device else {
            return true;
        };
        match mountinfo::read() {
            Ok(entries) => mountinfo::top_at(&entries, &self.mountpoint)
                .is_some_and(|entry| entry.device == device && entry.fs_type == FS_TYPE),
            Err(_) => true,
        }
    }
}
