//! Checkpoints in Parquet (PROTOCOL.md, "Checkpoint Schema").

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanArray, Int32Array, Int64Array, ListArray, MapArray, RecordBatch, StringArray,
    StructArray,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{DataType, Field, Fields, Schema};
use serde_json::Value;

use super::actions::Action;
use super::data::parquet;

/// The forms that a checkpoint can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Checkpoint {
    /// `N.checkpoint.parquet`, V1.
    Classic,
    /// `N.checkpoint.P.PARTS.parquet`, so many parts.
    Parts(u32),
    /// `N.checkpoint.parquet`, V2, with so many sidecars.
    ClassicV2(u32),
    /// `N.checkpoint.UUID.parquet` with so many sidecars.
    Parquet(u32),
    /// `N.checkpoint.UUID.json` with so many sidecars.
    Json(u32),
}

/// A Parquet file with the rows of [`batch_of`].
pub fn parquet_of(actions: &[Action]) -> Vec<u8> {
    parquet(&batch_of(actions))
}

/// One row for each action, with a column for each kind of action that
/// occurs, and for `add`.
pub fn batch_of(actions: &[Action]) -> RecordBatch {
    let columns = columns();
    let used: Vec<&Arc<Field>> = columns
        .iter()
        // A file must have a column.
        .filter(|field| {
            field.name() == "add" || actions.iter().any(|action| action.name == field.name())
        })
        .collect();
    let arrays: Vec<ArrayRef> = used
        .iter()
        .map(|field| {
            let rows: Vec<Option<Value>> = actions
                .iter()
                .map(|action| {
                    (action.name == field.name()).then(|| Value::Object(action.fields.clone()))
                })
                .collect();
            let rows: Vec<Option<&Value>> = rows.iter().map(Option::as_ref).collect();
            array(field.data_type(), &rows)
        })
        .collect();
    let schema = Schema::new(used.into_iter().cloned().collect::<Fields>());
    RecordBatch::try_new(Arc::new(schema), arrays).expect("columns fit together")
}

fn nullable(name: &str, kind: DataType) -> Field {
    Field::new(name, kind, true)
}

fn structure(fields: Vec<Field>) -> DataType {
    DataType::Struct(fields.into())
}

fn text_map() -> DataType {
    let entries = structure(vec![
        Field::new("key", DataType::Utf8, false),
        nullable("value", DataType::Utf8),
    ]);
    DataType::Map(Arc::new(Field::new("key_value", entries, false)), false)
}

fn text_list() -> DataType {
    DataType::List(Arc::new(nullable("element", DataType::Utf8)))
}

fn columns() -> Fields {
    use DataType::{Boolean, Int32, Int64, Utf8};
    let deletion_vector = || {
        structure(vec![
            nullable("storageType", Utf8),
            nullable("pathOrInlineDv", Utf8),
            nullable("offset", Int32),
            nullable("sizeInBytes", Int32),
            nullable("cardinality", Int64),
        ])
    };
    let format = structure(vec![
        nullable("provider", Utf8),
        nullable("options", text_map()),
    ]);
    let actions = [
        (
            "protocol",
            vec![
                nullable("minReaderVersion", Int32),
                nullable("minWriterVersion", Int32),
                nullable("readerFeatures", text_list()),
                nullable("writerFeatures", text_list()),
            ],
        ),
        (
            "metaData",
            vec![
                nullable("id", Utf8),
                nullable("name", Utf8),
                nullable("description", Utf8),
                nullable("format", format),
                nullable("schemaString", Utf8),
                nullable("partitionColumns", text_list()),
                nullable("createdTime", Int64),
                nullable("configuration", text_map()),
            ],
        ),
        (
            "txn",
            vec![
                nullable("appId", Utf8),
                nullable("version", Int64),
                nullable("lastUpdated", Int64),
            ],
        ),
        (
            "domainMetadata",
            vec![
                nullable("domain", Utf8),
                nullable("configuration", Utf8),
                nullable("removed", Boolean),
            ],
        ),
        (
            "add",
            vec![
                nullable("path", Utf8),
                nullable("partitionValues", text_map()),
                nullable("size", Int64),
                nullable("modificationTime", Int64),
                nullable("dataChange", Boolean),
                nullable("stats", Utf8),
                nullable("deletionVector", deletion_vector()),
            ],
        ),
        (
            "remove",
            vec![
                nullable("path", Utf8),
                nullable("deletionTimestamp", Int64),
                nullable("dataChange", Boolean),
                nullable("deletionVector", deletion_vector()),
            ],
        ),
        (
            "checkpointMetadata",
            vec![nullable("version", Int64), nullable("tags", text_map())],
        ),
        (
            "sidecar",
            vec![
                nullable("path", Utf8),
                nullable("sizeInBytes", Int64),
                nullable("modificationTime", Int64),
                nullable("tags", text_map()),
            ],
        ),
    ];
    actions
        .into_iter()
        .map(|(name, fields)| nullable(name, structure(fields)))
        .collect()
}

