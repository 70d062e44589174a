//! Functions, constants and generated columns.

use super::super::*;
use super::{batch, check, schema};

#[test]
fn texts_are_measured_and_cut() {
    check(&[
        ("length(t)", "5 | null | 2"),
        ("char_length(t)", "5 | null | 2"),
        ("length(bin)", "2 | null | 0"),
        ("upper(t)", "\"HELLO\" | null | \"Ü \""),
        ("lower(t)", "\"hello\" | null | \"ü \""),
        ("upper('straße')", "\"STRASSE\""),
        ("trim(t)", "\"Hello\" | null | \"ü\""),
        ("trim(' \\ta ')", "\"\\ta\""),
        ("ltrim('  a ')", "\"a \""),
        ("rtrim('  a ')", "\"  a\""),
        ("substring(t, 2)", "\"ello\" | null | \" \""),
        ("substring(t, 2, 3)", "\"ell\" | null | \" \""),
        ("substr(t, 0, 2)", "\"He\" | null | \"ü \""),
        ("substring(t, -3, 2)", "\"ll\" | null | \"ü\""),
        ("substring(t, -7, 3)", "\"H\" | null | \"\""),
        ("substring(t, 3, -1)", "\"\" | null | \"\""),
        ("substring(t, 9223372036854775807L)", "\"\" | null | \"\""),
        ("substring(t FROM 2 FOR 1)", "\"e\" | null | \" \""),
        ("substring('2024-01-02', 1, 7)", "\"2024-01\""),
        ("t || '-' || i", "\"Hello-10\" | null | \"ü -2147483647\""),
        ("concat(t, NULL)", "null"),
        (
            "concat(day, 'x')",
            "\"2024-01-02x\" | null | \"1969-12-31x\"",
        ),
        ("startswith(t, 'He')", "true | null | false"),
        ("endswith(t, 'lo')", "true | null | false"),
        ("contains(t, 'll')", "true | null | false"),
        ("t RLIKE '^H.*o$'", "true | null | false"),
        ("t NOT REGEXP 'l+'", "false | null | true"),
        ("rlike(t, r'^\\w+$')", "true | null | false"),
    ]);
}

#[test]
fn numbers_are_folded() {
    check(&[
        ("abs(l)", "3 | null | !"),
        ("abs(b)", "5 | null | !"),
        ("abs(dec)", "10.50 | null | 99999999.99"),
        ("abs(d)", "2.5 | null | 0"),
        ("negative(i)", "-10 | null | -2147483647"),
        ("isnan(f)", "false | false | true"),
        ("mod(l, 2)", "-1 | null | 0"),
        ("pmod(l, 2)", "1 | null | 0"),
        ("pmod(l, -2)", "-1 | null | 0"),
        ("pmod(i, 0)", "! | null | !"),
        ("size(arr)", "3 | ! | 1"),
        ("size(m)", "1 | ! | 0"),
        ("nullif(i, 10)", "null | null | 2147483647"),
        ("nvl2(i, 'y', 'n')", "\"y\" | \"n\" | \"y\""),
        ("ifnull(i, 0)", "10 | 0 | 2147483647"),
    ]);
}

#[test]
fn dates_and_timestamps_are_taken_apart() {
    check(&[
        ("year(ts)", "2024 | null | 1969"),
        ("year(day)", "2024 | null | 1969"),
        ("month(ts)", "1 | null | 12"),
        ("day(ts)", "2 | null | 31"),
        ("dayofmonth(day)", "2 | null | 31"),
        ("quarter(day)", "1 | null | 4"),
        ("dayofweek(day)", "3 | null | 4"),
        ("weekday(day)", "1 | null | 2"),
        ("dayofyear(day)", "2 | null | 365"),
        ("weekofyear(day)", "1 | null | 1"),
        ("hour(ts)", "12 | null | 23"),
        ("minute(ntz)", "34 | null | 59"),
        ("second(ts)", "56 | null | 59"),
        ("hour(day)", "0 | null | 0"),
        ("extract(YEAR FROM ts)", "2024 | null | 1969"),
        ("extract(doy FROM day)", "2 | null | 365"),
        (
            "date_trunc('MONTH', ts)",
            "2024-01-01 00:00:00 | null | 1969-12-01 00:00:00",
        ),
        (
            "date_trunc('hour', ts)",
            "2024-01-02 12:00:00 | null | 1969-12-31 23:00:00",
        ),
        (
            "date_trunc('week', ts)",
            "2024-01-01 00:00:00 | null | 1969-12-29 00:00:00",
        ),
        (
            "date_trunc('millisecond', ts)",
            "2024-01-02 12:34:56.25 | null | 1969-12-31 23:59:59.999",
        ),
        ("trunc(day, 'MM')", "2024-01-01 | null | 1969-12-01"),
        ("trunc(ts, 'year')", "2024-01-01 | null | 1969-01-01"),
        ("trunc(day, 'quarter')", "2024-01-01 | null | 1969-10-01"),
        (
            "date_format(ts, 'yyyy-MM')",
            "\"2024-01\" | null | \"1969-12\"",
        ),
        (
            "date_format(ts, 'yyyy-MM-dd HH:mm:ss')",
            "\"2024-01-02 12:34:56\" | null | \"1969-12-31 23:59:59\"",
        ),
        (
            "date_format(day, \"yyyyMMdd'T'H''\")",
            "\"20240102T0'\" | null | \"19691231T0'\"",
        ),
        ("to_date(ts)", "2024-01-02 | null | 1969-12-31"),
        ("to_date('2024-01-02')", "2024-01-02"),
        ("date(ts)", "2024-01-02 | null | 1969-12-31"),
        ("date_add(day, 30)", "2024-02-01 | null | 1970-01-30"),
        ("date_sub(ts, 2)", "2023-12-31 | null | 1969-12-29"),
        ("datediff(day, DATE '2024-01-01')", "1 | null | -19724"),
    ]);
}

