//! Building versions: from the log, or by walking from what was built before.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::super::SnapshotError;
use super::super::replay::{CheckpointFiller, CommitApplier, State};
use super::super::run::{Run, Step};
use super::super::state::Snapshot;
use super::Generation;
use crate::base::Version;
use crate::log::checkpoint::read_checkpoint;
use crate::log::commit::read_actions;
use crate::log::listing::{CommitSource, LogListing, LogSegment};
use crate::log::names::{commit_name, compaction_name};
use crate::log::{LogError, log_path};

/// A checkpoint nearer than an already built version by more than this many commits is read anew.
const WALK_AT_MOST: u64 = 200;

/// Commit files fetched together.
const COMMITS_AT_ONCE: usize = 64;

impl Generation {
    /// `version`, from what is in memory as far as that goes.
    pub(super) fn build(
        &self,
        runs: &mut Vec<Run>,
        version: Version,
    ) -> Result<Arc<Snapshot>, SnapshotError> {
        if let Some(run) = runs.iter().find(|run| run.reaches(version)) {
            return Ok(Arc::new(self.walk(run, version)?));
        }
        if self.ended.load(Ordering::Relaxed) {
            return Err(SnapshotError::from(LogError::VersionNotFound {
                version,
                reason: "another table has taken the place of this one".to_owned(),
            }));
        }
        let listing = self.listing();
        let mut segments = listing.segments(version)?.peekable();
        if let Some((at, start)) = nearest_below(runs, version) {
            let checkpoint = segments.peek().and_then(LogSegment::checkpoint_version);
            let distance = version - start;
            let from_checkpoint = checkpoint.map_or(u64::MAX, |at| version - at);
            if (distance <= WALK_AT_MOST || distance <= from_checkpoint)
                && let Some(commits) = listing.plain_commits(start + 1, version)
            {
                match self.go_on(runs, at, start, &commits) {
                    Ok(snapshot) => return Ok(snapshot),
                    // A checkpoint behind the commit that cannot be read may stand in for it.
                    Err(error) if checkpoint > Some(start) => {
                        tracing::debug!(version, %error, "commits cannot be replayed");
                    }
                    Err(error) => return Err(error),
                }
            }
        }
        let snapshot = self.load(runs, &listing, version, segments)?;
        self.cross_check(&snapshot);
        Ok(snapshot)
    }

    /// Replays `commits` behind version `start` of the run at `at`.
    fn go_on(
        &self,
        runs: &mut Vec<Run>,
        at: usize,
        start: Version,
        commits: &[CommitSource],
    ) -> Result<Arc<Snapshot>, SnapshotError> {
        if start == runs[at].newest().version() {
            return self.extend(&mut runs[at], commits);
        }
        // The version lies within a compaction: branch off before it.
        let mut branch = Run::new(Arc::new(self.walk(&runs[at], start)?));
        let snapshot = self.extend(&mut branch, commits)?;
        runs.push(branch);
        Ok(snapshot)
    }

    /// Tries the ways to build `version` from the log, best first.
    fn load(
        &self,
        runs: &mut Vec<Run>,
        listing: &LogListing,
        version: Version,
        segments: impl Iterator<Item = LogSegment>,
    ) -> Result<Arc<Snapshot>, SnapshotError> {
        let mut first_fault = None;
        for segment in segments {
            let mut run = match self.begin(listing, &segment) {
                Ok(run) => run,
                Err(SnapshotError::Log(error)) if error.is_checkpoint_fault() => {
                    tracing::warn!(version, %error, "a checkpoint cannot be used; trying another way");
                    first_fault.get_or_insert(error);
                    continue;
                }
                Err(error) => return Err(error),
            };
            let base = run.newest().version();
            let commits: Vec<CommitSource> = segment
                .commits
                .into_iter()
                .filter(|source| end_of(source) > base)
                .collect();
            let result = match self.extend(&mut run, &commits) {
                Err(error) if has_compaction(&commits) => {
                    tracing::warn!(version, %error, "a log compaction cannot be used; reading commits");
                    match listing.plain_commits(run.newest().version() + 1, version) {
                        Some(plain) => self.extend(&mut run, &plain),
                        None => Err(error),
                    }
                }
                result => result,
            };
            runs.push(run);
            return result;
        }
        Err(match first_fault {
            Some(first) => LogError::NoUsableCheckpoint {
                version,
                first: Box::new(first),
            }
            .into(),
            None => LogError::VersionNotFound {
                version,
                reason: "the log cannot rebuild it".to_owned(),
            }
            .into(),
        })
    }

    /// The run that begins with the segment's checkpoint, or with its first commits.
    fn begin(&self, listing: &LogListing, segment: &LogSegment) -> Result<Run, SnapshotError> {
        if let Some((version, files)) = &segment.checkpoint {
            let mut filler = CheckpointFiller::new(&self.files);
            let checkpoint = read_checkpoint(&*self.store, *version, files, &mut filler)?;
            let state = State::from_checkpoint(*version, checkpoint, filler.into_files());
            return Ok(Run::new(Arc::new(state.to_snapshot(*version)?)));
        }
        match self.begin_with(segment.version, &segment.commits) {
            Err(error) if has_compaction(&segment.commits) => {
                tracing::warn!(
                    version = segment.version,
                    %error,
                    "a log compaction cannot be used; reading commits"
                );
                match listing.plain_commits(0, segment.version) {
                    Some(plain) => self.begin_with(segment.version, &plain),
                    None => Err(error),
                }
            }
            result => result,
        }
    }

