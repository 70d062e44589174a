//! Names and listings, as far as they need no mount.

use std::collections::BTreeSet;
use std::fs;

use deltafs::tree::{NodeKind, ROOT_INO, Tree, TreeOptions};

use crate::support::{
    Checkpoint, TableBuilder, add, list, list_all, metadata, pages, protocol, remove, resolve,
    tree_read,
};
use crate::{ID, hive, ids};

/// restic#5722, rclone#6944: a listing, and what `latest` means, never refreshed.
#[test]
fn g9_a_commit_made_elsewhere_is_seen_at_the_next_listing() {
    let mut table = TableBuilder::with_schema(ID);
    let first = table.data("f1.parquet", &ids([1]));
    table.commit([first]);
    let tree = table.tree();
    assert_eq!(list(&tree, "@latest").unwrap(), ["f1.parquet"]);
    let second = table.data("f2.parquet", &ids([2]));
    table.commit([second, remove("f1.parquet")]);
    assert!(list(&tree, "").unwrap().contains(&"@v2".to_owned()));
    assert_eq!(list(&tree, "@latest").unwrap(), ["f2.parquet"]);
    assert_eq!(tree_read(&tree, "@info/latest").unwrap(), b"2\n");
    assert_eq!(
        list(&tree, "@v1").unwrap(),
        ["f1.parquet"],
        "versions do not change"
    );
    // "One listing is a snapshot": names listed before keep opening.
    assert!(tree_read(&tree, "@latest/f1.parquet").is_ok());
    // By name, without a listing before.
    let third = table.data("f3.parquet", &ids([3]));
    table.commit([third]);
    assert!(tree_read(&tree, "@v3/f3.parquet").is_ok());
}

