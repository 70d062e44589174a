//! "Delta Log Entries" and "Delta Table Specification".

use deltafs::log::LogError;
use deltafs::snapshot::SnapshotError;

use crate::support::{TableBuilder, add, open_root, ranges, remove, versions};
use crate::{ID, plain};

/// "A Delta file, corresponding to version `v`, contains an atomic set of actions that should be
/// applied to the previous table state corresponding to version `v-1`, in order to construct the
/// `v`th snapshot of the table."
#[test]
fn every_version_can_be_had_in_any_order() {
    let mut table = TableBuilder::with_schema(ID);
    for version in 1..=20 {
        let mut actions = vec![add(&format!("f{version}"))];
        if version > 3 {
            actions.push(remove(&format!("f{}", version - 3)));
        }
        table.commit(actions);
    }
    table.check(&table.generation(), 0..=20);
    table.check(&table.generation(), (0..=20).rev());
    table.check(&table.generation(), [10, 0, 20, 5, 15, 5, 19, 1]);
}

/// Delta files "are named using the next available version number, zero-padded to 20 digits".
#[test]
fn names_that_are_no_versions_are_no_commits() {
    let mut table = TableBuilder::with_schema(ID);
    table.commit_adds(1);
    let content = std::fs::read(table.commit_path(1)).unwrap();
    for name in [
        "2.json",
        "0000000000000000002.json",
        "000000000000000000002.json",
        "00000000000000000002.JSON",
        "00000000000000000002.json.tmp",
        "00000000000000000002.json.crc",
        "00000000000000000002..json",
        ".00000000000000000002.json",
        "x00000000000000000002.json",
        "-0000000000000000002.json",
        "99999999999999999999.json",
    ] {
        table.write_log(name, &content);
    }
    assert_eq!(versions(&table.generation()), [0, 1]);
}

/// Versions "are named using contiguous, monotonically-increasing integers": the largest signed long
/// is one.
#[test]
fn the_largest_version_is_no_trouble() {
    let mut table = TableBuilder::with_schema(ID);
    table.commit_at(i64::MAX as u64, [add("f")]);
    let generation = table.generation();
    assert_eq!(ranges(&generation), [(0, 0)]);
    assert_eq!(generation.newest(), i64::MAX as u64);
    assert!(generation.snapshot(i64::MAX as u64).is_err());
    assert!(generation.snapshot(u64::MAX).is_err());
    assert!(generation.snapshot(0).is_ok());
}

/// "Delta clients should not attempt to directly interpret the contents of that directory"
/// (`_delta_log/_staged_commits`).
#[test]
fn staged_commits_are_ignored() {
    let mut table = TableBuilder::with_schema(ID);
    table.commit_adds(1);
    let staged = "00000000000000000002.3a0d65cd-4056-49b8-937b-95f9e3ee90e5.json";
    let line = add("staged").to_line();
    table.write_log(&format!("_staged_commits/{staged}"), &line);
    table.write_log("_staged_commits/00000000000000000002.json", &line);
    table.write_log(staged, &line);
    assert_eq!(versions(&table.generation()), [0, 1]);
    assert_eq!(table.live(1), [plain("f1.parquet")]);
}

/// "Delta files use newline-delimited JSON format, where every action is stored as a single-line
/// JSON document."
#[test]
fn lines_end_in_any_way_that_writers_end_them() {
    let mut table = TableBuilder::with_schema(ID);
    table.commit_adds(1);
    let lines = format!("{}\r\n\n  \r\n{}", add("a").to_line(), add("b").to_line());
    table.write_log("00000000000000000002.json", lines);
    assert_eq!(table.live(2), ["a", "b", "f1.parquet"].map(plain));
}

/// A document that goes on over the end of its line is none; the message names file, line, and what
/// stands there.
#[test]
fn a_line_that_is_no_document_is_an_error_with_its_place() {
    let mut table = TableBuilder::with_schema(ID);
    table.commit_adds(1);
    for (content, line, truncated) in [
        (add("a").to_line() + "\n{\"add\":{\"path\"", 2, true),
        ("{\n\"add\":{}}".to_owned(), 1, true),
        ("garbage\n".to_owned(), 1, false),
        (add("a").to_line() + &add("b").to_line(), 1, false),
        ("[]".to_owned(), 1, false),
        ("\u{feff}{}".to_owned(), 1, false),
        ("{\"add\":[]}".to_owned(), 1, false),
    ] {
        table.write_log("00000000000000000002.json", &content);
        let error = table.snapshot(2).unwrap_err();
        let SnapshotError::Log(LogError::BadLine {
            file,
            line: at,
            truncated: cut,
            ..
        }) = &error
        else {
            panic!("{content}: {error}");
        };
        assert_eq!(file, "_delta_log/00000000000000000002.json");
        assert_eq!((*at, *cut), (line, truncated), "{content}: {error}");
        assert_eq!(
            table.live(1),
            [plain("f1.parquet")],
            "versions before are served"
        );
    }
}

/// A bad commit costs the versions built from it: the others are there, in whatever order they are
/// asked for, and are not read again for every question about the bad one.
#[test]
fn a_bad_commit_costs_the_versions_built_from_it() {
    let mut table = TableBuilder::with_schema(ID);
    table.commit_adds(9);
    table.write_log("00000000000000000006.json", "garbage");
    let generation = table.generation();
    for version in [9, 6, 7, 9] {
        let error = generation.snapshot(version).unwrap_err().to_string();
        assert!(error.contains("00000000000000000006.json"), "{error}");
    }
    table.delete_commits(1..=5);
    table.check(&generation, [5, 0, 3]);
}

/// A directory without a log is not a table, and the message says what was found.
#[test]
fn a_directory_without_a_log_is_no_table() {
    let table = TableBuilder::new();
    let problem = |table: &TableBuilder| {
        let error = open_root(&table.root()).unwrap_err();
        assert!(
            matches!(error, SnapshotError::Log(LogError::NotATable { .. })),
            "{error}"
        );
        error.to_string()
    };
    assert!(problem(&table).contains("empty"));
    table.write_log("_last_checkpoint", "{}");
    assert!(problem(&table).contains("1 other file"));
    std::fs::remove_dir_all(table.log("")).unwrap();
    assert!(problem(&table).contains("no such directory"));
}

/// A commit seen by a listing at open, and one made later by anybody, are the same to `refresh`.
#[test]
fn later_commits_are_seen_without_reading_the_log_anew() {
    let mut table = TableBuilder::with_schema(ID);
    table.commit_adds(1);
    let open = table.open();
    let before = open.current();
    assert_eq!(before.newest(), 1);
    table.commit_adds(3);
    let after = open.refresh().unwrap();
    assert!(
        std::sync::Arc::ptr_eq(&before, &after),
        "the same table goes on"
    );
    assert_eq!(after.newest(), 4);
    table.check(&after, [4, 1, 3]);
}
