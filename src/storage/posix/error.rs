//! What the system answered.

use std::ffi::OsStr;
use std::io;

use rustix::io::Errno;

/// A system call failed. The number is for the program that made the call: a full disk is ENOSPC, a
/// used-up quota EDQUOT, as on any file system.
#[derive(Debug, thiserror::Error)]
#[error("{operation} {name:?}: {source}")]
pub struct PosixError {
    /// What was tried, as a verb: "rename", "write".
    pub operation: &'static str,
    /// The name it was tried on; empty where the node was reached by its number.
    pub name: String,
    /// What the system said.
    #[source]
    source: io::Error,
}

impl PosixError {
    /// An error of a call on a name.
    pub fn new(operation: &'static str, name: &OsStr, source: impl Into<io::Error>) -> PosixError {
        PosixError {
            operation,
            name: name.to_string_lossy().into_owned(),
            source: source.into(),
        }
    }

    /// The system's number, EIO for an error without one. Two of them mean something else to who
    /// asks by way of FUSE: ENOSYS would be taken for success from then on, and EINTR hangs a caller
    /// of `fsync`.
    pub fn errno(&self) -> i32 {
        match self.source.raw_os_error() {
            Some(libc::ENOSYS) => libc::EOPNOTSUPP,
            Some(libc::EINTR) | None => libc::EIO,
            Some(errno) => errno,
        }
    }

    /// Whether nothing has the name.
    pub fn is_not_found(&self) -> bool {
        self.errno() == libc::ENOENT
    }
}

/// An error of a call on an open node.
pub(super) fn failed(operation: &'static str) -> impl Fn(Errno) -> PosixError {
    move |errno| PosixError::new(operation, OsStr::new(""), errno)
}

/// An error of a call on a name.
pub(super) fn failed_on(operation: &'static str, name: &OsStr) -> impl Fn(Errno) -> PosixError {
    move |errno| PosixError::new(operation, name, errno)
}
