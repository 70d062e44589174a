//! Reading commit files, log compaction files and JSON checkpoints: one JSON action a line
//! (PROTOCOL.md, "Delta Log Entries").

use serde::Deserialize;

use super::LogError;
use super::actions::{
    ActionLine, Add, CheckpointMetadata, CommitInfo, DomainMetadata, Metadata, Protocol, Remove,
    SetTransaction, Sidecar,
};

/// Receives the actions of a file in their order. `line` counts from 0.
pub trait ActionSink {
    /// An `add`.
    fn add(&mut self, line: u32, add: Add<'_>) -> Result<(), String>;
    /// A `remove`.
    fn remove(&mut self, remove: Remove<'_>) -> Result<(), String>;
    /// A `metaData`.
    fn metadata(&mut self, metadata: Metadata) -> Result<(), String>;
    /// A `protocol`.
    fn protocol(&mut self, protocol: Protocol) -> Result<(), String>;
    /// A `txn`.
    fn transaction(&mut self, transaction: SetTransaction);
    /// A `domainMetadata`.
    fn domain(&mut self, domain: DomainMetadata);
    /// A `commitInfo`.
    fn commit_info(&mut self, info: CommitInfo);
    /// A `checkpointMetadata`.
    fn checkpoint_metadata(&mut self, metadata: CheckpointMetadata) -> Result<(), String>;
    /// A `sidecar`.
    fn sidecar(&mut self, sidecar: Sidecar) -> Result<(), String>;
}

/// Feeds every action of `bytes` to `sink`. `file` is named in errors. A file without any line is
/// [`LogError::EmptyCommit`].
pub fn read_actions(file: &str, bytes: &[u8], sink: &mut impl ActionSink) -> Result<(), LogError> {
    let mut empty = true;
    for (index, line) in lines(bytes) {
        empty = false;
        let action: ActionLine<'_> =
            parse_line(line).map_err(|error| LogError::bad_line(file, index, line, &error))?;
        feed(index, action, sink).map_err(|(action, problem)| LogError::BadAction {
            file: format!("{file} line {}", index + 1),
            action,
            problem,
        })?;
    }
    if empty {
        return Err(LogError::EmptyCommit {
            file: file.to_owned(),
        });
    }
    Ok(())
}

/// One action, as `T` has it. An array of its parts, which serde takes for a struct as well, is
/// none.
pub fn parse_line<'a, T: Deserialize<'a>>(line: &'a [u8]) -> Result<T, serde_json::Error> {
    if line.trim_ascii_start().starts_with(b"[") {
        return Err(serde::de::Error::custom("an array is no action"));
    }
    serde_json::from_slice(line)
}

/// The lines of a file with something on them, with their numbers from 0.
pub fn lines(bytes: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    bytes
        .split(|&byte| byte == b'\n')
        .enumerate()
        .filter(|(_, line)| !line.trim_ascii().is_empty())
}

fn feed(
    index: usize,
    action: ActionLine<'_>,
    sink: &mut impl ActionSink,
) -> Result<(), (&'static str, String)> {
    let line = u32::try_from(index).map_err(|_| ("add", "more than 2^32 lines".to_owned()))?;
    if let Some(add) = action.add {
        sink.add(line, add).map_err(|problem| ("add", problem))?;
    }
    if let Some(remove) = action.remove {
        sink.remove(remove).map_err(|problem| ("remove", problem))?;
    }
    if let Some(metadata) = action.meta_data {
        sink.metadata(metadata)
            .map_err(|problem| ("metaData", problem))?;
    }
    if let Some(protocol) = action.protocol {
        sink.protocol(protocol)
            .map_err(|problem| ("protocol", problem))?;
    }
    if let Some(transaction) = action.txn {
        sink.transaction(transaction);
    }
    if let Some(domain) = action.domain_metadata {
        sink.domain(domain);
    }
    if let Some(info) = action.commit_info
        && let Ok(info) = serde_json::from_str(info.get())
    {
        // "Implementations are free to store any valid JSON-formatted data via the commitInfo
        // action": one that is no object of ours says nothing.
        sink.commit_info(info);
    }
    if let Some(metadata) = action.checkpoint_metadata {
        sink.checkpoint_metadata(metadata)
            .map_err(|problem| ("checkpointMetadata", problem))?;
    }
    if let Some(sidecar) = action.sidecar {
        sink.sidecar(sidecar)
            .map_err(|problem| ("sidecar", problem))?;
    }
    Ok(())
}
