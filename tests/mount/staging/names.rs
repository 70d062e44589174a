//! What names there are, whose they are, and what cannot be made.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use rustix::fs::{AtFlags, CWD, FileType, Mode, RenameFlags, Timespec, Timestamps, XattrFlags};
use rustix::io::Errno;

use super::{each_way, errno};
use crate::rig::{Rig, may_mount};
use crate::semantics::says;

#[test]
fn a_read_only_mount_has_no_staging() {
    if !may_mount() {
        return;
    }
    for options in ["ro", "rw,ro"] {
        let mut rig = Rig::new();
        rig.mount(&["-o", options]);
        assert_eq!(rig.names(""), ["@info", "@latest", "@v0"]);
        assert_eq!(errno(fs::metadata(rig.at("@staging"))), libc::ENOENT);
        assert_eq!(errno(fs::create_dir(rig.at("@staging"))), libc::EROFS);
        assert!(!rig.table().join("_deltafs").exists());
    }
    let mut rig = Rig::new();
    rig.mount(&["--read-only"]);
    assert_eq!(errno(fs::metadata(rig.at("@staging"))), libc::ENOENT);
}

#[test]
fn outside_of_transactions_nothing_is_written() {
    if !may_mount() {
        return;
    }
    let mut rig = Rig::new();
    let add = rig.data_file("a.parquet", b"content of a");
    rig.commit(1, &[&add]);
    rig.mount(&["--view", "raw"]);
    fs::create_dir(rig.at("@staging/t")).expect("a transaction begins");
    fs::write(rig.at("@staging/t/f"), "f").expect("can be written");
    for file in ["@v1/a.parquet", "@latest/a.parquet", "@info/latest"] {
        let path = rig.at(file);
        let write = |options: &mut OpenOptions| errno(options.open(&path));
        assert_eq!(write(OpenOptions::new().write(true)), libc::EROFS, "{file}");
        assert_eq!(write(OpenOptions::new().append(true)), libc::EROFS);
        assert_eq!(
            write(OpenOptions::new().write(true).truncate(true)),
            libc::EROFS
        );
        let mode = fs::Permissions::from_mode(0o600);
        assert_eq!(errno(fs::set_permissions(&path, mode)), libc::EROFS);
        assert_eq!(
            errno(std::os::unix::fs::chown(&path, Some(1), None)),
            libc::EROFS
        );
        assert_eq!(errno(fs::remove_file(&path)), libc::EROFS);
        assert_eq!(errno(fs::rename(&path, rig.at("@v1/b"))), libc::EROFS);
        assert_eq!(
            errno(fs::rename(rig.at("@staging/t/f"), &path)),
            libc::EROFS
        );
        let linked = fs::hard_link(&path, rig.at("@staging/t/link"));
        assert_eq!(errno(linked), libc::EXDEV);
        let set = rustix::fs::setxattr(&path, "user.x", b"1", XattrFlags::empty());
        assert_eq!(set, Err(Errno::ROFS));
        File::open(&path)
            .and_then(|file| file.sync_all())
            .expect("nothing to do");
    }
    for directory in ["", "@v1", "@latest", "@info", "@info/v1"] {
        let name = rig.at(directory).join("new");
        assert_eq!(errno(File::create(&name)), libc::EROFS, "{directory}");
        assert_eq!(errno(fs::create_dir(&name)), libc::EROFS);
        assert_eq!(errno(symlink("x", &name)), libc::EROFS);
        assert_eq!(
            errno(fs::rename(rig.at("@staging/t/f"), &name)),
            libc::EROFS
        );
        assert_eq!(
            errno(fs::hard_link(rig.at("@staging/t/f"), &name)),
            libc::EROFS
        );
    }
    assert_eq!(errno(fs::remove_dir(rig.at("@v1"))), libc::EROFS);
    // Reading is as ever, also of what is a hole or is not.
    let file = File::open(rig.at("@v1/a.parquet")).expect("opens");
    let hole = rustix::fs::seek(&file, rustix::fs::SeekFrom::Hole(3));
    assert_eq!(hole, Ok(12));
    let behind = rustix::fs::seek(&file, rustix::fs::SeekFrom::Data(12));
    assert_eq!(behind, Err(Errno::NXIO));
}

