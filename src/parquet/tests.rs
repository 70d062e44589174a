mod constants;
mod hints;
mod hostile;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow::array::{ArrayRef, Int64Array, ListArray, StringArray, TimestampMicrosecondArray};
use arrow::datatypes::Int32Type;

use super::testing::{MemoryObject, empty_file, file_of, footer_of};
use super::*;

fn read(bytes: Vec<u8>) -> Result<Footer, ParquetError> {
    Footer::read(&MemoryObject::new(bytes))
}

fn small_file() -> Vec<u8> {
    let list = ListArray::from_iter_primitive::<Int32Type, _, _>(vec![
        Some(vec![Some(1), None]),
        None,
        Some(vec![]),
    ]);
    file_of(
        &[
            ("id", Arc::new(Int64Array::from(vec![1, 2, 3])) as ArrayRef),
            (
                "name",
                Arc::new(StringArray::from(vec![Some("a"), None, Some("c")])),
            ),
            ("list", Arc::new(list)),
            (
                "at",
                Arc::new(TimestampMicrosecondArray::from(vec![1, 2, 3]).with_timezone("UTC")),
            ),
        ],
        2,
    )
}

#[test]
fn a_footer_tells_columns_rows_and_row_groups() {
    let footer = read(small_file()).unwrap();
    assert_eq!(footer.num_rows(), 3);
    assert_eq!(footer.row_groups(), 2);
    let shown: Vec<String> = footer
        .columns()
        .iter()
        .map(|node| format!("{}: {node}", node.name))
        .collect();
    assert_eq!(
        shown,
        [
            "id: INT64",
            "name: BYTE_ARRAY STRING",
            "list: a LIST group of 1",
            "at: INT64 TIMESTAMP(MICROS, UTC)"
        ]
    );
    let element = &footer.columns()[2].children()[0].children()[0];
    assert!(matches!(
        element.kind,
        NodeKind::Leaf {
            physical: PhysicalType::Int32,
            leaf: 2
        }
    ));
    assert!(footer.key_value("ARROW:schema").is_some());
    assert_eq!(footer.key_value("pandas"), None);
}

#[test]
fn every_annotation_is_read() {
    let fields = "required int32 a (INTEGER(8,true)); required int32 b (INTEGER(16,false));
        required int32 c (DATE); required int32 d (DECIMAL(9,2)); required int64 e (DECIMAL(18,0));
        required fixed_len_byte_array(16) f (DECIMAL(38,38)); required binary g (STRING);
        required binary h (UTF8); required int64 i (TIMESTAMP(MILLIS,true));
        required int64 j (TIMESTAMP(NANOS,false)); required int64 k (TIMESTAMP_MICROS);
        required int96 l; required binary m (JSON); required binary n (ENUM);
        required fixed_len_byte_array(16) o (UUID); required int32 p (TIME(MILLIS,true));
        required boolean q; required float r; required double s;
        required int32 t (INT_8); required int64 u (TIMESTAMP_MILLIS);
        required group v (MAP) { repeated group key_value (MAP_KEY_VALUE) {
            required binary key (UTF8); optional int32 value; } }
        required binary w (BSON); required fixed_len_byte_array(2) x (FLOAT16);
        required fixed_len_byte_array(12) y (INTERVAL);";
    let footer = footer_of(empty_file(fields, &[]));
    let shown: Vec<String> = footer.columns().iter().map(Node::to_string).collect();
    assert_eq!(
        shown,
        [
            "INT32 INT(8)",
            "INT32 UINT(16)",
            "INT32 DATE",
            "INT32 DECIMAL(9, 2)",
            "INT64 DECIMAL(18, 0)",
            "FIXED_LEN_BYTE_ARRAY(16) DECIMAL(38, 38)",
            "BYTE_ARRAY STRING",
            "BYTE_ARRAY STRING",
            "INT64 TIMESTAMP(MILLIS, UTC)",
            "INT64 TIMESTAMP(NANOS, local)",
            "INT64 TIMESTAMP_MICROS (converted type only)",
            "INT96",
            "BYTE_ARRAY JSON",
            "BYTE_ARRAY ENUM",
            "FIXED_LEN_BYTE_ARRAY(16) UUID",
            "INT32 TIME",
            "BOOLEAN",
            "FLOAT",
            "DOUBLE",
            "INT32 INT(8)",
            "INT64 TIMESTAMP_MILLIS (converted type only)",
            "a MAP group of 1",
            "BYTE_ARRAY BSON",
            "FIXED_LEN_BYTE_ARRAY(2) FLOAT16",
            "FIXED_LEN_BYTE_ARRAY(12) INTERVAL",
        ]
    );
    assert_eq!(
        footer.columns()[21].children()[0].annotation,
        Annotation::MapKeyValue
    );
    assert_eq!(footer.num_rows(), 0);
}

