//! The adapter behind a real mount, over a fake tree.

pub(crate) mod fake;
pub(crate) mod rig;

use std::collections::BTreeSet;
use std::ffi::CString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::thread;
use std::time::Duration;

use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::mm::{MapFlags, ProtFlags};

use fake::{COMPOSED, MANY, MARKER, TOGETHER, pattern};
use rig::{Rig, eventually, may_mount, read_as};

const NOBODY: u32 = 65534;

fn errno<T>(outcome: io::Result<T>) -> i32 {
    outcome
        .err()
        .and_then(|error| error.raw_os_error())
        .unwrap_or(0)
}

fn names(path: &Path) -> BTreeSet<String> {
    fs::read_dir(path)
        .expect("can be listed")
        .map(|entry| {
            entry
                .expect("has rows")
                .file_name()
                .into_string()
                .expect("UTF-8")
        })
        .collect()
}

#[test]
fn nodes_are_as_the_tree_has_them() {
    if !may_mount() {
        return;
    }
    let rig = Rig::mounted(&["-o", "ro,uid=12,gid=34,umask=0007,file_mode=0445"]);
    assert_eq!(
        names(&rig.at("")),
        ["@2024-01-15", "@info", "@v1", "many", "markers"]
            .map(Into::into)
            .into()
    );
    let link = fs::read_link(rig.at("@2024-01-15")).expect("a symlink");
    assert_eq!(link, Path::new("@v1"));
    let file = fs::metadata(rig.at("@2024-01-15/composed.parquet")).expect("is there");
    assert_eq!(
        (file.ino(), file.size(), file.uid(), file.gid()),
        (21, COMPOSED, 12, 34)
    );
    assert_eq!(file.permissions().mode(), 0o100_440);
    assert_eq!(
        (file.mtime(), file.mtime_nsec()),
        (1_705_312_800, 123_000_000)
    );
    assert_eq!(file.blocks(), COMPOSED.div_ceil(512));
    let directory = fs::metadata(rig.at("@v1")).expect("is there");
    assert_eq!(
        (directory.ino(), directory.permissions().mode()),
        (2, 0o040_550)
    );
    assert_eq!(errno(fs::metadata(rig.at("@v2"))), libc::ENOENT);
    assert_eq!(
        errno(fs::read_dir(rig.at("@v1/backed.parquet"))),
        libc::ENOTDIR
    );

    let entry = rig.entry().expect("is mounted");
    assert_eq!(entry.source.as_os_str(), rig.table().as_os_str());
    for option in ["ro", "nodev", "nosuid", "default_permissions"] {
        assert!(
            entry.options.split(',').any(|is| is == option),
            "{option} in {}",
            entry.options
        );
    }
    let (major, minor) = entry.device;
    let ahead = fs::read_to_string(format!("/sys/class/bdi/{major}:{minor}/read_ahead_kb"));
    assert_eq!(ahead.expect("there is such a device"), "1024\n");
}

#[test]
fn a_listing_begins_with_dots() {
    if !may_mount() {
        return;
    }
    let rig = Rig::mounted(&[]);
    let flags = OFlags::RDONLY | OFlags::DIRECTORY;
    let fd = rustix::fs::open(rig.at("@v1"), flags, Mode::empty()).expect("opens");
    let rows: Vec<(String, u64)> = rustix::fs::Dir::new(fd)
        .expect("can be read")
        .map(|row| row.expect("a row"))
        .map(|row| (row.file_name().to_string_lossy().into_owned(), row.ino()))
        .collect();
    assert_eq!(rows[0], (".".into(), 2));
    assert_eq!(rows[1], ("..".into(), 1));
    assert_eq!(rows[2], ("backed.parquet".into(), 20));
    assert_eq!(rows.len(), 8);
    assert!(
        rows.iter().all(|(_, ino)| *ino != 0),
        "a row without a number is skipped by libc"
    );
}

