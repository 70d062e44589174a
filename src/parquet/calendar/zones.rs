//! The time zones of the older calendar: how far instants before 1900 are moved out of it.
//!
//! What Spark shows depends on two histories of a zone. Java's old classes take one offset for all
//! time before 1900, which is the standard one of today; its new classes know local mean time and
//! what came after it. Spark ships the differences as a table, and `scripts/old_zones.py` makes
//! `zones.txt` of that: so what is shown is what Spark shows, and a name means the same bytes on
//! machines with other time zone data, or none.

/// One line a set of zones: `OFFSET FIRST [FROM=DIFFERENCE]... | NAMES`, all in seconds.
const TABLE: &str = include_str!("zones.txt");
const HOUR: i64 = 3_600;

/// How instants before 1900 are moved out of the older calendar, besides by the days of the calendar
/// itself, in one time zone.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OldZone {
    /// What local time is ahead of UTC in the older calendar, seconds.
    pub(super) offset: i64,
    /// What is added to instants of the distant past, seconds.
    pub(super) first: i64,
    /// From which instant on another number of seconds is added, ascending.
    pub(super) steps: Vec<(i64, i64)>,
}

impl OldZone {
    /// The time zone that a file names as Java does: a region, or an offset as in `GMT+08:00`. `None`
    /// where it is not known.
    pub fn named(name: &str) -> Option<OldZone> {
        region(name).or_else(|| offset(name).map(OldZone::fixed))
    }

    fn fixed(offset: i64) -> OldZone {
        OldZone {
            offset,
            ..OldZone::default()
        }
    }

    /// What is added at an instant, seconds.
    pub(super) fn difference(&self, second: i64) -> i64 {
        let step = self.steps.iter().rev().find(|&&(from, _)| from <= second);
        step.map_or(self.first, |&(_, difference)| difference)
    }
}

/// A zone of the table.
fn region(name: &str) -> Option<OldZone> {
    TABLE.lines().find_map(|line| {
        let (numbers, names) = line.split_once(" | ")?;
        names.split(' ').find(|&known| known == name)?;
        parse(numbers)
    })
}

fn parse(numbers: &str) -> Option<OldZone> {
    let mut numbers = numbers.split(' ');
    let mut next = || numbers.next()?.parse().ok();
    let (offset, first) = (next()?, next()?);
    let steps = numbers.map(|step| {
        let (from, difference) = step.split_once('=')?;
        Some((from.parse().ok()?, difference.parse().ok()?))
    });
    Some(OldZone {
        offset,
        first,
        steps: steps.collect::<Option<_>>()?,
    })
}

/// The offset that Spark takes for a name that is an offset: that of `GMT+8`, `GMT+8:30` and
/// `GMT+0830`, as java.util.TimeZone has it. What Spark takes for offsets and Java does not
/// (`+08:00`, `UTC+8`, seconds) is UTC in this calendar, for it writes and reads files so.
fn offset(name: &str) -> Option<i64> {
    if matches!(name, "Z" | "UT") {
        return Some(0);
    }
    let prefixes = ["GMT", "UTC", "UT", ""];
    let rest = prefixes
        .iter()
        .find_map(|prefix| name.strip_prefix(prefix))?;
    let digits = rest.strip_prefix(['+', '-'])?;
    let is_offset = digits.starts_with(|c: char| c.is_ascii_digit())
        && digits.bytes().all(|b| b.is_ascii_digit() || b == b':');
    if !is_offset {
        return None;
    }
    let custom = name.starts_with("GMT").then(|| of_java(digits)).flatten();
    let seconds = custom.unwrap_or(0);
    Some(if rest.starts_with('-') {
        -seconds
    } else {
        seconds
    })
}

/// The seconds of `8`, `8:30` or `0830`.
fn of_java(digits: &str) -> Option<i64> {
    let number = |text: &str| match text.len() {
        1 | 2 => text.parse::<i64>().ok(),
        _ => None,
    };
    let (hours, minutes) = match digits.split_once(':') {
        Some((hours, minutes)) if minutes.len() == 2 => (number(hours)?, number(minutes)?),
        Some(_) => return None,
        None if digits.len() <= 2 => (number(digits)?, 0),
        None => {
            let (hours, minutes) = digits.split_at_checked(digits.len() - 2)?;
            (number(hours)?, number(minutes)?)
        }
    };
    (hours <= 23 && minutes <= 59).then_some(hours * HOUR + minutes * 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_whole() {
        let mut names = std::collections::HashSet::new();
        for line in TABLE.lines() {
            let (numbers, here) = line.split_once(" | ").expect("names");
            let zone = parse(numbers).unwrap_or_else(|| panic!("{line}"));
            assert!(zone.offset.abs() <= 15 * HOUR, "{line}");
            assert!(zone.steps.is_sorted(), "{line}");
            for name in here.split(' ') {
                assert!(names.insert(name), "{name} is there twice");
                assert_eq!(OldZone::named(name), Some(zone.clone()), "{name}");
            }
        }
        assert!(names.len() > 600, "{}", names.len());
    }

    #[test]
    fn zones_are_called_as_java_calls_them() {
        for (name, seconds) in [
            ("UTC", 0),
            ("Z", 0),
            ("UT", 0),
            ("GMT", 0),
            ("Etc/UTC", 0),
            ("Etc/GMT+5", -5 * HOUR),
            ("GMT+8", 8 * HOUR),
            ("GMT+08", 8 * HOUR),
            ("GMT+08:00", 8 * HOUR),
            ("GMT-0330", -12_600),
            ("GMT-3:30", -12_600),
            ("EST", -5 * HOUR),
            // No offsets of java.util.TimeZone.
            ("+08:00", 0),
            ("-03:30", 0),
            ("UTC+8", 0),
            ("UT-01:00", 0),
            ("+01:02:03", 0),
            ("GMT+01:02:03", 0),
            ("GMT+24:00", 0),
        ] {
            assert_eq!(
                OldZone::named(name),
                Some(OldZone::fixed(seconds)),
                "{name}"
            );
        }
        let zone = OldZone::named("PST");
        assert_eq!(zone, OldZone::named("America/Los_Angeles"));
        assert_eq!(zone.expect("there").offset, -8 * HOUR);
        for name in [
            "",
            "Mars",
            "america/los_angeles",
            "GMT+x",
            "+",
            "GMT+-1",
            "UTCx",
            "|",
            "0",
            "GMT+é",
            "-",
            "Africa/Abidjan Africa/Accra",
            "\n",
        ] {
            assert_eq!(OldZone::named(name), None, "{name}");
        }
    }
}
