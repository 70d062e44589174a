//! Log and checkpoint reading.

use std::fs;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, Decimal128Array, RecordBatch, StructArray, TimestampMicrosecondArray,
    new_null_array,
};
use arrow::compute::{cast, concat};
use arrow::datatypes::{DataType, Field};
use deltafs::base::clock::now_ms;
use deltafs::log::LogError;
use deltafs::snapshot::SnapshotError;
use serde_json::json;

use crate::support::{
    Checkpoint, TableBuilder, add, batch_of, column, ints, list, metadata, parquet, parquet_longs,
    protocol, ranges, strings, table_features, tree_read, versions, xattr,
};
use crate::{ID, errno_of, ids, plain};

/// `f1.parquet` in version 1, and so on up to `newest`.
fn table(newest: u64) -> TableBuilder {
    let mut table = TableBuilder::with_schema(ID);
    table.commit_adds(newest);
    table
}

/// delta-rs#2258: a writer died between checkpoint and hint.
#[test]
fn c1_a_hint_at_an_older_checkpoint_is_no_trouble() {
    let mut table = table(0);
    for version in 1225..=1245 {
        table.commit_at(version, [add(&format!("f{version}"))]);
    }
    table.checkpoint(1230, Checkpoint::Classic);
    table.checkpoint(1240, Checkpoint::Classic);
    table.hint(1230);
    table.delete_commits(0..=0);
    table.delete_commits(1225..=1229);
    let generation = table.generation();
    assert_eq!(ranges(&generation), [(1230, 1245)]);
    table.check(&generation, [1245, 1240, 1239, 1230]);
}

/// kernel-rs#582: the hint names a checkpoint that is gone.
#[test]
fn c2_a_hint_at_a_deleted_checkpoint_is_no_trouble() {
    let table = table(12);
    table.hint(10);
    table.check(&table.generation(), [12, 10, 0]);
}

/// delta-rs PR 1863: the hint says 9, the checkpoint is of 10.
#[test]
fn c4_a_hint_beside_the_checkpoint_is_no_trouble() {
    let table = table(12);
    table.checkpoint(10, Checkpoint::Classic);
    table.hint(9);
    table.delete_commits(0..=9);
    let generation = table.generation();
    assert_eq!(versions(&generation), [10, 11, 12]);
    table.check(&generation, [12, 10]);
}

/// kernel-rs PR 2336: files of no bytes.
#[test]
fn c6_empty_files_are_passed_over_and_an_empty_commit_is_an_error() {
    let table = table(8);
    for name in [
        "00000000000000000000.00000000000000000003.compacted.json",
        "00000000000000000004.00000000000000000006.compacted.json",
        "00000000000000000005.checkpoint.parquet",
        "00000000000000000006.checkpoint.0000000001.0000000002.parquet",
        "00000000000000000006.checkpoint.0000000002.0000000002.parquet",
        "00000000000000000007.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json",
        "00000000000000000007.checkpoint.90a083e8-7026-4e79-81be-64bd76c43a11.parquet",
        "00000000000000000008.crc",
        "_last_checkpoint",
    ] {
        table.write_log(name, "");
    }
    table.check(&table.generation(), (0..=8).rev());

    table.write_log("00000000000000000008.json", "");
    let tree = table.tree();
    let (errno, message) = errno_of(list(&tree, "@v8"));
    assert_eq!(errno, libc::EUCLEAN);
    assert!(
        message.contains("00000000000000000008.json is empty"),
        "{message}"
    );
    assert!(
        message.contains("remove it"),
        "it says what to do: {message}"
    );
    assert_eq!(list(&tree, "@v7").unwrap().len(), 7);
    assert!(list(&tree, "").unwrap().contains(&"@v7".to_owned()));
    // What is told of the others is told all the same.
    assert!(xattr(&tree, "@v7", "user.delta.timestamp").is_ok());
    assert!(tree_read(&tree, "@info/v7/detail.json").is_ok());
    let history = String::from_utf8(tree_read(&tree, "@info/history.jsonl").unwrap()).unwrap();
    assert_eq!(history.lines().count(), 9, "{history}");
    table.set_modified(3, 3_000);
    assert!(
        table
            .generation()
            .version_at("then", now_ms(), now_ms())
            .is_ok()
    );
}

