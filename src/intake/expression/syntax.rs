//! From text to a tree, by the expression part of Spark's grammar (`SqlBaseParser.g4`).
//!
//! The parser is ours because a general SQL parser reads what Spark refuses, reads strings and
//! numbers otherwise than Spark does, and keeps a chain of operators as a tree that is too deep for
//! the stack. This one reads each word once and bounds what it keeps: [`MAX_TEXT`] bytes,
//! [`MAX_DEPTH`] levels.

use super::ast::{Ast, AstKind, TypeName};
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

/// The operators of value expressions, those that bind least first.
const LEVELS: [&[&str]; 3] = [
    &["=", "==", "<=>", "<>", "!=", "<", "<=", ">", ">="],
    &["+", "-", "||"],
    &["*", "/", "%", "DIV"],
];

/// Operators that Spark has and this grammar leaves out.
const LEFT_OUT: [&str; 10] = ["&", "|", "^", "~", "<<", ">>", ">>>", "!<", "!>", "->"];

/// Words that begin no operand; a column of such a name needs backticks.
const RESERVED: [&str; 11] = [
    "and", "or", "not", "in", "between", "is", "when", "then", "else", "as", "select",
];

struct Parser<'a> {
    sql: &'a str,
    tokens: Vec<Token>,
    at: usize,
    /// How deep the parser's own calls are.
    depth: usize,
}

type Parsed<T = Ast> = Result<T, ExpressionError>;

