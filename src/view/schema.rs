//! The columns that a version shows.

use super::Layout;
use crate::schema::{MappingMode, StructField, StructType};

/// What the files of a version are presented as.
#[derive(Debug, Clone, Copy)]
pub struct PresentedSchema<'a> {
    /// The schema of the version.
    pub schema: &'a StructType,
    /// The partition columns of the version.
    pub partition_columns: &'a [String],
    /// How columns are found in data files.
    pub mapping: MappingMode,
    /// Where partition values stand.
    pub layout: Layout,
}

impl<'a> PresentedSchema<'a> {
    /// The columns of a presented file, in their order.
    pub(super) fn columns(&self) -> impl Iterator<Item = &'a StructField> + use<'a> {
        let outside = match self.layout {
            Layout::Flat => &[],
            Layout::Hive => self.partition_columns,
        };
        shown_fields(self.schema).filter(|field| !outside.contains(&field.name))
    }
}

/// The fields that data files have: all but those of type void (PROTOCOL.md, "Primitive Types"), and
/// of types that are made of nothing else.
pub(super) fn shown_fields(schema: &StructType) -> impl Iterator<Item = &StructField> {
    (schema.fields.iter()).filter(|field| !field.data_type.is_void())
}

/// The field id of a presented column: that of column mapping, where there is one.
pub(super) fn field_id(field: &StructField, mapping: MappingMode) -> Option<i32> {
    match mapping {
        MappingMode::None => None,
        MappingMode::Name | MappingMode::Id => field.column_id(),
    }
}
