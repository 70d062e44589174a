//! A table, a staging area of it, and what is in both.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use arrow::array::RecordBatch;
use deltafs::base::Version;
use deltafs::errno;
use deltafs::snapshot::{Generation, Table};
use deltafs::staging::{Staging, StagingError, StagingOptions, Transaction};
use deltafs::storage::posix::Owner;
use deltafs::storage::{StoreOptions, TableRoots, open_store};
use deltafs::txn::CommitOptions;
use deltafs::view::ViewOptions;
use serde_json::Value;

use crate::support::{parquet, parquet_longs};

/// Opens the table in a directory.
pub fn open(root: &Path) -> Arc<Table> {
    let options = StoreOptions::default();
    let store = open_store(root.to_str().expect("UTF-8"), &options).expect("a directory");
    let roots = TableRoots::new(store, &[], &options).expect("no other roots");
    Arc::new(Table::open(roots, Duration::ZERO).expect("a table"))
}

/// A staging area of the table in a directory, as a mount of its own has it.
pub fn staging(root: &Path) -> Staging {
    staging_of(open(root))
}

/// A staging area of a table.
pub fn staging_of(table: Arc<Table>) -> Staging {
    let options = StagingOptions {
        directory: None,
        view: ViewOptions::default(),
        commit: CommitOptions::default(),
        errno_of: errno::of_staging,
    };
    Staging::open(table, options)
}

/// Begins a transaction, as the user of this process.
pub fn begin(staging: &Staging, name: &str) -> Result<Arc<Transaction>, StagingError> {
    let own = fs::metadata("/proc/self").expect("there is a process");
    let owner = Owner {
        uid: own.uid(),
        gid: own.gid(),
    };
    staging.begin(OsStr::new(name), owner, 0o755)
}

/// A transaction that is there.
pub fn get(staging: &Staging, name: &str) -> Option<Arc<Transaction>> {
    staging.get(OsStr::new(name))
}

/// The directory of a transaction's files on disk.
pub fn files_of(transaction: &Transaction) -> PathBuf {
    transaction.place()
}

/// Puts a file into a transaction.
pub fn put(transaction: &Transaction, path: &str, content: impl AsRef<[u8]>) {
    let path = files_of(transaction).join(path);
    fs::create_dir_all(path.parent().expect("a parent")).expect("can be made");
    fs::write(path, content).expect("can be written");
}

/// Puts a Parquet file into a transaction.
pub fn put_rows(transaction: &Transaction, path: &str, rows: &RecordBatch) {
    put(transaction, path, parquet(rows));
}

/// Commits with what the marker is to say.
pub fn commit(transaction: &Transaction, marker: &str) -> Result<Version, StagingError> {
    put(transaction, ".commit", marker);
    transaction.commit()
}

/// `.status` of a transaction.
pub fn status(transaction: &Transaction) -> Value {
    serde_json::from_slice(&transaction.status()).expect("JSON")
}

/// The live data files of a version: their paths, and what they are.
pub fn live(table: &Table, version: Version) -> BTreeMap<String, Value> {
    let generation = table.refresh().expect("a table");
    let snapshot = generation.snapshot(version).expect("a version");
    let files = generation.files();
    (snapshot.files().iter())
        .map(|id| {
            let file = files.get(id);
            let values: BTreeMap<&str, Option<&str>> = (file.partition_values.iter())
                .map(|(name, value)| (&**name, value.as_deref()))
                .collect();
            let path = file.path.to_owned();
            (
                path,
                serde_json::json!({"size": file.size, "values": values}),
            )
        })
        .collect()
}

/// The values of a `long` column of all live files of the newest version, sorted.
pub fn longs_in(root: &Path, column: &str) -> Vec<Option<i64>> {
    let table = open(root);
    let generation: Arc<Generation> = table.refresh().expect("a table");
    let mut values: Vec<Option<i64>> = live(&table, generation.newest())
        .keys()
        .flat_map(|path| {
            let bytes = fs::read(root.join(path)).expect("a live file is there");
            parquet_longs(&bytes, column)
        })
        .collect();
    values.sort_unstable();
    values
}

/// The actions of a commit file.
pub fn actions(root: &Path, version: Version) -> Vec<Value> {
    let path = root.join(format!("_delta_log/{version:020}.json"));
    let text = fs::read_to_string(path).expect("a commit file");
    (text.lines())
        .map(|line| serde_json::from_str(line).expect("an action"))
        .collect()
}

/// All files below a directory, but what is in the log and the staging area.
pub fn files_below(root: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut next = vec![root.to_owned()];
    while let Some(directory) = next.pop() {
        for row in fs::read_dir(&directory).expect("can be listed") {
            let path = row.expect("a row").path();
            let name = path
                .file_name()
                .expect("a name")
                .to_string_lossy()
                .into_owned();
            if path.is_dir() {
                if name != "_delta_log" && name != "_deltafs" {
                    next.push(path);
                }
            } else {
                let below = path.strip_prefix(root).expect("below the root");
                found.push(below.to_string_lossy().into_owned());
            }
        }
    }
    found.sort();
    found
}
