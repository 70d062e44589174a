//! The file that points to a recent checkpoint (PROTOCOL.md, "Last Checkpoint File Schema").

mod canonical;

use bytes::Bytes;
use md5::{Digest, Md5};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use self::canonical::canonical;
use super::checkpoint::write::WrittenCheckpoint;
use super::names::LogName;
use super::{LOG_DIR, LogError, log_path};
use crate::base::Version;
use crate::storage::Store;

/// The name of the file in the log directory.
pub const LAST_CHECKPOINT: &str = "_last_checkpoint";

/// What is read of a pointer.
#[derive(Deserialize)]
struct Pointer {
    version: Version,
}

/// Points readers to `checkpoint` of `version`, unless they are pointed to a newer one already that
/// is there: some readers cannot read a table whose pointer names a checkpoint that is not. Answers
/// whether the pointer was written.
///
/// The file is replaced whole. Two writers that do so at once may leave the older of their two
/// checkpoints named, which is as right, if less of a help.
pub fn point_to(
    store: &dyn Store,
    version: Version,
    checkpoint: &WrittenCheckpoint,
) -> Result<bool, LogError> {
    let path = log_path(LAST_CHECKPOINT);
    match store.get(&path) {
        Ok(bytes) => match serde_json::from_slice::<Pointer>(&bytes) {
            Ok(pointer) if pointer.version > version => {
                if has_checkpoint(store, pointer.version)? {
                    return Ok(false);
                }
                tracing::info!(
                    %path,
                    version = pointer.version,
                    "the pointer names a checkpoint that is not there, and is replaced"
                );
            }
            Ok(_) => {}
            Err(error) => {
                tracing::debug!(%path, %error, "the pointer is not readable and is replaced");
            }
        },
        Err(error) if error.is_not_found() => {}
        Err(error) => return Err(error.into()),
    }
    store.put(&path, pointer_to(version, checkpoint))?;
    Ok(true)
}

/// Whether there is a checkpoint of a version, or part of one.
fn has_checkpoint(store: &dyn Store, version: Version) -> Result<bool, LogError> {
    // In the order of names, what begins with the version's digits comes behind the digits.
    let after = format!("{version:020}");
    let names = store.list_names(LOG_DIR, Some(&after))?;
    let begins = names.iter().take_while(|name| name.starts_with(&after));
    let mut parsed = begins.filter_map(|name| LogName::parse(name));
    Ok(parsed.any(|name| {
        matches!(
            name,
            LogName::ClassicCheckpoint(_)
                | LogName::CheckpointPart { .. }
                | LogName::UuidCheckpoint { .. }
        )
    }))
}

fn pointer_to(version: Version, checkpoint: &WrittenCheckpoint) -> Bytes {
    let sidecars = checkpoint.sidecars.iter().map(|file| file.size);
    let mut pointer = Map::new();
    let mut set = |name: &str, value: Value| pointer.insert(name.to_owned(), value);
    set("version", json!(version));
    set("size", json!(checkpoint.actions));
    set(
        "sizeInBytes",
        json!(sidecars.fold(checkpoint.file.size, u64::saturating_add)),
    );
    set("numOfAddFiles", json!(checkpoint.adds));
    if checkpoint.is_v2 {
        set(
            "v2Checkpoint",
            json!({
                "path": checkpoint.file.name(),
                "sizeInBytes": checkpoint.file.size,
                "modificationTime": checkpoint.file.modified,
            }),
        );
    }
    let checksum = checksum(&pointer);
    pointer.insert("checksum".to_owned(), Value::String(checksum));
    Value::Object(pointer).to_string().into()
}

/// PROTOCOL.md, "JSON checksum": the MD5 digest of the canonical form.
fn checksum(pointer: &Map<String, Value>) -> String {
    Md5::digest(canonical(pointer))
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// "Given the following test sample JSON, a correct implementation of JSON canonicalization
    /// should produce the corresponding canonicalized form and checksum value".
    #[test]
    fn the_sample_of_the_protocol_has_its_checksum() {
        let sample: Map<String, Value> = serde_json::from_str(
            r#"{"k0":"'v 0'", "checksum": "adsaskfljadfkjadfkj", "k1":{"k2": 2, "k3": ["v3", [1, 2], {"k4": "v4", "k5": ["v5", "v6", "v7"]}]}}"#,
        )
        .unwrap();
        assert_eq!(
            canonical(&sample),
            r#""k0"="%27v%200%27","k1"+"k2"=2,"k1"+"k3"+0="v3","k1"+"k3"+1+0=1,"k1"+"k3"+1+1=2,"k1"+"k3"+2+"k4"="v4","k1"+"k3"+2+"k5"+0="v5","k1"+"k3"+2+"k5"+1="v6","k1"+"k3"+2+"k5"+2="v7""#
        );
        assert_eq!(checksum(&sample), "6a92d155a59bf2eecbd4b4ec7fd1f875");
    }
}
