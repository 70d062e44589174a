//! The options of a mount, as flags and as `-o key=value`.

mod known;
mod value;

use std::path::PathBuf;
use std::time::Duration;

use jiff::tz::TimeZone;

use crate::fuse::Access;
use crate::storage::StoreOptions;
use crate::view::{Layout, View};

use value::Value;

/// `--cache-size`: 10 GiB.
const DEFAULT_CACHE_SIZE: u64 = 10 << 30;

/// The options of a mount, all with a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MountSettings {
    /// Who may use the mount.
    pub access: Access,
    /// Owner of the files; `None` is the user who mounts.
    pub uid: Option<u32>,
    /// Group of the files; `None` is the group of the user who mounts.
    pub gid: Option<u32>,
    /// Permission bits of files; `None` leaves them to the tree.
    pub file_mode: Option<u16>,
    /// Permission bits of directories; `None` leaves them to the tree.
    pub dir_mode: Option<u16>,
    /// Permission bits taken away.
    pub umask: u16,
    /// Which bytes the files have.
    pub view: View,
    /// How the files lie.
    pub layout: Layout,
    /// How many of the newest versions the root lists; `None` is all.
    pub list_limit: Option<usize>,
    /// For how long an object store's newest version may be taken from memory.
    pub refresh: Duration,
    /// Directories (absolute) and URLs outside the table that data files may lie under.
    pub allow_paths: Vec<String>,
    /// Where what is made for reads is kept; `None` is the user's cache directory.
    pub cache_dir: Option<PathBuf>,
    /// How much of it is kept, bytes.
    pub cache_size: u64,
    /// The zone of time names without one.
    pub timezone: TimeZone,
    /// Where a daemon logs to.
    pub log_file: Option<PathBuf>,
    /// Use kernel passthrough where the kernel allows it.
    pub passthrough: bool,
    /// Have the kernel open files without asking. On a read-only mount only.
    pub fast_open: bool,
    /// No programs are run from the mount.
    pub no_exec: bool,
    /// Access times are not kept.
    pub no_atime: bool,
    /// Access times of directories are not kept.
    pub no_diratime: bool,
    /// What the list of mounts says is mounted; `None` is the table.
    pub fs_name: Option<String>,
    /// Where transactions are kept; `None` for the table's own directory.
    pub staging_dir: Option<PathBuf>,
    /// Nothing can be written: there is no `@staging`.
    pub read_only: bool,
    /// Options of object stores.
    pub store: StoreOptions,
}

impl Default for MountSettings {
    fn default() -> Self {
        MountSettings {
            access: Access::Owner,
            uid: None,
            gid: None,
            file_mode: None,
            dir_mode: None,
            umask: 0,
            view: View::Logical,
            layout: Layout::Flat,
            list_limit: Some(1000),
            refresh: Duration::from_secs(1),
            allow_paths: Vec::new(),
            cache_dir: None,
            cache_size: DEFAULT_CACHE_SIZE,
            timezone: TimeZone::UTC,
            log_file: None,
            passthrough: true,
            fast_open: false,
            no_exec: false,
            no_atime: false,
            no_diratime: false,
            fs_name: None,
            staging_dir: None,
            read_only: false,
            store: StoreOptions::default(),
        }
    }
}

/// A wrong option.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum OptionError {
    /// No such option.
    #[error(
        "unknown option {option:?}; known are {}, the usual options of fstab(5), and those of \
         object stores (aws_..., azure_..., google_...)",
        known::listed()
    )]
    Unknown {
        /// The option.
        option: String,
    },
    /// The option wants a value.
    #[error("option {option} needs a value: {option}={expected}")]
    MissingValue {
        /// The option.
        option: String,
        /// What the value is like.
        expected: &'static str,
    },
    /// The option takes no value.
    #[error("option {option} takes no value, found {found:?}")]
    UnexpectedValue {
        /// The option.
        option: String,
        /// Its value.
        found: String,
    },
    /// The value is wrong.
    #[error("option {option} is {found:?}; expected {expected}")]
    BadValue {
        /// The option.
        option: String,
        /// Its value.
        found: String,
        /// What is right.
        expected: &'static str,
    },
    /// Options of a commit that are wrong, or contradict each other.
    #[error("{problem}")]
    Commit {
        /// What was found and what was expected.
        problem: String,
    },
    /// Two options that exclude each other.
    #[error("options {first} and {second} exclude each other; give one")]
    Exclusive {
        /// One.
        first: &'static str,
        /// The other.
        second: &'static str,
    },
    /// `fast_open` on a mount that may be written to.
    #[error(
        "option fast_open is for read-only mounts: what is written has to be opened first; add \
         --read-only, or leave it out"
    )]
    FastOpenNotReadOnly,
    /// `remount`.
    #[error(
        "a mounted table cannot be remounted with other options; unmount it with \
         `deltafs umount` and mount it again"
    )]
    Remount,
}

