//! What only a file system can do, against both ways of staying below the root.

use std::fs;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, symlink};
use std::path::PathBuf;

use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::*;

/// A root, next to it what lies outside, and a store over the root.
struct Table {
    directory: TempDir,
    store: LocalStore,
}

impl Table {
    fn root(&self) -> PathBuf {
        self.directory.path().join("root")
    }

    fn outside(&self) -> PathBuf {
        self.directory.path().join("outside")
    }
}

macro_rules! behaviours {
    ($($name:ident)*) => {
        behaviours!(kernel, LocalStore::open, $($name)*);
        behaviours!(components, LocalStore::open_by_components, $($name)*);
    };
    ($resolver:ident, $open:expr, $($name:ident)*) => {
        mod $resolver {
            use super::*;
            $(
                #[test]
                fn $name() {
                    super::$name(&table($open));
                }
            )*
        }
    };
}

behaviours! {
    symlinks_that_stay_inside_are_followed
    symlinks_that_lead_out_are_refused
    directories_by_way_of_symlinks_stay_inside
    a_symlink_loop_is_outside
    a_dangling_symlink_is_not_found
    listings_keep_symlinks_they_cannot_follow
    a_named_pipe_is_refused_without_waiting
    sockets_and_devices_are_refused
    names_are_kept_byte_for_byte
    names_that_are_not_utf8_are_skipped
    what_lies_below_is_durable_and_private_to_no_one
    long_names_can_be_put
    a_failed_put_leaves_nothing
    a_put_over_a_symlink_replaces_the_symlink
    put_if_absent_does_not_follow_symlinks
    directories_are_made_as_needed
    a_file_without_a_name_changes_nothing_in_the_root
    many_paths_are_answered_in_order
    lists_many_names
    a_root_keeps_its_directory_when_renamed
    reads_a_sparse_file_without_holding_it
    knows_its_space
}

fn table(open: fn(&std::path::Path) -> Result<LocalStore, StorageError>) -> Table {
    let directory = TempDir::new().expect("a temporary directory");
    for name in ["root/inside", "outside/dir"] {
        fs::create_dir_all(directory.path().join(name)).expect("a directory can be made");
    }
    fs::write(directory.path().join("root/inside/f"), "inside").expect("it can be written");
    fs::write(directory.path().join("outside/f"), "secret").expect("it can be written");
    fs::write(directory.path().join("outside/dir/f"), "secret").expect("it can be written");
    let store = open(&directory.path().join("root")).expect("the directory exists");
    Table { directory, store }
}

fn assert_outside(store: &LocalStore, path: &str) {
    let errors = [
        store.head(path).err(),
        store.get(path).err(),
        store.get_range(path, 0..4).err(),
        store.open(path).err(),
        store.head_many(&[path.to_owned()]).remove(0).err(),
    ];
    for error in errors {
        let is_outside = matches!(error, Some(StorageError::Outside { .. }));
        assert!(is_outside, "{path}: {error:?}");
    }
}

fn symlinks_that_stay_inside_are_followed(table: &Table) {
    let root = table.root();
    symlink("inside/f", root.join("relative")).expect("a link can be made");
    symlink(root.join("inside/f"), root.join("absolute")).expect("a link can be made");
    symlink("../inside", root.join("inside/up")).expect("a link can be made");
    symlink(root.join("inside"), root.join("absolute-dir")).expect("a link can be made");
    symlink("absolute-dir", root.join("chain")).expect("a link can be made");
    symlink(&root, root.join("self")).expect("a link can be made");
    for path in [
        "relative",
        "absolute",
        "inside/up/f",
        "inside/up/up/f",
        "absolute-dir/f",
        "chain/f",
        "self/inside/f",
        "self/chain/f",
    ] {
        assert_eq!(get(&table.store, path), "inside", "{path}");
        assert_eq!(
            table.store.head(path).expect("it is there").size,
            6,
            "{path}"
        );
    }
    assert_eq!(
        table.store.list_names("chain", None).expect("a directory"),
        ["f", "up"]
    );
    let listed = table.store.list("chain", None).expect("a directory");
    assert_eq!(listed.len(), 1, "`up` leads to a directory: {listed:?}");
    put(&table.store, "absolute-dir/new", "new");
    assert_eq!(get(&table.store, "inside/new"), "new");
}

