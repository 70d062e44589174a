//! The content of files: written, mapped, cut, shared, full.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{Advice, FallocateFlags, FlockOperation};
use rustix::mm::{MapFlags, MsyncFlags, ProtFlags};

use super::{each_way, errno, pattern};
use crate::rig::{Rig, is_mounted, may_mount};
use crate::semantics::says;
use crate::support::{batch, longs, parquet};

/// A shared mapping of a whole file.
struct Mapping {
    start: *mut std::ffi::c_void,
    size: usize,
}

impl Mapping {
    fn new(file: &File, size: usize) -> Mapping {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a fresh mapping chosen by the kernel, unmapped on drop.
        let start = unsafe {
            rustix::mm::mmap(
                std::ptr::null_mut(),
                size,
                protection,
                MapFlags::SHARED,
                file,
                0,
            )
        };
        Mapping {
            start: start.expect("G15: can be mapped"),
            size,
        }
    }

    fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: mapped, as large as the file, and borrowed no other way.
        unsafe { std::slice::from_raw_parts_mut(self.start.cast(), self.size) }
    }

    fn sync(&self) -> i32 {
        // SAFETY: mapped.
        let synced = unsafe { rustix::mm::msync(self.start, self.size, MsyncFlags::SYNC) };
        synced.err().map_or(0, rustix::io::Errno::raw_os_error)
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped, and nothing refers to it any more.
        let unmapped = unsafe { rustix::mm::munmap(self.start, self.size) };
        unmapped.expect("was mapped");
    }
}

