//! The value of a tree in one row.
//!
//! Operands are evaluated when Spark evaluates them: what stands behind a condition that does not
//! hold cannot fail.

use std::cell::RefCell;
use std::cmp::Ordering;

use arrow::array::{Array, ArrayRef, ListArray, MapArray, StructArray};

use super::batch;
use super::cast::{self, Failure};
use super::number;
use super::tree::{Comparison, Node, Op, Value};
use crate::schema::{DataType, PrimitiveType};

/// A row: where columns have their values, and values that are used more than once.
pub(super) struct Row<'a> {
    source: Source<'a>,
    /// The values of [`Op::With`], by its number.
    bound: RefCell<Vec<Value<'a>>>,
}

enum Source<'a> {
    /// A row of a batch: for each column its array and type.
    Batch(&'a [(ArrayRef, DataType)], usize),
    /// One value for each column.
    Values(&'a [Value<'a>]),
}

pub(super) type Evaluated<'a> = Result<Value<'a>, Failure>;

impl<'a> Row<'a> {
    pub(super) fn of_batch(columns: &'a [(ArrayRef, DataType)], row: usize) -> Row<'a> {
        Row {
            source: Source::Batch(columns, row),
            bound: RefCell::default(),
        }
    }

    pub(super) fn of_values(values: &'a [Value<'a>]) -> Row<'a> {
        Row {
            source: Source::Values(values),
            bound: RefCell::default(),
        }
    }

    pub(super) fn value(&self, column: usize) -> Evaluated<'a> {
        let value = match self.source {
            Source::Batch(columns, row) => columns
                .get(column)
                .map(|(array, data_type)| batch::read(array, row, data_type)),
            Source::Values(values) => values.get(column).map(|value| Ok(value.clone())),
        };
        value.unwrap_or_else(|| Err("a column is missing".into()))
    }

    fn bind(&self, number: usize, value: Value<'a>) {
        let mut bound = self.bound.borrow_mut();
        if bound.len() <= number {
            bound.resize(number + 1, Value::Null);
        }
        bound[number] = value;
    }
}

impl Node {
    pub(super) fn evaluate<'a>(&'a self, row: &Row<'a>) -> Evaluated<'a> {
        match &self.op {
            Op::Literal(value) | Op::Constant(value) => Ok(value.clone()),
            Op::Column(column) => row.value(*column),
            Op::With(number, value, body) => {
                let value = value.evaluate(row)?;
                row.bind(*number, value);
                body.evaluate(row)
            }
            Op::Bound(number) => {
                let bound = row.bound.borrow();
                let value = bound.get(*number).cloned();
                value.ok_or_else(|| "a value is used before it is made".into())
            }
            Op::Field(inner, name) => match inner.evaluate(row)? {
                Value::Nested(array, at) => field(array, at, name, &self.data_type),
                _ => Ok(Value::Null),
            },
            Op::Element(inner, index) => {
                let (inner, index) = (inner.evaluate(row)?, (index.evaluate(row)?, index));
                element(inner, index.0, &index.1.data_type, &self.data_type)
            }
            Op::Cast(inner) => {
                let value = inner.evaluate(row)?;
                cast::cast(value, &inner.data_type, &self.data_type)
            }
            Op::WholeAsFloat(inner) => match inner.evaluate(row)? {
                Value::Integer(value) if cast::is_float(value) => Ok(Value::Float(value as f64)),
                Value::Integer(value) => {
                    Err(format!("{value} is compared with a float, which cannot hold it").into())
                }
                other => Ok(other),
            },
            Op::Compare(comparison, left, right) => {
                let (l, r) = (left.evaluate(row)?, right.evaluate(row)?);
                compare(*comparison, &l, &r, scale(left), scale(right))
            }
            Op::And(parts) => all(parts, row, false),
            Op::Or(parts) => all(parts, row, true),
            Op::Not(inner) => Ok(match inner.evaluate(row)? {
                Value::Boolean(value) => Value::Boolean(!value),
                other => other,
            }),
            Op::IsNull(inner) => Ok(Value::Boolean(inner.evaluate(row)?.is_null())),
            Op::Is(inner, wanted) => Ok(Value::Boolean(match inner.evaluate(row)? {
                Value::Boolean(value) => value == *wanted,
                _ => false,
            })),
            Op::In(value, items) => is_in(value, items, row),
            Op::Like(text, pattern) => Ok(match text.evaluate(row)? {
                Value::Text(text) => Value::Boolean(pattern.matches(&text)),
                _ => Value::Null,
            }),
            Op::Case(branches, otherwise) => {
                for (condition, then) in branches {
                    if let Value::Boolean(true) = condition.evaluate(row)? {
                        return then.evaluate(row);
                    }
                }
                otherwise.evaluate(row)
            }
            Op::Coalesce(parts) => {
                for part in parts {
                    let value = part.evaluate(row)?;
                    if !value.is_null() {
                        return Ok(value);
                    }
                }
                Ok(Value::Null)
            }
            Op::Arithmetic(operator, left, right) => {
                let (l, r) = (left.evaluate(row)?, right.evaluate(row)?);
                if l.is_null() || r.is_null() {
                    return Ok(Value::Null);
                }
                number::arithmetic(
                    *operator,
                    &l,
                    &r,
                    (scale(left), scale(right)),
                    &self.data_type,
                )
            }
            Op::Call(function, arguments) => function.evaluate(arguments, row, &self.data_type),
        }
    }
}

