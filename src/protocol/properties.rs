//! Table properties that change how a table is read.

use super::ProtocolError;
use crate::base::clock::TimestampMs;
use crate::log::actions::{Metadata, Protocol};
use crate::log::times::InCommitTimestamps;
use crate::schema::MappingMode;

/// The column mapping mode in force (PROTOCOL.md, "Reader Requirements for Column Mapping"): the
/// property counts only where the protocol supports the feature.
///
/// Delta on Spark has made tables, with Iceberg compatibility above all, that list the feature for writers
/// alone. Their columns are mapped all the same: whoever reads them by their logical names finds none.
pub fn column_mapping_mode(
    protocol: &Protocol,
    metadata: &Metadata,
) -> Result<MappingMode, ProtocolError> {
    const PROPERTY: &str = "delta.columnMapping.mode";
    let listed = |features: &Option<Vec<String>>| {
        (features.iter().flatten()).any(|name| name == "columnMapping")
    };
    let supported = protocol.min_reader_version == 2
        || listed(&protocol.reader_features)
        || listed(&protocol.writer_features);
    let Some(value) = metadata.configuration.get(PROPERTY).filter(|_| supported) else {
        return Ok(MappingMode::None);
    };
    MappingMode::from_property(Some(value)).map_err(|_| ProtocolError::Property {
        property: PROPERTY,
        found: value.clone(),
        expected: "none, name or id",
    })
}

/// Whether commits carry their own time, since which version, and the time of that version
/// (PROTOCOL.md, "In-Commit Timestamps").
pub fn in_commit_timestamps(
    metadata: &Metadata,
) -> Result<Option<(InCommitTimestamps, TimestampMs)>, ProtocolError> {
    let property = |name: &str| metadata.configuration.get(name);
    if property("delta.enableInCommitTimestamps").is_none_or(|v| !v.eq_ignore_ascii_case("true")) {
        return Ok(None);
    }
    const VERSION: &str = "delta.inCommitTimestampEnablementVersion";
    const TIMESTAMP: &str = "delta.inCommitTimestampEnablementTimestamp";
    let number = |name: &'static str| match property(name) {
        None => Ok(None),
        Some(text) => match text.parse::<i64>() {
            Ok(number) if number >= 0 => Ok(Some(number)),
            _ => Err(ProtocolError::Property {
                property: name,
                found: text.clone(),
                expected: "a whole number, not negative",
            }),
        },
    };
    match (number(VERSION)?, number(TIMESTAMP)?) {
        (Some(version), Some(timestamp)) => Ok(Some((
            InCommitTimestamps {
                since: version.unsigned_abs(),
            },
            timestamp,
        ))),
        // Enabled from the first version on.
        _ => Ok(Some((InCommitTimestamps { since: 0 }, TimestampMs::MIN))),
    }
}
