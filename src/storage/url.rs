//! From what the user typed to a [`Store`].

mod remote;
mod table;

use std::path::Path;
use std::sync::Arc;

use percent_encoding::percent_decode_str;

use super::local::LocalStore;
use super::location::is_scheme;
use super::{StorageError, Store};

pub use table::TableUrl;

/// What a table location may be, for messages.
const EXPECTED: &str = "give a path or a file:, s3:, s3a:, az:, abfs:, abfss:, gs:, http:, https: \
                        or memory: URL";

/// Options for object stores, as `object_store` names them (`aws_region`, ...), from `-o`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoreOptions {
    /// Key and value pairs; the environment is consulted as well.
    pub pairs: Vec<(String, String)>,
}

/// Opens the store of a table root: a path, `file:`, `s3:`/`s3a:`, `az:`/`abfs(s):`, `gs:`,
/// `http(s):` (WebDAV) or `memory:` URL. A local root that is not a directory is
/// [`StorageError::NotFound`]; whether anything is at a remote one shows when it is used. A
/// trailing slash makes no difference. The path of a URL is percent-decoded, a plain path is not.
///
/// A URL with a scheme that is none of these is [`StorageError::InvalidLocation`], an option that no
/// object store knows [`StorageError::UnknownOption`]. The environment's `AWS_*`, `AZURE_*` and `GOOGLE_*` variables
/// configure their stores as their makers' tools have it; `options` win over them.
///
/// All `memory:` URLs of a process name places in one store, which is empty at first.
pub fn open_store(location: &str, options: &StoreOptions) -> Result<Arc<dyn Store>, StorageError> {
    remote::check_options(options)?;
    let Some((scheme, rest)) = split_url(location) else {
        return open_path(location, location);
    };
    match scheme.to_ascii_lowercase().as_str() {
        "file" => open_path(location, &file_path(location, rest)?),
        "memory" => remote::open_memory(location, rest),
        scheme if remote::SCHEMES.contains(&scheme) => remote::open(location, options),
        _ => Err(invalid(
            location,
            format!("{scheme}: is not a scheme that works; {EXPECTED}"),
        )),
    }
}

fn open_path(location: &str, path: &str) -> Result<Arc<dyn Store>, StorageError> {
    if path.is_empty() || path.contains('\0') {
        return Err(invalid(location, EXPECTED.to_owned()));
    }
    Ok(Arc::new(LocalStore::open(Path::new(path))?))
}

/// The scheme of a URL as typed, and what follows the colon. Of the schemes that work also without
/// the slash that should follow, to say so instead of looking for a file of that name.
fn split_url(location: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = location.split_once(':')?;
    let known = || {
        let scheme = scheme.to_ascii_lowercase();
        matches!(scheme.as_str(), "file" | "memory") || remote::SCHEMES.contains(&scheme.as_str())
    };
    (is_scheme(scheme) && (rest.starts_with('/') || known())).then_some((scheme, rest))
}

/// The decoded path of a `file:` URL; `rest` follows the colon.
fn file_path(location: &str, rest: &str) -> Result<String, StorageError> {
    let path = match rest.strip_prefix("//") {
        None => rest,
        Some(rest) => {
            let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            if !host.is_empty() && !host.eq_ignore_ascii_case("localhost") {
                return Err(invalid(
                    location,
                    format!(
                        "a file: URL names a path on this host, not on {host:?}; write \
                             file:///PATH"
                    ),
                ));
            }
            path
        }
    };
    if !path.starts_with('/') {
        return Err(invalid(
            location,
            "a file: URL holds an absolute path; write file:///PATH, or a path alone".to_owned(),
        ));
    }
    match percent_decode_str(path).decode_utf8() {
        Ok(path) => Ok(path.into_owned()),
        Err(_) => Err(invalid(
            location,
            "the path of a URL is UTF-8 once its %XX escapes are decoded".to_owned(),
        )),
    }
}

fn invalid(found: &str, expected: String) -> StorageError {
    StorageError::InvalidLocation {
        found: found.to_owned(),
        expected,
    }
}

#[cfg(test)]
mod tests;
