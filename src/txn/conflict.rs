//! Whether a winning commit changed what another one depends on: the checks of Delta on Spark's
//! ConflictChecker, in its order.

use super::intent::Intent;
use super::proposal::IsolationLevel;
use super::winner::{WinningCommit, WinningFile};
use crate::base::Version;

/// A conflict: Delta's name of it without "Exception", the winning version and what it changed.
/// Each message ends with what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Conflict {
    /// The winner made the table.
    #[error(
        "ProtocolChanged: the table was created meanwhile by {operation} (version {version}), and \
         this commit was to create it; open it and append to it, or choose another place"
    )]
    TableCreated {
        /// The winning version.
        version: Version,
        /// The winner's operation.
        operation: String,
    },
    /// The winner changed the protocol.
    #[error(
        "ProtocolChanged: version {version} ({operation}) changed the protocol of the table, which \
         this commit was prepared for; begin again from version {version}"
    )]
    ProtocolChanged {
        /// The winning version.
        version: Version,
        /// The winner's operation.
        operation: String,
    },
    /// The winner changed the metadata.
    #[error(
        "MetadataChanged: version {version} ({operation}) changed the schema, the partitioning or \
         the properties of the table, which this commit was prepared for; begin again from version \
         {version}"
    )]
    MetadataChanged {
        /// The winning version.
        version: Version,
        /// The winner's operation.
        operation: String,
    },
    /// The winner added a file to what was read.
    #[error(
        "ConcurrentAppend: version {version} ({operation}) added {file} to {place}, which this \
         commit had read; begin again from version {version}"
    )]
    ConcurrentAppend {
        /// The winning version.
        version: Version,
        /// The winner's operation.
        operation: String,
        /// The file it added.
        file: String,
        /// `partition col=value` or `the table`.
        place: String,
    },
    /// The winner removed a file that was read.
    #[error(
        "ConcurrentDeleteRead: version {version} ({operation}) removed {file} from {place}, which \
         this commit had read; begin again from version {version}"
    )]
    ConcurrentDeleteRead {
        /// The winning version.
        version: Version,
        /// The winner's operation.
        operation: String,
        /// The file it removed.
        file: String,
        /// `partition col=value` or `the table`.
        place: String,
    },
    /// The winner removed a file that is to be removed.
    #[error(
        "ConcurrentDeleteDelete: version {version} ({operation}) removed {file} from {place}, \
         which this commit removes too; begin again from version {version}"
    )]
    ConcurrentDeleteDelete {
        /// The winning version.
        version: Version,
        /// The winner's operation.
        operation: String,
        /// The file it removed.
        file: String,
        /// `partition col=value` or `the table`.
        place: String,
    },
    /// The winner is of the same application.
    #[error(
        "ConcurrentTransaction: version {version} ({operation}) brought batch {theirs} of the \
         application {app_id:?}, of which this commit brings another one; let only one instance of \
         the application run, and go on behind its newest batch"
    )]
    ConcurrentTransaction {
        /// The winning version.
        version: Version,
        /// The winner's operation.
        operation: String,
        /// `txn.appId`.
        app_id: String,
        /// The winner's `txn.version`.
        theirs: i64,
    },
    /// The winner set the same metadata domain, which Delta calls a concurrent transaction.
    #[error(
        "ConcurrentTransaction: version {version} ({operation}) set the metadata domain \
         {domain:?}, which this commit sets too; begin again from version {version}"
    )]
    DomainChanged {
        /// The winning version.
        version: Version,
        /// The winner's operation.
        operation: String,
        /// `domainMetadata.domain`.
        domain: String,
    },
}

impl Conflict {
    /// Delta's name of the exception, without "Exception".
    pub fn name(&self) -> &'static str {
        match self {
            Conflict::TableCreated { .. } | Conflict::ProtocolChanged { .. } => "ProtocolChanged",
            Conflict::MetadataChanged { .. } => "MetadataChanged",
            Conflict::ConcurrentAppend { .. } => "ConcurrentAppend",
            Conflict::ConcurrentDeleteRead { .. } => "ConcurrentDeleteRead",
            Conflict::ConcurrentDeleteDelete { .. } => "ConcurrentDeleteDelete",
            Conflict::ConcurrentTransaction { .. } | Conflict::DomainChanged { .. } => {
                "ConcurrentTransaction"
            }
        }
    }

    /// The winning version.
    pub fn version(&self) -> Version {
        match self {
            Conflict::TableCreated { version, .. }
            | Conflict::ProtocolChanged { version, .. }
            | Conflict::MetadataChanged { version, .. }
            | Conflict::ConcurrentAppend { version, .. }
            | Conflict::ConcurrentDeleteRead { version, .. }
            | Conflict::ConcurrentDeleteDelete { version, .. }
            | Conflict::ConcurrentTransaction { version, .. }
            | Conflict::DomainChanged { version, .. } => *version,
        }
    }
}