/// The rows as a column; a JSON value of another type than `kind` is a mistake of the test.
fn array(kind: &DataType, rows: &[Option<&Value>]) -> ArrayRef {
    let rows: Vec<Option<&Value>> = rows
        .iter()
        .map(|row| row.filter(|value| !value.is_null()))
        .collect();
    let nulls = NullBuffer::from_iter(rows.iter().map(Option::is_some));
    match kind {
        DataType::Utf8 => Arc::new(StringArray::from_iter(
            rows.iter()
                .map(|row| row.map(|v| v.as_str().expect("text"))),
        )),
        DataType::Boolean => Arc::new(BooleanArray::from_iter(
            rows.iter()
                .map(|row| row.map(|v| v.as_bool().expect("a boolean"))),
        )),
        DataType::Int64 => Arc::new(Int64Array::from_iter(
            rows.iter()
                .map(|row| row.map(|v| v.as_i64().expect("a long"))),
        )),
        DataType::Int32 => Arc::new(Int32Array::from_iter(rows.iter().map(|row| {
            row.map(|v| v.as_i64().and_then(|v| v.try_into().ok()).expect("an int"))
        }))),
        DataType::Struct(fields) => {
            let children = fields.iter().map(|field| {
                let child: Vec<Option<&Value>> = rows
                    .iter()
                    .map(|row| row.and_then(|value| value.get(field.name())))
                    .collect();
                array(field.data_type(), &child)
            });
            let children: Vec<ArrayRef> = children.collect();
            Arc::new(StructArray::new(fields.clone(), children, Some(nulls)))
        }
        DataType::List(element) => {
            let items: Vec<&Vec<Value>> = rows
                .iter()
                .map(|row| match row {
                    Some(value) => value.as_array().expect("a list"),
                    None => const { &Vec::new() },
                })
                .collect();
            let values: Vec<Option<&Value>> =
                items.iter().flat_map(|i| i.iter()).map(Some).collect();
            Arc::new(ListArray::new(
                element.clone(),
                OffsetBuffer::from_lengths(items.iter().map(|items| items.len())),
                array(element.data_type(), &values),
                Some(nulls),
            ))
        }
        DataType::Map(entries, _) => {
            let DataType::Struct(fields) = entries.data_type() else {
                panic!("the entries of a map are a struct");
            };
            let mut keys = Vec::new();
            let mut values = Vec::new();
            let mut lengths = Vec::new();
            for row in &rows {
                let before = keys.len();
                for (key, value) in row
                    .and_then(|value| value.as_object())
                    .into_iter()
                    .flatten()
                {
                    keys.push(key.as_str());
                    values.push(value.as_str());
                }
                lengths.push(keys.len() - before);
            }
            let children: Vec<ArrayRef> = vec![
                Arc::new(StringArray::from_iter_values(keys)),
                Arc::new(StringArray::from_iter(values)),
            ];
            Arc::new(MapArray::new(
                entries.clone(),
                OffsetBuffer::from_lengths(lengths),
                StructArray::new(fields.clone(), children, None),
                Some(nulls),
                false,
            ))
        }
        other => panic!("checkpoints have no column of type {other}"),
    }
}
