use bytes::Bytes;

use super::super::testing::{MemoryObject, empty_file, file_of, footer_of};
use super::super::thrift::{FieldWriter, Kind, write_integer, write_struct};
use super::*;

/// Where the footer of the files of these tests starts.
const DATA_END: u64 = 1_000;

/// A field of `ColumnMetaData`, or, from 100 on, of `ColumnChunk`; all of them are numbers.
type Number = (i16, i64);

const GOOD: [Number; 9] = [
    (1, 2),
    (4, 1),
    (5, 10),
    (6, 120),
    (7, 100),
    (9, 50),
    (11, 20),
    (104, 800),
    (105, 40),
];

fn write_number(fields: &mut FieldWriter<'_>, (id, value): Number) {
    match id {
        1 | 4 | 5 if id != 5 => fields.i32(id, value as i32),
        _ => fields.i64(id, value),
    }
}

/// A file with one row group of ten rows and one chunk of an INT64 column.
fn footer(numbers: &[Number]) -> Result<Footer, ParquetError> {
    let mut metadata = Vec::new();
    write_struct(&mut metadata, |file| {
        file.i32(1, 1);
        let schema = file.list(2, Kind::Struct, 2);
        write_struct(schema, |root| {
            root.binary(4, b"root");
            root.i32(5, 1);
        });
        write_struct(schema, |leaf| {
            leaf.i32(1, 2);
            leaf.i32(3, 1);
            leaf.binary(4, b"n");
        });
        file.i64(3, 10);
        let groups = file.list(4, Kind::Struct, 1);
        write_struct(groups, |group| {
            let chunks = group.list(1, Kind::Struct, 1);
            write_struct(chunks, |chunk| {
                chunk.i64(2, 0);
                chunk.structure(3, |meta| {
                    let encodings = meta.list(2, Kind::I32, 2);
                    write_integer(encodings, 0);
                    write_integer(encodings, 8);
                    for &number in numbers.iter().filter(|(id, _)| *id < 100) {
                        write_number(meta, number);
                    }
                });
                for &(id, value) in numbers.iter().filter(|(id, _)| *id >= 100) {
                    chunk.i64(id - 100, value);
                }
            });
            group.i64(3, 10);
        });
    });
    Footer::parse(Bytes::from(metadata), DATA_END, "part-0.parquet")
}

/// The good numbers but those of `changes`.
fn with(changes: &[Number]) -> Vec<Number> {
    let changed = |id| changes.iter().any(|(other, _)| *other == id);
    let kept = GOOD.iter().filter(|(id, _)| !changed(*id));
    kept.chain(changes).copied().collect()
}