/// Whether the value is one of `items`.
fn is_in<'a>(value: &'a Node, items: &'a [Node], row: &Row<'a>) -> Evaluated<'a> {
    let found = value.evaluate(row)?;
    if found.is_null() {
        return Ok(Value::Null);
    }
    let mut unknown = false;
    for item in items {
        match item.evaluate(row)? {
            Value::Null => unknown = true,
            other => {
                if order(&found, &other, scale(value), scale(item))?.is_eq() {
                    return Ok(Value::Boolean(true));
                }
            }
        }
    }
    Ok(match unknown {
        true => Value::Null,
        false => Value::Boolean(false),
    })
}

/// `AND`, decided by a false operand, or `OR`, decided by a true one.
fn all<'a>(parts: &'a [Node], row: &Row<'a>, decided_by: bool) -> Evaluated<'a> {
    let mut unknown = false;
    for part in parts {
        match part.evaluate(row)? {
            Value::Boolean(value) if value == decided_by => return Ok(Value::Boolean(value)),
            Value::Boolean(_) => {}
            _ => unknown = true,
        }
    }
    Ok(match unknown {
        true => Value::Null,
        false => Value::Boolean(!decided_by),
    })
}

fn scale(node: &Node) -> u8 {
    match node.data_type {
        DataType::Primitive(PrimitiveType::Decimal { scale, .. }) => scale,
        _ => 0,
    }
}

fn compare<'a>(
    comparison: Comparison,
    left: &Value<'_>,
    right: &Value<'_>,
    left_scale: u8,
    right_scale: u8,
) -> Evaluated<'a> {
    if left.is_null() || right.is_null() {
        return Ok(match comparison {
            Comparison::NullSafeEqual => Value::Boolean(left.is_null() && right.is_null()),
            _ => Value::Null,
        });
    }
    let order = order(left, right, left_scale, right_scale)?;
    Ok(Value::Boolean(match comparison {
        Comparison::Equal | Comparison::NullSafeEqual => order.is_eq(),
        Comparison::NotEqual => order.is_ne(),
        Comparison::Less => order.is_lt(),
        Comparison::LessOrEqual => order.is_le(),
        Comparison::Greater => order.is_gt(),
        Comparison::GreaterOrEqual => order.is_ge(),
    }))
}

