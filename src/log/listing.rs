//! What lies in the log directory, and which files build which version.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use super::names::{LogName, commit_name};
use super::{LOG_DIR, LogError, log_path};
use crate::base::Version;
use crate::storage::{ObjectMeta, StorageError, Store};

/// The files of one complete checkpoint, as names in the log directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckpointFiles {
    /// A classic checkpoint: V1, or V2 with or without sidecars.
    Classic(String),
    /// All parts of a multi-part checkpoint, in order.
    Parts(Vec<String>),
    /// A UUID-named V2 checkpoint in Parquet.
    UuidParquet(String),
    /// A UUID-named V2 checkpoint in JSON.
    UuidJson(String),
}

/// One file to replay behind the checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommitSource {
    /// `N.json`.
    Commit(Version),
    /// `X.Y.compacted.json`, standing in for the commits of the range.
    Compaction(Version, Version),
}

/// The files that build one version (PROTOCOL.md, "Action Reconciliation").
///
/// Invariants: the commits are contiguous and end at `version`; they begin right behind the
/// checkpoint, or at 0 where there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogSegment {
    /// The version that this segment builds.
    pub version: Version,
    /// Where to begin.
    pub checkpoint: Option<(Version, CheckpointFiles)>,
    /// What to replay, oldest first.
    pub commits: Vec<CommitSource>,
}

impl LogSegment {
    /// The version of the checkpoint that the segment begins with.
    pub fn checkpoint_version(&self) -> Option<Version> {
        self.checkpoint.as_ref().map(|(version, _)| *version)
    }
}

/// A listing of the log directory. It only grows: see [`LogListing::push_commit`].
///
/// Invariants: `commits` is strictly increasing; every checkpoint is complete and not empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogListing {
    commits: Vec<Version>,
    checkpoints: BTreeMap<Version, Vec<CheckpointFiles>>,
    compactions: BTreeMap<Version, Version>,
}

impl LogListing {
    /// Lists the whole log. [`LogError::NotATable`] where there is no log or nothing in it.
    pub fn read(store: &dyn Store) -> Result<LogListing, LogError> {
        let names = match store.list_names(LOG_DIR, None) {
            Ok(names) => names,
            Err(StorageError::NotFound { .. }) => {
                return Err(not_a_table(store, "no such directory"));
            }
            Err(error) => return Err(error.into()),
        };
        let listing = LogListing::from_names(&names, |names| {
            let paths: Vec<String> = names.iter().map(|name| log_path(name)).collect();
            store
                .head_many(&paths)
                .into_iter()
                .map(|meta| meta.is_ok_and(|meta: ObjectMeta| meta.size > 0))
                .collect()
        });
        if listing.newest().is_none() {
            let found = match names.len() {
                0 => "an empty one".to_owned(),
                count => format!("{count} other files there"),
            };
            return Err(not_a_table(store, &found));
        }
        Ok(listing)
    }

    /// Sorts out `names`; `usable` tells of checkpoint and compaction files whether they hold
    /// bytes at all, so that an empty one, left by an interrupted writer, counts as absent.
    fn from_names(names: &[String], usable: impl Fn(&[&str]) -> Vec<bool>) -> LogListing {
        let mut listing = LogListing::default();
        let mut others: Vec<(&str, LogName)> = Vec::new();
        for name in names {
            match LogName::parse(name) {
                Some(LogName::Commit(version)) => listing.commits.push(version),
                Some(LogName::Checksum(_)) | None => {}
                Some(other) => others.push((name, other)),
            }
        }
        listing.commits.sort_unstable();
        listing.commits.dedup();
        let usable = usable(&others.iter().map(|(name, _)| *name).collect::<Vec<_>>());
        let mut parts: BTreeMap<(Version, u32), Vec<(u32, String)>> = BTreeMap::new();
        for ((name, parsed), _) in others.into_iter().zip(usable).filter(|(_, usable)| *usable) {
            let name = name.to_owned();
            match parsed {
                LogName::ClassicCheckpoint(version) => {
                    listing.add_checkpoint(version, CheckpointFiles::Classic(name));
                }
                LogName::UuidCheckpoint { version, json } => {
                    let files = if json {
                        CheckpointFiles::UuidJson(name)
                    } else {
                        CheckpointFiles::UuidParquet(name)
                    };
                    listing.add_checkpoint(version, files);
                }
                LogName::CheckpointPart {
                    version,
                    part,
                    parts: count,
                } => parts
                    .entry((version, count))
                    .or_default()
                    .push((part, name)),
                LogName::Compaction { first, last } => {
                    let end = listing.compactions.entry(first).or_insert(last);
                    *end = last.max(*end);
                }
                LogName::Commit(_) | LogName::Checksum(_) => {}
            }
        }
        for ((version, count), mut found) in parts {
            found.sort_unstable();
            // "Readers must ignore multi-part checkpoints with missing parts."
            if found.len() == count as usize {
                let names = found.into_iter().map(|(_, name)| name).collect();
                listing.add_checkpoint(version, CheckpointFiles::Parts(names));
            }
        }
        listing
    }

