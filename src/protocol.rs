//! What a table demands of its readers and writers, and the table properties that shape both.

mod checkpointing;
mod error;
mod features;
mod properties;
mod write;

pub use checkpointing::{CheckpointSettings, parse_interval};
pub use error::ProtocolError;
pub use features::{ReaderFeature, check_readable};
pub use properties::{column_mapping_mode, in_commit_timestamps};
pub use write::{Rule, WriteRules, check_writable};
