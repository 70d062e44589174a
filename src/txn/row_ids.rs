//! Row ids for new files (PROTOCOL.md, "Writer Requirements for Row Tracking").

use serde::Deserialize;
use serde_json::json;

use super::TxnError;
use super::draft::{has_writer_feature, is_true};
use super::proposal::Proposal;
use super::winner::WinningCommit;
use crate::base::Version;
use crate::log::actions::{DomainMetadata, Metadata, Protocol};
use crate::log::write::AddFile;
use crate::snapshot::Snapshot;

/// The metadata domain that holds the high water mark.
pub(super) const ROW_TRACKING_DOMAIN: &str = "delta.rowTracking";

/// Gives row ids to the new files of a proposal.
pub(super) struct RowIds {
    /// The highest row id given out so far; -1 for none.
    high_water_mark: i64,
    /// For each `add`, how many ids it needs; `None` for one that has ids already.
    needed: Vec<Option<i64>>,
}

impl RowIds {
    /// `None` where the table does not support row tracking, or it is suspended. `protocol` and
    /// `metadata` are those that the commit leaves in force.
    pub(super) fn of(
        proposal: &Proposal,
        protocol: &Protocol,
        metadata: &Metadata,
        read: Option<&Snapshot>,
    ) -> Result<Option<RowIds>, TxnError> {
        if !has_writer_feature(protocol, "rowTracking")
            || is_true(metadata, "delta.rowTrackingSuspended")
        {
            return Ok(None);
        }
        let domain = read.and_then(|read| read.domains().get(ROW_TRACKING_DOMAIN));
        let needed = proposal.adds.iter().map(|add| match add.base_row_id {
            Some(_) => Ok(None),
            None => num_records(add).map(Some),
        });
        Ok(Some(RowIds {
            high_water_mark: domain.map_or(Ok(-1), high_water_mark)?,
            needed: needed.collect::<Result<_, _>>()?,
        }))
    }

    /// Goes on behind what a winner gave out.
    pub(super) fn pass(&mut self, winner: &WinningCommit) -> Result<(), TxnError> {
        let theirs = |domain: &&DomainMetadata| domain.domain == ROW_TRACKING_DOMAIN;
        if let Some(domain) = winner.domains.iter().rev().find(theirs) {
            // "Must always be equal to or greater than the highest fresh Row ID committed so far."
            self.high_water_mark = self.high_water_mark.max(high_water_mark(domain)?);
        }
        Ok(())
    }

    /// The adds as they are committed as `version`, and the new high water mark, where it is one.
    pub(super) fn assign(
        &self,
        adds: &[AddFile],
        version: Version,
    ) -> Result<(Option<DomainMetadata>, Vec<AddFile>), TxnError> {
        let commit_version = i64::try_from(version).map_err(|_| TxnError::RowIds {
            problem: format!("version {version} is larger than a row commit version can be"),
        })?;
        let mut mark = self.high_water_mark;
        let mut assigned = Vec::with_capacity(adds.len());
        for (add, needed) in adds.iter().zip(&self.needed) {
            let mut add = add.clone();
            if let Some(needed) = needed {
                add.base_row_id = Some(mark.checked_add(1).ok_or_else(|| exhausted(mark))?);
                mark = mark.checked_add(*needed).ok_or_else(|| exhausted(mark))?;
            }
            add.default_row_commit_version =
                add.default_row_commit_version.or(Some(commit_version));
            assigned.push(add);
        }
        let domain = (mark > self.high_water_mark).then(|| DomainMetadata {
            domain: ROW_TRACKING_DOMAIN.to_owned(),
            configuration: json!({"rowIdHighWaterMark": mark}).to_string(),
            removed: false,
        });
        Ok((domain, assigned))
    }
}

fn exhausted(mark: i64) -> TxnError {
    TxnError::RowIds {
        problem: format!(
            "the high water mark is {mark}, and what this commit needs on top of it is more than \
             a row id can be"
        ),
    }
}

fn high_water_mark(domain: &DomainMetadata) -> Result<i64, TxnError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Configuration {
        row_id_high_water_mark: i64,
    }
    if domain.removed {
        return Ok(-1);
    }
    match serde_json::from_str::<Configuration>(&domain.configuration) {
        Ok(configuration) => Ok(configuration.row_id_high_water_mark.max(-1)),
        Err(error) => Err(TxnError::RowIds {
            problem: format!(
                "the metadata domain {ROW_TRACKING_DOMAIN} has the configuration {:?}, expected \
                 {{\"rowIdHighWaterMark\":N}} ({error}); the log is damaged",
                domain.configuration
            ),
        }),
    }
}

fn num_records(add: &AddFile) -> Result<i64, TxnError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Statistics {
        num_records: Option<i64>,
    }
    let refused = |found: String| TxnError::NoRecordCount {
        path: add.path.clone(),
        found,
    };
    let Some(stats) = &add.stats else {
        return Err(refused("missing".to_owned()));
    };
    let statistics: Statistics =
        serde_json::from_str(stats).map_err(|error| refused(format!("not JSON ({error})")))?;
    match statistics.num_records {
        Some(count) if count >= 0 => Ok(count),
        Some(count) => Err(refused(format!("of {count} records"))),
        None => Err(refused("without numRecords".to_owned())),
    }
}
