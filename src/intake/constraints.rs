//! What the table says of rows in SQL: CHECK constraints, invariants, generated columns, defaults
//! (PROTOCOL.md, "CHECK Constraints", "Column Invariants", "Generated Columns", "Default Columns").

use std::collections::BTreeSet;

use arrow::array::{ArrayRef, RecordBatch, new_null_array};

use super::convert::{Names, arrow_type};
use super::expression::{Expression, ExpressionError, Found, ScalarValue, Violation, constant};
use super::{Demand, DemandKind, IntakeError, Target};
use crate::protocol;
use crate::schema::{StructField, StructType};

/// The expressions that bind the rows of one file.
pub(super) struct Rules<'a> {
    schema: &'a StructType,
    /// CHECK constraints and invariants.
    conditions: Vec<Rule>,
    /// Generated columns that the file has.
    generated: Vec<(&'a StructField, Rule)>,
    /// Columns that the file lacks and that get their default.
    defaults: Vec<(usize, Rule<ScalarValue>)>,
    /// Generated columns that the file lacks.
    made: Vec<(usize, Rule)>,
}

/// An expression and what it is for, for messages.
struct Rule<E = Expression> {
    demand: Demand,
    expression: E,
}

impl<'a> Rules<'a> {
    /// Reads the expressions that matter for a file that lacks the columns that `is_missing` takes.
    /// A default that is not needed need not be understood.
    pub(super) fn compile(
        target: &Target<'a>,
        is_missing: &dyn Fn(usize) -> bool,
    ) -> Result<Rules<'a>, IntakeError> {
        let schema = &target.shape.schema;
        let mut rules = Rules {
            schema,
            conditions: Vec::new(),
            generated: Vec::new(),
            defaults: Vec::new(),
            made: Vec::new(),
        };
        for (what, list) in [
            (DemandKind::Check, &target.rules.check_constraints),
            (DemandKind::Invariant, &target.rules.invariants),
        ] {
            for rule in list {
                let expression = Expression::parse_condition(&rule.sql, schema);
                let compiled = compiled(what, rule, expression)?;
                rules.conditions.push(compiled.with_columns());
            }
        }
        let column = |rule: &protocol::Rule| {
            let index = schema
                .fields
                .iter()
                .position(|field| field.name == rule.name)?;
            Some((index, &schema.fields[index]))
        };
        for rule in &target.rules.defaults {
            if let Some((index, field)) = column(rule).filter(|(index, _)| is_missing(*index)) {
                let value = constant(&rule.sql, &field.data_type, target.now);
                let rule = compiled(DemandKind::Default, rule, value)?;
                rules.defaults.push((index, rule));
            }
        }
        for rule in &target.rules.generated {
            let Some((index, field)) = column(rule) else {
                continue;
            };
            let expression = Expression::parse_generated(&rule.sql, schema, field);
            let rule = compiled(DemandKind::Generated, rule, expression)?;
            let rule = rule.with_columns();
            match is_missing(index) {
                true => rules.made.push((index, rule)),
                false => rules.generated.push((field, rule)),
            }
        }
        Ok(rules)
    }

    /// Whether a column that the file lacks is made.
    pub(super) fn makes(&self, index: usize) -> bool {
        let defaults = self.defaults.iter().map(|(index, _)| *index);
        let made = self.made.iter().map(|(index, _)| *index);
        defaults.chain(made).any(|made| made == index)
    }

    /// The columns that have to be read to see whether rows keep to the rules.
    pub(super) fn columns(&self) -> BTreeSet<usize> {
        let conditions = self.conditions.iter().map(|rule| (None, rule));
        let generated = self.generated.iter();
        let generated = generated.map(|(field, rule)| (Some(field.name.as_str()), rule));
        conditions
            .chain(generated)
            .flat_map(|(own, rule)| own.into_iter().chain(rule.expression.columns()))
            .filter_map(|name| {
                self.schema
                    .fields
                    .iter()
                    .position(|field| field.name == name)
            })
            .collect()
    }

    /// Makes the columns that the file lacks, in `columns`, which has an array for each column of
    /// the table that is read.
    pub(super) fn make(
        &self,
        columns: &mut [Option<ArrayRef>],
        rows: usize,
        file: &str,
        first_row: u64,
    ) -> Result<(), IntakeError> {
        for (index, rule) in &self.defaults {
            if columns.get(*index).is_some_and(Option::is_some) {
                columns[*index] = Some(rule.array(rows)?);
            }
        }
        for (index, rule) in &self.made {
            if columns.get(*index).is_some_and(Option::is_some) {
                let batch = self.batch(columns, rows, file)?;
                let made = rule.expression.evaluate(&batch);
                columns[*index] = Some(made.map_err(|error| rule.failed(&error, file, first_row))?);
            }
        }
        Ok(())
    }

    /// Checks all rows of a batch.
    pub(super) fn check(
        &self,
        columns: &[Option<ArrayRef>],
        rows: usize,
        file: &str,
        first_row: u64,
    ) -> Result<(), IntakeError> {
        if self.conditions.is_empty() && self.generated.is_empty() {
            return Ok(());
        }
        let batch = self.batch(columns, rows, file)?;
        for rule in &self.conditions {
            let found = rule.expression.first_violation(&batch);
            rule.broken(found, file, first_row)?;
        }
        for (field, rule) in &self.generated {
            let found = rule.expression.first_difference(&batch, field);
            rule.broken(found, file, first_row)?;
        }
        Ok(())
    }

    fn batch(
        &self,
        columns: &[Option<ArrayRef>],
        rows: usize,
        file: &str,
    ) -> Result<RecordBatch, IntakeError> {
        let fields = self.schema.fields.iter().zip(columns);
        let (fields, arrays): (Vec<arrow::datatypes::Field>, Vec<ArrayRef>) = fields
            .filter_map(|(field, array)| {
                let array = array.clone()?;
                let made = super::convert::field(field, Names::Logical);
                Some((made, array))
            })
            .unzip();
        let options = arrow::array::RecordBatchOptions::new().with_row_count(Some(rows));
        let schema = std::sync::Arc::new(arrow::datatypes::Schema::new(fields));
        RecordBatch::try_new_with_options(schema, arrays, &options).map_err(|error| {
            IntakeError::Damaged {
                file: file.to_owned(),
                problem: error.to_string(),
            }
        })
    }
}

