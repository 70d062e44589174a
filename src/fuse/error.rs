//! What can go wrong with a mount.

use std::io;
use std::path::PathBuf;

/// An error of the fuse floor.
#[derive(Debug, thiserror::Error)]
pub enum FuseError {
    /// There is no FUSE here.
    #[error(
        "/dev/fuse cannot be opened: {source}; load the kernel module with `modprobe fuse`, or in \
         a container pass the device in (docker run --device /dev/fuse --cap-add SYS_ADMIN)"
    )]
    NoDevice {
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The kernel refused the mount.
    #[error("mount on {}: {source}", mountpoint.display())]
    Mount {
        /// Where.
        mountpoint: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// Mounting or unmounting without privileges needs a program that is not there.
    #[error(
        "only root may mount and unmount directly, and `fusermount3`, which does it for others, \
         cannot be run: {source}; install the package fuse3, or run as root"
    )]
    NoFusermount {
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// `fusermount3` refused.
    #[error("fusermount3 for {}: {message}{hint}", mountpoint.display())]
    Fusermount {
        /// Where.
        mountpoint: PathBuf,
        /// What it printed.
        message: String,
        /// What to do, where that is known, behind a semicolon.
        hint: &'static str,
    },
    /// The kernel and we do not understand each other.
    #[error("the kernel does not complete the mount on {}: {source}", mountpoint.display())]
    Handshake {
        /// Where.
        mountpoint: PathBuf,
        /// What went wrong.
        #[source]
        source: io::Error,
    },
    /// Serving requests ended with an error.
    #[error("serving {}: {source}", mountpoint.display())]
    Session {
        /// Where.
        mountpoint: PathBuf,
        /// What went wrong.
        #[source]
        source: io::Error,
    },
    /// Somebody uses the mount.
    #[error("{} is in use", mountpoint.display())]
    Busy {
        /// Where.
        mountpoint: PathBuf,
    },
    /// Unmounting failed otherwise.
    #[error("unmount {}: {source}", mountpoint.display())]
    Unmount {
        /// Where.
        mountpoint: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The list of mounts could not be read.
    #[error("read /proc/self/mountinfo: {source}; is /proc mounted?")]
    MountInfo {
        /// What the system said.
        #[source]
        source: io::Error,
    },
}
