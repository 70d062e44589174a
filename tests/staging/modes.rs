//! What each mode of the marker removes and adds.

use deltafs::errno::of_staging;
use deltafs::staging::StagingError;

use crate::rig::{actions, begin, commit, live, longs_in, open, put_rows, staging, status};
use crate::support::TableBuilder;
use crate::support::{batch, longs, strings};
use crate::support::{domain, metadata, protocol, table_features};

fn plain() -> TableBuilder {
    TableBuilder::with_schema(&[("id", "long")])
}

/// A table of `id`, partitioned by `p`.
fn partitioned() -> TableBuilder {
    TableBuilder::with_actions([
        protocol(1, 2),
        metadata(&[("id", "long"), ("p", "string")]).partitioned_by(&["p"]),
    ])
}

fn ids(ids: &[i64]) -> arrow::array::RecordBatch {
    batch([("id", longs(ids.iter().copied()))])
}

/// Stages files of `id` at paths, and commits.
fn write(
    table: &TableBuilder,
    name: &str,
    files: &[(&str, &[i64])],
    marker: &str,
) -> Result<u64, StagingError> {
    let staging = staging(&table.root());
    let transaction = begin(&staging, name).unwrap();
    for (path, rows) in files {
        put_rows(&transaction, path, &ids(rows));
    }
    commit(&transaction, marker)
}

fn some(ids: &[i64]) -> Vec<Option<i64>> {
    ids.iter().copied().map(Some).collect()
}

#[test]
fn overwrite_replaces_all_rows() {
    let table = plain();
    write(&table, "a", &[("x.parquet", &[1, 2])], "").unwrap();
    let version = write(
        &table,
        "b",
        &[("x.parquet", &[3])],
        r#"{"mode":"overwrite"}"#,
    )
    .unwrap();
    assert_eq!(version, 2);
    assert_eq!(longs_in(&table.root(), "id"), some(&[3]));
    let actions = actions(&table.root(), 2);
    let remove = actions
        .iter()
        .find_map(|action| action.get("remove"))
        .unwrap();
    assert_eq!(remove["dataChange"], true);
    assert_eq!(remove["extendedFileMetadata"], true);
    assert!(remove["size"].as_u64().unwrap() > 0);
    assert_eq!(actions[0]["commitInfo"]["isBlindAppend"], false);
}

#[test]
fn partitions_come_from_directories_and_replace_where_replaces_theirs() {
    let table = partitioned();
    let files: &[(&str, &[i64])] = &[
        ("p=a/x.parquet", &[1]),
        ("p=b/x.parquet", &[2]),
        ("p=__HIVE_DEFAULT_PARTITION__/x.parquet", &[3]),
    ];
    write(&table, "a", files, "").unwrap();
    let values: Vec<_> = live(&open(&table.root()), 1)
        .values()
        .map(|file| file["values"]["p"].clone())
        .collect();
    assert!(values.contains(&"a".into()) && values.contains(&serde_json::Value::Null));

    let marker = r#"{"mode":"overwrite","replaceWhere":"p = 'a'"}"#;
    write(&table, "b", &[("p=a/x.parquet", &[4])], marker).unwrap();
    assert_eq!(longs_in(&table.root(), "id"), some(&[2, 3, 4]));

    let error = write(&table, "c", &[("p=b/x.parquet", &[5])], marker).unwrap_err();
    assert_eq!(of_staging(&error), libc::EINVAL);
    assert!(error.to_string().contains("p=b"), "{error}");
    let marker = r#"{"mode":"overwrite","replaceWhere":"id = 1"}"#;
    let error = write(&table, "d", &[("p=b/x.parquet", &[5])], marker).unwrap_err();
    assert!(error.to_string().contains("id"), "{error}");
}

#[test]
fn dynamic_overwrite_replaces_the_partitions_of_the_staged_files() {
    let table = partitioned();
    let files: &[(&str, &[i64])] = &[("p=a/x.parquet", &[1]), ("p=b/x.parquet", &[2])];
    write(&table, "a", files, "").unwrap();
    let marker = r#"{"mode":"overwrite","partitionOverwriteMode":"dynamic"}"#;
    write(&table, "b", &[("p=b/y.parquet", &[3])], marker).unwrap();
    assert_eq!(longs_in(&table.root(), "id"), some(&[1, 3]));
}

