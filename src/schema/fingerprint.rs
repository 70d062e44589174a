//! What of a schema shapes the files made from it.

use std::fmt::Write;

use crate::base::hash::stable_hash64;

use super::mapping::MappingMode;
use super::types::{DataType, StructField, StructType};

/// A hash of the schema as far as it shapes presented files: logical names, types, order, nesting,
/// nullability, the partition columns, and what columns are found by in data files (the physical
/// name where it differs from the logical one, the id under [`MappingMode::Id`]). Comments,
/// defaults, generation expressions, constraints and all other metadata leave it as it is.
///
/// The value is part of the contract: names of files are made from it, so it stays the same in
/// every release. It is [`stable_hash64`] of the domain `deltafs shape v1` over one canonical text:
///
/// ```text
/// schema  = "struct<" field* ">" "/" name*           the names are the partition columns, in order
/// field   = name [ "=" name ] [ "#" id ] ":" type null
/// name    = length in bytes, ":", the name            the second one is the physical name
/// type    = Delta's name of a primitive | "variant" | "struct<" field* ">"
///         | "array<" type null ">" | "map<" type "," type null ">" | "as<" type ">"
/// null    = "?" where null may occur, else "!"
/// ```
pub fn shape_fingerprint(
    schema: &StructType,
    partition_columns: &[String],
    mapping: MappingMode,
) -> u64 {
    stable_hash64(
        "deltafs shape v1",
        &[canonical_text(schema, partition_columns, mapping).as_bytes()],
    )
}

pub(super) fn canonical_text(
    schema: &StructType,
    partition_columns: &[String],
    mapping: MappingMode,
) -> String {
    let mut text = String::new();
    write_struct(&mut text, schema, mapping);
    text.push('/');
    for column in partition_columns {
        write_name(&mut text, column);
    }
    text
}

fn write_struct(text: &mut String, fields: &StructType, mapping: MappingMode) {
    text.push_str("struct<");
    for field in &fields.fields {
        write_field(text, field, mapping);
    }
    text.push('>');
}

fn write_field(text: &mut String, field: &StructField, mapping: MappingMode) {
    write_name(text, &field.name);
    let physical = field.name_in_files(mapping);
    if physical != field.name {
        text.push('=');
        write_name(text, physical);
    }
    if mapping == MappingMode::Id
        && let Some(id) = field.column_id()
    {
        append(text, format_args!("#{id}"));
    }
    text.push(':');
    write_type(text, &field.data_type, mapping);
    write_null(text, field.nullable);
}

fn write_type(text: &mut String, data_type: &DataType, mapping: MappingMode) {
    match data_type {
        DataType::Primitive(primitive) => append(text, format_args!("{primitive}")),
        DataType::Variant => text.push_str("variant"),
        DataType::Foreign(foreign) => {
            text.push_str("as<");
            write_type(text, &foreign.stored_as, MappingMode::None);
            text.push('>');
        }
        DataType::Struct(fields) => write_struct(text, fields, mapping),
        DataType::Array(array) => {
            text.push_str("array<");
            write_type(text, &array.element_type, mapping);
            write_null(text, array.contains_null);
            text.push('>');
        }
        DataType::Map(map) => {
            text.push_str("map<");
            write_type(text, &map.key_type, mapping);
            text.push(',');
            write_type(text, &map.value_type, mapping);
            write_null(text, map.value_contains_null);
            text.push('>');
        }
    }
}

fn write_name(text: &mut String, name: &str) {
    append(text, format_args!("{}:{name}", name.len()));
}

fn write_null(text: &mut String, nullable: bool) {
    text.push(if nullable { '?' } else { '!' });
}

fn append(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    text.write_fmt(arguments)
        .expect("writing to a String does not fail");
}
