//! deltafs presents every version of a Delta Lake table as a directory of Parquet files.
//!
//! The modules are floors: each uses only those below it (`tests/layers.rs` enforces the order).
//! From the bottom: [`base`], [`storage`], [`schema`], [`parquet`], [`log`], [`protocol`],
//! [`snapshot`], [`txn`], [`view`], [`intake`], [`staging`], [`tree`], [`errno`], [`fuse`], [`cli`].
#![warn(missing_docs)]
// Tests set scenes: they may touch files and print.
#![cfg_attr(test, allow(clippy::disallowed_methods, clippy::disallowed_macros))]

pub mod base;
pub mod cli;
pub mod errno;
pub mod fuse;
pub mod intake;
pub mod log;
pub mod parquet;
pub mod protocol;
pub mod schema;
pub mod snapshot;
pub mod staging;
pub mod storage;
pub mod tree;
pub mod txn;
pub mod view;

// What tests of the library share with tests of its parts speaks of the crate by its name.
#[cfg(test)]
extern crate self as deltafs;
