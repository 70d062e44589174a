//! Conditions: what is true or false.

use super::super::ast::{Ast, AstKind};
use super::super::token::TokenKind;
use super::{AND, NOT, OR, Parsed, Parser};

impl Parser<'_> {
    /// A condition of operators that bind at least as tightly as `least`.
    pub(super) fn boolean(&mut self, least: usize) -> Parsed {
        let start = self.start();
        let mut left = if self.eat_word("not") || self.eat("!") {
            let operand = self.deeper(|parser| parser.boolean(NOT))?;
            self.node(AstKind::Not(Box::new(operand)), start)?
        } else {
            self.predicate()?
        };
        loop {
            let (word, level) = match () {
                () if self.is_word("and") => ("and", AND),
                () if self.is_word("or") => ("or", OR),
                () => return Ok(left),
            };
            if level < least {
                return Ok(left);
            }
            let mut operands = vec![left];
            while self.eat_word(word) {
                operands.push(self.boolean(level + 1)?);
            }
            let kind = match level {
                OR => AstKind::Or(operands),
                _ => AstKind::And(operands),
            };
            left = self.node(kind, start)?;
        }
    }

    /// A value and at most one of `BETWEEN`, `IN`, `LIKE`, `IS`.
    fn predicate(&mut self) -> Parsed {
        let start = self.start();
        let value = self.value(0)?;
        if self.eat_word("is") {
            return self.after_is(value, start);
        }
        let negated = self.is_word("not") && self.word_after().is_some();
        if negated {
            self.at += 1;
        }
        let value = Box::new(value);
        let kind = if self.eat_word("between") {
            let low = self.value(0)?;
            self.expect_word("and")?;
            AstKind::Between(value, Box::new(low), Box::new(self.value(0)?))
        } else if self.eat_word("in") {
            self.expect("(")?;
            if self.is_word("select") || self.is_word("with") {
                return Err(self.unsupported_here("a subquery", "expected a list of values"));
            }
            AstKind::In(value, self.list(")")?)
        } else if self.eat_word("like") {
            for word in ["any", "some", "all"] {
                if self.is_word(word) {
                    return Err(self.unsupported_here(
                        &format!("LIKE {}", word.to_uppercase()),
                        "expected one pattern",
                    ));
                }
            }
            let pattern = Box::new(self.value(0)?);
            let escape = match self.eat_word("escape") {
                true => Some(self.escape()?),
                false => None,
            };
            AstKind::Like(value, pattern, escape)
        } else if self.eat_word("rlike") || self.eat_word("regexp") {
            AstKind::RLike(value, Box::new(self.value(0)?))
        } else if self.is_word("ilike") {
            return Err(self.unsupported_here("ILIKE", "LIKE is"));
        } else if negated {
            return Err(self.unexpected("BETWEEN, IN, LIKE or RLIKE after NOT"));
        } else {
            return Ok(*value);
        };
        let node = self.node(kind, start)?;
        match negated {
            true => self.node(AstKind::Not(Box::new(node)), start),
            false => Ok(node),
        }
    }

    /// What follows `IS`.
    fn after_is(&mut self, value: Ast, start: usize) -> Parsed {
        let negated = self.eat_word("not");
        let value = Box::new(value);
        let kind = if self.eat_word("null") || self.eat_word("unknown") {
            AstKind::IsNull(value)
        } else if self.eat_word("true") {
            AstKind::Is(value, true)
        } else if self.eat_word("false") {
            AstKind::Is(value, false)
        } else if self.eat_word("distinct") {
            self.expect_word("from")?;
            let right = Box::new(self.value(0)?);
            let same = self.node(AstKind::Binary("<=>", value, right), start)?;
            return match negated {
                true => Ok(same),
                false => self.node(AstKind::Not(Box::new(same)), start),
            };
        } else {
            return Err(self.unexpected("NULL, TRUE, FALSE or DISTINCT FROM after IS"));
        };
        let node = self.node(kind, start)?;
        match negated {
            true => self.node(AstKind::Not(Box::new(node)), start),
            false => Ok(node),
        }
    }

    /// The one character after `ESCAPE`.
    fn escape(&mut self) -> Parsed<char> {
        if let TokenKind::Text(text) = self.peek() {
            let mut chars = text.chars();
            if let (Some(char), None) = (chars.next(), chars.next()) {
                self.at += 1;
                return Ok(char);
            }
        }
        Err(self.unexpected("a string of one character after ESCAPE"))
    }
}
