//! How hard a commit is tried.

use std::time::Duration;

use crate::base::random::duration_up_to;

/// How hard a commit is tried, and who makes it.
#[derive(Debug, Clone)]
pub struct CommitOptions {
    /// How often the commit file may be put. 10,000,000 by default, as in Delta on Spark: what
    /// ends a hopeless race is `deadline`.
    pub max_attempts: u32,
    /// How long it may take to win; no attempt begins later. 5 minutes by default.
    pub deadline: Duration,
    /// The most that is waited after the first race lost; it doubles with each. 2 ms by default.
    pub first_pause: Duration,
    /// The most that is ever waited between two attempts. 1 s by default.
    pub longest_pause: Duration,
    /// `commitInfo.engineInfo`.
    pub engine_info: String,
}

impl Default for CommitOptions {
    fn default() -> CommitOptions {
        CommitOptions {
            max_attempts: 10_000_000,
            deadline: Duration::from_secs(5 * 60),
            first_pause: Duration::from_millis(2),
            longest_pause: Duration::from_secs(1),
            engine_info: concat!("deltafs/", env!("CARGO_PKG_VERSION")).to_owned(),
        }
    }
}

impl CommitOptions {
    /// How long to wait after `lost` races lost, from 1: anything up to a bound that doubles, so
    /// that those who lost the same race do not meet again in the next.
    pub(super) fn pause(&self, lost: u32) -> Duration {
        let factor = 1_u32
            .checked_shl(lost.saturating_sub(1))
            .unwrap_or(u32::MAX);
        let most = self.first_pause.saturating_mul(factor);
        duration_up_to(most.min(self.longest_pause))
    }
}
