//! Reading checkpoints as columns (PROTOCOL.md, "Checkpoints"): classic, multi-part and V2, in
//! Parquet and JSON, with sidecars.

mod columns;
mod decode;
pub mod write;

use crate::base::Version;
use crate::storage::Store;

pub use columns::{AddBatch, DeletionVectorRef};
pub(super) use decode::Leaves;

use super::actions::{
    Add, CheckpointMetadata, CommitInfo, DomainMetadata, Metadata, Protocol, Remove,
    SetTransaction, Sidecar,
};
use super::commit::{ActionSink, read_actions};
use super::listing::CheckpointFiles;
use super::{LogError, SIDECAR_DIR, log_path};

/// The actions of a checkpoint that are not file actions.
#[derive(Debug, Default)]
pub struct CheckpointState {
    /// The `protocol` action.
    pub protocol: Option<Protocol>,
    /// The `metaData` action.
    pub metadata: Option<Metadata>,
    /// The `txn` actions.
    pub transactions: Vec<SetTransaction>,
    /// The `domainMetadata` actions.
    pub domains: Vec<DomainMetadata>,
    sidecars: Vec<Sidecar>,
    version: Option<i64>,
}

/// Receives the `add` actions of a checkpoint. Errors are problems in words: what was found and
/// what was expected.
pub trait AddSink {
    /// How many rows the next file has at most: a hint to reserve room, already bounded by the
    /// size of the file.
    fn expect(&mut self, rows: usize);

    /// `adds` from the Parquet file at `path` (relative to the table root).
    fn batch(&mut self, path: &str, adds: &AddBatch) -> Result<(), String>;

    /// One add from line `line` (from 0) of the JSON checkpoint at `path`.
    fn single(&mut self, path: &str, line: u32, add: Add<'_>) -> Result<(), String>;

    /// All adds were received; an error when together they are no state of a table.
    fn finish(&self) -> Result<(), String>;
}

/// Reads the checkpoint `files` of `version`. One that cannot be read is
/// [`LogError::BadCheckpoint`] (or a storage error): the caller may try another one, and must then
/// drop what `sink` received. One that lacks what every state has is
/// [`LogError::CheckpointWithout`], as on Spark.
pub fn read_checkpoint(
    store: &dyn Store,
    version: Version,
    files: &CheckpointFiles,
    sink: &mut dyn AddSink,
) -> Result<CheckpointState, LogError> {
    let mut state = CheckpointState::default();
    let names: Vec<&String> = match files {
        CheckpointFiles::Classic(name)
        | CheckpointFiles::UuidParquet(name)
        | CheckpointFiles::UuidJson(name) => vec![name],
        CheckpointFiles::Parts(names) => names.iter().collect(),
    };
    let first = log_path(names[0]);
    if matches!(files, CheckpointFiles::UuidJson(_)) {
        read_json(store, &first, &mut state, sink)?;
    } else {
        for name in &names {
            decode::read_parquet(store, &log_path(name), &mut state, sink)?;
        }
    }
    let sidecars = std::mem::take(&mut state.sidecars);
    for sidecar in &sidecars {
        decode::read_sidecar(store, &sidecar_path(sidecar, &first)?, &mut state, sink)?;
    }
    sink.finish().map_err(|problem| LogError::BadCheckpoint {
        file: first.clone(),
        problem,
    })?;
    if let Some(found) = state.version
        && u64::try_from(found) != Ok(version)
    {
        return Err(LogError::BadCheckpoint {
            file: first,
            problem: format!("its checkpointMetadata says version {found}, its name {version}"),
        });
    }
    let missing = match (&state.protocol, &state.metadata) {
        (None, _) => "protocol",
        (_, None) => "metaData",
        (Some(_), Some(_)) => return Ok(state),
    };
    Err(LogError::CheckpointWithout {
        file: first,
        action: missing,
    })
}

/// "Because sidecar files must always reside in the table's own _delta_log/_sidecars directory",
/// the last segment of the path is all that counts.
fn sidecar_path(sidecar: &Sidecar, checkpoint: &str) -> Result<String, LogError> {
    let decoded = percent_encoding::percent_decode_str(&sidecar.path).decode_utf8_lossy();
    match decoded.rsplit('/').next() {
        Some(name) if !name.is_empty() && name != "." && name != ".." => {
            Ok(format!("{SIDECAR_DIR}/{name}"))
        }
        _ => Err(LogError::BadCheckpoint {
            file: checkpoint.to_owned(),
            problem: format!("sidecar path {:?} names no file", sidecar.path),
        }),
    }
}

fn read_json(
    store: &dyn Store,
    path: &str,
    state: &mut CheckpointState,
    sink: &mut dyn AddSink,
) -> Result<(), LogError> {
    let bytes = store.get(path)?;
    let mut actions = JsonCheckpoint { path, state, sink };
    read_actions(path, &bytes, &mut actions).map_err(|error| LogError::BadCheckpoint {
        file: path.to_owned(),
        problem: error.to_string(),
    })
}

struct JsonCheckpoint<'a> {
    path: &'a str,
    state: &'a mut CheckpointState,
    sink: &'a mut dyn AddSink,
}

impl ActionSink for JsonCheckpoint<'_> {
    fn add(&mut self, line: u32, add: Add<'_>) -> Result<(), String> {
        self.sink.single(self.path, line, add)
    }

    fn remove(&mut self, _remove: Remove<'_>) -> Result<(), String> {
        Ok(())
    }

    fn metadata(&mut self, metadata: Metadata) -> Result<(), String> {
        self.state.metadata = Some(metadata);
        Ok(())
    }

    fn protocol(&mut self, protocol: Protocol) -> Result<(), String> {
        self.state.protocol = Some(protocol);
        Ok(())
    }

    fn transaction(&mut self, transaction: SetTransaction) {
        self.state.transactions.push(transaction);
    }

    fn domain(&mut self, domain: DomainMetadata) {
        self.state.domains.push(domain);
    }

    fn commit_info(&mut self, _info: CommitInfo) {}

    fn checkpoint_metadata(&mut self, metadata: CheckpointMetadata) -> Result<(), String> {
        self.state.version = Some(metadata.version);
        Ok(())
    }

    fn sidecar(&mut self, sidecar: Sidecar) -> Result<(), String> {
        self.state.sidecars.push(sidecar);
        Ok(())
    }
}
