//! Logical files, as conflicts tell them apart.

use std::fmt;

use crate::log::actions::DeletionVectorDescriptor;
use crate::storage::{Location, StorageError};

/// The primary key of a logical file (PROTOCOL.md, "Add File and Remove File").
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FileKey {
    /// [`Location::key`] of the path.
    path: Box<str>,
    /// `deletionVector.uniqueId`.
    deletion_vector: Option<Box<str>>,
}

impl FileKey {
    /// The key of a path as the log has it; [`StorageError::InvalidLocation`] for one that cannot
    /// be decoded.
    pub fn new(
        path_in_log: &str,
        deletion_vector: Option<&DeletionVectorDescriptor>,
    ) -> Result<FileKey, StorageError> {
        Ok(FileKey {
            path: Location::key(path_in_log)?.into(),
            deletion_vector: deletion_vector.map(|vector| vector.unique_id().into()),
        })
    }

    /// [`Location::key`] of the path.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// Where the data file lies.
    pub fn location(&self) -> Location {
        Location::from_key(&self.path)
    }

    /// `deletionVector.uniqueId`.
    pub fn deletion_vector(&self) -> Option<&str> {
        self.deletion_vector.as_deref()
    }
}

impl fmt::Display for FileKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.deletion_vector {
            None => write!(f, "{}", self.location()),
            Some(id) => write!(f, "{} with deletion vector {id}", self.location()),
        }
    }
}