/// One bad thing costs one thing: a commit that cannot be read costs no version that a checkpoint
/// behind it gives.
#[test]
fn c6_a_bad_commit_before_a_checkpoint_costs_nothing_behind_it() {
    for content in ["", "garbage", "{\"metaData\":{\"id\":", "{\"protocol\":[]}"] {
        let mut table = TableBuilder::with_schema(ID);
        table.commit_adds(5);
        let file = table.data("g.parquet", &ids([1]));
        table.commit([file]);
        table.checkpoint(4, Checkpoint::Classic);
        table.write_log("00000000000000000002.json", content);
        let tree = table.tree();
        for (version, files) in [("@v6", 6), ("@v4", 4), ("@v1", 1), ("@latest", 6)] {
            assert_eq!(
                list(&tree, version).unwrap().len(),
                files,
                "{content} {version}"
            );
        }
        assert_eq!(errno_of(list(&tree, "@v3")).0, libc::EUCLEAN);
        let names = list(&tree, "@v6").unwrap();
        let name = names.iter().find(|name| name.starts_with('g')).unwrap();
        assert!(
            tree_read(&tree, &format!("@v6/{name}")).is_ok(),
            "{content}"
        );
    }
}

/// delta-rs#3422: a commit in a subdirectory counted as a version.
#[test]
fn c8_commits_below_the_log_directory_are_none() {
    let table = table(1);
    for directory in [
        ".tmp",
        "tmp",
        "_sidecars",
        "_staged_commits",
        "00000000000000000002.json",
    ] {
        for version in 2..=5 {
            let name = format!("{directory}/{version:020}.json");
            table.write_log(&name, add("below").to_line());
        }
    }
    assert_eq!(versions(&table.generation()), [0, 1]);
    table.check(&table.generation(), [1]);
}

/// delta-rs#2351, delta#448: 30 000 files of litter.
#[test]
fn c9_litter_is_ignored() {
    let table = table(3);
    for at in 0..10_000_u32 {
        table.write_log(&format!("_commit_{at:08x}.json.tmp"), "{");
        table.write_log(&format!(".{:020}.json.{at:08x}.tmp", at % 7), "{");
        table.write_log(&format!("{at:020}.crc"), "{");
    }
    let generation = table.generation();
    assert_eq!(versions(&generation), [0, 1, 2, 3]);
    table.check(&generation, [3, 0]);
    assert_eq!(list(&table.tree(), "@latest").unwrap().len(), 3);
}

/// delta-rs#1403: the wrong checkpoint for a version that has its own.
#[test]
fn c10_a_version_with_a_checkpoint_is_that_version() {
    let table = table(11);
    for version in [0, 5, 10] {
        table.checkpoint(version, Checkpoint::Classic);
    }
    for version in [5, 0, 10, 4, 6] {
        table.check(&table.generation(), [version]);
    }
}

/// delta#616: a version in the history that cannot be loaded.
#[test]
fn c11_a_version_that_cannot_be_rebuilt_does_not_exist() {
    let table = table(10);
    table.checkpoint(10, Checkpoint::Classic);
    table.delete_commits(0..=8);
    let tree = table.tree();
    let names = list(&tree, "").unwrap();
    assert!(
        names.contains(&"@v10".to_owned()) && !names.contains(&"@v9".to_owned()),
        "{names:?}"
    );
    let (errno, message) = errno_of(list(&tree, "@v9"));
    assert_eq!(errno, libc::ENOENT);
    assert!(message.contains("10"), "it says what there is: {message}");
    assert_eq!(list(&tree, "@v10").unwrap().len(), 10);
}

/// delta-rs#3692: a cleanup that keeps the wrong checkpoint.
#[test]
fn c13_what_is_left_after_a_cleanup_is_told_as_it_is() {
    let table = table(11);
    table.checkpoint(5, Checkpoint::Classic);
    table.checkpoint(9, Checkpoint::Classic);
    table.delete_commits(0..=6);
    assert_eq!(ranges(&table.generation()), [(5, 5), (9, 11)]);
    let tree = table.tree();
    assert_eq!(list(&tree, "@v5").unwrap().len(), 5);
    for gone in ["@v4", "@v6"] {
        assert!(list(&tree, gone).is_err(), "{gone}");
    }
    // 7 and 8 are there, and what they build on is not.
    for broken in ["@v7", "@v8"] {
        let (errno, message) = errno_of(list(&tree, broken));
        assert_eq!(errno, libc::EUCLEAN);
        assert!(message.contains("00000000000000000006.json"), "{message}");
    }
    table.delete_log("00000000000000000005.checkpoint.parquet");
    assert_eq!(ranges(&table.generation()), [(9, 11)]);
    table.check(&table.generation(), [11, 10, 9]);
}

