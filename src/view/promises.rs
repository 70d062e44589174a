//! What has become of the promise that a file under its own name makes: that its bytes are its own.
//!
//! Sizes depend on it. Where it is believed, the size is the one in the log, and a listing of many
//! files reads few footers. A size that is wrong costs a read: programs that list files first and
//! then read them by these sizes look for the footer where it is not (DataFusion and Spark do).

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use crate::base::clock::TimestampMs;

/// How many files have to keep the promise before any is believed. A table of as many files, where
/// a few of another writer are easily among the others, tells no size that was not looked at.
const ENOUGH: usize = 4096;

/// Files that were written within as much time are taken to be of one writer, milliseconds.
const SPAN: i64 = 60 * 60 * 1000;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Promises {
    broken: AtomicBool,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    files: usize,
    /// The spans of time in which files were written that kept it.
    spans: HashSet<i64>,
}

impl Promises {
    /// Whether that of a file modified at that time is believed: enough files kept theirs, one of
    /// them written at about that time, and no file broke it.
    pub(super) fn are_believed(&self, modified: TimestampMs) -> bool {
        if self.broken.load(Ordering::Relaxed) {
            return false;
        }
        let kept = self.kept.lock();
        kept.files >= ENOUGH && kept.spans.contains(&span(modified))
    }

    /// A file modified at that time kept it.
    pub(super) fn note_kept(&self, modified: TimestampMs) {
        let mut kept = self.kept.lock();
        kept.files = kept.files.saturating_add(1);
        kept.spans.insert(span(modified));
    }

    /// A file did not keep it.
    pub(super) fn note_broken(&self) {
        self.broken.store(true, Ordering::Relaxed);
    }
}

fn span(modified: TimestampMs) -> i64 {
    modified.div_euclid(SPAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_that_keep_it_are_believed_near_their_time_until_one_breaks_it() {
        let promises = Promises::default();
        for at in 0..ENOUGH as i64 {
            assert!(!promises.are_believed(0), "after {at}");
            promises.note_kept(at);
        }
        assert!(promises.are_believed(SPAN - 1));
        assert!(!promises.are_believed(SPAN), "nobody has looked at one");
        assert!(!promises.are_believed(-1), "nobody has looked at one");
        promises.note_kept(-1);
        assert!(promises.are_believed(-SPAN));
        promises.note_broken();
        assert!(!promises.are_believed(0));
        promises.note_kept(0);
        assert!(!promises.are_believed(0), "one was broken");
    }
}
