//! What the kernel is told without having asked.

use std::fmt;
use std::sync::{Arc, OnceLock};

use fuser::{INodeNo, Notifier};

use crate::tree::Ino;

/// The kernel's end of a mount, once there is one.
#[derive(Clone, Default)]
pub(super) struct Kernel(Arc<OnceLock<Notifier>>);

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kernel").finish_non_exhaustive()
    }
}

impl Kernel {
    /// Gives it the notifier of a session.
    pub(super) fn connect(&self, notifier: Notifier) {
        // There is one session to an adapter.
        let _ = self.0.set(notifier);
    }

    /// Has the kernel write what programs have changed in their mappings of a file, and waits for
    /// that. Not to be called by a thread that answers requests: some of them come from it.
    pub(super) fn write_back(&self, ino: Ino) {
        let Some(notifier) = self.0.get() else { return };
        if let Err(error) = notifier.inval_inode(INodeNo(ino), 0, 0) {
            // It has forgotten the file meanwhile.
            tracing::debug!(ino, %error, "nothing to write back");
        }
    }

    /// Has the kernel ask for the attributes of a file when they are needed next. Its pages stay,
    /// so that this may be called while one of them is being read.
    pub(super) fn forget_attributes(&self, ino: Ino) {
        // Where a range begins before the file, no page is in it.
        const NO_PAGES: i64 = -1;
        let Some(notifier) = self.0.get() else { return };
        if let Err(error) = notifier.inval_inode(INodeNo(ino), NO_PAGES, 0) {
            tracing::debug!(ino, %error, "no attributes to forget");
        }
    }
}