fn compiled<E>(
    kind: DemandKind,
    rule: &protocol::Rule,
    expression: Result<E, ExpressionError>,
) -> Result<Rule<E>, IntakeError> {
    let demand = Demand {
        kind,
        name: rule.name.clone(),
        expression: rule.sql.clone(),
        columns: Vec::new(),
    };
    match expression {
        Ok(expression) => Ok(Rule { demand, expression }),
        Err(error) => Err(IntakeError::Expression {
            demand: Box::new(demand),
            problem: error.to_string(),
        }),
    }
}

impl Rule<ScalarValue> {
    /// The default in `rows` rows.
    fn array(&self, rows: usize) -> Result<ArrayRef, IntakeError> {
        let value = &self.expression;
        if value.is_null() {
            let arrow_type = arrow_type(value.data_type(), Names::Logical);
            return Ok(new_null_array(&arrow_type, rows));
        }
        value.array(rows).ok_or_else(|| IntakeError::Expression {
            demand: Box::new(self.demand.clone()),
            problem: format!("{rows} rows of it are more than fit into memory"),
        })
    }
}

impl Rule {
    fn with_columns(mut self) -> Rule {
        self.demand.columns = self.expression.columns().map(str::to_owned).collect();
        self
    }

    fn broken(
        &self,
        found: Result<Option<Violation>, ExpressionError>,
        file: &str,
        first_row: u64,
    ) -> Result<(), IntakeError> {
        let violation = found.map_err(|error| self.failed(&error, file, first_row))?;
        let Some(violation) = violation else {
            return Ok(());
        };
        let values: Vec<String> = violation
            .values
            .iter()
            .map(|(column, value)| format!("{column} = {value}"))
            .collect();
        let found = match violation.found {
            Found::False => "false".to_owned(),
            Found::Null => "null".to_owned(),
            Found::Undefined(problem) => format!("not certain ({problem})"),
        };
        Err(IntakeError::Constraint {
            file: file.to_owned(),
            demand: Box::new(self.demand.clone()),
            row: first_row + violation.row as u64,
            found: found.into(),
            values: match values.is_empty() {
                true => "it reads no columns".into(),
                false => values.join(", ").into(),
            },
        })
    }

    fn failed(&self, error: &ExpressionError, file: &str, first_row: u64) -> IntakeError {
        match error {
            ExpressionError::Row { row, problem, .. } => IntakeError::Constraint {
                file: file.to_owned(),
                demand: Box::new(self.demand.clone()),
                row: first_row + *row as u64,
                found: "not certain".into(),
                values: problem.as_str().into(),
            },
            other => IntakeError::Expression {
                demand: Box::new(self.demand.clone()),
                problem: other.to_string(),
            },
        }
    }
}
