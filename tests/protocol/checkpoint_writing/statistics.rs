//! Statistics in checkpoints, as JSON and as structs.

use super::*;

fn typed_table(properties: &[(&str, &str)]) -> TableBuilder {
    let mapped = |name: &str, kind: &str, id: i64| {
        let metadata = json!({
            "delta.columnMapping.id": id,
            "delta.columnMapping.physicalName": format!("col-{name}"),
        });
        field(name, json!(kind), metadata)
    };
    let fields = [
        mapped("asset", "string", 1),
        mapped("quantity", "double", 2),
        mapped("is_available", "boolean", 3),
        mapped("date", "date", 4),
        mapped("region", "string", 5),
    ];
    let mut meta = metadata(ID)
        .with(
            "schemaString",
            json!({"type": "struct", "fields": fields}).to_string(),
        )
        .partitioned_by(&["date", "region"])
        .property("delta.columnMapping.mode", "name");
    for (name, value) in properties {
        meta = meta.property(name, value);
    }
    let mut table = TableBuilder::with_actions([table_features(&["columnMapping"]), meta]);
    let stats = json!({
        "numRecords": 2,
        "minValues": {"col-asset": "a", "col-quantity": 0.5},
        "maxValues": {"col-asset": "b", "col-quantity": 1.5},
        "nullCount": {"col-asset": 0, "col-quantity": 1, "col-is_available": 2},
    });
    table.commit([
        add("x")
            .partition("col-date", "2024-01-31")
            .partition("col-region", "EU")
            .stats(stats),
        add("y")
            .partition("col-date", None)
            .partition("col-region", ""),
    ]);
    table
}

/// "stats_parsed: ... This field needs to be written when statistics are available and the table
/// property: `delta.checkpoint.writeStatsAsStruct` is set to `true`", "partitionValues_parsed: In this
/// struct, the column names correspond to the partition columns and the values are stored in their
/// corresponding data type", by physical names under column mapping.
#[test]
fn statistics_are_written_as_struct_where_the_table_asks() {
    let table = typed_table(&[("delta.checkpoint.writeStatsAsStruct", "true")]);
    let report = write(&table, 1);
    let adds = by_key(&named(&written(&table, &report), "add"));
    let x = &adds["\"x\" null"];
    assert_eq!(
        x["partitionValues_parsed"],
        json!({"col-date": 19_753, "col-region": "EU"})
    );
    let text: Value = serde_json::from_str(x["stats"].as_str().unwrap()).unwrap();
    assert_eq!(x["stats_parsed"], text);
    let y = &adds["\"y\" null"];
    assert_eq!(y["partitionValues_parsed"], json!({}));
    assert_eq!((y.get("stats"), y.get("stats_parsed")), (None, None));
    let schema = parquet_schema(&table.path(&report.written.file.path));
    for expected in [
        "OPTIONAL group partitionValues_parsed {\n      OPTIONAL INT32 col-date (DATE);\n      OPTIONAL BYTE_ARRAY col-region (STRING);\n    }",
        "OPTIONAL group stats_parsed {\n      OPTIONAL INT64 numRecords;\n      OPTIONAL group minValues {\n        OPTIONAL BYTE_ARRAY col-asset (STRING);\n        OPTIONAL DOUBLE col-quantity;\n      }",
    ] {
        assert!(schema.contains(expected), "{expected}\nin\n{schema}");
    }
}

/// "`delta.checkpoint.writeStatsAsJson` ... When this property is set to `false`, this field should be
/// omitted from the checkpoint." The statistics come back as JSON from the struct when the table
/// changes its mind.
#[test]
fn statistics_are_left_out_as_json_and_come_back() {
    let off = ("delta.checkpoint.writeStatsAsJson", "false");
    let mut table = typed_table(&[off, ("delta.checkpoint.writeStatsAsStruct", "true")]);
    let report = write(&table, 1);
    let path = table.path(&report.written.file.path);
    assert!(!parquet_schema(&path).contains(" stats ("));
    let expected = by_key(&named(&written(&table, &report), "add"))["\"x\" null"].clone();

    let meta = table.reference(1).metadata().unwrap().clone();
    let meta = meta
        .property("delta.checkpoint.writeStatsAsJson", "true")
        .property("delta.checkpoint.writeStatsAsStruct", "false");
    table.commit([meta]);
    table.delete_commits(0..=1);
    let adds = by_key(&named(&written(&table, &write(&table, 2)), "add"));
    let x = &adds["\"x\" null"];
    let text: Value = serde_json::from_str(x["stats"].as_str().unwrap()).unwrap();
    assert_eq!(text, expected["stats_parsed"]);
    assert_eq!(x.get("stats_parsed"), None);
    assert_eq!(adds["\"y\" null"].get("stats"), None);
    // And the statistics are still found by who needs them.
    let generation = table.generation();
    let snapshot = generation.snapshot(2).unwrap();
    let records = generation.num_records(snapshot.files()).unwrap();
    assert_eq!(records.into_values().collect::<Vec<_>>(), [2]);
}

/// Statistics as struct go from checkpoint to checkpoint as they are, and are made anew where the
/// schema has changed.
#[test]
fn statistics_as_struct_follow_the_schema() {
    let as_struct = ("delta.checkpoint.writeStatsAsStruct", "true");
    for as_json in ["true", "false"] {
        let mut table = typed_table(&[as_struct, ("delta.checkpoint.writeStatsAsJson", as_json)]);
        let adds = |table: &TableBuilder, version| {
            by_key(&named(&written(table, &write(table, version)), "add"))
        };
        let first = adds(&table, 1);
        table.commit([add("z").partition("col-date", None)]);
        table.delete_commits(0..=1);
        let second = adds(&table, 2);
        for key in ["\"x\" null", "\"y\" null"] {
            assert_eq!(second[key], first[key]);
        }
        // A wider type and another column.
        let mut meta = table.reference(2).metadata().unwrap().clone();
        let schema = meta
            .text("schemaString")
            .replace("\"double\"", "\"decimal(20,4)\"");
        meta = meta.with("schemaString", schema);
        table.commit([meta]);
        table.delete_commits(2..=2);
        let third = adds(&table, 3);
        let wider = &third["\"x\" null"]["stats_parsed"];
        assert_eq!(wider["minValues"]["col-quantity"], "0.5000");
        assert_eq!(wider["numRecords"], 2);
        assert_eq!(
            wider["nullCount"],
            first["\"x\" null"]["stats_parsed"]["nullCount"]
        );
    }
}
