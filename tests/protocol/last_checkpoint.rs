//! "Last Checkpoint File".

use serde_json::json;

use crate::ID;
use crate::support::{Checkpoint, TableBuilder, list};

/// "The last checkpoint file can help reduce the cost of constructing the latest snapshot of the
/// table by providing a pointer to near the end of the log": a pointer, so whatever it says, the
/// versions are those that the log has.
#[test]
fn the_hint_decides_nothing() {
    let hints = [
        json!({"version": 4, "size": 7}).to_string(),
        json!({"version": 0, "size": 7}).to_string(),
        json!({"version": 3, "size": 7}).to_string(),
        json!({"version": 9_999, "size": 7}).to_string(),
        json!({"version": -1, "size": 7}).to_string(),
        json!({"version": 4, "size": 7, "parts": 3, "checksum": "not right"}).to_string(),
        json!({"version": u64::MAX}).to_string(),
        json!({"size": 7}).to_string(),
        String::new(),
        "{".to_owned(),
        "[4]".to_owned(),
        "\0\u{1}".to_owned(),
    ];
    let mut table = TableBuilder::with_schema(ID);
    table.commit_adds(6);
    table.checkpoint(2, Checkpoint::Classic);
    table.checkpoint(4, Checkpoint::Classic);
    for hint in hints {
        table.write_log("_last_checkpoint", &hint);
        table.check(&table.generation(), [6, 5, 4, 3, 2, 1, 0]);
        let names = list(&table.tree(), "").unwrap();
        assert_eq!(
            names.iter().filter(|name| name.starts_with("@v")).count(),
            7,
            "{hint}"
        );
    }
}

/// The file may be missing, or a directory.
#[test]
fn a_missing_hint_is_no_trouble() {
    let mut table = TableBuilder::with_schema(ID);
    table.commit_adds(3);
    table.checkpoint(2, Checkpoint::Classic);
    table.check(&table.generation(), [3, 0]);
    std::fs::create_dir(table.log("_last_checkpoint")).unwrap();
    table.check(&table.generation(), [3, 0]);
}
