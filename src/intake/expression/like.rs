//! `LIKE`.

/// A pattern: what has to stand in a text from its beginning to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pattern {
    parts: Vec<Part>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// That character.
    One(char),
    /// Any character.
    Any,
    /// Any characters, or none.
    Many,
}

impl Pattern {
    /// `%` stands for any text, `_` for any character, `escape` takes both their meaning. What is
    /// wrong is a clause.
    pub(super) fn new(pattern: &str, escape: char) -> Result<Pattern, String> {
        let mut parts = Vec::new();
        let mut chars = pattern.chars();
        while let Some(char) = chars.next() {
            parts.push(match char {
                _ if char == escape => match chars.next() {
                    Some(next) if next == escape || matches!(next, '%' | '_') => Part::One(next),
                    Some(next) => {
                        return Err(format!(
                            "{escape:?} stands before {next:?}, where only %, _ and itself may follow"
                        ));
                    }
                    None => return Err(format!("{escape:?} stands at the end")),
                },
                '%' => Part::Many,
                '_' => Part::Any,
                _ => Part::One(char),
            });
        }
        Ok(Pattern { parts })
    }

    pub(super) fn matches(&self, text: &str) -> bool {
        let mut at = 0;
        let mut rest = text.chars();
        // Where to go on after the last `%`: its place, and what is left of the text there.
        let mut again = None;
        loop {
            let mut after = rest.clone();
            let matched = match (self.parts.get(at), after.next()) {
                (Some(Part::Many), _) => {
                    again = Some((at + 1, rest.clone()));
                    at += 1;
                    continue;
                }
                (None, None) => return true,
                (Some(Part::Any), Some(_)) => true,
                (Some(Part::One(wanted)), Some(found)) => *wanted == found,
                (None, Some(_)) | (Some(_), None) => false,
            };
            if matched {
                at += 1;
                rest = after;
                continue;
            }
            let Some((restart, skipped)) = &mut again else {
                return false;
            };
            if skipped.next().is_none() {
                return false;
            }
            at = *restart;
            rest = skipped.clone();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_whole_texts() {
        for (pattern, text, matches) in [
            ("", "", true),
            ("", "a", false),
            ("%", "", true),
            ("%%", "abc", true),
            ("a%", "abc", true),
            ("a%", "ba", false),
            ("%c", "abcabc", true),
            ("%b%", "abc", true),
            ("a%b%c", "a12b34bc", true),
            ("a%b%c", "a12b34bd", false),
            ("_", "ü", true),
            ("_", "", false),
            ("__", "a", false),
            ("a\\%", "a%", true),
            ("a\\%", "ab", false),
            ("a\\\\", "a\\", true),
            ("%\n%", "a\nb", true),
            ("_", "\n", true),
        ] {
            let made = Pattern::new(pattern, '\\').unwrap();
            assert_eq!(made.matches(text), matches, "{text:?} LIKE {pattern:?}");
        }
        assert!(Pattern::new("a!%b!!", '!').unwrap().matches("a%b!"));
    }

    #[test]
    fn escapes_stand_before_what_they_escape() {
        assert!(Pattern::new("a\\b", '\\').unwrap_err().contains("'b'"));
        assert!(Pattern::new("a\\", '\\').unwrap_err().contains("end"));
    }

    #[test]
    fn many_wildcards_take_no_exponential_time() {
        let pattern = Pattern::new(&"a%".repeat(200), '\\').unwrap();
        assert!(!pattern.matches(&format!("{}b", "a".repeat(199))));
    }
}
