//! Values as texts of the log: those of partition columns (PROTOCOL.md, "Partition Value
//! Serialization"), and the dates and times in statistics.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};

use super::PrimitiveType;

/// A value of a partition column that is not null.
#[derive(Debug, Clone, PartialEq)]
pub enum PartitionValue {
    /// A text, or bytes: those of the text in UTF-8, as Spark casts them.
    Text(String),
    /// A whole number.
    Integer(i64),
    /// A single.
    Float(f32),
    /// A double.
    Double(f64),
    /// The digits of a decimal, of which the type's scale says how many are right of the point.
    Decimal(i128),
    /// True or false.
    Boolean(bool),
    /// Days since the epoch.
    Days(i32),
    /// Microseconds since the epoch; of a wall-clock time as if it were in UTC.
    Micros(i64),
}

impl PartitionValue {
    /// The value of `text`, which is not empty; `None` where it is none of the type.
    ///
    /// Beyond PROTOCOL.md, "Partition Value Serialization": numbers as Java prints them (`Infinity`,
    /// `1.0E10`), with leading zeros or a sign; a timestamp in ISO 8601, with any offset; without
    /// one it is in UTC.
    pub fn parse(text: &str, primitive: PrimitiveType) -> Option<PartitionValue> {
        use PartitionValue::{Boolean, Days, Decimal, Double, Float, Integer, Micros, Text};
        Some(match primitive {
            PrimitiveType::String | PrimitiveType::Binary => Text(text.to_owned()),
            PrimitiveType::Boolean if text.eq_ignore_ascii_case("true") => Boolean(true),
            PrimitiveType::Boolean if text.eq_ignore_ascii_case("false") => Boolean(false),
            PrimitiveType::Byte => Integer(text.parse::<i8>().ok()?.into()),
            PrimitiveType::Short => Integer(text.parse::<i16>().ok()?.into()),
            PrimitiveType::Integer => Integer(text.parse::<i32>().ok()?.into()),
            PrimitiveType::Long => Integer(text.parse().ok()?),
            PrimitiveType::Float => Float(text.parse().ok()?),
            PrimitiveType::Double => Double(text.parse().ok()?),
            PrimitiveType::Decimal { precision, scale } => {
                Decimal(unscaled(text, precision, scale)?)
            }
            PrimitiveType::Date => Days(days(text)?),
            // The instants that the library knows end a day before the year 9999 does; wall clocks do
            // not.
            PrimitiveType::Timestamp => Micros(match text.strip_suffix('Z') {
                Some(in_utc) => wall_clock(in_utc)?,
                None => wall_clock(text).or_else(|| instant(text))?,
            }),
            PrimitiveType::TimestampNtz => Micros(wall_clock(text)?),
            PrimitiveType::Boolean | PrimitiveType::Void => return None,
        })
    }
}

/// Days since the epoch of `2024-01-31`.
pub fn days(text: &str) -> Option<i32> {
    // Nothing but a date: other texts that parse as one have more to them.
    if text.len() != "1970-01-01".len() {
        return None;
    }
    day_number(text.parse().ok()?)
}

fn day_number(date: Date) -> Option<i32> {
    let epoch = Date::constant(1970, 1, 1);
    (date.duration_since(epoch).as_hours() / 24).try_into().ok()
}

/// Microseconds since the epoch of a time without zone, as if it were in UTC. Fractions of a
/// microsecond are none.
pub fn wall_clock(text: &str) -> Option<i64> {
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
    let day = i64::from(day_number(wall_clock.date())?);
    (nanosecond % 1_000 == 0).then(|| (day * 86_400 + second) * 1_000_000 + nanosecond / 1_000)
}

/// Microseconds since the epoch of an instant with its zone. Fractions of a microsecond are none.
pub fn instant(text: &str) -> Option<i64> {
    let instant: Timestamp = text.parse().ok()?;
    (instant.as_nanosecond() % 1_000 == 0).then(|| instant.as_microsecond())
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
        || !(whole.bytes().chain(fraction.bytes())).all(|byte| byte.is_ascii_digit())
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
