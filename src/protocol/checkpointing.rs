//! Table properties that say when checkpoints are written, and what they hold.

use super::ProtocolError;
use crate::base::clock::TimestampMs;
use crate::log::actions::{Metadata, Protocol};
use crate::log::checkpoint::write::{CheckpointCodec, CheckpointForm, PageVersion};

/// What the properties of a table say about its checkpoints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckpointSettings {
    /// A checkpoint is due at every multiple of this version: `delta.checkpointInterval`.
    pub interval: u64,
    /// The form: V2 where the table supports the feature `v2Checkpoint` and
    /// `delta.checkpointPolicy` asks for it.
    pub form: CheckpointForm,
    /// `delta.parquet.compression.codec`.
    pub codec: CheckpointCodec,
    /// `delta.parquet.format.version`.
    pub pages: PageVersion,
    /// `delta.checkpoint.writeStatsAsJson`.
    pub stats_as_json: bool,
    /// `delta.checkpoint.writeStatsAsStruct`.
    pub stats_as_struct: bool,
    /// How long tombstones are kept, milliseconds: `delta.deletedFileRetentionDuration`.
    pub tombstone_retention: TimestampMs,
    /// How long `txn` actions are kept, milliseconds; forever when absent:
    /// `delta.setTransactionRetentionDuration`.
    pub transaction_retention: Option<TimestampMs>,
}

const INTERVAL: &str = "delta.checkpointInterval";
const POLICY: &str = "delta.checkpointPolicy";
const CODEC: &str = "delta.parquet.compression.codec";
const PAGES: &str = "delta.parquet.format.version";
const AS_JSON: &str = "delta.checkpoint.writeStatsAsJson";
const AS_STRUCT: &str = "delta.checkpoint.writeStatsAsStruct";
const TOMBSTONES: &str = "delta.deletedFileRetentionDuration";
const TRANSACTIONS: &str = "delta.setTransactionRetentionDuration";

const DAY: TimestampMs = 24 * 60 * 60 * 1000;

impl CheckpointSettings {
    /// Those of a table; defaults where it says nothing. A property that means nothing is an error:
    /// a guess could drop what the table wants kept.
    pub fn of(
        protocol: &Protocol,
        metadata: &Metadata,
    ) -> Result<CheckpointSettings, ProtocolError> {
        let text = |name: &str| metadata.configuration.get(name).map(|value| value.trim());
        let refused = |property: &'static str, expected: &'static str| ProtocolError::Property {
            property,
            found: metadata
                .configuration
                .get(property)
                .cloned()
                .unwrap_or_default(),
            expected,
        };
        let flag = |name: &'static str, default: bool| match text(name) {
            None => Ok(default),
            Some(value) if value.eq_ignore_ascii_case("true") => Ok(true),
            Some(value) if value.eq_ignore_ascii_case("false") => Ok(false),
            Some(_) => Err(refused(name, "true or false")),
        };
        let duration = |name: &'static str| match text(name) {
            None => Ok(None),
            Some(value) => match parse_interval(value) {
                Some(duration) => Ok(Some(duration)),
                None => Err(refused(
                    name,
                    "an interval of weeks or shorter units, such as \"interval 1 week\"",
                )),
            },
        };
        let v2_supported = [&protocol.reader_features, &protocol.writer_features]
            .into_iter()
            .all(|features| features.iter().flatten().any(|name| name == "v2Checkpoint"));
        let form = match text(POLICY) {
            None => CheckpointForm::Classic,
            Some(value) if value.eq_ignore_ascii_case("classic") => CheckpointForm::Classic,
            Some(value) if value.eq_ignore_ascii_case("v2") => match v2_supported {
                true => CheckpointForm::V2,
                false => CheckpointForm::Classic,
            },
            Some(_) => return Err(refused(POLICY, "classic or v2")),
        };
        Ok(CheckpointSettings {
            interval: match text(INTERVAL).map(str::parse::<u64>) {
                None => 10,
                Some(Ok(interval)) if interval > 0 => interval,
                Some(_) => return Err(refused(INTERVAL, "a whole number, 1 or more")),
            },
            form,
            codec: match text(CODEC) {
                None => CheckpointCodec::Zstd,
                Some(name) => codec(name).ok_or_else(|| {
                    refused(
                        CODEC,
                        "uncompressed, none, snappy, gzip, lz4, lz4_raw, brotli or zstd",
                    )
                })?,
            },
            pages: match text(PAGES) {
                None => PageVersion::V1,
                Some(version) => {
                    pages(version).ok_or_else(|| refused(PAGES, "1.0.0 or 2.MINOR.PATCH"))?
                }
            },
            stats_as_json: flag(AS_JSON, true)?,
            stats_as_struct: flag(AS_STRUCT, false)?,
            tombstone_retention: duration(TOMBSTONES)?.unwrap_or(7 * DAY),
            transaction_retention: duration(TRANSACTIONS)?,
        })
    }
}

/// "matched case-insensitively".
fn codec(name: &str) -> Option<CheckpointCodec> {
    Some(match name.to_ascii_lowercase().as_str() {
        "uncompressed" | "none" => CheckpointCodec::Uncompressed,
        "snappy" => CheckpointCodec::Snappy,
        "gzip" => CheckpointCodec::Gzip,
        "lz4" => CheckpointCodec::Lz4,
        "lz4_raw" => CheckpointCodec::Lz4Raw,
        "brotli" => CheckpointCodec::Brotli,
        "zstd" => CheckpointCodec::Zstd,
        _ => return None,
    })
}

