//! Arrays as the decoder gives them, as arrays of the table's types.
//!
//! In between reading and writing, a column has one Arrow type for each type of the table
//! ([`field`]). Every value is carried over without loss, or the first that cannot be is told.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, ListArray, MapArray, PrimitiveArray, StructArray, make_array,
    new_null_array,
};
use arrow::buffer::OffsetBuffer;
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{
    DataType as ArrowType, Date32Type, Field, FieldRef, Fields, TimeUnit, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType,
};
use arrow::util::display::array_value_to_string;

use super::columns::{Column, Part, Shape, Source};
use super::types;
use crate::schema::{DataType, MappingMode, PrimitiveType, StructField, StructType, column_path};

/// The Arrow field metadata key by which the writer takes a field id.
const FIELD_ID: &str = "PARQUET:field_id";

/// Which names a field gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Names {
    /// The table's.
    Logical,
    /// Those of data files.
    InFiles(MappingMode),
}

/// A column of the table in Arrow. All may be null but the keys of maps.
pub(super) fn field(field: &StructField, names: Names) -> Field {
    let arrow_type = arrow_type(&field.data_type, names);
    match names {
        Names::Logical => Field::new(&field.name, arrow_type, true),
        Names::InFiles(mapping) => {
            let made = Field::new(field.name_in_files(mapping), arrow_type, true);
            match field.column_id().filter(|_| mapping != MappingMode::None) {
                None => made,
                Some(id) => {
                    made.with_metadata(HashMap::from([(FIELD_ID.to_owned(), id.to_string())]))
                }
            }
        }
    }
}

/// A type of the table in Arrow.
pub(super) fn arrow_type(data_type: &DataType, names: Names) -> ArrowType {
    match data_type {
        DataType::Primitive(primitive) => types::arrow_type(*primitive),
        DataType::Struct(fields) => {
            let fields = stored(fields).map(|inner| field(inner, names));
            ArrowType::Struct(fields.collect())
        }
        DataType::Array(array) => {
            let element = arrow_type(&array.element_type, names);
            ArrowType::List(Arc::new(Field::new("element", element, true)))
        }
        DataType::Map(map) => {
            let entries = Fields::from(vec![
                Field::new("key", arrow_type(&map.key_type, names), false),
                Field::new("value", arrow_type(&map.value_type, names), true),
            ]);
            let entries = Field::new("key_value", ArrowType::Struct(entries), false);
            ArrowType::Map(Arc::new(entries), false)
        }
        DataType::Variant => ArrowType::Struct(Fields::from(vec![
            Field::new("metadata", ArrowType::Binary, true),
            Field::new("value", ArrowType::Binary, true),
        ])),
        DataType::Foreign(foreign) => arrow_type(&foreign.stored_as, names),
    }
}

/// The fields that data files have: all but those of type void.
pub(super) fn stored(fields: &StructType) -> impl Iterator<Item = &StructField> {
    fields.fields.iter().filter(|field| is_stored(field))
}

/// Whether data files have a column.
pub(super) fn is_stored(field: &StructField) -> bool {
    field.data_type != DataType::Primitive(PrimitiveType::Void)
}

/// A value that the table's type does not have.
#[derive(Debug)]
pub(super) struct Lost {
    /// The column.
    pub(super) path: String,
    /// Its position in the array.
    pub(super) index: usize,
    pub(super) value: String,
    /// The table's type.
    pub(super) expected: String,
}

