//! Data files that were found to be gone.

use std::collections::HashMap;

use parking_lot::Mutex;
use roaring::RoaringBitmap;

use crate::snapshot::{FileId, Generation};

/// Live files of which somebody found that they are gone, by generation.
#[derive(Debug, Default)]
pub(super) struct Missing(Mutex<HashMap<u64, RoaringBitmap>>);

impl Missing {
    /// Takes note; `false` when it was known already.
    pub(super) fn note(&self, generation: &Generation, id: FileId) -> bool {
        self.0
            .lock()
            .entry(generation.number())
            .or_default()
            .insert(id)
    }

    /// How many of `ids` are known to be gone.
    pub(super) fn among(&self, generation: &Generation, ids: &RoaringBitmap) -> u64 {
        let missing = self.0.lock();
        missing
            .get(&generation.number())
            .map_or(0, |missing| missing.intersection_len(ids))
    }
}
