//! The calendar that Spark used before 3.0: Julian until 1582-10-04, Gregorian from 1582-10-15 on,
//! as java.util.GregorianCalendar has it.
//!
//! A file in it says so in its key-value metadata, and Spark shows the same date and time of day in
//! the calendar of ISO 8601, which is what Parquet means. Nobody else does.

mod zones;

pub use zones::OldZone;

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
/// seconds.
const SAME_INSTANTS: i64 = -2_208_988_800;
/// How much is told of the name of a time zone that is not known, bytes.
const NAME_SHOWN: usize = 64;
const MICROS_PER_SECOND: i64 = 1_000_000;
const SECONDS_PER_DAY: i64 = 86_400;

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
    pub fn old_zone(&self) -> Result<OldZone, String> {
        let Some(name) = self.key_value(ZONE) else {
            return Ok(OldZone::default());
        };
        let known = std::str::from_utf8(name).ok().and_then(OldZone::named);
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

/// The instant whose date and time of day in a time zone are called as those of an instant of the
/// older calendar are, both in microseconds since the epoch.
pub(super) fn new_instant(micros: i64, zone: Option<&OldZone>) -> Result<i64, String> {
    if micros >= SAME_INSTANTS * MICROS_PER_SECOND {
        return Ok(micros);
    }
    let problem = |what: &str| {
        format!(
            "{micros} microseconds since 1970 in the calendar that Spark used before 3.0, and {what}"
        )
    };
    let zone = zone.ok_or_else(|| problem("its time zone is not known"))?;
    let second = micros.div_euclid(MICROS_PER_SECOND);
    let day = (second + zone.offset).div_euclid(SECONDS_PER_DAY);
    let seconds = (new_day(day) - day) * SECONDS_PER_DAY + zone.difference(second);
    micros
        .checked_add(seconds * MICROS_PER_SECOND)
        .ok_or_else(|| problem("too far in the past"))
}

#[cfg(test)]
mod tests {
    use jiff::civil::Date;

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
    fn an_instant_keeps_its_name_in_its_zone() {
        let utc = OldZone::default();
        let year_one = -62_135_596_800_000_000;
        let two_days = 2 * SECONDS_PER_DAY * MICROS_PER_SECOND;
        assert_eq!(
            new_instant(year_one - two_days + 1, Some(&utc)),
            Ok(year_one + 1)
        );
        let recent = SAME_INSTANTS * MICROS_PER_SECOND;
        assert_eq!(new_instant(recent, None), Ok(recent));
        assert_eq!(new_instant(recent - 1, Some(&utc)), Ok(recent - 1));
        new_instant(recent - 1, None).expect_err("no zone");
        new_instant(i64::MIN, Some(&utc)).expect("there is no first year");
    }

    /// What Spark 4.1 shows of files that it wrote with `datetimeRebaseModeInWrite=LEGACY`, in seconds.
    #[test]
    fn an_instant_is_what_spark_shows() {
        for (zone, old, new) in [
            ("America/Los_Angeles", -62_135_679_903, -62_135_507_525),
            ("America/Los_Angeles", -14_825_768_479, -14_826_632_901),
            ("America/Los_Angeles", -12_219_303_273, -12_220_167_695),
            ("America/Los_Angeles", -2_208_992_371, -2_208_992_371),
            ("Europe/Amsterdam", -62_135_682_875, -62_135_507_525),
            ("Europe/Amsterdam", -14_825_767_880, -14_826_629_330),
            ("Europe/Amsterdam", -12_219_302_674, -12_220_164_124),
            ("Europe/Amsterdam", -2_208_995_971, -2_208_992_371),
            ("Asia/Kolkata", -62_135_678_917, -62_135_507_525),
            ("Asia/Kolkata", -14_825_767_493, -14_826_632_901),
            ("Asia/Kolkata", -12_219_303_588, -12_219_304_996),
            ("Asia/Kolkata", -2_208_992_901, -2_208_992_371),
            ("Asia/Shanghai", -62_135_679_982, -62_135_507_525),
            ("Asia/Shanghai", -14_825_768_558, -14_826_632_901),
            ("Asia/Shanghai", -12_219_303_352, -12_219_303_695),
            ("Asia/Shanghai", -2_208_992_028, -2_208_992_371),
            ("Africa/Monrovia", -62_135_682_913, -62_135_507_525),
            ("Africa/Monrovia", -14_825_767_918, -14_826_629_330),
            ("Africa/Monrovia", -12_219_302_712, -12_220_164_124),
            ("Africa/Monrovia", -2_208_994_959, -2_208_992_371),
            ("Asia/Manila", -62_135_766_485, -62_135_507_525),
            ("Asia/Manila", -14_825_769_357, -14_826_547_197),
            ("Asia/Manila", -12_219_303_364, -12_219_217_204),
            ("Asia/Manila", -2_208_992_371, -2_208_992_371),
            ("Asia/Manila", -3_944_620_560, -3_944_620_800),
            ("Pacific/Apia", -62_135_681_941, -62_135_507_525),
            ("Pacific/Apia", -14_825_766_946, -14_826_629_330),
            ("Pacific/Apia", -12_219_303_737, -12_219_302_121),
            ("Pacific/Apia", -2_209_080_387, -2_208_992_371),
            ("America/Ciudad_Juarez", -62_135_680_681, -62_135_507_525),
            ("America/Ciudad_Juarez", -14_825_769_257, -14_826_632_901),
            ("America/Ciudad_Juarez", -12_219_304_051, -12_220_167_695),
            ("America/Ciudad_Juarez", -2_208_992_727, -2_208_992_371),
            ("EST", -62_135_680_325, -62_135_507_525),
            ("EST", -14_825_768_901, -14_826_632_901),
            ("EST", -12_219_303_695, -12_220_167_695),
            ("EST", -2_208_992_371, -2_208_992_371),
            ("GMT+5:30", -62_135_680_325, -62_135_507_525),
            ("GMT+5:30", -14_825_768_901, -14_826_632_901),
            ("GMT+5:30", -12_219_303_604, -12_219_303_604),
            ("GMT+5:30", -2_208_992_371, -2_208_992_371),
            ("+05:30", -62_135_680_325, -62_135_507_525),
            ("+05:30", -14_825_768_901, -14_826_632_901),
            ("+05:30", -12_219_303_695, -12_220_167_695),
            ("+05:30", -2_208_992_371, -2_208_992_371),
        ] {
            let found = OldZone::named(zone).expect("known");
            let micros = |second: i64| second * MICROS_PER_SECOND + 123_456;
            let got = new_instant(micros(old), Some(&found));
            assert_eq!(got, Ok(micros(new)), "{zone}: {old}");
        }
    }
}
