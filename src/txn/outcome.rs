//! How a commit ended.

use super::Conflict;
use crate::base::Version;
use crate::storage::StorageError;

/// How a commit ended. An expected race is a value, not an error.
#[derive(Debug)]
#[must_use]
pub enum CommitOutcome {
    /// The commit is in the log, durably.
    Committed {
        /// As which version.
        version: Version,
    },
    /// The table had this version of the application, or a later one, already: nothing to do
    /// (PROTOCOL.md, "Transaction Identifiers").
    AlreadyApplied {
        /// The version that brought it, where the log still tells.
        version: Option<Version>,
    },
    /// A winning commit changed what this one depends on. Nothing was committed.
    Conflicted(Conflict),
    /// Others were faster until the limit was reached. Nothing was committed; trying again is
    /// safe.
    Retryable {
        /// How often it was tried.
        attempts: u32,
    },
    /// The store failed in a way that leaves open whether the commit is, or will be, in the log.
    /// [`find_commit`](super::find_commit) tells once the store answers again. Committing a
    /// proposal with the same id again is safe, and ends the doubt; one with another id may commit
    /// the same twice.
    Unknown {
        /// The version that it is, if any.
        version: Version,
        /// What the store said last.
        source: StorageError,
    },
}
