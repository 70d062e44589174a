//! Paths that lead out of the table, or nowhere.

use std::fs;
use std::os::unix::fs::symlink;

use deltafs::errno::of_tree;

use super::support::{
    Checkpoint, TableBuilder, add, batch, list_all, longs, open_root, resolve, roots, tree_of,
    tree_read,
};
use super::visit::{SECRET, layouts, visit};

const ID: &[(&str, &str)] = &[("id", "long")];

/// The errno of opening the one file of version 1, in every layout.
fn errnos(table: &TableBuilder) -> Vec<i32> {
    let open = open_root(&table.root()).unwrap();
    let mut errnos = Vec::new();
    for options in layouts() {
        let tree = tree_of(&open, options);
        let paths = list_all(&tree, "@v1").unwrap();
        let files: Vec<&String> = paths
            .iter()
            .filter(|(_, kind)| *kind == deltafs::tree::NodeKind::File)
            .map(|(path, _)| path)
            .collect();
        assert_eq!(files.len(), 1, "{paths:?}");
        errnos.push(match tree_read(&tree, files[0]) {
            Ok(_) => 0,
            Err(error) => of_tree(&error),
        });
    }
    errnos
}

fn secret(table: &TableBuilder) -> i64 {
    fs::write(table.outside().join("secret.parquet"), SECRET).unwrap();
    SECRET.len() as i64
}

/// `..`, absolute paths, and every way of writing them.
#[test]
fn a_path_out_of_the_table_is_eacces() {
    let passwd = fs::metadata("/etc/passwd").unwrap().len() as i64;
    for (path, size) in [
        ("../secret.parquet", None),
        ("a/../../secret.parquet", None),
        ("%2E%2E/secret.parquet", None),
        ("..%2Fsecret.parquet", None),
        ("./../secret.parquet", None),
        ("a/b/../../../secret.parquet", None),
        ("../../etc/passwd", Some(passwd)),
        ("../../../../../../../../etc/passwd", Some(passwd)),
        ("/etc/passwd", Some(passwd)),
        ("//etc/passwd", Some(passwd)),
        ("%2Fetc/passwd", Some(passwd)),
        ("file:///etc/passwd", Some(passwd)),
        ("file:/etc/passwd", Some(passwd)),
        ("FILE:///etc/passwd", Some(passwd)),
        ("file://localhost/etc/passwd", Some(passwd)),
        ("file://elsewhere/etc/passwd", Some(passwd)),
        ("file:////etc/passwd", Some(passwd)),
        ("http://169.254.169.254/latest/meta-data", None),
        ("s3://somebody/else", None),
        ("s3a://somebody/else", None),
        ("jdbc:mysql://x/y", None),
        ("dev/../../../../../dev/zero", None),
        ("/dev/zero", Some(0)),
        ("/proc/self/environ", Some(0)),
    ] {
        let mut table = TableBuilder::with_schema(ID);
        let size = size.unwrap_or(secret(&table));
        table.commit([add(path).size(size)]);
        let found = errnos(&table);
        // What is no URL and has no `..` is a name in the table.
        let expected = if path.starts_with("jdbc") {
            libc::ENOENT
        } else {
            libc::EACCES
        };
        assert_eq!(found, [expected; 3], "{path}");
        visit(&table.root());
        table.checkpoint(1, Checkpoint::Classic);
        visit(&table.root());
    }
}

/// The absolute path of the table in other words is in the table; one that only begins like it is
/// not.
#[test]
fn an_absolute_path_must_lie_below_the_root_itself() {
    let mut table = TableBuilder::with_schema(ID);
    let file = table.data("in.parquet", &batch([("id", longs([1]))]));
    let inside = format!("file://{}/in.parquet", table.root().display());
    table.commit([file.clone().with("path", inside)]);
    assert_eq!(errnos(&table), [0; 3]);

    let sibling = table.outside().join("table-2");
    fs::create_dir(&sibling).unwrap();
    fs::copy(table.path("in.parquet"), sibling.join("in.parquet")).unwrap();
    for path in [
        format!("file://{}-2/in.parquet", table.root().display()),
        format!("file://{}/../table-2/in.parquet", table.root().display()),
        format!(
            "file://{}/%2E%2E/table-2/in.parquet",
            table.root().display()
        ),
        format!("file://{}", table.root().display()),
    ] {
        table.commit_at(1, [file.clone().with("path", path.clone())]);
        assert_eq!(errnos(&table), [libc::EACCES; 3], "{path}");
    }
}

