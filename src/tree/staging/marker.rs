//! The marker: the entry `.commit` in the directory of a transaction, whatever file that is. Making
//! it durable commits, and so does a rename to its name.

use std::ffi::OsStr;

use uuid::Uuid;

use super::Staged;
use crate::staging::{MARKER, Transaction};
use crate::storage::posix::{Directory, PosixError, Replacing};
use crate::tree::TreeError;

/// Whether a file is the marker now.
pub(super) fn is(transaction: &Transaction, inode: u64) -> Result<bool, TreeError> {
    match transaction.files().stat_child(OsStr::new(MARKER)) {
        Ok(stat) => Ok(stat.inode == inode),
        Err(error) if error.is_not_found() => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// As [`is`], and yes where that cannot be told.
pub(super) fn may_be(staged: &Staged) -> bool {
    is(&staged.transaction, staged.identity.1).unwrap_or(true)
}

/// A rename that makes something the marker.
pub(super) struct MarkerRename<'a> {
    transaction: &'a Transaction,
    from: (&'a Directory, &'a OsStr),
    exchange: bool,
    /// What the marker that was there is called meanwhile.
    aside: Option<String>,
}

impl<'a> MarkerRename<'a> {
    /// Moves `name` of `from` to the marker's name.
    pub(super) fn begin(
        transaction: &'a Transaction,
        from: (&'a Directory, &'a OsStr),
        replacing: Replacing,
    ) -> Result<MarkerRename<'a>, TreeError> {
        let _leave = transaction.modify()?;
        let (top, marker) = (transaction.files(), OsStr::new(MARKER));
        let (directory, name) = from;
        let mut rename = MarkerRename {
            transaction,
            from,
            exchange: replacing == Replacing::Exchange,
            aside: None,
        };
        if rename.exchange || replacing == Replacing::No {
            directory.rename(name, top, marker, replacing)?;
            return Ok(rename);
        }
        // The name does not begin like a data file's, so that a commit passes over it.
        let aside = format!("{MARKER}.replaced-{}", Uuid::new_v4());
        match top.rename(marker, top, OsStr::new(&aside), Replacing::Yes) {
            Ok(()) => rename.aside = Some(aside),
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(error.into()),
        }
        if let Err(error) = directory.rename(name, top, marker, Replacing::Yes) {
            rename.put_back()?;
            return Err(error.into());
        }
        Ok(rename)
    }

    /// Commits, and moves everything back when that fails: then all is as it was before the rename.
    pub(super) fn commit(self) -> Result<(), TreeError> {
        match self.transaction.commit() {
            Ok(version) => {
                tracing::debug!(version, "committed by a rename to the marker");
                self.drop_replaced();
                Ok(())
            }
            Err(error) => {
                if let Err(undoing) = self.undo() {
                    tracing::warn!(%undoing, "the marker keeps its new name");
                }
                Err(error.into())
            }
        }
    }

    fn undo(&self) -> Result<(), TreeError> {
        let _leave = self.transaction.modify()?;
        let (top, marker) = (self.transaction.files(), OsStr::new(MARKER));
        let (directory, name) = self.from;
        let back = match self.exchange {
            true => Replacing::Exchange,
            false => Replacing::Yes,
        };
        top.rename(marker, directory, name, back)?;
        Ok(self.put_back()?)
    }

    fn put_back(&self) -> Result<(), PosixError> {
        let (top, marker) = (self.transaction.files(), OsStr::new(MARKER));
        match &self.aside {
            Some(aside) => top.rename(OsStr::new(aside), top, marker, Replacing::Yes),
            None => Ok(()),
        }
    }

    fn drop_replaced(&self) {
        let Some(aside) = &self.aside else { return };
        let dropped = self.transaction.removing().map(|_leave| {
            let removed = self.transaction.files().unlink(OsStr::new(aside));
            removed.map_err(TreeError::from)
        });
        match dropped {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::debug!(%error, "a replaced marker stays"),
            Err(error) => tracing::debug!(%error, "a replaced marker stays"),
        }
    }
}
