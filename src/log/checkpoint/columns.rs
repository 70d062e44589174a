//! Typed access to the columns of a checkpoint batch.

mod adds;
mod state;

use std::collections::BTreeMap;

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryArray, MapArray, RecordBatch, StringArray, StructArray,
};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, Int32Type, Int64Type};

pub use adds::{AddBatch, DeletionVectorRef};
pub(super) use state::read_state;

/// A text column: UTF-8 annotated, or plain bytes as old writers left them.
#[derive(Debug, Clone)]
pub(super) enum Text {
    Utf8(StringArray),
    Bytes(BinaryArray),
}

impl Text {
    fn get(&self, row: usize) -> Result<Option<&str>, String> {
        match self {
            Text::Utf8(array) => Ok(array.is_valid(row).then(|| array.value(row))),
            Text::Bytes(array) if array.is_null(row) => Ok(None),
            Text::Bytes(array) => std::str::from_utf8(array.value(row))
                .map(Some)
                .map_err(|error| format!("row {row}: text that is not UTF-8: {error}")),
        }
    }

    fn of(array: &ArrayRef, name: &str) -> Result<Text, String> {
        match array.data_type() {
            DataType::Utf8 => Ok(Text::Utf8(array.as_string::<i32>().clone())),
            DataType::Binary => Ok(Text::Bytes(array.as_binary::<i32>().clone())),
            other => Err(wrong_type(name, other, "string")),
        }
    }
}

/// An integer column of 32 or 64 bits.
#[derive(Debug, Clone)]
pub(super) struct Integer(ArrayRef);

impl Integer {
    fn of(array: &ArrayRef, name: &str) -> Result<Integer, String> {
        match array.data_type() {
            DataType::Int32 | DataType::Int64 => Ok(Integer(array.clone())),
            other => Err(wrong_type(name, other, "int or long")),
        }
    }

    pub(super) fn get(&self, row: usize) -> Option<i64> {
        if self.0.is_null(row) {
            return None;
        }
        match self.0.as_primitive_opt::<Int64Type>() {
            Some(longs) => Some(longs.value(row)),
            None => Some(i64::from(self.0.as_primitive::<Int32Type>().value(row))),
        }
    }
}

fn wrong_type(name: &str, found: &DataType, expected: &str) -> String {
    format!("column {name} has type {found}, expected {expected}")
}

/// A struct column's children by name.
struct Fields<'a> {
    prefix: String,
    array: &'a StructArray,
}

impl<'a> Fields<'a> {
    fn of(batch: &'a RecordBatch, name: &str) -> Result<Option<Fields<'a>>, String> {
        match batch.column_by_name(name) {
            None => Ok(None),
            Some(array) => Fields::of_array(array, name).map(Some),
        }
    }

    fn of_array(array: &'a ArrayRef, name: &str) -> Result<Fields<'a>, String> {
        match array.as_struct_opt() {
            Some(array) => Ok(Fields {
                prefix: name.to_owned(),
                array,
            }),
            None => Err(wrong_type(name, array.data_type(), "struct")),
        }
    }

    /// The child of that name, where there is one, as `read` takes it.
    fn child<T>(
        &self,
        name: &str,
        read: impl FnOnce(&'a ArrayRef, &str) -> Result<T, String>,
    ) -> Result<Option<T>, String> {
        let child = self.array.column_by_name(name);
        child
            .map(|array| read(array, &format!("{}.{name}", self.prefix)))
            .transpose()
    }

    fn text(&self, name: &str) -> Result<Option<Text>, String> {
        self.child(name, Text::of)
    }

    fn integer(&self, name: &str) -> Result<Option<Integer>, String> {
        self.child(name, Integer::of)
    }

    fn fields(&self, name: &str) -> Result<Option<Fields<'a>>, String> {
        self.child(name, Fields::of_array)
    }

    fn map(&self, name: &str) -> Result<Option<TextMap>, String> {
        self.child(name, TextMap::of)
    }

    /// In which rows the struct itself is there; `None` when in all. A child need not tell: where its
    /// field is required, as delta-rs writes them, it has some value in the other rows too.
    fn presence(&self) -> Option<NullBuffer> {
        self.array.nulls().cloned()
    }

    /// The rows in which the struct itself is there.
    fn rows(&self) -> impl Iterator<Item = usize> + use<'a> {
        let array = self.array;
        (0..array.len()).filter(move |row| array.is_valid(*row))
    }
}

/// A map from text to text.
#[derive(Debug, Clone)]
pub(super) struct TextMap {
    map: MapArray,
    keys: Text,
    values: Text,
}

impl TextMap {
    fn of(array: &ArrayRef, name: &str) -> Result<TextMap, String> {
        let Some(map) = array.as_map_opt() else {
            return Err(wrong_type(
                name,
                array.data_type(),
                "map from string to string",
            ));
        };
        Ok(TextMap {
            keys: Text::of(map.keys(), name)?,
            values: Text::of(map.values(), name)?,
            map: map.clone(),
        })
    }

    fn for_each<'a>(
        &'a self,
        row: usize,
        mut visit: impl FnMut(&'a str, Option<&'a str>),
    ) -> Result<(), String> {
        if self.map.is_null(row) {
            return Ok(());
        }
        let offsets = self.map.value_offsets();
        for entry in offsets[row] as usize..offsets[row + 1] as usize {
            let key = self
                .keys
                .get(entry)?
                .ok_or_else(|| format!("row {row}: a map with a null key"))?;
            visit(key, self.values.get(entry)?);
        }
        Ok(())
    }

    fn collect(&self, row: usize) -> Result<BTreeMap<String, String>, String> {
        let mut pairs = BTreeMap::new();
        self.for_each(row, |key, value| {
            // A null value says as much as an absent key.
            if let Some(value) = value {
                pairs.insert(key.to_owned(), value.to_owned());
            }
        })?;
        Ok(pairs)
    }
}
