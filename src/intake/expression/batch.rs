//! Values out of Arrow arrays, and arrays out of values.

use std::borrow::Cow;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, BinaryArray, BinaryBuilder, BinaryViewArray, BooleanArray, Date32Array,
    Decimal128Array, FixedSizeBinaryArray, Float32Array, Float64Array, Int8Array, Int16Array,
    Int32Array, Int64Array, LargeBinaryArray, LargeStringArray, NullArray, StringArray,
    StringBuilder, StringViewArray, TimestampMicrosecondArray, TimestampMillisecondArray,
    TimestampNanosecondArray, TimestampSecondArray,
};
use arrow::datatypes::{DataType as Arrow, TimeUnit};

use super::cast::Failure;
use super::evaluate::Evaluated;
use super::tree::Value;
use crate::schema::{DataType, PrimitiveType};

use PrimitiveType as P;

/// The most bytes of text in one array that is made: its offsets have 31 bits.
const MAX_TEXT: usize = 1 << 30;

/// Whether an array of type `found` holds values of a column of type `wanted`. A narrower type of
/// the same kind does.
pub(super) fn holds(found: &Arrow, wanted: &DataType) -> bool {
    let primitive = match wanted {
        DataType::Primitive(primitive) => *primitive,
        DataType::Struct(fields) => {
            let Arrow::Struct(found) = found else {
                return false;
            };
            return fields.fields.iter().all(|field| {
                let mut found = found.iter();
                let found = found.find(|found| *found.name() == field.name);
                found.is_some_and(|found| holds(found.data_type(), &field.data_type))
            });
        }
        DataType::Array(array) => {
            return matches!(found, Arrow::List(item) if holds(item.data_type(), &array.element_type));
        }
        DataType::Map(map) => {
            let Arrow::Map(entries, _) = found else {
                return false;
            };
            let Arrow::Struct(entries) = entries.data_type() else {
                return false;
            };
            return match &entries[..] {
                [key, value] => {
                    holds(key.data_type(), &map.key_type)
                        && holds(value.data_type(), &map.value_type)
                }
                _ => false,
            };
        }
        // Only ever asked whether it is null.
        DataType::Variant => return true,
        DataType::Foreign(foreign) => return holds(found, &foreign.stored_as),
    };
    match primitive {
        P::Void => true,
        P::Boolean => matches!(found, Arrow::Boolean),
        P::Byte => matches!(found, Arrow::Int8),
        P::Short => matches!(found, Arrow::Int8 | Arrow::Int16),
        P::Integer => matches!(found, Arrow::Int8 | Arrow::Int16 | Arrow::Int32),
        P::Long => matches!(
            found,
            Arrow::Int8 | Arrow::Int16 | Arrow::Int32 | Arrow::Int64
        ),
        P::Float => matches!(found, Arrow::Float32),
        P::Double => matches!(found, Arrow::Float32 | Arrow::Float64),
        P::Decimal { precision, scale } => matches!(
            found,
            Arrow::Decimal128(p, s) if *p <= precision && i16::from(*s) == i16::from(scale)
        ),
        P::String => matches!(found, Arrow::Utf8 | Arrow::LargeUtf8 | Arrow::Utf8View),
        P::Binary => matches!(
            found,
            Arrow::Binary | Arrow::LargeBinary | Arrow::BinaryView | Arrow::FixedSizeBinary(_)
        ),
        P::Date => matches!(found, Arrow::Date32),
        P::Timestamp | P::TimestampNtz => matches!(found, Arrow::Timestamp(..)),
    }
}