fn read(numbers: &[Number]) -> Result<ChunkMeta, String> {
    let groups = footer(numbers).unwrap().row_groups_meta();
    match groups {
        Ok(mut groups) => {
            assert_eq!((groups.len(), groups[0].num_rows), (1, 10));
            Ok(groups.remove(0).chunks.remove(0))
        }
        Err(ParquetError::Malformed { reason, .. }) => Err(reason),
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn a_chunk_is_where_its_first_page_is() {
    let chunk = read(&GOOD).unwrap();
    assert_eq!((chunk.start, chunk.length), (20, 100));
    assert_eq!(
        (chunk.data_page_offset, chunk.dictionary_page_offset),
        (50, Some(20))
    );
    assert_eq!((chunk.codec, chunk.encodings.as_slice()), (1, &[0, 8][..]));
    assert_eq!((chunk.num_values, chunk.uncompressed_size), (10, 120));
    assert_eq!(
        (chunk.offset_index, chunk.column_index),
        (Some(800..840), None)
    );
    assert_eq!((chunk.null_count, chunk.bounds), (None, Bounds::Absent));

    // 0 for no dictionary page, and one behind the data.
    let without = read(&with(&[(11, 0)])).unwrap();
    assert_eq!((without.start, without.dictionary_page_offset), (50, None));
    assert_eq!(read(&with(&[(11, 90)])).unwrap().start, 50);
    // The bytes right behind the magic number, and those right before the footer.
    assert_eq!(read(&with(&[(11, 4), (7, 996)])).unwrap().length, 996);
    // A row group without values may put its chunks anywhere.
    assert_eq!(read(&with(&[(11, 0), (9, 0), (7, 0)])).unwrap().length, 0);
    // What pyarrow writes for one: a dictionary page alone.
    let empty = read(&with(&[(5, 0), (9, 0)])).unwrap();
    assert_eq!((empty.start, empty.length), (20, 100));
    assert!(read(&with(&[(9, 0)])).is_err());
}

#[test]
fn chunks_that_lie_elsewhere_are_refused() {
    let cases: [(&[Number], &str); 18] = [
        (&[(7, 981)], "it takes 981 bytes from 20 on"),
        (&[(11, 3)], "it takes 100 bytes from 3 on"),
        (&[(9, 120)], "its first data page is at 120"),
        (
            &[(9, 1_001), (7, 0), (11, 0)],
            "it takes 0 bytes from 1001 on",
        ),
        (&[(7, i64::MAX)], "it takes"),
        (&[(9, i64::MAX), (11, i64::MAX)], "it takes"),
        (&[(7, -1)], "total_compressed_size is -1"),
        (&[(9, -1)], "data_page_offset is -1"),
        (&[(11, -1)], "dictionary_page_offset is -1"),
        (&[(5, -1)], "num_values is -1"),
        (&[(6, i64::MIN)], "total_uncompressed_size is"),
        (&[(104, 990)], "offset index takes 40 bytes from 990 on"),
        (&[(105, i64::MAX)], "offset index takes"),
        (
            &[(106, 0), (107, 10)],
            "column index takes 10 bytes from 0 on",
        ),
        (&[(107, -1)], "column_index_length is -1"),
        (
            &[(1, 1)],
            "it has the physical type 1, but its leaf is INT64",
        ),
        (&[(7, 100), (7, 100)], "it has total_compressed_size twice"),
        (
            &[(104, 800), (104, 800)],
            "it has offset_index_offset twice",
        ),
    ];
    for (changes, problem) in cases {
        let reason = read(&with(changes)).unwrap_err();
        assert!(reason.contains(problem), "{reason}, not {problem}");
        assert!(
            reason.starts_with("row group 0: column chunk 0: "),
            "{reason}"
        );
    }
    for missing in [1, 4, 5, 6, 7, 9] {
        let numbers: Vec<_> = GOOD.into_iter().filter(|(id, _)| *id != missing).collect();
        let reason = read(&numbers).unwrap_err();
        assert!(reason.contains("it has no "), "{reason}");
    }
}

#[test]
fn a_file_tells_its_nulls_and_values() {
    use arrow::array::{ArrayRef, Int32Array, ListArray};
    use arrow::datatypes::Int32Type;
    use std::sync::Arc;

    let list = ListArray::from_iter_primitive::<Int32Type, _, _>(vec![
        Some(vec![Some(1), None]),
        None,
        Some(vec![]),
        Some(vec![Some(4)]),
    ]);
    let numbers = Int32Array::from(vec![Some(1), None, None, Some(4)]);
    let file = file_of(
        &[("n", Arc::new(numbers) as ArrayRef), ("l", Arc::new(list))],
        3,
    );
    let footer = footer_of(file);
    assert_eq!(
        (footer.num_values(0), footer.null_count(0)),
        (Some(4), Some(2))
    );
    assert_eq!(
        (footer.num_values(1), footer.null_count(1)),
        (Some(5), Some(3))
    );
    // There is no such leaf.
    assert_eq!((footer.num_values(2), footer.null_count(2)), (None, None));
    let groups = footer.row_groups_meta().unwrap();
    let nulls: Vec<_> = groups
        .iter()
        .map(|group| group.chunks[0].null_count)
        .collect();
    assert_eq!(nulls, [Some(2), Some(0)]);
    assert!(
        groups
            .iter()
            .all(|group| group.chunks[0].bounds == Bounds::Exact)
    );

    let empty = footer_of(empty_file("optional int32 n;", &[]));
    assert_eq!(
        (empty.num_values(0), empty.null_count(0)),
        (Some(0), Some(0))
    );
    assert_eq!(empty.row_groups_meta().unwrap(), []);

    // Nobody said how many nulls there are.
    let untold = super::Footer::read(&MemoryObject::new(with_numbers(&GOOD))).unwrap();
    assert_eq!(
        (untold.num_values(0), untold.null_count(0)),
        (Some(10), None)
    );
    assert_eq!(untold.data_end(), DATA_END);
}

/// The file of [`footer`], its data being zeros.
fn with_numbers(numbers: &[Number]) -> Vec<u8> {
    let metadata = footer(numbers).unwrap().metadata;
    let mut file = b"PAR1".to_vec();
    file.resize(DATA_END as usize, 0);
    file.extend_from_slice(&metadata);
    file.extend((metadata.len() as u32).to_le_bytes());
    file.extend(b"PAR1");
    file
}
