//! Reading a column chunk in batches, without trust in it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ::parquet::basic::{Compression, Repetition, Type};
use ::parquet::column::reader::{ColumnReaderImpl, get_column_reader, get_typed_column_reader};
use ::parquet::data_type::DataType;
use ::parquet::errors::ParquetError as DecodeError;
use ::parquet::file::metadata::ColumnChunkMetaData;
use ::parquet::file::reader::SerializedPageReader;
use ::parquet::schema::types::{ColumnDescPtr, ColumnDescriptor, ColumnPath, Type as SchemaType};
use bytes::Bytes;

use super::batch::Batch;
use super::pages::CheckedPages;
use super::records::{BATCH_ENTRIES, Batches};
use super::{MAX_MADE, SourceChunk, codec, delta};
use crate::parquet::format::encoding;
use crate::parquet::pages::page_encodings;
use crate::parquet::{ChunkLimits, ParquetError, PhysicalType};

/// A column chunk that is being read.
pub(super) struct ChunkInput<'a, T: DataType> {
    source: &'a SourceChunk<'a>,
    reader: ColumnReaderImpl<T>,
    /// How many records to read at once, where they can be of any length.
    batches: Option<Batches>,
    /// Whether no page refers to the dictionary once one does not.
    turns_plain: bool,
    /// Whether the page that is being read does not refer to the dictionary.
    plain: Arc<AtomicBool>,
    rows: u64,
    entries: u64,
}

impl<'a, T: DataType> ChunkInput<'a, T> {
    /// `chunk` is what [`read_chunk`] reads.
    pub(super) fn open(
        source: &'a SourceChunk<'a>,
        chunk: &Bytes,
    ) -> Result<ChunkInput<'a, T>, ParquetError> {
        let shape = &source.shape;
        let codec = source_codec(source)?;
        let turns_plain = check_headers(source, chunk)?;
        let column = descriptor(shape.physical, shape.max_definition, shape.max_repetition)
            .map_err(|error| source.damaged(error))?;
        // The pages are all there is, from the first byte on; a dictionary page among them is
        // recognised by its header.
        let metadata = ColumnChunkMetaData::builder(Arc::clone(&column))
            .set_compression(codec)
            .set_data_page_offset(0)
            .set_total_compressed_size(i64::try_from(chunk.len()).unwrap_or(i64::MAX))
            .build()
            .map_err(|error| source.damaged(error))?;
        let plain = Arc::new(AtomicBool::new(false));
        let open = || {
            let pages = SerializedPageReader::new(Arc::new(chunk.clone()), &metadata, 0, None);
            let pages = pages.map_err(|error| source.damaged(error))?;
            Ok::<_, ParquetError>(CheckedPages {
                pages,
                entries_left: shape.num_values,
                max_levels: (shape.max_definition, shape.max_repetition),
                fixed_length: match shape.physical {
                    PhysicalType::FixedLenByteArray(length) => length,
                    _ => 0,
                },
                has_dictionary: false,
                decoded_left: delta::MAX_DECODED,
                plain: Arc::clone(&plain),
            })
        };
        let mut batches = None;
        if shape.max_repetition > 0 {
            let mut found = Batches::default();
            for page in open()? {
                let page = page.map_err(|error| source.damaged(error))?;
                let problem = found.add_page(&page, shape.max_repetition);
                problem.map_err(|problem| source.damaged(problem))?;
            }
            batches = Some(found);
        }
        let pages = Box::new(open()?);
        plain.store(false, Ordering::Relaxed);
        Ok(ChunkInput {
            source,
            reader: get_typed_column_reader(get_column_reader(column, pages)),
            batches,
            turns_plain,
            plain,
            rows: 0,
            entries: 0,
        })
    }

    /// Replaces what is in `batch` by the records that follow, and returns the row of the first;
    /// `None` at the end, when there were as many rows and values as the footer says.
    pub(super) fn next(&mut self, batch: &mut Batch<T::T>) -> Result<Option<u64>, ParquetError> {
        let shape = &self.source.shape;
        batch.clear();
        // Behind the last batch there are no records; to ask for one finds out.
        let records = match &mut self.batches {
            Some(batches) => batches.next().unwrap_or(1),
            None => BATCH_ENTRIES,
        };
        let (records, values, entries) = self
            .reader
            .read_records(
                usize::try_from(records).unwrap_or(usize::MAX),
                Some(&mut batch.definition),
                Some(&mut batch.repetition),
                &mut batch.values,
            )
            .map_err(|error| self.source.damaged(error))?;
        (batch.records, batch.entries) = (records, entries);
        self.check_levels(batch, values)?;
        let first_row = self.rows;
        self.rows += records as u64;
        self.entries += entries as u64;
        let finished = entries == 0;
        if self.rows > shape.rows || (finished && self.rows < shape.rows) {
            return Err(self.source.damaged(format!(
                "it has {} rows or more, and its row group has {}",
                self.rows, shape.rows
            )));
        }
        if finished && self.entries != shape.num_values {
            return Err(self.source.damaged(format!(
                "it has {} values and nulls, and the footer says {}",
                self.entries, shape.num_values
            )));
        }
        Ok((!finished).then_some(first_row))
    }

    /// Whether none of the values to come is in the dictionary.
    pub(super) fn is_plain_from_here(&self) -> bool {
        self.turns_plain && self.plain.load(Ordering::Relaxed)
    }

    /// Checks that levels are what the schema allows: the decoder counts by them.
    fn check_levels(&self, batch: &Batch<T::T>, values: usize) -> Result<(), ParquetError> {
        let shape = &self.source.shape;
        let within = |levels: &[i16], max: i16| {
            levels.len() == if max > 0 { batch.entries } else { 0 }
                && levels.iter().all(|level| (0..=max).contains(level))
        };
        let problem = if !within(&batch.definition, shape.max_definition) {
            "a definition level is above that of the schema, or is missing"
        } else if !within(&batch.repetition, shape.max_repetition) {
            "a repetition level is above that of the schema, or is missing"
        } else if shape.max_repetition > 0 && batch.repetition.first().is_some_and(|&l| l != 0) {
            "a row starts in the middle of a list"
        } else if values != batch.values.len() || values > batch.entries {
            "it has other than one value for each entry that is not null"
        } else {
            let starts = batch.repetition.iter().filter(|&&level| level == 0).count();
            if shape.max_repetition == 0 || starts == batch.records {
                return Ok(());
            }
            "its rows do not start where repetition levels say"
        };
        Err(self.source.damaged(problem))
    }
}

