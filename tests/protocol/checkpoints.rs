//! "Checkpoints", "Checkpoint Specs", "Checkpoint Naming Scheme".

use deltafs::log::LogError;
use deltafs::snapshot::SnapshotError;
use serde_json::json;

use crate::support::{
    Checkpoint, TableBuilder, add, domain, dv, list, metadata, other, parquet_of, protocol, ranges,
    remove, txn,
};
use crate::{ID, plain};

const FORMS: [Checkpoint; 9] = [
    Checkpoint::Classic,
    Checkpoint::Parts(1),
    Checkpoint::Parts(3),
    Checkpoint::ClassicV2(0),
    Checkpoint::ClassicV2(2),
    Checkpoint::Parquet(0),
    Checkpoint::Parquet(3),
    Checkpoint::Json(0),
    Checkpoint::Json(2),
];

/// Ten versions of all kinds of actions.
fn busy_table() -> TableBuilder {
    let mut table = TableBuilder::with_schema(ID);
    table.commit([add("a"), add("b").partition("p", "1"), txn("app", 1)]);
    table.commit([remove("a"), add("a").dv(&dv("x")), domain("d", "1")]);
    table.commit([add("c%20c"), remove("b")]);
    table.commit([
        txn("app", 2),
        domain("e", "2"),
        metadata(&[("id", "long"), ("x", "string")]),
    ]);
    table.commit([remove("a").dv(&dv("x")), add("a").dv(&dv("y"))]);
    table.commit([add("file:///elsewhere/f"), add("b")]);
    table.commit([domain("d", "").with("removed", true)]);
    table.commit([add("g"), txn("other", 5)]);
    table.commit([remove("b"), remove("g")]);
    table
}

/// "A checkpoint contains the complete replay of all actions, up to and including the checkpointed
/// table version, with invalid actions removed."
#[test]
fn every_form_of_checkpoint_stands_in_for_the_commits_before() {
    for form in FORMS {
        let table = busy_table();
        table.checkpoint(6, form);
        table.delete_commits(0..=6);
        let generation = table.generation();
        assert_eq!(ranges(&generation), [(6, 9)], "{form:?}");
        table.check(&generation, [9, 6, 7, 8]);
    }
}

/// "Readers SHOULD NOT make any assumptions about the existence or frequency of checkpoints".
#[test]
fn checkpoints_in_any_place_change_nothing() {
    for form in FORMS {
        let table = busy_table();
        for version in [0, 3, 4, 9] {
            table.checkpoint(version, form);
        }
        table.check(&table.generation(), (0..=9).rev());
        table.check(&table.generation(), [9, 0, 5, 3, 8]);
    }
}

/// "For time travel, the checkpoint used must not be newer than the time travel version."
#[test]
fn a_newer_checkpoint_is_not_used() {
    let mut table = TableBuilder::with_schema(ID);
    table.commit_adds(6);
    let mut lie = table.reference(5).file_actions();
    lie.push(add("only-in-the-checkpoint"));
    table.checkpoint_of(
        5,
        Checkpoint::Classic,
        table.reference(5).non_file_actions(),
        lie,
    );
    assert_eq!(table.live(4), table.reference(4).live());
    assert!(table.live(6).contains(&plain("only-in-the-checkpoint")));
}

/// "For performance reasons, readers should prefer to use the newest complete checkpoint possible."
#[test]
fn the_newest_checkpoint_is_used() {
    let mut table = TableBuilder::with_schema(ID);
    table.commit_adds(9);
    let others = table.reference(0).non_file_actions();
    for version in [2, 5, 8] {
        let marker = vec![add(&format!("marker{version}"))];
        table.checkpoint_of(version, Checkpoint::Classic, others.clone(), marker);
    }
    assert_eq!(table.live(9), ["f9.parquet", "marker8"].map(plain));
    assert_eq!(table.live(8), [plain("marker8")]);
    assert_eq!(
        table.live(7),
        ["f6.parquet", "f7.parquet", "marker5"].map(plain)
    );
}

