//! Single partition values: from texts, from arrays, and back.
//!
//! The serialized form is unique: two values are equal exactly when their texts are.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryArray, BooleanArray, Date32Array, Decimal128Array,
    Float32Array, Float64Array, Int8Array, Int16Array, Int32Array, Int64Array, StringArray,
    TimestampMicrosecondArray, new_null_array,
};
use arrow::datatypes::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, TimestampMicrosecondType,
};
use jiff::civil::{Date, DateTime, Time};

use super::Value;
use crate::intake::types::arrow_type;
use crate::parquet::PhysicalType;
use crate::schema::{self, PartitionValue, PrimitiveType};

/// The value that a directory name stands for, serialized; the outer `None` where it is no value of
/// the type. The empty text is null.
///
/// Taken are the forms of PROTOCOL.md, and beyond them: numbers with leading zeros or a sign, and
/// timestamps with any offset; without one they are in UTC. Nothing is cut off, as it is where a log
/// is read: a time behind a date, and what is below a microsecond.
pub(in crate::intake) fn canonical(text: &str, primitive: PrimitiveType) -> Option<Value> {
    if text.is_empty() {
        return Some(None);
    }
    let value = match primitive {
        PrimitiveType::Date => PartitionValue::Days(schema::days(text)?),
        PrimitiveType::Timestamp => PartitionValue::Micros(schema::partition_timestamp(text)?),
        PrimitiveType::TimestampNtz => PartitionValue::Micros(schema::wall_clock(text)?),
        _ => PartitionValue::parse(text, primitive)?,
    };
    written(&value, primitive)
}

/// The value at `row` of an array of the type's Arrow type, serialized; the outer `None` where it
/// cannot be.
pub(in crate::intake) fn serialized(
    array: &ArrayRef,
    row: usize,
    primitive: PrimitiveType,
) -> Option<Value> {
    if array.is_null(row) {
        return Some(None);
    }
    let typed = match primitive {
        PrimitiveType::String => {
            PartitionValue::Text(array.as_string_opt::<i32>()?.value(row).to_owned())
        }
        PrimitiveType::Binary => {
            let bytes = array.as_binary_opt::<i32>()?.value(row);
            PartitionValue::Text(std::str::from_utf8(bytes).ok()?.to_owned())
        }
        PrimitiveType::Boolean => PartitionValue::Boolean(array.as_boolean_opt()?.value(row)),
        PrimitiveType::Byte => {
            PartitionValue::Integer(array.as_primitive_opt::<Int8Type>()?.value(row).into())
        }
        PrimitiveType::Short => {
            PartitionValue::Integer(array.as_primitive_opt::<Int16Type>()?.value(row).into())
        }
        PrimitiveType::Integer => {
            PartitionValue::Integer(array.as_primitive_opt::<Int32Type>()?.value(row).into())
        }
        PrimitiveType::Long => {
            PartitionValue::Integer(array.as_primitive_opt::<Int64Type>()?.value(row))
        }
        PrimitiveType::Float => {
            PartitionValue::Float(array.as_primitive_opt::<Float32Type>()?.value(row))
        }
        PrimitiveType::Double => {
            PartitionValue::Double(array.as_primitive_opt::<Float64Type>()?.value(row))
        }
        PrimitiveType::Decimal { .. } => {
            PartitionValue::Decimal(array.as_primitive_opt::<Decimal128Type>()?.value(row))
        }
        PrimitiveType::Date => {
            PartitionValue::Days(array.as_primitive_opt::<Date32Type>()?.value(row))
        }
        PrimitiveType::Timestamp | PrimitiveType::TimestampNtz => {
            let micros = array.as_primitive_opt::<TimestampMicrosecondType>()?;
            PartitionValue::Micros(micros.value(row))
        }
        PrimitiveType::Void => return None,
    };
    written(&typed, primitive)
}

/// A serialized value in `rows` rows of the type's Arrow type. `None` where it is no value of it.
pub(in crate::intake) fn array_of(
    value: &Value,
    primitive: PrimitiveType,
    rows: usize,
) -> Option<ArrayRef> {
    let target = arrow_type(primitive);
    let Some(text) = value else {
        return Some(new_null_array(&target, rows));
    };
    let array: ArrayRef = match (PartitionValue::parse(text, primitive)?, primitive) {
        (PartitionValue::Text(text), PrimitiveType::Binary) => Arc::new(
            BinaryArray::from_iter_values(std::iter::repeat_n(text, rows)),
        ),
        (PartitionValue::Text(text), _) => Arc::new(StringArray::from_iter_values(
            std::iter::repeat_n(text, rows),
        )),
        (PartitionValue::Integer(number), PrimitiveType::Byte) => {
            Arc::new(Int8Array::from_value(number.try_into().ok()?, rows))
        }
        (PartitionValue::Integer(number), PrimitiveType::Short) => {
            Arc::new(Int16Array::from_value(number.try_into().ok()?, rows))
        }
        (PartitionValue::Integer(number), PrimitiveType::Integer) => {
            Arc::new(Int32Array::from_value(number.try_into().ok()?, rows))
        }
        (PartitionValue::Integer(number), _) => Arc::new(Int64Array::from_value(number, rows)),
        (PartitionValue::Float(number), _) => Arc::new(Float32Array::from_value(number, rows)),
        (PartitionValue::Double(number), _) => Arc::new(Float64Array::from_value(number, rows)),
        (PartitionValue::Decimal(unscaled), _) => {
            Arc::new(Decimal128Array::from_value(unscaled, rows).with_data_type(target))
        }
        (PartitionValue::Boolean(value), _) => Arc::new(BooleanArray::from(vec![value; rows])),
        (PartitionValue::Days(days), _) => Arc::new(Date32Array::from_value(days, rows)),
        (PartitionValue::Micros(micros), _) => {
            Arc::new(TimestampMicrosecondArray::from_value(micros, rows).with_data_type(target))
        }
    };
    Some(array)
}

