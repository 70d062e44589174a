//! Column mapping (PROTOCOL.md, "Column Mapping").

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;

use super::path::column_path;
use super::types::{DataType, StructType};
use super::{SchemaError, StructField};

/// The metadata key of a column's physical name.
pub(super) const PHYSICAL_NAME_KEY: &str = "delta.columnMapping.physicalName";
/// The metadata key of a column's id.
pub(super) const COLUMN_ID_KEY: &str = "delta.columnMapping.id";

/// How columns are found in data files: the table property `delta.columnMapping.mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum MappingMode {
    /// By their logical names.
    #[default]
    None,
    /// By their physical names.
    Name,
    /// By the field ids of the Parquet schema.
    Id,
}

impl MappingMode {
    /// The mode that `property`, the value of `delta.columnMapping.mode`, stands for; case does
    /// not matter, and an absent property is [`MappingMode::None`].
    ///
    /// The property counts only where the protocol supports column mapping; that is for the caller
    /// to know.
    pub fn from_property(property: Option<&str>) -> Result<MappingMode, SchemaError> {
        property.map_or(Ok(MappingMode::None), str::parse)
    }
}

impl FromStr for MappingMode {
    type Err = SchemaError;

    fn from_str(text: &str) -> Result<MappingMode, SchemaError> {
        for mode in [MappingMode::None, MappingMode::Name, MappingMode::Id] {
            if text.eq_ignore_ascii_case(mode.as_str()) {
                return Ok(mode);
            }
        }
        Err(SchemaError::UnknownMappingMode {
            found: text.to_owned(),
        })
    }
}

impl MappingMode {
    fn as_str(self) -> &'static str {
        match self {
            MappingMode::None => "none",
            MappingMode::Name => "name",
            MappingMode::Id => "id",
        }
    }
}

impl fmt::Display for MappingMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl StructType {
    /// Checks that every column, nested ones too, has what `mode` finds it by, and that nothing is
    /// shared: ids within the table, physical names within one struct.
    pub fn check_mapping(&self, mode: MappingMode) -> Result<(), SchemaError> {
        if mode == MappingMode::None {
            return Ok(());
        }
        let mut check = MappingCheck {
            mode,
            ids: HashMap::new(),
        };
        check.fields(self, "")
    }
}

impl StructType {
    /// Whether a column, a nested one perhaps, has another name in data files than in the table.
    pub fn is_renamed(&self, mode: MappingMode) -> bool {
        self.fields.iter().any(|field| {
            field.name_in_files(mode) != field.name || is_renamed(&field.data_type, mode)
        })
    }
}

fn is_renamed(data_type: &DataType, mode: MappingMode) -> bool {
    match data_type {
        DataType::Primitive(_) | DataType::Variant | DataType::Foreign(_) => false,
        DataType::Struct(fields) => fields.is_renamed(mode),
        DataType::Array(array) => is_renamed(&array.element_type, mode),
        DataType::Map(map) => is_renamed(&map.key_type, mode) || is_renamed(&map.value_type, mode),
    }
}

struct MappingCheck {
    mode: MappingMode,
    /// The columns seen so far by their ids.
    ids: HashMap<i32, String>,
}

impl MappingCheck {
    fn fields(&mut self, fields: &StructType, parent: &str) -> Result<(), SchemaError> {
        let mut names: HashMap<&str, &StructField> = HashMap::new();
        for field in &fields.fields {
            let column = column_path(parent, &field.name);
            let unmapped = |key| SchemaError::Unmapped {
                column: column.clone(),
                key,
                mode: self.mode,
            };
            let name = field
                .physical_name()
                .ok_or_else(|| unmapped(PHYSICAL_NAME_KEY))?;
            if let Some(first) = names.insert(name, field) {
                return Err(SchemaError::AmbiguousMapping {
                    first: column_path(parent, &first.name),
                    second: column,
                    key: PHYSICAL_NAME_KEY,
                    value: name.to_owned(),
                });
            }
            if self.mode == MappingMode::Id {
                let id = field.column_id().ok_or_else(|| unmapped(COLUMN_ID_KEY))?;
                if let Some(first) = self.ids.insert(id, column.clone()) {
                    return Err(SchemaError::AmbiguousMapping {
                        first,
                        second: column,
                        key: COLUMN_ID_KEY,
                        value: id.to_string(),
                    });
                }
            }
            self.data_type(&field.data_type, &column)?;
        }
        Ok(())
    }

    fn data_type(&mut self, data_type: &DataType, column: &str) -> Result<(), SchemaError> {
        match data_type {
            DataType::Primitive(_) | DataType::Variant | DataType::Foreign(_) => Ok(()),
            DataType::Struct(fields) => self.fields(fields, column),
            DataType::Array(array) => {
                self.data_type(&array.element_type, &column_path(column, "element"))
            }
            DataType::Map(map) => {
                self.data_type(&map.key_type, &column_path(column, "key"))?;
                self.data_type(&map.value_type, &column_path(column, "value"))
            }
        }
    }
}
