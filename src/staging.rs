//! `@staging`: transactions, each a directory of files that becomes one commit.
//!
//! A transaction lives on disk, in the table's own directory or where `--staging-dir` says, and is
//! owned by one process: a mount after a kill takes over what nobody owns any more, and finishes or
//! reports it. The top of `src/staging/commit.rs` has the argument why nothing is lost.

mod clustering;
mod commit;
mod error;
mod leaving;
pub mod marker;
mod plan;
mod record;
mod scan;
mod scratch;
mod status;
mod transaction;
mod worker;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use self::leaving::Leaving;
use self::record::{Failure, Prepared, Record, State, state_of};
use self::worker::Worker;
use crate::base::Version;
use crate::base::clock::{TimestampMs, now_ms};
use crate::base::hash::stable_hash64;
use crate::snapshot::{Generation, Table};
use crate::storage::posix::{Directory, Owner};
use crate::storage::{Claim, Spool, SpoolDirectory};
use crate::txn::CommitOptions;
use crate::view::ViewOptions;

pub use error::StagingError;
pub use marker::MARKER;
pub use status::STATUS;
pub use transaction::{ModifyGuard, Transaction};

/// Where transactions are kept below the table root: VACUUM leaves directories alone whose names
/// begin with `_`.
const IN_TABLE: &str = "_deltafs/staging";

/// How long a transaction that was committed is kept for those who ask again, milliseconds.
const COMMITTED_KEPT: TimestampMs = 7 * 24 * 60 * 60 * 1000;

/// The longest name of a transaction, bytes.
const NAME_MAX: usize = 255;

/// How staging is done.
#[derive(Clone)]
pub struct StagingOptions {
    /// Where transactions are kept; `None` for the table's own directory.
    pub directory: Option<PathBuf>,
    /// How the mount presents files: `remove` names them as it does.
    pub view: ViewOptions,
    /// How commits are tried.
    pub commit: CommitOptions,
    /// The errno of an error, for `.status`.
    pub errno_of: fn(&StagingError) -> i32,
}

/// What all transactions of a mount share.
pub(crate) struct Shared {
    table: Arc<Table>,
    options: StagingOptions,
    /// Held by the transaction whose commit file is being put.
    turn: Mutex<()>,
    worker: Worker,
    leaving: Leaving,
}

/// The transactions of a mount.
pub struct Staging {
    shared: Arc<Shared>,
    /// Opened when it is first needed: a mount that only reads leaves the table as it is.
    spool: Mutex<Option<Arc<Spool>>>,
    transactions: Mutex<BTreeMap<String, Arc<Transaction>>>,
    /// The number of the table's generation whose log is known to take commits.
    probed: Mutex<Option<u64>>,
}

impl fmt::Debug for Staging {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Staging").finish_non_exhaustive()
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}

impl Shared {
    /// Has checkpoint and checksum made in the background.
    fn after_commit(&self, version: Version) {
        self.worker.committed(&self.table, version);
    }
}

impl Staging {
    /// Takes over the transactions that earlier mounts of the table have left and no process owns:
    /// each is as it was, its last commit finished or taken back. What cannot be taken over is
    /// logged and left alone: versions can be read all the same.
    pub fn open(table: Arc<Table>, options: StagingOptions) -> Staging {
        let staging = Staging {
            shared: Arc::new(Shared {
                table,
                options,
                turn: Mutex::new(()),
                worker: Worker::default(),
                leaving: Leaving::default(),
            }),
            spool: Mutex::new(None),
            transactions: Mutex::default(),
            probed: Mutex::new(None),
        };
        if let Err(error) = staging.recover() {
            tracing::warn!(%error, "transactions of earlier mounts cannot be looked for");
        }
        staging
    }

    /// An existing directory, and where transactions are kept below it; `None` where the table is on
    /// no local disk.
    fn place(&self) -> Option<(PathBuf, String)> {
        let generation = self.shared.table.current();
        let store = generation.roots().table();
        if !store.is_local() {
            return None;
        }
        Some(match &self.shared.options.directory {
            None => (PathBuf::from(store.root()), IN_TABLE.to_owned()),
            Some(directory) => {
                let table = stable_hash64("deltafs staging v1", &[store.root().as_bytes()]);
                (directory.clone(), format!("{table:016x}"))
            }
        })
    }

