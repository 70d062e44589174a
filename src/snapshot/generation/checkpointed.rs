//! What writing checkpoints and version checksums needs to know of a table.

use super::Generation;
use crate::base::Version;
use crate::log::listing::CheckpointFiles;
use crate::snapshot::Snapshot;

/// The size of a version that was added up last, so that the next one costs only the difference.
#[derive(Default)]
pub(super) struct KnownSize(Option<(Snapshot, u64)>);

impl Generation {
    /// The bytes of all live data files together.
    ///
    /// The first answer looks at every file; each further one only at those in which the version
    /// differs from the one asked about before.
    pub fn size_of(&self, snapshot: &Snapshot) -> u64 {
        let mut known = self.known_size.lock();
        let files = self.files();
        let sum = |ids: roaring::RoaringBitmap| {
            ids.iter()
                .fold(0, |sum: u64, id| sum.saturating_add(files.size(id)))
        };
        let size = match &known.0 {
            // What was cut off at the largest number tells no difference.
            Some((before, size)) if *size < u64::MAX => {
                let added = snapshot.files() - before.files();
                let gone = before.files() - snapshot.files();
                if added.len() + gone.len() < snapshot.files().len() {
                    size.saturating_sub(sum(gone)).saturating_add(sum(added))
                } else {
                    sum(snapshot.files().clone())
                }
            }
            _ => sum(snapshot.files().clone()),
        };
        known.0 = Some((snapshot.clone(), size));
        size
    }

    /// Notes that a complete checkpoint of `version` was written.
    pub(in crate::snapshot) fn push_checkpoint(&self, version: Version, files: CheckpointFiles) {
        let mut listing = self.listing.write();
        std::sync::Arc::make_mut(&mut listing).push_checkpoint(version, files);
    }
}
