//! The properties of a new table: those of Delta by their names, with values that its readers
//! understand.

use std::collections::BTreeMap;

use super::IntakeError;
use crate::protocol::parse_interval;

/// The prefix that Delta keeps for itself.
const OWN: &str = "delta.";

/// What a property may be.
#[derive(Debug, Clone, Copy)]
enum Kind {
    /// `true` or `false`.
    Flag,
    /// A whole number, this or more.
    Number(i64),
    /// `interval 1 week`, say.
    Interval,
    /// One of these.
    OneOf(&'static [&'static str]),
    /// Whatever it is, it is looked at elsewhere, or by those who understand it.
    Any,
    /// It follows from the table; nobody sets it.
    Derived,
}

/// The properties that Delta defines (PROTOCOL.md, "Table Properties", and those of Delta on Spark).
/// A name that ends with a dot stands for all that begin so.
const KNOWN: &[(&str, Kind)] = &[
    ("appendOnly", Kind::Flag),
    ("autoOptimize", Kind::Any),
    ("autoOptimize.", Kind::Any),
    ("castIcebergTimeType", Kind::Any),
    ("checkpoint.writeStatsAsJson", Kind::Any),
    ("checkpoint.writeStatsAsStruct", Kind::Any),
    ("checkpointInterval", Kind::Any),
    ("checkpointPolicy", Kind::Any),
    ("checkpointRetentionDuration", Kind::Interval),
    ("columnMapping.maxColumnId", Kind::Derived),
    ("columnMapping.mode", Kind::Any),
    ("compatibility.", Kind::Any),
    ("constraints.", Kind::Any),
    ("coordinatedCommits.", Kind::Any),
    ("dataSkippingNumIndexedCols", Kind::Number(-1)),
    ("dataSkippingStatsColumns", Kind::Any),
    ("deletedFileRetentionDuration", Kind::Interval),
    ("enableChangeDataFeed", Kind::Flag),
    ("enableDeletionVectors", Kind::Flag),
    ("enableExpiredLogCleanup", Kind::Flag),
    ("enableFullRetentionRollback", Kind::Flag),
    ("enableIcebergCompatV1", Kind::Flag),
    ("enableIcebergCompatV2", Kind::Flag),
    ("enableIcebergCompatV3", Kind::Flag),
    ("enableIcebergWriterCompatV1", Kind::Flag),
    ("enableIcebergWriterCompatV3", Kind::Flag),
    ("enableInCommitTimestamps", Kind::Flag),
    ("enableMaterializePartitionColumnsFeature", Kind::Flag),
    ("enableRowTracking", Kind::Flag),
    ("enableTypeWidening", Kind::Flag),
    ("enableVariantShredding", Kind::Flag),
    ("feature.", Kind::Any),
    ("ignoreProtocolDefaults", Kind::Flag),
    ("inCommitTimestampEnablementTimestamp", Kind::Derived),
    ("inCommitTimestampEnablementVersion", Kind::Derived),
    (
        "isolationLevel",
        Kind::OneOf(&["Serializable", "WriteSerializable"]),
    ),
    ("liquid.", Kind::Any),
    ("logRetentionDuration", Kind::Interval),
    ("parquet.", Kind::Any),
    ("randomPrefixLength", Kind::Number(1)),
    ("randomizeFilePrefixes", Kind::Flag),
    ("redirectReaderWriter-preview", Kind::Any),
    ("redirectWriterOnly-preview", Kind::Any),
    ("requireCheckpointProtectionBeforeVersion", Kind::Number(0)),
    (
        "rowTracking.materializedRowCommitVersionColumnName",
        Kind::Derived,
    ),
    ("rowTracking.materializedRowIdColumnName", Kind::Derived),
    ("rowTrackingSuspended", Kind::Flag),
    ("sampleRetentionDuration", Kind::Interval),
    ("setTransactionRetentionDuration", Kind::Interval),
    ("stats.", Kind::Any),
    ("targetFileSize", Kind::Any),
    ("tuneFileSizesForRewrites", Kind::Flag),
    ("universalFormat.", Kind::Any),
    ("workloadBasedColumns.", Kind::Any),
];

