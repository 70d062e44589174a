//! Ids, clock, chance, units and threads: what every floor may use.

pub mod clock;
pub mod hash;
pub mod panics;
pub mod parallel;
pub mod random;

/// A table version: the number of the commit that made it (PROTOCOL.md, "Delta Log Entries").
pub type Version = u64;
