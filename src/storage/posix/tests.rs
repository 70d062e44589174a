use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use tempfile::TempDir;

use super::*;

const NEW: NewFile = NewFile {
    permissions: 0o640,
    owner: Owner { uid: 0, gid: 0 },
};

/// A new file of the user who runs the tests.
fn own(permissions: u16) -> NewFile {
    NewFile {
        permissions,
        owner: Owner {
            uid: rustix::process::geteuid().as_raw(),
            gid: rustix::process::getegid().as_raw(),
        },
    }
}

fn scene() -> (TempDir, Directory) {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let directory = Directory::open(temporary.path()).expect("opens");
    (temporary, directory)
}

fn name(text: &str) -> &OsStr {
    OsStr::new(text)
}

fn errno<T>(outcome: Result<T, PosixError>) -> i32 {
    outcome.err().map_or(0, |error| error.errno())
}

fn names(directory: &Directory) -> Vec<String> {
    let rows = directory.rows().expect("can be listed");
    let mut names: Vec<String> = rows
        .into_iter()
        .map(|row| row.name.into_string().expect("text"))
        .collect();
    names.sort();
    names
}

#[test]
fn a_name_is_one_name() {
    let (_temporary, directory) = scene();
    for (wrong, expected) in [
        ("", libc::ENOENT),
        (".", libc::EINVAL),
        ("..", libc::EINVAL),
        ("a/b", libc::EINVAL),
        ("../a", libc::EINVAL),
        ("a\0", libc::EINVAL),
    ] {
        let wrong = name(wrong);
        let node = directory.node();
        let all = [
            errno(directory.child(wrong)),
            errno(directory.stat_child(wrong)),
            errno(directory.create(wrong, own(0o600), Access::Write)),
            errno(directory.make_directory(wrong, own(0o700))),
            errno(directory.unlink(wrong)),
            errno(directory.remove_directory(wrong)),
            errno(directory.rename(wrong, &directory, name("b"), Replacing::Yes)),
            errno(directory.rename(name("b"), &directory, wrong, Replacing::No)),
            errno(directory.link(wrong, node)),
        ];
        assert!(
            all.iter().all(|errno| *errno == expected),
            "{wrong:?} {all:?}"
        );
    }
    let long = "x".repeat(256);
    assert_eq!(errno(directory.child(name(&long))), libc::ENAMETOOLONG);
}

#[test]
fn symbolic_links_are_not_followed() {
    let (temporary, directory) = scene();
    let outside = tempfile::tempdir().expect("a temporary directory");
    fs::write(outside.path().join("secret"), "secret").expect("can be written");
    symlink(outside.path(), temporary.path().join("out")).expect("can be made");
    symlink("target", temporary.path().join("file")).expect("can be made");
    fs::write(temporary.path().join("target"), "").expect("can be written");

    let link = directory.child(name("out")).expect("is there");
    assert_eq!(link.stat().expect("has attributes").kind, Kind::Other);
    assert_eq!(errno(link.open(Access::Read)), libc::EINVAL);
    assert_eq!(errno(directory.directory(name("out"))), libc::ENOTDIR);
    let file = directory.child(name("file")).expect("is there");
    assert_eq!(errno(file.open(Access::Write)), libc::EINVAL);
    let created = directory.create(name("file"), own(0o600), Access::Write);
    assert_eq!(errno(created), libc::EEXIST);
    let opened = Directory::open(&temporary.path().join("out"));
    assert_eq!(errno(opened), libc::ENOTDIR);
}

#[test]
fn what_would_block_or_has_effects_is_not_opened() {
    let (temporary, directory) = scene();
    let path = temporary.path().join("pipe");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &path,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .expect("can be made");
    let pipe = directory.child(name("pipe")).expect("is there");
    assert_eq!(errno(pipe.open(Access::Read)), libc::EINVAL);
    let itself = directory.node().open(Access::Read);
    assert_eq!(errno(itself), libc::EISDIR);
}

#[test]
fn a_new_file_has_the_mode_asked_for_whatever_the_umask_and_opens_whatever_the_mode() {
    let (temporary, directory) = scene();
    for mode in [0o666, 0o400, 0o000, 0o1777] {
        let name_of = format!("f{mode:o}");
        let file = directory
            .create(name(&name_of), own(mode), Access::ReadWrite)
            .expect("can be made");
        assert_eq!(write_all_at(&file, b"x", 0).expect("can be written"), 1);
        let found = fs::metadata(temporary.path().join(&name_of)).expect("is there");
        assert_eq!(found.permissions().mode() & 0o7777, u32::from(mode));
    }
    // What lies here may end up in a table.
    directory
        .create(name("suid"), own(0o6755), Access::Read)
        .expect("can be made");
    let node = directory.child(name("suid")).expect("is there");
    assert_eq!(node.stat().expect("has attributes").permissions, 0o755);
    node.set_permissions(0o4711).expect("can be set");
    assert_eq!(node.stat().expect("has attributes").permissions, 0o711);
    let made = directory
        .make_directory(name("d"), own(0o1777))
        .expect("can be made");
    assert_eq!(made.stat().expect("has attributes").permissions, 0o1777);
}

