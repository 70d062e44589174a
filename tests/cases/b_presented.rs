//! Wrong rows or columns: what files show that are put together, in both layouts.

use std::collections::BTreeMap;

use arrow::array::{Array, ArrayRef, AsArray, Date32Array, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Schema};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use serde_json::{Value, json};

use deltafs::tree::{NodeKind, Tree};

use crate::support::{
    TableBuilder, add, batch, field, inline_vector, ints, list_all, longs, metadata, protocol,
    resolve, strings, table_features, tree_read,
};
use crate::{ID, errno_of, hive};

/// Rows, each with its columns by name as text, sorted; and the schema that all files show.
fn rows_of(tree: &Tree, version: &str) -> (Vec<BTreeMap<String, Option<String>>>, Schema) {
    let mut rows = Vec::new();
    let mut schema: Option<Schema> = None;
    for (path, kind) in list_all(tree, version).unwrap() {
        if kind != NodeKind::File {
            continue;
        }
        let bytes = tree_read(tree, &path).unwrap();
        let reader = ParquetRecordBatchReaderBuilder::try_new(bytes::Bytes::from(bytes)).unwrap();
        let shown = without_metadata(reader.schema());
        assert_eq!(
            *schema.get_or_insert_with(|| shown.clone()),
            shown,
            "{path}"
        );
        let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
        let partitions: BTreeMap<String, Option<String>> = directory
            .split('/')
            .filter_map(|part| part.split_once('='))
            .map(|(name, value)| {
                let value = (value != "__HIVE_DEFAULT_PARTITION__").then(|| value.to_owned());
                (name.to_owned(), value)
            })
            .collect();
        for batch in reader.build().unwrap() {
            rows.extend(texts(&batch.unwrap()).into_iter().map(|mut row| {
                row.extend(partitions.clone());
                row
            }));
        }
    }
    rows.sort();
    (rows, schema.expect("a file is listed"))
}

fn without_metadata(schema: &Schema) -> Schema {
    let fields = schema.fields().iter().map(|field| {
        field
            .as_ref()
            .clone()
            .with_metadata(std::collections::HashMap::new())
    });
    Schema::new(fields.collect::<Vec<_>>())
}

fn texts(batch: &RecordBatch) -> Vec<BTreeMap<String, Option<String>>> {
    let columns: Vec<(String, ArrayRef)> = batch
        .schema()
        .fields()
        .iter()
        .zip(batch.columns())
        .map(|(field, column)| (field.name().clone(), cast(column, &DataType::Utf8).unwrap()))
        .collect();
    (0..batch.num_rows())
        .map(|row| {
            columns
                .iter()
                .map(|(name, column)| {
                    let text = column
                        .is_valid(row)
                        .then(|| column.as_string::<i32>().value(row).to_owned());
                    (name.clone(), text)
                })
                .collect()
        })
        .collect()
}

/// Rows of two columns.
fn expected(names: [&str; 2], rows: &[[Option<&str>; 2]]) -> Vec<BTreeMap<String, Option<String>>> {
    let mut rows: Vec<_> = rows
        .iter()
        .map(|row| {
            let named = names.iter().zip(row);
            named
                .map(|(name, value)| ((*name).to_owned(), value.map(str::to_owned)))
                .collect()
        })
        .collect();
    rows.sort();
    rows
}

/// What a version shows in the flat and in the hive layout.
fn in_both_layouts(table: &TableBuilder, version: &str, rows: &[BTreeMap<String, Option<String>>]) {
    assert_eq!(rows_of(&table.tree(), version).0, rows, "flat");
    assert_eq!(rows_of(&table.tree_with(hive()), version).0, rows, "hive");
}

fn mapped(name: &str, kind: Value, physical: &str, id: i64) -> Value {
    field(
        name,
        kind,
        json!({"delta.columnMapping.id": id, "delta.columnMapping.physicalName": physical}),
    )
}

