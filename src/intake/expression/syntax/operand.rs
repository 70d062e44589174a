//! Operands: names, literals, calls, and the operators that make values of them.

use super::super::ast::{Ast, AstKind, TypeName};
use super::super::token::TokenKind;
use super::{MAX_DEPTH, OR, Parsed, Parser};

/// The operators of value expressions, those that bind least first.
const LEVELS: [&[&str]; 3] = [
    &["=", "==", "<=>", "<>", "!=", "<", "<=", ">", ">="],
    &["+", "-", "||"],
    &["*", "/", "%", "DIV"],
];

/// Words that begin no operand; a column of such a name needs backticks.
const RESERVED: [&str; 11] = [
    "and", "or", "not", "in", "between", "is", "when", "then", "else", "as", "select",
];

impl Parser<'_> {
    /// Operands and operators of `LEVELS[least]` and tighter ones, from the left.
    pub(super) fn value(&mut self, least: usize) -> Parsed {
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
    pub(super) fn list(&mut self, end: &'static str) -> Parsed<Vec<Ast>> {
        let mut items = vec![self.deeper(|parser| parser.boolean(OR))?];
        while self.eat(",") {
            items.push(self.deeper(|parser| parser.boolean(OR))?);
        }
        self.expect(end)?;
        Ok(items)
    }
}
