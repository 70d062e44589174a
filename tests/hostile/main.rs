//! Hostile bytes: whatever a table holds, the answer is an error or a value, never a panic, and
//! never memory or stack out of proportion.

// Tests make and break tables with the plain file system.
#![allow(clippy::disallowed_methods, clippy::disallowed_macros)]

#[path = "../support/mod.rs"]
mod support;

#[path = "../tables/mod.rs"]
mod tables;

pub mod allocations;
mod checkpointed;
pub mod dice;
mod footer;
pub mod fuzz;
mod lines;
mod mutations;
mod numbers;
mod parquet_claims;
mod paths;
mod schema;
mod special_files;
mod twins;
mod visit;
