//! The table's files, as other people's writers and accidents change them.

use std::fs;
use std::path::{Path, PathBuf};

use deltafs::base::clock::ms_to_system_time;
use tempfile::TempDir;

use super::support::{Action, parquet_of};

/// What became of a file of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Damage {
    /// No byte is left.
    Empty,
    /// It ends in the middle of a line.
    CutOff,
    /// Other bytes.
    Garbage,
}

impl Damage {
    pub fn numbered(number: u8) -> Damage {
        [Damage::Empty, Damage::CutOff, Damage::Garbage][usize::from(number % 3)]
    }

    fn apply(self, bytes: &[u8]) -> Vec<u8> {
        match self {
            Damage::Empty => Vec::new(),
            Damage::CutOff => {
                let mut end = bytes.len() * 2 / 3;
                // A whole line would be missed by nobody.
                while end > 0 && bytes[end - 1..=end].contains(&b'\n') {
                    end -= 1;
                }
                bytes[..end].to_vec()
            }
            Damage::Garbage => vec![b'#'; bytes.len()],
        }
    }
}

/// A directory with a table in it.
pub struct Disk {
    directory: TempDir,
}

impl Disk {
    pub fn new() -> Disk {
        let disk = Disk {
            directory: tempfile::tempdir().expect("a temporary directory"),
        };
        disk.make_table();
        disk
    }

    pub fn root(&self) -> PathBuf {
        self.directory.path().join("table")
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root().join(path)
    }

    fn log(&self, name: &str) -> PathBuf {
        self.path("_delta_log").join(name)
    }

    fn commit_path(&self, version: u64) -> PathBuf {
        self.log(&format!("{version:020}.json"))
    }

    fn checkpoint_path(&self, version: u64) -> PathBuf {
        self.log(&format!("{version:020}.checkpoint.parquet"))
    }

    /// An empty table directory.
    pub fn make_table(&self) {
        fs::create_dir_all(self.path("_delta_log")).expect("a directory can be made");
    }

    /// Drops the table: all that is in its directory, and, unless `keep_root`, the directory too.
    pub fn drop_table(&self, keep_root: bool) {
        if !keep_root {
            return fs::remove_dir_all(self.root()).expect("the table is there");
        }
        for entry in fs::read_dir(self.root()).expect("the table is there") {
            let path = entry.expect("an entry").path();
            let removed = if path.is_dir() {
                fs::remove_dir_all(&path)
            } else {
                fs::remove_file(&path)
            };
            removed.expect("the entry is there");
        }
    }

    pub fn write_data(&self, path: &str, bytes: &[u8]) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("it lies in the table")).expect("a directory");
        replace(&path, bytes, None);
    }

    pub fn remove_data(&self, path: &str) {
        fs::remove_file(self.path(path)).expect("the data file is there");
    }

    /// Writes a commit file, made at `time` (milliseconds since the epoch).
    pub fn write_commit(&self, version: u64, actions: &[Action], time: i64) {
        replace(&self.commit_path(version), &lines(actions), Some(time));
    }

    /// The same, but it came to harm.
    pub fn write_damaged_commit(&self, version: u64, actions: &[Action], time: i64, harm: Damage) {
        replace(
            &self.commit_path(version),
            &harm.apply(&lines(actions)),
            Some(time),
        );
    }

    pub fn write_checkpoint(&self, version: u64, actions: &[Action]) {
        replace(&self.checkpoint_path(version), &parquet_of(actions), None);
    }

    pub fn damage_checkpoint(&self, version: u64, harm: Damage) {
        let path = self.checkpoint_path(version);
        let bytes = fs::read(&path).expect("the checkpoint is there");
        replace(&path, &harm.apply(&bytes), None);
    }

    pub fn remove_commit(&self, version: u64) {
        fs::remove_file(self.commit_path(version)).expect("the commit file is there");
    }

    pub fn remove_checkpoint(&self, version: u64) {
        fs::remove_file(self.checkpoint_path(version)).expect("the checkpoint is there");
    }
}

fn lines(actions: &[Action]) -> Vec<u8> {
    let lines: String = actions
        .iter()
        .map(|action| action.to_line() + "\n")
        .collect();
    lines.into_bytes()
}

/// Puts a file in its place in one step, as writers do.
fn replace(path: &Path, bytes: &[u8], time: Option<i64>) {
    let beside = path.with_extension("tmp");
    fs::write(&beside, bytes).expect("the disk takes a small file");
    if let Some(time) = time {
        let file = fs::File::options()
            .write(true)
            .open(&beside)
            .expect("it was just written");
        file.set_modified(ms_to_system_time(time))
            .expect("an own file");
    }
    fs::rename(&beside, path).expect("both lie in one directory");
}
