//! The calendar that Spark used before 3.0: Julian until 1582-10-04, Gregorian from 1582-10-15 on,
//! as java.util.GregorianCalendar has it.
//!
//! A file in it says so in its key-value metadata, and Spark shows the same date and time of day in
//! the calendar of ISO 8601, which is what Parquet means. Nobody else does.

use std::sync::LazyLock;

use jiff::civil::{Date, Time};
use jiff::tz::{Offset, TimeZone};
use jiff::{SignedDuration, Timestamp};

use super::footer::Footer;
use super::schema::{Annotation, NodeKind, PhysicalType, TimeUnit};
use super::{Conversion, Node};

/// The version of Spark that wrote a file.
pub(super) const VERSION: &str = "org.apache.spark.version";
/// Says that dates and instants are in the older calendar.
pub(super) const DATES: &str = "org.apache.spark.legacyDateTime";
/// Says so of instants stored as INT96.
const INT96: &str = "org.apache.spark.legacyINT96";
/// The time zone in which instants are in the older calendar.
const ZONE: &str = "org.apache.spark.timeZone";
/// The first version that writes dates and instants so that they mean what the format says, unless
/// it marks the file.
const NEW_DATES: &[u8] = b"3.0.0";
/// The same of instants stored as INT96.
pub(super) const NEW_INT96: &[u8] = b"3.1.0";

/// 1582-10-15, from which on a date is the same day in both calendars, in days.
const SAME_DATES: i64 = -141_427;
/// 1900-01-01T00:00:00Z, from which on an instant is the same in both, in every time zone, in
/// seconds. Before it, Java has one offset for a time zone.
const SAME_INSTANTS: i64 = -2_208_988_800;
/// How much is told of the name of a time zone that is not known, bytes.
const NAME_SHOWN: usize = 64;
const MICROS_PER_SECOND: i64 = 1_000_000;
const MICROS_PER_DAY: i64 = 86_400 * MICROS_PER_SECOND;

/// What of a file is in the older calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OldCalendar {
    /// Dates, and instants that are stored as INT64.
    pub dates: bool,
    /// Instants that are stored as INT96.
    pub int96: bool,
}

impl Footer {
    /// What of the file is in the older calendar, by the version of Spark that wrote it and what it
    /// marked the file with.
    pub fn old_calendar(&self) -> OldCalendar {
        let version = self.key_value(VERSION);
        let is_before = |first: &[u8]| version.is_some_and(|version| version < first);
        OldCalendar {
            dates: is_before(NEW_DATES) || self.key_value(DATES).is_some(),
            int96: is_before(NEW_INT96) || self.key_value(INT96).is_some(),
        }
    }

    /// The time zone in which the instants of an older calendar are; UTC where the file does not
    /// say. Where it names one that is not known, the error is that name.
    pub fn old_zone(&self) -> Result<TimeZone, String> {
        let Some(name) = self.key_value(ZONE) else {
            return Ok(TimeZone::UTC);
        };
        let known = std::str::from_utf8(name).ok().and_then(zone);
        known.ok_or_else(|| {
            name[..name.len().min(NAME_SHOWN)]
                .escape_ascii()
                .to_string()
        })
    }

    /// Whether a node is a leaf that may hold dates or instants which are others in the older
    /// calendar: the file is in it, and statistics do not prove that all are recent enough.
    pub fn may_be_old(&self, node: &Node) -> bool {
        let NodeKind::Leaf { leaf, physical } = node.kind else {
            return false;
        };
        let bound = match node.annotation {
            _ if physical == PhysicalType::Int96 => return self.old_calendar().int96,
            Annotation::Date => SAME_DATES,
            Annotation::Timestamp { utc: true, unit } | Annotation::LegacyTimestamp(unit) => {
                match unit {
                    TimeUnit::Millis => SAME_INSTANTS * 1_000,
                    TimeUnit::Micros => SAME_INSTANTS * MICROS_PER_SECOND,
                    TimeUnit::Nanos => SAME_INSTANTS * 1_000_000_000,
                }
            }
            _ => return false,
        };
        self.old_calendar().dates && !self.is_at_least(leaf, bound)
    }
}

