//! Values that do not turn on rows: column defaults (PROTOCOL.md, "Default Columns").

use std::fmt;

use arrow::array::ArrayRef;

use super::batch;
use super::cast::owned;
use super::evaluate::Row;
use super::tree::Value;
use super::types::primitive;
use super::{Expression, ExpressionError};
use crate::base::clock::TimestampMs;
use crate::schema::DataType;

/// One value of a type.
#[derive(Debug, Clone)]
pub struct ScalarValue {
    value: Value<'static>,
    data_type: DataType,
}

/// The value of `sql`, the `CURRENT_DEFAULT` of a column of type `data_type`, in a commit at `now`:
/// what [`Expression::parse_default`] reads.
pub fn constant(
    sql: &str,
    data_type: &DataType,
    now: TimestampMs,
) -> Result<ScalarValue, ExpressionError> {
    let expression = Expression::parse_default(sql, data_type, now)?;
    let value = expression.root.evaluate(&Row::of_values(&[]));
    let value = value.map_err(|problem| expression.row_error(0, &problem))?;
    Ok(ScalarValue {
        value: owned(value),
        data_type: data_type.clone(),
    })
}

impl ScalarValue {
    /// The type.
    pub fn data_type(&self) -> &DataType {
        &self.data_type
    }

    /// Whether the value is null.
    pub fn is_null(&self) -> bool {
        self.value.is_null()
    }

    /// An array of `rows` times the value. `None` for types with parts, whose values here are null
    /// only, and for more text than one array holds.
    pub fn array(&self, rows: usize) -> Option<ArrayRef> {
        let values = vec![self.value.clone(); rows];
        batch::array(&values, primitive(&self.data_type)?).ok()
    }
}

/// The value as messages show it.
impl fmt::Display for ScalarValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match primitive(&self.data_type) {
            Some(primitive) => f.write_str(&self.value.shown(primitive)),
            None => f.write_str("null"),
        }
    }
}