#[test]
fn staging_holds_transactions_alone() {
    says("`mkdir` begins it, making its marker durable commits it, `rmdir` ends it.");
    each_way(|staged| {
        let rig = &staged.rig;
        assert_eq!(rig.names("@staging"), ["t"]);
        assert_eq!(rig.names("@staging/t"), [".status"]);
        assert_eq!(errno(fs::create_dir(staged.at(""))), libc::EEXIST);
        assert_eq!(errno(File::create(rig.at("@staging/f"))), libc::EPERM);
        assert_eq!(errno(symlink("x", rig.at("@staging/l"))), libc::EPERM);
        assert_eq!(
            errno(fs::rename(staged.at(""), rig.at("@staging/u"))),
            libc::EPERM
        );
        assert_eq!(errno(fs::metadata(rig.at("@staging/u"))), libc::ENOENT);
        fs::write(staged.at("f"), "x").expect("can be written");
        assert_eq!(errno(fs::remove_dir(staged.at(""))), libc::ENOTEMPTY);
        fs::create_dir(rig.at("@staging/u")).expect("side by side");
        let moved = fs::rename(staged.at("f"), rig.at("@staging/u/f"));
        assert_eq!(errno(moved), libc::EXDEV);
        let linked = fs::hard_link(staged.at("f"), rig.at("@staging/u/f"));
        assert_eq!(errno(linked), libc::EXDEV);
        assert_eq!(rig.names("@staging"), ["t", "u"]);
        fs::remove_dir(rig.at("@staging/u")).expect("is empty");
        assert_eq!(errno(fs::metadata(rig.at("@staging/u/f"))), libc::ENOENT);
        File::open(rig.at("@staging"))
            .and_then(|it| it.sync_all())
            .expect("G4: is no error");
        File::open(staged.at(""))
            .and_then(|it| it.sync_all())
            .expect("G4: is no error");
    });
}

#[test]
fn status_is_there_and_stays() {
    says("0, and it is there again: `rm -r` goes on");
    each_way(|staged| {
        let status = staged.at(".status");
        assert_eq!(staged.state(), "open");
        assert_eq!(errno(File::create(&status)), libc::EROFS);
        assert_eq!(
            errno(OpenOptions::new().append(true).open(&status)),
            libc::EROFS
        );
        assert_eq!(errno(File::create_new(&status)), libc::EEXIST);
        assert_eq!(errno(fs::create_dir(&status)), libc::EEXIST);
        assert_eq!(errno(fs::rename(&status, staged.at("s"))), libc::EPERM);
        fs::write(staged.at("f"), "x").expect("can be written");
        assert_eq!(errno(fs::rename(staged.at("f"), &status)), libc::EPERM);
        assert_eq!(errno(fs::hard_link(staged.at("f"), &status)), libc::EEXIST);
        fs::remove_file(&status).expect("`rm -r` must go on");
        assert_eq!(staged.state(), "open");
        // Anywhere else the name is like any other.
        fs::create_dir(staged.at("d")).expect("can be made");
        fs::write(staged.at("d/.status"), "mine").expect("can be written");
        assert_eq!(fs::read(staged.at("d/.status")).expect("is there"), b"mine");
    });
}

#[test]
fn special_files_links_and_extended_attributes_are_refused() {
    says("| `symlink`, `mknod` of devices, pipes and sockets | EPERM | EPERM | - | - | EPERM |");
    says(
        "| `setxattr`, `removexattr`; `listxattr` | EOPNOTSUPP; none | same | same | same | same |",
    );
    each_way(|staged| {
        assert_eq!(errno(symlink("x", staged.at("l"))), libc::EPERM);
        for (kind, expected) in [
            (FileType::Fifo, Err(Errno::PERM)),
            (FileType::CharacterDevice, Err(Errno::PERM)),
            (FileType::Socket, Err(Errno::PERM)),
            (FileType::RegularFile, Ok(())),
        ] {
            let mode = Mode::from_raw_mode(0o600);
            let made = rustix::fs::mknodat(CWD, staged.at("n"), kind, mode, 0);
            assert_eq!(made, expected, "{kind:?}");
        }
        let path = staged.at("n");
        let set = rustix::fs::setxattr(&path, "user.x", b"1", XattrFlags::empty());
        assert_eq!(set, Err(Errno::OPNOTSUPP));
        assert_eq!(
            rustix::fs::removexattr(&path, "user.x"),
            Err(Errno::OPNOTSUPP)
        );
        let mut buffer = [0_u8; 100];
        assert_eq!(rustix::fs::listxattr(&path, &mut buffer[..]), Ok(0));
        let got = rustix::fs::getxattr(&path, "user.x", &mut buffer[..]);
        assert_eq!(got, Err(Errno::NODATA));
    });
}

