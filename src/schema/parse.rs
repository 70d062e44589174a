//! From the JSON form to types.
//!
//! Parsing has two steps. serde reads the JSON into [`RawType`]: it stops at its nesting limit of
//! 128 JSON levels (42 structs in one another), refuses a key that appears twice, and ignores keys
//! it does not know. Then the raw form is checked column by column.

use std::collections::HashMap;
use std::fmt;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::{Map, Value};

use super::SchemaError;
use super::path::column_path;
use super::types::{
    ArrayType, DataType, ForeignType, MapType, PrimitiveType, StructField, StructType,
};

/// The metadata key under which Spark keeps the spelling of `char(n)` and `varchar(n)`.
const CHAR_VARCHAR_KEY: &str = "__CHAR_VARCHAR_TYPE_STRING";

impl StructType {
    /// Parses the `schemaString` of a `metaData` action (PROTOCOL.md, "Schema Serialization
    /// Format").
    ///
    /// Names that are equal regardless of case are an error. A missing `metadata` is empty and a
    /// missing `nullable`, `containsNull` or `valueContainsNull` is true.
    pub fn parse(schema_string: &str) -> Result<StructType, SchemaError> {
        let raw: RawType =
            serde_json::from_str(schema_string).map_err(|error| SchemaError::Malformed {
                reason: error.to_string(),
            })?;
        match convert(raw, "")? {
            (DataType::Struct(fields), _) => Ok(fields),
            (other, _) => Err(SchemaError::Malformed {
                reason: format!("the outermost type is {other}, not a struct"),
            }),
        }
    }
}

/// A type as the JSON has it.
enum RawType {
    Named(String),
    Object(Box<RawObject>),
}

/// A type in object form, before it is known which.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawObject {
    r#type: String,
    fields: Option<Vec<RawField>>,
    element_type: Option<RawType>,
    contains_null: Option<bool>,
    key_type: Option<RawType>,
    value_type: Option<RawType>,
    value_contains_null: Option<bool>,
    sql_type: Option<Value>,
    /// What else there is: of a user-defined type, whose it is.
    #[serde(flatten)]
    rest: Map<String, Value>,
}

#[derive(Deserialize)]
struct RawField {
    name: String,
    r#type: RawType,
    nullable: Option<bool>,
    metadata: Option<Map<String, Value>>,
}

impl<'de> Deserialize<'de> for RawType {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<RawType, D::Error> {
        struct TypeVisitor;

        impl<'de> Visitor<'de> for TypeVisitor {
            type Value = RawType;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a type, or a type as an object")
            }

