//! Why a transaction cannot go on.

use std::sync::Arc;

use crate::base::Version;
use crate::intake::IntakeError;
use crate::protocol::ProtocolError;
use crate::snapshot::SnapshotError;
use crate::storage::StorageError;
use crate::storage::posix::PosixError;
use crate::txn::{Conflict, TxnError};
use crate::view::VersionError;

/// An error of the staging floor. `file` is a path below the directory of the transaction.
#[derive(Debug, thiserror::Error)]
pub enum StagingError {
    /// The table cannot be written from here.
    #[error("{table} cannot be written through this mount: {reason}")]
    NotWritable {
        /// The table root.
        table: String,
        /// Why, and what to do.
        reason: String,
    },
    /// There is such a transaction already.
    #[error("there is a transaction {name} already; choose another name, or remove it")]
    Exists {
        /// The name.
        name: String,
    },
    /// There is no such transaction.
    #[error("there is no transaction {name}; make one with mkdir")]
    NoTransaction {
        /// The name.
        name: String,
    },
    /// A name that no transaction can have.
    #[error("{name:?} is no name for a transaction: {expected}")]
    BadName {
        /// The name.
        name: String,
        /// What is one.
        expected: &'static str,
    },
    /// A transaction that is not empty cannot be removed.
    #[error("transaction {name} is not empty; remove its files first (rm -r)")]
    NotEmpty {
        /// The name.
        name: String,
    },
    /// A commit of the transaction is under way.
    #[error("transaction {name} is being committed; wait for the answer of fsync")]
    Committing {
        /// The name.
        name: String,
    },
    /// The transaction has been committed.
    #[error(
        "transaction {name} was committed as version {version}: it can be read and removed, not \
         changed; make a new one for the next batch"
    )]
    Committed {
        /// The name.
        name: String,
        /// What it became.
        version: Version,
    },
    /// No marker is there.
    #[error("there is no .commit to tell what is to be done; touch it, and fsync it again")]
    NoMarker,
    /// A marker that is not understood.
    #[error("the content of .commit is not understood: {problem}")]
    BadMarker {
        /// What was found and what was expected.
        problem: String,
    },
    /// An option of the marker that does not fit the table.
    #[error("option {option} of .commit: {problem}")]
    BadOption {
        /// Its name.
        option: &'static str,
        /// What was found, what was expected, and what to do.
        problem: String,
    },
    /// What an earlier mount noted of a transaction cannot be read.
    #[error("what was noted of the transaction cannot be read: {problem}")]
    BadRecord {
        /// What is wrong with it.
        problem: String,
    },
    /// A name in `remove` that the read version does not list.
    #[error(
        "remove: version {version} lists no file {name}; give names as listed in @v{version}, \
         below the version directory"
    )]
    NoSuchFile {
        /// The name.
        name: String,
        /// The read version.
        version: Version,
    },
    /// A staged thing that is no data file and that nothing says to leave out.
    #[error("{file} {problem}")]
    NotADataFile {
        /// The file.
        file: String,
        /// What it is and what to do.
        problem: String,
    },
    /// Nothing is staged.
    #[error("nothing is staged: {expected}")]
    Nothing {
        /// What would be something.
        expected: &'static str,
    },
    /// The commit would take rows from a table that only grows.
    #[error(
        "the table is append-only (delta.appendOnly): {what} would remove rows; append only, or \
         have the property taken off"
    )]
    AppendOnly {
        /// What would.
        what: &'static str,
    },
    /// The commit needs something of the table that this release does not do.
    #[error("{what} is not supported here: {reason}")]
    Unsupported {
        /// What was asked for.
        what: &'static str,
        /// Why, and what to do.
        reason: String,
    },
    /// A commit that says it changes no row, and does.
    #[error(
        "dataChange is false, but the staged files have {staged} rows and the removed ones \
         {removed}: a compaction keeps every row; leave out dataChange if rows are to change"
    )]
    RowsChange {
        /// Rows of the staged files.
        staged: u64,
        /// Live rows of the removed files.
        removed: u64,
    },
    /// Another table has taken the place of the one the transaction was begun for.
    #[error(
        "another table stands at {table} since the transaction was begun; begin a new one \
         (mkdir), if its files are meant for this table"
    )]
    OtherTable {
        /// The table root.
        table: String,
    },
    /// A file that was changed while it was committed.
    #[error("{file} was changed while it was committed; close it, and fsync .commit again")]
    Changed {
        /// The file.
        file: String,
    },
    /// Another commit was in the way.
    #[error(transparent)]
    Conflict(Conflict),
    /// Other writers were faster each time.
    #[error(
        "other writers were faster {attempts} times; nothing was committed, and nothing is in the \
         way: fsync .commit again"
    )]
    Retryable {
        /// How often it was tried.
        attempts: u32,
    },
    /// The commit file was written, or was not: nothing tells.
    #[error(
        "whether version {version} is this commit cannot be told now: {source}; fsync .commit \
         again: it looks before it does anything"
    )]
    Unknown {
        /// The version it would be.
        version: Version,
        /// What went wrong.
        #[source]
        source: StorageError,
    },
    /// The process that was committing ended before the commit was made.
    #[error(
        "the commit was cut off before it was made: nothing of it is in the table, and the staged \
         files are as they were; fsync .commit again"
    )]
    Interrupted,
    /// A staged file that the table cannot take.
    #[error(transparent)]
    Intake(#[from] IntakeError),
    /// The table's protocol does not allow it.
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
    /// The commit cannot be made.
    #[error(transparent)]
    Txn(#[from] TxnError),
    /// The table cannot be read.
    #[error(transparent)]
    Snapshot(Arc<SnapshotError>),
    /// The read version cannot be shown.
    #[error(transparent)]
    Version(#[from] VersionError),
    /// Bytes could not be stored or had.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The directory of the transaction could not be made as it is to be.
    #[error(transparent)]
    Posix(#[from] PosixError),
}

impl From<SnapshotError> for StagingError {
    fn from(error: SnapshotError) -> StagingError {
        StagingError::Snapshot(Arc::new(error))
    }
}

impl From<Arc<SnapshotError>> for StagingError {
    fn from(error: Arc<SnapshotError>) -> StagingError {
        StagingError::Snapshot(error)
    }
}
