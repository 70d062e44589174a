//! Arithmetic that fails rather than overflow, and decimals of up to 38 digits.

use arrow::datatypes::i256;

use super::cast::Failure;
use super::tree::{Arithmetic, Value};
use super::types::{MAX_PRECISION, primitive, whole_range};
use crate::schema::{DataType, PrimitiveType};

/// An operator on two values that are not null. Operands of a decimal operation are decimals of the
/// scales `scales`; all others are of one kind.
pub(super) fn arithmetic<'a>(
    operator: Arithmetic,
    left: &Value<'_>,
    right: &Value<'_>,
    scales: (u8, u8),
    result: &DataType,
) -> Result<Value<'a>, Failure> {
    match (left, right) {
        (Value::Integer(left), Value::Integer(right)) => whole(operator, *left, *right, result),
        (Value::Float(left), Value::Float(right)) => {
            let value = match operator {
                Arithmetic::Add => left + right,
                Arithmetic::Subtract => left - right,
                Arithmetic::Multiply => left * right,
                _ if *right == 0.0 => return Err("division by zero".into()),
                Arithmetic::Divide => left / right,
                Arithmetic::Remainder | Arithmetic::WholeDivide => left % right,
            };
            // A double holds enough of the result that rounding it once more is exact.
            Ok(Value::Float(match primitive(result) {
                Some(PrimitiveType::Float) => f64::from(value as f32),
                _ => value,
            }))
        }
        (Value::Decimal(left), Value::Decimal(right)) => {
            let Some(PrimitiveType::Decimal { precision, scale }) = primitive(result) else {
                return Err("the result is no decimal".into());
            };
            decimal(
                operator,
                (*left, scales.0),
                (*right, scales.1),
                (precision, scale),
            )
            .map(Value::Decimal)
        }
        _ => Err("the operands are no numbers of one kind".into()),
    }
}

fn whole<'a>(
    operator: Arithmetic,
    left: i64,
    right: i64,
    result: &DataType,
) -> Result<Value<'a>, Failure> {
    let (l, r) = (i128::from(left), i128::from(right));
    let value = match operator {
        Arithmetic::Add => l + r,
        Arithmetic::Subtract => l - r,
        Arithmetic::Multiply => l * r,
        _ if right == 0 => return Err("division by zero".into()),
        Arithmetic::Divide | Arithmetic::WholeDivide => l / r,
        Arithmetic::Remainder => l % r,
    };
    // Days of a date have the range of an integer.
    let range = match primitive(result) {
        Some(PrimitiveType::Date) => whole_range(PrimitiveType::Integer),
        Some(primitive) => whole_range(primitive),
        None => None,
    };
    let value = i64::try_from(value)
        .ok()
        .filter(|value| range.is_some_and(|(least, most)| (least..=most).contains(value)));
    value.map(Value::Integer).ok_or_else(|| {
        let sign = sign(operator);
        format!("{left} {sign} {right} is out of the range of {result}").into()
    })
}

/// An operator on digits of their scales.
///
/// The result has a value where it needs no rounding, or where rounding is the same by every
/// setting: quotients of a type of less than 38 digits. Results of 38 digits may have been given
/// fewer of them right of the point, and settings of Spark differ on that.
fn decimal(
    operator: Arithmetic,
    (left, left_scale): (i128, u8),
    (right, right_scale): (i128, u8),
    (precision, scale): (u8, u8),
) -> Result<i128, Failure> {
    let uncertain = || -> Failure {
        let (left, right) = (plain(left, left_scale), plain(right, right_scale));
        let sign = sign(operator);
        format!("{left} {sign} {right} has no certain value of decimal({precision},{scale})").into()
    };
    let is_quotient = matches!(operator, Arithmetic::Divide | Arithmetic::WholeDivide);
    if right == 0 && (is_quotient || operator == Arithmetic::Remainder) {
        return Err("division by zero".into());
    }
    let (l, r) = (i256::from_i128(left), i256::from_i128(right));
    let [s1, s2, wanted] = [left_scale, right_scale, scale].map(i32::from);
    // The result is a number of the scale `made`, divided by `divisor`.
    let exact = match operator {
        Arithmetic::Multiply => l.checked_mul(r).map(|value| (value, i256::ONE, s1 + s2)),
        Arithmetic::Divide | Arithmetic::WholeDivide => Some((l, r, s1 - s2)),
        Arithmetic::Add | Arithmetic::Subtract | Arithmetic::Remainder => {
            let common = s1.max(s2);
            let aligned = shifted(l, common - s1).zip(shifted(r, common - s2));
            let value = aligned.and_then(|(l, r)| match operator {
                Arithmetic::Add => l.checked_add(r),
                Arithmetic::Subtract => l.checked_sub(r),
                _ => l.checked_rem(r),
            });
            value.map(|value| (value, i256::ONE, common))
        }
    };
    let (value, divisor, made) = exact.ok_or_else(uncertain)?;
    let (numerator, denominator) = match wanted >= made {
        true => (shifted(value, wanted - made), Some(divisor)),
        false => (Some(value), shifted(divisor, made - wanted)),
    };
    let (numerator, denominator) = numerator.zip(denominator).ok_or_else(uncertain)?;
    let is_exact = numerator.checked_rem(denominator) == Some(i256::ZERO);
    let result = divide_half_up(numerator, denominator).ok_or_else(uncertain)?;
    if !is_exact {
        // Spark divides to 38 digits right of the point and rounds that.
        let twice = shifted(l, s2 + 38 - s1)
            .and_then(|l| divide_half_up(l, r))
            .zip(shifted(i256::ONE, 38 - wanted))
            .and_then(|(quotient, power)| divide_half_up(quotient, power));
        if !is_quotient || u32::from(precision) == MAX_PRECISION || twice != Some(result) {
            return Err(uncertain());
        }
    }
    let result = result.to_i128().filter(|result| fits(*result, precision));
    result.ok_or_else(uncertain)
}

