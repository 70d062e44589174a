//! When versions were committed: in-commit timestamps where the table has them, else the
//! modification times of commit files, made strictly increasing (PROTOCOL.md, "Recommendations for
//! Readers of Tables with In-Commit Timestamps"; for the rest, what Delta on Spark does).

use std::collections::{BTreeSet, HashMap};

use super::history::read_in_commit_timestamp;
use super::names::commit_name;
use super::{LogError, log_path};
use crate::base::Version;
use crate::base::clock::TimestampMs;
use crate::storage::Store;

/// From which version on commits carry their own time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InCommitTimestamps {
    /// The first version with an in-commit timestamp; 0 when the table always had them.
    pub since: Version,
}

/// The commit times of a log, found out as needed.
#[derive(Debug, Default)]
pub struct CommitTimes {
    /// Adjusted modification times: strictly increasing with the version.
    modified: Vec<(Version, TimestampMs)>,
    in_commit: HashMap<Version, TimestampMs>,
    /// Commit files that were listed and not there.
    missing: BTreeSet<Version>,
}

impl CommitTimes {
    /// Takes note of the commit files `commits` (ascending) not seen before.
    fn extend(&mut self, store: &dyn Store, commits: &[Version]) -> Result<(), LogError> {
        if self.has_holes(commits) {
            // A gap in the log was mended; later times depend on those within.
            self.modified.clear();
            self.missing.clear();
        }
        let seen = self.modified.last().map(|(version, _)| *version);
        let new = match seen {
            Some(last) => &commits[commits.partition_point(|version| *version <= last)..],
            None => commits,
        };
        if new.is_empty() {
            return Ok(());
        }
        let paths: Vec<String> = new.iter().map(|v| log_path(&commit_name(*v))).collect();
        for (version, meta) in new.iter().zip(store.head_many(&paths)) {
            let meta = match meta {
                Ok(meta) => meta,
                // Cleaned up since it was listed.
                Err(error) if error.is_not_found() => {
                    self.missing.insert(*version);
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            self.push(*version, meta.modified);
        }
        Ok(())
    }

    /// Whether there are commits before the last one looked at that were not looked at.
    fn has_holes(&self, commits: &[Version]) -> bool {
        let (Some(first), Some((last, _))) = (commits.first(), self.modified.last()) else {
            return false;
        };
        if first > last {
            return false;
        }
        let listed = commits.partition_point(|version| version <= last);
        let known = self
            .modified
            .partition_point(|(version, _)| version < first);
        let missing = self.missing.range(first..=last).count();
        listed > self.modified.len() - known + missing
    }

    /// "adjusted 10, 11, 12": a time not after its predecessor's becomes 1 ms later than that.
    fn push(&mut self, version: Version, modified: TimestampMs) {
        let adjusted = match self.modified.last() {
            Some((_, before)) if modified <= *before => before.saturating_add(1),
            _ => modified,
        };
        self.modified.push((version, adjusted));
    }

    /// When `version` was committed; `None` when its commit file is gone. `commits` are the
    /// versions that have a commit file, ascending.
    pub fn of(
        &mut self,
        store: &dyn Store,
        commits: &[Version],
        in_commit: Option<InCommitTimestamps>,
        version: Version,
    ) -> Result<Option<TimestampMs>, LogError> {
        if in_commit.is_some_and(|ict| version >= ict.since)
            && let Some(timestamp) = self.in_commit_time(store, version)?
        {
            return Ok(Some(timestamp));
        }
        self.extend(store, commits)?;
        Ok(self
            .modified
            .binary_search_by_key(&version, |(version, _)| *version)
            .ok()
            .map(|at| self.modified[at].1))
    }

    fn in_commit_time(
        &mut self,
        store: &dyn Store,
        version: Version,
    ) -> Result<Option<TimestampMs>, LogError> {
        if let Some(known) = self.in_commit.get(&version) {
            return Ok(Some(*known));
        }
        match read_in_commit_timestamp(store, version) {
            Ok(Some(timestamp)) => {
                self.in_commit.insert(version, timestamp);
                Ok(Some(timestamp))
            }
            Ok(None) => {
                tracing::warn!(
                    version,
                    "in-commit timestamps are enabled, but the commit has none; its modification \
                     time stands in"
                );
                Ok(None)
            }
            Err(LogError::Storage(error)) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The newest of `versions` (ascending, with commit files) committed at or before `at`.
    /// `None` when all are later. `commits` as in [`CommitTimes::of`].
    pub fn newest_at_or_before(
        &mut self,
        store: &dyn Store,
        commits: &[Version],
        in_commit: Option<(InCommitTimestamps, TimestampMs)>,
        versions: &[Version],
        at: TimestampMs,
    ) -> Result<Option<Version>, LogError> {
        // "If timestamp X >= inCommitTimestampEnablementTimestamp, only table versions >= the
        // enablement version should be considered, otherwise only those below."
        let (candidates, ict) = match in_commit {
            None => (versions, None),
            Some((ict, enabled_at)) => {
                let split = versions.partition_point(|version| *version < ict.since);
                if at >= enabled_at {
                    (&versions[split..], Some(ict))
                } else {
                    (&versions[..split], None)
                }
            }
        };
        // Times strictly increase with versions, so the first that is too late can be bisected.
        let (mut low, mut high) = (0, candidates.len());
        while low < high {
            let middle = low + (high - low) / 2;
            let early = match self.of(store, commits, ict, candidates[middle])? {
                Some(time) => time <= at,
                None => true,
            };
            if early {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(low.checked_sub(1).map(|index| candidates[index]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d5_modification_times_are_made_strictly_increasing() {
        let mut times = CommitTimes::default();
        for (version, modified) in [(0, 10), (1, 8), (2, 12), (3, 12), (4, 13), (5, 100)] {
            times.push(version, modified);
        }
        assert_eq!(
            times.modified,
            vec![(0, 10), (1, 11), (2, 12), (3, 13), (4, 14), (5, 100)]
        );
    }
}