#[test]
fn defaults_are_values_of_their_columns() {
    let columns = schema();
    let now = 1_704_198_896_250;
    for (sql, column, expected) in [
        ("1", "b", Some("1")),
        ("1", "l", Some("1")),
        ("1", "dec", Some("1.00")),
        ("1.5", "dec", Some("1.50")),
        ("300", "b", None),
        ("1.555", "dec", None),
        ("1.5", "i", None),
        ("'1'", "i", None),
        ("NULL", "i", Some("null")),
        ("NULL", "arr", Some("null")),
        ("upper('x') || 'y'", "t", Some("\"Xy\"")),
        ("1 + 1", "l", Some("2")),
        ("1 + 1", "t", Some("\"2\"")),
        ("2147483647 + 1", "i", None),
        ("current_date()", "day", Some("2024-01-02")),
        ("CURRENT_DATE", "ts", Some("2024-01-02 00:00:00")),
        ("current_timestamp()", "ts", Some("2024-01-02 12:34:56.25")),
        ("now()", "ntz", Some("2024-01-02 12:34:56.25")),
        ("date_format(now(), 'yyyy')", "t", Some("\"2024\"")),
        ("DATE '2024-01-02'", "day", Some("2024-01-02")),
        ("rand()", "d", None),
        ("uuid()", "t", None),
        ("i", "i", None),
    ] {
        let data_type = &columns.field(column).unwrap().data_type;
        let made = constant(sql, data_type, now).ok();
        let shown = made.as_ref().map(ToString::to_string);
        assert_eq!(shown.as_deref(), expected, "{sql}");
        if let Some(made) = made.filter(|made| !matches!(made.data_type(), DataType::Array(_))) {
            let array = made.array(2).unwrap();
            assert_eq!(array.len(), 2);
            assert_eq!(array.is_null(1), made.is_null());
            assert!(batch::holds(array.data_type(), data_type), "{sql}");
        }
    }
}

#[test]
fn generated_columns_are_made_and_compared() {
    let schema = schema();
    let rows = batch();
    for (sql, column, same) in [
        ("CAST(ts AS DATE)", "day", true),
        ("i", "i", true),
        ("i", "l", false),
        ("CAST(f AS DOUBLE)", "d", false),
        ("ts", "ntz", true),
        ("dec + 0", "big", false),
    ] {
        let column = schema.field(column).unwrap();
        let expression = match Expression::parse_generated(sql, &schema, column) {
            Ok(expression) => expression,
            Err(error) => {
                assert!(sql.starts_with("dec"), "{error}");
                continue;
            }
        };
        assert_eq!(expression.data_type(), &column.data_type);
        let made = expression.evaluate(&rows).unwrap();
        assert!(batch::holds(made.data_type(), &column.data_type), "{sql}");
        let difference = expression.first_difference(&rows, column).unwrap();
        assert_eq!(difference.is_none(), same, "{sql}: {difference:?}");
        if let Some(difference) = difference {
            assert_eq!(difference.row, 0);
            assert_eq!(difference.values.last().unwrap().0, column.name);
        }
    }
    let day = schema.field("day").unwrap();
    assert!(Expression::parse_generated("t", &schema, day).is_err());
    assert!(Expression::parse_generated("l", &schema, schema.field("i").unwrap()).is_err());
}

#[test]
fn every_type_comes_out_as_it_went_in() {
    let schema = schema();
    let rows = batch();
    for field in &schema.fields {
        if let DataType::Primitive(_) = field.data_type {
            let expression = Expression::parse(&format!("`{}`", field.name), &schema).unwrap();
            let made = expression.evaluate(&rows).unwrap();
            assert_eq!(
                &made,
                rows.column_by_name(&field.name).unwrap(),
                "{}",
                field.name
            );
        }
    }
}

#[test]
fn every_function_of_the_documentation_is_known() {
    let text = include_str!("../../../../docs/EXPRESSIONS.md");
    let (_, functions) = text.split_once("## Functions").unwrap();
    let rows = functions.lines().filter(|line| line.starts_with("| "));
    let names = rows.flat_map(|row| row.split('`').skip(1).step_by(2));
    let names = names.filter(|name| name.chars().all(|char| char.is_alphabetic() || char == '_'));
    let mut known = 0;
    for name in names {
        let calls = ["", "NULL", "NULL, NULL", "NULL, NULL, NULL"];
        let is_known = calls.iter().any(|arguments| {
            let call = match name {
                "extract" => "extract(year FROM NULL)".to_owned(),
                _ => format!("{name}({arguments})"),
            };
            match Expression::parse_default(&call, &types::STRING, 0) {
                Ok(_) => true,
                // Nulls are none of what it takes, but it takes as many.
                Err(error) => {
                    !matches!(error, ExpressionError::Syntax { .. })
                        && !error.to_string().contains("no function")
                }
            }
        });
        assert!(is_known, "{name}");
        known += 1;
    }
    assert!(known > 50, "{known} functions are documented");
}
