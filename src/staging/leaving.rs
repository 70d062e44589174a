//! Files that have no name any more and are still open: the room that they take is about to be free.
//!
//! The kernel tells of a `close` only after it has returned. A program that writes until the disk is
//! full, removes the file and commits may be faster.

use std::collections::HashSet;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::base::clock::monotonic;

/// The removed files that are open in the transactions of a mount.
#[derive(Debug, Default)]
pub(crate) struct Leaving {
    state: Mutex<State>,
    one_left: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Device and inode numbers.
    open: HashSet<(u64, u64)>,
    /// How many there have been that are no longer.
    left: u64,
}

impl Leaving {
    /// Notes that a file has lost its last name while it was open.
    pub fn leaves(&self, file: (u64, u64)) {
        self.state.lock().open.insert(file);
    }

    /// Notes that a file is no longer open, whether it has names or not.
    pub fn left(&self, file: (u64, u64)) {
        let mut state = self.state.lock();
        if state.open.remove(&file) {
            state.left += 1;
            self.one_left.notify_all();
        }
    }

    /// How many files have left so far.
    pub fn count(&self) -> u64 {
        self.state.lock().left
    }

    /// Waits until no removed file is open, at most so long. Whether one has left since `count` was
    /// asked for.
    pub fn wait(&self, count: u64, most: Duration) -> bool {
        let until = monotonic() + most;
        let mut state = self.state.lock();
        while !state.open.is_empty() {
            if self.one_left.wait_until(&mut state, until).timed_out() {
                break;
            }
        }
        state.left != count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_is_told_of_what_has_left_meanwhile() {
        let leaving = Leaving::default();
        let before = leaving.count();
        assert!(!leaving.wait(before, Duration::MAX / 4), "nothing is open");
        leaving.leaves((1, 1));
        leaving.left((1, 2));
        assert!(!leaving.wait(before, Duration::from_millis(1)));
        std::thread::scope(|scope| {
            scope.spawn(|| leaving.left((1, 1)));
            assert!(leaving.wait(before, Duration::from_secs(60)));
        });
        assert!(leaving.wait(before, Duration::ZERO), "it has left before");
        assert!(!leaving.wait(leaving.count(), Duration::ZERO));
    }
}
