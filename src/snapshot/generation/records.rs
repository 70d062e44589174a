//! How many rows live files have.

use std::collections::HashMap;
use std::sync::Arc;

use roaring::RoaringBitmap;

use super::super::SnapshotError;
use super::super::file_table::FileId;
use super::super::state::Snapshot;
use super::Generation;
use crate::log::LogError;
use crate::log::statistics::{records_in_json, records_in_parquet};

impl Generation {
    /// `numRecords` of live files, read from where their statistics lie. Files without that
    /// statistic have no entry.
    pub fn num_records(&self, ids: &RoaringBitmap) -> Result<HashMap<FileId, i64>, SnapshotError> {
        let mut by_source: HashMap<Arc<str>, HashMap<u32, FileId>> = HashMap::new();
        {
            let files = self.files();
            for id in ids {
                let at = files.get(id).statistics;
                by_source
                    .entry(at.path)
                    .or_default()
                    .insert(at.position, id);
            }
        }
        let mut records = HashMap::new();
        for (path, positions) in by_source {
            let wanted: RoaringBitmap = positions.keys().copied().collect();
            let found = if path.ends_with(".json") {
                records_in_json(&*self.store, &path, &wanted)
            } else {
                records_in_parquet(&*self.store, &path, &wanted)
            };
            let found = match found {
                Ok(found) => found,
                // Cleaned up since: the statistics are gone with it.
                Err(LogError::Storage(error)) if error.is_not_found() => continue,
                Err(error) => return Err(error.into()),
            };
            records.extend(
                found
                    .into_iter()
                    .filter_map(|(position, count)| Some((*positions.get(&position)?, count))),
            );
        }
        Ok(records)
    }

    /// The live files of a version of which every row is deleted, by what their statistics say of
    /// the number of their rows. Statistics that cannot be read say nothing.
    pub fn without_rows(&self, snapshot: &Snapshot) -> RoaringBitmap {
        let mut found = RoaringBitmap::new();
        let mut unknown = RoaringBitmap::new();
        let mut all_deleted = self.all_deleted.lock();
        let some_deleted = snapshot.files() & self.files().with_deletion_vector();
        for id in some_deleted {
            match all_deleted.get(&id) {
                Some(true) => drop(found.insert(id)),
                Some(false) => {}
                None => drop(unknown.insert(id)),
            }
        }
        if unknown.is_empty() {
            return found;
        }
        let records = match self.num_records(&unknown) {
            Ok(records) => records,
            Err(error) => {
                tracing::debug!(%error, "which files have no live rows cannot be told");
                return found;
            }
        };
        let files = self.files();
        for id in unknown {
            let deleted = files.get(id).deletion_vector;
            let deleted = deleted.map(|vector| vector.descriptor.cardinality);
            let all = deleted.is_some() && deleted == records.get(&id).copied();
            all_deleted.insert(id, all);
            if all {
                found.insert(id);
            }
        }
        found
    }
}
