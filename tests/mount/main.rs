//! The program serving a real table through a real mount.

// Tests make and break tables with the plain file system.
#![allow(clippy::disallowed_methods, clippy::disallowed_macros)]

#[path = "../support/mod.rs"]
mod support;

mod clones;
mod committing;
mod fast_open;
mod presented;
mod rig;
mod semantics;
mod staging;

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rig::{Rig, has_passthrough, is_mounted, may_mount};

const REMOVE: &str =
    r#"{"remove":{"path":"a.parquet","deletionTimestamp":1700000000000,"dataChange":true}}"#;

#[test]
fn versions_are_directories_and_names_keep_their_content() {
    if !may_mount() {
        return;
    }
    let mut rig = Rig::new();
    let add = rig.data_file("a.parquet", b"content of a");
    rig.commit(1, &[&add]);
    let add = rig.data_file("b.parquet", b"b");
    rig.commit(2, &[&add, REMOVE]);
    rig.mount(&["--view", "raw"]);

    assert_eq!(
        rig.names(""),
        ["@info", "@latest", "@staging", "@v0", "@v1", "@v2"]
    );
    assert_eq!(rig.names("@v0"), Vec::<String>::new());
    assert_eq!(rig.names("@v1"), ["a.parquet"]);
    assert_eq!(rig.names("@v2"), ["b.parquet"]);
    assert_eq!(rig.names("@latest"), ["b.parquet"]);
    assert_eq!(
        fs::read(rig.at("@v1/a.parquet")).expect("opens"),
        b"content of a"
    );
    assert_eq!(
        fs::read_link(rig.at("@V01")).expect("a symlink"),
        Path::new("@v1")
    );
    assert_eq!(
        fs::read_to_string(rig.at("@info/latest")).expect("opens"),
        "2\n"
    );
    let missing = fs::metadata(rig.at("@v3")).expect_err("there is no version 3");
    assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    let inode = |path: &str| fs::metadata(rig.at(path)).expect("is there").ino();
    assert_eq!(inode("@latest/b.parquet"), inode("@v2/b.parquet"));
}

/// G9 (restic#5722, rclone#6944): a commit made elsewhere shows at the next look. Names that were
/// listed before keep opening.
#[test]
fn g9_a_commit_made_elsewhere_shows() {
    if !may_mount() {
        return;
    }
    let mut rig = Rig::new();
    let add = rig.data_file("a.parquet", b"a");
    rig.commit(1, &[&add]);
    rig.mount(&["--view", "raw"]);
    assert_eq!(rig.names("@latest"), ["a.parquet"]);
    for version in 2..6 {
        let add = rig.data_file(&format!("{version}.parquet"), b"x");
        let remove = if version == 2 { REMOVE } else { "" };
        rig.commit(version, &[&add, remove]);
        assert!(
            rig.names("").contains(&format!("@v{version}")),
            "version {version}"
        );
        assert!(rig.names("@latest").contains(&format!("{version}.parquet")));
        assert_eq!(
            fs::read(rig.at("@latest/a.parquet")).expect("keeps opening"),
            b"a"
        );
        let latest = fs::read_to_string(rig.at("@info/latest")).expect("opens");
        assert_eq!(latest, format!("{version}\n"));
    }
}

/// C16 (trino#21451): a table dropped and made again at the same path, its files under the same
/// names with the same size. What the kernel keeps of the old ones must not be served.
#[test]
fn c16_a_table_made_again_shows_its_new_content() {
    if !may_mount() {
        return;
    }
    for options in ["rw", "no_passthrough"] {
        let mut rig = Rig::new();
        let add = rig.data_file("a.parquet", b"old bytes");
        rig.commit(1, &[&add]);
        rig.mount(&["--view", "raw", "-o", options]);
        assert_eq!(
            fs::read(rig.at("@v1/a.parquet")).expect("opens"),
            b"old bytes"
        );
        let held = File::open(rig.at("@v1/a.parquet")).expect("opens");

        rig.create_table("second");
        let add = rig.data_file("a.parquet", b"new bytes");
        rig.commit(1, &[&add]);
        // The kernel may take a name of the root from memory for a second.
        std::thread::sleep(std::time::Duration::from_millis(1100));
        assert_eq!(
            rig.names(""),
            ["@info", "@latest", "@staging", "@v0", "@v1"]
        );
        assert_eq!(
            fs::read(rig.at("@v1/a.parquet")).expect("opens"),
            b"new bytes",
            "{options}"
        );
        assert_eq!(
            fs::read(rig.at("@latest/a.parquet")).expect("opens"),
            b"new bytes"
        );
        drop(held);
    }
}

