//! Functions: what they make of the values of one row.

use std::borrow::Cow;

use super::calendar::{DatePart, DateUnit, Format};
use super::cast::Failure;
use super::evaluate::{self, Evaluated, Row};
use super::regular::Regex;
use super::time::{self, MICROS_PER_DAY};
use super::tree::{Node, Value};
use super::types::{DATE, primitive, whole_range};
use crate::schema::DataType;

/// The longest text that concatenation makes, bytes.
const MAX_TEXT: usize = 64 * 1024 * 1024;

/// A function of values of one row, its operands of the types that it takes. It is null where an
/// operand is, except where it says otherwise.
#[derive(Debug, Clone)]
pub(super) enum Function {
    /// Characters of a string, bytes of a binary value.
    Length,
    Upper,
    Lower,
    /// Without blanks at its beginning, its end, or both.
    Trim {
        start: bool,
        end: bool,
    },
    /// Of a text, from a place, and at most so many characters where there is a third operand.
    Substring,
    Concat,
    StartsWith,
    EndsWith,
    Contains,
    RLike(Regex),
    Absolute,
    /// False for null.
    IsNan,
    /// The remainder, which is not negative where the divisor is positive.
    PositiveRemainder,
    /// Elements of an array, or entries of a map.
    Size,
    Part(DatePart),
    /// Dates and timestamps cut to a unit.
    Truncate(DateUnit),
    Format(Format),
    /// Days from the second date to the first.
    DaysBetween,
}

impl Function {
    pub(super) fn evaluate<'a>(
        &'a self,
        operands: &'a [Node],
        row: &Row<'a>,
        result: &DataType,
    ) -> Evaluated<'a> {
        let mut values = Vec::with_capacity(operands.len());
        for operand in operands {
            values.push(operand.evaluate(row)?);
        }
        if values.iter().any(Value::is_null) {
            return match self {
                Function::IsNan => Ok(Value::Boolean(false)),
                Function::Size => {
                    Err("the size of null is -1 or null, by the mode of Spark".into())
                }
                _ => Ok(Value::Null),
            };
        }
        let is_date = operands.first().is_some_and(|node| node.data_type == DATE);
        self.apply(values, is_date, result)
    }

    fn apply<'a>(
        &self,
        values: Vec<Value<'a>>,
        is_date: bool,
        result: &DataType,
    ) -> Result<Value<'a>, Failure> {
        if let Function::Concat = self {
            return concat(&values);
        }
        let mut values = values.into_iter();
        let first = values.next();
        let second = values.next();
        let third = values.next();
        let value = match (self, first, second) {
            (Function::Length, Some(Value::Text(text)), None) => {
                whole_length(text.chars().count())?
            }
            (Function::Length, Some(Value::Bytes(bytes)), None) => whole_length(bytes.len())?,
            (Function::Upper, Some(Value::Text(text)), None) => {
                Value::Text(Cow::Owned(text.to_uppercase()))
            }
            (Function::Lower, Some(Value::Text(text)), None) => {
                Value::Text(Cow::Owned(text.to_lowercase()))
            }
            (Function::Trim { start, end }, Some(Value::Text(text)), None) => {
                let from = match start {
                    true => text.len() - text.trim_start_matches(' ').len(),
                    false => 0,
                };
                let to = match end {
                    true => text.trim_end_matches(' ').len(),
                    false => text.len(),
                };
                cut(text, from, to)
            }
            (Function::Substring, Some(Value::Text(text)), Some(Value::Integer(from))) => {
                let length = match third {
                    Some(Value::Integer(length)) => Some(length),
                    _ => None,
                };
                substring(text, from, length)
            }
            (Function::StartsWith, Some(Value::Text(text)), Some(Value::Text(part))) => {
                Value::Boolean(text.starts_with(&*part))
            }
            (Function::EndsWith, Some(Value::Text(text)), Some(Value::Text(part))) => {
                Value::Boolean(text.ends_with(&*part))
            }
            (Function::Contains, Some(Value::Text(text)), Some(Value::Text(part))) => {
                Value::Boolean(text.contains(&*part))
            }
            (Function::RLike(regex), Some(Value::Text(text)), None) => {
                Value::Boolean(regex.matches(&text)?)
            }
            (Function::Absolute, Some(Value::Float(value)), None) => Value::Float(value.abs()),
            (Function::Absolute, Some(Value::Decimal(value)), None) => {
                Value::Decimal(value.checked_abs().ok_or("the number has no opposite")?)
            }
            (Function::Absolute, Some(Value::Integer(value)), None) => {
                let range = primitive(result).and_then(whole_range);
                let value = value.checked_abs();
                let value = value.filter(|value| range.is_some_and(|(_, most)| *value <= most));
                Value::Integer(value.ok_or_else(|| format!("the opposite is no {result}"))?)
            }
            (Function::IsNan, Some(Value::Float(value)), None) => Value::Boolean(value.is_nan()),
            (
                Function::PositiveRemainder,
                Some(Value::Integer(left)),
                Some(Value::Integer(right)),
            ) => positive_remainder(left, right)?,
            (Function::Size, Some(Value::Nested(array, row)), None) => {
                whole_length(evaluate::size(array, row)?)?
            }
            (Function::Part(part), Some(Value::Integer(value)), None) => {
                let micros = match is_date {
                    true => i128::from(value) * i128::from(MICROS_PER_DAY),
                    false => value.into(),
                };
                Value::Integer(part.of(micros))
            }
            (Function::Truncate(unit), Some(Value::Integer(value)), None) => {
                let cut = match is_date {
                    true => Some(unit.truncate_days(value)),
                    false => unit.truncate_micros(value),
                };
                Value::Integer(cut.ok_or("the result is out of the range of timestamps")?)
            }
            (Function::Format(format), Some(Value::Integer(micros)), None) => {
                let text = format.of(micros);
                Value::Text(Cow::Owned(text.ok_or_else(|| {
                    let shown = time::format_timestamp(micros).unwrap_or(micros.to_string());
                    format!("{shown} is not in the years from 1 to 9999")
                })?))
            }
            (Function::DaysBetween, Some(Value::Integer(end)), Some(Value::Integer(start))) => {
                let days = i32::try_from(i128::from(end) - i128::from(start));
                Value::Integer(days.map_err(|_| "the dates are too far apart")?.into())
            }
            _ => return Err("the operands are of other types than the function takes".into()),
        };
        Ok(value)
    }
}

