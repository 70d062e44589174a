//! What commits, and what does not.

use crate::semantics::says;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;

use super::{Staged, each_way, errno, fsync};

const WRONG: &str = "not JSON";

/// Commits by one of the ways there are, with the content of the marker, and returns the errno.
fn commit(staged: &Staged, way: usize, content: &str) -> i32 {
    let marker = staged.at(".commit");
    let write = |flags| {
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true).truncate(true);
        let file = options.custom_flags(flags).open(&marker).expect("opens");
        (errno((&file).write_all(content.as_bytes())), file)
    };
    match way {
        // A descriptor that can only be read from.
        0 => {
            fs::write(&marker, content).expect("can be written");
            fsync(&marker)
        }
        1 => errno(write(0).1.sync_data()),
        // An empty write writes nothing that could be made durable.
        2 if content.is_empty() => commit(staged, 0, content),
        2 => write(libc::O_SYNC).0,
        3 if content.is_empty() => commit(staged, 0, content),
        3 => write(libc::O_DSYNC).0,
        4 => {
            let aside = staged.at(".marker");
            fs::write(&aside, content).expect("can be written");
            errno(fs::rename(aside, &marker))
        }
        // Another directory, over a marker that is there.
        5 => {
            fs::write(&marker, WRONG).expect("can be written");
            fs::create_dir_all(staged.at("_d")).expect("can be made");
            fs::write(staged.at("_d/m"), content).expect("can be written");
            errno(fs::rename(staged.at("_d/m"), &marker))
        }
        // Opened under another name.
        _ => {
            let aside = staged.at(".marker");
            fs::write(&aside, content).expect("can be written");
            let file = File::open(&aside).expect("opens");
            let renamed = errno(fs::rename(aside, &marker));
            assert_eq!(renamed, errno(file.sync_all()), "the same answer once more");
            renamed
        }
    }
}

#[test]
fn every_way_commits_and_says_so() {
    says(
        "| `fsync`, `fdatasync`, `msync`, a write with `O_SYNC` or `O_DSYNC` | 0 | made durable on the disk | made durable on the disk | **commits** | 0 |",
    );
    says("A rename to `.commit` commits before it returns.");
    for way in 0..7 {
        each_way(|staged| {
            staged.data("a.parquet");
            assert_eq!(staged.state(), "open");
            assert_eq!(commit(staged, way, "{}"), 0, "{way} {}", staged.way);
            assert_eq!(staged.state(), "committed", "{way} {}", staged.way);
            let version = staged.status()["version"].clone();
            assert!(version.is_u64());
            // A second time says what the first one did.
            assert_eq!(fsync(&staged.at(".commit")), 0);
            assert_eq!(staged.status()["version"], version);
            // And then it can only be removed.
            assert_eq!(errno(File::create(staged.at("b.parquet"))), libc::EROFS);
            let append = OpenOptions::new().append(true).open(staged.at("a.parquet"));
            assert_eq!(errno(append), libc::EROFS);
            assert_eq!(errno(fs::create_dir(staged.at("d"))), libc::EROFS);
            let moved = fs::rename(staged.at("a.parquet"), staged.at("c.parquet"));
            assert_eq!(errno(moved), libc::EROFS);
            staged.sh("cd ..; rm -r t");
            assert_eq!(staged.rig.names("@staging"), Vec::<String>::new());
        });
    }
}

