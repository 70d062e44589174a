//! Structs, lists and maps.

use std::sync::Arc;

use ::parquet::data_type::{ByteArray, ByteArrayType, Int32Type};
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::reader::{FileReader, SerializedFileReader};
use ::parquet::file::writer::SerializedFileWriter;
use ::parquet::schema::parser::parse_message_type;
use arrow::array::{
    Array, ArrayRef, AsArray, Int32Builder, ListArray, ListBuilder, MapBuilder, StringBuilder,
    StructArray,
};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, Field, Int64Type};
use serde_json::json;

use super::support::{file_of, typed};
use super::{damage_values, ints, longs, texts};

fn structs(fields: Vec<(&str, ArrayRef)>, nulls: Option<Vec<bool>>) -> ArrayRef {
    let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) = fields
        .into_iter()
        .map(|(name, array)| (Field::new(name, array.data_type().clone(), true), array))
        .unzip();
    Arc::new(StructArray::new(
        fields.into(),
        arrays,
        nulls.map(NullBuffer::from),
    ))
}

/// Lists of `integer`.
fn lists(values: Vec<Option<Vec<Option<i32>>>>) -> ArrayRef {
    let mut builder = ListBuilder::new(Int32Builder::new());
    for list in values {
        match list {
            Some(list) => builder.append_value(list),
            None => builder.append_null(),
        }
    }
    Arc::new(builder.finish())
}

const STRUCT: &str = r#"{"type":"struct","fields":[
    {"name":"x","type":"long","nullable":false,"metadata":{}},
    {"name":"y","type":"string","nullable":true,"metadata":{}}]}"#;

