//! Tests of taking files in, over files that other writers make.

// Other tests use more of it.
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

/// Makes the values of a file ones that cannot be read; its pages stay where they are.
fn damage_values(bytes: &mut [u8]) {
    use crate::parquet::{Footer, testing::MemoryObject};
    let footer = Footer::read(&MemoryObject::new(bytes.to_vec())).unwrap();
    for group in footer.row_groups_meta().unwrap() {
        for chunk in group.chunks {
            let end = usize::try_from(chunk.start + chunk.length).unwrap();
            bytes[end - 3..end].fill(0xEE);
        }
    }
}

/// Column metadata with an id and a physical name.
fn mapped(id: i32, name: &str) -> String {
    format!(r#"{{"delta.columnMapping.id":{id},"delta.columnMapping.physicalName":"{name}"}}"#)
}
