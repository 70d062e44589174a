//! `.status`: how a transaction stands, as JSON.

use serde::Serialize;

use super::StagingError;
use super::record::{Failure, Record, State};
use crate::base::Version;

/// The name of the file, in the directory of a transaction. It is made when it is read.
pub const STATUS: &str = ".status";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Status<'a> {
    state: &'static str,
    name: &'a str,
    read_version: Version,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<Version>,
    /// With `version`: that an earlier commit of the same `txnAppId` and `txnVersion` made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    already_applied: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a Failure>,
}

/// The content of `.status`. `unresolved` is why nothing tells how the last commit went.
pub(super) fn status(record: &Record, committing: bool, unresolved: Option<&Failure>) -> Vec<u8> {
    let mut status = Status {
        state: "open",
        name: &record.name,
        read_version: record.read_version,
        version: None,
        already_applied: None,
        error: None,
    };
    match &record.state {
        _ if committing => status.state = "committing",
        State::Open => {}
        State::Committing { .. } => {
            status.state = "failed";
            status.error = unresolved;
        }
        State::Committed { version, id, .. } => {
            status.state = "committed";
            status.version = Some(*version);
            status.already_applied = id.is_none().then_some(true);
        }
        State::Failed { failure } => {
            status.state = "failed";
            status.error = Some(failure);
        }
    }
    let mut text = serde_json::to_vec_pretty(&status).expect("texts and numbers are JSON");
    text.push(b'\n');
    text
}

impl StagingError {
    /// Delta's name for what went wrong, without "Exception"; ours, where Delta has none.
    pub fn delta_name(&self) -> String {
        let name = match self {
            StagingError::Conflict(conflict) => return conflict.name().to_owned(),
            StagingError::Intake(error) => return error.delta_name().to_owned(),
            StagingError::NotWritable { .. } => "NotWritable",
            StagingError::Exists { .. } => "TransactionExists",
            StagingError::NoTransaction { .. } => "NoTransaction",
            StagingError::BadName { .. } => "InvalidName",
            StagingError::NotEmpty { .. } => "TransactionNotEmpty",
            StagingError::Committing { .. } => "TransactionCommitting",
            StagingError::Committed { .. } => "TransactionCommitted",
            StagingError::NoMarker | StagingError::BadMarker { .. } => "InvalidMarker",
            StagingError::BadOption { .. } => "InvalidOption",
            StagingError::NoSuchFile { .. } => "FileNotFound",
            StagingError::NotADataFile { .. } => "UnexpectedFile",
            StagingError::Nothing { .. } => "NothingStaged",
            StagingError::AppendOnly { .. } => "ModifyAppendOnlyTable",
            StagingError::Unsupported { .. } => "UnsupportedOperation",
            StagingError::RowsChange { .. } => "RowsChanged",
            StagingError::OtherTable { .. } => "MetadataChanged",
            StagingError::Changed { .. } => "FileChanged",
            StagingError::Retryable { .. } => "MaxCommitRetriesExceeded",
            StagingError::Unknown { .. } => "CommitStateUnknown",
            StagingError::BadRecord { .. } => "InvalidRecord",
            StagingError::Interrupted => "CommitInterrupted",
            StagingError::Protocol(_) => "UnsupportedTableFeature",
            StagingError::Txn(_) => "CommitFailed",
            StagingError::Snapshot(_) | StagingError::Version(_) => "TableUnreadable",
            StagingError::Storage(_) | StagingError::Posix(_) => "StorageFailed",
        };
        name.to_owned()
    }

    /// What is remembered of it, and told by `.status`.
    pub(super) fn to_failure(&self, errno: i32) -> Failure {
        let mut failure = Failure {
            name: self.delta_name(),
            message: with_sources(self),
            errno,
            file: None,
            column: None,
            row: None,
            constraint: None,
        };
        match self {
            StagingError::Intake(error) => {
                failure.file = error.file().map(str::to_owned);
                failure.column = error.column().map(str::to_owned);
                failure.row = error.row();
                failure.constraint = error.demand();
            }
            StagingError::NotADataFile { file, .. } | StagingError::Changed { file } => {
                failure.file = Some(file.clone());
            }
            _ => {}
        }
        failure
    }
}

/// An error with what is below it.
fn with_sources(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let more = error.to_string();
        // Transparent errors say the same again.
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        source = error.source();
    }
    text
}