fn array_of(element: &str, contains_null: bool) -> String {
    format!(r#"{{"type":"array","elementType":"{element}","containsNull":{contains_null}}}"#)
}

#[test]
fn fields_of_structs_are_matched_and_converted() {
    let table = typed("s", STRUCT).build();
    let exact = structs(vec![("y", texts(["a", "b"])), ("x", longs([1, 2]))], None);
    assert!(table.one(&file_of([("s", exact)])).is_as_staged());

    let other = structs(vec![("X", ints([1, 2]))], Some(vec![true, true]));
    let taken = table.one(&file_of([("S", other)]));
    let group = taken.column("s");
    let group = group.as_struct();
    assert_eq!(
        group
            .column(0)
            .as_primitive::<Int64Type>()
            .values()
            .to_vec(),
        [1, 2]
    );
    assert_eq!(group.column(1).null_count(), 2);
    assert_eq!(
        taken.stats,
        json!({
            "numRecords": 2,
            "minValues": {"s": {"x": 1}},
            "maxValues": {"s": {"x": 2}},
            "nullCount": {"s": {"x": 0, "y": 2}}
        })
    );

    let text = table.refusal(&file_of([("s", structs(vec![("y", texts(["a"]))], None))]));
    assert!(text.contains("no column s.x"), "{text}");
    let unknown = structs(vec![("x", longs([1])), ("z", longs([1]))], None);
    let text = table.refusal(&file_of([("s", unknown)]));
    assert!(text.contains("column s.z"), "{text}");
}

#[test]
fn a_field_that_must_not_be_null_may_be_where_its_struct_is() {
    let table = typed("s", STRUCT).build();
    let values = vec![("x", longs([Some(1), None])), ("y", texts(["a", "b"]))];
    let absent = structs(values.clone(), Some(vec![true, false]));
    assert!(table.one(&file_of([("s", absent)])).is_as_staged());
    let text = table.refusal(&file_of([("s", structs(values, Some(vec![true, true])))]));
    assert!(text.contains("column s.x is null in row 1"), "{text}");
}

/// The dotted paths of the leaves of a file.
fn paths(bytes: &[u8]) -> Vec<String> {
    let reader = SerializedFileReader::new(bytes::Bytes::copy_from_slice(bytes)).unwrap();
    let columns = reader.metadata().file_metadata().schema_descr().columns();
    columns.iter().map(|leaf| leaf.path().string()).collect()
}

fn integers_at(list: &ListArray, row: usize) -> Vec<i32> {
    let values = list.value(row);
    values
        .as_primitive::<::arrow::datatypes::Int32Type>()
        .values()
        .to_vec()
}

fn longs_at(list: &ListArray, row: usize) -> Vec<i64> {
    list.value(row)
        .as_primitive::<Int64Type>()
        .values()
        .to_vec()
}

#[test]
fn elements_are_converted_and_their_nulls_found() {
    let values = lists(vec![
        Some(vec![Some(1), Some(2)]),
        None,
        Some(vec![]),
        Some(vec![None]),
    ]);
    let bytes = file_of([("l", values)]);
    assert!(
        typed("l", &array_of("integer", true))
            .build()
            .one(&bytes)
            .is_as_staged()
    );
    let taken = typed("l", &array_of("long", true)).build().one(&bytes);
    let list = taken.column("l");
    let list = list.as_list::<i32>();
    assert_eq!(longs_at(list, 0), [1, 2]);
    assert!(list.is_null(1) && list.value(2).is_empty() && list.value(3).is_null(0));
    assert_eq!(taken.stats["nullCount"], json!({}));
    let text = typed("l", &array_of("integer", false))
        .build()
        .refusal(&bytes);
    assert!(text.contains("column l.element is null in row 3"), "{text}");
    let no_nulls = file_of([("l", lists(vec![Some(vec![Some(1)]), Some(vec![])]))]);
    assert!(
        typed("l", &array_of("integer", false))
            .build()
            .one(&no_nulls)
            .is_as_staged()
    );
}

#[test]
fn null_counts_of_lists_prove_nothing() {
    // As older releases of polars and pyarrow count them.
    let bytes = file_of([("l", lists(vec![Some(vec![Some(1)]), Some(vec![Some(2)])]))]);
    let table = typed("a", "long")
        .not_null("l", &array_of("integer", true))
        .build();
    let taken = table.one(&bytes);
    assert_eq!(taken.stats["nullCount"], json!({"a": 2}));
    // Its levels are read.
    let mut damaged = bytes.clone();
    damage_values(&mut damaged);
    assert!(table.refusal(&damaged).contains("damaged"));
    let elements = typed("l", &array_of("integer", false)).build();
    assert!(elements.one(&bytes).is_as_staged());
    assert!(elements.refusal(&damaged).contains("damaged"));
    assert!(
        typed("l", &array_of("integer", true))
            .build()
            .one(&damaged)
            .is_as_staged()
    );
}

#[test]
fn a_lost_element_is_told_by_its_row() {
    let mut builder = ListBuilder::new(arrow::array::UInt64Builder::new());
    builder.append_value([Some(1), Some(2)]);
    builder.append_value([]);
    builder.append_value([Some(3), Some(u64::MAX)]);
    let bytes = file_of([("l", Arc::new(builder.finish()) as ArrayRef)]);
    let text = typed("l", &array_of("long", true)).build().refusal(&bytes);
    assert!(
        text.contains("column l.element") && text.contains("row 2"),
        "{text}"
    );
}

#[test]
fn maps_are_converted() {
    let mut builder = MapBuilder::new(None, StringBuilder::new(), Int32Builder::new());
    builder.keys().append_value("k");
    builder.values().append_value(7);
    builder.append(true).unwrap();
    builder.append(false).unwrap();
    let bytes = file_of([("m", Arc::new(builder.finish()) as ArrayRef)]);
    let map = |value: &str| {
        format!(
            r#"{{"type":"map","keyType":"string","valueType":"{value}","valueContainsNull":true}}"#
        )
    };
    assert!(
        typed("m", &map("integer"))
            .build()
            .one(&bytes)
            .is_as_staged()
    );
    let taken = typed("m", &map("long")).build().one(&bytes);
    let column = taken.column("m");
    let column = column.as_map();
    assert_eq!(column.keys().as_string::<i32>().value(0), "k");
    assert_eq!(column.values().as_primitive::<Int64Type>().value(0), 7);
    assert!(column.is_null(1));
}

/// A file of the schema `message` with lists of 1, 2 and of 3, as older writers store them.
fn two_level(message: &str) -> Vec<u8> {
    let message = parse_message_type(message).unwrap();
    let mut bytes = Vec::new();
    let properties = Arc::new(WriterProperties::builder().build());
    let mut writer = SerializedFileWriter::new(&mut bytes, Arc::new(message), properties).unwrap();
    let mut group = writer.next_row_group().unwrap();
    while let Some(mut column) = group.next_column().unwrap() {
        let levels = (Some(&[2, 2, 2][..]), Some(&[0, 1, 0][..]));
        match column.untyped() {
            ::parquet::column::writer::ColumnWriter::Int32ColumnWriter(_) => {
                let typed = column.typed::<Int32Type>();
                typed.write_batch(&[1, 2, 3], levels.0, levels.1).unwrap();
            }
            _ => {
                let values = [
                    ByteArray::from("a"),
                    ByteArray::from("b"),
                    ByteArray::from("c"),
                ];
                let typed = column.typed::<ByteArrayType>();
                typed.write_batch(&values, levels.0, levels.1).unwrap();
            }
        }
        column.close().unwrap();
    }
    group.close().unwrap();
    writer.close().unwrap();
    bytes
}

#[test]
fn older_forms_of_lists_are_read() {
    let plain = "message m { optional group l (LIST) { repeated int32 array; } }";
    let bytes = two_level(plain);
    let taken = typed("l", &array_of("long", true)).build().one(&bytes);
    let list = taken.column("l");
    let list = list.as_list::<i32>();
    assert_eq!(longs_at(list, 0), [1, 2]);
    assert_eq!(longs_at(list, 1), [3]);
    // The same chunks are copied under a footer that has them in three levels, as every reader knows
    // them; the form that Spark writes with `writeLegacyFormat`, too.
    let bag =
        "message m { optional group l (LIST) { repeated group bag { required int32 array; } } }";
    for message in [plain, bag] {
        let bytes = two_level(message);
        for name in ["l", "L"] {
            let taken = typed(name, &array_of("integer", true)).build().one(&bytes);
            assert!(!taken.is_as_staged(), "{message}");
            assert_eq!(taken.names(), [name]);
            assert_eq!(
                paths(&taken.bytes),
                [format!("{name}.list.element")],
                "{message}"
            );
            let list = taken.column(name);
            let list = list.as_list::<i32>();
            assert_eq!(integers_at(list, 0), [1, 2]);
            assert_eq!(integers_at(list, 1), [3]);
        }
    }
    let modern = two_level(
        "message m { optional group l (LIST) { repeated group list { required int32 item; } } }",
    );
    let taken = typed("l", &array_of("integer", true)).build().one(&modern);
    assert!(taken.is_as_staged());

    let ambiguous =
        "message m { optional group l (LIST) { repeated group array { required int32 x; } } }";
    let text = typed("l", &array_of("integer", true))
        .build()
        .refusal(&two_level(ambiguous));
    assert!(text.contains("readers disagree"), "{text}");
}

#[test]
fn structs_in_lists_are_renamed_within() {
    let element = r#"{"type":"array","containsNull":true,"elementType":{"type":"struct","fields":[
        {"name":"Key","type":"integer","nullable":true,"metadata":{}},
        {"name":"Value","type":"string","nullable":true,"metadata":{}}]}}"#;
    let message = "message m { optional group l (LIST) { repeated group list {
        required int32 key; required binary value (STRING); } } }";
    let taken = typed("l", element).build().one(&two_level(message));
    let list = taken.column("l");
    let list = list.as_list::<i32>();
    let DataType::Struct(fields) = list.value_type() else {
        panic!("{}", list.value_type());
    };
    let names: Vec<&str> = fields.iter().map(|field| field.name().as_str()).collect();
    assert_eq!(names, ["Key", "Value"]);
    assert_eq!(
        list.value(0)
            .as_struct()
            .column(1)
            .as_string::<i32>()
            .value(1),
        "b"
    );
}
