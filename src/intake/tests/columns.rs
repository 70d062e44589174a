//! Which column of a file is which of the table.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, Field, Schema};
use serde_json::json;

use super::support::{file_of, file_of_batch, rows_of, typed};
use super::{damage_values, longs, mapped, texts};
use crate::parquet::Footer;
use crate::parquet::testing::MemoryObject;

fn footer(bytes: &[u8]) -> Footer {
    Footer::read(&MemoryObject::new(bytes.to_vec())).unwrap()
}

#[test]
fn a_data_file_of_the_table_stays_as_it_is_and_no_value_is_read() {
    let table = typed("a", "long")
        .column("b", "string")
        .column("c", "double")
        .build();
    let mut bytes = file_of([("b", texts(["x", "y"])), ("a", longs([1, 2]))]);
    // Had a value been read, it would have been found damaged.
    damage_values(&mut bytes);
    let reading = typed("a", "long")
        .column("b", "string")
        .property("delta.constraints.c", "a > 0 AND b > ''")
        .build();
    assert!(reading.refusal(&bytes).contains("damaged"));
    let taken = table.one(&bytes);
    assert!(taken.is_as_staged());
    assert_eq!(taken.file.num_records, 2);
    assert_eq!(taken.file.codec, Some("snappy"));
    assert_eq!(
        taken.stats,
        json!({
            "numRecords": 2,
            "minValues": {"a": 1, "b": "x"},
            "maxValues": {"a": 2, "b": "y"},
            "nullCount": {"a": 0, "b": 0, "c": 2}
        })
    );
}

#[test]
fn names_of_another_case_are_written_as_the_table_has_them() {
    let table = typed("Id", "long").column("Größe", "string").build();
    let bytes = file_of([("GRÖSSE", texts(["x"])), ("ID", longs([1]))]);
    let text = table.refusal(&bytes);
    assert!(text.contains("GRÖSSE"), "ss is no ß: {text}");
    let bytes = file_of([("GRÖßE", texts(["x"])), ("ID", longs([1]))]);
    let taken = table.one(&bytes);
    assert!(!taken.is_as_staged());
    assert_eq!(taken.names(), ["Größe", "Id"]);
    assert_eq!(taken.rows().columns(), rows_of(&bytes).columns());
    // The chunks are copied.
    let end = usize::try_from(footer(&bytes).data_end()).unwrap();
    assert_eq!(taken.bytes[..end], bytes[..end]);
}

#[test]
fn names_that_are_one_to_delta_are_ambiguous() {
    let table = typed("a", "long").build();
    let text = table.refusal(&file_of([("a", longs([1])), ("A", longs([2]))]));
    assert!(text.contains("\"a\"") && text.contains("\"A\""), "{text}");
}

#[test]
fn unknown_columns_are_refused_with_advice() {
    let table = typed("a", "long").build();
    let text = table.refusal(&file_of([("a", longs([1])), ("b", texts(["x"]))]));
    for part in ["column b", "BYTE_ARRAY STRING", "mergeSchema", "in.parquet"] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn under_column_mapping_files_get_physical_names_and_ids() {
    for mode in ["name", "id"] {
        let inner = format!(
            r#"{{"type":"struct","fields":[{{"name":"x","type":"long","nullable":true,
            "metadata":{}}}]}}"#,
            mapped(3, "col-x")
        );
        let table = super::support::IntakeBuilder::default()
            .field("a", "long", true, &mapped(1, "col-a"))
            .field("s", &inner, true, &mapped(2, "col-s"))
            .property("delta.columnMapping.mode", mode)
            .features(&["columnMapping"])
            .build();
        let x = Field::new("x", DataType::Int64, true);
        let group = arrow::array::StructArray::new(vec![x].into(), vec![longs([7])], None);
        let bytes = file_of([("a", longs([1])), ("s", Arc::new(group))]);
        let taken = table.one(&bytes);
        assert!(!taken.is_as_staged());
        let footer = footer(&taken.bytes);
        let columns = footer.columns();
        assert_eq!(
            (columns[0].name.as_str(), columns[0].id),
            ("col-a", Some(1))
        );
        assert_eq!(
            (columns[1].name.as_str(), columns[1].id),
            ("col-s", Some(2))
        );
        let inner = &columns[1].children()[0];
        assert_eq!((inner.name.as_str(), inner.id), ("col-x", Some(3)));
        assert_eq!(
            taken.stats["minValues"],
            json!({"col-a": 1, "col-s": {"col-x": 7}})
        );

        // What is taken in once more by its logical names is the same again, and a file that has
        // the ids and names already stays as it is.
        let id = |id: i32| HashMap::from([("PARQUET:field_id".to_owned(), id.to_string())]);
        let table = super::support::IntakeBuilder::default()
            .field("a", "long", true, &mapped(1, "a"))
            .property("delta.columnMapping.mode", mode)
            .features(&["columnMapping"])
            .build();
        let field = Field::new("a", DataType::Int64, true).with_metadata(id(1));
        let schema = Arc::new(Schema::new(vec![field]));
        let batch = RecordBatch::try_new(schema, vec![longs([1])]).unwrap();
        assert!(table.one(&file_of_batch(&batch)).is_as_staged());
        assert!(
            !table.one(&file_of([("a", longs([1]))])).is_as_staged(),
            "no id"
        );
    }
}

#[test]
fn a_file_encoded_anew_has_physical_names_too() {
    let table = super::support::IntakeBuilder::default()
        .field("a", "long", true, &mapped(5, "col-a"))
        .property("delta.columnMapping.mode", "name")
        .features(&["columnMapping"])
        .build();
    let taken = table.one(&file_of([("A", super::ints([1, 2]))]));
    let footer = footer(&taken.bytes);
    assert_eq!(footer.columns()[0].name, "col-a");
    assert_eq!(footer.columns()[0].id, Some(5));
    assert_eq!(taken.stats["maxValues"], json!({"col-a": 2}));
}

#[test]
fn files_without_rows_are_looked_at_and_become_nothing() {
    let table = typed("a", "long").not_null("b", "long").build();
    let empty = file_of([
        ("a", longs([None::<i64>; 0])),
        ("b", longs([None::<i64>; 0])),
    ]);
    assert!(table.accept(&empty).unwrap().is_empty());
    let wrong = file_of([
        ("a", texts([None::<&str>; 0])),
        ("b", longs([None::<i64>; 0])),
    ]);
    assert!(table.refusal(&wrong).contains("column a"));
}
