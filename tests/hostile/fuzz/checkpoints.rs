//! Checkpoints, read as columns.

use std::fs;

use serde_json::json;

use super::super::dice::Dice;
use super::super::support::{
    Checkpoint, TableBuilder, add, domain, inline_vector, metadata, open_root, table_features, txn,
};
use super::{Contents, contents, damaged, run};

/// A table of which nothing is left but a checkpoint.
struct Target {
    table: TableBuilder,
    files: Contents,
}

fn table(form: Checkpoint) -> Target {
    let schema = metadata(&[("id", "long"), ("p", "string")]).partitioned_by(&["p"]);
    let mut table = TableBuilder::with_actions([
        table_features(&["deletionVectors", "v2Checkpoint"]),
        schema,
        txn("app", 1),
        domain("d", "{}"),
    ]);
    table.commit(
        (0..60)
            .map(|at| {
                let file = add(&format!("p=%C3%A9/f{at}.parquet"))
                    .partition("p", (at % 3 > 0).then_some("é"))
                    .stats(json!({"numRecords": at}));
                match at % 7 {
                    0 => file.dv(&inline_vector(&[at])),
                    _ => file,
                }
            })
            .collect::<Vec<_>>(),
    );
    let names = table.checkpoint(1, form);
    table.delete_commits(0..=1);
    Target {
        files: contents(names.iter().map(|name| table.log(name))),
        table,
    }
}

#[test]
fn fuzz_checkpoints() {
    run("checkpoints", 700, target());
}

/// Tries one case.
pub fn target() -> impl FnMut(&mut Dice) {
    let targets = [
        Checkpoint::Classic,
        Checkpoint::Parts(3),
        Checkpoint::Parquet(2),
        Checkpoint::Json(1),
    ]
    .map(table);
    for target in &targets {
        assert_eq!(target.table.live(1).len(), 60, "it is whole to begin with");
    }
    move |dice| {
        let target = dice.pick(&targets);
        let (path, whole) = dice.pick(&target.files);
        fs::write(path, damaged(whole, dice)).expect("it can be written");
        if let Ok(table) = open_root(&target.table.root()) {
            let generation = table.current();
            if let Ok(snapshot) = generation.snapshot(1) {
                let files = generation.files();
                for id in snapshot.files() {
                    let _ = files.get(id).location();
                }
                let _ = generation.num_records(snapshot.files());
                let _ = generation.size_of(&snapshot);
            }
        }
        fs::write(path, whole).expect("it can be written");
    }
}