/// duckdb-delta#17: the path of a vector joined wrongly with a table root that ends in a slash.
#[test]
fn b5_a_slash_behind_the_table_changes_nothing() {
    use std::sync::Arc;

    use deltafs::snapshot::Table;
    use deltafs::storage::{StoreOptions, TableRoots, open_store};
    use deltafs::tree::TreeOptions;

    let mut table =
        TableBuilder::with_actions([table_features(&["deletionVectors"]), metadata(ID)]);
    let file = table.data("f.parquet", &batch([("id", longs([10, 11, 12]))]));
    table.commit([file.dv(&inline_vector(&[0]))]);
    let root = table.root();
    let root = root.to_str().unwrap();
    for spelling in [root.to_owned(), format!("{root}/"), format!("{root}//")] {
        let options = StoreOptions::default();
        let store = open_store(&spelling, &options).unwrap();
        let roots = TableRoots::new(store, &[], &options).unwrap();
        let opened = Table::open(roots, std::time::Duration::ZERO).unwrap();
        let tree = Tree::new(Arc::new(opened), TreeOptions::default());
        let (rows, _) = rows_of(&tree, "@v1");
        let ids: Vec<_> = rows.iter().map(|row| row["id"].as_deref()).collect();
        assert_eq!(ids, [Some("11"), Some("12")], "{spelling}");
    }
}

/// duckdb-delta#50: a renamed column is all null.
#[test]
fn b7_a_renamed_column_keeps_its_values() {
    for mode in ["name", "id"] {
        let of = |name: &str| {
            let column = mapped(name, json!("long"), "col-1", 1);
            let schema = json!({"type": "struct", "fields": [column]}).to_string();
            metadata(&[])
                .with("schemaString", schema)
                .property("delta.columnMapping.mode", mode)
        };
        let mut table = TableBuilder::with_actions([protocol(2, 5), of("id")]);
        let file = with_field_ids(&batch([("col-1", longs([1, 2]))]), &[1]);
        let added = table.data("f.parquet", &file);
        table.commit([added]);
        table.commit([of("id2")]);
        for (version, name) in [("@v1", "id"), ("@v2", "id2")] {
            for tree in [table.tree(), table.tree_with(hive())] {
                let (rows, schema) = rows_of(&tree, version);
                let values: Vec<_> = rows.iter().map(|row| row[name].as_deref()).collect();
                assert_eq!(values, [Some("1"), Some("2")], "{mode} {version}");
                assert_eq!(schema.fields().len(), 1);
            }
        }
    }
}

/// The batch, its columns with these field ids.
fn with_field_ids(batch: &RecordBatch, ids: &[i32]) -> RecordBatch {
    let fields: Vec<_> = batch
        .schema()
        .fields()
        .iter()
        .zip(ids)
        .map(|(field, id)| {
            let key = "PARQUET:field_id".to_owned();
            let metadata = std::collections::HashMap::from([(key, id.to_string())]);
            field.as_ref().clone().with_metadata(metadata)
        })
        .collect();
    RecordBatch::try_new(
        std::sync::Arc::new(Schema::new(fields)),
        batch.columns().to_vec(),
    )
    .unwrap()
}

/// delta#3154, kernel-rs#3097: tables made with Iceberg compatibility list column mapping for writers
/// alone. Read without it, every column is null.
#[test]
fn columns_are_mapped_where_only_writers_are_told_so() {
    let features = json!(["columnMapping", "icebergCompatV1"]);
    let column = mapped("id", json!("long"), "col-1", 1);
    let schema = json!({"type": "struct", "fields": [column]}).to_string();
    let mut table = TableBuilder::with_actions([
        table_features(&[]).with("writerFeatures", features),
        metadata(&[])
            .with("schemaString", schema)
            .property("delta.columnMapping.mode", "name"),
    ]);
    let file = table.data("f.parquet", &batch([("col-1", longs([1, 2]))]));
    table.commit([file]);
    for tree in [table.tree(), table.tree_with(hive())] {
        let (rows, _) = rows_of(&tree, "@v1");
        let values: Vec<_> = rows.iter().map(|row| row["id"].as_deref()).collect();
        assert_eq!(values, [Some("1"), Some("2")]);
    }
}

