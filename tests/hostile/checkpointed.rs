//! Actions with values out of every range, on their way into a checkpoint: it holds them, or there is
//! none, and the commit stands.

use deltafs::snapshot::checkpoint::after_commit;
use serde_json::{Value, json};

use super::support::{Action, TableBuilder, add, metadata, protocol, remove, table_features, txn};

const VALUES: [&str; 22] = [
    "-1",
    "0",
    "2147483648",
    "9223372036854775807",
    "-9223372036854775808",
    "9223372036854775808",
    "1e300",
    "1e999",
    "0.5",
    "null",
    "true",
    "\"1\"",
    "\"\"",
    "\"\\u0000\"",
    "\"\\ud800\"",
    "[]",
    "{}",
    "{\"a\":null}",
    "{\"a\":\"b\",\"a\":\"c\"}",
    "{\"\":\"\"}",
    "{\"a\":1}",
    "{\"a\":{\"a\":[]}}",
];

const STATISTICS: [&str; 12] = [
    "",
    "{",
    "[]",
    "null",
    "\u{0}",
    "{\"numRecords\":1e999}",
    "{\"numRecords\":-1,\"minValues\":null}",
    "{\"minValues\":{\"id\":99999999999999999999,\"d\":\"x\",\"s\":[]}}",
    "{\"minValues\":[[[[[[]]]]]]}",
    "{\"minValues\":{\"id\":1,\"id\":2}}",
    "{\"maxValues\":{\"d\":NaN}}",
    "{\"nullCount\":{\"id\":{\"id\":{}}}}",
];

/// A table of which version 1 has a checkpoint due, of each form.
fn tables() -> impl Iterator<Item = TableBuilder> {
    let columns = &[("id", "long"), ("d", "decimal(38,10)"), ("s", "timestamp")];
    ["classic", "v2"].into_iter().map(|policy| {
        let meta = metadata(columns)
            .property("delta.checkpointInterval", "1")
            .property("delta.checkpointPolicy", policy)
            .property("delta.checkpoint.writeStatsAsStruct", "true");
        TableBuilder::with_actions([table_features(&["v2Checkpoint", "deletionVectors"]), meta])
    })
}

/// Commits the line as version 1 of each table; how many had a checkpoint.
fn commit(line: &str) -> usize {
    let mut written = 0;
    for table in tables() {
        table.write_log("00000000000000000001.json", format!("{line}\n"));
        let generation = table.generation();
        let after = after_commit(&generation, 1);
        let Ok(snapshot) = generation.snapshot(1) else {
            assert!(after.checksum.is_err());
            continue;
        };
        match after.checkpoint.expect("one is due") {
            Ok(report) => {
                assert_eq!(report.written.adds, snapshot.files().len(), "{line}");
                written += 1;
                table.delete_log("00000000000000000000.json");
                let anew = table.generation().snapshot(1).expect("a checkpoint");
                assert_eq!(anew.files().len(), snapshot.files().len());
                assert_eq!(anew.transactions(), snapshot.transactions());
            }
            Err(error) => {
                let text = error.to_string();
                assert!(!text.is_empty() && text.len() < 100_000);
            }
        }
    }
    written
}

fn with(action: Action, field: &str, value: &str) -> String {
    let marked = action.with(field, "MARK").to_line();
    assert!(marked.contains("\"MARK\""));
    marked.replace("\"MARK\"", value)
}

#[test]
fn values_of_any_kind_are_kept_or_refused() {
    let mut written = 0;
    for field in [
        "path",
        "partitionValues",
        "size",
        "modificationTime",
        "dataChange",
        "stats",
        "tags",
        "deletionVector",
        "baseRowId",
        "defaultRowCommitVersion",
        "clusteringProvider",
        "later",
    ] {
        for value in VALUES {
            written += commit(&with(add("f"), field, value));
        }
    }
    for field in [
        "path",
        "deletionTimestamp",
        "extendedFileMetadata",
        "partitionValues",
        "size",
        "stats",
        "tags",
        "baseRowId",
    ] {
        for value in VALUES {
            let remove = remove("f").with("deletionTimestamp", i64::MAX);
            written += commit(&with(remove, field, value));
        }
    }
    for value in VALUES {
        written += commit(&with(txn("a", 1), "lastUpdated", value));
    }
    assert!(written > 300, "{written}");
}

#[test]
fn statistics_of_any_kind_are_kept() {
    for stats in STATISTICS {
        assert_eq!(
            commit(&add("f").with("stats", stats).to_line()),
            2,
            "{stats:?}"
        );
    }
    let deep = format!("{{\"minValues\":{}", "{\"id\":".repeat(50_000));
    assert_eq!(commit(&add("f").with("stats", deep).to_line()), 2);
    let long = json!({"minValues": {"s": "x".repeat(20_000_000)}}).to_string();
    assert_eq!(commit(&add("f").with("stats", long).to_line()), 2);
}

#[test]
fn properties_of_any_kind_make_a_checkpoint_or_none() {
    for property in [
        "delta.checkpointInterval",
        "delta.checkpointPolicy",
        "delta.deletedFileRetentionDuration",
        "delta.setTransactionRetentionDuration",
        "delta.parquet.compression.codec",
        "delta.parquet.format.version",
        "delta.checkpoint.writeStatsAsJson",
    ] {
        for value in [
            "",
            " ",
            "-1",
            "99999999999999999999",
            "interval",
            "interval 9223372036854775807 weeks",
            "1.0.0.0",
            "2..",
            "\u{0}",
            "é",
        ] {
            let meta = metadata(&[("id", "long")]).property(property, value);
            let mut table = TableBuilder::with_actions([protocol(1, 2), meta]);
            table.commit_adds(10);
            let after = after_commit(&table.generation(), 10);
            assert!(after.checksum.is_ok(), "{property} {value:?}");
            let error = after.checkpoint.expect("due, or not known").unwrap_err();
            assert!(error.to_string().contains(property), "{error}");
            let left: Value = json!(table.log("_last_checkpoint").exists());
            assert_eq!(left, json!(false));
        }
    }
}
