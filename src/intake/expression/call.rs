//! Calls of functions: which there are, and what they take.

use super::ast::Ast;
use super::calendar::{DatePart, DateUnit, Format};
use super::function::Function;
use super::regular::Regex;
use super::resolve::{Resolved, Resolver};
use super::time::MICROS_PER_DAY;
use super::tree::{Arithmetic, Comparison, Node, Op, Value};
use super::types::{
    BINARY, BOOLEAN, DATE, DOUBLE, FLOAT, INTEGER, STRING, TIMESTAMP, TIMESTAMP_NTZ, is_number,
    is_whole, primitive,
};
use crate::schema::{DataType, PrimitiveType};

/// The most regular expressions of one expression: each keeps some memory.
const MAX_REGEXES: usize = 32;

impl Resolver<'_> {
    pub(super) fn call(&mut self, name: &str, arguments: &[Ast], ast: &Ast) -> Resolved {
        match (name, arguments) {
            ("isnull", [inner]) => self.is_null(inner),
            ("isnotnull", [inner]) => {
                let is_null = self.is_null(inner)?;
                Ok(Node::new(Op::Not(is_null.into()), BOOLEAN))
            }
            ("if", [condition, then, otherwise]) => {
                let condition = self.boolean(condition)?;
                let (then, otherwise) = (self.resolve(then)?, self.resolve(otherwise)?);
                self.choice(vec![(condition, then)], otherwise, ast)
            }
            ("nvl2", [value, then, otherwise]) => {
                let is_null = self.is_null(value)?;
                let (then, otherwise) = (self.resolve(then)?, self.resolve(otherwise)?);
                self.choice(vec![(is_null, otherwise)], then, ast)
            }
            ("nullif", [value, other]) => {
                let (value, other) = (self.resolve(value)?, self.resolve(other)?);
                self.with(value, |resolver, value| {
                    let same = resolver.compare(Comparison::Equal, value.clone(), other, ast)?;
                    let null = Node::literal(Value::Null, value.data_type.clone());
                    resolver.choice(vec![(same, null)], value, ast)
                })
            }
            ("coalesce", [_, ..]) | ("ifnull" | "nvl", [_, _]) => {
                let parts = self.all(arguments)?;
                let common = self.common_type(parts.iter(), ast)?;
                let parts = parts
                    .into_iter()
                    .map(|part| self.cast(part, &common, ast))
                    .collect::<Resolved<Vec<Node>>>()?;
                Ok(Node::new(Op::Coalesce(parts), common))
            }
            ("length" | "len" | "char_length" | "character_length", [text]) => {
                let node = self.resolve(text)?;
                let node = match node.data_type {
                    BINARY => node,
                    _ => self.text(text, name)?,
                };
                Ok(called(Function::Length, vec![node], INTEGER))
            }
            ("upper" | "ucase", [text]) => self.of_text(Function::Upper, text, name),
            ("lower" | "lcase", [text]) => self.of_text(Function::Lower, text, name),
            ("trim" | "ltrim" | "rtrim", [text]) => {
                let (start, end) = (name != "rtrim", name != "ltrim");
                self.of_text(Function::Trim { start, end }, text, name)
            }
            ("substring" | "substr", [text, rest @ ..]) if matches!(rest.len(), 1 | 2) => {
                let mut operands = vec![self.text(text, name)?];
                for place in rest {
                    operands.push(self.whole(place, name)?);
                }
                Ok(called(Function::Substring, operands, STRING))
            }
            ("concat", [_, ..]) => {
                let parts = self.all(arguments)?;
                self.concat(parts, ast)
            }
            ("startswith" | "endswith" | "contains", [text, part]) => {
                let operands = vec![self.text(text, name)?, self.text(part, name)?];
                let function = match name {
                    "startswith" => Function::StartsWith,
                    "endswith" => Function::EndsWith,
                    _ => Function::Contains,
                };
                Ok(called(function, operands, BOOLEAN))
            }
            ("rlike" | "regexp" | "regexp_like", [text, pattern]) => self.rlike(text, pattern, ast),
            ("abs", [number]) => {
                let node = self.resolve(number)?;
                match primitive(&node.data_type) {
                    Some(primitive) if is_number(primitive) => {
                        let data_type = node.data_type.clone();
                        Ok(called(Function::Absolute, vec![node], data_type))
                    }
                    _ => Err(self.takes(&node, "a number", ast)),
                }
            }
            ("isnan", [number]) => {
                let node = self.resolve(number)?;
                match node.data_type {
                    FLOAT | DOUBLE => Ok(called(Function::IsNan, vec![node], BOOLEAN)),
                    _ => Err(self.takes(&node, "a float or a double", ast)),
                }
            }
            ("negative", [number]) => {
                let node = self.resolve(number)?;
                self.negate(node, ast)
            }
            ("mod", [left, right]) => {
                let (left, right) = (self.resolve(left)?, self.resolve(right)?);
                self.arithmetic(Arithmetic::Remainder, left, right, ast)
            }
            ("pmod", [left, right]) => {
                let (left, right) = (self.whole(left, name)?, self.whole(right, name)?);
                let remainder =
                    self.arithmetic(Arithmetic::Remainder, left.clone(), right.clone(), ast)?;
                let data_type = remainder.data_type;
                let operands = vec![left, right];
                Ok(called(Function::PositiveRemainder, operands, data_type))
            }
            ("size" | "cardinality", [inner]) => {
                let node = self.resolve(inner)?;
                match node.data_type {
                    DataType::Array(_) | DataType::Map(_) => {
                        Ok(called(Function::Size, vec![node], INTEGER))
                    }
                    _ => Err(self.takes(&node, "an array or a map", ast)),
                }
            }
            ("date" | "to_date", [value]) => self.converted(value, &DATE, ast),
            ("timestamp" | "to_timestamp", [value]) => self.converted(value, &TIMESTAMP, ast),
            ("string", [value]) => self.converted(value, &STRING, ast),
            ("int", [value]) => self.converted(value, &INTEGER, ast),
            ("bigint", [value]) => self.converted(value, &super::types::LONG, ast),
            ("double", [value]) => self.converted(value, &DOUBLE, ast),
            ("date_add" | "dateadd" | "date_sub", [date, days]) => {
                let (date, days) = (self.date(date, ast)?, self.whole(days, name)?);
                let operator = match name {
                    "date_sub" => Arithmetic::Subtract,
                    _ => Arithmetic::Add,
                };
                match primitive(&days.data_type) {
                    Some(PrimitiveType::Long) => Err(self.takes(&days, "an integer", ast)),
                    _ => self.arithmetic(operator, date, days, ast),
                }
            }
            ("datediff" | "date_diff", [end, start]) => {
                let operands = vec![self.date(end, ast)?, self.date(start, ast)?];
                Ok(called(Function::DaysBetween, operands, INTEGER))
            }
            ("trunc", [date, unit]) => {
                let date = self.date(date, ast)?;
                let unit = self.unit(unit, ast)?;
                match unit.is_of_date() {
                    true => Ok(called(Function::Truncate(unit), vec![date], DATE)),
                    false => Err(self.unsupported(ast, "a date is cut to weeks or more only")),
                }
            }
            ("date_trunc", [unit, instant]) => {
                let instant = self.instant(instant, ast)?;
                let instant = self.cast(instant, &TIMESTAMP, ast)?;
                let unit = self.unit(unit, ast)?;
                Ok(called(Function::Truncate(unit), vec![instant], TIMESTAMP))
            }
            ("date_format", [instant, pattern]) => {
                let instant = self.instant(instant, ast)?;
                let instant = self.cast(instant, &TIMESTAMP, ast)?;
                let format = self.written(pattern, ast)?;
                let format =
                    Format::new(&format).map_err(|reason| self.unsupported(ast, &reason))?;
                Ok(called(Function::Format(format), vec![instant], STRING))
            }
            (_, [instant]) if DatePart::named(name).is_some() => {
                let Some(part) = DatePart::named(name) else {
                    return Err(self.no_function(name, ast));
                };
                let operand = match part.is_of_date() {
                    true => self.date(instant, ast)?,
                    false => self.instant(instant, ast)?,
                };
                Ok(called(Function::Part(part), vec![operand], INTEGER))
            }
            _ => match (self.now, arguments) {
                (Some(now), []) => match name {
                    "now" | "current_timestamp" => {
                        Ok(Node::literal(Value::Integer(now), TIMESTAMP))
                    }
                    "localtimestamp" => Ok(Node::literal(Value::Integer(now), TIMESTAMP_NTZ)),
                    "current_date" | "curdate" => {
                        let days = now.div_euclid(MICROS_PER_DAY);
                        Ok(Node::literal(Value::Integer(days), DATE))
                    }
                    _ => Err(self.no_function(name, ast)),
                },
                _ => Err(self.no_function(name, ast)),
            },
        }
    }

    pub(super) fn concat(&self, parts: Vec<Node>, ast: &Ast) -> Resolved {
        let mut operands = Vec::with_capacity(parts.len());
        for part in parts {
            let is_certain = match primitive(&part.data_type) {
                Some(PrimitiveType::String | PrimitiveType::Date | PrimitiveType::Void) => true,
                Some(primitive) => is_whole(primitive),
                None => false,
            };
            if !is_certain {
                return Err(self.takes(&part, "strings, whole numbers and dates", ast));
            }
            operands.push(self.cast(part, &STRING, ast)?);
        }
        Ok(called(Function::Concat, operands, STRING))
    }

    pub(super) fn rlike(&mut self, text: &Ast, pattern: &Ast, ast: &Ast) -> Resolved {
        let text = self.text(text, "RLIKE")?;
        let pattern = self.written(pattern, ast)?;
        self.regexes += 1;
        if self.regexes > MAX_REGEXES {
            let reason = format!("an expression has at most {MAX_REGEXES} regular expressions");
            return Err(self.unsupported(ast, &reason));
        }
        let regex = Regex::new(&pattern).map_err(|reason| self.unsupported(ast, &reason))?;
        Ok(called(Function::RLike(regex), vec![text], BOOLEAN))
    }

    fn all(&mut self, parts: &[Ast]) -> Resolved<Vec<Node>> {
        parts.iter().map(|part| self.resolve(part)).collect()
    }

    fn of_text(&mut self, function: Function, text: &Ast, name: &str) -> Resolved {
        Ok(called(function, vec![self.text(text, name)?], STRING))
    }

    fn converted(&mut self, value: &Ast, to: &DataType, ast: &Ast) -> Resolved {
        let node = self.resolve(value)?;
        self.cast(node, to, ast)
    }

    /// A whole number.
    fn whole(&mut self, ast: &Ast, name: &str) -> Resolved {
        let node = self.resolve(ast)?;
        match primitive(&node.data_type) {
            Some(primitive) if is_whole(primitive) => Ok(node),
            Some(PrimitiveType::Void) => self.cast(node, &INTEGER, ast),
            _ => Err(self.takes(&node, &format!("a whole number for {name}"), ast)),
        }
    }

    /// A date, or the date of a timestamp.
    fn date(&mut self, value: &Ast, ast: &Ast) -> Resolved {
        let node = self.instant(value, ast)?;
        self.cast(node, &DATE, ast)
    }

    /// A date or a timestamp.
    fn instant(&mut self, value: &Ast, ast: &Ast) -> Resolved {
        let node = self.resolve(value)?;
        match node.data_type {
            DATE | TIMESTAMP | TIMESTAMP_NTZ => Ok(node),
            super::types::VOID => self.cast(node, &DATE, ast),
            _ => Err(self.takes(&node, "a date or a timestamp", ast)),
        }
    }

    fn unit(&mut self, unit: &Ast, ast: &Ast) -> Resolved<DateUnit> {
        let name = self.written(unit, ast)?;
        DateUnit::named(&name)
            .ok_or_else(|| self.unsupported(ast, &format!("{name:?} is no unit that is known")))
    }

    /// A string that is written out.
    fn written(&mut self, text: &Ast, ast: &Ast) -> Resolved<String> {
        match self.resolve(text)?.op {
            Op::Literal(Value::Text(text)) => Ok(text.into_owned()),
            _ => Err(self.unsupported(ast, "its pattern or unit has to be written as a string")),
        }
    }

    fn takes(&self, node: &Node, expected: &str, ast: &Ast) -> super::ExpressionError {
        let found = format!("a value of type {}", node.data_type);
        self.mismatch(ast, found, expected.to_owned())
    }

    fn no_function(&self, name: &str, ast: &Ast) -> super::ExpressionError {
        const CHANGING: [&str; 10] = [
            "rand",
            "random",
            "randn",
            "uuid",
            "shuffle",
            "current_date",
            "curdate",
            "current_timestamp",
            "now",
            "localtimestamp",
        ];
        let reason = match CHANGING.contains(&name) {
            true => format!("{name} is not the same each time; only a DEFAULT has a current time"),
            false => format!("no function {name} with these arguments"),
        };
        self.unsupported(ast, &reason)
    }
}

fn called(function: Function, operands: Vec<Node>, data_type: DataType) -> Node {
    Node::new(Op::Call(function, operands), data_type)
}
