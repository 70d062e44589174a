//! A mount as the kernel uses it: counts look-ups, holds handles, reads listings in pieces.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use deltafs::errno::{Errno, of_snapshot, of_tree};
use deltafs::snapshot::Table;
use deltafs::storage::{StoreOptions, TableRoots, open_store};
use deltafs::tree::{
    Attr, DirEntry, Entry, Ino, NodeKind, Opened, ROOT_INO, Tree, TreeError, TreeOptions,
};
use deltafs::view::ViewOptions;

use super::reference::{Content, LogicalFile, Mode};

/// What a call answers.
pub type Answer<T> = Result<T, Errno>;

/// What is wrong, in words: the property that does not hold.
pub type Fault = String;

/// Ends a check with a [`Fault`] unless `condition` holds.
macro_rules! ensure {
    ($condition:expr, $($message:tt)+) => {
        if !$condition {
            return Err(format!($($message)+));
        }
    };
}
pub(crate) use ensure;

/// A row of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    pub name: String,
    pub ino: Ino,
    pub kind: NodeKind,
    pub next_offset: u64,
}

impl Row {
    fn of(row: &DirEntry<'_>) -> Row {
        Row {
            name: row.name.to_str().expect("text").to_owned(),
            ino: row.ino,
            kind: row.kind,
            next_offset: row.next_offset,
        }
    }
}

struct KeptFile {
    handle: u64,
    bytes: Vec<u8>,
}

struct KeptDirectory {
    handle: u64,
    /// All rows, as they were when it was opened.
    rows: Vec<Row>,
    /// How many of them were read.
    read: usize,
}

/// A name that `@latest` has listed.
#[derive(Debug, Clone)]
pub struct Shown {
    pub file: LogicalFile,
    pub version: u64,
    pub schema: usize,
    /// How often the log had been replaced by then.
    pub replaced: usize,
}

/// See the module.
pub struct Mount {
    pub tree: Tree,
    lookups: HashMap<Ino, u64>,
    files: Vec<KeptFile>,
    directories: Vec<KeptDirectory>,
    /// Whether the log did anything but grow since.
    pub disturbed: bool,
    /// How often it may have been taken for another log.
    pub replaced: usize,
    /// What each inode of a file stands for: a table and a path below a version directory.
    pub meanings: HashMap<Ino, (usize, String)>,
    /// The inodes that were met of each such path.
    pub inos: HashMap<(usize, String), BTreeSet<Ino>>,
    /// What `@latest` has listed of each table.
    pub shown: BTreeMap<(usize, String), Shown>,
    /// The inodes that version directories had, by table and version.
    pub version_directories: BTreeMap<(usize, u64), BTreeSet<Ino>>,
}

impl Mount {
    /// Mounts what is at `root`.
    pub fn new(root: &Path, mode: Mode) -> Answer<Mount> {
        let options = StoreOptions::default();
        let root = root
            .to_str()
            .expect("temporary directories have plain names");
        let store = open_store(root, &options).map_err(|_| libc::ENOENT)?;
        let roots = TableRoots::new(store, &[], &options).expect("no other prefixes");
        let table = Table::open(roots, Duration::ZERO).map_err(|error| of_snapshot(&error))?;
        let options = TreeOptions {
            view: ViewOptions {
                view: mode.view(),
                layout: mode.layout(),
                ..ViewOptions::default()
            },
            ..TreeOptions::default()
        };
        Ok(Mount {
            tree: Tree::new(Arc::new(table), options),
            lookups: HashMap::new(),
            files: Vec::new(),
            directories: Vec::new(),
            disturbed: false,
            replaced: 0,
            meanings: HashMap::new(),
            inos: HashMap::new(),
            shown: BTreeMap::new(),
            version_directories: BTreeMap::new(),
        })
    }

    pub fn lookup(&mut self, parent: Ino, name: &str) -> Answer<Entry> {
        let entry = self
            .tree
            .lookup(parent, OsStr::new(name))
            .map_err(|error| of_tree(&error))?;
        *self.lookups.entry(entry.attr.ino).or_default() += 1;
        Ok(entry)
    }

    /// Looks up a path below a directory, name by name.
    pub fn lookup_path(&mut self, directory: Ino, path: &str) -> Answer<Entry> {
        let mut names = path.split('/');
        let mut entry = self.lookup(directory, names.next().unwrap_or_default())?;
        for name in names {
            entry = self.lookup(entry.attr.ino, name)?;
        }
        Ok(entry)
    }

    /// The directories that a name in the root leads to.
    pub fn directory(&mut self, name: &str) -> Answer<Ino> {
        Ok(self.lookup(ROOT_INO, name)?.attr.ino)
    }

