//! Operands brought to one type, as both modes of Spark bring them.

use super::ast::Ast;
use super::cast;
use super::resolve::{Resolved, Resolver};
use super::tree::{Arithmetic, Node, Op, Value};
use super::types::{
    DATE, DOUBLE, Decimal, FLOAT, LONG, STRING, TIMESTAMP, TIMESTAMP_NTZ, VOID, adjusted, decimal,
    decimal_for, is_number, is_whole, primitive, wider_decimal, wider_whole,
};
use crate::schema::{DataType, PrimitiveType};

use PrimitiveType as P;

/// Two operands that compare as they are: of one type, or whole numbers, or decimals.
pub(super) struct Comparable {
    pub(super) left: Node,
    pub(super) right: Node,
}

impl Resolver<'_> {
    pub(super) fn comparable(&self, left: Node, right: Node, ast: &Ast) -> Resolved<Comparable> {
        let types = (left.data_type.clone(), right.data_type.clone());
        let both = |to: &DataType| -> Resolved<Comparable> {
            Ok(Comparable {
                left: self.cast(left.clone(), to, ast)?,
                right: self.cast(right.clone(), to, ast)?,
            })
        };
        let (Some(l), Some(r)) = (primitive(&types.0), primitive(&types.1)) else {
            self.check_comparable(&types.0, ast)?;
            self.check_comparable(&types.1, ast)?;
            return Err(self.unlike(&types.0, &types.1, ast));
        };
        match (l, r) {
            _ if l == r => Ok(Comparable { left, right }),
            (P::Void, _) => both(&types.1),
            (_, P::Void) => both(&types.0),
            _ if is_whole(l) && is_whole(r) => Ok(Comparable { left, right }),
            (P::Float, _) if is_whole(r) => Ok(Comparable {
                right: whole_as_float(right),
                left: self.cast(left, &DOUBLE, ast)?,
            }),
            (_, P::Float) if is_whole(l) => Ok(Comparable {
                left: whole_as_float(left),
                right: self.cast(right, &DOUBLE, ast)?,
            }),
            (P::Float | P::Double, _) | (_, P::Float | P::Double)
                if is_number(l) && is_number(r) =>
            {
                both(&DOUBLE)
            }
            _ if is_number(l) && is_number(r) => {
                let (Some(lp), Some(rp)) = (
                    self.operand_decimal(&left, &right),
                    self.operand_decimal(&right, &left),
                ) else {
                    return Err(self.unlike(&types.0, &types.1, ast));
                };
                if wider_decimal(lp, rp).is_none() {
                    return Err(self.unsupported(
                        ast,
                        &format!(
                            "{} and {} together take more than 38 digits",
                            types.0, types.1
                        ),
                    ));
                }
                Ok(Comparable {
                    left: self.cast(left, &decimal(lp), ast)?,
                    right: self.cast(right, &decimal(rp), ast)?,
                })
            }
            // Releases of Spark differ on decimals of whole numbers, modes of Spark on floats.
            (P::String, P::Float | P::Binary | P::Decimal { scale: 0, .. })
            | (P::Float | P::Binary | P::Decimal { scale: 0, .. }, P::String) => {
                Err(self.unlike(&types.0, &types.1, ast))
            }
            (P::String, P::Decimal { .. }) | (P::Decimal { .. }, P::String) => both(&DOUBLE),
            (P::String, _) => both(&types.1),
            (_, P::String) => both(&types.0),
            (P::Date, P::Timestamp | P::TimestampNtz) => both(&types.1),
            (P::Timestamp | P::TimestampNtz, P::Date) => both(&types.0),
            (P::Timestamp, P::TimestampNtz) | (P::TimestampNtz, P::Timestamp) => both(&TIMESTAMP),
            _ => Err(self.unlike(&types.0, &types.1, ast)),
        }
    }

    /// Refuses types whose values are not compared.
    pub(super) fn check_comparable(&self, data_type: &DataType, ast: &Ast) -> Resolved<()> {
        match primitive(data_type) {
            Some(_) => Ok(()),
            None => Err(self.unsupported(
                ast,
                &format!("a comparison of {data_type} is not, one of its parts is"),
            )),
        }
    }

    /// The type that every one of `nodes` is brought to.
    pub(super) fn common_type<'n>(
        &self,
        nodes: impl Iterator<Item = &'n Node>,
        ast: &Ast,
    ) -> Resolved<DataType> {
        let mut common = VOID;
        for node in nodes {
            common = wider(&common, &node.data_type)
                .ok_or_else(|| self.unlike(&common, &node.data_type, ast))?;
        }
        Ok(common)
    }

    /// A string of a list as a value of the type `to`, where it is written as the value is: then
    /// it does not matter whether the texts are compared or the values.
    pub(super) fn text_as(&self, node: Node, to: &DataType, ast: &Ast) -> Resolved {
        let Op::Literal(Value::Text(text)) = &node.op else {
            return Ok(node);
        };
        let fits = match primitive(to) {
            Some(P::Date | P::Timestamp | P::TimestampNtz | P::Boolean) => true,
            Some(primitive) => is_whole(primitive),
            None => false,
        };
        if !fits {
            return Ok(node);
        }
        let value = self.cast(node.clone(), to, ast)?;
        let written = self.cast(value.clone(), &STRING, ast)?;
        match written.as_literal() {
            Some(Value::Text(written)) if written == text => Ok(value),
            _ => Err(self.mismatch(
                ast,
                format!("{text:?}"),
                format!("a {to} written as Spark prints it"),
            )),
        }
    }

    pub(super) fn negate(&self, node: Node, ast: &Ast) -> Resolved {
        let zero = match primitive(&node.data_type) {
            // Zero minus zero is zero, and the negative of zero is not.
            Some(P::Float | P::Double) => {
                let data_type = node.data_type.clone();
                let minus = Node::literal(Value::Float(-1.0), data_type.clone());
                let op = Op::Arithmetic(Arithmetic::Multiply, minus.into(), node.into());
                return Ok(Node::new(op, data_type));
            }
            Some(P::Decimal { .. }) => Value::Decimal(0),
            Some(primitive) if is_whole(primitive) => Value::Integer(0),
            _ => {
                let found = format!("a value of type {}", node.data_type);
                return Err(self.mismatch(ast, found, "a number".to_owned()));
            }
        };
        let data_type = node.data_type.clone();
        let zero = Node::literal(zero, data_type.clone());
        let op = Op::Arithmetic(Arithmetic::Subtract, zero.into(), node.into());
        Ok(Node::new(op, data_type))
    }

    pub(super) fn arithmetic(
        &self,
        operator: Arithmetic,
        left: Node,
        right: Node,
        ast: &Ast,
    ) -> Resolved {
        let types = (left.data_type.clone(), right.data_type.clone());
        let unlike = || self.unlike(&types.0, &types.1, ast);
        let (Some(mut l), Some(mut r)) = (primitive(&types.0), primitive(&types.1)) else {
            return Err(unlike());
        };
        if let Some(moved) = self.moved_date(operator, &left, &right) {
            return Ok(moved);
        }
        let (mut left, mut right) = (left, right);
        // A null takes the type of what it is put together with.
        if l == P::Void && r != P::Void {
            left = self.cast(left, &types.1, ast)?;
            l = r;
        } else if r == P::Void && l != P::Void {
            right = self.cast(right, &types.0, ast)?;
            r = l;
        }
        if !is_number(l) || !is_number(r) {
            return Err(unlike());
        }
        let node = |left: Node, right: Node, data_type| {
            Node::new(
                Op::Arithmetic(operator, left.into(), right.into()),
                data_type,
            )
        };
        let is_float = |primitive| matches!(primitive, P::Float | P::Double);
        if operator == Arithmetic::WholeDivide {
            return match is_whole(l) && is_whole(r) {
                true => Ok(node(left, right, LONG)),
                false => Err(unlike()),
            };
        }
        if is_float(l) || is_float(r) {
            if operator != Arithmetic::Divide {
                if l == P::Float && r == P::Float {
                    return Ok(node(left, right, FLOAT));
                }
                // The modes of Spark differ: float in one, double in the other.
                if (l == P::Float && is_whole(r)) || (r == P::Float && is_whole(l)) {
                    return Err(unlike());
                }
            }
            let left = self.cast(left, &DOUBLE, ast)?;
            return Ok(node(left, self.cast(right, &DOUBLE, ast)?, DOUBLE));
        }
        if is_whole(l) && is_whole(r) {
            if operator == Arithmetic::Divide {
                let left = self.cast(left, &DOUBLE, ast)?;
                return Ok(node(left, self.cast(right, &DOUBLE, ast)?, DOUBLE));
            }
            let wider = DataType::Primitive(wider_whole(l, r));
            return Ok(node(left, right, wider));
        }
        let (Some(l), Some(r)) = (
            self.operand_decimal(&left, &right),
            self.operand_decimal(&right, &left),
        ) else {
            return Err(unlike());
        };
        let left = self.cast(left, &decimal(l), ast)?;
        let right = self.cast(right, &decimal(r), ast)?;
        Ok(node(left, right, decimal(result_decimal(operator, l, r))))
    }

    /// A date some days later or earlier.
    fn moved_date(&self, operator: Arithmetic, left: &Node, right: &Node) -> Option<Node> {
        let is_days = |node: &Node| {
            matches!(
                primitive(&node.data_type),
                Some(P::Byte | P::Short | P::Integer)
            )
        };
        let (date, days) = match operator {
            Arithmetic::Add if left.data_type == DATE && is_days(right) => (left, right),
            Arithmetic::Add if right.data_type == DATE && is_days(left) => (right, left),
            Arithmetic::Subtract if left.data_type == DATE && is_days(right) => (left, right),
            _ => return None,
        };
        let op = Op::Arithmetic(operator, date.clone().into(), days.clone().into());
        Some(Node::new(op, DATE))
    }

    /// The decimal that `node` counts as next to `other`. A whole number as written counts with
    /// the digits it has, next to a decimal.
    fn operand_decimal(&self, node: &Node, other: &Node) -> Option<Decimal> {
        let own = decimal_for(primitive(&node.data_type)?)?;
        match (node.as_written_whole(), primitive(&other.data_type)) {
            (Some(value), Some(P::Decimal { .. })) => {
                Some((value.unsigned_abs().to_string().len() as u8, 0))
            }
            _ => Some(own),
        }
    }

    /// `node` as a value that is stored in a column of type `to`: what Spark's `canUpCast` lets
    /// through, and whole numbers as written that fit.
    pub(super) fn stored(&self, node: Node, to: &DataType, ast: &Ast) -> Resolved {
        let from = node.data_type.clone();
        let fits = match (primitive(&from), primitive(to)) {
            _ if from == *to => true,
            (Some(P::Void), _) => true,
            (Some(l), Some(r)) => {
                let is_written = node.as_written_whole().is_some();
                (is_whole(l) && is_whole(r) && (is_written || wider_whole(r, l) == r))
                    || (is_whole(l) && matches!(r, P::Float | P::Double))
                    || (l == P::Float && r == P::Double)
                    || (r == P::String && cast::is_supported(&from, to))
                    || (l == P::Date && matches!(r, P::Timestamp | P::TimestampNtz))
                    || matches!(
                        (l, r),
                        (P::Timestamp, P::TimestampNtz) | (P::TimestampNtz, P::Timestamp)
                    )
                    || match (decimal_for(l), r) {
                        (Some(_), P::Decimal { .. }) if is_written => true,
                        (Some(l), P::Decimal { precision, scale }) => {
                            wider_decimal(l, (precision, scale)) == Some((precision, scale))
                        }
                        _ => false,
                    }
            }
            _ => false,
        };
        match fits {
            true => self.cast(node, to, ast),
            false => Err(self.mismatch(
                ast,
                format!("a value of type {from}"),
                format!("a value that a column of type {to} holds"),
            )),
        }
    }

    fn unlike(&self, left: &DataType, right: &DataType, ast: &Ast) -> super::ExpressionError {
        self.mismatch(
            ast,
            format!("{left} and {right}"),
            "two types that every mode of Spark puts together in the same way".to_owned(),
        )
    }
}

