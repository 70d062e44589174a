//! The names that the root directory understands beside those it lists.

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::{Offset, TimeZone};

use crate::base::Version;
use crate::base::clock::TimestampMs;

/// The version that `@v12`, `@V12` or `@v012` means, and whether that is the canonical spelling.
pub fn parse_version(name: &str) -> Option<(Version, bool)> {
    let digits = name
        .strip_prefix("@v")
        .or_else(|| name.strip_prefix("@V"))?;
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    // Versions are signed longs in Delta.
    let version = digits.parse::<i64>().ok()?.unsigned_abs();
    Some((version, version_name(version) == name))
}

/// The canonical name of a version directory.
pub fn version_name(version: Version) -> String {
    format!("@v{version}")
}

/// The instant that a time means, in milliseconds since the epoch, rounded down: `2024-01-15`,
/// `2024-01-15T10:30`, `2024-01-15 10:30:00.25`, `2024-01-15T10-30-00Z`, any of these with an offset
/// (`+02:00`, `+0200`, `-05-00`, `Z`), or `yyyyMMddHHmmssSSS`. Without an offset it is a time of
/// `zone`; a date alone is its midnight.
pub fn parse_time(text: &str, zone: &TimeZone) -> Option<TimestampMs> {
    let (local, offset) = parse_digits(text)
        .map(|local| (local, None))
        .or_else(|| parse_fields(text))?;
    let instant = match offset {
        Some(offset) => offset.to_timestamp(local).ok()?,
        None => zone.to_ambiguous_timestamp(local).compatible().ok()?,
    };
    Some(instant.as_nanosecond().div_euclid(1_000_000) as TimestampMs)
}

/// Delta's `yyyyMMddHHmmssSSS`.
fn parse_digits(text: &str) -> Option<DateTime> {
    if text.len() != 17 || !text.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let field = |range: std::ops::Range<usize>| text[range].parse::<i16>().ok();
    let small = |range| i8::try_from(field(range)?).ok();
    let date = Date::new(field(0..4)?, small(4..6)?, small(6..8)?).ok()?;
    let nanos = i32::from(field(14..17)?) * 1_000_000;
    let time = Time::new(small(8..10)?, small(10..12)?, small(12..14)?, nanos).ok()?;
    Some(date.to_datetime(time))
}

fn parse_fields(text: &str) -> Option<(DateTime, Option<Offset>)> {
    let mut rest = Rest(text);
    let year = rest.digits(4)?;
    rest.one_of("-")?;
    let month = rest.digits(2)?;
    rest.one_of("-")?;
    let day = rest.digits(2)?;
    let date = Date::new(year as i16, month as i8, day as i8).ok()?;
    if rest.0.is_empty() {
        return Some((date.to_datetime(Time::midnight()), None));
    }
    rest.one_of("T t_")?;
    let hour = rest.digits(2)?;
    let separator = rest.one_of(":-")?;
    let minute = rest.digits(2)?;
    let (mut second, mut nanos) = (0, 0);
    // `10-30-00` has a third field, while in `10:30-05:00` the hyphen begins an offset.
    let third = rest.0.starts_with(separator) && (separator == ':' || !looks_like_offset(rest.0));
    if third {
        rest.one_of(":-")?;
        second = rest.digits(2)?;
        if rest.one_of(".").is_some() {
            nanos = rest.fraction()?;
        }
    }
    let time = Time::new(hour as i8, minute as i8, second as i8, nanos).ok()?;
    let offset = rest.offset()?;
    Some((date.to_datetime(time), offset))
}

/// Whether `text` is a whole offset with hours and minutes, as behind `10-30`: `-05-00`, `-05:00`.
fn looks_like_offset(text: &str) -> bool {
    text.len() == 6 && matches!(Rest(text).offset(), Some(Some(_)))
}

struct Rest<'a>(&'a str);

