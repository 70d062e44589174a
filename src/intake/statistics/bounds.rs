//! The least and the greatest value of a leaf column, from the statistics of its column chunks.
//!
//! What makes a bound certain:
//!
//! - Only `min_value` and `max_value` count, of texts and long decimals only where the footer says
//!   how they are ordered. The older `min` and `max` were ordered wrongly by some writers; of signed
//!   numbers of 32 and 64 bits they never were.
//! - The bounds of floating-point columns leave out NaN, which Spark takes for the greatest value: the
//!   greatest is certain only where the file counts NaN, or was written by parquet-mr, which gives
//!   no bounds where there is one.
//! - A bound that is shortened is still one.

use ::parquet::basic::ColumnOrder;
use ::parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};
use ::parquet::file::statistics::Statistics;

use super::json::text;
use crate::intake::partition::{civil, date_text, decimal_text};
use crate::schema::PrimitiveType;

/// How many characters of a text Delta keeps.
const PREFIX: usize = 32;
/// How many characters are kept where the greatest character follows.
const LONGEST_PREFIX: usize = 64;
/// Greater than any other character, as Delta appends it to a text that is cut off.
const GREATEST: char = char::MAX;

/// What is known of a leaf column; bounds as JSON.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Found {
    pub(super) nulls: Option<u64>,
    pub(super) least: Option<String>,
    pub(super) greatest: Option<String>,
}

/// A bound.
#[derive(Debug, Clone, PartialEq, PartialOrd)]
enum Bound {
    /// A number, a decimal unscaled, days, or microseconds.
    Integer(i128),
    Float(f64),
    Text(Vec<u8>),
}

/// What the file knows of the leaf at `position`, which stores a type of the table exactly.
pub(super) fn of_leaf(
    metadata: &ParquetMetaData,
    position: usize,
    primitive: PrimitiveType,
) -> Found {
    let file = metadata.file_metadata();
    let order = file.column_order(position);
    // See the module.
    let never_nan =
        (file.created_by()).is_some_and(|writer| writer.starts_with("parquet-mr version "));
    let mut range = Some(Range::default());
    for group in metadata.row_groups() {
        let Some(chunk) = group.columns().get(position) else {
            return Found::default();
        };
        let nulls = chunk_nulls(chunk);
        if group.num_rows() == 0 || nulls == u64::try_from(chunk.num_values()).ok() {
            continue;
        }
        range = range
            .zip(chunk.statistics())
            .map(|(range, statistics)| range.and(bounds(statistics, order, primitive, never_nan)));
    }
    let range = range.unwrap_or_default();
    let (least, greatest) = match (range.least, range.greatest) {
        // Such statistics are of no use.
        (Known::Value(least), Known::Value(greatest)) if least > greatest => (None, None),
        (least, greatest) => (least.value(), greatest.value()),
    };
    Found {
        nulls: null_count(metadata, position),
        least: least.and_then(|bound| json(bound, primitive, Side::Least)),
        greatest: greatest.and_then(|bound| json(bound, primitive, Side::Greatest)),
    }
}

/// How many nulls the leaf at `position` has; `None` where a row group does not say.
pub(super) fn null_count(metadata: &ParquetMetaData, position: usize) -> Option<u64> {
    metadata.row_groups().iter().try_fold(0_u64, |sum, group| {
        sum.checked_add(chunk_nulls(group.columns().get(position)?)?)
    })
}

fn chunk_nulls(chunk: &ColumnChunkMetaData) -> Option<u64> {
    let values = u64::try_from(chunk.num_values()).ok()?;
    let nulls = chunk.statistics()?.null_count_opt()?;
    (nulls <= values).then_some(nulls)
}

/// A bound of some chunks.
#[derive(Debug, Clone, PartialEq, Default)]
enum Known {
    /// There were no values yet.
    #[default]
    Nothing,
    /// One of them does not say.
    Unknown,
    Value(Bound),
}

impl Known {
    fn and(self, other: Option<Bound>, is_better: impl Fn(&Bound, &Bound) -> bool) -> Known {
        match (self, other) {
            (Known::Unknown, _) | (_, None) => Known::Unknown,
            (Known::Nothing, Some(bound)) => Known::Value(bound),
            (Known::Value(mine), Some(other)) if is_better(&other, &mine) => Known::Value(other),
            (mine, Some(_)) => mine,
        }
    }

    fn value(self) -> Option<Bound> {
        match self {
            Known::Value(bound) => Some(bound),
            Known::Nothing | Known::Unknown => None,
        }
    }
}

#[derive(Debug, Default)]
struct Range {
    least: Known,
    greatest: Known,
}

impl Range {
    fn and(self, (least, greatest): (Option<Bound>, Option<Bound>)) -> Range {
        Range {
            least: self.least.and(least, |other, mine| other < mine),
            greatest: self.greatest.and(greatest, |other, mine| other > mine),
        }
    }
}