/// "readers must ignore multi-part checkpoints with missing parts".
#[test]
fn a_multi_part_checkpoint_with_a_missing_part_is_ignored() {
    let table = busy_table();
    let names = table.checkpoint(6, Checkpoint::Parts(3));
    for missing in &names {
        let content = std::fs::read(table.log(missing)).unwrap();
        table.delete_log(missing);
        table.check(&table.generation(), [9, 6]);
        table.write_log(missing, content);
    }
    // Parts of two attempts with different counts are not one checkpoint.
    table.delete_log(&names[0]);
    table.checkpoint(6, Checkpoint::Parts(2));
    table.delete_log(&format!("{:020}.checkpoint.{:010}.{:010}.parquet", 6, 2, 2));
    table.delete_commits(0..=6);
    let error = table.snapshot(7).unwrap_err();
    assert!(
        matches!(error, SnapshotError::Log(LogError::VersionNotFound { .. })),
        "{error}"
    );
}

/// "Multiple checkpoints could exist for the same table version ... In such cases, a client can
/// choose which checkpoint to use": where one cannot be read, another can.
#[test]
fn another_checkpoint_of_the_same_version_stands_in() {
    let table = busy_table();
    let bad = table.checkpoint(6, Checkpoint::Classic);
    table.write_log(&bad[0], "PAR1 no Parquet PAR1");
    table.checkpoint(6, Checkpoint::Json(1));
    table.delete_commits(0..=6);
    assert_eq!(ranges(&table.generation()), [(6, 9)]);
    table.check(&table.generation(), [9, 6]);
}

/// A checkpoint that is cut off, empty, no Parquet or says another version than its name is no
/// checkpoint: an older one, or the commits alone, give the version.
#[test]
fn a_checkpoint_that_cannot_be_read_falls_back() {
    let whole = {
        let table = busy_table();
        let names = table.checkpoint(6, Checkpoint::Classic);
        std::fs::read(table.log(&names[0])).unwrap()
    };
    let uuid = "80a083e8-7026-4e79-81be-64bd76c43a11";
    let wrong_version = [other("checkpointMetadata", json!({"version": 5}))]
        .into_iter()
        .chain(busy_table().reference(6).non_file_actions())
        .collect::<Vec<_>>();
    let no_path = [
        protocol(1, 2),
        metadata(ID),
        add("f").with("path", json!(null)),
    ];
    let no_size = [
        protocol(1, 2),
        metadata(ID),
        add("f").with("size", json!(null)),
    ];
    let negative = [protocol(1, 2), metadata(ID), add("f").size(-1)];
    let classic = format!("{:020}.checkpoint.parquet", 6);
    let contents: [(&str, String, Vec<u8>); 9] = [
        (
            "cut off",
            classic.clone(),
            whole[..whole.len() / 2].to_vec(),
        ),
        ("without its head", classic.clone(), whole[4..].to_vec()),
        ("empty", classic.clone(), Vec::new()),
        ("text", classic.clone(), b"{\"add\":{}}".to_vec()),
        (
            "of another version",
            classic.clone(),
            parquet_of(&wrong_version),
        ),
        ("with a null size", classic.clone(), parquet_of(&no_size)),
        ("with a negative size", classic, parquet_of(&negative)),
        (
            "cut off",
            format!("{:020}.checkpoint.{uuid}.json", 6),
            b"{\"protocol\":{".to_vec(),
        ),
        (
            "empty",
            format!("{:020}.checkpoint.{uuid}.json", 6),
            Vec::new(),
        ),
    ];
    // A row whose `add.path` is null is no `add`, as in every row of another action.
    let table = busy_table();
    table.write_log(
        &format!("{:020}.checkpoint.parquet", 6),
        parquet_of(&no_path),
    );
    assert_eq!(table.live(6), []);

    for older in [None, Some(4)] {
        for (what, name, content) in &contents {
            let table = busy_table();
            table.write_log(name, content);
            if let Some(older) = older {
                table.checkpoint(older, Checkpoint::Classic);
                table.delete_commits(0..=older);
            }
            if let Err(error) = table.snapshot(9) {
                panic!("{name} {what}: {error}");
            }
            table.check(&table.generation(), (older.unwrap_or(0)..=9).rev());
        }
    }
}

