//! The log as bytes on disk, looked at without the library.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use serde_json::Value;

/// The actions of the commits of a log, by their versions from 0.
pub struct Log(pub Vec<Vec<Value>>);

impl Log {
    /// Reads a log. Panics unless it is whole: versions without a gap, of lines that are JSON, and
    /// nothing else in the directory but what belongs there, whole too.
    pub fn read(root: &Path) -> Log {
        let directory = root.join("_delta_log");
        let mut commits = Vec::new();
        let mut others = Vec::new();
        let mut names: Vec<String> = fs::read_dir(&directory)
            .expect("a log")
            .map(|row| {
                row.expect("a row")
                    .file_name()
                    .into_string()
                    .expect("UTF-8")
            })
            .collect();
        names.sort();
        for name in names {
            match name.strip_suffix(".json") {
                Some(digits) if digits.len() == 20 => {
                    let version: usize = digits.parse().expect("a version");
                    assert_eq!(version, commits.len(), "the log has a gap before {name}");
                    commits.push(lines(&directory.join(&name)));
                }
                _ => others.push(name),
            }
        }
        for name in others {
            check_other(&directory, &name, commits.len());
        }
        Log(commits)
    }

    /// The data files that actions name, decoded.
    pub fn named(&self) -> BTreeSet<String> {
        (self.0.iter().flatten())
            .filter_map(|action| action.get("add").or(action.get("remove")))
            .map(|file| decoded(file["path"].as_str().expect("a path")))
            .collect()
    }

    /// `commitInfo.txnId` of the versions from `from`.
    pub fn ids_from(&self, from: usize) -> Vec<String> {
        let infos = self.0[from..]
            .iter()
            .map(|actions| &actions[0]["commitInfo"]["txnId"]);
        infos
            .map(|id| {
                id.as_str()
                    .expect("every commit of ours has one")
                    .to_owned()
            })
            .collect()
    }
}

fn lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).expect("a commit file");
    assert!(
        text.ends_with('\n') || text.ends_with('}'),
        "{path:?} ends early"
    );
    let lines: Vec<Value> = (text.lines())
        .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{path:?}: {e}: {line}")))
        .collect();
    assert!(!lines.is_empty(), "{path:?} is empty");
    lines
}

/// Something in the log that is no commit file.
fn check_other(directory: &Path, name: &str, commits: usize) {
    let path = directory.join(name);
    if name == "_sidecars" || name.ends_with(".deltafs.tmp") && may_be_left(directory, name) {
        return;
    }
    let bytes = fs::read(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    let json = || serde_json::from_slice::<Value>(&bytes).unwrap_or_else(|e| panic!("{name}: {e}"));
    if name == "_last_checkpoint" {
        let version = json()["version"].as_u64().expect("a version");
        let checkpoint = directory.join(format!("{version:020}.checkpoint.parquet"));
        assert!(checkpoint.is_file(), "{name} points to {checkpoint:?}");
    } else if name.ends_with(".crc") {
        assert!(json()["numFiles"].is_u64(), "{name}");
    } else if name.ends_with(".checkpoint.parquet") {
        let rows = crate::support::column(&bytes, "add");
        assert!(!rows.is_empty(), "{name}");
    } else {
        panic!("{name} does not belong into the log");
    }
    if let Ok(version) = name[..20.min(name.len())].parse::<usize>() {
        assert!(
            version < commits,
            "{name} is of a version that is not there"
        );
    }
}

/// Whether a kill may leave a temporary file: where the file system has files without names, only of
/// what replaces something and of what tries whether hard links work, for the instant between one
/// call and the next.
fn may_be_left(directory: &Path, name: &str) -> bool {
    let unnamed = (fs::OpenOptions::new().write(true))
        .custom_flags(libc::O_TMPFILE)
        .open(directory);
    name.starts_with("._last_checkpoint.") || name.starts_with(".probe.") || unnamed.is_err()
}

/// A path of the log as it is on disk.
fn decoded(path: &str) -> String {
    percent_encoding::percent_decode_str(path)
        .decode_utf8()
        .expect("UTF-8")
        .into_owned()
}