/// Symlinks that lead out, as the file or as a directory on the way.
#[test]
fn a_symlink_out_of_the_table_is_eacces() {
    let mut table = TableBuilder::with_schema(ID);
    let size = secret(&table);
    let outside = table.outside().to_owned();
    symlink(
        outside.join("secret.parquet"),
        table.path("absolute.parquet"),
    )
    .unwrap();
    symlink("../secret.parquet", table.path("relative.parquet")).unwrap();
    symlink(&outside, table.path("directory")).unwrap();
    symlink("..", table.path("up")).unwrap();
    symlink("absolute.parquet", table.path("chain.parquet")).unwrap();
    for path in [
        "absolute.parquet",
        "relative.parquet",
        "directory/secret.parquet",
        "up/secret.parquet",
        "chain.parquet",
        "directory/table/up/secret.parquet",
    ] {
        table.commit_at(1, [add(path).size(size)]);
        assert_eq!(errnos(&table), [libc::EACCES; 3], "{path}");
        visit(&table.root());
    }
    // Allowed, they open.
    let allowed = deltafs::snapshot::Table::open(
        roots(&table.root(), &[&outside]),
        std::time::Duration::ZERO,
    );
    let raw = layouts().into_iter().next_back().unwrap();
    let tree = tree_of(&std::sync::Arc::new(allowed.unwrap()), raw);
    let path = "@v1/directory/table/up/secret.parquet";
    assert_eq!(tree_read(&tree, path).unwrap(), SECRET);
}

/// A symlink within the table is a path of the table.
#[test]
fn a_symlink_within_the_table_opens() {
    let mut table = TableBuilder::with_schema(ID);
    let file = table.data("real/in.parquet", &batch([("id", longs([1]))]));
    symlink("real", table.path("link")).unwrap();
    symlink("real/in.parquet", table.path("in.parquet")).unwrap();
    for path in ["link/in.parquet", "in.parquet", "link/../in.parquet"] {
        table.commit_at(1, [file.clone().with("path", path)]);
        assert_eq!(errnos(&table), [0; 3], "{path}");
    }
    symlink("loop", table.path("loop")).unwrap();
    table.commit_at(1, [file.with("path", "loop/in.parquet")]);
    assert!(errnos(&table).iter().all(|errno| *errno != 0));
}

/// Paths that name nothing, or a directory.
#[test]
fn a_path_that_is_none_is_listed_by_a_name_and_does_not_open() {
    let long = "x".repeat(5_000);
    let deep = "d/".repeat(2_000) + "f.parquet";
    let names = [
        "",
        ".",
        "..",
        "/",
        "//",
        "a//b",
        "./a",
        "a/.",
        "a%00b",
        "%00",
        "a%0Ab.parquet",
        "a\\b.parquet",
        "_delta_log",
        "_delta_log/00000000000000000000.json",
        "%",
        "%%",
        "%2",
        "a?b#c.parquet",
        " ",
        "~",
        "x~0123456789abcdef.parquet",
        "C:\\x.parquet",
        "con",
        "\u{202e}gpj.parquet",
        "-rf.parquet",
        "*",
        "@v1",
        "@latest",
        ".commit",
    ];
    for path in names.into_iter().chain([long.as_str(), deep.as_str()]) {
        let mut table = TableBuilder::with_schema(ID);
        table.commit([add(path).size(1)]);
        for (errno, view) in errnos(&table).into_iter().zip(["flat", "hive", "raw"]) {
            assert_ne!(errno, 0, "{path:?} {view}");
        }
        visit(&table.root());
    }
}

/// Names looked up that are in no listing.
#[test]
fn names_that_are_none_are_not_found() {
    let mut table = TableBuilder::with_schema(ID);
    table.commit([add("f.parquet")]);
    secret(&table);
    for options in layouts() {
        let tree = tree_of(&table.open(), options);
        for name in [
            ".",
            "..",
            "...",
            "\0",
            "@v99999999999999999999",
            "@v-1",
            "@v1x",
            "@V",
            "@",
            "@2024-13-45",
            "@99999999999999999",
            "@9999-12-31T23:59:59.999999999Z",
            "secret.parquet",
            "etc",
        ] {
            let error = tree
                .lookup(deltafs::tree::ROOT_INO, std::ffi::OsStr::new(name))
                .expect_err(name);
            assert_eq!(of_tree(&error), libc::ENOENT, "{name:?}: {error}");
        }
        for path in [
            "@v1/..",
            "@v1/.",
            "@v1/f.parquet/x",
            "@v1/../secret.parquet",
            "@latest/%2e%2e",
        ] {
            assert!(resolve(&tree, path).is_err(), "{path}");
        }
        let bytes = std::os::unix::ffi::OsStrExt::from_bytes(b"\xff\xfe");
        assert!(tree.lookup(deltafs::tree::ROOT_INO, bytes).is_err());
    }
}
