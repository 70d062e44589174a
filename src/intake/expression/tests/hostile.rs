//! Texts that try to take more than they are given.

use super::super::*;
use super::{batch, schema};

/// Threads of a mount have this much stack.
const STACK: usize = 2 * 1024 * 1024;

fn read(sql: String) -> Result<(), String> {
    let thread = std::thread::Builder::new().stack_size(STACK);
    let run = move || match Expression::parse(&sql, &schema()) {
        Ok(expression) => {
            _ = expression.evaluate(&batch());
            Ok(())
        }
        Err(error) => Err(error.to_string()),
    };
    thread.spawn(run).unwrap().join().expect("no panic")
}

#[test]
fn deep_texts_are_refused() {
    for (open, middle, close) in [
        ("(", "i", ")"),
        ("NOT ", "flag", ""),
        ("!", "flag", ""),
        ("- ", "i", ""),
        ("abs(", "i", ")"),
        ("CASE WHEN true THEN ", "i", " END"),
        ("CASE ", "i", " WHEN 1 THEN 1 END"),
        ("CAST(", "i", " AS INT)"),
        ("i IN (", "i", ")"),
        ("arr[", "i", "]"),
        ("1 + (", "i", ")"),
        ("substring(", "t", " FROM 1)"),
        ("coalesce(", "i", ")"),
        ("", "i", " + 1"),
        ("", "i", "::int"),
        ("", "st", ".x"),
        ("", "arr", "[0]"),
        ("1 = ", "i", ""),
        ("'a' || ", "t", ""),
    ] {
        for depth in [1_000, 5_000] {
            let sql = format!("{}{middle}{}", open.repeat(depth), close.repeat(depth));
            let error = read(sql).unwrap_err();
            assert!(
                error.contains("too large"),
                "{open}{middle}{close}: {error}"
            );
        }
    }
    let long = format!("i = {}", "1".repeat(100_000));
    assert!(read(long).unwrap_err().contains("too large"));
}

#[test]
fn the_deepest_text_that_is_read_fits_the_stack() {
    let mut read_once = false;
    for depth in 1..80 {
        let sql = format!(
            "{}i{}",
            "CASE WHEN (true) THEN (".repeat(depth),
            ") END".repeat(depth)
        );
        read_once |= read(sql).is_ok();
        _ = read(format!("{}flag", "NOT (".repeat(depth)) + &")".repeat(depth));
    }
    assert!(read_once);
}

#[test]
fn nesting_takes_no_exponential_time() {
    for (open, close) in [
        (
            "CASE ",
            " WHEN 1 THEN 2 WHEN 3 THEN 4 WHEN 5 THEN 6 ELSE 7 END",
        ),
        ("if(", " BETWEEN 1 AND 2, 1, 2)"),
        ("nullif(", ", 5)"),
        ("pmod(", ", 7)"),
        ("coalesce(1 + ", ", 2)"),
        ("if(", " IN (1, 2), 1, 2)"),
    ] {
        for depth in [10, 15, 22] {
            read(format!(
                "{}abs(i){}",
                open.repeat(depth),
                close.repeat(depth)
            ))
            .unwrap();
        }
    }
}

#[test]
fn wide_types_are_not_copied_without_end() {
    let mut schema = schema();
    let field = schema.fields.iter_mut().find(|field| field.name == "st");
    let DataType::Struct(parts) = &mut field.unwrap().data_type else {
        panic!("st is a struct");
    };
    for number in 0..20_000 {
        let mut part = parts.fields[0].clone();
        part.name = format!("x{number}");
        parts.fields.push(part);
    }
    let any = |count| vec!["st.x > 0"; count].join(" OR ");
    Expression::parse(&any(10), &schema).unwrap();
    let error = Expression::parse(&any(5_000), &schema).unwrap_err();
    assert!(matches!(error, ExpressionError::TooLarge { .. }), "{error}");
}

#[test]
fn regular_expressions_are_few() {
    let any = |count| vec!["t RLIKE 'a'"; count].join(" OR ");
    read(any(32)).unwrap();
    assert!(read(any(33)).unwrap_err().contains("32"));
}

#[test]
fn long_lists_are_read() {
    let list: Vec<String> = (0..5_000).map(|number| number.to_string()).collect();
    read(format!("i IN ({})", list.join(","))).unwrap();
    let any: Vec<String> = (0..2_000).map(|number| format!("i = {number}")).collect();
    read(any.join(" OR ")).unwrap();
    read(any.join(" AND ")).unwrap();
}

#[test]
fn no_text_panics() {
    const PARTS: [&str; 64] = [
        "i",
        "t",
        "day",
        "ts",
        "dec",
        "big",
        "f",
        "d",
        "flag",
        "st",
        "arr",
        "m",
        "`a.b`",
        "1",
        "0",
        "-1",
        "2.5",
        "1e300",
        "'x'",
        "'2024-01-01'",
        "NULL",
        "true",
        "(",
        ")",
        "(",
        ")",
        ",",
        "+",
        "-",
        "*",
        "/",
        "%",
        " DIV ",
        "=",
        "<=>",
        "<",
        ">=",
        " AND ",
        " OR ",
        " NOT ",
        " IS ",
        " NULL",
        " IN (",
        " BETWEEN ",
        " LIKE ",
        " CASE ",
        " WHEN ",
        " THEN ",
        " ELSE ",
        " END",
        "CAST(",
        " AS ",
        "INT)",
        "DECIMAL(38,18))",
        "::date",
        ".x",
        "[0]",
        "['k']",
        "abs(",
        "substring(",
        "concat(",
        "||",
        "\\",
        "'",
    ];
    let mut seed = 0x2545_F491_4F6C_DD1D_u64;
    let mut next = move |below: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed % below as u64) as usize
    };
    let (schema, batch) = (schema(), batch());
    let mut read = 0;
    for _ in 0..20_000 {
        let parts = 1 + next(9);
        let sql: String = (0..parts).map(|_| PARTS[next(PARTS.len())]).collect();
        if let Ok(expression) = Expression::parse(&sql, &schema) {
            read += 1;
            _ = expression.evaluate(&batch);
            _ = expression.first_violation(&batch);
        }
    }
    assert!(read > 500, "{read} texts are expressions");
}
