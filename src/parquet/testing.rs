//! Parquet files in memory, for the tests of this floor and those above.

use std::fs::File;
use std::sync::Arc;

use ::parquet::arrow::ArrowWriter;
use ::parquet::file::metadata::KeyValue;
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::SerializedFileWriter;
use ::parquet::schema::parser::parse_message_type;

use arrow::array::{ArrayRef, RecordBatch};

use super::Footer;
use crate::storage::{ObjectMeta, ObjectReader, StorageError};

/// An object of given bytes. It counts its reads.
#[derive(Debug)]
pub(crate) struct MemoryObject {
    meta: ObjectMeta,
    bytes: Vec<u8>,
    pub(crate) reads: std::sync::atomic::AtomicUsize,
}

impl MemoryObject {
    pub(crate) fn new(bytes: Vec<u8>) -> MemoryObject {
        let size = bytes.len() as u64;
        MemoryObject {
            meta: ObjectMeta {
                path: "part-0.parquet".to_owned(),
                size,
                modified: 0,
            },
            bytes,
            reads: std::sync::atomic::AtomicUsize::new(0),
        }
    }

    /// An object that was longer when it was opened.
    pub(crate) fn shrunk(bytes: Vec<u8>, size: u64) -> MemoryObject {
        let mut object = MemoryObject::new(bytes);
        object.meta.size = size;
        object
    }
}

impl ObjectReader for MemoryObject {
    fn meta(&self) -> &ObjectMeta {
        &self.meta
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, StorageError> {
        self.reads
            .fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let start = (offset as usize).min(self.bytes.len());
        let end = (start + buffer.len()).min(self.bytes.len());
        buffer[..end - start].copy_from_slice(&self.bytes[start..end]);
        Ok(end - start)
    }

    fn as_file(&self) -> Option<&Arc<File>> {
        None
    }
}

/// The bytes of a file without rows. `fields` is in the language of Parquet schemas, e.g.
/// `optional int64 a; optional binary b (STRING);`.
pub(crate) fn empty_file(fields: &str, key_values: &[(&str, &str)]) -> Vec<u8> {
    let message = parse_message_type(&format!("message m {{ {fields} }}")).unwrap();
    let entries = key_values
        .iter()
        .map(|(key, value)| KeyValue::new((*key).to_owned(), (*value).to_owned()));
    let properties = WriterProperties::builder().set_key_value_metadata(Some(entries.collect()));
    let mut bytes = Vec::new();
    SerializedFileWriter::new(&mut bytes, Arc::new(message), Arc::new(properties.build()))
        .unwrap()
        .close()
        .unwrap();
    bytes
}

/// A file of the given columns, `rows_per_group` rows in each row group.
pub(crate) fn file_of(columns: &[(&str, ArrayRef)], rows_per_group: usize) -> Vec<u8> {
    let batch = RecordBatch::try_from_iter_with_nullable(
        columns
            .iter()
            .map(|(name, array)| (*name, array.clone(), true)),
    )
    .unwrap();
    file_of_batch(&batch, rows_per_group, &[])
}

/// [`file_of`], with key-value entries.
pub(crate) fn file_of_batch(
    batch: &RecordBatch,
    rows_per_group: usize,
    entries: &[(&str, &str)],
) -> Vec<u8> {
    let entries: Vec<KeyValue> = entries
        .iter()
        .map(|(key, value)| KeyValue::new((*key).to_owned(), (*value).to_owned()))
        .collect();
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(rows_per_group))
        .set_key_value_metadata(Some(entries))
        .build();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
    bytes
}

/// The footer of a file in memory.
pub(crate) fn footer_of(bytes: Vec<u8>) -> Footer {
    Footer::read(&MemoryObject::new(bytes)).unwrap()
}
