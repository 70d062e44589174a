//! Statistics as JSON, from the typed columns of a checkpoint that has nothing else.

use std::fmt::Write;

use arrow::array::{Array, ArrayRef, AsArray, StringArray, StringBuilder};
use arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType,
};
use jiff::civil::Date;
use jiff::{SignedDuration, Timestamp};

/// Each row of a `stats_parsed` column as JSON text. What is null, and what has a type that
/// statistics do not have, is left out.
pub(in crate::log::checkpoint::write) fn json_of(parsed: &ArrayRef) -> Result<StringArray, String> {
    let mut texts = StringBuilder::new();
    let mut text = String::new();
    for row in 0..parsed.len() {
        text.clear();
        if parsed.is_valid(row) && write_value(parsed, row, &mut text)? {
            texts.append_value(&text);
        } else {
            texts.append_null();
        }
    }
    Ok(texts.finish())
}

fn quoted(text: &str, out: &mut String) -> Result<(), String> {
    let quoted = serde_json::to_string(text).map_err(|error| error.to_string())?;
    out.push_str(&quoted);
    Ok(())
}

/// A number as JSON has it, and as a string where JSON has none for it, as Delta on Spark does.
fn number(value: impl std::fmt::Display, finite: bool, out: &mut String) -> bool {
    let quote = if finite { "" } else { "\"" };
    write!(out, "{quote}{value}{quote}").is_ok()
}

/// Writes the value of a row; answers whether there is one.
fn write_value(array: &ArrayRef, row: usize, out: &mut String) -> Result<bool, String> {
    if array.is_null(row) {
        return Ok(false);
    }
    let written = match array.data_type() {
        DataType::Struct(fields) => {
            let columns = array.as_struct().columns();
            out.push('{');
            let start = out.len();
            for (field, column) in fields.iter().zip(columns) {
                let before = out.len();
                if before > start {
                    out.push(',');
                }
                quoted(field.name(), out)?;
                out.push(':');
                if !write_value(column, row, out)? {
                    out.truncate(before);
                }
            }
            out.push('}');
            true
        }
        DataType::Utf8 => {
            quoted(array.as_string::<i32>().value(row), out)?;
            true
        }
        DataType::Boolean => number(array.as_boolean().value(row), true, out),
        DataType::Int8 => number(array.as_primitive::<Int8Type>().value(row), true, out),
        DataType::Int16 => number(array.as_primitive::<Int16Type>().value(row), true, out),
        DataType::Int32 => number(array.as_primitive::<Int32Type>().value(row), true, out),
        DataType::Int64 => number(array.as_primitive::<Int64Type>().value(row), true, out),
        DataType::Float32 => {
            let value = array.as_primitive::<Float32Type>().value(row);
            match value {
                _ if value.is_infinite() => number(infinity(value > 0.0), false, out),
                _ => number(value, value.is_finite(), out),
            }
        }
        DataType::Float64 => {
            let value = array.as_primitive::<Float64Type>().value(row);
            match value {
                _ if value.is_infinite() => number(infinity(value > 0.0), false, out),
                _ => number(value, value.is_finite(), out),
            }
        }
        DataType::Decimal128(..) => {
            let decimals = array.as_primitive::<Decimal128Type>();
            number(decimals.value_as_string(row), true, out)
        }
        DataType::Date32 => {
            let days = array.as_primitive::<Date32Type>().value(row);
            let hours = SignedDuration::from_hours(i64::from(days) * 24);
            match Date::constant(1970, 1, 1).checked_add(hours) {
                Ok(date) => number(date, false, out),
                Err(_) => false,
            }
        }
        DataType::Timestamp(unit, zone) => {
            let nanos = match (unit, zone) {
                (TimeUnit::Millisecond, _) => {
                    let value = array.as_primitive::<TimestampMillisecondType>().value(row);
                    Some(i128::from(value) * 1_000_000)
                }
                (TimeUnit::Microsecond, _) => {
                    let value = array.as_primitive::<TimestampMicrosecondType>().value(row);
                    Some(i128::from(value) * 1_000)
                }
                (TimeUnit::Nanosecond, Some(_)) => {
                    let value = array.as_primitive::<TimestampNanosecondType>().value(row);
                    Some(i128::from(value))
                }
                // Of nanoseconds without zone it is not known what they were.
                (TimeUnit::Nanosecond, None) | (TimeUnit::Second, _) => None,
            };
            match nanos.and_then(|nanos| Timestamp::from_nanosecond(nanos).ok()) {
                Some(instant) => {
                    let text = format!("{instant:.6}");
                    let shown = match zone {
                        Some(_) => text.as_str(),
                        None => text.trim_end_matches('Z'),
                    };
                    number(shown, false, out)
                }
                None => false,
            }
        }
        _ => false,
    };
    Ok(written)
}

fn infinity(positive: bool) -> &'static str {
    if positive { "Infinity" } else { "-Infinity" }
}
