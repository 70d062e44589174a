//! The only place that draws random numbers, apart from UUIDs.

use std::time::Duration;

/// A duration from nothing up to `most`, each as likely as any other. Not for secrets.
#[allow(clippy::disallowed_methods)]
pub fn duration_up_to(most: Duration) -> Duration {
    let nanos = u64::try_from(most.as_nanos()).unwrap_or(u64::MAX);
    Duration::from_nanos(fastrand::u64(0..=nanos))
}

/// How often a test tries chance: `PROPTEST_CASES` times, `usual` ones where it says nothing.
#[cfg(test)]
pub(crate) fn cases(usual: u32) -> proptest::test_runner::Config {
    match std::env::var_os("PROPTEST_CASES") {
        Some(_) => proptest::test_runner::Config::default(),
        None => proptest::test_runner::Config::with_cases(usual),
    }
}
