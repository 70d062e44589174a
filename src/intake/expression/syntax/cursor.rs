//! The next word, and what is wrong with it.

use super::super::error::{ExpressionError, quoted};
use super::super::token::TokenKind;
use super::{MAX_DEPTH, Parsed, Parser};

/// Operators that Spark has and this grammar leaves out.
const LEFT_OUT: [&str; 10] = ["&", "|", "^", "~", "<<", ">>", ">>>", "!<", "!>", "->"];

impl Parser<'_> {
    pub(super) fn peek(&self) -> &TokenKind {
        &self.tokens[self.at].kind
    }

    pub(super) fn start(&self) -> usize {
        self.tokens[self.at].span.start
    }

    pub(super) fn is(&self, symbol: &str) -> bool {
        matches!(self.peek(), TokenKind::Symbol(found) if *found == symbol)
    }

    pub(super) fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), TokenKind::Word(found) if found.eq_ignore_ascii_case(word))
    }

    /// The word after the next, if it is one.
    pub(super) fn word_after(&self) -> Option<&str> {
        match &self.tokens.get(self.at + 1)?.kind {
            TokenKind::Word(word) => Some(word),
            _ => None,
        }
    }

    pub(super) fn eat(&mut self, symbol: &str) -> bool {
        let found = self.is(symbol);
        self.at += usize::from(found);
        found
    }

    pub(super) fn eat_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        self.at += usize::from(found);
        found
    }

    pub(super) fn expect(&mut self, symbol: &str) -> Parsed<()> {
        match self.eat(symbol) {
            true => Ok(()),
            false => Err(self.unexpected(symbol)),
        }
    }

    pub(super) fn expect_word(&mut self, word: &str) -> Parsed<()> {
        match self.eat_word(word) {
            true => Ok(()),
            false => Err(self.unexpected(&word.to_uppercase())),
        }
    }

    pub(super) fn unexpected(&self, expected: &str) -> ExpressionError {
        let token = &self.tokens[self.at];
        let text = &self.sql[token.span.clone()];
        let (is_left_out, found) = match &token.kind {
            TokenKind::End => (false, "the end".to_owned()),
            TokenKind::Symbol(symbol) => (LEFT_OUT.contains(symbol), format!("{text:?}")),
            TokenKind::Word(word) => {
                let is_left_out = ["exists", "collate", "over"]
                    .iter()
                    .any(|known| word.eq_ignore_ascii_case(known));
                (is_left_out, quoted(text))
            }
            _ => (false, quoted(text)),
        };
        if is_left_out {
            return self.unsupported_here(&format!("the operator {found}"), "no such operator");
        }
        ExpressionError::syntax(self.sql, token.span.start, &found, expected)
    }

    pub(super) fn unsupported_here(&self, construct: &str, reason: &str) -> ExpressionError {
        self.unsupported(self.start(), construct, reason)
    }

    pub(super) fn unsupported(
        &self,
        start: usize,
        construct: &str,
        reason: &str,
    ) -> ExpressionError {
        let position = self.sql[..start].chars().count() + 1;
        ExpressionError::Unsupported {
            expression: quoted(self.sql),
            construct: format!("{construct} (at character {position})"),
            reason: reason.to_owned(),
        }
    }

    pub(super) fn too_deep(&self) -> ExpressionError {
        ExpressionError::TooLarge {
            expression: quoted(self.sql),
            found: format!("more than {MAX_DEPTH} levels of nesting"),
            limit: format!("{MAX_DEPTH}"),
        }
    }
}
