//! Expressions of Spark SQL over the rows of a table: CHECK constraints, column invariants,
//! generated columns, defaults, and predicates over partitions (PROTOCOL.md, "CHECK Constraints",
//! "Column Invariants", "Generated Columns", "Default Columns").
//!
//! `docs/EXPRESSIONS.md` says what is evaluated. The rest is refused, and so is every row in which
//! releases or settings of Spark would not agree: an expression has the value it has in Spark, or
//! none.

mod ast;
mod batch;
mod calendar;
mod call;
mod cast;
mod coerce;
mod constant;
mod error;
mod evaluate;
mod function;
mod like;
mod literal;
mod name;
mod number;
mod partition;
mod regular;
mod resolve;
mod syntax;
mod time;
mod token;
mod tree;
mod types;

#[cfg(test)]
mod tests;

use arrow::array::{Array, ArrayRef, RecordBatch};
use arrow::datatypes::DataType as Arrow;

pub use constant::{ScalarValue, constant};
pub use error::ExpressionError;
pub use partition::PartitionPredicate;

use crate::base::clock::TimestampMs;
use crate::schema::{DataType, StructField, StructType};
use error::quoted;
use evaluate::Row;
use resolve::{Resolver, fields_of};
use tree::{Comparison, Node, Op, Value};

/// An expression over the columns of a table.
#[derive(Debug, Clone)]
pub struct Expression {
    sql: String,
    root: Node,
    /// The top-level columns that the expression refers to.
    columns: Vec<StructField>,
}

/// A row that a constraint does not hold for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The row of the batch, counted from 0.
    pub row: usize,
    /// What the constraint is in the row instead of true.
    pub found: Found,
    /// The columns that the constraint refers to, and their values as text.
    pub values: Vec<(String, String)>,
}

/// What a constraint that does not hold is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// False.
    False,
    /// Null, which violates a constraint as false does.
    Null,
    /// Nothing certain: releases or settings of Spark differ, for the reason given.
    Undefined(String),
}

impl Expression {
    /// Reads `sql` over the columns of `schema`, whose names count regardless of case. What is not
    /// evaluated here is an error that names it; functions of the current time are such.
    pub fn parse(sql: &str, schema: &StructType) -> Result<Expression, ExpressionError> {
        let ast = syntax::parse(sql)?;
        let fields = fields_of(schema);
        let mut resolver = Resolver::new(sql, &fields, None);
        let root = resolver.resolve(&ast)?;
        Ok(Expression::made(resolver, root))
    }

    /// Reads the text of a constraint or an invariant: an [`Expression::parse`]d condition.
    pub fn parse_condition(sql: &str, schema: &StructType) -> Result<Expression, ExpressionError> {
        let ast = syntax::parse(sql)?;
        let fields = fields_of(schema);
        let mut resolver = Resolver::new(sql, &fields, None);
        let root = resolver.boolean(&ast)?;
        Ok(Expression::made(resolver, root))
    }

    /// Reads the text of a generated column (PROTOCOL.md, "Generated Columns"): an expression of
    /// the type of `column`. It refers to no generated column.
    pub fn parse_generated(
        sql: &str,
        schema: &StructType,
        column: &StructField,
    ) -> Result<Expression, ExpressionError> {
        let ast = syntax::parse(sql)?;
        let fields = fields_of(schema);
        let mut resolver = Resolver::new(sql, &fields, None);
        let root = resolver.resolve(&ast)?;
        let root = resolver.stored(root, &column.data_type, &ast)?;
        Ok(Expression::made(resolver, root))
    }

    /// Reads `sql`, the `CURRENT_DEFAULT` of a column of type `data_type`, for a commit at `now`
    /// (PROTOCOL.md, "Default Columns"). It refers to no column, and its type is one that the
    /// column holds without loss; the functions of the current time are those of `now`, in UTC.
    pub fn parse_default(
        sql: &str,
        data_type: &DataType,
        now: TimestampMs,
    ) -> Result<Expression, ExpressionError> {
        let ast = syntax::parse(sql)?;
        let mut resolver = Resolver::new(sql, &[], now.checked_mul(1_000));
        let root = resolver.resolve(&ast)?;
        let root = resolver.stored(root, data_type, &ast)?;
        Ok(Expression::made(resolver, root))
    }

    fn made(resolver: Resolver<'_>, root: Node) -> Expression {
        let columns = resolver.columns.iter();
        Expression {
            sql: resolver.sql.to_owned(),
            root,
            columns: columns
                .map(|place| resolver.fields[*place].clone())
                .collect(),
        }
    }

    /// The text of the expression.
    pub fn sql(&self) -> &str {
        &self.sql
    }

