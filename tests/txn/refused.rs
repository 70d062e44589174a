//! What is no valid commit, or none of this table.

use deltafs::log::write::{AddFile, RemoveFile};
use deltafs::txn::{Proposal, Reads, TxnError};

use crate::support::{
    Checkpoint, TableBuilder, add, append, commit, committed, dv, metadata, new_add, new_dv,
    new_remove, proposal, protocol,
};

/// f without and g with a deletion vector, in version 1.
fn table() -> TableBuilder {
    let mut table = TableBuilder::with_schema(&[("id", "long")]);
    table.commit([add("f%20f"), add("g").dv(&dv("x"))]);
    table
}

#[test]
fn a_commit_that_would_break_the_table_is_refused() {
    let table = table();
    let open = table.open();
    let with_vector = |path: &str, id: &str| AddFile {
        deletion_vector: Some(new_dv(id)),
        ..new_add(path, &[])
    };
    let removes = |removes: Vec<RemoveFile>| Proposal {
        removes,
        ..proposal(1)
    };
    let cases = [
        (
            append(1, [new_add("a", &[]), new_add("%61", &[])]),
            "adds %61 twice",
        ),
        (append(1, [with_vector("f%20f", "y")]), "without removing"),
        (append(1, [new_add("g", &[])]), "without removing"),
        (append(1, [new_add("%ff", &[])]), "UTF-8"),
        (
            append(
                1,
                [AddFile {
                    size: u64::MAX,
                    ..new_add("a", &[])
                }],
            ),
            "18446744073709551615 bytes",
        ),
        (
            removes(vec![new_remove("h", &[])]),
            "no live file of version 1",
        ),
        (removes(vec![new_remove("g", &[])]), "uX@1"),
        (
            removes(vec![new_remove("f%20f", &[]), new_remove("f%20f", &[])]),
            "removes f%20f twice",
        ),
    ];
    for (proposal, expected) in cases {
        let error = commit(&open, &proposal).unwrap_err();
        assert!(matches!(error, TxnError::Invalid { .. }), "{error}");
        let text = error.to_string();
        assert!(
            text.to_lowercase().contains(&expected.to_lowercase()),
            "{text}"
        );
    }
    for domain in ["delta.rowTracking", "twice"] {
        let domain = deltafs::log::actions::DomainMetadata {
            domain: domain.to_owned(),
            configuration: String::new(),
            removed: false,
        };
        let proposal = Proposal {
            domains: vec![domain.clone(), domain],
            ..proposal(1)
        };
        let error = commit(&open, &proposal).unwrap_err();
        assert!(matches!(error, TxnError::Invalid { .. }), "{error}");
    }
    assert_eq!(table.generation().newest(), 1);
}

#[test]
fn a_file_may_be_given_another_deletion_vector_or_its_own_again() {
    let table = table();
    let open = table.open();
    let mine = Proposal {
        reads: Reads::WholeTable,
        adds: vec![
            AddFile {
                deletion_vector: Some(new_dv("y")),
                ..new_add("g", &[])
            },
            new_add("f%20f", &[]),
        ],
        removes: vec![RemoveFile {
            deletion_vector: Some(new_dv("x")),
            ..new_remove("g", &[])
        }],
        ..proposal(1)
    };
    assert_eq!(committed(&open, &mine), 2);
    let live = crate::support::live(&table.generation(), 2);
    assert_eq!(
        live,
        [
            ("f f".to_owned(), None),
            ("g".to_owned(), Some("uy@1".to_owned()))
        ]
    );
}

#[test]
fn a_table_that_took_the_place_of_the_one_that_was_read_is_left_alone() {
    let table = table();
    let open = table.open();
    let id = open.current().snapshot(1).unwrap().metadata().id.clone();
    let mine = Proposal {
        table_id: Some(id.clone()),
        ..append(1, [new_add("mine", &[])])
    };
    // As `mv` of another table to the same place.
    let mut other =
        TableBuilder::with_actions([protocol(1, 2), metadata(&[("id", "long")]).id("another")]);
    other.commit_adds(1);
    std::fs::rename(table.root(), table.outside().join("old")).unwrap();
    std::fs::rename(other.root(), table.root()).unwrap();
    let error = commit(&open, &mine).unwrap_err();
    let TxnError::OtherTable {
        expected, found, ..
    } = &error
    else {
        panic!("{error}");
    };
    assert_eq!((expected, found.as_str()), (&id, "another"));
    assert!(!table.commit_path(2).exists());
}

#[test]
fn winners_that_were_cleaned_up_cannot_be_looked_at() {
    let mut table = TableBuilder::with_schema(&[("id", "long")]);
    let own = table.open();
    let _ = own.current().snapshot(0).unwrap();
    table.commit_adds(4);
    table.checkpoint(3, Checkpoint::Classic);
    table.delete_commits(0..=2);
    let error = commit(&own, &append(0, [new_add("mine", &[])])).unwrap_err();
    assert!(
        matches!(
            error,
            TxnError::LogCleaned {
                read: 0,
                missing: 1
            }
        ),
        "{error}"
    );
    assert!(!table.commit_path(1).exists());
    assert!(!table.commit_path(5).exists());
}

#[test]
fn a_version_that_does_not_exist_yet_was_not_read() {
    let table = table();
    let error = commit(&table.open(), &append(7, [])).unwrap_err();
    assert!(matches!(error, TxnError::Snapshot(_)), "{error}");
    assert!(!table.commit_path(8).exists());
}