    /// The run that begins with the first of `commits` by which a table is there.
    fn begin_with(&self, version: Version, commits: &[CommitSource]) -> Result<Run, SnapshotError> {
        let mut state = State::default();
        let mut outcome = None;
        for source in commits {
            let path = path_of(source);
            let bytes = self.store.get(&path)?;
            self.apply(&mut state, source, &path, &bytes, None)?;
            match state.to_snapshot(end_of(source)) {
                Ok(snapshot) => return Ok(Run::new(Arc::new(snapshot))),
                // Versions before the first protocol and metadata are no versions.
                Err(error) => outcome = Some(error),
            }
        }
        Err(outcome.unwrap_or_else(|| {
            LogError::VersionNotFound {
                version,
                reason: "the log holds no commit".to_owned(),
            }
            .into()
        }))
    }

    /// Replays `commits` behind the newest version of `run`. Where one fails, the run takes up those
    /// before it, so that asking again does not read them again.
    fn extend(
        &self,
        run: &mut Run,
        commits: &[CommitSource],
    ) -> Result<Arc<Snapshot>, SnapshotError> {
        match self.replay(run, commits) {
            Ok(newest) => Ok(newest),
            Err((good, error)) => {
                if good > 0 {
                    // They were just read; should that change, the next caller reads them.
                    let _ = self.replay(run, &commits[..good]);
                }
                Err(error)
            }
        }
    }

    /// Replays `commits` behind the newest version of `run`; where one fails, the run stays as it
    /// was, and the error comes with the number of commits before it.
    fn replay(
        &self,
        run: &mut Run,
        commits: &[CommitSource],
    ) -> Result<Arc<Snapshot>, (usize, SnapshotError)> {
        let Some(last) = commits.last() else {
            return Ok(run.newest().clone());
        };
        let mut state = State::from_snapshot(run.newest());
        let mut previous = run.newest().version();
        let mut steps = Vec::with_capacity(commits.len());
        for chunk in commits.chunks(COMMITS_AT_ONCE) {
            let paths: Vec<String> = chunk.iter().map(path_of).collect();
            let contents = self.store.get_many(&paths);
            for ((source, path), bytes) in chunk.iter().zip(&paths).zip(contents) {
                let step = bytes
                    .map_err(SnapshotError::from)
                    .and_then(|bytes| self.apply(&mut state, source, path, &bytes, Some(previous)))
                    .map_err(|error| (steps.len(), error))?;
                steps.push(step);
                previous = end_of(source);
            }
        }
        let snapshot = state
            .to_snapshot(end_of(last))
            .map_err(|error| (0, error))?;
        let snapshot = Arc::new(snapshot);
        run.extend(steps, snapshot.clone());
        Ok(snapshot)
    }

    fn apply(
        &self,
        state: &mut State,
        source: &CommitSource,
        path: &str,
        bytes: &[u8],
        previous: Option<Version>,
    ) -> Result<Step, SnapshotError> {
        let mut applier = CommitApplier::new(&self.files, state, path, previous, end_of(source));
        read_actions(path, bytes, &mut applier)?;
        Ok(applier.finish())
    }

    /// Walks within `run`, from the cached version nearest to `version`.
    fn walk(&self, run: &Run, version: Version) -> Result<Snapshot, SnapshotError> {
        let start = {
            let cache = self.cache.lock();
            cache
                .iter()
                .filter(|(cached, _)| run.reaches(**cached))
                .min_by_key(|(cached, _)| cached.abs_diff(version))
                .map(|(_, snapshot)| snapshot.clone())
        };
        let start = start.filter(|start| {
            start.version().abs_diff(version) < run.newest().version().abs_diff(version)
        });
        run.walk(start.as_deref(), version)
    }
}

fn has_compaction(commits: &[CommitSource]) -> bool {
    commits
        .iter()
        .any(|source| matches!(source, CommitSource::Compaction(..)))
}

fn end_of(source: &CommitSource) -> Version {
    match source {
        CommitSource::Commit(version) => *version,
        CommitSource::Compaction(_, last) => *last,
    }
}

fn path_of(source: &CommitSource) -> String {
    match source {
        CommitSource::Commit(version) => log_path(&commit_name(*version)),
        CommitSource::Compaction(first, last) => log_path(&compaction_name(*first, *last)),
    }
}

/// The run, and the version in it, from which `version` is reached by the fewest further commits.
fn nearest_below(runs: &[Run], version: Version) -> Option<(usize, Version)> {
    runs.iter()
        .enumerate()
        .filter_map(|(at, run)| Some((at, run.last_before(version)?)))
        .max_by_key(|(_, start)| *start)
}
