//! Ids, clock, chance and units: what every floor may use.

pub mod clock;
pub mod hash;
pub mod panics;
pub mod random;

/// A table version: the number of the commit that made it (PROTOCOL.md, "Delta Log Entries").
pub type Version = u64;
