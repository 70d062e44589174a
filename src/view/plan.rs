//! How a data file becomes what the table shows.
//!
//! [`plan`] matches the columns of a version with those of a file, as Delta does (PROTOCOL.md,
//! "Column Mapping", "Partition Value Serialization", "Type Widening"), and says for each leaf of
//! the presented file where its values come from. What cannot be presented exactly is a
//! [`Mismatch`].
//!
//! The rules, beyond those of the specification:
//!
//! - Partition columns hold what the log says, whatever the file holds.
//! - Names are compared exactly; where no name is the same, one that differs in case alone is taken,
//!   as Spark does.
//! - A column that the file lacks, or says to be always null, is null, unless the table does not
//!   allow null there.
//! - Under mapping by id, a file without ids is none of the table's.
//! - Lists are presented in their three-level form, whichever form the file has: the levels are
//!   the same, and readers disagree on the others.
//! - A timestamp without zone in a partition value is in UTC, as in delta-kernel.

mod leaf;
mod missing;
mod nested;
pub(super) mod partition;
mod value;

#[cfg(test)]
mod tests;

use super::schema::field_id;
use super::{Mismatch, PresentedSchema};
use crate::parquet::{Footer, Levels, Node, OutputNode};
use crate::schema::{MappingMode, StructField, StructType, column_path};
use missing::missing;
use value::always_null;

pub(super) use leaf::storage;

/// The schema of the presented file with the origin of each leaf.
///
/// `partition_values` are those of the file's `partitionValues`, one for each partition column of
/// `schema`, in their order; missing ones are null.
pub fn plan(
    footer: &Footer,
    schema: &PresentedSchema<'_>,
    partition_values: &[Option<&str>],
) -> Result<Vec<OutputNode>, Mismatch> {
    let planner = Planner {
        footer,
        mapping: schema.mapping,
    };
    if schema.mapping == MappingMode::Id && footer.num_rows() > 0 && !has_ids(footer.columns()) {
        return Err(Mismatch {
            column: String::new(),
            found: "no column ids".to_owned(),
            expected: "those of column mapping by id".to_owned(),
        });
    }
    planner.refuse_hidden(schema.schema, footer.columns(), "")?;
    let mut columns = Vec::new();
    for field in schema.columns() {
        let mut partition_columns = schema.partition_columns.iter();
        columns.push(
            match partition_columns.position(|column| *column == field.name) {
                Some(position) => {
                    let value = partition_values.get(position).copied().flatten();
                    partition::column(field, schema.mapping, value)?
                }
                None => planner.top_level(field)?,
            },
        );
    }
    if columns.is_empty() {
        return Err(Mismatch {
            column: String::new(),
            found: "nothing that is shown".to_owned(),
            expected: "at least one column outside the partition columns: a Parquet file has to \
                       have one"
                .to_owned(),
        });
    }
    Ok(columns)
}

/// As [`plan`], for a file that may have no rows: it has none under any columns, so it is presented
/// whatever its own are.
pub fn plan_or_nothing(
    footer: &Footer,
    schema: &PresentedSchema<'_>,
    partition_values: &[Option<&str>],
) -> Result<Vec<OutputNode>, Mismatch> {
    plan(footer, schema, partition_values).or_else(|mismatch| {
        let columns: Result<Vec<OutputNode>, Mismatch> = schema
            .columns()
            .map(|field| missing(field, schema.mapping, &missing::Absence::Whole))
            .collect();
        match columns {
            Ok(columns) if footer.num_rows() == 0 && !columns.is_empty() => Ok(columns),
            _ => Err(mismatch),
        }
    })
}

/// Whether one of the nodes, or one below them, has an id.
fn has_ids(nodes: &[Node]) -> bool {
    (nodes.iter()).any(|node| node.id.is_some() || has_ids(node.children()))
}

/// Matches the columns of one file.
struct Planner<'a> {
    footer: &'a Footer,
    mapping: MappingMode,
}

impl Planner<'_> {
    /// Within a type that column mapping does not reach into.
    fn unmapped(&self) -> Planner<'_> {
        Planner {
            footer: self.footer,
            mapping: MappingMode::None,
        }
    }

    fn top_level(&self, field: &StructField) -> Result<OutputNode, Mismatch> {
        match self.find(field, self.footer.columns(), "")? {
            Some(node) => self.field(field, node, Levels::default(), ""),
            None if field.nullable => missing(field, self.mapping, &missing::Absence::Whole),
            None => Err(required_but_missing(field, "")),
        }
    }

    /// A list or struct of nothing but nulls says how long it is, or that it is there. Where a file
    /// has one, it cannot be left out as a column that is not stored.
    fn refuse_hidden(
        &self,
        fields: &StructType,
        nodes: &[Node],
        parent: &str,
    ) -> Result<(), Mismatch> {
        let hidden = (fields.fields.iter()).filter(|field| field.data_type.is_void());
        for field in hidden {
            if let Some(node) = self.find(field, nodes, parent)?
                && always_null(node).is_none()
            {
                let column = column_path(parent, &field.name);
                return Err(Mismatch::of(&column, node, &field.data_type));
            }
        }
        Ok(())
    }

    /// The node of the file that holds a field, among the children of one struct.
    fn find<'n>(
        &self,
        field: &StructField,
        nodes: &'n [Node],
        parent: &str,
    ) -> Result<Option<&'n Node>, Mismatch> {
        let only = |is_it: &dyn Fn(&Node) -> bool| {
            let mut found = nodes.iter().filter(|node| is_it(node));
            let first = found.next();
            match found.next() {
                None => Ok(first),
                Some(_) => Err(Mismatch {
                    column: column_path(parent, &field.name),
                    found: "several columns of that name or id".to_owned(),
                    expected: "one".to_owned(),
                }),
            }
        };
        if self.mapping == MappingMode::Id {
            let id = field.column_id();
            return only(&|node| node.id.is_some() && node.id == id);
        }
        let wanted = field.name_in_files(self.mapping);
        if let Some(exact) = only(&|node| node.name == wanted)? {
            return Ok(Some(exact));
        }
        let folded = wanted.to_lowercase();
        only(&|node| node.name.to_lowercase() == folded)
    }

    fn field(
        &self,
        field: &StructField,
        node: &Node,
        parent: Levels,
        parent_name: &str,
    ) -> Result<OutputNode, Mismatch> {
        let column = column_path(parent_name, &field.name);
        if always_null(node).is_some() && !field.nullable {
            return Err(Mismatch::of(&column, node, "a column that is never null"));
        }
        let made = self.part(&field.data_type, node, parent, &column)?;
        Ok(OutputNode {
            id: field_id(field, self.mapping),
            ..made.named(&field.name)
        })
    }
}

fn required_but_missing(field: &StructField, parent: &str) -> Mismatch {
    Mismatch {
        column: column_path(parent, &field.name),
        found: "no such column".to_owned(),
        expected: format!("{} that is never null", field.data_type),
    }
}
