//! Parts, units and formats of dates and timestamps.

use super::time::{Civil, MICROS_PER_DAY, MICROS_PER_SECOND, split};

/// A part of a date or a timestamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DatePart {
    Year,
    Quarter,
    Month,
    /// Of the year, as ISO 8601 counts.
    Week,
    Day,
    /// From 1, a Sunday.
    DayOfWeek,
    /// From 0, a Monday.
    Weekday,
    DayOfYear,
    Hour,
    Minute,
    Second,
}

impl DatePart {
    /// The part that the function of that name takes, in lower case; `extract` goes before the
    /// part's own name.
    pub(super) fn named(name: &str) -> Option<DatePart> {
        Some(match name {
            "year" | "extract year" => DatePart::Year,
            "quarter" | "extract quarter" => DatePart::Quarter,
            "month" | "extract month" => DatePart::Month,
            "weekofyear" | "extract week" => DatePart::Week,
            "day" | "dayofmonth" | "extract day" => DatePart::Day,
            "dayofweek" | "extract dayofweek" => DatePart::DayOfWeek,
            "weekday" => DatePart::Weekday,
            "dayofyear" | "extract doy" => DatePart::DayOfYear,
            "hour" | "extract hour" => DatePart::Hour,
            "minute" | "extract minute" => DatePart::Minute,
            "second" => DatePart::Second,
            _ => return None,
        })
    }

    /// Whether a date has the part.
    pub(super) fn is_of_date(self) -> bool {
        !matches!(self, DatePart::Hour | DatePart::Minute | DatePart::Second)
    }

    /// The part of so many microseconds since the epoch.
    pub(super) fn of(self, micros: i128) -> i64 {
        // Days of an i64 of days, or of microseconds, are an i64.
        let days = micros.div_euclid(MICROS_PER_DAY.into()) as i64;
        let seconds = (micros.rem_euclid(MICROS_PER_DAY.into()) as i64) / MICROS_PER_SECOND;
        let date = Civil::of_days(days);
        match self {
            DatePart::Year => date.year,
            DatePart::Quarter => (date.month - 1) / 3 + 1,
            DatePart::Month => date.month,
            DatePart::Week => {
                let thursday = monday(days).saturating_add(3);
                (thursday - first_of_year(thursday)) / 7 + 1
            }
            DatePart::Day => date.day,
            DatePart::DayOfWeek => (days.rem_euclid(7) + 4) % 7 + 1,
            DatePart::Weekday => (days.rem_euclid(7) + 3) % 7,
            DatePart::DayOfYear => days - first_of_year(days) + 1,
            DatePart::Hour => seconds / 3_600,
            DatePart::Minute => seconds / 60 % 60,
            DatePart::Second => seconds % 60,
        }
    }
}

/// The Monday of the week of a day.
fn monday(days: i64) -> i64 {
    days.saturating_sub((days.rem_euclid(7) + 3) % 7)
}

/// The first day of the year of a day.
fn first_of_year(days: i64) -> i64 {
    let year = Civil::of_days(days).year;
    Civil {
        year,
        month: 1,
        day: 1,
    }
    .days()
}

/// What dates and timestamps are cut to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DateUnit {
    Year,
    Quarter,
    Month,
    /// From Monday.
    Week,
    Day,
    Hour,
    Minute,
    Second,
    Millisecond,
    Microsecond,
}

impl DateUnit {
    /// The unit of a name of Spark, regardless of case.
    pub(super) fn named(name: &str) -> Option<DateUnit> {
        Some(match name.to_ascii_uppercase().as_str() {
            "YEAR" | "YYYY" | "YY" => DateUnit::Year,
            "QUARTER" => DateUnit::Quarter,
            "MONTH" | "MON" | "MM" => DateUnit::Month,
            "WEEK" => DateUnit::Week,
            "DAY" | "DD" => DateUnit::Day,
            "HOUR" => DateUnit::Hour,
            "MINUTE" => DateUnit::Minute,
            "SECOND" => DateUnit::Second,
            "MILLISECOND" => DateUnit::Millisecond,
            "MICROSECOND" => DateUnit::Microsecond,
            _ => return None,
        })
    }

    /// Whether `trunc` cuts dates to it.
    pub(super) fn is_of_date(self) -> bool {
        matches!(
            self,
            DateUnit::Year | DateUnit::Quarter | DateUnit::Month | DateUnit::Week
        )
    }

    /// The first day of the unit that a day lies in.
    pub(super) fn truncate_days(self, days: i64) -> i64 {
        let date = Civil::of_days(days);
        let month = match self {
            DateUnit::Year => 1,
            DateUnit::Quarter => (date.month - 1) / 3 * 3 + 1,
            DateUnit::Month => date.month,
            DateUnit::Week => return monday(days),
            _ => return days,
        };
        Civil {
            month,
            day: 1,
            ..date
        }
        .days()
    }

