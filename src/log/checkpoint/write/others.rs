//! Actions that are no file actions, as rows.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanArray, Int32Array, Int64Array, ListBuilder, StringArray, StringBuilder,
    StructArray,
};
use arrow::datatypes::{DataType, Field, Fields, SchemaRef};

use super::encode::{FileEncoder, encoding};
use super::rows::map_builder;
use super::{WriteError, WrittenFile};
use crate::base::Version;
use crate::log::actions::{DomainMetadata, Metadata, Protocol, SetTransaction};

/// The fields of the struct column `name`.
fn fields_of(schema: &SchemaRef, name: &str) -> Option<Fields> {
    match schema.field_with_name(name).ok()?.data_type() {
        DataType::Struct(fields) => Some(fields.clone()),
        _ => None,
    }
}

fn push(
    encoder: &mut FileEncoder,
    schema: &SchemaRef,
    name: &str,
    columns: Vec<ArrayRef>,
) -> Result<(), WriteError> {
    let fields = fields_of(schema, name)
        .ok_or_else(|| encoding(encoder.path(), format!("the schema has no struct {name}")))?;
    let rows = StructArray::try_new(fields, columns, None)
        .map_err(|error| encoding(encoder.path(), error))?;
    encoder.push(name, rows)
}

fn text(value: Option<&str>) -> ArrayRef {
    Arc::new(StringArray::from_iter([value]))
}

fn long(value: Option<i64>) -> ArrayRef {
    Arc::new(Int64Array::from_iter([value]))
}

fn texts(values: Option<&[String]>) -> ArrayRef {
    let element = Arc::new(Field::new("element", DataType::Utf8, true));
    let mut builder = ListBuilder::new(StringBuilder::new()).with_field(element);
    for value in values.unwrap_or_default() {
        builder.values().append_value(value);
    }
    builder.append(values.is_some());
    Arc::new(builder.finish())
}

/// Maps, one a row.
fn maps<'a>(
    rows: impl Iterator<Item = &'a BTreeMap<String, String>>,
) -> Result<ArrayRef, arrow::error::ArrowError> {
    let mut builder = map_builder();
    for map in rows {
        for (key, value) in map {
            builder.keys().append_value(key);
            builder.values().append_value(value);
        }
        builder.append(true)?;
    }
    Ok(Arc::new(builder.finish()))
}

/// Appends `protocol`, `metaData`, `txn` and `domainMetadata` actions.
pub(super) fn push_others(
    encoder: &mut FileEncoder,
    schema: &SchemaRef,
    protocol: &Protocol,
    metadata: &Metadata,
    transactions: &[SetTransaction],
    domains: &[DomainMetadata],
) -> Result<(), WriteError> {
    let columns = vec![
        Arc::new(Int32Array::from(vec![protocol.min_reader_version])) as ArrayRef,
        Arc::new(Int32Array::from(vec![protocol.min_writer_version])),
        texts(protocol.reader_features.as_deref()),
        texts(protocol.writer_features.as_deref()),
    ];
    push(encoder, schema, "protocol", columns)?;

    let failed = |error| encoding(encoder.path(), error);
    let options = maps(std::iter::once(&metadata.format.options)).map_err(failed)?;
    let failed = |error| encoding(encoder.path(), error);
    let configuration = maps(std::iter::once(&metadata.configuration)).map_err(failed)?;
    let format = fields_of(schema, "metaData")
        .and_then(|fields| match fields.find("format")?.1.data_type() {
            DataType::Struct(fields) => Some(fields.clone()),
            _ => None,
        })
        .ok_or_else(|| encoding(encoder.path(), "the schema has no struct metaData.format"))?;
    let format = StructArray::try_new(
        format,
        vec![text(Some(&metadata.format.provider)), options],
        None,
    )
    .map_err(|error| encoding(encoder.path(), error))?;
    let columns = vec![
        text(Some(&metadata.id)),
        text(metadata.name.as_deref()),
        text(metadata.description.as_deref()),
        Arc::new(format),
        text(Some(&metadata.schema_string)),
        texts(Some(&metadata.partition_columns)),
        configuration,
        long(metadata.created_time),
    ];
    push(encoder, schema, "metaData", columns)?;

    let ids = transactions.iter().map(|txn| Some(&*txn.app_id));
    let versions = transactions.iter().map(|txn| txn.version);
    let updated = transactions.iter().map(|txn| txn.last_updated);
    let columns = vec![
        Arc::new(StringArray::from_iter(ids)) as ArrayRef,
        Arc::new(Int64Array::from_iter_values(versions)),
        Arc::new(Int64Array::from_iter(updated)),
    ];
    push(encoder, schema, "txn", columns)?;

    let names = domains.iter().map(|domain| Some(&*domain.domain));
    let configurations = domains.iter().map(|domain| Some(&*domain.configuration));
    let removed: Vec<bool> = domains.iter().map(|domain| domain.removed).collect();
    let columns = vec![
        Arc::new(StringArray::from_iter(names)) as ArrayRef,
        Arc::new(StringArray::from_iter(configurations)),
        Arc::new(BooleanArray::from(removed)),
    ];
    push(encoder, schema, "domainMetadata", columns)
}

/// Appends `checkpointMetadata` and `sidecar` actions (PROTOCOL.md, "V2 Spec").
pub(super) fn push_v2(
    encoder: &mut FileEncoder,
    schema: &SchemaRef,
    version: Version,
    sidecars: &[WrittenFile],
) -> Result<(), WriteError> {
    let none = BTreeMap::new();
    let failed = |error| encoding(encoder.path(), error);
    let version = i64::try_from(version).map_err(|error| encoding(encoder.path(), error))?;
    let tags = maps(std::iter::once(&none)).map_err(failed)?;
    push(
        encoder,
        schema,
        "checkpointMetadata",
        vec![long(Some(version)), tags],
    )?;
    let failed = |error| encoding(encoder.path(), error);
    let tags = maps(sidecars.iter().map(|_| &none)).map_err(failed)?;
    let names = sidecars.iter().map(|file| Some(file.name()));
    let sizes = sidecars
        .iter()
        .map(|file| i64::try_from(file.size).unwrap_or(i64::MAX));
    let columns = vec![
        Arc::new(StringArray::from_iter(names)) as ArrayRef,
        Arc::new(Int64Array::from_iter_values(sizes)),
        Arc::new(Int64Array::from_iter_values(
            sidecars.iter().map(|file| file.modified),
        )),
        tags,
    ];
    push(encoder, schema, "sidecar", columns)
}
