//! In what a file is not what the table shows.

use crate::parquet::{Node, Repetition};
use crate::schema::column_path;

/// The first thing in which a file is not what the table shows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: the file has {found}, the table {expected}", self.place())]
pub struct Mismatch {
    /// The column by its path, as in the schema; empty where it concerns the whole file.
    pub column: String,
    /// What the file has.
    pub found: String,
    /// What the table has.
    pub expected: String,
}

impl Mismatch {
    /// That of one node of a file.
    pub(super) fn of(column: &str, node: &Node, expected: impl ToString) -> Mismatch {
        Mismatch {
            column: column.to_owned(),
            found: node.to_string(),
            expected: expected.to_string(),
        }
    }

    fn place(&self) -> String {
        if self.column.is_empty() {
            "all columns".to_owned()
        } else {
            format!("column {}", self.column)
        }
    }
}

/// The key and the value of the entries of a map.
pub(super) fn key_and_value<'n>(
    entries: &'n Node,
    column: &str,
) -> Result<(&'n Node, &'n Node), Mismatch> {
    let [key, value] = entries.children() else {
        return Err(Mismatch::of(
            column,
            entries,
            "entries of a key and a value",
        ));
    };
    if key.repetition != Repetition::Required {
        return Err(Mismatch {
            column: column_path(column, "key"),
            found: "keys that may be null".to_owned(),
            expected: "keys that are never null".to_owned(),
        });
    }
    Ok((key, value))
}
