//! Typed access to the columns of a checkpoint batch.

use std::collections::BTreeMap;

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryArray, BooleanArray, ListArray, MapArray, RecordBatch,
    StringArray, StructArray,
};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, Int32Type, Int64Type};

use super::super::actions::{
    DeletionVectorDescriptor, DomainMetadata, Format, Metadata, Protocol, SetTransaction, Sidecar,
};
use super::CheckpointState;

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

    fn child(&self, name: &str) -> Option<(&'a ArrayRef, String)> {
        self.array
            .column_by_name(name)
            .map(|array| (array, format!("{}.{name}", self.prefix)))
    }

    fn text(&self, name: &str) -> Result<Option<Text>, String> {
        self.child(name)
            .map(|(array, name)| Text::of(array, &name))
            .transpose()
    }

    fn integer(&self, name: &str) -> Result<Option<Integer>, String> {
        self.child(name)
            .map(|(array, name)| Integer::of(array, &name))
            .transpose()
    }

    fn fields(&self, name: &str) -> Result<Option<Fields<'a>>, String> {
        self.child(name)
            .map(|(array, name)| Fields::of_array(array, &name))
            .transpose()
    }

    fn map(&self, name: &str) -> Result<Option<TextMap>, String> {
        self.child(name)
            .map(|(array, name)| TextMap::of(array, &name))
            .transpose()
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

/// Some consecutive rows of a checkpoint, seen as `add` actions.
#[derive(Debug)]
pub struct AddBatch {
    first_row: u32,
    rows: usize,
    present: Option<NullBuffer>,
    path: Text,
    size: Integer,
    modification_time: Option<Integer>,
    partition_values: Option<TextMap>,
    deletion_vectors: Option<DeletionVectors>,
}

impl AddBatch {
    /// `None` when the batch has no `add` column. `first_row` is the file's row number of its first
    /// row.
    pub(super) fn of(batch: &RecordBatch, first_row: u32) -> Result<Option<AddBatch>, String> {
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
            partition_values: add.map("partitionValues")?,
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
        match &self.partition_values {
            Some(map) => map.for_each(row, visit),
            None => Ok(()),
        }
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

/// Takes the actions that are not file actions out of `batch`.
pub(super) fn read_state(batch: &RecordBatch, state: &mut CheckpointState) -> Result<(), String> {
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
                    .child("removed")
                    .and_then(|(array, _)| array.as_boolean_opt().cloned())
                    .is_some_and(|flags: BooleanArray| flags.is_valid(row) && flags.value(row)),
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
    let Some((array, name)) = fields.child(name) else {
        return Ok(None);
    };
    let Some(list) = array.as_list_opt::<i32>() else {
        return Err(wrong_type(&name, array.data_type(), "array of string"));
    };
    let list: &ListArray = list;
    if list.is_null(row) {
        return Ok(None);
    }
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{Int32Array, Int64Array};
    use arrow::datatypes::{Field, Fields as ArrowFields};

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