/// Refuses what Delta would not understand, or take for something else: a name of its own that it
/// does not know, or knows in other letters; a value of another kind; what writers set.
pub(super) fn check(properties: &BTreeMap<String, String>) -> Result<(), IntakeError> {
    for (key, value) in properties {
        if let Some(problem) = problem(key, value) {
            return Err(IntakeError::NewTable {
                problem: format!("the property {key:?} {problem}"),
            });
        }
    }
    Ok(())
}

fn problem(key: &str, value: &str) -> Option<String> {
    if key.is_empty() {
        return Some("has no name; give it as NAME=VALUE".to_owned());
    }
    let is_own = (key.get(..OWN.len())).is_some_and(|prefix| prefix.eq_ignore_ascii_case(OWN));
    if !is_own {
        return None;
    }
    let name = &key[OWN.len()..];
    let Some((known, kind)) = KNOWN.iter().find(|(known, _)| is_named(name, known)) else {
        return Some(
            "is none that Delta defines; properties of your own must not begin with \"delta.\""
                .to_owned(),
        );
    };
    if !key.starts_with(OWN) || !name.starts_with(known) {
        return Some(format!("is spelled {OWN}{known} in Delta; write it so"));
    }
    if known.ends_with('.') && name.len() == known.len() {
        return Some("is not whole; a name follows the dot".to_owned());
    }
    let expected = match *kind {
        Kind::Any => return None,
        Kind::Derived => return Some("follows from the table; leave it out".to_owned()),
        Kind::Flag if is_one_of(value, &["true", "false"]) => return None,
        Kind::Flag => "true or false".to_owned(),
        Kind::Number(least) if value.parse().is_ok_and(|number: i64| number >= least) => {
            return None;
        }
        Kind::Number(least) => format!("a whole number, {least} or more"),
        Kind::Interval if parse_interval(value).is_some() => return None,
        Kind::Interval => {
            "an interval of weeks or shorter units, such as \"interval 1 week\"".to_owned()
        }
        Kind::OneOf(values) if is_one_of(value, values) => return None,
        Kind::OneOf(values) => values.join(" or "),
    };
    Some(format!("is {value:?}; expected {expected}"))
}

fn is_named(name: &str, known: &str) -> bool {
    match known.ends_with('.') {
        true => (name.get(..known.len())).is_some_and(|start| start.eq_ignore_ascii_case(known)),
        false => name.eq_ignore_ascii_case(known),
    }
}

fn is_one_of(value: &str, values: &[&str]) -> bool {
    values.iter().any(|known| known.eq_ignore_ascii_case(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_delta_would_not_understand_is_refused() {
        for (key, value, expected) in [
            ("delta.appendOnly", "TRUE", None),
            ("my.property", "", None),
            ("delta.constraints.c", "a > 0", None),
            ("delta.feature.rowTracking", "supported", None),
            ("delta.autoOptimize.optimizeWrite", "true", None),
            ("delta.isolationLevel", "Serializable", None),
            ("delta.dataSkippingNumIndexedCols", "-1", None),
            ("delta.appendonly", "true", Some("delta.appendOnly")),
            ("Delta.appendOnly", "true", Some("delta.appendOnly")),
            ("delta.Constraints.c", "a > 0", Some("delta.constraints.")),
            ("delta.appendOnyl", "true", Some("none that Delta defines")),
            ("delta.", "", Some("none that Delta defines")),
            ("delta.appendOnly", "yes", Some("true or false")),
            ("delta.constraints.", "a > 0", Some("not whole")),
            (
                "delta.isolationLevel",
                "SnapshotIsolation",
                Some("Serializable or"),
            ),
            ("delta.dataSkippingNumIndexedCols", "-2", Some("-1 or more")),
            (
                "delta.columnMapping.maxColumnId",
                "7",
                Some("follows from the table"),
            ),
            ("", "x", Some("no name")),
        ] {
            let found = problem(key, value);
            match (found, expected) {
                (None, None) => {}
                (Some(found), Some(part)) if found.contains(part) => {}
                (found, _) => panic!("{key}={value}: {found:?}"),
            }
        }
    }
}