#[test]
fn renames_have_all_their_flags() {
    says(
        "| `rename`, also with NOREPLACE and EXCHANGE | EPERM for a transaction | within the transaction; EXDEV to another one |",
    );
    each_way(|staged| {
        fs::write(staged.at("a"), "a").expect("can be written");
        fs::write(staged.at("b"), "b").expect("can be written");
        let rename =
            |flags| rustix::fs::renameat_with(CWD, staged.at("a"), CWD, staged.at("b"), flags);
        let read = |name| fs::read_to_string(staged.at(name)).expect("is there");
        assert_eq!(rename(RenameFlags::NOREPLACE), Err(Errno::EXIST));
        assert_eq!(rename(RenameFlags::EXCHANGE), Ok(()));
        assert_eq!((read("a"), read("b")), ("b".into(), "a".into()));
        assert_eq!(rename(RenameFlags::WHITEOUT), Err(Errno::INVAL));
        assert_eq!(rename(RenameFlags::empty()), Ok(()));
        assert_eq!(read("b"), "b");
    });
}

/// Numbers stay while the kernel forgets, hard links share one, and what is made anew has one of
/// its own as long as the old one is open.
#[test]
fn inode_numbers_belong_to_files() {
    each_way(|staged| {
        fs::create_dir(staged.at("d")).expect("can be made");
        fs::write(staged.at("d/a"), "a").expect("can be written");
        let number = |path: &str| fs::metadata(staged.at(path)).expect("is there").ino();
        let before = (number(""), number("d"), number("d/a"), number(".status"));
        assert!(
            [before.1, before.2, before.3]
                .iter()
                .all(|ino| *ino != before.0)
        );
        fs::write("/proc/sys/vm/drop_caches", "2").expect("root may");
        assert_eq!(
            (number(""), number("d"), number("d/a"), number(".status")),
            before
        );
        for row in fs::read_dir(staged.at("d")).expect("can be listed") {
            let ino = std::os::unix::fs::DirEntryExt::ino(&row.expect("a row"));
            assert_eq!(ino, before.2);
        }
        fs::hard_link(staged.at("d/a"), staged.at("b")).expect("can be linked");
        assert_eq!((number("b"), number("d/a")), (before.2, before.2));
        let held = File::open(staged.at("b")).expect("opens");
        fs::remove_file(staged.at("b")).expect("is there");
        fs::remove_file(staged.at("d/a")).expect("is there");
        fs::write(staged.at("d/a"), "another").expect("can be written");
        assert_ne!(number("d/a"), before.2);
        assert_eq!(held.metadata().expect("is open").nlink(), 0);
    });
}

#[test]
fn names_are_bytes_and_listings_complete() {
    each_way(|staged| {
        let odd = Path::new(OsStr::from_bytes(b"caf\xe9 \n"));
        fs::write(staged.at("").join(odd), "x").expect("can be written");
        let found = fs::read_dir(staged.at("")).expect("can be listed");
        let names: Vec<_> = found.map(|row| row.expect("a row").file_name()).collect();
        assert!(
            names.iter().any(|name| name == odd.as_os_str()),
            "{names:?}"
        );
        fs::create_dir(staged.at("many")).expect("can be made");
        for number in 0..3000 {
            File::create(staged.at(&format!("many/{number:04}"))).expect("can be made");
        }
        let expected: Vec<String> = (0..3000).map(|number| format!("{number:04}")).collect();
        assert_eq!(staged.rig.names("@staging/t/many"), expected);
        let long = "n".repeat(255);
        fs::write(staged.at(&long), "x").expect("fits");
        assert_eq!(
            errno(File::create(staged.at(&format!("{long}n")))),
            libc::ENAMETOOLONG
        );
    });
}