#[test]
fn one_read_is_enough_and_a_long_footer_takes_two() {
    let object = MemoryObject::new(small_file());
    Footer::read(&object).unwrap();
    assert_eq!(object.reads.load(Ordering::Relaxed), 1);

    let fields: String = (0..4_000)
        .map(|i| format!("optional int64 column_{i};"))
        .collect();
    let object = MemoryObject::new(empty_file(&fields, &[]));
    let footer = Footer::read(&object).unwrap();
    assert_eq!(footer.columns().len(), 4_000);
    assert_eq!(footer.columns()[3_999].name, "column_3999");
    assert_eq!(object.reads.load(Ordering::Relaxed), 2);
}

#[test]
fn what_is_no_parquet_file_is_refused() {
    for bytes in [
        &b""[..],
        b"PAR1",
        b"PAR1PAR1",
        b"PAR1\0\0\0PAR1",
        b"a,b\n1,2\n3,4\n",
        b"PAR1\0\0\0\0PAR2",
    ] {
        let error = read(bytes.to_vec()).unwrap_err();
        assert!(matches!(error, ParquetError::NotParquet { .. }), "{error}");
    }
}

#[test]
fn a_file_that_was_cut_off_anywhere_is_refused() {
    let whole = small_file();
    for length in 0..whole.len() {
        assert!(
            read(whole[..length].to_vec()).is_err(),
            "cut to {length} bytes"
        );
    }
    assert!(read(whole).is_ok());
}

#[test]
fn a_file_that_shrank_after_it_was_opened_is_refused() {
    let whole = small_file();
    let size = whole.len() as u64;
    let object = MemoryObject::shrunk(whole[..100].to_vec(), size);
    let error = Footer::read(&object).unwrap_err();
    assert!(matches!(error, ParquetError::Malformed { .. }), "{error}");
}

#[test]
fn footer_lengths_are_bounded() {
    let mut bytes = small_file();
    let size = bytes.len() as u64;
    let at = bytes.len() - 8;
    for length in [u32::MAX, size as u32 - 11, size as u32] {
        bytes[at..at + 4].copy_from_slice(&length.to_le_bytes());
        let error = read(bytes.clone()).unwrap_err();
        assert!(
            matches!(error, ParquetError::FooterLength { limit, .. } if limit == size - 12),
            "{error}"
        );
    }
}

/// An object of any size that ends in a given trailer.
#[derive(Debug)]
struct Huge(crate::storage::ObjectMeta, [u8; 8]);

impl crate::storage::ObjectReader for Huge {
    fn meta(&self) -> &crate::storage::ObjectMeta {
        &self.0
    }

    fn read_at(
        &self,
        buffer: &mut [u8],
        _offset: u64,
    ) -> Result<usize, crate::storage::StorageError> {
        let at = buffer.len() - 8;
        buffer[at..].copy_from_slice(&self.1);
        Ok(buffer.len())
    }

    fn as_file(&self) -> Option<&Arc<std::fs::File>> {
        None
    }
}

#[test]
fn a_footer_too_long_for_memory_is_refused() {
    let meta = crate::storage::ObjectMeta {
        path: "huge.parquet".to_owned(),
        size: 1 << 40,
        modified: 0,
    };
    let error = Footer::read(&Huge(meta, *b"\xff\xff\xff\xffPAR1")).unwrap_err();
    assert!(
        matches!(
            error,
            ParquetError::FooterLength {
                limit: 268_435_456,
                ..
            }
        ),
        "{error}"
    );
}
