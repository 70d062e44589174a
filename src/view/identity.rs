//! Whether a data file already is what the table shows.
//!
//! A file is *identity* when readers of its original bytes see exactly the rows of the table: the
//! same columns by name and in order, of the same types, with the same values. Then its bytes are
//! presented as they are. Everything in doubt is no identity: [`compare`] answers with the first
//! [`Mismatch`].
//!
//! What readers see was settled by trying pyarrow, polars and DuckDB; where they disagree, a file
//! is no identity. So the table of PROTOCOL.md, "Delta Data Type to Parquet Type Mappings", holds
//! with these notes:
//!
//! - `timestamp` and `timestamp_ntz` are INT64 with a logical type in microseconds. Milliseconds and
//!   nanoseconds are other types to readers. INT96 loses the time zone, and in pyarrow every year
//!   outside 1677 to 2262. A converted type alone (TIMESTAMP_MICROS) is an instant to pyarrow and a
//!   wall-clock time to polars and DuckDB.
//! - `byte` and `short` need their annotation, without which readers see an `integer`.
//! - `string` needs its annotation, `binary` must have none, and neither has a fixed length.
//! - `decimal` has the same precision and scale; any storage type that can hold them is right.
//! - An array is a LIST group with a repeated group of one field, or its older two-level form; not
//!   where a repeated group of one field is itself the element (named `array` or `*_tuple`, or
//!   holding a repeated field), which DuckDB unwraps.
//! - A map is a MAP group whose keys are required. Names inside lists and maps do not matter.
//! - `variant` is the group of `value` and `metadata` that PROTOCOL.md, "Variant data in Parquet",
//!   describes, in any order; a shredded variant is not.
//! - `void` columns are absent, and so are those of types that are made of nothing else.
//! - Types of other engines are what they are stored as ([`ForeignType`](crate::schema::ForeignType)).
//! - Metadata by which some readers see other columns, types or values than the Parquet schema
//!   describes ([`Footer::misleading_hint`]) makes a file no identity.
//! - A required column in the file is right for a nullable one of the table, and an optional one
//!   for a column that the table calls not null: values are the same.
//!
//! This is not [`plan`](super::plan::plan) with nothing left to do. A plan follows Delta and makes one
//! form of everything, while a file may be identity in several: a list in its two-level form, an
//! integer with or without its annotation, a partition column with the values of the log. And a plan
//! takes what this must not: lists on which readers disagree, shredded variants.

mod constant;
mod types;

#[cfg(test)]
mod tests;

use super::{Layout, Mismatch, PresentedSchema};
use crate::parquet::Footer;
use crate::schema::StructField;
use types::Comparison;

/// `Ok` only where readers of the original bytes see exactly what the table shows; see the module.
///
/// In the flat layout the file has all columns of the table, and its statistics have to prove that
/// each partition column holds the value that the log gives; in the hive layout it has exactly the
/// others. `partition_values` are those of the file's `partitionValues`, one for each partition
/// column, in their order; missing ones are null.
///
/// Under column mapping the names in the file have to be the logical ones, as in tables that were
/// upgraded to mapping and never renamed a column: by name, each physical name is the logical one;
/// by id, each column has its id in the file (PROTOCOL.md, "Reader Requirements for Column
/// Mapping").
pub fn compare(
    footer: &Footer,
    schema: &PresentedSchema<'_>,
    partition_values: &[Option<&str>],
) -> Result<(), Mismatch> {
    let comparison = Comparison {
        mapping: schema.mapping,
    };
    let shown: Vec<&StructField> = schema.columns().collect();
    comparison.fields(&shown, footer.columns(), "")?;

    if schema.layout == Layout::Flat {
        for (index, column) in schema.partition_columns.iter().enumerate() {
            let value = partition_values.get(index).copied().flatten();
            let field = shown
                .iter()
                .zip(footer.columns())
                .find(|(field, _)| field.name == *column);
            if let Some((field, node)) = field {
                constant::check(footer, field, node, value)?;
            }
        }
    }
    match footer.misleading_hint() {
        None => Ok(()),
        Some(hint) => Err(Mismatch {
            column: hint.column,
            found: format!(
                "metadata {:?} by which some readers see {}",
                hint.key, hint.effect
            ),
            expected: "columns of its own types".to_owned(),
        }),
    }
}
