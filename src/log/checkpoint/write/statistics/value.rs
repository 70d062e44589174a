//! Values as texts of the log.

use std::borrow::Cow;

use serde::Deserialize;

pub(super) use crate::schema::{days, decimal, instant, partition_timestamp, wall_clock};

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
