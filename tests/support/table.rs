//! A Delta table in a directory of its own.

use std::collections::BTreeMap;
use std::fs;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use arrow::array::RecordBatch;
use deltafs::base::Version;
use deltafs::base::clock::{TimestampMs, ms_to_system_time};
use deltafs::snapshot::{Generation, Snapshot, SnapshotError, Table};
use deltafs::storage::{StoreOptions, TableRoots, open_store};
use deltafs::tree::{Tree, TreeOptions};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::actions::{Action, add, metadata, other, protocol, sidecar};
use super::checkpoint::{Checkpoint, parquet_of};
use super::data::parquet;
use super::reference::{LogicalFile, Reference};
use super::scripted_store::ScriptedStore;
use super::tree::tree_of;

/// See the module. What it wrote by [`TableBuilder::commit`] it remembers, so that it can write
/// checkpoints, compactions and checksums of it.
pub struct TableBuilder {
    directory: TempDir,
    commits: BTreeMap<Version, Vec<Action>>,
    uuids: std::cell::Cell<u32>,
}

impl Default for TableBuilder {
    fn default() -> TableBuilder {
        TableBuilder::new()
    }
}

impl TableBuilder {
    /// An empty log.
    pub fn new() -> TableBuilder {
        let directory = tempfile::tempdir().expect("a temporary directory");
        fs::create_dir_all(directory.path().join("table/_delta_log/_sidecars")).expect("a log");
        TableBuilder {
            directory,
            commits: BTreeMap::new(),
            uuids: std::cell::Cell::new(0),
        }
    }

    /// Version 0 with protocol 1/2 and nullable columns of primitive types.
    pub fn with_schema(columns: &[(&str, &str)]) -> TableBuilder {
        TableBuilder::with_actions([protocol(1, 2), metadata(columns)])
    }

    /// Version 0 with these actions.
    pub fn with_actions(actions: impl IntoIterator<Item = Action>) -> TableBuilder {
        let mut table = TableBuilder::new();
        table.commit(actions);
        table
    }

    /// The table root.
    pub fn root(&self) -> PathBuf {
        self.directory.path().join("table")
    }

    /// The directory around the table root: for files outside the table.
    pub fn outside(&self) -> &Path {
        self.directory.path()
    }

    /// A path below the table root.
    pub fn path(&self, path: &str) -> PathBuf {
        self.root().join(path)
    }

    /// A path in `_delta_log`.
    pub fn log(&self, name: &str) -> PathBuf {
        self.path("_delta_log").join(name)
    }

    /// The commit file of a version.
    pub fn commit_path(&self, version: Version) -> PathBuf {
        self.log(&format!("{version:020}.json"))
    }

    /// Commits the next version and returns it.
    pub fn commit(&mut self, actions: impl IntoIterator<Item = Action>) -> Version {
        let version = self.commits.keys().next_back().map_or(0, |last| last + 1);
        self.commit_at(version, actions);
        version
    }

    /// Commits a version of choice.
    pub fn commit_at(&mut self, version: Version, actions: impl IntoIterator<Item = Action>) {
        let actions: Vec<Action> = actions.into_iter().collect();
        write(&self.commit_path(version), lines(&actions).as_bytes());
        self.commits.insert(version, actions);
    }

    /// `count` commits that add one file each: `f1.parquet` in version 1, and so on.
    pub fn commit_adds(&mut self, count: u64) -> &mut TableBuilder {
        for _ in 0..count {
            let version = self.commits.keys().next_back().map_or(0, |last| last + 1);
            self.commit_at(version, [add(&format!("f{version}.parquet"))]);
        }
        self
    }