#[test]
fn new_nodes_belong_to_who_made_them() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only root can give files away");
        return;
    }
    let (_temporary, directory) = scene();
    let theirs = NewFile {
        owner: Owner { uid: 12, gid: 34 },
        ..NEW
    };
    directory
        .create(name("f"), theirs, Access::Write)
        .expect("can be made");
    let stat = directory.stat_child(name("f")).expect("is there");
    assert_eq!((stat.owner, stat.permissions), (theirs.owner, 0o640));

    let group = directory
        .make_directory(name("d"), theirs)
        .expect("can be made");
    assert_eq!(group.stat().expect("has attributes").owner, theirs.owner);
    group.node().set_owner(None, Some(56)).expect("can be set");
    group.node().set_permissions(0o2775).expect("can be set");
    // A set-gid directory hands its group down, and directories below it do too.
    group
        .create(name("f"), theirs, Access::Write)
        .expect("can be made");
    let below = group
        .make_directory(name("d"), theirs)
        .expect("can be made");
    let file = group.stat_child(name("f")).expect("is there");
    let below = below.stat().expect("has attributes");
    assert_eq!(file.owner, Owner { uid: 12, gid: 56 });
    assert_eq!(below.owner, Owner { uid: 12, gid: 56 });
    assert_eq!(below.permissions, 0o2640);
    assert_eq!(
        errno(group.node().set_owner(Some(u32::MAX), None)),
        libc::EINVAL
    );
}

#[test]
fn a_held_node_stays_itself() {
    let (_temporary, directory) = scene();
    let file = directory
        .create(name("a"), own(0o600), Access::Write)
        .expect("can be made");
    write_all_at(&file, b"content", 0).expect("can be written");
    let node = directory.child(name("a")).expect("is there");
    let inode = node.stat().expect("has attributes").inode;
    directory
        .rename(name("a"), &directory, name("b"), Replacing::Yes)
        .expect("can be renamed");
    directory.unlink(name("b")).expect("can be removed");
    directory
        .create(name("a"), own(0o600), Access::Write)
        .expect("can be made");

    let stat = node.stat().expect("is held");
    assert_eq!((stat.inode, stat.links, stat.size), (inode, 0, 7));
    assert_ne!(
        directory.stat_child(name("a")).expect("is there").inode,
        inode,
        "the number of a held node is given to no other"
    );
    node.set_size(3).expect("is held");
    let mut buffer = [0; 10];
    let opened = node.open(Access::Read).expect("is held");
    assert_eq!(read_at(&opened, &mut buffer, 0).expect("can be read"), 3);
    assert_eq!(&buffer[..3], b"con");
}

#[test]
fn renames_replace_spare_or_exchange() {
    let (temporary, directory) = scene();
    let below = directory
        .make_directory(name("d"), own(0o700))
        .expect("can be made");
    let write = |path: &str| fs::write(temporary.path().join(path), path).expect("can be written");
    let read = |path: &str| fs::read_to_string(temporary.path().join(path)).expect("is there");
    write("a");
    write("d/b");
    let rename = |replacing| directory.rename(name("a"), &below, name("b"), replacing);
    assert_eq!(errno(rename(Replacing::No)), libc::EEXIST);
    rename(Replacing::Exchange).expect("both are there");
    assert_eq!((read("a"), read("d/b")), ("d/b".into(), "a".into()));
    rename(Replacing::Yes).expect("is there");
    assert_eq!(read("d/b"), "d/b");
    assert_eq!(errno(rename(Replacing::Yes)), libc::ENOENT);
    write("a");
    let into_itself = directory.rename(name("d"), &below, name("d"), Replacing::Yes);
    assert_eq!(errno(into_itself), libc::EINVAL);
    assert_eq!(names(&directory), ["a", "d"]);
    assert_eq!(
        errno(directory.remove_directory(name("d"))),
        libc::ENOTEMPTY
    );
    assert_eq!(errno(directory.unlink(name("d"))), libc::EISDIR);
    assert_eq!(errno(directory.remove_directory(name("a"))), libc::ENOTDIR);
    below.unlink(name("b")).expect("is there");
    directory.remove_directory(name("d")).expect("is empty");
    assert_eq!(names(&directory), ["a"]);
}