/// A whole number next to a float: one mode of Spark compares floats, the other doubles.
fn whole_as_float(node: Node) -> Node {
    match &node.op {
        Op::Literal(Value::Integer(value)) if cast::is_float(*value) => {
            Node::literal(Value::Float(*value as f64), DOUBLE)
        }
        _ => Node::new(Op::WholeAsFloat(node.into()), DOUBLE),
    }
}

/// The type of both branches of a choice. Nothing is wider than a string and something else.
fn wider(left: &DataType, right: &DataType) -> Option<DataType> {
    if left == right {
        return Some(left.clone());
    }
    let (l, r) = match (primitive(left), primitive(right)) {
        (Some(P::Void), _) => return Some(right.clone()),
        (_, Some(P::Void)) => return Some(left.clone()),
        (l, r) => (l?, r?),
    };
    match (l, r) {
        _ if is_whole(l) && is_whole(r) => Some(DataType::Primitive(wider_whole(l, r))),
        (P::Float, _) if is_whole(r) => None,
        (_, P::Float) if is_whole(l) => None,
        (P::Float | P::Double, _) | (_, P::Float | P::Double) if is_number(l) && is_number(r) => {
            Some(DOUBLE)
        }
        _ if is_number(l) && is_number(r) => {
            wider_decimal(decimal_for(l)?, decimal_for(r)?).map(decimal)
        }
        (P::Date, P::Timestamp) | (P::Timestamp, P::Date) => Some(TIMESTAMP),
        (P::Date, P::TimestampNtz) | (P::TimestampNtz, P::Date) => Some(TIMESTAMP_NTZ),
        (P::Timestamp, P::TimestampNtz) | (P::TimestampNtz, P::Timestamp) => Some(TIMESTAMP),
        _ => None,
    }
}

/// The type of the result of decimals (Spark's `DecimalPrecision`, with loss of precision allowed,
/// as it is by default).
fn result_decimal(operator: Arithmetic, (p1, s1): Decimal, (p2, s2): Decimal) -> Decimal {
    let [p1, s1, p2, s2] = [p1, s1, p2, s2].map(u32::from);
    let (w1, w2) = (p1 - s1, p2 - s2);
    match operator {
        Arithmetic::Add | Arithmetic::Subtract => {
            let scale = s1.max(s2);
            adjusted(w1.max(w2) + scale + 1, scale)
        }
        Arithmetic::Multiply => adjusted(p1 + p2 + 1, s1 + s2),
        Arithmetic::Divide | Arithmetic::WholeDivide => {
            let scale = (s1 + p2 + 1).max(6);
            adjusted(w1 + s2 + scale, scale)
        }
        Arithmetic::Remainder => {
            let scale = s1.max(s2);
            adjusted(w1.min(w2) + scale, scale)
        }
    }
}