    /// The beginning of the unit that an instant lies in, where a timestamp holds it.
    pub(super) fn truncate_micros(self, micros: i64) -> Option<i64> {
        let unit = match self {
            DateUnit::Year
            | DateUnit::Quarter
            | DateUnit::Month
            | DateUnit::Week
            | DateUnit::Day => {
                let (days, _) = split(micros);
                return self.truncate_days(days).checked_mul(MICROS_PER_DAY);
            }
            DateUnit::Hour => 3_600 * MICROS_PER_SECOND,
            DateUnit::Minute => 60 * MICROS_PER_SECOND,
            DateUnit::Second => MICROS_PER_SECOND,
            DateUnit::Millisecond => 1_000,
            DateUnit::Microsecond => 1,
        };
        micros.checked_sub(micros.rem_euclid(unit))
    }
}

/// A pattern of `date_format`, of the letters whose meaning no setting changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Format {
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    /// A number, padded with zeros to a width.
    Number(DatePart, usize),
    Text(char),
}

impl Format {
    /// `yyyy`, one or two of `M`, `d`, `H`, `m`, `s`, signs, and text in single quotes. What is
    /// wrong is a clause.
    pub(super) fn new(pattern: &str) -> Result<Format, String> {
        let mut parts = Vec::new();
        let mut rest = pattern.chars().peekable();
        while let Some(char) = rest.next() {
            if char == '\'' {
                if rest.peek() == Some(&'\'') {
                    rest.next();
                    parts.push(Part::Text('\''));
                    continue;
                }
                loop {
                    match rest.next() {
                        Some('\'') => break,
                        Some(char) => parts.push(Part::Text(char)),
                        None => return Err("its pattern has a quote without end".to_owned()),
                    }
                }
                continue;
            }
            if !char.is_alphabetic() {
                if matches!(char, '[' | ']' | '{' | '}' | '#') {
                    return Err(format!("{char:?} in its pattern has a meaning of its own"));
                }
                parts.push(Part::Text(char));
                continue;
            }
            let mut width = 1;
            while rest.next_if_eq(&char).is_some() {
                width += 1;
            }
            let part = match (char, width) {
                ('y', 4) => DatePart::Year,
                ('M', 1 | 2) => DatePart::Month,
                ('d', 1 | 2) => DatePart::Day,
                ('H', 1 | 2) => DatePart::Hour,
                ('m', 1 | 2) => DatePart::Minute,
                ('s', 1 | 2) => DatePart::Second,
                _ => {
                    let letters = char.to_string().repeat(width.min(20));
                    return Err(format!(
                        "{letters:?} in its pattern is not; yyyy, MM, dd, HH, mm and ss are"
                    ));
                }
            };
            parts.push(Part::Number(part, width));
        }
        Ok(Format { parts })
    }

    /// The text for an instant in the years from 1 to 9999.
    pub(super) fn of(&self, micros: i64) -> Option<String> {
        if !(1..=9999).contains(&DatePart::Year.of(micros.into())) {
            return None;
        }
        let mut text = String::new();
        for part in &self.parts {
            match part {
                Part::Text(char) => text.push(*char),
                Part::Number(part, width) => {
                    text.push_str(&format!("{:0>width$}", part.of(micros.into())));
                }
            }
        }
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use jiff::civil::Date;

    use super::*;

    #[test]
    fn parts_are_those_of_the_calendar() {
        let epoch = Date::constant(1970, 1, 1);
        for days in (-719_162..2_932_896).step_by(17) {
            let date = epoch.checked_add(jiff::Span::new().days(days)).unwrap();
            let micros = i128::from(days) * i128::from(MICROS_PER_DAY) + 1;
            let weekday = date.weekday();
            for (part, expected) in [
                (DatePart::Year, i64::from(date.year())),
                (DatePart::Month, date.month().into()),
                (DatePart::Day, date.day().into()),
                (DatePart::DayOfYear, date.day_of_year().into()),
                (DatePart::Week, date.iso_week_date().week().into()),
                (DatePart::Weekday, weekday.to_monday_zero_offset().into()),
                (DatePart::DayOfWeek, weekday.to_sunday_one_offset().into()),
            ] {
                assert_eq!(part.of(micros), expected, "{part:?} of {date}");
            }
        }
    }

    #[test]
    fn no_instant_is_too_far_away() {
        for micros in [i64::MIN, -1, 0, i64::MAX] {
            for name in ["year", "weekofyear", "dayofyear", "second"] {
                DatePart::named(name).unwrap().of(micros.into());
            }
            for name in ["YEAR", "week", "DD", "HOUR", "microsecond"] {
                let unit = DateUnit::named(name).unwrap();
                unit.truncate_micros(micros);
                unit.truncate_days(i64::from(i32::MIN));
            }
        }
        assert_eq!(DateUnit::Week.truncate_micros(i64::MIN), None);
    }
}
