//! The words of an expression, as Spark's lexer tells them apart.
//!
//! Where releases of Spark differ (a quote doubled inside a string, comments), the text is refused.

use std::ops::Range;

use super::error::ExpressionError;

/// A word and where it stands, in bytes.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    pub(super) span: Range<usize>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum TokenKind {
    /// A keyword, or a name without quotes.
    Word(String),
    /// A name in backticks.
    Quoted(String),
    /// A string, its escapes undone.
    Text(String),
    /// A number, as written, with its suffix.
    Number(String),
    /// An operator or a bracket.
    Symbol(&'static str),
    /// The end of the text.
    End,
}

/// Every symbol of Spark's grammar; a longer one stands before its beginnings.
const SYMBOLS: [&str; 41] = [
    ">>>", "<=>", "||", "::", "<>", "!=", "<=", ">=", "!<", "!>", "==", "->", "=>", "<<", ">>",
    "|>", "(", ")", "[", "]", "{", "}", ",", ".", "+", "-", "*", "/", "%", "=", "<", ">", "!", "~",
    "&", "|", "^", ":", "?", ";", "@",
];

/// The words of `sql`, ended by [`TokenKind::End`].
pub(super) fn tokens(sql: &str) -> Result<Vec<Token>, ExpressionError> {
    let mut lexer = Lexer { sql, at: 0 };
    let mut tokens = Vec::new();
    loop {
        let rest = lexer.rest();
        lexer.at += rest.len() - rest.trim_start().len();
        let start = lexer.at;
        let kind = lexer.next()?;
        let is_end = kind == TokenKind::End;
        tokens.push(Token {
            kind,
            span: start..lexer.at,
        });
        if is_end {
            return Ok(tokens);
        }
    }
}

struct Lexer<'a> {
    sql: &'a str,
    at: usize,
}

