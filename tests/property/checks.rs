//! What a mounted table has to show.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use arrow::array::{Array, BooleanArray, RecordBatch};
use arrow::datatypes::{DataType, Fields};
use bytes::Bytes;
use deltafs::storage::cache::DiskCache;
use deltafs::tree::{NodeKind, Tree, TreeError, TreeOptions};
use deltafs::view::{Layout, ViewError};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowPredicateFn, ArrowReaderOptions, ParquetRecordBatchReaderBuilder, RowFilter, RowSelection,
    RowSelector,
};
use parquet::file::metadata::PageIndexPolicy;

use super::chunks;
use super::support::{list, list_all, resolve, tree_read, xattr};
use super::tables::{Case, Dice, Expected, Field, Kind, Made, Mapping, Value, are_seen_as, values};

/// How many files of each class were checked.
pub type Classes = BTreeMap<String, u32>;

/// Makes the table of a case and checks both its versions. Counts the classes of its files.
pub fn check(case: &Case, classes: &mut Classes) {
    let made = case.make();
    let mut dice = Dice::new(case.seed ^ 0xd1ce);
    let mut shown: BTreeMap<String, Bytes> = BTreeMap::new();
    for version in 0..2 {
        if let Some((name, bytes)) = check_version(&made, version, &mut dice, classes) {
            let before = shown.entry(name).or_insert_with(|| bytes.clone());
            assert!(*before == bytes, "one name for two contents");
        }
        check_hive(&made, version);
    }
}

/// With partition values in directories the file has the other columns.
fn check_hive(made: &Made, version: usize) {
    let mut options = TreeOptions::default();
    options.view.layout = Layout::Hive;
    let tree = made.table.tree_with(options);
    let files = match list_all(&tree, &format!("@v{version}")) {
        // Some names and values cannot be shown so.
        Err(TreeError::View(error))
            if matches!(
                *error,
                ViewError::HiveColumn { .. } | ViewError::HiveValue { .. }
            ) =>
        {
            return;
        }
        files => files.expect("the version is there"),
    };
    let expected = made.expected[version].without_partitions();
    let files = files
        .into_iter()
        .filter(|(_, kind)| *kind == NodeKind::File);
    let files: Vec<String> = files.map(|(path, _)| path).collect();
    assert_eq!(
        files.len(),
        usize::from(made.is_listed(version)),
        "{files:?}"
    );
    for path in files {
        let bytes = tree_read(&tree, &path).expect("it can be read");
        let bytes = Bytes::from(bytes);
        check_rows(&bytes, &expected);
        chunks::check(&bytes, expected.dropped);
    }
}

/// The name of the file, where there is one, and its bytes.
fn check_version(
    made: &Made,
    version: usize,
    dice: &mut Dice,
    classes: &mut Classes,
) -> Option<(String, Bytes)> {
    let expected = &made.expected[version];
    let tree = made.table.tree();
    let directory = format!("@v{version}");
    let names = list(&tree, &directory).expect("the version is there");
    let count = usize::from(made.is_listed(version));
    assert_eq!(names.len(), count, "{names:?}");
    let name = names.into_iter().next()?;
    let path = format!("{directory}/{name}");
    let size = resolve(&tree, &path).expect("it was listed").attr.size;
    let bytes = tree_read(&tree, &path).expect("it can be read");
    assert_eq!(bytes.len() as u64, size, "the size that look-up told");

    let class = xattr(&tree, &path, "user.delta.class").expect("each file has one");
    let is_made = class != "identity";
    *classes.entry(class).or_default() += 1;

    check_ranges(&made.table.tree(), &path, &bytes, dice);
    check_caches(made, &path, &bytes);

    let bytes = Bytes::from(bytes);
    check_rows(&bytes, expected);
    check_selection(&bytes, expected, dice);
    check_filter(&bytes, expected);
    chunks::check(&bytes, expected.dropped);
    if is_made {
        check_footer(&bytes, expected, made.mapping);
        keep(&bytes);
    }
    Some((name, bytes))
}

/// Puts a presented file into the directory that `DELTAFS_PROPERTY_FILES` names, for
/// `scripts/interop_lib/strict.py` to look at.
fn keep(bytes: &[u8]) {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    if let Some(directory) = std::env::var_os("DELTAFS_PROPERTY_FILES") {
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = Path::new(&directory).join(format!("presented~{number}.parquet"));
        std::fs::write(path, bytes).expect("the directory is there");
    }
}

