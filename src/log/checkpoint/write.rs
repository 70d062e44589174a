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

use std::ops::Range;

use arrow::array::StructArray;
use arrow::datatypes::SchemaRef;
use uuid::Uuid;

use self::encode::{Encoded, FileEncoder, encoding};
use self::fields::Layout;
use self::gather::{FileRows, gather};
use self::others::{push_others, push_v2};
use self::readback::{is_stored, read_back};
use self::statistics::StatisticsLayout;
use super::{AddSink, CheckpointState, DeletionVectorRef, read_checkpoint};
use crate::base::Version;
use crate::base::clock::{TimestampMs, now_ms};
use crate::base::panics::caught_as;
use crate::log::actions::{DomainMetadata, Metadata, Protocol, SetTransaction};
use crate::log::listing::CheckpointFiles;
use crate::log::names::{classic_checkpoint_name, uuid_checkpoint_name};
use crate::log::{LogError, SIDECAR_DIR, log_path};
use crate::schema::{MappingMode, StructType};
use crate::storage::Store;

pub use error::WriteError;

/// File actions in a sidecar, at most.
const SIDECAR_ROWS: u64 = 256 * 1024;

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
    let layout = Layout {
        stats_as_json: checkpoint.stats_as_json,
        parsed: checkpoint.stats_as_struct.map(|(schema, mapping)| {
            StatisticsLayout::of(schema, &checkpoint.metadata.partition_columns, mapping)
        }),
    };
    let mut writer = Writer {
        store,
        checkpoint,
        layout,
        sidecars: Vec::new(),
        actions: 0,
        adds: 0,
        removes: 0,
        kept: false,
    };
    // What is written after a commit must not take the committer down: a panic over what the log holds
    // is one more way in which there is no checkpoint.
    let written = caught_as(
        || match checkpoint.form {
            CheckpointForm::Classic => writer.classic(sources, choice),
            CheckpointForm::V2 => writer.v2(sources, choice),
        },
        |problem| {
            let name = classic_checkpoint_name(checkpoint.version);
            encoding(&log_path(&name), problem)
        },
    )?;
    writer.kept = true;
    Ok(written)
}

/// A checkpoint on its way. Dropped before it is whole, it takes its sidecars back.
struct Writer<'a> {
    store: &'a dyn Store,
    checkpoint: &'a NewCheckpoint<'a>,
    layout: Layout,
    sidecars: Vec<WrittenFile>,
    actions: u64,
    adds: u64,
    removes: u64,
    kept: bool,
}

impl Drop for Writer<'_> {
    fn drop(&mut self) {
        if self.kept {
            return;
        }
        for sidecar in &self.sidecars {
            if let Err(error) = self.store.delete(&sidecar.path) {
                tracing::debug!(%error, "a sidecar without checkpoint stays; cleaning the log up removes it");
            }
        }
    }
}