/// `array`, as the decoder gives the node of `part`, as one of `data_type`, with logical names.
pub(super) fn convert(
    part: &Part<'_>,
    data_type: &DataType,
    array: &ArrayRef,
    path: &str,
) -> Result<ArrayRef, Lost> {
    let unexpected = || Lost {
        path: path.to_owned(),
        index: 0,
        value: format!("an array of {}", array.data_type()),
        expected: data_type.to_string(),
    };
    match (&part.shape, data_type) {
        (Shape::Leaf { .. }, DataType::Primitive(primitive)) => primitive_values(array, *primitive)
            .map_err(|(index, value)| Lost {
                path: path.to_owned(),
                index,
                value,
                expected: data_type.to_string(),
            }),
        (Shape::Struct(columns), DataType::Struct(_)) => {
            let group = array.as_struct_opt().ok_or_else(unexpected)?;
            let mut fields = Vec::with_capacity(columns.len());
            let mut children = Vec::with_capacity(columns.len());
            for column in columns.iter().filter(|column| is_stored(column.field)) {
                let field = field(column.field, Names::Logical);
                children.push(struct_child(column, group, field.data_type())?);
                fields.push(field);
            }
            Ok(Arc::new(StructArray::new(
                fields.into(),
                children,
                group.nulls().cloned(),
            )))
        }
        (Shape::List(array_type, element), DataType::Array(_)) => {
            let list = array.as_list_opt::<i32>().ok_or_else(unexpected)?;
            let path = column_path(path, "element");
            let values = convert(element, &array_type.element_type, list.values(), &path)
                .map_err(|lost| within(lost, list.offsets()))?;
            let field = Field::new("element", values.data_type().clone(), true);
            Ok(Arc::new(ListArray::new(
                Arc::new(field),
                list.offsets().clone(),
                values,
                list.nulls().cloned(),
            )))
        }
        (Shape::Map(map_type, parts), DataType::Map(_)) => {
            let map = array.as_map_opt().ok_or_else(unexpected)?;
            let (key, value) = parts.as_ref();
            let keys = convert(
                key,
                &map_type.key_type,
                map.keys(),
                &column_path(path, "key"),
            )
            .map_err(|lost| within(lost, map.offsets()))?;
            let values = convert(
                value,
                &map_type.value_type,
                map.values(),
                &column_path(path, "value"),
            )
            .map_err(|lost| within(lost, map.offsets()))?;
            if let Some(index) = first_null(&keys) {
                let lost = Lost {
                    path: column_path(path, "key"),
                    index,
                    value: "a key that is null".to_owned(),
                    expected: data_type.to_string(),
                };
                return Err(within(lost, map.offsets()));
            }
            let ArrowType::Map(entries, sorted) = arrow_type(data_type, Names::Logical) else {
                return Err(unexpected());
            };
            let ArrowType::Struct(fields) = entries.data_type() else {
                return Err(unexpected());
            };
            let pairs = StructArray::new(fields.clone(), vec![keys, values], None);
            Ok(Arc::new(MapArray::new(
                entries,
                map.offsets().clone(),
                pairs,
                map.nulls().cloned(),
                sorted,
            )))
        }
        (Shape::Variant, DataType::Variant) => {
            let group = array.as_struct_opt().ok_or_else(unexpected)?;
            let ArrowType::Struct(fields) = arrow_type(data_type, Names::Logical) else {
                return Err(unexpected());
            };
            let children: Option<Vec<ArrayRef>> = fields
                .iter()
                .map(|field| group.column_by_name(field.name()).cloned())
                .collect();
            let children = children
                .filter(|children| children.iter().all(|c| *c.data_type() == ArrowType::Binary))
                .ok_or_else(unexpected)?;
            Ok(Arc::new(StructArray::new(
                fields,
                children,
                group.nulls().cloned(),
            )))
        }
        _ => Err(unexpected()),
    }
}

fn struct_child(
    column: &Column<'_>,
    group: &StructArray,
    arrow_type: &ArrowType,
) -> Result<ArrayRef, Lost> {
    match &column.source {
        Source::Missing | Source::AlwaysNull => Ok(new_null_array(arrow_type, group.len())),
        Source::File(part) => {
            let child = group.columns().get(part.position).ok_or_else(|| Lost {
                path: column.path.clone(),
                index: 0,
                value: "no such field".to_owned(),
                expected: column.field.data_type.to_string(),
            })?;
            convert(part, &column.field.data_type, child, &column.path)
        }
    }
}

/// The place of a lost element, as that of the list it lies in.
fn within(lost: Lost, offsets: &OffsetBuffer<i32>) -> Lost {
    let after =
        offsets.partition_point(|offset| usize::try_from(*offset).is_ok_and(|o| o <= lost.index));
    Lost {
        index: after.saturating_sub(1),
        ..lost
    }
}

