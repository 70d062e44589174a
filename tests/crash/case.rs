//! One run of the program on a fresh copy of a table.

use std::collections::BTreeMap;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::area;
use crate::log::Log;
use crate::mode::{Mode, NAME, Row, rows_at};
use crate::rig;
use crate::support::TableBuilder;
use crate::tracer::{self, Observer, Plan, Trace};
use crate::worker::{self, Answer, Job};

/// A table with a transaction that is ready to be committed.
pub struct Template {
    /// The kind of commit.
    pub mode: Mode,
    table: TableBuilder,
    /// How many versions there are.
    pub versions: usize,
    /// The rows of the newest.
    pub before: Vec<Row>,
    /// The staged files, with the marker.
    pub staged: BTreeMap<String, Vec<u8>>,
}

impl Template {
    /// For a kind of commit.
    pub fn new(mode: Mode) -> Template {
        let table = mode.prepare();
        let area = area::take_over(&table.root());
        let transaction = rig::get(&area, NAME).expect("it was begun");
        Template {
            versions: Log::read(&table.root()).0.len(),
            before: rows_at(&table.root()),
            staged: staged_in(&transaction.place()),
            mode,
            table,
        }
    }

    /// The table, which is not to be changed.
    pub fn root(&self) -> PathBuf {
        self.table.root()
    }
}

/// The files below a directory and their contents.
pub fn staged_in(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = rig::files_below(directory).into_iter();
    files
        .map(|path| {
            let content = fs::read(directory.join(&path)).expect("it is listed");
            (path, content)
        })
        .collect()
}

/// A directory with a table, and, beside it, what programs say.
pub struct Site {
    directory: TempDir,
    root: PathBuf,
    mounted: bool,
}

impl Drop for Site {
    fn drop(&mut self) {
        if self.mounted {
            // Lazily: after a panic something may still be open.
            let _ = Command::new("umount")
                .arg("-l")
                .arg(self.root.join("_deltafs"))
                .status();
        }
    }
}

impl Site {
    /// With a copy of the table at `from`.
    pub fn copy_of(from: &Path) -> Site {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let root = directory.path().join("table");
        area::copy(from, &root);
        Site {
            directory,
            root,
            mounted: false,
        }
    }

    /// Whether [`Site::on_two_disks`] can be had; else, says so.
    pub fn may_mount() -> bool {
        let own = fs::metadata("/proc/self").expect("there is a process");
        let is_root = std::os::unix::fs::MetadataExt::uid(&own) == 0;
        if !is_root {
            eprintln!("skipped: mounting a second disk needs root");
        }
        is_root
    }

    /// [`Site::copy_of`], the staging area on a disk of its own: nothing can be linked from there.
    pub fn on_two_disks(from: &Path) -> Site {
        let mut site = Site::copy_of(from);
        let staging = site.root.join("_deltafs");
        let kept = site.directory.path().join("kept");
        fs::rename(&staging, &kept).expect("on one disk so far");
        fs::create_dir(&staging).expect("it was moved away");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=16m", "tmpfs"])
            .arg(&staging)
            .status();
        site.mounted = mounted.is_ok_and(|status| status.success());
        assert!(site.mounted, "tmpfs can be mounted");
        area::copy(&kept, &staging);
        site
    }

    /// With a table elsewhere.
    pub fn at(root: &Path) -> Site {
        Site {
            directory: tempfile::tempdir().expect("a temporary directory"),
            root: root.to_owned(),
            mounted: false,
        }
    }

    /// The table.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Has the program do a job.
    pub fn run(&self, job: Job, plan: Plan, observer: Option<Observer<'_>>) -> Trace {
        let messages = (fs::OpenOptions::new().create(true).append(true))
            .open(self.messages())
            .expect("a file for messages");
        let mut command = worker::command(job, &self.root, &self.answers_path(), messages);
        self.checked(("run", job, plan), || {
            let trace = tracer::run(&mut command, &self.root, plan, observer);
            assert!(
                matches!(trace.code, None | Some(0)),
                "it ended badly: {trace:?}"
            );
            trace
        })
    }

    /// What the program has answered so far.
    pub fn answers(&self) -> Vec<Answer> {
        let text = fs::read_to_string(self.answers_path()).unwrap_or_default();
        let lines = text.lines();
        lines
            .map(|line| serde_json::from_str(line).expect("an answer"))
            .collect()
    }

    /// Runs `check`; when it panics, tells of what, and what the program said.
    pub fn checked<T>(&self, what: impl std::fmt::Debug, check: impl FnOnce() -> T) -> T {
        catch_unwind(AssertUnwindSafe(check)).unwrap_or_else(|panic| {
            let messages = fs::read_to_string(self.messages()).unwrap_or_default();
            eprintln!(
                "this was {what:#?}; answers: {:#?}; messages:\n{messages}",
                self.answers()
            );
            resume_unwind(panic)
        })
    }

    fn messages(&self) -> PathBuf {
        self.directory.path().join("messages")
    }

    fn answers_path(&self) -> PathBuf {
        self.directory.path().join("answers")
    }
}

/// Those of 1 to `count` that are tried: all of them, or about `most`, spread evenly and with both
/// ends.
pub fn chosen(count: usize, most: usize) -> Vec<usize> {
    let all = std::env::var("DELTAFS_CRASH").is_ok_and(|value| value == "all");
    if all || count <= most {
        return (1..=count).collect();
    }
    (0..most)
        .map(|step| 1 + step * (count - 1) / (most - 1))
        .collect()
}
