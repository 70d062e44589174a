//! When versions were committed, and which version a time means.

use super::Generation;
use crate::base::Version;
use crate::base::clock::{TimestampMs, rfc3339};
use crate::log::LogError;
use crate::log::times::InCommitTimestamps;
use crate::protocol::in_commit_timestamps;
use crate::snapshot::SnapshotError;

impl Generation {
    /// When `version` was committed, milliseconds since the epoch; `None` when its commit file is
    /// gone.
    pub fn timestamp(&self, version: Version) -> Result<Option<TimestampMs>, SnapshotError> {
        let in_commit = match self.in_commit_timestamps(self.newest()) {
            Ok(in_commit) => in_commit,
            // A newest version that cannot be built leaves the others their times.
            Err(error) => self.in_commit_timestamps(version).map_err(|_| error)?,
        };
        let in_commit = in_commit.map(|(ict, _)| ict);
        let listing = self.listing();
        let mut times = self.times.lock();
        Ok(times.of(&*self.store, listing.commits(), in_commit, version)?)
    }

    /// What the table properties of `version` say.
    fn in_commit_timestamps(
        &self,
        version: Version,
    ) -> Result<Option<(InCommitTimestamps, TimestampMs)>, SnapshotError> {
        let snapshot = self.snapshot(version)?;
        in_commit_timestamps(snapshot.metadata())
            .map_err(|source| SnapshotError::Protocol { version, source })
    }

    /// The newest version; where it cannot be built, another that can, near it if possible.
    fn newest_buildable(&self) -> Result<Version, SnapshotError> {
        let newest = self.newest();
        let Err(error) = self.snapshot(newest) else {
            return Ok(newest);
        };
        for range in self.rebuildable().into_iter().rev() {
            let (mut low, mut high) = range.into_inner();
            if self.snapshot(low).is_err() {
                continue;
            }
            // Mostly, what lies behind a version that cannot be built cannot be built either.
            while low < high {
                let middle = low + (high - low).div_ceil(2);
                match self.snapshot(middle) {
                    Ok(_) => low = middle,
                    Err(_) => high = middle - 1,
                }
            }
            return Ok(low);
        }
        Err(error)
    }

    /// The newest version that can be rebuilt and was committed at or before `at`.
    /// [`LogError::NoVersionAtTime`] before the first and after `now`. `asked` is the time as the
    /// user wrote it.
    pub fn version_at(
        &self,
        asked: &str,
        at: TimestampMs,
        now: TimestampMs,
    ) -> Result<Version, SnapshotError> {
        let no_version = |reason: String| {
            SnapshotError::from(LogError::NoVersionAtTime {
                asked: asked.to_owned(),
                reason,
            })
        };
        if at > now {
            return Err(no_version("it lies in the future".to_owned()));
        }
        let listing = self.listing();
        let in_commit = self.in_commit_timestamps(self.newest_buildable()?)?;
        let versions: Vec<Version> = listing
            .rebuildable()
            .into_iter()
            .flatten()
            .filter(|version| listing.has_commit(*version))
            .collect();
        let found = self.times.lock().newest_at_or_before(
            &*self.store,
            listing.commits(),
            in_commit,
            &versions,
            at,
        )?;
        match found {
            Some(version) => Ok(version),
            None => Err(no_version(match versions.first() {
                None => "no version has a commit file, and only those tell times".to_owned(),
                Some(first) => {
                    let time = self.timestamp(*first)?.unwrap_or(0);
                    format!(
                        "the oldest version that can be rebuilt is {first}, committed at {}",
                        rfc3339(time)
                    )
                }
            })),
        }
    }
}