/// What is done with options that nobody knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unknown {
    /// An error.
    Refused,
    /// Nothing, as mount(8) has it with `-s`.
    Ignored,
}

impl MountSettings {
    /// Takes the options of one `-o`: `key[=value]` separated by commas. In a value `\,` stands
    /// for a comma and `\\` for a backslash. Later options win.
    pub fn take(&mut self, text: &str, unknown: Unknown) -> Result<(), OptionError> {
        for word in split(text) {
            let (key, value) = match word.split_once('=') {
                Some((key, value)) => (key, Some(value)),
                None => (word.as_str(), None),
            };
            match self.set(key, value) {
                Err(OptionError::Unknown { .. }) if unknown == Unknown::Ignored => {}
                other => other?,
            }
        }
        Ok(())
    }

    /// Sets one option. Dashes and underscores in our own names are the same.
    pub fn set(&mut self, option: &str, value: Option<&str>) -> Result<(), OptionError> {
        if known::is_for_the_store(option) {
            let value = Value::new(option, value).text("VALUE")?;
            self.store.pairs.push((option.to_owned(), value));
            return Ok(());
        }
        if let Some(takes_value) = known::fstab(option) {
            return if takes_value {
                Ok(())
            } else {
                Value::new(option, value).none()
            };
        }
        let name = option.replace('-', "_");
        let value = Value::new(option, value);
        match name.as_str() {
            "ro" | "read_only" => value.none().map(|()| self.read_only = true),
            "rw" => value.none().map(|()| self.read_only = false),
            "remount" => Err(OptionError::Remount),
            "allow_other" => value.none().and_then(|()| self.allow(Access::Everyone)),
            "allow_root" => value.none().and_then(|()| self.allow(Access::OwnerAndRoot)),
            "uid" => value
                .number("a numeric user id")
                .map(|id| self.uid = Some(id)),
            "gid" => value
                .number("a numeric group id")
                .map(|id| self.gid = Some(id)),
            "file_mode" => value.mode().map(|mode| self.file_mode = Some(mode)),
            "dir_mode" => value.mode().map(|mode| self.dir_mode = Some(mode)),
            "umask" => value.mode().map(|mode| self.umask = mode),
            "view" => value
                .one_of(
                    "logical|raw",
                    &[("logical", View::Logical), ("raw", View::Raw)],
                )
                .map(|view| self.view = view),
            "layout" => value
                .one_of(
                    "flat|hive",
                    &[("flat", Layout::Flat), ("hive", Layout::Hive)],
                )
                .map(|layout| self.layout = layout),
            "list" => value.limit().map(|limit| self.list_limit = limit),
            "refresh" => value.seconds().map(|refresh| self.refresh = refresh),
            "allow_path" => value.location().map(|path| self.allow_paths.push(path)),
            "cache_dir" => value.path().map(|path| self.cache_dir = Some(path)),
            "cache_size" => value.size().map(|size| self.cache_size = size),
            "staging_dir" => value.path().map(|path| self.staging_dir = Some(path)),
            "timezone" => value.timezone().map(|zone| self.timezone = zone),
            "log_file" => value.path().map(|path| self.log_file = Some(path)),
            "no_passthrough" => value.none().map(|()| self.passthrough = false),
            "fast_open" => value.none().map(|()| self.fast_open = true),
            "fsname" => value.text("NAME").map(|name| self.fs_name = Some(name)),
            "exec" => value.none().map(|()| self.no_exec = false),
            "noexec" => value.none().map(|()| self.no_exec = true),
            "atime" | "strictatime" | "relatime" => value.none().map(|()| self.no_atime = false),
            "noatime" => value.none().map(|()| self.no_atime = true),
            "diratime" => value.none().map(|()| self.no_diratime = false),
            "nodiratime" => value.none().map(|()| self.no_diratime = true),
            _ => Err(OptionError::Unknown {
                option: option.to_owned(),
            }),
        }
    }

    fn allow(&mut self, access: Access) -> Result<(), OptionError> {
        if self.access != Access::Owner && self.access != access {
            return Err(OptionError::Exclusive {
                first: "allow_other",
                second: "allow_root",
            });
        }
        self.access = access;
        Ok(())
    }
}

/// The words of an option list. Empty ones are left out.
fn split(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        match (char, words.last_mut()) {
            (',', _) => words.push(String::new()),
            ('\\', Some(word)) => {
                let escaped = chars.next_if(|&next| next == ',' || next == '\\');
                word.push(escaped.unwrap_or('\\'));
            }
            (char, Some(word)) => word.push(char),
            (_, None) => {}
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests;
