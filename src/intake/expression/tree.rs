//! What is evaluated: every name found, every type known, every conversion explicit.

use std::borrow::Cow;

use arrow::array::ArrayRef;

use super::function::Function;
use super::like::Pattern;
use crate::schema::DataType;

/// One value of one row.
#[derive(Debug, Clone)]
pub(super) enum Value<'a> {
    Null,
    Boolean(bool),
    /// A whole number, the days of a date, the microseconds of a timestamp.
    Integer(i64),
    /// A float is kept as the double of the same value.
    Float(f64),
    /// The digits without the point, which the type places.
    Decimal(i128),
    Text(Cow<'a, str>),
    Bytes(Cow<'a, [u8]>),
    /// A struct, an array or a map: where it stands, and its row there. Never null.
    Nested(&'a ArrayRef, usize),
}

/// A part of an expression and the type of its values.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) op: Op,
    pub(super) data_type: DataType,
}

/// How a value is made.
#[derive(Debug, Clone)]
pub(super) enum Op {
    /// A value as it is written. Of a number that counts with the digits it has.
    Literal(Value<'static>),
    /// A value that a conversion of a literal made.
    Constant(Value<'static>),
    /// The column at that place of [`super::Expression::columns`].
    Column(usize),
    /// The second node, in which [`Op::Bound`] of that number is the value of the first.
    With(usize, Box<Node>, Box<Node>),
    Bound(usize),
    /// The field of that name.
    Field(Box<Node>, String),
    /// An element of an array by its place from 0, or of a map by its key.
    Element(Box<Node>, Box<Node>),
    /// The operand, converted to the type of the node.
    Cast(Box<Node>),
    /// A whole number as a double; an error where a float would not hold it.
    WholeAsFloat(Box<Node>),
    /// Two operands of one kind; decimals may differ in their types.
    Compare(Comparison, Box<Node>, Box<Node>),
    And(Vec<Node>),
    Or(Vec<Node>),
    Not(Box<Node>),
    IsNull(Box<Node>),
    Is(Box<Node>, bool),
    In(Box<Node>, Vec<Node>),
    Like(Box<Node>, Pattern),
    /// The first branch whose condition is true, or the last node.
    Case(Vec<(Node, Node)>, Box<Node>),
    Coalesce(Vec<Node>),
    Arithmetic(Arithmetic, Box<Node>, Box<Node>),
    Call(Function, Vec<Node>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    /// Null is equal to null and to nothing else.
    NullSafeEqual,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    /// `DIV`
    WholeDivide,
}

impl Value<'_> {
    pub(super) fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }
}

impl Node {
    pub(super) fn literal(value: Value<'static>, data_type: DataType) -> Node {
        Node {
            op: Op::Literal(value),
            data_type,
        }
    }

    pub(super) fn new(op: Op, data_type: DataType) -> Node {
        Node { op, data_type }
    }

    /// The value, if it is the same in every row and known already.
    pub(super) fn as_literal(&self) -> Option<&Value<'static>> {
        match &self.op {
            Op::Literal(value) | Op::Constant(value) => Some(value),
            _ => None,
        }
    }

    /// The whole number, if it is written as one.
    pub(super) fn as_written_whole(&self) -> Option<i64> {
        match &self.op {
            Op::Literal(Value::Integer(value)) => Some(*value),
            _ => None,
        }
    }
}
