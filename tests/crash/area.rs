//! The staging area of a table, as the next mount finds it, and copies of tables.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use deltafs::staging::Staging;

use crate::rig;

/// How long a lock may outlive its process: a program that another test starts has, until its exec,
/// what this process has open.
const LINGERING: Duration = Duration::from_secs(5);

/// Takes over all that is staged. No lock is there but those of this process, a moment ago.
pub fn take_over(root: &Path) -> Staging {
    let begin = Instant::now();
    loop {
        let area = rig::staging(root);
        if area.names().len() >= directories(root) || begin.elapsed() > LINGERING {
            return area;
        }
        drop(area);
        thread::sleep(Duration::from_millis(1));
    }
}

/// How many transactions lie on the disk.
pub fn directories(root: &Path) -> usize {
    let all = fs::read_dir(root.join("_deltafs/staging"));
    all.map_or(0, |rows| rows.filter(Result::is_ok).count())
}

/// Copies a directory with all below it.
pub fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("can be made");
    for row in fs::read_dir(from).expect("can be listed") {
        let row = row.expect("a row");
        let target = to.join(row.file_name());
        match row.file_type().expect("a type").is_dir() {
            true => copy(&row.path(), &target),
            false => drop(fs::copy(row.path(), &target).expect("can be copied")),
        }
    }
    let permissions = fs::metadata(from).expect("it is there").permissions();
    fs::set_permissions(to, permissions).expect("own directory");
}

/// Syncs a directory with all below it.
pub fn sync(directory: &Path) {
    for row in fs::read_dir(directory).expect("can be listed") {
        let path = row.expect("a row").path();
        match path.is_dir() {
            true => sync(&path),
            false => sync_one(&path),
        }
    }
    sync_one(directory);
}

fn sync_one(path: &Path) {
    fs::File::open(path)
        .and_then(|file| file.sync_all())
        .expect("can be synced");
}
