//! "Log Compaction Files".

use crate::support::{
    Checkpoint, TableBuilder, add, domain, domain_removed, dv, metadata, remove, txn,
};
use crate::{ID, plain};

fn table() -> TableBuilder {
    let mut table = TableBuilder::with_schema(ID);
    table.commit([add("f1"), txn("app", 1)]);
    table.commit([add("f2"), remove("f1"), domain("d", "1")]);
    table.commit([add("f3"), add("f4"), txn("app", 2)]);
    table.commit([
        remove("f3"),
        add("f4").dv(&dv("x")),
        remove("f4"),
        domain_removed("d"),
    ]);
    table.commit([metadata(&[("id", "long"), ("x", "string")]), add("f5")]);
    table.commit([add("f6"), remove("f2")]);
    table
}

/// "The compaction replaces the corresponding commits during action reconciliation": every version
/// is as without it, those inside its range too.
#[test]
fn compactions_change_no_version() {
    for compactions in [
        &[(1, 3)][..],
        &[(0, 2), (3, 6)],
        &[(0, 6)],
        &[(2, 4), (3, 5), (2, 6)],
        &[(4, 5), (1, 2)],
    ] {
        let table = table();
        for (first, last) in compactions {
            table.compact(*first, *last);
        }
        table.check(&table.generation(), 0..=6);
        table.check(&table.generation(), (0..=6).rev());
        table.check(&table.generation(), [4, 2, 6, 3, 0, 5, 1]);
    }
}

/// "Can optionally consume log compactions, if available": this reader does.
#[test]
fn a_compaction_is_read_in_place_of_its_commits() {
    let mut table = TableBuilder::with_schema(ID);
    table.commit_adds(4);
    let name = table.compact(2, 3);
    table.write_log(&name, add("marker").to_line());
    assert_eq!(
        table.live(4),
        ["f1.parquet", "f4.parquet", "marker"].map(plain)
    );
    assert_eq!(
        table.live(2),
        ["f1.parquet", "f2.parquet"].map(plain),
        "not for inside its range"
    );
}

/// `y` must be _greater_ than `x`.
#[test]
fn a_compaction_of_one_version_is_none() {
    let mut table = TableBuilder::with_schema(ID);
    table.commit_adds(2);
    for name in [
        "00000000000000000001.00000000000000000001.compacted.json",
        "00000000000000000002.00000000000000000001.compacted.json",
        "00000000000000000001.2.compacted.json",
    ] {
        table.write_log(name, add("marker").to_line());
    }
    table.check(&table.generation(), [2, 1]);
}

/// A compaction that is empty, cut off or no JSON is optional like every other: the commits it
/// stands for are there.
#[test]
fn a_broken_compaction_is_not_used() {
    for (first, last) in [(0, 2), (0, 6), (1, 3), (2, 6)] {
        for content in [
            "",
            "\n",
            "garbage",
            "{\"add\":{\"path\":\"x\"",
            "{\"add\":{\"path\":\"x\"}}",
        ] {
            let table = table();
            let name = table.compact(first, last);
            table.write_log(&name, content);
            table.check(&table.generation(), [6, 3, 2, 0]);
            table.check(&table.generation(), 0..=6);
        }
    }
}

/// A compaction holds reconciled actions. One that strings its commits together, newest first, has
/// several of one file, and their order tells nothing.
#[test]
fn a_compaction_with_two_actions_of_a_file_is_not_used() {
    for (first, last) in [(1, 3), (2, 6), (1, 5)] {
        let table = table();
        let name = table.compact(first, last);
        table.write_log(
            &name,
            [remove("f3"), add("f3")]
                .map(|action| action.to_line())
                .join("\n"),
        );
        table.check(&table.generation(), [6, 5, 3, 2, 0]);
    }
}

/// A compaction and a checkpoint in one log.
#[test]
fn compactions_behind_a_checkpoint_are_used_and_those_across_it_are_not() {
    let table = table();
    table.checkpoint(3, Checkpoint::Classic);
    table.compact(4, 6);
    table.compact(2, 5);
    table.check(&table.generation(), (0..=6).rev());
    table.delete_commits(0..=3);
    table.check(&table.generation(), [6, 3, 5, 4]);
}
