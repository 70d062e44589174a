//! Partition values (PROTOCOL.md, "Partition Value Serialization").

use jiff::civil::Date;
use jiff::{SignedDuration, Timestamp};

use super::kinds::Primitive;
use super::values::Value;

/// The text of a value in the log; `None` for null.
pub fn text(value: &Value, primitive: Primitive, iso: bool) -> Option<String> {
    Some(match (value, primitive) {
        (Value::Null, _) => return None,
        (Value::Boolean(boolean), _) => boolean.to_string(),
        (Value::Float(bits), _) => spelled(f32::from_bits(*bits).into()),
        (Value::Double(bits), _) => spelled(f64::from_bits(*bits)),
        (Value::Bytes(bytes), _) => String::from_utf8(bytes.clone()).expect("text"),
        (Value::Number(days), Primitive::Date) => {
            let days = SignedDuration::from_hours(*days as i64 * 24);
            (Date::constant(1970, 1, 1) + days).to_string()
        }
        (Value::Number(micros), Primitive::Timestamp | Primitive::TimestampNtz) => {
            let instant = Timestamp::from_microsecond(*micros as i64).expect("not too far");
            match iso && primitive == Primitive::Timestamp {
                true => instant.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string(),
                false => instant.strftime("%Y-%m-%d %H:%M:%S.%6f").to_string(),
            }
        }
        (Value::Number(unscaled), Primitive::Decimal(_, scale)) => {
            let scale = scale as usize;
            let digits = format!("{:0>1$}", unscaled.unsigned_abs(), scale + 1);
            let (whole, fraction) = digits.split_at(digits.len() - scale);
            let sign = if *unscaled < 0 { "-" } else { "" };
            match fraction {
                "" => format!("{sign}{whole}"),
                _ => format!("{sign}{whole}.{fraction}"),
            }
        }
        (Value::Number(number), _) => number.to_string(),
        _ => panic!("{value:?} is no partition value"),
    })
}

/// As Java prints it, as far as readers have to know.
fn spelled(number: f64) -> String {
    match number {
        _ if number.is_nan() => "NaN".to_owned(),
        f64::INFINITY => "Infinity".to_owned(),
        f64::NEG_INFINITY => "-Infinity".to_owned(),
        _ => format!("{number:?}"),
    }
}
