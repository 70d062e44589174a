//! Partition values: where a staged file has them, and how they are written (PROTOCOL.md,
//! "Partition Value Serialization").

mod value;

use std::collections::{BTreeMap, HashMap};

use arrow::array::ArrayRef;
use arrow::row::{RowConverter, SortField};

use super::columns::{Column, Shape, Source, same_name};
use super::types::Fit;
use super::{IntakeError, StagedFile, Target, lengths};
use crate::parquet::{Constant, Footer, NodeKind};
use crate::schema::{DataType, PrimitiveType, StructField};

pub(super) use value::{array_of, canonical, civil, date_text, decimal_text, serialized};

/// A value as it is serialized; null also for the empty text.
pub(super) type Value = Option<String>;

/// Combinations of partition values, and the rows of a batch that have each, in the order of their
/// first rows.
pub(super) type Groups = Vec<(Vec<Value>, Vec<u32>)>;

/// A partition column and where its values are.
#[derive(Debug)]
pub(super) struct PartitionColumn {
    /// Its position in the schema.
    pub(super) index: usize,
    pub(super) primitive: PrimitiveType,
    /// What the directories say.
    pub(super) directory: Option<Value>,
    /// Whether the file has the column.
    pub(super) in_file: bool,
    /// What the file holds in every row, where its statistics prove that.
    pub(super) constant: Option<Value>,
}

impl PartitionColumn {
    /// The value of every row, where it is known without looking at rows. A file that says so too,
    /// and is not known to say the same, has to be looked at all the same: see
    /// [`PartitionColumn::is_to_be_compared`].
    pub(super) fn fixed(&self) -> Option<&Value> {
        self.directory.as_ref().or(self.constant.as_ref())
    }

    /// Whether the rows have to be compared with the directory.
    pub(super) fn is_to_be_compared(&self) -> bool {
        self.directory.is_some() && self.in_file && self.constant.is_none()
    }
}

