//! What can go wrong for the person at the terminal, and the exit code of each.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use super::options::OptionError;
use crate::fuse::FuseError;
use crate::intake::IntakeError;
use crate::schema::SchemaError;
use crate::snapshot::SnapshotError;
use crate::storage::StorageError;
use crate::txn::TxnError;
use crate::view::{VersionError, ViewError};

/// An error of a command.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// An option or its value is wrong.
    #[error(transparent)]
    Option(#[from] OptionError),
    /// Mounting, serving or unmounting failed.
    #[error(transparent)]
    Fuse(#[from] FuseError),
    /// The table's store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The log cannot be read, or has no such version.
    #[error(transparent)]
    Snapshot(Arc<SnapshotError>),
    /// The files of a version cannot be presented.
    #[error(transparent)]
    View(Arc<ViewError>),
    /// Nothing that a table could be is there, and the argument tells what was meant.
    #[error("{location} {found}; expected {expected}")]
    NoTable {
        /// As given.
        location: String,
        /// What it is: a verb and more.
        found: String,
        /// What to give instead.
        expected: String,
    },
    /// The store wants to know who asks, and nobody has said.
    #[error("no credentials for {location} were found; expected {expected}")]
    NoCredentials {
        /// The table.
        location: String,
        /// What to set.
        expected: &'static str,
        /// What was tried last.
        #[source]
        source: Box<CliError>,
    },
    /// `deltafs files --check` found files that no reader will get.
    #[error("{bad} of {all} files cannot be presented, for the reasons above")]
    Unpresentable {
        /// How many.
        bad: u64,
        /// Of how many.
        all: u64,
    },
    /// `--staging-dir` cannot be used.
    #[error(
        "staging directory {}: {source}; give an existing directory, or leave --staging-dir out to \
         keep transactions in the table's own directory",
        path.display()
    )]
    StagingDirectory {
        /// As given.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// `--timezone` names none.
    #[error(
        "time zone {found:?} is not known; expected UTC or a name of the time zone database \
         (package tzdata), such as Europe/Berlin"
    )]
    TimeZone {
        /// What was given.
        found: String,
    },
    /// What follows the `@` of a table is neither a version nor a time.
    #[error(
        "{found:?} is neither a version nor a time; expected TABLE@v12, TABLE@2024-01-15 or \
         TABLE@2024-01-15T10:30:00Z"
    )]
    VersionOrTime {
        /// The text behind the `@`.
        found: String,
    },
    /// The mountpoint cannot be used.
    #[error("mountpoint {}: {source}; create the directory first", mountpoint.display())]
    Mountpoint {
        /// As given.
        mountpoint: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The mountpoint is a file.
    #[error("mountpoint {} is not a directory; mount on a directory", mountpoint.display())]
    NotADirectory {
        /// As given.
        mountpoint: PathBuf,
    },
    /// What is mounted there lost its process.
    #[error(
        "{} is a dead mount: the process that served it is gone; clean it with \
         `deltafs umount {0}` and mount again",
        mountpoint.display()
    )]
    Stale {
        /// As given.
        mountpoint: PathBuf,
    },
    /// The same table is there already.
    #[error(
        "{table} is already mounted on {}; unmount it first with `deltafs umount {0}`, or mount \
         on another directory",
        mountpoint.display()
    )]
    AlreadyMounted {
        /// The table.
        table: String,
        /// Where.
        mountpoint: PathBuf,
    },
    /// Mountpoint and table overlap.
    #[error(
        "mountpoint {} and table {} lie within each other: the mount would hide the table or \
         change it; mount on a directory outside the table",
        mountpoint.display(),
        table.display()
    )]
    Overlap {
        /// The mountpoint.
        mountpoint: PathBuf,
        /// The table.
        table: PathBuf,
    },
    /// The daemon said why it could not mount.
    #[error("{message}")]
    Daemon {
        /// Its exit code.
        code: u8,
        /// Its message, causes included.
        message: String,
    },
    /// The daemon ended without a word.
    #[error("the daemon ended before the mount was there ({status}); run with -f to see why")]
    DaemonDied {
        /// How it ended.
        status: String,
    },
    /// The caller of the daemon has gone.
    #[error("the command that was to report the mount is gone: unmounted again")]
    CallerGone,
    /// The mount is there and does not answer.
    #[error(
        "the mount on {} does not answer ({reason}): unmounted again; run with -f -v to see why",
        mountpoint.display()
    )]
    NoAnswer {
        /// Where.
        mountpoint: PathBuf,
        /// What happened instead.
        reason: String,
    },
    /// The log file cannot be written.
    #[error("log file {}: {source}", path.display())]
    LogFile {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// `DELTAFS_LOG` is malformed.
    #[error(
        "DELTAFS_LOG is {found:?}: {reason}; expected a level (error, warn, info, debug, trace) \
         or directives like `warn,deltafs=debug`"
    )]
    LogFilter {
        /// Its value.
        found: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A system call failed that always works.
    #[error("{operation}: {source}")]
    System {
        /// What was tried.
        operation: &'static str,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// Nothing is mounted there.
    #[error("nothing is mounted on {}; mounts of deltafs: {mounts}", mountpoint.display())]
    NotMounted {
        /// As given.
        mountpoint: PathBuf,
        /// What is mounted elsewhere.
        mounts: String,
    },
    /// Something else is mounted there.
    #[error(
        "{} is a mount of type {fs_type}, not of deltafs; use umount(8) if it is to go",
        mountpoint.display()
    )]
    NotOurs {
        /// As given.
        mountpoint: PathBuf,
        /// Its type.
        fs_type: String,
    },
    /// Somebody uses the mount.
    #[error(
        "{} is in use by {holders}; end that and try again, or detach the mount now with \
         `deltafs umount --lazy {0}`",
        mountpoint.display()
    )]
    Busy {
        /// Where.
        mountpoint: PathBuf,
        /// Who.
        holders: String,
    },
    /// It is no directory of a transaction.
    #[error(
        "{} {found}; expected a directory that mkdir made in @staging of a mount, such as \
         MOUNTPOINT/@staging/b1 (a mount that is read-only has no @staging)",
        path.display()
    )]
    NoTransaction {
        /// What was given.
        path: PathBuf,
        /// What it is instead: a verb and a noun.
        found: &'static str,
    },
    /// Other options for a transaction that has been committed.
    #[error(
        "{} was committed before, as version {version}, with other options; make another \
         transaction with mkdir for another commit",
        directory.display()
    )]
    Committed {
        /// The directory of the transaction.
        directory: PathBuf,
        /// The version it became.
        version: String,
    },
    /// A commit failed.
    #[error("{message}")]
    Commit {
        /// Delta's name for it and what was found, expected, and what to do.
        message: String,
        /// What fsync said.
        errno: Option<i32>,
    },
    /// A file that was named cannot be used.
    #[error("{}: {source}", path.display())]
    Input {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The schema of a new table is none.
    #[error("{}: {source}", path.display())]
    Schema {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        source: SchemaError,
    },
    /// A new table cannot be made of what was given.
    #[error(transparent)]
    Intake(Box<IntakeError>),
    /// The commit cannot be made.
    #[error(transparent)]
    Txn(Box<TxnError>),
    /// Somebody else committed first.
    #[error("{0}")]
    Conflict(String),
    /// A directory that is to become a table has something in it.
    #[error(
        "{} is not empty: found {found}; a table begins in an empty directory, since files that its \
         log does not name are taken for leftovers",
        path.display()
    )]
    NotEmpty {
        /// The directory.
        path: PathBuf,
        /// The first name in it.
        found: String,
    },
    /// The mount does not go away.
    #[error("{} is still mounted {seconds} s after it was unmounted", mountpoint.display())]
    StillMounted {
        /// Where.
        mountpoint: PathBuf,
        /// How long was waited.
        seconds: u64,
    },
}

