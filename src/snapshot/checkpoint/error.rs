//! What can keep a checkpoint or a version checksum from being written.

use std::sync::Arc;

use crate::base::Version;
use crate::log::LogError;
use crate::log::checkpoint::write::WriteError;
use crate::protocol::ProtocolError;
use crate::snapshot::SnapshotError;

/// An error of writing what follows a commit. The commit itself stands.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// The version cannot be built.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// The version has a protocol or a schema that this release does not know.
    #[error("version {version} has no checkpoint written by this release: {source}")]
    NotReadable {
        /// The version.
        version: Version,
        /// What it demands.
        #[source]
        source: Arc<SnapshotError>,
    },
    /// A table property that says how checkpoints are written means nothing.
    #[error(
        "version {version}: {source}; set the property right, and the next checkpoint is written"
    )]
    Settings {
        /// The version.
        version: Version,
        /// Which, and what was expected.
        #[source]
        source: ProtocolError,
    },
    /// In-commit timestamps are enabled, and the commit has none.
    #[error(
        "version {version} has no inCommitTimestamp in its commitInfo, though \
         delta.enableInCommitTimestamps is true: its writer does not know the feature"
    )]
    NoInCommitTimestamp {
        /// The version.
        version: Version,
    },
    /// Neither a checkpoint nor the commits from version 0 on lead to the version.
    #[error("the log has not all that leads to version {version}; nothing can be made from it")]
    NoSources {
        /// The version.
        version: Version,
    },
    /// The checkpoint itself could not be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// Another file of the log could not be read or written.
    #[error(transparent)]
    Log(#[from] LogError),
}
