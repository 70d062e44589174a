//! A data file, or several, of the rows of a staged one, encoded anew.
//!
//! Memory is bounded by the batch, and by [`MOST_BUFFERED`] for the row groups in the making. A file
//! of many partitions is read several times, [`MOST_OPEN`] partitions each.

use std::collections::{HashMap, HashSet};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use ::parquet::arrow::ArrowWriter;
use ::parquet::arrow::arrow_writer::ArrowWriterOptions;
use ::parquet::basic::ZstdLevel;
use ::parquet::errors::ParquetError as EncodeError;
use ::parquet::file::metadata::ParquetMetaData;
use ::parquet::file::properties::{EnabledStatistics, WriterProperties};
use ::parquet::schema::types::ColumnPath;
use arrow::array::{ArrayRef, RecordBatch, UInt32Array};
use arrow::compute::take_record_batch;
use arrow::datatypes::{DataType as ArrowType, FieldRef, Schema, SchemaRef};

use super::convert::{Names, field, renamed};
use super::partition::{Groups, Value};
use super::recompose::not_written;
use super::staged::{Compression, Opened};
use super::{IntakeError, Scratch, ScratchFile};
use crate::schema::{MappingMode, StructField};

/// How many files are written at once.
const MOST_OPEN: usize = 64;
/// How many files one becomes at most: each stays open until it is committed.
pub(super) const MOST_PARTITIONS: usize = 512;
/// What the row groups in the making take in all before the largest is written out, bytes.
const MOST_BUFFERED: usize = 128 * 1024 * 1024;
/// The rows of a row group, and its bytes before it is compressed further, at most.
const GROUP_ROWS: usize = 1024 * 1024;
const GROUP_BYTES: usize = 64 * 1024 * 1024;

/// Rows of one table, to be written.
pub(super) struct Rows {
    /// The columns of the data file, in the order of [`Encoder`]'s fields, by logical names.
    pub(super) columns: Vec<ArrayRef>,
    /// Which row is of which partition; `None` where all are of one.
    pub(super) partitions: Option<Groups>,
    pub(super) count: usize,
}

/// A file that was written.
pub(super) struct Written {
    pub(super) values: Vec<Value>,
    pub(super) file: Box<dyn ScratchFile>,
    pub(super) metadata: Arc<ParquetMetaData>,
    pub(super) rows: u64,
    pub(super) size: u64,
}

/// Where an encoder writes to. It notes the errno of a write that failed, of which encoders make
/// text.
struct Sink {
    file: Box<dyn ScratchFile>,
    fault: Arc<AtomicI32>,
}

impl Sink {
    fn noted<T>(&self, done: io::Result<T>) -> io::Result<T> {
        done.inspect_err(|error| {
            let errno = error.raw_os_error().unwrap_or_default();
            self.fault.store(errno, Ordering::Relaxed);
        })
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let done = self.file.write(bytes);
        self.noted(done)
    }

    fn flush(&mut self) -> io::Result<()> {
        let done = self.file.flush();
        self.noted(done)
    }
}

/// Writes rows into one file for each combination of partition values.
pub(super) struct Encoder<'a> {
    schema: SchemaRef,
    properties: WriterProperties,
    scratch: &'a dyn Scratch,
    name: &'a str,
    partition_columns: &'a [String],
    open: HashMap<Vec<Value>, ArrowWriter<Sink>>,
    fault: Arc<AtomicI32>,
    /// The values in the order in which they came.
    order: Vec<Vec<Value>>,
    /// What is written already.
    done: HashSet<Vec<Value>>,
    /// Whether rows had to be left for another reading.
    is_incomplete: bool,
}

