//! What version checksums say of versions.

use super::super::state::Snapshot;
use super::Generation;
use crate::log::checksum::read_checksum;

impl Generation {
    /// Compares a snapshot with the version checksum, if there is one, and warns of differences.
    pub(super) fn cross_check(&self, snapshot: &Snapshot) {
        if let Some(problem) = self.checksum_problem(snapshot) {
            tracing::warn!(version = snapshot.version(), %problem, "version checksum differs");
        }
    }

    /// What the version checksum says otherwise than the snapshot; `None` when it agrees or there
    /// is none (PROTOCOL.md, "State Validation").
    pub fn checksum_problem(&self, snapshot: &Snapshot) -> Option<String> {
        let checksum = read_checksum(&*self.store, snapshot.version())?;
        let files = snapshot.files().len();
        if i64::try_from(files) != Ok(checksum.num_files) {
            return Some(format!(
                "the checksum counts {} live files, the log has {files}",
                checksum.num_files
            ));
        }
        let size = self.size_of(snapshot);
        if i64::try_from(size) != Ok(checksum.table_size_bytes) {
            return Some(format!(
                "the checksum adds up to {} bytes, the log to {size}",
                checksum.table_size_bytes
            ));
        }
        if let Some(metadata) = &checksum.metadata
            && metadata.id != snapshot.metadata().id
        {
            return Some(format!(
                "the checksum is of table {}, the log of {}",
                metadata.id,
                snapshot.metadata().id
            ));
        }
        None
    }
}
