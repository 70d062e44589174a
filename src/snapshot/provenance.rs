//! Under which schema each data file came to be: what decides whether it may keep its own name.

use parking_lot::RwLock;

use super::SnapshotError;
use super::file_table::FileTable;
use super::replay::intern_add;
use super::state::Definition;
use crate::base::Version;
use crate::log::actions::{
    Add, CheckpointMetadata, CommitInfo, DomainMetadata, Metadata, Protocol, Remove,
    SetTransaction, Sidecar,
};
use crate::log::commit::{ActionSink, read_actions};
use crate::log::listing::LogListing;
use crate::log::log_path;
use crate::log::names::commit_name;
use crate::storage::Store;
use std::sync::Arc;

/// Stands for a schema that this release cannot read.
const UNREADABLE: u64 = 0;

/// Commits that are read together at first, when nothing is known of their sizes.
const FIRST_AT_ONCE: u64 = 16;

/// The most commits that are read together.
const MOST_AT_ONCE: u64 = 1024;

/// What the commits that are read together are to take in memory, in bytes.
const BYTES_AT_ONCE: u64 = 16 * 1024 * 1024;

/// How many commits to read together after `count` that had `total` bytes.
fn next_at_once(count: u64, total: u64) -> u64 {
    let average = total.div_ceil(count.max(1)).max(1);
    let most = MOST_AT_ONCE.min(count.saturating_mul(4));
    (BYTES_AT_ONCE / average).clamp(1, most.max(1))
}

/// Follows the schema through the commit files from version 0 on.
///
/// As long as only one schema has been met, every file was added under it and commit files are only
/// searched for `metaData`; from the second schema on, the adds of every commit are read.
#[derive(Debug, Default)]
pub(super) struct Provenance {
    /// The next version to look at.
    next: Version,
    protocol: Option<Arc<Protocol>>,
    metadata: Option<Arc<Metadata>>,
    current: Option<u64>,
    several: bool,
}

impl Provenance {
    /// The one schema that there has been, if there has been one only.
    pub(super) fn uniform(&self) -> Option<u64> {
        self.current.filter(|_| !self.several)
    }

    /// Looks at the commits up to `version`. Answers whether all of them are there: reading each
    /// over a network costs too much for a name, so only local logs are followed.
    pub(super) fn extend(
        &mut self,
        store: &dyn Store,
        listing: &LogListing,
        files: &RwLock<FileTable>,
        version: Version,
    ) -> Result<bool, SnapshotError> {
        if version < self.next {
            return Ok(true);
        }
        if !store.is_local() || listing.plain_commits(self.next, version).is_none() {
            return Ok(false);
        }
        let mut at_once = FIRST_AT_ONCE;
        while self.next <= version {
            let last = version.min(self.next.saturating_add(at_once - 1));
            let paths: Vec<String> = (self.next..=last)
                .map(|version| log_path(&commit_name(version)))
                .collect();
            let mut total = 0;
            for (path, bytes) in paths.iter().zip(store.get_many(&paths)) {
                let bytes = match bytes {
                    Ok(bytes) => bytes,
                    Err(error) if error.is_not_found() => return Ok(false),
                    Err(error) => return Err(error.into()),
                };
                total += bytes.len() as u64;
                let before = self.current;
                if let Err(error) = self.look_at(path, &bytes, files) {
                    // It costs the versions built from it, and files of others their own names.
                    tracing::warn!(%error, "where data files came from cannot be followed further");
                    return Ok(false);
                }
                if before.is_some() && before != self.current && !self.several {
                    // The adds of the commits behind were not read.
                    *self = Provenance {
                        several: true,
                        ..Provenance::default()
                    };
                    break;
                }
                self.next += 1;
            }
            at_once = next_at_once(paths.len() as u64, total);
        }
        Ok(true)
    }

    fn look_at(
        &mut self,
        path: &str,
        bytes: &[u8],
        files: &RwLock<FileTable>,
    ) -> Result<(), SnapshotError> {
        let has = |needle: &[u8]| memchr::memmem::find(bytes, needle).is_some();
        // What is no JSON may have been any commit.
        let text = bytes.trim_ascii();
        let is_whole = text.starts_with(b"{") && text.ends_with(b"}");
        if is_whole && !self.several && !has(b"\"metaData\"") && !has(b"\"protocol\"") {
            return Ok(());
        }
        let mut commit = Commit {
            files: self.several.then_some(files),
            source: None,
            path,
            protocol: None,
            metadata: None,
            added: Vec::new(),
        };
        read_actions(path, bytes, &mut commit)?;
        let Commit {
            protocol,
            metadata,
            added,
            ..
        } = commit;
        if protocol.is_some() || metadata.is_some() {
            self.protocol = protocol.map(Arc::new).or(self.protocol.take());
            self.metadata = metadata.map(Arc::new).or(self.metadata.take());
            if let (Some(protocol), Some(metadata)) = (&self.protocol, &self.metadata) {
                let definition = Definition::new(self.next, protocol.clone(), metadata.clone());
                self.current = Some(definition.fingerprint().unwrap_or(UNREADABLE));
            }
        }
        if let Some(shape) = self.current {
            let mut files = files.write();
            for id in added {
                files.set_added_under(id, shape);
            }
        }
        Ok(())
    }
}

struct Commit<'a> {
    /// Where adds go, when they matter.
    files: Option<&'a RwLock<FileTable>>,
    source: Option<u32>,
    path: &'a str,
    protocol: Option<Protocol>,
    metadata: Option<Metadata>,
    added: Vec<u32>,
}

impl ActionSink for Commit<'_> {
    fn add(&mut self, line: u32, add: Add<'_>) -> Result<(), String> {
        if let Some(files) = self.files {
            let mut files = files.write();
            let source = match self.source {
                Some(source) => source,
                None => *self.source.insert(files.add_source(self.path)),
            };
            self.added
                .push(intern_add(&mut files, add, (source, line))?);
        }
        Ok(())
    }

    fn remove(&mut self, _remove: Remove<'_>) -> Result<(), String> {
        Ok(())
    }

    fn metadata(&mut self, metadata: Metadata) -> Result<(), String> {
        self.metadata = Some(metadata);
        Ok(())
    }

    fn protocol(&mut self, protocol: Protocol) -> Result<(), String> {
        self.protocol = Some(protocol);
        Ok(())
    }

    fn transaction(&mut self, _transaction: SetTransaction) {}

    fn domain(&mut self, _domain: DomainMetadata) {}

    fn commit_info(&mut self, _info: CommitInfo) {}

    fn checkpoint_metadata(&mut self, _metadata: CheckpointMetadata) -> Result<(), String> {
        Ok(())
    }

    fn sidecar(&mut self, _sidecar: Sidecar) -> Result<(), String> {
        Ok(())
    }
}
