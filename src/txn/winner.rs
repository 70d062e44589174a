//! A commit that was made after the read version: what conflicts are looked for in.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use uuid::Uuid;

use super::file::FileKey;
use crate::base::Version;
use crate::base::clock::TimestampMs;
use crate::log::LogError;
use crate::log::actions::{DeletionVectorDescriptor, DomainMetadata, SetTransaction};
use crate::log::commit::{lines, parse_line};

/// What is read of a winning commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// Everything but the files: enough for a commit that read no file.
    WithoutFiles,
    /// Everything.
    Files,
}

/// A logical file that a winning commit added or removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WinningFile {
    /// Which.
    pub key: FileKey,
    /// Its partition values: physical names, serialised values, null for null and for the empty
    /// text; `None` where a `remove` has none.
    pub partition_values: Option<BTreeMap<String, Option<String>>>,
    /// `dataChange`.
    pub data_change: bool,
}

/// A commit that was made after the read version.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WinningCommit {
    /// Its version.
    pub version: Version,
    /// `commitInfo.operation`.
    pub operation: Option<String>,
    /// `commitInfo.txnId`.
    pub transaction_id: Option<String>,
    /// `commitInfo.isBlindAppend`; a commit that does not say is none.
    pub is_blind_append: bool,
    /// `commitInfo.inCommitTimestamp`.
    pub in_commit_timestamp: Option<TimestampMs>,
    /// Whether it has a `protocol`.
    pub changes_protocol: bool,
    /// Whether it has a `metaData`.
    pub changes_metadata: bool,
    /// Its `txn` actions.
    pub transactions: Vec<SetTransaction>,
    /// Its `domainMetadata` actions.
    pub domains: Vec<DomainMetadata>,
    /// The files it added; empty [`Detail::WithoutFiles`].
    pub adds: Vec<WinningFile>,
    /// The files it removed; empty [`Detail::WithoutFiles`].
    pub removes: Vec<WinningFile>,
}

impl WinningCommit {
    /// Reads the content of a commit file. `file` is named in errors.
    pub fn parse(
        version: Version,
        file: &str,
        bytes: &[u8],
        detail: Detail,
    ) -> Result<WinningCommit, LogError> {
        let mut commit = WinningCommit {
            version,
            ..WinningCommit::default()
        };
        let mut is_empty = true;
        for (index, text) in lines(bytes) {
            is_empty = false;
            let bad = |error| LogError::bad_line(file, index, text, &error);
            if detail == Detail::WithoutFiles && is_of_a_file(text) {
                // A line that is cut off is found all the same.
                parse_line::<IgnoredAny>(text).map_err(bad)?;
                continue;
            }
            let line: Line<'_> = parse_line(text).map_err(bad)?;
            commit
                .take(line)
                .map_err(|(action, problem)| LogError::BadAction {
                    file: format!("{file} line {}", index + 1),
                    action,
                    problem,
                })?;
        }
        match is_empty {
            true => Err(LogError::EmptyCommit {
                file: file.to_owned(),
            }),
            false => Ok(commit),
        }
    }

    fn take(&mut self, line: Line<'_>) -> Result<(), (&'static str, String)> {
        if let Some(add) = line.add {
            self.adds
                .push(add.into_file().map_err(|problem| ("add", problem))?);
        }
        if let Some(remove) = line.remove {
            self.removes
                .push(remove.into_file().map_err(|problem| ("remove", problem))?);
        }
        self.changes_metadata |= line.meta_data.is_some();
        self.changes_protocol |= line.protocol.is_some();
        self.transactions.extend(line.txn);
        self.domains.extend(line.domain_metadata);
        if let Some(info) = line.commit_info
            && let Ok(info) = parse_line::<Info>(info.get().as_bytes())
        {
            let text = |value: Option<serde_json::Value>| match value {
                Some(serde_json::Value::String(text)) => Some(text),
                _ => None,
            };
            self.operation = text(info.operation);
            self.transaction_id = text(info.txn_id);
            self.is_blind_append = info.is_blind_append.is_some_and(|value| value == true);
            self.in_commit_timestamp = info.in_commit_timestamp.and_then(|value| value.as_i64());
        }
        Ok(())
    }

    /// Whether it is the commit of this transaction.
    pub fn is_of(&self, id: Uuid) -> bool {
        self.transaction_id
            .as_deref()
            .and_then(|text| Uuid::try_parse(text).ok())
            == Some(id)
    }

    /// Whether it changed no row. "When `false` the records in the removed file must be contained
    /// in one or more `add` file actions in the same version", and the other way round; row
    /// tracking backfills add the live files again.
    pub fn only_rearranges(&self) -> bool {
        let files = || self.adds.iter().chain(&self.removes);
        let is_backfill = matches!(
            self.operation.as_deref(),
            Some("ROW TRACKING BACKFILL" | "ROW TRACKING UNBACKFILL")
        );
        (!self.removes.is_empty() || is_backfill) && files().all(|file| !file.data_change)
    }

    /// The operation's name, for messages.
    pub(super) fn shown(&self) -> String {
        self.operation
            .clone()
            .unwrap_or_else(|| "an operation without a name".to_owned())
    }
}

/// Whether a line is an `add`, `remove` or `cdc`, told by its beginning, where JSON writers put it.
fn is_of_a_file(line: &[u8]) -> bool {
    let line = line.trim_ascii_start();
    [&b"{\"add\":{"[..], b"{\"remove\":{", b"{\"cdc\":{"]
        .iter()
        .any(|beginning| line.starts_with(beginning))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a> {
    #[serde(borrow, default)]
    add: Option<File<'a>>,
    #[serde(borrow, default)]
    remove: Option<File<'a>>,
    #[serde(default)]
    meta_data: Option<IgnoredAny>,
    #[serde(default)]
    protocol: Option<IgnoredAny>,
    #[serde(default)]
    txn: Option<SetTransaction>,
    #[serde(default)]
    domain_metadata: Option<DomainMetadata>,
    #[serde(borrow, default)]
    commit_info: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct File<'a> {
    #[serde(borrow)]
    path: Cow<'a, str>,
    #[serde(default)]
    partition_values: Option<BTreeMap<String, Option<String>>>,
    /// Required by the protocol; a writer that leaves it out is taken to have changed data.
    #[serde(default)]
    data_change: Option<bool>,
    #[serde(default)]
    deletion_vector: Option<DeletionVectorDescriptor>,
}

impl File<'_> {
    fn into_file(self) -> Result<WinningFile, String> {
        let partition_values = self.partition_values.map(|values| {
            values
                .into_iter()
                .map(|(column, value)| (column, value.filter(|value| !value.is_empty())))
                .collect()
        });
        Ok(WinningFile {
            key: FileKey::new(&self.path, self.deletion_vector.as_ref())
                .map_err(|error| error.to_string())?,
            partition_values,
            data_change: self.data_change.unwrap_or(true),
        })
    }
}

/// "Implementations are free to store any valid JSON-formatted data": a field of another type says
/// nothing.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Info {
    #[serde(default)]
    operation: Option<serde_json::Value>,
    #[serde(default)]
    txn_id: Option<serde_json::Value>,
    #[serde(default)]
    is_blind_append: Option<serde_json::Value>,
    #[serde(default)]
    in_commit_timestamp: Option<serde_json::Value>,
}
