//! Decoding Parquet checkpoints, row group by row group, ahead of the consumer.

mod int96;

use std::io::{self, BufReader, Read};
use std::sync::Arc;
use std::sync::mpsc::sync_channel;

use arrow::array::RecordBatch;
use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};
use parquet::basic::Type;
use parquet::errors::ParquetError;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::{ChunkReader, Length};

use super::columns::{AddBatch, read_state};
use super::{AddSink, CheckpointState};
use crate::base::panics::caught;
use crate::log::LogError;
use crate::parquet::{ChunkLimits, Footer, check_pages, expansion_of};
use crate::storage::{ObjectReader, Store};

/// Rows in a batch: large enough to amortise, small enough that a batch of paths stays near 1 MiB.
const BATCH_ROWS: usize = 8192;

/// Batches that may wait for the consumer.
pub(super) const BATCHES_AHEAD: usize = 8;

/// The fields of `add` that a snapshot holds; statistics stay where they are.
const ADD_FIELDS: &[&str] = &[
    "add.path",
    "add.size",
    "add.modificationTime",
    "add.partitionValues",
    "add.deletionVector",
];

/// Partition values by name, and what stands in for them where a file does without.
const PARTITION_VALUES: &[&str] = &["add.partitionValues"];
const PARSED_PARTITION_VALUES: &[&str] = &["add.partitionValues_parsed"];

/// The other actions a checkpoint may hold, except tombstones, which only VACUUM needs.
const STATE_ACTIONS: &[&str] = &[
    "protocol",
    "metaData",
    "txn",
    "domainMetadata",
    "sidecar",
    "checkpointMetadata",
];

/// A stored object as the parquet crate reads it. Objects that are no local files are fetched whole
/// first: a checkpoint is read from end to end anyway.
#[derive(Clone)]
pub(super) enum ObjectChunks {
    /// Read as needed.
    Reader(Arc<dyn ObjectReader>),
    /// In memory.
    Bytes(Bytes),
}

impl ObjectChunks {
    /// Opens `path`.
    fn open(store: &dyn Store, path: &str) -> Result<ObjectChunks, LogError> {
        if store.is_local() {
            Ok(ObjectChunks::Reader(Arc::from(store.open(path)?)))
        } else {
            Ok(ObjectChunks::Bytes(store.get(path)?))
        }
    }
}

impl Length for ObjectChunks {
    fn len(&self) -> u64 {
        match self {
            ObjectChunks::Reader(reader) => reader.meta().size,
            ObjectChunks::Bytes(bytes) => bytes.len() as u64,
        }
    }
}

impl ChunkReader for ObjectChunks {
    type T = Box<dyn Read + Send>;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        match self {
            // Page headers are read through this; their pages follow by `get_bytes`.
            ObjectChunks::Reader(reader) => Ok(Box::new(BufReader::with_capacity(
                512,
                Cursor {
                    reader: reader.clone(),
                    position: start,
                },
            ))),
            ObjectChunks::Bytes(bytes) => Ok(Box::new(bytes.get_read(start)?)),
        }
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        match self {
            ObjectChunks::Bytes(bytes) => bytes.get_bytes(start, length),
            ObjectChunks::Reader(reader) => {
                let end = start.checked_add(length as u64);
                if end.is_none_or(|end| end > reader.meta().size) {
                    return Err(ParquetError::EOF(format!(
                        "{length} bytes at {start} of a file of {} bytes",
                        reader.meta().size
                    )));
                }
                let mut buffer = vec![0; length];
                let read = reader
                    .read_at(&mut buffer, start)
                    .map_err(|error| ParquetError::External(Box::new(error)))?;
                if read < length {
                    return Err(ParquetError::EOF(format!(
                        "the file ends at {}",
                        start + read as u64
                    )));
                }
                Ok(buffer.into())
            }
        }
    }
}

/// Reads an object from some position on.
pub(super) struct Cursor {
    reader: Arc<dyn ObjectReader>,
    position: u64,
}

impl Cursor {
    /// From its beginning on.
    pub(super) fn new(reader: Arc<dyn ObjectReader>) -> Cursor {
        Cursor {
            reader,
            position: 0,
        }
    }
}