fn symlinks_that_lead_out_are_refused(table: &Table) {
    let root = table.root();
    symlink("../outside/f", root.join("relative")).expect("a link can be made");
    symlink("../../outside/f", root.join("inside/deeper")).expect("a link can be made");
    symlink(table.outside().join("f"), root.join("absolute")).expect("a link can be made");
    symlink("/etc/passwd", root.join("passwd")).expect("a link can be made");
    symlink("/proc/self/root", root.join("magic")).expect("a link can be made");
    symlink("relative", root.join("chain")).expect("a link can be made");
    for path in [
        "relative",
        "inside/deeper",
        "absolute",
        "passwd",
        "chain",
        "magic/etc/passwd",
    ] {
        assert_outside(&table.store, path);
    }
}

fn directories_by_way_of_symlinks_stay_inside(table: &Table) {
    let root = table.root();
    symlink("../outside", root.join("relative")).expect("a link can be made");
    symlink(table.outside(), root.join("absolute")).expect("a link can be made");
    symlink("..", root.join("up")).expect("a link can be made");
    for dir in ["relative", "absolute", "up", "up/outside"] {
        for path in [
            format!("{dir}/f"),
            format!("{dir}/dir/f"),
            format!("{dir}/absent"),
        ] {
            assert_outside(&table.store, &path);
        }
        let refused = [
            table.store.list_names(dir, None).err(),
            table.store.list(dir, None).err(),
            table.store.put(&format!("{dir}/new"), Bytes::new()).err(),
            table
                .store
                .put(&format!("{dir}/new/new"), Bytes::new())
                .err(),
            table
                .store
                .put_if_absent(&format!("{dir}/new"), Bytes::new())
                .err(),
            table.store.delete(&format!("{dir}/f")).err(),
        ];
        for error in refused {
            let is_outside = matches!(error, Some(StorageError::Outside { .. }));
            assert!(is_outside, "{dir}: {error:?}");
        }
    }
    assert!(table.outside().join("f").exists());
    assert!(!table.outside().join("new").exists());
}

fn a_symlink_loop_is_outside(table: &Table) {
    let root = table.root();
    symlink("b", root.join("a")).expect("a link can be made");
    symlink("a", root.join("b")).expect("a link can be made");
    symlink(root.join("me"), root.join("me")).expect("a link can be made");
    for path in ["a", "b", "me", "a/f", "me/f"] {
        assert_outside(&table.store, path);
    }
}

fn a_dangling_symlink_is_not_found(table: &Table) {
    symlink("absent", table.root().join("dangling")).expect("a link can be made");
    let error = table.store.get("dangling").expect_err("it leads nowhere");
    assert!(error.is_not_found(), "{error:?}");
}

fn listings_keep_symlinks_they_cannot_follow(table: &Table) {
    let root = table.root();
    symlink("/etc/passwd", root.join("2-out")).expect("a link can be made");
    symlink("absent", root.join("3-dangling")).expect("a link can be made");
    symlink("inside/f", root.join("1-file")).expect("a link can be made");
    symlink("inside", root.join("4-dir")).expect("a link can be made");
    let names = table.store.list_names("", None).expect("it can be listed");
    assert_eq!(names, ["1-file", "2-out", "3-dangling", "4-dir"]);
    let listed = table.store.list("", None).expect("it can be listed");
    let listed: Vec<(&str, u64)> = listed
        .iter()
        .map(|object| (object.path.as_str(), object.size))
        .collect();
    // The size of a link is that of the text in it, not that of a file outside.
    assert_eq!(listed, [("1-file", 6), ("2-out", 11), ("3-dangling", 6)]);
}

fn a_named_pipe_is_refused_without_waiting(table: &Table) {
    let path = table.root().join("pipe");
    mknodat(CWD, &path, FileType::Fifo, Mode::from_raw_mode(0o644), 0).expect("a pipe");
    let errors = [
        table.store.open("pipe").err(),
        table.store.get("pipe").err(),
        table.store.head("pipe").err(),
    ];
    for error in errors {
        let error = error.expect("a pipe is refused");
        assert!(
            matches!(error, StorageError::Unsupported { .. }),
            "{error:?}"
        );
        assert!(error.to_string().contains("named pipe"), "{error}");
    }
}

fn sockets_and_devices_are_refused(table: &Table) {
    let path = table.root().join("socket");
    let _socket = std::os::unix::net::UnixListener::bind(path).expect("a socket");
    for error in [
        table.store.get("socket").err(),
        table.store.head("socket").err(),
    ] {
        let error = error.expect("a socket is refused");
        assert!(
            matches!(error, StorageError::Unsupported { .. }),
            "{error:?}"
        );
    }
}

fn names_are_kept_byte_for_byte(table: &Table) {
    for name in SPECIAL {
        put(&table.store, &format!("d/{name}"), "");
    }
    let mut on_disk: Vec<Vec<u8>> = fs::read_dir(table.root().join("d"))
        .expect("it is a directory")
        .map(|entry| {
            entry
                .expect("it can be read")
                .file_name()
                .as_bytes()
                .to_vec()
        })
        .collect();
    on_disk.sort();
    let mut expected: Vec<Vec<u8>> = SPECIAL
        .iter()
        .map(|name| name.as_bytes().to_vec())
        .collect();
    expected.sort();
    assert_eq!(on_disk, expected);
}