/// The value of plainly encoded bytes, a byte array without its length, as a data file stores the
/// type; serialized.
pub(super) fn decoded(
    bytes: &[u8],
    primitive: PrimitiveType,
    physical: PhysicalType,
) -> Option<Value> {
    let int = || -> Option<i64> {
        match physical {
            PhysicalType::Int32 => Some(i32::from_le_bytes(bytes.try_into().ok()?).into()),
            PhysicalType::Int64 => Some(i64::from_le_bytes(bytes.try_into().ok()?)),
            _ => None,
        }
    };
    let typed = match primitive {
        PrimitiveType::String | PrimitiveType::Binary => {
            PartitionValue::Text(std::str::from_utf8(bytes).ok()?.to_owned())
        }
        PrimitiveType::Boolean => match bytes {
            [0] => PartitionValue::Boolean(false),
            [1] => PartitionValue::Boolean(true),
            _ => return None,
        },
        PrimitiveType::Byte
        | PrimitiveType::Short
        | PrimitiveType::Integer
        | PrimitiveType::Long => PartitionValue::Integer(int()?),
        PrimitiveType::Date => PartitionValue::Days(int()?.try_into().ok()?),
        PrimitiveType::Timestamp | PrimitiveType::TimestampNtz => PartitionValue::Micros(int()?),
        PrimitiveType::Decimal { .. } => PartitionValue::Decimal(match int() {
            Some(number) => number.into(),
            None => crate::intake::statistics::big_endian(bytes)?,
        }),
        PrimitiveType::Float | PrimitiveType::Double | PrimitiveType::Void => return None,
    };
    written(&typed, primitive)
}

fn written(value: &PartitionValue, primitive: PrimitiveType) -> Option<Value> {
    let text = match (value, primitive) {
        (PartitionValue::Text(text), _) => text.clone(),
        (PartitionValue::Integer(number), _) => number.to_string(),
        (PartitionValue::Float(number), _) => float_text(f64::from(*number), format!("{number:?}")),
        (PartitionValue::Double(number), _) => float_text(*number, format!("{number:?}")),
        (PartitionValue::Decimal(unscaled), PrimitiveType::Decimal { scale, .. }) => {
            decimal_text(*unscaled, scale)
        }
        (PartitionValue::Decimal(_), _) => return None,
        (PartitionValue::Boolean(value), _) => value.to_string(),
        (PartitionValue::Days(days), _) => date_text(*days)?,
        (PartitionValue::Micros(micros), PrimitiveType::Timestamp) => {
            format!("{}Z", time_text(*micros, 'T', true)?)
        }
        (PartitionValue::Micros(micros), _) => time_text(*micros, ' ', false)?,
    };
    Some(Some(text).filter(|text| !text.is_empty()))
}

/// As Java spells what is no finite number, and with one zero: -0.0 is 0.0 to Spark.
fn float_text(number: f64, text: String) -> String {
    if number.is_nan() {
        "NaN".to_owned()
    } else if number.is_infinite() {
        if number > 0.0 {
            "Infinity"
        } else {
            "-Infinity"
        }
        .to_owned()
    } else if number == 0.0 {
        "0.0".to_owned()
    } else {
        text
    }
}

/// A decimal with all the digits of its scale.
pub(in crate::intake) fn decimal_text(unscaled: i128, scale: u8) -> String {
    let scale = usize::from(scale);
    let digits = format!("{:0>width$}", unscaled.unsigned_abs(), width = scale + 1);
    let sign = if unscaled < 0 { "-" } else { "" };
    match digits.split_at(digits.len() - scale) {
        (whole, "") => format!("{sign}{whole}"),
        (whole, fraction) => format!("{sign}{whole}.{fraction}"),
    }
}

/// `{year}-{month}-{day}`, of the years 0 to 9999.
pub(in crate::intake) fn date_text(days: i32) -> Option<String> {
    let date = civil(i64::from(days) * 86_400_000_000)?.date();
    Some(format!(
        "{:04}-{:02}-{:02}",
        date.year(),
        date.month(),
        date.day()
    ))
}