    /// The spool, made where it is missing, also where somebody has removed it since.
    fn spool(&self) -> Result<Arc<Spool>, StagingError> {
        let mut known = self.spool.lock();
        if let Some(spool) = &*known {
            if spool.is_in_place() {
                return Ok(spool.clone());
            }
            tracing::warn!(
                "the staging directory is gone, and what was staged in it; it is made anew"
            );
        }
        let Some((base, path)) = self.place() else {
            return Err(self.not_writable(
                "it is in an object store, to which this release does not write; use another \
                 writer",
            ));
        };
        let spool = Arc::new(Spool::create(&base, &path)?);
        *known = Some(spool.clone());
        Ok(spool)
    }

    /// Refuses a table whose log does not take commit files only where none is.
    fn probe(&self, generation: &Generation) -> Result<(), StagingError> {
        let mut probed = self.probed.lock();
        if *probed != Some(generation.number()) {
            let root = Path::new(generation.roots().table().root());
            Spool::create(root, crate::log::LOG_DIR)?.probe()?;
            *probed = Some(generation.number());
        }
        Ok(())
    }

    fn not_writable(&self, reason: &str) -> StagingError {
        let generation = self.shared.table.current();
        StagingError::NotWritable {
            table: generation.roots().table().root().to_owned(),
            reason: reason.to_owned(),
        }
    }

    /// Begins a transaction at the newest version: `mkdir @staging/NAME`. The spool's file system
    /// must be able to put a commit file only where none is.
    /// Its directory belongs to `owner` and has the permission bits of `mode`.
    pub fn begin(
        &self,
        name: &OsStr,
        owner: Owner,
        mode: u32,
    ) -> Result<Arc<Transaction>, StagingError> {
        let name = check_name(name)?;
        let mut transactions = self.transactions.lock();
        if transactions.contains_key(name) {
            return Err(StagingError::Exists {
                name: name.to_owned(),
            });
        }
        let generation = self.shared.table.refresh()?;
        let version = generation.newest();
        let snapshot = generation.snapshot(version)?;
        snapshot.readable()?;
        let spool = self.spool()?;
        self.probe(&generation)?;
        let record = Record::new(name, &snapshot.metadata().id, version, now_ms());
        let directory = spool.begin(owner, mode, &record.to_bytes())?;
        let files = match Directory::of(directory.files()) {
            Ok(files) => files,
            Err(error) => {
                spool.remove(&directory)?;
                return Err(error.into());
            }
        };
        let transaction = Arc::new(Transaction::new(
            self.shared.clone(),
            directory,
            files,
            generation.number(),
            record,
        ));
        transactions.insert(name.to_owned(), transaction.clone());
        Ok(transaction)
    }

    /// A transaction.
    pub fn get(&self, name: &OsStr) -> Option<Arc<Transaction>> {
        self.transactions.lock().get(name.to_str()?).cloned()
    }

    /// The names of all, sorted.
    pub fn names(&self) -> Vec<OsString> {
        self.transactions.lock().keys().map(Into::into).collect()
    }

    /// Ends a transaction without files: `rmdir @staging/NAME`.
    pub fn remove(&self, name: &OsStr) -> Result<(), StagingError> {
        let mut transactions = self.transactions.lock();
        let found = name
            .to_str()
            .and_then(|name| transactions.get_key_value(name));
        let Some((name, transaction)) = found else {
            return Err(StagingError::NoTransaction {
                name: name.to_string_lossy().into_owned(),
            });
        };
        let name = name.clone();
        match transaction.resolve_first() {
            // What it has left lies in a table that is no more.
            Ok(()) | Err(StagingError::OtherTable { .. }) => {}
            Err(error) => return Err(error),
        }
        {
            let _guard = transaction.removing()?;
            if !transaction.directory.is_empty()? {
                return Err(StagingError::NotEmpty { name });
            }
            // Not one that would be made for it.
            let spool = self.spool.lock().clone();
            match spool {
                Some(spool) => spool.remove(&transaction.directory)?,
                None => self.spool()?.remove(&transaction.directory)?,
            }
        }
        transactions.remove(&name);
        Ok(())
    }

    /// Waits until what commits have left to be done is done.
    pub fn settle(&self) {
        self.shared.worker.settle();
    }

