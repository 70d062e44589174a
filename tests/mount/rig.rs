//! A table made by hand, and `deltafs` serving it in a child process under a watchdog.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tempfile::TempDir;

const LIFETIME: Duration = Duration::from_secs(60);
const PATIENCE: Duration = Duration::from_secs(20);

/// Whether this machine lets tests mount. Where it does not, they end early and say so.
pub fn may_mount() -> bool {
    let root =
        fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0);
    let device = fs::File::open("/dev/fuse");
    if root && device.is_ok() {
        return true;
    }
    eprintln!("skipped: mounting needs root and /dev/fuse (root: {root}, device: {device:?})");
    false
}

/// Whether the kernel reads backing files by itself. Where it does not, tests of that end early and
/// say so.
pub fn has_passthrough() -> bool {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").expect("Linux");
    let mut numbers = release
        .split(['.', '-'])
        .map_while(|part| part.parse::<u32>().ok());
    let has = (numbers.next(), numbers.next()) >= (Some(6), Some(9));
    if !has {
        eprintln!("skipped: the kernel, {release}, has no passthrough");
    }
    has
}

/// A table and a mountpoint in a temporary directory, mounted or not.
pub struct Rig {
    directory: TempDir,
    serving: Option<Serving>,
}

struct Serving {
    pid: u32,
    finished: Sender<()>,
    watchdog: JoinHandle<()>,
}

impl Rig {
    /// A table whose version 0 has no files.
    pub fn new() -> Rig {
        Rig::in_directory(tempfile::tempdir().expect("a temporary directory"))
    }

    /// As [`Rig::new`], on the file system of a directory.
    pub fn on(root: &Path) -> Rig {
        Rig::in_directory(TempDir::new_in(root).expect("a temporary directory"))
    }

    fn in_directory(directory: TempDir) -> Rig {
        fs::create_dir(directory.path().join("mnt")).expect("can be made");
        let rig = Rig {
            directory,
            serving: None,
        };
        rig.create_table("first");
        rig
    }

    /// Makes the table anew; `id` tells it from others.
    pub fn create_table(&self, id: &str) {
        let log = self.table().join("_delta_log");
        if log.exists() {
            for row in fs::read_dir(self.table()).expect("can be listed") {
                let path = row.expect("a row").path();
                let removed = match path == log {
                    true => fs::remove_dir_all(path),
                    false => fs::remove_file(path),
                };
                removed.expect("can be removed");
            }
        }
        fs::create_dir_all(log).expect("can be made");
        let schema = r#"{\"type\":\"struct\",\"fields\":[{\"name\":\"id\",\"type\":\"long\",\"nullable\":true,\"metadata\":{}}]}"#;
        self.commit(
            0,
            &[
                r#"{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}"#,
                &format!(
                    r#"{{"metaData":{{"id":"{id}","format":{{"provider":"parquet","options":{{}}}},"schemaString":"{schema}","partitionColumns":[],"configuration":{{}}}}}}"#
                ),
            ],
        );
    }

    /// Writes the commit file of a version.
    pub fn commit(&self, version: u64, actions: &[&str]) {
        let path = self.table().join(format!("_delta_log/{version:020}.json"));
        fs::write(path, actions.join("\n")).expect("can be written");
    }

    /// Writes a data file and returns the action that adds it.
    pub fn data_file(&self, name: &str, content: &[u8]) -> String {
        fs::write(self.table().join(name), content).expect("can be written");
        format!(
            r#"{{"add":{{"path":"{name}","partitionValues":{{}},"size":{},"modificationTime":1700000000000,"dataChange":true}}}}"#,
            content.len()
        )
    }

    /// The table.
    pub fn table(&self) -> PathBuf {
        self.directory.path().join("table")
    }

    /// The mountpoint, or a path below it.
    pub fn at(&self, path: &str) -> PathBuf {
        self.directory.path().join("mnt").join(path)
    }

    /// Runs the program to its end.
    pub fn run(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_deltafs"))
            .args(arguments)
            .stdin(Stdio::null())
            .output()
            .expect("can be run")
    }

