//! The `add` actions of a batch.

use arrow::array::{Array, ArrayRef, RecordBatch};
use arrow::buffer::NullBuffer;
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::DataType;
use arrow::error::ArrowError;

use super::{Fields, Integer, Text, TextMap};
use crate::log::actions::DeletionVectorDescriptor;

/// A deletion vector descriptor, borrowed from a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeletionVectorRef<'a> {
    /// See [`DeletionVectorDescriptor`].
    pub storage_type: &'a str,
    /// See [`DeletionVectorDescriptor`].
    pub path_or_inline_dv: &'a str,
    /// See [`DeletionVectorDescriptor`].
    pub offset: Option<i32>,
    /// See [`DeletionVectorDescriptor`].
    pub size_in_bytes: i32,
    /// See [`DeletionVectorDescriptor`].
    pub cardinality: i64,
}

impl DeletionVectorRef<'_> {
    /// An owned copy.
    pub fn to_descriptor(self) -> DeletionVectorDescriptor {
        DeletionVectorDescriptor {
            storage_type: self.storage_type.to_owned(),
            path_or_inline_dv: self.path_or_inline_dv.to_owned(),
            offset: self.offset,
            size_in_bytes: self.size_in_bytes,
            cardinality: self.cardinality,
        }
    }
}

#[derive(Debug)]
struct DeletionVectors {
    present: Option<NullBuffer>,
    storage_type: Text,
    path: Text,
    offset: Option<Integer>,
    size: Integer,
    cardinality: Integer,
}

#[derive(Debug)]
enum PartitionValues {
    /// `partitionValues`.
    Map(Box<TextMap>),
    /// `partitionValues_parsed`, as texts, by the names of its fields.
    Parsed(Vec<(String, Text)>),
}

impl PartitionValues {
    /// `partitionValues_parsed` counts only where a file has no `partitionValues`, which PROTOCOL.md,
    /// "Checkpoint Schema", demands of it. Its columns have the names that the map has for keys.
    fn of(add: &Fields<'_>) -> Result<PartitionValues, String> {
        if let Some(map) = add.map("partitionValues")? {
            return Ok(PartitionValues::Map(Box::new(map)));
        }
        let Some(parsed) = add.fields("partitionValues_parsed")? else {
            return Ok(PartitionValues::Parsed(Vec::new()));
        };
        let columns = parsed.array.fields().iter().zip(parsed.array.columns());
        let columns = columns.map(|(field, column)| {
            let name = format!("{}.{}", parsed.prefix, field.name());
            let texts = match column.data_type() {
                DataType::Binary => column.clone(),
                _ => texts(column).map_err(|error| format!("column {name}: {error}"))?,
            };
            Ok((field.name().clone(), Text::of(&texts, &name)?))
        });
        Ok(PartitionValues::Parsed(
            columns.collect::<Result<_, String>>()?,
        ))
    }

    fn for_each<'a>(
        &'a self,
        row: usize,
        mut visit: impl FnMut(&'a str, Option<&'a str>),
    ) -> Result<(), String> {
        match self {
            PartitionValues::Map(map) => map.for_each(row, visit),
            PartitionValues::Parsed(columns) => columns.iter().try_for_each(|(name, texts)| {
                visit(name, texts.get(row)?);
                Ok(())
            }),
        }
    }
}

/// Values as they would stand in `partitionValues`; an instant is in UTC.
fn texts(column: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let exact = CastOptions {
        safe: false,
        ..CastOptions::default()
    };
    let cast = |column: &ArrayRef, to: &DataType| cast_with_options(column, to, &exact);
    match column.data_type() {
        DataType::Timestamp(unit, _) => {
            let number = cast(column, &DataType::Int64)?;
            let instant = cast(&number, &DataType::Timestamp(*unit, None))?;
            cast(&instant, &DataType::Utf8)
        }
        _ => cast(column, &DataType::Utf8),
    }
}

/// Some consecutive rows of a checkpoint, seen as `add` actions.
#[derive(Debug)]
pub struct AddBatch {
    first_row: u32,
    rows: usize,
    present: Option<NullBuffer>,
    path: Text,
    size: Integer,
    modification_time: Option<Integer>,
    partition_values: PartitionValues,
    deletion_vectors: Option<DeletionVectors>,
}

impl AddBatch {
    /// `None` when the batch has no `add` column. `first_row` is the file's row number of its first
    /// row.
    pub(in crate::log::checkpoint) fn of(
        batch: &RecordBatch,
        first_row: u32,
    ) -> Result<Option<AddBatch>, String> {
        let Some(add) = Fields::of(batch, "add")? else {
            return Ok(None);
        };
        let missing = |name: &str| format!("column add has no field {name}");
        let deletion_vectors = match add.fields("deletionVector")? {
            None => None,
            Some(dv) => {
                let missing = |name: &str| format!("column add.deletionVector has no field {name}");
                Some(DeletionVectors {
                    present: dv.presence(),
                    storage_type: dv
                        .text("storageType")?
                        .ok_or_else(|| missing("storageType"))?,
                    path: dv
                        .text("pathOrInlineDv")?
                        .ok_or_else(|| missing("pathOrInlineDv"))?,
                    offset: dv.integer("offset")?,
                    size: dv
                        .integer("sizeInBytes")?
                        .ok_or_else(|| missing("sizeInBytes"))?,
                    cardinality: dv
                        .integer("cardinality")?
                        .ok_or_else(|| missing("cardinality"))?,
                })
            }
        };
        Ok(Some(AddBatch {
            first_row,
            rows: batch.num_rows(),
            present: add.presence(),
            path: add.text("path")?.ok_or_else(|| missing("path"))?,
            size: add.integer("size")?.ok_or_else(|| missing("size"))?,
            modification_time: add.integer("modificationTime")?,
            partition_values: PartitionValues::of(&add)?,
            deletion_vectors,
        }))
    }