impl CliError {
    /// 1 failed, 2 wrong usage, 3 conflict.
    pub fn exit_code(&self) -> u8 {
        match self {
            CliError::Option(_)
            | CliError::LogFilter { .. }
            | CliError::TimeZone { .. }
            | CliError::VersionOrTime { .. }
            | CliError::Storage(
                StorageError::InvalidLocation { .. } | StorageError::UnknownOption { .. },
            ) => 2,
            CliError::Daemon { code, .. } => *code,
            CliError::Conflict(_) => 3,
            CliError::Commit { errno, .. } => match errno {
                Some(libc::ESTALE | libc::EAGAIN) => 3,
                _ => 1,
            },
            CliError::Fuse(_)
            | CliError::Storage(_)
            | CliError::Snapshot(_)
            | CliError::View(_)
            | CliError::Mountpoint { .. }
            | CliError::NotADirectory { .. }
            | CliError::Stale { .. }
            | CliError::AlreadyMounted { .. }
            | CliError::Overlap { .. }
            | CliError::DaemonDied { .. }
            | CliError::CallerGone
            | CliError::NoAnswer { .. }
            | CliError::LogFile { .. }
            | CliError::System { .. }
            | CliError::NotMounted { .. }
            | CliError::NotOurs { .. }
            | CliError::Busy { .. }
            | CliError::NoTransaction { .. }
            | CliError::Committed { .. }
            | CliError::StagingDirectory { .. }
            | CliError::NoTable { .. }
            | CliError::NoCredentials { .. }
            | CliError::Unpresentable { .. }
            | CliError::Input { .. }
            | CliError::Schema { .. }
            | CliError::Intake(_)
            | CliError::Txn(_)
            | CliError::NotEmpty { .. }
            | CliError::StillMounted { .. } => 1,
        }
    }
}

impl From<SnapshotError> for CliError {
    fn from(error: SnapshotError) -> CliError {
        CliError::Snapshot(Arc::new(error))
    }
}

impl From<VersionError> for CliError {
    fn from(error: VersionError) -> CliError {
        match error {
            VersionError::Snapshot(error) => CliError::Snapshot(error),
            VersionError::View(error) => CliError::View(error),
        }
    }
}

impl From<IntakeError> for CliError {
    fn from(error: IntakeError) -> CliError {
        CliError::Intake(Box::new(error))
    }
}

impl From<TxnError> for CliError {
    fn from(error: TxnError) -> CliError {
        CliError::Txn(Box::new(error))
    }
}
