//! Builds Delta tables for tests, reads them through the library, and tells by a plain replay of
//! its own what is right.
//!
//! ```ignore
//! let mut table = TableBuilder::with_schema(&[("id", "long")]);          // version 0
//! let add = table.data("part-0.parquet", &batch([("id", longs([1, 2]))]));
//! table.commit([add]);                                                  // version 1
//! table.commit([remove("part-0.parquet"), add("part-1.parquet").dv(&dv("x"))]);
//! table.checkpoint(2, Checkpoint::Classic);
//! assert_eq!(live(&table.generation(), 1), [("part-0.parquet".into(), None)]);
//! assert_eq!(list(&table.tree(), "@v1").unwrap(), ["part-0.parquet"]);
//! ```
// Each test target uses its own part of this.
#![allow(dead_code, unused_imports)]

mod actions;
mod chance;
mod checkpoint;
mod commits;
mod data;
mod deletion_vectors;
mod disk;
pub mod intake;
mod logs;
mod reference;
mod scripted_store;
mod stored;
mod table;
mod tree;

pub use actions::{
    Action, add, commit_info, domain, domain_removed, dv, field, metadata, other, protocol, remove,
    schema, sidecar, table_features, txn,
};
pub use chance::cases;
pub use checkpoint::{Checkpoint, batch_of, parquet_of};
pub use commits::{
    PartitionIs, actions_of, append, commit, committed, info_of, named, new_add, new_dv,
    new_remove, new_txn, proposal, values,
};
pub use data::{
    batch, booleans, column, ints, longs, parquet, parquet_compressed, parquet_longs, strings,
};
pub use deletion_vectors::{inline_vector, serialized_vector, vector_file, z85};
pub use disk::Disk;
pub use logs::{Logs, logged};
pub use reference::{LogicalFile, Reference};
pub use scripted_store::{ScriptedStore, io_error, remote_error};
pub use stored::{actions_in, parquet_schema};
pub use table::{TableBuilder, generation_of, live, open_root, ranges, roots, scripted, versions};
pub use tree::{list, list_all, lookup, pages, read, resolve, tree_of, tree_read, xattr};
