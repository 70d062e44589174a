//! The value of one option.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use jiff::tz::TimeZone;

use super::OptionError;
use crate::cli::spec::absolute;

/// An option with the value it was given.
#[derive(Debug, Clone, Copy)]
pub(super) struct Value<'a> {
    option: &'a str,
    found: Option<&'a str>,
}

impl<'a> Value<'a> {
    /// `option=found`, or `option` alone.
    pub(super) fn new(option: &'a str, found: Option<&'a str>) -> Self {
        Value { option, found }
    }

    /// No value is allowed.
    pub(super) fn none(self) -> Result<(), OptionError> {
        match self.found {
            None => Ok(()),
            Some(found) => Err(OptionError::UnexpectedValue {
                option: self.option.to_owned(),
                found: found.to_owned(),
            }),
        }
    }

    fn required(self, expected: &'static str) -> Result<&'a str, OptionError> {
        self.found
            .filter(|found| !found.is_empty())
            .ok_or_else(|| OptionError::MissingValue {
                option: self.option.to_owned(),
                expected,
            })
    }

    fn bad(self, expected: &'static str) -> OptionError {
        OptionError::BadValue {
            option: self.option.to_owned(),
            found: self.found.unwrap_or_default().to_owned(),
            expected,
        }
    }

    /// Any text but the empty one.
    pub(super) fn text(self, expected: &'static str) -> Result<String, OptionError> {
        self.required(expected).map(str::to_owned)
    }

    /// A decimal number.
    pub(super) fn number<T: FromStr>(self, expected: &'static str) -> Result<T, OptionError> {
        self.required("NUMBER")?
            .parse()
            .map_err(|_| self.bad(expected))
    }

    /// Permission bits in octal, `0440` or `440`.
    pub(super) fn mode(self) -> Result<u16, OptionError> {
        let text = self.required("OCTAL")?;
        match u16::from_str_radix(text, 8) {
            Ok(mode) if mode <= 0o777 && !text.starts_with('+') => Ok(mode),
            _ => Err(self.bad("permission bits in octal, 0 to 777")),
        }
    }

    /// One of a few words.
    pub(super) fn one_of<T: Copy>(
        self,
        expected: &'static str,
        choices: &[(&str, T)],
    ) -> Result<T, OptionError> {
        let text = self.required(expected)?;
        choices
            .iter()
            .find(|(word, _)| *word == text)
            .map(|(_, choice)| *choice)
            .ok_or_else(|| self.bad(expected))
    }

    /// A number from 1 on, or `all`, which is `None`.
    pub(super) fn limit(self) -> Result<Option<usize>, OptionError> {
        let expected = "a number from 1 on, or `all`";
        match self.required("N|all")? {
            "all" => Ok(None),
            _ => match self.number(expected)? {
                0 => Err(self.bad(expected)),
                limit => Ok(Some(limit)),
            },
        }
    }

    /// Seconds, with a fraction.
    pub(super) fn seconds(self) -> Result<Duration, OptionError> {
        let expected = "seconds, 0 to 86400";
        let seconds: f64 = match self.required("SECONDS")?.parse() {
            Ok(seconds) if (0.0..=86_400.0).contains(&seconds) => seconds,
            _ => return Err(self.bad(expected)),
        };
        Ok(Duration::from_secs_f64(seconds))
    }

    /// A size in bytes: a number with an optional K, M, G or T, powers of 1024.
    pub(super) fn size(self) -> Result<u64, OptionError> {
        let expected = "a size such as 512M or 10G";
        let text = self.required("SIZE")?.trim_end_matches(['B', 'b', 'i']);
        let digits = text.trim_end_matches(|char: char| char.is_ascii_alphabetic());
        let unit: u64 = match text[digits.len()..].to_ascii_uppercase().as_str() {
            "" => 1,
            "K" => 1 << 10,
            "M" => 1 << 20,
            "G" => 1 << 30,
            "T" => 1 << 40,
            _ => return Err(self.bad(expected)),
        };
        match digits.parse::<f64>() {
            // At most 2^53 bytes, which a double counts exactly.
            Ok(number) if (0.0..=9e15 / unit as f64).contains(&number) => {
                Ok((number * unit as f64) as u64)
            }
            _ => Err(self.bad(expected)),
        }
    }

    /// A path, made absolute, or a URL.
    pub(super) fn location(self) -> Result<String, OptionError> {
        absolute(self.required("PATH")?).ok_or_else(|| self.bad("a directory or a URL"))
    }

    /// A path, made absolute.
    pub(super) fn path(self) -> Result<PathBuf, OptionError> {
        std::path::absolute(self.required("FILE")?).map_err(|_| self.bad("a path"))
    }

    /// `UTC` or a name of the time zone database.
    pub(super) fn timezone(self) -> Result<TimeZone, OptionError> {
        let name = self.required("TZ")?;
        if name.eq_ignore_ascii_case("UTC") {
            return Ok(TimeZone::UTC);
        }
        TimeZone::get(name).map_err(|_| {
            self.bad("UTC or a name of the time zone database (package tzdata), as Europe/Berlin")
        })
    }
}
