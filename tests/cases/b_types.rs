//! Wrong rows or columns: types that PROTOCOL.md does not have, or that hold nothing.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryArray, Int32Array, Int64Array, ListArray, StructArray,
};
use arrow::datatypes::{DataType, Field, Fields, Int64Type};
use parquet::data_type::ByteArrayType;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use serde_json::{Value, json};

use deltafs::protocol::check_writable;
use deltafs::schema::StructType;
use deltafs::tree::Tree;

use crate::support::{
    Action, TableBuilder, add, batch, column, field, ints, list, longs, metadata, protocol, remove,
    strings, table_features, tree_read,
};
use crate::{errno_of, hive};

fn schema_of(fields: &[Value]) -> Action {
    let schema = json!({"type": "struct", "fields": fields}).to_string();
    metadata(&[]).with("schemaString", schema)
}

fn plain(name: &str, kind: Value) -> Value {
    field(name, kind, json!({}))
}

/// The only file of a version.
fn only_file(tree: &Tree, version: &str) -> Vec<u8> {
    let names = list(tree, version).unwrap();
    assert_eq!(names.len(), 1, "{names:?}");
    tree_read(tree, &format!("{version}/{}", names[0])).unwrap()
}

/// Spark's type of vectors.
fn vector() -> Value {
    json!({
        "type": "udt",
        "class": "org.apache.spark.ml.linalg.VectorUDT",
        "pyClass": "pyspark.ml.linalg.VectorUDT",
        "sqlType": {"type": "struct", "fields": [
            {"name": "type", "type": "byte", "nullable": false, "metadata": {}},
            {"name": "size", "type": "integer", "nullable": true, "metadata": {}},
            {"name": "values", "nullable": true, "metadata": {},
             "type": {"type": "array", "elementType": "double", "containsNull": false}},
        ]},
    })
}

/// One vector of two values.
fn vectors() -> ArrayRef {
    let element = Arc::new(Field::new("element", DataType::Float64, false));
    let values = ListArray::new(
        element,
        arrow::buffer::OffsetBuffer::from_lengths([2]),
        Arc::new(arrow::array::Float64Array::from(vec![0.5, 1.5])),
        None,
    );
    let fields = Fields::from(vec![
        Field::new("type", DataType::Int8, false),
        Field::new("size", DataType::Int32, true),
        Field::new("values", values.data_type().clone(), true),
    ]);
    let children: Vec<ArrayRef> = vec![
        Arc::new(arrow::array::Int8Array::from(vec![1])),
        Arc::new(Int32Array::from(vec![Some(2)])),
        Arc::new(values),
    ];
    Arc::new(StructArray::new(fields, children, None))
}

/// delta#7559, kernel-rs#2814: a table with a user-defined type of Spark cannot be read at all, not
/// even its other columns. Its values are those of its `sqlType`.
#[test]
fn a_user_defined_type_is_what_it_is_stored_as() {
    let mut table = TableBuilder::with_actions([
        protocol(1, 2),
        schema_of(&[plain("id", json!("long")), plain("v", vector())]),
    ]);
    let old = table.data("old.parquet", &batch([("id", longs([1]))]));
    let file = table.data("f.parquet", &batch([("id", longs([2])), ("v", vectors())]));
    table.commit([old]);
    table.commit([remove("old.parquet"), file]);
    for tree in [table.tree(), table.tree_with(hive())] {
        let missing = column(&only_file(&tree, "@v1"), "v");
        assert!(missing.is_null(0));
        let found = column(&only_file(&tree, "@v2"), "v");
        let found = found.as_struct();
        let values = found.column_by_name("values").unwrap();
        assert_eq!(values.as_list::<i32>().value(0).len(), 2);
        assert_eq!(found.column_by_name("type").unwrap().null_count(), 0);
    }
}