impl Lexer<'_> {
    fn rest(&self) -> &str {
        &self.sql[self.at..]
    }

    fn next(&mut self) -> Result<TokenKind, ExpressionError> {
        let rest = self.rest();
        let Some(first) = rest.chars().next() else {
            return Ok(TokenKind::End);
        };
        let second = rest[first.len_utf8()..].chars().next();
        match (first, second) {
            ('-', Some('-')) | ('/', Some('*')) => Err(self.error("a comment", "none")),
            ('`', _) => self.quoted(),
            ('\'' | '"', _) => self.text(first).map(TokenKind::Text),
            ('r' | 'R', Some(quote @ ('\'' | '"'))) => self.raw_text(quote),
            ('0'..='9', _) | ('.', Some('0'..='9')) => self.number(),
            _ if is_name_part(first) => {
                let length = rest
                    .find(|char: char| !is_name_part(char))
                    .unwrap_or(rest.len());
                let word = rest[..length].to_owned();
                self.at += length;
                Ok(TokenKind::Word(word))
            }
            _ => match SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
                Some(symbol) => {
                    self.at += symbol.len();
                    Ok(TokenKind::Symbol(symbol))
                }
                None => Err(self.error(&format!("{first:?}"), "an expression of Spark SQL")),
            },
        }
    }

    /// A name in backticks; a backtick inside is doubled.
    fn quoted(&mut self) -> Result<TokenKind, ExpressionError> {
        let mut name = String::new();
        let mut chars = self.rest().char_indices().skip(1).peekable();
        while let Some((at, char)) = chars.next() {
            match char {
                '`' if chars.peek().is_some_and(|(_, next)| *next == '`') => {
                    chars.next();
                    name.push('`');
                }
                '`' if name.is_empty() => break,
                '`' => {
                    self.at += at + 1;
                    return Ok(TokenKind::Quoted(name));
                }
                _ => name.push(char),
            }
        }
        Err(self.error("a backtick", "a name in backticks"))
    }

    /// A string after its prefix `r`, in which a backslash is a backslash.
    fn raw_text(&mut self, quote: char) -> Result<TokenKind, ExpressionError> {
        let Some(length) = self.rest()[2..].find(quote) else {
            return Err(self.error("a string without end", "its closing quote"));
        };
        let text = self.rest()[2..2 + length].to_owned();
        self.at += length + 3;
        self.refuse_adjacent_text()?;
        Ok(TokenKind::Text(text))
    }

    /// A string, with the escapes of Spark's `unescapeSQLString`.
    fn text(&mut self, quote: char) -> Result<String, ExpressionError> {
        let start = self.at;
        let mut text = String::new();
        self.at += 1;
        loop {
            let Some(char) = self.rest().chars().next() else {
                self.at = start;
                return Err(self.error("a string without end", "its closing quote"));
            };
            self.at += char.len_utf8();
            match char {
                '\\' => self.escape(&mut text)?,
                _ if char == quote => break,
                _ => text.push(char),
            }
        }
        self.refuse_adjacent_text()?;
        Ok(text)
    }

    /// Releases of Spark read what stands between two strings side by side differently.
    fn refuse_adjacent_text(&self) -> Result<(), ExpressionError> {
        match self.rest().trim_start().starts_with(['\'', '"']) {
            true => Err(self.error("two strings side by side", "one, or || between them")),
            false => Ok(()),
        }
    }

    /// What follows a backslash.
    fn escape(&mut self, text: &mut String) -> Result<(), ExpressionError> {
        let rest = self.rest();
        let Some(char) = rest.chars().next() else {
            return Err(self.error("a string without end", "its closing quote"));
        };
        let digits = |range: Range<usize>, radix| {
            let digits = rest.get(range)?;
            let is_number = digits.chars().all(|digit| digit.is_digit(radix));
            is_number
                .then(|| u32::from_str_radix(digits, radix).ok())
                .flatten()
        };
        let numbered = match char {
            'u' => digits(1..5, 16).map(|code| (code, 5)),
            'U' => digits(1..9, 16).map(|code| (code, 9)),
            '0' | '1' => digits(0..3, 8).map(|code| (code, 3)),
            _ => None,
        };
        if let Some((code, length)) = numbered {
            let Some(char) = char::from_u32(code) else {
                return Err(self.error("half of a surrogate pair", "a character"));
            };
            text.push(char);
            self.at += length;
            return Ok(());
        }
        self.at += char.len_utf8();
        match char {
            '0' => text.push('\0'),
            'b' => text.push('\u{8}'),
            'n' => text.push('\n'),
            'r' => text.push('\r'),
            't' => text.push('\t'),
            'Z' => text.push('\u{1A}'),
            // Kept for LIKE, which knows them.
            '%' | '_' => text.extend(['\\', char]),
            _ => text.push(char),
        }
        Ok(())
    }

    /// Digits, a point, an exponent, a suffix.
    fn number(&mut self) -> Result<TokenKind, ExpressionError> {
        let bytes = self.rest().as_bytes();
        let run = |from: usize| {
            let digits = bytes[from..]
                .iter()
                .take_while(|byte| byte.is_ascii_digit());
            from + digits.count()
        };
        let mut end = run(0);
        if bytes.get(end) == Some(&b'.') {
            end = run(end + 1);
        }
        if matches!(bytes.get(end), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
            let exponent = run(end + 1 + sign);
            if exponent > end + 1 + sign {
                end = exponent;
            }
        }
        let suffix = bytes[end..]
            .iter()
            .take_while(|byte| byte.is_ascii_alphabetic())
            .count();
        let is_suffix = ["", "L", "S", "Y", "D", "F", "BD"]
            .iter()
            .any(|known| self.rest()[end..end + suffix].eq_ignore_ascii_case(known));
        end += suffix;
        let next = self.rest()[end..].chars().next();
        if !is_suffix || next.is_some_and(is_name_part) {
            return Err(self.error(
                "a name that begins with a digit",
                "a number, or the name in backticks",
            ));
        }
        let number = self.rest()[..end].to_owned();
        self.at += end;
        Ok(TokenKind::Number(number))
    }

    fn error(&self, found: &str, expected: &str) -> ExpressionError {
        ExpressionError::syntax(self.sql, self.at, found, expected)
    }
}

fn is_name_part(char: char) -> bool {
    char.is_alphanumeric() || char == '_'
}
