//! What can keep a checkpoint from being written.

use crate::log::LogError;
use crate::storage::StorageError;

/// An error of writing a checkpoint. `file` is a path relative to the table root.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// What the checkpoint is made from cannot be read, or what was made not be stored.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The actions cannot be put into a Parquet file.
    #[error("checkpoint {file} cannot be written: {problem}")]
    Encoding {
        /// The file that was to be written.
        file: String,
        /// What the encoder said.
        problem: String,
    },
    /// What was written does not say what the version is.
    #[error(
        "checkpoint {file} was not kept: read back, it differs from the version it stands for: \
         {problem}; the commit is not affected, and readers go on from the checkpoint before"
    )]
    Differs {
        /// The file that was written.
        file: String,
        /// What was found and what was expected.
        problem: String,
    },
    /// Another writer has put a good checkpoint in the place of the one just written.
    #[error("checkpoint {file} was replaced by that of another writer, which is as good")]
    Replaced {
        /// The file.
        file: String,
    },
}

impl From<StorageError> for WriteError {
    fn from(error: StorageError) -> WriteError {
        WriteError::Log(LogError::Storage(error))
    }
}