fn pages(version: &str) -> Option<PageVersion> {
    let mut parts = version.split('.').map(|part| {
        let digits = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        digits.then_some(part)
    });
    let (major, minor, patch) = (parts.next()??, parts.next()??, parts.next()??);
    match (major, minor, patch, parts.next()) {
        ("1", "0", "0", None) => Some(PageVersion::V1),
        ("2", _, _, None) => Some(PageVersion::V2),
        _ => None,
    }
}

/// Milliseconds of an interval as Delta writes them: `interval 1 week`, `interval 2 days 12 hours`,
/// with or without the first word. Months and years, which have no fixed length, and times below
/// zero are none.
pub fn parse_interval(text: &str) -> Option<TimestampMs> {
    let text = text.to_ascii_lowercase();
    let mut words = text.split_ascii_whitespace().peekable();
    if words.peek() == Some(&"interval") {
        words.next();
    }
    words.peek()?;
    let mut microseconds = 0_i64;
    while let Some(number) = words.next() {
        let unit = match words.next()? {
            "microsecond" | "microseconds" => 1,
            "millisecond" | "milliseconds" => 1_000,
            "second" | "seconds" => 1_000_000,
            "minute" | "minutes" => 60 * 1_000_000,
            "hour" | "hours" => 3_600 * 1_000_000,
            "day" | "days" => DAY * 1_000,
            "week" | "weeks" => 7 * DAY * 1_000,
            _ => return None,
        };
        let count: i64 = number.parse().ok()?;
        microseconds = microseconds.checked_add(count.checked_mul(unit)?)?;
    }
    (microseconds >= 0).then_some(microseconds / 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(properties: &[(&str, &str)]) -> Result<CheckpointSettings, String> {
        settings_of(None, properties)
    }

    fn settings_of(
        feature: Option<&str>,
        properties: &[(&str, &str)],
    ) -> Result<CheckpointSettings, String> {
        let features = feature.map(|feature| vec![feature.to_owned()]);
        let protocol = Protocol {
            min_reader_version: 3,
            min_writer_version: 7,
            reader_features: features.clone(),
            writer_features: features,
        };
        let mut metadata: Metadata =
            serde_json::from_str(r#"{"id":"x"}"#).map_err(|error| error.to_string())?;
        for (name, value) in properties {
            let (name, value) = ((*name).to_owned(), (*value).to_owned());
            metadata.configuration.insert(name, value);
        }
        CheckpointSettings::of(&protocol, &metadata).map_err(|error| error.to_string())
    }

    #[test]
    fn a_table_that_says_nothing_has_the_defaults() {
        let settings = settings(&[]).unwrap();
        assert_eq!(settings.interval, 10);
        assert_eq!(settings.form, CheckpointForm::Classic);
        assert_eq!(settings.codec, CheckpointCodec::Zstd);
        assert_eq!(settings.pages, PageVersion::V1);
        assert!(settings.stats_as_json && !settings.stats_as_struct);
        assert_eq!(settings.tombstone_retention, 7 * DAY);
        assert_eq!(settings.transaction_retention, None);
    }

    #[test]
    fn intervals_are_those_of_delta() {
        let cases = [
            ("interval 1 week", Some(7 * DAY)),
            ("INTERVAL 1 WEEKS", Some(7 * DAY)),
            ("interval 2 days 12 hours", Some(2 * DAY + DAY / 2)),
            ("30 days", Some(30 * DAY)),
            ("interval 0 seconds", Some(0)),
            ("interval 1500 microseconds", Some(1)),
            ("interval 1 minute 5 milliseconds", Some(60_005)),
            ("interval 1 month", None),
            ("interval -1 days", None),
            ("interval", None),
            ("", None),
            ("7", None),
            ("interval one week", None),
            ("interval 99999999999999 weeks", None),
        ];
        for (text, expected) in cases {
            assert_eq!(parse_interval(text), expected, "{text}");
        }
    }

    #[test]
    fn properties_that_mean_nothing_are_refused_by_name() {
        for (property, value) in [
            (INTERVAL, "0"),
            (INTERVAL, "ten"),
            (POLICY, "v3"),
            (CODEC, "lzo"),
            (PAGES, "1.1.0"),
            (PAGES, "2.1"),
            (AS_JSON, "yes"),
            (TOMBSTONES, "interval 1 year"),
            (TRANSACTIONS, "soon"),
        ] {
            let error = settings(&[(property, value)]).unwrap_err();
            assert!(error.contains(property) && error.contains(value), "{error}");
        }
    }

    #[test]
    fn v2_needs_the_feature_and_the_policy() {
        let v2 = [(POLICY, "v2")];
        let form = |feature, properties: &[(&str, &str)]| {
            settings_of(feature, properties).map(|settings| settings.form)
        };
        assert_eq!(form(Some("v2Checkpoint"), &v2), Ok(CheckpointForm::V2));
        assert_eq!(form(None, &v2), Ok(CheckpointForm::Classic));
        assert_eq!(form(Some("v2Checkpoint"), &[]), Ok(CheckpointForm::Classic));
    }
}