/// Files belong to who makes them, and permissions hold as on any file system.
#[test]
fn files_belong_to_who_makes_them() {
    says(
        "yes; belongs to the caller, or to the group of a set-gid directory; set-uid and set-gid are left out",
    );
    if !may_mount() {
        return;
    }
    let mut rig = Rig::new();
    // Whoever may write to the table's directory may begin transactions.
    fs::set_permissions(rig.table(), fs::Permissions::from_mode(0o777)).expect("it is ours");
    rig.mount(&["--allow-other", "-o", "umask=0"]);
    let run = |uid: u32, script: &str| {
        let output = Command::new("sh")
            .args(["-euc", script])
            .current_dir(rig.at("@staging"))
            .uid(uid)
            .gid(uid + 1)
            .output()
            .expect("there is a shell");
        output.status.success()
    };
    // Rig directories are private to root: others come in by the working directory.
    let mode = fs::metadata(rig.at("@staging")).expect("is there").mode();
    assert_eq!(mode & 0o7777, 0o1777);
    assert!(run(
        1234,
        "umask 022; mkdir t; echo x > t/f; mkdir t/d; mknod t/n p 2>/dev/null || : > t/n"
    ));
    for (path, mode) in [("t", 0o755), ("t/f", 0o644), ("t/d", 0o755), ("t/n", 0o644)] {
        let found = fs::metadata(rig.at("@staging").join(path)).expect("is there");
        assert_eq!(
            (found.uid(), found.gid(), found.mode() & 0o7777),
            (1234, 1235, mode),
            "{path}"
        );
    }
    assert!(!run(4321, "echo y > t/f"), "another user may not write");
    assert!(!run(4321, "rmdir t"), "nor end the transaction");
    assert!(!run(4321, "touch t/g"));
    assert!(run(4321, "cat t/f > /dev/null"), "but read");
    assert!(run(1234, "chmod 600 t/f; cat t/f > /dev/null"));
    assert!(!run(4321, "cat t/f"));
    assert!(run(1234, "chmod 0 t/f; rm -r t"), "it is theirs");

    says(
        "With `--allow-other` as root, whoever may write to the table's directory may begin transactions",
    );
    let mut rig = Rig::new();
    std::os::unix::fs::chown(rig.table(), Some(1234), Some(77)).expect("root may");
    rig.mount(&["--allow-other"]);
    let staging = fs::metadata(rig.at("@staging")).expect("is there");
    assert_eq!(
        (staging.uid(), staging.gid(), staging.mode() & 0o7777),
        (1234, 77, 0o1755)
    );
    for (uid, may) in [(1234, true), (4321, false)] {
        let status = Command::new("mkdir")
            .arg(format!("t{uid}"))
            .current_dir(rig.at("@staging"))
            .uid(uid)
            .status()
            .expect("can be run");
        assert_eq!(status.success(), may, "{uid}");
    }

    let flags = AtFlags::empty();
    let mut rig = Rig::new();
    rig.mount(&[]);
    let stat = rustix::fs::statat(CWD, rig.at("@staging"), flags).expect("is there");
    assert_eq!((stat.st_mode & 0o7777, stat.st_uid), (0o755, 0));
}

/// The earliest and the latest time that a program can name do no harm.
#[test]
fn times_may_be_of_any_age() {
    each_way(|staged| {
        let plain = staged.rig.table().with_file_name("plain");
        let path = staged.at("f");
        for path in [&plain, &path] {
            fs::write(path, "x").expect("can be written");
        }
        for (tv_sec, tv_nsec) in [
            (i64::MIN, 0),
            (i64::MIN, 1),
            (i64::MIN + 1, 999_999_999),
            (-1, 1),
            (0, 0),
            (1 << 33, 5),
            (i64::MAX, 999_999_999),
        ] {
            let time = Timespec { tv_sec, tv_nsec };
            let set = |path: &Path| {
                let times = Timestamps {
                    last_access: time,
                    last_modification: time,
                };
                let set = rustix::fs::utimensat(CWD, path, &times, AtFlags::empty());
                let found = fs::metadata(path).expect("is there");
                (set, found.mtime(), found.mtime_nsec())
            };
            assert_eq!(set(&path), set(&plain), "{time:?}");
        }
        assert_eq!(staged.rig.names("@staging"), ["t"], "the mount answers");
    });
}
