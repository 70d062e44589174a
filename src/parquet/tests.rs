use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow::array::{
    ArrayRef, BooleanArray, Date32Array, DictionaryArray, DurationMicrosecondArray, Float64Array,
    Int32Array, Int64Array, LargeStringArray, ListArray, RecordBatch, StringArray, StringViewArray,
    TimestampMicrosecondArray,
};
use arrow::datatypes::{DataType, Field, Int32Type, Schema};
use bytes::Bytes;
use proptest::prelude::*;

use super::testing::{MemoryObject, empty_file, file_of, file_of_batch, footer_of};
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

#[test]
fn encrypted_files_are_refused_by_name() {
    let mut bytes = small_file();
    let at = bytes.len() - 1;
    bytes[at] = b'E';
    let error = read(bytes).unwrap_err();
    assert!(
        matches!(
            error,
            ParquetError::Encrypted {
                what: "its footer is",
                ..
            }
        ),
        "{error}"
    );

    // A plain footer that says how the columns are encrypted: field 8, an empty struct.
    let mut metadata = file_metadata(1, &[leaf("a")], &[]);
    assert_eq!(metadata.pop(), Some(0));
    metadata.extend([0x0C, 0x10, 0, 0]);
    let error = parse(metadata).unwrap_err();
    assert!(
        matches!(
            error,
            ParquetError::Encrypted {
                what: "its columns are",
                ..
            }
        ),
        "{error}"
    );

    // A column chunk with crypto_metadata: field 8, an empty struct.
    let chunk = [0x8C, 0, 0];
    let error = parse(file_metadata(1, &[leaf("a")], &[row_group(0, &[&chunk])])).unwrap_err();
    assert!(
        matches!(
            error,
            ParquetError::Encrypted {
                what: "its columns are",
                ..
            }
        ),
        "{error}"
    );
}