/// trino#21451: the table was dropped and made again at the same path.
#[test]
fn c16_a_table_made_again_is_another_table() {
    let mut table = table(0);
    let old = table.data("part-0.parquet", &ids([1, 2, 3]));
    table.commit([old]);
    let tree = table.tree();
    let old_entry = crate::support::lookup(&tree, "@v1/part-0.parquet").unwrap();
    assert_eq!(
        parquet_longs(&tree_read(&tree, "@v1/part-0.parquet").unwrap(), "id").len(),
        3
    );

    fs::remove_dir_all(table.log("")).unwrap();
    let (errno, message) = errno_of(list(&tree, ""));
    assert_eq!(errno, libc::ENOENT, "{message}");

    // The same names, other bytes, another schema; as many versions as before.
    fs::remove_file(table.path("part-0.parquet")).unwrap();
    let rows = crate::support::batch([("name", crate::support::strings(["x"]))]);
    let add = table.data("part-0.parquet", &rows);
    table.commit_at(
        0,
        [
            protocol(1, 2),
            metadata(&[("name", "string")]).id("another"),
        ],
    );
    table.commit_at(1, [add]);
    let bytes = tree_read(&tree, "@v1/part-0.parquet").unwrap();
    assert_eq!(crate::support::column(&bytes, "name").len(), 1);
    let entry = crate::support::lookup(&tree, "@v1/part-0.parquet").unwrap();
    assert_ne!(
        entry.attr.ino, old_entry.attr.ino,
        "other bytes are another inode"
    );
    let detail = tree_read(&tree, "@info/v1/detail.json").unwrap();
    assert!(String::from_utf8(detail).unwrap().contains("another"));

    // Made again with fewer versions: what is no more is not there.
    table.delete_commits(1..=1);
    assert_eq!(versions(&table.generation()), [0]);
    assert_eq!(list(&tree, "@latest").unwrap(), [""; 0]);
    assert_eq!(errno_of(list(&tree, "@v1")).0, libc::ENOENT);
}

/// delta PR 7052: a hole in the versions.
#[test]
fn c18_a_hole_is_named() {
    let table = table(3);
    table.delete_commits(2..=2);
    for version in [2, 3] {
        let error = table.snapshot(version).unwrap_err();
        let SnapshotError::Log(LogError::Gap { missing, .. }) = &error else {
            panic!("{error}");
        };
        assert_eq!(missing, "00000000000000000002.json");
    }
    let tree = table.tree();
    assert_eq!(list(&tree, "@v0").unwrap(), [""; 0]);
    assert_eq!(list(&tree, "@v1").unwrap().len(), 1);
    for version in ["@v2", "@v3", "@latest"] {
        let (errno, message) = errno_of(list(&tree, version));
        assert_eq!(errno, libc::EUCLEAN, "{version}: {message}");
    }
    let names = list(&tree, "").unwrap();
    assert!(
        names.contains(&"@v1".to_owned()) && !names.contains(&"@v3".to_owned()),
        "{names:?}"
    );
    // The versions that are served have their times as well.
    assert!(xattr(&tree, "@v1", "user.delta.timestamp").is_ok());
    table.set_modified(0, 1_000);
    table.set_modified(1, 2_000);
    assert_eq!(
        table
            .generation()
            .version_at("then", 1_500, 10_000)
            .unwrap(),
        0
    );
}

/// delta-rs#2477: adds with and without statistics.
#[test]
fn c20_statistics_may_be_there_or_not() {
    let mut table = table(0);
    table.commit([
        add("a").stats(json!({"numRecords": 1, "maxValues": {"id": 1}})),
        add("b"),
        add("c").with("stats", json!(null)),
        add("d").with("stats", ""),
        add("e").with("stats", "{\"numRecords\":"),
        add("f").stats(json!({"numRecords": "many"})),
        add("g").stats(json!({"numRecords": 7, "minValues": null})),
    ]);
    for with_checkpoint in [false, true] {
        if with_checkpoint {
            table.checkpoint(1, Checkpoint::Classic);
            table.delete_commits(0..=1);
        }
        let generation = table.generation();
        let snapshot = generation.snapshot(1).unwrap();
        let records = generation.num_records(snapshot.files()).unwrap();
        let files = generation.files();
        let mut known: Vec<(&str, i64)> = records
            .iter()
            .map(|(id, count)| (files.get(*id).path, *count))
            .collect();
        known.sort_unstable();
        assert_eq!(known, [("a", 1), ("g", 7)]);
        assert_eq!(snapshot.files().len(), 7);
    }
}

