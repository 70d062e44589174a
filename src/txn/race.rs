//! The commit loop: put the next version if absent, else look at who won and go on top of them.

use std::sync::Arc;

use super::TxnError;
use super::conflict::check;
use super::draft::Draft;
use super::find::winner_at;
use super::intent::Intent;
use super::options::CommitOptions;
use super::outcome::CommitOutcome;
use super::proposal::{IsolationLevel, Proposal};
use super::winner::{Detail, WinningCommit, WinningFile};
use crate::base::Version;
use crate::base::clock::{monotonic, sleep};
use crate::log::names::commit_name;
use crate::log::{LOG_DIR, LogError, log_path};
use crate::snapshot::{Generation, Snapshot};
use crate::storage::{Location, PutOutcome, StorageError, Store};

/// How often an answer is asked for again that a store failed to give.
const ASK_AGAIN: u32 = 3;

/// Answers for what was found in the log: it has to outlast a loss of power, also where whoever
/// wrote it has not got so far yet.
pub(super) fn settled(store: &dyn Store, found: CommitOutcome) -> Result<CommitOutcome, TxnError> {
    match (store.sync_dir(LOG_DIR), found) {
        (Ok(()), found) => Ok(found),
        (Err(source), CommitOutcome::Committed { version }) => {
            Ok(CommitOutcome::Unknown { version, source })
        }
        (Err(error), _) => Err(error.into()),
    }
}

/// What a put that failed left behind.
enum Aftermath {
    /// Somebody's commit file is there.
    Taken,
    /// Nothing is there.
    Absent,
    /// It cannot be told.
    Hidden,
}

/// What was read.
#[derive(Clone, Copy)]
pub(super) struct Base<'a> {
    pub(super) generation: &'a Generation,
    pub(super) snapshot: &'a Snapshot,
}

/// A proposal on its way into the log, among others.
pub(super) struct Race<'a> {
    store: &'a dyn Store,
    /// `None` where there was no table.
    read: Option<Base<'a>>,
    proposal: &'a Proposal,
    options: &'a CommitOptions,
    level: IsolationLevel,
    intent: Intent,
    draft: Draft<'a>,
    /// The newest version that is known and without conflict.
    base: Option<Version>,
}

impl<'a> Race<'a> {
    /// On top of what was read.
    pub(super) fn new(
        store: &'a dyn Store,
        proposal: &'a Proposal,
        options: &'a CommitOptions,
        level: IsolationLevel,
        read: Option<Base<'a>>,
    ) -> Result<Race<'a>, TxnError> {
        let snapshot = read.map(|base| base.snapshot);
        let metadata = snapshot.map(Snapshot::metadata);
        Ok(Race {
            intent: Intent::of(proposal, metadata)?,
            draft: Draft::new(proposal, options, level, snapshot)?,
            read,
            base: proposal.read_version,
            store,
            proposal,
            options,
            level,
        })
    }

    /// How much of winners has to be read.
    pub(super) fn detail(&self) -> Detail {
        self.intent.detail()
    }

    fn next(&self) -> Result<Version, TxnError> {
        match self.base {
            None => Ok(0),
            // Delta counts versions as signed longs.
            Some(version) if version < i64::MAX.unsigned_abs() => Ok(version + 1),
            Some(version) => Err(TxnError::NoMoreVersions { version }),
        }
    }

    /// Puts versions until one is ours, or that is not to be.
    pub(super) fn run(mut self) -> Result<CommitOutcome, TxnError> {
        let begin = monotonic();
        let mut attempts = 0;
        let mut failures = 0;
        // A put that failed and may still arrive: until somebody's commit has that name, what is
        // put there again is the same commit.
        let mut doubt = None;
        loop {
            let version = self.next()?;
            if attempts >= self.options.max_attempts || begin.elapsed() > self.options.deadline {
                return Ok(match doubt {
                    None => CommitOutcome::Retryable { attempts },
                    Some(source) => CommitOutcome::Unknown { version, source },
                });
            }
            attempts += 1;
            let path = log_path(&commit_name(version));
            let content = self.draft.encode(self.store, version)?;
            let may_be_ours = match self.store.put_if_absent(&path, content) {
                Ok(PutOutcome::Created) => return Ok(CommitOutcome::Committed { version }),
                // A client of an object store repeats requests by itself.
                Ok(PutOutcome::AlreadyExists) => !self.store.is_local() || doubt.is_some(),
                Err(source) if is_refusal(&source) && doubt.is_none() => {
                    return Err(TxnError::Put { version, source });
                }
                Err(source) => match self.aftermath(&path) {
                    Aftermath::Taken => true,
                    Aftermath::Absent if is_final(self.store, &source) && doubt.is_none() => {
                        return Err(TxnError::Put { version, source });
                    }
                    Aftermath::Absent if failures < ASK_AGAIN => {
                        failures += 1;
                        doubt = Some(source);
                        sleep(self.options.pause(failures));
                        continue;
                    }
                    Aftermath::Absent | Aftermath::Hidden => {
                        return Ok(CommitOutcome::Unknown { version, source });
                    }
                },
            };
            sleep(self.options.pause(attempts));
            if let Some(outcome) = self.lose(may_be_ours)? {
                return Ok(outcome);
            }
            // The version is another's.
            doubt = None;
        }
    }

    /// Whether anything is there after a put that failed.
    fn aftermath(&self, path: &str) -> Aftermath {
        let mut asked = 0;
        loop {
            asked += 1;
            match self.store.head(path) {
                Ok(_) => return Aftermath::Taken,
                Err(error) if error.is_not_found() => return Aftermath::Absent,
                Err(_) if asked > ASK_AGAIN => return Aftermath::Hidden,
                Err(_) => sleep(self.options.pause(asked)),
            }
        }
    }

    /// Looks at the commits behind the newest known one, the first of which is there. Where that
    /// one may be our own, one that cannot be read leaves the outcome unknown.
    pub(super) fn lose(&mut self, may_be_ours: bool) -> Result<Option<CommitOutcome>, TxnError> {
        let version = self.next()?;
        let detail = self.detail();
        let first = match winner_at(self.store, version, detail) {
            Ok(Some(first)) => first,
            Ok(None) if may_be_ours => {
                let location = log_path(&commit_name(version));
                let source = StorageError::NotFound { location };
                return Ok(Some(CommitOutcome::Unknown { version, source }));
            }
            Ok(None) => {
                return Err(TxnError::Occupied {
                    root: self.store.root().to_owned(),
                    path: log_path(&commit_name(version)),
                    version,
                });
            }
            Err(TxnError::Log(LogError::Storage(source))) if may_be_ours => {
                return Ok(Some(CommitOutcome::Unknown { version, source }));
            }
            Err(error) => return Err(error),
        };
        let mut winners = vec![first];
        if !winners[0].is_of(self.proposal.id) {
            let mut next = version + 1;
            while let Some(winner) = winner_at(self.store, next, detail)? {
                winners.push(winner);
                next += 1;
            }
        }
        self.pass(winners)
    }

    /// Goes on top of `winners`, or tells how the commit ended.
    pub(super) fn pass(
        &mut self,
        winners: Vec<WinningCommit>,
    ) -> Result<Option<CommitOutcome>, TxnError> {
        // Whether it is in the log already counts before any conflict: a put may have been done
        // and yet answered otherwise, or made by this very process before it was killed.
        for winner in &winners {
            if winner.is_of(self.proposal.id) {
                let version = winner.version;
                let outcome = CommitOutcome::Committed { version };
                return settled(self.store, outcome).map(Some);
            }
        }
        for winner in &winners {
            if self.intent.is_superseded_by(winner) {
                let version = Some(winner.version);
                let outcome = CommitOutcome::AlreadyApplied { version };
                return settled(self.store, outcome).map(Some);
            }
        }
        for mut winner in winners {
            if let Some(read) = self.read
                && self.intent.asks_for_partitions()
            {
                fill_in_partitions(read.generation, &mut winner);
            }
            if let Err(conflict) = check(&self.intent, &winner, self.level) {
                return Ok(Some(CommitOutcome::Conflicted(conflict)));
            }
            self.intent.pass(&winner);
            self.draft.pass(&winner)?;
            self.base = Some(winner.version);
        }
        Ok(None)
    }
}

