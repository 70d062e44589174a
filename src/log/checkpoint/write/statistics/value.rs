//! Values as texts of the log.

use std::borrow::Cow;

use serde::Deserialize;

pub(super) use crate::schema::{days, instant, wall_clock};

/// A JSON string.
pub(super) fn text(raw: &str) -> Option<Cow<'_, str>> {
    #[derive(Deserialize)]
    struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

    serde_json::from_str::<Text<'_>>(raw)
        .ok()
        .map(|text| text.0)
}

/// The text of a JSON number, or of a string that holds one, as those that JSON has no numbers for
/// (`"NaN"`) do.
pub(super) fn unquoted(raw: &str) -> Option<Cow<'_, str>> {
    match raw.as_bytes().first()? {
        b'"' => text(raw),
        b'-' | b'0'..=b'9' => Some(Cow::Borrowed(raw)),
        _ => None,
    }
}

/// The unscaled value of a decimal number, in digits or with an exponent, that needs no more digits
/// than the type has.
pub(super) fn decimal(text: &str, precision: u8, scale: u8) -> Option<i128> {
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
