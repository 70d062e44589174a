//! Transactions of `@staging`, without a mount: their files are put where the mount would put them.
#![allow(clippy::disallowed_methods, clippy::disallowed_macros)]

mod modes;
mod recovery;
mod rig;
mod status;
mod transactions;
mod tree;

#[path = "../support/mod.rs"]
mod support;
