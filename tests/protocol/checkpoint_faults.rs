//! Checkpoints and version checksums over a store that fails: "Last Checkpoint File" never points to
//! what is not whole, and the commit stands.

use std::fmt;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use deltafs::log::checkpoint::write::WriteError;
use deltafs::snapshot::checkpoint::{CheckpointError, after_commit, write_checkpoint};
use deltafs::snapshot::{Generation, Table};
use deltafs::storage::{
    Capacity, ObjectMeta, ObjectReader, PutOutcome, StorageError, Store, StoreOptions, TableRoots,
    open_store,
};

use crate::ID;
use crate::support::{
    TableBuilder, actions_in, add, dv, live, metadata, remove, table_features, txn,
};

/// What happens to a call.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fault {
    /// It is not done.
    Fails,
    /// It is done, and the answer is lost.
    AnswerLost,
}

/// A store of which one call fails, or that stores something else.
struct Faulty {
    inner: Arc<dyn Store>,
    calls: AtomicUsize,
    /// The number of the call that fails, from 1 on; 0 for none.
    at: AtomicUsize,
    fault: Fault,
    /// What is stored in place of a checkpoint.
    instead: Mutex<Option<Bytes>>,
}

impl fmt::Debug for Faulty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Faulty")
    }
}

impl Faulty {
    fn call<T>(
        &self,
        path: &str,
        call: impl FnOnce() -> Result<T, StorageError>,
    ) -> Result<T, StorageError> {
        let number = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
        if number != self.at.load(Ordering::Relaxed) {
            return call();
        }
        if self.fault == Fault::AnswerLost {
            call()?;
        }
        Err(StorageError::Io {
            operation: "reach",
            location: path.to_owned(),
            source: io::Error::from_raw_os_error(5),
        })
    }
}

impl Store for Faulty {
    fn root(&self) -> &str {
        self.inner.root()
    }

    fn list_names(&self, dir: &str, after: Option<&str>) -> Result<Vec<String>, StorageError> {
        self.call(dir, || self.inner.list_names(dir, after))
    }

    fn list(&self, dir: &str, after: Option<&str>) -> Result<Vec<ObjectMeta>, StorageError> {
        self.call(dir, || self.inner.list(dir, after))
    }

    fn head(&self, path: &str) -> Result<ObjectMeta, StorageError> {
        self.call(path, || self.inner.head(path))
    }

    fn head_many(&self, paths: &[String]) -> Vec<Result<ObjectMeta, StorageError>> {
        paths.iter().map(|path| self.head(path)).collect()
    }

    fn get(&self, path: &str) -> Result<Bytes, StorageError> {
        self.call(path, || self.inner.get(path))
    }

    fn get_many(&self, paths: &[String]) -> Vec<Result<Bytes, StorageError>> {
        paths.iter().map(|path| self.get(path)).collect()
    }

    fn get_range(&self, path: &str, range: Range<u64>) -> Result<Bytes, StorageError> {
        self.call(path, || self.inner.get_range(path, range))
    }

    fn open(&self, path: &str) -> Result<Box<dyn ObjectReader>, StorageError> {
        self.call(path, || self.inner.open(path))
    }

    fn put(&self, path: &str, content: Bytes) -> Result<(), StorageError> {
        let content = match &*self.instead.lock().unwrap() {
            Some(instead) if path.contains(".checkpoint.") => instead.clone(),
            _ => content,
        };
        self.call(path, || self.inner.put(path, content))
    }

    fn put_if_absent(&self, path: &str, content: Bytes) -> Result<PutOutcome, StorageError> {
        self.call(path, || self.inner.put_if_absent(path, content))
    }

    fn delete(&self, path: &str) -> Result<(), StorageError> {
        self.call(path, || self.inner.delete(path))
    }

    fn capacity(&self) -> Option<Capacity> {
        self.inner.capacity()
    }

    fn is_local(&self) -> bool {
        self.inner.is_local()
    }
}

fn open(table: &TableBuilder, fault: Fault) -> (Arc<Generation>, Arc<Faulty>) {
    let options = StoreOptions::default();
    let root = table.root();
    let faulty = Arc::new(Faulty {
        inner: open_store(root.to_str().unwrap(), &options).unwrap(),
        calls: AtomicUsize::new(0),
        at: AtomicUsize::new(0),
        fault,
        instead: Mutex::new(None),
    });
    let roots = TableRoots::new(faulty.clone(), &[], &options).unwrap();
    let generation = Table::open(roots, Duration::ZERO).unwrap().current();
    (generation, faulty)
}

/// Ten versions, with a checkpoint due after the last.
fn table(policy: &str) -> TableBuilder {
    let meta = metadata(ID).property("delta.checkpointPolicy", policy);
    let features = table_features(&["v2Checkpoint", "deletionVectors"]);
    let mut table = TableBuilder::with_actions([features, meta]);
    table.commit_adds(8);
    table.commit([
        remove("f1.parquet").with("deletionTimestamp", i64::MAX),
        add("f1.parquet").dv(&dv("x")),
        txn("app", 1),
    ]);
    table.commit([add("last")]);
    table
}

/// Whatever the pointer points to is there and stands in for the log before it. Answers whether there
/// is a pointer.
fn check(table: &TableBuilder) -> bool {
    table.check(&table.generation(), [10, 9, 0]);
    // No reader meets a checkpoint without its sidecars.
    for entry in std::fs::read_dir(table.log("")).unwrap() {
        let path = entry.unwrap().path();
        if path
            .extension()
            .is_some_and(|extension| extension == "parquet")
        {
            for (name, fields) in actions_in(&path) {
                if name == "sidecar" {
                    let sidecar = fields["path"].as_str().unwrap();
                    assert!(table.log(&format!("_sidecars/{sidecar}")).exists());
                }
            }
        }
    }
    let Ok(pointer) = std::fs::read(table.log("_last_checkpoint")) else {
        return false;
    };
    let pointer: serde_json::Value = serde_json::from_slice(&pointer).unwrap();
    assert_eq!(pointer["version"], 10);
    table.delete_commits(0..=10);
    table.check(&table.generation(), [10]);
    true
}