#[test]
fn f34_a_partitioned_table_must_be_told_the_partition() {
    let table = partitioned();
    let error = write(&table, "a", &[("x.parquet", &[1])], "").unwrap_err();
    assert_eq!(of_staging(&error), libc::EINVAL);
    assert!(error.to_string().contains('p'), "{error}");

    let staging = staging(&table.root());
    let transaction = begin(&staging, "b").unwrap();
    let rows = batch([
        ("id", longs([1, 2, 3])),
        ("p", strings([Some("a"), Some("b"), Some("a")])),
    ]);
    put_rows(&transaction, "x.parquet", &rows);
    commit(&transaction, "").unwrap();
    assert_eq!(live(&open(&table.root()), 1).len(), 2);
    assert_eq!(longs_in(&table.root(), "id"), some(&[1, 2, 3]));
}

#[test]
fn compaction_rearranges_and_must_keep_every_row() {
    let table = plain();
    write(&table, "a", &[("x.parquet", &[1, 2])], "").unwrap();
    write(&table, "b", &[("x.parquet", &[3])], "").unwrap();
    let names: Vec<String> = live(&open(&table.root()), 2).into_keys().collect();
    let marker = serde_json::json!({"remove": names, "dataChange": false}).to_string();
    let error = write(&table, "c", &[("x.parquet", &[1, 2])], &marker).unwrap_err();
    assert!(matches!(
        error,
        StagingError::RowsChange {
            staged: 2,
            removed: 3
        }
    ));
    let version = write(&table, "d", &[("x.parquet", &[1, 2, 3])], &marker).unwrap();
    let actions = actions(&table.root(), version);
    for action in &actions {
        if let Some(file) = action.get("add").or(action.get("remove")) {
            assert_eq!(file["dataChange"], false);
        }
    }
    assert_eq!(longs_in(&table.root(), "id"), some(&[1, 2, 3]));
}

