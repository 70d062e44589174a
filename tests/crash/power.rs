//! The power fails: the process is killed before its k-th step, or goes on to its end, and then all
//! that was not fsynced is lost, because a file system of the test's own is shut down without its
//! journal being written, and mounted again.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use crate::area;
use crate::case::{Site, Template, chosen};
use crate::check;
use crate::mode::mode;
use crate::support::Disk;
use crate::tracer::{Fault, Plan};
use crate::worker::{Answer, Job};

/// Losses of power in a mode, unless all are asked for.
const MOST: usize = 9;

/// `EXT4_IOC_SHUTDOWN`, which XFS calls `XFS_IOC_GOINGDOWN`.
const SHUTDOWN: libc::c_ulong = 0x8004_587d;

/// That the journal is not to be written first.
const WITHOUT_LOG: u32 = 2;

/// Loses what is not on the disk, and mounts it again.
fn lose_power(disk: &mut Disk) {
    let root = File::open(disk.root()).expect("it is mounted");
    // SAFETY: the request reads one number.
    let done = unsafe { libc::ioctl(root.as_raw_fd(), SHUTDOWN, &WITHOUT_LOG) };
    assert_eq!(done, 0, "{}", io::Error::last_os_error());
    drop(root);
    disk.remount();
}

/// A table on the disk, all of it durable.
fn put(template: &Template, disk: &Disk, name: &str) -> PathBuf {
    let root = disk.root().join(name);
    area::copy(&template.root(), &root);
    area::sync(&root);
    File::open(disk.root())
        .and_then(|root| root.sync_all())
        .expect("can be synced");
    root
}

fn lose_power_in(kind: &str, size: u64, options: &[&str], name: &str) {
    let template = Template::new(mode(name));
    let Some(mut disk) = Disk::new(kind, size, options) else {
        return;
    };
    let root = put(&template, &disk, "counted");
    let site = Site::at(&root);
    let counted = site.run(Job::Commit, Plan::COUNT, None);
    let count = counted.calls.len();
    lose_power(&mut disk);
    site.checked(&counted, || check_after(&template, &site));
    for at in chosen(count, MOST) {
        let root = put(&template, &disk, &at.to_string());
        let site = Site::at(&root);
        let trace = site.run(Job::Commit, Plan::new(Fault::Kill, at), None);
        lose_power(&mut disk);
        site.checked((at, &trace), || check_after(&template, &site));
        remove(&root);
    }
}

fn check_after(template: &Template, site: &Site) {
    let answers = site.answers();
    assert!(
        answers
            .iter()
            .all(|answer| matches!(answer, Answer::Done(_))),
        "nothing else fails"
    );
    check::after_commit(template, site.root(), &answers);
}

fn remove(root: &Path) {
    fs::remove_dir_all(root).expect("nobody has it any more");
}

macro_rules! modes {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            lose_power_in("ext4", 64 << 20, &["-q"], stringify!($name));
        })*
    };
}

modes!(append partitions split compaction delete transaction checkpoint);

#[test]
fn append_on_xfs() {
    lose_power_in("xfs", 320 << 20, &["-q"], "append");
}
