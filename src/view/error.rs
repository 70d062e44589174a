//! What cannot be presented, and arguments that name no way to present.

use super::Mismatch;
use crate::log::deletion_vector::DeletionVectorError;
use crate::parquet::ParquetError;
use crate::storage::StorageError;

/// An error of the view floor.
#[derive(Debug, thiserror::Error)]
pub enum ViewError {
    /// A value of `--layout` that is none.
    #[error("{found:?} is no layout: expected flat or hive")]
    UnknownLayout {
        /// What was given.
        found: String,
    },
    /// A value of `--view` that is none.
    #[error("{found:?} is no view: expected logical or raw")]
    UnknownView {
        /// What was given.
        found: String,
    },
    /// A partition column whose name readers of Hive directories would not see as it is.
    #[error(
        "partition column {column:?} cannot be shown as a directory name: {reason}; mount with \
         --layout flat"
    )]
    HiveColumn {
        /// The column.
        column: String,
        /// What readers make of it.
        reason: &'static str,
    },
    /// A partition value that readers of Hive directories would not see as it is.
    #[error(
        "value {value:?} of partition column {column:?} cannot be shown as a directory name: \
         {reason}; mount with --layout flat"
    )]
    HiveValue {
        /// The column.
        column: String,
        /// The value, cut where it is long.
        value: String,
        /// What readers make of it.
        reason: &'static str,
    },
    /// The deletion vector of the file cannot be read.
    #[error(transparent)]
    DeletionVector(#[from] DeletionVectorError),
    /// The file's columns cannot be shown as the table's.
    #[error(
        "{path} cannot be shown with the table's columns: {mismatch}; mount with --view raw to have \
         its own bytes"
    )]
    Mismatch {
        /// The data file.
        path: String,
        /// The first column in the way.
        mismatch: Mismatch,
    },
    /// The cache gave back something else than was put into it.
    #[error(
        "what was made of {path} came back from the cache directory changed: check its disk, or give \
         another --cache-dir"
    )]
    Cache {
        /// The data file.
        path: String,
    },
    /// The file is not as long as the log says.
    #[error(
        "{path} is {found} bytes long, the log says {expected}: the file was cut off or replaced; \
         restore it from a backup"
    )]
    WrongSize {
        /// The data file.
        path: String,
        /// Its size.
        found: u64,
        /// `add.size`.
        expected: u64,
    },
    /// The file is no Parquet file that can be read.
    #[error(transparent)]
    Parquet(#[from] ParquetError),
    /// The file is gone.
    #[error(
        "{path} is live in this version but no longer there: VACUUM or somebody else removed it; \
         read a newer version, or restore the file"
    )]
    Missing {
        /// The data file.
        path: String,
    },
    /// The file's bytes cannot be had.
    #[error(transparent)]
    Storage(#[from] StorageError),
}
