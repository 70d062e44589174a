//! Listings while another process commits as fast as it can.
//!
//! Each commit replaces all files of the table by a batch of new ones whose names carry the number
//! of the batch, which is the version: a listing that is not of one version shows.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use deltafs::errno::of_tree;
use deltafs::snapshot::Table;
use deltafs::storage::{StoreOptions, TableRoots, open_store};
use deltafs::tree::{Ino, ROOT_INO, Tree, TreeError, TreeOptions};

use super::files::{Kind, content};
use super::support::{
    Action, ScriptedStore, add, commit_info, metadata, parquet_of, protocol, remove,
};

/// Files in a batch.
const FILES: u64 = 6;

/// How many batches have contents of their own before contents repeat.
const CONTENTS: u64 = 8;

/// How long it goes on.
const TIME: Duration = Duration::from_secs(4);

/// How long nothing of it may take: a hang is a failure, not a wait.
const PATIENCE: Duration = Duration::from_secs(120);

/// Tells the process of [`the_writer`] where the table is, and whether to clean the log up.
const WRITER: &str = "DELTAFS_MODEL_WRITER";
const CLEANS_UP: &str = "DELTAFS_MODEL_WRITER_CLEANS_UP";

const KIND: Kind = Kind {
    extra: false,
    p: None,
};

fn name_of(batch: u64, number: u64) -> String {
    format!("batch{batch}-{number}.parquet")
}

fn bytes_of(batch: u64, number: u64) -> Arc<[u8]> {
    content(KIND, ((batch % CONTENTS) * FILES + number) as usize)
}

/// A table directory, and beside it the data files to link to.
struct Writer {
    root: PathBuf,
    next: u64,
}

impl Writer {
    fn new(root: &Path) -> Writer {
        Writer {
            root: root.to_owned(),
            next: 0,
        }
    }

    fn log(&self, name: &str) -> PathBuf {
        self.root.join("_delta_log").join(name)
    }

    fn commit_path(&self, version: u64) -> PathBuf {
        self.log(&format!("{version:020}.json"))
    }

    fn pooled(&self, batch: u64, number: u64) -> PathBuf {
        self.root
            .with_file_name(format!("{}-{number}", batch % CONTENTS))
    }

    /// Makes the directory, what will be linked to, and version 0.
    fn make_table(&mut self) {
        fs::create_dir_all(self.log("")).expect("a directory can be made");
        for batch in 0..CONTENTS {
            for number in 0..FILES {
                let bytes = bytes_of(batch, number);
                fs::write(self.pooled(batch, number), bytes).expect("the disk takes small files");
            }
        }
        self.commit();
    }

    fn adds(batch: u64) -> impl Iterator<Item = Action> {
        (0..FILES).map(move |number| {
            let size = bytes_of(batch, number).len();
            add(&name_of(batch, number)).size(size as i64)
        })
    }

    fn definition() -> [Action; 2] {
        [protocol(1, 2), metadata(&[("id", "long")])]
    }

    /// Commits the next batch in the place of the one before; returns its number.
    fn commit(&mut self) -> u64 {
        let batch = self.next;
        for number in 0..FILES {
            let path = self.root.join(name_of(batch, number));
            fs::hard_link(self.pooled(batch, number), path).expect("a name of its own");
        }
        let mut actions = vec![commit_info()];
        match batch.checked_sub(1) {
            None => actions.extend(Writer::definition()),
            Some(before) => {
                actions.extend((0..FILES).map(|number| remove(&name_of(before, number))));
            }
        }
        actions.extend(Writer::adds(batch));
        let lines: String = actions
            .iter()
            .map(|action| action.to_line() + "\n")
            .collect();
        let beside = self.log(&format!(".{batch}.tmp"));
        fs::write(&beside, lines).expect("the disk takes small files");
        // Some writers link, others rename.
        if batch.is_multiple_of(2) {
            fs::hard_link(&beside, self.commit_path(batch)).expect("nobody else commits");
            fs::remove_file(&beside).expect("it was just written");
        } else {
            fs::rename(&beside, self.commit_path(batch)).expect("both lie in one directory");
        }
        self.next += 1;
        batch
    }

    fn checkpoint(&self, version: u64) {
        let actions: Vec<Action> = Writer::definition()
            .into_iter()
            .chain(Writer::adds(version))
            .collect();
        let beside = self.log(".checkpoint.tmp");
        fs::write(&beside, parquet_of(&actions)).expect("the disk takes small files");
        let path = self.log(&format!("{version:020}.checkpoint.parquet"));
        fs::rename(&beside, path).expect("both lie in one directory");
    }

