//! `RLIKE`: regular expressions of Java, as far as they mean the same elsewhere.

use super::cast::Failure;

/// The most memory that a compiled regular expression takes, bytes.
const MAX_REGEX: usize = 512 * 1024;

/// What `.` stands for in Java.
const ANY: &str = r"[^\n\r\x{85}\x{2028}\x{2029}]";
/// What `$` lets stand at the end in Java.
const LINE_END: &str = r"(?:\r\n|[\n\r\x{85}\x{2028}\x{2029}])?\z";

/// A regular expression of Java, of the part whose meaning it shares with other engines.
#[derive(Debug, Clone)]
pub(super) struct Regex {
    regex: regex::Regex,
    /// Whether it has a `$`, which in Java does not stand between a carriage return and a line
    /// feed.
    has_end: bool,
}

impl Regex {
    /// Characters and their escapes, `.`, classes of characters and ranges, `\d`, `\s`, `\w`,
    /// groups, alternatives, repetition, `^`, and `$` at the end. What is wrong is a clause.
    pub(super) fn new(pattern: &str) -> Result<Regex, String> {
        let mut translation = Translation {
            rest: pattern,
            made: String::with_capacity(pattern.len() + 16),
            depth: 0,
            has_end: false,
        };
        translation.run()?;
        let has_end = translation.has_end;
        let regex = regex::RegexBuilder::new(&translation.made)
            .size_limit(MAX_REGEX)
            .dfa_size_limit(MAX_REGEX)
            .nest_limit(50)
            .build();
        let regex = regex.map_err(|_| {
            format!("the regular expression {pattern:?} is not valid, or too large")
        })?;
        Ok(Regex { regex, has_end })
    }

    /// Whether the expression matches a part of `text`.
    pub(super) fn matches(&self, text: &str) -> Result<bool, Failure> {
        if self.has_end && text.ends_with("\r\n") {
            return Err(
                "the text ends with a line break of two characters, before which $ has a \
                        meaning of its own"
                    .into(),
            );
        }
        Ok(self.regex.is_match(text))
    }
}

struct Translation<'a> {
    rest: &'a str,
    made: String,
    depth: usize,
    has_end: bool,
}

impl Translation<'_> {
    fn run(&mut self) -> Result<(), String> {
        // Whether something stands before, which can be repeated.
        let mut repeatable = false;
        while let Some(char) = self.next() {
            let refused = |part: &str| {
                Err(format!(
                    "{part:?} in a regular expression is not; characters, classes, groups, \
                     alternatives and repetition are"
                ))
            };
            match char {
                '*' | '+' | '?' | '{' => {
                    if !repeatable {
                        return refused(&char.to_string());
                    }
                    self.made.push(char);
                    if char == '{' {
                        self.bounds()?;
                    }
                    if self.rest.starts_with('?') {
                        self.next();
                        self.made.push('?');
                    }
                    repeatable = false;
                    continue;
                }
                '.' => self.made.push_str(ANY),
                '[' => self.class()?,
                '\\' => {
                    let escaped = self.escaped()?;
                    self.made.push_str(&escaped);
                }
                '(' => {
                    if let Some(rest) = self.rest.strip_prefix('?') {
                        let Some(rest) = rest.strip_prefix(':') else {
                            return refused("(?");
                        };
                        self.rest = rest;
                    }
                    self.depth += 1;
                    self.made.push_str("(?:");
                    repeatable = false;
                    continue;
                }
                ')' => {
                    let Some(depth) = self.depth.checked_sub(1) else {
                        return refused(")");
                    };
                    self.depth = depth;
                    self.made.push(')');
                }
                '|' => {
                    self.made.push('|');
                    repeatable = false;
                    continue;
                }
                '^' => {
                    self.made.push('^');
                    repeatable = false;
                    continue;
                }
                '$' => {
                    let ends = self.rest.trim_start_matches(')').is_empty()
                        || (self.depth == 0 && self.rest.starts_with('|'));
                    if !ends {
                        return refused("$");
                    }
                    self.has_end = true;
                    self.made.push_str(LINE_END);
                    repeatable = false;
                    continue;
                }
                _ => self
                    .made
                    .push_str(&regex::escape(char.encode_utf8(&mut [0; 4]))),
            }
            repeatable = true;
        }
        Ok(())
    }

    fn next(&mut self) -> Option<char> {
        let char = self.rest.chars().next()?;
        self.rest = &self.rest[char.len_utf8()..];
        Some(char)
    }

    /// What follows `{`.
    fn bounds(&mut self) -> Result<(), String> {
        let end = self.rest.find('}').map(|end| end + 1);
        let bounds = end.map(|end| self.rest.split_at(end));
        let Some((bounds, rest)) = bounds else {
            return Err("{ in a regular expression has no }".to_owned());
        };
        let numbers = bounds.trim_end_matches('}');
        let (least, most) = numbers.split_once(',').unwrap_or((numbers, ""));
        let is_number =
            |text: &str| text.len() <= 4 && text.bytes().all(|byte| byte.is_ascii_digit());
        if least.is_empty() || !is_number(least) || !is_number(most) {
            return Err(format!(
                "{{{bounds} in a regular expression is no repetition"
            ));
        }
        self.made.push_str(bounds);
        self.rest = rest;
        Ok(())
    }

    /// What follows a backslash.
    fn escaped(&mut self) -> Result<String, String> {
        Ok(match self.next() {
            Some('d') => "[0-9]".to_owned(),
            Some('D') => "[^0-9]".to_owned(),
            Some('w') => "[a-zA-Z0-9_]".to_owned(),
            Some('W') => "[^a-zA-Z0-9_]".to_owned(),
            Some('s') => r"[ \t\n\x0B\f\r]".to_owned(),
            Some('S') => r"[^ \t\n\x0B\f\r]".to_owned(),
            Some('t') => r"\t".to_owned(),
            Some('n') => r"\n".to_owned(),
            Some('r') => r"\r".to_owned(),
            Some(char) if char.is_ascii_punctuation() => {
                regex::escape(char.encode_utf8(&mut [0; 4]))
            }
            Some(char) => return Err(format!("\\{char} in a regular expression is not")),
            None => return Err("a regular expression ends with a backslash".to_owned()),
        })
    }

    /// What follows `[`.
    fn class(&mut self) -> Result<(), String> {
        self.made.push('[');
        if self.rest.starts_with('^') {
            self.next();
            self.made.push('^');
        }
        let start = self.rest;
        // What a range may begin with: a single character just before.
        let mut single = false;
        loop {
            let refused = |reason: &str| {
                Err(format!(
                    "{reason} in a class of a regular expression is not"
                ))
            };
            match self.next() {
                None => return refused("an end"),
                Some(']') if self.rest.len() + 1 == start.len() => return refused("a leading ]"),
                Some(']') => break,
                Some('[') => return refused("["),
                Some('&') if self.rest.starts_with('&') => return refused("&&"),
                Some('-') => {
                    let is_first = self.rest.len() + 1 == start.len();
                    let is_last = self.rest.starts_with(']');
                    if is_first || is_last {
                        self.made.push_str(r"\-");
                        single = false;
                        continue;
                    }
                    // Both ends of a range are characters.
                    let end = match self.next() {
                        Some(char) if char.is_alphanumeric() && single => char,
                        _ => return refused("a - next to what is no range"),
                    };
                    self.made.push('-');
                    self.made.push(end);
                    single = false;
                }
                Some('\\') => {
                    let escaped = self.escaped()?;
                    single = false;
                    self.made.push_str(&escaped);
                }
                Some(char) => {
                    self.made.push_str(&class_escape(char));
                    single = char.is_alphanumeric();
                }
            }
        }
        self.made.push(']');
        Ok(())
    }
}

