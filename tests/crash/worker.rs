//! The program that is traced: this test binary, told by its environment what to do.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use deltafs::base::Version;
use deltafs::errno::of_staging;
use deltafs::staging::{Staging, StagingError};
use deltafs::tree::{ROOT_INO, Tree, TreeOptions};
use serde::{Deserialize, Serialize};

use crate::mode::{NAME, Row, mode, rows_at};
use crate::rig;
use crate::tracer::{ANSWERED, GO};

const JOB: &str = "DELTAFS_CRASH_JOB";
const TABLE: &str = "DELTAFS_CRASH_TABLE";
const ANSWERS: &str = "DELTAFS_CRASH_ANSWERS";

/// What the program is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Job {
    /// Take the transaction over and commit it; when that fails, say how the table is, and commit
    /// again.
    Commit,
    /// Begin another transaction; again when that fails.
    Begin,
    /// Remove the transaction, which has no files; again when that fails.
    Remove,
    /// Take over what is there.
    Recover,
    /// Commit both transactions, at once.
    Pair,
    /// Commit the transaction; when that fails, end.
    Once,
    /// Have the disk take a staged file, by an fsync of its own.
    Sync,
}

const JOBS: [(Job, &str); 7] = [
    (Job::Once, "once"),
    (Job::Sync, "sync"),
    (Job::Pair, "pair"),
    (Job::Commit, "commit"),
    (Job::Begin, "begin"),
    (Job::Remove, "remove"),
    (Job::Recover, "recover"),
];

/// What the program said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// It is done; as a version, where it makes one.
    Done(Option<Version>),
    /// It is not.
    Failed {
        /// Delta's name, as in `.status`.
        name: String,
        /// The message.
        message: String,
        /// What a system call through the mount would answer.
        errno: i32,
        /// The rows of the table right after.
        rows: Vec<Row>,
        /// Where it is in doubt: what whoever changes a staged file then is answered, 0 for yes.
        modify: Option<i32>,
    },
}

/// The second transaction's name.
pub const SECOND: &str = "b2";

/// The command that does a job on the table at `root`, with its answers in a file.
pub fn command(job: Job, root: &Path, answers: &Path, messages: std::fs::File) -> Command {
    let own = std::env::current_exe().expect("a program has a path");
    let (_, name) = JOBS
        .iter()
        .find(|(known, _)| *known == job)
        .expect("it is listed");
    let mut command = Command::new(own);
    command
        .args(["--exact", "worker::commits_when_nothing_goes_wrong"])
        .args(["--test-threads", "1", "--nocapture", "--quiet"])
        .env(JOB, name)
        .env(TABLE, root)
        .env(ANSWERS, answers)
        .stdin(Stdio::null())
        .stdout(messages.try_clone().expect("a descriptor"))
        .stderr(messages);
    command
}

/// Without a job in the environment, a plain commit, in this process.
#[test]
fn commits_when_nothing_goes_wrong() {
    let Ok(name) = std::env::var(JOB) else {
        let mode = mode("append");
        let table = mode.prepare();
        // Tests beside this one start programs: between fork and exec these have the lock of the
        // transaction open as well, and until then it is not taken over.
        let (_area, transaction) = (0..200)
            .find_map(|_| {
                let area = rig::staging(&table.root());
                let found = rig::get(&area, NAME);
                if found.is_none() {
                    std::thread::sleep(Duration::from_millis(50));
                }
                Some((area, found?))
            })
            .expect("it was begun");
        assert_eq!(transaction.commit().expect("it can be committed"), 3);
        assert_eq!(rows_at(&table.root()), (mode.after)());
        return;
    };
    let (job, _) = JOBS
        .iter()
        .find(|(_, known)| *known == name)
        .expect("a job");
    let place = |name: &str| PathBuf::from(std::env::var_os(name).expect("a path"));
    work(*job, &place(TABLE), &place(ANSWERS));
}

fn work(job: Job, root: &Path, answers: &Path) {
    let say = |answer: &Answer| {
        let mut file = (OpenOptions::new().append(true).create(true))
            .open(answers)
            .expect("a file for answers");
        let line = serde_json::to_string(answer).expect("JSON") + "\n";
        file.write_all(line.as_bytes()).expect("can be written");
    };
    let failed = |error: &StagingError, modify| Answer::Failed {
        name: error.delta_name(),
        message: error.to_string(),
        errno: of_staging(error),
        rows: rows_at(root),
        modify,
    };
    if job == Job::Recover {
        let table = rig::open(root);
        signal(GO);
        let area = rig::staging_of(table);
        signal(ANSWERED);
        say(&Answer::Done(None));
        area.settle();
        return;
    }
    let area = rig::staging(root);
    if job == Job::Sync {
        let tree = tree_of(root, area);
        let names = ["@staging", NAME, "x.parquet"];
        let file = names.iter().fold(ROOT_INO, |parent, name| {
            let found = tree.lookup(parent, name.as_ref());
            found.expect("it is staged").attr.ino
        });
        let opened = tree.open(file).expect("it is a file");
        signal(GO);
        // What it says is not the point.
        let _ = tree.fsync(file, opened.handle, false);
        signal(ANSWERED);
        return;
    }
    if job == Job::Pair {
        signal(GO);
        std::thread::scope(|scope| {
            for name in [NAME, SECOND] {
                let transaction = rig::get(&area, name).expect("it was begun");
                scope.spawn(move || transaction.commit().expect("they are in nobody's way"));
            }
        });
        signal(ANSWERED);
        say(&Answer::Done(None));
        area.settle();
        return;
    }
    let mut signals = [GO, ANSWERED].into_iter();
    let mut next_signal = || signals.next().into_iter().for_each(signal);
    let attempt = || match job {
        Job::Commit | Job::Once => rig::get(&area, NAME)
            .expect("it was begun")
            .commit()
            .map(Some),
        Job::Begin => rig::begin(&area, SECOND).map(|_| None),
        Job::Remove => area.remove(NAME.as_ref()).map(|()| None),
        Job::Recover | Job::Pair | Job::Sync => unreachable!("done above"),
    };
    next_signal();
    let mut result = attempt();
    next_signal();
    if let Err(error) = &result {
        let in_doubt = matches!(error, StagingError::Unknown { .. });
        let modify = in_doubt.then(|| {
            let transaction = rig::get(&area, NAME).expect("it is there");
            transaction
                .modify()
                .map_or_else(|error| of_staging(&error), |_| 0)
        });
        say(&failed(error, modify));
        if job == Job::Once {
            return;
        }
        result = attempt();
    }
    match &result {
        Ok(version) => say(&Answer::Done(*version)),
        Err(error) => say(&failed(error, None)),
    }
    area.settle();
}

/// As a mount has it.
fn tree_of(root: &Path, area: Staging) -> Tree {
    let options = TreeOptions {
        staging: Some(Arc::new(area)),
        ..TreeOptions::default()
    };
    Tree::new(rig::open(root), options)
}

/// Tells the tracer.
fn signal(number: i32) {
    // SAFETY: the tracer takes the signal away.
    unsafe { libc::raise(number) };
}