    /// Commits 20 times, and cleans up behind a checkpoint of the last version but one.
    fn move_on(&mut self) {
        let from = self.next.saturating_sub(2);
        for _ in 0..20 {
            self.commit();
        }
        let version = self.next - 2;
        self.checkpoint(version);
        self.clean_up(from, version);
    }

    /// Removes what stands in the log before the checkpoint of `version`.
    fn clean_up(&self, from: u64, version: u64) {
        for version in from..version {
            fs::remove_file(self.commit_path(version)).expect("nobody else cleans up");
            let checkpoint = self.log(&format!("{version:020}.checkpoint.parquet"));
            match fs::remove_file(checkpoint) {
                Ok(()) => {}
                Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::NotFound),
            }
        }
    }
}

/// Not a test but the other process: commits until its standard input ends.
#[test]
#[ignore = "the tests of this module run it in a process of its own"]
fn the_writer() {
    let root = std::env::var_os(WRITER).expect("a test tells the table");
    let cleans_up = std::env::var_os(CLEANS_UP).is_some();
    let stop = AtomicBool::new(false);
    let mut writer = Writer::new(Path::new(&root));
    writer.next = 1;
    let mut oldest = 0;
    let mut out = std::io::stdout().lock();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let _ = std::io::stdin().read_to_end(&mut Vec::new());
            stop.store(true, Ordering::Relaxed);
        });
        let begun = Instant::now();
        while !stop.load(Ordering::Relaxed) && begun.elapsed() < PATIENCE {
            let version = writer.commit();
            writeln!(out, "committed {version}").expect("the test listens");
            if version.is_multiple_of(10) {
                writer.checkpoint(version);
                if cleans_up && version >= oldest + 60 {
                    writer.clean_up(oldest, version - 30);
                    oldest = version - 30;
                }
            }
        }
    });
}

/// The other process. However the test ends, it ends.
struct OtherProcess(Child);

impl OtherProcess {
    fn start(root: &Path, cleans_up: bool) -> OtherProcess {
        let mut command = Command::new(std::env::current_exe().expect("a test has a program"));
        command
            .args([
                "--exact",
                "concurrent::the_writer",
                "--ignored",
                "--nocapture",
            ])
            .env(WRITER, root)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        if cleans_up {
            command.env(CLEANS_UP, "1");
        }
        OtherProcess(command.spawn().expect("the test program starts"))
    }

    /// Lets it come to its end.
    fn stop(&mut self) {
        drop(self.0.stdin.take());
        let status = self.0.wait().expect("an own child");
        assert!(status.success(), "the writer failed: {status}");
    }
}

impl Drop for OtherProcess {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What the threads share.
struct Shared {
    tree: Tree,
    latest: Ino,
    /// The newest version that the writer is known to have committed.
    committed: AtomicU64,
    stop: AtomicBool,
    listings: AtomicU64,
    files: AtomicU64,
}

impl Shared {
    fn errno<T>(result: Result<T, TreeError>) -> Result<T, String> {
        result.map_err(|error| format!("errno {}: {error}", of_tree(&error)))
    }

    /// The names and inodes of a directory, read a few rows at a time.
    fn list(&self, directory: Ino, plus: bool) -> Result<Vec<(String, Ino)>, String> {
        let handle = Shared::errno(self.tree.opendir(directory))?;
        let mut rows = Vec::new();
        let mut offset = 0;
        loop {
            let before = offset;
            let mut left = 3;
            let read = self.tree.readdir(handle, offset, plus, &mut |row| {
                if left == 0 {
                    return ControlFlow::Break(());
                }
                left -= 1;
                offset = row.next_offset;
                rows.push((row.name.to_str().expect("text").to_owned(), row.ino));
                ControlFlow::Continue(())
            });
            Shared::errno(read)?;
            if offset == before {
                break;
            }
            std::thread::yield_now();
        }
        self.tree.releasedir(handle);
        self.listings.fetch_add(1, Ordering::Relaxed);
        rows.retain(|(name, _)| name != "." && name != "..");
        Ok(rows)
    }

    fn read(&self, ino: Ino) -> Result<Vec<u8>, String> {
        // Where the kernel was told another size, it asks once more.
        let opened = self.tree.open(ino).or_else(|error| match error {
            TreeError::OtherSize(_) => {
                self.tree.getattr(ino)?;
                self.tree.open(ino)
            }
            other => Err(other),
        });
        let opened = Shared::errno(opened)?;
        let mut bytes = vec![0; 1 << 14];
        let read = Shared::errno(self.tree.read(opened.handle, &mut bytes, 0));
        self.tree.release(opened.handle);
        bytes.truncate(read?);
        self.files.fetch_add(1, Ordering::Relaxed);
        Ok(bytes)
    }

