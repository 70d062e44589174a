//! The specification, section by section: each test quotes the rule of PROTOCOL.md that it checks.

// Tests make and break tables with the plain file system.
#![allow(clippy::disallowed_methods, clippy::disallowed_macros)]

#[path = "../support/mod.rs"]
mod support;

mod add_and_remove;
mod change_metadata;
mod checkpoint_faults;
mod checkpoint_writing;
mod checkpoints;
mod column_mapping;
mod deletion_vectors;
mod delta_log_entries;
mod domain_metadata;
mod in_commit_timestamps;
mod last_checkpoint;
mod log_compaction;
mod partition_values;
mod protocol_evolution;
mod reconciliation;
mod sidecars;
mod transaction_identifiers;
mod version_checksum;

/// A `long` column `id`, which most tables here have.
const ID: &[(&str, &str)] = &[("id", "long")];

/// A file without deletion vector.
fn plain(path: &str) -> support::LogicalFile {
    (path.to_owned(), None)
}
