//! What can be wrong with a log.

use crate::base::Version;
use crate::storage::StorageError;

/// An error of the log floor. `file` is a path relative to the table root.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// There is no log.
    #[error(
        "{root} is not a Delta table: expected a {dir}/ directory with commit files \
         (00000000000000000000.json, ...) or a checkpoint, found {found}; check the path",
        dir = super::LOG_DIR
    )]
    NotATable {
        /// The table root.
        root: String,
        /// What was there instead.
        found: String,
    },
    /// A version that the log cannot rebuild because it was cleaned up, or that does not exist yet.
    #[error("version {version} does not exist: {reason}")]
    VersionNotFound {
        /// The version asked for.
        version: Version,
        /// What the log can rebuild.
        reason: String,
    },
    /// Commit files are missing between others.
    #[error(
        "the log has a gap: to build version {version}, {missing} is needed and not there \
         (found versions {found}); restore the file from a backup, or read a version before the gap"
    )]
    Gap {
        /// The version asked for.
        version: Version,
        /// The name of the first missing commit file.
        missing: String,
        /// The ranges of versions that are there.
        found: String,
    },
    /// A commit file without any action.
    #[error(
        "{file} is empty: expected one JSON action a line; a writer was probably interrupted: \
         restore the file, or, if it is the newest version and no writer runs, remove it"
    )]
    EmptyCommit {
        /// The commit file.
        file: String,
    },
    /// A line that is no action.
    #[error("{file} line {line}: expected one JSON action, found {found}: {reason}; {}", advice(.truncated))]
    BadLine {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// The beginning of the line.
        found: String,
        /// What the parser said.
        reason: String,
        /// Whether the line ends in the middle of the JSON value.
        truncated: bool,
    },
    /// An action that breaks a rule of the protocol.
    #[error("{file}: {action} action: {problem}")]
    BadAction {
        /// The file, with the line or row where known.
        file: String,
        /// The action's name in the log.
        action: &'static str,
        /// What was found and what was expected.
        problem: String,
    },
    /// A checkpoint that cannot be read.
    #[error("checkpoint {file}: {problem}")]
    BadCheckpoint {
        /// The checkpoint file.
        file: String,
        /// What was found and what was expected.
        problem: String,
    },
    /// A checkpoint that was read whole and yet is none.
    #[error(
        "checkpoint {file} has no {action} action, though every checkpoint must hold one: whoever \
         wrote it worked from a broken state, so nothing at or after this version can be trusted; \
         remove the checkpoint if the commit files before it are good"
    )]
    CheckpointWithout {
        /// The checkpoint file.
        file: String,
        /// `protocol` or `metaData`.
        action: &'static str,
    },
    /// No checkpoint of several could be read, and the commit files alone do not reach back.
    #[error(
        "version {version} cannot be built: {first}; no older checkpoint and no complete run of \
         commit files from version 0 can stand in for it"
    )]
    NoUsableCheckpoint {
        /// The version asked for.
        version: Version,
        /// Why the newest checkpoint failed.
        #[source]
        first: Box<LogError>,
    },
    /// A time before the first or after the last version.
    #[error("no version at {asked}: {reason}")]
    NoVersionAtTime {
        /// The time asked for.
        asked: String,
        /// The times that the table covers.
        reason: String,
    },
    /// Stored bytes could not be had.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

fn advice(truncated: &bool) -> &'static str {
    if *truncated {
        "the line is cut off: a copy or a writer was interrupted; restore the file"
    } else {
        "the file is damaged: restore it from a backup"
    }
}

impl LogError {
    /// [`LogError::BadLine`] for the line at `index`, from 0, that holds `line`.
    pub fn bad_line(file: &str, index: usize, line: &[u8], error: &serde_json::Error) -> LogError {
        const SHOWN: usize = 60;
        let text = String::from_utf8_lossy(&line[..line.len().min(4 * SHOWN)]);
        let mut found: String = text.chars().take(SHOWN).collect();
        if found.len() < line.len() {
            found.push('…');
        }
        LogError::BadLine {
            file: file.to_owned(),
            line: index + 1,
            found,
            reason: error.to_string(),
            truncated: error.is_eof(),
        }
    }

    /// Whether another checkpoint or a replay of commit files may give what this one could not.
    pub fn is_checkpoint_fault(&self) -> bool {
        match self {
            LogError::BadCheckpoint { .. } => true,
            LogError::Storage(
                StorageError::NotFound { .. }
                | StorageError::Outside { .. }
                | StorageError::Unsupported { .. },
            ) => true,
            LogError::Storage(_) => false,
            LogError::NotATable { .. }
            | LogError::VersionNotFound { .. }
            | LogError::Gap { .. }
            | LogError::EmptyCommit { .. }
            | LogError::BadLine { .. }
            | LogError::BadAction { .. }
            | LogError::CheckpointWithout { .. }
            | LogError::NoUsableCheckpoint { .. }
            | LogError::NoVersionAtTime { .. } => false,
        }
    }
}
