//! Literals, names, logic, comparisons and arithmetic.

use super::check;

#[test]
fn literals_have_the_values_they_are_written_with() {
    check(&[
        ("NULL", "null"),
        ("true", "true"),
        ("FALSE", "false"),
        ("1", "1"),
        ("-2147483648", "-2147483648"),
        ("5L", "5"),
        ("-128Y", "-128"),
        ("7s", "7"),
        ("1.50", "1.50"),
        (".5", "0.5"),
        ("1.", "1"),
        ("1.5BD", "1.5"),
        ("12345678901234567890", "12345678901234567890"),
        ("1e3", "1000"),
        ("1.5D", "1.5"),
        ("0.1F", "0.10000000149011612"),
        ("'it\\'s'", "\"it's\""),
        ("\"it's\"", "\"it's\""),
        (r"'a\tb\\c\u0041\101'", "\"a\\tb\\\\cAA\""),
        (r"r'a\n'", "\"a\\\\n\""),
        ("DATE '2024-1-2'", "2024-01-02"),
        ("date'2024'", "2024-01-01"),
        (
            "TIMESTAMP '2024-01-02 03:04:05.5+01:00'",
            "2024-01-02 02:04:05.5",
        ),
        ("TIMESTAMP_NTZ '2024-01-02 03:04:05'", "2024-01-02 03:04:05"),
        ("X'01ff' = bin", "true | null | false"),
    ]);
}

#[test]
fn names_count_regardless_of_case() {
    check(&[
        ("I", "10 | null | 2147483647"),
        ("`i`", "10 | null | 2147483647"),
        ("mixed", "1 | 2 | 3"),
        ("`a.b`", "1 | 2 | 3"),
        ("st.X", "7 | null | -1"),
        ("ST.name", "\"seven\" | null | \"\""),
        ("(st).x", "7 | null | -1"),
        ("arr[0]", "1 | null | null"),
        ("arr[1] = 2", "true | null | !"),
        ("arr[-1]", "! | null | !"),
        ("m['k']", "1 | null | null"),
        ("m.k", "1 | null | null"),
    ]);
}

#[test]
fn logic_has_three_values() {
    check(&[
        ("flag AND true", "true | null | false"),
        ("flag AND false", "false"),
        ("flag AND NULL", "null | null | false"),
        ("flag OR true", "true"),
        ("flag OR NULL", "true | null | null"),
        ("NOT flag", "false | null | true"),
        ("!flag", "false | null | true"),
        ("NOT NULL", "null"),
        ("flag IS NULL", "false | true | false"),
        ("flag IS NOT NULL", "true | false | true"),
        ("flag IS TRUE", "true | false | false"),
        ("flag IS NOT TRUE", "false | true | true"),
        ("flag IS FALSE", "false | false | true"),
        ("flag IS NOT FALSE", "true | true | false"),
        ("flag IS UNKNOWN", "false | true | false"),
        ("st IS NULL", "false | true | false"),
        ("st.x IS NULL", "false | true | false"),
        ("isnull(arr)", "false | true | false"),
        ("isnotnull(m)", "true | false | true"),
        // What binds how tightly.
        ("NOT i = 10", "false | null | true"),
        ("! i = 10", "false | null | true"),
        ("NOT false AND false", "false"),
        ("true OR false AND false", "true"),
        ("i = 10 IS NULL", "false | true | false"),
        ("1 + 2 * 3 = 7", "true"),
        ("-2 * -3", "6"),
        ("- (i)", "-10 | null | -2147483647"),
        ("10 - 2 - 3", "5"),
        ("i BETWEEN 1 AND 5 + 5 AND flag", "true | null | false"),
        ("NOT i BETWEEN 1 AND 10", "false | null | true"),
    ]);
}

#[test]
fn what_a_condition_excludes_cannot_fail() {
    check(&[
        ("l <> -3 AND 1 / (l + 3) > 0", "false | null | false"),
        ("l = -3 OR 1 / (l + 3) > 0", "true | null | false"),
        (
            "CASE WHEN l = -3 THEN 0 ELSE 1 DIV (l + 3) END",
            "0 | null | 0",
        ),
        ("if(i = 10, 0, i + 1)", "0 | null | !"),
        (
            "coalesce(t, CAST(1 DIV (i - 10) AS STRING))",
            "\"Hello\" | null | \"ü \"",
        ),
        ("1 / (l + 3) > 0 AND l <> -3", "! | null | false"),
    ]);
}

