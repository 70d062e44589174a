//! The decoded form of a path in the log.

use std::borrow::Cow;
use std::fmt;

use memchr::{memchr, memchr3_iter};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use super::StorageError;

/// Where a data file or a deletion vector lies: the decoded form of a log entry's `path`
/// (PROTOCOL.md, "Add File and Remove File": a relative path, or an absolute one).
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Location {
    /// Relative to the table root, decoded.
    Relative(String),
    /// Absolute: `file:///decoded/path` for local files, else the URL with its path decoded.
    Absolute(String),
}

/// What is escaped in a segment: all but RFC 2396's unreserved characters and those reserved ones
/// that mean nothing in a path. `:` is escaped: it would make a scheme of a relative path's first
/// segment.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'!')
    .remove(b'~')
    .remove(b'*')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'=')
    .remove(b'@')
    .remove(b'&')
    .remove(b'+')
    .remove(b'$')
    .remove(b',');

impl Location {
    /// Parses the `path` of a log entry, which is a URI by RFC 2396.
    ///
    /// It is percent-decoded once; an escape that is none (`%zz`) stays as it is. A path with a
    /// scheme (two characters or more, then `:/`) or a leading `/` is absolute. Two paths that
    /// Spark takes for the same are equal: empty and `.` segments are dropped, `..` takes the
    /// segment before it along (one that has none stays, and nothing opens it), a scheme is lower
    /// case, `file:/p`, `file:///p`, `file://localhost/p` and `/p` are one, and so are `s3a:` and
    /// `s3:`, and `abfs:` and `abfss:`.
    ///
    /// [`StorageError::InvalidLocation`] when the decoded bytes are not UTF-8.
    pub fn parse(path_in_log: &str) -> Result<Location, StorageError> {
        Ok(match Location::key(path_in_log)? {
            // Without the copy that reading a key costs.
            Cow::Borrowed(relative) => Location::Relative(relative.to_owned()),
            Cow::Owned(key) => Location::from_key(&key),
        })
    }

    /// One text for each location, to intern by: two log paths have the same key exactly when
    /// their locations are equal. Borrowed from the input when that is a plain relative path, as
    /// nearly all are.
    pub fn key(path_in_log: &str) -> Result<Cow<'_, str>, StorageError> {
        if is_canonical(path_in_log) {
            return Ok(Cow::Borrowed(path_in_log));
        }
        if let Some((scheme, rest)) = split_scheme(path_in_log) {
            let (authority, path) = split_authority(rest);
            return absolute(path_in_log, scheme, authority, path).map(Cow::Owned);
        }
        if path_in_log.starts_with('/') {
            return absolute(path_in_log, "file", "", path_in_log).map(Cow::Owned);
        }
        let decoded = decode(path_in_log, &normalize(path_in_log))?;
        Ok(Cow::Owned(match is_ambiguous(&decoded) {
            true => format!("./{decoded}"),
            false => decoded,
        }))
    }

    /// The location that has this [`Location::key`].
    pub fn from_key(key: &str) -> Location {
        match key.strip_prefix("./") {
            Some(relative) => Location::Relative(relative.to_owned()),
            None if split_scheme(key).is_some() => Location::Absolute(key.to_owned()),
            None => Location::Relative(key.to_owned()),
        }
    }

    /// The `path` to write into a log entry for this location: [`Location::parse`] gives this
    /// location back, for one that it gave before.
    pub fn to_log_path(&self) -> String {
        match self {
            Location::Relative(path) => encode(path),
            Location::Absolute(url) => {
                let (base, path) = split_path(url);
                format!("{base}/{}", encode(path.strip_prefix('/').unwrap_or(path)))
            }
        }
    }

    /// Decoded, for messages and comparison within one table: the relative path or the URL.
    pub fn as_str(&self) -> &str {
        match self {
            Location::Relative(text) | Location::Absolute(text) => text,
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// Whether `path` is one or more names joined by `/`, none of them empty, `.` or `..`.
pub(super) fn is_plain(path: &str) -> bool {
    !path.contains('\0')
        && path
            .split('/')
            .all(|segment| !matches!(segment, "" | "." | ".."))
}

/// The scheme of a URL and what follows its colon, which begins with `/`. One letter is no scheme
/// but a drive, and a colon further back belongs to a name: `C:/f`, `x=a:b/f`.
pub(super) fn split_scheme(text: &str) -> Option<(&str, &str)> {
    let colon = memchr(b':', text.as_bytes())?;
    let (scheme, rest) = (&text[..colon], &text[colon + 1..]);
    (rest.starts_with('/') && is_scheme(scheme)).then_some((scheme, rest))
}

/// Whether `text` can be the scheme of a URL.
pub(super) fn is_scheme(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() >= 2
        && bytes[0].is_ascii_alphabetic()
        && bytes
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'.' | b'-'))
}

