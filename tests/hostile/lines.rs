//! Lines of commit files that a parser may stumble over.

use std::fs;

use serde_json::{Value, json};

use super::support::{Checkpoint, TableBuilder, add, list, metadata, other, protocol};
use super::visit::visit;

const ID: &[(&str, &str)] = &[("id", "long")];

fn nested(open: &str, close: &str, depth: usize) -> String {
    open.repeat(depth) + "1" + &close.repeat(depth)
}

/// Deep nesting where readers look, and where they do not, in every file that holds JSON.
#[test]
fn deep_nesting_takes_no_stack() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}"), ("[{\"a\":", "}]")] {
        let deep = nested(open, close, 50_000);
        for line in [
            deep.clone(),
            format!("{{\"unknown\":{deep}}}"),
            format!("{{\"commitInfo\":{deep}}}"),
            format!("{{\"commitInfo\":{{\"inCommitTimestamp\":{deep}}}}}"),
            format!("{{\"add\":{deep}}}"),
            format!("{{\"add\":{{\"path\":\"f\",\"size\":1,\"tags\":{deep}}}}}"),
            format!("{{\"add\":{{\"path\":\"f\",\"size\":1,\"partitionValues\":{deep}}}}}"),
            format!("{{\"metaData\":{{\"configuration\":{deep}}}}}"),
        ] {
            let table = TableBuilder::with_schema(ID);
            table.write_log("00000000000000000001.json", &line);
            table.write_log("00000000000000000000.crc", &line);
            table.write_log("_last_checkpoint", &line);
            let name = "00000000000000000001.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json";
            table.write_log(name, &line);
            visit(&table.root());
            assert_eq!(table.live(0), [], "version 0 is as it was");
        }
        let schema = json!({"schemaString": deep});
        let table = TableBuilder::with_actions([
            protocol(1, 2),
            metadata(ID).with("schemaString", schema["schemaString"].clone()),
        ]);
        visit(&table.root());
    }
}

/// Very long lines make no long messages; very long texts in them are taken for what they are.
#[test]
fn long_lines_and_texts_are_no_trouble() {
    let line = "x".repeat(5_000_000);
    let mut table = TableBuilder::with_schema(ID);
    table.write_log("00000000000000000001.json", &line);
    table.commit_at(2, [add("f.parquet")]);
    visit(&table.root());
    let error = table.snapshot(1).unwrap_err().to_string();
    assert!(error.len() < 1_000, "{} bytes", error.len());

    let long = "x".repeat(50_000);
    let ict = metadata(ID).property("delta.enableInCommitTimestamps", "true");
    for (protocol_action, metadata_action) in [
        (
            protocol(1, 2),
            metadata(ID).id(&long).with("description", long.clone()),
        ),
        (
            protocol(1, 2),
            metadata(ID).with("format", json!({"provider": long.clone()})),
        ),
        (
            protocol(3, 7).with("readerFeatures", json!([long.clone()])),
            metadata(ID),
        ),
        (protocol(1, 2), metadata(ID).partitioned_by(&[&long])),
        (protocol(1, 2), metadata(&[(&long, "long")])),
        (protocol(1, 2), metadata(&[("id", &long)])),
        (
            protocol(1, 2),
            ict.property("delta.inCommitTimestampEnablementVersion", &long),
        ),
    ] {
        let mut table = TableBuilder::with_actions([protocol_action, metadata_action]);
        table.commit([add(&long), add(&format!("{long}/f.parquet"))]);
        visit(&table.root());
    }
}

/// Names of columns, and values, that are no names of directories or attributes.
#[test]
fn absurd_partition_columns_and_values_break_no_listing() {
    let names = [
        "",
        ".",
        "..",
        "/",
        "a/b",
        "\0",
        "\n",
        "=",
        "%",
        "a=b",
        "_x",
        ".x",
        "é",
        "\u{feff}",
        "user.delta.path",
        "\u{202e}abc",
    ];
    let long = "n".repeat(300);
    for name in names.into_iter().chain([long.as_str()]) {
        let mut table = TableBuilder::with_actions([
            protocol(1, 2),
            metadata(&[("id", "long"), (name, "string")]).partitioned_by(&[name]),
        ]);
        let values = [
            "",
            ".",
            "..",
            "/",
            "../..",
            "\0",
            "\n",
            "a=b",
            "__HIVE_DEFAULT_PARTITION__",
            "%2F",
        ];
        table.commit(
            values
                .iter()
                .enumerate()
                .map(|(at, value)| add(&format!("f{at}.parquet")).partition(name, *value))
                .collect::<Vec<_>>(),
        );
        table.commit([add("long.parquet").partition(name, "v".repeat(10_000).as_str())]);
        assert!(visit(&table.root()) > 0, "{name:?}");
    }
}

