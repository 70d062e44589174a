//! Typed columns under construction.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryBuilder, BooleanBuilder, Date32Builder, Decimal128Builder, Float32Builder,
    Float64Builder, Int8Builder, Int16Builder, Int32Builder, Int64Builder, NullBufferBuilder,
    StringBuilder, StructArray, TimestampMicrosecondBuilder,
};
use arrow::datatypes::{DataType, Fields, TimeUnit};
use serde_json::value::RawValue;

use super::Object;
use super::value;
use crate::schema::PrimitiveType;

/// The Arrow type that becomes the Parquet type of PROTOCOL.md, "Delta Data Type to Parquet Type
/// Mappings".
pub(super) fn arrow_type(primitive: PrimitiveType) -> DataType {
    match primitive {
        PrimitiveType::String => DataType::Utf8,
        PrimitiveType::Long => DataType::Int64,
        PrimitiveType::Integer => DataType::Int32,
        PrimitiveType::Short => DataType::Int16,
        PrimitiveType::Byte => DataType::Int8,
        PrimitiveType::Float => DataType::Float32,
        PrimitiveType::Double => DataType::Float64,
        PrimitiveType::Decimal { precision, scale } => {
            DataType::Decimal128(precision, i8::try_from(scale).unwrap_or(i8::MAX))
        }
        PrimitiveType::Boolean => DataType::Boolean,
        PrimitiveType::Binary | PrimitiveType::Void => DataType::Binary,
        PrimitiveType::Date => DataType::Date32,
        PrimitiveType::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        PrimitiveType::TimestampNtz => DataType::Timestamp(TimeUnit::Microsecond, None),
    }
}

/// A leaf.
pub(super) enum Leaf {
    Text(StringBuilder),
    Bytes(BinaryBuilder),
    Flag(BooleanBuilder),
    Byte(Int8Builder),
    Short(Int16Builder),
    Int(Int32Builder),
    Long(Int64Builder),
    Float(Float32Builder),
    Double(Float64Builder),
    Decimal(Decimal128Builder, u8, u8),
    Date(Date32Builder),
    Timestamp(TimestampMicrosecondBuilder),
    TimestampNtz(TimestampMicrosecondBuilder),
}

impl Leaf {
    pub(super) fn of(data_type: &DataType) -> Result<Leaf, String> {
        Ok(match data_type {
            DataType::Utf8 => Leaf::Text(StringBuilder::new()),
            DataType::Binary => Leaf::Bytes(BinaryBuilder::new()),
            DataType::Boolean => Leaf::Flag(BooleanBuilder::new()),
            DataType::Int8 => Leaf::Byte(Int8Builder::new()),
            DataType::Int16 => Leaf::Short(Int16Builder::new()),
            DataType::Int32 => Leaf::Int(Int32Builder::new()),
            DataType::Int64 => Leaf::Long(Int64Builder::new()),
            DataType::Float32 => Leaf::Float(Float32Builder::new()),
            DataType::Float64 => Leaf::Double(Float64Builder::new()),
            DataType::Date32 => Leaf::Date(Date32Builder::new()),
            DataType::Decimal128(precision, scale) => {
                let builder = Decimal128Builder::new()
                    .with_precision_and_scale(*precision, *scale)
                    .map_err(|error| error.to_string())?;
                Leaf::Decimal(builder, *precision, u8::try_from(*scale).unwrap_or(0))
            }
            DataType::Timestamp(TimeUnit::Microsecond, zone) => {
                let builder = TimestampMicrosecondBuilder::new().with_timezone_opt(zone.clone());
                match zone {
                    Some(_) => Leaf::Timestamp(builder),
                    None => Leaf::TimestampNtz(builder),
                }
            }
            other => return Err(format!("no statistics have type {other}")),
        })
    }

    /// Takes a statistic; null where it is none of the type.
    fn push_json(&mut self, raw: Option<&RawValue>) {
        let raw = raw.map(RawValue::get);
        match self {
            Leaf::Text(builder) => builder.append_option(raw.and_then(value::text)),
            // Bounds of bytes are none that readers know.
            Leaf::Bytes(builder) => builder.append_null(),
            Leaf::Flag(builder) => builder.append_option(raw.and_then(|raw| raw.parse().ok())),
            Leaf::Byte(builder) => builder.append_option(raw.and_then(|raw| raw.parse().ok())),
            Leaf::Short(builder) => builder.append_option(raw.and_then(|raw| raw.parse().ok())),
            Leaf::Int(builder) => builder.append_option(raw.and_then(|raw| raw.parse().ok())),
            Leaf::Long(builder) => builder.append_option(raw.and_then(|raw| raw.parse().ok())),
            Leaf::Float(builder) => {
                builder.append_option(raw.and_then(value::unquoted).and_then(|t| t.parse().ok()));
            }
            Leaf::Double(builder) => {
                builder.append_option(raw.and_then(value::unquoted).and_then(|t| t.parse().ok()));
            }
            Leaf::Decimal(builder, precision, scale) => {
                let unscaled = raw
                    .and_then(value::unquoted)
                    .and_then(|text| value::decimal(&text, *precision, *scale));
                builder.append_option(unscaled);
            }
            Leaf::Date(builder) => {
                builder.append_option(raw.and_then(value::text).and_then(|t| value::days(&t)));
            }
            Leaf::Timestamp(builder) => {
                builder.append_option(raw.and_then(value::text).and_then(|t| value::instant(&t)));
            }
            Leaf::TimestampNtz(builder) => {
                let micros = raw
                    .and_then(value::text)
                    .and_then(|t| value::wall_clock(&t));
                builder.append_option(micros);
            }
        }
    }

