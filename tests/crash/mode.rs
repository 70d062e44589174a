//! The kinds of commit: a table, what is staged, and what the rows are before and behind it.

use std::path::Path;

use arrow::array::RecordBatch;
use serde_json::json;

use crate::rig;
use crate::support::TableBuilder;
use crate::support::{batch, longs, strings};
use crate::support::{commit_info, metadata, protocol, txn};

/// A row: `id` and the partition it is in.
pub type Row = (i64, Option<String>);

/// A kind of commit.
pub struct Mode {
    /// The table before it.
    pub table: fn() -> TableBuilder,
    /// Files by their paths in the directory of the transaction.
    pub staged: fn() -> Vec<(&'static str, RecordBatch)>,
    /// The content of `.commit`.
    pub marker: &'static str,
    /// The rows behind it, sorted.
    pub after: fn() -> Vec<Row>,
    /// What others commit between the time the transaction is begun and its commit.
    pub meanwhile: fn(&mut TableBuilder),
    /// Whether it makes a version: work that was done before makes none.
    pub makes_version: bool,
}

/// The name of the transaction.
pub const NAME: &str = "b1";

impl Mode {
    /// The table with the transaction begun and its files staged, durably.
    pub fn prepare(&self) -> TableBuilder {
        let mut table = (self.table)();
        let area = rig::staging(&table.root());
        let transaction = rig::begin(&area, NAME).expect("a transaction");
        for (path, rows) in (self.staged)() {
            rig::put_rows(&transaction, path, &rows);
        }
        rig::put(&transaction, ".commit", self.marker);
        (self.meanwhile)(&mut table);
        table
    }
}

/// All kinds of commit, by their names.
pub fn mode(name: &str) -> Mode {
    let append = Mode {
        table: plain,
        staged: || vec![("x.parquet", ids(&[7, 8]))],
        marker: "",
        after: || unpartitioned(&[1, 2, 3, 7, 8]),
        meanwhile: |_| {},
        makes_version: true,
    };
    let partitions = Mode {
        table: partitioned,
        staged: || {
            vec![
                ("p=a/x.parquet", ids(&[7])),
                ("p=n w/x.parquet", ids(&[8])),
                ("p=__HIVE_DEFAULT_PARTITION__/x.parquet", ids(&[9])),
            ]
        },
        after: || rows(&[(1, "a"), (2, "b"), (7, "a"), (8, "n w"), (9, "")]),
        ..append
    };
    match name {
        "append" => append,
        "partitions" => partitions,
        // The files are made anew, by partition.
        "split" => Mode {
            staged: || {
                let columns = |ids: [i64; 3], values: [&'static str; 3]| {
                    batch([("id", longs(ids)), ("p", strings(values.map(Some)))])
                };
                vec![
                    ("x.parquet", columns([7, 8, 9], ["a", "c", "a"])),
                    ("y.parquet", columns([10, 11, 12], ["c", "d", "d"])),
                ]
            },
            after: || {
                let new = [
                    (7, "a"),
                    (8, "c"),
                    (9, "a"),
                    (10, "c"),
                    (11, "d"),
                    (12, "d"),
                ];
                rows(&[&[(1, "a"), (2, "b")][..], &new].concat())
            },
            ..partitions
        },
        "overwrite" => Mode {
            marker: r#"{"mode":"overwrite"}"#,
            after: || unpartitioned(&[7, 8]),
            ..append
        },
        "replace_where" => Mode {
            staged: || vec![("p=a/x.parquet", ids(&[7])), ("p=a/y.parquet", ids(&[8]))],
            marker: r#"{"mode":"overwrite","replaceWhere":"p = 'a'"}"#,
            after: || rows(&[(2, "b"), (7, "a"), (8, "a")]),
            ..partitions
        },
        "dynamic" => Mode {
            staged: || vec![("p=b/x.parquet", ids(&[7]))],
            marker: r#"{"mode":"overwrite","partitionOverwriteMode":"dynamic"}"#,
            after: || rows(&[(1, "a"), (7, "b")]),
            ..partitions
        },
        "compaction" => Mode {
            staged: || vec![("x.parquet", ids(&[1, 2, 3]))],
            marker: r#"{"remove":["a.parquet","b.parquet"],"dataChange":false}"#,
            after: || unpartitioned(&[1, 2, 3]),
            ..append
        },
        "rewrite" => Mode {
            staged: || vec![("x.parquet", ids(&[1, 12]))],
            marker: r#"{"remove":["a.parquet"]}"#,
            after: || unpartitioned(&[1, 3, 12]),
            ..append
        },
        // It goes on top of an append that came after the version that it read.
        "rebased" => Mode {
            staged: || vec![("x.parquet", ids(&[1, 12]))],
            marker: r#"{"remove":["a.parquet"]}"#,
            meanwhile: |table| {
                let add = table.data("c.parquet", &ids(&[4]));
                table.commit([commit_info().with("isBlindAppend", true), add]);
            },
            after: || unpartitioned(&[1, 3, 4, 12]),
            ..append
        },
        "delete" => Mode {
            staged: Vec::new,
            marker: r#"{"remove":["a.parquet"]}"#,
            after: || unpartitioned(&[3]),
            ..append
        },
        "merge_schema" => Mode {
            staged: || {
                let rows = batch([("id", longs([7])), ("extra", strings([Some("x")]))]);
                vec![("x.parquet", rows)]
            },
            marker: r#"{"mergeSchema":true}"#,
            after: || unpartitioned(&[1, 2, 3, 7]),
            ..append
        },
        "overwrite_schema" => Mode {
            staged: || {
                vec![(
                    "x.parquet",
                    batch([("id", longs([7])), ("p", strings([Some("a")]))]),
                )]
            },
            marker: r#"{"mode":"overwrite","overwriteSchema":true}"#,
            after: || unpartitioned(&[7]),
            ..append
        },
        "transaction" => Mode {
            marker: r#"{"txnAppId":"etl","txnVersion":6}"#,
            ..append
        },
        "applied" => Mode {
            marker: r#"{"txnAppId":"etl","txnVersion":5}"#,
            after: || unpartitioned(&[1, 2, 3]),
            makes_version: false,
            ..append
        },
        // The version is one of which a checkpoint is made.
        "checkpoint" => Mode {
            table: || plain_with(&[("delta.checkpointInterval", "3")]),
            ..append
        },
        "timed" => Mode {
            table: timed,
            ..append
        },
        other => panic!("there is no mode {other}"),
    }
}

/// Two files, and a batch of an application.
fn plain() -> TableBuilder {
    plain_with(&[])
}

fn plain_with(properties: &[(&str, &str)]) -> TableBuilder {
    let metadata = properties
        .iter()
        .fold(metadata(&[("id", "long")]), |metadata, (name, value)| {
            metadata.property(name, value)
        });
    let mut table = TableBuilder::with_actions([protocol(1, 2), metadata]);
    let add = table.data("a.parquet", &ids(&[1, 2]));
    table.commit([add, txn("etl", 5)]);
    let add = table.data("b.parquet", &ids(&[3]));
    table.commit([add]);
    table
}

/// In-commit timestamps and row tracking: actions that change with each attempt.
fn timed() -> TableBuilder {
    let mut protocol = protocol(1, 7);
    protocol = protocol.with(
        "writerFeatures",
        json!([
            "inCommitTimestamp",
            "rowTracking",
            "domainMetadata",
            "appendOnly",
            "invariants"
        ]),
    );
    let metadata = metadata(&[("id", "long")])
        .property("delta.enableInCommitTimestamps", "true")
        .property("delta.enableRowTracking", "true")
        .property("delta.rowTracking.materializedRowIdColumnName", "_row_id")
        .property(
            "delta.rowTracking.materializedRowCommitVersionColumnName",
            "_row_version",
        );
    let mut table = TableBuilder::new();
    let info = |time: i64| commit_info().in_commit_timestamp(1_700_000_000_000 + time);
    table.commit([info(0), protocol, metadata]);
    let add = table.data("a.parquet", &ids(&[1, 2, 3]));
    let add = add.with("baseRowId", 0).with("defaultRowCommitVersion", 1);
    let mark = crate::support::domain("delta.rowTracking", r#"{"rowIdHighWaterMark":2}"#);
    table.commit([info(1), add, mark]);
    table
}

/// Partitions `a` and `b`.
fn partitioned() -> TableBuilder {
    let metadata = metadata(&[("id", "long"), ("p", "string")]).partitioned_by(&["p"]);
    let mut table = TableBuilder::with_actions([protocol(1, 2), metadata]);
    let a = table.data("p=a/a.parquet", &ids(&[1])).partition("p", "a");
    let b = table.data("p=b/b.parquet", &ids(&[2])).partition("p", "b");
    table.commit([a, b]);
    table
}

fn ids(ids: &[i64]) -> RecordBatch {
    batch([("id", longs(ids.iter().copied()))])
}

fn unpartitioned(ids: &[i64]) -> Vec<Row> {
    ids.iter().map(|id| (*id, None)).collect()
}

/// Rows in partitions; `""` for null.
fn rows(rows: &[(i64, &str)]) -> Vec<Row> {
    let value = |value: &str| (!value.is_empty()).then(|| value.to_owned());
    let mut rows: Vec<Row> = rows.iter().map(|(id, p)| (*id, value(p))).collect();
    rows.sort();
    rows
}

/// The rows of the newest version of the table at `root`, as who opens it anew finds them, sorted.
pub fn rows_at(root: &Path) -> Vec<Row> {
    let table = rig::open(root);
    let generation = table.refresh().expect("a table");
    let snapshot = generation.snapshot(generation.newest()).expect("a version");
    let files = generation.files();
    let mut rows = Vec::new();
    for id in snapshot.files() {
        let file = files.get(id);
        let value = (file.partition_values.iter())
            .find(|(name, _)| &**name == "p")
            .and_then(|(_, value)| value.as_deref().map(str::to_owned));
        let path = root.join(file.path);
        let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        assert_eq!(bytes.len() as u64, file.size, "size of {path:?}");
        for id in crate::support::parquet_longs(&bytes, "id") {
            rows.push((id.expect("no null is staged"), value.clone()));
        }
    }
    rows.sort();
    rows
}
