//! What is said of column chunks and pages, against what they hold.

use bytes::Bytes;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::bloom_filter::Sbbf;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{AsBytes, DataType};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};
use parquet::file::page_index::column_index::ColumnIndexMetaData;
use parquet::file::reader::{FileReader, SerializedFileReader};

/// A value in the order of its type.
#[derive(Debug, Clone, PartialEq, PartialOrd)]
enum Ordered {
    Number(i128),
    Float(f64),
    Bytes(Vec<u8>),
}

/// An entry of a leaf: its row and its value, where it has one.
type Entry = (usize, Option<Ordered>);

/// Checks all chunks of a file. With `dropped` rows of the data file are left out: then statistics
/// have to be exact, and there for all row groups of a column or for none, since readers take those
/// that are there for the whole truth.
pub fn check(bytes: &Bytes, dropped: bool) {
    let file = SerializedFileReader::new(bytes.clone()).expect("a Parquet file");
    let options = parquet::arrow::arrow_reader::ArrowReaderOptions::new()
        .with_page_index_policy(parquet::file::metadata::PageIndexPolicy::Optional);
    let builder = ParquetRecordBatchReaderBuilder::try_new_with_options(bytes.clone(), options)
        .expect("a Parquet file with a page index");
    let metadata = builder.metadata().clone();
    let leaves = metadata.file_metadata().schema_descr().num_columns();
    for leaf in 0..leaves {
        let mut with_bounds = Vec::new();
        for group in 0..metadata.num_row_groups() {
            let filter = builder
                .get_row_group_column_bloom_filter(group, leaf)
                .expect("a Bloom filter or none");
            let chunk = metadata.row_group(group).column(leaf);
            let reader = file.get_row_group(group).expect("a row group");
            let reader = reader.get_column_reader(leaf).expect("a column chunk");
            let entries = entries(reader, chunk, filter.as_ref());
            let place = format!("{} in row group {group}", chunk.column_path());
            let rows = metadata.row_group(group).num_rows() as usize;
            assert_eq!(
                chunk.num_values() as usize,
                entries.len(),
                "values of {place}"
            );
            let last = entries.last().map_or(0, |(row, _)| row + 1);
            assert_eq!(last, rows, "rows of {place}");
            if let Some(there) = check_chunk(chunk, &entries, dropped, &place) {
                with_bounds.push(there);
            }
            check_pages(&metadata, (group, leaf), &entries, rows, &place);
        }
        if dropped {
            let path = metadata.file_metadata().schema_descr().column(leaf);
            assert!(
                with_bounds.iter().all(|there| *there == with_bounds[0]),
                "{}: bounds are there for some row groups alone: {with_bounds:?}",
                path.path()
            );
        }
    }
}

/// `Some` of whether there are bounds, where there could be.
fn check_chunk(
    chunk: &ColumnChunkMetaData,
    entries: &[Entry],
    exact: bool,
    place: &str,
) -> Option<bool> {
    let nulls = entries.iter().filter(|(_, value)| value.is_none()).count() as u64;
    let present: Vec<&Ordered> = comparable(entries).collect();
    let Some(statistics) = chunk.statistics() else {
        return (!present.is_empty()).then_some(false);
    };
    if let Some(said) = statistics.null_count_opt() {
        assert_eq!(said, nulls, "nulls of {place}");
    }
    let bound = |bytes: Option<&[u8]>| bytes.map(|bytes| ordered(chunk, bytes));
    let (least, most) = (
        bound(statistics.min_bytes_opt()),
        bound(statistics.max_bytes_opt()),
    );
    if let (Some(least), Some(most)) = (&least, &most) {
        for value in &present {
            assert!(
                *least <= **value && **value <= *most,
                "{place}: {value:?} is not within {least:?} and {most:?}"
            );
        }
        if exact && !present.is_empty() {
            let is_value = |bound| present.contains(&bound);
            assert!(
                is_value(least) || !statistics.min_is_exact(),
                "{place}: {least:?} is no value"
            );
            assert!(
                is_value(most) || !statistics.max_is_exact(),
                "{place}: {most:?} is no value"
            );
        }
    }
    (!present.is_empty()).then_some(least.is_some() && most.is_some())
}

