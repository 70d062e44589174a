//! Partition columns that a file holds itself: proof that they hold what the log says.
//!
//! Delta takes partition values from the log, whatever the file holds. The bytes may be presented
//! only where the statistics of the file prove that both are the same.

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;

use crate::parquet::{Constant, Footer, Node, NodeKind, PhysicalType};
use crate::schema::{DataType, PrimitiveType, StructField, is_null_partition_value};

use super::Mismatch;

/// `Ok` only where every row of the column `node` provably holds `value`, a partition value of
/// `field` in its serialized form (PROTOCOL.md, "Partition Value Serialization").
pub(super) fn check(
    footer: &Footer,
    field: &StructField,
    node: &Node,
    value: Option<&str>,
) -> Result<(), Mismatch> {
    let proven = match (&field.data_type, &node.kind) {
        (DataType::Primitive(primitive), NodeKind::Leaf { physical, leaf }) => {
            match footer.constant(*leaf) {
                Some(Constant::NoRows) => true,
                Some(Constant::Null) => is_null_partition_value(value),
                Some(Constant::Value(stored)) => value
                    .filter(|text| !text.is_empty())
                    .and_then(|text| encode(text, *primitive, *physical))
                    .is_some_and(|encoded| encoded == stored),
                None => false,
            }
        }
        _ => false,
    };
    if proven {
        return Ok(());
    }
    Err(Mismatch {
        column: field.name.clone(),
        found: "values that its statistics do not prove to be the partition value".to_owned(),
        expected: match value.filter(|value| !value.is_empty()) {
            Some(value) => format!("the partition value {value:?} in every row"),
            None => "null in every row".to_owned(),
        },
    })
}

/// A partition value as statistics hold it: plainly encoded. `None` where the text is no such
/// value, and where it cannot be told which one it is: floating point, for which bounds prove
/// nothing, binary, and a timestamp without a zone, which is in that of the writer.
fn encode(text: &str, primitive: PrimitiveType, physical: PhysicalType) -> Option<Vec<u8>> {
    match primitive {
        PrimitiveType::String => Some(text.as_bytes().to_vec()),
        PrimitiveType::Boolean => match text {
            "true" => Some(vec![1]),
            "false" => Some(vec![0]),
            _ => None,
        },
        PrimitiveType::Byte => int32(text.parse::<i8>().ok()?.into()),
        PrimitiveType::Short => int32(text.parse::<i16>().ok()?.into()),
        PrimitiveType::Integer => int32(text.parse().ok()?),
        PrimitiveType::Long => int64(text.parse().ok()?),
        PrimitiveType::Date => int32(days(text)?),
        PrimitiveType::Timestamp => {
            let instant: jiff::Timestamp = text.parse().ok()?;
            whole_micros(instant)
        }
        PrimitiveType::TimestampNtz => {
            let wall_clock: DateTime = text.parse().ok()?;
            whole_micros(TimeZone::UTC.to_timestamp(wall_clock).ok()?)
        }
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
        PrimitiveType::Float
        | PrimitiveType::Double
        | PrimitiveType::Binary
        | PrimitiveType::Void => None,
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
    let date: Date = text.parse().ok()?;
    let epoch = Date::constant(1970, 1, 1);
    (date.duration_since(epoch).as_hours() / 24).try_into().ok()
}

fn whole_micros(instant: jiff::Timestamp) -> Option<Vec<u8>> {
    if instant.as_nanosecond() % 1_000 != 0 {
        return None;
    }
    int64(instant.as_microsecond())
}

/// The digits of a decimal number, with as many of them right of the point as `scale` says.
fn unscaled(text: &str, precision: u8, scale: u8) -> Option<i128> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let scale = usize::from(scale);
    if fraction.len() > scale
        || !(whole.bytes().chain(fraction.bytes())).all(|b| b.is_ascii_digit())
    {
        return None;
    }
    let number = format!("{whole}{fraction:0<scale$}");
    if number.trim_start_matches('0').len() > usize::from(precision) {
        return None;
    }
    let value: i128 = number.parse().ok()?;
    Some(if negative { -value } else { value })
}