/// The bounds of one chunk.
fn bounds(
    statistics: &Statistics,
    order: ColumnOrder,
    primitive: PrimitiveType,
    never_nan: bool,
) -> (Option<Bound>, Option<Bound>) {
    let is_ordered =
        matches!(order, ColumnOrder::TYPE_DEFINED_ORDER(_)) && !statistics.is_min_max_deprecated();
    let integers = |least: Option<i128>, greatest: Option<i128>| {
        (least.map(Bound::Integer), greatest.map(Bound::Integer))
    };
    let floats = |least: Option<f64>, greatest: Option<f64>, nans: Option<u64>| {
        if statistics.is_min_max_deprecated() {
            return (None, None);
        }
        let finite = |number: f64| number.is_finite().then_some(Bound::Float(number));
        let has_no_nan = nans == Some(0) || (nans.is_none() && never_nan);
        (
            least.and_then(finite),
            greatest.filter(|_| has_no_nan).and_then(finite),
        )
    };
    match statistics {
        Statistics::Int32(values) => integers(
            values.min_opt().map(|value| (*value).into()),
            values.max_opt().map(|value| (*value).into()),
        ),
        Statistics::Int64(values) => integers(
            values.min_opt().map(|value| (*value).into()),
            values.max_opt().map(|value| (*value).into()),
        ),
        Statistics::Float(values) => floats(
            values.min_opt().map(|value| f64::from(*value)),
            values.max_opt().map(|value| f64::from(*value)),
            values.nan_count_opt(),
        ),
        Statistics::Double(values) => floats(
            values.min_opt().copied(),
            values.max_opt().copied(),
            values.nan_count_opt(),
        ),
        Statistics::ByteArray(_) | Statistics::FixedLenByteArray(_) if is_ordered => {
            let of = |bytes: Option<&[u8]>| match primitive {
                PrimitiveType::String => bytes.map(|bytes| Bound::Text(bytes.to_vec())),
                PrimitiveType::Decimal { .. } => big_endian(bytes?).map(Bound::Integer),
                _ => None,
            };
            (
                of(statistics.min_bytes_opt()),
                of(statistics.max_bytes_opt()),
            )
        }
        Statistics::ByteArray(_)
        | Statistics::FixedLenByteArray(_)
        | Statistics::Boolean(_)
        | Statistics::Int96(_) => (None, None),
    }
}

/// A signed number of up to 16 bytes, the most significant first.
pub(in crate::intake) fn big_endian(bytes: &[u8]) -> Option<i128> {
    let first = *bytes.first()?;
    let fill = if first & 0x80 == 0 { 0 } else { 0xFF };
    let mut wide = [fill; 16];
    let start = wide.len().checked_sub(bytes.len())?;
    wide[start..].copy_from_slice(bytes);
    Some(i128::from_be_bytes(wide))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Least,
    Greatest,
}

/// A bound as Delta writes it; `None` where it cannot be written so that it still is one.
fn json(bound: Bound, primitive: PrimitiveType, side: Side) -> Option<String> {
    match (bound, primitive) {
        (
            Bound::Integer(number),
            PrimitiveType::Byte
            | PrimitiveType::Short
            | PrimitiveType::Integer
            | PrimitiveType::Long,
        ) => Some(number.to_string()),
        (Bound::Integer(unscaled), PrimitiveType::Decimal { scale, .. }) => {
            Some(decimal_text(unscaled, scale))
        }
        (Bound::Integer(days), PrimitiveType::Date) => {
            let date = date_text(days.try_into().ok()?)?;
            (!date.starts_with("0000")).then(|| text(&date))
        }
        (Bound::Integer(micros), PrimitiveType::Timestamp) => {
            let time = milliseconds(micros.try_into().ok()?, side)?;
            Some(text(&format!("{time}Z")))
        }
        (Bound::Integer(micros), PrimitiveType::TimestampNtz) => {
            Some(text(&milliseconds(micros.try_into().ok()?, side)?))
        }
        (Bound::Float(number), PrimitiveType::Float | PrimitiveType::Double) => {
            // Whichever zero the file has, readers that tell them apart find it within.
            let number = match side {
                _ if number != 0.0 => number,
                Side::Least => -0.0,
                Side::Greatest => 0.0,
            };
            serde_json::to_string(&number).ok()
        }
        (Bound::Text(bytes), PrimitiveType::String) => match side {
            Side::Least => Some(text(prefix(&bytes))),
            Side::Greatest => greatest_text(&bytes).map(|bound| text(&bound)),
        },
        _ => None,
    }
}

