//! From text to a tree, by the expression part of Spark's grammar (`SqlBaseParser.g4`).
//!
//! The parser is ours because a general SQL parser reads what Spark refuses, reads strings and
//! numbers otherwise than Spark does, and keeps a chain of operators as a tree that is too deep for
//! the stack. This one reads each word once and bounds what it keeps: [`MAX_TEXT`] bytes,
//! [`MAX_DEPTH`] levels.

mod condition;
mod cursor;
mod operand;

use super::ast::{Ast, AstKind};
use super::error::{ExpressionError, quoted};
use super::token::{Token, TokenKind, tokens};

/// The longest text that is read, bytes.
pub(super) const MAX_TEXT: usize = 64 * 1024;

/// The deepest tree that is built. Reading, resolving and evaluating recurse this deep.
pub(super) const MAX_DEPTH: usize = 48;

/// The tree of `sql`.
pub(super) fn parse(sql: &str) -> Result<Ast, ExpressionError> {
    if sql.len() > MAX_TEXT {
        return Err(ExpressionError::TooLarge {
            expression: quoted(sql),
            found: format!("{} bytes", sql.len()),
            limit: format!("{MAX_TEXT} bytes"),
        });
    }
    let mut parser = Parser {
        sql,
        tokens: tokens(sql)?,
        at: 0,
        depth: 0,
    };
    let ast = parser.boolean(OR)?;
    match parser.peek() {
        TokenKind::End => Ok(ast),
        _ => Err(parser.unexpected("an operator, or the end of the expression")),
    }
}

// How tightly the operators of conditions bind.
const OR: usize = 0;
const AND: usize = 1;
const NOT: usize = 2;

/// Reads a tree from words: `condition` has the rules for what is true or false, `operand` those for
/// values.
struct Parser<'a> {
    sql: &'a str,
    tokens: Vec<Token>,
    at: usize,
    /// How deep the parser's own calls are.
    depth: usize,
}

type Parsed<T = Ast> = Result<T, ExpressionError>;

impl Parser<'_> {
    /// The node of `kind` that ends before the next word.
    fn node(&self, kind: AstKind, start: usize) -> Parsed {
        let end = match self.at {
            0 => start,
            at => self.tokens[at - 1].span.end,
        };
        let depth = 1 + kind.depth();
        if depth > MAX_DEPTH {
            return Err(self.too_deep());
        }
        Ok(Ast {
            kind,
            span: start..end,
            depth,
        })
    }

    fn deeper(&mut self, read: impl FnOnce(&mut Self) -> Parsed) -> Parsed {
        if self.depth >= MAX_DEPTH {
            return Err(self.too_deep());
        }
        self.depth += 1;
        let read = read(self);
        self.depth -= 1;
        read
    }
}