impl Parser<'_> {
    /// A condition of operators that bind at least as tightly as `least`.
    fn boolean(&mut self, least: usize) -> Parsed {
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

    /// Operands and operators of `LEVELS[least]` and tighter ones, from the left.
    fn value(&mut self, least: usize) -> Parsed {
        let start = self.start();
        let mut left = self.unary()?;
        loop {
            let Some((level, operator)) = self.operator() else {
                return Ok(left);
            };
            if level < least {
                return Ok(left);
            }
            self.at += 1;
            let right = self.value(level + 1)?;
            let kind = AstKind::Binary(operator, Box::new(left), Box::new(right));
            left = self.node(kind, start)?;
        }
    }

    /// The operator that is next, and its place in [`LEVELS`].
    fn operator(&self) -> Option<(usize, &'static str)> {
        LEVELS.iter().enumerate().find_map(|(level, operators)| {
            let operator = operators.iter().find(|operator| match self.peek() {
                TokenKind::Symbol(symbol) => symbol == *operator,
                TokenKind::Word(word) => word.eq_ignore_ascii_case(operator),
                _ => false,
            });
            operator.map(|operator| (level, *operator))
        })
    }

    fn unary(&mut self) -> Parsed {
        let start = self.start();
        if self.is("-") {
            if let TokenKind::Number(number) = &self.tokens[self.at + 1].kind {
                let kind = AstKind::Number(format!("-{number}"));
                self.at += 2;
                let number = self.node(kind, start)?;
                return self.postfix(number, start);
            }
            self.at += 1;
            let operand = self.deeper(Self::unary)?;
            return self.node(AstKind::Negate(Box::new(operand)), start);
        }
        if self.is("+") {
            return Err(self.unsupported_here("a leading +", "leave it out"));
        }
        let primary = self.deeper(Self::primary)?;
        self.postfix(primary, start)
    }

    /// What may follow an operand: `.field`, `[element]`, `::type`.
    fn postfix(&mut self, mut ast: Ast, start: usize) -> Parsed {
        loop {
            let inner = Box::new(ast);
            let kind = if self.eat(".") {
                AstKind::Field(inner, self.name()?)
            } else if self.eat("[") {
                let index = self.deeper(|parser| parser.value(0))?;
                self.expect("]")?;
                AstKind::Element(inner, Box::new(index))
            } else if self.eat("::") {
                AstKind::Cast(inner, self.type_name()?)
            } else {
                return Ok(*inner);
            };
            ast = self.node(kind, start)?;
        }
    }

    fn primary(&mut self) -> Parsed {
        let start = self.start();
        let token = self.tokens[self.at].kind.clone();
        let kind = match token {
            TokenKind::Number(number) => {
                self.at += 1;
                AstKind::Number(number)
            }
            TokenKind::Text(text) => {
                self.at += 1;
                AstKind::Text(text)
            }
            TokenKind::Quoted(name) => {
                self.at += 1;
                if self.is("(") {
                    return Err(
                        self.unsupported_here("a function in backticks", "no such function")
                    );
                }
                AstKind::Name(self.name_after(name)?)
            }
            TokenKind::Symbol("(") => {
                self.at += 1;
                if self.is_word("select") || self.is_word("with") {
                    return Err(self.unsupported_here("a subquery", "expected an expression"));
                }
                let inner = self.boolean(OR)?;
                if self.is(",") {
                    return Err(self.unsupported_here("a row of values", "expected one value"));
                }
                self.expect(")")?;
                return Ok(inner);
            }
            TokenKind::Word(word) => return self.word(word, start),
            TokenKind::Symbol(_) | TokenKind::End => return Err(self.unexpected("an operand")),
        };
        self.node(kind, start)
    }

    /// What begins with a word.
    fn word(&mut self, word: String, start: usize) -> Parsed {
        let lower = word.to_ascii_lowercase();
        if RESERVED.contains(&lower.as_str()) {
            return Err(self.unexpected("an operand (a column of that name needs backticks)"));
        }
        self.at += 1;
        let kind = match (lower.as_str(), self.peek()) {
            ("null", _) => AstKind::Null,
            ("true", _) => AstKind::Boolean(true),
            ("false", _) => AstKind::Boolean(false),
            ("case", _) => self.case()?,
            ("cast", TokenKind::Symbol("(")) => {
                self.at += 1;
                let value = self.boolean(OR)?;
                self.expect_word("as")?;
                let to = self.type_name()?;
                self.expect(")")?;
                AstKind::Cast(Box::new(value), to)
            }
            ("interval", TokenKind::Text(_) | TokenKind::Number(_) | TokenKind::Symbol("-")) => {
                return Err(self.unsupported(start, "INTERVAL", "intervals have no value here"));
            }
            (
                "date" | "timestamp" | "timestamp_ntz" | "timestamp_ltz" | "x",
                TokenKind::Text(text),
            ) => {
                let text = text.clone();
                self.at += 1;
                AstKind::Typed(lower, text)
            }
            (_, TokenKind::Text(_)) => {
                let construct = format!("a {} literal", word.to_uppercase());
                return Err(self.unsupported(start, &construct, "DATE and TIMESTAMP are"));
            }
            ("extract", TokenKind::Symbol("(")) => {
                self.at += 1;
                let part = self.name()?.to_ascii_lowercase();
                self.expect_word("from")?;
                let value = self.boolean(OR)?;
                self.expect(")")?;
                AstKind::Call(format!("extract {part}"), vec![value])
            }
            ("substring" | "substr", TokenKind::Symbol("(")) => {
                self.at += 1;
                self.substring(lower)?
            }
            (_, TokenKind::Symbol("(")) => {
                self.at += 1;
                let arguments = match self.eat(")") {
                    true => Vec::new(),
                    false => self.list(")")?,
                };
                if self.is_word("over") || self.is_word("filter") {
                    return Err(self.unsupported_here(
                        "a window or aggregate function",
                        "one row at a time is evaluated",
                    ));
                }
                AstKind::Call(lower, arguments)
            }
            _ => AstKind::Name(self.name_after(word)?),
        };
        self.node(kind, start)
    }

    /// `substring(text, from, length)` or `substring(text FROM from FOR length)`.
    fn substring(&mut self, name: String) -> Parsed<AstKind> {
        let mut arguments = vec![self.boolean(OR)?];
        if self.eat_word("from") {
            arguments.push(self.value(0)?);
            if self.eat_word("for") {
                arguments.push(self.value(0)?);
            }
            self.expect(")")?;
        } else {
            self.expect(",")?;
            arguments.extend(self.list(")")?);
        }
        Ok(AstKind::Call(name, arguments))
    }

    /// What follows `CASE`.
    fn case(&mut self) -> Parsed<AstKind> {
        let operand = match self.is_word("when") {
            true => None,
            false => Some(Box::new(self.boolean(OR)?)),
        };
        let mut branches = Vec::new();
        while self.eat_word("when") {
            let condition = self.boolean(OR)?;
            self.expect_word("then")?;
            branches.push((condition, self.boolean(OR)?));
        }
        if branches.is_empty() {
            return Err(self.unexpected("WHEN"));
        }
        let otherwise = match self.eat_word("else") {
            true => Some(Box::new(self.boolean(OR)?)),
            false => None,
        };
        self.expect_word("end")?;
        Ok(AstKind::Case(operand, branches, otherwise))
    }

    fn type_name(&mut self) -> Parsed<TypeName> {
        let name = match self.peek() {
            TokenKind::Word(name) => name.to_ascii_lowercase(),
            _ => return Err(self.unexpected("the name of a type")),
        };
        self.at += 1;
        let mut numbers = Vec::new();
        if self.eat("(") {
            loop {
                let number = match self.peek() {
                    TokenKind::Number(number) => number.parse().ok(),
                    _ => None,
                };
                let Some(number) = number else {
                    return Err(self.unexpected("a number"));
                };
                self.at += 1;
                numbers.push(number);
                if !self.eat(",") {
                    break;
                }
            }
            self.expect(")")?;
        }
        if self.is("<") {
            return Err(self.unsupported_here("a type with parts", "primitive types are"));
        }
        Ok(TypeName { name, numbers })
    }

    /// The rest of a name, after its first part.
    fn name_after(&mut self, first: String) -> Parsed<Vec<String>> {
        let mut parts = vec![first];
        while self.eat(".") {
            parts.push(self.name()?);
        }
        if parts.len() > MAX_DEPTH {
            return Err(self.too_deep());
        }
        Ok(parts)
    }

    /// One part of a name.
    fn name(&mut self) -> Parsed<String> {
        match self.peek() {
            TokenKind::Word(name) | TokenKind::Quoted(name) => {
                let name = name.clone();
                self.at += 1;
                Ok(name)
            }
            _ => Err(self.unexpected("a name")),
        }
    }

    /// Expressions between commas, up to `end`.
    fn list(&mut self, end: &'static str) -> Parsed<Vec<Ast>> {
        let mut items = vec![self.deeper(|parser| parser.boolean(OR))?];
        while self.eat(",") {
            items.push(self.deeper(|parser| parser.boolean(OR))?);
        }
        self.expect(end)?;
        Ok(items)
    }

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

    fn peek(&self) -> &TokenKind {
        &self.tokens[self.at].kind
    }

    fn start(&self) -> usize {
        self.tokens[self.at].span.start
    }

    fn is(&self, symbol: &str) -> bool {
        matches!(self.peek(), TokenKind::Symbol(found) if *found == symbol)
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), TokenKind::Word(found) if found.eq_ignore_ascii_case(word))
    }

    /// The word after the next, if it is one.
    fn word_after(&self) -> Option<&str> {
        match &self.tokens.get(self.at + 1)?.kind {
            TokenKind::Word(word) => Some(word),
            _ => None,
        }
    }

    fn eat(&mut self, symbol: &str) -> bool {
        let found = self.is(symbol);
        self.at += usize::from(found);
        found
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, symbol: &str) -> Parsed<()> {
        match self.eat(symbol) {
            true => Ok(()),
            false => Err(self.unexpected(symbol)),
        }
    }

    fn expect_word(&mut self, word: &str) -> Parsed<()> {
        match self.eat_word(word) {
            true => Ok(()),
            false => Err(self.unexpected(&word.to_uppercase())),
        }
    }

    fn unexpected(&self, expected: &str) -> ExpressionError {
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

    fn unsupported_here(&self, construct: &str, reason: &str) -> ExpressionError {
        self.unsupported(self.start(), construct, reason)
    }

    fn unsupported(&self, start: usize, construct: &str, reason: &str) -> ExpressionError {
        let position = self.sql[..start].chars().count() + 1;
        ExpressionError::Unsupported {
            expression: quoted(self.sql),
            construct: format!("{construct} (at character {position})"),
            reason: reason.to_owned(),
        }
    }

    fn too_deep(&self) -> ExpressionError {
        ExpressionError::TooLarge {
            expression: quoted(self.sql),
            found: format!("more than {MAX_DEPTH} levels of nesting"),
            limit: format!("{MAX_DEPTH}"),
        }
    }
}