impl Rest<'_> {
    fn digits(&mut self, count: usize) -> Option<u32> {
        let (digits, rest) = self.0.split_at_checked(count)?;
        if !digits.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        self.0 = rest;
        digits.parse().ok()
    }

    fn one_of(&mut self, choices: &str) -> Option<char> {
        let next = self.0.chars().next()?;
        if !choices.contains(next) {
            return None;
        }
        self.0 = &self.0[next.len_utf8()..];
        Some(next)
    }

    /// One to nine digits behind the point, as nanoseconds.
    fn fraction(&mut self) -> Option<i32> {
        let count = self.0.bytes().take_while(u8::is_ascii_digit).count();
        if !(1..=9).contains(&count) {
            return None;
        }
        let digits = self.digits(count)?;
        i32::try_from(digits * 10_u32.pow(9 - count as u32)).ok()
    }

    /// An offset up to the end: `Some(None)` when there is nothing left, `None` when what is left
    /// is no offset.
    fn offset(&mut self) -> Option<Option<Offset>> {
        if self.0.is_empty() {
            return Some(None);
        }
        if self.0.eq_ignore_ascii_case("z") {
            self.0 = "";
            return Some(Some(Offset::UTC));
        }
        let sign = if self.one_of("+-")? == '-' { -1 } else { 1 };
        let hours = self.digits(2)?;
        let minutes = if self.0.is_empty() {
            0
        } else {
            // The separator may be left out.
            let _ = self.one_of(":-");
            self.digits(2)?
        };
        if !self.0.is_empty() || minutes > 59 {
            return None;
        }
        let seconds = sign * (hours * 3600 + minutes * 60) as i32;
        Offset::from_seconds(seconds).ok().map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_names_have_one_canonical_spelling() {
        assert_eq!(parse_version("@v12"), Some((12, true)));
        assert_eq!(parse_version("@v0"), Some((0, true)));
        assert_eq!(parse_version("@V12"), Some((12, false)));
        assert_eq!(parse_version("@v0012"), Some((12, false)));
        for name in [
            "v12",
            "@v",
            "@v-1",
            "@v1x",
            "@v99999999999999999999",
            "@v+1",
        ] {
            assert_eq!(parse_version(name), None, "{name}");
        }
    }

    #[test]
    fn times_are_understood_in_every_form() {
        let berlin = TimeZone::get("Europe/Berlin").unwrap_or(TimeZone::fixed(Offset::constant(1)));
        let utc = TimeZone::UTC;
        let day = 1_705_276_800_000; // 2024-01-15T00:00:00Z
        let at = day + (10 * 60 + 30) * 60_000;
        for (text, zone, expected) in [
            ("2024-01-15", &utc, day),
            ("2024-01-15", &berlin, day - 3_600_000),
            ("2024-01-15T10:30:00Z", &berlin, at),
            ("2024-01-15T10-30-00Z", &berlin, at),
            ("2024-01-15T10:30:00", &utc, at),
            ("2024-01-15 10:30", &utc, at),
            ("2024-01-15T10-30", &utc, at),
            ("2024-01-15 10:30:00.25", &utc, at + 250),
            ("2024-01-15T10:30:00.123456789Z", &utc, at + 123),
            ("2024-01-15T12:30:00+02:00", &utc, at),
            ("2024-01-15T12-30-00+02-00", &utc, at),
            ("2024-01-15T12:30:00+0200", &utc, at),
            ("2024-01-15T05:30-05:00", &utc, at),
            ("2024-01-15T05-30-05:00", &utc, at),
            ("20240115103000000", &utc, at),
            ("20240115103000250", &utc, at + 250),
            ("1969-12-31T23:59:59.9999", &utc, -1),
        ] {
            assert_eq!(parse_time(text, zone), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_time_is_none() {
        for text in [
            "",
            "latest",
            "2024",
            "2024-1-5",
            "2024-13-01",
            "2024-02-30",
            "2024-01-15T",
            "2024-01-15T25:00",
            "2024-01-15T10:30:00.",
            "2024-01-15T10:30:00+",
            "2024-01-15T10:30:00+99:00",
            "2024-01-15x",
            "20240115",
            "2024011510300000é",
            "２０２４-01-15",
            "2024-01-15T10:30:61",
            "2024-01-15T10:30:00ZZ",
        ] {
            assert_eq!(parse_time(text, &TimeZone::UTC), None, "{text}");
        }
    }
}