#[test]
fn many_files_are_open_at_once() {
    if !may_mount() {
        return;
    }
    let mut rig = Rig::new();
    let adds: Vec<String> = (0..200)
        .map(|i| rig.data_file(&format!("{i}.parquet"), format!("{i}").as_bytes()))
        .collect();
    rig.commit(1, &adds.iter().map(String::as_str).collect::<Vec<_>>());
    rig.mount(&["--view", "raw"]);
    let open = |i: u32| File::open(rig.at(&format!("@v1/{i}.parquet"))).expect("opens");
    let files: Vec<File> = (0..200).map(open).collect();
    for (i, file) in files.iter().enumerate() {
        let text = io::read_to_string(file).expect("can be read");
        assert_eq!(text, i.to_string());
    }
}

/// E1 (delta#174): a file that VACUUM removed is listed, and opening it says that it is not there.
#[test]
fn a_vacuumed_file_is_listed_and_does_not_open() {
    if !may_mount() {
        return;
    }
    let mut rig = Rig::new();
    let add = rig.data_file("a.parquet", b"a");
    rig.commit(1, &[&add]);
    fs::remove_file(rig.table().join("a.parquet")).expect("was there");
    rig.mount(&["--view", "raw"]);
    assert_eq!(rig.names("@v1"), ["a.parquet"]);
    let gone = File::open(rig.at("@v1/a.parquet")).expect_err("is gone");
    assert_eq!(gone.kind(), io::ErrorKind::NotFound);
}

/// Whoever checks a table before a job reads it asks for an exit code.
#[test]
fn files_that_cannot_be_presented_make_the_check_fail() {
    let rig = Rig::new();
    let table = rig.table();
    let check = |version: u64, more: &[&str]| {
        let table = format!("{}@v{version}", table.display());
        rig.run(&[&["files", &table, "--check"], more].concat())
    };
    assert_eq!(check(0, &[]).status.code(), Some(0));
    let add = rig.data_file("a.parquet", b"a");
    rig.commit(1, &[&add]);
    for more in [&[][..], &["--json"]] {
        let checked = check(1, more);
        assert_eq!(checked.status.code(), Some(1), "{more:?}");
        let (said, message) = (
            String::from_utf8_lossy(&checked.stdout),
            String::from_utf8_lossy(&checked.stderr),
        );
        assert!(said.contains("unsupported"), "{said}");
        assert!(message.contains("1 of 1 files"), "{message}");
    }
}

/// A clone of a table names files that lie in the other one: the check asks for them as a mount does.
#[test]
fn files_outside_the_table_are_checked_where_they_are_allowed() {
    let rig = Rig::new();
    let table = rig.table();
    let other = table.with_file_name("another");
    fs::create_dir(&other).expect("can be made");
    let add = rig.data_file("a.parquet", b"no Parquet");
    fs::rename(table.join("a.parquet"), other.join("a.parquet")).expect("can be moved");
    let url = format!("file://{}/a.parquet", other.display());
    rig.commit(1, &[&add.replace("a.parquet", &url)]);
    let table = table.display().to_string();
    let other = other.display().to_string();
    let said = |more: &[&str]| {
        let checked = rig.run(&[&["files", &table, "--check"], more].concat());
        String::from_utf8_lossy(&checked.stdout).into_owned()
    };
    let refused = said(&[]);
    assert!(refused.contains("--allow-path"), "{refused}");
    let read = said(&["--allow-path", &other]);
    assert!(
        read.contains("Parquet") && !read.contains("--allow-path"),
        "{read}"
    );
}

/// A directory for transactions that is not there is noticed by whoever mounts, not by the first writer.
#[test]
fn a_staging_directory_that_is_none_is_refused() {
    let rig = Rig::new();
    let file = rig.table().join("file");
    fs::write(&file, "").expect("can be written");
    for directory in [rig.table().join("nothing"), file] {
        let (table, mountpoint) = (rig.table(), rig.at(""));
        let words = [
            "mount",
            table.to_str().expect("UTF-8"),
            mountpoint.to_str().expect("UTF-8"),
            "--staging-dir",
            directory.to_str().expect("UTF-8"),
        ];
        let refused = rig.run(&words);
        assert_eq!(refused.status.code(), Some(1));
        let message = String::from_utf8_lossy(&refused.stderr);
        assert!(message.contains("--staging-dir"), "{message}");
        assert!(!is_mounted(&rig.at("")));
    }
}