    fn add_checkpoint(&mut self, version: Version, files: CheckpointFiles) {
        self.checkpoints.entry(version).or_default().push(files);
    }

    /// Notes that the commit file behind the newest one has been seen.
    pub fn push_commit(&mut self, version: Version) {
        if self.commits.last().is_none_or(|last| *last < version) {
            self.commits.push(version);
        }
    }

    /// Notes that a complete checkpoint of `version` has been written.
    pub fn push_checkpoint(&mut self, version: Version, files: CheckpointFiles) {
        let known = self.checkpoints.entry(version).or_default();
        if !known.contains(&files) {
            known.push(files);
        }
    }

    /// The newest version of which there is a file.
    pub fn newest(&self) -> Option<Version> {
        let commit = self.commits.last().copied();
        let checkpoint = self.checkpoints.keys().next_back().copied();
        commit.max(checkpoint)
    }

    /// The versions that have a commit file, oldest first.
    pub fn commits(&self) -> &[Version] {
        &self.commits
    }

    /// Whether `version` has a commit file.
    pub fn has_commit(&self, version: Version) -> bool {
        self.commits.binary_search(&version).is_ok()
    }

    /// Whether `version` has a complete checkpoint.
    pub fn has_checkpoint(&self, version: Version) -> bool {
        self.checkpoints.contains_key(&version)
    }