/// The time zone of a name as Java has it: of a region, or an offset as in `GMT+08:00`.
fn zone(name: &str) -> Option<TimeZone> {
    let offset = ["UTC", "GMT", "UT", ""]
        .iter()
        .find_map(|prefix| name.strip_prefix(prefix));
    match offset? {
        "" | "Z" => return Some(TimeZone::UTC),
        offset if offset.starts_with(['+', '-']) => {
            let (sign, offset) = offset.split_at(1);
            let mut parts = offset.split(':');
            let mut next = || match parts.next() {
                None => Some(0),
                Some(part) if part.len() <= 2 && part.bytes().all(|b| b.is_ascii_digit()) => {
                    part.parse::<i32>().ok()
                }
                Some(_) => None,
            };
            let seconds = next()? * 3_600 + next()? * 60 + next()?;
            let seconds = if sign == "-" { -seconds } else { seconds };
            let offset = Offset::from_seconds(seconds).ok()?;
            return parts.next().is_none().then(|| TimeZone::fixed(offset));
        }
        _ => {}
    }
    TimeZone::get(name).ok()
}

impl Conversion {
    /// The conversion that also takes values out of the older calendar; `None` where it is not
    /// known how.
    pub fn out_of_old_calendar(self) -> Option<Conversion> {
        Some(match self {
            Conversion::DaysToMicros => Conversion::OldDaysToMicros,
            Conversion::MillisToMicros => Conversion::OldMillisToMicros,
            Conversion::Int96ToMicros => Conversion::OldInt96ToMicros,
            _ => return None,
        })
    }
}

/// The day of ISO 8601 that is called like a day of the older calendar. The leap days that ISO 8601
/// does not have become the first of March.
pub(super) fn new_day(day: i64) -> i64 {
    if day >= SAME_DATES {
        return day;
    }
    // Of the Julian calendar, in which years begin in March here.
    let since = day + 719_470;
    let cycle = since.div_euclid(1_461);
    let day_of_cycle = since.rem_euclid(1_461);
    let year_of_cycle = (day_of_cycle - day_of_cycle / 1_460) / 365;
    let day_of_year = day_of_cycle - year_of_cycle * 365;
    let month = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * month + 2) / 5;
    let year = cycle * 4 + year_of_cycle;
    // The first of that month in ISO 8601, and the days after it.
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let first = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + (153 * month + 2) / 5;
    era * 146_097 + first - 719_468 + day_of_month
}

/// The instant whose date and time of day in `zone` are called as those of an instant of the older
/// calendar are, both in microseconds since the epoch.
pub(super) fn new_instant(micros: i64, zone: Option<&TimeZone>) -> Result<i64, String> {
    if micros >= SAME_INSTANTS * MICROS_PER_SECOND {
        return Ok(micros);
    }
    let problem = |what: &str| {
        format!(
            "{micros} microseconds since 1970 in the calendar that Spark used before 3.0, and {what}"
        )
    };
    let zone = zone.ok_or_else(|| problem("its time zone is not known"))?;
    let offset = i64::from(zone.to_offset(*OFFSETS_AT).seconds()) * MICROS_PER_SECOND;
    let local = micros
        .checked_add(offset)
        .ok_or_else(|| problem("too far in the past"))?;
    let day = new_day(local.div_euclid(MICROS_PER_DAY));
    let time = local.rem_euclid(MICROS_PER_DAY);
    if *zone == TimeZone::UTC {
        return (day.checked_mul(MICROS_PER_DAY))
            .and_then(|start| start.checked_add(time))
            .ok_or_else(|| problem("too far in the past"));
    }
    let days = SignedDuration::from_hours(day * 24);
    let date = Date::constant(1970, 1, 1).checked_add(days);
    date.ok()
        .map(|date| date.to_datetime(Time::midnight()))
        .and_then(|start| start.checked_add(SignedDuration::from_micros(time)).ok())
        .and_then(|local| zone.to_timestamp(local).ok())
        .map(Timestamp::as_microsecond)
        .ok_or_else(|| problem("too far in the past"))
}