#[test]
fn the_daemon_comes_and_goes() {
    if !may_mount() {
        return;
    }
    let rig = Rig::new();
    let (table, mountpoint) = (rig.table(), rig.at(""));
    let (table, mountpoint) = (
        table.to_str().expect("UTF-8"),
        mountpoint.to_str().expect("UTF-8"),
    );
    let mounted = rig.run(&["mount", table, mountpoint]);
    assert!(
        mounted.status.success(),
        "{}",
        String::from_utf8_lossy(&mounted.stderr)
    );
    assert_eq!(rig.names(""), ["@info", "@latest", "@staging", "@v0"]);
    let unmounted = rig.run(&["umount", mountpoint]);
    assert!(
        unmounted.status.success(),
        "{}",
        String::from_utf8_lossy(&unmounted.stderr)
    );
    assert!(!is_mounted(&rig.at("")));

    fs::remove_dir_all(rig.table().join("_delta_log")).expect("was there");
    let refused = rig.run(&["mount", table, mountpoint]);
    assert_eq!(refused.status.code(), Some(1));
    let message = String::from_utf8_lossy(&refused.stderr);
    assert!(message.contains("is not a Delta table"), "{message}");
    assert!(!is_mounted(&rig.at("")));
}

/// Every errno that the table of errors chooses is explained.
#[test]
fn docs_errors_explains_every_errno() {
    let chosen = include_str!("../../src/errno.rs");
    let explained = include_str!("../../docs/ERRORS.md");
    let names: Vec<&str> = chosen
        .split("libc::E")
        .skip(1)
        .map(|rest| {
            rest.split(|c: char| !c.is_ascii_uppercase())
                .next()
                .unwrap_or_default()
        })
        .collect();
    assert!(names.contains(&"NOENT"), "{names:?}");
    for name in names {
        let cell = format!("E{name}");
        let row = explained.lines().any(|line| {
            line.strip_prefix("| ")
                .and_then(|line| line.split(" | ").next())
                .is_some_and(|cells| cells.split(", ").any(|word| word == cell))
        });
        assert!(row, "docs/ERRORS.md has no row for {cell}");
    }
}

/// Every name that `.status` can give to a commit that failed is explained.
#[test]
fn docs_errors_explains_every_name_of_a_failed_commit() {
    let explained = include_str!("../../docs/ERRORS.md");
    let chosen = [
        include_str!("../../src/staging/status.rs"),
        include_str!("../../src/intake/blame.rs"),
    ];
    // Those of mkdir and rmdir, and of `deltafs create`.
    let others = [
        "TransactionExists",
        "NoTransaction",
        "InvalidName",
        "InvalidTable",
    ];
    let others = [
        &others[..],
        &[
            "TransactionNotEmpty",
            "TransactionCommitting",
            "TransactionCommitted",
        ],
    ]
    .concat();
    let mut count = 0;
    for name in chosen.iter().flat_map(|text| text.split("=> \"").skip(1)) {
        let name = name.split('"').next().unwrap_or_default();
        count += 1;
        assert!(
            others.contains(&name) || explained.contains(&format!("`{name}`")),
            "docs/ERRORS.md does not explain {name}"
        );
    }
    assert!(count > 20, "{count}");
}

/// On a mount that may be written to, a read that passes through the kernel makes the next `fstat`
/// ask for the attributes anew; small files are served from the page cache there.
#[test]
fn small_files_pass_through_the_kernel_where_that_costs_nothing() {
    if !may_mount() || !has_passthrough() {
        return;
    }
    const SMALL: u64 = 1 << 20;
    const LARGE: u64 = 16 << 20;
    for (arguments, size, through_us) in [
        (&["--view", "raw"][..], SMALL, SMALL),
        (&["--view", "raw"][..], LARGE, 0),
        (&["--view", "raw", "--read-only"][..], SMALL, 0),
    ] {
        let mut rig = Rig::new();
        let content = vec![7; usize::try_from(size).expect("small")];
        let add = rig.data_file("a.parquet", &content);
        rig.commit(1, &[&add]);
        rig.mount(arguments);
        let read_by_us = || rig.metric("deltafs_read_bytes_total");
        let before = read_by_us();
        for _ in 0..3 {
            assert!(fs::read(rig.at("@v1/a.parquet")).expect("opens") == content);
        }
        // What is read of the counters themselves is little.
        let read = (read_by_us() - before) / SMALL * SMALL;
        assert_eq!(read, through_us, "{arguments:?}, {size}");
    }
}
