//! From a marker that is fsynced to a version of the table.
//!
//! In order, so that a kill or a power loss between any two steps loses nothing and leaves no half
//! commit:
//!
//! 1. Nobody can change the files any more. Those that somebody still has open for writing are
//!    copied, and the copies taken in their place.
//! 2. The files are checked and turned into data files. Nothing outside the transaction's own
//!    directory has changed so far.
//! 3. The data files are made durable, and so is a note of which names they will have, which
//!    directories are made for these, and by which id the commit file will be known. From here on a
//!    kill leaves an attempt to be resolved. A note that is not whole after a power loss is of an
//!    attempt that went no further.
//! 4. The data files get their names in the table, by hard links where these work: the staged files
//!    stay. The names are durable before the next step, so that no commit file ever names a file
//!    that a power loss can take.
//! 5. The commit file is put if it is absent. This alone makes the version; it is durable when the
//!    put returns.
//! 6. The version is noted. Should the note be lost, the id in the log tells the same.
//!
//! Who finds an attempt (a mount after a kill) looks for its id in the log from the version on that
//! it could first become. Found, it is committed. Not found, it never will be: the process that
//! could have written it is gone, which the lock on the directory proves. Then the names of step 4
//! are taken back, which no version can mention because they hold the attempt's own id, and the
//! directories that were not there before, as far as nothing else is in them by now. Until that
//! is done, nobody can change the staged files, which may be a version's under other names.
//!
//! An error of an fsync is told once: the next one of the same file says that all is well, although
//! what could not be written then never will be, and as long as the machine runs, reading shows what
//! was to be written. So a staged file that the disk would not take, be it at an fsync of its own or
//! at a commit, is not fsynced again, but copied. That is noted on the disk, for the pages outlive the
//! process. Of a commit that was killed during step 3, nobody knows what its fsyncs were told: after
//! the last one it notes that none failed, and where that note is missing all files are copied.

mod publishable;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use uuid::Uuid;

use self::publishable::{Publishable, data_path};
use super::marker::{CommitRequest, MARKER, MARKER_MAX, Mode};
use super::plan::Plan;
use super::record::{Attempt, Outcome, State};
use super::scan::{Staged, scan};
use super::scratch::{Named, Scratch};
use super::transaction::Transaction;
use super::{StagingError, clustering, plan};
use crate::base::Version;
use crate::base::clock::now_ms;
use crate::base::parallel;
use crate::intake::{self, Content, SchemaChange, StagedBytes, StagedFile, Target, evolve};
use crate::log::actions::{Metadata, Protocol, SetTransaction};
use crate::log::write::AddFile;
use crate::protocol::check_writable;
use crate::snapshot::{Generation, Snapshot, TableShape};
use crate::storage::{Publisher, StorageError};
use crate::txn::{self, CommitOutcome, Operation, Proposal};

/// How many files that were made are kept open until they are published.
const HELD_MAX: usize = 256;

/// The table as it will be after the commit.
struct Definition {
    protocol: Arc<Protocol>,
    metadata: Arc<Metadata>,
    /// `None` where it is the snapshot's.
    shape: Option<TableShape>,
    changed: bool,
}