/// duckdb-delta#343: a mapped partition column is null, since its values are keyed by the physical
/// name.
#[test]
fn b8_a_mapped_partition_column_has_its_values() {
    let schema = json!({"type": "struct", "fields": [
        mapped("a", json!("long"), "col-a", 1), mapped("b", json!("integer"), "col-x", 2),
    ]})
    .to_string();
    let action = metadata(&[])
        .with("schemaString", schema)
        .property("delta.columnMapping.mode", "name")
        .partitioned_by(&["b"]);
    let mut table = TableBuilder::with_actions([protocol(2, 5), action]);
    let file = table.data("Zx/f.parquet", &batch([("col-a", longs([7]))]));
    table.commit([file.partition("col-x", "1")]);
    in_both_layouts(
        &table,
        "@v1",
        &expected(["a", "b"], &[[Some("7"), Some("1")]]),
    );
    let (_, schema) = rows_of(&table.tree(), "@v1");
    assert_eq!(*schema.field(1).data_type(), DataType::Int32);
}

/// DeltaLakeReader#15: after a column was added, it is invisible, or old files are errors.
#[test]
fn b11_old_files_have_null_in_a_new_column() {
    let mut table = TableBuilder::with_schema(&[("a", "long")]);
    let old = table.data("old.parquet", &batch([("a", longs([1]))]));
    table.commit([old]);
    let wide = &[("a", "long"), ("b", "string")];
    let new = table.data(
        "new.parquet",
        &batch([("a", longs([2])), ("b", strings(["x"]))]),
    );
    table.commit([metadata(wide), new]);
    in_both_layouts(
        &table,
        "@v2",
        &expected(["a", "b"], &[[Some("1"), None], [Some("2"), Some("x")]]),
    );
    // The schema is the one of that version.
    let (rows, schema) = rows_of(&table.tree(), "@v1");
    assert_eq!(schema.fields().len(), 1);
    assert_eq!(rows.len(), 1);
}

/// delta PR 2876: files of before and after a widening in one table.
#[test]
fn b12_widened_columns_have_one_type() {
    let array = |kind: &str| json!({"type": "array", "elementType": kind, "containsNull": true});
    let of = |kind: &str| {
        let fields = [
            field("n", json!(kind), json!({})),
            field("many", array(kind), json!({})),
        ];
        let schema = json!({"type": "struct", "fields": fields}).to_string();
        metadata(&[])
            .with("schemaString", schema)
            .property("delta.enableTypeWidening", "true")
    };
    let lists = |element: DataType, values: ArrayRef| -> ArrayRef {
        let item = std::sync::Arc::new(arrow::datatypes::Field::new("element", element, true));
        let offsets = arrow::buffer::OffsetBuffer::from_lengths([values.len()]);
        std::sync::Arc::new(arrow::array::ListArray::new(item, offsets, values, None))
    };
    let mut table = TableBuilder::with_actions([table_features(&["typeWidening"]), of("integer")]);
    let narrow = batch([
        ("n", ints([1])),
        ("many", lists(DataType::Int32, ints([-1, 2]))),
    ]);
    let narrow = table.data("narrow.parquet", &narrow);
    table.commit([narrow]);
    let wide = batch([
        ("n", longs([1 << 40])),
        ("many", lists(DataType::Int64, longs([1 << 41]))),
    ]);
    let wide = table.data("wide.parquet", &wide);
    table.commit([of("long"), wide]);
    for tree in [table.tree(), table.tree_with(hive())] {
        let (rows, schema) = rows_of(&tree, "@v2");
        assert_eq!(*schema.field(0).data_type(), DataType::Int64);
        let shown: Vec<_> = rows
            .iter()
            .map(|row| {
                (
                    row["n"].as_deref().unwrap(),
                    row["many"].as_deref().unwrap(),
                )
            })
            .collect();
        assert_eq!(
            shown,
            [("1", "[-1, 2]"), ("1099511627776", "[2199023255552]")]
        );
    }
}

