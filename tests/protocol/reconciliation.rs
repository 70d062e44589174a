//! "Action Reconciliation".

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::Value;

use crate::ID;
use crate::support::{
    Action, Checkpoint, TableBuilder, add, commit_info, domain, domain_removed, dv, metadata,
    protocol, remove, txn,
};

/// "The latest `protocol` action seen wins. The latest `metaData` action seen wins."
#[test]
fn the_latest_protocol_and_metadata_win() {
    let mut table = TableBuilder::with_schema(ID);
    table.commit([metadata(&[("x", "string")])]);
    table.commit([protocol(2, 5)]);
    table.commit([add("f")]);
    let generation = table.generation();
    for (version, reader, column) in [(3, 2, "x"), (1, 1, "x"), (0, 1, "id"), (2, 2, "x")] {
        let snapshot = generation.snapshot(version).unwrap();
        assert_eq!(
            snapshot.protocol().min_reader_version,
            reader,
            "version {version}"
        );
        assert_eq!(snapshot.readable().unwrap().schema.fields[0].name, column);
    }
}

/// "For `commitInfo` actions, only the `commitInfo` from the commit at the snapshot version is
/// included in the snapshot."
#[test]
fn commit_info_is_of_its_own_version() {
    let mut table = TableBuilder::with_schema(ID);
    table.commit([commit_info().with("operation", "MERGE")]);
    table.commit([add("f")]);
    table.commit([add("g"), commit_info().with("operation", "DELETE")]);
    let generation = table.generation();
    let operation = |version| {
        let info = generation.commit_info(version).unwrap();
        info.get("operation")
            .and_then(Value::as_str)
            .map(str::to_owned)
    };
    assert_eq!(operation(0), None);
    assert_eq!(operation(1).as_deref(), Some("MERGE"));
    assert_eq!(operation(2), None);
    assert_eq!(operation(3).as_deref(), Some("DELETE"));
}

/// "Implementations are free to store any valid JSON-formatted data via the `commitInfo` action."
#[test]
fn commit_info_may_be_anything() {
    let mut table = TableBuilder::with_schema(ID);
    table.commit_adds(1);
    let nested = "[".repeat(100) + &"]".repeat(100);
    for (at, info) in [
        "7",
        "null",
        "[]",
        "\"x\"",
        "{\"a\":{\"b\":[1]}}",
        "true",
        &nested,
    ]
    .into_iter()
    .enumerate()
    {
        let version = 2 + at as u64;
        table.write_log(
            &format!("{version:020}.json"),
            format!("{{\"commitInfo\":{info}}}\n"),
        );
        let generation = table.generation();
        assert_eq!(
            generation.snapshot(version).unwrap().files().len(),
            1,
            "{info}"
        );
        assert!(generation.commit_info(version).is_ok(), "{info}");
    }
}

/// What one commit of a random log does. The numbers choose among what makes sense there.
#[derive(Debug, Clone)]
enum Deed {
    Add(u8),
    AddAgain(Index),
    Remove(Index),
    ReplaceVector(Index, u8),
    Tombstone(u8),
    Transaction(u8, i64),
    Domain(u8, u8),
    DropDomain(u8),
    Schema(u8),
}

fn deed() -> impl Strategy<Value = Deed> {
    prop_oneof![
        4 => (0..40_u8).prop_map(Deed::Add),
        1 => any::<Index>().prop_map(Deed::AddAgain),
        3 => any::<Index>().prop_map(Deed::Remove),
        2 => (any::<Index>(), 0..5_u8).prop_map(|(file, dv)| Deed::ReplaceVector(file, dv)),
        1 => (0..40_u8).prop_map(Deed::Tombstone),
        1 => (0..3_u8, -5..5_i64).prop_map(|(app, version)| Deed::Transaction(app, version)),
        1 => (0..3_u8, 0..5_u8).prop_map(|(name, text)| Deed::Domain(name, text)),
        1 => (0..3_u8).prop_map(Deed::DropDomain),
        1 => (0..3_u8).prop_map(Deed::Schema),
    ]
}

fn form() -> impl Strategy<Value = Checkpoint> {
    prop_oneof![
        Just(Checkpoint::Classic),
        (1..4_u32).prop_map(Checkpoint::Parts),
        (0..3_u32).prop_map(Checkpoint::ClassicV2),
        (0..3_u32).prop_map(Checkpoint::Parquet),
        (0..3_u32).prop_map(Checkpoint::Json),
    ]
}

