//! The commit file of a proposal at a version. What depends on the version, or on the commits made
//! before it, is worked out for each attempt.

use serde_json::{Map, Value, json};

use super::options::CommitOptions;
use super::proposal::{IsolationLevel, Proposal};
use super::row_ids::RowIds;
use super::winner::WinningCommit;
use super::{TxnError, times};
use crate::base::Version;
use crate::base::clock::{TimestampMs, now_ms};
use crate::log::actions::{Metadata, Protocol, SetTransaction};
use crate::log::write::CommitLines;
use crate::protocol::in_commit_timestamps;
use crate::snapshot::Snapshot;
use crate::storage::Store;

/// A commit in the making, on top of the commits seen so far.
pub(super) struct Draft<'a> {
    proposal: &'a Proposal,
    options: &'a CommitOptions,
    level: IsolationLevel,
    row_ids: Option<RowIds>,
    /// Whether rows keep their ids when they move: `delta.enableRowTracking`.
    tracks_rows: bool,
    timestamps: Timestamps,
    transaction: Option<SetTransaction>,
    /// The lines that are the same at every version; made when first needed.
    lines: Option<CommitLines>,
}

/// Whether commits carry their own time.
enum Timestamps {
    No,
    /// The time of the commit before, once it is known; the version of it.
    Yes {
        before: Option<(Version, Option<TimestampMs>)>,
        /// Whether it is this commit by which they begin to.
        begin: bool,
    },
}

impl<'a> Draft<'a> {
    /// On top of `read`, or of nothing.
    pub(super) fn new(
        proposal: &'a Proposal,
        options: &'a CommitOptions,
        level: IsolationLevel,
        read: Option<&Snapshot>,
    ) -> Result<Draft<'a>, TxnError> {
        let metadata = (proposal.metadata.as_ref()).or(read.map(Snapshot::metadata));
        let protocol = (proposal.protocol.as_ref()).or(read.map(Snapshot::protocol));
        let (Some(metadata), Some(protocol)) = (metadata, protocol) else {
            return Err(TxnError::Invalid {
                problem: "the first version of a table needs a protocol and a metaData action \
                          (PROTOCOL.md, \"Change Metadata\", \"Protocol Evolution\")"
                    .to_owned(),
            });
        };
        let now = now_ms();
        Ok(Draft {
            proposal,
            options,
            level,
            row_ids: RowIds::of(proposal, protocol, metadata, read)?,
            tracks_rows: is_true(metadata, "delta.enableRowTracking"),
            timestamps: Timestamps::of(metadata, read)?,
            transaction: proposal.transaction.clone().map(|transaction| {
                let last_updated = transaction.last_updated.or(Some(now));
                SetTransaction {
                    last_updated,
                    ..transaction
                }
            }),
            lines: None,
        })
    }

    /// Goes on top of a winner.
    pub(super) fn pass(&mut self, winner: &WinningCommit) -> Result<(), TxnError> {
        if let Some(row_ids) = &mut self.row_ids {
            row_ids.pass(winner)?;
        }
        if let Timestamps::Yes { before, .. } = &mut self.timestamps {
            *before = Some((winner.version, winner.in_commit_timestamp));
        }
        Ok(())
    }

    /// The content of the commit file of `version`, the one behind the commits passed.
    pub(super) fn encode(
        &mut self,
        store: &dyn Store,
        version: Version,
    ) -> Result<bytes::Bytes, TxnError> {
        let now = now_ms();
        let own_time = self.timestamps.next(store, now)?;
        let mut lines = CommitLines::default();
        lines.commit_info(&self.commit_info(now, own_time));
        if let Some(row_ids) = &self.row_ids {
            let (domain, adds) = row_ids.assign(&self.proposal.adds, version)?;
            if let Some(domain) = domain {
                lines.domain(&domain);
            }
            self.definition(&mut lines, version, own_time);
            self.others(&mut lines);
            for add in adds {
                lines.add(&add);
            }
            return Ok(lines.into_bytes());
        }
        self.definition(&mut lines, version, own_time);
        if self.lines.is_none() {
            let mut same = CommitLines::default();
            self.others(&mut same);
            for add in &self.proposal.adds {
                same.add(add);
            }
            self.lines = Some(same);
        }
        if let Some(same) = &self.lines {
            lines.append(same);
        }
        Ok(lines.into_bytes())
    }

    /// `protocol` and `metaData`.
    fn definition(&self, lines: &mut CommitLines, version: Version, own_time: Option<TimestampMs>) {
        if let Some(protocol) = &self.proposal.protocol {
            lines.protocol(protocol);
        }
        let Some(metadata) = &self.proposal.metadata else {
            return;
        };
        let begins = matches!(self.timestamps, Timestamps::Yes { begin: true, .. });
        match own_time.filter(|_| begins && version > 0) {
            None => lines.metadata(metadata),
            Some(time) => lines.metadata(&times::enabled_at(metadata.clone(), version, time)),
        }
    }

    /// What is neither the table's definition nor an `add`. Removes come before adds, so that one
    /// who tells files apart by path alone keeps what is added.
    fn others(&self, lines: &mut CommitLines) {
        if let Some(transaction) = &self.transaction {
            lines.transaction(transaction);
        }
        for domain in &self.proposal.domains {
            lines.domain(domain);
        }
        for remove in &self.proposal.removes {
            lines.remove(remove);
        }
    }

    fn commit_info(&self, now: TimestampMs, own_time: Option<TimestampMs>) -> Map<String, Value> {
        let proposal = self.proposal;
        let mut info = Map::new();
        let mut set = |name: &str, value: Value| info.insert(name.to_owned(), value);
        if let Some(time) = own_time {
            set("inCommitTimestamp", json!(time));
        }
        set("timestamp", json!(now));
        set("operation", json!(proposal.operation.name));
        set("operationParameters", self.parameters());
        if let Some(read) = proposal.read_version {
            set("readVersion", json!(read));
        }
        set("isolationLevel", json!(self.level.name()));
        set("isBlindAppend", json!(proposal.is_blind_append()));
        set("operationMetrics", json!(proposal.operation.metrics));
        if let Some(text) = &proposal.user_metadata {
            set("userMetadata", json!(text));
        }
        if self.row_ids.is_some() && self.tracks_rows {
            // "true if no rows are updated or copied": where files go and new ones come, rows may
            // have been, and nothing preserved their ids.
            let is_new = |add: &crate::log::write::AddFile| add.base_row_id.is_none();
            let preserved = proposal.removes.is_empty() || !proposal.adds.iter().any(is_new);
            set(
                "tags",
                json!({"delta.rowTracking.preserved": preserved.to_string()}),
            );
        }
        set("engineInfo", json!(self.options.engine_info));
        set("txnId", json!(proposal.id.to_string()));
        info
    }

    /// As Delta writes them: a list or an object as its JSON text, anything else as it is.
    fn parameters(&self) -> Value {
        let parameters = self.proposal.operation.parameters.iter();
        Value::Object(
            parameters
                .map(|(name, value)| {
                    let value = match value {
                        Value::Array(_) | Value::Object(_) => Value::String(value.to_string()),
                        other => other.clone(),
                    };
                    (name.clone(), value)
                })
                .collect(),
        )
    }
}

