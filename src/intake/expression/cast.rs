//! `CAST`, where both modes of Spark agree: what one makes null and the other an error is a failure
//! of the row.

use std::borrow::Cow;

use super::number::{self, fits, rescale};
use super::time::{
    MICROS_PER_DAY, MICROS_PER_SECOND, format_date, format_timestamp, parse_date, parse_timestamp,
};
use super::tree::Value;
use super::types::{is_whole, primitive, whole_range};
use crate::schema::{DataType, PrimitiveType};

use PrimitiveType as P;

/// Why a row has no value: a clause.
pub(super) type Failure = Box<str>;

/// Whether values of `from` are converted to `to`.
pub(super) fn is_supported(from: &DataType, to: &DataType) -> bool {
    let (Some(from), Some(to)) = (primitive(from), primitive(to)) else {
        return from == to || primitive(from) == Some(P::Void);
    };
    match (from, to) {
        _ if from == to => true,
        (P::Void, _) => true,
        (_, P::Void) => false,
        (_, P::Float | P::Double | P::Decimal { .. } | P::String | P::Boolean | P::Timestamp)
            if is_whole(from) =>
        {
            true
        }
        (P::Float | P::Double, P::Float | P::Double) => true,
        (P::Decimal { .. }, P::Float | P::Double | P::Decimal { .. } | P::String) => true,
        (P::String, _) => true,
        (P::Boolean, P::String) => true,
        (P::Date, P::Timestamp | P::TimestampNtz | P::String) => true,
        (P::Timestamp, P::Date | P::TimestampNtz | P::String | P::Long) => true,
        (P::TimestampNtz, P::Date | P::Timestamp | P::String) => true,
        (P::Boolean | P::Float | P::Double | P::Decimal { .. }, _) => is_whole(to),
        _ => is_whole(from) && is_whole(to),
    }
}

/// `value` of type `from` as one of type `to`.
pub(super) fn cast<'a>(
    value: Value<'a>,
    from: &DataType,
    to: &DataType,
) -> Result<Value<'a>, Failure> {
    if value.is_null() || from == to {
        return Ok(value);
    }
    let (Some(from), Some(target)) = (primitive(from), primitive(to)) else {
        return Err(format!("{from} is not converted to {to}").into());
    };
    let scale_of = |primitive| match primitive {
        P::Decimal { scale, .. } => scale,
        _ => 0,
    };
    let made = match (&value, target) {
        (Value::Text(text), _) => return from_text(text, target),
        (Value::Integer(days), P::Date | P::Timestamp | P::TimestampNtz | P::String)
            if from == P::Date =>
        {
            match target {
                P::String => format_date(*days).map(text),
                P::Date => Some(Value::Integer(*days)),
                _ => days.checked_mul(MICROS_PER_DAY).map(Value::Integer),
            }
        }
        (Value::Integer(micros), _) if matches!(from, P::Timestamp | P::TimestampNtz) => {
            match target {
                P::String => format_timestamp(*micros).map(text),
                P::Date => Some(Value::Integer(micros.div_euclid(MICROS_PER_DAY))),
                P::Long => Some(Value::Integer(micros.div_euclid(MICROS_PER_SECOND))),
                P::Timestamp | P::TimestampNtz => Some(Value::Integer(*micros)),
                _ => None,
            }
        }
        (Value::Integer(whole), P::Float) => Some(Value::Float(f64::from(*whole as f32))),
        (Value::Integer(whole), P::Double) => Some(Value::Float(*whole as f64)),
        (Value::Integer(whole), P::Decimal { precision, scale }) => {
            decimal((*whole).into(), 0, precision, scale)
        }
        (Value::Integer(whole), P::String) => Some(text(whole.to_string())),
        (Value::Integer(whole), P::Boolean) => Some(Value::Boolean(*whole != 0)),
        (Value::Integer(seconds), P::Timestamp) => {
            seconds.checked_mul(MICROS_PER_SECOND).map(Value::Integer)
        }
        (Value::Integer(value), _) => in_range((*value).into(), target),
        (Value::Float(value), P::Float) => Some(Value::Float(f64::from(*value as f32))),
        (Value::Float(value), P::Double) => Some(Value::Float(*value)),
        // Beyond 2^63 the conversion saturates, and the range is none of the type's then.
        (Value::Float(value), _) if value.abs() < 9.3e18 => in_range(value.trunc() as i128, target),
        (Value::Decimal(value), P::Decimal { precision, scale }) => {
            decimal(*value, scale_of(from), precision, scale)
        }
        (Value::Decimal(value), P::Double) => {
            Some(Value::Float(number::to_double(*value, scale_of(from))))
        }
        (Value::Decimal(value), P::Float) => {
            let nearest = number::plain(*value, scale_of(from)).parse::<f32>();
            nearest.ok().map(|value| Value::Float(value.into()))
        }
        (Value::Decimal(value), P::String) => {
            if number::is_scientific(*value, scale_of(from)) {
                return Err(format!(
                    "{} is written in one of two ways, by the mode of Spark",
                    number::plain(*value, scale_of(from))
                )
                .into());
            }
            Some(text(number::plain(*value, scale_of(from))))
        }
        (Value::Decimal(value), _) => in_range(value / number::power(scale_of(from)), target),
        (Value::Boolean(value), P::String) => Some(text(value.to_string())),
        (Value::Boolean(value), _) => in_range(i128::from(*value), target),
        _ => None,
    };
    made.ok_or_else(|| format!("{} is no {to}", value.shown(from)).into())
}