    /// Takes a partition value in its serialized form (PROTOCOL.md, "Partition Value
    /// Serialization"); a timestamp without zone is in UTC. Answers whether it is one.
    pub(super) fn push_partition_value(
        &mut self,
        text: Option<&str>,
        primitive: PrimitiveType,
    ) -> bool {
        macro_rules! push {
            ($builder:expr, $parsed:expr) => {{
                let parsed = text.map($parsed);
                let is_one = !matches!(parsed, Some(None));
                $builder.append_option(parsed.flatten());
                is_one
            }};
        }
        match self {
            Leaf::Text(builder) => push!(builder, Some),
            Leaf::Bytes(builder) => push!(builder, |text: &str| {
                (primitive == PrimitiveType::Binary).then(|| text.as_bytes().to_vec())
            }),
            Leaf::Flag(builder) => push!(builder, |text: &str| match text {
                _ if text.eq_ignore_ascii_case("true") => Some(true),
                _ if text.eq_ignore_ascii_case("false") => Some(false),
                _ => None,
            }),
            Leaf::Byte(builder) => push!(builder, |text: &str| text.parse().ok()),
            Leaf::Short(builder) => push!(builder, |text: &str| text.parse().ok()),
            Leaf::Int(builder) => push!(builder, |text: &str| text.parse().ok()),
            Leaf::Long(builder) => push!(builder, |text: &str| text.parse().ok()),
            Leaf::Float(builder) => push!(builder, |text: &str| text.parse().ok()),
            Leaf::Double(builder) => push!(builder, |text: &str| text.parse().ok()),
            Leaf::Decimal(builder, precision, scale) => {
                push!(builder, |text| value::decimal(text, *precision, *scale))
            }
            Leaf::Date(builder) => push!(builder, value::days),
            Leaf::Timestamp(builder) => push!(builder, value::partition_timestamp),
            Leaf::TimestampNtz(builder) => push!(builder, value::wall_clock),
        }
    }

    pub(super) fn finish(&mut self) -> ArrayRef {
        match self {
            Leaf::Text(builder) => Arc::new(builder.finish()),
            Leaf::Bytes(builder) => Arc::new(builder.finish()),
            Leaf::Flag(builder) => Arc::new(builder.finish()),
            Leaf::Byte(builder) => Arc::new(builder.finish()),
            Leaf::Short(builder) => Arc::new(builder.finish()),
            Leaf::Int(builder) => Arc::new(builder.finish()),
            Leaf::Long(builder) => Arc::new(builder.finish()),
            Leaf::Float(builder) => Arc::new(builder.finish()),
            Leaf::Double(builder) => Arc::new(builder.finish()),
            Leaf::Decimal(builder, ..) => Arc::new(builder.finish()),
            Leaf::Date(builder) => Arc::new(builder.finish()),
            Leaf::Timestamp(builder) | Leaf::TimestampNtz(builder) => Arc::new(builder.finish()),
        }
    }
}

/// A leaf, or a struct of columns.
pub(super) enum Column {
    Leaf(Leaf),
    Struct {
        fields: Fields,
        children: Vec<Column>,
        present: Vec<bool>,
    },
}

impl Column {
    pub(super) fn of(data_type: &DataType) -> Result<Column, String> {
        match data_type {
            DataType::Struct(fields) => Ok(Column::Struct {
                fields: fields.clone(),
                children: fields
                    .iter()
                    .map(|field| Column::of(field.data_type()))
                    .collect::<Result<_, _>>()?,
                present: Vec::new(),
            }),
            leaf => Leaf::of(leaf).map(Column::Leaf),
        }
    }

    /// Takes the statistic of one file, if there is one.
    pub(super) fn push(&mut self, raw: Option<&RawValue>) {
        match self {
            Column::Leaf(leaf) => leaf.push_json(raw),
            Column::Struct {
                fields,
                children,
                present,
            } => {
                let object = raw.and_then(|raw| serde_json::from_str::<Object<'_>>(raw.get()).ok());
                present.push(object.is_some());
                for (field, child) in fields.iter().zip(children) {
                    let value = object.as_ref().and_then(|o| o.get(&**field.name()));
                    child.push(value.copied());
                }
            }
        }
    }

    pub(super) fn finish(&mut self) -> Result<ArrayRef, String> {
        match self {
            Column::Leaf(leaf) => Ok(leaf.finish()),
            Column::Struct {
                fields,
                children,
                present,
            } => {
                let mut nulls = NullBufferBuilder::new(present.len());
                present.drain(..).for_each(|present| nulls.append(present));
                let arrays = children.iter_mut().map(Column::finish);
                let arrays = arrays.collect::<Result<Vec<_>, String>>()?;
                StructArray::try_new(fields.clone(), arrays, nulls.finish())
                    .map(|array| Arc::new(array) as ArrayRef)
                    .map_err(|error| error.to_string())
            }
        }
    }
}