#[test]
fn bytes_are_the_same_in_every_way_of_reading() {
    if !may_mount() {
        return;
    }
    for options in ["rw", "no_passthrough"] {
        let rig = Rig::mounted(&["-o", options]);
        let backing = fs::read(rig.table().join("backing")).expect("can be read");
        assert_eq!(
            fs::read(rig.at("@v1/backed.parquet")).expect("can be read"),
            backing
        );
        let composed: Vec<u8> = (0..COMPOSED).map(pattern).collect();
        assert!(fs::read(rig.at("@v1/composed.parquet")).expect("can be read") == composed);
        for (name, expected) in [
            ("backed.parquet", &backing),
            ("composed.parquet", &composed),
        ] {
            let file = File::open(rig.at("@v1").join(name)).expect("opens");
            let mut part = [0; 100];
            let end = expected.len() as u64;
            assert_eq!(file.read_at(&mut part, end - 50).expect("can be read"), 50);
            assert_eq!(part[..50], expected[expected.len() - 50..]);
            assert_eq!(file.read_at(&mut part, end).expect("the end"), 0);
            file.read_exact_at(&mut part, 123_457).expect("can be read");
            assert_eq!(part, expected[123_457..123_557]);
        }
    }
}

/// G15 (fuser#375, modin#513): memory_map=True of readers is MAP_SHARED.
#[test]
fn g15_files_can_be_mapped() {
    if !may_mount() {
        return;
    }
    for options in ["rw", "no_passthrough"] {
        let rig = Rig::mounted(&["-o", options]);
        for (name, ino, flags) in [
            ("@v1/backed.parquet", 20, MapFlags::SHARED),
            ("@v1/composed.parquet", 21, MapFlags::SHARED),
            ("@v1/composed.parquet", 21, MapFlags::PRIVATE),
            ("@info/latest", 30, MapFlags::SHARED),
        ] {
            let file = File::open(rig.at(name)).expect("opens");
            let size = 200_000;
            // SAFETY: a fresh mapping chosen by the kernel, unmapped below; the file is immutable.
            let bytes = unsafe {
                let null = std::ptr::null_mut();
                let start = rustix::mm::mmap(null, size, ProtFlags::READ, flags, &file, 0)
                    .unwrap_or_else(|errno| panic!("{name} {flags:?}: {errno}"));
                // The changing file shows no size, so nothing of it may be touched.
                let size_shown = if ino == 30 { 0 } else { size };
                let bytes = std::slice::from_raw_parts(start.cast::<u8>(), size_shown).to_vec();
                rustix::mm::munmap(start, size).expect("was mapped");
                bytes
            };
            let byte = |i: usize| {
                if ino == 20 {
                    (i % 253) as u8
                } else {
                    pattern(i as u64)
                }
            };
            assert!(
                bytes.iter().enumerate().all(|(i, b)| *b == byte(i)),
                "{name} {options}"
            );
        }
    }
}

#[test]
fn backed_files_pass_through_and_others_are_read_once() {
    if !may_mount() {
        return;
    }
    let rig = Rig::mounted(&["--read-only"]);
    // Held, so that no other test's `drop_caches` evicts the inode with its pages.
    let _held = File::open(rig.at("@v1/composed.parquet")).expect("opens");
    for _ in 0..3 {
        fs::read(rig.at("@v1/backed.parquet")).expect("can be read");
        fs::read(rig.at("@v1/composed.parquet")).expect("can be read");
    }
    assert_eq!(rig.count("opens 20"), 3);
    assert_eq!(rig.count("reads 20"), 0, "reads did not pass through");
    let once = rig.count("reads 21");
    assert!(once > 0);
    fs::read(rig.at("@v1/composed.parquet")).expect("can be read");
    assert_eq!(rig.count("reads 21"), once, "the page cache was not kept");

    let rig = Rig::mounted(&["-o", "no_passthrough"]);
    fs::read(rig.at("@v1/backed.parquet")).expect("can be read");
    assert!(rig.count("reads 20") > 0);
}

