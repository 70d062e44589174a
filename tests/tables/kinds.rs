//! Types of a table, and how Delta and Arrow spell them.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field as ArrowField, Fields, TimeUnit};
use serde_json::{Value as Json, json};

/// A type without parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Primitive {
    Boolean,
    Byte,
    Short,
    Integer,
    Long,
    Float,
    Double,
    Decimal(u8, i8),
    String,
    Binary,
    Date,
    Timestamp,
    TimestampNtz,
}

/// Any type.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    Primitive(Primitive),
    Struct(Vec<Field>),
    List(Box<Part>),
    Map(Primitive, Box<Part>),
}

/// A type and whether null is a value of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    pub kind: Kind,
    pub nullable: bool,
}

/// A field of a struct or a column of the table. Two fields are the same when their ids are.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    pub id: i32,
    pub name: String,
    pub physical: String,
    pub part: Part,
}

/// How columns are found in data files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mapping {
    None,
    Name,
    Id,
}

/// How a data file spells types.
#[derive(Debug, Clone, Copy)]
pub struct Spelling {
    pub mapping: Mapping,
    /// Whether the fields have ids.
    pub ids: bool,
    /// The unit of timestamps.
    pub unit: TimeUnit,
    /// Whether everything may be null.
    pub optional: bool,
    /// The name of elements of lists.
    pub element: &'static str,
}

impl Primitive {
    pub fn delta(self) -> Json {
        json!(match self {
            Primitive::Boolean => "boolean",
            Primitive::Byte => "byte",
            Primitive::Short => "short",
            Primitive::Integer => "integer",
            Primitive::Long => "long",
            Primitive::Float => "float",
            Primitive::Double => "double",
            Primitive::Decimal(precision, scale) =>
                return json!(format!("decimal({precision},{scale})")),
            Primitive::String => "string",
            Primitive::Binary => "binary",
            Primitive::Date => "date",
            Primitive::Timestamp => "timestamp",
            Primitive::TimestampNtz => "timestamp_ntz",
        })
    }

    pub fn arrow(self, unit: TimeUnit) -> DataType {
        match self {
            Primitive::Boolean => DataType::Boolean,
            Primitive::Byte => DataType::Int8,
            Primitive::Short => DataType::Int16,
            Primitive::Integer => DataType::Int32,
            Primitive::Long => DataType::Int64,
            Primitive::Float => DataType::Float32,
            Primitive::Double => DataType::Float64,
            Primitive::Decimal(precision, scale) => DataType::Decimal128(precision, scale),
            Primitive::String => DataType::Utf8,
            Primitive::Binary => DataType::Binary,
            Primitive::Date => DataType::Date32,
            Primitive::Timestamp => DataType::Timestamp(unit, Some("UTC".into())),
            Primitive::TimestampNtz => DataType::Timestamp(unit, None),
        }
    }

    /// The types that a column may be widened to next (PROTOCOL.md, "Type Widening").
    pub fn wider(self, digits: u8, places: u8) -> Vec<Primitive> {
        let places = places % 4;
        let more = digits % 4 + places;
        let decimal = |precision: u8, scale: u8| match precision {
            ..=38 => Some(Primitive::Decimal(precision, scale as i8)),
            _ => None,
        };
        match self {
            Primitive::Byte => vec![
                Some(Primitive::Short),
                Some(Primitive::Integer),
                Some(Primitive::Long),
                Some(Primitive::Double),
                decimal(10 + more, places),
            ],
            Primitive::Short => vec![
                Some(Primitive::Integer),
                Some(Primitive::Long),
                Some(Primitive::Double),
                decimal(10 + more, places),
            ],
            Primitive::Integer => vec![
                Some(Primitive::Long),
                Some(Primitive::Double),
                decimal(10 + more, places),
            ],
            Primitive::Long => vec![decimal(20 + more, places)],
            Primitive::Float => vec![Some(Primitive::Double)],
            Primitive::Date => vec![Some(Primitive::TimestampNtz)],
            Primitive::Decimal(precision, scale) => {
                vec![decimal(precision + more, scale as u8 + places)]
            }
            _ => vec![],
        }
        .into_iter()
        .flatten()
        .collect()
    }
}

impl Part {
    /// A type without parts that may be null.
    pub fn of(primitive: Primitive) -> Part {
        Part {
            kind: Kind::Primitive(primitive),
            nullable: true,
        }
    }

    /// A list that may be null.
    pub fn list(element: Part) -> Part {
        Part {
            kind: Kind::List(Box::new(element)),
            nullable: true,
        }
    }

