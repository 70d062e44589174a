//! File systems of a test's own.
#![allow(clippy::disallowed_macros)]

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;

/// A file system in a file, mounted.
pub struct Disk {
    directory: TempDir,
    mounted: bool,
}

impl Disk {
    /// Makes one; `None`, and says so, where this machine does not let tests do that.
    pub fn new(kind: &str, size: u64, options: &[&str]) -> Option<Disk> {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let mut disk = Disk {
            directory,
            mounted: false,
        };
        fs::create_dir(disk.root()).expect("can be made");
        let image = File::create(disk.image()).expect("can be made");
        image.set_len(size).expect("sparse");
        let made = run(Command::new(format!("mkfs.{kind}"))
            .args(options)
            .arg(disk.image()))
        .and_then(|()| disk.mount());
        if let Err(error) = made {
            eprintln!("skipped: it needs root, loop devices, and mkfs.{kind}: {error}");
            return None;
        }
        disk.mounted = true;
        Some(disk)
    }

    fn image(&self) -> PathBuf {
        self.directory.path().join("image")
    }

    /// Where it is mounted.
    pub fn root(&self) -> PathBuf {
        self.directory.path().join("disk")
    }

    fn mount(&self) -> io::Result<()> {
        run(Command::new("mount")
            .args(["-o", "loop"])
            .args([self.image(), self.root()]))
    }

    /// Unmounts it, and mounts it again.
    pub fn remount(&mut self) {
        self.unmount();
        self.mount().expect("it was mounted before");
        self.mounted = true;
    }

    fn unmount(&mut self) {
        self.mounted = false;
        // A program that another test starts has, until its exec, what this process has open.
        let mut tries = 0;
        while let Err(error) = run(Command::new("umount").arg(self.root())) {
            tries += 1;
            assert!(tries < 50, "{error}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Bytes free, once what was given up is freed.
    pub fn free(&self) -> u64 {
        sync(&self.root());
        let space = rustix::fs::statvfs(self.root()).expect("it is mounted");
        space.f_bfree * space.f_frsize
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        if self.mounted {
            // Lazily: after a panic something may still be open.
            let _ = run(Command::new("umount").arg("-l").arg(self.root()));
        }
    }
}

fn sync(root: &Path) {
    let root = File::open(root).expect("it is mounted");
    rustix::fs::syncfs(&root).expect("a disk that works");
}

fn run(command: &mut Command) -> io::Result<()> {
    let output = command.output()?;
    match output.status.success() {
        true => Ok(()),
        false => Err(io::Error::other(format!(
            "{command:?}: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        ))),
    }
}
