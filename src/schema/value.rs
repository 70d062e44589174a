//! Values as texts of the log: those of partition columns (PROTOCOL.md, "Partition Value
//! Serialization"), and the dates and times in statistics.

use std::borrow::Cow;
use std::ops::RangeInclusive;

use jiff::Timestamp;
use jiff::civil::{Date, Time};

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
    /// `1.0E10`, `0E-18`), with leading zeros or a sign; dates beyond the years 0 to 9999; a timestamp
    /// in ISO 8601, with any offset or `UTC`; without one it is in UTC. And what Spark makes of texts
    /// that other writers left: the day of a date with a time, a time to the microsecond, `t`, `yes` and
    /// `1` for true, `f`, `no` and `0` for false.
    pub fn parse(text: &str, primitive: PrimitiveType) -> Option<PartitionValue> {
        use PartitionValue::{Boolean, Days, Decimal, Double, Float, Integer, Micros, Text};
        Some(match primitive {
            PrimitiveType::String | PrimitiveType::Binary => Text(text.to_owned()),
            PrimitiveType::Boolean => Boolean(truth(text)?),
            PrimitiveType::Byte => Integer(text.parse::<i8>().ok()?.into()),
            PrimitiveType::Short => Integer(text.parse::<i16>().ok()?.into()),
            PrimitiveType::Integer => Integer(text.parse::<i32>().ok()?.into()),
            PrimitiveType::Long => Integer(text.parse().ok()?),
            PrimitiveType::Float => Float(text.parse().ok()?),
            PrimitiveType::Double => Double(text.parse().ok()?),
            PrimitiveType::Decimal { precision, scale } => {
                Decimal(decimal(text, precision, scale)?)
            }
            PrimitiveType::Date => Days(days(date_of(text))?),
            PrimitiveType::Timestamp => Micros(partition_timestamp(&to_micros(text))?),
            PrimitiveType::TimestampNtz => Micros(wall_clock(&to_micros(text))?),
            PrimitiveType::Void => return None,
        })
    }
}

/// The words that Spark takes for true and false.
fn truth(text: &str) -> Option<bool> {
    let is_one_of = |words: [&str; 5]| words.iter().any(|word| text.eq_ignore_ascii_case(word));
    match (
        is_one_of(["true", "t", "yes", "y", "1"]),
        is_one_of(["false", "f", "no", "n", "0"]),
    ) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    }
}

/// What stands before a time of day.
fn date_of(text: &str) -> &str {
    text.split_once(['T', ' ']).map_or(text, |(date, _)| date)
}

/// A time without the digits behind its microseconds.
fn to_micros(text: &str) -> Cow<'_, str> {
    let Some((before, after)) = text.split_once('.') else {
        return Cow::Borrowed(text);
    };
    let digits = after.bytes().take_while(u8::is_ascii_digit).count();
    match digits {
        ..=6 => Cow::Borrowed(text),
        _ => Cow::Owned(format!("{before}.{}{}", &after[..6], &after[digits..])),
    }
}

/// Whether a time is within a leap second, which no type here has. The library takes it for the second
/// before.
fn in_leap_second(text: &str) -> bool {
    text.splitn(3, ':')
        .nth(2)
        .is_some_and(|seconds| seconds.starts_with("60"))
}

/// Microseconds since the epoch of a partition value of type timestamp; without zone it is in UTC.
pub fn partition_timestamp(text: &str) -> Option<i64> {
    let in_utc = text.strip_suffix('Z').or_else(|| text.strip_suffix("UTC"));
    // The instants that the library knows end a day before the year 9999 does; wall clocks do not.
    match in_utc {
        Some(in_utc) => wall_clock(in_utc.trim_end_matches(' ')),
        None => wall_clock(text).or_else(|| instant(text)),
    }
}

/// Days since the epoch of `2024-01-31`. As Spark writes and reads them, a year may have up to seven
/// digits and a sign, a month and a day one digit alone.
pub fn days(text: &str) -> Option<i32> {
    day_number(text)?.try_into().ok()
}

