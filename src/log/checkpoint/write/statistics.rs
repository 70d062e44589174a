//! Statistics and partition values as typed columns (PROTOCOL.md, "Checkpoints",
//! `stats_parsed` and `partitionValues_parsed`; "Per-file Statistics").

mod column;
mod render;
mod value;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, NullBufferBuilder, StringArray, StructArray};
use arrow::datatypes::{DataType as ArrowType, Field, Fields};
use serde_json::value::RawValue;

use self::column::{Column, Leaf};
use crate::schema::{DataType, MappingMode, PrimitiveType, StructField, StructType};

pub(super) use self::render::json_of;

/// The typed columns of one table: statistics of its data columns, values of its partition columns,
/// both by their names in files.
#[derive(Debug, Clone)]
pub(super) struct StatisticsLayout {
    statistics: Fields,
    /// The partition columns: name in files, name for messages, type. Empty for a table without.
    partitions: Vec<(String, String, PrimitiveType)>,
}

impl StatisticsLayout {
    /// That of a table with `schema`, of which `partition_columns` are partition columns.
    pub(super) fn of(
        schema: &StructType,
        partition_columns: &[String],
        mapping: MappingMode,
    ) -> StatisticsLayout {
        let is_partition = |field: &&StructField| partition_columns.contains(&field.name);
        let data: Vec<&StructField> = (schema.fields.iter())
            .filter(|field| !is_partition(field))
            .collect();
        let partitions = partition_columns
            .iter()
            .filter_map(|column| schema.field(column))
            .filter_map(|field| match field.data_type {
                DataType::Primitive(PrimitiveType::Void) => None,
                DataType::Primitive(primitive) => {
                    let name = field.name_in_files(mapping).to_owned();
                    Some((name, field.name.clone(), primitive))
                }
                _ => None,
            })
            .collect();
        let mut statistics = vec![Field::new("numRecords", ArrowType::Int64, true)];
        for name in ["minValues", "maxValues"] {
            statistics.extend(structure(name, bounds(&data, mapping)));
        }
        statistics.extend(structure("nullCount", counts(&data, mapping)));
        statistics.push(Field::new("tightBounds", ArrowType::Boolean, true));
        StatisticsLayout {
            statistics: statistics.into(),
            partitions,
        }
    }

    /// The fields of `add` that hold them.
    pub(super) fn fields(&self) -> Vec<Arc<Field>> {
        let mut fields = Vec::new();
        if !self.partitions.is_empty() {
            let partitions = ArrowType::Struct(self.partition_fields());
            fields.push(Arc::new(Field::new(
                "partitionValues_parsed",
                partitions,
                true,
            )));
        }
        fields.push(Arc::new(Field::new("stats_parsed", self.data_type(), true)));
        fields
    }

    /// The type of `stats_parsed`.
    pub(super) fn data_type(&self) -> ArrowType {
        ArrowType::Struct(self.statistics.clone())
    }

    fn partition_fields(&self) -> Fields {
        self.partitions
            .iter()
            .map(|(name, _, primitive)| Field::new(name, column::arrow_type(*primitive), true))
            .collect()
    }

    /// `partitionValues_parsed`, where the table is partitioned, and `stats_parsed` of some adds.
    /// A statistic that is no value of its column's type is left out: it says nothing then. A
    /// partition value that is none is an error: null would say something else. `statistics` is what
    /// `stats_parsed` comes to, where that is known.
    pub(super) fn parse(
        &self,
        adds: &StructArray,
        statistics: Option<ArrayRef>,
    ) -> Result<Vec<ArrayRef>, String> {
        let mut columns = Vec::new();
        if !self.partitions.is_empty() {
            columns.push(self.parse_partitions(adds)?);
        }
        let text = adds
            .column_by_name("stats")
            .and_then(|column| column.as_string_opt::<i32>())
            .ok_or("column add has no text field stats")?;
        columns.push(match statistics {
            Some(statistics) => statistics,
            None => self.parse_statistics(text)?,
        });
        Ok(columns)
    }

