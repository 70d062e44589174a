//! Generated columns, defaults, lengths.

use arrow::array::{Array, AsArray};
use arrow::datatypes::{Int32Type, Int64Type};

use super::support::{IntakeBuilder, file_of, typed};
use super::{ints, longs, texts};

fn generated(sql: &str) -> String {
    format!(r#"{{"delta.generationExpression":"{sql}"}}"#)
}

#[test]
fn generated_columns_are_made_or_checked() {
    let table = typed("a", "long")
        .field("b", "long", true, &generated("a + 1"))
        .build();
    let taken = table.one(&file_of([("a", longs([Some(1), None]))]));
    let made = taken.column("b");
    assert_eq!(
        made.as_primitive::<Int64Type>().iter().collect::<Vec<_>>(),
        [Some(2), None]
    );
    let right = file_of([("a", longs([Some(1), None])), ("b", longs([Some(2), None]))]);
    assert!(table.one(&right).is_as_staged());
    let wrong = file_of([("a", longs([1, 2])), ("b", longs([2, 2]))]);
    let text = table.refusal(&wrong);
    for part in [
        "generation expression of column b",
        "a + 1",
        "row 1",
        "b = 2",
    ] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn generated_partition_columns_need_no_directory() {
    let table = typed("a", "long")
        .field("p", "long", true, &generated("a % 2"))
        .partitioned_by(&["p"])
        .build();
    let taken = table.accept(&file_of([("a", longs([1, 2, 3]))])).unwrap();
    let found: Vec<_> = taken
        .iter()
        .map(|taken| taken.partition("p").unwrap())
        .collect();
    assert_eq!(found, ["1", "0"]);
    let Err(error) = table.accept_in(&[("p", Some("0"))], &file_of([("a", longs([2, 3]))])) else {
        panic!("3 is odd");
    };
    assert!(error.to_string().contains("row 1"), "{error}");
    assert!(
        table
            .accept_in(&[("p", Some("0"))], &file_of([("a", longs([2, 4]))]))
            .is_ok()
    );
}

#[test]
fn defaults_fill_columns_that_are_not_there() {
    let table = IntakeBuilder::default()
        .column("a", "long")
        .field("b", "integer", false, r#"{"CURRENT_DEFAULT":"42"}"#)
        .features(&["allowColumnDefaults"])
        .build();
    let taken = table.one(&file_of([("a", longs([1, 2]))]));
    assert_eq!(
        taken
            .column("b")
            .as_primitive::<Int32Type>()
            .values()
            .to_vec(),
        [42, 42]
    );
    assert_eq!(taken.stats["minValues"]["b"], 42);
    let given = file_of([("a", longs([1])), ("b", ints([7]))]);
    assert!(table.one(&given).is_as_staged());
    let text = table.refusal(&file_of([
        ("a", longs([1, 2])),
        ("b", ints([Some(1), None])),
    ]));
    assert!(
        text.contains("column b is null"),
        "null is a value, and none of it: {text}"
    );
    // Without the feature the metadata means nothing.
    let table = typed("a", "long").field("b", "integer", true, r#"{"CURRENT_DEFAULT":"42"}"#);
    let taken = table.build().one(&file_of([("a", longs([1]))]));
    assert!(taken.is_as_staged());
}

#[test]
fn constraints_see_columns_that_the_file_lacks() {
    let table = typed("a", "long")
        .column("b", "long")
        .column("p", "integer")
        .partitioned_by(&["p"])
        .property("delta.constraints.b", "b IS NULL AND p = 3")
        .build();
    let file = file_of([("a", longs([1]))]);
    assert!(table.accept_in(&[("p", Some("3"))], &file).unwrap()[0].is_as_staged());
    let Err(error) = table.accept_in(&[("p", Some("4"))], &file) else {
        panic!("p is 4");
    };
    assert!(error.to_string().contains("p = 4"), "{error}");
}

#[test]
fn texts_are_no_longer_than_the_table_says() {
    let varchar = r#"{"__CHAR_VARCHAR_TYPE_STRING":"varchar(3)"}"#;
    let table = typed("a", "long")
        .field("v", "string", true, varchar)
        .build();
    assert!(
        table
            .one(&file_of([("v", texts([Some("äöü"), None, Some("")]))]))
            .is_as_staged()
    );
    let text = table.refusal(&file_of([("v", texts(["abc", "abcd"]))]));
    for part in ["column v", "4 characters", "row 1", "varchar(3)"] {
        assert!(text.contains(part), "{text}");
    }
    let char = r#"{"__CHAR_VARCHAR_TYPE_STRING":"char(3)"}"#;
    let table = typed("a", "long").field("c", "string", true, char).build();
    let taken = table.one(&file_of([("c", texts([Some("ä"), None, Some("abc")]))]));
    let padded = taken.column("c");
    let padded = padded.as_string::<i32>();
    assert_eq!(
        (padded.value(0), padded.is_null(1), padded.value(2)),
        ("ä  ", true, "abc")
    );
    assert!(
        table
            .refusal(&file_of([("c", texts(["abcd"]))]))
            .contains("char(3)")
    );
}

#[test]
fn lengths_hold_for_partition_values_and_for_what_is_made() {
    let varchar = r#"{"__CHAR_VARCHAR_TYPE_STRING":"varchar(3)"}"#;
    let table = typed("a", "long")
        .field("p", "string", true, varchar)
        .partitioned_by(&["p"])
        .build();
    let rows = file_of([("a", longs([1]))]);
    let Err(error) = table.accept_in(&[("p", Some("abcd"))], &rows) else {
        panic!("four characters are too many");
    };
    for part in ["column p", "4 characters", "varchar(3)"] {
        assert!(error.to_string().contains(part), "{error}");
    }
    let constant = file_of([("a", longs([1])), ("p", texts(["abcd"]))]);
    assert!(table.refusal(&constant).contains("varchar(3)"));

    let char = r#"{"__CHAR_VARCHAR_TYPE_STRING":"char(3)"}"#;
    let table = typed("a", "long")
        .field("p", "string", true, char)
        .partitioned_by(&["p"])
        .build();
    let partitions = |directories: &[(&str, Option<&str>)], file: &_| {
        let taken = table.accept_in(directories, file).unwrap();
        let values = taken.iter().map(|taken| taken.partition("p"));
        values
            .map(|value| value.map(str::to_owned))
            .collect::<Vec<_>>()
    };
    let padded = |text: &str| Some(text.to_owned());
    let named = |values: &[&str]| {
        file_of([
            ("a", longs((0..values.len() as i64).map(Some))),
            ("p", texts(values.iter().map(|text| Some(*text)))),
        ])
    };
    assert_eq!(partitions(&[("p", Some("b"))], &rows), [padded("b  ")]);
    assert_eq!(partitions(&[("p", None)], &rows), [None]);
    assert_eq!(partitions(&[], &named(&["b", "b"])), [padded("b  ")]);
    assert_eq!(partitions(&[], &named(&[""])), [padded("   ")]);
    assert_eq!(
        partitions(&[], &named(&["b", "cd"])),
        [padded("b  "), padded("cd ")]
    );
    let both = partitions(&[("p", Some("b"))], &named(&["b", "b "]));
    assert_eq!(both, [padded("b  ")]);
    assert!(table.accept_in(&[("p", Some("abcd"))], &rows).is_err());

    let made = |key: &str, sql: &str, spelling: &str| {
        let metadata = format!(r#"{{"{key}":"{sql}","__CHAR_VARCHAR_TYPE_STRING":"{spelling}"}}"#);
        typed("a", "long")
            .field("c", "string", true, &metadata)
            .features(&["allowColumnDefaults", "generatedColumns"])
            .build()
    };
    for (key, sql) in [
        ("CURRENT_DEFAULT", "'ab'"),
        ("delta.generationExpression", "concat('a', 'b')"),
    ] {
        let taken = made(key, sql, "char(3)").one(&rows);
        assert_eq!(taken.column("c").as_string::<i32>().value(0), "ab ");
        let text = made(key, sql, "varchar(1)").refusal(&rows);
        assert!(text.contains("2 characters"), "{text}");
    }
}
