//! Whether columns that must not be null are not.
//!
//! A file may say that a column can be null where the table says it is not: then the null counts of
//! the footer prove that it is not, or the levels are read. Of lists and what lies in them counts
//! prove nothing: pyarrow 14 and older releases of polars leave null lists, or null structs in lists,
//! out of them.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::buffer::NullBuffer;

use super::IntakeError;
use super::columns::{Column, Part, Shape};
use super::convert::{first_null, is_stored};
use crate::parquet::{Footer, Node, NodeKind, Repetition};
use crate::schema::{DataType, StructType, column_path};

/// Whether a column has to be read to know that nothing in it is null that must not be. Parts that
/// the file lacks are checked already.
pub(super) fn is_unproven(column: &Column<'_>, footer: &Footer) -> bool {
    is_unproven_by(column, Some(footer))
}

fn is_unproven_by(column: &Column<'_>, counts: Option<&Footer>) -> bool {
    column
        .part()
        .is_some_and(|part| part_is_unproven(part, column.field.nullable, counts))
}

/// The same of a part. `counts` is absent within lists.
fn part_is_unproven(part: &Part<'_>, nullable: bool, counts: Option<&Footer>) -> bool {
    let here = !nullable
        && part.node.repetition == Repetition::Optional
        && !counts.is_some_and(|footer| has_no_null(&part.node, footer));
    here || match &part.shape {
        Shape::Leaf { .. } | Shape::Variant => false,
        Shape::Struct(columns) => columns.iter().any(|column| is_unproven_by(column, counts)),
        Shape::List(array, element) => part_is_unproven(element, array.contains_null, None),
        Shape::Map(map, parts) => {
            part_is_unproven(&parts.0, true, None)
                || part_is_unproven(&parts.1, map.value_contains_null, None)
        }
    }
}

/// Whether the null counts prove that a node is never null: where a leaf below it, in no list, never
/// is.
fn has_no_null(node: &Node, footer: &Footer) -> bool {
    match &node.kind {
        _ if node.repetition == Repetition::Repeated => false,
        NodeKind::Leaf { leaf, .. } => footer.null_count(*leaf) == Some(0),
        NodeKind::Group(children) => children.iter().any(|child| has_no_null(child, footer)),
    }
}

/// Checks that the file has all that must not be null, but for top-level columns, whose absence may
/// be made good.
pub(super) fn check_missing(columns: &[Column<'_>], file: &str) -> Result<(), IntakeError> {
    let parts = columns.iter().filter_map(Column::part);
    for part in parts {
        check_missing_in(part, file)?;
    }
    Ok(())
}

fn check_missing_in(part: &Part<'_>, file: &str) -> Result<(), IntakeError> {
    match &part.shape {
        Shape::Leaf { .. } | Shape::Variant => Ok(()),
        Shape::Struct(columns) => {
            for column in columns {
                match column.part() {
                    Some(part) => check_missing_in(part, file)?,
                    None if column.field.nullable => {}
                    None => {
                        return Err(IntakeError::MissingColumn {
                            file: file.to_owned(),
                            column: column.path.clone(),
                            expected: column.field.data_type.to_string(),
                        });
                    }
                }
            }
            Ok(())
        }
        Shape::List(_, element) => check_missing_in(element, file),
        Shape::Map(_, parts) => {
            check_missing_in(&parts.0, file)?;
            check_missing_in(&parts.1, file)
        }
    }
}

/// The first value of a top-level column that is null and must not be: its row and its path.
pub(super) fn find(
    array: &ArrayRef,
    data_type: &DataType,
    nullable: bool,
    path: &str,
) -> Option<(usize, String)> {
    if !nullable && let Some(row) = first_null(array) {
        return Some((row, path.to_owned()));
    }
    inside(array, data_type, path)
}

/// The same within the values that are there.
fn inside(array: &ArrayRef, data_type: &DataType, path: &str) -> Option<(usize, String)> {
    match data_type {
        DataType::Primitive(_) | DataType::Variant | DataType::Foreign(_) => None,
        DataType::Struct(fields) => in_struct(array, fields, path),
        DataType::Array(of) => {
            let list = array.as_list_opt::<i32>()?;
            let path = column_path(path, "element");
            let found = find(list.values(), &of.element_type, of.contains_null, &path);
            of_lists(found, list.offsets())
        }
        DataType::Map(of) => {
            let map = array.as_map_opt()?;
            let keys = find(map.keys(), &of.key_type, false, &column_path(path, "key"));
            let path = column_path(path, "value");
            let found =
                keys.or_else(|| find(map.values(), &of.value_type, of.value_contains_null, &path));
            of_lists(found, map.offsets())
        }
    }
}

fn in_struct(array: &ArrayRef, fields: &StructType, path: &str) -> Option<(usize, String)> {
    let group = array.as_struct_opt()?;
    let fields = fields.fields.iter().filter(|field| is_stored(field));
    fields.zip(group.columns()).find_map(|(field, child)| {
        let path = column_path(path, &field.name);
        if !field.nullable
            && let Some(index) = first_null_beside(child, group.nulls())
        {
            return Some((index, path));
        }
        inside(child, &field.data_type, &path)
    })
}

/// The first null whose struct is there.
fn first_null_beside(child: &ArrayRef, parent: Option<&NullBuffer>) -> Option<usize> {
    first_null(child)?;
    (0..child.len())
        .find(|index| child.is_null(*index) && parent.is_none_or(|parent| parent.is_valid(*index)))
}

/// The list that an element lies in.
fn of_lists(found: Option<(usize, String)>, offsets: &[i32]) -> Option<(usize, String)> {
    let (element, path) = found?;
    let after = offsets
        .partition_point(|offset| usize::try_from(*offset).is_ok_and(|offset| offset <= element));
    Some((after.saturating_sub(1), path))
}
