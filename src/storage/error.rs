//! What can go wrong with stored bytes.

use std::error::Error;
use std::io;

/// An error of the storage floor. `location` is the full path or URL of the object.
#[derive(Debug, thiserror::Error)]
pub enum StorageError {
    /// Nothing is there.
    #[error("{location} does not exist")]
    NotFound {
        /// Where was looked.
        location: String,
    },
    /// The location lies outside what may be read.
    #[error(
        "{location} lies outside the table root {root}; to serve it all the same, mount with \
         --allow-path and the directory it lies in"
    )]
    Outside {
        /// The location that was asked for.
        location: String,
        /// The root it had to lie under.
        root: String,
    },
    /// The operating system or the store denied access.
    #[error("access to {location} is denied; check permissions or credentials: {source}")]
    PermissionDenied {
        /// What was accessed.
        location: String,
        /// What the system said.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// An option that no object store has.
    #[error(
        "no object store has an option {option:?}; expected a configuration key of the object_store \
         crate, such as aws_region, azure_storage_account_name, google_service_account"
    )]
    UnknownOption {
        /// The key that was given.
        option: String,
    },
    /// A table argument that names no store.
    #[error("{found:?} is not a table location: {expected}")]
    InvalidLocation {
        /// What was given.
        found: String,
        /// What would have been right.
        expected: String,
    },
    /// The store cannot do what the contract needs.
    #[error("{location}: {operation} is not supported there: {reason}")]
    Unsupported {
        /// The store or object.
        location: String,
        /// What was tried.
        operation: &'static str,
        /// Why not, and what to do.
        reason: String,
    },
    /// No space is left.
    #[error("no space left for {location}; free some and try again")]
    Full {
        /// What was being written.
        location: String,
    },
    /// Any other failure of the file system.
    #[error("{operation} {location}: {source}")]
    Io {
        /// What was tried, as a verb: "read", "list".
        operation: &'static str,
        /// The object.
        location: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// Any other failure of an object store.
    #[error("{operation} {location}: {source}")]
    Remote {
        /// What was tried, as a verb: "read", "list".
        operation: &'static str,
        /// The object.
        location: String,
        /// What the store said.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
}

impl StorageError {
    /// Whether the object is simply not there.
    pub fn is_not_found(&self) -> bool {
        matches!(self, StorageError::NotFound { .. })
    }
}
