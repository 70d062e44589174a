//! Whatever a table's schema has been through, however its data files were written, and whichever
//! rows were deleted: readers of a presented file see the rows of the table.
//!
//! Tables, changes of their schemas, data files and deletion vectors are random. What is right is
//! told by a reference of its own, value by value ([`tables`]). `DELTAFS_PROPERTY_CASES=N` tries that
//! many others than those that are always tried; what such a run finds becomes a test in
//! [`regressions`]. With `DELTAFS_PROPERTY_WRITER` data files are those of another writer than the
//! `parquet` crate ([`tables`]). `DELTAFS_PROPERTY_FILES=DIRECTORY` keeps the presented files that were put together,
//! for `python -m interop_lib.strict`, which holds all that a file says of itself against what it holds.

// Tests make tables with the plain file system, and print what failed.
#![allow(clippy::disallowed_methods, clippy::disallowed_macros)]

#[path = "../support/mod.rs"]
mod support;

#[path = "../tables/mod.rs"]
mod tables;

mod checks;
mod chunks;
mod regressions;

use std::cell::RefCell;

use proptest::prelude::*;
use proptest::test_runner::{RngSeed, TestRunner};

/// As many as a debug build tries in half a minute.
const CASES: u32 = 200;

#[test]
fn presented_files_have_the_rows_of_the_table() {
    let asked = std::env::var("DELTAFS_PROPERTY_CASES")
        .ok()
        .map(|cases| cases.parse().expect("DELTAFS_PROPERTY_CASES is a number"));
    let cases = asked.unwrap_or(CASES);
    let mut runner = TestRunner::new(ProptestConfig {
        cases,
        rng_seed: match asked {
            None => RngSeed::Fixed(1),
            Some(_) => RngSeed::Random,
        },
        failure_persistence: None,
        max_shrink_iters: 2_000,
        ..ProptestConfig::default()
    });
    let classes = RefCell::new(checks::Classes::new());
    let result = runner.run(&tables::any_case(), |case| {
        checks::check(&case, &mut classes.borrow_mut());
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
    // Files of every class were among them.
    let classes = classes.into_inner();
    println!("{classes:?}");
    for class in ["identity", "composed", "rewritten"] {
        let count = classes.get(class).copied().unwrap_or(0);
        assert!(count >= cases / 50, "{class}: {classes:?}");
    }
}
