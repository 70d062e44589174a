//! Provenance of commits: `commitInfo` (PROTOCOL.md, "Commit Provenance Information").

use serde::Deserialize;
use serde_json::{Map, Value};

use super::commit::lines;
use super::names::commit_name;
use super::{LogError, log_path};
use crate::base::Version;
use crate::base::clock::TimestampMs;
use crate::storage::Store;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CommitInfoLine {
    commit_info: Option<Value>,
}

/// How much of a commit file is read in the hope that its first line, where `commitInfo` usually
/// is and with in-commit timestamps must be, ends within it.
const FIRST_READ: u64 = 16 * 1024;

/// The `commitInfo` of a version; empty where the commit has none or it is no object.
/// [`LogError::Storage`] when the commit file is not there.
pub fn read_commit_info(
    store: &dyn Store,
    version: Version,
) -> Result<Map<String, Value>, LogError> {
    let path = log_path(&commit_name(version));
    let start = store.get_range(&path, 0..FIRST_READ)?;
    if let Some(end) = start.iter().position(|&byte| byte == b'\n')
        && let Some(info) = parse(&start[..end])
    {
        return Ok(info);
    }
    let bytes = store.get(&path)?;
    Ok(lines(&bytes)
        .find_map(|(_, line)| parse(line))
        .unwrap_or_default())
}

fn parse(line: &[u8]) -> Option<Map<String, Value>> {
    // A look at the bytes spares parsing every add of a large commit.
    memchr::memmem::find(line, b"\"commitInfo\"")?;
    let line: CommitInfoLine = serde_json::from_slice(line).ok()?;
    match line.commit_info {
        Some(Value::Object(info)) => Some(info),
        _ => None,
    }
}

/// The in-commit timestamp of a version; `None` where its `commitInfo` has none.
pub fn read_in_commit_timestamp(
    store: &dyn Store,
    version: Version,
) -> Result<Option<TimestampMs>, LogError> {
    Ok(read_commit_info(store, version)?
        .get("inCommitTimestamp")
        .and_then(Value::as_i64))
}