fn sign(operator: Arithmetic) -> &'static str {
    match operator {
        Arithmetic::Add => "+",
        Arithmetic::Subtract => "-",
        Arithmetic::Multiply => "*",
        Arithmetic::Divide => "/",
        Arithmetic::Remainder => "%",
        Arithmetic::WholeDivide => "DIV",
    }
}

/// The quotient, rounded to the nearest whole number and away from zero in the middle.
fn divide_half_up(value: i256, divisor: i256) -> Option<i256> {
    let quotient = value.checked_div(divisor)?;
    let rest = value.checked_rem(divisor)?.wrapping_abs();
    let half = divisor.wrapping_abs().checked_sub(rest)?;
    if rest < half {
        return Some(quotient);
    }
    let is_negative = (value < i256::ZERO) != (divisor < i256::ZERO);
    let step = if is_negative {
        i256::MINUS_ONE
    } else {
        i256::ONE
    };
    quotient.checked_add(step)
}

/// The value times `10^exponent`, if 256 bits hold it.
fn shifted(value: i256, exponent: i32) -> Option<i256> {
    let power = i256::from_i128(10).checked_pow(exponent.try_into().ok()?)?;
    value.checked_mul(power)
}

/// `10^exponent`; the exponent is a scale, at most 38.
pub(super) fn power(exponent: u8) -> i128 {
    10i128.pow(u32::from(exponent).min(38))
}

/// Whether a decimal of that precision holds the digits.
pub(super) fn fits(value: i128, precision: u8) -> bool {
    value.unsigned_abs() < power(precision).unsigned_abs()
}

/// Digits of one scale as those of another, rounded half up.
pub(super) fn rescale(value: i128, from: u8, to: u8) -> Option<i128> {
    if to >= from {
        return value.checked_mul(power(to - from));
    }
    let divisor = power(from - to);
    let (quotient, rest) = (value / divisor, (value % divisor).abs());
    match rest >= divisor - rest {
        true => quotient.checked_add(value.signum()),
        false => Some(quotient),
    }
}

/// The decimal without an exponent.
pub(super) fn plain(value: i128, scale: u8) -> String {
    let scale = usize::from(scale);
    let sign = if value < 0 { "-" } else { "" };
    let digits = format!("{:0>width$}", value.unsigned_abs(), width = scale + 1);
    match digits.split_at(digits.len() - scale) {
        (whole, "") => format!("{sign}{whole}"),
        (whole, fraction) => format!("{sign}{whole}.{fraction}"),
    }
}

/// Whether Java writes the decimal with an exponent.
pub(super) fn is_scientific(value: i128, scale: u8) -> bool {
    let digits = value.unsigned_abs().to_string().len();
    usize::from(scale) > digits + 5
}

/// The double next to the decimal.
pub(super) fn to_double(value: i128, scale: u8) -> f64 {
    // A quotient of two doubles that are exact is rounded once.
    if scale <= 22 && value.unsigned_abs() < 1 << 53 {
        return value as f64 / power(scale) as f64;
    }
    plain(value, scale)
        .parse()
        .expect("digits with a point are a number")
}

/// Whether the text is digits with at most a sign, a point and an exponent.
pub(super) fn is_plain(text: &str) -> bool {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = digits
        .split_once(['e', 'E'])
        .map_or((digits, None), |(mantissa, exponent)| {
            (mantissa, Some(exponent))
        });
    let exponent = exponent.map(|exponent| exponent.strip_prefix(['+', '-']).unwrap_or(exponent));
    let (whole, fraction) = match mantissa.split_once('.') {
        // A point needs digits on one side of it.
        Some(("", fraction)) => ("0", fraction),
        Some((whole, "")) => (whole, "0"),
        Some(parts) => parts,
        None => (mantissa, "0"),
    };
    let is_number =
        |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number(whole) && is_number(fraction) && exponent.is_none_or(is_number)
}

/// The digits of a text without exponent, and how many of them stand right of the point.
pub(super) fn parse_decimal(text: &str) -> Option<(i128, u8)> {
    if !is_plain(text) || text.contains(['e', 'E']) {
        return None;
    }
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let scale = u8::try_from(fraction.len())
        .ok()
        .filter(|scale| *scale <= 38)?;
    Some((format!("{whole}{fraction}").parse().ok()?, scale))
}