/// Where the values of the partition columns are, in the order of the table's partition columns.
/// Directories and statistics are read, and found not to contradict each other.
pub(super) fn locate(
    target: &Target<'_>,
    staged: &StagedFile,
    footer: &Footer,
    columns: &[Column<'_>],
) -> Result<Vec<PartitionColumn>, IntakeError> {
    let names = &target.metadata.partition_columns;
    for (index, (directory, _)) in staged.directories.iter().enumerate() {
        if !names.iter().any(|name| same_name(name, directory)) {
            return Err(IntakeError::UnknownDirectory {
                file: staged.name.clone(),
                directory: directory.clone(),
                columns: match names.as_slice() {
                    [] => "none: it is not partitioned".to_owned(),
                    names => names.join(", "),
                },
            });
        }
        let earlier = &staged.directories[..index];
        if earlier.iter().any(|(name, _)| same_name(name, directory)) {
            return Err(IntakeError::RepeatedDirectory {
                file: staged.name.clone(),
                column: directory.clone(),
            });
        }
    }
    let fields = target.shape.schema.partition_fields(names)?;
    fields
        .into_iter()
        .map(|field| one(staged, footer, columns, field))
        .collect()
}

fn one(
    staged: &StagedFile,
    footer: &Footer,
    columns: &[Column<'_>],
    field: &StructField,
) -> Result<PartitionColumn, IntakeError> {
    let DataType::Primitive(primitive) = field.data_type else {
        // `partition_fields` gives none of them.
        return Err(no_value(&staged.name, field));
    };
    let index = columns.iter().position(|c| c.field.name == field.name);
    let index = index.ok_or_else(|| no_value(&staged.name, field))?;
    let mut directory = None;
    for (_, text) in (staged.directories.iter()).filter(|(name, _)| same_name(name, &field.name)) {
        directory = Some(match text {
            None => None,
            Some(text) => {
                canonical(text, primitive).ok_or_else(|| IntakeError::PartitionValue {
                    file: staged.name.clone(),
                    column: field.name.clone(),
                    found: text.clone(),
                    expected: field.data_type.to_string(),
                })?
            }
        });
    }
    // Neither goes through the columns of a batch, where the texts of others are looked at.
    let fit = |value| lengths::of_value(value, field, &staged.name);
    let directory = directory.map(fit).transpose()?;
    let constant = match lengths::is_padded(field) {
        true => None,
        false => constant(footer, &columns[index], primitive),
    };
    let constant = constant.map(fit).transpose()?;
    if let (Some(directory), Some(constant)) = (&directory, &constant)
        && directory != constant
    {
        return Err(disagrees(
            &staged.name,
            field,
            directory,
            shown(constant),
            0,
        ));
    }
    Ok(PartitionColumn {
        index,
        primitive,
        directory,
        in_file: !matches!(columns[index].source, Source::Missing),
        constant,
    })
}

/// What a column holds in every row, as far as statistics prove it.
fn constant(footer: &Footer, column: &Column<'_>, primitive: PrimitiveType) -> Option<Value> {
    let part = match &column.source {
        Source::Missing => return None,
        Source::AlwaysNull => return Some(None),
        Source::File(part) => part,
    };
    let (Shape::Leaf { leaf, fit, .. }, NodeKind::Leaf { physical, .. }) =
        (&part.shape, &part.node.kind)
    else {
        return None;
    };
    // The bounds of floating-point columns leave out NaN.
    if matches!(primitive, PrimitiveType::Float | PrimitiveType::Double) {
        return None;
    }
    match footer.constant(*leaf)? {
        Constant::Null => Some(None),
        Constant::Value(bytes) if *fit != Fit::Converted => {
            value::decoded(bytes, primitive, *physical)
        }
        Constant::Value(_) | Constant::NoRows => None,
    }
}

/// The first row of `array`, the file's column, that is not what the directory says: its position
/// and text.
pub(super) fn first_other(
    array: &ArrayRef,
    primitive: PrimitiveType,
    expected: &Value,
) -> Option<(usize, String)> {
    (0..array.len()).find_map(|row| {
        let found = serialized(array, row, primitive);
        match found {
            Some(found) if found == *expected => None,
            Some(found) => Some((row, shown(&found))),
            None => Some((row, "a value that cannot be a partition value".to_owned())),
        }
    })
}

/// The rows of each combination of values of some arrays of one length, in the order of their first
/// rows. A problem is told as a clause.
pub(super) fn groups(arrays: &[&ArrayRef]) -> Result<Vec<Vec<u32>>, String> {
    let fields = arrays
        .iter()
        .map(|array| SortField::new(array.data_type().clone()));
    let columns: Vec<ArrayRef> = arrays.iter().map(|array| (*array).clone()).collect();
    let rows = RowConverter::new(fields.collect())
        .and_then(|converter| converter.convert_columns(&columns))
        .map_err(|error| error.to_string())?;
    let mut found: HashMap<&[u8], usize> = HashMap::new();
    let mut groups: Vec<Vec<u32>> = Vec::new();
    for (number, row) in (0_u32..).zip(&rows) {
        let group = *found.entry(row.data()).or_insert_with(|| {
            groups.push(Vec::new());
            groups.len() - 1
        });
        groups[group].push(number);
    }
    Ok(groups)
}

pub(super) fn no_value(file: &str, field: &StructField) -> IntakeError {
    IntakeError::NoPartitionValue {
        file: file.to_owned(),
        column: field.name.clone(),
        expected: field.data_type.to_string(),
    }
}

pub(super) fn disagrees(
    file: &str,
    field: &StructField,
    directory: &Value,
    found: String,
    row: u64,
) -> IntakeError {
    IntakeError::PartitionDisagrees {
        file: file.to_owned(),
        column: field.name.clone(),
        directory: shown(directory),
        found,
        row,
    }
}

/// A value for a message.
pub(super) fn shown(value: &Value) -> String {
    match value {
        None => "null".to_owned(),
        Some(text) => format!("{text:?}"),
    }
}

/// The `partitionValues` of an `add`, from one value for each of `columns`.
pub(super) fn partition_values(
    target: &Target<'_>,
    columns: &[PartitionColumn],
    values: &[Value],
) -> BTreeMap<String, Value> {
    let fields = &target.shape.schema.fields;
    columns
        .iter()
        .zip(values)
        .map(|(column, value)| {
            let name = fields[column.index].name_in_files(target.shape.mapping);
            (name.to_owned(), value.clone())
        })
        .collect()
}
