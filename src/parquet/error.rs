//! What can be wrong with a Parquet file.

use crate::storage::StorageError;

/// An error of the parquet floor. `location` is the path of the file.
#[derive(Debug, thiserror::Error)]
pub enum ParquetError {
    /// Not a Parquet file, or one that was cut off.
    #[error(
        "{location} is not a complete Parquet file: it has {size} bytes and ends in {found}, but a \
         Parquet file ends in \"PAR1\"; it was cut off while it was written or copied, or is \
         something else; restore it"
    )]
    NotParquet {
        /// The file.
        location: String,
        /// Its size in bytes.
        size: u64,
        /// Its last bytes, escaped.
        found: String,
    },
    /// The footer or columns are encrypted.
    #[error(
        "{location} is encrypted ({what}); encrypted Parquet files are not supported: read it with \
         a tool that has the keys, under --view raw"
    )]
    Encrypted {
        /// The file.
        location: String,
        /// What of it is encrypted.
        what: &'static str,
    },
    /// The footer says it is longer than the file, or than what is read.
    #[error(
        "{location} claims a footer of {length} bytes, but {limit} is the most that {reason}; the \
         file is damaged: restore it"
    )]
    FooterLength {
        /// The file.
        location: String,
        /// The length it claims, in bytes.
        length: u64,
        /// The most it could be, in bytes.
        limit: u64,
        /// Where the limit comes from.
        reason: &'static str,
    },
    /// The footer is not what the format says.
    #[error("{location} has a damaged footer: {reason}; restore the file")]
    Malformed {
        /// The file.
        location: String,
        /// What was found, and what was expected.
        reason: String,
    },
    /// The bytes could not be read.
    #[error(transparent)]
    Storage(#[from] StorageError),
}
