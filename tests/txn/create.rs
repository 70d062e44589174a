//! The first version of a table.

use std::sync::{Arc, Barrier};

use deltafs::log::actions::{Format, Metadata, Protocol};
use deltafs::storage::{StoreOptions, open_store};
use deltafs::txn::{self, CommitOptions, CommitOutcome, Conflict, Operation, Proposal, TxnError};
use uuid::Uuid;

use crate::support::{
    Checkpoint, TableBuilder, commit, commit_info, committed, info_of, live, named, new_add,
    open_root, schema,
};

fn creation(id: &str) -> Proposal {
    Proposal {
        protocol: Some(Protocol {
            min_reader_version: 1,
            min_writer_version: 2,
            reader_features: None,
            writer_features: None,
        }),
        metadata: Some(Metadata {
            id: id.to_owned(),
            name: None,
            description: None,
            format: Format::default(),
            schema_string: schema(&[("id", "long")]),
            partition_columns: Vec::new(),
            created_time: Some(0),
            configuration: Default::default(),
        }),
        adds: vec![new_add(&format!("{id}.parquet"), &[])],
        ..Proposal::new(Uuid::new_v4(), None, Operation::named("CREATE TABLE"))
    }
}

fn create(root: &std::path::Path, proposal: &Proposal) -> Result<CommitOutcome, TxnError> {
    let store = open_store(root.to_str().unwrap(), &StoreOptions::default()).unwrap();
    txn::create(&*store, proposal, &CommitOptions::default())
}

fn conflict(outcome: Result<CommitOutcome, TxnError>) -> Conflict {
    match outcome {
        Ok(CommitOutcome::Conflicted(conflict)) => conflict,
        other => panic!("a conflict was expected, not {other:?}"),
    }
}

#[test]
fn a_table_begins_with_version_0() {
    let directory = tempfile::tempdir().unwrap();
    let proposal = creation("one");
    let outcome = create(directory.path(), &proposal).unwrap();
    assert!(
        matches!(outcome, CommitOutcome::Committed { version: 0 }),
        "{outcome:?}"
    );
    let table = open_root(directory.path()).unwrap();
    assert_eq!(live(&table.current(), 0).len(), 1);
    let snapshot = table.current().snapshot(0).unwrap();
    assert_eq!(snapshot.metadata(), proposal.metadata.as_ref().unwrap());
    // The same again is done already.
    let outcome = create(directory.path(), &proposal).unwrap();
    assert!(
        matches!(outcome, CommitOutcome::Committed { version: 0 }),
        "{outcome:?}"
    );
}

#[test]
fn commit_info_of_a_creation_has_no_read_version() {
    let table = TableBuilder::new();
    assert!(create(&table.root(), &creation("one")).is_ok());
    let info = info_of(&table, 0);
    assert_eq!(info["operation"], "CREATE TABLE");
    assert!(info.get("readVersion").is_none(), "{info}");
    assert_eq!(named(&table, 0, "protocol").len(), 1);
    assert_eq!(named(&table, 0, "metaData").len(), 1);
}

#[test]
fn f7_of_creators_one_creates_and_the_others_are_told() {
    const CREATORS: usize = 8;
    let directory = tempfile::tempdir().unwrap();
    let barrier = Barrier::new(CREATORS);
    let outcomes: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..CREATORS)
            .map(|n| {
                let (barrier, root) = (&barrier, directory.path());
                scope.spawn(move || {
                    let proposal = creation(&n.to_string());
                    barrier.wait();
                    create(root, &proposal).unwrap()
                })
            })
            .collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    let mut created = 0;
    for outcome in outcomes {
        match outcome {
            CommitOutcome::Committed { version: 0 } => created += 1,
            CommitOutcome::Conflicted(conflict) => {
                assert_eq!(conflict.name(), "ProtocolChanged");
                let text = conflict.to_string();
                assert!(text.contains("created meanwhile by CREATE TABLE"), "{text}");
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(created, 1);
    let table = open_root(directory.path()).unwrap();
    assert_eq!(table.current().newest(), 0);
    assert_eq!(live(&table.current(), 0).len(), 1);
}

#[test]
fn a_table_whose_first_commits_were_cleaned_up_is_there_all_the_same() {
    let mut table = TableBuilder::with_schema(&[("id", "long")]);
    table.commit_adds(2);
    table.checkpoint(2, Checkpoint::Classic);
    table.delete_commits(0..=2);
    let conflict = conflict(create(&table.root(), &creation("one")));
    assert_eq!(conflict.version(), 2);
    assert!(!table.commit_path(0).exists());
}

#[test]
fn a_table_that_is_open_cannot_be_created() {
    let mut table = TableBuilder::with_schema(&[("id", "long")]);
    table.commit([commit_info()]);
    let conflict = conflict(commit(&table.open(), &creation("one")));
    assert_eq!(conflict.version(), 0);
}

#[test]
fn a_creation_without_protocol_or_metadata_or_with_removes_is_none() {
    let directory = tempfile::tempdir().unwrap();
    let refused = |proposal: Proposal| {
        let error = create(directory.path(), &proposal).unwrap_err();
        assert!(matches!(error, TxnError::Invalid { .. }), "{error}");
    };
    refused(Proposal {
        metadata: None,
        ..creation("one")
    });
    refused(Proposal {
        protocol: None,
        ..creation("one")
    });
    refused(Proposal {
        removes: vec![crate::support::new_remove("f", &[])],
        ..creation("one")
    });
    refused(Proposal {
        read_version: Some(0),
        ..creation("one")
    });
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn in_commit_timestamps_from_the_beginning_need_no_enablement_version() {
    let table = TableBuilder::new();
    let mut proposal = creation("one");
    let metadata = proposal.metadata.as_mut().unwrap();
    let property = "delta.enableInCommitTimestamps".to_owned();
    metadata.configuration.insert(property, "true".to_owned());
    proposal.protocol = Some(Protocol {
        min_reader_version: 1,
        min_writer_version: 7,
        reader_features: None,
        writer_features: Some(vec!["inCommitTimestamp".to_owned()]),
    });
    assert!(create(&table.root(), &proposal).is_ok());
    let info = info_of(&table, 0);
    assert!(info["inCommitTimestamp"].is_i64(), "{info}");
    let configuration = named(&table, 0, "metaData")[0]["configuration"].clone();
    assert_eq!(configuration.as_object().unwrap().len(), 1);
    let open: Arc<_> = table.open();
    assert_eq!(committed(&open, &crate::support::append(0, [])), 1);
}