#[test]
fn links_share_a_node() {
    let (_temporary, directory) = scene();
    directory
        .create(name("a"), own(0o600), Access::Write)
        .expect("can be made");
    let node = directory.child(name("a")).expect("is there");
    directory.link(name("b"), &node).expect("can be linked");
    let (a, b) = (node.stat(), directory.stat_child(name("b")));
    let (a, b) = (a.expect("is held"), b.expect("is there"));
    assert_eq!((a.inode, a.links), (b.inode, 2));
    assert_eq!(errno(directory.link(name("b"), &node)), libc::EEXIST);
    let itself = directory.link(name("c"), directory.node());
    assert_eq!(errno(itself), libc::EPERM);
    assert_eq!(
        directory.stat_parent().expect("has one").kind,
        Kind::Directory
    );
}

#[test]
fn names_are_bytes() {
    let (_temporary, directory) = scene();
    let odd = OsStr::from_bytes(b"caf\xe9 \n\"\\");
    directory
        .create(odd, own(0o600), Access::Write)
        .expect("can be made");
    let rows = directory.rows().expect("can be listed");
    assert_eq!(rows.len(), 1);
    assert_eq!(
        (rows[0].name.as_os_str(), rows[0].kind),
        (odd, Some(Kind::File))
    );
    let stat = directory.stat_child(odd).expect("is there");
    assert_eq!(rows[0].inode, stat.inode);
}

#[test]
fn times_are_set_to_the_nanosecond_or_kept() {
    let (temporary, directory) = scene();
    directory
        .create(name("a"), own(0o600), Access::Write)
        .expect("can be made");
    let node = directory.child(name("a")).expect("is there");
    let (accessed, modified) = (
        Time {
            seconds: 1_700_000_000,
            nanoseconds: 123_456_789,
        },
        Time {
            seconds: -5,
            nanoseconds: 1,
        },
    );
    node.set_times(TimeChange::To(accessed), TimeChange::To(modified))
        .expect("can be set");
    let stat = node.stat().expect("has attributes");
    assert_eq!((stat.accessed, stat.modified), (accessed, modified));
    node.set_times(TimeChange::Keep, TimeChange::Now)
        .expect("can be set");
    let stat = node.stat().expect("has attributes");
    assert_eq!(stat.accessed, accessed);
    let found = fs::metadata(temporary.path().join("a")).expect("is there");
    assert_eq!(stat.modified.seconds, found.mtime());
    assert!(stat.modified.seconds > 1_700_000_000 && stat.changed >= stat.modified);
}

#[test]
fn room_holes_and_copies() {
    let (_temporary, directory) = scene();
    let file = directory
        .create(name("a"), own(0o600), Access::ReadWrite)
        .expect("can be made");
    let whole = Range {
        offset: 0,
        length: 1 << 20,
    };
    allocate(&file, 0, whole).expect("there is room");
    let stat = directory.stat_child(name("a")).expect("is there");
    assert_eq!(stat.size, 1 << 20);
    assert!(stat.blocks >= 2048, "{} blocks", stat.blocks);
    write_all_at(&file, &[7; 1 << 20], 0).expect("can be written");
    let hole = Range {
        offset: 1 << 18,
        length: 1 << 18,
    };
    let punch = (libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE).cast_unsigned();
    allocate(&file, punch, hole).expect("can be punched");
    assert_eq!(seek(&file, Seek::Hole, 0).expect("there is one"), 1 << 18);
    assert_eq!(seek(&file, Seek::Data, 1 << 18).expect("is there"), 1 << 19);
    assert_eq!(errno(seek(&file, Seek::Data, 1 << 20)), libc::ENXIO);
    assert_eq!(errno(allocate(&file, 1 << 30, whole)), libc::EOPNOTSUPP);

    let copy = directory
        .create(name("b"), own(0o600), Access::ReadWrite)
        .expect("can be made");
    let copied = copy_range((&file, 100), (&copy, 10), 1000).expect("can be copied");
    assert_eq!(copied, 1000);
    let mut bytes = [1; 2000];
    assert_eq!(read_at(&copy, &mut bytes, 0).expect("can be read"), 1010);
    assert!(bytes[..10].iter().all(|byte| *byte == 0));
    assert!(bytes[10..1010].iter().all(|byte| *byte == 7));
    let behind = copy_range((&file, 1 << 20), (&copy, 0), 10).expect("is the end");
    assert_eq!(behind, 0);
    set_size(&copy, 5).expect("can be set");
    sync(&copy, true).expect("is durable");
    sync(&copy, false).expect("is durable");
    directory.sync().expect("is durable");
    let read_only = directory.child(name("b")).expect("is there");
    let read_only = read_only.open(Access::Read).expect("opens");
    assert_eq!(errno(write_all_at(&read_only, b"x", 0)), libc::EBADF);
}