impl Read for Cursor {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self
            .reader
            .read_at(buffer, self.position)
            .map_err(io::Error::other)?;
        self.position += read as u64;
        Ok(read)
    }
}

/// Reads a checkpoint file (or part): all actions.
pub(super) fn read_parquet(
    store: &dyn Store,
    path: &str,
    state: &mut CheckpointState,
    sink: &mut dyn AddSink,
) -> Result<(), LogError> {
    read(store, path, state, sink, |leaf| {
        within(leaf, ADD_FIELDS) || within(leaf, STATE_ACTIONS)
    })
}

/// Reads a sidecar: file actions only (PROTOCOL.md, "Sidecar Files").
pub(super) fn read_sidecar(
    store: &dyn Store,
    path: &str,
    state: &mut CheckpointState,
    sink: &mut dyn AddSink,
) -> Result<(), LogError> {
    read(store, path, state, sink, |leaf| within(leaf, ADD_FIELDS))
}

pub(super) fn within(leaf: &str, prefixes: &[&str]) -> bool {
    prefixes.iter().any(|prefix| {
        leaf.strip_prefix(prefix)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    })
}

/// Decodes the leaves that `wanted` takes on a thread of its own, and feeds them, in file order, to
/// `state` and `sink` on this one.
fn read(
    store: &dyn Store,
    path: &str,
    state: &mut CheckpointState,
    sink: &mut dyn AddSink,
    wanted: impl Fn(&str) -> bool,
) -> Result<(), LogError> {
    let bad = |problem: String| LogError::BadCheckpoint {
        file: path.to_owned(),
        problem,
    };
    let mut leaves = Leaves::open(store, path, &wanted)?;
    if !leaves.has(PARTITION_VALUES) && leaves.has(PARSED_PARTITION_VALUES) {
        leaves = Leaves::open(store, path, |leaf| {
            wanted(leaf) || within(leaf, PARSED_PARTITION_VALUES)
        })?;
    }
    let Leaves {
        chunks,
        metadata,
        mask,
        ..
    } = leaves;
    // A row takes at least a bit in each column chunk, so the file's size bounds the claim.
    let rows = usize::try_from(metadata.metadata().file_metadata().num_rows()).unwrap_or(0);
    sink.expect(rows.min(usize::try_from(chunks.len()).unwrap_or(usize::MAX)));

    let (sender, receiver) = sync_channel(BATCHES_AHEAD);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let result = caught(|| {
                decode(chunks, metadata, mask, |batch| {
                    sender.send(Ok(batch)).is_ok()
                })
            });
            if let Err(problem) = result {
                // Nobody listens any more only when the consumer has failed already.
                let _ = sender.send(Err(problem));
            }
        });
        let mut row = 0_u64;
        for batch in receiver {
            let batch = batch.map_err(bad)?;
            let first_row =
                u32::try_from(row).map_err(|_| bad("more than 2^32 rows".to_owned()))?;
            read_state(&batch, state).map_err(bad)?;
            if let Some(adds) = AddBatch::of(&batch, first_row).map_err(bad)? {
                sink.batch(path, &adds).map_err(bad)?;
            }
            row += batch.num_rows() as u64;
        }
        Ok(())
    })
}

/// Leaves of a Parquet file of the log, found to claim no more than they can hold.
pub(in crate::log) struct Leaves {
    chunks: ObjectChunks,
    metadata: ArrowReaderMetadata,
    mask: ProjectionMask,
    /// How many there are.
    pub count: usize,
}

impl Leaves {
    /// Those that `wanted` takes, by their path. [`LogError::BadCheckpoint`] where the file is no
    /// Parquet.
    pub(in crate::log) fn open(
        store: &dyn Store,
        path: &str,
        wanted: impl Fn(&str) -> bool,
    ) -> Result<Leaves, LogError> {
        Leaves::of(ObjectChunks::open(store, path)?, path, wanted)
    }

    /// All leaves of a file in memory that is to lie at `path`.
    pub(super) fn of_bytes(bytes: Bytes, path: &str) -> Result<Leaves, LogError> {
        Leaves::of(ObjectChunks::Bytes(bytes), path, |_| true)
    }