#[test]
fn comparisons_convert_as_spark_converts() {
    check(&[
        ("i = 10", "true | null | false"),
        ("i == 10L", "true | null | false"),
        ("i <> 10", "false | null | true"),
        ("i != 10", "false | null | true"),
        ("i < l", "false | null | false"),
        ("i <= 10", "true | null | false"),
        ("i > 10.0", "false | null | true"),
        ("i >= 10.5", "false | null | true"),
        ("i <=> NULL", "false | true | false"),
        ("i <=> 10", "true | false | false"),
        ("n <=> NULL", "true"),
        ("i IS DISTINCT FROM 10", "false | true | true"),
        ("i IS NOT DISTINCT FROM 10", "true | false | false"),
        ("NULL = NULL", "null"),
        // A float is the double next to it, not the decimal that it is written as.
        ("f = 0.1", "false | null | false"),
        ("f > 0.1", "true | null | true"),
        ("f = 0.1F", "true | null | false"),
        ("f = f", "true | null | true"),
        ("f > 1e308", "false | null | true"),
        ("d = 0", "false | null | true"),
        ("d = 2.5", "true | null | false"),
        ("f > i", "false | null | !"),
        ("f < b", "true | null | false"),
        ("dec = 10.5", "true | null | false"),
        ("dec = 10.500", "true | null | false"),
        ("dec > i", "true | null | false"),
        ("dec = '10.5'", "true | null | false"),
        ("big > 0", "true | null | true"),
        ("big = dec", "false | null | false"),
        ("l = '-3'", "true | null | false"),
        ("i = ' 10 '", "true | null | false"),
        ("t = 'Hello'", "true | null | false"),
        ("t < 'a'", "true | null | false"),
        ("t = 5", "! | null | !"),
        ("day = '2024-01-02'", "true | null | false"),
        ("day >= '2024-1-2'", "true | null | false"),
        ("day > DATE '2024-01-01'", "true | null | false"),
        ("ts > day", "true | null | true"),
        ("ts = ntz", "true | null | true"),
        ("ts >= '2024-01-02 12:34:56.25'", "true | null | false"),
        ("ts < '2024-01-02 12:34:56.25Z'", "false | null | true"),
        ("flag = true", "true | null | false"),
        ("flag = 'yes'", "true | null | false"),
        ("flag > false", "true | null | false"),
        ("bin < X'02'", "true | null | true"),
    ]);
}

#[test]
fn lists_and_ranges_are_looked_through() {
    check(&[
        ("i IN (1, 10)", "true | null | false"),
        ("i IN (1, NULL)", "null"),
        ("i IN (10, NULL)", "true | null | null"),
        ("i NOT IN (1, 10)", "false | null | true"),
        ("i IN ('10', '11')", "true | null | false"),
        ("i IN (10.0, 2.5)", "true | null | false"),
        ("t IN ('Hello', 'x')", "true | null | false"),
        ("day IN ('2024-01-02')", "true | null | false"),
        ("f IN (0.1F, CAST('1' AS FLOAT))", "true | null | false"),
        ("i BETWEEN 10 AND 20", "true | null | false"),
        ("i NOT BETWEEN 10 AND 20", "false | null | true"),
        ("i BETWEEN 11 AND NULL", "false | null | null"),
        ("t BETWEEN 'H' AND 'I'", "true | null | false"),
        ("t LIKE 'H%o'", "true | null | false"),
        ("t NOT LIKE 'H_llo'", "false | null | true"),
        ("t LIKE '_ '", "false | null | true"),
        ("t LIKE 'H!%' ESCAPE '!'", "false | null | false"),
        (r"'10%' LIKE '10\%'", "true"),
        ("t LIKE NULL", "null"),
    ]);
}

#[test]
fn arithmetic_fails_rather_than_overflow() {
    check(&[
        ("i + 1", "11 | null | !"),
        ("i + 1L", "11 | null | 2147483648"),
        ("b - 1", "4 | null | -129"),
        ("b - 1Y", "4 | null | !"),
        ("s * s", "! | null | !"),
        ("l * -1", "3 | null | !"),
        ("-l", "3 | null | !"),
        ("i / 4", "2.5 | null | 536870911.75"),
        ("i / 0", "! | null | !"),
        ("i DIV 4", "2 | null | 536870911"),
        ("l DIV -1", "3 | null | !"),
        ("l % 2", "-1 | null | 0"),
        ("l % 0", "! | null | !"),
        ("i % -3", "1 | null | 1"),
        ("d * 2", "5 | null | -0"),
        ("d / 0", "! | null | !"),
        ("-d", "-2.5 | null | 0"),
        ("f + f", "0.20000000298023224 | null | NaN"),
        ("f + d", "2.600000001490116 | null | NaN"),
        ("dec + 1", "11.50 | null | -99999998.99"),
        ("dec * 2", "21.00 | null | -199999999.98"),
        ("dec * dec", "110.2500 | null | 9999999998000000.0001"),
        ("dec / 3", "3.500000 | null | -33333333.330000"),
        ("dec / 7", "1.500000 | null | -14285714.284286"),
        ("dec % 3", "1.50 | null | -0.99"),
        ("-dec", "-10.50 | null | 99999999.99"),
        ("big + 1", "2.50000000000000000 | null | !"),
        ("big * 2", "3.0000000000000000 | null | !"),
        ("1.0 / 3", "0.333333"),
        ("1.0 / CAST(3 AS BIGINT)", "0.3333333333333333333333"),
        ("big * 10000", "15000.000000000000 | null | !"),
        (
            "big / 3",
            "0.500000000000000000 | null | 33333333333333333333.333333333333333333",
        ),
        ("day + 1", "2024-01-03 | null | 1970-01-01"),
        ("1 + day", "2024-01-03 | null | 1970-01-01"),
        ("day - 1", "2024-01-01 | null | 1969-12-30"),
        (
            "big - big",
            "0.00000000000000000 | null | 0.00000000000000000",
        ),
        ("big / 7", "! | null | !"),
        ("i + NULL", "null"),
        ("CAST('.5' AS DOUBLE) + CAST('1.' AS DOUBLE)", "1.5"),
        ("CAST('.5' AS DECIMAL(3,1)) * -2", "-1.0"),
    ]);
}