/// delta#5835, polars#12036: the partition column stands in some of the files, too.
#[test]
fn b13_b14_a_partition_column_is_there_once_with_the_value_of_the_log() {
    let action = metadata(&[("p", "integer"), ("a", "long")]).partitioned_by(&["p"]);
    let mut table = TableBuilder::with_actions([protocol(1, 2), action]);
    let without = table.data("p=1/without.parquet", &batch([("a", longs([10]))]));
    // One that agrees with the log, and one that does not.
    let within = batch([("p", ints([1])), ("a", longs([11]))]);
    let within = table.data("p=1/within.parquet", &within);
    let wrong = batch([("a", longs([12])), ("p", ints([99]))]);
    let wrong = table.data("p=2/wrong.parquet", &wrong);
    table.commit([
        without.partition("p", "1"),
        within.partition("p", "1"),
        wrong.partition("p", "2"),
    ]);
    let rows = [
        [Some("1"), Some("10")],
        [Some("1"), Some("11")],
        [Some("2"), Some("12")],
    ];
    in_both_layouts(&table, "@v1", &expected(["p", "a"], &rows));
    let (_, schema) = rows_of(&table.tree_with(hive()), "@v1");
    let names: Vec<&str> = schema.fields().iter().map(|f| f.name().as_str()).collect();
    assert_eq!(names, ["a"]);
}

/// kernel-rs#739: a void column makes the table unreadable.
#[test]
fn b17_a_void_column_is_left_out() {
    let mut table = TableBuilder::with_schema(&[("a", "long"), ("v", "void"), ("b", "string")]);
    let file = table.data(
        "f.parquet",
        &batch([("a", longs([1])), ("b", strings(["x"]))]),
    );
    table.commit([file]);
    in_both_layouts(
        &table,
        "@v1",
        &expected(["a", "b"], &[[Some("1"), Some("x")]]),
    );
}

/// kernel-rs#2189: a `timestamp_ntz` column without the table feature.
#[test]
fn b18_timestamps_without_zone_need_no_feature_to_be_read() {
    let mut table = TableBuilder::with_schema(&[("id", "long")]);
    let old = table.data("old.parquet", &batch([("id", longs([1]))]));
    table.commit([metadata(&[("id", "long"), ("t", "timestamp_ntz")]), old]);
    in_both_layouts(&table, "@v1", &expected(["id", "t"], &[[Some("1"), None]]));
}

/// polars#24533: an unknown feature is named, and nothing else is refused.
#[test]
fn b19_features_that_are_known_are_read_and_others_named() {
    let mapped = json!({"type": "struct", "fields": [mapped("a", json!("long"), "c", 1)]});
    let action = metadata(&[])
        .with("schemaString", mapped.to_string())
        .property("delta.columnMapping.mode", "name");
    let mut table = TableBuilder::with_actions([protocol(2, 5), action]);
    let file = table.data("f.parquet", &batch([("c", longs([1]))]));
    table.commit([file]);
    assert_eq!(rows_of(&table.tree(), "@v1").0.len(), 1);

    let mut table =
        TableBuilder::with_actions([table_features(&["deletionVectors"]), metadata(ID)]);
    let file = table.data("f.parquet", &batch([("id", longs([1, 2]))]));
    table.commit([file.dv(&inline_vector(&[1]))]);
    assert_eq!(rows_of(&table.tree(), "@v1").0.len(), 1);

    let table = TableBuilder::with_actions([table_features(&["fooBar"]), metadata(ID)]);
    let (errno, message) = errno_of(crate::support::list(&table.tree(), "@v0"));
    assert_eq!(errno, libc::EOPNOTSUPP);
    assert!(message.contains("fooBar"), "{message}");
}