/// Splits a canonical absolute location (`scheme://authority/path`) before the path's `/`.
pub(super) fn split_path(url: &str) -> (&str, &str) {
    let authority = url.find("://").map_or(0, |colon| colon + "://".len());
    let path = url[authority..]
        .find('/')
        .map_or(url.len(), |slash| authority + slash);
    url.split_at(path)
}

/// Whether a relative path is its own key, seen without allocating: no escape, no colon, and no
/// segment that is empty or begins with a dot.
fn is_canonical(path: &str) -> bool {
    let bytes = path.as_bytes();
    if matches!(bytes.first(), None | Some(b'/' | b'.')) {
        return path.is_empty();
    }
    memchr3_iter(b'%', b':', b'/', bytes)
        .all(|at| bytes[at] == b'/' && !matches!(bytes.get(at + 1), None | Some(b'/' | b'.')))
}

/// Whether a decoded relative path reads like the key of another location.
fn is_ambiguous(relative: &str) -> bool {
    relative.starts_with('/') || relative.starts_with("./") || split_scheme(relative).is_some()
}

/// Splits what follows a scheme's colon into the authority, `""` where there is none, and the path.
fn split_authority(rest: &str) -> (&str, &str) {
    match rest.strip_prefix("//") {
        Some(rest) => rest.split_at(rest.find('/').unwrap_or(rest.len())),
        None => ("", rest),
    }
}

/// The canonical text of an absolute location, `found` in the log.
fn absolute(
    found: &str,
    scheme: &str,
    authority: &str,
    path: &str,
) -> Result<String, StorageError> {
    let scheme = scheme.to_ascii_lowercase();
    let scheme = match scheme.as_str() {
        "s3a" | "s3n" => "s3",
        "abfs" => "abfss",
        other => other,
    };
    let authority = match scheme {
        "file" if authority.eq_ignore_ascii_case("localhost") => "",
        _ => authority,
    };
    let path = decode(found, &normalize(path))?;
    Ok(format!("{scheme}://{authority}/{path}"))
}

/// Drops empty and `.` segments and resolves `..`, as `java.net.URI.normalize` and Hadoop's `Path`
/// do, on the text as it stands in the log: an escaped dot is none. Without a leading or trailing
/// slash.
fn normalize(path: &str) -> Cow<'_, str> {
    let plain = |segment: &str| !matches!(segment, "" | "." | "..");
    if path.split('/').all(plain) {
        return Cow::Borrowed(path);
    }
    let mut segments: Vec<&str> = Vec::new();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." if segments.last().is_some_and(|last| *last != "..") => {
                segments.pop();
            }
            _ => segments.push(segment),
        }
    }
    Cow::Owned(segments.join("/"))
}

fn decode(found: &str, path: &str) -> Result<String, StorageError> {
    match percent_decode_str(path).decode_utf8() {
        Ok(decoded) => Ok(decoded.into_owned()),
        Err(error) => Err(StorageError::InvalidLocation {
            found: found.to_owned(),
            expected: format!(
                "the path of a log entry is UTF-8 once its %XX escapes are decoded ({error})"
            ),
        }),
    }
}

/// Percent-encodes a path so that parsing gives exactly it back: a dot or a slash that
/// normalization would drop is escaped.
fn encode(path: &str) -> String {
    let mut encoded = String::with_capacity(path.len());
    let mut before: Option<&str> = None;
    for segment in path.split('/') {
        match before {
            None => {}
            Some(before) if before.is_empty() || segment.is_empty() => encoded.push_str("%2F"),
            Some(_) => encoded.push('/'),
        }
        match segment {
            "." => encoded.push_str("%2E"),
            ".." => encoded.push_str("%2E%2E"),
            _ => encoded.extend(utf8_percent_encode(segment, ENCODED)),
        }
        before = Some(segment);
    }
    encoded
}

#[cfg(test)]
mod tests;
