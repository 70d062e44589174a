//! The canonical form of JSON (PROTOCOL.md, "JSON checksum").

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value};

/// "All octets except a-z / A-Z / 0-9 / "-" / "." / "_" / "~" are reserved".
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// "Top level `checksum` key is ignored in the canonicalization process."
pub(super) fn canonical(object: &Map<String, Value>) -> String {
    let mut pairs = Vec::new();
    for (name, value) in object.iter().filter(|(name, _)| *name != "checksum") {
        flatten(text(name), value, &mut pairs);
    }
    // "Sort canonicalized path/value pairs using a byte-order sort on paths."
    pairs.sort();
    let pairs: Vec<String> = pairs
        .into_iter()
        .map(|(path, value)| format!("{path}={value}"))
        .collect();
    pairs.join(",")
}

fn flatten(path: String, value: &Value, pairs: &mut Vec<(String, String)>) {
    match value {
        Value::Object(object) => {
            for (name, value) in object {
                flatten(format!("{path}+{}", text(name)), value, pairs);
            }
        }
        Value::Array(values) => {
            for (index, value) in values.iter().enumerate() {
                flatten(format!("{path}+{index}"), value, pairs);
            }
        }
        Value::String(string) => pairs.push((path, text(string))),
        Value::Null | Value::Bool(_) | Value::Number(_) => pairs.push((path, value.to_string())),
    }
}

fn text(text: &str) -> String {
    format!("\"{}\"", utf8_percent_encode(text, RESERVED))
}
