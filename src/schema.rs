//! The schema of a table: its types, their JSON form, and what of it shapes files
//! (PROTOCOL.md, "Schema Serialization Format", "Column Mapping", "Partition Value
//! Serialization").
//!
//! Schemas come out of the log and are hostile until parsed: [`StructType::parse`] bounds nesting
//! and refuses what Delta refuses.

mod error;
mod fingerprint;
mod hive;
mod json;
mod mapping;
mod parse;
mod path;
mod types;
mod value;

#[cfg(test)]
mod tests;

pub use error::SchemaError;
pub use fingerprint::shape_fingerprint;
pub use hive::{HIVE_DEFAULT_PARTITION, escape_hive, is_null_partition_value, unescape_hive};
pub use mapping::MappingMode;
pub use path::column_path;
pub use types::{
    ArrayType, DataType, ForeignType, MapType, PrimitiveType, StructField, StructType,
};
pub use value::{PartitionValue, days, decimal, instant, partition_timestamp, wall_clock};
