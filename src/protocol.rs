//! What a table demands of its readers, and the table properties that shape reading.

mod error;
mod features;
mod properties;

pub use error::ProtocolError;
pub use features::{ReaderFeature, check_readable};
pub use properties::{column_mapping_mode, in_commit_timestamps};