fn names_that_are_not_utf8_are_skipped(table: &Table) {
    let name = std::ffi::OsStr::from_bytes(b"inside/\xff");
    fs::write(table.root().join(name), "").expect("it can be written");
    assert_eq!(names(&table.store, "inside", None), ["f"]);
}

fn what_lies_below_is_durable_and_private_to_no_one(table: &Table) {
    put(&table.store, "f", "");
    let _ = table
        .store
        .put_if_absent("g", Bytes::new())
        .expect("it can be put");
    fs::write(table.root().join("plain"), "").expect("it can be written");
    let mode = |name: &str| {
        let metadata = fs::metadata(table.root().join(name)).expect("it is there");
        (metadata.permissions().mode(), metadata.nlink())
    };
    // As any program writes: by the umask; and no second link is left.
    assert_eq!(mode("f"), mode("plain"));
    assert_eq!(mode("g"), mode("plain"));
}

fn long_names_can_be_put(table: &Table) {
    let longest = "é".repeat(127);
    put(&table.store, &longest, "1");
    assert_eq!(get(&table.store, &longest), "1");
    let long = "x".repeat(255);
    let outcome = table.store.put_if_absent(&long, Bytes::from_static(b"2"));
    assert_eq!(outcome.expect("it can be put"), PutOutcome::Created);
    let error = table.store.put(&"x".repeat(256), Bytes::new());
    assert!(matches!(error, Err(StorageError::Io { .. })), "{error:?}");
    assert_eq!(names(&table.store, "", None), [long, longest]);
}

fn a_failed_put_leaves_nothing(table: &Table) {
    fs::create_dir(table.root().join("d")).expect("a directory can be made");
    fs::create_dir(table.root().join("d/taken")).expect("a directory can be made");
    let error = table.store.put("d/taken", Bytes::from_static(b"x"));
    assert!(matches!(error, Err(StorageError::Io { .. })), "{error:?}");
    let outcome = table
        .store
        .put_if_absent("d/taken", Bytes::from_static(b"x"));
    assert_eq!(
        outcome.expect("something is there"),
        PutOutcome::AlreadyExists
    );
    let error = table.store.put("inside/f/below", Bytes::new());
    assert!(error.expect_err("below a file").is_not_found());
    let entries = |dir: &str| {
        fs::read_dir(table.root().join(dir))
            .expect("a directory")
            .count()
    };
    assert_eq!((entries("d"), entries("inside")), (1, 1));
}

fn a_put_over_a_symlink_replaces_the_symlink(table: &Table) {
    symlink("../outside/f", table.root().join("link")).expect("a link can be made");
    put(&table.store, "link", "ours");
    assert_eq!(get(&table.store, "link"), "ours");
    let outside = fs::read_to_string(table.outside().join("f"));
    assert_eq!(outside.expect("it is there"), "secret");
}

fn put_if_absent_does_not_follow_symlinks(table: &Table) {
    symlink("../outside/new", table.root().join("link")).expect("a link can be made");
    let outcome = table.store.put_if_absent("link", Bytes::from_static(b"x"));
    assert_eq!(outcome.expect("a name is taken"), PutOutcome::AlreadyExists);
    assert!(!table.outside().join("new").exists());
}

fn directories_are_made_as_needed(table: &Table) {
    put(&table.store, "a/b/c/d/f", "1");
    assert_eq!(get(&table.store, "a/b/c/d/f"), "1");
    let deep = vec!["x"; 3000].join("/");
    let error = table.store.put(&deep, Bytes::new());
    assert!(matches!(error, Err(StorageError::Io { .. })), "{error:?}");
    assert!(!table.root().join("x").exists());
}

fn a_file_without_a_name_changes_nothing_in_the_root(table: &Table) {
    let look = || {
        let root = fs::metadata(table.root()).expect("it is there");
        (
            root.modified().expect("a time"),
            names(&table.store, "", None),
        )
    };
    let before = look();
    let file = match table.store.nameless() {
        Ok(file) => file,
        Err(error) => {
            let kind = error.kind();
            assert_eq!(kind, std::io::ErrorKind::Unsupported, "{error}");
            eprintln!("skipped: the file system has no files without a name: {error}");
            return;
        }
    };
    file.write_all_at(b"content", 3).expect("it can be written");
    let mut content = [0; 10];
    file.read_exact_at(&mut content, 0).expect("it can be read");
    assert_eq!(&content, b"\0\0\0content");
    assert_eq!(look(), before);
    // Nor can it get one.
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    let link = rustix::fs::linkat(
        CWD,
        path.as_str(),
        CWD,
        table.root().join("link"),
        rustix::fs::AtFlags::SYMLINK_FOLLOW,
    );
    assert_eq!(link, Err(rustix::io::Errno::NOENT));
}

