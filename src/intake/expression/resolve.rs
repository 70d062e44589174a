//! From what was written to what is evaluated: names, types, conversions.
//!
//! Spark evaluates in one of two modes, ANSI or not, which agree on most expressions. What they do
//! not agree on is refused here, or fails in the rows that show the difference.

use std::collections::HashMap;

use super::ast::{Ast, AstKind, TypeName};
use super::cast;
use super::coerce::Comparable;
use super::error::{ExpressionError, quoted};
use super::like::Pattern;
use super::literal::text_literal;
use super::tree::{Arithmetic, Comparison, Node, Op, Value};
use super::types::{BOOLEAN, MAX_PRECISION, STRING, VOID};
use crate::schema::{DataType, PrimitiveType, StructField, StructType};

pub(super) type Resolved<T = Node> = Result<T, ExpressionError>;

pub(super) struct Resolver<'a> {
    pub(super) sql: &'a str,
    pub(super) fields: &'a [&'a StructField],
    /// The places in `fields` of each name in lower case.
    pub(super) places: HashMap<String, Vec<usize>>,
    /// The places in `fields` of the columns met so far.
    pub(super) columns: Vec<usize>,
    /// Microseconds since the epoch, where the current time has a value.
    pub(super) now: Option<i64>,
    /// Fields of structs that have been looked at or copied.
    pub(super) parts: usize,
    /// How many values have been bound.
    bound: usize,
    /// How many regular expressions have been compiled.
    pub(super) regexes: usize,
}

