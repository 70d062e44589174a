//! Predicates over partition values.

use std::collections::BTreeMap;

use super::super::*;
use super::schema;
use crate::schema::MappingMode;
use crate::txn::PartitionFilter;

fn predicate(sql: &str) -> Result<PartitionPredicate, ExpressionError> {
    let schema = schema();
    let names = ["i", "t", "day", "ts", "dec", "flag", "d"].map(str::to_owned);
    let fields = schema.partition_fields(&names).unwrap();
    PartitionPredicate::parse(sql, &fields, MappingMode::None)
}

fn partition(values: &[(&str, Option<&str>)]) -> BTreeMap<String, Option<String>> {
    let values = values.iter();
    values
        .map(|(name, value)| ((*name).to_owned(), value.map(str::to_owned)))
        .collect()
}

#[test]
fn partition_values_are_compared_as_values_of_their_types() {
    let values = partition(&[
        ("i", Some("10")),
        ("t", Some("x=1/y")),
        ("day", Some("2024-01-02")),
        ("ts", Some("2024-01-02 03:04:05.678")),
        ("dec", Some("1.5")),
        ("flag", Some("TRUE")),
        ("d", Some("NaN")),
    ]);
    for (sql, expected) in [
        ("i = 10", Some(true)),
        ("I > 9 AND t LIKE 'x=%'", Some(true)),
        ("i < '9'", Some(false)),
        ("day >= '2024-01-01' AND day < '2024-02-01'", Some(true)),
        ("day IN ('2024-01-01', '2024-01-03')", Some(false)),
        ("ts = '2024-01-02T03:04:05.678Z'", Some(true)),
        ("dec = 1.50", Some(true)),
        ("flag", Some(true)),
        ("d > 1e300", Some(true)),
        ("i = NULL", None),
        ("true", Some(true)),
    ] {
        let predicate = predicate(sql).unwrap();
        assert_eq!(predicate.evaluate(&values).unwrap(), expected, "{sql}");
        assert_eq!(
            predicate.may_match(&values),
            expected == Some(true),
            "{sql}"
        );
    }
}

#[test]
fn the_empty_text_is_null() {
    for value in [None, Some("")] {
        let values = partition(&[("i", value), ("t", value)]);
        for (sql, expected) in [
            ("i = 10", None),
            ("i IS NULL AND t IS NULL", Some(true)),
            ("t = ''", None),
        ] {
            let predicate = predicate(sql).unwrap();
            assert_eq!(predicate.evaluate(&values).unwrap(), expected, "{sql}");
        }
    }
}

#[test]
fn what_is_not_certain_may_match() {
    for (values, expected) in [
        (partition(&[("i", Some("ten"))]), "\"ten\""),
        (partition(&[("i", Some("99999999999"))]), "99999999999"),
        (partition(&[]), "missing"),
        (partition(&[("i", Some("0"))]), "division by zero"),
    ] {
        let predicate = predicate("1 / i > 5").unwrap();
        let error = predicate.evaluate(&values).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        assert!(predicate.may_match(&values));
    }
}

#[test]
fn physical_names_are_looked_up() {
    let mut schema = schema();
    let field = schema
        .fields
        .iter_mut()
        .find(|field| field.name == "i")
        .unwrap();
    let key = "delta.columnMapping.physicalName".to_owned();
    field.metadata.insert(key, "col-1".into());
    let fields = schema.partition_fields(&["i".to_owned()]).unwrap();
    let predicate = PartitionPredicate::parse("i = 1", &fields, MappingMode::Name).unwrap();
    let values = partition(&[("col-1", Some("1"))]);
    assert_eq!(predicate.evaluate(&values).unwrap(), Some(true));
}

#[test]
fn data_columns_are_refused_by_name() {
    let error = predicate("i = 1 AND L > 5").unwrap_err();
    let ExpressionError::NotPartitionColumn {
        column,
        partition_columns,
        ..
    } = &error
    else {
        panic!("{error}");
    };
    assert_eq!(column, "L");
    assert!(partition_columns.starts_with("i, t, day"));
    assert!(error.to_string().contains("\"L\""));
    assert!(
        predicate("i")
            .unwrap_err()
            .to_string()
            .contains("condition")
    );
}