    /// Writes a file below the table root, and its directories.
    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        write(&self.path(path), content.as_ref());
    }

    /// Writes a file into `_delta_log`.
    pub fn write_log(&self, name: &str, content: impl AsRef<[u8]>) {
        write(&self.log(name), content.as_ref());
    }

    /// Deletes a file in `_delta_log`.
    pub fn delete_log(&self, name: &str) {
        fs::remove_file(self.log(name)).expect("the file is there");
    }

    /// Deletes commit files.
    pub fn delete_commits(&self, versions: RangeInclusive<Version>) {
        for version in versions {
            fs::remove_file(self.commit_path(version)).expect("the commit file is there");
        }
    }

    /// Writes a data file, and returns the `add` for it. The path is both decoded and as in the log:
    /// it must not need escaping.
    pub fn data(&self, path: &str, batch: &RecordBatch) -> Action {
        let bytes = parquet(batch);
        self.write(path, &bytes);
        add(path)
            .size(i64::try_from(bytes.len()).expect("a small file"))
            .stats(json!({"numRecords": batch.num_rows()}))
    }

    /// The state at a version, from the commits written by this builder.
    pub fn reference(&self, version: Version) -> Reference {
        Reference::replay(self.commits.range(..=version).map(|(_, actions)| actions))
    }

    /// Writes a checkpoint of the state at `version`; returns its names in the log.
    pub fn checkpoint(&self, version: Version, form: Checkpoint) -> Vec<String> {
        let state = self.reference(version);
        self.checkpoint_of(
            version,
            form,
            state.non_file_actions(),
            state.file_actions(),
        )
    }

    /// Writes a checkpoint of actions of choice; returns its names in the log, sidecars last.
    pub fn checkpoint_of(
        &self,
        version: Version,
        form: Checkpoint,
        others: Vec<Action>,
        files: Vec<Action>,
    ) -> Vec<String> {
        let all = || [others.clone(), files.clone()].concat();
        match form {
            Checkpoint::Classic => {
                let name = format!("{version:020}.checkpoint.parquet");
                self.write_log(&name, parquet_of(&all()));
                vec![name]
            }
            Checkpoint::Parts(parts) => {
                let all = all();
                let mut names = Vec::new();
                for part in 0..parts {
                    let rows: Vec<Action> = all
                        .iter()
                        .skip(part as usize)
                        .step_by(parts as usize)
                        .cloned()
                        .collect();
                    let name = format!(
                        "{version:020}.checkpoint.{:010}.{parts:010}.parquet",
                        part + 1
                    );
                    self.write_log(&name, parquet_of(&rows));
                    names.push(name);
                }
                names
            }
            Checkpoint::ClassicV2(sidecars) => {
                let name = format!("{version:020}.checkpoint.parquet");
                self.checkpoint_v2(version, name, sidecars, others, files)
            }
            Checkpoint::Parquet(sidecars) => {
                let name = format!("{version:020}.checkpoint.{}.parquet", self.uuid());
                self.checkpoint_v2(version, name, sidecars, others, files)
            }
            Checkpoint::Json(sidecars) => {
                let name = format!("{version:020}.checkpoint.{}.json", self.uuid());
                self.checkpoint_v2(version, name, sidecars, others, files)
            }
        }
    }

    fn checkpoint_v2(
        &self,
        version: Version,
        name: String,
        sidecars: u32,
        others: Vec<Action>,
        files: Vec<Action>,
    ) -> Vec<String> {
        let mut names = vec![name.clone()];
        let mut actions = vec![other("checkpointMetadata", json!({"version": version}))];
        actions.extend(others);
        if sidecars == 0 {
            actions.extend(files);
        } else {
            for part in 0..sidecars as usize {
                let rows: Vec<Action> = files
                    .iter()
                    .skip(part)
                    .step_by(sidecars as usize)
                    .cloned()
                    .collect();
                let name = format!("{}.parquet", self.uuid());
                let bytes = parquet_of(&rows);
                actions.push(sidecar(&name, bytes.len()));
                self.write_log(&format!("_sidecars/{name}"), bytes);
                names.push(format!("_sidecars/{name}"));
            }
        }
        if name.ends_with(".json") {
            self.write_log(&name, lines(&actions));
        } else {
            self.write_log(&name, parquet_of(&actions));
        }
        names
    }

    /// A UUID that this builder has not given out before.
    pub fn uuid(&self) -> String {
        self.uuids.set(self.uuids.get() + 1);
        format!("{:08x}-7026-4e79-81be-64bd76c43a11", self.uuids.get())
    }

    /// Writes `_last_checkpoint`.
    pub fn hint(&self, version: Version) {
        self.write_log(
            "_last_checkpoint",
            json!({"version": version, "size": 1}).to_string(),
        );
    }

    /// Writes `FIRST.LAST.compacted.json` of the commits of that range.
    pub fn compact(&self, first: Version, last: Version) -> String {
        let range = self.commits.range(first..=last).map(|(_, actions)| actions);
        let name = format!("{first:020}.{last:020}.compacted.json");
        self.write_log(&name, lines(&Reference::replay(range).compaction()));
        name
    }

    /// The right version checksum.
    pub fn checksum(&self, version: Version) -> Value {
        let state = self.reference(version);
        let size: i64 = state
            .adds()
            .values()
            .map(|a| a.fields["size"].as_i64().unwrap_or(0))
            .sum();
        json!({
            "tableSizeBytes": size,
            "numFiles": state.adds().len(),
            "numMetadata": 1,
            "numProtocol": 1,
            "metadata": state.metadata().map(|action| &action.fields),
            "protocol": state.protocol().map(|action| &action.fields),
        })
    }

    /// Writes `N.crc`.
    pub fn write_checksum(&self, version: Version, checksum: &Value) {
        self.write_log(&format!("{version:020}.crc"), checksum.to_string());
    }

    /// Sets the modification time of a commit file, milliseconds since the epoch.
    pub fn set_modified(&self, version: Version, ms: TimestampMs) {
        let file = fs::File::options()
            .write(true)
            .open(self.commit_path(version));
        file.and_then(|file| file.set_modified(ms_to_system_time(ms)))
            .expect("the commit file is there");
    }

    /// Opens the table anew.
    pub fn open(&self) -> Arc<Table> {
        open_root(&self.root()).expect("a table")
    }

    /// Opens the table anew.
    pub fn generation(&self) -> Arc<Generation> {
        self.open().current()
    }

    /// The state of a version, by opening the table anew.
    pub fn snapshot(&self, version: Version) -> Result<Arc<Snapshot>, SnapshotError> {
        self.generation().snapshot(version)
    }

    /// The live files of a version, by opening the table anew.
    pub fn live(&self, version: Version) -> Vec<LogicalFile> {
        live(&self.generation(), version)
    }

    /// Asserts that every version of `versions` is what the commits add up to, asked for in that
    /// order.
    pub fn check(&self, generation: &Generation, versions: impl IntoIterator<Item = Version>) {
        for version in versions {
            let expected = self.reference(version);
            assert_eq!(
                live(generation, version),
                expected.live(),
                "files of version {version}"
            );
            let snapshot = generation.snapshot(version).expect("it was just built");
            let transactions: Vec<(String, i64)> = snapshot
                .transactions()
                .iter()
                .map(|(id, txn)| (id.clone(), txn.version))
                .collect();
            assert_eq!(
                transactions,
                expected.transactions(),
                "txns of version {version}"
            );
            let domains: Vec<(String, String)> = snapshot
                .domains()
                .iter()
                .map(|(name, domain)| (name.clone(), domain.configuration.clone()))
                .collect();
            assert_eq!(domains, expected.domains(), "domains of version {version}");
            let metadata = expected.metadata().expect("metaData in version 0");
            assert_eq!(
                snapshot.metadata().id,
                metadata.text("id"),
                "version {version}"
            );
            assert_eq!(
                snapshot.metadata().schema_string,
                metadata.text("schemaString")
            );
            assert_eq!(snapshot.version(), version);
        }
    }

    /// Mounts the table with default options.
    pub fn tree(&self) -> Tree {
        self.tree_with(TreeOptions::default())
    }

    /// Mounts the table.
    pub fn tree_with(&self, options: TreeOptions) -> Tree {
        tree_of(&self.open(), options)
    }
}

