//! The types of a schema.

use std::fmt;

use serde_json::{Map, Value};

use super::SchemaError;
use super::mapping::{COLUMN_ID_KEY, MappingMode, PHYSICAL_NAME_KEY};

/// A type (PROTOCOL.md, "Schema Serialization Format").
#[derive(Debug, Clone, PartialEq)]
pub enum DataType {
    /// A type without parts.
    Primitive(PrimitiveType),
    /// Named fields.
    Struct(StructType),
    /// A list of one type.
    Array(Box<ArrayType>),
    /// Keys to values.
    Map(Box<MapType>),
    /// Semi-structured data (PROTOCOL.md, "Variant Data Type").
    Variant,
    /// A type of some engine that is stored as one of the others.
    Foreign(Box<ForeignType>),
}

/// A type that means more to some engine than what is stored: a user-defined type of Spark, which is
/// stored as its `sqlType`, an interval, which is stored as its number of months or microseconds, or
/// a geometry or geography, which is stored as well-known binary. PROTOCOL.md does not have them;
/// tables do, and readers read what is stored (the protocol changes "User-Defined Types", "Interval
/// Types" and "Geospatial types").
#[derive(Debug, Clone, PartialEq)]
pub struct ForeignType {
    /// The type as the schema spells it.
    pub json: Value,
    /// What data files hold. Column mapping does not reach into it: its fields have no ids, and go by
    /// their own names.
    pub stored_as: DataType,
}

/// A type without parts (PROTOCOL.md, "Primitive Types").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PrimitiveType {
    /// UTF-8 text. `char(n)` and `varchar(n)` are strings whose field keeps that spelling in its
    /// metadata.
    String,
    /// Signed, 8 bytes.
    Long,
    /// Signed, 4 bytes.
    Integer,
    /// Signed, 2 bytes.
    Short,
    /// Signed, 1 byte.
    Byte,
    /// IEEE single precision.
    Float,
    /// IEEE double precision.
    Double,
    /// A decimal number. Invariant: 1 <= precision <= 38 and scale <= precision.
    Decimal {
        /// Digits in all.
        precision: u8,
        /// Digits right of the point.
        scale: u8,
    },
    /// True or false.
    Boolean,
    /// Bytes.
    Binary,
    /// A calendar date.
    Date,
    /// An instant, in microseconds.
    Timestamp,
    /// A wall-clock time without zone, in microseconds.
    TimestampNtz,
    /// Nothing but null; not stored in data files. Spelled `void` or `null`.
    Void,
}

/// Named fields, in order.
///
/// Invariant of a parsed schema: no two names are equal regardless of case.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StructType {
    /// The fields.
    pub fields: Vec<StructField>,
}

/// One column, top-level or nested (PROTOCOL.md, "Struct Field").
#[derive(Debug, Clone, PartialEq)]
pub struct StructField {
    /// The logical name.
    pub name: String,
    /// The type.
    pub data_type: DataType,
    /// Whether null is a value.
    pub nullable: bool,
    /// What else is said of the column (PROTOCOL.md, "Column Metadata").
    pub metadata: Map<String, Value>,
}

/// The type of an array column.
#[derive(Debug, Clone, PartialEq)]
pub struct ArrayType {
    /// The type of the elements.
    pub element_type: DataType,
    /// Whether an element may be null.
    pub contains_null: bool,
}

/// The type of a map column.
#[derive(Debug, Clone, PartialEq)]
pub struct MapType {
    /// The type of the keys, which are never null.
    pub key_type: DataType,
    /// The type of the values.
    pub value_type: DataType,
    /// Whether a value may be null.
    pub value_contains_null: bool,
}

impl StructType {
    /// The field of that logical name, case and all.
    pub fn field(&self, name: &str) -> Option<&StructField> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// The fields that `partition_columns` names, in that order. Each has a primitive type and is
    /// named once (PROTOCOL.md, "Change Metadata").
    pub fn partition_fields(
        &self,
        partition_columns: &[String],
    ) -> Result<Vec<&StructField>, SchemaError> {
        let mut found: Vec<&StructField> = Vec::with_capacity(partition_columns.len());
        for column in partition_columns {
            let field = self
                .field(column)
                .ok_or_else(|| SchemaError::UnknownPartitionColumn {
                    column: column.clone(),
                    columns: self.names(),
                })?;
            if found.iter().any(|earlier| earlier.name == field.name) {
                return Err(SchemaError::RepeatedPartitionColumn {
                    column: column.clone(),
                });
            }
            if !matches!(field.data_type, DataType::Primitive(_)) {
                return Err(SchemaError::PartitionColumnType {
                    column: column.clone(),
                    type_name: field.data_type.to_string(),
                });
            }
            found.push(field);
        }
        Ok(found)
    }

    /// Whether `wanted`, a type without parts, occurs in a column at any depth.
    pub fn has_type(&self, wanted: &DataType) -> bool {
        self.fields
            .iter()
            .any(|field| field.data_type.has_part(wanted))
    }

