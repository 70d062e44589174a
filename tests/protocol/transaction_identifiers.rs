//! "Transaction Identifiers".

use crate::ID;
use crate::support::{Checkpoint, TableBuilder, txn};

/// "A collection of `txn` actions with unique `appId`s"; "for `txn` actions, the latest `version`
/// seen for a given `appId` wins".
#[test]
fn the_latest_txn_of_each_application_counts() {
    let mut table = TableBuilder::with_schema(ID);
    table.commit([txn("a", 1), txn("b", 10)]);
    table.commit([txn("a", 2)]);
    table.commit([txn("b", 11), txn("c", 0)]);
    let generation = table.generation();
    let at = |version| {
        let snapshot = generation.snapshot(version).unwrap();
        let txns = snapshot.transactions();
        txns.iter()
            .map(|(id, txn)| format!("{id}{}", txn.version))
            .collect::<Vec<_>>()
    };
    assert_eq!(at(3), ["a2", "b11", "c0"]);
    assert_eq!(at(2), ["a2", "b10"]);
    assert_eq!(at(1), ["a1", "b10"]);
    assert_eq!(at(0), [""; 0]);
}

/// "The Delta transaction protocol does not, for example, assume monotonicity of the `version` and
/// it would be valid for the `version` to decrease".
#[test]
fn versions_of_an_application_may_decrease() {
    let mut table = TableBuilder::with_schema(ID);
    table.commit([txn("a", 5)]);
    table.commit([txn("a", -3)]);
    let snapshot = table.snapshot(2).unwrap();
    assert_eq!(snapshot.transactions()["a"].version, -3);
}

/// "The checkpoint **must** contain all information regarding ... Transaction identifiers".
#[test]
fn transactions_come_out_of_checkpoints() {
    let mut table = TableBuilder::with_schema(ID);
    table.commit([txn("a", 1).with("lastUpdated", 99), txn("b", 7)]);
    table.commit([txn("a", 2)]);
    table.checkpoint(1, Checkpoint::Classic);
    table.delete_commits(0..=1);
    let generation = table.generation();
    assert_eq!(
        generation.snapshot(1).unwrap().transactions()["a"].last_updated,
        Some(99)
    );
    table.check(&generation, [2, 1, 2]);
}
