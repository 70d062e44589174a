//! deltafs presents every version of a Delta Lake table as a directory of Parquet files, and makes a
//! directory of Parquet files one commit. `README.md` tells how it is used, `docs/DESIGN.md` why it is
//! built as it is. This library is the program `deltafs`; its interface may change with any release.
//!
//! The modules are floors: each uses only those below it (`tests/layers.rs` enforces the order). From
//! the top:
//!
//! | floor | what it is about | begin with |
//! |---|---|---|
//! | [`cli`] | arguments, daemon, signals, messages | [`cli::main`] |
//! | [`fuse`] | requests of the kernel, mounting, unmounting | [`fuse::Nodes`] |
//! | [`errno`] | the number of every error | |
//! | [`tree`] | names, inodes, handles, listings | [`tree::Tree`] |
//! | [`staging`] | directories that become commits | [`staging::Staging`] |
//! | [`intake`] | staged Parquet files are checked and become data files | [`intake::accept`] |
//! | [`view`] | the bytes and names that a reader of one version sees | [`view::VersionView`] |
//! | [`txn`] | a proposal becomes the next version, or a conflict | [`txn::commit`] |
//! | [`snapshot`] | versions of a table in memory | [`snapshot::Table`] |
//! | [`protocol`] | table features and properties | [`protocol::check_readable`] |
//! | [`log`] | commit files and checkpoints as they lie in `_delta_log` | [`log::actions`] |
//! | [`parquet`] | footers, and chunks made without a library | [`parquet::Footer`] |
//! | [`schema`] | types, their JSON, partition values, expressions | [`schema::StructType`] |
//! | [`storage`] | a directory or an object store | [`storage::Store`] |
//! | [`base`] | ids, clock, chance, threads | |
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
