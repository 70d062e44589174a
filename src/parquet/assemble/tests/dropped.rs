//! Files that rows are dropped from, and leaves that are converted.

use ::parquet::file::statistics::Statistics;
use arrow::array::BooleanArray;
use arrow::compute::{cast, filter};

use super::super::super::output::{Conversion, MadePageIndex, MadeStatistics};
use super::*;

/// The only chunk of a file that holds `array` and nothing else.
fn chunk_of(array: &ArrayRef, nullable: bool) -> MadeChunk {
    let batch = RecordBatch::try_from_iter_with_nullable([("x", array.clone(), nullable)]).unwrap();
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_data_page_row_count_limit(20)
        .set_write_batch_size(10)
        .build();
    let mut file = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut file, batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let file = Bytes::from(file);
    let meta = footer_of(file.to_vec())
        .row_groups_meta()
        .unwrap()
        .remove(0)
        .chunks
        .remove(0);
    let read = metadata(&file);
    let statistics = read.row_group(0).column(0).statistics().unwrap().clone();
    let index = meta.column_index.clone().unwrap();
    let indexes = read.page_index_for_row_group(0);
    let pages = indexes.page_locations(0).unwrap().iter().map(|page| {
        let at = page.offset as u64 - meta.start;
        (
            at,
            page.compressed_page_size as u32,
            page.first_row_index as u64,
        )
    });
    MadeChunk {
        bytes: file.slice(meta.start as usize..(meta.start + meta.length) as usize),
        codec: meta.codec,
        encodings: meta.encodings.clone(),
        num_values: meta.num_values,
        uncompressed_size: meta.uncompressed_size,
        dictionary_page_at: meta.dictionary_page_offset.map(|at| at - meta.start),
        data_page_at: meta.data_page_offset - meta.start,
        statistics: Some(MadeStatistics {
            null_count: statistics.null_count_opt().unwrap(),
            bounds: statistics
                .min_bytes_opt()
                .zip(statistics.max_bytes_opt())
                .map(|(min, max)| (Bytes::copy_from_slice(min), Bytes::copy_from_slice(max))),
        }),
        page_index: Some(MadePageIndex {
            column_index: file.slice(index.start as usize..index.end as usize),
            pages: pages.collect(),
        }),
    }
}

/// The columns of the sample that a single array is the values of.
const FLAT: [&str; 5] = ["id", "name", "small", "price", "at"];

/// Every third row of the second row group.
fn kept() -> BooleanArray {
    (0..ROWS)
        .map(|row| Some(!(GROUP..2 * GROUP).contains(&row) || row % 3 == 0))
        .collect()
}

fn flat_schema(footer: &Footer) -> Vec<OutputNode> {
    let mut schema = mirror(footer.columns());
    schema.truncate(FLAT.len());
    schema.push(leaf(
        "p",
        Annotation::String,
        PhysicalType::ByteArray,
        constant(b"x"),
    ));
    schema
}

/// The sample's flat columns without the rows that [`kept`] leaves out; `change` is done to each
/// made chunk.
fn with_rows_dropped(original: &[u8], change: impl Fn(usize, &mut MadeChunk)) -> Bytes {
    let footer = footer_of(original.to_vec());
    let mut groups = whole(&footer);
    groups[1].dropped = true;
    groups[1].rows = 33;
    let batch = sample_batch();
    let mut make = |group: usize, leaf: usize| {
        assert_eq!(group, 1);
        let values = column(&batch, FLAT[leaf]);
        let values = filter(&values.slice(GROUP, GROUP), &kept().slice(GROUP, GROUP)).unwrap();
        let mut chunk = chunk_of(&values, leaf > 0);
        change(leaf, &mut chunk);
        Ok(chunk)
    };
    present_groups(original, &flat_schema(&footer), &groups, &mut make)
}

#[test]
fn rows_are_dropped_from_one_row_group() {
    let file = with_rows_dropped(&sample(), |_, _| {});
    let (before, after) = (sample_batch(), read(&file));
    for name in FLAT {
        assert_eq!(
            column(&after, name),
            &filter(column(&before, name), &kept()).unwrap(),
            "{name}"
        );
    }
    assert_eq!(
        column(&after, "p").as_ref(),
        &StringArray::from(vec!["x"; 183])
    );
    let metadata = metadata(&file);
    let rows: Vec<_> = metadata
        .row_groups()
        .iter()
        .map(|group| group.num_rows())
        .collect();
    assert_eq!(rows, [100, 33, 50]);
    for group in metadata.row_groups() {
        for chunk in group.columns() {
            let statistics = chunk.statistics().unwrap();
            assert_eq!(chunk.num_values(), group.num_rows());
            assert!(
                statistics.min_is_exact() && statistics.max_is_exact(),
                "{statistics:?}"
            );
            assert!(chunk.column_index_range().is_some());
        }
    }
    // 102 and 198 are the first and the last of the rows that stay.
    let id = metadata.row_group(1).column(0);
    assert!(matches!(
        id.statistics(),
        Some(Statistics::Int64(bounds)) if (bounds.min_opt(), bounds.max_opt()) == (Some(&102), Some(&198))
    ));
    let indexes = metadata.page_index_for_row_group(1);
    let pages = indexes.page_locations(0).unwrap();
    assert_eq!(pages.len(), 2);
    assert_eq!(pages[0].offset, id.data_page_offset());
}

