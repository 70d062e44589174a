//! `char(n)` and `varchar(n)`: strings whose field keeps that spelling in its metadata.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, StringArray, StructArray};
use serde_json::Value;

use super::IntakeError;
use super::columns::{Column, Shape};
use super::convert::is_stored;
use crate::schema::{DataType, PrimitiveType, StructField, column_path};

/// The metadata key under which Spark keeps the spelling.
const KEY: &str = "__CHAR_VARCHAR_TYPE_STRING";

/// How long the texts of a column may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Limit {
    /// `char(n)`: that long; shorter ones are padded with spaces.
    Char(usize),
    /// `varchar(n)`: at most that long.
    Varchar(usize),
}

impl Limit {
    /// How many characters a text has that has too many.
    fn excess(self, text: &str) -> Option<usize> {
        let (Limit::Char(most) | Limit::Varchar(most)) = self;
        // Bytes are at least as many as characters.
        if text.len() <= most {
            return None;
        }
        Some(text.chars().count()).filter(|length| *length > most)
    }
}

/// What has to be done for the lengths of a column of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Lengths {
    /// Its texts have to be looked at.
    pub(super) checked: bool,
    /// They have to be padded.
    pub(super) padded: bool,
}

/// What has to be done for a column; an error where a part of it has a length that is not enforced.
pub(super) fn of_column(column: &Column<'_>, file: &str) -> Result<Lengths, IntakeError> {
    let mut lengths = Lengths::default();
    let Some(part) = column.part() else {
        return Ok(lengths);
    };
    if let Shape::Struct(columns) = &part.shape {
        for column in columns {
            let inner = of_column(column, file)?;
            lengths.checked |= inner.checked;
            lengths.padded |= inner.padded;
        }
        return Ok(lengths);
    }
    match (spelling(column.field), limit(column.field)) {
        (None, _) => {}
        (Some(_), Some(limit)) => {
            lengths.checked = true;
            lengths.padded = matches!(limit, Limit::Char(_));
        }
        (Some(spelling), None) => {
            return Err(IntakeError::WrongType {
                file: file.to_owned(),
                column: column.path.clone(),
                found: part.node.to_string(),
                expected: spelling.to_owned(),
                advice: "lengths within arrays and maps are not enforced by this release of \
                         deltafs; write to the table with a tool that enforces them"
                    .to_owned(),
            });
        }
    }
    Ok(lengths)
}

/// The column with its texts padded as `char(n)` demands. A text that is too long is an error; rows
/// count from `first_row`.
pub(super) fn apply(
    array: &ArrayRef,
    field: &StructField,
    path: &str,
    file: &str,
    first_row: u64,
) -> Result<ArrayRef, IntakeError> {
    if let DataType::Struct(fields) = &field.data_type {
        let Some(group) = array.as_struct_opt() else {
            return Ok(array.clone());
        };
        let stored = fields.fields.iter().filter(|field| is_stored(field));
        let children = stored.zip(group.columns()).map(|(field, child)| {
            apply(
                child,
                field,
                &column_path(path, &field.name),
                file,
                first_row,
            )
        });
        return Ok(Arc::new(StructArray::new(
            group.fields().clone(),
            children.collect::<Result<_, _>>()?,
            group.nulls().cloned(),
        )));
    }
    let (Some(limit), Some(texts)) = (limit(field), array.as_string_opt::<i32>()) else {
        return Ok(array.clone());
    };
    for row in (0..texts.len()).filter(|row| texts.is_valid(*row)) {
        if let Some(length) = limit.excess(texts.value(row)) {
            let row = first_row + row as u64;
            return Err(too_long(field, path, file, row, length));
        }
    }
    Ok(match limit {
        Limit::Varchar(_) => array.clone(),
        Limit::Char(width) => {
            let padded = texts
                .iter()
                .map(|text| text.map(|text| format!("{text:<width$}")));
            Arc::new(padded.collect::<StringArray>())
        }
    })
}

/// The same of one value that all rows have: a partition's.
pub(super) fn of_value(
    value: Option<String>,
    field: &StructField,
    file: &str,
) -> Result<Option<String>, IntakeError> {
    let (Some(text), Some(limit)) = (&value, limit(field)) else {
        return Ok(value);
    };
    if let Some(length) = limit.excess(text) {
        return Err(too_long(field, &field.name, file, 0, length));
    }
    Ok(match limit {
        Limit::Varchar(_) => value,
        Limit::Char(width) => Some(format!("{text:<width$}")),
    })
}

/// Whether texts of a column have to be padded, so that even empty ones are something else in it.
pub(super) fn is_padded(field: &StructField) -> bool {
    matches!(limit(field), Some(Limit::Char(_)))
}

fn too_long(field: &StructField, path: &str, file: &str, row: u64, length: usize) -> IntakeError {
    IntakeError::TooLong {
        file: file.to_owned(),
        column: path.to_owned(),
        row,
        length,
        expected: spelling(field).unwrap_or_default().to_owned(),
    }
}

fn spelling(field: &StructField) -> Option<&str> {
    field.metadata.get(KEY).and_then(Value::as_str)
}

/// The limit of a string column.
fn limit(field: &StructField) -> Option<Limit> {
    if field.data_type != DataType::Primitive(PrimitiveType::String) {
        return None;
    }
    let (name, rest) = spelling(field)?.split_once('(')?;
    let length: usize = rest.strip_suffix(')')?.trim().parse().ok()?;
    // No writer makes longer ones, and no padding may exhaust memory.
    let length = Some(length).filter(|length| *length <= 1_000_000)?;
    match name.trim() {
        "char" => Some(Limit::Char(length)),
        "varchar" => Some(Limit::Varchar(length)),
        _ => None,
    }
}
