//! What is refused, and how.

use super::super::*;
use super::{batch, refusal, schema};

/// The name of the variant.
fn kind(error: &ExpressionError) -> &'static str {
    match error {
        ExpressionError::Syntax { .. } => "syntax",
        ExpressionError::TooLarge { .. } => "large",
        ExpressionError::Unsupported { .. } => "unsupported",
        ExpressionError::UnknownColumn { .. } => "unknown",
        ExpressionError::AmbiguousColumn { .. } => "ambiguous",
        ExpressionError::Type { .. } => "type",
        ExpressionError::NotPartitionColumn { .. } => "partition",
        ExpressionError::Row { .. } => "row",
        ExpressionError::Batch { .. } => "batch",
        ExpressionError::PartitionValue { .. } => "value",
    }
}

#[test]
fn what_is_not_evaluated_is_named() {
    for (sql, expected, named) in [
        ("", "syntax", "the end"),
        ("i >", "syntax", "the end"),
        ("i = 1 2", "syntax", "2"),
        ("i = = 1", "syntax", "="),
        ("(i = 1", "syntax", "the end"),
        ("i = 'x", "syntax", "without end"),
        ("i = 1 -- x", "syntax", "comment"),
        ("i /* x */ = 1", "syntax", "comment"),
        ("t = 'a''b'", "syntax", "side by side"),
        ("t = 'a' 'b'", "syntax", "side by side"),
        ("1abc = 1", "syntax", "digit"),
        ("i BETWEEN 1", "syntax", "AND"),
        ("NOT", "syntax", "the end"),
        ("CASE WHEN true THEN 1", "syntax", "END"),
        ("i = 1;", "syntax", ";"),
        ("i = #", "syntax", "#"),
        ("``", "syntax", "backtick"),
        ("i IN ()", "syntax", ")"),
        ("nosuch = 1", "unknown", "nosuch"),
        ("st.nosuch = 1", "unknown", "nosuch"),
        ("t.x = 1", "type", "struct"),
        ("i IN (SELECT 1)", "unsupported", "subquery"),
        ("(SELECT 1) = i", "unsupported", "subquery"),
        ("EXISTS (SELECT 1)", "syntax", "1"),
        ("(i, l) = (1, 2)", "unsupported", "row"),
        ("ts > ts + INTERVAL 1 DAY", "unsupported", "INTERVAL"),
        ("i & 1 = 1", "unsupported", "\"&\""),
        ("i << 1 = 1", "unsupported", "<<"),
        ("~i = 1", "unsupported", "~"),
        ("t ILIKE 'x'", "unsupported", "ILIKE"),
        ("t LIKE ANY ('x')", "unsupported", "LIKE ANY"),
        ("t LIKE t", "unsupported", "pattern"),
        ("t LIKE 'a\\\\b'", "unsupported", "'b'"),
        ("rand() > 0", "unsupported", "rand()"),
        ("uuid() = t", "unsupported", "uuid()"),
        ("current_date() = day", "unsupported", "current_date"),
        ("current_timestamp > ts", "unsupported", "current_timestamp"),
        ("now() > ts", "unsupported", "now()"),
        ("sum(i) > 0", "unsupported", "sum(i)"),
        ("transform(arr, x -> x) IS NULL", "unsupported", "->"),
        ("TRY_CAST(t AS INT) = 1", "syntax", "AS"),
        ("CAST(arr AS STRING) = 'x'", "unsupported", "array<integer>"),
        ("CAST(i AS ARRAY<INT>) IS NULL", "unsupported", "parts"),
        ("CAST(i AS DECIMAL(39,0)) = 1", "unsupported", "38"),
        ("CAST(d AS STRING) = 'x'", "unsupported", "double"),
        ("CAST(d AS DECIMAL(10,2)) = 1", "unsupported", "double"),
        ("CAST('abc' AS INT) = 1", "type", "abc"),
        ("i = 'abc'", "type", "abc"),
        ("i = '5000000000'", "type", "5000000000"),
        ("i = '1.5'", "type", "1.5"),
        ("day = 'today'", "type", "today"),
        ("day IN ('2024-1-2')", "type", "2024-1-2"),
        ("day = 5", "type", "date and integer"),
        ("flag = 1", "type", "boolean and integer"),
        (
            "CAST(i AS DECIMAL(5,0)) = '1'",
            "type",
            "decimal(5,0) and string",
        ),
        ("f = '1'", "type", "float and string"),
        ("bin = 'x'", "type", "binary and string"),
        ("st = st", "unsupported", "comparison"),
        ("arr = NULL", "unsupported", "comparison"),
        ("i IN (t)", "type", "integer and string"),
        ("coalesce(i, t) = 1", "type", "integer and string"),
        ("t + 1 = 2", "type", "string and integer"),
        ("i + f > 0", "type", "integer and float"),
        ("day - day = 1", "type", "date and date"),
        ("i AND flag", "type", "integer"),
        ("NOT i", "type", "integer"),
        ("t IS TRUE", "type", "string"),
        ("i LIKE '1'", "type", "integer"),
        (
            "999999999999999999999999999999999999999 > i",
            "type",
            "number",
        ),
        ("300Y = i", "type", "300Y"),
        ("1e999 > d", "type", "1e999"),
        ("t COLLATE UTF8_LCASE = 'x'", "unsupported", "COLLATE"),
        ("DATE 'x' = day", "type", "x"),
        ("X'0g' = bin", "type", "0g"),
        ("TIME '10:00:00' = ts", "unsupported", "TIME"),
        ("+i = 1", "unsupported", "+"),
        ("t RLIKE '(?i)x'", "unsupported", "(?"),
        ("t RLIKE t", "unsupported", "written"),
        ("date_format(ts, 'MMM')", "unsupported", "MMM"),
        ("date_trunc('century', ts)", "unsupported", "century"),
        ("trunc(day, 'hour')", "unsupported", "weeks or more"),
        ("year(t) = 1", "type", "string"),
        ("length(i) = 1", "type", "integer"),
        ("upper(bin) = 'x'", "type", "binary"),
        ("concat(d, 'x')", "type", "double"),
        ("abs(t)", "type", "string"),
        ("substring(t)", "syntax", ")"),
        ("nvl(i)", "unsupported", "nvl"),
        ("extract(second FROM ts) > 1", "unsupported", "second"),
    ] {
        let error = refusal(sql);
        let text = error.to_string();
        assert_eq!(kind(&error), expected, "{sql}: {text}");
        assert!(text.contains(named), "{sql}: {text}");
    }
}