    /// Lists a directory, checks that it is one batch, opens all of it; returns which batch.
    fn check(&self, directory: Ino, plus: bool) -> Result<u64, String> {
        let rows = self.list(directory, plus)?;
        let numbers: Option<Vec<(u64, u64)>> = rows.iter().map(|(name, _)| parse(name)).collect();
        let numbers = numbers.ok_or_else(|| format!("strange names: {rows:?}"))?;
        let batches: BTreeSet<u64> = numbers.iter().map(|(batch, _)| *batch).collect();
        let files: BTreeSet<u64> = numbers.iter().map(|(_, number)| *number).collect();
        if batches.len() != 1 || !files.iter().copied().eq(0..FILES) || rows.len() != files.len() {
            return Err(format!("no version has these files: {rows:?}"));
        }
        for ((name, ino), (batch, number)) in rows.iter().zip(numbers) {
            let of = |fault: String| format!("{name} was just listed: {fault}");
            if !plus {
                let entry = Shared::errno(self.tree.lookup(directory, OsStr::new(name)));
                let found = entry.map_err(of)?.attr.ino;
                if found != *ino {
                    return Err(of(format!("inode {ino:#x}, looked up {found:#x}")));
                }
            }
            let bytes = self.read(*ino).map_err(of)?;
            if bytes != *bytes_of(batch, number) {
                return Err(of(format!("{} bytes of something else", bytes.len())));
            }
            self.tree.forget(*ino, 1);
        }
        batches
            .first()
            .copied()
            .ok_or_else(|| "an empty listing".to_owned())
    }

    /// Lists `@latest` again and again: never a mixture, never an older version than before, never
    /// one older than the newest that was committed before the listing began.
    fn follow_latest(&self, plus: bool) -> Result<(), String> {
        let mut newest = 0;
        while !self.stop.load(Ordering::Relaxed) {
            let committed = self.committed.load(Ordering::Acquire);
            let batch = self.check(self.latest, plus)?;
            if batch < newest || batch < committed {
                return Err(format!(
                    "version {batch} after {newest}, when {committed} was committed"
                ));
            }
            newest = batch;
        }
        Ok(())
    }

    /// Lists the versions that the root lists: each is its own batch, or cleaned up by now.
    fn visit_versions(&self, cleans_up: bool) -> Result<(), String> {
        let mut turn = 0;
        while !self.stop.load(Ordering::Relaxed) {
            let committed = self.committed.load(Ordering::Acquire);
            let rows = self.list(ROOT_INO, false)?;
            let versions: Vec<u64> = rows
                .iter()
                .filter_map(|(name, _)| name.strip_prefix("@v")?.parse().ok())
                .collect();
            if !versions.is_sorted() || versions.last().is_none_or(|last| *last < committed) {
                return Err(format!(
                    "{committed} was committed, the root lists {versions:?}"
                ));
            }
            turn += 1;
            for version in [versions.len() - 1, turn * 7 % versions.len()].map(|at| versions[at]) {
                match self.visit(version) {
                    Ok(batch) if batch == version => {}
                    Ok(batch) => return Err(format!("@v{version} shows batch {batch}")),
                    Err(fault) => {
                        let gone = fault.starts_with(&format!("errno {}:", libc::ENOENT));
                        let recent = version + 30 > self.committed.load(Ordering::Acquire);
                        if !cleans_up || !gone || recent {
                            return Err(format!("@v{version}: {fault}"));
                        }
                    }
                }
            }
        }
        Ok(())
    }

