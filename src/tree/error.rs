//! What can go wrong in the tree.

use std::sync::Arc;

use super::Ino;
use crate::snapshot::SnapshotError;
use crate::staging::StagingError;
use crate::storage::posix::PosixError;
use crate::view::{VersionError, ViewError};

/// An error of the tree floor.
#[derive(Debug, thiserror::Error)]
pub enum TreeError {
    /// No such name.
    #[error("{name:?} does not exist: {reason}")]
    NotFound {
        /// The name looked up.
        name: String,
        /// Why it is not there.
        reason: String,
    },
    /// The kernel named an inode that the tree does not know.
    #[error("inode {0:#x} is not known (any more)")]
    UnknownInode(Ino),
    /// The kernel named a handle that is not open.
    #[error("handle {0} is not open")]
    UnknownHandle(u64),
    /// A directory operation on something else.
    #[error("inode {0:#x} is not a directory")]
    NotADirectory(Ino),
    /// A file operation on a directory.
    #[error("inode {0:#x} is a directory")]
    IsADirectory(Ino),
    /// `readlink` of something else.
    #[error("inode {0:#x} is not a symbolic link")]
    NotASymlink(Ino),
    /// No extended attribute of that name.
    #[error("there is no extended attribute {0:?}")]
    NoAttribute(String),
    /// A file is not as long as the kernel was told before anybody looked at it. The kernel looks the
    /// name up again by itself, and is told the right size.
    #[error("inode {0:#x} has another size than was told before it was opened: open it again")]
    OtherSize(Ino),
    /// A change of what never changes.
    #[error(
        "inode {0:#x} is part of a version or tells of one, and these never change: write to \
             a directory in @staging"
    )]
    ReadOnly(Ino),
    /// A change that has no place where it was tried.
    #[error("not permitted: {reason}")]
    NotPermitted {
        /// Why, and what to do.
        reason: String,
    },
    /// What file systems do that this one does not.
    #[error("{0} is not supported here")]
    NotSupported(&'static str),
    /// Something has the name already.
    #[error("{0:?} is there already")]
    Exists(String),
    /// A name came to be while it was being made: the kernel looks it up again by itself.
    #[error("the name came to be at the same time: look it up again")]
    Raced,
    /// A file that has lost its last name, and its content with it, is opened: the kernel looks the
    /// name up again by itself.
    #[error("inode {0:#x} was removed: look its name up again")]
    Removed(Ino),
    /// A move or link between transactions, or into one from elsewhere.
    #[error("the two names do not lie in the same transaction: copy instead")]
    OtherTransaction,
    /// Two files of a staging directory have the same number.
    #[error(
        "inode {0:#x} stands for another file already: this file system's inode numbers do not fit \
         in 60 bits; choose another --staging-dir"
    )]
    SameNumber(Ino),
    /// The disk that holds the staging directory.
    #[error(transparent)]
    Posix(#[from] PosixError),
    /// A transaction.
    #[error(transparent)]
    Staging(Arc<StagingError>),
    /// A version cannot be built or read.
    #[error(transparent)]
    Snapshot(Arc<SnapshotError>),
    /// A file cannot be presented.
    #[error(transparent)]
    View(Arc<ViewError>),
}

impl From<SnapshotError> for TreeError {
    fn from(error: SnapshotError) -> TreeError {
        TreeError::Snapshot(Arc::new(error))
    }
}

impl From<Arc<SnapshotError>> for TreeError {
    fn from(error: Arc<SnapshotError>) -> TreeError {
        TreeError::Snapshot(error)
    }
}

impl From<StagingError> for TreeError {
    fn from(error: StagingError) -> TreeError {
        TreeError::Staging(Arc::new(error))
    }
}

impl From<ViewError> for TreeError {
    fn from(error: ViewError) -> TreeError {
        TreeError::View(Arc::new(error))
    }
}

impl From<Arc<ViewError>> for TreeError {
    fn from(error: Arc<ViewError>) -> TreeError {
        TreeError::View(error)
    }
}

impl From<VersionError> for TreeError {
    fn from(error: VersionError) -> TreeError {
        match error {
            VersionError::Snapshot(error) => TreeError::Snapshot(error),
            VersionError::View(error) => error.into(),
        }
    }
}
