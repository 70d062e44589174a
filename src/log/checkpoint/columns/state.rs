//! The actions of a batch that are no file actions.

use std::collections::BTreeMap;

use arrow::array::{Array, AsArray, RecordBatch};

use super::super::CheckpointState;
use super::{Fields, Text, wrong_type};
use crate::log::actions::{DomainMetadata, Format, Metadata, Protocol, SetTransaction, Sidecar};

/// Takes the actions that are not file actions out of `batch`.
pub(in crate::log::checkpoint) fn read_state(
    batch: &RecordBatch,
    state: &mut CheckpointState,
) -> Result<(), String> {
    if let Some(fields) = Fields::of(batch, "protocol")? {
        for row in fields.rows() {
            state.protocol = Some(protocol(&fields, row)?);
        }
    }
    if let Some(fields) = Fields::of(batch, "metaData")? {
        for row in fields.rows() {
            state.metadata = Some(metadata(&fields, row)?);
        }
    }
    if let Some(fields) = Fields::of(batch, "txn")? {
        for row in fields.rows() {
            state.transactions.push(SetTransaction {
                app_id: required(&fields, "appId", row)?,
                version: required_integer(&fields, "version", row)?,
                last_updated: fields
                    .integer("lastUpdated")?
                    .and_then(|column| column.get(row)),
            });
        }
    }
    if let Some(fields) = Fields::of(batch, "domainMetadata")? {
        for row in fields.rows() {
            state.domains.push(DomainMetadata {
                domain: required(&fields, "domain", row)?,
                configuration: optional(&fields, "configuration", row)?.unwrap_or_default(),
                removed: fields
                    .array
                    .column_by_name("removed")
                    .and_then(|array| array.as_boolean_opt())
                    .is_some_and(|flags| flags.is_valid(row) && flags.value(row)),
            });
        }
    }
    if let Some(fields) = Fields::of(batch, "sidecar")? {
        for row in fields.rows() {
            state.sidecars.push(Sidecar {
                path: required(&fields, "path", row)?,
                size_in_bytes: required_integer(&fields, "sizeInBytes", row)?,
            });
        }
    }
    if let Some(fields) = Fields::of(batch, "checkpointMetadata")? {
        for row in fields.rows() {
            state.version = Some(required_integer(&fields, "version", row)?);
        }
    }
    Ok(())
}

fn protocol(fields: &Fields<'_>, row: usize) -> Result<Protocol, String> {
    let version = |name: &str| {
        let found = required_integer(fields, name, row)?;
        i32::try_from(found).map_err(|_| format!("protocol.{name} is {found}"))
    };
    Ok(Protocol {
        min_reader_version: version("minReaderVersion")?,
        min_writer_version: version("minWriterVersion")?,
        reader_features: texts(fields, "readerFeatures", row)?,
        writer_features: texts(fields, "writerFeatures", row)?,
    })
}

fn metadata(fields: &Fields<'_>, row: usize) -> Result<Metadata, String> {
    let format = match fields.fields("format")? {
        None => Format::default(),
        Some(format) => Format {
            provider: optional(&format, "provider", row)?
                .unwrap_or_else(|| Format::default().provider),
            options: match format.map("options")? {
                Some(map) => map.collect(row)?,
                None => BTreeMap::new(),
            },
        },
    };
    Ok(Metadata {
        id: required(fields, "id", row)?,
        name: optional(fields, "name", row)?,
        description: optional(fields, "description", row)?,
        format,
        schema_string: optional(fields, "schemaString", row)?.unwrap_or_default(),
        partition_columns: texts(fields, "partitionColumns", row)?.unwrap_or_default(),
        created_time: fields
            .integer("createdTime")?
            .and_then(|column| column.get(row)),
        configuration: match fields.map("configuration")? {
            Some(map) => map.collect(row)?,
            None => BTreeMap::new(),
        },
    })
}

fn optional(fields: &Fields<'_>, name: &str, row: usize) -> Result<Option<String>, String> {
    match fields.text(name)? {
        Some(column) => Ok(column.get(row)?.map(str::to_owned)),
        None => Ok(None),
    }
}

fn required(fields: &Fields<'_>, name: &str, row: usize) -> Result<String, String> {
    optional(fields, name, row)?.ok_or_else(|| {
        format!(
            "{}.{name} is missing, though the protocol requires it",
            fields.prefix
        )
    })
}

fn required_integer(fields: &Fields<'_>, name: &str, row: usize) -> Result<i64, String> {
    fields
        .integer(name)?
        .and_then(|column| column.get(row))
        .ok_or_else(|| {
            format!(
                "{}.{name} is missing, though the protocol requires it",
                fields.prefix
            )
        })
}

fn texts(fields: &Fields<'_>, name: &str, row: usize) -> Result<Option<Vec<String>>, String> {
    let lists = fields.child(name, |array, name| match array.as_list_opt::<i32>() {
        Some(list) => Ok((list, name.to_owned())),
        None => Err(wrong_type(name, array.data_type(), "array of string")),
    })?;
    let Some((list, name)) = lists.filter(|(list, _)| list.is_valid(row)) else {
        return Ok(None);
    };
    let values = Text::of(list.values(), &name)?;
    let offsets = list.value_offsets();
    (offsets[row] as usize..offsets[row + 1] as usize)
        .map(|entry| {
            values
                .get(entry)?
                .map(str::to_owned)
                .ok_or_else(|| format!("{name} holds a null"))
        })
        .collect::<Result<Vec<String>, String>>()
        .map(Some)
}