fn lines(actions: &[Action]) -> String {
    actions
        .iter()
        .map(|action| action.to_line() + "\n")
        .collect()
}

fn write(path: &Path, content: &[u8]) {
    fs::create_dir_all(path.parent().expect("it has a parent")).expect("a directory");
    fs::write(path, content).expect("the file can be written");
}

/// Opens the table at `root`.
pub fn open_root(root: &Path) -> Result<Arc<Table>, SnapshotError> {
    Table::open(roots(root, &[]), Duration::ZERO).map(Arc::new)
}

/// The table at `root` behind a store that fails where a test says so.
pub fn scripted(root: &Path, is_local: bool) -> (Arc<ScriptedStore>, Arc<Table>) {
    let inner = open_store(root.to_str().expect("UTF-8"), &StoreOptions::default());
    let store = ScriptedStore::new(inner.expect("a directory"), is_local);
    let roots = TableRoots::new(store.clone(), &[], &StoreOptions::default());
    let table = Table::open(roots.expect("a root"), Duration::ZERO);
    (store, Arc::new(table.expect("a table")))
}

/// The table at `root` and the prefixes that may be read beside it.
pub fn roots(root: &Path, allowed: &[&Path]) -> TableRoots {
    let options = StoreOptions::default();
    let text = |path: &Path| path.to_str().expect("UTF-8").to_owned();
    let store = open_store(&text(root), &options).expect("a directory");
    let allowed: Vec<String> = allowed.iter().map(|path| text(path)).collect();
    TableRoots::new(store, &allowed, &options).expect("directories")
}

/// Opens the table at `root`.
pub fn generation_of(root: &Path) -> Arc<Generation> {
    open_root(root).expect("a table").current()
}

/// The live logical files of a version, sorted.
pub fn live(generation: &Generation, version: Version) -> Vec<LogicalFile> {
    let snapshot = generation
        .snapshot(version)
        .unwrap_or_else(|error| panic!("version {version}: {error}"));
    let files = generation.files();
    let mut live: Vec<LogicalFile> = snapshot
        .files()
        .iter()
        .map(|id| {
            let file = files.get(id);
            let dv = file.deletion_vector.map(|dv| dv.unique_id.clone());
            (file.path.to_owned(), dv)
        })
        .collect();
    live.sort();
    live
}

/// The ranges of versions that can be rebuilt.
pub fn ranges(generation: &Generation) -> Vec<(Version, Version)> {
    let ranges = generation.rebuildable();
    ranges
        .iter()
        .map(|range| (*range.start(), *range.end()))
        .collect()
}

/// The versions that can be rebuilt.
pub fn versions(generation: &Generation) -> Vec<Version> {
    generation.rebuildable().into_iter().flatten().collect()
}
