//! In-commit timestamps (PROTOCOL.md, "In-Commit Timestamps").

use super::TxnError;
use crate::base::Version;
use crate::base::clock::TimestampMs;
use crate::log::LogError;
use crate::log::actions::Metadata;
use crate::log::checksum::read_checksum;
use crate::log::history::read_in_commit_timestamp;
use crate::log::log_path;
use crate::log::names::commit_name;
use crate::storage::Store;

/// When a version was committed: by its own word, or, as before the table had in-commit
/// timestamps, by the modification time of its commit file. Where that file was cleaned up, its
/// checksum file may tell.
pub(super) fn of_commit(store: &dyn Store, version: Version) -> Result<TimestampMs, TxnError> {
    match read_in_commit_timestamp(store, version) {
        Ok(Some(time)) => return Ok(time),
        Ok(None) => match store.head(&log_path(&commit_name(version))) {
            Ok(meta) => return Ok(meta.modified),
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(error.into()),
        },
        Err(LogError::Storage(error)) if error.is_not_found() => {}
        Err(error) => return Err(error.into()),
    }
    let checksum = read_checksum(store, version);
    checksum
        .and_then(|checksum| checksum.in_commit_timestamp)
        .ok_or_else(|| TxnError::CommitTime {
            version,
            problem: format!(
                "the table has in-commit timestamps, so that of the next version must be larger \
                 than this one's, which cannot be told: {} is gone and no checksum file stands in \
                 for it; restore one of them",
                commit_name(version)
            ),
        })
}

/// Metadata by which commits carry their own time from `version` on.
pub(super) fn enabled_at(mut metadata: Metadata, version: Version, time: TimestampMs) -> Metadata {
    for (property, value) in [
        (
            "delta.inCommitTimestampEnablementVersion",
            version.to_string(),
        ),
        (
            "delta.inCommitTimestampEnablementTimestamp",
            time.to_string(),
        ),
    ] {
        metadata.configuration.insert(property.to_owned(), value);
    }
    metadata
}