#[test]
fn a_rewrite_removes_what_it_names_and_loses_against_a_change_of_it() {
    let table = plain();
    write(&table, "a", &[("x.parquet", &[1, 2])], "").unwrap();
    let names: Vec<String> = live(&open(&table.root()), 1).into_keys().collect();
    let marker = serde_json::json!({"remove": names}).to_string();

    // Both begin at version 1.
    let area = staging(&table.root());
    let (first, second) = (
        begin(&area, "first").unwrap(),
        begin(&area, "second").unwrap(),
    );
    put_rows(&first, "x.parquet", &ids(&[1]));
    put_rows(&second, "x.parquet", &ids(&[2]));
    commit(&first, &marker).unwrap();
    let error = commit(&second, &marker).unwrap_err();
    assert_eq!(of_staging(&error), libc::ESTALE);
    assert_eq!(status(&second)["error"]["errno"], libc::ESTALE);
    assert_eq!(longs_in(&table.root(), "id"), some(&[1]));

    let error = write(&table, "c", &[], r#"{"remove":["nothing.parquet"]}"#).unwrap_err();
    assert_eq!(of_staging(&error), libc::ENOENT);
    // Without new files it is a delete.
    let names: Vec<String> = live(&open(&table.root()), 2).into_keys().collect();
    let marker = serde_json::json!({"remove": names}).to_string();
    write(&table, "d", &[], &marker).unwrap();
    assert_eq!(longs_in(&table.root(), "id"), some(&[]));
}

#[test]
fn f2_the_second_overwrite_of_a_partition_conflicts() {
    let table = partitioned();
    write(&table, "a", &[("p=a/x.parquet", &[1])], "").unwrap();
    let area = staging(&table.root());
    let (one, two) = (begin(&area, "one").unwrap(), begin(&area, "two").unwrap());
    let marker = r#"{"mode":"overwrite","replaceWhere":"p = 'a'"}"#;
    put_rows(&one, "p=a/x.parquet", &ids(&[2]));
    put_rows(&two, "p=a/x.parquet", &ids(&[3]));
    commit(&one, marker).unwrap();
    let error = commit(&two, marker).unwrap_err();
    assert_eq!(of_staging(&error), libc::ESTALE);
    assert_eq!(longs_in(&table.root(), "id"), some(&[2]));

    // Another partition's overwrite does not mind.
    let other = begin(&area, "other").unwrap();
    write(&table, "z", &[("p=a/x.parquet", &[9])], marker).unwrap();
    put_rows(&other, "p=b/x.parquet", &ids(&[4]));
    commit(&other, r#"{"mode":"overwrite","replaceWhere":"p = 'b'"}"#).unwrap();
    assert_eq!(longs_in(&table.root(), "id"), some(&[4, 9]));
}

#[test]
fn f9_a_numbered_transaction_is_applied_once() {
    let table = plain();
    let marker = |version: i64| format!(r#"{{"txnAppId":"etl","txnVersion":{version}}}"#);
    assert_eq!(
        write(&table, "a", &[("x.parquet", &[1])], &marker(5)).unwrap(),
        1
    );
    assert_eq!(
        write(&table, "b", &[("x.parquet", &[1])], &marker(5)).unwrap(),
        1
    );
    write(&table, "c", &[("x.parquet", &[0])], &marker(4)).unwrap();
    assert_eq!(longs_in(&table.root(), "id"), some(&[1]));
    assert_eq!(open(&table.root()).current().newest(), 1);
    assert_eq!(
        write(&table, "d", &[("x.parquet", &[2])], &marker(6)).unwrap(),
        2
    );
}

#[test]
fn merge_schema_adds_columns_and_without_it_they_are_refused() {
    let table = plain();
    let area = staging(&table.root());
    let transaction = begin(&area, "a").unwrap();
    let rows = batch([("id", longs([1])), ("extra", strings([Some("x")]))]);
    put_rows(&transaction, "x.parquet", &rows);
    let error = commit(&transaction, "").unwrap_err();
    assert_eq!(of_staging(&error), libc::EINVAL);
    assert_eq!(status(&transaction)["error"]["column"], "extra");
    commit(&transaction, r#"{"mergeSchema":true}"#).unwrap();
    let schema = &actions(&table.root(), 1);
    let metadata = schema
        .iter()
        .find_map(|action| action.get("metaData"))
        .unwrap();
    assert!(metadata["schemaString"].as_str().unwrap().contains("extra"));
}

#[test]
fn an_append_only_table_keeps_its_rows() {
    let table = TableBuilder::with_actions([
        protocol(1, 2),
        metadata(&[("id", "long")]).property("delta.appendOnly", "true"),
    ]);
    write(&table, "a", &[("x.parquet", &[1])], "").unwrap();
    let error = write(
        &table,
        "b",
        &[("x.parquet", &[2])],
        r#"{"mode":"overwrite"}"#,
    )
    .unwrap_err();
    assert_eq!(of_staging(&error), libc::EPERM);
    let names: Vec<String> = live(&open(&table.root()), 1).into_keys().collect();
    let marker = serde_json::json!({"remove": names}).to_string();
    let error = write(&table, "c", &[("x.parquet", &[2])], &marker).unwrap_err();
    assert_eq!(of_staging(&error), libc::EPERM);
    let marker = serde_json::json!({"remove": names, "dataChange": false}).to_string();
    write(&table, "d", &[("x.parquet", &[1])], &marker).unwrap();
    assert_eq!(longs_in(&table.root(), "id"), some(&[1]));
}

#[test]
fn overwriting_the_schema_keeps_the_columns_that_cluster_the_table() {
    let clustered = |columns: &str| {
        TableBuilder::with_actions([
            table_features(&["clustering", "domainMetadata"])
                .with("readerFeatures", serde_json::json!([])),
            metadata(&[("id", "long"), ("c", "long")]),
            domain("delta.clustering", columns),
        ])
    };
    let overwrite = r#"{"mode":"overwrite","overwriteSchema":true}"#;
    let file: &[(&str, &[i64])] = &[("x.parquet", &[1])];
    let table = clustered(r#"{"clusteringColumns":[["c"]]}"#);
    let error = write(&table, "a", file, overwrite).unwrap_err();
    assert!(
        error.to_string().contains("clustered by column c"),
        "{error}"
    );
    assert_eq!(of_staging(&error), libc::EINVAL);
    write(&table, "b", file, "").unwrap();
    let table = clustered(r#"{"clusteringColumns":[["id"]]}"#);
    write(&table, "a", file, overwrite).unwrap();
    let table = clustered(r#"{"by":"expression"}"#);
    let error = write(&table, "a", file, "").unwrap_err();
    assert_eq!(of_staging(&error), libc::EOPNOTSUPP);
}
