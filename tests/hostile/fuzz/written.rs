//! Checkpoints that are written from damaged ones.

use std::fs;

use deltafs::snapshot::checkpoint::write_checkpoint;
use serde_json::json;

use super::super::dice::Dice;
use super::super::support::{
    Checkpoint, TableBuilder, add, domain, inline_vector, live, metadata, open_root, remove,
    table_features, txn,
};
use super::{Contents, contents, damaged, run};

/// A table with a checkpoint, and a commit behind it.
struct Target {
    table: TableBuilder,
    files: Contents,
}

fn table(form: Checkpoint, policy: &str) -> Target {
    let schema = metadata(&[("id", "long"), ("p", "string")])
        .partitioned_by(&["p"])
        .property("delta.checkpointPolicy", policy)
        .property("delta.checkpoint.writeStatsAsStruct", "true");
    let mut table = TableBuilder::with_actions([
        table_features(&["deletionVectors", "v2Checkpoint"]),
        schema,
        txn("app", 1),
        domain("d", "{}"),
    ]);
    table.commit(
        (0..40)
            .map(|at| {
                let file = add(&format!("p=%C3%A9/f{at}.parquet"))
                    .partition("p", (at % 3 > 0).then_some("é"))
                    .stats(json!({"numRecords": at, "minValues": {"id": at}}));
                match at % 7 {
                    0 => file.dv(&inline_vector(&[at])),
                    _ => file,
                }
            })
            .collect::<Vec<_>>(),
    );
    table.commit([
        remove("p=%C3%A9/f1.parquet").with("deletionTimestamp", i64::MAX),
        add("p=%C3%A9/f2.parquet").stats(json!({"numRecords": 7})),
    ]);
    let names = table.checkpoint(1, form);
    table.delete_commits(0..=1);
    let files = names.iter().map(|name| table.log(name));
    Target {
        files: contents(files.chain([table.commit_path(2)])),
        table,
    }
}

#[test]
fn fuzz_written() {
    run("written", 400, target());
}

/// Tries one case.
pub fn target() -> impl FnMut(&mut Dice) {
    let targets = [
        table(Checkpoint::Classic, "classic"),
        table(Checkpoint::Parquet(2), "v2"),
        table(Checkpoint::Json(1), "classic"),
    ];
    move |dice| {
        let target = dice.pick(&targets);
        let (path, whole) = dice.pick(&target.files);
        fs::write(path, damaged(whole, dice)).expect("it can be written");
        if let Ok(table) = open_root(&target.table.root())
            && let Ok(report) = write_checkpoint(&table.current(), 2)
        {
            // It stands for the same version as what it was made from.
            let expected = live(&table.current(), 2);
            let anew = open_root(&target.table.root()).expect("there is a checkpoint");
            assert_eq!(live(&anew.current(), 2), expected);
            let files = std::iter::once(&report.written.file).chain(&report.written.sidecars);
            for file in files {
                fs::remove_file(target.table.path(&file.path)).expect("it was written");
            }
        }
        fs::write(path, whole).expect("it can be written");
    }
}