/// Partition values of columns that the table does not have, and very many of them.
#[test]
fn absurd_partition_maps_break_no_listing() {
    let mut table = TableBuilder::with_actions([
        protocol(1, 2),
        metadata(&[("id", "long"), ("p", "string")]).partitioned_by(&["p"]),
    ]);
    let many: serde_json::Map<String, Value> = (0..20_000)
        .map(|at| (format!("c{at}"), json!(at.to_string())))
        .collect();
    table.commit([
        add("many.parquet").with("partitionValues", Value::Object(many)),
        add("none.parquet").without("partitionValues"),
        add("null.parquet").with("partitionValues", json!(null)),
        add("others.parquet").with("partitionValues", json!({"": "1", "P": 2, "\u{0}": "3"})),
    ]);
    let twice = r#"{"add":{"path":"twice.parquet","size":1,"partitionValues":{"p":"1","p":"2"}}}"#;
    table.write_log("00000000000000000002.json", twice);
    table.checkpoint(1, Checkpoint::Classic);
    assert!(visit(&table.root()) > 0);
    assert_eq!(list(&table.tree(), "@v2").unwrap().len(), 5);
    for wrong in [
        json!({"p": ["1"]}),
        json!([["p", "1"]]),
        json!("p=1"),
        json!(7),
    ] {
        let mut table = TableBuilder::with_schema(ID);
        table.commit([add("f").with("partitionValues", wrong)]);
        assert!(table.snapshot(1).is_err());
        visit(&table.root());
    }
}

/// The same field twice, an action of two kinds, actions of wrong types.
#[test]
fn contradictory_lines_are_an_error_or_a_value() {
    let lines = [
        r#"{"add":{"path":"a","size":1},"add":{"path":"b","size":1}}"#,
        r#"{"add":{"path":"a","path":"b","size":1}}"#,
        r#"{"add":{"path":"a","size":1},"remove":{"path":"a"}}"#,
        r#"{"remove":{"path":"a"},"add":{"path":"a","size":1}}"#,
        r#"{"add":["a",{},1,2,null]}"#,
        r#"{"add":7}"#,
        r#"{"protocol":{"minReaderVersion":"1","minWriterVersion":2}}"#,
        r#"{"protocol":{"minReaderVersion":1}}"#,
        r#"{"txn":{"appId":null,"version":1}}"#,
        r#"{"domainMetadata":{"domain":"d","configuration":null}}"#,
        r#"{"domainMetadata":{"removed":true}}"#,
        r#"{"commitInfo":{"inCommitTimestamp":"soon"}}"#,
        r#"{"add":{"path":"a","size":1,"deletionVector":{}}}"#,
        r#"{"add":{"path":"a","size":1,"deletionVector":{"storageType":"x","pathOrInlineDv":"","sizeInBytes":0,"cardinality":0}}}"#,
        "{\"add\":{\"path\":\"\\ud800\",\"size\":1}}",
        "{\"add\":{\"path\":\"%ff\",\"size\":1}}",
        "{\"add\":{\"path\":\"a\u{0}\",\"size\":1}}",
        "\0\0\0\0",
    ];
    for line in lines {
        let mut table = TableBuilder::with_schema(ID);
        table.commit([add("first")]);
        table.write_log("00000000000000000002.json", line);
        visit(&table.root());
        assert_eq!(table.live(1).len(), 1, "{line}");
        fs::write(
            table.commit_path(2),
            [line.as_bytes(), b"\n\xff\xfe"].concat(),
        )
        .unwrap();
        visit(&table.root());
    }
}

/// A great many actions of the kinds that are kept whole.
#[test]
fn many_actions_are_no_trouble() {
    let mut table = TableBuilder::with_schema(ID);
    table.commit(
        (0..5_000)
            .map(|at| other("txn", json!({"appId": format!("a{at}"), "version": at})))
            .collect::<Vec<_>>(),
    );
    table.commit((0..2_000).map(|_| metadata(ID)).collect::<Vec<_>>());
    table.commit((0..2_000).map(|_| protocol(1, 2)).collect::<Vec<_>>());
    visit(&table.root());
    assert_eq!(table.snapshot(3).unwrap().transactions().len(), 5_000);
}
