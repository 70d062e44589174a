//! Dates and timestamps: days and microseconds since the epoch, in the calendar of ISO 8601, as
//! Spark counts since 3.0. The zone of the session is UTC.

pub(super) const MICROS_PER_SECOND: i64 = 1_000_000;
pub(super) const MICROS_PER_DAY: i64 = 86_400 * MICROS_PER_SECOND;

/// A calendar date.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Civil {
    pub(super) year: i64,
    /// From 1.
    pub(super) month: i64,
    /// From 1.
    pub(super) day: i64,
}

impl Civil {
    /// The date that many days after the epoch.
    pub(super) fn of_days(days: i64) -> Civil {
        // Years begin in March here, so that the leap day is the last of them.
        let shifted = i128::from(days) + 719_468;
        let era = shifted.div_euclid(146_097);
        let day_of_era = shifted.rem_euclid(146_097);
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted_month = (5 * day_of_year + 2) / 153;
        let month = if shifted_month < 10 {
            shifted_month + 3
        } else {
            shifted_month - 9
        };
        Civil {
            year: (year_of_era + era * 400 + i128::from(month <= 2)) as i64,
            month: month as i64,
            day: (day_of_year - (153 * shifted_month + 2) / 5 + 1) as i64,
        }
    }

    /// Days from the epoch to the date, which has to exist.
    pub(super) fn days(self) -> i64 {
        let year = self.year - i64::from(self.month <= 2);
        let era = year.div_euclid(400);
        let year_of_era = year.rem_euclid(400);
        let shifted_month = (self.month + 9) % 12;
        let day_of_year = (153 * shifted_month + 2) / 5 + self.day - 1;
        let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
        era * 146_097 + day_of_era - 719_468
    }

    /// The date of that year, month and day, if there is one, in the years from 1 to 9999.
    fn new(year: i64, month: i64, day: i64) -> Option<Civil> {
        let date = Civil { year, month, day };
        let is_real = (1..=9999).contains(&year)
            && (1..=12).contains(&month)
            && (1..=31).contains(&day)
            && Civil::of_days(date.days()) == date;
        is_real.then_some(date)
    }
}

/// Days and microseconds of the day of a timestamp.
pub(super) fn split(micros: i64) -> (i64, i64) {
    (
        micros.div_euclid(MICROS_PER_DAY),
        micros.rem_euclid(MICROS_PER_DAY),
    )
}

/// Days since the epoch of a text that Spark takes for a date: `2024`, `2024-1`, `2024-01-31`, or a
/// timestamp, of which the time is passed over. Blanks around it do not matter.
pub(super) fn parse_date(text: &str) -> Option<i64> {
    let text = text.trim_matches(' ');
    match text.find([' ', 'T']) {
        None => parse_civil(text).map(Civil::days),
        Some(end) => {
            parse_timestamp(text, true)?;
            parse_civil(&text[..end]).map(Civil::days)
        }
    }
}

fn parse_civil(text: &str) -> Option<Civil> {
    let mut parts = text.split('-');
    let year = parts.next().filter(|year| year.len() == 4)?;
    let year = number(year)?;
    let mut next = || match parts.next() {
        Some(part) if part.len() <= 2 => number(part),
        Some(_) => None,
        None => Some(1),
    };
    let (month, day) = (next()?, next()?);
    match parts.next() {
        Some(_) => None,
        None => Civil::new(year, month, day),
    }
}

/// Microseconds since the epoch of a text that Spark takes for a timestamp: a date, or a date and
/// a time as in `2024-01-31 12:30:00.25`, with a zone where `zoned` (`Z`, `UTC`, `+01:00`); without
/// one the time is in UTC. Blanks around it do not matter.
pub(super) fn parse_timestamp(text: &str, zoned: bool) -> Option<i64> {
    let text = text.trim_matches(' ');
    let Some((date, time)) = text.split_once([' ', 'T']) else {
        return parse_civil(text)?.days().checked_mul(MICROS_PER_DAY);
    };
    let days = parse_civil(date)?.days();
    let (time, offset) = match time.find(['Z', 'U', '+', '-']) {
        Some(zone) if zoned => (&time[..zone], parse_offset(&time[zone..])?),
        Some(_) => return None,
        None => (time, 0),
    };
    let (clock, fraction) = time
        .split_once('.')
        .map_or((time, None), |(clock, fraction)| (clock, Some(fraction)));
    let mut micros = 0;
    let mut parts = clock.split(':');
    for (most, unit) in [(23, 3_600), (59, 60), (59, 1)] {
        let part = parts.next().filter(|part| part.len() <= 2)?;
        let part = number(part).filter(|part| *part <= most)?;
        micros += part * unit * MICROS_PER_SECOND;
    }
    if parts.next().is_some() {
        return None;
    }
    if let Some(fraction) = fraction {
        if fraction.len() > 6 {
            return None;
        }
        micros += number(&format!("{fraction:0<6}")).filter(|_| !fraction.is_empty())?;
    }
    Some(days * MICROS_PER_DAY + micros - offset)
}

