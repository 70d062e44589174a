//! What can be wrong with a deletion vector.

use crate::storage::StorageError;

/// Why a deletion vector could not be had. `file` is the data file that it belongs to, `place`
/// where the vector lies: a location and offset, or "inline".
#[derive(Debug, thiserror::Error)]
pub enum DeletionVectorError {
    /// A descriptor that names no vector.
    #[error(
        "{file}: the log's deletion vector descriptor is malformed: {problem}; whoever wrote the \
         commit broke PROTOCOL.md, \"Deletion Vector Descriptor Schema\": restore the commit file, \
         or read a version before it"
    )]
    Descriptor {
        /// The data file.
        file: String,
        /// What was found and what was expected.
        problem: String,
    },
    /// A format that this release does not know.
    #[error(
        "{file}: its deletion vector ({place}) has {field} {found}, expected {expected}: a newer \
         or a preview release of Delta wrote it, or it is damaged; upgrade deltafs, or run REORG \
         TABLE ... APPLY (PURGE) with the writer that made it"
    )]
    Format {
        /// The data file.
        file: String,
        /// Where the vector lies.
        place: String,
        /// Which field says so.
        field: &'static str,
        /// Its value.
        found: u32,
        /// The only value that is known.
        expected: u32,
    },
    /// Bytes that are no vector, or another one than the log says.
    #[error(
        "{file}: its deletion vector ({place}) is damaged: {problem}; restore the deletion vector \
         file from a backup, or read a version before the rows were deleted"
    )]
    Damaged {
        /// The data file.
        file: String,
        /// Where the vector lies.
        place: String,
        /// What was found and what was expected.
        problem: String,
    },
    /// A vector, or a row group, of a size that nothing sensible has.
    #[error("{file}: {what} is {found}, and deltafs takes up to {limit}; {advice}")]
    TooLarge {
        /// The data file.
        file: String,
        /// What is too large, with its unit.
        what: &'static str,
        /// How large it is.
        found: u64,
        /// How large it may be.
        limit: u64,
        /// What to do.
        advice: &'static str,
    },
    /// The file of the vector could not be read.
    #[error("{file}: its deletion vector ({place}) cannot be read: {source}")]
    Storage {
        /// The data file.
        file: String,
        /// Where the vector lies.
        place: String,
        /// What storage said.
        #[source]
        source: StorageError,
    },
}