fn many_paths_are_answered_in_order(table: &Table) {
    for n in 0..100 {
        let path = table.root().join(n.to_string());
        fs::write(path, n.to_string()).expect("it can be written");
    }
    // Enough for several threads.
    let paths: Vec<String> = (0..5000).map(|n| (n % 101).to_string()).collect();
    for (path, content) in paths.iter().zip(table.store.get_many(&paths)) {
        match path.as_str() {
            "100" => assert!(content.expect_err("it is absent").is_not_found()),
            _ => assert_eq!(content.expect("it is there"), *path),
        }
    }
    for (path, head) in paths.iter().zip(table.store.head_many(&paths)) {
        match path.as_str() {
            "100" => assert!(head.expect_err("it is absent").is_not_found()),
            _ => assert_eq!(head.expect("it is there").path, *path),
        }
    }
}

fn lists_many_names(table: &Table) {
    const NAMES: usize = 10_000;
    let log = table.root().join("_delta_log");
    fs::create_dir(&log).expect("a directory can be made");
    for n in 0..NAMES {
        // In an order that is not theirs.
        let n = n * 7919 % NAMES;
        fs::File::create(log.join(format!("{n:020}.json"))).expect("it can be written");
    }
    let listed = table
        .store
        .list_names("_delta_log", None)
        .expect("it can be listed");
    assert_eq!(listed.len(), NAMES);
    assert!(
        listed
            .iter()
            .enumerate()
            .all(|(n, name)| *name == format!("{n:020}.json"))
    );
    let after = format!("{:020}.json", NAMES - 3);
    let listed = table
        .store
        .list("_delta_log", Some(&after))
        .expect("it can be listed");
    assert_eq!(listed.len(), 2);
}

fn a_root_keeps_its_directory_when_renamed(table: &Table) {
    fs::rename(table.root(), table.directory.path().join("moved")).expect("it can be renamed");
    assert_eq!(get(&table.store, "inside/f"), "inside");
    put(&table.store, "inside/g", "");
    assert!(table.directory.path().join("moved/inside/g").exists());
}

fn reads_a_sparse_file_without_holding_it(table: &Table) {
    let file = fs::File::create(table.root().join("sparse")).expect("it can be made");
    file.set_len(1 << 42).expect("a file can have a hole");
    let range = table.store.get_range("sparse", (1 << 42) - 3..u64::MAX);
    assert_eq!(range.expect("it can be read"), [0u8; 3][..]);
    assert_eq!(
        table.store.head("sparse").expect("it is there").size,
        1 << 42
    );
}

fn knows_its_space(table: &Table) {
    let space = table.store.capacity().expect("a file system has space");
    assert!(space.total > 0 && space.free <= space.total && space.available <= space.free);
}

#[test]
fn a_full_disk_is_told_and_leaves_nothing() {
    use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
    let directory = TempDir::new().expect("a temporary directory");
    let options = c"size=64k";
    let mounted = mount(
        "tmpfs",
        directory.path(),
        "tmpfs",
        MountFlags::empty(),
        options,
    );
    if mounted.is_err() {
        // Only root can mount; the errno's translation is tested for everyone.
        return;
    }
    let check = || {
        let store = LocalStore::open(directory.path()).expect("the directory exists");
        put(&store, "f", "old");
        let large = Bytes::from(vec![b'x'; 1 << 20]);
        let puts = [
            store.put("f", large.clone()).err(),
            store.put_if_absent("g", large).err(),
        ];
        let full = puts
            .iter()
            .all(|e| matches!(e, Some(StorageError::Full { .. })));
        (full, get(&store, "f"), names(&store, "", None), puts)
    };
    let (full, content, names, puts) = check();
    unmount(directory.path(), UnmountFlags::DETACH).expect("it is mounted");
    assert!(full, "{puts:?}");
    assert_eq!(content, "old");
    assert_eq!(names, ["f"]);
}

#[test]
fn a_root_is_a_directory() {
    let directory = TempDir::new().expect("a temporary directory");
    fs::write(directory.path().join("f"), "").expect("it can be written");
    for name in ["absent", "f", "f/below"] {
        let error = LocalStore::open(&directory.path().join(name)).expect_err("no directory");
        assert!(error.is_not_found(), "{error}");
    }
}
