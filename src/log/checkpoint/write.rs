//! Writing checkpoints (PROTOCOL.md, "Checkpoints", "Checkpoint Schema").
//!
//! File actions go from the log to the checkpoint in batches: those of the checkpoint before as
//! columns, those of commits as their JSON says. Each file of the new checkpoint is decoded from
//! memory and compared before it is stored, and stored under its name whole, so nobody meets one
//! that is not right.

mod conform;
mod digest;
mod encode;
mod error;
mod fields;
mod gather;
mod others;
mod readback;
mod rows;
mod statistics;
mod writer;

use std::ops::Range;

use self::encode::encoding;
use self::writer::Writer;
use super::{AddSink, DeletionVectorRef};
use crate::base::Version;
use crate::base::clock::TimestampMs;
use crate::base::panics::caught_as;
use crate::log::actions::{DomainMetadata, Metadata, Protocol, SetTransaction};
use crate::log::listing::CheckpointFiles;
use crate::log::log_path;
use crate::log::names::classic_checkpoint_name;
use crate::schema::{MappingMode, StructType};
use crate::storage::Store;

pub use error::WriteError;

/// What a logical file goes by: the path as the log has it, and its deletion vector.
#[derive(Debug, Clone, Copy)]
pub struct FileKey<'a> {
    /// `path`, URI-encoded.
    pub path: &'a str,
    /// `deletionVector`.
    pub deletion_vector: Option<DeletionVectorRef<'a>>,
}

/// Decides which file actions a checkpoint takes, and compares what was written with the version.
/// Errors are problems in words: what was found and what was expected.
pub trait Reconciliation {
    /// Whether the checkpoint takes this `add`, from line `line` (from 0) of a JSON file at `path`,
    /// or from a Parquet file. Those of newer commits come before those of older ones.
    fn add(&mut self, key: &FileKey<'_>, path: &str, line: u32) -> Result<bool, String>;

    /// Whether the checkpoint takes this `remove`.
    fn remove(
        &mut self,
        key: &FileKey<'_>,
        deletion_timestamp: Option<TimestampMs>,
    ) -> Result<bool, String>;

    /// Every file action of the log was told: an error where an `add` is missing.
    fn finish(&self) -> Result<(), String>;

    /// Compares the adds of a checkpoint with the version.
    fn comparison(&self) -> Box<dyn AddSink + '_>;
}

/// The files of the log that a checkpoint is made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckpointSources {
    /// The checkpoint before.
    pub checkpoint: Option<(Version, CheckpointFiles)>,
    /// The commits behind it, all of which have a commit file.
    pub commits: Range<Version>,
}

/// How a checkpoint is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckpointForm {
    /// One file `N.checkpoint.parquet` of the V1 spec.
    Classic,
    /// `N.checkpoint.UUID.parquet` of the V2 spec, with the file actions in sidecars.
    V2,
}

/// How pages are compressed (PROTOCOL.md, "Table Properties").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckpointCodec {
    /// Not at all.
    Uncompressed,
    /// Snappy.
    Snappy,
    /// Gzip.
    Gzip,
    /// LZ4 in the framing of Hadoop.
    Lz4,
    /// LZ4 blocks.
    Lz4Raw,
    /// Brotli.
    Brotli,
    /// Zstandard.
    Zstd,
}

/// The form of data pages (PROTOCOL.md, "Table Properties").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageVersion {
    /// `DataPageV1`.
    V1,
    /// `DataPageV2`.
    V2,
}

/// A checkpoint to write.
#[derive(Debug)]
pub struct NewCheckpoint<'a> {
    /// The version it stands for.
    pub version: Version,
    /// Its form.
    pub form: CheckpointForm,
    /// How its pages are compressed.
    pub codec: CheckpointCodec,
    /// How its pages are laid out.
    pub pages: PageVersion,
    /// Whether `add.stats` is there.
    pub stats_as_json: bool,
    /// Whether `add.stats_parsed` and `add.partitionValues_parsed` are there, of columns of this
    /// schema.
    pub stats_as_struct: Option<(&'a StructType, MappingMode)>,
    /// The protocol in force.
    pub protocol: &'a Protocol,
    /// The metadata in force.
    pub metadata: &'a Metadata,
    /// The `txn` actions.
    pub transactions: Vec<SetTransaction>,
    /// The `domainMetadata` actions, none of them removed.
    pub domains: Vec<DomainMetadata>,
}

/// A file that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenFile {
    /// Its path, relative to the table root.
    pub path: String,
    /// Its size, bytes.
    pub size: u64,
    /// Its modification time, milliseconds since the epoch.
    pub modified: TimestampMs,
}

impl WrittenFile {
    /// The last segment of the path.
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }
}

/// A checkpoint that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenCheckpoint {
    /// The file that readers look for.
    pub file: WrittenFile,
    /// Whether it follows the V2 spec.
    pub is_v2: bool,
    /// The sidecars it refers to.
    pub sidecars: Vec<WrittenFile>,
    /// How many actions they hold together, `sidecar` actions among them.
    pub actions: u64,
    /// How many of them are `add` actions.
    pub adds: u64,
    /// How many of them are `remove` actions.
    pub removes: u64,
}

/// Writes a checkpoint of what `sources` add up to. When it returns, the checkpoint is there,
/// durable, read back and found to be what `choice` expects. On an error, what was written is gone
/// again as far as the store lets it; what stays is a checkpoint that is whole, or sidecars that
/// nothing refers to.
pub fn write_checkpoint(
    store: &dyn Store,
    checkpoint: &NewCheckpoint<'_>,
    sources: &CheckpointSources,
    choice: &mut dyn Reconciliation,
) -> Result<WrittenCheckpoint, WriteError> {
    let mut writer = Writer::new(store, checkpoint);
    // What is written after a commit must not take the committer down: a panic over what the log holds
    // is one more way in which there is no checkpoint.
    caught_as(
        || writer.write(sources, choice),
        |problem| {
            let name = classic_checkpoint_name(checkpoint.version);
            encoding(&log_path(&name), problem)
        },
    )
}
