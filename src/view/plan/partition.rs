//! Partition columns as columns of a file: one value in every row.

use jiff::civil::{Date, DateTime};

use crate::parquet::{LeafSource, OutputKind, OutputNode, PhysicalType, Repetition};
use crate::schema::{DataType, PrimitiveType, StructField, is_null_partition_value};

use super::super::identity::Mismatch;
use super::leaf;

/// The column `field` with `value`, in its serialized form, in every row.
pub(super) fn column(
    field: &StructField,
    id: Option<i32>,
    value: Option<&str>,
) -> Result<OutputNode, Mismatch> {
    let refused = |found: String| Mismatch {
        column: field.name.clone(),
        found,
        expected: format!("a partition value of type {}", field.data_type),
    };
    let DataType::Primitive(primitive) = field.data_type else {
        return Err(refused("a partition column with parts".to_owned()));
    };
    let (annotation, physical) = leaf::storage(primitive)
        .ok_or_else(|| refused("a partition column of type void".to_owned()))?;
    let text = value.filter(|_| !is_null_partition_value(value));
    let (repetition, source) = match text {
        None => (Repetition::Optional, LeafSource::Null { definition: 0 }),
        Some(text) => {
            let encoded = encode(text, primitive, physical)
                .ok_or_else(|| refused(format!("the value {text:?} in the log")))?;
            let repetition = match field.nullable {
                true => Repetition::Optional,
                false => Repetition::Required,
            };
            (repetition, LeafSource::Constant(encoded.into()))
        }
    };
    Ok(OutputNode {
        name: field.name.clone(),
        id,
        repetition,
        annotation,
        kind: OutputKind::Leaf { physical, source },
    })
}

/// A partition value, plainly encoded as it would be in a file: numbers little-endian, decimals of
/// fixed length big-endian. `None` where the text is no such value.
///
/// PROTOCOL.md, "Partition Value Serialization". Beyond it: numbers as Java prints them
/// (`Infinity`, `1.0E10`), and a timestamp in ISO 8601, with or without zone; without one it is in
/// UTC. Binary values are the bytes of the text in UTF-8, as Spark casts them.
pub(in crate::view) fn encode(
    text: &str,
    primitive: PrimitiveType,
    physical: PhysicalType,
) -> Option<Vec<u8>> {
    match primitive {
        PrimitiveType::String | PrimitiveType::Binary => Some(text.as_bytes().to_vec()),
        PrimitiveType::Boolean => match text {
            _ if text.eq_ignore_ascii_case("true") => Some(vec![1]),
            _ if text.eq_ignore_ascii_case("false") => Some(vec![0]),
            _ => None,
        },
        PrimitiveType::Byte => int32(text.parse::<i8>().ok()?.into()),
        PrimitiveType::Short => int32(text.parse::<i16>().ok()?.into()),
        PrimitiveType::Integer => int32(text.parse().ok()?),
        PrimitiveType::Long => int64(text.parse().ok()?),
        PrimitiveType::Float => Some(text.parse::<f32>().ok()?.to_le_bytes().to_vec()),
        PrimitiveType::Double => Some(text.parse::<f64>().ok()?.to_le_bytes().to_vec()),
        PrimitiveType::Date => int32(days(text)?),
        // The instants that the library knows end a day before the year 9999 does; wall clocks do not.
        PrimitiveType::Timestamp => match text.strip_suffix('Z') {
            Some(in_utc) => wall_clock(in_utc),
            None => wall_clock(text).or_else(|| whole_micros(text.parse().ok()?)),
        },
        PrimitiveType::TimestampNtz => wall_clock(text),
        PrimitiveType::Decimal { precision, scale } => {
            let unscaled = unscaled(text, precision, scale)?;
            match physical {
                PhysicalType::Int32 => int32(unscaled.try_into().ok()?),
                PhysicalType::Int64 => int64(unscaled.try_into().ok()?),
                PhysicalType::FixedLenByteArray(length) => {
                    let bytes = unscaled.to_be_bytes();
                    let start = bytes.len().checked_sub(usize::try_from(length).ok()?)?;
                    // What is cut off repeats the sign, since the precision fits the length.
                    Some(bytes[start..].to_vec())
                }
                _ => None,
            }
        }
        PrimitiveType::Void => None,
    }
}

fn int32(value: i32) -> Option<Vec<u8>> {
    Some(value.to_le_bytes().to_vec())
}

fn int64(value: i64) -> Option<Vec<u8>> {
    Some(value.to_le_bytes().to_vec())
}

fn days(text: &str) -> Option<i32> {
    // Nothing but a date: other texts that parse as one have more to them.
    if text.len() != "1970-01-01".len() {
        return None;
    }
    day_number(text.parse().ok()?)
}

/// Days since the epoch.
fn day_number(date: Date) -> Option<i32> {
    let epoch = Date::constant(1970, 1, 1);
    (date.duration_since(epoch).as_hours() / 24).try_into().ok()
}

fn wall_clock(text: &str) -> Option<Vec<u8>> {
    // An offset would be passed over.
    let (_, time) = text.split_once(['T', 't', ' ']).unwrap_or((text, ""));
    if time.contains(['+', '-', 'Z', 'z', '[']) {
        return None;
    }
    let wall_clock: DateTime = text.parse().ok()?;
    let time = wall_clock.time();
    let second =
        i64::from(time.hour()) * 3600 + i64::from(time.minute()) * 60 + i64::from(time.second());
    let nanosecond = i64::from(time.subsec_nanosecond());
    if nanosecond % 1_000 != 0 {
        return None;
    }
    let day = i64::from(day_number(wall_clock.date())?);
    int64((day * 86_400 + second) * 1_000_000 + nanosecond / 1_000)
}

fn whole_micros(instant: jiff::Timestamp) -> Option<Vec<u8>> {
    if instant.as_nanosecond() % 1_000 != 0 {
        return None;
    }
    int64(instant.as_microsecond())
}

/// The digits of a decimal number, with as many of them right of the point as `scale` says.
/// Digits beyond them are zero.
fn unscaled(text: &str, precision: u8, scale: u8) -> Option<i128> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let scale = usize::from(scale);
    let kept = fraction.trim_end_matches('0');
    if kept.len() > scale
        || whole.len() + fraction.len() == 0
        || !(whole.bytes().chain(fraction.bytes())).all(|b| b.is_ascii_digit())
    {
        return None;
    }
    let number = format!("{whole}{kept:0<scale$}");
    if number.trim_start_matches('0').len() > usize::from(precision) {
        return None;
    }
    let value: i128 = number.parse().ok()?;
    Some(if negative { -value } else { value })
}