/// A `remove` may come without partition values (`extendedFileMetadata`); the `add` of the file
/// tells them then. Where it is not known either, as for a file that another winner added, the
/// partition stays unknown.
fn fill_in_partitions(generation: &Generation, winner: &mut WinningCommit) {
    let without = |file: &&mut WinningFile| file.partition_values.is_none();
    for file in winner.removes.iter_mut().filter(without) {
        let location = file.key.location();
        let is_absolute = matches!(location, Location::Absolute(_));
        let files = generation.files();
        let mut known = files.with_path(location.as_str(), is_absolute);
        let Some(id) = known.next() else {
            continue;
        };
        let values = files.get(id).partition_values.iter();
        let owned = |text: &Arc<str>| text.as_ref().to_owned();
        file.partition_values = Some(
            values
                .map(|(column, value)| (owned(column), value.as_ref().map(owned)))
                .collect(),
        );
    }
}

/// Whether the store said that it did nothing, and never will.
fn is_refusal(error: &StorageError) -> bool {
    match error {
        StorageError::Unsupported { .. }
        | StorageError::Outside { .. }
        | StorageError::InvalidLocation { .. }
        | StorageError::UnknownOption { .. } => true,
        StorageError::NotFound { .. }
        | StorageError::PermissionDenied { .. }
        | StorageError::Full { .. }
        | StorageError::Io { .. }
        | StorageError::Remote { .. } => false,
    }
}

/// Whether a put that failed, and left nothing to see, cannot come to effect any more: the system
/// call is over, or the store understood and refused.
fn is_final(store: &dyn Store, error: &StorageError) -> bool {
    use std::io::ErrorKind;
    match error {
        StorageError::Unsupported { .. }
        | StorageError::Outside { .. }
        | StorageError::InvalidLocation { .. }
        | StorageError::UnknownOption { .. }
        | StorageError::NotFound { .. }
        | StorageError::PermissionDenied { .. }
        | StorageError::Full { .. } => true,
        // A network file system that gave up waiting may have sent the request all the same.
        StorageError::Io { source, .. } => {
            store.is_local()
                && !matches!(
                    source.kind(),
                    ErrorKind::TimedOut
                        | ErrorKind::StaleNetworkFileHandle
                        | ErrorKind::HostUnreachable
                        | ErrorKind::NetworkUnreachable
                        | ErrorKind::NetworkDown
                        | ErrorKind::NotConnected
                        | ErrorKind::ConnectionReset
                        | ErrorKind::ConnectionAborted
                )
        }
        StorageError::Remote { .. } => false,
    }
}