#[test]
fn a_leaf_without_bounds_in_one_row_group_has_them_in_none() {
    let file = with_rows_dropped(&sample(), |leaf, chunk| match leaf {
        0 => chunk.statistics = None,
        1 => chunk.statistics.as_mut().unwrap().bounds = None,
        2 => chunk.page_index = None,
        _ => {}
    });
    let metadata = metadata(&file);
    for (ordinal, group) in metadata.row_groups().iter().enumerate() {
        assert!(
            group
                .column(0)
                .statistics()
                .is_none_or(|known| known.null_count_opt().is_none())
        );
        let name = group.column(1).statistics().unwrap();
        assert_eq!(name.min_bytes_opt(), None);
        assert!(name.null_count_opt().unwrap() > 0);
        assert!(
            group
                .column(2)
                .statistics()
                .unwrap()
                .min_bytes_opt()
                .is_some()
        );
        assert_eq!(
            group.column(2).offset_index_offset().is_some(),
            ordinal != 1
        );
        let indexes = metadata.page_index_for_row_group(ordinal);
        assert_eq!(indexes.column_index(2).is_none(), ordinal == 1);
    }
    // The values are read though the page index lacks a chunk.
    assert_eq!(read(&file).num_rows(), 183);
}

#[test]
fn shortened_bounds_are_not_told_beside_exact_ones() {
    let batch = sample_batch();
    let names: ArrayRef = Arc::new(StringArray::from_iter_values(
        (0..ROWS).map(|row| format!("{}{row}", "long ".repeat(50))),
    ));
    let mut columns = batch.columns().to_vec();
    columns[1] = names;
    let batch = RecordBatch::try_new(batch.schema(), columns).unwrap();
    let original = sample_of(batch);
    let before = metadata(&Bytes::from(original.clone()));
    assert!(
        !before
            .row_group(0)
            .column(1)
            .statistics()
            .unwrap()
            .max_is_exact()
    );

    let footer = footer_of(original.clone());
    let file = present(&original, &flat_schema(&footer));
    let kept = metadata(&file);
    assert!(
        kept.row_group(0)
            .column(1)
            .statistics()
            .unwrap()
            .max_bytes_opt()
            .is_some()
    );

    let metadata = metadata(&with_rows_dropped(&original, |_, _| {}));
    for group in metadata.row_groups() {
        let name = group.column(1).statistics().unwrap();
        assert_eq!((name.min_bytes_opt(), name.max_bytes_opt()), (None, None));
        assert!(name.null_count_opt().is_some());
    }
}

#[test]
fn a_row_group_of_nulls_needs_no_bounds() {
    let file = with_rows_dropped(&sample(), |leaf, chunk| {
        if leaf == 2 {
            *chunk = chunk_of(
                &(Arc::new(Int32Array::from(vec![None; 33])) as ArrayRef),
                true,
            );
        }
    });
    let metadata = metadata(&file);
    let small = |group: usize| metadata.row_group(group).column(2).statistics().unwrap();
    assert!(small(0).min_bytes_opt().is_some() && small(2).min_bytes_opt().is_some());
    assert_eq!(small(1).null_count_opt(), Some(33));
}

#[test]
fn row_groups_can_be_left_out_and_leaves_converted() {
    let original = sample();
    let footer = footer_of(original.clone());
    let mut schema = mirror(footer.columns());
    schema[2].kind = OutputKind::Leaf {
        physical: PhysicalType::Int64,
        source: LeafSource::Converted {
            leaf: 2,
            conversion: Conversion::Int32ToInt64,
        },
    };
    let mut groups = whole(&footer);
    groups.remove(1);
    let batch = sample_batch();
    let mut make = |group: usize, leaf: usize| {
        assert_eq!(leaf, 2);
        let rows = [(0, 100), (200, 50)][group];
        let long = cast(column(&batch, "small"), &DataType::Int64).unwrap();
        Ok(chunk_of(&long.slice(rows.0, rows.1), true))
    };
    let file = present_groups(&original, &schema, &groups, &mut make);
    let after = read(&file);
    assert_eq!(after.num_rows(), 150);
    let long = cast(column(&batch, "small"), &DataType::Int64).unwrap();
    let stays: BooleanArray = (0..ROWS)
        .map(|row| Some(!(100..200).contains(&row)))
        .collect();
    assert_eq!(column(&after, "small"), &filter(&long, &stays).unwrap());
    assert_eq!(column(&after, "tags").len(), 150);
    // The bloom filter of the narrow values is not that of the wide ones.
    let metadata = metadata(&file);
    assert!(
        metadata
            .row_group(0)
            .column(0)
            .bloom_filter_offset()
            .is_some()
    );
    assert_eq!(metadata.row_group(0).column(2).bloom_filter_offset(), None);
    // The order goes on behind a column that is kept.
    assert_eq!(metadata.row_group(1).sorting_columns().unwrap().len(), 2);
}

#[test]
fn chunks_that_are_not_what_they_should_be_are_refused() {
    let original = sample();
    let footer = footer_of(original);
    let mut groups = whole(&footer);
    groups[0].dropped = true;
    let schema = flat_schema(&footer);
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1; 100]));
    let damages: [fn(&mut MadeChunk); 4] = [
        |chunk| chunk.num_values = 99,
        |chunk| chunk.data_page_at = 1 << 40,
        |chunk| chunk.dictionary_page_at = Some(u64::MAX),
        |chunk| chunk.uncompressed_size = u64::MAX,
    ];
    for damage in damages {
        let mut make = |_: usize, _: usize| {
            let mut chunk = chunk_of(&numbers, false);
            damage(&mut chunk);
            Ok(chunk)
        };
        let error = assembled(&footer, &schema, &groups, &mut make, None).unwrap_err();
        assert!(
            matches!(error, ParquetError::Unpresentable { .. }),
            "{error}"
        );
    }
    let mut fails = |_: usize, _: usize| Err(footer.malformed("no".to_owned()));
    let error = assembled(&footer, &schema, &groups, &mut fails, None).unwrap_err();
    assert!(matches!(error, ParquetError::Malformed { .. }), "{error}");
}
