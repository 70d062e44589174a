//! "Add File and Remove File".

use deltafs::log::LogError;
use deltafs::snapshot::SnapshotError;
use serde_json::json;

use crate::support::{Checkpoint, TableBuilder, add, dv, other, remove};
use crate::{ID, plain};

/// "The primary key for the entry of a logical file in the set of files is a tuple of the data
/// file's `path` and a unique id describing the DV. If no DV is part of this logical file, then its
/// primary key is `(path, NULL)` instead."
#[test]
fn a_logical_file_is_a_path_and_a_deletion_vector() {
    let mut table = TableBuilder::with_schema(ID);
    table.commit([add("f")]);
    table.commit([remove("f"), add("f").dv(&dv("one"))]);
    table.commit([remove("f").dv(&dv("one")), add("f").dv(&dv("two"))]);
    table.commit([remove("f").dv(&dv("two"))]);
    let with = |id: &str| vec![("f".to_owned(), Some(format!("u{id}@1")))];
    assert_eq!(table.live(1), [plain("f")]);
    assert_eq!(table.live(2), with("one"));
    assert_eq!(table.live(3), with("two"));
    assert_eq!(table.live(4), []);
}

/// "It is **legal** for the same `path` to occur in an `add` action and a `remove` action, but with
/// two different `dvId`s", and "actions within a given Delta commit are not guaranteed to be applied
/// in order".
#[test]
fn the_order_of_add_and_remove_in_a_commit_does_not_matter() {
    let mut table = TableBuilder::with_schema(ID);
    table.commit([add("a"), add("b")]);
    let a = || [remove("a"), add("a").dv(&dv("x"))];
    let [removed, added] = a();
    table.commit([added, removed, remove("b"), add("b").dv(&dv("y"))]);
    let expected = [
        ("a".to_owned(), Some("ux@1".to_owned())),
        ("b".to_owned(), Some("uy@1".to_owned())),
    ];
    assert_eq!(table.live(2), expected);
}

/// "When an `add` action is encountered for a logical file that is already present in the table,
/// statistics and other information from the latest version should replace that from any previous
/// version."
#[test]
fn a_file_added_again_takes_the_newer_information() {
    let mut table = TableBuilder::with_schema(ID);
    table.commit([add("f").modified(1_000).stats(json!({"numRecords": 1}))]);
    table.commit([add("f").modified(2_000).stats(json!({"numRecords": 7}))]);
    assert_eq!(table.live(2), [plain("f")]);
    let generation = table.generation();
    let snapshot = generation.snapshot(2).unwrap();
    let id = snapshot.files().min().unwrap();
    assert_eq!(generation.files().get(id).modified, 2_000);
    let records = generation.num_records(snapshot.files()).unwrap();
    assert_eq!(records[&id], 7);
}

/// "Data files MUST be uniquely named and MUST NOT be overwritten": a log that says otherwise keeps
/// what it says of each version apart.
#[test]
fn a_file_added_again_with_another_size_leaves_older_versions_as_they_were() {
    let mut table = TableBuilder::with_schema(ID);
    table.commit([add("f").size(10)]);
    table.commit([add("f").size(20)]);
    let generation = table.generation();
    for (version, size) in [(1, 10), (2, 20), (1, 10)] {
        let snapshot = generation.snapshot(version).unwrap();
        assert_eq!(snapshot.files().len(), 1);
        assert_eq!(generation.size_of(&snapshot), size, "version {version}");
    }
}

/// "It is **legal** to commit an existing `path` and `dvId` combination again", and a removed file
/// may come back.
#[test]
fn a_removed_file_can_be_added_again() {
    let mut table = TableBuilder::with_schema(ID);
    table.commit([add("f")]);
    table.commit([remove("f")]);
    table.commit([add("f"), add("g")]);
    table.commit([add("f")]);
    table.check(&table.generation(), [4, 3, 2, 1, 0, 2, 4]);
}

/// "The path is a URI as specified by RFC 2396 URI Generic Syntax, which needs to be decoded to get
/// the data file path."
#[test]
fn paths_are_decoded_once() {
    let mut table = TableBuilder::with_schema(ID);
    table.commit([
        add("a%20b"),
        add("c%2520d"),
        add("e+f"),
        add("%C3%A9"),
        add("x%3Ay"),
    ]);
    let expected = ["a b", "c%20d", "e+f", "x:y", "é"];
    assert_eq!(table.live(1), expected.map(plain));
    table.commit([remove("a b"), remove("c%2520d"), remove("%65+f")]);
    assert_eq!(table.live(2), ["x:y", "é"].map(plain));
}