fn open(path: &Path, options: &mut OpenOptions) -> File {
    options
        .open(path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn bytes_are_what_was_written_last() {
    each_way(|staged| {
        let path = staged.at("f");
        let mut options = OpenOptions::new();
        let file = open(&path, options.read(true).write(true).create_new(true));
        assert_eq!(errno(File::create_new(&path)), libc::EEXIST);
        let bytes = pattern(1_000_003);
        file.write_all_at(&bytes, 0).expect("can be written");
        file.write_all_at(b"there", 500_000)
            .expect("can be written");
        let other = File::open(&path).expect("opens");
        let mut found = vec![0; bytes.len()];
        other.read_exact_at(&mut found, 0).expect("can be read");
        assert_eq!(&found[500_000..500_005], b"there");
        assert!(found[..500_000] == bytes[..500_000] && found[500_005..] == bytes[500_005..]);
        // Behind the end, with zeros between.
        file.write_all_at(b"end", 2_000_000)
            .expect("can be written");
        assert_eq!(other.metadata().expect("is open").len(), 2_000_003);
        let mut zeros = [1; 100];
        other
            .read_exact_at(&mut zeros, 1_500_000)
            .expect("can be read");
        assert_eq!(zeros, [0; 100]);
        file.set_len(10).expect("can be cut");
        assert_eq!(other.metadata().expect("is open").len(), 10);
        assert_eq!(other.read_at(&mut zeros, 0).expect("can be read"), 10);
        let truncated = open(&path, OpenOptions::new().write(true).truncate(true));
        assert_eq!(truncated.metadata().expect("is open").len(), 0);
        assert_eq!(other.read_at(&mut zeros, 0).expect("can be read"), 0);
        assert_eq!(fs::read(staged.on_disk("f")).expect("is there"), b"");
    });
}

#[test]
fn several_programs_append_whole_lines() {
    each_way(|staged| {
        let path = staged.at("log");
        thread::scope(|scope| {
            for writer in 0..4 {
                let path = &path;
                scope.spawn(move || {
                    let script = format!(
                        "i=0; while [ $i -lt 200 ]; do echo \"writer {writer} line $i\"; i=$((i+1)); done >> \"$0\""
                    );
                    let ended = Command::new("sh").arg("-c").arg(script).arg(path).status();
                    assert!(ended.expect("there is a shell").success());
                });
            }
        });
        let text = fs::read_to_string(&path).expect("can be read");
        let mut lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 800);
        lines.sort_unstable();
        lines.dedup();
        assert_eq!(lines.len(), 800);
        assert!(lines.iter().all(|line| line.starts_with("writer ")));
    });
}

#[test]
fn files_outlive_their_names() {
    says("yes, and it can be used on while it is open");
    each_way(|staged| {
        let path = staged.at("f");
        let mut options = OpenOptions::new();
        let mut file = open(&path, options.read(true).write(true).create_new(true));
        file.write_all(b"before").expect("can be written");
        fs::remove_file(&path).expect("is there");
        assert_eq!(errno(File::open(&path)), libc::ENOENT);
        file.write_all(b" and after").expect("can be written");
        file.set_len(9).expect("can be cut");
        file.sync_all().expect("can be synced");
        file.seek(SeekFrom::Start(0)).expect("within");
        let mut text = String::new();
        file.read_to_string(&mut text).expect("can be read");
        let attributes = file.metadata().expect("is open");
        assert_eq!(
            (text.as_str(), attributes.nlink(), attributes.len()),
            ("before an", 0, 9)
        );

        fs::write(&path, "old").expect("can be written");
        fs::write(staged.at("new"), "new").expect("can be written");
        let old = open(&path, OpenOptions::new().read(true).write(true));
        fs::rename(staged.at("new"), &path).expect("replaces");
        old.write_all_at(b"OLD", 0).expect("can be written");
        assert_eq!(fs::read(&path).expect("is there"), b"new");
        let mut bytes = [0; 3];
        old.read_exact_at(&mut bytes, 0).expect("can be read");
        assert_eq!(&bytes, b"OLD");
    });
}

/// G15 (fuser#375; modin#513; drive9 PR 685): files can be mapped, shared and for writing, and the
/// mapping, `read` and the disk show the same.
#[test]
fn g15_shared_mappings_are_written() {
    each_way(|staged| {
        let path = staged.at("f");
        let size = 300_000;
        fs::write(&path, pattern(size)).expect("can be written");
        let file = open(&path, OpenOptions::new().read(true).write(true));
        let mut mapping = Mapping::new(&file, size);
        assert!(mapping.bytes() == pattern(size));
        mapping.bytes()[200_000] = 255;
        assert_eq!(mapping.sync(), 0);
        assert_eq!(
            fs::read(staged.on_disk("f")).expect("is there")[200_000],
            255
        );
        file.write_all_at(&[254], 100_000).expect("can be written");
        assert_eq!(mapping.bytes()[100_000], 254);
        mapping.bytes()[0] = 253;
        let mut byte = [0];
        file.read_exact_at(&mut byte, 0).expect("can be read");
        assert_eq!(byte, [253]);
        // The mapping outlives the descriptor, and unmapping writes what is left.
        drop(file);
        mapping.bytes()[1] = 252;
        drop(mapping);
        let on_disk = fs::read(staged.on_disk("f")).expect("is there");
        assert_eq!(&on_disk[..2], [253, 252]);
        assert_eq!(
            staged.state(),
            "open",
            "msync of another file does not commit"
        );
    });
}

#[test]
fn a_commit_sees_what_is_mapped() {
    says(
        "What is written by way of a shared mapping is seen by the disk, and by a commit, at the latest when the commit begins.",
    );
    each_way(|staged| {
        let path = staged.at("f");
        fs::write(&path, pattern(10_000)).expect("can be written");
        let file = open(&path, OpenOptions::new().read(true).write(true));
        let mut mapping = Mapping::new(&file, 10_000);
        mapping.bytes()[5000] = 255;
        fs::write(staged.at(".commit"), "not JSON").expect("can be written");
        assert_eq!(super::fsync(&staged.at(".commit")), libc::EINVAL);
        assert_eq!(fs::read(staged.on_disk("f")).expect("is there")[5000], 255);
        mapping.bytes()[5001] = 254;
        let mut byte = [0];
        file.read_exact_at(&mut byte, 5001).expect("can be read");
        assert_eq!(byte, [254]);
    });
}

#[test]
fn holes_copies_and_locks() {
    each_way(|staged| {
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true);
        let file = open(&staged.at("f"), options);
        file.write_all_at(&[7; 1 << 20], 0).expect("can be written");
        let punch = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        rustix::fs::fallocate(&file, punch, 1 << 18, 1 << 18).expect("can be punched");
        let seek = |position| rustix::fs::seek(&file, position).expect("is there");
        assert_eq!(seek(rustix::fs::SeekFrom::Hole(0)), 1 << 18);
        assert_eq!(seek(rustix::fs::SeekFrom::Data(1 << 18)), 1 << 19);
        let mut byte = [1];
        file.read_exact_at(&mut byte, (1 << 18) + 5)
            .expect("can be read");
        assert_eq!(byte, [0]);
        assert!(file.metadata().expect("is open").blocks() < 2048);

        let copy = open(&staged.at("copy"), options);
        let mut done = 0;
        while done < 1 << 20 {
            let (mut from, mut to) = (done, done);
            let rest = (1 << 20) - done as usize;
            let copied =
                rustix::fs::copy_file_range(&file, Some(&mut from), &copy, Some(&mut to), rest);
            done += copied.expect("can be copied") as u64;
        }
        assert!(
            fs::read(staged.at("copy")).expect("is there")
                == fs::read(staged.at("f")).expect("is there")
        );

        let lock = |file: &File, how| rustix::fs::flock(file, how);
        let other = File::open(staged.at("f")).expect("opens");
        lock(&file, FlockOperation::LockExclusive).expect("locks");
        let refused = lock(&other, FlockOperation::NonBlockingLockShared);
        assert_eq!(refused, Err(rustix::io::Errno::WOULDBLOCK));
        lock(&file, FlockOperation::Unlock).expect("unlocks");
        lock(&other, FlockOperation::NonBlockingLockShared).expect("locks");
        rustix::fs::fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive).expect("locks");
    });
}