fn whole_length<'a>(length: usize) -> Result<Value<'a>, Failure> {
    let length = i32::try_from(length).map_err(|_| "the length is no integer")?;
    Ok(Value::Integer(length.into()))
}

fn positive_remainder<'a>(left: i64, right: i64) -> Result<Value<'a>, Failure> {
    if right == 0 {
        return Err("division by zero".into());
    }
    let (left, right) = (i128::from(left), i128::from(right));
    let remainder = left % right;
    let remainder = match remainder < 0 {
        true => (remainder + right) % right,
        false => remainder,
    };
    // It is smaller than the divisor.
    Ok(Value::Integer(remainder as i64))
}

fn concat<'a>(values: &[Value<'a>]) -> Result<Value<'a>, Failure> {
    let texts = values.iter().map(|value| match value {
        Value::Text(text) => &**text,
        _ => "",
    });
    let size: usize = texts.clone().map(str::len).sum();
    if size > MAX_TEXT {
        return Err(format!("the text has {size} bytes, more than {MAX_TEXT}").into());
    }
    let mut joined = String::with_capacity(size);
    joined.extend(texts);
    Ok(Value::Text(Cow::Owned(joined)))
}

/// The bytes of `text` from `from` to `to`, none where they cross; both stand between characters.
fn cut(text: Cow<'_, str>, from: usize, to: usize) -> Value<'_> {
    Value::Text(match text {
        Cow::Borrowed(text) => Cow::Borrowed(text.get(from..to).unwrap_or("")),
        Cow::Owned(text) => Cow::Owned(text.get(from..to).unwrap_or("").to_owned()),
    })
}

/// Spark's `substringSQL`: places count from 1, or from the end where they are negative; 0 is 1.
/// What of the range lies before the text is passed over.
fn substring(text: Cow<'_, str>, from: i64, length: Option<i64>) -> Value<'_> {
    let characters = || text.chars().count() as i128;
    let start = match i128::from(from) {
        from if from > 0 => from - 1,
        from if from < 0 => characters() + from,
        _ => 0,
    };
    let end = length.map(|length| start + i128::from(length));
    let byte = |place: i128| match usize::try_from(place) {
        Ok(place) => text
            .char_indices()
            .nth(place)
            .map_or(text.len(), |(at, _)| at),
        // Before the text, or far behind it.
        Err(_) if place < 0 => 0,
        Err(_) => text.len(),
    };
    let (from, to) = (byte(start), end.map_or(text.len(), byte));
    cut(text, from, to)
}