            fn visit_str<E>(self, name: &str) -> Result<RawType, E> {
                Ok(RawType::Named(name.to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<RawType, A::Error> {
                let object = RawObject::deserialize(MapAccessDeserializer::new(map))?;
                Ok(RawType::Object(Box::new(object)))
            }
        }

        deserializer.deserialize_any(TypeVisitor)
    }
}

/// The type, and the spelling to be kept where it is `char(n)` or `varchar(n)`.
fn convert(raw: RawType, column: &str) -> Result<(DataType, Option<String>), SchemaError> {
    match raw {
        RawType::Named(name) => named(name, column),
        RawType::Object(object) => Ok((convert_object(*object, column)?, None)),
    }
}

fn convert_object(object: RawObject, column: &str) -> Result<DataType, SchemaError> {
    let needed = |expected| SchemaError::MalformedColumn {
        column: if column.is_empty() {
            "(the table)".to_owned()
        } else {
            column.to_owned()
        },
        found: format!("a type {:?} without it", object.r#type),
        expected,
    };
    match object.r#type.as_str() {
        "struct" => {
            let fields = object.fields.ok_or_else(|| needed("a list \"fields\""))?;
            Ok(DataType::Struct(convert_fields(fields, column)?))
        }
        "array" => {
            let element = object
                .element_type
                .ok_or_else(|| needed("an \"elementType\""))?;
            Ok(DataType::Array(Box::new(ArrayType {
                element_type: convert(element, &column_path(column, "element"))?.0,
                contains_null: object.contains_null.unwrap_or(true),
            })))
        }
        "map" => {
            let key = object.key_type.ok_or_else(|| needed("a \"keyType\""))?;
            let value = object.value_type.ok_or_else(|| needed("a \"valueType\""))?;
            Ok(DataType::Map(Box::new(MapType {
                key_type: convert(key, &column_path(column, "key"))?.0,
                value_type: convert(value, &column_path(column, "value"))?.0,
                value_contains_null: object.value_contains_null.unwrap_or(true),
            })))
        }
        "variant" => Ok(DataType::Variant),
        "udt" => user_defined(object, column),
        _ => Err(SchemaError::UnknownType {
            column: column.to_owned(),
            type_name: object.r#type.clone(),
        }),
    }
}

/// A user-defined type of Spark, which is stored as its `sqlType`.
fn user_defined(object: RawObject, column: &str) -> Result<DataType, SchemaError> {
    let needed = |found: String, expected| SchemaError::MalformedColumn {
        column: column.to_owned(),
        found,
        expected,
    };
    let sql_type = (object.sql_type)
        .ok_or_else(|| needed("a type \"udt\" without it".to_owned(), "a \"sqlType\""))?;
    let raw: RawType = serde_json::from_value(sql_type.clone())
        .map_err(|error| needed(format!("{error}"), "a \"sqlType\" that is a type"))?;
    let (stored_as, _) = convert(raw, column)?;
    let mut json = Map::new();
    json.insert("type".to_owned(), Value::String(object.r#type));
    json.extend(object.rest);
    json.insert("sqlType".to_owned(), sql_type);
    Ok(DataType::Foreign(Box::new(ForeignType {
        json: Value::Object(json),
        stored_as,
    })))
}

fn convert_fields(raw: Vec<RawField>, parent: &str) -> Result<StructType, SchemaError> {
    let mut seen: HashMap<String, usize> = HashMap::with_capacity(raw.len());
    let mut fields: Vec<StructField> = Vec::with_capacity(raw.len());
    for field in raw {
        if let Some(first) = seen.insert(field.name.to_lowercase(), fields.len()) {
            return Err(SchemaError::DuplicateColumn {
                parent: if parent.is_empty() {
                    "the table".to_owned()
                } else {
                    parent.to_owned()
                },
                first: fields[first].name.clone(),
                second: field.name,
            });
        }
        let (data_type, spelling) = convert(field.r#type, &column_path(parent, &field.name))?;
        let mut metadata = field.metadata.unwrap_or_default();
        if let Some(spelling) = spelling {
            metadata
                .entry(CHAR_VARCHAR_KEY)
                .or_insert(Value::String(spelling));
        }
        fields.push(StructField {
            name: field.name,
            data_type,
            nullable: field.nullable.unwrap_or(true),
            metadata,
        });
    }
    Ok(StructType { fields })
}

fn named(name: String, column: &str) -> Result<(DataType, Option<String>), SchemaError> {
    let primitive = match name.as_str() {
        "string" => PrimitiveType::String,
        "long" => PrimitiveType::Long,
        "integer" => PrimitiveType::Integer,
        "short" => PrimitiveType::Short,
        "byte" => PrimitiveType::Byte,
        "float" => PrimitiveType::Float,
        "double" => PrimitiveType::Double,
        "boolean" => PrimitiveType::Boolean,
        "binary" => PrimitiveType::Binary,
        "date" => PrimitiveType::Date,
        "timestamp" | "timestamp_ltz" => PrimitiveType::Timestamp,
        "timestamp_ntz" => PrimitiveType::TimestampNtz,
        "void" | "null" => PrimitiveType::Void,
        // Spark's DecimalType.USER_DEFAULT.
        "decimal" => PrimitiveType::Decimal {
            precision: 10,
            scale: 0,
        },
        "variant" => return Ok((DataType::Variant, None)),
        other => {
            if let Some(stored_as) = interval(other).or_else(|| shape(other)) {
                return Ok((
                    DataType::Foreign(Box::new(ForeignType {
                        json: Value::String(name),
                        stored_as: DataType::Primitive(stored_as),
                    })),
                    None,
                ));
            }
            if let Some(arguments) = arguments_of(other, "decimal") {
                let primitive = decimal(arguments).ok_or_else(|| SchemaError::InvalidDecimal {
                    column: column.to_owned(),
                    type_name: name.clone(),
                })?;
                return Ok((DataType::Primitive(primitive), None));
            }
            let length = arguments_of(other, "char").or_else(|| arguments_of(other, "varchar"));
            if length.is_some_and(|length| length.trim().parse::<u32>().is_ok()) {
                return Ok((DataType::Primitive(PrimitiveType::String), Some(name)));
            }
            return Err(SchemaError::UnknownType {
                column: column.to_owned(),
                type_name: name,
            });
        }
    };
    Ok((DataType::Primitive(primitive), None))
}

/// What an interval of that name is stored as: months as an integer, microseconds as a long.
fn interval(name: &str) -> Option<PrimitiveType> {
    const MONTHS: &[&str] = &["year", "month"];
    const MICROS: &[&str] = &["day", "hour", "minute", "second"];
    let range = name.strip_prefix("interval ")?;
    let (start, end) = range.split_once(" to ").unwrap_or((range, range));
    let is_of = |units: &[&str]| {
        let place = |wanted: &str| units.iter().position(|unit| *unit == wanted);
        matches!((place(start), place(end)), (Some(start), Some(end)) if start <= end)
    };
    match (is_of(MONTHS), is_of(MICROS)) {
        (true, _) => Some(PrimitiveType::Integer),
        (_, true) => Some(PrimitiveType::Long),
        _ => None,
    }
}

/// What a `geometry(CRS)` or a `geography(CRS, ALGORITHM)` is stored as: well-known binary.
fn shape(name: &str) -> Option<PrimitiveType> {
    let is_shape = ["geometry", "geography"]
        .iter()
        .any(|kind| arguments_of(name, kind).is_some());
    is_shape.then_some(PrimitiveType::Binary)
}

/// What stands between the brackets of `name(...)`.
fn arguments_of<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.strip_prefix(name)?
        .strip_prefix('(')?
        .strip_suffix(')')
}

fn decimal(arguments: &str) -> Option<PrimitiveType> {
    let (precision, scale) = arguments.split_once(',')?;
    let precision: u8 = precision.trim().parse().ok()?;
    let scale: u8 = scale.trim().parse().ok()?;
    ((1..=38).contains(&precision) && scale <= precision)
        .then_some(PrimitiveType::Decimal { precision, scale })
}