fn check_pages(
    metadata: &ParquetMetaData,
    (group, leaf): (usize, usize),
    entries: &[Entry],
    rows: usize,
    place: &str,
) {
    let page_index = metadata.page_index_for_row_group(group);
    let Some(pages) = page_index.offset_index(leaf) else {
        return;
    };
    let starts: Vec<usize> = pages
        .page_locations()
        .iter()
        .map(|page| page.first_row_index as usize)
        .collect();
    assert_eq!(
        starts.first().copied().unwrap_or(0),
        0,
        "first row of {place}"
    );
    if !starts.is_sorted_by(|a, b| a < b) {
        // pyarrow lets a record go on in the next page.
        let repeated = metadata.row_group(group).column(leaf).column_descr();
        let is_theirs = starts.is_sorted() && repeated.max_rep_level() > 0;
        assert!(is_theirs, "pages of {place}: {starts:?}");
        return;
    }
    let Some(index) = page_index.column_index(leaf) else {
        return;
    };
    assert_eq!(index.num_pages() as usize, starts.len(), "pages of {place}");
    let chunk = metadata.row_group(group).column(leaf);
    for (page, start) in starts.iter().enumerate() {
        let end = starts.get(page + 1).copied().unwrap_or(rows);
        let first = entries.partition_point(|(row, _)| row < start);
        let last = entries.partition_point(|(row, _)| *row < end);
        let within = &entries[first..last];
        let nulls = within.iter().filter(|(_, value)| value.is_none()).count();
        if let Some(said) = index.null_count(page) {
            assert_eq!(said as usize, nulls, "nulls of page {page} of {place}");
        }
        // The library that writes the data files takes rows for values here.
        if chunk.column_descr().max_rep_level() == 0 {
            assert_eq!(
                index.is_null_page(page),
                nulls == within.len(),
                "whether page {page} of {place} is null"
            );
        }
        let Some((least, most)) = page_bounds(index, page, chunk) else {
            continue;
        };
        for value in comparable(within) {
            assert!(
                least <= *value && *value <= most,
                "page {page} of {place}: {value:?} is not within {least:?} and {most:?}"
            );
        }
    }
}

fn page_bounds(
    index: &ColumnIndexMetaData,
    page: usize,
    chunk: &ColumnChunkMetaData,
) -> Option<(Ordered, Ordered)> {
    macro_rules! numbers {
        ($index:expr) => {
            Some((
                Ordered::Number((*$index.min_value(page)?).into()),
                Ordered::Number((*$index.max_value(page)?).into()),
            ))
        };
    }
    match index {
        ColumnIndexMetaData::BOOLEAN(index) => numbers!(index),
        ColumnIndexMetaData::INT32(index) => numbers!(index),
        ColumnIndexMetaData::INT64(index) => numbers!(index),
        ColumnIndexMetaData::INT96(_) => None,
        ColumnIndexMetaData::FLOAT(index) => Some((
            Ordered::Float((*index.min_value(page)?).into()),
            Ordered::Float((*index.max_value(page)?).into()),
        )),
        ColumnIndexMetaData::DOUBLE(index) => Some((
            Ordered::Float(*index.min_value(page)?),
            Ordered::Float(*index.max_value(page)?),
        )),
        ColumnIndexMetaData::BYTE_ARRAY(index)
        | ColumnIndexMetaData::FIXED_LEN_BYTE_ARRAY(index) => Some((
            ordered(chunk, index.min_value(page)?),
            ordered(chunk, index.max_value(page)?),
        )),
    }
}

/// The values that have a place in the order of their type: all but NaN.
fn comparable(entries: &[Entry]) -> impl Iterator<Item = &Ordered> {
    entries
        .iter()
        .filter_map(|(_, value)| value.as_ref())
        .filter(|value| !matches!(value, Ordered::Float(number) if number.is_nan()))
}