impl Transaction {
    /// Commits; the caller keeps everybody else away.
    pub(super) fn commit_alone(&self) -> Result<Version, StagingError> {
        if let Some(version) = self.resolve()? {
            return Ok(version);
        }
        self.directory.clear_scratch()?;
        let request = self.request()?;
        let generation = self.table_now()?;
        let newest = generation.snapshot(generation.newest())?;
        if let Some(version) = self.applied(&request, &newest)? {
            return Ok(version);
        }
        let base = match request.is_blind() {
            // Nothing was read, so that nothing can have changed since.
            true => newest,
            false => {
                let version = request
                    .read_version
                    .unwrap_or(self.record.lock().read_version);
                if version > generation.newest() {
                    return Err(StagingError::BadOption {
                        option: "readVersion",
                        problem: format!(
                            "it is {version}, and the newest version is {}; give the version that \
                             was read",
                            generation.newest()
                        ),
                    });
                }
                generation.snapshot(version)?
            }
        };
        let plan = Plan::new(&self.shared.options.view, &generation, &base, &request)?;
        let staged = scan(&self.directory, &base.metadata().partition_columns)?;
        if staged.is_empty() {
            plan.check_without_files()?;
        }
        let (files, is_copy) = self.looked_up(&staged)?;
        let definition = self.definition(&base, &request, &files)?;
        let shape = match &definition.shape {
            Some(shape) => shape,
            None => base.readable()?,
        };
        let rules = check_writable(&definition.protocol, &definition.metadata, &shape.schema)?;
        let clustering = match rules.clustering {
            true => clustering::columns(&base)?,
            false => Vec::new(),
        };
        if definition.changed {
            clustering::check_kept(&clustering, base.readable()?, shape)?;
        }
        let target = Target {
            protocol: &definition.protocol,
            metadata: &definition.metadata,
            shape,
            rules: &rules,
            clustering: &clustering,
            now: now_ms(),
        };
        let scratch = Scratch(&self.directory);
        let held = AtomicUsize::new(0);
        let accepted = in_parallel(&files, |file| {
            let mut parts = intake::accept(&target, file, &scratch)?;
            for part in &mut parts {
                if let Content::Made(made) = &mut part.content
                    && held.fetch_add(1, Ordering::Relaxed) >= HELD_MAX
                {
                    made.close()?;
                }
            }
            Ok::<_, StagingError>(parts)
        })?;
        check_unchanged(&staged, &files, &is_copy)?;

        let id = Uuid::new_v4();
        let mut data_files: Vec<Publishable<'_>> = Vec::new();
        for (file, parts) in files.iter().zip(accepted) {
            for part in parts {
                let path = data_path(
                    &part,
                    data_files.len(),
                    id,
                    &definition.metadata.partition_columns,
                    shape,
                );
                data_files.push(Publishable { file, part, path });
            }
        }
        let modified = now_ms();
        let adds: Vec<AddFile> = (data_files.iter())
            .map(|file| file.to_add(modified, plan.data_change()))
            .collect();
        let parts = plan::Parts {
            id,
            adds,
            now: modified,
        };
        let mut proposal = plan.propose(&generation, &base, &rules, &request, parts)?;
        if definition.changed {
            proposal.metadata = Some((*definition.metadata).clone());
            proposal.protocol =
                (*definition.protocol != *base.protocol()).then(|| (*definition.protocol).clone());
        }
        self.publish_and_commit(&generation, &proposal, &data_files, modified)
    }

