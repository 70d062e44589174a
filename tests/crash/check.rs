//! What holds of a table and its transaction after a commit was cut off, wherever that was.

use std::collections::BTreeSet;
use std::path::Path;

use deltafs::errno::of_staging;
use deltafs::staging::{Staging, Transaction};

use crate::area;
use crate::case::{Template, staged_in};
use crate::log::Log;
use crate::mode::{NAME, rows_at};
use crate::rig;
use crate::worker::Answer;

/// Committed whole or absent; the staged files intact; and a retry lands once. `answers` are those
/// of whoever has committed.
pub fn after_commit(template: &Template, root: &Path, answers: &[Answer]) {
    after_commit_left(template, root, answers, Left::Nothing);
}

/// What else a commit that came to nothing may have left, once another mount has taken it over.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// Nothing.
    Nothing,
    /// Directories without anything in them, which the disk would not let go.
    Directories,
}

/// [`after_commit`], with more or less tidiness.
pub fn after_commit_left(template: &Template, root: &Path, answers: &[Answer], left: Left) {
    let mode = &template.mode;
    let found = Found::read(template, root);
    let version = match found.is_in {
        true => Some(template.versions as u64),
        false => None,
    };
    for answer in answers {
        match answer {
            Answer::Done(done) if mode.makes_version => assert_eq!(*done, version, "answered"),
            Answer::Done(_) => {}
            Answer::Failed { .. } => {}
        }
    }

    // Another mount.
    let area = area::take_over(root);
    let transaction = rig::get(&area, NAME).expect("the transaction is there again");
    assert_eq!(area.names(), [NAME]);
    let status = rig::status(&transaction);
    match (version, status["state"].as_str()) {
        (Some(version), Some("committed")) => assert_eq!(status["version"], version),
        (None, Some("committed")) if !mode.makes_version => {}
        (None, Some("open")) => {}
        (None, Some("failed")) => assert!(status["error"]["errno"].is_u64(), "{status}"),
        _ => panic!("the log says {version:?}, .status says {status}"),
    }
    check_staged(template, &transaction);
    assert_eq!(
        Found::read(template, root).is_in,
        found.is_in,
        "taking over commits nothing"
    );
    assert_eq!(
        on_disk(root),
        Log::read(root).named(),
        "data files and the log"
    );

    if left == Left::Nothing {
        assert_eq!(empty_directories(root), [""; 0], "made for data files");
    }

    // The retry.
    let expected = match mode.makes_version {
        true => template.versions as u64,
        false => 1,
    };
    for _ in 0..2 {
        assert_eq!(transaction.commit().expect("a retry lands"), expected);
    }
    check_committed(template, root, &transaction, expected);
    drop(transaction);
    area.settle();
    drop(area);
    let area = area::take_over(root);
    let transaction = rig::get(&area, NAME).expect("it is kept for those who ask again");
    assert_eq!(transaction.commit().expect("the first answer"), expected);
    check_committed(template, root, &transaction, expected);
    drop(transaction);
    check_removed(template, root, area);
}

/// How a table is found, before anybody has taken over anything.
struct Found {
    is_in: bool,
}

impl Found {
    fn read(template: &Template, root: &Path) -> Found {
        let log = Log::read(root);
        let ids: BTreeSet<String> = log.ids_from(template.versions).into_iter().collect();
        let new = log.0.len() - template.versions;
        assert_eq!(ids.len(), new, "each version has an id of its own");
        assert!(
            new <= usize::from(template.mode.makes_version),
            "{new} new versions"
        );
        let rows = match new {
            0 => template.before.clone(),
            _ => (template.mode.after)(),
        };
        assert_eq!(rows_at(root), rows, "after {new} new versions");
        Found { is_in: new == 1 }
    }
}

fn check_staged(template: &Template, transaction: &Transaction) {
    let staged = staged_in(&transaction.place());
    let names = |files: &std::collections::BTreeMap<String, Vec<u8>>| -> Vec<String> {
        files.keys().cloned().collect()
    };
    assert_eq!(names(&staged), names(&template.staged), "staged files");
    for (path, content) in &template.staged {
        assert!(
            staged[path] == *content,
            "the content of {path} has changed"
        );
    }
}

fn check_committed(template: &Template, root: &Path, transaction: &Transaction, version: u64) {
    let found = Found::read(template, root);
    assert_eq!(found.is_in, template.mode.makes_version);
    assert_eq!(rig::status(transaction)["version"], version);
    let refused = transaction
        .modify()
        .map(drop)
        .expect_err("committed files stay as they are");
    assert_eq!(of_staging(&refused), libc::EROFS);
    check_staged(template, transaction);
    assert_eq!(
        on_disk(root),
        Log::read(root).named(),
        "data files and the log"
    );
}

/// Removing the transaction leaves the version as it is.
fn check_removed(template: &Template, root: &Path, area: Staging) {
    let place = rig::get(&area, NAME).expect("it is there").place();
    for row in std::fs::read_dir(place).expect("can be listed") {
        let path = row.expect("a row").path();
        let removed = match path.is_dir() {
            true => std::fs::remove_dir_all(path),
            false => std::fs::remove_file(path),
        };
        removed.expect("can be removed");
    }
    area.remove(NAME.as_ref()).expect("it is empty");
    assert_eq!(area::directories(root), 0);
    Found::read(template, root);
}

/// The directories below the root in which there is nothing, but those of the log and the staging
/// area.
fn empty_directories(root: &Path) -> Vec<String> {
    let mut empty = Vec::new();
    let mut next = vec![root.to_owned()];
    while let Some(directory) = next.pop() {
        let rows = std::fs::read_dir(&directory).expect("can be listed");
        let paths: Vec<_> = rows.map(|row| row.expect("a row").path()).collect();
        if paths.is_empty() {
            empty.push(directory.display().to_string());
        }
        let below = (paths.into_iter()).filter(|path| {
            path.is_dir() && !path.ends_with("_deltafs") && !path.ends_with("_delta_log")
        });
        next.extend(below);
    }
    empty
}

/// The directories in which there are data files.
pub fn directories_of_data(root: &Path) -> BTreeSet<String> {
    let paths = on_disk(root).into_iter();
    let directories = paths.filter_map(|path| Some(path.rsplit_once('/')?.0.to_owned()));
    directories.collect()
}

/// The data files below the root, whoever made them.
pub fn on_disk(root: &Path) -> BTreeSet<String> {
    rig::files_below(root).into_iter().collect()
}