/// Turns deeds into a valid commit on top of the live files: at most one add and one remove a path.
fn commit_of(deeds: &[Deed], live: &BTreeMap<String, Option<Value>>) -> Vec<Action> {
    let with = |action: Action, dv: &Option<Value>| match dv {
        Some(dv) => action.dv(dv),
        None => action,
    };
    let pick = |at: &Index| {
        (!live.is_empty()).then(|| {
            live.iter()
                .nth(at.index(live.len()))
                .expect("it is in range")
        })
    };
    let mut touched: Vec<String> = Vec::new();
    let mut once = |path: &str| {
        let fresh = !touched.iter().any(|known| known == path);
        touched.push(path.to_owned());
        fresh
    };
    let mut others: BTreeMap<String, Action> = BTreeMap::new();
    let mut actions = vec![commit_info()];
    for deed in deeds {
        match deed {
            Deed::Add(file) => {
                let path = format!("d%20{}/f{file}", file % 3);
                let decoded = path.replace("%20", " ");
                if !live.contains_key(&decoded) && once(&decoded) {
                    actions.push(add(&path).partition("p", (file % 2 == 0).then_some("x")));
                }
            }
            Deed::AddAgain(at) => {
                if let Some((path, dv)) = pick(at)
                    && once(path)
                {
                    actions.push(with(add(&path.replace(' ', "%20")), dv).modified(7));
                }
            }
            Deed::Remove(at) => {
                if let Some((path, dv)) = pick(at)
                    && once(path)
                {
                    actions.push(with(remove(path), dv));
                }
            }
            Deed::ReplaceVector(at, id) => {
                if let Some((path, old)) = pick(at) {
                    let new = dv(&format!("v{id}"));
                    if old.as_ref() != Some(&new) && once(path) {
                        let pair = [add(path).dv(&new), with(remove(path), old)];
                        // Either order is legal.
                        let pair = if id % 2 == 0 {
                            pair
                        } else {
                            {
                                let [a, b] = pair;
                                [b, a]
                            }
                        };
                        actions.extend(pair);
                    }
                }
            }
            Deed::Tombstone(file) => {
                let path = format!("never/{file}");
                if once(&path) {
                    actions.push(remove(&path));
                }
            }
            Deed::Transaction(app, version) => {
                others.insert(format!("t{app}"), txn(&format!("app{app}"), *version));
            }
            Deed::Domain(name, text) => {
                others.insert(
                    format!("d{name}"),
                    domain(&format!("n{name}"), &text.to_string()),
                );
            }
            Deed::DropDomain(name) => {
                others.insert(format!("d{name}"), domain_removed(&format!("n{name}")));
            }
            Deed::Schema(width) => {
                let columns = [("id", "long"), ("x", "string"), ("y", "date")];
                others.insert("m".to_owned(), metadata(&columns[..=usize::from(*width)]));
            }
        }
    }
    actions.extend(others.into_values());
    actions
}

proptest! {
    #![proptest_config(crate::support::cases(150))]

    /// "To replay the log, scan all file actions and keep only the newest reference for each logical
    /// file": whatever the log holds besides commits, and in whatever order versions are asked for,
    /// the library and a plain replay agree.
    #[test]
    fn any_log_adds_up_to_what_a_plain_replay_says(
        commits in prop::collection::vec(prop::collection::vec(deed(), 0..5), 1..14),
        checkpoints in prop::collection::vec((any::<Index>(), form()), 0..3),
        compactions in prop::collection::vec((any::<Index>(), any::<Index>()), 0..3),
        cleaned in prop::option::of(any::<Index>()),
        asked in prop::collection::vec(any::<Index>(), 1..10),
    ) {
        let mut table = TableBuilder::with_schema(ID);
        for deeds in &commits {
            let newest = table.reference(u64::MAX);
            let live = newest
                .adds()
                .iter()
                .map(|((path, _), action)| (path.clone(), action.fields.get("deletionVector").cloned()))
                .collect();
            table.commit(commit_of(deeds, &live));
        }
        let count = commits.len() + 1;
        let mut first = 0;
        for (at, form) in &checkpoints {
            let version = at.index(count) as u64;
            table.checkpoint(version, *form);
            if cleaned.is_some() && version > 0 && first == 0 {
                first = version;
            }
        }
        for (from, to) in &compactions {
            let (from, to) = (from.index(count) as u64, to.index(count) as u64);
            if from < to {
                table.compact(from, to);
            }
        }
        if first > 0 {
            table.delete_commits(0..=first - 1);
        }
        let generation = table.generation();
        let left = count - first as usize;
        table.check(&generation, asked.iter().map(|at| first + at.index(left) as u64));
        table.check(&table.generation(), first..count as u64);
    }
}