/// Every call fails once, before or after it was done.
#[test]
fn a_fault_at_any_call_leaves_a_whole_checkpoint_or_none_pointed_to() {
    for policy in ["classic", "v2"] {
        for fault in [Fault::Fails, Fault::AnswerLost] {
            let mut pointed_to = 0;
            for at in 1.. {
                let table = table(policy);
                let (generation, faulty) = open(&table, fault);
                generation.snapshot(10).unwrap();
                faulty.calls.store(0, Ordering::Relaxed);
                faulty.at.store(at, Ordering::Relaxed);
                let after = after_commit(&generation, 10);
                faulty.at.store(0, Ordering::Relaxed);
                let calls = faulty.calls.load(Ordering::Relaxed);
                let failed = after.checkpoint.unwrap().is_err();
                let found = check(&table);
                assert!(found || failed, "call {at}");
                pointed_to += usize::from(found);
                if calls < at {
                    assert!(after.checksum.is_ok() && !failed);
                    // Some of them do not matter: an answer that is lost after the work was done.
                    assert!(pointed_to > 1 && pointed_to < at, "{pointed_to} of {at}");
                    break;
                }
            }
        }
    }
}

/// What the store gives back is not what was put: nothing of it stays.
#[test]
fn what_is_stored_otherwise_is_not_kept() {
    for policy in ["classic", "v2"] {
        for instead in [&b""[..], b"PAR1", &[0; 4096]] {
            let table = table(policy);
            let (generation, faulty) = open(&table, Fault::Fails);
            *faulty.instead.lock().unwrap() = Some(Bytes::from_static(instead));
            let error = write_checkpoint(&generation, 10).unwrap_err();
            assert!(
                matches!(error, CheckpointError::Write(WriteError::Differs { .. })),
                "{error}"
            );
            assert!(!check(&table));
            let left = std::fs::read_dir(table.log("")).unwrap();
            let names = left.map(|entry| entry.unwrap().file_name().into_string().unwrap());
            let found: Vec<String> = names.filter(|name| name.contains("checkpoint")).collect();
            assert_eq!(found, [""; 0]);
            let sidecars = std::fs::read_dir(table.log("_sidecars")).unwrap();
            assert_eq!(sidecars.count(), 0);
        }
    }
}

/// "If two checkpoint writers race to create the same classic checkpoint, the latest writer wins.
/// However, this should not matter because both checkpoints should contain the same information": the
/// other one's stays.
#[test]
fn a_good_checkpoint_of_another_writer_stays() {
    let table = table("classic");
    let theirs = table.checkpoint(10, crate::support::Checkpoint::Classic);
    let theirs = std::fs::read(table.log(&theirs[0])).unwrap();
    let (generation, faulty) = open(&table, Fault::Fails);
    *faulty.instead.lock().unwrap() = Some(theirs.clone().into());
    let error = write_checkpoint(&generation, 10).unwrap_err();
    assert!(
        matches!(error, CheckpointError::Write(WriteError::Replaced { .. })),
        "{error}"
    );
    let path = table.log("00000000000000000010.checkpoint.parquet");
    assert_eq!(std::fs::read(path).unwrap(), theirs);
    assert!(!check(&table));
}

/// "Checkpoints for a given version must only be created after the associated delta file has been
/// successfully written", "Writers MUST write the Version Checksum file only after successfully writing
/// the corresponding Delta log entry".
#[test]
fn a_version_that_is_not_there_gets_nothing() {
    let table = table("classic");
    for version in [11, 20, u64::MAX] {
        let generation = table.generation();
        assert!(write_checkpoint(&generation, version).is_err());
        let after = after_commit(&generation, version);
        assert!(after.checksum.is_err());
        assert!(
            after
                .checkpoint
                .is_none_or(|checkpoint| checkpoint.is_err())
        );
    }
    let names = std::fs::read_dir(table.log("")).unwrap();
    assert_eq!(names.count(), 11 + 1);
}

/// On an object store a checkpoint is written, read back and pointed to as in a directory.
#[test]
fn object_stores_hold_checkpoints_too() {
    for policy in ["classic", "v2"] {
        let table = table(policy);
        let options = StoreOptions::default();
        let root = format!("memory:///checkpoint-faults-{policy}");
        let store = open_store(&root, &options).unwrap();
        for version in 0..=10 {
            let path = format!("_delta_log/{version:020}.json");
            store
                .put(&path, std::fs::read(table.path(&path)).unwrap().into())
                .unwrap();
        }
        let open = || {
            let roots = TableRoots::new(store.clone(), &[], &options).unwrap();
            Table::open(roots, Duration::ZERO).unwrap().current()
        };
        let after = after_commit(&open(), 10);
        assert_eq!(after.checksum.unwrap(), PutOutcome::Created);
        assert!(after.checkpoint.unwrap().unwrap().pointed_to);
        for version in 0..=10 {
            store
                .delete(&format!("_delta_log/{version:020}.json"))
                .unwrap();
        }
        assert_eq!(live(&open(), 10), table.reference(10).live());
        // And from that one again.
        assert!(write_checkpoint(&open(), 10).unwrap().pointed_to);
        assert_eq!(live(&open(), 10), table.reference(10).live());
    }
}
