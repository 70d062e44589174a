//! What to mount, where and how.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use super::options::MountSettings;
use crate::fuse::{self, Ownership};

/// Threads for a local table are as many as cores, between these bounds: a request waits for a disk
/// at most. One over a network waits so long that the others must not wait with it.
const LEAST_THREADS: NonZeroUsize = NonZeroUsize::new(2).expect("not zero");
const MOST_THREADS: NonZeroUsize = NonZeroUsize::new(16).expect("not zero");

/// All that a mount needs to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MountSpec {
    /// The table: an absolute path or a URL.
    pub table: String,
    /// The mountpoint: canonical once it has been checked.
    pub mountpoint: PathBuf,
    /// The options.
    pub settings: MountSettings,
    /// Stay in the foreground and log to stderr.
    pub foreground: bool,
    /// How often `-v` was given.
    pub verbosity: u8,
}

impl MountSpec {
    /// The table as a local path, where it is one.
    pub fn local_table(&self) -> Option<PathBuf> {
        local_path(&self.table)
    }

    /// Whether nothing can be written: because that was asked for, or because the table lies on an
    /// object store.
    pub fn is_read_only(&self) -> bool {
        self.settings.read_only || self.local_table().is_none()
    }

    /// The part that concerns the kernel.
    pub fn fuse_options(&self) -> fuse::MountOptions {
        let settings = &self.settings;
        fuse::MountOptions {
            source: settings
                .fs_name
                .clone()
                .unwrap_or_else(|| self.table.clone()),
            access: settings.access,
            read_only: self.is_read_only(),
            no_exec: settings.no_exec,
            no_atime: settings.no_atime,
            no_diratime: settings.no_diratime,
            passthrough: settings.passthrough,
            fast_open: settings.fast_open,
            threads: match self.local_table() {
                Some(_) => std::thread::available_parallelism().map_or(LEAST_THREADS, |cores| {
                    cores.clamp(LEAST_THREADS, MOST_THREADS)
                }),
                None => MOST_THREADS,
            },
            ownership: Ownership {
                uid: settings
                    .uid
                    .unwrap_or_else(|| rustix::process::getuid().as_raw()),
                gid: settings
                    .gid
                    .unwrap_or_else(|| rustix::process::getgid().as_raw()),
                file_mode: settings.file_mode,
                dir_mode: settings.dir_mode,
                umask: settings.umask,
            },
        }
    }
}

/// A location as a local path, where it is one.
pub(super) fn local_path(location: &str) -> Option<PathBuf> {
    if !is_url(location) {
        return Some(PathBuf::from(location));
    }
    url::Url::parse(location)
        .ok()
        .filter(|url| url.scheme() == "file")?
        .to_file_path()
        .ok()
}

/// A location as it is when it is a URL, else as an absolute path; `None` for nonsense.
pub(super) fn absolute(location: &str) -> Option<String> {
    if is_url(location) {
        return Some(location.to_owned());
    }
    std::path::absolute(Path::new(location))
        .ok()?
        .into_os_string()
        .into_string()
        .ok()
}

/// The schemes of table URLs. A URL of another scheme is told from a path by its slash.
const SCHEMES: &[&str] = &[
    "file", "memory", "s3", "s3a", "gs", "az", "azure", "adl", "abfs", "abfss", "http", "https",
];

/// Whether a location is a URL.
pub(super) fn is_url(location: &str) -> bool {
    let Some((scheme, rest)) = location.split_once(':') else {
        return false;
    };
    let mut chars = scheme.chars();
    let is_scheme = chars
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic())
        && chars.all(|char| char.is_ascii_alphanumeric() || "+-.".contains(char));
    let known = SCHEMES
        .iter()
        .any(|known| scheme.eq_ignore_ascii_case(known));
    is_scheme && (rest.starts_with('/') || known)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(table: &str) -> MountSpec {
        MountSpec {
            table: table.into(),
            mountpoint: "/mnt".into(),
            settings: MountSettings::default(),
            foreground: false,
            verbosity: 0,
        }
    }

    #[test]
    fn urls_are_told_from_paths() {
        for url in [
            "s3://b/t",
            "S3:b",
            "file:/t",
            "file:///t",
            "abfss://c@a.dfs/t",
            "memory:t",
            "x:/y",
        ] {
            assert_eq!(absolute(url).as_deref(), Some(url));
        }
        let here = std::env::current_dir().expect("there is a working directory");
        for path in ["t", "./a:b", "a:b", "10:30/x", "t/../u"] {
            let expected = here.join(path.trim_start_matches("./"));
            assert_eq!(
                absolute(path),
                expected.into_os_string().into_string().ok(),
                "{path}"
            );
        }
        assert_eq!(absolute("/a//b/").as_deref(), Some("/a/b/"));
        assert_eq!(absolute(""), None);
    }

    #[test]
    fn a_local_table_has_a_path() {
        assert_eq!(spec("/a b").local_table(), Some("/a b".into()));
        assert_eq!(spec("file:///a%20b").local_table(), Some("/a b".into()));
        assert_eq!(spec("s3://b/t").local_table(), None);
    }

    #[test]
    fn the_source_is_the_table_unless_named() {
        let mut spec = spec("s3://b/t");
        assert_eq!(spec.fuse_options().source, "s3://b/t");
        spec.settings.fs_name = Some("orders".into());
        assert_eq!(spec.fuse_options().source, "orders");
    }
}
