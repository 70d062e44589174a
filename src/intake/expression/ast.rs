//! The tree of an expression as it is written.

use std::ops::Range;

/// A part of an expression.
#[derive(Debug)]
pub(super) struct Ast {
    pub(super) kind: AstKind,
    /// Where it stands in the text, bytes.
    pub(super) span: Range<usize>,
    /// Levels below and including this one.
    pub(super) depth: usize,
}

#[derive(Debug)]
pub(super) enum AstKind {
    Null,
    Boolean(bool),
    Text(String),
    /// A number as written, with its sign and suffix.
    Number(String),
    /// `DATE '...'` and its like: the type's name in lower case, and the text.
    Typed(String, String),
    /// A column, or a column and a field of it.
    Name(Vec<String>),
    /// A field of what stands before the point.
    Field(Box<Ast>, String),
    /// `a[b]`
    Element(Box<Ast>, Box<Ast>),
    /// The type as written.
    Cast(Box<Ast>, TypeName),
    And(Vec<Ast>),
    Or(Vec<Ast>),
    Not(Box<Ast>),
    Negate(Box<Ast>),
    /// An operator between two operands, comparison or arithmetic.
    Binary(&'static str, Box<Ast>, Box<Ast>),
    Between(Box<Ast>, Box<Ast>, Box<Ast>),
    In(Box<Ast>, Vec<Ast>),
    /// Pattern and the character after `ESCAPE`.
    Like(Box<Ast>, Box<Ast>, Option<char>),
    RLike(Box<Ast>, Box<Ast>),
    IsNull(Box<Ast>),
    /// `IS TRUE`, `IS FALSE`
    Is(Box<Ast>, bool),
    /// The operand, the branches, what follows `ELSE`.
    Case(Option<Box<Ast>>, Vec<(Ast, Ast)>, Option<Box<Ast>>),
    /// The name in lower case.
    Call(String, Vec<Ast>),
}

/// The name of a type and its numbers: `decimal`, `10`, `2`.
#[derive(Debug)]
pub(super) struct TypeName {
    pub(super) name: String,
    pub(super) numbers: Vec<u32>,
}

impl AstKind {
    /// Levels below this one.
    pub(super) fn depth(&self) -> usize {
        let deepest = |parts: &[Ast]| parts.iter().map(|part| part.depth).max().unwrap_or(0);
        match self {
            AstKind::Null
            | AstKind::Boolean(_)
            | AstKind::Text(_)
            | AstKind::Number(_)
            | AstKind::Typed(..) => 0,
            AstKind::Name(parts) => parts.len() - 1,
            AstKind::Field(inner, _)
            | AstKind::Cast(inner, _)
            | AstKind::Not(inner)
            | AstKind::Negate(inner)
            | AstKind::IsNull(inner)
            | AstKind::Is(inner, _) => inner.depth,
            AstKind::Element(left, right)
            | AstKind::Binary(_, left, right)
            | AstKind::Like(left, right, _)
            | AstKind::RLike(left, right) => left.depth.max(right.depth),
            AstKind::Between(value, low, high) => value.depth.max(low.depth).max(high.depth),
            AstKind::In(value, list) => value.depth.max(deepest(list)),
            AstKind::And(parts) | AstKind::Or(parts) | AstKind::Call(_, parts) => deepest(parts),
            AstKind::Case(operand, branches, otherwise) => {
                let branches = branches
                    .iter()
                    .map(|(when, then)| when.depth.max(then.depth));
                let ends = [operand, otherwise].into_iter().flatten();
                branches
                    .chain(ends.map(|part| part.depth))
                    .max()
                    .unwrap_or(0)
            }
        }
    }
}