#[test]
fn every_way_fails_with_its_errno_and_leaves_all_as_it_was() {
    says(
        "When the commit fails, the rename has not been made: the file has its old name, and what was called `.commit` before is so again.",
    );
    says(
        "After a failure everything is there as it was, `fsync` has told the errno and `.status` tells the rest; it can be mended and tried again.",
    );
    for way in 0..6 {
        each_way(|staged| {
            staged.data("a.parquet");
            assert_eq!(
                commit(staged, way, WRONG),
                libc::EINVAL,
                "{way} {}",
                staged.way
            );
            assert_eq!(staged.state(), "failed");
            let a = fs::read(staged.at("a.parquet")).expect("is there");
            assert!(a.starts_with(b"PAR1"));
            match way {
                // A rename that fails has not been made.
                4 => {
                    assert_eq!(
                        staged.rig.names("@staging/t"),
                        [".marker", ".status", "a.parquet"]
                    );
                    let content = fs::read_to_string(staged.at(".marker"));
                    assert_eq!(content.expect("is there"), WRONG);
                }
                5 => {
                    assert_eq!(staged.rig.names("@staging/t/_d"), ["m"]);
                    assert_eq!(
                        staged.rig.names("@staging/t"),
                        [".commit", ".status", "_d", "a.parquet"]
                    );
                }
                _ => {}
            }
            // Mended, it commits.
            fs::write(staged.at(".commit"), "").expect("can be written");
            assert_eq!(fsync(&staged.at(".commit")), 0, "{way} {}", staged.way);
            assert_eq!(staged.state(), "committed");
        });
    }
}

#[test]
fn tools_commit() {
    for script in [
        "touch .commit; sync .commit",
        "touch .commit; sync -d .commit",
        "dd if=/dev/null of=.commit conv=fsync status=none",
        "dd if=/dev/null of=.commit conv=fdatasync status=none",
        "printf '{}' | dd of=.commit oflag=sync status=none",
        "touch .m; mv .m .commit",
    ] {
        each_way(|staged| {
            staged.data("a.parquet");
            staged.sh(script);
            assert_eq!(staged.state(), "committed", "{script} {}", staged.way);
        });
    }
}

#[test]
fn nothing_else_commits() {
    says(
        "| `close`, `sync -f` | 0 | 0 | 0, and nothing is committed | 0, and nothing is committed | 0 |",
    );
    each_way(|staged| {
        staged.data("a.parquet");
        staged.sh("echo '{}' > .commit; cat .commit; : > .commit; touch .commit; cp .commit _copy");
        staged.sh("sync a.parquet; sync .; sync -f .commit; mkdir _d; cp .commit _d/.commit");
        assert_eq!(fsync(&staged.at("_d/.commit")), 0);
        assert_eq!(fsync(&staged.at("a.parquet")), 0);
        let marker = File::open(staged.at(".commit")).expect("opens");
        drop(marker);
        assert_eq!(staged.state(), "open");
        // What was the marker is not once it has another name.
        let marker = File::open(staged.at(".commit")).expect("opens");
        fs::rename(staged.at(".commit"), staged.at("_m")).expect("can be renamed");
        marker.sync_all().expect("an ordinary fsync");
        assert_eq!(staged.state(), "open");
        // A hard link could be written to without us.
        let linked = fs::hard_link(staged.at("_m"), staged.at(".commit"));
        assert_eq!(errno(linked), libc::EPERM);
        assert_eq!(fsync(&staged.at("")), 0);
        assert_eq!(staged.state(), "open");
    });
}

/// G2 (fuser PR 692, PR 738): what answers ENOSYS once succeeds for ever. After every kind of node
/// has been synced, a marker is still asked about.
#[test]
fn g2_every_kind_of_node_is_synced_and_the_marker_still_commits() {
    each_way(|staged| {
        fs::create_dir(staged.at("_d")).expect("can be made");
        staged.data("a.parquet");
        for path in [
            "",
            "@v0",
            "@latest",
            "@info",
            "@info/latest",
            "@info/v0/schema.json",
            "@staging",
            "@staging/t",
            "@staging/t/_d",
            "@staging/t/a.parquet",
            "@staging/t/.status",
        ] {
            let file = File::open(staged.rig.at(path)).expect("opens");
            file.sync_all()
                .unwrap_or_else(|error| panic!("fsync {path}: {error}"));
            file.sync_data()
                .unwrap_or_else(|error| panic!("fdatasync {path}: {error}"));
        }
        assert_eq!(staged.state(), "open");
        fs::write(staged.at(".commit"), WRONG).expect("can be written");
        assert_eq!(fsync(&staged.at(".commit")), libc::EINVAL);
        fs::write(staged.at(".commit"), "").expect("can be written");
        assert_eq!(fsync(&staged.at(".commit")), 0);
        assert_eq!(staged.state(), "committed");
    });
}
