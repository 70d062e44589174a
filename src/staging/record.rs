//! What the disk knows of a transaction: enough to go on after a kill at any moment.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::base::Version;
use crate::base::clock::TimestampMs;
use crate::intake::Demand;

/// The form of records. Another number is another release's.
const FORM: u32 = 1;

/// What is known of a transaction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Record {
    form: u32,
    /// The name of its directory in `@staging`.
    pub name: String,
    /// The id of the table, `metaData.id`.
    pub table_id: String,
    /// When it was begun, milliseconds since the epoch.
    pub begun: TimestampMs,
    /// The version of the table then.
    pub read_version: Version,
    /// How far it has come.
    pub state: State,
    /// The inode numbers of files that could not be fsynced: what was to be written then never will
    /// be, and the next fsync says that all is well.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub unwritten: BTreeSet<u64>,
}

/// How far a transaction has come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "state")]
pub(super) enum State {
    /// Files are being staged.
    Open,
    /// A commit is under way; after a kill, or where nothing tells how it went, its outcome has to
    /// be looked for.
    Committing {
        /// The commit.
        attempt: Attempt,
    },
    /// It is a version.
    Committed {
        /// Which.
        version: Version,
        /// Since when, milliseconds since the epoch.
        at: TimestampMs,
        /// Of the commit file; `None` where an earlier commit of the same `txnAppId` and
        /// `txnVersion` had done the work already.
        id: Option<Uuid>,
    },
    /// The last commit failed.
    Failed {
        /// Why.
        failure: Failure,
    },
}

/// A commit under way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Attempt {
    /// `commitInfo.txnId` of the commit file.
    pub id: Uuid,
    /// The first version that it could become.
    pub from: Version,
    /// The names that its data files get below the table root.
    pub files: Vec<String>,
    /// The directories that are made for them, each before those in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub directories: Vec<String>,
}

/// That a commit has succeeded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Outcome {
    /// The attempt.
    pub id: Uuid,
    /// The version that it has become.
    pub version: Version,
    /// Since when, milliseconds since the epoch.
    pub at: TimestampMs,
}

/// In the place of an [`Outcome`]: that the files of an attempt have all been fsynced, and none of
/// them failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Prepared {
    /// The attempt.
    pub prepared: Uuid,
}

impl Prepared {
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("texts and numbers are JSON")
    }

    /// Whether the note of an outcome says so of an attempt.
    pub(super) fn is_noted(attempt: Uuid, outcome: Option<&[u8]>) -> bool {
        let note = outcome.and_then(|note| serde_json::from_slice(note).ok());
        note == Some(Prepared { prepared: attempt })
    }
}

impl Outcome {
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("texts and numbers are JSON")
    }

    pub(super) fn into_state(self) -> State {
        State::Committed {
            version: self.version,
            at: self.at,
            id: Some(self.id),
        }
    }
}

impl Attempt {
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("texts and numbers are JSON")
    }
}

/// The state that the notes of attempt and outcome tell of; `None` where no attempt was noted.
pub(super) fn state_of(
    attempt: Option<&[u8]>,
    outcome: Option<&[u8]>,
) -> Result<Option<State>, String> {
    let text = |error: serde_json::Error| error.to_string();
    let Some(attempt) = attempt else {
        return Ok(None);
    };
    let attempt: Attempt = serde_json::from_slice(attempt).map_err(text)?;
    let outcome: Option<Outcome> = outcome.and_then(|note| serde_json::from_slice(note).ok());
    Ok(Some(match outcome {
        Some(outcome) if outcome.id == attempt.id => outcome.into_state(),
        _ => State::Committing { attempt },
    }))
}

/// Why a commit failed, as `.status` tells it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Failure {
    /// Delta's name for it.
    pub name: String,
    /// What was found, what was expected, and what to do.
    pub message: String,
    /// What `fsync` answered.
    pub errno: i32,
    /// The staged file that is to blame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The column that is to blame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<String>,
    /// The row of the file that is to blame, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub row: Option<u64>,
    /// What the table demands of rows that is not so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub constraint: Option<Demand>,
}

impl Record {
    pub(super) fn new(
        name: &str,
        table_id: &str,
        read_version: Version,
        begun: TimestampMs,
    ) -> Record {
        Record {
            form: FORM,
            name: name.to_owned(),
            table_id: table_id.to_owned(),
            begun,
            read_version,
            state: State::Open,
            unwritten: BTreeSet::new(),
        }
    }

    /// Reads a record; the error says what is wrong with it.
    pub(super) fn parse(bytes: &[u8]) -> Result<Record, String> {
        #[derive(Deserialize)]
        struct Form {
            form: u32,
        }
        let text = |error: serde_json::Error| error.to_string();
        let Form { form } = serde_json::from_slice(bytes).map_err(text)?;
        if form != FORM {
            return Err(format!(
                "it has form {form}, this release knows form {FORM}; finish the transaction with \
                 the release that began it"
            ));
        }
        serde_json::from_slice(bytes).map_err(text)
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec_pretty(self).expect("texts and numbers are JSON")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::intake::DemandKind;

    #[test]
    fn every_state_survives_the_disk() {
        let attempt = Attempt {
            id: Uuid::from_u128(7),
            from: 4,
            files: vec!["p=a/part-00000.parquet".into()],
            directories: vec!["p=a".into()],
        };
        let failure = Failure {
            name: "ConcurrentAppend".into(),
            message: "…".into(),
            errno: 116,
            file: None,
            column: Some("a.b".into()),
            row: Some(3),
            constraint: Some(Demand {
                kind: DemandKind::Check,
                name: "positive".into(),
                expression: "a.b > 0".into(),
                columns: vec!["a".into()],
            }),
        };
        for state in [
            State::Open,
            State::Committing { attempt },
            State::Committed {
                version: 4,
                at: 1,
                id: Some(Uuid::from_u128(7)),
            },
            State::Failed { failure },
        ] {
            let mut record = Record::new("b1", "table", 3, 1_700_000_000_000);
            record.state = state;
            record.unwritten.insert(5);
            assert_eq!(Record::parse(&record.to_bytes()), Ok(record));
        }
    }

    #[test]
    fn a_record_of_another_form_is_not_taken_for_ours() {
        let error = Record::parse(br#"{"form":2,"whatever":1}"#).unwrap_err();
        assert!(error.contains("form 2"), "{error}");
        assert!(Record::parse(b"").is_err());
        assert!(Record::parse(br#"{"form":1}"#).is_err());
    }
}