    fn rows(&self, handle: u64, offset: u64, most: usize) -> Answer<Vec<Row>> {
        let mut rows = Vec::new();
        let read = self.tree.readdir(handle, offset, false, &mut |row| {
            if rows.len() == most {
                return ControlFlow::Break(());
            }
            rows.push(Row::of(row));
            ControlFlow::Continue(())
        });
        read.map_err(|error| of_tree(&error))?;
        Ok(rows)
    }

    /// The same by `readdirplus`.
    fn rows_plus(&mut self, handle: u64, most: usize) -> Result<Vec<Row>, Fault> {
        let mut rows = Vec::new();
        let mut entries = Vec::new();
        let read = self.tree.readdir(handle, 0, true, &mut |row| {
            if rows.len() == most {
                return ControlFlow::Break(());
            }
            rows.push(Row::of(row));
            entries.push(row.entry);
            ControlFlow::Continue(())
        });
        ensure!(
            read.is_ok(),
            "readdirplus fails where readdir does not: {read:?}"
        );
        for (row, entry) in rows.iter().zip(entries) {
            let Some(entry) = entry else { continue };
            *self.lookups.entry(entry.attr.ino).or_default() += 1;
            ensure!(
                entry.attr.ino == row.ino && entry.attr.kind == row.kind,
                "the row {row:?} comes with the entry {entry:?}"
            );
            let stat = self
                .tree
                .getattr(row.ino)
                .map_err(|error| error.to_string())?;
            // Where telling more than number and kind takes work, the kernel is told to ask again.
            let is_bare = entry.attr_ttl.is_zero() && stat.attr.kind == entry.attr.kind;
            // A name that promises the file's own bytes comes with their number, until somebody looks.
            let is_promise = !row.name.contains('~')
                && Entry {
                    attr: Attr {
                        size: stat.attr.size,
                        ..entry.attr
                    },
                    ..entry
                } == stat;
            ensure!(
                is_bare || is_promise || stat == entry,
                "{row:?}: readdirplus {entry:?}, stat {stat:?}"
            );
        }
        Ok(rows)
    }

    /// The rows of a directory without `.` and `..`, read in every way that there is.
    pub fn list(&mut self, directory: Ino) -> Result<Answer<Vec<Row>>, Fault> {
        let handle = match self.tree.opendir(directory) {
            Ok(handle) => handle,
            Err(error) => return Ok(Err(of_tree(&error))),
        };
        let all = self
            .rows(handle, 0, usize::MAX)
            .map_err(|e| format!("readdir: errno {e}"))?;
        let dots: Vec<&str> = all.iter().take(2).map(|row| row.name.as_str()).collect();
        ensure!(dots == [".", ".."], "a listing begins with {dots:?}");
        ensure!(
            all[0].ino == directory,
            "`.` of {directory:#x} is {:#x}",
            all[0].ino
        );
        for (at, row) in all.iter().enumerate() {
            let rest = self.rows(handle, row.next_offset, usize::MAX);
            ensure!(
                rest.as_deref() == Ok(&all[at + 1..]),
                "resumed behind {row:?} the listing {all:?} goes on with {rest:?}"
            );
            let start = self.rows(handle, 0, at);
            ensure!(
                start.as_deref() == Ok(&all[..at]),
                "the first {at} of {all:?} are {start:?}"
            );
        }
        let end = all.last().map_or(0, |row| row.next_offset);
        for beyond in [end + 1, u64::from(u32::MAX), 1 << 40, u64::MAX] {
            let rows = self.rows(handle, beyond, usize::MAX);
            ensure!(
                rows == Ok(vec![]),
                "behind the end, at {beyond}, there is {rows:?}"
            );
        }
        for most in [all.len() / 2, usize::MAX] {
            let plus = self.rows_plus(handle, most)?;
            ensure!(
                plus == all[..all.len().min(most)],
                "readdir {all:?}, readdirplus {plus:?}"
            );
        }
        self.tree.releasedir(handle);
        let after = self.rows(handle, 0, usize::MAX);
        ensure!(
            after == Err(libc::EBADF),
            "a closed directory answers {after:?}"
        );
        Ok(Ok(all[2..].to_vec()))
    }

