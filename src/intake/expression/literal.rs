//! Literals: their types and values.

use std::borrow::Cow;

use super::ast::Ast;
use super::resolve::{Resolved, Resolver};
use super::tree::{Node, Value};
use super::types::{
    BINARY, DATE, DOUBLE, FLOAT, INTEGER, LONG, MAX_PRECISION, STRING, TIMESTAMP, TIMESTAMP_NTZ,
    decimal,
};
use crate::schema::{DataType, PrimitiveType};

impl Resolver<'_> {
    /// A number: the type is told by its suffix, its form and its size.
    pub(super) fn number(&self, number: &str, ast: &Ast) -> Resolved {
        let upper = number.to_ascii_uppercase();
        let digits = upper.trim_end_matches(['L', 'S', 'Y', 'D', 'F', 'B']);
        let out_of_range = || {
            self.mismatch(
                ast,
                number.to_owned(),
                "a number that its type can hold".to_owned(),
            )
        };
        let whole = |least: i64, most: i64, data_type| {
            let value = digits.parse::<i64>().ok();
            let value = value.filter(|value| (least..=most).contains(value));
            value
                .map(|value| Node::literal(Value::Integer(value), data_type))
                .ok_or_else(out_of_range)
        };
        let double = |value: Option<f64>, data_type| {
            let value = value.filter(|value| value.is_finite());
            value
                .map(|value| Node::literal(Value::Float(value), data_type))
                .ok_or_else(out_of_range)
        };
        match &upper[digits.len()..] {
            "L" => whole(i64::MIN, i64::MAX, LONG),
            "S" => whole(
                i16::MIN.into(),
                i16::MAX.into(),
                DataType::Primitive(PrimitiveType::Short),
            ),
            "Y" => whole(
                i8::MIN.into(),
                i8::MAX.into(),
                DataType::Primitive(PrimitiveType::Byte),
            ),
            "D" => double(digits.parse().ok(), DOUBLE),
            "F" => double(digits.parse::<f32>().ok().map(f64::from), FLOAT),
            "" if digits.contains('E') => double(digits.parse().ok(), DOUBLE),
            "" if !digits.contains('.') => match digits.parse::<i64>() {
                Ok(value) if i32::try_from(value).is_ok() => {
                    Ok(Node::literal(Value::Integer(value), INTEGER))
                }
                Ok(value) => Ok(Node::literal(Value::Integer(value), LONG)),
                Err(_) => decimal_literal(digits).ok_or_else(out_of_range),
            },
            "" | "BD" => decimal_literal(digits).ok_or_else(out_of_range),
            _ => Err(out_of_range()),
        }
    }

    pub(super) fn typed(&self, name: &str, text: &str, ast: &Ast) -> Resolved {
        let to = match name {
            "date" => DATE,
            "timestamp" | "timestamp_ltz" => TIMESTAMP,
            "timestamp_ntz" => TIMESTAMP_NTZ,
            _ => {
                let bytes = hexadecimal(text).ok_or_else(|| {
                    self.mismatch(ast, format!("{text:?}"), "hexadecimal digits".to_owned())
                })?;
                return Ok(Node::literal(Value::Bytes(Cow::Owned(bytes)), BINARY));
            }
        };
        self.cast(text_literal(text), &to, ast)
    }
}

pub(super) fn text_literal(text: &str) -> Node {
    Node::literal(Value::Text(Cow::Owned(text.to_owned())), STRING)
}

/// A decimal as written: its digits, and as many of them right of the point.
fn decimal_literal(text: &str) -> Option<Node> {
    let digits = text.trim_start_matches('-');
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let joined = format!("{whole}{fraction}");
    let significant = joined.trim_start_matches('0').len().max(1);
    let precision = significant.max(fraction.len());
    if precision > MAX_PRECISION as usize {
        return None;
    }
    let value: i128 = joined.parse().ok()?;
    let value = if text.starts_with('-') { -value } else { value };
    Some(Node::literal(
        Value::Decimal(value),
        decimal((precision as u8, fraction.len() as u8)),
    ))
}

/// The bytes of hexadecimal digits; an odd first one is a byte of its own.
fn hexadecimal(text: &str) -> Option<Vec<u8>> {
    let padded = match text.len() % 2 {
        0 => text.to_owned(),
        _ => format!("0{text}"),
    };
    let digits = padded.as_bytes().chunks_exact(2);
    digits
        .map(|pair| {
            let digit = |byte: u8| char::from(byte).to_digit(16);
            Some((digit(pair[0])? * 16 + digit(pair[1])?) as u8)
        })
        .collect()
}
