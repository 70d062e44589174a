//! Footers of Parquet files.

use std::fs::File;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Array, ListArray, RecordBatch, StringArray};
use arrow::datatypes::Int32Type;
use bytes::Bytes;
use deltafs::parquet::{Footer, ParquetError};
use deltafs::schema::{MappingMode, StructType};
use deltafs::storage::{ObjectMeta, ObjectReader, StorageError};
use deltafs::view::Layout;
use deltafs::view::PresentedSchema;
use deltafs::view::identity::compare;
use parquet::arrow::ArrowWriter;
use proptest::prelude::*;

use super::allocations;

/// An object in memory.
#[derive(Debug)]
pub struct Object {
    meta: ObjectMeta,
    bytes: Vec<u8>,
}

impl Object {
    pub fn new(bytes: Vec<u8>) -> Object {
        let meta = ObjectMeta {
            path: "hostile.parquet".to_owned(),
            size: bytes.len() as u64,
            modified: 0,
        };
        Object { meta, bytes }
    }
}

impl ObjectReader for Object {
    fn meta(&self) -> &ObjectMeta {
        &self.meta
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, StorageError> {
        let start = (offset as usize).min(self.bytes.len());
        let end = (start + buffer.len()).min(self.bytes.len());
        buffer[..end - start].copy_from_slice(&self.bytes[start..end]);
        Ok(end - start)
    }

    fn as_file(&self) -> Option<&Arc<File>> {
        None
    }
}

fn read(bytes: Vec<u8>) -> Result<Footer, ParquetError> {
    Footer::read(&Object::new(bytes))
}

/// The thrift bytes of a footer with an `ARROW:schema`, statistics, a list and two row groups.
fn metadata() -> Vec<u8> {
    let list = vec![Some(vec![Some(1), None]), None, Some(vec![])];
    let columns: [(&str, ArrayRef); 3] = [
        ("p", Arc::new(Int32Array::from(vec![7; 3]))),
        ("text", Arc::new(StringArray::from(vec!["a", "b", "c"]))),
        (
            "list",
            Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(list)),
        ),
    ];
    let batch = RecordBatch::try_from_iter_with_nullable(
        columns
            .into_iter()
            .map(|(name, column)| (name, column, true)),
    )
    .unwrap();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
    writer.write(&batch.slice(0, 2)).unwrap();
    writer.flush().unwrap();
    writer.write(&batch.slice(2, 1)).unwrap();
    writer.close().unwrap();
    let end = bytes.len() - 8;
    let length = u32::from_le_bytes(bytes[end..end + 4].try_into().unwrap()) as usize;
    bytes[end - length..end].to_vec()
}

fn file(metadata: &[u8]) -> Vec<u8> {
    let length = (metadata.len() as u32).to_le_bytes();
    [b"PAR1", metadata, &length, b"PAR1"].concat()
}

/// Everything that looks at a footer.
fn exercise(metadata: &[u8]) -> bool {
    let Ok(footer) = read(file(metadata)) else {
        return false;
    };
    let schema = StructType::parse(
        r#"{"type":"struct","fields":[{"name":"p","type":"integer"},{"name":"text","type":"string"},
            {"name":"list","type":{"type":"array","elementType":"integer"}}]}"#,
    )
    .unwrap();
    for layout in [Layout::Flat, Layout::Hive] {
        for mapping in [MappingMode::None, MappingMode::Name, MappingMode::Id] {
            let shape = PresentedSchema {
                schema: &schema,
                partition_columns: &["p".to_owned()],
                mapping,
                layout,
            };
            let result = compare(&footer, &shape, &[Some("7")]);
            let shown = result.as_ref().err().map(ToString::to_string);
            assert!(shown.is_none_or(|shown| !shown.is_empty()));
        }
    }
    true
}

#[test]
fn the_undamaged_footer_is_read() {
    assert!(exercise(&metadata()));
}

#[test]
fn every_bit_and_every_length_of_a_footer() {
    let whole = metadata();
    for at in 0..whole.len() {
        exercise(&whole[..at]);
        for bit in 0..8 {
            let mut flipped = whole.clone();
            flipped[at] ^= 1 << bit;
            exercise(&flipped);
        }
    }
}

#[test]
fn lists_that_claim_more_than_there_is_reserve_nothing() {
    // Field 2, 4 or 5: a list of 2^31 - 1 structs, and a few bytes of them.
    for header in [0x29, 0x49, 0x59] {
        for tail in [0, 3, 1_000] {
            let claim = [
                &[header, 0xFC, 0xFF, 0xFF, 0xFF, 0xFF, 0x07][..],
                &vec![0; tail],
            ]
            .concat();
            assert!(read(file(&claim)).is_err());
        }
    }
}

#[test]
fn a_million_empty_entries_are_passed_over_without_keeping_them() {
    let count = 1_000_000u32;
    let mut varint = Vec::new();
    let mut rest = count;
    while rest > 0x7F {
        varint.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    varint.push(rest as u8);
    let mut metadata = metadata();
    metadata.pop();
    // Field 5 once more, in long form: entries without key and value.
    metadata.extend([0x09, 0x0A, 0xFC]);
    metadata.extend(&varint);
    metadata.extend(vec![0; count as usize]);
    metadata.push(0);
    let error = read(file(&metadata)).unwrap_err();
    assert!(error.to_string().contains("twice"), "{error}");
    // The same under an unknown number is allowed.
    let at = metadata.len() - 1 - count as usize - varint.len() - 2;
    metadata[at] = 0x7E;
    assert!(exercise(&metadata));
}

proptest! {
    #[test]
    fn footers_with_parts_moved_about(
        edits in prop::collection::vec((any::<u16>(), any::<u16>(), 0u16..40, 0u8..4), 1..4),
    ) {
        let mut bytes = metadata();
        for (from, to, length, kind) in edits {
            if bytes.is_empty() {
                break;
            }
            let from = usize::from(from) % bytes.len();
            let end = (from + usize::from(length)).min(bytes.len());
            match kind {
                0 => drop(bytes.drain(from..end)),
                1 => {
                    let part = bytes[from..end].to_vec();
                    let to = usize::from(to) % bytes.len();
                    bytes.splice(to..to, part);
                }
                2 => bytes[from] = to as u8,
                _ => drop(bytes.splice(from..from, [0xFF; 9])),
            }
        }
        exercise(&bytes);
    }

    #[test]
    fn anything_that_calls_itself_parquet(middle in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = read([b"PAR1", &middle[..], b"PAR1"].concat());
        let _ = read(file(&middle));
        let _ = Footer::parse(Bytes::from(middle), 1 << 20, "hostile.parquet");
    }
}

/// Footers are kept, a thousand and more; a read of the end of a file is 64 KiB.
#[test]
fn a_footer_takes_as_much_memory_as_it_is_long() {
    let values: ArrayRef = Arc::new(Int32Array::from_iter_values(0..100_000));
    let batch = RecordBatch::try_from_iter([("c", values)]).expect("a batch");
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), None).expect("a writer");
    writer.write(&batch).expect("can be written");
    writer.close().expect("can be written");
    assert!(bytes.len() > 100_000);
    let file = Object::new(bytes);
    let before = allocations::of_this_thread();
    let kept: Vec<Footer> = (0..100)
        .map(|_| Footer::read(&file).expect("a footer"))
        .collect();
    let each = (allocations::of_this_thread() - before) / 100;
    assert!((1..8 * 1024).contains(&each), "{each} bytes");
    assert!(kept.iter().all(|footer| footer.held() < 8 * 1024));
}
