//! The grammar of the `.commit` marker: empty, or one JSON object with Delta's own option names.

use serde::de::{self, Deserializer, Unexpected, Visitor};
use serde::{Deserialize, Serialize};

use crate::base::Version;
use crate::txn::IsolationLevel;

/// The name of the marker, directly in the directory of a transaction.
pub const MARKER: &str = ".commit";

/// The largest marker that is read, bytes: room for the names of some hundred thousand files.
pub const MARKER_MAX: u64 = 32 << 20;

/// What a commit is to do: the content of the marker.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct CommitRequest {
    /// Add to the table, or replace it.
    pub mode: Mode,
    /// With `overwrite`: the partitions that are replaced, a predicate on partition columns.
    pub replace_where: Option<String>,
    /// With `overwrite`: whether the whole table is replaced, or the partitions of the staged files.
    pub partition_overwrite_mode: Option<PartitionOverwriteMode>,
    /// Whether columns that only the files have are added to the table.
    #[serde(deserialize_with = "flag")]
    pub merge_schema: bool,
    /// With `overwrite`: whether the files' schema replaces the table's.
    #[serde(deserialize_with = "flag")]
    pub overwrite_schema: bool,
    /// `false` says that the commit only rearranges rows: compaction.
    #[serde(deserialize_with = "optional_flag")]
    pub data_change: Option<bool>,
    /// Files to remove, by their names below a version directory.
    pub remove: Option<Vec<String>>,
    /// The version that was read, where it is not the one at `mkdir`.
    #[serde(deserialize_with = "optional_version")]
    pub read_version: Option<Version>,
    /// Who makes numbered transactions; with `txn_version`.
    pub txn_app_id: Option<String>,
    /// The number of this one; one that the table has seen already is not applied again.
    #[serde(deserialize_with = "optional_number")]
    pub txn_version: Option<i64>,
    /// Text for the history of the table.
    pub user_metadata: Option<String>,
    /// Which concurrent commits conflict, where it is not what the table says.
    pub isolation_level: Option<Isolation>,
}

/// What becomes of what the table holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// It stays.
    #[default]
    Append,
    /// It goes, or the part of it that `replaceWhere` or `partitionOverwriteMode` tells.
    Overwrite,
}

/// See [`CommitRequest::partition_overwrite_mode`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PartitionOverwriteMode {
    /// The whole table.
    Static,
    /// The partitions that the staged files have rows of.
    Dynamic,
}

/// The names that `delta.isolationLevel` knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Isolation {
    /// Reads and writes as if one after the other.
    Serializable,
    /// Writes as if one after the other.
    WriteSerializable,
}

impl From<Isolation> for IsolationLevel {
    fn from(level: Isolation) -> IsolationLevel {
        match level {
            Isolation::Serializable => IsolationLevel::Serializable,
            Isolation::WriteSerializable => IsolationLevel::WriteSerializable,
        }
    }
}

impl CommitRequest {
    /// Parses the content of a marker: white space alone means an append. The error says what was
    /// found, what was expected, and where.
    pub fn parse(content: &[u8]) -> Result<CommitRequest, String> {
        let content = content.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(content);
        if content.trim_ascii().is_empty() {
            return Ok(CommitRequest::default());
        }
        if !content.trim_ascii_start().starts_with(b"{") {
            return Err(format!(
                "expected nothing, or one JSON object such as {{\"mode\": \"overwrite\"}}; found \
                 {:?}",
                String::from_utf8_lossy(&content[..content.len().min(40)])
            ));
        }
        let request: CommitRequest = serde_json::from_slice(content).map_err(|error| {
            let text = error.to_string();
            text.replace("unknown field", "unknown option")
        })?;
        request.check()?;
        Ok(request)
    }

    /// Refuses options that contradict each other.
    fn check(&self) -> Result<(), String> {
        let overwrite = self.mode == Mode::Overwrite;
        let dynamic = self.partition_overwrite_mode == Some(PartitionOverwriteMode::Dynamic);
        let removes = self.remove.is_some();
        let contradictions = [
            (
                self.replace_where.is_some() && !overwrite,
                "replaceWhere needs \"mode\": \"overwrite\"",
            ),
            (
                self.partition_overwrite_mode.is_some() && !overwrite,
                "partitionOverwriteMode needs \"mode\": \"overwrite\"",
            ),
            (
                self.replace_where.is_some() && dynamic,
                "replaceWhere and partitionOverwriteMode \"dynamic\" both say what is replaced; \
                 give one of them",
            ),
            (
                self.overwrite_schema && !overwrite,
                "overwriteSchema needs \"mode\": \"overwrite\"",
            ),
            (
                self.overwrite_schema && (self.replace_where.is_some() || dynamic),
                "overwriteSchema replaces the whole table; leave out replaceWhere and \
                 partitionOverwriteMode",
            ),
            (
                self.overwrite_schema && self.merge_schema,
                "mergeSchema and overwriteSchema contradict each other; give one of them",
            ),
            (
                removes && overwrite,
                "remove says which files go; leave out \"mode\": \"overwrite\", which says that \
                 all do",
            ),
            (
                removes && self.merge_schema,
                "remove and mergeSchema do not go together; change the schema in a commit of its \
                 own",
            ),
            (
                self.data_change == Some(false) && !removes,
                "dataChange false says that rows are only rearranged: list in \"remove\" the files \
                 that the staged ones replace",
            ),
            (
                self.txn_app_id.is_some() != self.txn_version.is_some(),
                "txnAppId and txnVersion belong together",
            ),
            (
                self.txn_app_id.as_deref() == Some(""),
                "txnAppId is empty; give the name of whoever numbers the transactions",
            ),
        ];
        match contradictions.iter().find(|(is_so, _)| *is_so) {
            Some((_, problem)) => Err((*problem).to_owned()),
            None => Ok(()),
        }
    }
}

