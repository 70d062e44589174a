//! Predicates over partitions (`replaceWhere`).

use std::collections::BTreeMap;

use super::error::{ExpressionError, quoted};
use super::evaluate::Row;
use super::name::listed;
use super::resolve::Resolver;
use super::syntax;
use super::tree::{Node, Value};
use crate::schema::{
    DataType, MappingMode, PartitionValue, PrimitiveType, StructField, is_null_partition_value,
};
use crate::txn::PartitionFilter;

/// A condition over the partition columns of a table.
#[derive(Debug, Clone)]
pub struct PartitionPredicate {
    sql: String,
    root: Node,
    /// Each column that the predicate refers to.
    columns: Vec<Column>,
}

#[derive(Debug, Clone)]
struct Column {
    logical: String,
    physical: String,
    primitive: PrimitiveType,
}

impl PartitionPredicate {
    /// Reads `sql`, a condition over `partition_fields`. Any other column is refused by its name.
    pub fn parse(
        sql: &str,
        partition_fields: &[&StructField],
        mapping: MappingMode,
    ) -> Result<PartitionPredicate, ExpressionError> {
        let ast = syntax::parse(sql)?;
        let mut resolver = Resolver::new(sql, partition_fields, None);
        let root = resolver.boolean(&ast).map_err(|error| match error {
            ExpressionError::UnknownColumn {
                expression, column, ..
            } => ExpressionError::NotPartitionColumn {
                expression,
                column,
                partition_columns: listed(partition_fields.iter().map(|field| field.name.as_str())),
            },
            other => other,
        })?;
        let found = resolver
            .columns
            .iter()
            .map(|place| partition_fields[*place]);
        let columns = found.map(|field| match field.data_type {
            DataType::Primitive(primitive) => Ok(Column {
                logical: field.name.clone(),
                physical: field.name_in_files(mapping).to_owned(),
                primitive,
            }),
            ref other => Err(resolver.unsupported(&ast, &format!("a partition of {other}"))),
        });
        let columns = columns.collect::<Result<Vec<Column>, ExpressionError>>()?;
        Ok(PartitionPredicate {
            sql: sql.to_owned(),
            root,
            columns,
        })
    }

    /// The text of the predicate.
    pub fn sql(&self) -> &str {
        &self.sql
    }

    /// Whether the predicate holds in the partition of `values`, which are by physical names and
    /// serialized (PROTOCOL.md, "Partition Value Serialization"); `None` for null.
    pub fn evaluate(
        &self,
        values: &BTreeMap<String, Option<String>>,
    ) -> Result<Option<bool>, ExpressionError> {
        let row = self
            .columns
            .iter()
            .map(|column| {
                let value = values.get(&column.physical);
                let refused = |value: String| ExpressionError::PartitionValue {
                    expression: quoted(&self.sql),
                    column: column.logical.clone(),
                    type_name: column.primitive.to_string(),
                    value,
                };
                let value = value
                    .ok_or_else(|| refused("missing".to_owned()))?
                    .as_deref();
                match value.filter(|_| !is_null_partition_value(value)) {
                    None => Ok(Value::Null),
                    Some(text) => typed(text, column.primitive)
                        .ok_or_else(|| refused(format!("{:?}", quoted(text)))),
                }
            })
            .collect::<Result<Vec<Value<'_>>, ExpressionError>>()?;
        match self.root.evaluate(&Row::of_values(&row)) {
            Ok(Value::Boolean(value)) => Ok(Some(value)),
            Ok(_) => Ok(None),
            Err(problem) => Err(ExpressionError::Row {
                expression: quoted(&self.sql),
                row: 0,
                problem: problem.into(),
            }),
        }
    }
}

impl PartitionFilter for PartitionPredicate {
    /// False only where the predicate certainly is false or null.
    fn may_match(&self, values: &BTreeMap<String, Option<String>>) -> bool {
        !matches!(self.evaluate(values), Ok(None | Some(false)))
    }
}

/// A partition value that is not null.
fn typed(text: &str, primitive: PrimitiveType) -> Option<Value<'static>> {
    Some(match PartitionValue::parse(text, primitive)? {
        PartitionValue::Text(text) if primitive == PrimitiveType::Binary => {
            Value::Bytes(text.into_bytes().into())
        }
        PartitionValue::Text(text) => Value::Text(text.into()),
        PartitionValue::Boolean(value) => Value::Boolean(value),
        PartitionValue::Integer(value) | PartitionValue::Micros(value) => Value::Integer(value),
        PartitionValue::Days(days) => Value::Integer(days.into()),
        PartitionValue::Decimal(unscaled) => Value::Decimal(unscaled),
        PartitionValue::Float(value) => Value::Float(value.into()),
        PartitionValue::Double(value) => Value::Float(value),
    })
}