fn from_text(written: &str, target: P) -> Result<Value<'static>, Failure> {
    let trimmed = written.trim_matches(' ');
    let made = match target {
        P::String => Some(text(written.to_owned())),
        P::Binary => Some(Value::Bytes(Cow::Owned(written.as_bytes().to_vec()))),
        P::Boolean => match trimmed.to_ascii_lowercase().as_str() {
            "t" | "true" | "y" | "yes" | "1" => Some(Value::Boolean(true)),
            "f" | "false" | "n" | "no" | "0" => Some(Value::Boolean(false)),
            _ => None,
        },
        P::Date => parse_date(written).map(Value::Integer),
        P::Timestamp => parse_timestamp(written, true).map(Value::Integer),
        P::TimestampNtz => parse_timestamp(written, false).map(Value::Integer),
        P::Float | P::Double if !number::is_plain(trimmed) => None,
        P::Float => trimmed
            .parse::<f32>()
            .ok()
            .map(|value| Value::Float(value.into())),
        P::Double => trimmed.parse::<f64>().ok().map(Value::Float),
        P::Decimal { precision, scale } => number::parse_decimal(trimmed)
            .and_then(|(value, written)| decimal(value, written, precision, scale)),
        _ => trimmed
            .parse::<i128>()
            .ok()
            .and_then(|value| in_range(value, target)),
    };
    made.ok_or_else(|| {
        let shown = super::error::quoted(written);
        format!("{shown:?} is no {}", DataType::Primitive(target)).into()
    })
}

fn text(text: String) -> Value<'static> {
    Value::Text(Cow::Owned(text))
}

fn in_range(value: i128, target: P) -> Option<Value<'static>> {
    let (least, most) = whole_range(target)?;
    let value = i64::try_from(value).ok()?;
    (least..=most)
        .contains(&value)
        .then_some(Value::Integer(value))
}

/// Digits of one scale as those of another, rounded half up.
fn decimal(value: i128, from: u8, precision: u8, scale: u8) -> Option<Value<'static>> {
    let value = rescale(value, from, scale)?;
    fits(value, precision).then_some(Value::Decimal(value))
}

/// Whether a float holds the whole number.
pub(super) fn is_float(value: i64) -> bool {
    (value as f32) as i128 == i128::from(value)
}

/// The value on its own.
pub(super) fn owned(value: Value<'_>) -> Value<'static> {
    match value {
        Value::Null | Value::Nested(..) => Value::Null,
        Value::Boolean(value) => Value::Boolean(value),
        Value::Integer(value) => Value::Integer(value),
        Value::Float(value) => Value::Float(value),
        Value::Decimal(value) => Value::Decimal(value),
        Value::Text(value) => Value::Text(Cow::Owned(value.into_owned())),
        Value::Bytes(value) => Value::Bytes(Cow::Owned(value.into_owned())),
    }
}

impl Value<'_> {
    /// The value of that type as messages show it.
    pub(super) fn shown(&self, primitive: P) -> String {
        match (self, primitive) {
            (Value::Null, _) => "null".to_owned(),
            (Value::Boolean(value), _) => value.to_string(),
            (Value::Integer(days), P::Date) => format_date(*days).unwrap_or(format!("day {days}")),
            (Value::Integer(micros), P::Timestamp | P::TimestampNtz) => {
                format_timestamp(*micros).unwrap_or(format!("microsecond {micros}"))
            }
            (Value::Integer(value), _) => value.to_string(),
            (Value::Float(value), _) => value.to_string(),
            (Value::Decimal(value), P::Decimal { scale, .. }) => number::plain(*value, scale),
            (Value::Decimal(value), _) => value.to_string(),
            (Value::Text(value), _) => format!("{:?}", super::error::quoted(value)),
            (Value::Bytes(value), _) => format!("{} bytes", value.len()),
            (Value::Nested(..), _) => "a value with parts".to_owned(),
        }
    }
}