#[test]
fn many_opens_at_once_share_one_way_of_reading() {
    if !may_mount() {
        return;
    }
    let rig = Rig::mounted(&["--read-only"]);
    let backing = fs::read(rig.table().join("backing")).expect("can be read");
    thread::scope(|scope| {
        for worker in 0..4u64 {
            let (rig, backing) = (&rig, &backing);
            scope.spawn(move || {
                for round in 0..300u64 {
                    let file = File::open(rig.at("@v1/backed.parquet")).expect("opens");
                    let at = (worker * 7919 + round * 104_729) % 299_000;
                    let mut part = [0; 1000];
                    file.read_exact_at(&mut part, at).expect("can be read");
                    assert_eq!(part[..], backing[at as usize..at as usize + 1000]);
                }
            });
        }
    });
    assert_eq!(rig.count("reads 20"), 0);
    eventually("all handles are closed", || rig.count("handles") == 1);
}

/// G11 (zfs#2930): a listing of many pages has every row, with and without attributes.
#[test]
fn g11_long_listings_are_complete() {
    if !may_mount() {
        return;
    }
    let rig = Rig::mounted(&[]);
    let expected: BTreeSet<String> = (0..MANY).map(|i| format!("f{i:04}")).collect();
    for _ in 0..2 {
        assert_eq!(names(&rig.at("many")), expected);
        let mut sizes = 0;
        for entry in fs::read_dir(rig.at("many")).expect("can be listed") {
            sizes += entry
                .expect("a row")
                .metadata()
                .expect("has attributes")
                .size();
        }
        assert_eq!(sizes, (1000..1000 + MANY).sum::<u64>());
    }
    // Another test may make the kernel forget in between.
    eventually("each row is a look-up", || {
        let rows = fs::read_dir(rig.at("many")).expect("can be listed");
        let known = rows.filter(|row| row.as_ref().is_ok_and(|row| row.metadata().is_ok()));
        known.count() as u64 == MANY && rig.count("lookups") >= MANY as i64
    });
    drop_caches();
    eventually("the kernel forgets", || {
        drop_caches();
        rig.count("lookups") < 20
    });
    assert_eq!(rig.count("overforgotten"), 0);
}

fn drop_caches() {
    fs::write("/proc/sys/vm/drop_caches", "2").expect("root may");
}

#[test]
fn a_row_whose_node_is_lost_is_listed_and_tells_why_when_asked() {
    if !may_mount() {
        return;
    }
    let rig = Rig::mounted(&[]);
    for _ in 0..2 {
        assert!(names(&rig.at("@v1")).contains("gone.parquet"));
        assert_eq!(
            errno(fs::metadata(rig.at("@v1/gone.parquet"))),
            libc::ENOENT
        );
    }
    assert_eq!(
        fs::read_to_string(rig.at("@v1/bare.parquet")).expect("is there"),
        "ten bytes\n"
    );
    drop_caches();
    assert_eq!(rig.count("overforgotten"), 0);
}

#[test]
fn errors_and_panics_cost_one_request() {
    if !may_mount() {
        return;
    }
    let mut rig = Rig::new();
    let log = rig.beside("log");
    rig.start(&["--log-file", log.to_str().expect("UTF-8")]);
    assert_eq!(errno(File::open(rig.at("@v1/broken.parquet"))), libc::EBADF);
    assert_eq!(errno(File::open(rig.at("@v1/panics.parquet"))), libc::EIO);
    assert_eq!(
        errno(File::open(rig.at("@v1/absent.parquet"))),
        libc::ENOENT
    );
    fs::read(rig.at("@v1/composed.parquet")).expect("the mount is alive");
    let lines = fs::read_to_string(log).expect("there is a log");
    let with = |text: &str| lines.lines().filter(|line| line.contains(text)).count();
    assert_eq!(with("handle 777 is not open"), 1, "{lines}");
    assert_eq!(with("this file makes the tree panic"), 1, "{lines}");
    assert_eq!(with("answered with EIO"), 1, "{lines}");
    assert_eq!(with("absent.parquet"), 0, "{lines}");
}