/// The same under column mapping by id and by name, which does not reach into the type: its parts
/// have neither names nor ids of their own.
#[test]
fn column_mapping_does_not_reach_into_a_user_defined_type() {
    for mode in ["name", "id"] {
        let column_of = |kind: Value| {
            let keys =
                json!({"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "col-1"});
            field("renamed", kind, keys)
        };
        let mut table = TableBuilder::with_actions([
            protocol(2, 5),
            schema_of(&[column_of(vector())]).property("delta.columnMapping.mode", mode),
        ]);
        let id = ("PARQUET:field_id".to_owned(), "1".to_owned());
        let vectors = vectors();
        let field = Field::new("col-1", vectors.data_type().clone(), true);
        let schema = arrow::datatypes::Schema::new(vec![field.with_metadata([id])]);
        let rows = arrow::array::RecordBatch::try_new(Arc::new(schema), vec![vectors]).unwrap();
        let file = table.data("f.parquet", &rows);
        table.commit([file]);
        let found = column(&only_file(&table.tree(), "@v1"), "renamed");
        let size = found.as_struct().column_by_name("size").unwrap().clone();
        assert_eq!(
            size.as_ref(),
            &Int32Array::from(vec![2]) as &dyn Array,
            "{mode}"
        );
    }
}

/// delta#7077, kernel-rs#2840: a table with an interval cannot be read. Months are stored as an
/// integer, all else as a long of microseconds, under Spark's narrower names too.
#[test]
fn intervals_are_their_months_and_microseconds() {
    let mut table = TableBuilder::with_actions([
        protocol(1, 2),
        schema_of(&[
            plain("months", json!("interval year to month")),
            plain("micros", json!("interval day to second")),
            plain("hours", json!("interval hour")),
        ]),
    ]);
    let rows = [
        ("months", ints([18])),
        ("micros", longs([86_401_000_000])),
        ("hours", longs([3_600_000_000])),
    ];
    let file = table.data("f.parquet", &batch(rows));
    table.commit([file]);
    let bytes = only_file(&table.tree(), "@v1");
    let months = column(&bytes, "months");
    assert_eq!(months.as_ref(), &Int32Array::from(vec![18]) as &dyn Array);
    let hours = column(&bytes, "hours");
    assert_eq!(
        hours.as_ref(),
        &Int64Array::from(vec![3_600_000_000]) as &dyn Array
    );
}

/// A file of one row whose columns `g` and `e` are annotated as what they are.
fn geometries(point: &'static [u8]) -> Vec<u8> {
    let message = "message m { optional binary g (GEOMETRY); optional binary e (GEOGRAPHY); }";
    let message = Arc::new(parse_message_type(message).unwrap());
    let mut bytes = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut bytes, message, Arc::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    while let Some(mut column) = group.next_column().unwrap() {
        column
            .typed::<ByteArrayType>()
            .write_batch(&[point.into()], Some(&[1]), None)
            .unwrap();
        column.close().unwrap();
    }
    group.close().unwrap();
    writer.close().unwrap();
    bytes
}

/// duckdb-delta#248, kernel-rs#2427: a table with a geometry cannot be read, not even its other
/// columns. Its values are well-known binary, in files that call them geometries and in those that
/// call them bytes.
#[test]
fn geometries_are_their_well_known_binary() {
    const POINT: &[u8] = b"\x01\x01\0\0\0\0\0\0\0\0\0\0\x40\0\0\0\0\0\0\x08\x40";
    let schema = schema_of(&[
        plain("id", json!("long")),
        plain("g", json!("geometry(OGC:CRS84)")),
        plain("e", json!("geography(OGC:CRS84, spherical)")),
    ]);
    let mut table = TableBuilder::with_actions([table_features(&["geospatial"]), schema]);
    let points = || -> ArrayRef { Arc::new(BinaryArray::from(vec![POINT])) };
    let rows = batch([("id", longs([1])), ("g", points()), ("e", points())]);
    let bytes_in_the_file = table.data("bytes.parquet", &rows);
    let geometries = geometries(POINT);
    table.write("geometries.parquet", &geometries);
    let size = i64::try_from(geometries.len()).unwrap();
    let geometries_in_the_file = add("geometries.parquet").size(size);
    let without = table.data("without.parquet", &batch([("id", longs([1]))]));
    table.commit([bytes_in_the_file]);
    table.commit([remove("bytes.parquet"), geometries_in_the_file]);
    table.commit([remove("geometries.parquet"), without]);
    let tree = table.tree();
    for (version, wanted) in [("@v1", Some(POINT)), ("@v2", Some(POINT)), ("@v3", None)] {
        let bytes = only_file(&tree, version);
        for name in ["g", "e"] {
            let found = column(&bytes, name);
            let wanted = BinaryArray::from(vec![wanted]);
            assert_eq!(found.as_ref(), &wanted as &dyn Array, "{version} {name}");
        }
    }
}

/// What is stored of them can be read; what it means, a writer would have to know.
#[test]
fn types_of_engines_are_not_written() {
    for kind in [
        vector(),
        json!("interval month"),
        json!("geometry(OGC:CRS84)"),
        json!({"type": "array", "elementType": vector(), "containsNull": true}),
        json!({"type": "struct", "fields": [plain("inner", vector())]}),
    ] {
        let schema = json!({"type": "struct", "fields": [plain("c", kind)]}).to_string();
        let schema = StructType::parse(&schema).unwrap();
        let mut table = TableBuilder::with_schema(&[("id", "long")]);
        table.commit_adds(1);
        let snapshot = table.snapshot(0).unwrap();
        let error = check_writable(snapshot.protocol(), snapshot.metadata(), &schema).unwrap_err();
        assert!(error.to_string().contains("column c"), "{error}");
    }
}

/// delta#7072: a column made of nothing but `void` is in no data file. It is left out as `void`
/// columns are, and costs the others nothing.
#[test]
fn what_is_made_of_void_alone_is_left_out() {
    let nothing = json!({"type": "struct", "fields": [plain("v", json!("void"))]});
    let nothings = json!({"type": "array", "elementType": "void", "containsNull": true});
    let mut table = TableBuilder::with_actions([
        protocol(1, 2),
        schema_of(&[
            plain("id", json!("long")),
            plain("s", nothing.clone()),
            plain("l", nothings),
            plain(
                "in",
                json!({"type": "struct", "fields": [
                    plain("a", json!("long")), plain("b", nothing),
                ]}),
            ),
        ]),
    ]);
    let inner = Fields::from(vec![Field::new("a", DataType::Int64, true)]);
    let inner: ArrayRef = Arc::new(StructArray::new(inner, vec![longs([7])], None));
    let file = table.data("f.parquet", &batch([("id", longs([1])), ("in", inner)]));
    table.commit([file]);
    let bytes = only_file(&table.tree(), "@v1");
    assert_eq!(column(&bytes, "id").as_primitive::<Int64Type>().value(0), 1);
    let found = column(&bytes, "in");
    assert_eq!(found.as_struct().num_columns(), 1);

    // A list of nulls has a length. Where a file has one, leaving it out would lose that.
    let element = Arc::new(Field::new("element", DataType::Null, true));
    let list: ArrayRef = Arc::new(ListArray::new(
        element,
        arrow::buffer::OffsetBuffer::from_lengths([2]),
        Arc::new(arrow::array::NullArray::new(2)),
        None,
    ));
    let wrong = table.data("g.parquet", &batch([("id", longs([2])), ("l", list)]));
    table.commit([remove("f.parquet"), wrong]);
    let (errno, message) = errno_of(tree_read(&table.tree(), "@v2/g.parquet"));
    assert_eq!(errno, libc::EOPNOTSUPP, "{message}");
    assert!(message.contains("column l"), "{message}");
}

/// spark#45571: files with instants beside files with wall-clock times in one `timestamp_ntz`
/// column. An instant is shown as its time in UTC, as Spark 4 does.
#[test]
fn instants_in_a_column_without_zone_are_their_time_in_utc() {
    let mut table = TableBuilder::with_schema(&[("t", "timestamp_ntz")]);
    let micros = arrow::array::TimestampMicrosecondArray::from(vec![1_700_000_000_000_001]);
    let instants: ArrayRef = Arc::new(micros.clone().with_timezone("UTC"));
    let file = table.data("f.parquet", &batch([("t", instants)]));
    table.commit([file]);
    let found = column(&only_file(&table.tree(), "@v1"), "t");
    assert_eq!(found.as_ref(), &micros as &dyn Array);
}

/// A boolean, a date and a time as other writers than Spark leave them in the log: Spark takes them.
#[test]
fn partition_values_are_taken_as_spark_takes_them() {
    for (kind, text, shown) in [
        ("boolean", "1", "true"),
        ("date", "2024-01-15 00:00:00", "2024-01-15"),
        (
            "timestamp_ntz",
            "2024-01-15 10:30:00.123456789",
            "2024-01-15T10:30:00.123456",
        ),
    ] {
        let columns = [("id", "long"), ("p", kind)];
        let mut table =
            TableBuilder::with_actions([protocol(1, 2), metadata(&columns).partitioned_by(&["p"])]);
        let file = table.data("f.parquet", &batch([("id", longs([1]))]));
        table.commit([file.partition("p", text)]);
        let found = column(&only_file(&table.tree(), "@v1"), "p");
        let found = arrow::compute::cast(&found, &DataType::Utf8).unwrap();
        assert_eq!(found.as_ref(), strings([shown]).as_ref(), "{text}");
    }
}
