//! Paths of columns.

/// The path of a part of the column `parent`, as messages show it: names with dots between them. The
/// path of the schema itself is empty. The parts of arrays and maps are called `element`, `key` and
/// `value`.
pub fn column_path(parent: &str, part: &str) -> String {
    match parent.is_empty() {
        true => part.to_owned(),
        false => format!("{parent}.{part}"),
    }
}
