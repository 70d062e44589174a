//! Committing to a table, and creating one.

use super::conflict::Conflict;
use super::find::{first_of_application, winners_between};
use super::options::CommitOptions;
use super::outcome::CommitOutcome;
use super::proposal::{IsolationLevel, Proposal};
use super::race::{Base, Race, settled};
use super::{TxnError, validate};
use crate::log::LogError;
use crate::log::listing::LogListing;
use crate::protocol::ProtocolError;
use crate::snapshot::{Snapshot, Table};
use crate::storage::Store;

/// Commits a proposal to a table; see the [module](super) for what holds when.
///
/// What is proposed is taken for valid data of the read version: that rows, names and types are
/// right, and that every rule of the table is kept, is for the caller to see to. Nothing but the
/// commit file is written.
pub fn commit(
    table: &Table,
    proposal: &Proposal,
    options: &CommitOptions,
) -> Result<CommitOutcome, TxnError> {
    let generation = table.refresh()?;
    let store = &**generation.roots().table();
    let Some(read) = proposal.read_version else {
        return create(store, proposal, options);
    };
    let snapshot = generation.snapshot(read)?;
    if let Some(expected) = &proposal.table_id
        && *expected != snapshot.metadata().id
    {
        return Err(TxnError::OtherTable {
            root: store.root().to_owned(),
            expected: expected.clone(),
            found: snapshot.metadata().id.clone(),
        });
    }
    if let Some(mine) = &proposal.transaction
        && let Some(there) = snapshot.transactions().get(&mine.app_id)
        && there.version >= mine.version
    {
        let version = first_of_application(store, &generation.listing(), read, mine)?;
        return settled(store, CommitOutcome::AlreadyApplied { version });
    }
    validate::changes(proposal, &generation, &snapshot)?;
    let base = Base {
        generation: &generation,
        snapshot: &snapshot,
    };
    let level = level(proposal, Some(&snapshot))?;
    let mut race = Race::new(store, proposal, options, level, Some(base))?;
    let newest = generation.newest();
    if newest > read {
        let winners = winners_between(store, read, newest, race.detail())?;
        if let Some(outcome) = race.pass(winners)? {
            return Ok(outcome);
        }
    }
    race.run()
}

/// Creates a table in `store`, which holds none: puts version 0 if absent. The proposal has no read
/// version, and both a protocol and metadata.
///
/// A table that is there already, or is made meanwhile, is a [`Conflict::TableCreated`].
pub fn create(
    store: &dyn Store,
    proposal: &Proposal,
    options: &CommitOptions,
) -> Result<CommitOutcome, TxnError> {
    validate::creation(proposal)?;
    let level = level(proposal, None)?;
    let mut race = Race::new(store, proposal, options, level, None)?;
    // Version 0 may have been cleaned up.
    match LogListing::read(store) {
        Err(LogError::NotATable { .. }) => {}
        Err(error) => return Err(error.into()),
        Ok(listing) if listing.has_commit(0) => {
            if let Some(outcome) = race.lose(false)? {
                return Ok(outcome);
            }
        }
        Ok(listing) => {
            return Ok(CommitOutcome::Conflicted(Conflict::TableCreated {
                version: listing.newest().unwrap_or(0),
                operation: "an operation that the log does not tell any more".to_owned(),
            }));
        }
    }
    race.run()
}

/// The isolation level of a proposal.
fn level(proposal: &Proposal, read: Option<&Snapshot>) -> Result<IsolationLevel, TxnError> {
    const PROPERTY: &str = "delta.isolationLevel";
    if proposal.only_rearranges() {
        return Ok(IsolationLevel::SnapshotIsolation);
    }
    match proposal.isolation {
        Some(IsolationLevel::SnapshotIsolation) => {
            return Err(TxnError::Invalid {
                problem: "it changes the table and asks for snapshot isolation, which is only for \
                          commits all of whose actions say dataChange: false; ask for \
                          Serializable or WriteSerializable"
                    .to_owned(),
            });
        }
        Some(level) => return Ok(level),
        None => {}
    }
    let property = |read: &Snapshot| read.metadata().configuration.get(PROPERTY).cloned();
    let Some(value) = read.and_then(property) else {
        return Ok(IsolationLevel::WriteSerializable);
    };
    match IsolationLevel::parse(&value) {
        Some(level) if level != IsolationLevel::SnapshotIsolation => Ok(level),
        _ => Err(ProtocolError::Property {
            property: PROPERTY,
            found: value,
            expected: "Serializable or WriteSerializable",
        }
        .into()),
    }
}