    fn publish_and_commit(
        &self,
        generation: &Generation,
        proposal: &Proposal,
        data_files: &[Publishable<'_>],
        modified: i64,
    ) -> Result<Version, StagingError> {
        let root = generation.roots().table().root().to_owned();
        let publisher = Publisher::open(Path::new(&root), self.directory.default_mode())?;
        let paths = || data_files.iter().map(|file| file.path.as_str());
        let directories = publisher.missing_directories(paths());
        let attempt = Attempt {
            id: proposal.id,
            from: proposal.read_version.map_or(0, |version| version + 1),
            files: paths().map(str::to_owned).collect(),
            directories: directories.clone(),
        };
        // Before the first fsync, whose error nobody else is told.
        self.announce_attempt(&attempt)
            .inspect_err(|_| self.attempt_is_over(Ok(())))?;
        // Both have to be durable before a data file gets its name: they may wait for the disk side
        // by side.
        std::thread::scope(|scope| {
            let prepare = || {
                in_parallel(data_files, |file| {
                    let source = file.source()?;
                    let prepared = publisher.prepare(&source, modified);
                    prepared.inspect_err(|_| self.note_unwritten(&source))
                })
            };
            let builder = std::thread::Builder::new().name("prepare".to_owned());
            let elsewhere = builder.spawn_scoped(scope, prepare);
            let begun = self.begin_attempt(attempt);
            let prepared = match elsewhere {
                Ok(thread) => thread
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
                Err(_) => prepare(),
            };
            begun.and(prepared.map(drop).map_err(StagingError::from))
        })
        .inspect_err(|_| self.attempt_is_over(Ok(())))?;
        self.note_prepared(proposal.id);
        let withdraw = || publisher.withdraw(paths(), &directories);
        let published = in_parallel(data_files, |file| {
            publisher.publish(&*file.source()?, &file.path, modified)
        })
        .and_then(|_| publisher.make_durable());
        if let Err(error) = published {
            self.attempt_is_over(withdraw());
            return Err(error.into());
        }
        let outcome = {
            // Transactions of one mount take turns: racing each other, all but one would lose.
            let _turn = self.shared.turn.lock();
            txn::commit(&self.shared.table, proposal, &self.shared.options.commit)
        };
        let failure = match outcome {
            Ok(CommitOutcome::Committed { version }) => {
                let _: Result<_, StorageError> = in_parallel(data_files, |file| {
                    let owned = file.source().and_then(|source| publisher.own(&source));
                    if let Err(error) = owned {
                        tracing::debug!(%error, "a data file keeps the owner it has");
                    }
                    Ok(())
                });
                self.succeed(version, Some(proposal.id));
                return Ok(version);
            }
            Ok(CommitOutcome::AlreadyApplied { version }) => {
                withdraw()?;
                let version = version.unwrap_or(generation.newest());
                self.succeed(version, None);
                return Ok(version);
            }
            // The data files may be a version's: they stay.
            Ok(CommitOutcome::Unknown { version, source }) => {
                return Err(StagingError::Unknown { version, source });
            }
            Ok(CommitOutcome::Conflicted(conflict)) => StagingError::Conflict(conflict),
            Ok(CommitOutcome::Retryable { attempts }) => StagingError::Retryable { attempts },
            Err(error) => error.into(),
        };
        self.attempt_is_over(withdraw());
        Err(failure)
    }

    /// Remembers that the transaction is a version, and sets about what is due then.
    fn succeed(&self, version: Version, id: Option<Uuid>) {
        let at = now_ms();
        let noted = match id {
            Some(id) => self.end_attempt(Outcome { id, version, at }),
            None => self.set_state(State::Committed { version, at, id }),
        };
        if let Err(error) = noted {
            tracing::warn!(
                %error,
                version,
                "the version is committed, but that could not be noted in the staging directory; \
                 the log tells it"
            );
            self.record.lock().state = State::Committed { version, at, id };
        }
        tracing::info!(transaction = self.name(), version, "committed");
        if id.is_some() {
            self.shared.after_commit(version);
        }
    }

    /// Finds out what became of an attempt of which nothing else tells. `Some` when it is a version;
    /// when it is none, its data files are taken back.
    pub(super) fn resolve(&self) -> Result<Option<Version>, StagingError> {
        let attempt = match &self.record.lock().state {
            State::Committing { attempt } => attempt.clone(),
            State::Open | State::Failed { .. } | State::Committed { .. } => return Ok(None),
        };
        let generation = self.table_now()?;
        let store = generation.roots().table();
        let publisher = Publisher::open(Path::new(store.root()), self.directory.default_mode())?;
        if let Some(version) = txn::find_commit(&**store, attempt.from, attempt.id)? {
            for path in &attempt.files {
                if let Err(error) = publisher.own_named(path) {
                    tracing::debug!(%error, "a data file keeps the owner it has");
                }
            }
            self.succeed(version, Some(attempt.id));
            return Ok(Some(version));
        }
        let newest = generation.snapshot(generation.newest())?;
        let is_ours = |path: &&str| {
            // Only this attempt's own id could have brought the name into the log.
            let files = generation.files();
            let is_live = files
                .with_path(path, false)
                .any(|id| newest.files().contains(id));
            let is_ours = !is_live && path.contains(&attempt.id.to_string());
            if !is_ours {
                tracing::warn!(
                    path,
                    "a file that an interrupted commit made is in use; it stays"
                );
            }
            is_ours
        };
        let files = attempt.files.iter().map(String::as_str).filter(is_ours);
        publisher.withdraw(files, &attempt.directories)?;
        self.directory.clear_scratch()?;
        self.attempt_is_over(Ok(()));
        Ok(None)
    }

    /// What the marker says.
    fn request(&self) -> Result<CommitRequest, StagingError> {
        let content = match self.directory.read_file(MARKER, MARKER_MAX) {
            Ok(content) => content,
            Err(error) if error.is_not_found() => return Err(StagingError::NoMarker),
            Err(StorageError::Io { source, .. })
                if source.kind() == std::io::ErrorKind::FileTooLarge =>
            {
                return Err(StagingError::BadMarker {
                    problem: format!(
                        "it is longer than {MARKER_MAX} bytes; expected nothing, or one JSON object"
                    ),
                });
            }
            Err(error) => return Err(error.into()),
        };
        CommitRequest::parse(&content).map_err(|problem| StagingError::BadMarker { problem })
    }

    /// The table with all commits made so far, if it is still the one that the transaction was
    /// begun for.
    fn table_now(&self) -> Result<Arc<Generation>, StagingError> {
        let generation = self.shared.table.refresh()?;
        if generation.number() != self.generation {
            // Its log was written anew, restored or mended say; the table is the same if its id is.
            let newest = generation.snapshot(generation.newest())?;
            if newest.metadata().id != self.record.lock().table_id {
                return Err(StagingError::OtherTable {
                    table: generation.roots().table().root().to_owned(),
                });
            }
        }
        Ok(generation)
    }

    /// The version by which the work of `txnAppId` and `txnVersion` was done before.
    fn applied(
        &self,
        request: &CommitRequest,
        newest: &Snapshot,
    ) -> Result<Option<Version>, StagingError> {
        let Some(transaction) = request.transaction() else {
            return Ok(None);
        };
        let seen = newest.transactions().get(&transaction.app_id);
        if seen.is_none_or(|seen| seen.version < transaction.version) {
            return Ok(None);
        }
        let mut proposal = Proposal::new(
            Uuid::new_v4(),
            Some(newest.version()),
            Operation::named("WRITE"),
        );
        proposal.transaction = Some(transaction);
        match txn::commit(&self.shared.table, &proposal, &self.shared.options.commit)? {
            CommitOutcome::AlreadyApplied { version } => {
                let version = version.unwrap_or(newest.version());
                self.succeed(version, None);
                Ok(Some(version))
            }
            // The newest version has it, and versions only grow.
            other => Err(StagingError::BadOption {
                option: "txnVersion",
                problem: format!("the table answered {other:?} to a transaction that it has seen"),
            }),
        }
    }

    /// The staged files, or copies that stand for those which somebody may still write to; and which
    /// of them are copies.
    fn looked_up(&self, staged: &[Staged]) -> Result<(Vec<StagedFile>, Vec<bool>), StagingError> {
        let inodes: Vec<u64> = staged.iter().map(|file| file.entry.inode).collect();
        let written = self.still_written(&inodes);
        let mut files = Vec::with_capacity(staged.len());
        let mut is_copy = Vec::with_capacity(staged.len());
        for Staged { entry, directories } in staged {
            let mut bytes: Arc<dyn StagedBytes> = Arc::new(Named {
                directory: self.directory.clone(),
                entry: entry.clone(),
            });
            let mut file = bytes.open()?;
            let is_unwritten = self.is_unwritten(entry.inode);
            let is_copied = is_unwritten || written.contains(&entry.inode);
            if is_copied {
                tracing::info!(
                    file = entry.path,
                    is_unwritten,
                    "a file that is still open for writing, or that the disk would not take, is \
                     copied; what it holds now is committed"
                );
                let made = self.directory.copy_to_scratch(&file, !is_unwritten)?;
                file = made.open()?;
                bytes = Arc::new(made);
            }
            files.push(StagedFile {
                name: entry.path.clone(),
                size: io(&entry.path, "stat", file.metadata())?.len(),
                bytes,
                directories: directories.clone(),
            });
            is_copy.push(is_copied);
        }
        Ok((files, is_copy))
    }

    /// Protocol and metadata as they will be.
    fn definition(
        &self,
        base: &Snapshot,
        request: &CommitRequest,
        files: &[StagedFile],
    ) -> Result<Definition, StagingError> {
        let shape = base.readable()?;
        let how = match request {
            CommitRequest {
                overwrite_schema: true,
                ..
            } => SchemaChange::Overwrite,
            CommitRequest {
                merge_schema: true, ..
            } => SchemaChange::Merge,
            _ => SchemaChange::None,
        };
        let evolved = evolve(base.metadata(), shape, base.protocol(), files, how)?;
        let Some((metadata, protocol)) = evolved else {
            return Ok(Definition {
                protocol: Arc::new(base.protocol().clone()),
                metadata: Arc::new(base.metadata().clone()),
                shape: None,
                changed: false,
            });
        };
        let protocol = protocol.unwrap_or_else(|| base.protocol().clone());
        let shape = TableShape::of(base.version() + 1, &protocol, &metadata)?;
        Ok(Definition {
            protocol: Arc::new(protocol),
            metadata: Arc::new(metadata),
            shape: Some(shape),
            changed: true,
        })
    }
}

impl CommitRequest {
    /// Whether it adds files and reads nothing.
    fn is_blind(&self) -> bool {
        self.mode == Mode::Append && self.remove.is_none() && self.read_version.is_none()
    }