    fn parse_statistics(&self, text: &StringArray) -> Result<ArrayRef, String> {
        let mut nulls = NullBufferBuilder::new(text.len());
        let mut columns: Vec<Column> = self
            .statistics
            .iter()
            .map(|field| Column::of(field.data_type()))
            .collect::<Result<_, _>>()?;
        for row in 0..text.len() {
            let object = (text.is_valid(row).then(|| text.value(row)))
                .and_then(|text| serde_json::from_str::<Object<'_>>(text).ok());
            nulls.append(object.is_some());
            for (field, column) in self.statistics.iter().zip(&mut columns) {
                let value = object
                    .as_ref()
                    .and_then(|object| object.get(&**field.name()));
                column.push(value.copied());
            }
        }
        let arrays = columns.iter_mut().map(Column::finish);
        let arrays = arrays.collect::<Result<Vec<_>, String>>()?;
        StructArray::try_new(self.statistics.clone(), arrays, nulls.finish())
            .map(|array| Arc::new(array) as ArrayRef)
            .map_err(|error| error.to_string())
    }

    fn parse_partitions(&self, adds: &StructArray) -> Result<ArrayRef, String> {
        let map = adds
            .column_by_name("partitionValues")
            .and_then(|column| column.as_map_opt())
            .ok_or("column add has no map partitionValues")?;
        let (keys, values) = (
            map.keys().as_string::<i32>(),
            map.values().as_string::<i32>(),
        );
        let mut leaves: Vec<Leaf> = self
            .partitions
            .iter()
            .map(|(_, _, primitive)| Leaf::of(&column::arrow_type(*primitive)))
            .collect::<Result<_, _>>()?;
        let offsets = map.value_offsets();
        for row in 0..map.len() {
            let entries = offsets[row] as usize..offsets[row + 1] as usize;
            for ((name, column, primitive), leaf) in self.partitions.iter().zip(&mut leaves) {
                let value = entries
                    .clone()
                    .find(|entry| keys.value(*entry) == name)
                    .filter(|entry| map.is_valid(row) && values.is_valid(*entry))
                    .map(|entry| values.value(entry))
                    .filter(|value| !value.is_empty());
                if !leaf.push_partition_value(value, *primitive) {
                    return Err(format!(
                        "the value {:?} of partition column {column} is none of type {primitive}",
                        value.unwrap_or_default()
                    ));
                }
            }
        }
        let arrays = leaves.iter_mut().map(Leaf::finish).collect();
        StructArray::try_new_with_length(self.partition_fields(), arrays, None, map.len())
            .map(|array| Arc::new(array) as ArrayRef)
            .map_err(|error| error.to_string())
    }
}

/// A JSON object of which the values are read when they are needed.
type Object<'a> = BTreeMap<Cow<'a, str>, &'a RawValue>;

/// A struct field; none without children, which Parquet cannot express.
fn structure(name: &str, fields: Vec<Field>) -> Option<Field> {
    (!fields.is_empty()).then(|| Field::new(name, ArrowType::Struct(fields.into()), true))
}

/// The columns that have bounds: those whose type has an order that readers skip by.
fn bounds(fields: &[&StructField], mapping: MappingMode) -> Vec<Field> {
    let type_of = |data_type: &DataType| match data_type {
        DataType::Primitive(
            PrimitiveType::Void | PrimitiveType::Binary | PrimitiveType::Boolean,
        )
        | DataType::Struct(_)
        | DataType::Array(_)
        | DataType::Map(_)
        | DataType::Variant
        | DataType::Foreign(_) => None,
        DataType::Primitive(primitive) => Some(column::arrow_type(*primitive)),
    };
    columns(fields, mapping, &type_of)
}

/// The columns of which nulls are counted: all, structs by their fields.
fn counts(fields: &[&StructField], mapping: MappingMode) -> Vec<Field> {
    columns(fields, mapping, &|_| Some(ArrowType::Int64))
}

/// One field for each column that is no struct and that `type_of` has a type for, in structs like
/// those of the schema.
fn columns(
    fields: &[&StructField],
    mapping: MappingMode,
    type_of: &dyn Fn(&DataType) -> Option<ArrowType>,
) -> Vec<Field> {
    fields
        .iter()
        .filter_map(|field| {
            let name = field.name_in_files(mapping);
            if let DataType::Struct(inner) = &field.data_type {
                let inner: Vec<&StructField> = inner.fields.iter().collect();
                return structure(name, columns(&inner, mapping, type_of));
            }
            Some(Field::new(name, type_of(&field.data_type)?, true))
        })
        .collect()
}

#[cfg(test)]
mod tests;