fn source_codec(source: &SourceChunk<'_>) -> Result<Compression, ParquetError> {
    let codec = source.shape.codec;
    codec::source_codec(codec).ok_or_else(|| ParquetError::UnsupportedCompression {
        location: source.location.to_owned(),
        column: source.column.to_owned(),
        codec,
    })
}

/// All bytes of a chunk whose codec is known. There are no more than the file has.
pub(super) fn read_chunk(source: &SourceChunk<'_>) -> Result<Bytes, ParquetError> {
    source_codec(source)?;
    if source.length > MAX_MADE {
        return Err(source.too_large(format!(
            "it has {} bytes, and {MAX_MADE} is the most that is held in memory",
            source.length
        )));
    }
    let size = source.reader.meta().size;
    let end = source.start.checked_add(source.length);
    if end.is_none_or(|end| end > size) {
        return Err(source.damaged(format!(
            "it claims {} bytes from {} on, and the file has {size}",
            source.length, source.start
        )));
    }
    // MAX_MADE fits.
    let mut bytes = vec![0; source.length as usize];
    let read = source.reader.read_at(&mut bytes, source.start)?;
    if read != bytes.len() {
        return Err(source.damaged(format!(
            "the file ends {read} bytes after its start, and it claims {}",
            source.length
        )));
    }
    Ok(bytes.into())
}

/// Checks the page headers before anything believes them. Whether all pages that refer to the
/// dictionary come before all that do not.
pub(super) fn check_headers(source: &SourceChunk<'_>, chunk: &Bytes) -> Result<bool, ParquetError> {
    let limits = ChunkLimits {
        length: chunk.len() as u64,
        expansion: codec::expansion(source.shape.codec),
        smallest_value: smallest_value(source.shape.physical),
    };
    let read = |at, length| {
        let start = usize::try_from(at).unwrap_or(usize::MAX);
        let bytes = start
            .checked_add(length)
            .and_then(|end| chunk.get(start..end));
        bytes
            .map(|bytes| chunk.slice_ref(bytes))
            .ok_or_else(|| format!("a page at {at} lies beyond the chunk"))
    };
    let (mut plain, mut back) = (false, false);
    page_encodings(limits, read, |number| {
        let refers = encoding::is_dictionary(number);
        back |= plain && refers;
        plain |= !refers;
    })
    .map_err(|problem| source.damaged(problem))?;
    Ok(!back)
}

/// The fewest bytes that a value takes in a dictionary.
pub(super) fn smallest_value(physical: PhysicalType) -> u64 {
    match physical {
        PhysicalType::Boolean => 1,
        PhysicalType::Int32 | PhysicalType::Float | PhysicalType::ByteArray => 4,
        PhysicalType::Int64 | PhysicalType::Double => 8,
        PhysicalType::Int96 => 12,
        PhysicalType::FixedLenByteArray(length) => u64::from(length).max(1),
    }
}

/// A leaf of that type and with those highest levels, by itself.
pub(super) fn descriptor(
    physical: PhysicalType,
    max_definition: i16,
    max_repetition: i16,
) -> Result<ColumnDescPtr, DecodeError> {
    let (kind, length) = match physical {
        PhysicalType::Boolean => (Type::BOOLEAN, -1),
        PhysicalType::Int32 => (Type::INT32, -1),
        PhysicalType::Int64 => (Type::INT64, -1),
        PhysicalType::Int96 => (Type::INT96, -1),
        PhysicalType::Float => (Type::FLOAT, -1),
        PhysicalType::Double => (Type::DOUBLE, -1),
        PhysicalType::ByteArray => (Type::BYTE_ARRAY, -1),
        PhysicalType::FixedLenByteArray(length) => {
            (Type::FIXED_LEN_BYTE_ARRAY, i32::try_from(length)?)
        }
    };
    let leaf = SchemaType::primitive_type_builder("values", kind)
        .with_repetition(Repetition::OPTIONAL)
        .with_length(length)
        .build()?;
    let path = ColumnPath::from("values");
    Ok(Arc::new(ColumnDescriptor::new(
        Arc::new(leaf),
        max_definition,
        max_repetition,
        path,
    )))
}
