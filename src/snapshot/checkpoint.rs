//! What is written after a commit, for the benefit of readers: the version checksum, and, when it
//! is due, a checkpoint. Neither is needed for the commit to stand, so neither can make it fail.

mod choice;
mod error;

use std::sync::Arc;

use self::choice::Choice;
use super::{Generation, Snapshot};
use crate::base::Version;
use crate::base::clock::now_ms;
use crate::log::actions::SetTransaction;
use crate::log::checkpoint::write::{
    self, CheckpointForm, CheckpointSources, NewCheckpoint, WriteError, WrittenCheckpoint,
};
use crate::log::checksum::{NewChecksum, write_checksum};
use crate::log::last_checkpoint::point_to;
use crate::log::listing::CheckpointFiles;
use crate::protocol::{CheckpointSettings, in_commit_timestamps};
use crate::storage::PutOutcome;

pub use error::CheckpointError;

/// How many `txn` and `domainMetadata` actions a version checksum repeats at most; with more of
/// them it leaves them out, so that it stays small.
const ACTIONS_IN_CHECKSUM: usize = 100;

/// What [`after_commit`] did.
#[derive(Debug)]
#[must_use]
pub struct AfterCommit {
    /// Whether `N.crc` was written, or was there.
    pub checksum: Result<PutOutcome, CheckpointError>,
    /// The checkpoint, when one was due.
    pub checkpoint: Option<Result<CheckpointReport, CheckpointError>>,
}

/// A checkpoint that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckpointReport {
    /// The version.
    pub version: Version,
    /// Its files and what they hold.
    pub written: WrittenCheckpoint,
    /// Whether `_last_checkpoint` points to it now: not when it pointed to a newer one.
    pub pointed_to: bool,
}

/// Writes what readers like to find after the commit of `version`: its version checksum, and a
/// checkpoint where `delta.checkpointInterval` says so and there is none.
///
/// The commit stands whatever comes of this: problems are logged, and told in the result.
pub fn after_commit(generation: &Generation, version: Version) -> AfterCommit {
    let checksum = generation
        .snapshot(version)
        .map_err(CheckpointError::from)
        .and_then(|snapshot| checksum(generation, &snapshot));
    if let Err(error) = &checksum {
        tracing::warn!(version, %error, "the version checksum was not written");
    }
    let checkpoint = match is_due(generation, version) {
        Ok(false) => None,
        Ok(true) => Some(write_checkpoint(generation, version)),
        Err(error) => Some(Err(error)),
    };
    match &checkpoint {
        Some(Ok(report)) => tracing::debug!(
            version,
            file = %report.written.file.path,
            adds = report.written.adds,
            removes = report.written.removes,
            "checkpoint written"
        ),
        Some(Err(error)) => tracing::warn!(version, %error, "the checkpoint was not written"),
        None => {}
    }
    AfterCommit {
        checksum,
        checkpoint,
    }
}

fn settings(snapshot: &Snapshot) -> Result<CheckpointSettings, CheckpointError> {
    CheckpointSettings::of(snapshot.protocol(), snapshot.metadata()).map_err(|source| {
        CheckpointError::Settings {
            version: snapshot.version(),
            source,
        }
    })
}

fn is_due(generation: &Generation, version: Version) -> Result<bool, CheckpointError> {
    if version == 0 || generation.listing().has_checkpoint(version) {
        return Ok(false);
    }
    let snapshot = generation.snapshot(version)?;
    Ok(version.is_multiple_of(settings(&snapshot)?.interval))
}