/// The values as those of a type; the position and text of the first that is lost.
fn primitive_values(
    array: &ArrayRef,
    primitive: PrimitiveType,
) -> Result<ArrayRef, (usize, String)> {
    let target = types::arrow_type(primitive);
    if *array.data_type() == target {
        return Ok(array.clone());
    }
    let converted: ArrayRef = match (array.data_type(), primitive) {
        (ArrowType::Timestamp(unit, _), PrimitiveType::Timestamp | PrimitiveType::TimestampNtz) => {
            let micros: PrimitiveArray<TimestampMicrosecondType> = match unit {
                TimeUnit::Nanosecond => array
                    .as_primitive::<TimestampNanosecondType>()
                    .unary_opt(|nanos| (nanos % 1_000 == 0).then_some(nanos / 1_000)),
                TimeUnit::Millisecond => array
                    .as_primitive::<TimestampMillisecondType>()
                    .unary_opt(|millis| millis.checked_mul(1_000)),
                TimeUnit::Microsecond => array.as_primitive::<TimestampMicrosecondType>().clone(),
                TimeUnit::Second => return Err((0, "a time in seconds".to_owned())),
            };
            Arc::new(micros.with_data_type(target))
        }
        (ArrowType::Date32, PrimitiveType::TimestampNtz) => {
            let micros: PrimitiveArray<TimestampMicrosecondType> = array
                .as_primitive::<Date32Type>()
                .unary_opt(|days| i64::from(days).checked_mul(86_400_000_000));
            Arc::new(micros)
        }
        _ => {
            let options = CastOptions {
                safe: true,
                ..CastOptions::default()
            };
            cast_with_options(array, &target, &options).map_err(|error| (0, error.to_string()))?
        }
    };
    if converted.null_count() == array.null_count() {
        return Ok(converted);
    }
    let lost = (0..array.len()).find(|index| array.is_valid(*index) && converted.is_null(*index));
    match lost {
        None => Ok(converted),
        Some(index) => Err((index, text(array, index))),
    }
}

/// A value for a message.
pub(super) fn text(array: &dyn Array, index: usize) -> String {
    const MOST: usize = 100;
    if array.is_null(index) {
        return "null".to_owned();
    }
    let text = match array.data_type() {
        // Zones by name are not known to the formatter.
        ArrowType::Timestamp(unit, Some(_)) => {
            let plain = ArrowType::Timestamp(*unit, None);
            let data = array.slice(index, 1).to_data().into_builder();
            let plain = data.data_type(plain).build().map(make_array);
            plain.and_then(|array| Ok(format!("{}Z", array_value_to_string(&array, 0)?)))
        }
        _ => array_value_to_string(array, index),
    };
    let text = text.unwrap_or_else(|error| error.to_string());
    match text.char_indices().nth(MOST) {
        None => text,
        Some((end, _)) => format!("{}...", &text[..end]),
    }
}

/// The position of the first null.
pub(super) fn first_null(array: &dyn Array) -> Option<usize> {
    let nulls = array.nulls().filter(|nulls| nulls.null_count() > 0)?;
    (0..array.len()).find(|index| nulls.is_null(*index))
}

/// `array` with the names of `field`, which differs from its type in names alone.
pub(super) fn renamed(array: &ArrayRef, field: &FieldRef) -> ArrayRef {
    match field.data_type() {
        wanted if wanted == array.data_type() => array.clone(),
        ArrowType::Struct(fields) => {
            let group = array.as_struct();
            let children = group.columns().iter().zip(fields);
            let children = children.map(|(child, field)| renamed(child, field));
            Arc::new(StructArray::new(
                fields.clone(),
                children.collect(),
                group.nulls().cloned(),
            ))
        }
        ArrowType::List(element) => {
            let list = array.as_list::<i32>();
            Arc::new(ListArray::new(
                element.clone(),
                list.offsets().clone(),
                renamed(list.values(), element),
                list.nulls().cloned(),
            ))
        }
        ArrowType::Map(entries, sorted) => {
            let map = array.as_map();
            let pairs: ArrayRef = Arc::new(map.entries().clone());
            Arc::new(MapArray::new(
                entries.clone(),
                map.offsets().clone(),
                renamed(&pairs, entries).as_struct().clone(),
                map.nulls().cloned(),
                *sorted,
            ))
        }
        _ => array.clone(),
    }
}