#[test]
fn a_changing_file_is_read_anew_whatever_its_size() {
    if !may_mount() {
        return;
    }
    let rig = Rig::mounted(&[]);
    let first = fs::read_to_string(rig.at("@info/latest")).expect("can be read");
    let second = fs::read_to_string(rig.at("@info/latest")).expect("can be read");
    assert!(first.starts_with("read "), "{first}");
    assert_ne!(first, second);
}

/// G2 (fuser PR 692, PR 738): what answers ENOSYS once succeeds for ever; answer explicitly.
/// G4 (rclone#1045): fsync of a directory is not an error.
#[test]
fn g2_g4_fsync_of_every_kind_of_node_succeeds() {
    if !may_mount() {
        return;
    }
    let rig = Rig::mounted(&[]);
    for _ in 0..2 {
        for path in [
            "",
            "@v1",
            "@v1/backed.parquet",
            "@v1/composed.parquet",
            "@info/latest",
        ] {
            let file = File::open(rig.at(path)).expect("opens");
            file.sync_all()
                .unwrap_or_else(|error| panic!("fsync {path}: {error}"));
            file.sync_data()
                .unwrap_or_else(|error| panic!("fdatasync {path}: {error}"));
        }
    }
}

/// Requests that wait do not keep others waiting, and at least as many may wait as the test makes.
#[test]
fn many_commits_wait_at_once() {
    if !may_mount() {
        return;
    }
    let rig = Rig::mounted(&[]);
    thread::scope(|scope| {
        let rig = &rig;
        let sync = |number: u64| {
            let marker = File::open(rig.at(&format!("markers/m{number}"))).expect("opens");
            marker.sync_all().expect("is answered in the end");
        };
        let waiting: Vec<_> = (1..TOGETHER)
            .map(|number| scope.spawn(move || sync(number)))
            .collect();
        eventually("all are opened", || {
            (1..TOGETHER).all(|number| rig.count(&format!("opens {}", MARKER + number)) == 1)
        });
        for _ in 0..10 {
            fs::read(rig.at("@v1/composed.parquet")).expect("can be read meanwhile");
        }
        assert!(waiting.iter().all(|thread| !thread.is_finished()));
        sync(0);
    });
}

/// A signal ends the mount, but not a commit: the daemon lives until the last is done.
#[test]
fn a_signal_waits_for_commits() {
    if !may_mount() {
        return;
    }
    let mut rig = Rig::mounted(&[]);
    let markers: Vec<File> = (0..TOGETHER)
        .map(|number| File::open(rig.at(&format!("markers/m{number}"))).expect("opens"))
        .collect();
    let (last, others) = markers.split_last().expect("there are some");
    thread::scope(|scope| {
        let waiting: Vec<_> = others
            .iter()
            .map(|marker| scope.spawn(|| errno(marker.sync_all())))
            .collect();
        thread::sleep(Duration::from_millis(300));
        let daemon = rustix::process::Pid::from_child(rig.daemon());
        rustix::process::kill_process(daemon, rustix::process::Signal::TERM).expect("is alive");
        eventually("it is unmounted", || rig.entry().is_none());
        // Longer than the daemon waits for anything else.
        thread::sleep(Duration::from_millis(1500));
        let ended = rig.daemon().try_wait().expect("a child");
        assert_eq!(ended, None, "the daemon has cut commits off");
        assert_eq!(errno(last.sync_all()), 0);
        for thread in waiting {
            assert_eq!(thread.join().expect("does not panic"), 0);
        }
    });
    drop(markers);
    assert!(rig.ended().success());
}

/// G16 (rclone#894, #2356): a disk of zero blocks is refused by many.
#[test]
fn g16_statvfs_is_not_zero() {
    if !may_mount() {
        return;
    }
    let rig = Rig::mounted(&[]);
    let space = rustix::fs::statvfs(rig.at("@v1")).expect("answers");
    assert_eq!(
        (space.f_bsize, space.f_frsize, space.f_namemax),
        (4096, 4096, 255)
    );
    assert!(space.f_blocks > 0 && space.f_bavail > 0 && space.f_files > 0);
    assert!(space.f_blocks.checked_mul(space.f_frsize).is_some());
}