impl Writer<'_> {
    fn encoder(&self, path: String, schema: SchemaRef) -> Result<FileEncoder, WriteError> {
        FileEncoder::new(path, schema, self.checkpoint.codec, self.checkpoint.pages)
    }

    fn classic(
        &mut self,
        sources: &CheckpointSources,
        choice: &mut dyn Reconciliation,
    ) -> Result<WrittenCheckpoint, WriteError> {
        let schema = self.layout.v1();
        let path = log_path(&classic_checkpoint_name(self.checkpoint.version));
        let mut encoder = self.encoder(path, schema.clone())?;
        self.push_others(&mut encoder, &schema)?;
        let layout = self.layout.clone();
        let statistics = layout.parsed.as_ref().map(StatisticsLayout::data_type);
        gather(
            self.store,
            sources,
            statistics.as_ref(),
            choice,
            &mut |rows| push_files(&mut encoder, &layout, rows),
        )?;
        let file = encoder.finish()?;
        self.check_complete(&file.path, choice)?;
        let mut state = CheckpointState::default();
        {
            let mut comparison = choice.comparison();
            read_back(&file, &mut state, &mut *comparison)?;
            comparison
                .finish()
                .map_err(|problem| differs(&file.path, problem))?;
        }
        self.count(&file);
        self.check_state(&file.path, &state)?;
        let files = CheckpointFiles::Classic(classic_checkpoint_name(self.checkpoint.version));
        self.publish(&file, &files, choice)
    }

    fn v2(
        &mut self,
        sources: &CheckpointSources,
        choice: &mut dyn Reconciliation,
    ) -> Result<WrittenCheckpoint, WriteError> {
        let uuid = Uuid::new_v4();
        let name = uuid_checkpoint_name(self.checkpoint.version, uuid);
        let path = log_path(&name);
        let mut finished: Vec<Encoded> = Vec::new();
        let mut current: Option<FileEncoder> = None;
        let sidecar_schema = self.layout.sidecar();
        let layout = self.layout.clone();
        let statistics = layout.parsed.as_ref().map(StatisticsLayout::data_type);
        gather(
            self.store,
            sources,
            statistics.as_ref(),
            choice,
            &mut |rows| {
                let encoder = match &mut current {
                    Some(encoder) => encoder,
                    None => {
                        let path = format!("{SIDECAR_DIR}/{}.parquet", Uuid::new_v4());
                        current.insert(self.encoder(path, sidecar_schema.clone())?)
                    }
                };
                push_files(encoder, &layout, rows)?;
                if encoder.rows() >= SIDECAR_ROWS
                    && let Some(encoder) = current.take()
                {
                    finished.push(encoder.finish()?);
                }
                Ok(())
            },
        )?;
        if let Some(encoder) = current.filter(|encoder| encoder.rows() > 0) {
            finished.push(encoder.finish()?);
        }
        self.check_complete(&path, choice)?;
        let mut state = CheckpointState::default();
        {
            let mut comparison = choice.comparison();
            for file in &finished {
                read_back(file, &mut state, &mut *comparison)?;
            }
            comparison
                .finish()
                .map_err(|problem| differs(&path, problem))?;
        }
        // Sidecars are durable before the checkpoint that refers to them is there.
        for file in finished {
            self.count(&file);
            let sidecar = self.put(&file)?;
            self.sidecars.push(sidecar);
            if !is_stored(self.store, &file)? {
                return Err(differs(
                    &file.path,
                    "the store gives other bytes".to_owned(),
                ));
            }
        }
        let schema = self.layout.v2();
        let mut encoder = self.encoder(path, schema.clone())?;
        push_v2(
            &mut encoder,
            &schema,
            self.checkpoint.version,
            &self.sidecars,
        )?;
        self.push_others(&mut encoder, &schema)?;
        let file = encoder.finish()?;
        let mut nothing = NoAdds;
        read_back(&file, &mut state, &mut nothing)?;
        self.count(&file);
        self.check_state(&file.path, &state)?;
        let names: Vec<&str> = state.sidecars.iter().map(|found| &*found.path).collect();
        let expected: Vec<&str> = self.sidecars.iter().map(WrittenFile::name).collect();
        let version = state.version.and_then(|found| u64::try_from(found).ok());
        if names != expected || version != Some(self.checkpoint.version) {
            return Err(differs(
                &file.path,
                format!("it is of version {version:?} with sidecars {names:?}"),
            ));
        }
        self.publish(&file, &CheckpointFiles::UuidParquet(name), choice)
    }

    fn push_others(&self, encoder: &mut FileEncoder, schema: &SchemaRef) -> Result<(), WriteError> {
        let new = self.checkpoint;
        push_others(
            encoder,
            schema,
            new.protocol,
            new.metadata,
            &new.transactions,
            &new.domains,
        )
    }

    fn check_complete(&self, path: &str, choice: &dyn Reconciliation) -> Result<(), WriteError> {
        choice.finish().map_err(|problem| differs(path, problem))
    }

    fn count(&mut self, file: &Encoded) {
        self.actions += file.rows;
        self.adds += file.adds.rows();
        self.removes += file.removes.rows();
    }

    /// Compares the actions that are no file actions.
    fn check_state(&self, path: &str, state: &CheckpointState) -> Result<(), WriteError> {
        let new = self.checkpoint;
        let problem = if state.protocol.as_ref() != Some(new.protocol) {
            "the protocol action"
        } else if state.metadata.as_ref() != Some(new.metadata) {
            "the metaData action"
        } else if state.transactions != new.transactions {
            "the txn actions"
        } else if state.domains != new.domains {
            "the domainMetadata actions"
        } else {
            return Ok(());
        };
        Err(differs(path, format!("{problem} came out different")))
    }

    fn put(&self, file: &Encoded) -> Result<WrittenFile, WriteError> {
        self.store.put(&file.path, file.bytes.clone())?;
        let modified = match self.store.head(&file.path) {
            Ok(meta) => meta.modified,
            Err(_) => now_ms(),
        };
        Ok(WrittenFile {
            path: file.path.clone(),
            size: file.bytes.len() as u64,
            modified,
        })
    }

    /// Makes the checkpoint appear, whole. Sidecars go only when the file that refers to them is
    /// known not to be there.
    fn publish(
        &mut self,
        file: &Encoded,
        files: &CheckpointFiles,
        choice: &dyn Reconciliation,
    ) -> Result<WrittenCheckpoint, WriteError> {
        let sidecars = std::mem::take(&mut self.sidecars);
        match self.put_checked(file, files, choice) {
            Ok(written) => Ok(WrittenCheckpoint {
                file: written,
                is_v2: self.checkpoint.form == CheckpointForm::V2,
                sidecars,
                actions: self.actions,
                adds: self.adds,
                removes: self.removes,
            }),
            Err(error) => {
                // A classic name is shared, and what was to be put there was found right.
                if self.checkpoint.form == CheckpointForm::V2 {
                    match self.store.delete(&file.path) {
                        Err(error) if !error.is_not_found() => {
                            tracing::debug!(%error, "a checkpoint that is not pointed to stays");
                        }
                        _ => self.sidecars = sidecars,
                    }
                }
                Err(error)
            }
        }
    }

    fn put_checked(
        &self,
        file: &Encoded,
        files: &CheckpointFiles,
        choice: &dyn Reconciliation,
    ) -> Result<WrittenFile, WriteError> {
        let written = self.put(file)?;
        if is_stored(self.store, file)? {
            return Ok(written);
        }
        // Classic names are shared: "the latest writer wins. However, this should not matter because
        // both checkpoints should contain the same information".
        let mut comparison = choice.comparison();
        let version = self.checkpoint.version;
        match read_checkpoint(self.store, version, files, &mut *comparison) {
            Ok(_) => Err(WriteError::Replaced {
                file: file.path.clone(),
            }),
            Err(LogError::Storage(error)) => Err(error.into()),
            Err(error) => {
                self.store.delete(&file.path)?;
                Err(differs(&file.path, error.to_string()))
            }
        }
    }
}

