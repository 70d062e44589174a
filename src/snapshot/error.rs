//! What can keep a version from being built.

use crate::base::Version;
use crate::log::LogError;
use crate::protocol::ProtocolError;
use crate::schema::SchemaError;
use crate::storage::StorageError;

/// An error of the snapshot floor.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// The log cannot be read.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The table demands more of its readers than is supported.
    #[error("version {version}: {source}")]
    Protocol {
        /// The version.
        version: Version,
        /// What it demands.
        #[source]
        source: ProtocolError,
    },
    /// The schema of a version makes no sense.
    #[error("version {version}: the table schema cannot be used: {source}")]
    Schema {
        /// The version.
        version: Version,
        /// What is wrong with it.
        #[source]
        source: SchemaError,
    },
    /// The log up to a version lacks an action that every table must have.
    #[error(
        "version {version} has no {action} action: the protocol demands one in the first commit; \
         the log is damaged: restore {missing_from} from a backup"
    )]
    MissingAction {
        /// The version.
        version: Version,
        /// `protocol` or `metaData`.
        action: &'static str,
        /// The commit file that should hold it.
        missing_from: String,
    },
    /// Data files that are not Parquet.
    #[error("version {version}: data files are {found:?}; deltafs reads tables of Parquet files")]
    NotParquet {
        /// The version.
        version: Version,
        /// `metaData.format.provider`.
        found: String,
    },
}

impl From<StorageError> for SnapshotError {
    fn from(error: StorageError) -> SnapshotError {
        SnapshotError::Log(LogError::Storage(error))
    }
}