/// Between files of versions and of transactions.
#[test]
fn files_of_versions_are_copied_within_the_disk() {
    if !may_mount() {
        return;
    }
    for way in super::WAYS {
        let mut rig = Rig::new();
        let bytes = pattern(200_000);
        let add = rig.data_file("a.parquet", &bytes);
        rig.commit(1, &[&add]);
        rig.mount(&["--view", "raw", "-o", way]);
        fs::create_dir(rig.at("@staging/t")).expect("a transaction begins");
        for (from, to) in [
            ("@v1/a.parquet", "@staging/t/a"),
            ("@info/latest", "@staging/t/b"),
        ] {
            let copied = fs::copy(rig.at(from), rig.at(to)).expect("can be copied");
            assert_eq!(
                copied,
                fs::read(rig.at(from)).expect("is there").len() as u64
            );
            assert!(
                fs::read(rig.at(from)).expect("is there")
                    == fs::read(rig.at(to)).expect("is there")
            );
        }
    }
}

/// Once the kernel knows the file below, it asks us for no byte.
#[test]
fn reads_and_writes_pass_through() {
    if !may_mount() {
        return;
    }
    for (way, passes) in [("rw", true), ("no_passthrough", false)] {
        let mut rig = Rig::new();
        rig.mount(&["-o", way]);
        fs::create_dir(rig.at("@staging/t")).expect("a transaction begins");
        let reads = || {
            let metrics = fs::read_to_string(rig.at("@info/metrics")).expect("can be read");
            let line = metrics
                .lines()
                .find(|line| line.starts_with("deltafs_read_bytes"))
                .expect("is counted");
            let value = line.rsplit(' ').next().expect("a value");
            value.parse::<u64>().expect("a number")
        };
        let before = reads();
        fs::write(rig.at("@staging/t/f"), pattern(300_000)).expect("can be written");
        let mut file = File::open(rig.at("@staging/t/f")).expect("opens");
        // What the kernel remembers of the writing itself.
        rustix::fs::fadvise(&file, 0, None, Advice::DontNeed).expect("is advice");
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).expect("can be read");
        assert!(bytes == pattern(300_000));
        let asked = reads() - before;
        // The metrics themselves are read by way of us.
        assert_eq!(asked < 100_000, passes, "{way}: {asked} bytes");
    }
}