/// A time of the years 0 to 9999, `between` standing between day and time; with all six digits of a
/// fraction, or those only where there is one.
pub(in crate::intake) fn time_text(micros: i64, between: char, always: bool) -> Option<String> {
    let time = civil(micros)?;
    let day = date_text(micros.div_euclid(86_400_000_000).try_into().ok()?)?;
    let fraction = match time.subsec_nanosecond() / 1_000 {
        0 if !always => String::new(),
        micros => format!(".{micros:06}"),
    };
    Some(format!(
        "{day}{between}{:02}:{:02}:{:02}{fraction}",
        time.hour(),
        time.minute(),
        time.second()
    ))
}

/// The wall-clock time of microseconds since the epoch, in UTC; `None` outside the years 0 to 9999.
pub(in crate::intake) fn civil(micros: i64) -> Option<DateTime> {
    let days = micros.div_euclid(86_400_000_000);
    let within = micros.rem_euclid(86_400_000_000);
    let span = jiff::Span::new().try_days(days).ok()?;
    let date = Date::constant(1970, 1, 1).checked_add(span).ok()?;
    let seconds = i32::try_from(within / 1_000_000).ok()?;
    let nanos = i32::try_from(within % 1_000_000).ok()? * 1_000;
    let part = |number: i32| i8::try_from(number).ok();
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let time = Time::new(part(hour)?, part(minute)?, part(second)?, nanos).ok()?;
    (0..=9999)
        .contains(&date.year())
        .then(|| date.to_datetime(time))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str, primitive: PrimitiveType) -> Option<String> {
        canonical(text, primitive).map(|value| value.unwrap_or_else(|| "(null)".to_owned()))
    }

    #[test]
    fn directory_names_become_the_one_form_of_their_value() {
        use PrimitiveType as P;
        let decimal = P::Decimal {
            precision: 5,
            scale: 2,
        };
        for (primitive, given, expected) in [
            (P::Integer, "007", Some("7")),
            (P::Integer, "-1", Some("-1")),
            (P::Integer, "abc", None),
            (P::Integer, "2147483648", None),
            (P::Integer, "", Some("(null)")),
            (P::String, "007", Some("007")),
            (P::String, "", Some("(null)")),
            (P::Byte, "128", None),
            (P::Boolean, "TRUE", Some("true")),
            (P::Boolean, "1", Some("true")),
            (P::Boolean, "2", None),
            (P::Double, "1e3", Some("1000.0")),
            (P::Double, "-0.0", Some("0.0")),
            (P::Double, "nan", Some("NaN")),
            (P::Float, "0.1", Some("0.1")),
            (P::Date, "2024-02-29", Some("2024-02-29")),
            (P::Date, "2023-02-29", None),
            (P::Date, "2024-02-29T00:00:00", None),
            (decimal, "1.5", Some("1.50")),
            (decimal, "-0.05", Some("-0.05")),
            (decimal, "1000", None),
            (decimal, "1.005", None),
            (
                P::Timestamp,
                "2024-01-01 00:00:00",
                Some("2024-01-01T00:00:00.000000Z"),
            ),
            (
                P::Timestamp,
                "2024-01-01T01:00:00+01:00",
                Some("2024-01-01T00:00:00.000000Z"),
            ),
            (P::Timestamp, "2024-01-01 00:00:00.1234567", None),
            (
                P::TimestampNtz,
                "2024-01-01T00:00:00.5",
                Some("2024-01-01 00:00:00.500000"),
            ),
            (P::TimestampNtz, "2024-01-01 00:00:00Z", None),
        ] {
            assert_eq!(
                text(given, primitive).as_deref(),
                expected,
                "{primitive} {given:?}"
            );
        }
    }

    #[test]
    fn arrays_of_a_value_serialize_to_it_again() {
        use PrimitiveType as P;
        for (primitive, value) in [
            (P::Byte, "-128"),
            (P::Short, "7"),
            (P::Integer, "7"),
            (P::Long, "-9223372036854775808"),
            (P::Float, "1.5"),
            (P::Double, "-Infinity"),
            (P::Boolean, "false"),
            (P::String, "a/b"),
            (P::Binary, "a/b"),
            (P::Date, "0001-01-01"),
            (P::Timestamp, "1969-12-31T23:59:59.999999Z"),
            (P::TimestampNtz, "9999-12-31 23:59:59"),
            (
                P::Decimal {
                    precision: 38,
                    scale: 0,
                },
                "12345678901234567890123456789012345678",
            ),
        ] {
            let value = Some(value.to_owned());
            let array = array_of(&value, primitive, 3).unwrap();
            assert_eq!(*array.data_type(), arrow_type(primitive));
            assert_eq!(serialized(&array, 2, primitive), Some(value), "{primitive}");
            let null = array_of(&None, primitive, 1).unwrap();
            assert_eq!(serialized(&null, 0, primitive), Some(None));
        }
    }
}
