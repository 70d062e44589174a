//! Columns and fields for people.

use std::io::{self, Write};

use serde_json::{Map, Value};

use super::printable;
use crate::base::clock::rfc3339;

/// The heading of a column and the side its cells keep to.
pub(super) struct Column {
    heading: &'static str,
    right: bool,
}

impl Column {
    pub(super) fn left(heading: &'static str) -> Column {
        Column {
            heading,
            right: false,
        }
    }

    pub(super) fn right(heading: &'static str) -> Column {
        Column {
            heading,
            right: true,
        }
    }
}

/// Rows that are printed once their widths are known.
pub(super) struct Rows {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
}

impl Rows {
    pub(super) fn new(columns: Vec<Column>) -> Rows {
        Rows {
            columns,
            rows: Vec::new(),
        }
    }

    /// A row: one cell for each column.
    pub(super) fn push(&mut self, row: Vec<String>) {
        let cells = row.iter().map(|cell| printable(cell).into_owned());
        self.rows.push(cells.collect());
    }

    pub(super) fn print(&self, out: &mut impl Write) -> io::Result<()> {
        let widths: Vec<usize> = self
            .columns
            .iter()
            .enumerate()
            .map(|(at, column)| {
                let cells = self.rows.iter().map(|row| row[at].chars().count());
                cells.max().unwrap_or(0).max(column.heading.len())
            })
            .collect();
        let headings: Vec<String> = self.columns.iter().map(|c| c.heading.to_owned()).collect();
        for row in std::iter::once(&headings).chain(&self.rows) {
            let mut line = String::new();
            for ((cell, column), width) in row.iter().zip(&self.columns).zip(&widths) {
                if !line.is_empty() {
                    line.push_str("  ");
                }
                line.push_str(&if column.right {
                    format!("{cell:>width$}")
                } else {
                    format!("{cell:<width$}")
                });
            }
            writeln!(out, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

/// Prints what is known of a version, a field a line; absent fields are left out.
pub(super) fn print_fields(out: &mut impl Write, fields: &Map<String, Value>) -> io::Result<()> {
    let shown: Vec<(&String, String)> = fields
        .iter()
        .filter(|(key, _)| *key != "schema")
        .filter_map(|(key, value)| Some((key, cell(key, value)?)))
        .collect();
    let width = shown.iter().map(|(key, _)| key.len()).max().unwrap_or(0);
    for (key, value) in &shown {
        writeln!(out, "{key:<width$}  {}", printable(value))?;
    }
    if let Some(columns) = fields
        .get("schema")
        .and_then(|schema| schema.get("fields"))
        .and_then(Value::as_array)
    {
        writeln!(out, "schema")?;
        for column in columns {
            let name = column
                .get("name")
                .and_then(Value::as_str)
                .unwrap_or_default();
            let nullable = column.get("nullable").and_then(Value::as_bool);
            let not_null = if nullable == Some(false) {
                " not null"
            } else {
                ""
            };
            let line = format!("  {name}  {}{not_null}", type_name(&column["type"]));
            writeln!(out, "{}", printable(&line))?;
        }
    }
    Ok(())
}

/// A type as Spark prints it: `array<struct<a:long>>`. The JSON it comes from was parsed, so that it is
/// no deeper than that allows.
fn type_name(json: &Value) -> String {
    let part = |key: &str| type_name(&json[key]);
    match (json, json["type"].as_str()) {
        (Value::String(name), _) => name.clone(),
        (_, Some("array")) => format!("array<{}>", part("elementType")),
        (_, Some("map")) => format!("map<{},{}>", part("keyType"), part("valueType")),
        (_, Some("struct")) => {
            let fields = json["fields"].as_array().map_or(&[][..], Vec::as_slice);
            let fields = fields.iter().map(|field| {
                let name = field["name"].as_str().unwrap_or_default();
                format!("{name}:{}", type_name(&field["type"]))
            });
            format!("struct<{}>", fields.collect::<Vec<_>>().join(","))
        }
        (other, _) => other.to_string(),
    }
}

fn cell(key: &str, value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::Array(items) if items.is_empty() => None,
        Value::Object(items) if items.is_empty() => None,
        Value::String(text) => Some(text.clone()),
        Value::Number(number) if matches!(key, "timestamp" | "createdAt" | "lastModified") => {
            number.as_i64().map(rfc3339)
        }
        Value::Array(items) if key == "rebuildableVersions" => Some(
            items
                .iter()
                .map(|range| format!("{}-{}", range[0], range[1]))
                .collect::<Vec<_>>()
                .join(", "),
        ),
        Value::Array(items) if items.iter().all(Value::is_string) => Some(
            items
                .iter()
                .filter_map(Value::as_str)
                .collect::<Vec<_>>()
                .join(", "),
        ),
        Value::Array(items) if key == "transactions" => Some(
            items
                .iter()
                .map(|item| {
                    let app = item.get("appId").and_then(Value::as_str).unwrap_or("?");
                    format!("{app}={}", item["version"])
                })
                .collect::<Vec<_>>()
                .join(", "),
        ),
        Value::Object(items) => Some(
            items
                .iter()
                .map(|(key, value)| match value {
                    Value::String(text) => format!("{key}={text}"),
                    other => format!("{key}={other}"),
                })
                .collect::<Vec<_>>()
                .join(", "),
        ),
        other => Some(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nested_types_are_printed_as_spark_does() {
        let inner = json!({"type": "struct", "fields": [
            {"name": "a", "type": "long"},
            {"name": "b", "type": {"type": "map", "keyType": "string", "valueType": "decimal(5,2)"}},
        ]});
        let array = json!({"type": "array", "elementType": inner});
        assert_eq!(
            type_name(&array),
            "array<struct<a:long,b:map<string,decimal(5,2)>>>"
        );
    }
}
