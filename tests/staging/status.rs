//! `.status` after a failure: what is to blame, for programs.

use arrow::array::RecordBatch;
use serde_json::{Value, json};

use crate::rig::{begin, commit, get, put_rows, staging, status};
use crate::support::{TableBuilder, field, longs, metadata, protocol};

/// A table with one rule of each kind.
fn table() -> TableBuilder {
    let mut fields = vec![
        field("a", json!("long"), json!({})),
        field("b", json!("long"), json!({})),
        field(
            "i",
            json!("long"),
            json!({"delta.invariants": r#"{"expression":{"expression":"i < 10"}}"#}),
        ),
        field(
            "g",
            json!("long"),
            json!({"delta.generationExpression": "a + 1"}),
        ),
        field("n", json!("long"), json!({})),
    ];
    fields[4]["nullable"] = json!(false);
    let schema = json!({"type": "struct", "fields": fields}).to_string();
    let metadata = metadata(&[])
        .with("schemaString", schema)
        .property("delta.constraints.ordered", "a < B")
        .property("delta.constraints.positive", "a > 0");
    TableBuilder::with_actions([protocol(1, 4), metadata])
}

/// Two rows, of which the second has these values; `None` leaves a column out.
fn rows(second: [Option<Option<i64>>; 5]) -> RecordBatch {
    let first = [1, 2, 3, 2, 5].map(Some);
    let columns = ["a", "b", "i", "g", "n"]
        .into_iter()
        .zip(first.into_iter().zip(second));
    let present = columns.filter_map(|(name, (first, second))| {
        let values = longs([first, second?]);
        Some((name, values, true))
    });
    RecordBatch::try_from_iter_with_nullable(present).expect("columns fit together")
}

fn error_of(table: &TableBuilder, rows: &RecordBatch) -> Value {
    let area = staging(&table.root());
    let transaction = begin(&area, "b1").unwrap();
    put_rows(&transaction, "x.parquet", rows);
    commit(&transaction, "").expect_err("a rule is broken");
    let error = status(&transaction)["error"].clone();
    drop(transaction);
    drop(area);
    // Another mount tells the same.
    let area = staging(&table.root());
    let transaction = get(&area, "b1").unwrap();
    assert_eq!(status(&transaction)["error"], error);
    assert_eq!(error["errno"], libc::EINVAL);
    assert_eq!(error["file"], "x.parquet");
    error
}

#[test]
fn a_broken_rule_is_told_with_its_expression_the_row_and_the_columns() {
    let broken = |second, name: &str| {
        let error = error_of(&table(), &rows(second));
        assert_eq!(error["name"], name, "{error}");
        assert!(error["message"].as_str().unwrap().contains("x.parquet"));
        let told = ["row", "column", "constraint"].map(|key| error[key].clone());
        json!(told)
    };
    let some = |values: [i64; 5]| values.map(|value| Some(Some(value)));
    assert_eq!(
        broken(some([-1, 2, 3, 0, 5]), "InvariantViolation"),
        json!([1, "a", {
            "kind": "CHECK constraint", "name": "positive", "expression": "a > 0", "columns": ["a"]
        }])
    );
    assert_eq!(
        broken(some([3, 2, 3, 4, 5]), "InvariantViolation"),
        json!([1, null, {
            "kind": "CHECK constraint", "name": "ordered", "expression": "a < B",
            "columns": ["a", "b"]
        }])
    );
    assert_eq!(
        broken(some([1, 2, 30, 2, 5]), "InvariantViolation"),
        json!([1, "i", {
            "kind": "invariant", "name": "i", "expression": "i < 10", "columns": ["i"]
        }])
    );
    assert_eq!(
        broken(some([1, 2, 3, 1, 5]), "InvariantViolation"),
        json!([1, "g", {
            "kind": "generation expression", "name": "g", "expression": "a + 1", "columns": ["a"]
        }])
    );
    let mut null = some([1, 2, 3, 2, 5]);
    null[4] = Some(None);
    let not_null = json!({
        "kind": "NOT NULL", "name": "n", "expression": "n IS NOT NULL", "columns": ["n"]
    });
    assert_eq!(
        broken(null, "InvariantViolation"),
        json!([1, "n", not_null])
    );
    null[4] = None;
    assert_eq!(broken(null, "SchemaMismatch"), json!([null, "n", not_null]));
}