    fn recover(&self) -> Result<(), StagingError> {
        let Some((base, path)) = self.place() else {
            return Ok(());
        };
        let Some(spool) = Spool::open(&base, &path)?.map(Arc::new) else {
            return Ok(());
        };
        *self.spool.lock() = Some(spool.clone());
        for id in spool.ids()? {
            let recovered = match spool.claim(&id) {
                Ok(Claim::Owned(directory)) => self.take_over(&spool, directory),
                Ok(Claim::InUse) => Ok(()),
                Ok(Claim::Incomplete(leftover)) => {
                    // Its record comes last and goes first: nobody has staged anything, or all was
                    // removed.
                    spool
                        .remove_incomplete(&leftover)
                        .map_err(StagingError::from)
                }
                Err(error) => Err(error.into()),
            };
            if let Err(error) = recovered {
                tracing::warn!(id, %error, "a transaction of an earlier mount cannot be taken over");
            }
        }
        Ok(())
    }

    fn take_over(&self, spool: &Spool, directory: SpoolDirectory) -> Result<(), StagingError> {
        let Some(record) = directory.record()? else {
            return Ok(spool.remove(&directory)?);
        };
        let mut record =
            Record::parse(&record).map_err(|problem| StagingError::BadRecord { problem })?;
        let (attempt, outcome) = (directory.attempt()?, directory.outcome()?);
        let noted = state_of(attempt.as_deref(), outcome.as_deref())
            .map_err(|problem| StagingError::BadRecord { problem })?;
        if let Some(state) = noted
            && !matches!(record.state, State::Committed { .. })
        {
            record.state = state;
        }
        if let State::Committed { at, .. } = record.state
            && now_ms() > at.saturating_add(COMMITTED_KEPT)
        {
            return Ok(spool.remove(&directory)?);
        }
        let generation = self.shared.table.refresh()?;
        let newest = generation.snapshot(generation.newest())?;
        // A table that took the place of the one it was begun for must not get its files.
        let number = match newest.metadata().id == record.table_id {
            true => generation.number(),
            false => u64::MAX,
        };
        let mut transactions = self.transactions.lock();
        record.name = free_name(&record.name, &transactions);
        let name = record.name.clone();
        let mut was_interrupted = false;
        if let State::Committing { attempt } = &record.state {
            was_interrupted = true;
            if !Prepared::is_noted(attempt.id, outcome.as_deref()) {
                record.unwritten.extend(directory.inodes()?);
            }
        }
        let files = Directory::of(directory.files())?;
        let transaction = Arc::new(Transaction::new(
            self.shared.clone(),
            directory,
            files,
            number,
            record,
        ));
        if was_interrupted && number != u64::MAX {
            match transaction.resolve() {
                Ok(Some(version)) => {
                    tracing::info!(name, version, "a commit that was cut off had succeeded");
                }
                Ok(None) => {
                    tracing::warn!(name, "a commit was cut off; nothing of it is in the table");
                    transaction.set_state(State::Failed {
                        failure: self.interrupted(),
                    })?;
                }
                Err(error) => {
                    tracing::warn!(name, %error, "what became of a commit cannot be told yet");
                }
            }
        }
        transactions.insert(name, transaction);
        Ok(())
    }

    fn interrupted(&self) -> Failure {
        let error = StagingError::Interrupted;
        error.to_failure((self.shared.options.errno_of)(&error))
    }
}

fn check_name(name: &OsStr) -> Result<&str, StagingError> {
    let bad = |expected| StagingError::BadName {
        name: name.to_string_lossy().into_owned(),
        expected,
    };
    let name = name.to_str().ok_or_else(|| bad("it must be UTF-8"))?;
    match name {
        _ if name.starts_with(['.', '@']) => Err(bad("it must not begin with . or @")),
        _ if name.len() > NAME_MAX => Err(bad("it must not be longer than 255 bytes")),
        _ if name.is_empty() || name.contains(['/', '\0']) => Err(bad("it must be one name")),
        _ => Ok(name),
    }
}

/// `name`, or, where another transaction has it, `name~2` and so on.
fn free_name(name: &str, taken: &BTreeMap<String, Arc<Transaction>>) -> String {
    let candidates =
        std::iter::once(name.to_owned()).chain((2_u64..).map(|number| format!("{name}~{number}")));
    candidates
        .into_iter()
        .find(|name| !taken.contains_key(name))
        .expect("there are more numbers than transactions")
}