#[test]
fn extended_attributes_are_read() {
    if !may_mount() {
        return;
    }
    let rig = Rig::mounted(&[]);
    let path = rig.at("@v1/backed.parquet");
    let mut buffer = [0; 64];
    let count = rustix::fs::listxattr(&path, &mut buffer).expect("can be listed");
    assert_eq!(&buffer[..count], b"user.delta.path\0user.delta.version\0");
    let count = rustix::fs::getxattr(&path, "user.delta.path", &mut buffer).expect("is there");
    assert_eq!(&buffer[..count], b"part-0.parquet");
    let size = rustix::fs::getxattr_query(&path, "user.delta.path").expect("has a size");
    assert_eq!(size, 14);
    let short = rustix::fs::getxattr(&path, "user.delta.path", &mut buffer[..3]);
    assert_eq!(short, Err(rustix::io::Errno::RANGE));
    // What makes `ls -l` ask no more.
    let foreign = rustix::fs::getxattr(&path, "security.selinux", &mut buffer);
    assert_eq!(foreign, Err(rustix::io::Errno::OPNOTSUPP));
    let absent = rustix::fs::getxattr(&path, "user.delta.absent", &mut buffer);
    assert_eq!(absent, Err(rustix::io::Errno::NODATA));
    let count = rustix::fs::listxattr(rig.at("@v1"), &mut buffer).expect("can be listed");
    assert_eq!(count, 0);
}

#[test]
fn files_are_all_data_and_lock_locally() {
    if !may_mount() {
        return;
    }
    let rig = Rig::mounted(&[]);
    for path in ["@v1/composed.parquet", "@v1/backed.parquet"] {
        let mut file = File::open(rig.at(path)).expect("opens");
        let size = file.metadata().expect("has attributes").len();
        let data = rustix::fs::seek(&file, rustix::fs::SeekFrom::Data(10)).expect("data");
        let hole = rustix::fs::seek(&file, rustix::fs::SeekFrom::Hole(10)).expect("the end");
        assert_eq!((data, hole), (10, size));
        assert_eq!(file.seek(SeekFrom::End(-1)).expect("within"), size - 1);
        rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared).expect("locks");
        rustix::fs::fcntl_lock(&file, FlockOperation::NonBlockingLockShared).expect("locks");
        // SAFETY: TCGETS writes nothing unless the descriptor is a terminal, and it has the room.
        let outcome = unsafe {
            let mut room = std::mem::zeroed::<libc::termios>();
            libc::ioctl(file.as_raw_fd(), libc::TCGETS, &mut room)
        };
        assert_eq!((outcome, errno(last_error())), (-1, libc::ENOTTY), "{path}");
    }
}

fn last_error() -> io::Result<()> {
    Err(io::Error::last_os_error())
}