    /// How many rows the batch has. Not every one holds an add.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The file's row number of row `row`.
    pub fn file_row(&self, row: usize) -> u32 {
        self.first_row.saturating_add(row as u32)
    }

    /// `add.path`; `None` where the row holds another action.
    pub fn path(&self, row: usize) -> Result<Option<&str>, String> {
        if is_absent(self.present.as_ref(), row) {
            return Ok(None);
        }
        self.path.get(row)
    }

    /// `add.size`.
    pub fn size(&self, row: usize) -> Option<i64> {
        self.size.get(row)
    }

    /// `add.modificationTime`.
    pub fn modification_time(&self, row: usize) -> Option<i64> {
        self.modification_time.as_ref()?.get(row)
    }

    /// Visits `add.partitionValues`.
    pub fn partition_values<'a>(
        &'a self,
        row: usize,
        visit: impl FnMut(&'a str, Option<&'a str>),
    ) -> Result<(), String> {
        self.partition_values.for_each(row, visit)
    }

    /// `add.deletionVector`.
    pub fn deletion_vector(&self, row: usize) -> Result<Option<DeletionVectorRef<'_>>, String> {
        let Some(dv) = &self.deletion_vectors else {
            return Ok(None);
        };
        if is_absent(dv.present.as_ref(), row) {
            return Ok(None);
        }
        let Some(storage_type) = dv.storage_type.get(row)? else {
            return Ok(None);
        };
        let bad = |field: &str| format!("row {row}: deletionVector.{field} is null or too large");
        let narrow = |field: &str, value: Option<i64>| {
            value
                .and_then(|value| i32::try_from(value).ok())
                .ok_or_else(|| bad(field))
        };
        Ok(Some(DeletionVectorRef {
            storage_type,
            path_or_inline_dv: dv.path.get(row)?.ok_or_else(|| bad("pathOrInlineDv"))?,
            offset: match dv.offset.as_ref().and_then(|offset| offset.get(row)) {
                None => None,
                some => Some(narrow("offset", some)?),
            },
            size_in_bytes: narrow("sizeInBytes", dv.size.get(row))?,
            cardinality: dv.cardinality.get(row).ok_or_else(|| bad("cardinality"))?,
        }))
    }
}

fn is_absent(presence: Option<&NullBuffer>, row: usize) -> bool {
    presence.is_some_and(|presence| presence.is_null(row))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, Int32Array, Int64Array, StringArray, StructArray};
    use arrow::datatypes::{DataType, Field, Fields as ArrowFields};

    use super::*;

    fn required(name: &str, data_type: DataType) -> Field {
        Field::new(name, data_type, false)
    }

    #[test]
    fn required_children_of_an_absent_struct_are_no_values() -> Result<(), String> {
        // Where a struct is absent, its required children hold what the decoder fills in: "" and 0.
        let dv_fields = ArrowFields::from(vec![
            required("storageType", DataType::Utf8),
            required("pathOrInlineDv", DataType::Utf8),
            required("sizeInBytes", DataType::Int32),
            required("cardinality", DataType::Int64),
        ]);
        let vectors: ArrayRef = Arc::new(StructArray::new(
            dv_fields.clone(),
            vec![
                Arc::new(StringArray::from(vec!["u", "", ""])),
                Arc::new(StringArray::from(vec!["x", "", ""])),
                Arc::new(Int32Array::from(vec![34, 0, 0])),
                Arc::new(Int64Array::from(vec![2, 0, 0])),
            ],
            Some(NullBuffer::from(vec![true, false, false])),
        ));
        let add_fields = ArrowFields::from(vec![
            required("path", DataType::Utf8),
            required("size", DataType::Int64),
            Field::new("deletionVector", DataType::Struct(dv_fields), true),
        ]);
        let adds: ArrayRef = Arc::new(StructArray::new(
            add_fields,
            vec![
                Arc::new(StringArray::from(vec!["a", "b", ""])),
                Arc::new(Int64Array::from(vec![1, 2, 0])),
                vectors,
            ],
            Some(NullBuffer::from(vec![true, true, false])),
        ));
        let batch = RecordBatch::try_from_iter_with_nullable([("add", adds, true)])
            .map_err(|error| error.to_string())?;

        let adds = AddBatch::of(&batch, 0)?.ok_or("the batch has an add column")?;
        assert_eq!(adds.path(0)?, Some("a"));
        assert_eq!(adds.path(1)?, Some("b"));
        assert_eq!(adds.path(2)?, None);
        assert_eq!(adds.deletion_vector(0)?.map(|dv| dv.cardinality), Some(2));
        assert_eq!(adds.deletion_vector(1)?, None);
        assert_eq!(adds.deletion_vector(2)?, None);
        Ok(())
    }
}
