//! "Sidecar Files" and "Sidecar File Information".

use deltafs::log::LogError;
use deltafs::snapshot::SnapshotError;
use serde_json::json;

use crate::support::{Action, Checkpoint, TableBuilder, add, other, parquet_of, sidecar};
use crate::{ID, plain};

fn table() -> TableBuilder {
    let mut table = TableBuilder::with_schema(ID);
    table.commit_adds(5);
    table
}

/// A JSON checkpoint of version 3 with sidecar actions of choice.
fn checkpoint(table: &TableBuilder, sidecars: Vec<Action>) -> Vec<String> {
    let mut others = table.reference(3).non_file_actions();
    others.extend(sidecars);
    table.checkpoint_of(3, Checkpoint::Json(0), others, vec![])
}

/// "Because sidecar files must always reside in the table's own _delta_log/_sidecars directory,
/// implementations are encouraged to store only the file's name (without scheme or parent
/// directories)." A writer that stored more means the same file; none leads elsewhere.
#[test]
fn only_the_name_of_a_sidecar_counts() {
    for path in [
        "side.parquet",
        "_sidecars/side.parquet",
        "_delta_log/_sidecars/side.parquet",
        "s3://elsewhere/t/_delta_log/_sidecars/side.parquet",
        "file:///etc/side.parquet",
        "../../side.parquet",
        "si%64e.parquet",
    ] {
        let table = table();
        table.write_log(
            "_sidecars/side.parquet",
            parquet_of(&[add("in-the-sidecar")]),
        );
        checkpoint(&table, vec![sidecar(path, 1)]);
        assert_eq!(table.live(3), [plain("in-the-sidecar")], "{path}");
    }
}

/// "URI-encoded path to the sidecar file".
#[test]
fn a_sidecar_name_is_decoded() {
    let table = table();
    table.write_log(
        "_sidecars/a b.parquet",
        parquet_of(&[add("in-the-sidecar")]),
    );
    checkpoint(&table, vec![sidecar("a%20b.parquet", 1)]);
    assert_eq!(table.live(3), [plain("in-the-sidecar")]);
}

/// A checkpoint whose sidecar is missing, no Parquet, or has a name that is none, is no checkpoint.
#[test]
fn a_broken_sidecar_makes_the_checkpoint_fall_back() {
    for path in [
        "missing.parquet",
        "",
        "..",
        ".",
        "x/",
        "%00",
        "a%2Fb",
        "..%2F..%2F..%2Fx",
        "bad.parquet",
    ] {
        let table = table();
        table.write_log("_sidecars/bad.parquet", "no Parquet");
        table.write_log(
            "_sidecars/good.parquet",
            parquet_of(&[add("in-the-sidecar")]),
        );
        checkpoint(&table, vec![sidecar("good.parquet", 1), sidecar(path, 1)]);
        let snapshot = table
            .snapshot(3)
            .unwrap_or_else(|error| panic!("{path:?}: {error}"));
        assert_eq!(snapshot.files().len(), 3, "{path:?}");
        table.check(&table.generation(), [5, 4, 3, 2]);
        table.delete_commits(0..=3);
        let error = table.snapshot(4).unwrap_err();
        assert!(
            matches!(
                error,
                SnapshotError::Log(LogError::NoUsableCheckpoint { .. })
            ),
            "{path:?}: {error}"
        );
    }
}

/// "The sidecar files can have only add file and remove file entries as of now": whatever else
/// stands in one is not taken for the table's.
#[test]
fn only_file_actions_count_in_a_sidecar() {
    let table = table();
    let hostile = crate::support::metadata(&[("other", "string")]).id("another table");
    table.write_log("_sidecars/side.parquet", parquet_of(&[add("f"), hostile]));
    checkpoint(&table, vec![sidecar("side.parquet", 1)]);
    let snapshot = table.snapshot(3).unwrap();
    assert_ne!(snapshot.metadata().id, "another table");
    assert_eq!(snapshot.files().len(), 1);
}

/// "A V2 spec Checkpoint could reference zero or more sidecar file actions."
#[test]
fn a_checkpoint_may_have_no_sidecar() {
    let table = table();
    checkpoint(&table, vec![]);
    assert_eq!(table.live(3), []);
    assert_eq!(table.live(4), [plain("f4.parquet")]);
}

/// "v2 checkpoint spec actions are not allowed in normal commit files, and do not participate in log
/// replay."
#[test]
fn checkpoint_actions_in_a_commit_are_an_error() {
    for action in [
        sidecar("x.parquet", 1),
        other("checkpointMetadata", json!({"version": 1})),
    ] {
        let mut table = TableBuilder::with_schema(ID);
        table.commit([action.clone()]);
        let error = table.snapshot(1).unwrap_err().to_string();
        assert!(
            error.contains(action.name) && error.contains("V2 checkpoints"),
            "{error}"
        );
    }
}
