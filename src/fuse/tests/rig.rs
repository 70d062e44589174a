//! Running deltafs over the fake tree, in processes of their own.
//!
//! This test binary runs itself with arguments for the command line in the environment. Nothing is
//! mounted by the process that runs the tests; each process that mounts has an alarm that ends it,
//! and then the kernel fails whatever waits for it.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::fuse::mountinfo::{self, MountEntry};
use crate::fuse::{FS_TYPE, unmount_at};

/// The environment variable with the arguments, separated by [`SEPARATOR`].
pub(crate) const ARGUMENTS: &str = "DELTAFS_TEST_ARGUMENTS";
/// Between arguments.
pub(crate) const SEPARATOR: char = '\u{1f}';
/// How long any process of a test may live, in seconds.
pub(crate) const LIFETIME: u32 = 60;
const PATIENCE: Duration = Duration::from_secs(20);

/// A table that is not one, and a directory to mount it on.
#[derive(Debug)]
pub(crate) struct Rig {
    directory: Option<TempDir>,
    foreground: Option<Child>,
}

/// Whether this machine lets tests mount. Where it does not, they end early and say so.
pub(crate) fn may_mount() -> bool {
    let root = rustix::process::geteuid().is_root();
    let device = super::super::host::open_device(Path::new("/dev/fuse"));
    if root && device.is_ok() {
        return true;
    }
    eprintln!("skipped: mounting needs root and /dev/fuse (root: {root}, device: {device:?})");
    false
}

impl Rig {
    /// Makes the two directories; `table/backing` holds the bytes of the fake's backed file.
    pub fn new() -> Rig {
        let directory = tempfile::Builder::new()
            .prefix("deltafs test ")
            .tempdir()
            .expect("a temporary directory");
        fs::create_dir(directory.path().join("table")).expect("can be made");
        fs::create_dir(directory.path().join("mnt")).expect("can be made");
        let bytes: Vec<u8> = (0..300_000u32).map(|i| (i % 253) as u8).collect();
        fs::write(directory.path().join("table/backing"), bytes).expect("can be written");
        Rig {
            directory: Some(directory),
            foreground: None,
        }
    }

    /// Makes a rig and mounts it in the foreground with further arguments.
    pub fn mounted(arguments: &[&str]) -> Rig {
        let mut rig = Rig::new();
        rig.start(arguments);
        rig
    }

    fn root(&self) -> &Path {
        self.directory
            .as_ref()
            .expect("there until it is dropped")
            .path()
    }

    /// The table.
    pub fn table(&self) -> PathBuf {
        self.root().join("table")
    }

    /// Where it is mounted, or a path below that.
    pub fn at(&self, path: &str) -> PathBuf {
        if path.is_empty() {
            self.root().join("mnt")
        } else {
            self.root().join("mnt").join(path)
        }
    }

    /// A path beside table and mountpoint.
    pub fn beside(&self, path: &str) -> PathBuf {
        self.root().join(path)
    }

    /// `deltafs` with these arguments.
    pub fn command(&self, arguments: &[&str]) -> Command {
        self.command_line(&[&["deltafs"], arguments].concat())
    }

    /// The program with these words as its command line, its own name first.
    pub fn command_line(&self, words: &[&str]) -> Command {
        let mut command = Command::new(std::env::current_exe().expect("this test has a path"));
        let separator = SEPARATOR.to_string();
        command
            .args([
                "--ignored",
                "--exact",
                "--nocapture",
                "cli::tests::command_line",
            ])
            .env(ARGUMENTS, words.join(&separator))
            .env_remove("DELTAFS_LOG")
            .stdin(Stdio::null());
        command
    }

    /// `deltafs mount TABLE MOUNTPOINT` with further arguments.
    pub fn mount_command(&self, arguments: &[&str]) -> Command {
        let (table, mountpoint) = (self.table(), self.at(""));
        let words = [
            "mount",
            table.to_str().expect("UTF-8"),
            mountpoint.to_str().expect("UTF-8"),
        ];
        self.command(&[&words, arguments].concat())
    }