    /// The logical names of the top-level columns that the expression refers to, each once.
    pub fn columns(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|field| field.name.as_str())
    }

    /// The type of the values.
    pub fn data_type(&self) -> &DataType {
        &self.root.data_type
    }

    /// The value in every row of `batch`, which has the columns of the table by their logical
    /// names; others are passed over. Timestamps are in microseconds.
    ///
    /// The first row without a certain value is an error ([`ExpressionError::Row`]).
    pub fn evaluate(&self, batch: &RecordBatch) -> Result<ArrayRef, ExpressionError> {
        let DataType::Primitive(primitive) = self.root.data_type else {
            return Err(ExpressionError::Unsupported {
                expression: quoted(&self.sql),
                construct: format!("a result of type {}", self.root.data_type),
                reason: "results of primitive types are".to_owned(),
            });
        };
        let columns = self.bind(batch)?;
        let mut values = Vec::with_capacity(batch.num_rows());
        for row in 0..batch.num_rows() {
            let value = self.root.evaluate(&Row::of_batch(&columns, row));
            values.push(value.map_err(|problem| self.row_error(row, &problem))?);
        }
        batch::array(&values, primitive).map_err(|problem| self.row_error(0, &problem))
    }

    /// The first row of `batch` in which the expression, a condition, is anything but true.
    pub fn first_violation(
        &self,
        batch: &RecordBatch,
    ) -> Result<Option<Violation>, ExpressionError> {
        let columns = self.bind(batch)?;
        for row in 0..batch.num_rows() {
            let source = Row::of_batch(&columns, row);
            let found = match self.root.evaluate(&source) {
                Ok(Value::Boolean(true)) => continue,
                Ok(Value::Null) => Found::Null,
                Ok(_) => Found::False,
                Err(problem) => Found::Undefined(problem.into()),
            };
            return Ok(Some(self.violation(row, found, &source)));
        }
        Ok(None)
    }

    /// The first row of `batch` in which `column`, a generated column that the expression makes,
    /// is not `<=>` the value of the expression.
    pub fn first_difference(
        &self,
        batch: &RecordBatch,
        column: &StructField,
    ) -> Result<Option<Violation>, ExpressionError> {
        let mut columns = self.bind(batch)?;
        columns.push(self.bind_one(batch, column)?);
        let given = Node::new(Op::Column(columns.len() - 1), column.data_type.clone());
        let same = Node::new(
            Op::Compare(
                Comparison::NullSafeEqual,
                Box::new(given),
                Box::new(self.root.clone()),
            ),
            types::BOOLEAN,
        );
        for row in 0..batch.num_rows() {
            let source = Row::of_batch(&columns, row);
            let found = match same.evaluate(&source) {
                Ok(Value::Boolean(true)) => continue,
                Ok(_) => Found::False,
                Err(problem) => Found::Undefined(problem.into()),
            };
            let mut violation = self.violation(row, found, &source);
            let shown = shown(source.value(columns.len() - 1), &column.data_type);
            violation.values.push((column.name.clone(), shown));
            return Ok(Some(violation));
        }
        Ok(None)
    }

    fn violation(&self, row: usize, found: Found, source: &Row<'_>) -> Violation {
        let columns = self.columns.iter().enumerate();
        Violation {
            row,
            found,
            values: columns
                .map(|(index, field)| {
                    let shown = shown(source.value(index), &field.data_type);
                    (field.name.clone(), shown)
                })
                .collect(),
        }
    }

    /// The arrays of the columns.
    fn bind(&self, batch: &RecordBatch) -> Result<Vec<(ArrayRef, DataType)>, ExpressionError> {
        let columns = self.columns.iter();
        columns.map(|field| self.bind_one(batch, field)).collect()
    }

    fn bind_one(
        &self,
        batch: &RecordBatch,
        field: &StructField,
    ) -> Result<(ArrayRef, DataType), ExpressionError> {
        let refused = |found: String| ExpressionError::Batch {
            expression: quoted(&self.sql),
            column: field.name.clone(),
            found,
            expected: field.data_type.to_string(),
        };
        let array = batch.column_by_name(&field.name);
        let array = array.ok_or_else(|| refused("missing".to_owned()))?;
        let array = match array.data_type() {
            Arrow::Dictionary(_, values) => {
                arrow::compute::cast(array, values).map_err(|error| refused(error.to_string()))?
            }
            _ => array.clone(),
        };
        match batch::holds(array.data_type(), &field.data_type) {
            true => Ok((array, field.data_type.clone())),
            false => Err(refused(format!("of the type {}", array.data_type()))),
        }
    }

    fn row_error(&self, row: usize, problem: &str) -> ExpressionError {
        ExpressionError::Row {
            expression: quoted(&self.sql),
            row,
            problem: problem.to_owned(),
        }
    }
}

/// The value of a column as messages show it.
fn shown(value: evaluate::Evaluated<'_>, data_type: &DataType) -> String {
    match (value, types::primitive(data_type)) {
        (Ok(value), Some(primitive)) => value.shown(primitive),
        (Ok(value), None) if value.is_null() => "null".to_owned(),
        (Ok(_), None) => format!("a {data_type}"),
        (Err(problem), _) => problem.into(),
    }
}