#[test]
fn conversions_agree_with_every_mode_or_fail() {
    check(&[
        ("CAST(i AS BIGINT)", "10 | null | 2147483647"),
        ("CAST(i AS TINYINT)", "10 | null | !"),
        ("i::smallint", "10 | null | !"),
        ("CAST(i AS STRING)", "\"10\" | null | \"2147483647\""),
        ("CAST(i AS DECIMAL(5,2))", "10.00 | null | !"),
        ("CAST(i AS FLOAT)", "10 | null | 2147483648"),
        ("CAST(d AS INT)", "2 | null | 0"),
        ("CAST(f AS INT)", "0 | null | !"),
        ("CAST(dec AS INT)", "10 | null | -99999999"),
        ("CAST(dec AS DECIMAL(4,1))", "10.5 | null | !"),
        ("CAST(dec AS DECIMAL(2,0))", "11 | null | !"),
        ("CAST(dec AS STRING)", "\"10.50\" | null | \"-99999999.99\""),
        ("CAST(dec AS DOUBLE)", "10.5 | null | -99999999.99"),
        (
            "CAST(big AS STRING)",
            "\"1.500000000000000000\" | null | \"99999999999999999999.999999999999999999\"",
        ),
        ("CAST('12' AS INT)", "12"),
        ("CAST(' 1.25 ' AS DECIMAL(3,1))", "1.3"),
        ("CAST('1e3' AS DOUBLE)", "1000"),
        ("CAST(t AS BOOLEAN)", "! | null | !"),
        ("CAST('T' AS BOOLEAN)", "true"),
        ("CAST(flag AS INT)", "1 | null | 0"),
        ("CAST(i AS BOOLEAN)", "true | null | true"),
        ("CAST(flag AS STRING)", "\"true\" | null | \"false\""),
        ("CAST(ts AS DATE)", "2024-01-02 | null | 1969-12-31"),
        ("CAST(ts AS BIGINT)", "1704198896 | null | -1"),
        (
            "CAST(ts AS STRING)",
            "\"2024-01-02 12:34:56.25\" | null | \"1969-12-31 23:59:59.999999\"",
        ),
        (
            "CAST(day AS TIMESTAMP)",
            "2024-01-02 00:00:00 | null | 1969-12-31 00:00:00",
        ),
        (
            "CAST(day AS STRING)",
            "\"2024-01-02\" | null | \"1969-12-31\"",
        ),
        ("CAST('2024-01-02T10:00:00Z' AS DATE)", "2024-01-02"),
        (
            "CAST(i AS TIMESTAMP)",
            "1970-01-01 00:00:10 | null | 2038-01-19 03:14:07",
        ),
        ("CAST(NULL AS INT)", "null"),
        ("CAST(t AS BINARY) = X'48656c6c6f'", "true | null | false"),
    ]);
}

#[test]
fn choices_take_the_first_that_fits() {
    check(&[
        (
            "CASE WHEN i > 5 THEN 'big' WHEN i > 0 THEN 'small' END",
            "\"big\" | null | \"big\"",
        ),
        ("CASE i WHEN 10 THEN 1 ELSE 2L END", "1 | 2 | 2"),
        ("CASE WHEN NULL THEN 1 ELSE 2.5 END", "2.5"),
        ("if(flag, 1, 0)", "1 | 0 | 0"),
        ("coalesce(NULL, i, 0)", "10 | 0 | 2147483647"),
        (
            "CASE i + 0 WHEN 1 THEN 'one' WHEN 10 THEN 'ten' ELSE t END",
            "\"ten\" | null | \"ü \"",
        ),
        (
            "CASE CASE i WHEN 10 THEN 1 END + 1 WHEN 2 THEN i - 1 BETWEEN 9 AND i - 1 END",
            "true | null | null",
        ),
        ("nvl(dec, 0)", "10.50 | 0.00 | -99999999.99"),
        (
            "coalesce(day, ts)",
            "2024-01-02 00:00:00 | null | 1969-12-31 00:00:00",
        ),
    ]);
}
