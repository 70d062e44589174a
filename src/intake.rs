//! From a staged Parquet file to data files of a table: what is checked, what is changed, and the
//! statistics that go into the log (PROTOCOL.md, "Requirements for Writers", "Per-file
//! Statistics", "Partition Value Serialization").
//!
//! [`accept`] takes a file in only when each of its rows is a row of the table, without loss; all
//! else is an [`IntakeError`] that names file and column. The bytes of a file that already is a
//! data file of the table stay what they are, and of a well-made one only the headers of pages are
//! read, to see that they are there: its footer proves types, nullability and bounds. Where only names differ, or a column goes, the column
//! chunks are copied under a new footer. Where values differ, the file is encoded anew, batch by
//! batch.
//!
//! `docs/WRITING.md` has the tables of what is converted and what is refused.

mod accept;
mod batches;
mod blame;
mod calendar;
mod columns;
mod constraints;
mod convert;
mod create;
mod demand;
mod error;
mod evolve;
pub mod expression;
mod infer;
mod lengths;
mod nulls;
mod partition;
mod recompose;
mod reencode;
mod schema;
mod staged;
mod statistics;
mod types;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{Seek, Write};
use std::sync::Arc;

use crate::base::clock::TimestampMs;
use crate::log::actions::{Metadata, Protocol};
use crate::protocol::WriteRules;
use crate::schema::PrimitiveType;
use crate::snapshot::TableShape;
use crate::storage::StorageError;

pub use accept::accept;
pub use create::new_table;
pub use demand::{Demand, DemandKind};
pub use error::IntakeError;
pub use evolve::{SchemaChange, evolve};
pub use infer::schema_of_file;

/// The table as it will be after the commit.
#[derive(Debug, Clone, Copy)]
pub struct Target<'a> {
    /// Its protocol.
    pub protocol: &'a Protocol,
    /// Its metadata.
    pub metadata: &'a Metadata,
    /// What `protocol` and `metadata` come to.
    pub shape: &'a TableShape,
    /// What they demand of writers.
    pub rules: &'a WriteRules,
    /// The paths, by the names in data files, of the columns that it is clustered by, which have
    /// statistics in any case (PROTOCOL.md, "Writer Requirements for Clustered Table").
    pub clustering: &'a [Vec<String>],
    /// The time of the commit, for defaults that tell it.
    pub now: TimestampMs,
}

/// The bytes of a staged file. There may be more of these than files can be open, so that each is
/// open while it is looked at only.
pub trait StagedBytes: fmt::Debug + Send + Sync {
    /// The file, open for reading.
    fn open(&self) -> Result<Arc<File>, StorageError>;
}

impl StagedBytes for Arc<File> {
    fn open(&self) -> Result<Arc<File>, StorageError> {
        Ok(self.clone())
    }
}

/// A file that somebody staged. It does not change any more.
#[derive(Debug, Clone)]
pub struct StagedFile {
    /// Its path in the staging directory, for messages.
    pub name: String,
    /// Its bytes.
    pub bytes: Arc<dyn StagedBytes>,
    /// Its size, bytes.
    pub size: u64,
    /// The `col=value` directories it lies in, from the outermost, unescaped; null for
    /// [`HIVE_DEFAULT_PARTITION`](crate::schema::HIVE_DEFAULT_PARTITION).
    pub directories: Vec<(String, Option<String>)>,
}

/// Where files are made: on the disk of the table, so that they can be linked into it.
pub trait Scratch: Sync {
    /// A new, empty file.
    fn create(&self) -> Result<Box<dyn ScratchFile>, StorageError>;
}

/// A file in the making, open for reading and writing. Dropped, it may be removed.
pub trait ScratchFile: Write + Seek + Send + Sync {
    /// The file, open for reading and writing.
    fn open(&self) -> Result<Arc<File>, StorageError>;
    /// Makes what was written durable, and keeps no descriptor open. It is not written any more.
    fn close(&mut self) -> Result<(), StorageError>;
    /// What it is called, for messages.
    fn name(&self) -> &str;
}

/// Where the bytes of a data file are.
pub enum Content {
    /// They are those of the staged file.
    AsStaged,
    /// They were made. Not yet durable.
    Made(Box<dyn ScratchFile>),
}

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Content::AsStaged => f.write_str("AsStaged"),
            Content::Made(file) => write!(f, "Made({})", file.name()),
        }
    }
}

/// What an `add` action says of a data file, but for its path and times.
#[derive(Debug)]
pub struct DataFile {
    /// Its bytes.
    pub content: Content,
    /// Its size, bytes.
    pub size: u64,
    /// The value of each partition column, by physical name, as PROTOCOL.md, "Partition Value
    /// Serialization", has it.
    pub partition_values: BTreeMap<String, Option<String>>,
    /// The statistics as JSON text (PROTOCOL.md, "Per-file Statistics").
    pub stats: String,
    /// Its rows; at least one.
    pub num_records: u64,
    /// The compression of its first column chunk, as Delta on Spark puts it into file names:
    /// `snappy`, `zstd`, `gz`, ...; `None` for uncompressed files.
    pub codec: Option<&'static str>,
}

/// A partition value in the one spelling that equal values of its type have in common; a text that
/// is no value of the type stays as it is.
pub fn canonical_partition_value(value: Option<&str>, primitive: PrimitiveType) -> Option<String> {
    let text = value.filter(|text| !text.is_empty())?;
    partition::canonical(text, primitive).unwrap_or_else(|| Some(text.to_owned()))
}