/// A character as it stands for itself in a class.
fn class_escape(char: char) -> String {
    match r"\.+*?()|[]{}^$#&-~".contains(char) {
        true => format!("\\{char}"),
        false => char.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regular_expressions_match_as_in_java() {
        for (pattern, text, matches) in [
            ("b", "abc", true),
            ("^b", "abc", false),
            ("^abc$", "abc", true),
            ("^abc$", "abc\n", true),
            ("^abc$", "abc\n\n", false),
            ("^abc$", "abcd", false),
            ("a.c", "a\nc", false),
            ("a.c", "a\u{2028}c", false),
            ("a.c", "a\u{1F600}c", true),
            (r"^\d+$", "123", true),
            (r"^\d+$", "١", false),
            (r"^\w+$", "ä", false),
            (r"\S", " \t\u{a0}", true),
            ("^[^@]+@[^@]+$", "a@b", true),
            ("^[^@]+@[^@]+$", "a@b@c", false),
            (r"^[a-z0-9._%+\-]+$", "a.b-c", true),
            (r"^[\w.-]+$", "a.b-c", true),
            ("^[-a]$", "-", true),
            ("^(a|b){2,3}$", "aba", true),
            ("^(?:a|b){2}$", "aba", false),
            ("^a*?b$", "aab", true),
            ("a$|^b", "b1", true),
            ("(x|a$)", "ba", true),
            ("", "", true),
            (r"^\.$", ".", true),
            ("^[\u{e4}]$", "ä", true),
        ] {
            match Regex::new(pattern) {
                Ok(regex) => assert_eq!(
                    regex.matches(text),
                    Ok(matches),
                    "{text:?} RLIKE {pattern:?}"
                ),
                Err(error) => panic!("{pattern}: {error}"),
            }
        }
        assert!(Regex::new("a$").unwrap().matches("a\r\n").is_err());
    }

    #[test]
    fn regular_expressions_of_java_alone_are_refused() {
        for pattern in [
            "(?i)a",
            "(?=a)",
            "(?<n>a)",
            r"\bword\b",
            r"(a)\1",
            r"\p{L}",
            "a*+",
            "a++",
            "a**",
            "*a",
            "(",
            ")",
            "[",
            "[]a]",
            "[a[b]]",
            "[a&&b]",
            "[a-",
            r"[\d-z]",
            "a{",
            "a{,2}",
            "a{1",
            "$a",
            "(a$)b",
            r"\Qa\E",
            "\\",
            "[z-a]",
            "a{9999}{9999}",
            "a{1000}",
        ] {
            let refused = Regex::new(pattern);
            assert!(
                refused.is_err() || pattern == "a{1000}",
                "{pattern} is {refused:?}"
            );
        }
        assert!(Regex::new(&"(a".repeat(10_000)).is_err());
        assert!(Regex::new(&format!("{}a{}", "(".repeat(5_000), ")".repeat(5_000))).is_err());
        assert!(Regex::new("(((a{100}){100}){100})").is_err());
    }
}
