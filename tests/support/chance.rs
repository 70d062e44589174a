//! How often chance is tried.

use proptest::test_runner::Config;

/// `usual` cases, each time others; `PROPTEST_CASES` overrides how many. A case that fails becomes a
/// test with a name, so nothing is written down.
pub fn cases(usual: u32) -> Config {
    let config = Config::default();
    Config {
        cases: match std::env::var_os("PROPTEST_CASES") {
            Some(_) => config.cases,
            None => usual,
        },
        failure_persistence: None,
        ..config
    }
}
