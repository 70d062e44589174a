//! The tree against a model: random sequences of what other people do to a table and what the user
//! of a mount does, no mount needed. `reference` is the specification.
#![allow(clippy::disallowed_methods)] // It plays the writers, who know nothing of the storage floor.

mod concurrent;
mod disk;
mod files;
mod mount;
mod ops;
mod others;
mod reference;
mod regressions;
mod user;

#[path = "../support/mod.rs"]
mod support;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError};

use reference::Mode;

/// How many sequences are tried with each mode; `PROPTEST_CASES` overrides it. What fails becomes a
/// test in `regressions`.
const SEQUENCES: u32 = 1000;

fn config() -> Config {
    Config {
        max_shrink_iters: 20_000,
        ..support::cases(SEQUENCES)
    }
}

fn holds(mode: Mode, sequence: &[ops::Op]) -> Result<(), TestCaseError> {
    user::run(mode, sequence).map_err(TestCaseError::fail)
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn the_flat_layout_is_as_the_model_says(sequence in ops::sequences(24)) {
        holds(Mode::Flat, &sequence)?;
    }

    #[test]
    fn the_hive_layout_is_as_the_model_says(sequence in ops::sequences(24)) {
        holds(Mode::Hive, &sequence)?;
    }

    #[test]
    fn the_raw_view_is_as_the_model_says(sequence in ops::sequences(24)) {
        holds(Mode::Raw, &sequence)?;
    }
}