/// A time in whole milliseconds, rounded so that it stays a bound.
fn milliseconds(micros: i64, side: Side) -> Option<String> {
    let rounded = match side {
        Side::Least => micros.div_euclid(1_000),
        Side::Greatest => micros.div_euclid(1_000) + i64::from(micros.rem_euclid(1_000) > 0),
    };
    let time = civil(rounded.checked_mul(1_000)?)?;
    (time.year() >= 1).then(|| {
        format!(
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}",
            time.year(),
            time.month(),
            time.day(),
            time.hour(),
            time.minute(),
            time.second(),
            time.subsec_nanosecond() / 1_000_000
        )
    })
}

/// The beginning of a text, which is a lower bound of it; as far as it is UTF-8.
fn prefix(bytes: &[u8]) -> &str {
    let valid = match std::str::from_utf8(bytes) {
        Ok(whole) => whole,
        Err(error) => std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default(),
    };
    match valid.char_indices().nth(PREFIX) {
        Some((end, _)) => &valid[..end],
        None => valid,
    }
}

/// A text that is not less than any that begins as `bytes` do: its own beginning, and the greatest
/// character where something is cut off.
fn greatest_text(bytes: &[u8]) -> Option<String> {
    let whole = std::str::from_utf8(bytes).ok()?;
    let mut end = whole.char_indices().skip(PREFIX);
    let Some((mut cut, mut next)) = end.next() else {
        return Some(whole.to_owned());
    };
    // Behind the greatest character nothing greater could be appended.
    let mut length = PREFIX;
    while next == GREATEST {
        length += 1;
        if length > LONGEST_PREFIX {
            return None;
        }
        match end.next() {
            Some((at, character)) => (cut, next) = (at, character),
            None => return Some(whole.to_owned()),
        }
    }
    Some(format!("{}{GREATEST}", &whole[..cut]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_so_that_they_stay_bounds() {
        let long = "a".repeat(40);
        assert_eq!(prefix(long.as_bytes()), "a".repeat(32));
        assert_eq!(prefix(b"ab\xFFc"), "ab");
        assert_eq!(greatest_text(b"short").as_deref(), Some("short"));
        assert_eq!(
            greatest_text(long.as_bytes()),
            Some(format!("{}{GREATEST}", "a".repeat(32)))
        );
        let accents = "é".repeat(33);
        assert_eq!(
            greatest_text(accents.as_bytes()),
            Some(format!("{}{GREATEST}", "é".repeat(32)))
        );
        let great = format!("{}{GREATEST}{GREATEST}b", "a".repeat(32));
        let bound = greatest_text(great.as_bytes()).unwrap();
        assert!(bound.as_bytes() >= great.as_bytes());
        assert_eq!(
            greatest_text(GREATEST.to_string().repeat(99).as_bytes()),
            None
        );
        assert_eq!(greatest_text(b"ab\xFFc"), None);
    }

    #[test]
    fn times_are_rounded_away_from_each_other() {
        let least = |micros| milliseconds(micros, Side::Least).unwrap();
        let greatest = |micros| milliseconds(micros, Side::Greatest).unwrap();
        assert_eq!(least(1_704_067_200_123_456), "2024-01-01T00:00:00.123");
        assert_eq!(greatest(1_704_067_200_123_456), "2024-01-01T00:00:00.124");
        assert_eq!(greatest(1_704_067_200_123_000), "2024-01-01T00:00:00.123");
        assert_eq!(least(-1), "1969-12-31T23:59:59.999");
        assert_eq!(greatest(-1), "1970-01-01T00:00:00.000");
        assert_eq!(milliseconds(i64::MAX, Side::Greatest), None);
        assert_eq!(milliseconds(i64::MIN, Side::Least), None);
    }

    #[test]
    fn numbers_are_exact_json() {
        let decimal = PrimitiveType::Decimal {
            precision: 38,
            scale: 2,
        };
        let digits = 12_345_678_901_234_567_890_123_456_789_012_345_678_i128;
        assert_eq!(
            json(Bound::Integer(-digits), decimal, Side::Least).as_deref(),
            Some("-123456789012345678901234567890123456.78")
        );
        assert_eq!(
            json(Bound::Integer(-5), decimal, Side::Least).as_deref(),
            Some("-0.05")
        );
        let double = |number, side| json(Bound::Float(number), PrimitiveType::Double, side);
        assert_eq!(double(0.0, Side::Least).as_deref(), Some("-0.0"));
        assert_eq!(double(-0.0, Side::Greatest).as_deref(), Some("0.0"));
        assert_eq!(double(1e300, Side::Greatest).as_deref(), Some("1e+300"));
        assert_eq!(big_endian(&[0xFF, 0x00]), Some(-256));
        assert_eq!(big_endian(&[0x01, 0x00]), Some(256));
        assert_eq!(big_endian(&[0; 17]), None);
    }
}
