//! The metadata of the data frame that pandas keeps in a file, and pyarrow in what it makes of one.

use serde_json::Value;

use super::ReaderHint;
use crate::parquet::footer::Footer;
use crate::parquet::schema::{Annotation, Node, NodeKind, PhysicalType};

const PANDAS: &str = "pandas";

/// The types of column names that stay what they are in the file, as pandas calls them.
const TEXTS: [&str; 4] = ["unicode", "string", "mixed", "empty"];

/// What pandas sees otherwise: columns that become the index, have other names, or names that are no
/// texts, and values of an extension type that is not that of the file (what pyarrow makes of a
/// table keeps the entry though its columns change).
pub(super) fn misleading(footer: &Footer) -> Option<ReaderHint> {
    let hint = |column: &str, effect: String| ReaderHint {
        key: PANDAS,
        column: column.to_owned(),
        effect,
    };
    let metadata: Value = match serde_json::from_slice(footer.key_value(PANDAS)?) {
        Ok(metadata) => metadata,
        Err(error) => return Some(hint("", format!("an error: {error}"))),
    };
    let entries = |key: &str| metadata.get(key).and_then(Value::as_array);
    let index = entries("index_columns").into_iter().flatten();
    if let Some(column) = index.clone().find_map(Value::as_str) {
        return Some(hint(column, "an index instead of a column".to_owned()));
    }
    let levels = entries("column_indexes").map_or(&[][..], Vec::as_slice);
    let kind = |level: &Value| {
        level
            .get("pandas_type")
            .and_then(Value::as_str)
            .map(str::to_owned)
    };
    if let Some(kind) = levels
        .iter()
        .filter_map(kind)
        .find(|kind| !TEXTS.contains(&kind.as_str()))
    {
        return Some(hint("", format!("names of the type {kind}")));
    }
    if levels.len() > 1 {
        return Some(hint("", format!("names of {} levels", levels.len())));
    }
    entries("columns").into_iter().flatten().find_map(|entry| {
        let name = entry.get("name").and_then(Value::as_str);
        let stored = entry.get("field_name").and_then(Value::as_str).or(name)?;
        let node = footer.columns().iter().find(|node| node.name == stored)?;
        match (name, entry.get("numpy_type").and_then(Value::as_str)) {
            (None, _) => Some(hint(stored, "a column without a name".to_owned())),
            (Some(name), _) if name != stored => Some(hint(stored, format!("the name {name:?}"))),
            (_, Some(kind)) if !holds(node, kind) => {
                Some(hint(stored, format!("values of the type {kind}")))
            }
            _ => None,
        }
    })
}

/// Whether the values of a column are those of an extension type of pandas; true of types that
/// pandas does not go by.
fn holds(node: &Node, kind: &str) -> bool {
    let physical = match node.kind {
        NodeKind::Leaf { physical, .. } => Some(physical),
        NodeKind::Group(_) => None,
    };
    let is_plain = matches!(
        node.annotation,
        Annotation::None | Annotation::Integer { .. }
    );
    match kind.trim_end_matches(|digit: char| digit.is_ascii_digit()) {
        "Int" | "UInt" => {
            is_plain && matches!(physical, Some(PhysicalType::Int32 | PhysicalType::Int64))
        }
        "Float" => matches!(physical, Some(PhysicalType::Float | PhysicalType::Double)),
        "boolean" => physical == Some(PhysicalType::Boolean),
        text if text == "str" || text.starts_with("string") => {
            node.annotation == Annotation::String
        }
        _ => true,
    }
}
