//! Version checksum files: a cross-check of what replay found (PROTOCOL.md, "Version Checksum
//! File").

use serde::Deserialize;

use super::actions::{Metadata, Protocol};
use super::log_path;
use super::names::checksum_name;
use crate::base::Version;
use crate::storage::Store;

/// The fields of `N.crc` that are compared.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VersionChecksum {
    /// Sum of the sizes of all live files, bytes.
    pub table_size_bytes: i64,
    /// Number of live files.
    pub num_files: i64,
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