    /// The files below a directory, by their paths.
    pub fn walk(&mut self, top: Ino) -> Result<Answer<BTreeMap<String, Ino>>, Fault> {
        let mut files = BTreeMap::new();
        let mut left = vec![(String::new(), top)];
        while let Some((path, directory)) = left.pop() {
            let rows = match self.list(directory)? {
                Ok(rows) => rows,
                Err(errno) if path.is_empty() => return Ok(Err(errno)),
                Err(errno) => {
                    return Err(format!("{path:?} was listed, listing it: errno {errno}"));
                }
            };
            ensure!(
                !rows.is_empty() || path.is_empty(),
                "{path:?} is empty, but was listed"
            );
            for row in rows {
                let child = format!("{path}{}", row.name);
                match row.kind {
                    NodeKind::Directory => {
                        let entry = self.lookup(directory, &row.name);
                        ensure!(
                            entry.is_ok_and(|entry| entry.attr.ino == row.ino
                                && entry.attr.kind == NodeKind::Directory),
                            "{child:?} was listed as {row:?}, its look-up: {entry:?}"
                        );
                        left.push((child + "/", row.ino));
                    }
                    NodeKind::File => {
                        let before = files.insert(child, row.ino);
                        ensure!(before.is_none(), "{path}{} is listed twice", row.name);
                    }
                    NodeKind::Symlink => return Err(format!("{child:?} is a symlink")),
                }
            }
        }
        Ok(Ok(files))
    }

    /// Opens a file as the kernel does: where the size that it was told is not the file's, it asks
    /// once more.
    fn open(&self, ino: Ino) -> Answer<Opened> {
        let opened = self.tree.open(ino).or_else(|error| match error {
            TreeError::OtherSize(_) => {
                self.tree.getattr(ino)?;
                self.tree.open(ino)
            }
            other => Err(other),
        });
        opened.map_err(|error| of_tree(&error))
    }

    /// The bytes of a file, opened for the purpose.
    pub fn read_file(&mut self, ino: Ino) -> Result<Answer<Vec<u8>>, Fault> {
        let opened = match self.open(ino) {
            Ok(opened) => opened,
            Err(errno) => return Ok(Err(errno)),
        };
        let read = self.read_handle(opened.handle);
        self.tree.release(opened.handle);
        let after = self
            .tree
            .read(opened.handle, &mut [0], 0)
            .map_err(|error| of_tree(&error));
        ensure!(after == Err(libc::EBADF), "a closed file answers {after:?}");
        read.map(Ok)
    }

    fn read_handle(&self, handle: u64) -> Result<Vec<u8>, Fault> {
        let read = |buffer: &mut [u8], offset| {
            let count = self.tree.read(handle, buffer, offset);
            count.map_err(|error| format!("reading an open file: {error}"))
        };
        let mut bytes = vec![0; 1 << 16];
        let size = read(&mut bytes, 0)?;
        bytes.truncate(size);
        ensure!(size < 1 << 16, "no file here is that large");
        let mut part = [0; 100];
        let middle = size / 2;
        let count = read(&mut part, middle as u64)?;
        let expected = &bytes[middle..size.min(middle + 100)];
        ensure!(
            &part[..count] == expected,
            "the middle of a file reads otherwise than all of it"
        );
        for beyond in [size as u64, u64::from(u32::MAX), i64::MAX as u64] {
            let count = read(&mut part, beyond)?;
            ensure!(count == 0, "{count} bytes behind the end, at {beyond}");
        }
        Ok(bytes)
    }

    /// Opens a file and keeps it open.
    pub fn keep_file(&mut self, ino: Ino, content: &Content) -> Result<(), Fault> {
        let opened = self.open(ino).map_err(|errno| format!("errno {errno}"))?;
        let bytes = self.read_handle(opened.handle)?;
        if let Some(difference) = content.difference(&bytes) {
            return Err(difference);
        }
        self.files.push(KeptFile {
            handle: opened.handle,
            bytes,
        });
        Ok(())
    }

    /// Reads one of the files kept open.
    pub fn read_kept_file(&self, number: u8) -> Result<(), Fault> {
        let at = usize::from(number).checked_rem(self.files.len());
        let Some(file) = at.map(|at| &self.files[at]) else {
            return Ok(());
        };
        let bytes = self.read_handle(file.handle)?;
        ensure!(
            bytes == file.bytes,
            "a file kept open has other bytes than when it was opened"
        );
        Ok(())
    }

    pub fn close_file(&mut self, number: u8) {
        if let Some(at) = usize::from(number).checked_rem(self.files.len()) {
            let file = self.files.swap_remove(at);
            self.tree.release(file.handle);
        }
    }

