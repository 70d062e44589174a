//! One Parquet file of a checkpoint, in memory until it is whole.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StructArray, new_null_array};
use arrow::datatypes::SchemaRef;
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::{BrotliLevel, Compression, GzipLevel, ZstdLevel};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use parquet::schema::types::ColumnPath;

use super::digest::Digest;
use super::{CheckpointCodec, PageVersion, WriteError};

/// Rows in a row group: several, so that readers of a large checkpoint can share them out.
const ROW_GROUP_ROWS: usize = 128 * 1024;

/// Columns in which no value comes twice: a dictionary would be tried in vain, and bounds of JSON
/// texts help nobody.
const UNIQUE: [&[&str]; 3] = [&["add", "path"], &["add", "stats"], &["remove", "path"]];

/// A file, whole.
pub(super) struct Encoded {
    pub path: String,
    pub bytes: Bytes,
    pub rows: u64,
    pub adds: Digest,
    pub removes: Digest,
}

/// A file under construction. Invariant: each row has one action.
pub(super) struct FileEncoder {
    path: String,
    schema: SchemaRef,
    writer: ArrowWriter<Vec<u8>>,
    rows: u64,
    adds: Digest,
    removes: Digest,
}

fn compression(codec: CheckpointCodec) -> Compression {
    match codec {
        CheckpointCodec::Uncompressed => Compression::UNCOMPRESSED,
        CheckpointCodec::Snappy => Compression::SNAPPY,
        CheckpointCodec::Gzip => Compression::GZIP(GzipLevel::default()),
        CheckpointCodec::Lz4 => Compression::LZ4,
        CheckpointCodec::Lz4Raw => Compression::LZ4_RAW,
        CheckpointCodec::Brotli => Compression::BROTLI(BrotliLevel::default()),
        CheckpointCodec::Zstd => Compression::ZSTD(ZstdLevel::default()),
    }
}

impl FileEncoder {
    /// A file that will lie at `path`, relative to the table root.
    pub(super) fn new(
        path: String,
        schema: SchemaRef,
        codec: CheckpointCodec,
        pages: PageVersion,
    ) -> Result<FileEncoder, WriteError> {
        let version = match pages {
            PageVersion::V1 => WriterVersion::PARQUET_1_0,
            PageVersion::V2 => WriterVersion::PARQUET_2_0,
        };
        let mut properties = WriterProperties::builder()
            .set_created_by(format!("deltafs {}", env!("CARGO_PKG_VERSION")))
            .set_writer_version(version)
            .set_compression(compression(codec))
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_max_row_group_row_count(Some(ROW_GROUP_ROWS));
        for column in UNIQUE {
            let path = ColumnPath::new(column.iter().map(|part| (*part).to_owned()).collect());
            properties = properties
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_statistics_enabled(path, EnabledStatistics::None);
        }
        // What the Arrow schema would say, other readers do not look for.
        let options = ArrowWriterOptions::new()
            .with_properties(properties.build())
            .with_skip_arrow_metadata(true);
        let writer = ArrowWriter::try_new_with_options(Vec::new(), schema.clone(), options)
            .map_err(|error| encoding(&path, error))?;
        Ok(FileEncoder {
            path,
            schema,
            writer,
            rows: 0,
            adds: Digest::default(),
            removes: Digest::default(),
        })
    }

    /// How many rows there are.
    pub(super) fn rows(&self) -> u64 {
        self.rows
    }

    /// Where the file will lie.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// Appends actions of one kind, the name of a column.
    pub(super) fn push(&mut self, name: &str, actions: StructArray) -> Result<(), WriteError> {
        use arrow::array::Array;

        let rows = actions.len();
        if rows == 0 {
            return Ok(());
        }
        let actions: ArrayRef = Arc::new(actions);
        let digest = match name {
            "add" => Some(&mut self.adds),
            "remove" => Some(&mut self.removes),
            _ => None,
        };
        if let Some(digest) = digest {
            digest
                .update(&actions)
                .map_err(|problem| encoding(&self.path, problem))?;
        }
        let columns = (self.schema.fields().iter())
            .map(|field| match field.name() == name {
                true => actions.clone(),
                false => new_null_array(field.data_type(), rows),
            })
            .collect();
        let batch = RecordBatch::try_new(self.schema.clone(), columns)
            .map_err(|error| encoding(&self.path, error))?;
        self.writer
            .write(&batch)
            .map_err(|error| encoding(&self.path, error))?;
        self.rows += rows as u64;
        Ok(())
    }

    /// The whole file.
    pub(super) fn finish(self) -> Result<Encoded, WriteError> {
        let bytes = self
            .writer
            .into_inner()
            .map_err(|error| encoding(&self.path, error))?;
        Ok(Encoded {
            path: self.path,
            bytes: bytes.into(),
            rows: self.rows,
            adds: self.adds,
            removes: self.removes,
        })
    }
}

pub(super) fn encoding(path: &str, problem: impl ToString) -> WriteError {
    WriteError::Encoding {
        file: path.to_owned(),
        problem: problem.to_string(),
    }
}
