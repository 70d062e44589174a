//! The transaction log as it lies in `_delta_log`: names, actions, commit files, checkpoints.
//!
//! This floor reads and lists; what the actions add up to is [`crate::snapshot`]'s.

pub mod actions;
pub mod checkpoint;
pub mod checksum;
pub mod commit;
pub mod deletion_vector;
mod error;
pub mod history;
pub mod last_checkpoint;
pub mod listing;
pub mod names;
pub mod statistics;
pub mod times;
pub mod write;

pub use error::LogError;

/// The directory of the log, relative to the table root (PROTOCOL.md, "Delta Log Entries").
pub const LOG_DIR: &str = "_delta_log";

/// The directory of checkpoint sidecars (PROTOCOL.md, "Sidecar Files").
pub const SIDECAR_DIR: &str = "_delta_log/_sidecars";

/// The path, relative to the table root, of a file in the log directory.
pub fn log_path(name: &str) -> String {
    format!("{LOG_DIR}/{name}")
}