    fn names(&self) -> String {
        let names: Vec<&str> = self
            .fields
            .iter()
            .map(|field| field.name.as_str())
            .collect();
        names.join(", ")
    }
}

impl StructField {
    /// The physical name that column mapping gave the column
    /// (`delta.columnMapping.physicalName`), whether or not mapping is on.
    pub fn physical_name(&self) -> Option<&str> {
        self.metadata.get(PHYSICAL_NAME_KEY)?.as_str()
    }

    /// The id that column mapping gave the column (`delta.columnMapping.id`), whether or not
    /// mapping is on. `None` also for what is no 32-bit integer.
    pub fn column_id(&self) -> Option<i32> {
        self.metadata.get(COLUMN_ID_KEY)?.as_i64()?.try_into().ok()
    }

    /// The name that stands for the column in data files, in `partitionValues` and in statistics
    /// under `mode` (PROTOCOL.md, "Reader Requirements for Column Mapping"): the logical name
    /// without mapping, even where a physical name is recorded.
    ///
    /// Under mapping a column without a physical name goes by its logical one here;
    /// [`StructType::check_mapping`] refuses such a schema.
    pub fn name_in_files(&self, mode: MappingMode) -> &str {
        match mode {
            MappingMode::None => &self.name,
            MappingMode::Name | MappingMode::Id => self.physical_name().unwrap_or(&self.name),
        }
    }

    /// The comment on the column.
    pub fn comment(&self) -> Option<&str> {
        self.metadata.get("comment")?.as_str()
    }
}

impl DataType {
    fn has_part(&self, wanted: &DataType) -> bool {
        match self {
            DataType::Primitive(_) | DataType::Variant => self == wanted,
            DataType::Struct(fields) => fields.has_type(wanted),
            DataType::Array(array) => array.element_type.has_part(wanted),
            DataType::Map(map) => map.key_type.has_part(wanted) || map.value_type.has_part(wanted),
            DataType::Foreign(foreign) => foreign.stored_as.has_part(wanted),
        }
    }

    /// The first part of the type, or the type itself, that is a type of some engine. Fields of structs
    /// are not looked into.
    pub fn foreign(&self) -> Option<&ForeignType> {
        match self {
            DataType::Foreign(foreign) => Some(foreign),
            DataType::Array(array) => array.element_type.foreign(),
            DataType::Map(map) => (map.key_type.foreign()).or_else(|| map.value_type.foreign()),
            DataType::Primitive(_) | DataType::Variant | DataType::Struct(_) => None,
        }
    }

    /// Whether no data file can have a column of the type: void has no values but null, and what is
    /// made of nothing else has no leaf to be stored in (PROTOCOL.md, "Primitive Types").
    pub fn is_void(&self) -> bool {
        match self {
            DataType::Primitive(primitive) => *primitive == PrimitiveType::Void,
            DataType::Variant => false,
            DataType::Struct(fields) => fields.fields.iter().all(|field| field.data_type.is_void()),
            DataType::Array(array) => array.element_type.is_void(),
            DataType::Map(map) => map.key_type.is_void() || map.value_type.is_void(),
            DataType::Foreign(foreign) => foreign.stored_as.is_void(),
        }
    }
}

impl PrimitiveType {
    /// The fixed part of the name that Delta gives the type.
    fn name(self) -> &'static str {
        match self {
            PrimitiveType::String => "string",
            PrimitiveType::Long => "long",
            PrimitiveType::Integer => "integer",
            PrimitiveType::Short => "short",
            PrimitiveType::Byte => "byte",
            PrimitiveType::Float => "float",
            PrimitiveType::Double => "double",
            PrimitiveType::Decimal { .. } => "decimal",
            PrimitiveType::Boolean => "boolean",
            PrimitiveType::Binary => "binary",
            PrimitiveType::Date => "date",
            PrimitiveType::Timestamp => "timestamp",
            PrimitiveType::TimestampNtz => "timestamp_ntz",
            PrimitiveType::Void => "void",
        }
    }
}

/// The type as Delta's JSON spells it: `long`, `decimal(10,2)`.
impl fmt::Display for PrimitiveType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        if let PrimitiveType::Decimal { precision, scale } = self {
            write!(f, "({precision},{scale})")?;
        }
        Ok(())
    }
}

/// The type as SQL spells it, for messages: `array<struct<a:long,b:string>>`.
impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DataType::Primitive(primitive) => primitive.fmt(f),
            DataType::Variant => f.write_str("variant"),
            DataType::Foreign(foreign) => match &foreign.json {
                Value::String(name) => f.write_str(name),
                _ => write!(f, "udt<{}>", foreign.stored_as),
            },
            DataType::Array(array) => write!(f, "array<{}>", array.element_type),
            DataType::Map(map) => write!(f, "map<{},{}>", map.key_type, map.value_type),
            DataType::Struct(fields) => {
                f.write_str("struct<")?;
                for (index, field) in fields.fields.iter().enumerate() {
                    let comma = if index == 0 { "" } else { "," };
                    write!(f, "{comma}{}:{}", field.name, field.data_type)?;
                }
                f.write_str(">")
            }
        }
    }
}