/// The file of a V2 checkpoint that has sidecars must have no `add` of its own.
struct NoAdds;

impl AddSink for NoAdds {
    fn expect(&mut self, _rows: usize) {}

    fn batch(&mut self, _path: &str, adds: &super::AddBatch) -> Result<(), String> {
        for row in 0..adds.rows() {
            if adds.path(row)?.is_some() {
                return Err(format!("row {} holds an add action", adds.file_row(row)));
            }
        }
        Ok(())
    }

    fn single(
        &mut self,
        _path: &str,
        line: u32,
        _add: crate::log::actions::Add<'_>,
    ) -> Result<(), String> {
        Err(format!("line {line} holds an add action"))
    }

    fn finish(&self) -> Result<(), String> {
        Ok(())
    }
}

fn differs(path: &str, problem: String) -> WriteError {
    WriteError::Differs {
        file: path.to_owned(),
        problem,
    }
}

/// Appends file actions in the forms that the table wants.
fn push_files(
    encoder: &mut FileEncoder,
    layout: &Layout,
    rows: FileRows,
) -> Result<(), WriteError> {
    use arrow::array::Array;

    let (adds, statistics) = match rows {
        FileRows::Removes(removes) => return encoder.push("remove", removes),
        FileRows::Adds(adds, statistics) => (adds, statistics),
    };
    if adds.is_empty() {
        return Ok(());
    }
    let parsed = match &layout.parsed {
        Some(parsed) => parsed
            .parse(&adds, statistics)
            .map_err(|problem| encoding(encoder.path(), problem))?,
        None => Vec::new(),
    };
    let (fields, columns, _) = adds.into_parts();
    let mut kept: Vec<_> = (fields.iter().zip(columns))
        .filter(|(field, _)| layout.stats_as_json || field.name() != "stats")
        .map(|(_, column)| column)
        .collect();
    kept.extend(parsed);
    let adds = StructArray::try_new(layout.add_fields(), kept, None)
        .map_err(|error| encoding(encoder.path(), error))?;
    encoder.push("add", adds)
}
