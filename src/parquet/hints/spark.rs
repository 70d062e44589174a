//! The schema of the data frame that Spark keeps in a file. Spark believes it rather than the schema
//! of the file, and pyarrow hands it on to files of other columns that it makes of a table.

use serde_json::Value;

use super::ReaderHint;
use crate::parquet::footer::Footer;
use crate::parquet::schema::{Annotation, ListForm, Node, NodeKind, PhysicalType};

const ROW: &str = "org.apache.spark.sql.parquet.row.metadata";

/// Where Spark sees other columns or types than those of the file.
pub(super) fn misleading(footer: &Footer) -> Option<ReaderHint> {
    let hint = |column: String, effect: String| ReaderHint {
        key: ROW,
        column,
        effect,
    };
    let row: Value = match serde_json::from_slice(footer.key_value(ROW)?) {
        Ok(row) => row,
        Err(error) => return Some(hint(String::new(), format!("an error: {error}"))),
    };
    let fields = row.get("fields").and_then(Value::as_array);
    let Some(fields) = fields else {
        return Some(hint(String::new(), "an error: it has no fields".to_owned()));
    };
    let (column, effect) = fields_differ(fields, footer.columns(), "")?;
    Some(hint(column, effect))
}

type Difference = (String, String);

fn fields_differ(fields: &[Value], nodes: &[Node], parent: &str) -> Option<Difference> {
    if fields.len() != nodes.len() {
        return Some((parent.to_owned(), format!("{} columns", fields.len())));
    }
    fields.iter().zip(nodes).find_map(|(field, node)| {
        let column = match parent {
            "" => node.name.clone(),
            _ => format!("{parent}.{}", node.name),
        };
        match field.get("name").and_then(Value::as_str) {
            Some(name) if name == node.name => {
                type_differs(field.get("type").unwrap_or(&Value::Null), node, &column)
            }
            name => Some((column, format!("the name {:?}", name.unwrap_or_default()))),
        }
    })
}

fn type_differs(kind: &Value, node: &Node, column: &str) -> Option<Difference> {
    let other = || Some((column.to_owned(), format!("the type {kind}")));
    let part = |key: &str, node: &Node| match kind.get(key) {
        Some(kind) => type_differs(kind, node, column),
        None => other(),
    };
    if let Some(name) = kind.as_str() {
        return if is_primitive(name, node) {
            None
        } else {
            other()
        };
    }
    let name = kind.get("type").and_then(Value::as_str).unwrap_or_default();
    match (name, node.annotation, node.children()) {
        ("struct", Annotation::None, children) if !children.is_empty() => {
            match kind.get("fields").and_then(Value::as_array) {
                Some(fields) => fields_differ(fields, children, column),
                None => other(),
            }
        }
        ("array", Annotation::List, [repeated]) => match repeated.list_form() {
            ListForm::Around(element) => part("elementType", element),
            ListForm::Element | ListForm::Disputed => part("elementType", repeated),
        },
        // What a user-defined type is stored as: that of the table, in which it is one too.
        ("udt", ..) => part("sqlType", node),
        ("map", Annotation::Map | Annotation::MapKeyValue, [entries]) => match entries.children() {
            [key, value] => part("keyType", key).or_else(|| part("valueType", value)),
            _ => other(),
        },
        _ => other(),
    }
}

/// Whether Spark reads a leaf, or a variant, so stored as the type of that name with no schema but
/// the file's.
fn is_primitive(name: &str, node: &Node) -> bool {
    let NodeKind::Leaf { physical, .. } = node.kind else {
        return name == "variant" && node.is_variant();
    };
    let bits = |wanted: i8| {
        node.annotation
            == Annotation::Integer {
                bits: wanted,
                signed: true,
            }
    };
    let is_plain = node.annotation == Annotation::None;
    match name {
        "byte" => bits(8),
        "short" => bits(16),
        "integer" => physical == PhysicalType::Int32 && (is_plain || bits(32)),
        "long" => physical == PhysicalType::Int64 && (is_plain || bits(64)),
        "float" => physical == PhysicalType::Float,
        "double" => physical == PhysicalType::Double,
        "boolean" => physical == PhysicalType::Boolean,
        "string" => node.annotation == Annotation::String,
        "binary" => is_plain && physical == PhysicalType::ByteArray,
        "date" => node.annotation == Annotation::Date,
        "timestamp" => {
            physical == PhysicalType::Int96
                || matches!(
                    node.annotation,
                    Annotation::Timestamp { utc: true, .. } | Annotation::LegacyTimestamp(_)
                )
        }
        "timestamp_ntz" => matches!(node.annotation, Annotation::Timestamp { utc: false, .. }),
        // Months, or microseconds; of the table, in which they are intervals too.
        "interval year" | "interval year to month" | "interval month" => {
            is_plain && physical == PhysicalType::Int32
        }
        _ if name.starts_with("interval ") => is_plain && physical == PhysicalType::Int64,
        _ => match node.annotation {
            Annotation::Decimal { precision, scale } => {
                name == format!("decimal({precision},{scale})")
            }
            _ => false,
        },
    }
}
