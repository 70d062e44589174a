//! Files of several partitions.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Float64Array, TimestampMicrosecondArray};
use arrow::datatypes::Int64Type;

use super::support::{Taken, file_of, typed};
use super::{ints, longs, mapped, texts};
use crate::parquet::Footer;
use crate::parquet::testing::MemoryObject;

fn values(taken: &Taken, name: &str) -> Vec<i64> {
    taken
        .column(name)
        .as_primitive::<Int64Type>()
        .values()
        .to_vec()
}

#[test]
fn many_partitions_are_written_a_part_at_a_time() {
    let table = typed("p", "integer")
        .column("a", "long")
        .partitioned_by(&["p"])
        .build();
    let rows = 2_000;
    let file = file_of([
        ("p", ints((0..rows).map(|row| row % 150))),
        ("a", longs((0..rows).map(i64::from))),
    ]);
    let taken = table.accept(&file).unwrap();
    assert_eq!(taken.len(), 150);
    let mut all = Vec::new();
    for taken in &taken {
        let partition: i64 = taken.partition("p").unwrap().parse().unwrap();
        let rows = values(taken, "a");
        assert!(rows.iter().all(|row| row % 150 == partition));
        assert!(rows.is_sorted(), "the order of rows stays");
        assert_eq!(taken.file.num_records, rows.len() as u64);
        assert_eq!(taken.stats["minValues"]["a"], rows[0]);
        all.extend(rows);
    }
    all.sort_unstable();
    assert_eq!(all, (0..i64::from(rows)).collect::<Vec<_>>());
}

#[test]
fn too_many_partitions_are_refused() {
    let table = typed("p", "integer")
        .column("a", "long")
        .partitioned_by(&["p"])
        .build();
    let text = table.refusal(&file_of([("p", ints(0..600)), ("a", longs(0..600))]));
    assert!(
        text.contains("more than 512 partitions") && text.contains("by p"),
        "{text}"
    );
}

#[test]
fn values_are_kept_by_physical_names() {
    let table = super::support::IntakeBuilder::default()
        .field("p", "string", true, &mapped(1, "col-p"))
        .field("a", "long", true, &mapped(2, "col-a"))
        .partitioned_by(&["p"])
        .property("delta.columnMapping.mode", "name")
        .features(&["columnMapping"])
        .build();
    let taken = table
        .accept_in(&[("P", Some("x y"))], &file_of([("a", longs([1]))]))
        .unwrap();
    assert_eq!(taken[0].partition("col-p"), Some("x y"));
    assert_eq!(taken[0].names(), ["col-a"]);
}

#[test]
fn null_the_empty_text_and_special_numbers() {
    let table = typed("p", "string")
        .column("a", "long")
        .partitioned_by(&["p"])
        .build();
    let file = file_of([
        ("p", texts([Some(""), None, Some("x")])),
        ("a", longs([1, 2, 3])),
    ]);
    let taken = table.accept(&file).unwrap();
    assert_eq!(taken.len(), 2);
    assert_eq!(taken[0].partition("p"), None);
    assert_eq!(values(&taken[0], "a"), [1, 2]);

    let strict = typed("a", "long")
        .not_null("p", "string")
        .partitioned_by(&["p"])
        .build();
    let text = strict.refusal(&file_of([("p", texts(["x", ""])), ("a", longs([1, 2]))]));
    assert!(text.contains("column p is null in row 1"), "{text}");
    let Err(error) = strict.accept_in(&[("p", None)], &file_of([("a", longs([1]))])) else {
        panic!("null is no partition of it");
    };
    assert!(error.to_string().contains("column p is null"), "{error}");

    let table = typed("p", "double")
        .column("a", "long")
        .partitioned_by(&["p"])
        .build();
    let numbers = vec![0.0, -0.0, f64::NAN, -f64::NAN, f64::INFINITY, 1.5];
    let numbers: ArrayRef = Arc::new(Float64Array::from(numbers));
    let file = file_of([("p", numbers), ("a", longs(0..6))]);
    let taken = table.accept(&file).unwrap();
    let found: Vec<_> = taken
        .iter()
        .map(|taken| taken.partition("p").unwrap())
        .collect();
    assert_eq!(found, ["0.0", "NaN", "Infinity", "1.5"]);
}

#[test]
fn a_constant_column_is_known_by_its_statistics() {
    let table = typed("p", "timestamp")
        .column("a", "long")
        .partitioned_by(&["p"])
        .build();
    let times = TimestampMicrosecondArray::from(vec![1, 1]).with_timezone("UTC");
    let file = file_of([("p", Arc::new(times) as ArrayRef), ("a", longs([1, 2]))]);
    let taken = table.one(&file);
    assert_eq!(taken.partition("p"), Some("1970-01-01T00:00:00.000001Z"));
    assert_eq!(taken.names(), ["a"]);
    // The chunks are copied, not encoded anew.
    let footer = Footer::read(&MemoryObject::new(file.clone())).unwrap();
    let bytes_of = |leaf: usize| {
        let chunk = &footer.row_groups_meta().unwrap()[0].chunks[leaf];
        let start = usize::try_from(chunk.start).unwrap();
        start..start + usize::try_from(chunk.length).unwrap()
    };
    assert_eq!(taken.bytes[bytes_of(1)], file[bytes_of(1)]);
    // Nothing is left of the one that the log has.
    assert_eq!(taken.bytes[bytes_of(0)], vec![0; bytes_of(0).len()]);
    let Err(error) = table.accept_in(&[("p", Some("1970-01-01 00:00:00"))], &file) else {
        panic!("the directory says otherwise");
    };
    assert!(error.to_string().contains("000001Z"), "{error}");
    let agreeing = [("p", Some("1970-01-01 00:00:00.000001"))];
    assert_eq!(table.accept_in(&agreeing, &file).unwrap().len(), 1);
}

#[test]
fn materialized_partition_columns_are_in_the_file() {
    let table = typed("p", "integer")
        .column("a", "long")
        .partitioned_by(&["p"])
        .features(&["materializePartitionColumns"])
        .build();
    let with = file_of([("p", ints([7, 7])), ("a", longs([1, 2]))]);
    assert!(table.one(&with).is_as_staged());
    let without = file_of([("a", longs([1, 2]))]);
    let taken = table.accept_in(&[("p", Some("7"))], &without).unwrap();
    assert_eq!(taken[0].names(), ["p", "a"]);
    assert_eq!(taken[0].partition("p"), Some("7"));
    assert!(taken[0].stats["minValues"].get("p").is_none());
    assert_eq!(taken[0].stats["minValues"]["a"], 1);
    let mixed = file_of([("p", ints([7, 8])), ("a", longs([1, 2]))]);
    let taken = table.accept(&mixed).unwrap();
    assert_eq!(taken.len(), 2);
    assert_eq!(taken[1].column("p").len(), 1);
}

#[test]
fn a_file_of_partition_columns_alone_still_has_a_column() {
    let table = typed("p", "integer")
        .column("a", "long")
        .partitioned_by(&["p"])
        .build();
    let taken = table.one(&file_of([("p", ints([7, 7]))]));
    assert_eq!(taken.names(), ["a"]);
    assert_eq!(taken.column("a").null_count(), 2);
    assert_eq!(taken.stats["nullCount"]["a"], 2);
}