fn parse(metadata: Vec<u8>) -> Result<Footer, ParquetError> {
    Footer::parse(Bytes::from(metadata), 4, "part-0.parquet")
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value > 0x7F {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

fn zigzag(value: i64) -> Vec<u8> {
    varint(((value << 1) ^ (value >> 63)) as u64)
}

/// The header of a list of structs.
fn structs(count: usize) -> Vec<u8> {
    [vec![0xFC], varint(count as u64)].concat()
}

/// A schema element: an optional INT32 column.
fn leaf(name: &str) -> Vec<u8> {
    [
        &[0x15, 2, 0x25, 2, 0x18, name.len() as u8][..],
        name.as_bytes(),
        &[0],
    ]
    .concat()
}

/// A schema element: an optional group.
fn group(name: &str, children: i64) -> Vec<u8> {
    [
        &[0x35, 2, 0x18, name.len() as u8][..],
        name.as_bytes(),
        &[0x15],
        &zigzag(children),
        &[0],
    ]
    .concat()
}

/// A row group of that many rows and these column chunks.
fn row_group(rows: i64, chunks: &[&[u8]]) -> Vec<u8> {
    [
        &[0x19][..],
        &structs(chunks.len()),
        &chunks.concat(),
        &[0x26],
        &zigzag(rows),
        &[0],
    ]
    .concat()
}

/// A footer whose root has `children` children, followed by `elements`.
fn file_metadata(children: i64, elements: &[Vec<u8>], row_groups: &[Vec<u8>]) -> Vec<u8> {
    [
        &[0x15, 2, 0x19][..],
        &structs(elements.len() + 1),
        &group("m", children),
        &elements.concat(),
        &[0x16],
        &zigzag(0),
        &[0x19],
        &structs(row_groups.len()),
        &row_groups.concat(),
        &[0],
    ]
    .concat()
}

fn reason(metadata: Vec<u8>) -> String {
    match parse(metadata) {
        Err(ParquetError::Malformed { reason, .. }) => reason,
        other => panic!("expected a damaged footer, found {other:?}"),
    }
}

#[test]
fn the_footers_built_by_hand_are_right() {
    let metadata = file_metadata(
        2,
        &[leaf("a"), group("b", 1), leaf("c")],
        &[row_group(0, &[&[0], &[0]])],
    );
    let footer = parse(metadata).unwrap();
    assert_eq!(footer.columns()[1].children()[0].name, "c");
    assert_eq!(footer.row_groups(), 1);
}

#[test]
fn deep_schemas_are_refused_before_the_stack_ends() {
    let nested = |levels: usize| {
        let mut elements = vec![group("a", 1); levels];
        elements.push(leaf("a"));
        file_metadata(1, &elements, &[])
    };
    assert!(parse(nested(127)).is_ok());
    assert!(reason(nested(128)).contains("deeper than 128"));
    assert!(reason(nested(500_000)).contains("deeper than 128"));
}

#[test]
fn the_deepest_schema_has_room_on_a_small_stack() {
    let mut elements = vec![group("a", 1); 127];
    elements.push(leaf("a"));
    let mut metadata = file_metadata(1, &elements, &[]);
    metadata.pop();
    // Field 5: one key-value entry, `ARROW:schema` without a value.
    metadata.extend([0x19, 0x1C, 0x18, 12]);
    metadata.extend(b"ARROW:schema");
    metadata.extend([0, 0]);
    let footer = parse(metadata).unwrap();
    let look = move || footer.misleading_hint().map(|hint| hint.key);
    let thread = std::thread::Builder::new()
        .stack_size(1 << 20)
        .spawn(look)
        .unwrap();
    assert_eq!(thread.join().unwrap(), Some("ARROW:schema"));
}

#[test]
fn every_kind_of_unknown_value_is_passed_over() {
    let mut metadata = file_metadata(1, &[leaf("a")], &[]);
    metadata.pop();
    for value in [
        &[0x11][..],                              // true
        &[0x12],                                  // false
        &[0x13, 0xFF],                            // a byte
        &[0x14, 0xFE, 0x01],                      // 16 bits
        &[0x16, 0x02],                            // 64 bits
        &[0x17, 1, 2, 3, 4, 5, 6, 7, 8],          // a double
        &[0x18, 3, b'a', b'b', b'c'],             // a text
        &[0x19, 0x32, 1, 2, 1],                   // a list of three booleans
        &[0x1A, 0x15, 0x02],                      // a set
        &[0x1B, 0],                               // an empty map
        &[0x1B, 2, 0x85, 1, b'k', 2, 1, b'l', 4], // a map of text to 32 bits
        &[0x1C, 0x11, 0x1C, 0x00, 0x00],          // a struct in a struct
    ] {
        metadata.extend(value);
    }
    // Numbered from 16 on, where the format has no fields: the one before is number 4.
    let first = file_metadata(1, &[leaf("a")], &[]).len() - 1;
    metadata[first] = (12 << 4) | (metadata[first] & 0x0F);
    metadata.push(0);
    assert_eq!(parse(metadata).unwrap().columns().len(), 1);
}

#[test]
fn deep_values_elsewhere_are_refused_too() {
    // Field 15, unknown: lists in one another.
    let mut metadata = file_metadata(0, &[], &[]);
    metadata.pop();
    metadata.extend([0xB9]);
    metadata.extend(vec![0x19; 500_000]);
    metadata.extend([0; 2]);
    assert!(reason(metadata).contains("deeper than 128"));
}

#[test]
fn counts_that_the_bytes_do_not_bear_out_are_refused() {
    assert!(
        reason(file_metadata(i64::from(i32::MAX), &[leaf("a")], &[])).contains("more children")
    );
    assert!(reason(file_metadata(-1, &[], &[])).contains("-1 children"));
    assert!(reason(file_metadata(1, &[leaf("a"), leaf("b")], &[])).contains("1 elements more"));
    assert!(reason(file_metadata(0, &[], &[row_group(1, &[])])).contains("counts 0 rows"));
    assert!(
        reason(file_metadata(1, &[leaf("a")], &[row_group(0, &[])])).contains("1 leaf columns")
    );
    let uneven = [row_group(0, &[&[0]]), row_group(0, &[])];
    assert!(reason(file_metadata(1, &[leaf("a")], &uneven)).contains("1 column chunks, and 0"));
    assert!(reason(file_metadata(0, &[], &[row_group(-1, &[])])).contains("-1 rows"));

    let huge_list = [&[0x15, 2, 0x19][..], &structs(usize::MAX)].concat();
    assert!(reason(huge_list).contains("elements with 0 bytes left"));
    assert!(reason(vec![0x15, 2, 0]).contains("no schema"));
    assert!(reason(vec![]).contains("middle of a value"));
}

#[test]
fn any_flipped_bit_is_an_error_or_a_footer() {
    let whole = small_file();
    for at in 0..whole.len() {
        for bit in 0..8 {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << bit;
            exercise(bytes);
        }
    }
}

/// Everything that looks at the bytes of a footer.
fn exercise(bytes: Vec<u8>) {
    if let Ok(footer) = read(bytes) {
        for leaf in 0..5 {
            footer.constant(leaf);
        }
        footer.misleading_hint();
        footer.key_value("pandas");
    }
}

proptest! {
    #[test]
    fn damaged_footers_never_panic(edits in prop::collection::vec((any::<u16>(), any::<u8>()), 1..6)) {
        let mut bytes = small_file();
        for (at, byte) in edits {
            let at = usize::from(at) % bytes.len();
            bytes[at] = byte;
        }
        exercise(bytes);
    }

    #[test]
    fn any_bytes_as_footer_never_panic(metadata in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = parse(metadata);
    }
}

fn hint_of(column: ArrayRef) -> Option<String> {
    let footer = read(file_of(&[("a", column)], 10)).unwrap();
    footer
        .misleading_hint()
        .map(|hint| format!("{} {} {}", hint.key, hint.column, hint.effect))
}

#[test]
fn an_arrow_schema_that_only_holds_values_otherwise_is_harmless() {
    let columns: [ArrayRef; 5] = [
        Arc::new(StringArray::from(vec!["x"])),
        Arc::new(LargeStringArray::from(vec!["x"])),
        Arc::new(StringViewArray::from(vec!["x"])),
        Arc::new(TimestampMicrosecondArray::from(vec![1]).with_timezone("+00:00")),
        Arc::new(TimestampMicrosecondArray::from(vec![1])),
    ];
    for column in columns {
        assert_eq!(hint_of(column), None);
    }
    assert_eq!(read(small_file()).unwrap().misleading_hint(), None);
    assert_eq!(
        footer_of(empty_file("optional int64 a;", &[])).misleading_hint(),
        None
    );
}

#[test]
fn an_arrow_schema_with_other_types_is_reported() {
    let dictionary: DictionaryArray<Int32Type> = vec!["x", "y"].into_iter().collect();
    let zoned = TimestampMicrosecondArray::from(vec![1]).with_timezone("Europe/Berlin");
    let columns: [(ArrayRef, &str); 3] = [
        (
            Arc::new(DurationMicrosecondArray::from(vec![1])),
            "ARROW:schema a Duration(µs)",
        ),
        (
            Arc::new(dictionary),
            "ARROW:schema a Dictionary(Int32, Utf8)",
        ),
        (
            Arc::new(zoned),
            "ARROW:schema a Timestamp(µs, \"Europe/Berlin\")",
        ),
    ];
    for (column, expected) in columns {
        assert_eq!(hint_of(column).as_deref(), Some(expected));
    }

    let field = Field::new("a", DataType::Int64, true).with_metadata(HashMap::from([(
        "ARROW:extension:name".to_owned(),
        "my.money".to_owned(),
    )]));
    let column: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    let batch = RecordBatch::try_new(Arc::new(Schema::new(vec![field])), vec![column]).unwrap();
    let hint = read(file_of_batch(&batch, 10, &[]))
        .unwrap()
        .misleading_hint()
        .unwrap();
    assert_eq!(hint.effect, "the extension type my.money");

    let broken = footer_of(empty_file("optional int64 a;", &[("ARROW:schema", "!")]));
    assert!(
        broken
            .misleading_hint()
            .unwrap()
            .effect
            .starts_with("an error")
    );
}

#[test]
fn a_pandas_index_is_reported() {
    let hint = |pandas: &str| {
        footer_of(empty_file("optional int64 a;", &[("pandas", pandas)])).misleading_hint()
    };
    let index = hint(r#"{"index_columns":["a"],"columns":[]}"#).unwrap();
    assert_eq!((index.key, index.column.as_str()), ("pandas", "a"));
    assert_eq!(
        hint(r#"{"index_columns":[{"kind":"range","start":0}],"columns":[]}"#),
        None
    );
    assert_eq!(hint(r#"{"index_columns":[]}"#), None);
    assert!(hint("{").unwrap().effect.starts_with("an error"));
}

#[test]
fn an_older_calendar_is_reported_unless_all_dates_are_recent() {
    let hint = |column: ArrayRef, entries: &[(&str, &str)]| {
        let batch = RecordBatch::try_from_iter_with_nullable([("a", column, true)]).unwrap();
        let footer = read(file_of_batch(&batch, 2, entries)).unwrap();
        footer.misleading_hint().map(|hint| (hint.key, hint.column))
    };
    let legacy = [("org.apache.spark.legacyDateTime", "")];
    let found = Some(("org.apache.spark.legacyDateTime", "a".to_owned()));
    let dates = |first: i32| -> ArrayRef {
        Arc::new(Date32Array::from(vec![
            Some(20_000),
            None,
            None,
            None,
            Some(first),
        ]))
    };
    assert_eq!(hint(dates(-141_428), &legacy), found);
    assert_eq!(hint(dates(-141_427), &legacy), None);
    assert_eq!(hint(dates(-141_428), &[]), None);
    let instants = |first: i64| -> ArrayRef {
        Arc::new(TimestampMicrosecondArray::from(vec![first]).with_timezone("UTC"))
    };
    assert_eq!(hint(instants(-2_208_988_800_000_001), &legacy), found);
    assert_eq!(hint(instants(-2_208_988_800_000_000), &legacy), None);
    // Wall-clock times and other types have no calendar to convert.
    assert_eq!(
        hint(
            Arc::new(TimestampMicrosecondArray::from(vec![i64::MIN])),
            &legacy
        ),
        None
    );
    assert_eq!(
        hint(Arc::new(Int64Array::from(vec![i64::MIN])), &legacy),
        None
    );
}

fn constant_of(column: ArrayRef) -> Option<String> {
    let footer = read(file_of(&[("a", column)], 2)).unwrap();
    footer.constant(0).map(|constant| format!("{constant:?}"))
}

#[test]
fn equal_bounds_in_all_row_groups_prove_a_constant() {
    let value = |bytes: &[u8]| Some(format!("{:?}", Constant::Value(bytes)));
    assert_eq!(
        constant_of(Arc::new(Int32Array::from(vec![7, 7, 7]))),
        value(&[7, 0, 0, 0])
    );
    assert_eq!(
        constant_of(Arc::new(StringArray::from(vec!["US"; 5]))),
        value(b"US")
    );
    assert_eq!(
        constant_of(Arc::new(BooleanArray::from(vec![true; 3]))),
        value(&[1])
    );
    let nulls = Int32Array::from(vec![None::<i32>; 3]);
    assert_eq!(constant_of(Arc::new(nulls)).as_deref(), Some("Null"));
    let nothing: Vec<i32> = vec![];
    assert_eq!(
        constant_of(Arc::new(Int32Array::from(nothing))).as_deref(),
        Some("NoRows")
    );
}

#[test]
fn without_proof_there_is_no_constant() {
    let columns: [ArrayRef; 5] = [
        Arc::new(Int32Array::from(vec![7, 8])),
        Arc::new(Int32Array::from(vec![7, 7, 8])),
        Arc::new(Int32Array::from(vec![Some(7), None])),
        Arc::new(Int32Array::from(vec![Some(7), Some(7), None])),
        // Longer than the bounds that the writer keeps.
        Arc::new(StringArray::from(vec!["x".repeat(100)])),
    ];
    for column in columns {
        assert_eq!(constant_of(column), None);
    }
    let float = Float64Array::from(vec![1.0, f64::NAN]);
    assert!(
        constant_of(Arc::new(float)).is_some(),
        "callers leave floating point out"
    );
    let footer = read(small_file()).unwrap();
    assert_eq!(footer.constant(99), None, "no such leaf");
}
