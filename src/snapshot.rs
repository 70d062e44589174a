//! One version of a table in memory: protocol, metadata, live files; building and refreshing them.

pub mod checkpoint;
mod error;
mod file_table;
mod generation;
mod provenance;
mod replay;
mod run;
mod state;
mod table;

pub use error::SnapshotError;
pub use file_table::{DeletionVector, FileId, FileRef, FileTable, StatisticsSource};
pub use generation::{Generation, ProvenanceView};
pub use state::{Snapshot, TableShape};
pub use table::Table;