/// What other readers than the one used here go by.
fn check_footer(bytes: &Bytes, expected: &Expected, mapping: Mapping) {
    let builder = reader(bytes);
    let metadata = builder.metadata();
    let kept = [
        "org.apache.spark.version",
        "org.apache.spark.timeZone",
        "org.apache.spark.legacyDateTime",
        "org.apache.spark.legacyINT96",
    ];
    for entry in metadata
        .file_metadata()
        .key_value_metadata()
        .into_iter()
        .flatten()
    {
        assert!(
            kept.contains(&&*entry.key),
            "{} contradicts the schema",
            entry.key
        );
    }

    // Spark gives a row group to the task whose part of the file its middle is in.
    let end = bytes.len() - 8;
    let length = u32::from_le_bytes(bytes[end..end + 4].try_into().expect("four bytes"));
    let footer = (end - length as usize) as i64;
    for group in metadata.row_groups() {
        let first = group.column(0);
        let pages = first.data_page_offset();
        let start = match first.dictionary_page_offset() {
            Some(dictionary) if dictionary > 0 => dictionary.min(pages),
            _ => pages,
        };
        let sizes = group.columns().iter();
        let size: i64 = sizes.map(|chunk| chunk.compressed_size()).sum();
        assert!(
            start + size / 2 < footer,
            "a row group from {start} on, {size} bytes"
        );
    }

    check_ids(&expected.columns, builder.schema().fields(), mapping);
}

/// Columns have the ids of column mapping, nested ones too, or none.
fn check_ids(columns: &[Field], found: &Fields, mapping: Mapping) {
    for (column, found) in columns.iter().zip(found) {
        let id = found.metadata().get("PARQUET:field_id").cloned();
        let wanted = match mapping {
            Mapping::None => None,
            Mapping::Name | Mapping::Id => Some(column.id.to_string()),
        };
        assert_eq!(id, wanted, "field id of {}", column.name);
        let (mut kind, mut inner) = (&column.part.kind, found.data_type());
        loop {
            (kind, inner) = match (kind, inner) {
                (Kind::Struct(fields), DataType::Struct(found)) => {
                    check_ids(fields, found, mapping);
                    break;
                }
                (Kind::List(element), DataType::List(found)) => (&element.kind, found.data_type()),
                (Kind::Map(_, value), DataType::Map(entries, _)) => match entries.data_type() {
                    DataType::Struct(entries) => (&value.kind, entries[1].data_type()),
                    other => panic!("the entries of a map are {other}"),
                },
                _ => break,
            };
        }
    }
}

/// Another mount, read in pieces, in any order and by two at once, has the same bytes.
fn check_ranges(tree: &Tree, path: &str, bytes: &[u8], dice: &mut Dice) {
    let entry = resolve(tree, path).expect("a name means the same in every mount");
    assert_eq!(entry.attr.size, bytes.len() as u64, "size in another mount");
    let opened = tree.open(entry.attr.ino).expect("it opens");
    let seeds = [dice.next(), dice.next()];
    std::thread::scope(|scope| {
        for seed in seeds {
            let handle = opened.handle;
            scope.spawn(move || read_ranges(tree, handle, bytes, &mut Dice::new(seed)));
        }
    });
    tree.release(opened.handle);
}

fn read_ranges(tree: &Tree, handle: u64, bytes: &[u8], dice: &mut Dice) {
    for _ in 0..10 {
        let start = dice.below(bytes.len() + 10);
        let length = match dice.below(3) {
            0 => dice.below(64),
            1 => dice.below(4_096),
            _ => dice.below(bytes.len() + 10),
        };
        let mut buffer = vec![0xAA; length];
        let count = tree
            .read(handle, &mut buffer, start as u64)
            .expect("it can be read");
        let start = start.min(bytes.len());
        let end = (start + length).min(bytes.len());
        assert!(buffer[..count] == bytes[start..end], "bytes {start}..{end}");
    }
}

