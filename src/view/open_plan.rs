//! What has to be opened for a presented file.

use crate::base::clock::TimestampMs;
use crate::log::actions::DeletionVectorDescriptor;
use crate::snapshot::FileId;
use crate::storage::Location;

/// What has to be opened for a presented file. Made while the file table is held, and opened when it
/// is not.
#[derive(Debug)]
pub struct OpenPlan {
    pub(super) id: FileId,
    pub(super) location: Location,
    pub(super) path: String,
    /// `add.size`.
    pub(super) size: u64,
    /// `add.modificationTime`.
    pub(super) modified: TimestampMs,
    pub(super) deletion_vector: Option<DeletionVectorDescriptor>,
    pub(super) partition_values: Vec<Option<String>>,
    /// Whether the file's name promises its own bytes.
    pub(super) promised: bool,
}
