//! Two of what there can be one of.

use deltafs::tree::NodeKind;

use super::support::{
    Action, Checkpoint, TableBuilder, add, dv, list_all, metadata, protocol, tree_of,
};
use super::visit::{layouts, visit};

const ID: &[(&str, &str)] = &[("id", "long")];

/// "A collection of `add` actions with unique path keys": a checkpoint with two is none.
#[test]
fn a_checkpoint_with_a_path_twice_is_not_used() {
    let twins: [[Action; 2]; 4] = [
        [add("f.parquet").size(1), add("f.parquet").size(2)],
        [add("f.parquet"), add("f.parquet").dv(&dv("x"))],
        [add("f.parquet").dv(&dv("y")), add("f.parquet").dv(&dv("x"))],
        [add("d/f.parquet"), add("d/%66.parquet").partition("p", "1")],
    ];
    for twins in twins {
        for form in [
            Checkpoint::Classic,
            Checkpoint::Parts(2),
            Checkpoint::Json(0),
            Checkpoint::Parquet(2),
        ] {
            let mut table = TableBuilder::with_schema(ID);
            table.commit_adds(3);
            let others = table.reference(2).non_file_actions();
            table.checkpoint_of(2, form, others, twins.to_vec());
            visit(&table.root());
            table.check(&table.generation(), [3, 2]);
            table.delete_commits(0..=2);
            assert!(table.snapshot(3).is_err(), "{form:?} {twins:?}");
        }
    }
}

/// The very same action twice says nothing new.
#[test]
fn a_checkpoint_with_an_add_twice_has_the_file_once() {
    let mut table = TableBuilder::with_schema(ID);
    table.commit_adds(1);
    let others = vec![protocol(1, 2), metadata(ID)];
    let twice = vec![add("f.parquet"), add("f.parquet")];
    table.checkpoint_of(1, Checkpoint::Classic, others, twice);
    assert_eq!(table.live(1).len(), 1);
}

/// "It is **illegal** for the same `path` to occur twice with different `dvId`s within each set of
/// `add` or `remove` actions": one of them is live.
#[test]
fn a_commit_with_a_path_twice_has_it_once() {
    let mut table = TableBuilder::with_schema(ID);
    table.commit([
        add("f.parquet"),
        add("f.parquet").dv(&dv("x")),
        add("%66.parquet").size(7),
    ]);
    assert_eq!(table.live(1).len(), 1);
    visit(&table.root());
}

/// Files that would stand under one name in the raw view, where names are paths.
#[test]
fn paths_that_meet_in_the_raw_view_are_listed_apart() {
    let mut table = TableBuilder::with_schema(ID);
    table.commit([
        add("x.parquet"),
        add("file:///elsewhere/x.parquet"),
        add("file:///other/x.parquet"),
        add("s3://bucket/x.parquet"),
        add("a"),
        add("a/b"),
        add("a/b/c"),
    ]);
    assert!(visit(&table.root()) > 0);
    for options in layouts() {
        let tree = tree_of(&table.open(), options);
        let paths = list_all(&tree, "@v1").unwrap();
        let files = paths
            .iter()
            .filter(|(_, kind)| *kind == NodeKind::File)
            .count();
        assert_eq!(files, 7, "{paths:?}");
    }
}