fn day_number(text: &str) -> Option<i64> {
    const CYCLE: i64 = 400;
    const DAYS_OF_CYCLE: i64 = 146_097;
    let (negative, date) = match text.strip_prefix('-') {
        Some(date) => (true, date),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let mut parts = date.splitn(3, '-');
    let mut next = |lengths: RangeInclusive<usize>| {
        let digits = parts.next()?;
        let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
        (is_number && lengths.contains(&digits.len()))
            .then(|| digits.parse::<i64>().ok())
            .flatten()
    };
    let (year, month, day) = (next(4..=7)?, next(1..=2)?, next(1..=2)?);
    let year = if negative { -year } else { year };
    // The library ends with the year 9999. The calendar repeats.
    let cycles = year.div_euclid(CYCLE);
    let date = Date::new(
        year.rem_euclid(CYCLE).try_into().ok()?,
        month.try_into().ok()?,
        day.try_into().ok()?,
    );
    let hours = date
        .ok()?
        .duration_since(Date::constant(1970, 1, 1))
        .as_hours();
    Some(hours / 24 + cycles * DAYS_OF_CYCLE)
}

/// Microseconds since the epoch of a time without zone, as if it were in UTC. Fractions of a
/// microsecond are none. The date is as [`days`] takes it; alone, it is its midnight.
pub fn wall_clock(text: &str) -> Option<i64> {
    let (date, time) = match text.split_once(['T', 't', ' ']) {
        // An offset would be passed over, and so would another date.
        Some((_, time)) if time.contains(['+', '-', 'Z', 'z', '[', 'T', 't', ' ']) => return None,
        Some((_, time)) if in_leap_second(time) => return None,
        Some((date, time)) => (date, time.parse::<Time>().ok()?),
        None => (text, Time::midnight()),
    };
    let second =
        i64::from(time.hour()) * 3600 + i64::from(time.minute()) * 60 + i64::from(time.second());
    let nanosecond = i64::from(time.subsec_nanosecond());
    if nanosecond % 1_000 != 0 {
        return None;
    }
    let seconds = day_number(date)?.checked_mul(86_400)?.checked_add(second)?;
    (seconds.checked_mul(1_000_000)?).checked_add(nanosecond / 1_000)
}

/// Microseconds since the epoch of an instant with its zone. Fractions of a microsecond are none.
pub fn instant(text: &str) -> Option<i64> {
    if in_leap_second(text) {
        return None;
    }
    let instant: Timestamp = text.parse().ok()?;
    (instant.as_nanosecond() % 1_000 == 0).then(|| instant.as_microsecond())
}

/// The unscaled value of a decimal number, in digits or with an exponent, that needs no more digits
/// than the type has.
pub fn decimal(text: &str, precision: u8, scale: u8) -> Option<i128> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (negative, digits) = match mantissa.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, mantissa.strip_prefix('+').unwrap_or(mantissa)),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.len() + fraction.len() == 0
        || !(whole.bytes().chain(fraction.bytes())).all(|b| b.is_ascii_digit())
    {
        return None;
    }
    let all = format!("{whole}{fraction}");
    let significant = all.trim_start_matches('0');
    if significant.is_empty() {
        return Some(0);
    }
    let kept = significant.trim_end_matches('0');
    // The value is `kept` times ten to the power of `shift`, unscaled.
    let dropped = i64::try_from(significant.len() - kept.len()).ok()?;
    let fraction = i64::try_from(fraction.len()).ok()?;
    let shift = i64::from(exponent) - fraction + dropped + i64::from(scale);
    let shift = usize::try_from(shift).ok()?;
    if kept.len().checked_add(shift)? > usize::from(precision.min(38)) {
        return None;
    }
    let value: i128 = format!("{kept}{}", "0".repeat(shift)).parse().ok()?;
    Some(if negative { -value } else { value })
}
