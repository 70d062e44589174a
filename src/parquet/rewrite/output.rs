//! Writing a column chunk.

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use ::parquet::basic::{Compression, Encoding};
use ::parquet::column::page::{CompressedPage, PageWriteSpec, PageWriter};
use ::parquet::column::writer::{ColumnWriterImpl, get_column_writer, get_typed_column_writer};
use ::parquet::data_type::DataType;
use ::parquet::errors::ParquetError as EncodeError;
use ::parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use ::parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use ::parquet::schema::types::ColumnDescPtr;
use bytes::Bytes;

use super::batch::Batch;
use super::size::Dictionary;
use super::{Job, MAX_MADE, SourceChunk, codec, input, size};
use crate::parquet::{MadeChunk, ParquetError};

/// A column chunk that is being written.
pub(super) struct ChunkOutput<'a, O: DataType> {
    source: &'a SourceChunk<'a>,
    column: ColumnDescPtr,
    writer: ColumnWriterImpl<'static, O>,
    dictionary: Dictionary,
    /// What `writer` has of levels.
    entries: u64,
    pages: Pages,
    /// What earlier writers left in `pages`.
    made: MadeChunk,
}

/// Where column writers, which keep their page writer to themselves, leave the pages.
type Pages = Arc<Mutex<TrackedWrite<Vec<u8>>>>;

impl<'a, O: DataType> ChunkOutput<'a, O> {
    pub(super) fn new(job: &Job<'a>) -> Result<ChunkOutput<'a, O>, ParquetError> {
        let shape = &job.source.shape;
        let (max_definition, max_repetition) = job.change.max_levels(shape);
        let column = input::descriptor(job.change.physical(shape), max_definition, max_repetition)
            .map_err(|error| job.source.damaged(error))?;
        let codec = codec::made_codec(shape.codec);
        let dictionary = Dictionary::of(shape, job.change);
        let pages = Arc::new(Mutex::new(TrackedWrite::new(Vec::new())));
        Ok(ChunkOutput {
            source: job.source,
            writer: open(&column, codec, dictionary, &pages),
            column,
            dictionary,
            entries: 0,
            pages,
            made: empty(codec),
        })
    }

    /// Writes all values from here on plainly, where all would have been put into the dictionary.
    pub(super) fn turn_plain(&mut self) -> Result<(), ParquetError> {
        if self.dictionary != Dictionary::Whole {
            return Ok(());
        }
        self.dictionary = Dictionary::Off;
        let plain = open(&self.column, self.made.codec, self.dictionary, &self.pages);
        let writer = std::mem::replace(&mut self.writer, plain);
        self.close(writer)
    }

    /// Appends the records of `batch` with `values` in place of its own.
    pub(super) fn write<V>(
        &mut self,
        batch: &Batch<V>,
        values: &[O::T],
    ) -> Result<(), ParquetError> {
        if batch.entries == 0 {
            return Ok(());
        }
        let written = self
            .writer
            .write_batch(
                values,
                (self.column.max_def_level() > 0).then_some(&batch.definition),
                (self.column.max_rep_level() > 0).then_some(&batch.repetition),
            )
            .map_err(|error| self.source.damaged(error))?;
        if written != values.len() {
            return Err(self.source.damaged(format!(
                "its levels tell of {written} values where there are {}",
                values.len()
            )));
        }
        self.entries += batch.entries as u64;
        self.check_size(self.writer.get_total_bytes_written())
    }

    /// Takes what `writer` wrote into account.
    fn close(&mut self, writer: ColumnWriterImpl<'static, O>) -> Result<(), ParquetError> {
        let entries = std::mem::take(&mut self.entries);
        if entries == 0 {
            // It would write a dictionary that nothing refers to.
            return Ok(());
        }
        let closed = writer
            .close()
            .map_err(|error| self.source.damaged(error))?
            .metadata;
        let number = |number: i64| u64::try_from(number).unwrap_or_default();
        let made = &mut self.made;
        if made.num_values == 0 {
            made.dictionary_page_at = closed.dictionary_page_offset().map(number);
            made.data_page_at = number(closed.data_page_offset());
        }
        made.num_values += entries;
        made.uncompressed_size += number(closed.uncompressed_size());
        made.encodings
            .extend(closed.encodings().map(|used| used as i32));
        self.check_size(0)
    }

    /// The chunk, without statistics.
    pub(super) fn finish(mut self) -> Result<MadeChunk, ParquetError> {
        let nothing = open(&self.column, self.made.codec, Dictionary::Off, &self.pages);
        let writer = std::mem::replace(&mut self.writer, nothing);
        self.close(writer)?;
        drop(self.writer);
        let pages = Arc::into_inner(self.pages)
            .expect("the writers, which had the only other references, are gone")
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let bytes = pages
            .into_inner()
            .map_err(|error| self.source.damaged(error))?;
        let mut made = self.made;
        made.bytes = Bytes::from(bytes);
        made.encodings.sort_unstable();
        made.encodings.dedup();
        Ok(made)
    }

    /// `pending` is what is written and not in `pages` yet, or is there already.
    fn check_size(&self, pending: u64) -> Result<(), ParquetError> {
        let pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        if (pages.bytes_written() as u64).max(pending) <= MAX_MADE {
            return Ok(());
        }
        Err(self.source.too_large(format!(
            "it would have more than {MAX_MADE} bytes, which readers cannot address"
        )))
    }
}

fn open<O: DataType>(
    column: &ColumnDescPtr,
    codec: i32,
    dictionary: Dictionary,
    pages: &Pages,
) -> ColumnWriterImpl<'static, O> {
    let properties = WriterProperties::builder()
        .set_writer_version(WriterVersion::PARQUET_1_0)
        .set_compression(codec::source_codec(codec).unwrap_or(Compression::UNCOMPRESSED))
        .set_encoding(Encoding::PLAIN)
        .set_dictionary_enabled(dictionary != Dictionary::Off)
        .set_dictionary_page_size_limit(match dictionary {
            Dictionary::Whole => usize::MAX,
            Dictionary::Limited | Dictionary::Off => size::DICTIONARY_LIMIT,
        })
        .set_data_page_size_limit(size::PAGE_SIZE)
        .set_data_page_row_count_limit(size::PAGE_ROWS)
        .set_statistics_enabled(EnabledStatistics::None)
        .set_offset_index_disabled(true)
        .build();
    let sink = Box::new(SharedPages(Arc::clone(pages)));
    get_typed_column_writer(get_column_writer(
        Arc::clone(column),
        Arc::new(properties),
        sink,
    ))
}

/// A chunk without rows. It has no pages: a dictionary by itself would be taken for a data page.
fn empty(codec: i32) -> MadeChunk {
    MadeChunk {
        bytes: Bytes::new(),
        codec,
        encodings: vec![Encoding::RLE as i32],
        num_values: 0,
        uncompressed_size: 0,
        dictionary_page_at: None,
        data_page_at: 0,
        statistics: None,
        page_index: None,
    }
}

/// Leaves pages where others find them.
pub(super) struct SharedPages(pub(super) Pages);

impl PageWriter for SharedPages {
    fn write_page(&mut self, page: CompressedPage) -> Result<PageWriteSpec, EncodeError> {
        let mut sink = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        SerializedPageWriter::new(&mut *sink).write_page(page)
    }

    fn close(&mut self) -> Result<(), EncodeError> {
        let mut sink = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(sink.flush()?)
    }
}
