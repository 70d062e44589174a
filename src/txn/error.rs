//! What keeps a commit from being made, other than an expected race.

use crate::base::Version;
use crate::log::LogError;
use crate::log::names::commit_name;
use crate::protocol::ProtocolError;
use crate::snapshot::SnapshotError;
use crate::storage::StorageError;

/// An error of the txn floor. The call committed nothing; making it again with the same proposal
/// is safe.
#[derive(Debug, thiserror::Error)]
pub enum TxnError {
    /// The version that was read cannot be built, or the log cannot be looked at.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// A winning commit cannot be read.
    #[error(transparent)]
    Log(#[from] LogError),
    /// A table property makes no sense.
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
    /// The store refused the commit file.
    #[error("version {version} was not committed: {source}")]
    Put {
        /// The version it would have been.
        version: Version,
        /// What the store said.
        #[source]
        source: StorageError,
    },
    /// Winning commits are gone from the log.
    #[error(
        "this commit read version {read}, and {} is gone from the log: it was cleaned up since, so \
         whether the commits made meanwhile conflict cannot be told; begin again from the newest \
         version", commit_name(*.missing)
    )]
    LogCleaned {
        /// The version that was read.
        read: Version,
        /// The first commit that is needed and missing.
        missing: Version,
    },
    /// Another table stands where the one that was read stood.
    #[error(
        "this commit is for table {expected}, and the table at {root} is {found} now: it was \
         dropped and made again, or another one was copied over it; begin again from the newest \
         version"
    )]
    OtherTable {
        /// The table root.
        root: String,
        /// `metaData.id` of the table that was read.
        expected: String,
        /// `metaData.id` of the one that is there.
        found: String,
    },
    /// What is proposed is no valid commit.
    #[error("this commit would break the table: {problem}")]
    Invalid {
        /// What was found and what is expected.
        problem: String,
    },
    /// A file whose row ids cannot be given out.
    #[error(
        "{path}: the table tracks rows, so each file needs numRecords in its statistics, and this \
         one's are {found}"
    )]
    NoRecordCount {
        /// The path of the file in the log.
        path: String,
        /// What was found.
        found: String,
    },
    /// What the log says of row ids makes no sense.
    #[error("row ids cannot be given out: {problem}")]
    RowIds {
        /// What was found and what is expected.
        problem: String,
    },
    /// The commit before has no usable time, and this one's must be later.
    #[error("version {version}: {problem}")]
    CommitTime {
        /// The version before.
        version: Version,
        /// What was found and what is expected.
        problem: String,
    },
    /// Something that is no commit file has the name of the next one.
    #[error(
        "{path} in {root} is no file that can be read, though something has that name; remove it, \
         or no version {version} can be committed"
    )]
    Occupied {
        /// The table root.
        root: String,
        /// The path of the commit file.
        path: String,
        /// The next version.
        version: Version,
    },
    /// The last version that there can be has been committed.
    #[error("version {version} is the last one that a table can have")]
    NoMoreVersions {
        /// The newest version.
        version: Version,
    },
}

impl From<StorageError> for TxnError {
    fn from(error: StorageError) -> TxnError {
        TxnError::Log(LogError::Storage(error))
    }
}
