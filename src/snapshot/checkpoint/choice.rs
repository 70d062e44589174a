//! Which file actions of the log make up a version, and whether a checkpoint of it has them all
//! (PROTOCOL.md, "Action Reconciliation").

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

use roaring::RoaringBitmap;

use crate::base::clock::TimestampMs;
use crate::log::actions::{Add, DeletionVectorDescriptor};
use crate::log::checkpoint::write::{CheckpointSources, FileKey, Reconciliation};
use crate::log::checkpoint::{AddBatch, AddSink, DeletionVectorRef};
use crate::log::log_path;
use crate::log::names::commit_name;
use crate::snapshot::file_table::{FileId, FileTable, decode_path};
use crate::snapshot::{Generation, Snapshot};

/// See the module. What is live, the version's bitmap has decided; this takes of each live file the
/// newest `add`, and of each other the newest `remove` while it is young.
pub(super) struct Choice<'a> {
    generation: &'a Generation,
    live: &'a RoaringBitmap,
    /// The live files of which no `add` has come yet.
    missing: RoaringBitmap,
    /// Tombstones of this age or older have expired.
    oldest_tombstone: TimestampMs,
    /// The logical files of which a `remove` has come, as two independent hashes: a table that was
    /// overwritten has as many of them as it had files.
    removed: HashSet<(u64, u64)>,
    hashers: (RandomState, RandomState),
    /// The commit files that the actions are read from.
    commits: HashSet<String>,
}

impl<'a> Choice<'a> {
    pub(super) fn new(
        generation: &'a Generation,
        snapshot: &'a Snapshot,
        sources: &CheckpointSources,
        oldest_tombstone: TimestampMs,
    ) -> Choice<'a> {
        Choice {
            generation,
            live: snapshot.files(),
            missing: snapshot.files().clone(),
            oldest_tombstone,
            removed: HashSet::new(),
            hashers: (RandomState::new(), RandomState::new()),
            commits: (sources.commits.clone())
                .map(|version| log_path(&commit_name(version)))
                .collect(),
        }
    }
}

/// The logical file of that key among `ids`.
fn find(
    files: &FileTable,
    path: &str,
    absolute: bool,
    deletion_vector: Option<&DeletionVectorDescriptor>,
    ids: &RoaringBitmap,
) -> Option<FileId> {
    files
        .find(path, absolute, deletion_vector)
        .find(|id| ids.contains(*id))
}

impl Reconciliation for Choice<'_> {
    fn add(&mut self, key: &FileKey<'_>, source: &str, line: u32) -> Result<bool, String> {
        let (path, absolute) = decode_path(key.path).map_err(|error| error.to_string())?;
        let vector = key.deletion_vector.map(DeletionVectorRef::to_descriptor);
        let files = self.generation.files();
        let Some(id) = find(&files, &path, absolute, vector.as_ref(), &self.missing) else {
            return Ok(false);
        };
        let last = files.get(id).statistics;
        // Of two adds of one file in one commit, which should not be, the last one counts.
        if *last.path == *source && last.position != line && self.commits.contains(source) {
            return Ok(false);
        }
        self.missing.remove(id);
        Ok(true)
    }

    fn remove(
        &mut self,
        key: &FileKey<'_>,
        deletion_timestamp: Option<TimestampMs>,
    ) -> Result<bool, String> {
        let (path, absolute) = decode_path(key.path).map_err(|error| error.to_string())?;
        let vector = key.deletion_vector.map(DeletionVectorRef::to_descriptor);
        let files = self.generation.files();
        if find(&files, &path, absolute, vector.as_ref(), self.live).is_some() {
            return Ok(false);
        }
        let unique_id = vector.as_ref().map(DeletionVectorDescriptor::unique_id);
        let key = (&*path, absolute, unique_id);
        let hash = (self.hashers.0.hash_one(&key), self.hashers.1.hash_one(&key));
        // The newest one decides, expired or not. One that does not say when was long ago, as Delta on
        // Spark has it.
        let is_newest = self.removed.insert(hash);
        Ok(is_newest && deletion_timestamp.unwrap_or(0) > self.oldest_tombstone)
    }

    fn finish(&self) -> Result<(), String> {
        match self.missing.min() {
            None => Ok(()),
            Some(id) => Err(format!(
                "the log has no add action of {} live files, such as {:?}",
                self.missing.len(),
                self.generation.files().get(id).path
            )),
        }
    }

    fn comparison(&self) -> Box<dyn AddSink + '_> {
        Box::new(Comparison {
            choice: self,
            seen: RoaringBitmap::new(),
        })
    }
}

/// Compares the adds of a checkpoint with the live files of a version.
struct Comparison<'a> {
    choice: &'a Choice<'a>,
    seen: RoaringBitmap,
}

impl Comparison<'_> {
    fn compare(&self, files: &FileTable, adds: &AddBatch, row: usize) -> Result<FileId, String> {
        let raw = adds.path(row)?.unwrap_or_default();
        let (path, absolute) = decode_path(raw).map_err(|error| error.to_string())?;
        let vector = adds
            .deletion_vector(row)?
            .map(DeletionVectorRef::to_descriptor);
        let live = self.choice.live;
        let id = find(files, &path, absolute, vector.as_ref(), live)
            .ok_or_else(|| format!("{raw:?} is not live"))?;
        let file = files.get(id);
        if file.deletion_vector.map(|known| &known.descriptor) != vector.as_ref() {
            return Err(format!("{raw:?} has another deletion vector"));
        }
        let size = adds.size(row);
        if size.map(u64::try_from) != Some(Ok(file.size)) {
            return Err(format!("{raw:?} has size {size:?}, expected {}", file.size));
        }
        let mut values = file.partition_values.iter();
        let mut same = true;
        adds.partition_values(row, |column, value| {
            same &= values.next().is_some_and(|(known, expected)| {
                **known == *column && expected.as_deref() == value.filter(|v| !v.is_empty())
            });
        })?;
        if !same || values.next().is_some() {
            return Err(format!("{raw:?} has other partition values"));
        }
        // The file table knows the time that the action met last had: of this version's only where
        // that was one of the commits read.
        let time = adds.modification_time(row);
        if self.choice.commits.contains(&*file.statistics.path) && time != Some(file.modified) {
            return Err(format!(
                "{raw:?} has modification time {time:?}, expected {}",
                file.modified
            ));
        }
        Ok(id)
    }
}

impl AddSink for Comparison<'_> {
    fn expect(&mut self, _rows: usize) {}

    fn batch(&mut self, _path: &str, adds: &AddBatch) -> Result<(), String> {
        let files = self.choice.generation.files();
        for row in 0..adds.rows() {
            if adds.path(row)?.is_none() {
                continue;
            }
            let id = self
                .compare(&files, adds, row)
                .map_err(|problem| format!("row {}: {problem}", adds.file_row(row)))?;
            if !self.seen.insert(id) {
                return Err(format!(
                    "row {}: {:?} comes twice",
                    adds.file_row(row),
                    files.get(id).path
                ));
            }
        }
        Ok(())
    }

    fn single(&mut self, _path: &str, line: u32, add: Add<'_>) -> Result<(), String> {
        Err(format!(
            "line {line}: an add action of {:?} in JSON, expected Parquet alone",
            add.path
        ))
    }

    fn finish(&self) -> Result<(), String> {
        if self.seen == *self.choice.live {
            return Ok(());
        }
        Err(format!(
            "it has add actions of {} logical files, the version {}",
            self.seen.len(),
            self.choice.live.len()
        ))
    }
}