/// The value in that row of an array that [`holds`] values of the type.
pub(super) fn read<'a>(array: &'a ArrayRef, row: usize, data_type: &DataType) -> Evaluated<'a> {
    if row >= array.len() {
        return Err("the row is missing".into());
    }
    if array.is_null(row) {
        return Ok(Value::Null);
    }
    let any = array.as_any();
    macro_rules! at {
        ($array:ty) => {
            any.downcast_ref::<$array>().map(|array| array.value(row))
        };
    }
    let value = match array.data_type() {
        Arrow::Null => Some(Value::Null),
        Arrow::Boolean => at!(BooleanArray).map(Value::Boolean),
        Arrow::Int8 => at!(Int8Array).map(|value| Value::Integer(value.into())),
        Arrow::Int16 => at!(Int16Array).map(|value| Value::Integer(value.into())),
        Arrow::Int32 => at!(Int32Array).map(|value| Value::Integer(value.into())),
        Arrow::Int64 => at!(Int64Array).map(Value::Integer),
        Arrow::Date32 => at!(Date32Array).map(|value| Value::Integer(value.into())),
        Arrow::Float32 => at!(Float32Array).map(|value| Value::Float(value.into())),
        Arrow::Float64 => at!(Float64Array).map(Value::Float),
        Arrow::Decimal128(..) => at!(Decimal128Array).map(Value::Decimal),
        Arrow::Utf8 => at!(StringArray).map(text),
        Arrow::LargeUtf8 => at!(LargeStringArray).map(text),
        Arrow::Utf8View => at!(StringViewArray).map(text),
        Arrow::Binary => at!(BinaryArray).map(bytes),
        Arrow::LargeBinary => at!(LargeBinaryArray).map(bytes),
        Arrow::BinaryView => at!(BinaryViewArray).map(bytes),
        Arrow::FixedSizeBinary(_) => at!(FixedSizeBinaryArray).map(bytes),
        Arrow::Timestamp(unit, _) => {
            let scaled = |value: Option<i64>, factor| value?.checked_mul(factor);
            let micros = match unit {
                TimeUnit::Second => scaled(at!(TimestampSecondArray), 1_000_000),
                TimeUnit::Millisecond => scaled(at!(TimestampMillisecondArray), 1_000),
                TimeUnit::Microsecond => at!(TimestampMicrosecondArray),
                TimeUnit::Nanosecond => at!(TimestampNanosecondArray)
                    .filter(|nanos| nanos % 1_000 == 0)
                    .map(|nanos| nanos / 1_000),
            };
            return micros
                .map(Value::Integer)
                .ok_or_else(|| "a timestamp is no whole number of microseconds".into());
        }
        Arrow::Struct(_) | Arrow::List(_) | Arrow::Map(..) => Some(Value::Nested(array, row)),
        _ => None,
    };
    value.ok_or_else(|| {
        let found = array.data_type();
        format!("an array of {found} holds no values of {data_type}").into()
    })
}

fn text(text: &str) -> Value<'_> {
    Value::Text(Cow::Borrowed(text))
}

fn bytes(bytes: &[u8]) -> Value<'_> {
    Value::Bytes(Cow::Borrowed(bytes))
}

/// The array of values of a primitive type.
pub(super) fn array(values: &[Value<'_>], primitive: PrimitiveType) -> Result<ArrayRef, Failure> {
    let whole = values.iter().map(|value| match value {
        Value::Integer(value) => Some(*value),
        _ => None,
    });
    let floats = values.iter().map(|value| match value {
        Value::Float(value) => Some(*value),
        _ => None,
    });
    // Values of a type are in its range: every operation sees to that.
    macro_rules! whole {
        ($array:ty, $native:ty) => {
            Arc::new(
                whole
                    .map(|value| value.map(|value| value as $native))
                    .collect::<$array>(),
            )
        };
    }
    Ok(match primitive {
        P::Void => Arc::new(NullArray::new(values.len())),
        P::Boolean => {
            let values = values.iter().map(|value| match value {
                Value::Boolean(value) => Some(*value),
                _ => None,
            });
            Arc::new(values.collect::<BooleanArray>())
        }
        P::Byte => whole!(Int8Array, i8),
        P::Short => whole!(Int16Array, i16),
        P::Integer => whole!(Int32Array, i32),
        P::Long => Arc::new(whole.collect::<Int64Array>()),
        P::Date => whole!(Date32Array, i32),
        P::TimestampNtz => Arc::new(whole.collect::<TimestampMicrosecondArray>()),
        P::Timestamp => {
            let array = whole.collect::<TimestampMicrosecondArray>();
            Arc::new(array.with_timezone("UTC"))
        }
        P::Float => {
            let floats = floats.map(|value| value.map(|value| value as f32));
            Arc::new(floats.collect::<Float32Array>())
        }
        P::Double => Arc::new(floats.collect::<Float64Array>()),
        P::Decimal { precision, scale } => {
            let values = values.iter().map(|value| match value {
                Value::Decimal(value) => Some(*value),
                _ => None,
            });
            let array = values.collect::<Decimal128Array>();
            let array = array.with_precision_and_scale(precision, scale as i8);
            Arc::new(array.map_err(|error| error.to_string())?)
        }
        P::String => {
            let texts = values.iter().map(|value| match value {
                Value::Text(text) => Some(text.as_bytes()),
                _ => None,
            });
            let mut builder = StringBuilder::with_capacity(values.len(), bounded(texts)?);
            for value in values {
                match value {
                    Value::Text(text) => builder.append_value(text),
                    _ => builder.append_null(),
                }
            }
            Arc::new(builder.finish())
        }
        P::Binary => {
            let values = values.iter().map(|value| match value {
                Value::Bytes(bytes) => Some(&bytes[..]),
                _ => None,
            });
            let mut builder = BinaryBuilder::with_capacity(values.len(), bounded(values.clone())?);
            values.for_each(|value| builder.append_option(value));
            Arc::new(builder.finish())
        }
    })
}

/// The bytes of all values, which one array can hold.
fn bounded<'v>(values: impl Iterator<Item = Option<&'v [u8]>>) -> Result<usize, Failure> {
    let size = values.flatten().map(<[u8]>::len).sum();
    match size <= MAX_TEXT {
        true => Ok(size),
        false => Err(format!("the values have {size} bytes, of which an array holds 1 GiB").into()),
    }
}
