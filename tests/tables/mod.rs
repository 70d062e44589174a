//! Random tables, and what they have to show by a reference of its own.
//!
//! A [`Case`] says all there is to a table: a schema nested three deep, partition columns, changes
//! of the schema, how its data file is written, and which rows are deleted. [`Case::make`] writes
//! the table and tells the rows of each version, worked out value by value. Data files are written
//! by the `parquet` crate, or by whatever `DELTAFS_PROPERTY_WRITER` says (`other_writer.rs`).
// Each test target uses its own part of this.
#![allow(dead_code, unused_imports)]

mod case;
mod dice;
mod evolve;
mod kinds;
mod other_writer;
mod partitions;
mod strategies;
mod values;

pub use case::{Case, Deletions, Expected, Made, Partition, Style};
pub use dice::Dice;
pub use evolve::Change;
pub use kinds::{Field, Kind, Mapping, Part, Primitive, are_seen_as, delta_struct};
pub use strategies::{any_case, case_of_seed};
pub use values::{Value, values};
