//! Tests of taking files in, over files that other writers make.

#[allow(dead_code)]
#[path = "../../tests/support/intake.rs"]
mod support;

mod changes;
mod columns;
mod hostile;
mod nested;
mod partitions;
mod random;
mod rules;
mod statistics;
mod values;

use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Array, Int64Array, StringArray};

fn longs(values: impl IntoIterator<Item = impl Into<Option<i64>>>) -> ArrayRef {
    Arc::new(values.into_iter().map(Into::into).collect::<Int64Array>())
}

fn ints(values: impl IntoIterator<Item = impl Into<Option<i32>>>) -> ArrayRef {
    Arc::new(values.into_iter().map(Into::into).collect::<Int32Array>())
}

fn texts<'a>(values: impl IntoIterator<Item = impl Into<Option<&'a str>>>) -> ArrayRef {
    Arc::new(values.into_iter().map(Into::into).collect::<StringArray>())
}

/// Column metadata with an id and a physical name.
fn mapped(id: i32, name: &str) -> String {
    format!(r#"{{"delta.columnMapping.id":{id},"delta.columnMapping.physicalName":"{name}"}}"#)
}
