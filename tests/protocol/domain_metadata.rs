//! "Domain Metadata".

use crate::ID;
use crate::support::{Checkpoint, TableBuilder, domain, domain_removed};

/// "For `domainMetadata`, the latest `domainMetadata` seen for a given `domain` wins. The actions
/// with `removed=true` act as tombstones to suppress earlier versions. Snapshot reads do _not_
/// return removed `domainMetadata` actions."
#[test]
fn removed_domains_are_gone_and_can_come_back() {
    let mut table = TableBuilder::with_schema(ID);
    table.commit([domain("a", "1"), domain("delta.b", "2")]);
    table.commit([domain_removed("a"), domain("delta.b", "3")]);
    table.commit([domain("a", "4"), domain_removed("never-there")]);
    let generation = table.generation();
    table.check(&generation, [3, 2, 1, 0, 1, 2, 3]);
    let snapshot = generation.snapshot(2).unwrap();
    assert_eq!(snapshot.domains().keys().collect::<Vec<_>>(), ["delta.b"]);
}

/// "Readers who choose to support domain metadata must apply Action Reconciliation to all metadata
/// domains and snapshots must include them -- even if the reader does not understand them."
#[test]
fn unknown_domains_are_kept_as_they_are() {
    let mut table = TableBuilder::with_schema(ID);
    table.commit([domain("com.example.unheard-of", "no JSON at all \u{1F980}")]);
    let kept = |table: &TableBuilder| {
        let snapshot = table.snapshot(1).unwrap();
        snapshot.domains()["com.example.unheard-of"]
            .configuration
            .clone()
    };
    assert_eq!(kept(&table), "no JSON at all \u{1F980}");
    table.checkpoint(1, Checkpoint::Classic);
    table.delete_commits(0..=1);
    assert_eq!(kept(&table), "no JSON at all \u{1F980}");
}

/// A checkpoint holds "Domain Metadata that have not been removed (i.e. excluding tombstones with
/// `removed=true`)": a tombstone that a writer left in all the same is no domain.
#[test]
fn a_tombstone_in_a_checkpoint_is_no_domain() {
    let mut table = TableBuilder::with_schema(ID);
    table.commit_adds(1);
    let mut others = table.reference(1).non_file_actions();
    others.push(domain_removed("a"));
    others.push(domain("b", ""));
    for form in [Checkpoint::Classic, Checkpoint::Json(0)] {
        let names = table.checkpoint_of(1, form, others.clone(), vec![]);
        let snapshot = table.snapshot(1).unwrap();
        assert_eq!(
            snapshot.domains().keys().collect::<Vec<_>>(),
            ["b"],
            "{form:?}"
        );
        table.delete_log(&names[0]);
    }
}
