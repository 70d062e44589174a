mod constants;
mod dropped;
mod footers;
mod hostile;

use std::sync::Arc;

use ::parquet::arrow::ArrowWriter;
use ::parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use ::parquet::basic::{Compression, ZstdLevel};
use ::parquet::file::metadata::{
    KeyValue, PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader, SortingColumn,
};
use ::parquet::file::properties::WriterProperties;
use arrow::array::{
    Array, ArrayRef, AsArray, Float64Array, Int32Array, Int64Array, ListArray, RecordBatch,
    StringArray, StructArray, TimestampMicrosecondArray,
};
use arrow::compute::concat_batches;
use arrow::datatypes::{DataType, Field, Int32Type};
use bytes::Bytes;

use super::super::RowGroupMeta;
use super::super::output::{LeafSource, OutputKind};
use super::super::schema::{Annotation, Node, PhysicalType, Repetition};
use super::super::testing::footer_of;
use super::*;

/// Rows in each row group of [`sample`], and all of them.
const GROUP: usize = 100;
const ROWS: usize = 250;

/// Three row groups of flat and nested columns, with everything a footer can tell of them.
fn sample() -> Vec<u8> {
    sample_of(sample_batch())
}

fn sample_batch() -> RecordBatch {
    let rows = 0..ROWS as i64;
    let name = |row: i64| (row % 7 != 0).then(|| format!("name {row}"));
    let place = StructArray::from(vec![
        (
            Arc::new(Field::new("lat", DataType::Float64, true)),
            Arc::new(Float64Array::from_iter_values(
                rows.clone().map(|row| row as f64 / 2.0),
            )) as ArrayRef,
        ),
        (
            Arc::new(Field::new("city", DataType::Utf8, true)),
            Arc::new(StringArray::from_iter(rows.clone().map(name))),
        ),
    ]);
    let tags = ListArray::from_iter_primitive::<Int32Type, _, _>(rows.clone().map(|row| {
        (row % 5 != 0).then(|| (0..row % 4).map(|tag| Some(tag as i32)).collect::<Vec<_>>())
    }));
    let columns: [(&str, ArrayRef, bool); 7] = [
        (
            "id",
            Arc::new(Int64Array::from_iter_values(rows.clone())),
            false,
        ),
        (
            "name",
            Arc::new(StringArray::from_iter(rows.clone().map(name))),
            true,
        ),
        (
            "small",
            Arc::new(Int32Array::from_iter(
                rows.clone()
                    .map(|row| (row % 4 > 0).then_some(row as i32 % 100)),
            )),
            true,
        ),
        (
            "price",
            Arc::new(Float64Array::from_iter_values(
                rows.clone().map(|row| row as f64 / 8.0),
            )),
            true,
        ),
        (
            "at",
            Arc::new(TimestampMicrosecondArray::from_iter_values(
                rows.map(|row| row * 1_000_000),
            )),
            true,
        ),
        ("place", Arc::new(place), false),
        ("tags", Arc::new(tags), true),
    ];
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

/// [`sample`] of other rows.
fn sample_of(batch: RecordBatch) -> Vec<u8> {
    let entry = |key: &str, value: &str| KeyValue::new(key.to_owned(), value.to_owned());
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(GROUP))
        .set_data_page_row_count_limit(40)
        .set_write_batch_size(20)
        .set_bloom_filter_enabled(true)
        .set_compression(Compression::SNAPPY)
        .set_column_compression("name".into(), Compression::ZSTD(ZstdLevel::default()))
        .set_column_compression("id".into(), Compression::UNCOMPRESSED)
        .set_sorting_columns(Some(vec![
            SortingColumn {
                column_idx: 0,
                descending: false,
                nulls_first: true,
            },
            SortingColumn {
                column_idx: 3,
                descending: true,
                nulls_first: false,
            },
        ]))
        .set_key_value_metadata(Some(vec![
            entry("org.apache.spark.version", "3.5.0"),
            entry("org.apache.spark.legacyDateTime", ""),
            entry("pandas", "{}"),
        ]))
        .build();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    bytes
}

/// The schema of the file itself.
fn mirror(nodes: &[Node]) -> Vec<OutputNode> {
    nodes.iter().map(OutputNode::copy_of).collect()
}

fn leaf(
    name: &str,
    annotation: Annotation,
    physical: PhysicalType,
    source: LeafSource,
) -> OutputNode {
    OutputNode {
        name: name.to_owned(),
        id: None,
        repetition: Repetition::Optional,
        annotation,
        kind: OutputKind::Leaf { physical, source },
    }
}