impl<'a> Resolver<'a> {
    pub(super) fn new(sql: &'a str, fields: &'a [&'a StructField], now: Option<i64>) -> Self {
        let mut places: HashMap<String, Vec<usize>> = HashMap::with_capacity(fields.len());
        for (place, field) in fields.iter().enumerate() {
            places
                .entry(field.name.to_lowercase())
                .or_default()
                .push(place);
        }
        Resolver {
            sql,
            fields,
            places,
            parts: 0,
            columns: Vec::new(),
            now,
            bound: 0,
            regexes: 0,
        }
    }

    /// The node of `ast`. The work is in functions of their own: this one is on the stack once for
    /// every level.
    pub(super) fn resolve(&mut self, ast: &Ast) -> Resolved {
        match &ast.kind {
            AstKind::Null => Ok(Node::literal(Value::Null, VOID)),
            AstKind::Boolean(value) => Ok(Node::literal(Value::Boolean(*value), BOOLEAN)),
            AstKind::Text(text) => Ok(text_literal(text)),
            AstKind::Number(number) => self.number(number, ast),
            AstKind::Typed(name, text) => self.typed(name, text, ast),
            AstKind::Name(parts) => self.name(parts, ast),
            AstKind::Field(inner, name) => self.field_of(inner, name, ast),
            AstKind::Element(inner, index) => self.element(inner, index, ast),
            AstKind::Cast(inner, type_name) => self.named_cast(inner, type_name, ast),
            AstKind::And(parts) => self.joined(parts, Op::And),
            AstKind::Or(parts) => self.joined(parts, Op::Or),
            AstKind::Not(inner) => self.condition(inner, Op::Not),
            AstKind::Is(inner, true) => self.condition(inner, |inner| Op::Is(inner, true)),
            AstKind::Is(inner, false) => self.condition(inner, |inner| Op::Is(inner, false)),
            AstKind::IsNull(inner) => self.is_null(inner),
            AstKind::Negate(inner) => self.negated(inner, ast),
            AstKind::Binary(symbol, left, right) => self.operator(symbol, left, right, ast),
            AstKind::Between(value, low, high) => self.between(value, low, high, ast),
            AstKind::In(value, list) => self.in_list(value, list, ast),
            AstKind::Like(text, pattern, escape) => self.like(text, pattern, *escape, ast),
            AstKind::RLike(text, pattern) => self.rlike(text, pattern, ast),
            AstKind::Case(operand, branches, otherwise) => {
                self.case(operand.as_deref(), branches, otherwise.as_deref(), ast)
            }
            AstKind::Call(name, arguments) => self.call(name, arguments, ast),
        }
    }

    fn joined(&mut self, parts: &[Ast], op: fn(Vec<Node>) -> Op) -> Resolved {
        let parts = parts.iter().map(|part| self.boolean(part));
        let parts = parts.collect::<Resolved<Vec<Node>>>()?;
        Ok(Node::new(op(parts), BOOLEAN))
    }

    fn condition(&mut self, inner: &Ast, op: fn(Box<Node>) -> Op) -> Resolved {
        Ok(Node::new(op(self.boolean(inner)?.into()), BOOLEAN))
    }

    pub(super) fn is_null(&mut self, inner: &Ast) -> Resolved {
        Ok(Node::new(Op::IsNull(self.resolve(inner)?.into()), BOOLEAN))
    }

    fn negated(&mut self, inner: &Ast, ast: &Ast) -> Resolved {
        let inner = self.resolve(inner)?;
        self.negate(inner, ast)
    }

    fn named_cast(&mut self, inner: &Ast, type_name: &TypeName, ast: &Ast) -> Resolved {
        let inner = self.resolve(inner)?;
        let to = self.named_type(type_name, ast)?;
        self.cast(inner, &to, ast)
    }

    fn operator(&mut self, symbol: &str, left: &Ast, right: &Ast, ast: &Ast) -> Resolved {
        let (left, right) = (self.resolve(left)?, self.resolve(right)?);
        self.binary(symbol, left, right, ast)
    }

    fn field_of(&mut self, inner: &Ast, name: &str, ast: &Ast) -> Resolved {
        let inner = self.resolve(inner)?;
        self.field(inner, name, ast)
    }

    fn between(&mut self, value: &Ast, low: &Ast, high: &Ast, ast: &Ast) -> Resolved {
        let (low, high) = (self.resolve(low)?, self.resolve(high)?);
        let value = self.resolve(value)?;
        self.with(value, |resolver, value| {
            let low = resolver.compare(Comparison::GreaterOrEqual, value.clone(), low, ast)?;
            let high = resolver.compare(Comparison::LessOrEqual, value, high, ast)?;
            Ok(Node::new(Op::And(vec![low, high]), BOOLEAN))
        })
    }

    fn like(&mut self, text: &Ast, pattern: &Ast, escape: Option<char>, ast: &Ast) -> Resolved {
        let text = self.text(text, "LIKE")?;
        let made = match self.resolve(pattern)?.op {
            Op::Literal(Value::Text(made)) => made,
            Op::Literal(Value::Null) => return Ok(Node::literal(Value::Null, BOOLEAN)),
            _ => {
                let reason = "a pattern that is not a string as written is not";
                return Err(self.unsupported(pattern, reason));
            }
        };
        let pattern = Pattern::new(&made, escape.unwrap_or('\\'));
        let pattern = pattern.map_err(|reason| self.unsupported(ast, &reason))?;
        Ok(Node::new(Op::Like(text.into(), pattern), BOOLEAN))
    }

    fn named_type(&self, name: &TypeName, ast: &Ast) -> Resolved<DataType> {
        let primitive = match (name.name.as_str(), &name.numbers[..]) {
            ("boolean", []) => PrimitiveType::Boolean,
            ("tinyint" | "byte", []) => PrimitiveType::Byte,
            ("smallint" | "short", []) => PrimitiveType::Short,
            ("int" | "integer", []) => PrimitiveType::Integer,
            ("bigint" | "long", []) => PrimitiveType::Long,
            ("float" | "real", []) => PrimitiveType::Float,
            ("double", []) => PrimitiveType::Double,
            ("string", []) => PrimitiveType::String,
            ("binary", []) => PrimitiveType::Binary,
            ("date", []) => PrimitiveType::Date,
            ("timestamp" | "timestamp_ltz", []) => PrimitiveType::Timestamp,
            ("timestamp_ntz", []) => PrimitiveType::TimestampNtz,
            ("decimal" | "dec" | "numeric", numbers) => {
                let (precision, scale) = match numbers {
                    [] => (10, 0),
                    [precision] => (*precision, 0),
                    [precision, scale] => (*precision, *scale),
                    _ => (0, 0),
                };
                if !(1..=MAX_PRECISION).contains(&precision) || scale > precision {
                    return Err(self.unsupported(
                        ast,
                        "a decimal has a precision from 1 to 38 and a scale from 0 to it",
                    ));
                }
                PrimitiveType::Decimal {
                    precision: precision as u8,
                    scale: scale as u8,
                }
            }
            _ => {
                let reason = format!("conversion to {} is not", name.name);
                return Err(self.unsupported(ast, &reason));
            }
        };
        Ok(DataType::Primitive(primitive))
    }

    /// `node` converted to `to`; a literal is converted at once.
    pub(super) fn cast(&self, node: Node, to: &DataType, ast: &Ast) -> Resolved {
        if node.data_type == *to {
            return Ok(node);
        }
        if !cast::is_supported(&node.data_type, to) {
            let reason = format!("conversion from {} to {to} is not", node.data_type);
            return Err(self.unsupported(ast, &reason));
        }
        let Some(value) = node.as_literal() else {
            return Ok(Node::new(Op::Cast(node.into()), to.clone()));
        };
        match cast::cast(value.clone(), &node.data_type, to) {
            Ok(value) => Ok(Node::new(Op::Constant(cast::owned(value)), to.clone())),
            Err(problem) => {
                Err(self.mismatch(ast, problem.into(), format!("a value of type {to}")))
            }
        }
    }

    /// An operand that is true, false or null.
    pub(super) fn boolean(&mut self, ast: &Ast) -> Resolved {
        let node = self.resolve(ast)?;
        match node.data_type {
            BOOLEAN => Ok(node),
            VOID => self.cast(node, &BOOLEAN, ast),
            other => {
                let found = format!("a value of type {other}");
                Err(self.mismatch(ast, found, "a condition (boolean)".to_owned()))
            }
        }
    }

    /// An operand that is text; `what` takes it.
    pub(super) fn text(&mut self, ast: &Ast, what: &str) -> Resolved {
        let node = self.resolve(ast)?;
        match node.data_type {
            STRING => Ok(node),
            VOID => self.cast(node, &STRING, ast),
            other => {
                let found = format!("a value of type {other}");
                Err(self.mismatch(ast, found, format!("a string for {what}")))
            }
        }
    }

    fn binary(&self, symbol: &str, left: Node, right: Node, ast: &Ast) -> Resolved {
        let comparison = match symbol {
            "=" | "==" => Comparison::Equal,
            "<=>" => Comparison::NullSafeEqual,
            "<>" | "!=" => Comparison::NotEqual,
            "<" => Comparison::Less,
            "<=" => Comparison::LessOrEqual,
            ">" => Comparison::Greater,
            ">=" => Comparison::GreaterOrEqual,
            "+" => return self.arithmetic(Arithmetic::Add, left, right, ast),
            "-" => return self.arithmetic(Arithmetic::Subtract, left, right, ast),
            "*" => return self.arithmetic(Arithmetic::Multiply, left, right, ast),
            "/" => return self.arithmetic(Arithmetic::Divide, left, right, ast),
            "%" => return self.arithmetic(Arithmetic::Remainder, left, right, ast),
            "DIV" => return self.arithmetic(Arithmetic::WholeDivide, left, right, ast),
            _ => return self.concat(vec![left, right], ast),
        };
        self.compare(comparison, left, right, ast)
    }

    pub(super) fn compare(
        &self,
        comparison: Comparison,
        left: Node,
        right: Node,
        ast: &Ast,
    ) -> Resolved {
        let Comparable { left, right } = self.comparable(left, right, ast)?;
        let op = Op::Compare(comparison, left.into(), right.into());
        Ok(Node::new(op, BOOLEAN))
    }

    fn in_list(&mut self, value: &Ast, list: &[Ast], ast: &Ast) -> Resolved {
        let value = self.resolve(value)?;
        let mut items = Vec::with_capacity(list.len());
        for item in list {
            let node = self.resolve(item)?;
            items.push(self.text_as(node, &value.data_type, item)?);
        }
        let common = self.common_type(std::iter::once(&value).chain(&items), ast)?;
        self.check_comparable(&common, ast)?;
        let value = self.cast(value, &common, ast)?;
        let items = items
            .into_iter()
            .map(|item| self.cast(item, &common, ast))
            .collect::<Resolved<Vec<Node>>>()?;
        Ok(Node::new(Op::In(value.into(), items), BOOLEAN))
    }

    fn case(
        &mut self,
        operand: Option<&Ast>,
        branches: &[(Ast, Ast)],
        otherwise: Option<&Ast>,
        ast: &Ast,
    ) -> Resolved {
        let Some(operand) = operand else {
            return self.branches(None, branches, otherwise, ast);
        };
        let operand = self.resolve(operand)?;
        self.with(operand, |resolver, operand| {
            resolver.branches(Some(operand), branches, otherwise, ast)
        })
    }

    fn branches(
        &mut self,
        operand: Option<Node>,
        branches: &[(Ast, Ast)],
        otherwise: Option<&Ast>,
        ast: &Ast,
    ) -> Resolved {
        let mut made = Vec::with_capacity(branches.len());
        for (when, then) in branches {
            let condition = match &operand {
                None => self.boolean(when)?,
                Some(operand) => {
                    let value = self.resolve(when)?;
                    self.compare(Comparison::Equal, operand.clone(), value, when)?
                }
            };
            made.push((condition, self.resolve(then)?));
        }
        let otherwise = match otherwise {
            Some(otherwise) => self.resolve(otherwise)?,
            None => Node::literal(Value::Null, VOID),
        };
        self.choice(made, otherwise, ast)
    }

    /// What `body` makes of a node that stands for `value` and may be used more than once: what is
    /// more than a column or a literal is evaluated once, and kept once.
    pub(super) fn with(
        &mut self,
        value: Node,
        body: impl FnOnce(&mut Self, Node) -> Resolved,
    ) -> Resolved {
        if matches!(value.op, Op::Literal(_) | Op::Constant(_) | Op::Column(_)) {
            return body(self, value);
        }
        let number = self.bound;
        self.bound += 1;
        let stand_in = Node::new(Op::Bound(number), value.data_type.clone());
        let body = body(self, stand_in)?;
        let data_type = body.data_type.clone();
        Ok(Node::new(
            Op::With(number, value.into(), body.into()),
            data_type,
        ))
    }

    /// `CASE` with its branches brought to one type.
    pub(super) fn choice(
        &self,
        branches: Vec<(Node, Node)>,
        otherwise: Node,
        ast: &Ast,
    ) -> Resolved {
        let values = branches.iter().map(|(_, then)| then);
        let common = self.common_type(values.chain(std::iter::once(&otherwise)), ast)?;
        let otherwise = self.cast(otherwise, &common, ast)?;
        let branches = branches
            .into_iter()
            .map(|(when, then)| Ok((when, self.cast(then, &common, ast)?)))
            .collect::<Resolved<Vec<_>>>()?;
        Ok(Node::new(Op::Case(branches, otherwise.into()), common))
    }

    /// The text of `ast`.
    pub(super) fn text_of(&self, ast: &Ast) -> String {
        quoted(self.sql.get(ast.span.clone()).unwrap_or(self.sql))
    }

    pub(super) fn unsupported(&self, ast: &Ast, reason: &str) -> ExpressionError {
        ExpressionError::Unsupported {
            expression: quoted(self.sql),
            construct: self.text_of(ast),
            reason: reason.to_owned(),
        }
    }

    pub(super) fn mismatch(&self, ast: &Ast, found: String, expected: String) -> ExpressionError {
        ExpressionError::Type {
            expression: quoted(self.sql),
            construct: self.text_of(ast),
            found,
            expected,
        }
    }
}

/// The fields of a struct, as [`Resolver::fields`] has them.
pub(super) fn fields_of(schema: &StructType) -> Vec<&StructField> {
    schema.fields.iter().collect()
}
