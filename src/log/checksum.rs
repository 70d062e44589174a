//! Version checksum files: a cross-check of what replay found, and of what was committed
//! (PROTOCOL.md, "Version Checksum File").

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::actions::{DomainMetadata, Metadata, Protocol, SetTransaction};
use super::names::checksum_name;
use super::{LogError, log_path};
use crate::base::Version;
use crate::base::clock::TimestampMs;
use crate::storage::{PutOutcome, Store};

/// The fields of `N.crc` that are used.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VersionChecksum {
    /// Sum of the sizes of all live files, bytes.
    pub table_size_bytes: i64,
    /// Number of live files.
    pub num_files: i64,
    /// The in-commit timestamp of the version, milliseconds since the epoch.
    #[serde(default, rename = "inCommitTimestampOpt")]
    pub in_commit_timestamp: Option<TimestampMs>,
    /// The table's metadata.
    #[serde(default)]
    pub metadata: Option<Metadata>,
    /// The table's protocol.
    #[serde(default)]
    pub protocol: Option<Protocol>,
}

/// Reads `N.crc`. "Readers MUST continue functioning if Version Checksum files are missing"; one
/// that cannot be read is as good as missing.
pub fn read_checksum(store: &dyn Store, version: Version) -> Option<VersionChecksum> {
    let path = log_path(&checksum_name(version));
    let bytes = store.get(&path).ok()?;
    match serde_json::from_slice(&bytes) {
        Ok(checksum) => Some(checksum),
        Err(error) => {
            tracing::debug!(%path, %error, "version checksum is not readable and is ignored");
            None
        }
    }
}

/// The contents of a version checksum to write.
#[derive(Debug)]
pub struct NewChecksum<'a> {
    /// `commitInfo.txnId`.
    pub txn_id: Option<&'a str>,
    /// The bytes of all live data files together.
    pub table_size_bytes: u64,
    /// How many logical files are live.
    pub num_files: u64,
    /// "Present if and only if In-Commit Timestamps are enabled."
    pub in_commit_timestamp: Option<TimestampMs>,
    /// The newest `txn` action of each application; `None` leaves them out.
    pub transactions: Option<Vec<&'a SetTransaction>>,
    /// The domains that are not removed; `None` leaves them out.
    pub domains: Option<Vec<&'a DomainMetadata>>,
    /// The metadata in force.
    pub metadata: &'a Metadata,
    /// The protocol in force.
    pub protocol: &'a Protocol,
}

/// Writes `N.crc`, unless there is one: "Writers MUST NOT overwrite existing Version Checksum
/// files".
pub fn write_checksum(
    store: &dyn Store,
    version: Version,
    checksum: &NewChecksum<'_>,
) -> Result<PutOutcome, LogError> {
    let mut fields = Map::new();
    let mut set = |name: &str, value: Value| {
        if !value.is_null() {
            fields.insert(name.to_owned(), value);
        }
    };
    let long = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    set("txnId", json!(checksum.txn_id));
    set("tableSizeBytes", json!(long(checksum.table_size_bytes)));
    set("numFiles", json!(long(checksum.num_files)));
    set("numMetadata", json!(1));
    set("numProtocol", json!(1));
    set("inCommitTimestampOpt", json!(checksum.in_commit_timestamp));
    set("setTransactions", json!(checksum.transactions));
    set("domainMetadata", json!(checksum.domains));
    set("metadata", json!(checksum.metadata));
    set("protocol", json!(checksum.protocol));
    let path = log_path(&checksum_name(version));
    let content = Value::Object(fields).to_string();
    Ok(store.put_if_absent(&path, content.into())?)
}