/// A plainly encoded value.
fn ordered(chunk: &ColumnChunkMetaData, bytes: &[u8]) -> Ordered {
    use parquet::basic::Type;
    match chunk.column_type() {
        Type::BOOLEAN => Ordered::Number(bytes[0].into()),
        Type::INT32 => Ordered::Number(i32::from_le_bytes(sized(bytes)).into()),
        Type::INT64 => Ordered::Number(i64::from_le_bytes(sized(bytes)).into()),
        Type::FLOAT => Ordered::Float(f32::from_le_bytes(sized(bytes)).into()),
        Type::DOUBLE => Ordered::Float(f64::from_le_bytes(sized(bytes))),
        Type::BYTE_ARRAY | Type::INT96 => Ordered::Bytes(bytes.to_vec()),
        Type::FIXED_LEN_BYTE_ARRAY => Ordered::Number(big_endian(bytes)),
    }
}

fn sized<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.try_into().expect("a bound has the width of its type")
}

/// A decimal: nothing else is of fixed length here.
fn big_endian(bytes: &[u8]) -> i128 {
    let sign = i128::from(bytes[0].cast_signed() >> 7);
    bytes
        .iter()
        .fold(sign, |number, byte| number << 8 | i128::from(*byte))
}

fn entries(reader: ColumnReader, chunk: &ColumnChunkMetaData, filter: Option<&Sbbf>) -> Vec<Entry> {
    match reader {
        ColumnReader::BoolColumnReader(reader) => read(reader, chunk, filter, |value| {
            Ordered::Number((*value).into())
        }),
        ColumnReader::Int32ColumnReader(reader) => read(reader, chunk, filter, |value| {
            Ordered::Number((*value).into())
        }),
        ColumnReader::Int64ColumnReader(reader) => read(reader, chunk, filter, |value| {
            Ordered::Number((*value).into())
        }),
        ColumnReader::FloatColumnReader(reader) => read(reader, chunk, filter, |value| {
            Ordered::Float((*value).into())
        }),
        ColumnReader::DoubleColumnReader(reader) => {
            read(reader, chunk, filter, |value| Ordered::Float(*value))
        }
        ColumnReader::ByteArrayColumnReader(reader) => read(reader, chunk, filter, |value| {
            Ordered::Bytes(value.data().to_vec())
        }),
        ColumnReader::FixedLenByteArrayColumnReader(reader) => {
            read(reader, chunk, filter, |value| {
                Ordered::Number(big_endian(value.data()))
            })
        }
        ColumnReader::Int96ColumnReader(_) => panic!("no INT96 is presented"),
    }
}

fn read<T: DataType>(
    mut reader: ColumnReaderImpl<T>,
    chunk: &ColumnChunkMetaData,
    filter: Option<&Sbbf>,
    ordered: impl Fn(&T::T) -> Ordered,
) -> Vec<Entry>
where
    T::T: AsBytes,
{
    let descriptor = chunk.column_descr();
    let (most_defined, most_repeated) = (descriptor.max_def_level(), descriptor.max_rep_level());
    let (mut values, mut definitions, mut repetitions) = (Vec::new(), Vec::new(), Vec::new());
    // The reader stops at pages without values, of which pyarrow writes some.
    let mut stops = 0;
    while stops < 4 {
        let (records, _, levels) = reader
            .read_records(
                1_000_000,
                Some(&mut definitions),
                Some(&mut repetitions),
                &mut values,
            )
            .expect("readable pages");
        stops += usize::from(records == 0 && levels == 0);
    }
    if let Some(filter) = filter {
        for value in &values {
            assert!(filter.check(value), "{value:?} is not in the Bloom filter");
        }
    }
    let count = match most_defined {
        0 => values.len(),
        _ => definitions.len(),
    };
    let mut values = values.iter();
    let mut row = 0;
    (0..count)
        .map(|entry| {
            if entry > 0 && (most_repeated == 0 || repetitions[entry] == 0) {
                row += 1;
            }
            let defined = most_defined == 0 || definitions[entry] == most_defined;
            let value = defined.then(|| ordered(values.next().expect("as many as levels say")));
            (row, value)
        })
        .collect()
}
