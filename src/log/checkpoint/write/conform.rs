//! Columns that other writers left, in the types that are written here.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, ListArray, MapArray, StructArray, new_null_array};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{DataType, Fields};

/// `array` as a struct of `fields`, found by name: those it lacks are null, others are dropped.
pub(super) fn structure(
    array: &StructArray,
    fields: &Fields,
    name: &str,
) -> Result<StructArray, String> {
    let children: Vec<ArrayRef> = fields
        .iter()
        .map(|field| match array.column_by_name(field.name()) {
            Some(child) => column(
                child,
                field.data_type(),
                &format!("{name}.{}", field.name()),
            ),
            None => Ok(new_null_array(field.data_type(), array.len())),
        })
        .collect::<Result<_, _>>()?;
    StructArray::try_new_with_length(
        fields.clone(),
        children,
        array.nulls().cloned(),
        array.len(),
    )
    .map_err(|error| format!("column {name}: {error}"))
}

fn column(array: &ArrayRef, wanted: &DataType, name: &str) -> Result<ArrayRef, String> {
    let found = array.data_type();
    if found == wanted {
        return Ok(array.clone());
    }
    let wrong = || format!("column {name} has type {found}, expected {wanted}");
    let failed = |error| format!("column {name}: {error}");
    match wanted {
        DataType::Struct(fields) => {
            let array = array.as_struct_opt().ok_or_else(wrong)?;
            Ok(Arc::new(structure(array, fields, name)?))
        }
        DataType::Map(entries, ordered) => {
            let map = array.as_map_opt().ok_or_else(wrong)?;
            let DataType::Struct(fields) = entries.data_type() else {
                return Err(wrong());
            };
            let children = vec![
                column(map.keys(), fields[0].data_type(), name)?,
                column(map.values(), fields[1].data_type(), name)?,
            ];
            let pairs = StructArray::try_new(fields.clone(), children, None).map_err(failed)?;
            let map = MapArray::try_new(
                entries.clone(),
                map.offsets().clone(),
                pairs,
                map.nulls().cloned(),
                *ordered,
            );
            Ok(Arc::new(map.map_err(failed)?))
        }
        DataType::List(element) => {
            let list = array.as_list_opt::<i32>().ok_or_else(wrong)?;
            let list = ListArray::try_new(
                element.clone(),
                list.offsets().clone(),
                column(list.values(), element.data_type(), name)?,
                list.nulls().cloned(),
            );
            Ok(Arc::new(list.map_err(failed)?))
        }
        _ => {
            let same_kind = match wanted {
                DataType::Utf8 => matches!(found, DataType::Binary | DataType::Utf8),
                DataType::Int64 | DataType::Int32 => found.is_integer(),
                _ => false,
            };
            if !same_kind {
                return Err(wrong());
            }
            // A value that does not fit is an error, not null.
            let options = CastOptions {
                safe: false,
                ..CastOptions::default()
            };
            cast_with_options(array, wanted, &options).map_err(failed)
        }
    }
}