/// `true`, `false`, or these as text, which is how Spark's options have them.
fn flag<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    struct Flag;
    impl Visitor<'_> for Flag {
        type Value = bool;
        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("true or false")
        }
        fn visit_bool<E: de::Error>(self, value: bool) -> Result<bool, E> {
            Ok(value)
        }
        fn visit_str<E: de::Error>(self, text: &str) -> Result<bool, E> {
            match text {
                _ if text.eq_ignore_ascii_case("true") => Ok(true),
                _ if text.eq_ignore_ascii_case("false") => Ok(false),
                _ => Err(E::invalid_value(Unexpected::Str(text), &self)),
            }
        }
    }
    deserializer.deserialize_any(Flag)
}

fn optional_flag<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<bool>, D::Error> {
    flag(deserializer).map(Some)
}

/// A whole number, or one as text.
fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
    struct Number;
    impl Visitor<'_> for Number {
        type Value = i64;
        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a whole number, not negative")
        }
        fn visit_i64<E: de::Error>(self, value: i64) -> Result<i64, E> {
            match value {
                0.. => Ok(value),
                _ => Err(E::invalid_value(Unexpected::Signed(value), &self)),
            }
        }
        fn visit_u64<E: de::Error>(self, value: u64) -> Result<i64, E> {
            i64::try_from(value).map_err(|_| E::invalid_value(Unexpected::Unsigned(value), &self))
        }
        fn visit_str<E: de::Error>(self, text: &str) -> Result<i64, E> {
            let is_plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            let value = is_plain.then(|| text.parse().ok()).flatten();
            value.ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
        }
    }
    deserializer.deserialize_any(Number)
}

fn optional_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<i64>, D::Error> {
    number(deserializer).map(Some)
}

fn optional_version<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Version>, D::Error> {
    number(deserializer).map(|number| Some(number.unsigned_abs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<CommitRequest, String> {
        CommitRequest::parse(text.as_bytes())
    }

    #[test]
    fn nothing_is_an_append() {
        for text in ["", " \n", "\u{feff}", "{}"] {
            assert_eq!(parse(text), Ok(CommitRequest::default()), "{text:?}");
        }
    }

    #[test]
    fn every_option_is_read() {
        let request = parse(
            r#"{"mode":"overwrite","partitionOverwriteMode":"dynamic","mergeSchema":"true",
                "dataChange":true,"readVersion":7,"txnAppId":"etl","txnVersion":"12",
                "userMetadata":"hi","isolationLevel":"Serializable"}"#,
        );
        let expected = CommitRequest {
            mode: Mode::Overwrite,
            partition_overwrite_mode: Some(PartitionOverwriteMode::Dynamic),
            merge_schema: true,
            data_change: Some(true),
            read_version: Some(7),
            txn_app_id: Some("etl".into()),
            txn_version: Some(12),
            user_metadata: Some("hi".into()),
            isolation_level: Some(Isolation::Serializable),
            ..CommitRequest::default()
        };
        assert_eq!(request, Ok(expected));
        let request = parse(r#"{"remove":["a.parquet"],"dataChange":false}"#).unwrap();
        assert_eq!(request.remove, Some(vec!["a.parquet".to_owned()]));
    }

    #[test]
    fn what_is_not_understood_is_refused_by_name() {
        for (text, expected) in [
            (r#"{"mod":"append"}"#, "unknown option `mod`"),
            (r#"{"mode":"replace"}"#, "unknown variant `replace`"),
            (
                r#"{"mode":"append","mode":"overwrite"}"#,
                "duplicate field `mode`",
            ),
            (r#"{"mergeSchema":"yes"}"#, "expected true or false"),
            (r#"{"mergeSchema":1}"#, "expected true or false"),
            (r#"{"txnAppId":"a","txnVersion":-1}"#, "not negative"),
            (r#"{"txnAppId":"a","txnVersion":1.5}"#, "whole number"),
            (r#"{"txnAppId":"a"}"#, "belong together"),
            (r#"{"txnAppId":"","txnVersion":1}"#, "empty"),
            (r#"{"replaceWhere":"p = 1"}"#, "needs"),
            (r#"{"overwriteSchema":true}"#, "needs"),
            (r#"{"dataChange":false}"#, "rearranged"),
            (r#"{"mode":"overwrite","remove":[]}"#, "remove says"),
            (
                r#"{"isolationLevel":"SnapshotIsolation"}"#,
                "unknown variant",
            ),
            (r#"{"mode":null}"#, "mode"),
            (r#"{} {}"#, "trailing"),
            (r#"["append"]"#, "one JSON object"),
            ("append", "one JSON object"),
            (r#"{"mode":"append""#, "EOF"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(
                error.contains(expected) || text.contains("null"),
                "{text}: {error}"
            );
        }
    }
}