    /// Opens a directory, reads some rows, and keeps it open.
    pub fn keep_directory(&mut self, ino: Ino, rows: u8) -> Result<Answer<()>, Fault> {
        let handle = match self.tree.opendir(ino) {
            Ok(handle) => handle,
            Err(error) => return Ok(Err(of_tree(&error))),
        };
        let rows_now = self
            .rows(handle, 0, usize::MAX)
            .map_err(|e| format!("readdir: errno {e}"))?;
        self.directories.push(KeptDirectory {
            handle,
            read: usize::from(rows) % (rows_now.len() + 1),
            rows: rows_now,
        });
        Ok(Ok(()))
    }

    /// Goes on reading one of the directories kept open, by one row or to the end.
    pub fn read_kept_directory(&mut self, number: u8) -> Result<(), Fault> {
        let Some(at) = usize::from(number).checked_rem(self.directories.len()) else {
            return Ok(());
        };
        let directory = &self.directories[at];
        let offset = directory
            .read
            .checked_sub(1)
            .map_or(0, |at| directory.rows[at].next_offset);
        let most = if number.is_multiple_of(2) {
            1
        } else {
            usize::MAX
        };
        let rows = self.rows(directory.handle, offset, most);
        let end = directory
            .read
            .saturating_add(most)
            .min(directory.rows.len());
        let expected = &directory.rows[directory.read..end];
        ensure!(
            rows.as_deref() == Ok(expected),
            "a directory kept open goes on with {rows:?}, it was opened with {expected:?}"
        );
        self.directories[at].read = end;
        Ok(())
    }

    pub fn close_directory(&mut self, number: u8) {
        if let Some(at) = usize::from(number).checked_rem(self.directories.len()) {
            let directory = self.directories.swap_remove(at);
            self.tree.releasedir(directory.handle);
        }
    }

    /// Forgets an inode, by one call or by one for each look-up.
    pub fn forget(&mut self, ino: Ino) {
        if let Some(count) = self.lookups.remove(&ino) {
            if ino.is_multiple_of(2) {
                self.tree.forget(ino, count);
            } else {
                (0..count).for_each(|_| self.tree.forget(ino, 1));
            }
            for inos in self.version_directories.values_mut() {
                inos.remove(&ino);
            }
        }
    }

    /// The inodes that the kernel knows, in some fixed order.
    pub fn known(&self) -> Vec<Ino> {
        let mut known: Vec<Ino> = self.lookups.keys().copied().collect();
        known.sort_unstable();
        known
    }

    /// Closes and forgets everything. Then nothing may be left.
    pub fn unmount(mut self) -> Result<(), Fault> {
        for at in 0..self.files.len() {
            self.read_kept_file(at as u8)?;
        }
        for at in 0..self.directories.len() {
            self.read_kept_directory(at as u8)?;
        }
        while !self.files.is_empty() {
            self.close_file(0);
        }
        while !self.directories.is_empty() {
            self.close_directory(0);
        }
        let known = self.known();
        let metrics = self.metrics()?;
        let expected = self.known().iter().filter(|ino| **ino > 16).count();
        ensure!(
            metrics["deltafs_inodes"] == expected as u64,
            "the kernel knows {expected} inodes, the tree {}",
            metrics["deltafs_inodes"]
        );
        for ino in self.known() {
            self.forget(ino);
        }
        let metrics = self.metrics()?;
        for what in [
            "deltafs_inodes",
            "deltafs_file_handles",
            "deltafs_dir_handles",
        ] {
            ensure!(
                metrics[what] == 0,
                "all is closed and forgotten, {what} is {}",
                metrics[what]
            );
        }
        for ino in known.into_iter().filter(|ino| *ino > 16) {
            let stat = self.tree.getattr(ino).map_err(|error| of_tree(&error));
            ensure!(
                stat == Err(libc::ESTALE),
                "stat of a forgotten inode: {stat:?}"
            );
        }
        Ok(())
    }

    /// `@info/metrics`.
    fn metrics(&mut self) -> Result<BTreeMap<String, u64>, Fault> {
        let info = self
            .directory("@info")
            .map_err(|errno| format!("@info: errno {errno}"))?;
        let file = self
            .lookup(info, "metrics")
            .map_err(|errno| format!("metrics: errno {errno}"))?;
        let text = self
            .read_file(file.attr.ino)?
            .map_err(|errno| format!("metrics: errno {errno}"))?;
        self.forget(file.attr.ino);
        self.forget(info);
        let text = String::from_utf8(text).map_err(|error| error.to_string())?;
        let rows = text.lines().filter(|line| !line.starts_with('#'));
        let rows = rows.filter_map(|line| line.split_once(' '));
        Ok(rows
            .filter_map(|(name, value)| Some((name.to_owned(), value.parse().ok()?)))
            .collect())
    }
}
