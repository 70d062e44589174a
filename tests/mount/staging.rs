//! `@staging` through the kernel, in both ways in which it is served: a directory that programs
//! write into as into any other.

mod files;
mod marker;
mod model;
mod names;
mod tools;

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::rig::{Rig, may_mount};
use crate::support::{batch, longs, parquet};

/// Mount options for kernel passthrough, and without.
const WAYS: [&str; 2] = ["rw", "no_passthrough"];

/// Runs a test in both ways, each on a mount of its own with the transaction `t`.
fn each_way(test: impl Fn(&Staged)) {
    if !may_mount() {
        return;
    }
    for way in WAYS {
        let mut rig = Rig::new();
        rig.mount(&["-o", way]);
        let staged = Staged { rig, way };
        fs::create_dir(staged.at("")).expect("a transaction begins");
        test(&staged);
    }
}

/// A mount with the transaction `t`.
struct Staged {
    rig: Rig,
    way: &'static str,
}

impl Staged {
    /// A path in the transaction.
    fn at(&self, path: &str) -> PathBuf {
        let top = self.rig.at("@staging/t");
        if path.is_empty() { top } else { top.join(path) }
    }

    /// Writes a file that a commit takes.
    fn data(&self, name: &str) {
        let rows = parquet(&batch([("id", longs(0..10))]));
        fs::write(self.at(name), rows).expect("can be written");
    }

    /// How the transaction stands.
    fn status(&self) -> serde_json::Value {
        let text = fs::read(self.at(".status")).expect("can be read");
        serde_json::from_slice(&text).expect("JSON")
    }

    fn state(&self) -> String {
        let status = self.status();
        status["state"].as_str().expect("a state").to_owned()
    }

    /// Where a staged file lies on the disk.
    fn on_disk(&self, name: &str) -> PathBuf {
        find(&self.rig.table().join("_deltafs"), OsStr::new(name)).expect("is on the disk")
    }

    /// Runs a shell script in the transaction.
    fn sh(&self, script: &str) {
        let output = self.try_sh(script);
        assert!(
            output.status.success(),
            "{} ({}): {}",
            script,
            self.way,
            String::from_utf8_lossy(&output.stderr)
        );
    }

    fn try_sh(&self, script: &str) -> std::process::Output {
        Command::new("sh")
            .args(["-euc", script])
            .current_dir(self.at(""))
            .env("LC_ALL", "C")
            .output()
            .expect("there is a shell")
    }
}

fn find(directory: &Path, name: &OsStr) -> Option<PathBuf> {
    for row in fs::read_dir(directory).ok()? {
        let row = row.ok()?;
        if row.file_name() == name {
            return Some(row.path());
        }
        if row.file_type().ok()?.is_dir()
            && let Some(found) = find(&row.path(), name)
        {
            return Some(found);
        }
    }
    None
}

fn errno<T>(outcome: io::Result<T>) -> i32 {
    outcome
        .err()
        .and_then(|error| error.raw_os_error())
        .unwrap_or(0)
}

/// The errno of an fsync of what has a path.
fn fsync(path: &Path) -> i32 {
    errno(File::open(path).and_then(|file| file.sync_all()))
}

/// Bytes that tell where they belong.
fn pattern(size: usize) -> Vec<u8> {
    (0..size).map(|at| (at * 31 % 251) as u8).collect()
}