    fn visit(&self, version: u64) -> Result<u64, String> {
        let name = format!("@v{version}");
        let entry = Shared::errno(self.tree.lookup(ROOT_INO, OsStr::new(&name)))?;
        let batch = self.check(entry.attr.ino, version.is_multiple_of(2));
        self.tree.forget(entry.attr.ino, 1);
        batch
    }
}

fn parse(name: &str) -> Option<(u64, u64)> {
    let stem = name.strip_suffix(".parquet")?;
    let stem = stem.split_once('~').map_or(stem, |(stem, _)| stem);
    let (batch, number) = stem.strip_prefix("batch")?.split_once('-')?;
    Some((batch.parse().ok()?, number.parse().ok()?))
}

fn list_while_another_process_commits(cleans_up: bool) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let root = directory.path().join("table");
    Writer::new(&root).make_table();
    let options = StoreOptions::default();
    let store = open_store(root.to_str().expect("a plain name"), &options).expect("a directory");
    let roots = TableRoots::new(store, &[], &options).expect("no other prefixes");
    let table = Table::open(roots, Duration::ZERO).expect("a table");
    let tree = Tree::new(Arc::new(table), TreeOptions::default());
    let latest = tree
        .lookup(ROOT_INO, OsStr::new("@latest"))
        .expect("it is always there");
    let shared = Shared {
        tree,
        latest: latest.attr.ino,
        committed: AtomicU64::new(0),
        stop: AtomicBool::new(false),
        listings: AtomicU64::new(0),
        files: AtomicU64::new(0),
    };
    let mut writer = OtherProcess::start(&root, cleans_up);
    let out = BufReader::new(writer.0.stdout.take().expect("it is piped"));
    let faults: Vec<String> = std::thread::scope(|scope| {
        let shared = &shared;
        scope.spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                if let Some(version) = line.strip_prefix("committed ") {
                    let version = version.parse().expect("the writer tells a number");
                    shared.committed.store(version, Ordering::Release);
                }
            }
        });
        let checked = |result: Result<(), String>| {
            if result.is_err() {
                shared.stop.store(true, Ordering::Relaxed);
            }
            result.err()
        };
        let threads = [
            scope.spawn(move || checked(shared.follow_latest(false))),
            scope.spawn(move || checked(shared.follow_latest(false))),
            scope.spawn(move || checked(shared.follow_latest(true))),
            scope.spawn(move || checked(shared.visit_versions(cleans_up))),
        ];
        let begun = Instant::now();
        while begun.elapsed() < TIME && !shared.stop.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(20));
        }
        shared.stop.store(true, Ordering::Relaxed);
        let faults = threads.map(|thread| thread.join().expect("it answers its faults"));
        writer.stop();
        faults.into_iter().flatten().collect()
    });
    let committed = shared.committed.load(Ordering::Relaxed);
    let listings = shared.listings.load(Ordering::Relaxed);
    let files = shared.files.load(Ordering::Relaxed);
    assert!(
        faults.is_empty(),
        "{faults:#?}\nof {committed} commits, {listings} listings"
    );
    assert!(
        committed >= 50 && listings >= 50 && files >= 50,
        "too little happened to tell: {committed} commits, {listings} listings, {files} files"
    );
}

#[test]
fn listings_are_of_one_version_while_another_process_commits() {
    list_while_another_process_commits(false);
}

#[test]
fn listings_are_of_one_version_while_the_log_is_cleaned_up() {
    list_while_another_process_commits(true);
}

/// The log moves on, and is cleaned up, each time when somebody is about to read what it has just
/// listed; a mount that has slept for a while can still tell that it is the same table.
#[test]
fn a_log_cleaned_up_while_it_is_read_is_of_the_same_table() {
    /// How often it moves on while it is read.
    const TIMES: usize = 5;
    let directory = tempfile::tempdir().expect("a temporary directory");
    let root = directory.path().join("table");
    let mut writer = Writer::new(&root);
    writer.make_table();
    let options = StoreOptions::default();
    let store = open_store(root.to_str().expect("a plain name"), &options).expect("a directory");
    let store = ScriptedStore::new(store, true);
    let roots = TableRoots::new(store.clone(), &[], &options).expect("no other prefixes");
    let table = Table::open(roots, Duration::ZERO).expect("a table");
    let tree = Tree::new(Arc::new(table), TreeOptions::default());
    let latest = tree.lookup(ROOT_INO, OsStr::new("@latest"));
    let latest = latest.expect("it is always there").attr.ino;
    let list = || -> Vec<(String, Ino)> {
        let mut rows = Vec::new();
        let handle = tree.opendir(latest).expect("it can be listed");
        let read = tree.readdir(handle, 0, false, &mut |row| {
            rows.push((row.name.to_str().expect("text").to_owned(), row.ino));
            ControlFlow::Continue(())
        });
        read.expect("a listing that is open can be read");
        tree.releasedir(handle);
        rows.split_off(2)
    };
    let before = list();

    // The newest commit that the mount knows is gone when it wakes up.
    writer.move_on();
    let (newest, times) = (Arc::new(AtomicU64::new(writer.next - 1)), AtomicU64::new(0));
    let told = newest.clone();
    store.on_call(move |call| {
        let reads = call.starts_with("get ") || call.starts_with("open ");
        let is_log = call.contains(" _delta_log/0");
        if reads && is_log && times.fetch_add(1, Ordering::Relaxed) < TIMES as u64 {
            writer.move_on();
            told.store(writer.next - 1, Ordering::Relaxed);
        }
        None
    });
    let after = list();

    let newest = newest.load(Ordering::Relaxed);
    assert!(
        newest > 20 * TIMES as u64,
        "the log has moved on only to {newest}"
    );
    let batches: BTreeSet<_> = after.iter().map(|(name, _)| parse(name)).collect();
    let expected: BTreeSet<_> = (0..FILES).map(|number| Some((newest, number))).collect();
    assert_eq!(batches, expected);
    for (name, ino) in before {
        let found = tree.lookup(latest, OsStr::new(&name));
        assert_eq!(found.map(|entry| entry.attr.ino).ok(), Some(ino), "{name}");
    }
}