/// Writes a checkpoint of `version` in the form that the table's properties ask for (PROTOCOL.md,
/// "Checkpoints"), and points `_last_checkpoint` to it, unless that points to a newer one.
///
/// The checkpoint has been read back and compared with the version before the pointer is touched.
/// On an error nothing of it is left, unless the store failed at that too; a good one of another
/// writer is [`WriteError::Replaced`].
pub fn write_checkpoint(
    generation: &Generation,
    version: Version,
) -> Result<CheckpointReport, CheckpointError> {
    let snapshot = generation.snapshot(version)?;
    let shape = snapshot
        .readable()
        .map_err(|source| CheckpointError::NotReadable { version, source })?;
    let settings = settings(&snapshot)?;
    let now = now_ms();
    let new = NewCheckpoint {
        version,
        form: settings.form,
        codec: settings.codec,
        pages: settings.pages,
        stats_as_json: settings.stats_as_json,
        stats_as_struct: settings
            .stats_as_struct
            .then_some((&shape.schema, shape.mapping)),
        protocol: snapshot.protocol(),
        metadata: snapshot.metadata(),
        transactions: kept_transactions(&snapshot, &settings, now),
        domains: snapshot.domains().values().cloned().collect(),
    };
    let oldest_tombstone = now.saturating_sub(settings.tombstone_retention);
    let written = from_log(generation, &snapshot, &new, oldest_tombstone)?;
    let name = written.file.name().to_owned();
    generation.push_checkpoint(
        version,
        match new.form {
            CheckpointForm::Classic => CheckpointFiles::Classic(name),
            CheckpointForm::V2 => CheckpointFiles::UuidParquet(name),
        },
    );
    let store = &**generation.roots().table();
    let pointed_to = point_to(store, version, &written)?;
    Ok(CheckpointReport {
        version,
        written,
        pointed_to,
    })
}

/// Tries the ways to come by the actions of the version, best first.
fn from_log(
    generation: &Generation,
    snapshot: &Arc<Snapshot>,
    new: &NewCheckpoint<'_>,
    oldest_tombstone: i64,
) -> Result<WrittenCheckpoint, CheckpointError> {
    let listing = generation.listing();
    let store = &**generation.roots().table();
    let mut first_fault = None;
    for segment in listing.segments(new.version)? {
        let start = segment.checkpoint_version().map_or(0, |at| at + 1);
        let sources = CheckpointSources {
            checkpoint: segment.checkpoint,
            commits: start..new.version + 1,
        };
        let mut choice = Choice::new(generation, snapshot, &sources, oldest_tombstone);
        match write::write_checkpoint(store, new, &sources, &mut choice) {
            Err(WriteError::Log(error)) if error.is_checkpoint_fault() => {
                tracing::warn!(
                    version = new.version,
                    %error,
                    "a checkpoint cannot be built upon; trying another way"
                );
                first_fault.get_or_insert(error);
            }
            other => return Ok(other?),
        }
    }
    Err(match first_fault {
        Some(error) => error.into(),
        None => CheckpointError::NoSources {
            version: new.version,
        },
    })
}

/// The `txn` actions that are young enough. One that does not say when it was made is kept.
fn kept_transactions(
    snapshot: &Snapshot,
    settings: &CheckpointSettings,
    now: i64,
) -> Vec<SetTransaction> {
    let oldest = settings
        .transaction_retention
        .map(|retention| now.saturating_sub(retention));
    let is_kept = |txn: &&SetTransaction| match (oldest, txn.last_updated) {
        (Some(oldest), Some(updated)) => updated > oldest,
        _ => true,
    };
    let transactions = snapshot.transactions().values();
    transactions.filter(is_kept).cloned().collect()
}

/// Writes `N.crc` (PROTOCOL.md, "Version Checksum File"), unless there is one.
fn checksum(generation: &Generation, snapshot: &Snapshot) -> Result<PutOutcome, CheckpointError> {
    let version = snapshot.version();
    let info = generation.commit_info(version)?;
    let enabled = in_commit_timestamps(snapshot.metadata())
        .map_err(|source| CheckpointError::Settings { version, source })?;
    let timestamp = match enabled {
        None => None,
        Some(_) => {
            let found = info
                .get("inCommitTimestamp")
                .and_then(|found| found.as_i64());
            Some(found.ok_or(CheckpointError::NoInCommitTimestamp { version })?)
        }
    };
    let checksum = NewChecksum {
        txn_id: info.get("txnId").and_then(|id| id.as_str()),
        table_size_bytes: generation.size_of(snapshot),
        num_files: snapshot.files().len(),
        in_commit_timestamp: timestamp,
        transactions: few(snapshot.transactions().values()),
        domains: few(snapshot.domains().values()),
        metadata: snapshot.metadata(),
        protocol: snapshot.protocol(),
    };
    let store = &**generation.roots().table();
    Ok(write_checksum(store, version, &checksum)?)
}

fn few<T>(actions: impl ExactSizeIterator<Item = T>) -> Option<Vec<T>> {
    (actions.len() <= ACTIONS_IN_CHECKSUM).then(|| actions.collect())
}