#[test]
fn columns_that_compare_in_their_own_way_are_refused() {
    for (key, value) in [
        ("__CHAR_VARCHAR_TYPE_STRING", serde_json::json!("char(5)")),
        ("__COLLATIONS", serde_json::json!({"t": "icu.UNICODE_CI"})),
    ] {
        let mut schema = schema();
        let field = schema
            .fields
            .iter_mut()
            .find(|field| field.name == "t")
            .unwrap();
        field.metadata.insert(key.to_owned(), value);
        let error = Expression::parse("t = 'x'", &schema).unwrap_err();
        assert_eq!(kind(&error), "unsupported");
    }
    let mut schema = schema();
    let field = schema
        .fields
        .iter_mut()
        .find(|field| field.name == "t")
        .unwrap();
    let key = "__CHAR_VARCHAR_TYPE_STRING".to_owned();
    field.metadata.insert(key, "varchar(5)".into());
    Expression::parse("t = 'x'", &schema).unwrap();
}

#[test]
fn names_that_several_columns_have_are_ambiguous() {
    let mut schema = schema();
    schema.fields.push(schema.field("i").unwrap().clone());
    let error = Expression::parse("i = 1", &schema).unwrap_err();
    assert_eq!(kind(&error), "ambiguous");
}

#[test]
fn rows_need_the_columns_of_the_expression() {
    let expression = Expression::parse("l + i > 0", &schema()).unwrap();
    assert_eq!(expression.columns().collect::<Vec<_>>(), ["l", "i"]);
    let whole = batch();
    let without = whole.project(&[0, 1]).unwrap();
    let error = expression.evaluate(&without).unwrap_err();
    assert!(error.to_string().contains("missing"), "{error}");
    let mut narrower = schema();
    narrower.fields[3].data_type = narrower.fields[2].data_type.clone();
    let expression = Expression::parse("l > 0", &narrower).unwrap();
    let error = expression.evaluate(&whole).unwrap_err();
    assert!(error.to_string().contains("Int64"), "{error}");
}

#[test]
fn a_violation_tells_row_and_values() {
    let schema = schema();
    let overflow = "2147483647 + 1 is out of the range of integer";
    for (sql, expected) in [
        ("i > 100", Some((0, Found::False, "10"))),
        ("i > 5", Some((1, Found::Null, "null"))),
        ("i IS NULL OR i > 5", None),
        (
            "i IS NULL OR i + 1 > 5",
            Some((2, Found::Undefined(overflow.to_owned()), "2147483647")),
        ),
    ] {
        let condition = Expression::parse_condition(sql, &schema).unwrap();
        let found = condition.first_violation(&batch()).unwrap();
        let expected = expected.map(|(row, found, value)| Violation {
            row,
            found,
            values: vec![("i".to_owned(), value.to_owned())],
        });
        assert_eq!(found, expected, "{sql}");
    }
}