/// A12, A13 (gluten#1372): null partitions of every type are null.
#[test]
fn a12_a13_null_partition_values_are_null_in_the_files() {
    let action = metadata(&[
        ("a", "long"),
        ("i", "integer"),
        ("d", "date"),
        ("s", "string"),
    ])
    .partitioned_by(&["i", "d", "s"]);
    let mut table = TableBuilder::with_actions([protocol(1, 2), action]);
    let mut actions = Vec::new();
    for (at, value) in [None, Some("")].into_iter().enumerate() {
        let file = table.data(&format!("f{at}.parquet"), &batch([("a", longs([1]))]));
        let columns = ["i", "d", "s"].into_iter();
        actions.push(columns.fold(file, |file, column| file.partition(column, value)));
    }
    table.commit(actions);
    let (rows, schema) = rows_of(&table.tree(), "@v1");
    assert_eq!(rows.len(), 2);
    for row in rows {
        assert_eq!((&row["i"], &row["d"], &row["s"]), (&None, &None, &None));
    }
    assert_eq!(*schema.field(2).data_type(), DataType::Date32);
}

/// A4 (delta-rs#3577): values of odd characters are the log's, byte for byte.
#[test]
fn a4_partition_values_of_any_characters_are_shown_as_they_are() {
    let ascii: String = (32..127u8).map(char::from).collect();
    let values = [ascii.as_str(), "/a", "a/", "é", "🦀", "a=b", "%20", " "];
    let action = metadata(&[("a", "long"), ("p", "string")]).partitioned_by(&["p"]);
    let mut table = TableBuilder::with_actions([protocol(1, 2), action]);
    let files: Vec<_> = (0..values.len())
        .map(|at| {
            let rows = batch([("a", longs([at as i64]))]);
            let file = table.data(&format!("f{at}.parquet"), &rows);
            file.partition("p", values[at])
        })
        .collect();
    table.commit(files);
    let (rows, _) = rows_of(&table.tree(), "@v1");
    let shown: BTreeMap<String, String> = rows
        .into_iter()
        .map(|mut row| {
            (
                row.remove("a").unwrap().unwrap(),
                row.remove("p").unwrap().unwrap(),
            )
        })
        .collect();
    for (at, value) in values.iter().enumerate() {
        assert_eq!(shown[&at.to_string()], *value);
    }
}

/// A11 (dask-deltatable#13): the value is that of the log, whatever the directory says.
#[test]
fn a11_a_partition_value_is_not_taken_from_the_path() {
    let action = metadata(&[("a", "long"), ("p", "date")]).partitioned_by(&["p"]);
    let mut table = TableBuilder::with_actions([protocol(1, 2), action]);
    let file = table.data("p=2020-01-01/f.parquet", &batch([("a", longs([1]))]));
    table.commit([file.partition("p", "1970-01-03")]);
    in_both_layouts(
        &table,
        "@v1",
        &expected(["a", "p"], &[[Some("1"), Some("1970-01-03")]]),
    );
    let (_, schema) = rows_of(&table.tree(), "@v1");
    assert_eq!(
        *schema.field(1).data_type(),
        *Date32Array::from(vec![0]).data_type()
    );
}

/// What was found out of a file does not hold for another one that took its place.
#[test]
fn a_file_in_the_place_of_another_is_looked_at_anew() {
    let mut table = TableBuilder::with_schema(&[("a", "long"), ("b", "long"), ("c", "long")]);
    let first = batch([("a", longs([1])), ("b", longs([2]))]);
    let added = table.data("f.parquet", &first);
    table.commit([added]);
    let tree = table.tree();
    let shown = |tree: &Tree| {
        let (rows, _) = rows_of(tree, "@v1");
        (rows[0]["a"].clone(), rows[0]["b"].clone())
    };
    let texts = |a: &str, b: &str| (Some(a.to_owned()), Some(b.to_owned()));
    assert_eq!(shown(&tree), texts("1", "2"));

    let size = || std::fs::metadata(table.path("f.parquet")).unwrap().len();
    let before = size();
    table.data("f.parquet", &batch([("b", longs([4])), ("a", longs([3]))]));
    assert_eq!(size(), before, "otherwise it is refused");
    let file = std::fs::File::options()
        .write(true)
        .open(table.path("f.parquet"))
        .unwrap();
    let hour = std::time::Duration::from_secs(3600);
    file.set_modified(std::time::UNIX_EPOCH + hour).unwrap();
    assert_eq!(shown(&tree), texts("3", "4"));
}