/// rclone#6053: a change that keeps size and time, served from a cache. What is in a version never
/// changes; of the log, `_last_checkpoint` does. Whatever it says, and however alike it looks, the
/// versions are those that the log has.
#[test]
fn g10_a_last_checkpoint_that_changes_unseen_or_lies_changes_nothing() {
    let mut table = TableBuilder::with_schema(ID);
    table.commit_adds(6);
    table.checkpoint(2, Checkpoint::Classic);
    table.checkpoint(4, Checkpoint::Classic);
    let path = table.log("_last_checkpoint");
    let hint = |text: &str| {
        let before = fs::metadata(&path).and_then(|found| found.modified());
        assert_eq!(text.len(), r#"{"version":4,"size":5}"#.len());
        fs::write(&path, text).unwrap();
        let file = fs::File::options().write(true).open(&path).unwrap();
        file.set_modified(before.unwrap_or(std::time::UNIX_EPOCH))
            .unwrap();
    };
    hint(r#"{"version":4,"size":5}"#);
    let mounted = table.tree();
    let shown = |tree: &Tree| -> Vec<(String, Vec<String>)> {
        let names = list(tree, "").unwrap().into_iter();
        let versions = names.filter(|name| name.starts_with("@v") || name == "@latest");
        versions
            .map(|name| (name.clone(), list(tree, &name).unwrap()))
            .collect()
    };
    let before = shown(&mounted);
    assert_eq!(before.len(), 8, "{before:?}");
    for lie in [
        r#"{"version":2,"size":5}"#,
        r#"{"version":0,"size":5}"#,
        r#"{"version":9,"size":5}"#,
        r#"{"version":4,"size":0}"#,
        r#"{"version":4,"size":5 "#,
        "                      ",
    ] {
        hint(lie);
        assert_eq!(shown(&mounted), before, "{lie}");
        assert_eq!(shown(&table.tree()), before, "mounted again: {lie}");
    }
    // The mount goes on with the log, not with the hint.
    hint(r#"{"version":2,"size":5}"#);
    table.commit_adds(1);
    assert_eq!(shown(&mounted).len(), 9);
    table.check(&table.generation(), (0..=7).rev());
}

/// zfs#2930: a listing in pages that lacks an entry which stat finds.
#[test]
fn g11_pages_of_a_listing_add_up() {
    let mut table = TableBuilder::with_schema(ID);
    let line = add("f").to_line();
    for version in 1..10_000 {
        table.write_log(&format!("{version:020}.json"), &line);
    }
    table.commit_at(10_000, [add("f")]);
    let tree = table.tree_with(TreeOptions {
        list_limit: None,
        ..TreeOptions::default()
    });
    let expected: Vec<String> = (0..=10_000).map(|version| format!("@v{version}")).collect();
    for rows in [1_000, 97, 100_000] {
        let pages = pages(&tree, ROOT_INO, rows).unwrap();
        assert!(pages.iter().all(|page| page.len() <= rows));
        let names: Vec<String> = pages.into_iter().flatten().collect();
        assert_eq!(
            names.iter().collect::<BTreeSet<_>>().len(),
            names.len(),
            "each once"
        );
        let versions: Vec<&String> = names.iter().filter(|name| name.starts_with("@v")).collect();
        assert_eq!(versions, expected.iter().collect::<Vec<_>>());
    }
    for name in ["@v0", "@v9999", "@v10000"] {
        assert!(resolve(&tree, name).is_ok(), "{name}");
    }
    // The newest 1000 by default; every one opens by name.
    let tree = table.tree();
    let names = list(&tree, "").unwrap();
    let versions: Vec<&String> = names.iter().filter(|name| name.starts_with("@v")).collect();
    assert_eq!(versions, expected[9_001..].iter().collect::<Vec<_>>());
    assert!(resolve(&tree, "@v17").is_ok());
}

/// The same for files, one row a page, while commits go on.
#[test]
fn g11_a_listing_of_files_is_one_snapshot() {
    let mut table = TableBuilder::with_schema(ID);
    table.commit(
        (0..50)
            .map(|at| add(&format!("f{at}.parquet")))
            .collect::<Vec<_>>(),
    );
    let tree = table.tree();
    let handle = tree
        .opendir(resolve(&tree, "@latest").unwrap().attr.ino)
        .unwrap();
    let mut names = Vec::new();
    let mut offset = 0;
    loop {
        let before = offset;
        let mut left = 1;
        tree.readdir(handle, offset, true, &mut |row| {
            if left == 0 {
                return std::ops::ControlFlow::Break(());
            }
            left = 0;
            offset = row.next_offset;
            names.push(row.name.to_str().expect("text").to_owned());
            std::ops::ControlFlow::Continue(())
        })
        .unwrap();
        if offset == before {
            break;
        }
        if names.len() % 10 == 0 {
            let at = names.len();
            table.commit([
                add(&format!("later{at}.parquet")),
                remove(&format!("f{at}.parquet")),
            ]);
        }
    }
    tree.releasedir(handle);
    let expected: BTreeSet<String> = (0..50).map(|at| format!("f{at}.parquet")).collect();
    assert_eq!(&names[..2], [".", ".."]);
    assert_eq!(names.len(), 52);
    assert_eq!(names.into_iter().skip(2).collect::<BTreeSet<_>>(), expected);
}

/// A table of so many files, partitioned where `options` want directories.
fn wide(files: u64, options: TreeOptions) -> (TableBuilder, Tree) {
    let mut action = metadata(&[("id", "long"), ("p", "string")]);
    if options.view.layout == deltafs::view::Layout::Hive {
        action = action.partitioned_by(&["p"]);
    }
    let mut table = TableBuilder::with_actions([protocol(1, 2), action]);
    let adds = (0..files).map(|at| add(&format!("f{at}.parquet")).partition("p", "x").to_line());
    table.commit_at(1, []);
    table.write_log(
        "00000000000000000001.json",
        adds.collect::<Vec<_>>().join("\n"),
    );
    let tree = table.tree_with(options);
    (table, tree)
}

/// How long this thread has had a processor.
fn processor_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// musefs#176: the time of a listing in pages grew with the square of the number of files.
#[test]
fn g14_a_listing_takes_time_in_proportion_to_its_length() {
    for (options, directory) in [(TreeOptions::default(), "@v1"), (hive(), "@v1/p=x")] {
        let seconds = |files: u64| {
            let (_table, tree) = wide(files, options.clone());
            let ino = resolve(&tree, directory).unwrap().attr.ino;
            // The least of three, of the processor's time: others use the machine as well.
            let times = (0..3).map(|_| {
                let start = processor_seconds();
                let names: usize = pages(&tree, ino, 100).unwrap().iter().map(Vec::len).sum();
                assert_eq!(names as u64, files);
                processor_seconds() - start
            });
            times.fold(f64::INFINITY, f64::min)
        };
        let (short, long) = (seconds(12_500), seconds(100_000));
        // Proportional is 8 times, the square 64.
        assert!(
            long < 32.0 * short,
            "8 times the files: {short} s, {long} s"
        );
    }
}

/// restic#3721: colons in names, which Samba and Spark cannot have.
#[test]
fn g21_no_name_has_a_colon() {
    let mut table = TableBuilder::with_actions([
        protocol(1, 2),
        metadata(&[("id", "long"), ("p", "string")]).partitioned_by(&["p"]),
    ]);
    table.commit([
        add("a:b.parquet").partition("p", "10:30:00"),
        add("p=x:y/c.parquet").partition("p", ":"),
        add("file:///elsewhere/d:e.parquet").partition("p", "x"),
    ]);
    for tree in [table.tree(), table.tree_with(hive())] {
        for directory in ["", "@v1", "@latest"] {
            for (path, _) in list_all(&tree, directory).unwrap() {
                assert!(!path.contains(':'), "{path}");
            }
        }
    }
}

/// hats#366, polars#21762, arrow#7857: names that tools stumble over, or hide.
#[test]
fn g22_only_parquet_files_stand_in_a_version_directory() {
    let mut table = TableBuilder::with_actions([
        protocol(1, 2),
        metadata(&[("id", "long"), ("p", "string")]).partitioned_by(&["p"]),
    ]);
    table.commit(
        [
            "_hidden.parquet",
            ".hidden.parquet",
            "no-suffix",
            "part-0.parquet.crc",
            "_a/_b/c.parquet",
            "x.PARQUET",
        ]
        .map(|path| add(path).partition("p", "1")),
    );
    for stray in [
        "_SUCCESS",
        "_metadata",
        ".part-0.parquet.crc",
        "notes.txt",
        "p=1/stray.parquet",
    ] {
        table.write(stray, "stray");
    }
    for tree in [table.tree(), table.tree_with(hive())] {
        let found = list_all(&tree, "@v1").unwrap();
        let files: Vec<&String> = found
            .iter()
            .filter(|(_, kind)| *kind == NodeKind::File)
            .map(|(path, _)| path)
            .collect();
        assert_eq!(files.len(), 6, "{files:?}");
        for (path, kind) in &found {
            let name = path.rsplit('/').next().unwrap();
            assert!(!name.starts_with(['_', '.']), "{path}");
            assert_eq!(
                name.ends_with(".parquet"),
                *kind == NodeKind::File,
                "{path}"
            );
        }
    }
}
