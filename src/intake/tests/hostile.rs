//! Damaged files: an error, never a panic.

use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, StructArray};
use arrow::datatypes::{DataType, Field};
use proptest::prelude::*;

use super::support::{IntakeTable, file_of, staged, typed};
use super::{ints, longs, texts};
use crate::intake::{SchemaChange, evolve, schema_of_file};

fn table() -> IntakeTable {
    typed("a", "long")
        .column("s", r#"{"type":"struct","fields":[{"name":"x","type":"long","nullable":false,"metadata":{}}]}"#)
        .column("t", "string")
        .column("f", "double")
        .property("delta.constraints.c", "a >= 0 OR t IS NULL")
        .build()
}

/// A table into which the chunks of the file are copied under other names.
fn renaming() -> IntakeTable {
    typed("A", "integer")
        .column("S", r#"{"type":"struct","fields":[{"name":"X","type":"long","nullable":true,"metadata":{}}]}"#)
        .column("T", "string")
        .column("F", "double")
        .build()
}

fn file() -> Vec<u8> {
    let x = Field::new("x", DataType::Int64, true);
    let group = StructArray::new(vec![x].into(), vec![longs(0..50)], None);
    let words: Vec<String> = (0..50).map(|n| format!("word {}", n % 7)).collect();
    file_of([
        ("a", ints(0..50)),
        ("s", Arc::new(group)),
        ("t", texts(words.iter().map(String::as_str))),
        (
            "f",
            Arc::new(Float64Array::from_iter_values((0..50).map(f64::from))) as ArrayRef,
        ),
    ])
}

#[test]
fn a_file_cut_anywhere_is_refused() {
    let (table, file) = (table(), file());
    assert!(table.accept(&file).is_ok());
    let renamed = renaming().one(&file);
    assert_eq!(renamed.names(), ["A", "S", "T", "F"]);
    for length in (0..file.len()).step_by(7) {
        assert!(table.accept(&file[..length]).is_err(), "{length}");
    }
}

/// A copy that failed in its middle leaves a footer that is well.
#[test]
fn f27_a_file_with_a_hole_or_shifted_bytes_is_refused() {
    let kept = typed("a", "integer").column("t", "string").build();
    let words: Vec<String> = (0..500).map(|n| format!("word {n}")).collect();
    let file = file_of([
        ("a", ints(0..500)),
        ("t", texts(words.iter().map(String::as_str))),
    ]);
    assert!(kept.one(&file).is_as_staged());
    let mut hole = file.clone();
    hole[4..file.len() / 3].fill(0);
    let mut shifted = file.clone();
    shifted.splice(4..4, [0; 100]);
    for damaged in [hole, shifted] {
        for table in [&kept, &typed("A", "integer").column("T", "string").build()] {
            let text = table.refusal(&damaged);
            assert!(text.contains("is damaged"), "{text}");
        }
    }
}

#[test]
fn files_put_one_behind_the_other_are_refused() {
    let table = typed("a", "integer").build();
    let part = |first: i32| file_of([("a", ints(first..first + 10))]);
    for parts in [&[part(0), part(10)][..], &[part(0), part(10), part(20)]] {
        assert!(table.one(&parts[0]).is_as_staged());
        let text = table.refusal(&parts.concat());
        assert!(text.contains("several Parquet files"), "{text}");
    }
    let converted = typed("a", "long").build();
    assert!(
        converted
            .refusal(&[part(0), part(10)].concat())
            .contains("several")
    );
}

proptest! {
    #![proptest_config(crate::base::random::cases(300))]

    #[test]
    fn flipped_bytes_never_panic(flips in proptest::collection::vec((any::<u16>(), any::<u8>()), 1..6)) {
        let (table, mut file) = (table(), file());
        for (at, value) in flips {
            let at = usize::from(at) % file.len();
            file[at] = value;
        }
        // Either is right: what was flipped may be a value.
        let _ = table.accept(&file);
        let _ = renaming().accept(&file);
    }

    #[test]
    fn flipped_bytes_of_the_footer_never_panic(flips in proptest::collection::vec((any::<u16>(), any::<u8>()), 1..4)) {
        let (table, mut file) = (table(), file());
        let end = file.len() - 8;
        let length = u32::from_le_bytes(file[end..end + 4].try_into().unwrap()) as usize;
        for (at, value) in flips {
            let at = end - length + usize::from(at) % length;
            file[at] = value;
        }
        let _ = table.accept(&file);
        let _ = renaming().accept(&file);
        let staged = staged("in.parquet", &[], &file);
        let _ = schema_of_file(&staged);
        for how in [SchemaChange::Merge, SchemaChange::Overwrite] {
            let files = std::slice::from_ref(&staged);
            let _ = evolve(&table.metadata, &table.shape, &table.protocol, files, how);
        }
    }
}