    /// A map from integers that may be null.
    pub fn map(value: Part) -> Part {
        Part {
            kind: Kind::Map(Primitive::Integer, Box::new(value)),
            nullable: true,
        }
    }

    /// A struct that may be null. Its fields get names and ids when a table is made.
    pub fn structure(parts: Vec<Part>) -> Part {
        let unnamed = |part| Field {
            id: 0,
            name: String::new(),
            physical: String::new(),
            part,
        };
        Part {
            kind: Kind::Struct(parts.into_iter().map(unnamed).collect()),
            nullable: true,
        }
    }
}

impl Kind {
    /// The JSON form of the type in the table's schema.
    pub fn delta(&self) -> Json {
        match self {
            Kind::Primitive(primitive) => primitive.delta(),
            Kind::Struct(fields) => delta_struct(fields),
            Kind::List(element) => json!({
                "type": "array",
                "elementType": element.kind.delta(),
                "containsNull": element.nullable,
            }),
            Kind::Map(key, value) => json!({
                "type": "map",
                "keyType": key.delta(),
                "valueType": value.kind.delta(),
                "valueContainsNull": value.nullable,
            }),
        }
    }

    /// The type in a data file.
    pub fn arrow(&self, spelling: Spelling) -> DataType {
        match self {
            Kind::Primitive(primitive) => primitive.arrow(spelling.unit),
            Kind::Struct(fields) => DataType::Struct(arrow_fields(fields, spelling)),
            Kind::List(element) => DataType::List(Arc::new(ArrowField::new(
                spelling.element,
                element.kind.arrow(spelling),
                element.nullable || spelling.optional,
            ))),
            Kind::Map(key, value) => {
                let entries = vec![
                    ArrowField::new("key", key.arrow(spelling.unit), false),
                    ArrowField::new(
                        "value",
                        value.kind.arrow(spelling),
                        value.nullable || spelling.optional,
                    ),
                ];
                let entries = DataType::Struct(entries.into());
                DataType::Map(
                    Arc::new(ArrowField::new("key_value", entries, false)),
                    false,
                )
            }
        }
    }

    /// Whether a reader that sees `found` sees this type, with the logical names.
    pub fn is_seen_as(&self, found: &DataType) -> bool {
        match (self, found) {
            (Kind::Primitive(primitive), _) => primitive.arrow(TimeUnit::Microsecond) == *found,
            (Kind::Struct(fields), DataType::Struct(found)) => are_seen_as(fields, found),
            (Kind::List(element), DataType::List(found)) => {
                element.kind.is_seen_as(found.data_type())
            }
            (Kind::Map(key, value), DataType::Map(entries, _)) => match entries.data_type() {
                DataType::Struct(entries) if entries.len() == 2 => {
                    key.arrow(TimeUnit::Microsecond) == *entries[0].data_type()
                        && value.kind.is_seen_as(entries[1].data_type())
                }
                _ => false,
            },
            _ => false,
        }
    }
}

/// Whether a reader that sees `found` sees `fields`: names, order and types.
pub fn are_seen_as(fields: &[Field], found: &Fields) -> bool {
    fields.len() == found.len()
        && fields.iter().zip(found).all(|(field, found)| {
            field.name == *found.name() && field.part.kind.is_seen_as(found.data_type())
        })
}

/// A struct in the table's schema, or the schema itself.
pub fn delta_struct(fields: &[Field]) -> Json {
    let fields: Vec<Json> = fields
        .iter()
        .map(|field| {
            json!({
                "name": field.name,
                "type": field.part.kind.delta(),
                "nullable": field.part.nullable,
                "metadata": {
                    "delta.columnMapping.id": field.id,
                    "delta.columnMapping.physicalName": field.physical,
                },
            })
        })
        .collect();
    json!({"type": "struct", "fields": fields})
}

/// Fields in a data file.
pub fn arrow_fields(fields: &[Field], spelling: Spelling) -> Fields {
    fields
        .iter()
        .map(|field| {
            let name = match spelling.mapping {
                Mapping::None => &field.name,
                Mapping::Name | Mapping::Id => &field.physical,
            };
            let nullable = field.part.nullable || spelling.optional;
            let made = ArrowField::new(name, field.part.kind.arrow(spelling), nullable);
            let id = ("PARQUET:field_id".to_owned(), field.id.to_string());
            match spelling.ids {
                true => made.with_metadata(HashMap::from([id])),
                false => made,
            }
        })
        .collect()
}