impl<'a> Encoder<'a> {
    /// An encoder for files with the columns `fields`. They are compressed as `codec` says, where
    /// it can be written.
    pub(super) fn new(
        name: &'a str,
        fields: &[&StructField],
        mapping: MappingMode,
        codec: Compression,
        partition_columns: &'a [String],
        scratch: &'a dyn Scratch,
    ) -> Encoder<'a> {
        let fields: Vec<FieldRef> = fields
            .iter()
            .map(|column| Arc::new(field(column, Names::InFiles(mapping))))
            .collect();
        let mut properties = WriterProperties::builder()
            .set_created_by(concat!("deltafs version ", env!("CARGO_PKG_VERSION")).to_owned())
            .set_compression(written_codec(codec))
            .set_max_row_group_row_count(Some(GROUP_ROWS))
            .set_max_row_group_bytes(Some(GROUP_BYTES))
            .set_statistics_enabled(EnabledStatistics::Page);
        for field in &fields {
            // The pages of floating-point columns would be indexed in an order that older readers
            // do not know; see `Footer::with_type_defined_orders`.
            for path in float_columns(field) {
                let path = ColumnPath::new(path);
                properties =
                    properties.set_column_statistics_enabled(path, EnabledStatistics::Chunk);
            }
        }
        Encoder {
            schema: Arc::new(Schema::new(fields)),
            properties: properties.build(),
            scratch,
            name,
            partition_columns,
            open: HashMap::new(),
            fault: Arc::default(),
            order: Vec::new(),
            done: HashSet::new(),
            is_incomplete: false,
        }
    }

    /// Writes rows, but for those of partitions that wait for another reading.
    pub(super) fn write(&mut self, rows: Rows) -> Result<(), IntakeError> {
        let columns = rows.columns.iter().zip(self.schema.fields());
        let columns: Vec<ArrayRef> = columns
            .map(|(array, field)| renamed(array, field))
            .collect();
        let options = arrow::array::RecordBatchOptions::new().with_row_count(Some(rows.count));
        let batch = RecordBatch::try_new_with_options(self.schema.clone(), columns, &options)
            .map_err(|error| self.failed(EncodeError::from(error)))?;
        let Some(partitions) = rows.partitions else {
            return self.write_to(Vec::new(), &batch);
        };
        for (values, rows) in partitions {
            let indices = UInt32Array::from(rows);
            let part = match indices.len() == batch.num_rows() {
                true => batch.clone(),
                false => take_record_batch(&batch, &indices)
                    .map_err(|error| self.failed(EncodeError::from(error)))?,
            };
            self.write_to(values, &part)?;
        }
        Ok(())
    }

    fn write_to(&mut self, values: Vec<Value>, batch: &RecordBatch) -> Result<(), IntakeError> {
        if self.done.contains(&values) {
            return Ok(());
        }
        if !self.open.contains_key(&values) {
            if self.open.len() >= MOST_OPEN {
                self.is_incomplete = true;
                return Ok(());
            }
            if self.done.len() + self.open.len() >= MOST_PARTITIONS {
                return Err(IntakeError::TooManyPartitions {
                    file: self.name.to_owned(),
                    limit: MOST_PARTITIONS,
                    columns: self.partition_columns.join(", "),
                });
            }
            let options = ArrowWriterOptions::new()
                .with_properties(self.properties.clone())
                .with_schema_root("spark_schema".to_owned())
                .with_skip_arrow_metadata(true);
            let file = Sink {
                file: self.scratch.create()?,
                fault: self.fault.clone(),
            };
            let writer = ArrowWriter::try_new_with_options(file, self.schema.clone(), options)
                .map_err(|error| self.failed(error))?;
            self.order.push(values.clone());
            self.open.insert(values.clone(), writer);
        }
        if let Some(writer) = self.open.get_mut(&values) {
            let result = writer.write(batch);
            result.map_err(|error| self.failed(error))?;
        }
        self.bound_memory()
    }

    /// Writes out the largest row groups in the making.
    fn bound_memory(&mut self) -> Result<(), IntakeError> {
        let total =
            |encoder: &Self| -> usize { encoder.open.values().map(ArrowWriter::memory_size).sum() };
        while total(self) > MOST_BUFFERED {
            let largest = self
                .open
                .values_mut()
                .max_by_key(|writer| writer.memory_size());
            let Some(largest) = largest.filter(|writer| writer.in_progress_rows() > 0) else {
                break;
            };
            let result = largest.flush();
            result.map_err(|error| self.failed(error))?;
        }
        Ok(())
    }

    /// Ends a reading: completes the files that are open, and says whether all rows were written.
    /// If not, they are to be written again from the first on.
    pub(super) fn finish_reading(
        &mut self,
        written: &mut Vec<Written>,
    ) -> Result<bool, IntakeError> {
        for values in std::mem::take(&mut self.order) {
            if let Some(writer) = self.open.remove(&values) {
                let file = writer.into_inner().map_err(|error| self.failed(error))?;
                written.push(complete(values.clone(), file.file)?);
                self.done.insert(values);
            }
        }
        Ok(!std::mem::take(&mut self.is_incomplete))
    }

    fn failed(&self, error: EncodeError) -> IntakeError {
        let error = match error {
            _ if self.fault.load(Ordering::Relaxed) != 0 => {
                io::Error::from_raw_os_error(self.fault.load(Ordering::Relaxed))
            }
            EncodeError::External(error) => match error.downcast::<io::Error>() {
                Ok(error) => *error,
                Err(error) => io::Error::other(error),
            },
            other => io::Error::other(other),
        };
        not_written(&format!("the data file made of {}", self.name), error)
    }
}

