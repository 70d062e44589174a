//! Looking for commits in the log.

use uuid::Uuid;

use super::TxnError;
use super::winner::{Detail, WinningCommit};
use crate::base::Version;
use crate::log::actions::SetTransaction;
use crate::log::history::read_commit_info;
use crate::log::listing::LogListing;
use crate::log::names::commit_name;
use crate::log::{LOG_DIR, LogError, log_path};
use crate::storage::Store;

/// Commit files fetched together.
const AT_ONCE: u64 = 16;

/// How far back the first batch of an application is looked for, commits.
const LOOK_BACK: usize = 4096;

/// The version that the transaction `id` was committed as, at or after `from`; `None` when it was
/// not: for whoever was killed, or answered [`Unknown`](super::CommitOutcome::Unknown), before it
/// knew. What is found outlasts a loss of power.
///
/// [`TxnError::LogCleaned`] where the log does not reach back to `from` any more, so that it cannot
/// be told.
pub fn find_commit(
    store: &dyn Store,
    from: Version,
    id: Uuid,
) -> Result<Option<Version>, TxnError> {
    let listing = match LogListing::read(store) {
        Ok(listing) => listing,
        Err(LogError::NotATable { .. }) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let mut expected = from;
    let commits = listing.commits();
    for version in &commits[commits.partition_point(|version| *version < from)..] {
        if *version != expected {
            break;
        }
        let info = match read_commit_info(store, *version) {
            Ok(info) => info,
            Err(LogError::Storage(error)) if error.is_not_found() => break,
            Err(error) => return Err(error.into()),
        };
        let is_it = (info.get("txnId"))
            .and_then(|value| value.as_str())
            .and_then(|text| Uuid::try_parse(text).ok())
            == Some(id);
        if is_it {
            store.sync_dir(LOG_DIR)?;
            return Ok(Some(*version));
        }
        expected += 1;
    }
    if listing.newest().is_some_and(|newest| newest >= expected) {
        return Err(TxnError::LogCleaned {
            read: from,
            missing: expected,
        });
    }
    Ok(None)
}

/// The commits behind `base` up to `newest`, all of which were seen to be there.
pub(super) fn winners_between(
    store: &dyn Store,
    base: Version,
    newest: Version,
    detail: Detail,
) -> Result<Vec<WinningCommit>, TxnError> {
    let mut winners = Vec::new();
    let mut next = base + 1;
    while next <= newest {
        let last = newest.min(next.saturating_add(AT_ONCE - 1));
        let paths: Vec<String> = (next..=last).map(|v| log_path(&commit_name(v))).collect();
        let contents = store.get_many(&paths);
        for ((version, path), content) in (next..=last).zip(&paths).zip(contents) {
            let content = content.map_err(|error| match error.is_not_found() {
                true => TxnError::LogCleaned {
                    read: base,
                    missing: version,
                },
                false => error.into(),
            })?;
            winners.push(WinningCommit::parse(version, path, &content, detail)?);
        }
        next = last + 1;
    }
    Ok(winners)
}

/// The commit of a version, where there is one.
pub(super) fn winner_at(
    store: &dyn Store,
    version: Version,
    detail: Detail,
) -> Result<Option<WinningCommit>, TxnError> {
    let path = log_path(&commit_name(version));
    match store.get(&path) {
        Ok(content) => Ok(Some(WinningCommit::parse(
            version, &path, &content, detail,
        )?)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The first version by which the table had the batch `mine` of an application, which `read` has;
/// `None` where the log does not tell any more, or it is more than [`LOOK_BACK`] commits ago.
pub(super) fn first_of_application(
    store: &dyn Store,
    listing: &LogListing,
    read: Version,
    mine: &SetTransaction,
) -> Result<Option<Version>, TxnError> {
    let commits = listing.commits();
    let commits = &commits[..commits.partition_point(|version| *version <= read)];
    let mut found = None;
    let oldest = commits.len().saturating_sub(LOOK_BACK);
    for chunk in commits[oldest..].rchunks(AT_ONCE as usize) {
        let paths: Vec<String> = chunk.iter().map(|v| log_path(&commit_name(*v))).collect();
        let contents = store.get_many(&paths);
        for ((version, path), content) in chunk.iter().zip(&paths).zip(contents).rev() {
            let content = match content {
                Ok(content) => content,
                Err(error) if error.is_not_found() => return Ok(found),
                Err(error) => return Err(error.into()),
            };
            // A look at the bytes spares parsing most commits.
            if memchr::memmem::find(&content, b"\"txn\"").is_none() {
                continue;
            }
            let commit = WinningCommit::parse(*version, path, &content, Detail::WithoutFiles)?;
            let of_it = |txn: &&SetTransaction| txn.app_id == mine.app_id;
            match commit.transactions.iter().rev().find(of_it) {
                Some(txn) if txn.version >= mine.version => found = Some(*version),
                // The batch came right behind this one.
                Some(_) => return Ok(found),
                None => {}
            }
        }
    }
    Ok(found)
}