impl Timestamps {
    fn of(metadata: &Metadata, read: Option<&Snapshot>) -> Result<Timestamps, TxnError> {
        if in_commit_timestamps(metadata)?.is_none() {
            return Ok(Timestamps::No);
        }
        let begin = match read {
            None => true,
            Some(read) => in_commit_timestamps(read.metadata())?.is_none(),
        };
        Ok(Timestamps::Yes {
            before: read.map(|read| (read.version(), None)),
            begin,
        })
    }

    /// The time of the next commit: "greater than that of the commit before" (PROTOCOL.md,
    /// "Writer Requirements for In-Commit Timestamps").
    fn next(
        &mut self,
        store: &dyn Store,
        now: TimestampMs,
    ) -> Result<Option<TimestampMs>, TxnError> {
        let before = match self {
            Timestamps::No => return Ok(None),
            Timestamps::Yes { before: None, .. } => return Ok(Some(now)),
            Timestamps::Yes {
                before: Some((version, known)),
                ..
            } => {
                let time = match known {
                    Some(time) => *time,
                    None => *known.insert(times::of_commit(store, *version)?),
                };
                (*version, time)
            }
        };
        let (version, time) = before;
        match time.checked_add(1) {
            Some(after) => Ok(Some(now.max(after))),
            None => Err(TxnError::CommitTime {
                version,
                problem: "its in-commit timestamp is the last one there can be, and that of the \
                          next version must be larger; the log is damaged"
                    .to_owned(),
            }),
        }
    }
}

/// Whether a table property is true.
pub(super) fn is_true(metadata: &Metadata, property: &str) -> bool {
    metadata
        .configuration
        .get(property)
        .is_some_and(|value| value.eq_ignore_ascii_case("true"))
}

/// Whether the protocol lists a writer feature by name.
pub(super) fn has_writer_feature(protocol: &Protocol, name: &str) -> bool {
    protocol
        .writer_features
        .iter()
        .flatten()
        .any(|feature| feature == name)
}