/// Microseconds that a zone is ahead of UTC.
fn parse_offset(zone: &str) -> Option<i64> {
    if matches!(zone, "Z" | "UTC") {
        return Some(0);
    }
    let sign = match zone.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let (hours, minutes) = zone[1..].split_once(':')?;
    if hours.len() != 2 || minutes.len() != 2 {
        return None;
    }
    let hours = number(hours).filter(|hours| *hours <= 18)?;
    let minutes = number(minutes).filter(|minutes| *minutes <= 59)?;
    let seconds = hours * 3_600 + minutes * 60;
    (seconds <= 18 * 3_600).then_some(sign * seconds * MICROS_PER_SECOND)
}

/// Digits and nothing else.
fn number(digits: &str) -> Option<i64> {
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().ok()).flatten()
}

/// The date as Spark prints it, in the years from 1 to 9999.
pub(super) fn format_date(days: i64) -> Option<String> {
    let date = Civil::of_days(days);
    (1..=9999)
        .contains(&date.year)
        .then(|| format!("{:04}-{:02}-{:02}", date.year, date.month, date.day))
}

/// The timestamp as Spark prints it in UTC, in the years from 1 to 9999.
pub(super) fn format_timestamp(micros: i64) -> Option<String> {
    let (days, micros) = split(micros);
    let (seconds, fraction) = (micros / MICROS_PER_SECOND, micros % MICROS_PER_SECOND);
    let mut text = format_date(days)?;
    let clock = [seconds / 3_600, seconds / 60 % 60, seconds % 60].map(|part| format!("{part:02}"));
    text.push(' ');
    text.push_str(&clock.join(":"));
    if fraction > 0 {
        let fraction = format!(".{fraction:06}");
        text.push_str(fraction.trim_end_matches('0'));
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use jiff::civil::Date;

    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        let epoch = Date::constant(1970, 1, 1);
        let mut days = -719_162;
        while days < 2_932_896 {
            let span = jiff::Span::new().days(days);
            let date = epoch.checked_add(span).unwrap();
            let civil = Civil {
                year: date.year().into(),
                month: date.month().into(),
                day: date.day().into(),
            };
            assert_eq!(Civil::of_days(days), civil);
            assert_eq!(civil.days(), days);
            days += 13;
        }
        for days in [i64::MIN, i64::MAX, -719_529, 0] {
            Civil::of_days(days);
        }
    }

    #[test]
    fn dates_and_timestamps_are_read_as_spark_reads_them() {
        for (text, days) in [
            ("1970-01-02", Some(1)),
            (" 1970-1-2 ", Some(1)),
            ("1970", Some(0)),
            ("1970-02", Some(31)),
            ("1970-01-02 10:00:00", Some(1)),
            ("1970-01-02T10:00:00Z", Some(1)),
            ("1970-02-29", None),
            ("1970-01-02x", None),
            ("70-01-02", None),
            ("1970-001-02", None),
            ("1970-01-02-03", None),
            ("1970-", None),
            ("", None),
            ("today", None),
            ("+1970-01-01", None),
        ] {
            assert_eq!(parse_date(text), days, "{text:?}");
        }
        for (text, micros) in [
            ("1970-01-01", Some(0)),
            ("1970-01-01 00:00:01", Some(1_000_000)),
            ("1970-01-01 0:0:1.5", Some(1_500_000)),
            ("1970-01-01T00:00:00.000001Z", Some(1)),
            ("1970-01-01 01:00:00+01:00", Some(0)),
            ("1969-12-31 23:00:00-01:00", Some(0)),
            ("1970-01-01 00:00:00 UTC", None),
            ("1970-01-01 00:00", None),
            ("1970-01-01 24:00:00", None),
            ("1970-01-01 00:00:00.", None),
            ("1970-01-01 00:00:00.1234567", None),
            ("1970-01-01 00:00:00+19:00", None),
        ] {
            assert_eq!(parse_timestamp(text, true), micros, "{text:?}");
        }
        assert_eq!(parse_timestamp("1970-01-01 00:00:00Z", false), None);
    }

    #[test]
    fn timestamps_are_printed_without_needless_zeros() {
        for (micros, text) in [
            (0, Some("1970-01-01 00:00:00")),
            (-1, Some("1969-12-31 23:59:59.999999")),
            (1_500_000, Some("1970-01-01 00:00:01.5")),
            (i64::MAX, None),
        ] {
            assert_eq!(format_timestamp(micros).as_deref(), text);
        }
    }
}