    /// The versions that have a complete checkpoint, oldest first.
    pub fn checkpoint_versions(&self) -> impl DoubleEndedIterator<Item = Version> + '_ {
        self.checkpoints.keys().copied()
    }

    /// The ranges of versions that can be rebuilt, ascending: each begins at version 0 or at a
    /// checkpoint and goes on while commit files do.
    pub fn rebuildable(&self) -> Vec<RangeInclusive<Version>> {
        let mut ranges: Vec<RangeInclusive<Version>> = Vec::new();
        let starts = self
            .has_commit(0)
            .then_some(0)
            .into_iter()
            .chain(self.checkpoint_versions());
        for start in starts {
            if ranges.last().is_some_and(|range| range.contains(&start)) {
                continue;
            }
            let end = self.contiguous_from(start + 1).unwrap_or(start);
            match ranges.last_mut() {
                Some(last) if *last.end() + 1 == start => *last = *last.start()..=end,
                _ => ranges.push(start..=end),
            }
        }
        ranges
    }

    /// The last of the commits that follow each other from `first` on.
    fn contiguous_from(&self, first: Version) -> Option<Version> {
        let at = self.commits.binary_search(&first).ok()?;
        // Versions strictly increase, so "as far along as its index" means "no hole so far".
        let run = &self.commits[at..];
        let (mut low, mut high) = (0, run.len() - 1);
        while low < high {
            let middle = (low + high).div_ceil(2);
            if run[middle] - first == middle as u64 {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        Some(run[low])
    }

    /// Whether anything can build `version`; errors as of [`LogListing::segments`].
    pub fn check(&self, version: Version) -> Result<(), LogError> {
        self.segments(version).map(drop)
    }

    /// The segments that can build `version`, best first: from the newest checkpoint, the other
    /// ones at the same version, older ones, and last the commit files from version 0 on.
    ///
    /// [`LogError::VersionNotFound`] when the version lies before or behind what the log has,
    /// [`LogError::Gap`] when it lies behind a hole.
    pub fn segments(
        &self,
        version: Version,
    ) -> Result<impl Iterator<Item = LogSegment> + '_, LogError> {
        if !self.has_commit(version) && !self.checkpoints.contains_key(&version) {
            return Err(self.no_such_version(version));
        }
        let reaches = move |first: Version| {
            first > version
                || self
                    .contiguous_from(first)
                    .is_some_and(|end| end >= version)
        };
        // Where the commits behind a checkpoint do not reach the version, those behind an older one
        // do not either.
        let mut starts = self
            .checkpoints
            .range(..=version)
            .rev()
            .take_while(move |(at, _)| reaches(*at + 1))
            .flat_map(|(at, choices)| choices.iter().map(move |files| Some((*at, files))))
            .chain(reaches(0).then_some(None))
            .peekable();
        if starts.peek().is_none() {
            return Err(self.cannot_build(version));
        }
        Ok(starts.map(move |start| LogSegment {
            version,
            checkpoint: start.map(|(at, files)| (at, files.clone())),
            commits: self.commits_between(start.map_or(0, |(at, _)| at + 1), version),
        }))
    }

    /// The commit files (no compactions) of `first..=last`; `None` when one is missing.
    pub fn plain_commits(&self, first: Version, last: Version) -> Option<Vec<CommitSource>> {
        if first > last {
            return Some(Vec::new());
        }
        (self.contiguous_from(first)? >= last)
            .then(|| (first..=last).map(CommitSource::Commit).collect())
    }

    /// What to replay for `first..=last`, of which every commit file is there: a run of them for
    /// which there is a compaction is replaced by it.
    fn commits_between(&self, first: Version, last: Version) -> Vec<CommitSource> {
        let mut sources = Vec::new();
        let mut next = first;
        while next <= last {
            match self.compactions.get(&next) {
                Some(end) if *end <= last => {
                    sources.push(CommitSource::Compaction(next, *end));
                    next = end + 1;
                }
                _ => {
                    sources.push(CommitSource::Commit(next));
                    next += 1;
                }
            }
        }
        sources
    }

    fn no_such_version(&self, version: Version) -> LogError {
        let ranges = self.rebuildable();
        let newest = self.newest().unwrap_or(0);
        let inside_hole = version < newest
            && ranges.first().is_some_and(|range| version > *range.start())
            && !self.has_commit(version);
        if inside_hole {
            return self.cannot_build(version);
        }
        LogError::VersionNotFound {
            version,
            reason: match (ranges.first(), ranges.last()) {
                (Some(first), Some(last)) => format!(
                    "the log holds versions {} to {}",
                    first.start(),
                    last.end().max(&newest)
                ),
                _ => "the log cannot rebuild any version".to_owned(),
            },
        }
    }

    /// Why `version`, of which there is a file, cannot be built: the log was cleaned up before it,
    /// or has a hole.
    fn cannot_build(&self, version: Version) -> LogError {
        let ranges = self.rebuildable();
        let before = ranges.iter().rev().find(|range| *range.end() < version);
        match before {
            None => LogError::VersionNotFound {
                version,
                reason: match (ranges.first(), self.commits.first()) {
                    (Some(first), _) => format!(
                        "the log was cleaned up before it; the oldest version that can be \
                         rebuilt is {}",
                        first.start()
                    ),
                    (None, Some(first)) => format!(
                        "the log begins with {} and has no usable checkpoint at or after it, so \
                         no version can be rebuilt; restore {} or a checkpoint",
                        commit_name(*first),
                        commit_name(0)
                    ),
                    (None, None) => "the log has no commit file".to_owned(),
                },
            },
            Some(range) => LogError::Gap {
                version,
                missing: commit_name(range.end() + 1),
                found: self.found_ranges(),
            },
        }
    }

    /// The runs of commit files that are there, as text.
    fn found_ranges(&self) -> String {
        let mut runs: Vec<String> = Vec::new();
        let mut at = 0;
        while let Some(first) = self.commits.get(at) {
            let last = self.contiguous_from(*first).unwrap_or(*first);
            runs.push(if first == &last {
                first.to_string()
            } else {
                format!("{first}-{last}")
            });
            at += (last - first + 1) as usize;
            if runs.len() == 8 && at < self.commits.len() {
                runs.push("…".to_owned());
                break;
            }
        }
        runs.join(", ")
    }
}

fn not_a_table(store: &dyn Store, found: &str) -> LogError {
    LogError::NotATable {
        root: store.root().to_owned(),
        found: found.to_owned(),
    }
}

#[cfg(test)]
mod tests;
