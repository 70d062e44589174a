//! Partition values as directory names, as Hive and Spark write them.

use std::borrow::Cow;
use std::fmt::Write;

/// The directory name that stands for null.
pub const HIVE_DEFAULT_PARTITION: &str = "__HIVE_DEFAULT_PARTITION__";

/// Whether a value of `partitionValues` means null: JSON null, and the empty string for every type
/// (PROTOCOL.md, "Partition Value Serialization").
pub fn is_null_partition_value(value: Option<&str>) -> bool {
    value.is_none_or(str::is_empty)
}

/// `text` with every character that Spark's `ExternalCatalogUtils.escapePathName` escapes, and NUL,
/// as `%` and two upper-case hexadecimal digits. [`unescape_hive`] undoes it.
///
/// Spark leaves a text alone whose first character needs escaping; this function does not, since
/// such a name could leave its directory.
pub fn escape_hive(text: &str) -> Cow<'_, str> {
    let Some(first) = text.bytes().position(needs_escape) else {
        return Cow::Borrowed(text);
    };
    let mut escaped = String::with_capacity(text.len() + 8);
    escaped.push_str(&text[..first]);
    for character in text[first..].chars() {
        match u8::try_from(character) {
            Ok(byte) if needs_escape(byte) => {
                write!(escaped, "%{byte:02X}").expect("writing to a String does not fail");
            }
            _ => escaped.push(character),
        }
    }
    Cow::Owned(escaped)
}

/// Whether an ASCII character has to be escaped; bytes above 0x7F never have to.
fn needs_escape(byte: u8) -> bool {
    matches!(
        byte,
        0x00..=0x1F
            | 0x7F
            | b'"'
            | b'#'
            | b'%'
            | b'\''
            | b'*'
            | b'/'
            | b':'
            | b'='
            | b'?'
            | b'\\'
            | b'{'
            | b'['
            | b']'
            | b'^'
    )
}

/// `text` with each `%` and two hexadecimal digits replaced by that byte. A run of such bytes that
/// is no UTF-8 stays as it is written, and so does a `%` that two digits do not follow.
///
/// Writers that escape more than Spark does (as URLs are) come out right too.
pub fn unescape_hive(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(percent) = rest.find('%') {
        plain.push_str(&rest[..percent]);
        rest = &rest[percent..];
        let (run, length) = escaped_run(rest.as_bytes());
        let written = &rest[..length.max(1)];
        match std::str::from_utf8(&run) {
            Ok(decoded) if length > 0 => plain.push_str(decoded),
            _ => plain.push_str(written),
        }
        rest = &rest[written.len()..];
    }
    plain.push_str(rest);
    Cow::Owned(plain)
}

/// The bytes that a run of escapes at the start of `text` stands for, and how long the run is.
fn escaped_run(text: &[u8]) -> (Vec<u8>, usize) {
    let mut bytes = Vec::new();
    let escapes = text.chunks_exact(3).map_while(|escape| {
        let digit = |byte: u8| char::from(byte).to_digit(16);
        let value = (digit(escape[1])? << 4) | digit(escape[2])?;
        (escape[0] == b'%').then_some(value as u8)
    });
    bytes.extend(escapes);
    let length = bytes.len() * 3;
    (bytes, length)
}
