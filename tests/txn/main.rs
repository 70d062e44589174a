//! Commits: which conflict, how the others are rebased, and what a failing store leaves behind.

// Tests make and break tables with the plain file system.
#![allow(clippy::disallowed_methods)]

#[path = "../support/mod.rs"]
mod support;

mod create;
mod faults;
mod idempotence;
mod kinds;
mod matrix;
mod reads;
mod rebase;
mod refused;
mod serial;