/// When an offset is that of all time before.
static OFFSETS_AT: LazyLock<Timestamp> = LazyLock::new(|| {
    Timestamp::from_second(SAME_INSTANTS).expect("the year 1900 is among those of a timestamp")
});

#[cfg(test)]
mod tests {
    use super::*;

    fn iso(text: &str) -> i64 {
        let date: Date = text.parse().expect("a date");
        date.duration_since(Date::constant(1970, 1, 1)).as_hours() / 24
    }

    #[test]
    fn a_date_keeps_its_name() {
        // Days of the older calendar, by what they are called in ISO 8601.
        for (old, new) in [
            ("1970-01-01", "1970-01-01"),
            ("1582-10-15", "1582-10-15"),
            // 1582-10-04 was the day before.
            ("1582-10-14", "1582-10-04"),
            ("1582-10-05", "1582-09-25"),
            ("1500-03-11", "1500-03-01"),
            // Julian 1500-02-29, which ISO 8601 does not have.
            ("1500-03-10", "1500-03-01"),
            ("1500-03-09", "1500-02-28"),
            ("1500-01-10", "1500-01-01"),
            ("0000-12-30", "0001-01-01"),
            ("0000-12-29", "0000-12-31"),
            ("-000044-03-13", "-000044-03-15"),
        ] {
            assert_eq!(new_day(iso(old)), iso(new), "{old}");
        }
        let years = -4_000 * 365..SAME_DATES;
        let all: Vec<i64> = years.step_by(1).map(new_day).collect();
        assert!(
            all.windows(2)
                .all(|pair| (0..=1).contains(&(pair[1] - pair[0])))
        );
    }

    #[test]
    fn zones_are_called_as_java_calls_them() {
        let offset = |name: &str| {
            let zone = zone(name)?;
            Some(zone.to_offset(*OFFSETS_AT).seconds())
        };
        for (name, seconds) in [
            ("UTC", 0),
            ("Z", 0),
            ("GMT", 0),
            ("Etc/UTC", 0),
            ("GMT+08:00", 8 * 3_600),
            ("-03:30", -12_600),
            ("UTC+8", 8 * 3_600),
            ("+01:02:03", 3_723),
            ("America/Los_Angeles", -8 * 3_600),
        ] {
            assert_eq!(offset(name), Some(seconds), "{name}");
        }
        for name in [
            "", "Mars", "+1:2:3:4", "GMT+x", "+", "+99:00", "GMT+-1", "UTCx",
        ] {
            let found = offset(name);
            assert!(found.is_none() || name.is_empty(), "{name}: {found:?}");
        }
    }

    #[test]
    fn an_instant_keeps_its_name_in_its_zone() {
        let utc = TimeZone::UTC;
        let year_one = -62_135_596_800_000_000;
        assert_eq!(
            new_instant(year_one - 2 * MICROS_PER_DAY + 1, Some(&utc)),
            Ok(year_one + 1)
        );
        let recent = SAME_INSTANTS * MICROS_PER_SECOND;
        assert_eq!(new_instant(recent, None), Ok(recent));
        assert_eq!(new_instant(recent - 1, Some(&utc)), Ok(recent - 1));
        new_instant(recent - 1, None).expect_err("no zone");
        new_instant(i64::MIN, Some(&utc)).expect("UTC has no end");
        // Java took eight hours for all time before 1900; by the local time of Los Angeles, it was
        // seven minutes and two seconds less before 1883.
        let zone = TimeZone::get("America/Los_Angeles").expect("there");
        assert_eq!(
            new_instant(
                year_one - 2 * MICROS_PER_DAY + 8 * 3_600_000_000,
                Some(&zone)
            ),
            Ok(year_one + (7 * 3_600 + 52 * 60 + 58) * MICROS_PER_SECOND)
        );
        assert_eq!(new_instant(recent - 1, Some(&zone)), Ok(recent - 1));
        new_instant(i64::MIN, Some(&zone)).expect_err("beyond the calendar");
    }
}
