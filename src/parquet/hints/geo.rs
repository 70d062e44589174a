//! The metadata of GeoParquet: which columns of bytes are geometries.

use serde_json::Value;

use super::ReaderHint;
use crate::parquet::footer::Footer;

const GEO: &str = "geo";

/// The column that DuckDB, ClickHouse and hyparquet see geometries in, where the table has bytes.
pub(super) fn misleading(footer: &Footer) -> Option<ReaderHint> {
    let hint = |column: &str, effect: String| ReaderHint {
        key: GEO,
        column: column.to_owned(),
        effect,
    };
    let metadata: Value = match serde_json::from_slice(footer.key_value(GEO)?) {
        Ok(metadata) => metadata,
        Err(error) => return Some(hint("", format!("an error: {error}"))),
    };
    let Some(columns) = metadata.get("columns").and_then(Value::as_object) else {
        return Some(hint("", "an error: it has no columns".to_owned()));
    };
    let node = footer
        .columns()
        .iter()
        .find(|node| columns.contains_key(&node.name))?;
    Some(hint(&node.name, "a geometry".to_owned()))
}