/// A file system in memory over the table's directory.
struct Small<'a>(&'a Path);

impl<'a> Small<'a> {
    fn over(path: &'a Path) -> Small<'a> {
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=4m", "small"])
            .arg(path)
            .status();
        assert!(mounted.expect("there is mount").success());
        Small(path)
    }
}

impl Drop for Small<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0).status();
        assert!(!is_mounted(self.0) || thread::panicking());
    }
}

fn free(path: &Path) -> u64 {
    let space = rustix::fs::statvfs(path).expect("is mounted");
    space.f_bavail * space.f_frsize
}

/// G23 (s3fs#209, #1056, #2694): a full disk is told at the write, and what is removed is free.
#[test]
fn g23_a_full_disk_is_told_at_the_write() {
    says("A full disk is ENOSPC, a used-up quota EDQUOT, at");
    if !may_mount() {
        return;
    }
    for way in super::WAYS {
        let mut rig = Rig::new();
        let table = rig.table();
        let _small = Small::over(&table);
        rig.create_table("small");
        rig.mount(&["-o", way]);
        fs::create_dir(rig.at("@staging/t")).expect("a transaction begins");
        for _ in 0..3 {
            let path = rig.at("@staging/t/f");
            let mut file = File::create(&path).expect("can be made");
            let block = vec![1; 1 << 16];
            let full = (0..100).find_map(|_| file.write_all(&block).err());
            assert_eq!(
                full.and_then(|error| error.raw_os_error()),
                Some(libc::ENOSPC),
                "{way}"
            );
            let written = file.metadata().expect("is open").len();
            assert!(written > 2 << 20, "{way}: {written}");
            drop(file);
            fs::remove_file(&path).expect("is there");
            // The kernel tells of the last close, and that it has forgotten the file, a moment later.
            let start = Instant::now();
            while free(&table) < 3 << 20 {
                assert!(
                    start.elapsed() < Duration::from_secs(20),
                    "{way}: not freed"
                );
                thread::sleep(Duration::from_millis(1));
            }
        }
        fs::write(rig.at("@staging/t/g"), vec![1; 2 << 20]).expect("there is room again");
        rig.unmount();
    }
}

/// The kernel tells of a close after the program has gone on: to be sure of the order, this test
/// closes a removed file while the commit finds the disk full.
#[test]
fn g23_a_commit_waits_for_the_room_of_removed_files() {
    says("a commit that finds the disk full waits for that");
    if !may_mount() {
        return;
    }
    for way in super::WAYS {
        let mut rig = Rig::new();
        let table = rig.table();
        let _small = Small::over(&table);
        rig.create_table("small");
        rig.mount(&["-o", way]);
        let at = |name: &str| rig.at("@staging/t").join(name);
        fs::create_dir(at("")).expect("a transaction begins");
        fs::write(at("a.parquet"), parquet(&batch([("id", longs(0..10))]))).expect("there is room");
        File::create(at(".commit")).expect("can be made");
        let mut large = File::create(at("large")).expect("can be made");
        let block = vec![1; 1 << 12];
        while large.write_all(&block).is_ok() {}
        fs::remove_file(at("large")).expect("is there");
        assert_eq!(free(&table), 0, "{way}");
        let synced = thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(Duration::from_millis(100));
                drop(large);
            });
            super::fsync(&at(".commit"))
        });
        let status = fs::read_to_string(at(".status")).expect("can be read");
        assert_eq!(synced, 0, "{way}: {status}");
        rig.unmount();
    }
}
