//! The names of files in the log directory.

use uuid::Uuid;

use crate::base::Version;

/// What a name in `_delta_log` stands for. Names of no known form (temporary files, checksums of
/// foreign tools, staged commits) are none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogName {
    /// `N.json` (PROTOCOL.md, "Delta Log Entries").
    Commit(Version),
    /// `N.checkpoint.parquet` (PROTOCOL.md, "Classic checkpoint").
    ClassicCheckpoint(Version),
    /// `N.checkpoint.PART.PARTS.parquet` (PROTOCOL.md, "Multi-part checkpoint"); part counts from 1.
    CheckpointPart {
        /// The version.
        version: Version,
        /// Which part, from 1.
        part: u32,
        /// How many parts there are.
        parts: u32,
    },
    /// `N.checkpoint.UUID.{json,parquet}` (PROTOCOL.md, "UUID-named checkpoint").
    UuidCheckpoint {
        /// The version.
        version: Version,
        /// Whether the file is JSON rather than Parquet.
        json: bool,
    },
    /// `X.Y.compacted.json` (PROTOCOL.md, "Log Compaction Files").
    Compaction {
        /// The first version.
        first: Version,
        /// The last version.
        last: Version,
    },
    /// `N.crc` (PROTOCOL.md, "Version Checksum File").
    Checksum(Version),
}

impl LogName {
    /// Recognises a name without directory.
    pub fn parse(name: &str) -> Option<LogName> {
        let (version, rest) = split_version(name)?;
        match rest {
            ".json" => return Some(LogName::Commit(version)),
            ".crc" => return Some(LogName::Checksum(version)),
            ".checkpoint.parquet" => return Some(LogName::ClassicCheckpoint(version)),
            _ => {}
        }
        if let Some(middle) = rest.strip_prefix(".checkpoint.") {
            return parse_checkpoint(version, middle);
        }
        let (last, tail) = split_version(rest.strip_prefix('.')?)?;
        // "y must be greater than x".
        (tail == COMPACTION_SUFFIX && last > version).then_some(LogName::Compaction {
            first: version,
            last,
        })
    }
}

fn parse_checkpoint(version: Version, middle: &str) -> Option<LogName> {
    if let Some(numbers) = middle.strip_suffix(".parquet")
        && let Some((part, parts)) = numbers.split_once('.')
    {
        let (part, parts) = (ten_digits(part)?, ten_digits(parts)?);
        return (1..=parts)
            .contains(&part)
            .then_some(LogName::CheckpointPart {
                version,
                part,
                parts,
            });
    }
    let (id, extension) = middle.rsplit_once('.')?;
    let json = match extension {
        "json" => true,
        "parquet" => false,
        _ => return None,
    };
    (id.len() == 36 && Uuid::try_parse(id).is_ok())
        .then_some(LogName::UuidCheckpoint { version, json })
}

/// The version of a name that begins with 20 digits, and what follows them.
fn split_version(name: &str) -> Option<(Version, &str)> {
    let (digits, rest) = name.split_at_checked(20)?;
    if !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    // Versions are signed longs in Delta: larger numbers are no versions.
    let version = digits.parse::<i64>().ok()?;
    Some((version.unsigned_abs(), rest))
}

fn ten_digits(text: &str) -> Option<u32> {
    (text.len() == 10 && text.bytes().all(|b| b.is_ascii_digit()))
        .then(|| text.parse().ok())
        .flatten()
}

/// `N.json`.
pub fn commit_name(version: Version) -> String {
    format!("{version:020}.json")
}

/// `N.crc`.
pub fn checksum_name(version: Version) -> String {
    format!("{version:020}.crc")
}

/// `N.checkpoint.parquet`.
pub fn classic_checkpoint_name(version: Version) -> String {
    format!("{version:020}.checkpoint.parquet")
}

/// `N.checkpoint.UUID.parquet`.
pub fn uuid_checkpoint_name(version: Version, uuid: Uuid) -> String {
    format!("{version:020}.checkpoint.{uuid}.parquet")
}

/// What the names of log compaction files end in.
pub const COMPACTION_SUFFIX: &str = ".compacted.json";

/// `X.Y.compacted.json`.
pub fn compaction_name(first: Version, last: Version) -> String {
    format!("{first:020}.{last:020}{COMPACTION_SUFFIX}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_the_protocol_is_recognised() {
        let uuid = "80a083e8-7026-4e79-81be-64bd76c43a11";
        let cases = [
            ("00000000000000000042.json".to_owned(), LogName::Commit(42)),
            ("00000000000000000042.crc".to_owned(), LogName::Checksum(42)),
            (
                "00000000000000000042.checkpoint.parquet".to_owned(),
                LogName::ClassicCheckpoint(42),
            ),
            (
                "00000000000000000010.checkpoint.0000000002.0000000003.parquet".to_owned(),
                LogName::CheckpointPart {
                    version: 10,
                    part: 2,
                    parts: 3,
                },
            ),
            (
                format!("00000000000000000010.checkpoint.{uuid}.json"),
                LogName::UuidCheckpoint {
                    version: 10,
                    json: true,
                },
            ),
            (
                format!("00000000000000000010.checkpoint.{uuid}.parquet"),
                LogName::UuidCheckpoint {
                    version: 10,
                    json: false,
                },
            ),
            (
                "00000000000000000004.00000000000000000006.compacted.json".to_owned(),
                LogName::Compaction { first: 4, last: 6 },
            ),
        ];
        for (name, expected) in cases {
            assert_eq!(LogName::parse(&name), Some(expected), "{name}");
        }
    }

    #[test]
    fn c8_c9_litter_is_no_log_file() {
        for name in [
            "_last_checkpoint",
            "_commit_0b0b.json.tmp",
            ".00000000000000000005.json.crc",
            ".00000000000000000005.json.1f0e.tmp",
            "0000000000000000005.json",
            "00000000000000000005.json.tmp",
            "00000000000000000005.3a0d65cd-4056-49b8-937b-95f9e3ee90e5.json",
            "00000000000000000005.checkpoint.0000000004.0000000003.parquet",
            "00000000000000000005.checkpoint.0000000000.0000000003.parquet",
            "00000000000000000005.checkpoint.not-a-uuid.parquet",
            "00000000000000000006.00000000000000000006.compacted.json",
            "99999999999999999999.json",
            "+0000000000000000005.json",
            "0000000000000000000é.json",
            "",
        ] {
            assert_eq!(LogName::parse(name), None, "{name}");
        }
    }
}