fn constant(value: &[u8]) -> LeafSource {
    LeafSource::Constant(Bytes::copy_from_slice(value))
}

/// All row groups as they are.
fn whole(footer: &Footer) -> Vec<OutputGroup> {
    let groups = footer.row_groups_meta().unwrap();
    let group = |(original, meta): (usize, &RowGroupMeta)| OutputGroup {
        original,
        rows: meta.num_rows,
        dropped: false,
    };
    groups.iter().enumerate().map(group).collect()
}

type Make<'a> = &'a mut dyn FnMut(usize, usize) -> Result<MadeChunk, ParquetError>;

fn no_make(group: usize, leaf: usize) -> Result<MadeChunk, ParquetError> {
    panic!("chunk {leaf} of group {group} is not to be made")
}

/// What is made, and the extents of the file.
fn assembled(
    footer: &Footer,
    schema: &[OutputNode],
    groups: &[OutputGroup],
    make: Make<'_>,
    size: Option<u64>,
) -> Result<(Vec<u8>, Vec<Extent>), ParquetError> {
    let mut made = Vec::new();
    let mut tail = |bytes: Bytes| {
        made.extend_from_slice(&bytes);
        Ok(())
    };
    let extents = assemble(footer, schema, groups, make, &mut tail, size)?;
    Ok((made, extents))
}

fn materialised(original: &[u8], made: &[u8], extents: &[Extent]) -> Bytes {
    let mut file = Vec::new();
    for extent in extents {
        match *extent {
            Extent::Original { start, length } => {
                file.extend_from_slice(&original[start as usize..][..length as usize]);
            }
            Extent::Made { start, length } => {
                file.extend_from_slice(&made[start as usize..][..length as usize]);
            }
            Extent::Zeros(length) => file.resize(file.len() + length as usize, 0),
        }
    }
    Bytes::from(file)
}

/// The presented file, of all rows; checked to fit its bound, both ways of making it.
fn present(original: &[u8], schema: &[OutputNode]) -> Bytes {
    let footer = footer_of(original.to_vec());
    present_groups(original, schema, &whole(&footer), &mut no_make)
}

fn present_groups(
    original: &[u8],
    schema: &[OutputNode],
    groups: &[OutputGroup],
    make: Make<'_>,
) -> Bytes {
    let footer = footer_of(original.to_vec());
    let (made, extents) = assembled(&footer, schema, groups, make, None).unwrap();
    let file = materialised(original, &made, &extents);
    let total: u64 = extents.iter().map(Extent::len).sum();
    assert_eq!(file.len() as u64, total);

    let bound = size_bound(&footer, schema, groups, &|_, _| 1 << 20).unwrap();
    assert!(total <= bound, "{total} exceeds {bound}");
    let (padded, extents) = assembled(&footer, schema, groups, make, Some(bound)).unwrap();
    assert_eq!(padded, made);
    assert_eq!(extents.iter().map(Extent::len).sum::<u64>(), bound);
    if bound < 64 << 20 {
        let longer = materialised(original, &padded, &extents);
        assert_eq!(read(&longer), read(&file));
    }
    file
}

/// All rows, by the arrow reader, with the page index.
fn read(file: &Bytes) -> RecordBatch {
    let options = ArrowReaderOptions::new().with_page_index_policy(PageIndexPolicy::Optional);
    let builder =
        ParquetRecordBatchReaderBuilder::try_new_with_options(file.clone(), options).unwrap();
    let schema = builder.schema().clone();
    let batches: Vec<_> = builder.build().unwrap().map(Result::unwrap).collect();
    concat_batches(&schema, &batches).unwrap()
}

fn metadata(file: &Bytes) -> ParquetMetaData {
    ParquetMetaDataReader::new()
        .with_page_index_policy(PageIndexPolicy::Optional)
        .parse_and_finish(file)
        .unwrap()
}

fn column<'a>(batch: &'a RecordBatch, name: &str) -> &'a ArrayRef {
    batch
        .column_by_name(name)
        .unwrap_or_else(|| panic!("no column {name}"))
}

#[test]
fn the_file_itself_can_be_presented() {
    let original = sample();
    let footer = footer_of(original.clone());
    let schema = mirror(footer.columns());
    let file = present(&original, &schema);
    let (before, after) = (read(&Bytes::from(original)), read(&file));
    for (name, column) in before.schema().fields().iter().zip(before.columns()) {
        assert_eq!(self::column(&after, name.name()), column);
    }
}

