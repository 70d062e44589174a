//! Whatever interleaving of commits succeeded: under Serializable, the table is what the operations
//! make of it one after another in the order of their versions. Under WriteSerializable it is the
//! same, but for rows of blind appends that an operation did not see, which are to it as if they
//! came later.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use deltafs::base::Version;
use deltafs::log::write::{AddFile, RemoveFile};
use deltafs::snapshot::Table;
use deltafs::txn::{CommitOutcome, IsolationLevel, Proposal, Reads};
use proptest::prelude::*;
use proptest::sample::select;

use crate::support::{
    PartitionIs, TableBuilder, add, commit, live, metadata, new_add, new_dv, new_remove, proposal,
    protocol,
};

const PARTITIONS: [&str; 2] = ["a", "b"];

/// What a writer does, by its rows.
#[derive(Debug, Clone)]
enum Op {
    /// Adds a row.
    Append(&'static str),
    /// Reads a partition and adds a row to another that tells what it read.
    Tell(&'static str, &'static str),
    /// Reads the whole table and adds a row that tells what it read.
    TellAll(&'static str),
    /// Replaces a partition by a row.
    Overwrite(&'static str),
    /// Deletes the smallest row of a partition, by rewriting its file or by a deletion vector.
    DeleteSmallest(&'static str, bool),
    /// Moves the rows of a partition's first files, so many, to one.
    Compact(&'static str, usize),
    /// Deletes a partition.
    DeleteAll(&'static str),
    /// Deletes everything.
    Truncate,
}

/// The rows of each partition.
type Rows = BTreeMap<&'static str, BTreeSet<String>>;

impl Op {
    /// What it does when nobody else is there. `own` is the row that it adds, where that does not
    /// follow from what it reads.
    fn apply(&self, rows: &mut Rows, own: &str) {
        match self {
            Op::Append(p) => drop(rows.entry(p).or_default().insert(own.to_owned())),
            Op::Tell(from, to) => {
                let told = told(own, rows.get(from));
                rows.entry(to).or_default().insert(told);
            }
            Op::TellAll(to) => {
                let told = told(own, rows.values());
                rows.entry(to).or_default().insert(told);
            }
            Op::Overwrite(p) => drop(rows.insert(p, BTreeSet::from([own.to_owned()]))),
            Op::DeleteSmallest(p, _) => drop(rows.entry(p).or_default().pop_first()),
            Op::Compact(..) => {}
            Op::DeleteAll(p) => drop(rows.remove(p)),
            Op::Truncate => rows.clear(),
        }
        rows.retain(|_, rows| !rows.is_empty());
    }
}

fn told<'a>(own: &str, rows: impl IntoIterator<Item = &'a BTreeSet<String>>) -> String {
    let rows: BTreeSet<&str> = rows.into_iter().flatten().map(String::as_str).collect();
    let rows: Vec<&str> = rows.into_iter().collect();
    format!("{own}({})", rows.join(" "))
}

/// A logical file: path and the id of its deletion vector.
type Key = (String, Option<String>);

/// The files ever written: their partitions and rows.
#[derive(Default)]
struct Files(BTreeMap<Key, (&'static str, BTreeSet<String>)>);

impl Files {
    /// The live files of a version.
    fn live(&self, table: &Table, version: Version) -> Vec<(Key, &'static str, BTreeSet<String>)> {
        live(&table.current(), version)
            .into_iter()
            .map(|key| {
                let (p, rows) = &self.0[&key];
                (key, *p, rows.clone())
            })
            .collect()
    }

    fn rows(&self, table: &Table, version: Version) -> Rows {
        let mut rows = Rows::new();
        for (_, p, of_file) in self.live(table, version) {
            rows.entry(p).or_default().extend(of_file);
        }
        rows.retain(|_, rows| !rows.is_empty());
        rows
    }

    /// The commit by which an operation comes about on top of `read`; `None` where it has nothing
    /// to do. `own` is unique.
    fn propose(&mut self, table: &Table, op: &Op, read: Version, own: &str) -> Option<Proposal> {
        let all = self.live(table, read);
        let of = |p: &'static str| all.iter().filter(move |(_, of, _)| *of == p);
        let reads = |p: &'static str| Reads::Partitions(Arc::new(PartitionIs("p", p)));
        let base = proposal(read);
        let before = self.rows(table, read);
        Some(match op {
            Op::Append(p) => Proposal {
                adds: vec![self.file(own, p, [own.to_owned()])],
                ..base
            },
            Op::Tell(from, to) => Proposal {
                reads: reads(from),
                adds: vec![self.file(own, to, [told(own, before.get(from))])],
                ..base
            },
            Op::TellAll(to) => Proposal {
                reads: Reads::WholeTable,
                adds: vec![self.file(own, to, [told(own, before.values())])],
                ..base
            },
            Op::Overwrite(p) => Proposal {
                reads: reads(p),
                removes: of(p).map(|(key, p, _)| remove(key, p)).collect(),
                adds: vec![self.file(own, p, [own.to_owned()])],
                ..base
            },
            Op::DeleteSmallest(p, by_vector) => {
                let smallest = before.get(p)?.first()?.clone();
                let (key, _, rows) = of(p).find(|(_, _, rows)| rows.contains(&smallest))?;
                let rest = rows.iter().filter(|row| **row != smallest).cloned();
                let adds = match by_vector {
                    true => vec![self.with_vector(&key.0, own, p, rest)],
                    false => vec![self.file(own, p, rest)],
                };
                Proposal {
                    reads: reads(p),
                    removes: vec![remove(key, p)],
                    adds,
                    ..base
                }
            }
            Op::Compact(p, count) => {
                let files: Vec<_> = of(p).take(*count).collect();
                if files.len() < 2 {
                    return None;
                }
                let rows = files.iter().flat_map(|(_, _, rows)| rows.clone());
                let removes = files.iter().map(|(key, p, _)| RemoveFile {
                    data_change: false,
                    ..remove(key, p)
                });
                Proposal {
                    reads: reads(p),
                    removes: removes.collect(),
                    adds: vec![AddFile {
                        data_change: false,
                        ..self.file(own, p, rows)
                    }],
                    ..base
                }
            }
            Op::DeleteAll(p) => Proposal {
                reads: reads(p),
                removes: of(p).map(|(key, p, _)| remove(key, p)).collect(),
                ..base
            },
            Op::Truncate => Proposal {
                reads: Reads::WholeTable,
                removes: all.iter().map(|(key, p, _)| remove(key, p)).collect(),
                ..base
            },
        })
    }

    fn file(
        &mut self,
        own: &str,
        p: &'static str,
        rows: impl IntoIterator<Item = String>,
    ) -> AddFile {
        let path = format!("{own}.parquet");
        let rows = rows.into_iter().collect();
        self.0.insert((path.clone(), None), (p, rows));
        new_add(&path, &[("p", p)])
    }

    fn with_vector(
        &mut self,
        path: &str,
        own: &str,
        p: &'static str,
        rows: impl IntoIterator<Item = String>,
    ) -> AddFile {
        let vector = new_dv(own);
        let key = (path.to_owned(), Some(vector.unique_id()));
        self.0.insert(key, (p, rows.into_iter().collect()));
        AddFile {
            deletion_vector: Some(vector),
            ..new_add(path, &[("p", p)])
        }
    }
}

fn remove(key: &Key, p: &str) -> RemoveFile {
    let id = key
        .1
        .as_ref()
        .map(|id| id.trim_start_matches('u').trim_end_matches("@1").to_owned());
    RemoveFile {
        deletion_vector: id.map(|id| new_dv(&id)),
        ..new_remove(&key.0, &[("p", p)])
    }
}

/// Makes the commits; an operation reads the version so many before the newest one.
fn run(level: IsolationLevel, ops: &[(Op, u64)]) -> Result<(), TestCaseError> {
    let definition = metadata(&[("id", "string"), ("p", "string")])
        .partitioned_by(&["p"])
        .property("delta.isolationLevel", level.name());
    let mut builder = TableBuilder::with_actions([protocol(1, 2), definition]);
    let mut files = Files::default();
    let mut first = Vec::new();
    for (path, p) in [("k1", "a"), ("k2", "a"), ("k3", "b")] {
        files.0.insert(
            (path.to_owned(), None),
            (p, BTreeSet::from([path.to_owned()])),
        );
        first.push(add(path).partition("p", p));
    }
    builder.commit(first);
    let table = builder.open();
    let begin = files.rows(&table, 1);
    let mut newest = 1;
    let mut done: Vec<Done<'_>> = Vec::new();
    for (at, (op, lag)) in ops.iter().enumerate() {
        let own = format!("n{at}");
        let read = newest.max(1 + lag) - lag;
        let Some(proposal) = files.propose(&table, op, read, &own) else {
            continue;
        };
        match commit(&table, &proposal).expect("no failure") {
            CommitOutcome::Committed { version } => {
                prop_assert_eq!(version, newest + 1);
                newest = version;
                let _ = table.refresh().expect("it can be read");
                done.push(Done { op, own, read });
            }
            CommitOutcome::Conflicted(conflict) => {
                prop_assert!(lag > &0, "{:?} without a winner: {}", op, conflict);
            }
            other => panic!("{other:?}"),
        }
    }
    let mut rows = begin.clone();
    for (at, each) in done.iter().enumerate() {
        let mut unseen = Rows::new();
        if level == IsolationLevel::WriteSerializable {
            // The first of them is version 2.
            let read = usize::try_from(each.read).expect("a small number") - 1;
            for missed in &done[read..at] {
                if let Op::Append(p) = missed.op
                    && let Some(of_p) = rows.get_mut(p)
                    && of_p.remove(&missed.own)
                {
                    unseen.entry(p).or_default().insert(missed.own.clone());
                }
            }
        }
        each.op.apply(&mut rows, &each.own);
        for (p, unseen) in unseen {
            rows.entry(p).or_default().extend(unseen);
        }
    }
    prop_assert_eq!(
        files.rows(&table, newest),
        rows,
        "{:?} on {:?} under {:?}",
        done,
        begin,
        level
    );
    Ok(())
}

/// An operation that was committed.
#[derive(Debug)]
struct Done<'a> {
    op: &'a Op,
    own: String,
    read: Version,
}

fn op() -> impl Strategy<Value = Op> {
    let p = || select(&PARTITIONS[..]);
    prop_oneof![
        3 => p().prop_map(Op::Append),
        2 => (p(), p()).prop_map(|(from, to)| Op::Tell(from, to)),
        1 => p().prop_map(Op::TellAll),
        2 => p().prop_map(Op::Overwrite),
        3 => (p(), any::<bool>()).prop_map(|(p, by_vector)| Op::DeleteSmallest(p, by_vector)),
        3 => (p(), 2..4_usize).prop_map(|(p, count)| Op::Compact(p, count)),
        2 => p().prop_map(Op::DeleteAll),
        1 => Just(Op::Truncate),
    ]
}

fn ops() -> impl Strategy<Value = Vec<(Op, u64)>> {
    prop::collection::vec((op(), 0..4_u64), 1..8)
}

proptest! {
    #![proptest_config(crate::support::cases(64))]

    #[test]
    fn serializable_commits_are_those_of_their_versions_in_order(ops in ops()) {
        run(IsolationLevel::Serializable, &ops)?;
    }

    #[test]
    fn write_serializable_commits_take_unseen_appends_for_later_ones(ops in ops()) {
        run(IsolationLevel::WriteSerializable, &ops)?;
    }
}

/// Compacted rows are still the rows that were read, under another name.
#[test]
fn rows_that_were_read_and_moved_are_still_rows_that_were_read() {
    let ops = [
        (Op::Compact("a", 2), 0),
        (Op::DeleteAll("a"), 0),
        // Reads what was before both.
        (Op::Tell("a", "b"), 2),
    ];
    run(IsolationLevel::Serializable, &ops).unwrap();
    run(IsolationLevel::WriteSerializable, &ops).unwrap();
}