fn every_write(rig: &Rig) -> Vec<(&'static str, i32)> {
    let file = rig.at("@v1/composed.parquet");
    let new = rig.at("@v1/new");
    let path = CString::new(file.as_os_str().as_encoded_bytes()).expect("no NUL");
    let name = c"user.delta.path";
    // SAFETY: strings that end with NUL, and a value with its length.
    let set = unsafe { libc::setxattr(path.as_ptr(), name.as_ptr(), b"x".as_ptr().cast(), 1, 0) };
    let setxattr = if set == 0 { 0 } else { errno(last_error()) };
    // SAFETY: strings that end with NUL.
    let removed = unsafe { libc::removexattr(path.as_ptr(), name.as_ptr()) };
    let removexattr = if removed == 0 { 0 } else { errno(last_error()) };
    let mode = fs::Permissions::from_mode(0o600);
    let node = rustix::fs::mknodat(
        rustix::fs::CWD,
        &new,
        rustix::fs::FileType::RegularFile,
        Mode::RUSR,
        0,
    );
    vec![
        (
            "open for writing",
            errno(OpenOptions::new().write(true).open(&file)),
        ),
        (
            "open for both",
            errno(OpenOptions::new().read(true).write(true).open(&file)),
        ),
        (
            "open to append",
            errno(OpenOptions::new().append(true).open(&file)),
        ),
        (
            "open read-only to truncate",
            errno(
                OpenOptions::new()
                    .read(true)
                    .custom_flags(libc::O_TRUNC)
                    .open(&file),
            ),
        ),
        ("create", errno(File::create_new(&new))),
        ("mkdir", errno(fs::create_dir(&new))),
        ("mknod", errno(node.map_err(io::Error::from))),
        ("unlink", errno(fs::remove_file(&file))),
        ("rmdir", errno(fs::remove_dir(rig.at("@v1")))),
        ("symlink", errno(std::os::unix::fs::symlink("x", &new))),
        ("link", errno(fs::hard_link(&file, &new))),
        ("rename", errno(fs::rename(&file, &new))),
        ("chmod", errno(fs::set_permissions(&file, mode))),
        (
            "chown",
            errno(std::os::unix::fs::chown(&file, Some(1), None)),
        ),
        ("truncate", errno(rustix_truncate(&file))),
        ("setxattr", setxattr),
        ("removexattr", removexattr),
    ]
}

fn rustix_truncate(path: &Path) -> io::Result<()> {
    let path = CString::new(path.as_os_str().as_encoded_bytes()).expect("no NUL");
    // SAFETY: a string that ends with NUL.
    if unsafe { libc::truncate(path.as_ptr(), 0) } == 0 {
        Ok(())
    } else {
        last_error()
    }
}

#[test]
fn whatever_writes_is_erofs() {
    if !may_mount() {
        return;
    }
    let rig = Rig::mounted(&[]);
    for (what, errno) in every_write(&rig) {
        assert_eq!(errno, libc::EROFS, "{what}");
    }
    // The kernel answered those itself. Writable for the kernel, the adapter has to.
    let flags = rustix::mount::MountFlags::NODEV | rustix::mount::MountFlags::NOSUID;
    rustix::mount::mount_remount(rig.at(""), flags, c"").expect("the kernel takes it");
    assert!(rig.entry().expect("is mounted").options.starts_with("rw"));
    for (what, errno) in every_write(&rig) {
        assert_eq!(errno, libc::EROFS, "{what}, answered by the adapter");
    }
    let mut reader = File::open(rig.at("@v1/composed.parquet")).expect("opens for reading");
    assert_eq!(errno(reader.write(b"x")), libc::EBADF);
    let mut byte = [0];
    reader.read_exact(&mut byte).expect("the mount is alive");
}

/// G19 (fuser#244, #230): nobody else is let in unless that was asked for.
#[test]
fn g19_others_are_let_in_only_when_asked() {
    if !may_mount() {
        return;
    }
    let open = |rig: &Rig| fs::set_permissions(rig.beside(""), fs::Permissions::from_mode(0o755));
    let file = "@v1/bare.parquet";
    let denied = |rig: &Rig| {
        read_as(NOBODY, &rig.at(file)).is_err_and(|e| e.kind() == io::ErrorKind::PermissionDenied)
    };

    let rig = Rig::mounted(&[]);
    open(&rig).expect("ours");
    assert!(
        !rig.entry()
            .expect("is mounted")
            .options
            .contains("allow_other")
    );
    assert!(denied(&rig));

    let rig = Rig::mounted(&["--allow-root"]);
    open(&rig).expect("ours");
    assert!(denied(&rig));
    assert_eq!(
        read_as(0, &rig.at(file)).expect("root is let in"),
        "ten bytes\n"
    );

    let rig = Rig::mounted(&["--allow-other"]);
    open(&rig).expect("ours");
    assert_eq!(
        read_as(NOBODY, &rig.at(file)).expect("is let in"),
        "ten bytes\n"
    );

    let rig = Rig::mounted(&["--allow-other", "--file-mode", "400"]);
    open(&rig).expect("ours");
    assert!(denied(&rig), "modes hold");
}
