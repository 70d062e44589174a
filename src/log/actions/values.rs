//! Values in actions, in all forms that Spark takes them in.
//!
//! Beyond PROTOCOL.md: a number or a boolean where a text is due is the text that stands there
//! (`{"year":2024}` in partition values), and a number with a fraction where a whole one is due loses
//! it (`1.7e12`, as clocks of other languages give it).

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::PartitionValues;

/// The default where the log has null.
pub(super) fn null_as_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// A null property says as much as an absent one.
pub(super) fn properties<'de, D>(deserializer: D) -> Result<BTreeMap<String, String>, D::Error>
where
    D: Deserializer<'de>,
{
    let properties = partition_values(deserializer)?;
    Ok(properties
        .into_iter()
        .filter_map(|(name, value)| Some((name.into_owned(), value?.into_owned())))
        .collect())
}

/// A text, borrowed from the line where it has no escapes.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// The text that a scalar stands for; `None` for lists and objects.
fn scalar(raw: &str) -> Result<Option<Cow<'_, str>>, serde_json::Error> {
    Ok(match raw.as_bytes().first() {
        Some(b'"') => Some(serde_json::from_str::<Text<'_>>(raw)?.0),
        Some(b'{' | b'[') | None => None,
        Some(_) => Some(Cow::Borrowed(raw)),
    })
}

/// A map from texts to texts or null, in its order. A map that is null is empty.
pub(in crate::log) fn partition_values<'de, D>(
    deserializer: D,
) -> Result<PartitionValues<'de>, D::Error>
where
    D: Deserializer<'de>,
{
    struct Pairs;

    impl<'de> Visitor<'de> for Pairs {
        type Value = PartitionValues<'de>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a map from column names to strings or null")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut pairs = Vec::new();
            while let Some((Text(column), value)) = map.next_entry::<_, Option<&RawValue>>()? {
                let value = match value.map(RawValue::get) {
                    None => None,
                    Some(raw) => {
                        let text = scalar(raw).map_err(de::Error::custom)?;
                        Some(text.ok_or_else(|| {
                            de::Error::custom(format_args!(
                                "{column:?} has a list or an object, expected a string or null"
                            ))
                        })?)
                    }
                };
                pairs.push((column, value));
            }
            Ok(pairs)
        }

        fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
            Ok(Vec::new())
        }

        fn visit_none<E: de::Error>(self) -> Result<Self::Value, E> {
            Ok(Vec::new())
        }

        fn visit_some<D: Deserializer<'de>>(self, d: D) -> Result<Self::Value, D::Error> {
            d.deserialize_map(Pairs)
        }
    }

    deserializer.deserialize_option(Pairs)
}

/// A whole number.
pub(in crate::log) fn whole<'de, D>(deserializer: D) -> Result<i64, D::Error>
where
    D: Deserializer<'de>,
{
    struct Whole;

    impl Visitor<'_> for Whole {
        type Value = i64;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a whole number of 64 bits")
        }

        fn visit_i64<E: de::Error>(self, number: i64) -> Result<i64, E> {
            Ok(number)
        }

        fn visit_u64<E: de::Error>(self, number: u64) -> Result<i64, E> {
            i64::try_from(number)
                .map_err(|_| E::invalid_value(de::Unexpected::Unsigned(number), &self))
        }

        fn visit_f64<E: de::Error>(self, number: f64) -> Result<i64, E> {
            // Beyond, a double does not tell one whole number from the next.
            const EXACT: f64 = 9_007_199_254_740_992.0;
            if number.abs() >= EXACT {
                return Err(E::invalid_value(de::Unexpected::Float(number), &self));
            }
            Ok(number.trunc() as i64)
        }
    }

    deserializer.deserialize_any(Whole)
}

/// The same, which may be null.
pub(in crate::log) fn whole_or_null<'de, D>(deserializer: D) -> Result<Option<i64>, D::Error>
where
    D: Deserializer<'de>,
{
    #[derive(Deserialize)]
    struct Number(#[serde(deserialize_with = "whole")] i64);

    Ok(Option::<Number>::deserialize(deserializer)?.map(|Number(number)| number))
}

/// The same; null is 0, as in Spark.
pub(super) fn whole_or_zero<'de, D>(deserializer: D) -> Result<i64, D::Error>
where
    D: Deserializer<'de>,
{
    Ok(whole_or_null(deserializer)?.unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::super::ActionLine;

    fn parse(line: &str) -> Result<ActionLine<'_>, String> {
        serde_json::from_str(line).map_err(|error| error.to_string())
    }

    #[test]
    fn scalars_are_the_texts_that_stand_there() {
        let line = r#"{"add":{"path":"f","size":1,"partitionValues":{"a":5,"b":true,"c":1.50,"d":null,"e":"x\ty","f":12345678901234567890123}}}"#;
        let add = parse(line).unwrap().add.unwrap();
        let values: Vec<Option<&str>> = add
            .partition_values
            .iter()
            .map(|(_, value)| value.as_deref())
            .collect();
        assert_eq!(
            values,
            [
                Some("5"),
                Some("true"),
                Some("1.50"),
                None,
                Some("x\ty"),
                Some("12345678901234567890123")
            ]
        );
        for wrong in [r#"["1"]"#, r#"{"x":"1"}"#] {
            let line =
                format!(r#"{{"add":{{"path":"f","size":1,"partitionValues":{{"p":{wrong}}}}}}}"#);
            let error = parse(&line).unwrap_err();
            assert!(error.contains("\"p\" has a list or an object"), "{error}");
        }
        let line = r#"{"metaData":{"id":"1","configuration":{"a":true,"b":7,"c":null}}}"#;
        let configuration = parse(line).unwrap().meta_data.unwrap().configuration;
        let pairs: Vec<(&str, &str)> = (configuration.iter())
            .map(|(name, value)| (&**name, &**value))
            .collect();
        assert_eq!(pairs, [("a", "true"), ("b", "7")]);
    }

    #[test]
    fn whole_numbers_may_be_written_with_a_fraction() {
        let add = |size: &str, time: &str| {
            let line =
                format!(r#"{{"add":{{"path":"f","size":{size},"modificationTime":{time}}}}}"#);
            let add = parse(&line)?.add.unwrap();
            Ok::<_, String>((add.size, add.modification_time))
        };
        assert_eq!(
            add("905.0", "1700000000123.9"),
            Ok((905, 1_700_000_000_123))
        );
        assert_eq!(add("9e2", "-1.5"), Ok((900, -1)));
        assert_eq!(add("9223372036854775807", "0"), Ok((i64::MAX, 0)));
        for wrong in [
            "9223372036854775808",
            "1e300",
            "9007199254740992.0",
            "\"1\"",
            "null",
        ] {
            add(wrong, "0").expect_err(wrong);
        }
        let line = r#"{"metaData":{"id":"1","createdTime":1.7e12}}"#;
        let created = parse(line).unwrap().meta_data.unwrap().created_time;
        assert_eq!(created, Some(1_700_000_000_000));
        let line = r#"{"metaData":{"id":"1","createdTime":null}}"#;
        assert_eq!(parse(line).unwrap().meta_data.unwrap().created_time, None);
    }
}
