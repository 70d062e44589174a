//! What no commit may hold (PROTOCOL.md, "Add File and Remove File"), whoever proposes it.

use std::collections::{BTreeSet, HashSet};

use super::TxnError;
use super::file::FileKey;
use super::proposal::Proposal;
use super::row_ids::ROW_TRACKING_DOMAIN;
use crate::log::actions::DeletionVectorDescriptor;
use crate::snapshot::{Generation, Snapshot};
use crate::storage::Location;

/// Checks the first version of a table.
pub(super) fn creation(proposal: &Proposal) -> Result<(), TxnError> {
    if proposal.read_version.is_some() {
        return Err(invalid(
            "it creates the table and has a read version, which a table to be created has not",
        ));
    }
    if !proposal.removes.is_empty() {
        return Err(invalid("it creates the table and removes files of it"));
    }
    itself(proposal).map(drop)
}

/// Checks a change of the table as it was read.
pub(super) fn changes(
    proposal: &Proposal,
    generation: &Generation,
    read: &Snapshot,
) -> Result<(), TxnError> {
    let removed = itself(proposal)?;
    let files = generation.files();
    // The logical files of a path that are live in the version that was read.
    let live = |path: &str| {
        let (path, absolute) =
            match Location::parse(path).map_err(|error| invalid(&error.to_string()))? {
                Location::Relative(path) => (path, false),
                Location::Absolute(path) => (path, true),
            };
        let live = files
            .with_path(&path, absolute)
            .find(|id| read.files().contains(*id));
        Ok::<_, TxnError>(live.map(|id| {
            let vector = files.get(id).deletion_vector;
            vector.map(|vector| vector.unique_id.as_str())
        }))
    };
    let id = |vector: &Option<DeletionVectorDescriptor>| {
        vector.as_ref().map(DeletionVectorDescriptor::unique_id)
    };
    for remove in &proposal.removes {
        let wanted = id(&remove.deletion_vector);
        match live(&remove.path)? {
            Some(found) if found == wanted.as_deref() => {}
            Some(found) => {
                return Err(invalid(&format!(
                    "it removes {} with deletion vector {wanted:?}, and version {} has the file \
                     with deletion vector {found:?}",
                    remove.path,
                    read.version()
                )));
            }
            None => {
                return Err(invalid(&format!(
                    "it removes {}, which is no live file of version {}",
                    remove.path,
                    read.version()
                )));
            }
        }
    }
    for add in &proposal.adds {
        let wanted = id(&add.deletion_vector);
        if let Some(found) = live(&add.path)?
            && found != wanted.as_deref()
            && !removed.contains(
                &Location::key(&add.path)
                    .map_err(|error| invalid(&error.to_string()))?
                    .into_owned(),
            )
        {
            return Err(invalid(&format!(
                "it adds {} with deletion vector {wanted:?} without removing the one that version \
                 {} has, with deletion vector {found:?}",
                add.path,
                read.version()
            )));
        }
    }
    Ok(())
}

/// Checks what can be told from the proposal alone; returns the paths that it removes, as keys.
fn itself(proposal: &Proposal) -> Result<HashSet<String>, TxnError> {
    let key = |path: &str| match FileKey::new(path, None) {
        Ok(key) => Ok(key.path().to_owned()),
        Err(error) => Err(invalid(&error.to_string())),
    };
    let mut added = HashSet::with_capacity(proposal.adds.len());
    for add in &proposal.adds {
        if i64::try_from(add.size).is_err() {
            return Err(invalid(&format!(
                "{} has {} bytes, more than the log can say",
                add.path, add.size
            )));
        }
        if !added.insert(key(&add.path)?) {
            return Err(invalid(&format!("it adds {} twice", add.path)));
        }
    }
    let mut removed = HashSet::with_capacity(proposal.removes.len());
    for remove in &proposal.removes {
        if !removed.insert(key(&remove.path)?) {
            return Err(invalid(&format!("it removes {} twice", remove.path)));
        }
    }
    let mut domains = BTreeSet::new();
    for domain in &proposal.domains {
        if domain.domain == ROW_TRACKING_DOMAIN {
            return Err(invalid(&format!(
                "it sets the metadata domain {ROW_TRACKING_DOMAIN}, which follows from the files \
                 that are added"
            )));
        }
        if !domains.insert(&domain.domain) {
            return Err(invalid(&format!(
                "it sets the metadata domain {} twice",
                domain.domain
            )));
        }
    }
    Ok(removed)
}

fn invalid(problem: &str) -> TxnError {
    TxnError::Invalid {
        problem: problem.to_owned(),
    }
}