/// "A relative path to a data file from the root of the table or an absolute path to a file".
#[test]
fn paths_may_be_absolute() {
    let mut table = TableBuilder::with_schema(ID);
    table.commit([
        add("file:///elsewhere/a%20b.parquet"),
        add("s3://bucket/key"),
    ]);
    let generation = table.generation();
    let snapshot = generation.snapshot(1).unwrap();
    let files = generation.files();
    assert!(snapshot.files().iter().all(|id| files.get(id).absolute));
    drop(files);
    let expected = ["file:///elsewhere/a b.parquet", "s3://bucket/key"];
    assert_eq!(table.live(1), expected.map(plain));
    // One place has many spellings.
    table.commit([
        remove("/elsewhere/a%20b.parquet"),
        remove("s3a://bucket/key"),
    ]);
    assert_eq!(table.live(2), []);
}

/// "`remove` ... `dataChange` ... `extendedFileMetadata` ...": only the key says which file goes.
#[test]
fn a_remove_of_an_unknown_file_is_a_tombstone_and_no_more() {
    let mut table = TableBuilder::with_schema(ID);
    table.commit([add("f"), remove("never-seen")]);
    table.commit([remove("f")
        .with("size", 1)
        .with("partitionValues", json!({"p": "9"}))]);
    assert_eq!(table.live(1), [plain("f")]);
    assert_eq!(table.live(2), []);
}

/// "Snapshot reads only return `add` actions on the read path": `cdc` files are no data files.
#[test]
fn cdc_files_are_not_data() {
    let mut table = TableBuilder::with_schema(ID);
    let cdc =
        json!({"path": "_change_data/c", "partitionValues": {}, "size": 1, "dataChange": false});
    table.commit([add("f"), other("cdc", cdc)]);
    assert_eq!(table.live(1), [plain("f")]);
}

/// `path`, `partitionValues`, `size`, `modificationTime`, `dataChange` are required. Without a path
/// or a size nothing can be presented; old writers left the rest out.
#[test]
fn an_add_without_path_or_size_is_an_error_that_names_file_and_line() {
    for field in ["path", "size"] {
        let mut table = TableBuilder::with_schema(ID);
        table.commit([add("good"), add("bad").without(field)]);
        let error = table.snapshot(1).unwrap_err();
        let SnapshotError::Log(LogError::BadLine {
            file, line, reason, ..
        }) = &error
        else {
            panic!("{error}");
        };
        assert_eq!(
            (file.as_str(), *line),
            ("_delta_log/00000000000000000001.json", 2)
        );
        assert!(reason.contains(field), "{reason}");
        assert_eq!(table.live(0), [], "versions before are served");
    }
    let mut table = TableBuilder::with_schema(ID);
    table.commit([add("old")
        .without("modificationTime")
        .without("partitionValues")]);
    assert_eq!(table.live(1), [plain("old")]);
}

/// "The size of this data file in bytes".
#[test]
fn a_negative_size_is_an_error() {
    let mut table = TableBuilder::with_schema(ID);
    table.commit([add("f").size(-1)]);
    let error = table.snapshot(1).unwrap_err().to_string();
    assert!(
        error.contains("size -1") && error.contains("00000000000000000001.json"),
        "{error}"
    );
}

/// The same information comes from a checkpoint as from a commit.
#[test]
fn checkpoints_and_commits_say_the_same_of_a_file() {
    let mut table = TableBuilder::with_schema(&[("id", "long"), ("p", "string"), ("q", "date")]);
    table.commit([
        add("p=1/f")
            .partition("p", "1")
            .partition("q", None)
            .size(77)
            .modified(1_234)
            .dv(&dv("x"))
            .stats(json!({"numRecords": 5})),
        add("g")
            .partition("p", "")
            .partition("q", "2024-01-01")
            .size(0)
            .modified(-1),
    ]);
    let describe = |table: &TableBuilder| {
        let generation = table.generation();
        let snapshot = generation.snapshot(1).unwrap();
        let records = generation.num_records(snapshot.files()).unwrap();
        let files = generation.files();
        let mut lines: Vec<String> = snapshot
            .files()
            .iter()
            .map(|id| {
                let file = files.get(id);
                format!(
                    "{} {} {} {:?} {:?} {:?}",
                    file.path,
                    file.size,
                    file.modified,
                    file.partition_values,
                    file.deletion_vector,
                    records.get(&id)
                )
            })
            .collect();
        lines.sort();
        lines
    };
    let from_commits = describe(&table);
    for form in [
        Checkpoint::Classic,
        Checkpoint::Parts(2),
        Checkpoint::Json(0),
        Checkpoint::Json(1),
    ] {
        let names = table.checkpoint(1, form);
        assert_eq!(describe(&table), from_commits, "{form:?}");
        for name in names {
            table.delete_log(&name);
        }
    }
}