    /// Runs `deltafs` to its end.
    pub fn run(&self, arguments: &[&str]) -> Output {
        output(self.command(arguments))
    }

    /// Runs `deltafs umount` on the mountpoint.
    pub fn umount(&self, arguments: &[&str]) -> Output {
        let mountpoint = self.at("");
        self.run(&[&["umount", mountpoint.to_str().expect("UTF-8")], arguments].concat())
    }

    /// Starts `deltafs mount -f` and waits until it is mounted.
    pub fn start(&mut self, arguments: &[&str]) {
        let mut command = self.mount_command(&[&["-f"], arguments].concat());
        command.stdout(Stdio::null());
        self.foreground = Some(command.spawn().expect("can be run"));
        eventually("it is mounted", || self.entry().is_some());
    }

    /// The process that serves in the foreground.
    pub fn daemon(&mut self) -> &mut Child {
        self.foreground.as_mut().expect("was started")
    }

    /// Waits for the end of the process in the foreground.
    pub fn ended(&mut self) -> ExitStatus {
        let mut child = self.foreground.take().expect("was started");
        wait(&mut child)
    }

    /// The mount in the list of mounts.
    pub fn entry(&self) -> Option<MountEntry> {
        let mounts = mountinfo::read().expect("can be read");
        mountinfo::top_at(&mounts, &self.at(""))
            .filter(|mount| mount.fs_type == FS_TYPE)
            .cloned()
    }

    /// The number behind `what` in the fake's counts, 0 if there is none.
    pub fn count(&self, what: &str) -> i64 {
        let text = fs::read_to_string(self.at("@info/counts")).expect("can be read");
        text.lines()
            .find_map(|line| line.strip_prefix(what)?.strip_prefix(' '))
            .map_or(0, |number| number.parse().expect("a number"))
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        while self.entry().is_some() {
            if let Err(error) = unmount_at(&self.at(""), true) {
                eprintln!("left behind: {error}");
                break;
            }
        }
        if let Some(mut child) = self.foreground.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
        if self.entry().is_some()
            && let Some(directory) = self.directory.take()
        {
            // Nothing may walk into a mount to delete it.
            let _ = directory.keep();
        }
    }
}

/// Waits for something to become true.
pub(crate) fn eventually(what: &str, mut test: impl FnMut() -> bool) {
    let start = Instant::now();
    while !test() {
        assert!(
            start.elapsed() < PATIENCE,
            "not within {PATIENCE:?}: {what}"
        );
        thread::sleep(Duration::from_millis(5));
    }
}

/// Waits for the end of a child.
pub(crate) fn wait(child: &mut Child) -> ExitStatus {
    let mut status = None;
    eventually("the process ends", || {
        status = child.try_wait().expect("a child can be waited for");
        status.is_some()
    });
    status.expect("set when it is there")
}

/// Runs a command to its end; its output goes to files, so that a daemon which keeps it open
/// holds nobody up.
pub(crate) fn output(mut command: Command) -> Output {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("stderr");
    command
        .stdout(Stdio::null())
        .stderr(File::create(&path).expect("can be made"));
    let status = wait(&mut command.spawn().expect("can be run"));
    let stderr = fs::read(&path).expect("can be read");
    Output {
        status,
        stdout: Vec::new(),
        stderr,
    }
}

/// What a command wrote to stderr.
pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Runs `cat` on a path as another user.
pub(crate) fn read_as(uid: u32, path: &Path) -> io::Result<String> {
    let mut child = Command::new("cat")
        .arg(path)
        .uid(uid)
        .gid(uid)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .env("LC_ALL", "C")
        .spawn()?;
    let status = wait(&mut child);
    let mut text = String::new();
    if status.success() {
        child
            .stdout
            .take()
            .expect("piped")
            .read_to_string(&mut text)?;
        return Ok(text);
    }
    child
        .stderr
        .take()
        .expect("piped")
        .read_to_string(&mut text)?;
    let kind = if text.contains("Permission denied") {
        io::ErrorKind::PermissionDenied
    } else {
        io::ErrorKind::Other
    };
    Err(io::Error::new(kind, text))
}