#[test]
fn columns_are_renamed_reordered_dropped_and_added() {
    let original = sample();
    let footer = footer_of(original.clone());
    let mut nodes = mirror(footer.columns());
    let mut take = |name: &str| {
        let at = nodes.iter().position(|node| node.name == name).unwrap();
        nodes.remove(at)
    };
    let mut renamed = take("name");
    renamed.name = "Name.of it".to_owned();
    renamed.id = Some(7);
    let mut small = take("small");
    small.annotation = Annotation::Integer {
        bits: 8,
        signed: true,
    };
    let mut place = take("place");
    let OutputKind::Group(parts) = &mut place.kind else {
        unreachable!()
    };
    parts.swap(0, 1);
    parts.insert(
        1,
        leaf(
            "zip",
            Annotation::String,
            PhysicalType::ByteArray,
            LeafSource::Null { definition: 0 },
        ),
    );
    let schema = [
        leaf(
            "region",
            Annotation::String,
            PhysicalType::ByteArray,
            constant(b"EU"),
        ),
        renamed,
        take("tags"),
        small,
        place,
        take("id"),
        leaf(
            "gone",
            Annotation::None,
            PhysicalType::Double,
            LeafSource::Null { definition: 0 },
        ),
        take("price"),
    ];
    let file = present(&original, &schema);
    let (before, after) = (sample_batch(), read(&file));
    assert_eq!(
        after
            .schema()
            .fields()
            .iter()
            .map(|field| field.name().as_str())
            .collect::<Vec<_>>(),
        [
            "region",
            "Name.of it",
            "tags",
            "small",
            "place",
            "id",
            "gone",
            "price"
        ]
    );
    assert_eq!(after.num_rows(), ROWS);
    assert_eq!(
        column(&after, "region").as_ref(),
        &StringArray::from(vec!["EU"; ROWS])
    );
    assert_eq!(column(&after, "Name.of it"), column(&before, "name"));
    assert_eq!(column(&after, "id"), column(&before, "id"));
    assert_eq!(column(&after, "price"), column(&before, "price"));
    assert_eq!(column(&after, "gone").null_count(), ROWS);
    let small = arrow::compute::cast(column(&before, "small"), &DataType::Int8).unwrap();
    assert_eq!(column(&after, "small"), &small);
    let place = column(&after, "place").as_struct();
    assert_eq!(place.column_by_name("zip").unwrap().null_count(), ROWS);
    for part in ["lat", "city"] {
        let before = column(&before, "place").as_struct();
        assert_eq!(place.column_by_name(part), before.column_by_name(part));
    }
    let (tags, expected) = (
        column(&after, "tags").as_list::<i32>(),
        column(&before, "tags").as_list::<i32>(),
    );
    assert_eq!(tags.values(), expected.values());
    assert_eq!(tags.offsets(), expected.offsets());
    assert_eq!(tags.nulls(), expected.nulls());

    let metadata = metadata(&file);
    let field = &metadata.file_metadata().schema().get_fields()[1];
    assert_eq!(field.get_basic_info().id(), 7);
    assert_eq!(metadata.file_metadata().num_rows(), ROWS as i64);
    for (index, group) in metadata.row_groups().iter().enumerate() {
        assert_eq!(group.ordinal(), Some(index as i32));
        // `price` follows `id` in the order.
        let sorted: Vec<_> = group
            .sorting_columns()
            .unwrap()
            .iter()
            .map(|by| by.column_idx)
            .collect();
        assert_eq!(sorted, [7, 9]);
        let compressed: i64 = group
            .columns()
            .iter()
            .map(|chunk| chunk.compressed_size())
            .sum();
        assert_eq!(group.compressed_size(), compressed);
        assert_eq!(
            group.file_offset(),
            Some(group.column(0).byte_range().0 as i64)
        );
    }
    let file_metadata = metadata.file_metadata();
    let mut keys: Vec<_> = file_metadata.key_value_metadata().unwrap().iter().collect();
    keys.sort_by_key(|entry| &entry.key);
    assert_eq!(
        keys.iter()
            .map(|entry| (entry.key.as_str(), entry.value.as_deref()))
            .collect::<Vec<_>>(),
        [("org.apache.spark.version", Some("3.5.0"))]
    );
    assert!(
        file_metadata
            .created_by()
            .unwrap()
            .starts_with("parquet-rs")
    );
    assert_eq!(file_metadata.schema().name(), "arrow_schema");
}