/// DataFusion and Spark list files first, and look for footers where the sizes in the listing say:
/// they are right before any file was opened, although others were the table's own bytes.
#[test]
fn sizes_are_those_of_what_is_read_before_anything_is_opened() {
    let mut table = TableBuilder::with_schema(&[("a", "long"), ("b", "string")]);
    for name in ["1.parquet", "2.parquet", "3.parquet"] {
        let rows = batch([("a", longs([1])), ("b", strings(["x"]))]);
        let added = table.data(name, &rows);
        table.commit([added]);
    }
    // Of another writer, which has another order of columns.
    let other = batch([("b", strings(["y"])), ("a", longs([2]))]);
    let other = table.data("other.parquet", &other);
    table.commit([other]);
    for read_first in [None, Some("1.parquet"), Some("2.parquet")] {
        let tree = table.tree();
        if let Some(name) = read_first {
            tree_read(&tree, &format!("@v4/{name}")).unwrap();
        }
        let sizes: Vec<(String, u64)> = list_all(&tree, "@v4")
            .unwrap()
            .into_iter()
            .map(|(path, _)| {
                let size = resolve(&tree, &path).unwrap().attr.size;
                (path, size)
            })
            .collect();
        assert_eq!(sizes.len(), 4);
        for (path, size) in sizes {
            let read = tree_read(&tree, &path).unwrap().len() as u64;
            assert_eq!(size, read, "{path} after {read_first:?}");
        }
    }
}

/// A `binary` column of one row.
fn bytes_of(value: &str) -> ArrayRef {
    std::sync::Arc::new(arrow::array::BinaryArray::from(vec![value.as_bytes()]))
}

/// pyarrow hands the metadata of what it reads on to files of other columns that it makes of it, and
/// DuckDB sees geometries where GeoParquet says so: metadata that is not the table's is not shown.
#[test]
fn metadata_of_other_columns_is_not_shown() {
    let spark = r#"{"type":"struct","fields":[{"name":"a","type":"integer","nullable":true}]}"#;
    let own = r#"{"type":"struct","fields":[{"name":"a","type":"long","nullable":true},
        {"name":"g","type":"binary","nullable":true}]}"#;
    let row = "org.apache.spark.sql.parquet.row.metadata";
    let geo = r#"{"version":"1.1.0","primary_column":"g","columns":{"g":{"encoding":"WKB"}}}"#;
    let pandas = r#"{"index_columns":[],"columns":[{"name":"z","field_name":"a"}]}"#;
    let entries = [
        ("spark", row, spark, false),
        ("own", row, own, true),
        ("geo", "geo", geo, false),
        ("pandas", "pandas", pandas, false),
        ("other", "my.tool", "1", true),
    ];
    let mut table = TableBuilder::with_schema(&[("a", "long"), ("g", "binary")]);
    for (name, key, value, _) in entries {
        let rows = batch([("a", longs([1])), ("g", bytes_of("x"))]);
        let properties = WriterProperties::builder()
            .set_key_value_metadata(Some(vec![KeyValue::new(key.to_owned(), value.to_owned())]))
            .build();
        let mut file = Vec::new();
        let mut writer = ArrowWriter::try_new(&mut file, rows.schema(), Some(properties)).unwrap();
        writer.write(&rows).unwrap();
        writer.close().unwrap();
        let path = format!("{name}.parquet");
        table.write(&path, &file);
        table.commit([add(&path).size(file.len() as i64)]);
    }
    let tree = table.tree();
    for (name, key, _, kept) in entries {
        let bytes = tree_read(&tree, &format!("@latest/{name}.parquet")).unwrap();
        let reader = ParquetRecordBatchReaderBuilder::try_new(bytes::Bytes::from(bytes)).unwrap();
        let metadata = reader.metadata().file_metadata().key_value_metadata();
        let is_there = metadata.into_iter().flatten().any(|entry| entry.key == key);
        assert_eq!(is_there, kept, "{name}");
    }
}