    /// The `txn` action.
    pub(super) fn transaction(&self) -> Option<SetTransaction> {
        Some(SetTransaction {
            app_id: self.txn_app_id.clone()?,
            version: self.txn_version?,
            last_updated: Some(now_ms()),
        })
    }
}

/// Refuses files that changed since they were looked at, whoever did that.
fn check_unchanged(
    staged: &[Staged],
    files: &[StagedFile],
    is_copy: &[bool],
) -> Result<(), StagingError> {
    for ((staged, file), is_copy) in staged.iter().zip(files).zip(is_copy) {
        if !is_copy
            && !io(
                &file.name,
                "stat",
                staged.entry.is_still(&*file.bytes.open()?),
            )?
        {
            return Err(StagingError::Changed {
                file: file.name.clone(),
            });
        }
    }
    Ok(())
}

fn io<T>(
    name: &str,
    operation: &'static str,
    result: std::io::Result<T>,
) -> Result<T, StagingError> {
    result.map_err(|source| {
        StagingError::Storage(StorageError::Io {
            operation,
            location: name.to_owned(),
            source,
        })
    })
}

/// `work` on each of `files`; results in their order, or the first error. Four threads at least,
/// since they wait for the disk.
fn in_parallel<T: Sync, R: Send, E: Send>(
    files: &[T],
    work: impl Fn(&T) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    parallel::try_map("intake", parallel::cores().max(4), files, work)
}