/// Where nothing else reaches back, the error names the checkpoint.
#[test]
fn an_unreadable_checkpoint_that_nothing_can_stand_in_for_is_named() {
    let table = busy_table();
    let names = table.checkpoint(6, Checkpoint::Classic);
    table.write_log(&names[0], "PAR1 no Parquet PAR1");
    table.delete_commits(0..=6);
    let error = table.snapshot(8).unwrap_err();
    assert!(
        matches!(
            error,
            SnapshotError::Log(LogError::NoUsableCheckpoint { .. })
        ),
        "{error}"
    );
    assert!(error.to_string().contains(&names[0]), "{error}");
}

/// "The checkpoint **must** contain all information regarding ... the protocol version, the metadata
/// of the table". One that was read whole and lacks them was written from a broken state: it is an
/// error, not a reason to look elsewhere.
#[test]
fn a_checkpoint_without_protocol_or_metadata_is_refused() {
    for (action, missing) in [(metadata(ID), "protocol"), (protocol(1, 2), "metaData")] {
        let mut table = TableBuilder::with_schema(ID);
        table.commit_adds(3);
        let names = table.checkpoint_of(2, Checkpoint::Classic, vec![action], vec![add("f")]);
        let error = table.snapshot(3).unwrap_err().to_string();
        assert!(
            error.contains(&names[0]) && error.contains(missing),
            "{error}"
        );
        assert_eq!(
            table.live(1),
            [plain("f1.parquet")],
            "versions before it are served"
        );
    }
}

/// "Any missing column should be treated as null."
#[test]
fn missing_columns_are_null() {
    let mut table = TableBuilder::with_schema(ID);
    table.commit_adds(2);
    // Neither txn nor domainMetadata nor remove nor, in the second, any add.
    let others = vec![protocol(1, 2), metadata(ID)];
    table.checkpoint_of(1, Checkpoint::Classic, others.clone(), vec![add("f")]);
    assert_eq!(table.live(1), [plain("f")]);
    table.checkpoint_of(2, Checkpoint::Classic, others, vec![]);
    assert_eq!(table.live(2), []);
}

/// "Files that were recently removed and have not yet expired": tombstones are not files.
#[test]
fn tombstones_in_a_checkpoint_are_not_files() {
    let mut table = TableBuilder::with_schema(ID);
    table.commit_adds(1);
    let files = vec![add("f"), remove("g"), remove("f").dv(&dv("old"))];
    for form in [
        Checkpoint::Classic,
        Checkpoint::Json(0),
        Checkpoint::Json(1),
    ] {
        let names = table.checkpoint_of(
            1,
            form,
            table.reference(1).non_file_actions(),
            files.clone(),
        );
        assert_eq!(table.live(1), [plain("f")], "{form:?}");
        table.delete_log(&names[0]);
    }
}

/// "Metadata cleanup MUST provide a checkpoint for the oldest kept table version": the versions
/// before are gone, those after are there.
#[test]
fn after_a_cleanup_versions_begin_at_the_checkpoint() {
    let table = busy_table();
    table.checkpoint(4, Checkpoint::Classic);
    table.checkpoint(7, Checkpoint::Parquet(1));
    table.delete_commits(0..=4);
    let generation = table.generation();
    assert_eq!(ranges(&generation), [(4, 9)]);
    for version in [0, 3, 10] {
        let error = generation.snapshot(version).unwrap_err();
        assert!(
            matches!(error, SnapshotError::Log(LogError::VersionNotFound { .. })),
            "{error}"
        );
    }
    let tree = table.tree();
    let names = list(&tree, "").unwrap();
    assert!(
        names.contains(&"@v4".to_owned()) && !names.contains(&"@v3".to_owned()),
        "{names:?}"
    );
}

/// A log that is cleaned up while it is open: what the listing promised and the directory no longer
/// has does not exist, and the rest goes on.
#[test]
fn a_cleanup_under_an_open_table_costs_what_it_removed() {
    let table = busy_table();
    table.checkpoint(6, Checkpoint::Classic);
    let generation = table.generation();
    table.delete_commits(0..=5);
    let error = generation.snapshot(3).unwrap_err();
    assert!(
        matches!(error, SnapshotError::Log(LogError::VersionNotFound { .. })),
        "{error}"
    );
    assert_eq!(generation.snapshot(8).unwrap().version(), 8);
    assert_eq!(ranges(&generation), [(6, 9)]);
}
