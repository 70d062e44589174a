//! One commit of each kind, on one table.

use std::sync::Arc;

use deltafs::log::actions::{Metadata, Protocol};
use deltafs::log::write::{AddFile, RemoveFile};
use deltafs::snapshot::Table;
use deltafs::txn::{Operation, Proposal, Reads};

use crate::support::{
    PartitionIs, TableBuilder, add, metadata, new_add, new_remove, new_txn, proposal, protocol,
};

/// Where in the table a commit is at work, seen from one that is at work on [`Place::Same`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// `f1` and `f2` of partition a.
    Same,
    /// `f3` and `f4` of partition a.
    OtherFiles,
    /// `f5` and `f6` of partition b.
    OtherPartition,
}

/// What a commit does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Adds a file, blindly.
    Append,
    /// Reads a partition and adds a file to it.
    ReadAppend,
    /// Replaces the whole table by a file.
    Overwrite,
    /// Replaces a partition by a file.
    OverwritePartition,
    /// Reads a partition and removes a file of it.
    Delete,
    /// Reads a partition and replaces a file of it.
    Rewrite,
    /// Moves the rows of two files to one.
    Compaction,
    /// Sets a property.
    ChangeMetadata,
    /// Raises the writer version.
    ChangeProtocol,
    /// Adds a file as a batch of an application.
    Batch,
}

const FILES: [(&str, &str); 6] = [
    ("f1", "a"),
    ("f2", "a"),
    ("f3", "a"),
    ("f4", "a"),
    ("f5", "b"),
    ("f6", "b"),
];

/// Version 0 is the table, version 1 has six files in the partitions a and b.
pub fn table(level: &str) -> TableBuilder {
    let definition = metadata(&[("id", "long"), ("p", "string")])
        .partitioned_by(&["p"])
        .property("delta.isolationLevel", level);
    let mut table = TableBuilder::with_actions([protocol(1, 2), definition]);
    table.commit(FILES.map(|(path, p)| add(path).partition("p", p)));
    table
}

impl Place {
    fn partition(self) -> &'static str {
        match self {
            Place::Same | Place::OtherFiles => "a",
            Place::OtherPartition => "b",
        }
    }

    fn files(self) -> [&'static str; 2] {
        match self {
            Place::Same => ["f1", "f2"],
            Place::OtherFiles => ["f3", "f4"],
            Place::OtherPartition => ["f5", "f6"],
        }
    }
}

/// A commit of a kind on top of version 1 of [`table`]; `name` makes the names of its files its
/// own.
pub fn make(table: &Table, kind: Kind, place: Place, name: &str) -> Proposal {
    let p = place.partition();
    let reads = || Reads::Partitions(Arc::new(PartitionIs("p", p)));
    let added = || vec![new_add(&format!("{name}.parquet"), &[("p", p)])];
    let removed = |paths: &[&str]| {
        let of = |path: &&str| {
            let (_, p) = FILES.iter().find(|(file, _)| file == path).expect("a file");
            new_remove(path, &[("p", p)])
        };
        paths.iter().map(of).collect::<Vec<RemoveFile>>()
    };
    let all: Vec<&str> = FILES.iter().map(|(path, _)| *path).collect();
    let all_of_p: Vec<&str> = (FILES.iter().filter(|(_, of)| *of == p))
        .map(|(path, _)| *path)
        .collect();
    let [first, second] = place.files();
    let snapshot = table.current().snapshot(1).expect("version 1");
    let base = Proposal {
        operation: Operation::named(&format!("{kind:?}")),
        ..proposal(1)
    };
    match kind {
        Kind::Append => Proposal {
            adds: added(),
            ..base
        },
        Kind::ReadAppend => Proposal {
            reads: reads(),
            adds: added(),
            ..base
        },
        Kind::Overwrite => Proposal {
            reads: Reads::WholeTable,
            adds: added(),
            removes: removed(&all),
            ..base
        },
        Kind::OverwritePartition => Proposal {
            reads: reads(),
            adds: added(),
            removes: removed(&all_of_p),
            ..base
        },
        Kind::Delete => Proposal {
            reads: reads(),
            removes: removed(&[first]),
            ..base
        },
        Kind::Rewrite => Proposal {
            reads: reads(),
            adds: added(),
            removes: removed(&[first]),
            ..base
        },
        Kind::Compaction => Proposal {
            reads: reads(),
            adds: added().into_iter().map(moved).collect(),
            removes: (removed(&[first, second]).into_iter())
                .map(|remove| RemoveFile {
                    data_change: false,
                    ..remove
                })
                .collect(),
            ..base
        },
        Kind::ChangeMetadata => {
            let mut metadata: Metadata = snapshot.metadata().clone();
            metadata
                .configuration
                .insert("by".to_owned(), name.to_owned());
            Proposal {
                metadata: Some(metadata),
                ..base
            }
        }
        Kind::ChangeProtocol => Proposal {
            protocol: Some(Protocol {
                min_writer_version: 3,
                ..snapshot.protocol().clone()
            }),
            ..base
        },
        Kind::Batch => Proposal {
            adds: added(),
            transaction: Some(new_txn("app", 1)),
            ..base
        },
    }
}

fn moved(add: AddFile) -> AddFile {
    AddFile {
        data_change: false,
        ..add
    }
}