/// The order of two values that are not null. NaN is equal to NaN and greater than every number;
/// zeros are equal; texts and bytes compare byte by byte.
fn order(
    left: &Value<'_>,
    right: &Value<'_>,
    left_scale: u8,
    right_scale: u8,
) -> Result<Ordering, Failure> {
    match (left, right) {
        (Value::Boolean(left), Value::Boolean(right)) => Ok(left.cmp(right)),
        (Value::Integer(left), Value::Integer(right)) => Ok(left.cmp(right)),
        (Value::Float(left), Value::Float(right)) => Ok(left
            .partial_cmp(right)
            .unwrap_or_else(|| left.is_nan().cmp(&right.is_nan()))),
        (Value::Decimal(left), Value::Decimal(right)) => {
            let scale = left_scale.max(right_scale);
            let left = number::rescale(*left, left_scale, scale);
            let right = number::rescale(*right, right_scale, scale);
            match (left, right) {
                (Some(left), Some(right)) => Ok(left.cmp(&right)),
                _ => Err("a decimal has more digits than its type".into()),
            }
        }
        (Value::Text(left), Value::Text(right)) => Ok(left.as_bytes().cmp(right.as_bytes())),
        (Value::Bytes(left), Value::Bytes(right)) => Ok(left.cmp(right)),
        _ => Err("the values are of two kinds".into()),
    }
}

/// The field of that name of the struct in row `at`.
fn field<'a>(array: &'a ArrayRef, at: usize, name: &str, data_type: &DataType) -> Evaluated<'a> {
    let array = array.as_any().downcast_ref::<StructArray>();
    match array.and_then(|array| array.column_by_name(name)) {
        Some(child) => batch::read(child, at, data_type),
        None => Err(format!("the rows have no field {name:?}").into()),
    }
}

/// An element of an array by its place, or of a map by its key.
fn element<'a>(
    inner: Value<'a>,
    index: Value<'_>,
    index_type: &DataType,
    data_type: &DataType,
) -> Evaluated<'a> {
    let Value::Nested(array, at) = inner else {
        return Ok(Value::Null);
    };
    if index.is_null() {
        return Ok(Value::Null);
    }
    if let Some(array) = array.as_any().downcast_ref::<ListArray>() {
        let Value::Integer(place) = index else {
            return Err("the index is no whole number".into());
        };
        let offsets = array.value_offsets();
        let (start, end) = (offsets[at] as usize, offsets[at + 1] as usize);
        return match usize::try_from(place) {
            Ok(place) if place < end - start => {
                batch::read(array.values(), start + place, data_type)
            }
            _ => Err(format!("there is no element {place} in an array of {}", end - start).into()),
        };
    }
    if let Some(map) = array.as_any().downcast_ref::<MapArray>() {
        let offsets = map.value_offsets();
        for place in offsets[at] as usize..offsets[at + 1] as usize {
            let key = batch::read(map.keys(), place, index_type)?;
            let scale = match index_type {
                DataType::Primitive(PrimitiveType::Decimal { scale, .. }) => *scale,
                _ => 0,
            };
            if !key.is_null() && order(&key, &index, scale, scale)? == Ordering::Equal {
                return batch::read(map.values(), place, data_type);
            }
        }
        return Ok(Value::Null);
    }
    Err("the value is no array and no map".into())
}

/// The elements of the array, or the entries of the map, in row `at`.
pub(super) fn size(array: &ArrayRef, at: usize) -> Result<usize, Failure> {
    let any = array.as_any();
    let list = any.downcast_ref::<ListArray>();
    let map = any.downcast_ref::<MapArray>();
    let offsets = match (list, map) {
        (Some(list), _) => list.value_offsets(),
        (_, Some(map)) => map.value_offsets(),
        _ => return Err("the value is no array and no map".into()),
    };
    Ok((offsets[at + 1] - offsets[at]) as usize)
}
