//! "Partition Value Serialization".

use deltafs::snapshot::Generation;

use crate::support::{Checkpoint, TableBuilder, add, metadata, protocol, xattr};

fn values(generation: &Generation, version: u64, column: &str) -> Vec<Option<String>> {
    let snapshot = generation.snapshot(version).unwrap();
    let files = generation.files();
    let mut rows: Vec<(String, Option<String>)> = snapshot
        .files()
        .iter()
        .map(|id| {
            let file = files.get(id);
            let value = file
                .partition_values
                .iter()
                .find(|(name, _)| **name == *column);
            let value = value
                .and_then(|(_, value)| value.as_deref())
                .map(str::to_owned);
            (file.path.to_owned(), value)
        })
        .collect();
    rows.sort();
    rows.into_iter().map(|(_, value)| value).collect()
}

/// "An empty string for any type translates to a `null` partition value."
#[test]
fn the_empty_string_is_null() {
    let columns = [("id", "long"), ("p", "string")];
    let mut table =
        TableBuilder::with_actions([protocol(1, 2), metadata(&columns).partitioned_by(&["p"])]);
    table.commit([
        add("a").partition("p", ""),
        add("b").partition("p", None),
        add("c"),
        add("d").partition("p", " "),
    ]);
    let expected = [None, None, None, Some(" ".to_owned())];
    assert_eq!(values(&table.generation(), 1, "p"), expected);
    table.checkpoint(1, Checkpoint::Classic);
    table.delete_commits(0..=1);
    assert_eq!(values(&table.generation(), 1, "p"), expected);
}

/// "Partition values are stored as strings": nothing is made of them but what they say, in any
/// script.
#[test]
fn values_are_kept_byte_for_byte() {
    let texts = [
        "A/A",
        "B B",
        "x:y",
        "x%3Ay",
        "\\",
        "\"",
        "\u{1}\u{2}",
        "é",
        "🦀",
        "__HIVE_DEFAULT_PARTITION__",
    ];
    let columns = [("id", "long"), ("p", "string")];
    let mut table =
        TableBuilder::with_actions([protocol(1, 2), metadata(&columns).partitioned_by(&["p"])]);
    let adds = texts
        .iter()
        .enumerate()
        .map(|(at, text)| add(&format!("f{at}")).partition("p", *text));
    table.commit(adds.collect::<Vec<_>>());
    let expected: Vec<Option<String>> = texts.iter().map(|text| Some((*text).to_owned())).collect();
    assert_eq!(values(&table.generation(), 1, "p"), expected);
    table.checkpoint(1, Checkpoint::Parts(3));
    table.delete_commits(0..=1);
    assert_eq!(values(&table.generation(), 1, "p"), expected);
}

/// "Actual partition values for a file must be read from the transaction log", not from its path.
#[test]
fn values_come_from_the_log_and_not_from_the_path() {
    let columns = [("id", "long"), ("p", "string")];
    let mut table =
        TableBuilder::with_actions([protocol(1, 2), metadata(&columns).partitioned_by(&["p"])]);
    table.commit([add("p=2/f.parquet").partition("p", "1")]);
    let tree = table.tree_with(deltafs::tree::TreeOptions {
        view: deltafs::view::ViewOptions {
            layout: deltafs::view::Layout::Hive,
            ..deltafs::view::ViewOptions::default()
        },
        ..Default::default()
    });
    let paths = crate::support::list_all(&tree, "@v1").unwrap();
    assert_eq!(paths[0].0, "@v1/p=1");
    assert_eq!(
        xattr(&tree, &paths[1].0, "user.delta.partition.p").unwrap(),
        "1"
    );
}