/// Gives a file a footer that all readers know, and reads it back.
fn complete(values: Vec<Value>, mut file: Box<dyn ScratchFile>) -> Result<Written, IntakeError> {
    let name = file.name().to_owned();
    let failed = |error| not_written(&name, error);
    let size = file
        .flush()
        .and_then(|()| file.seek(SeekFrom::End(0)))
        .map_err(failed)?;
    let handle = file.open()?;
    let opened = Opened::of(&name, &handle, size)?;
    let Some(metadata) = opened.footer.with_type_defined_orders() else {
        return Ok(Written::of(values, file, opened, size));
    };
    let length = u32::try_from(metadata.len())
        .map_err(|_| failed(io::Error::other("its footer is longer than 4 GiB")))?;
    let mut tail = metadata.to_vec();
    tail.extend_from_slice(&length.to_le_bytes());
    tail.extend_from_slice(b"PAR1");
    let start = opened.footer.data_end();
    let size = start + tail.len() as u64;
    handle
        .write_all_at(&tail, start)
        .and_then(|()| handle.set_len(size))
        .and_then(|()| file.seek(SeekFrom::End(0)).map(drop))
        .map_err(failed)?;
    let opened = Opened::of(&name, &handle, size)?;
    Ok(Written::of(values, file, opened, size))
}

impl Written {
    /// What stays of a file that was read back: nothing that keeps another descriptor open.
    fn of(values: Vec<Value>, file: Box<dyn ScratchFile>, opened: Opened, size: u64) -> Written {
        Written {
            values,
            file,
            rows: opened.footer.num_rows(),
            metadata: opened.metadata,
            size,
        }
    }
}

/// The codec that data files made of one with `codec` get: the same, but for the two that readers
/// do not agree on or that cannot be written.
fn written_codec(codec: Compression) -> Compression {
    match codec {
        Compression::LZ4 | Compression::LZO => Compression::SNAPPY,
        Compression::ZSTD(_) => Compression::ZSTD(ZstdLevel::default()),
        other => other,
    }
}

/// The paths of the floating-point leaves of a field.
fn float_columns(field: &FieldRef) -> Vec<Vec<String>> {
    let mut paths = match field.data_type() {
        ArrowType::Float32 | ArrowType::Float64 => vec![Vec::new()],
        ArrowType::Struct(fields) => fields.iter().flat_map(float_columns).collect(),
        ArrowType::List(element) => {
            let mut paths = float_columns(element);
            paths
                .iter_mut()
                .for_each(|path| path.insert(0, "list".to_owned()));
            paths
        }
        ArrowType::Map(entries, _) => float_columns(entries),
        _ => Vec::new(),
    };
    for path in &mut paths {
        path.insert(0, field.name().clone());
    }
    paths
}