    /// Mounts in a child process that may open few files at first, with further arguments.
    pub fn mount(&mut self, arguments: &[&str]) {
        let mut child = Command::new("sh")
            .args(["-c", "ulimit -Sn 64; exec \"$0\" \"$@\""])
            .args([env!("CARGO_BIN_EXE_deltafs"), "mount", "-f"])
            .args([self.table(), self.at("")])
            .args(arguments)
            .env("XDG_CACHE_HOME", self.directory.path().join("cache"))
            .stdin(Stdio::null())
            .spawn()
            .expect("can be run");
        let start = Instant::now();
        while !is_mounted(&self.at("")) {
            assert!(
                start.elapsed() < PATIENCE,
                "not mounted within {PATIENCE:?}"
            );
            let ended = child.try_wait().expect("can be waited for");
            assert_eq!(ended, None, "ended before it was mounted");
            thread::sleep(Duration::from_millis(5));
        }
        let pid = child.id();
        let (finished, rest) = channel();
        let watchdog = thread::spawn(move || {
            // Its death makes the kernel fail whatever waits for it.
            if rest.recv_timeout(LIFETIME).is_err() {
                eprintln!("the test takes longer than {LIFETIME:?}");
            }
            end(&mut child);
        });
        self.serving = Some(Serving {
            pid,
            finished,
            watchdog,
        });
    }

    /// Sends the daemon a signal, by its name.
    pub fn signal(&self, name: &str) {
        let pid = self.serving.as_ref().expect("is mounted").pid.to_string();
        let sent = Command::new("kill").args(["-s", name, &pid]).status();
        assert!(sent.is_ok_and(|status| status.success()), "{name}");
    }

    /// How many files the daemon may have open from now on.
    pub fn limit_open_files(&self, most: u32) {
        let pid = self.serving.as_ref().expect("is mounted").pid.to_string();
        let limit = format!("--nofile={most}:");
        let limited = Command::new("prlimit")
            .args(["--pid", &pid, &limit])
            .status();
        assert!(limited.is_ok_and(|status| status.success()));
    }

    /// Waits until the daemon has ended after a [`Rig::signal`], with what is left of its mount.
    pub fn ended(&mut self) {
        let serving = self.serving.take().expect("is mounted");
        let path = format!("/proc/{}/stat", serving.pid);
        let start = Instant::now();
        // A zombie has no answer left to give.
        while fs::read_to_string(&path).is_ok_and(|stat| !stat.contains(") Z ")) {
            assert!(start.elapsed() < PATIENCE, "runs on");
            thread::sleep(Duration::from_millis(5));
        }
        if is_mounted(&self.at("")) {
            let unmounted = Command::new("umount").arg("-l").arg(self.at("")).status();
            assert!(unmounted.is_ok_and(|status| status.success()));
        }
        let told = serving.finished.send(());
        let joined = serving.watchdog.join();
        assert!(told.is_ok() && joined.is_ok());
    }

    /// The names in a directory of the mount, sorted.
    pub fn names(&self, path: &str) -> Vec<String> {
        let rows = fs::read_dir(self.at(path)).expect("can be listed");
        let mut names: Vec<String> = rows
            .map(|row| {
                row.expect("a row")
                    .file_name()
                    .into_string()
                    .expect("UTF-8")
            })
            .collect();
        names.sort();
        names
    }
}

impl Rig {
    /// Where mounts keep what they make.
    pub fn cache(&self) -> PathBuf {
        self.directory.path().join("cache/deltafs")
    }

    /// A number of `@info/metrics`.
    pub fn metric(&self, name: &str) -> u64 {
        let metrics = fs::read_to_string(self.at("@info/metrics")).expect("opens");
        let line = (metrics.lines()).find_map(|line| line.strip_prefix(&format!("{name} ")));
        let count = line.unwrap_or_else(|| panic!("no {name} in {metrics}"));
        count.parse().expect("a number")
    }

    /// Unmounts what is mounted.
    pub fn unmount(&mut self) {
        let Some(Serving {
            finished, watchdog, ..
        }) = self.serving.take()
        else {
            return;
        };
        let unmounted = Command::new("umount").arg("-l").arg(self.at("")).status();
        let told = finished.send(());
        let joined = watchdog.join();
        if !thread::panicking() {
            assert!(unmounted.is_ok_and(|status| status.success()));
            assert!(told.is_ok() && joined.is_ok());
        }
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        self.unmount();
    }
}

fn end(child: &mut Child) {
    let start = Instant::now();
    while child.try_wait().is_ok_and(|status| status.is_none()) {
        if start.elapsed() > Duration::from_secs(2) {
            let _ = child.kill();
            let _ = child.wait();
            return;
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// Whether something is mounted on a directory, by the kernel's list: the mount is not asked.
pub fn is_mounted(path: &Path) -> bool {
    let path = path
        .to_str()
        .expect("UTF-8")
        .trim_end_matches('/')
        .to_owned();
    let mounts = fs::read_to_string("/proc/self/mountinfo").expect("can be read");
    mounts
        .lines()
        .any(|line| line.split(' ').nth(4) == Some(&path))
}