/// A mount with a cache, one that finds the cache, and one after its loss have the same bytes.
fn check_caches(made: &Made, path: &str, bytes: &[u8]) {
    let directory = made.table.outside().join("cache");
    let cached = || {
        let mut options = TreeOptions::default();
        let cache = DiskCache::open(&directory, 1 << 30).expect("a cache");
        options.view.cache = Arc::new(cache);
        made.table.tree_with(options)
    };
    let first = cached();
    for (tree, which) in [(&first, "first"), (&cached(), "second")] {
        let again = tree_read(tree, path).expect("it can be read");
        assert!(again == bytes, "bytes of the {which} mount with a cache");
    }
    std::fs::remove_dir_all(&directory).expect("the cache is there");
    for (tree, which) in [(&first, "same"), (&cached(), "next")] {
        let again = tree_read(tree, path).expect("it can be read");
        assert!(again == bytes, "bytes of the {which} mount after the loss");
    }
}

fn reader(bytes: &Bytes) -> ParquetRecordBatchReaderBuilder<Bytes> {
    let options = ArrowReaderOptions::new().with_page_index_policy(PageIndexPolicy::Optional);
    ParquetRecordBatchReaderBuilder::try_new_with_options(bytes.clone(), options)
        .expect("a Parquet file with a page index")
}

/// The values of each column in these batches.
fn columns(
    batches: impl Iterator<Item = Result<RecordBatch, arrow::error::ArrowError>>,
    width: usize,
) -> Vec<Vec<Value>> {
    let mut columns = vec![Vec::new(); width];
    for batch in batches {
        let batch = batch.expect("readable pages");
        for (column, array) in columns.iter_mut().zip(batch.columns()) {
            column.extend(values(array));
        }
    }
    columns
}

fn assert_values(found: &[Vec<Value>], expected: &[Vec<Value>], names: &Expected, how: &str) {
    for (position, (found, expected)) in found.iter().zip(expected).enumerate() {
        let name = &names.columns[position].name;
        assert_eq!(found.len(), expected.len(), "rows of {name} {how}");
        for (row, (found, expected)) in found.iter().zip(expected).enumerate() {
            assert_eq!(found, expected, "row {row} of {name} {how}");
        }
    }
}

fn check_rows(bytes: &Bytes, expected: &Expected) {
    let builder = reader(bytes);
    assert_eq!(
        builder.metadata().file_metadata().num_rows(),
        expected.rows as i64,
        "rows by the footer"
    );
    assert!(
        are_seen_as(&expected.columns, builder.schema().fields()),
        "{:?} is seen as {:?}",
        expected.columns,
        builder.schema().fields()
    );
    let all = builder.with_batch_size(300).build().expect("a reader");
    let found = columns(all, expected.columns.len());
    assert_values(&found, &expected.values, expected, "");
}

/// Some rows, by the page index.
fn check_selection(bytes: &Bytes, expected: &Expected, dice: &mut Dice) {
    let mut taken = Vec::new();
    let mut selectors = Vec::new();
    let mut row = 0;
    while row < expected.rows {
        let length = (1 + dice.below(20)).min(expected.rows - row);
        match dice.below(2) {
            0 => selectors.push(RowSelector::skip(length)),
            _ => {
                selectors.push(RowSelector::select(length));
                taken.extend(row..row + length);
            }
        }
        row += length;
    }
    let selected = reader(bytes)
        .with_batch_size(1 + dice.below(50))
        .with_row_selection(RowSelection::from(selectors))
        .build()
        .expect("a reader");
    let found = columns(selected, expected.columns.len());
    let wanted: Vec<Vec<Value>> = expected
        .values
        .iter()
        .map(|column| taken.iter().map(|row| column[*row].clone()).collect())
        .collect();
    assert_values(&found, &wanted, expected, "of some rows");
}

/// The rows in which the first column is not null, found while reading.
fn check_filter(bytes: &Bytes, expected: &Expected) {
    let builder = reader(bytes);
    let first = ProjectionMask::roots(builder.parquet_schema(), [0]);
    let present = ArrowPredicateFn::new(first, |batch| {
        let column = batch.column(0);
        Ok(BooleanArray::from_iter(
            (0..batch.num_rows()).map(|row| Some(column.is_valid(row))),
        ))
    });
    let filtered = builder
        .with_row_filter(RowFilter::new(vec![Box::new(present)]))
        .build()
        .expect("a reader");
    let found = columns(filtered, expected.columns.len());
    let taken: Vec<usize> = (0..expected.rows)
        .filter(|row| expected.values[0][*row] != Value::Null)
        .collect();
    let wanted: Vec<Vec<Value>> = expected
        .values
        .iter()
        .map(|column| taken.iter().map(|row| column[*row].clone()).collect())
        .collect();
    assert_values(&found, &wanted, expected, "where the first is not null");
}