/// Whether `winner` leaves `mine` as it would have been had it begun after `winner`.
///
/// `winner` must be the commit right behind the last one checked, read with
/// [`Intent::detail`]. Each winner changes what the next one is checked against:
/// [`Intent::pass`] it.
///
/// Stricter than Delta on Spark: any change of the protocol or the metadata conflicts. Less strict,
/// where that is as safe: a winner that [only rearranges](WinningCommit::only_rearranges) rows
/// changed nothing that was read, so that it conflicts only where it removed a file that is to be
/// removed; and under [`IsolationLevel::SnapshotIsolation`] nothing but that conflicts at all.
pub fn check(mine: &Intent, winner: &WinningCommit, level: IsolationLevel) -> Result<(), Conflict> {
    check_definition(mine, winner)?;
    check_application(mine, winner)?;
    check_adds(mine, winner, level)?;
    check_removes(mine, winner, level)
}

fn check_definition(mine: &Intent, winner: &WinningCommit) -> Result<(), Conflict> {
    let (version, operation) = (winner.version, || winner.shown());
    if mine.creates_table {
        return Err(Conflict::TableCreated {
            version,
            operation: operation(),
        });
    }
    if winner.changes_protocol {
        return Err(Conflict::ProtocolChanged {
            version,
            operation: operation(),
        });
    }
    if winner.changes_metadata {
        return Err(Conflict::MetadataChanged {
            version,
            operation: operation(),
        });
    }
    let set_twice = winner
        .domains
        .iter()
        .find(|domain| mine.domains.contains(&domain.domain));
    match set_twice {
        None => Ok(()),
        Some(domain) => Err(Conflict::DomainChanged {
            version,
            operation: operation(),
            domain: domain.domain.clone(),
        }),
    }
}

fn check_application(mine: &Intent, winner: &WinningCommit) -> Result<(), Conflict> {
    let Some((app_id, _)) = &mine.application else {
        return Ok(());
    };
    match winner.transactions.iter().find(|txn| txn.app_id == *app_id) {
        None => Ok(()),
        Some(txn) => Err(Conflict::ConcurrentTransaction {
            version: winner.version,
            operation: winner.shown(),
            app_id: app_id.clone(),
            theirs: txn.version,
        }),
    }
}

fn check_adds(
    mine: &Intent,
    winner: &WinningCommit,
    level: IsolationLevel,
) -> Result<(), Conflict> {
    let counts = match level {
        IsolationLevel::SnapshotIsolation => false,
        // Rows added by a blind append can be taken for added later, unless they would have to be
        // written by other rules then.
        IsolationLevel::WriteSerializable if !mine.changes_metadata => !winner.is_blind_append,
        IsolationLevel::WriteSerializable | IsolationLevel::Serializable => true,
    };
    if !counts || winner.only_rearranges() {
        return Ok(());
    }
    match winner.adds.iter().find(|file| mine.would_read(file)) {
        None => Ok(()),
        Some(file) => Err(Conflict::ConcurrentAppend {
            version: winner.version,
            operation: winner.shown(),
            file: file.key.to_string(),
            place: place(file),
        }),
    }
}

fn check_removes(
    mine: &Intent,
    winner: &WinningCommit,
    level: IsolationLevel,
) -> Result<(), Conflict> {
    let moves_rows = level == IsolationLevel::SnapshotIsolation;
    let rows_changed = !moves_rows && !winner.only_rearranges();
    let was_read = |file: &&WinningFile| {
        (mine.removes(&file.key) && !moves_rows) || (rows_changed && mine.has_read(file))
    };
    if let Some(file) = winner.removes.iter().find(was_read) {
        return Err(Conflict::ConcurrentDeleteRead {
            version: winner.version,
            operation: winner.shown(),
            file: file.key.to_string(),
            place: place(file),
        });
    }
    match winner.removes.iter().find(|file| mine.removes(&file.key)) {
        None => Ok(()),
        Some(file) => Err(Conflict::ConcurrentDeleteDelete {
            version: winner.version,
            operation: winner.shown(),
            file: file.key.to_string(),
            place: place(file),
        }),
    }
}

/// Where a file lies, for messages.
fn place(file: &WinningFile) -> String {
    let values = file.partition_values.iter().flatten();
    let shown: Vec<String> = values
        .map(|(column, value)| format!("{column}={}", value.as_deref().unwrap_or("null")))
        .collect();
    match shown.is_empty() {
        true => "the table".to_owned(),
        false => format!("partition {}", shown.join("/")),
    }
}