    fn of(
        chunks: ObjectChunks,
        path: &str,
        wanted: impl Fn(&str) -> bool,
    ) -> Result<Leaves, LogError> {
        caught(|| {
            check_footer(&chunks, path)?;
            // The Arrow schema that some writers embed adds nothing and varies the types.
            let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
            let mut metadata = ArrowReaderMetadata::load(&chunks, options.clone())
                .map_err(|error| error.to_string())?;
            let leaves: Vec<usize> = {
                let schema = metadata.parquet_schema();
                (0..schema.num_columns())
                    .filter(|index| wanted(&schema.column(*index).path().string()))
                    .collect()
            };
            if let Some(schema) = int96::in_microseconds(&metadata, &leaves) {
                metadata = ArrowReaderMetadata::try_new(
                    metadata.metadata().clone(),
                    options.with_schema(schema),
                )
                .map_err(|error| error.to_string())?;
            }
            let schema = metadata.parquet_schema();
            for row_group in metadata.metadata().row_groups() {
                for leaf in &leaves {
                    check_column_chunk(&chunks, row_group.column(*leaf))?;
                }
            }
            Ok(Leaves {
                count: leaves.len(),
                mask: ProjectionMask::leaves(schema, leaves),
                chunks: chunks.clone(),
                metadata: metadata.clone(),
            })
        })
        .map_err(|problem| LogError::BadCheckpoint {
            file: path.to_owned(),
            problem: format!("not a readable Parquet file: {problem}"),
        })
    }

    /// Whether the file has a leaf of one of these names or below it, wanted or not.
    fn has(&self, prefixes: &[&str]) -> bool {
        let columns = self.metadata.parquet_schema().columns();
        (columns.iter()).any(|column| within(&column.path().string(), prefixes))
    }

    /// Decodes them batch by batch, as long as `take` says that it goes on.
    pub(in crate::log) fn decode(
        self,
        take: impl FnMut(RecordBatch) -> bool,
    ) -> Result<(), String> {
        caught(|| decode(self.chunks, self.metadata, self.mask, take))
    }
}

/// Reads the footer with care, before the decoder takes its word for how much there is of everything.
fn check_footer(chunks: &ObjectChunks, path: &str) -> Result<(), String> {
    let end = chunks.len().checked_sub(8).ok_or("it has no footer")?;
    let get = |start, length: u32| {
        chunks
            .get_bytes(start, length as usize)
            .map_err(|error| error.to_string())
    };
    let trailer = get(end, 8)?;
    let length = match trailer.first_chunk() {
        Some(length) => u32::from_le_bytes(*length),
        None => return Err("it has no footer".to_owned()),
    };
    let start = end
        .checked_sub(length.into())
        .ok_or_else(|| format!("it claims a footer of {length} bytes and has {end}"))?;
    match Footer::parse(get(start, length)?, start, path) {
        Ok(_) => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}

fn check_column_chunk(chunks: &ObjectChunks, column: &ColumnChunkMetaData) -> Result<(), String> {
    let (start, length) = column.byte_range();
    let limits = ChunkLimits {
        length,
        expansion: expansion_of(column.compression()),
        smallest_value: match column.column_type() {
            Type::BOOLEAN => 1,
            Type::INT32 | Type::FLOAT | Type::BYTE_ARRAY => 4,
            Type::INT64 | Type::DOUBLE => 8,
            Type::INT96 => 12,
            Type::FIXED_LEN_BYTE_ARRAY => 1,
        },
    };
    check_pages(limits, |at, length| {
        let start = start
            .checked_add(at)
            .ok_or("a column chunk lies beyond all files")?;
        chunks
            .get_bytes(start, length)
            .map_err(|error| error.to_string())
    })
    .map_err(|problem| format!("column {}: {problem}", column.column_path().string()))
}

fn decode(
    chunks: ObjectChunks,
    metadata: ArrowReaderMetadata,
    mask: ProjectionMask,
    mut take: impl FnMut(RecordBatch) -> bool,
) -> Result<(), String> {
    let reader = ParquetRecordBatchReaderBuilder::new_with_metadata(chunks, metadata)
        .with_projection(mask)
        .with_batch_size(BATCH_ROWS)
        .build()
        .map_err(|error| error.to_string())?;
    for batch in reader {
        let batch = batch.map_err(|error| error.to_string())?;
        if !take(batch) {
            break;
        }
    }
    Ok(())
}