/// One of each kind of file that a log may hold.
#[test]
fn c22_every_kind_of_log_file_is_taken_for_what_it_is() {
    let features = table_features(&["v2Checkpoint"]);
    let mut table = TableBuilder::with_actions([features, metadata(ID)]);
    table.commit_adds(9);
    table.write_log(
        "_staged_commits/00000000000000000010.3a0d65cd-4056-49b8-937b-95f9e3ee90e5.json",
        add("staged").to_line(),
    );
    table.checkpoint(2, Checkpoint::Json(2));
    table.checkpoint(4, Checkpoint::Parquet(1));
    table.checkpoint(5, Checkpoint::Classic);
    table.compact(6, 8);
    table.write_checksum(9, &table.checksum(9));
    table.hint(5);
    let generation = table.generation();
    assert_eq!(versions(&generation), (0..=9).collect::<Vec<_>>());
    table.check(&generation, (0..=9).rev());
    let newest = generation.snapshot(9).unwrap();
    assert_eq!(generation.checksum_problem(&newest), None);
    assert!(!table.live(9).contains(&plain("staged")));
}

/// A checkpoint that has partition values of their own types alone, without those as texts: they are
/// the values, and not null.
#[test]
fn partition_values_of_their_types_stand_in_for_texts() {
    let columns = [
        ("id", "long"),
        ("i", "integer"),
        ("t", "timestamp"),
        ("x", "decimal(5,2)"),
        ("s", "string"),
    ];
    let partitions = ["i", "t", "x", "s"];
    let mut table = TableBuilder::with_actions([
        protocol(1, 2),
        metadata(&columns).partitioned_by(&partitions),
    ]);
    let file = table.data("f.parquet", &ids([1]));
    table.commit([file]);
    let actions: Vec<_> = [
        table.reference(1).non_file_actions(),
        table.reference(1).file_actions(),
    ]
    .concat();
    let rows = actions.len();
    let last = |value: ArrayRef| {
        // Only the last row is an add.
        let nulls = new_null_array(value.data_type(), rows - 1);
        concat(&[nulls.as_ref(), value.as_ref()]).unwrap()
    };
    let instant = TimestampMicrosecondArray::from(vec![1_700_000_000_000_001]);
    let decimal = Decimal128Array::from(vec![-125]).with_precision_and_scale(5, 2);
    let parsed: Vec<(&str, ArrayRef)> = vec![
        ("i", last(ints([-7]))),
        ("t", last(Arc::new(instant.with_timezone("UTC")))),
        ("x", last(Arc::new(decimal.unwrap()))),
        ("s", last(strings([None]))),
    ];
    let parsed: ArrayRef = Arc::new(StructArray::try_from(parsed).unwrap());
    let batch = batch_of(&actions);
    let mut written: Vec<(String, ArrayRef)> = Vec::new();
    for (field, array) in batch.schema().fields().iter().zip(batch.columns()) {
        let array = match field.name().as_str() {
            "add" => {
                let add = array.as_struct();
                let kept = add.fields().iter().zip(add.columns());
                let kept = kept.filter(|(field, _)| field.name() != "partitionValues");
                let mut children: Vec<(Arc<Field>, ArrayRef)> = kept
                    .map(|(field, child)| (field.clone(), child.clone()))
                    .collect();
                let kind = parsed.data_type().clone();
                let field = Field::new("partitionValues_parsed", kind, true);
                children.push((Arc::new(field), parsed.clone()));
                let (fields, children): (Vec<_>, Vec<_>) = children.into_iter().unzip();
                Arc::new(StructArray::new(
                    fields.into(),
                    children,
                    add.nulls().cloned(),
                ))
            }
            _ => array.clone(),
        };
        written.push((field.name().clone(), array));
    }
    let batch = RecordBatch::try_from_iter_with_nullable(
        written
            .iter()
            .map(|(name, array)| (name, array.clone(), true)),
    );
    table.write_log(
        "00000000000000000001.checkpoint.parquet",
        parquet(&batch.unwrap()),
    );
    table.delete_commits(0..=1);
    let tree = table.tree();
    let names = list(&tree, "@v1").unwrap();
    let bytes = tree_read(&tree, &format!("@v1/{}", names[0])).unwrap();
    let shown = partitions.map(|name| {
        let values = match column(&bytes, name) {
            instants if name == "t" => cast(&instants, &DataType::Int64).unwrap(),
            values => values,
        };
        let text = cast(&values, &DataType::Utf8).unwrap();
        let text = text.as_string::<i32>();
        text.is_valid(0).then(|| text.value(0).to_owned())
    });
    assert_eq!(
        shown.each_ref().map(|text| text.as_deref()),
        [Some("-7"), Some("1700000000000001"), Some("-1.25"), None]
    );
}
