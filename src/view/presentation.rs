//! How the files of one schema are presented: their names, and the bytes behind them.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::Arc;

use lru::LruCache;
use parking_lot::Mutex;

use super::error::ViewError;
use super::hive::HiveDirs;
use super::{Layout, View, identity, name};
use crate::parquet::Footer;
use crate::snapshot::{FileId, FileRef, FileTable, ProvenanceView, Snapshot, TableShape};
use crate::storage::{ObjectReader, StorageError, TableRoots};

/// How many files are remembered as checked.
const VERDICTS: NonZeroUsize = NonZeroUsize::new(1 << 17).expect("not zero");

/// What kind of work makes the bytes of a presented file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// The data file's own bytes, whatever the table is: `--view raw`.
    Raw,
    /// The data file's own bytes, which are the logical ones.
    Identity,
    /// Not presentable in this release.
    Unsupported,
}

impl Class {
    /// The word for extended attributes and listings.
    pub fn as_str(self) -> &'static str {
        match self {
            Class::Raw => "raw",
            Class::Identity => "identity",
            Class::Unsupported => "unsupported",
        }
    }
}

/// Presents the files of all versions that share a schema. Two versions with the same protocol and
/// metadata present the same logical file by the same name with the same bytes.
pub struct Presentation {
    roots: TableRoots,
    view: View,
    layout: Layout,
    snapshot: Arc<Snapshot>,
    hive: Option<HiveDirs>,
    /// Files found to be identity.
    identity: Mutex<LruCache<FileId, ()>>,
    names: Mutex<HashedNames>,
}

/// Files by the hash in their names. Made when such a name is first looked up, and kept up with the
/// file table from then on.
#[derive(Default)]
struct HashedNames {
    /// How many files of the table have been named.
    named: u32,
    by_hash: HashMap<u64, FileId>,
}

impl Presentation {
    /// Of the schema of `snapshot`, which must be readable. Only the schema counts. An error when
    /// the layout cannot show the partition columns.
    pub(super) fn new(
        roots: TableRoots,
        view: View,
        layout: Layout,
        snapshot: Arc<Snapshot>,
    ) -> Result<Presentation, ViewError> {
        let hive = match (view, layout) {
            (View::Logical, Layout::Hive) => {
                Some(HiveDirs::new(&snapshot.metadata().partition_columns)?)
            }
            _ => None,
        };
        Ok(Presentation {
            roots,
            view,
            layout,
            snapshot,
            hive,
            identity: Mutex::new(LruCache::new(VERDICTS)),
            names: Mutex::default(),
        })
    }

    /// Whether `snapshot` is presented by this.
    pub(super) fn presents(&self, snapshot: &Snapshot) -> bool {
        self.snapshot.same_definition(snapshot)
    }

    fn shape(&self) -> Option<&TableShape> {
        self.snapshot.readable().ok()
    }

    /// Whether names depend on where files came from.
    pub(super) fn wants_provenance(&self) -> bool {
        self.view == View::Logical && self.layout == Layout::Flat
    }

    /// What can be said against presenting a file as it is, from the log alone.
    fn objection(&self, file: &FileRef<'_>) -> Option<ViewError> {
        if self.view == View::Raw {
            return None;
        }
        let dv = file.deletion_vector?;
        Some(ViewError::DeletionVector {
            path: file.path.to_owned(),
            unique_id: dv.unique_id.clone(),
            cardinality: dv.descriptor.cardinality,
        })
    }

    /// The partition columns by their logical names, in the table's order, with a file's values as
    /// the log has them.
    pub fn partition_values<'a>(
        &'a self,
        file: &FileRef<'a>,
    ) -> impl Iterator<Item = (&'a str, Option<&'a str>)> + use<'a> {
        let values = file.partition_values;
        let shape = self.shape();
        self.snapshot
            .metadata()
            .partition_columns
            .iter()
            .map(move |column| {
                let physical = shape
                    .and_then(|shape| {
                        Some(shape.schema.field(column)?.name_in_files(shape.mapping))
                    })
                    .unwrap_or(column);
                let value = values
                    .iter()
                    .find(|(name, _)| **name == *physical)
                    .and_then(|(_, value)| value.as_deref());
                (column.as_str(), value)
            })
    }

    /// Appends the directory of a file below the version directory to `out`: nothing, or a path
    /// without leading and trailing slash. An error when the layout cannot show a partition value.
    pub fn directory(&self, file: &FileRef<'_>, out: &mut String) -> Result<(), ViewError> {
        if self.view == View::Raw {
            if let Some((directory, _)) = raw_path(file).and_then(|path| path.rsplit_once('/')) {
                out.push_str(directory);
            }
            return Ok(());
        }
        let Some(hive) = &self.hive else {
            return Ok(());
        };
        let values: Vec<Option<&str>> = self
            .partition_values(file)
            .map(|(_, value)| value)
            .collect();
        hive.append(&values, out)
    }

    /// Appends the name of a file within its directory to `out`.
    pub fn name(&self, file: &FileRef<'_>, provenance: Option<ProvenanceView>, out: &mut String) {
        if self.view == View::Raw
            && let Some(path) = raw_path(file)
        {
            out.push_str(path.rsplit('/').next().unwrap_or(path));
            return;
        }
        let fingerprint = self.shape().map_or(0, |shape| shape.fingerprint);
        if provenance.and_then(|provenance| provenance.added_under(file)) == Some(fingerprint)
            && let Some(own) = self.own_name(file)
        {
            out.push_str(own);
            return;
        }
        self.hashed_name(file, out);
    }

    /// Appends the name that a file has where it cannot have its own.
    pub(super) fn hashed_name(&self, file: &FileRef<'_>, out: &mut String) {
        let fingerprint = self.shape().map_or(0, |shape| shape.fingerprint);
        let dv = file.deletion_vector.map(|dv| dv.unique_id.as_str());
        name::presented_name(file.path, dv, fingerprint, self.layout, out);
    }

    /// The logical files, of any version, whose hashed name is `wanted`: one, unless a file was
    /// added again with another size or other partition values.
    pub(super) fn with_hashed_name(&self, files: &FileTable, wanted: &str) -> Vec<FileId> {
        let Some((stem, hash)) = name::parse_presented(wanted) else {
            return Vec::new();
        };
        // Nearly always the file lies in the table root and is called like the stem: then the index
        // of all names is not needed.
        let mut text = String::new();
        let direct: Vec<FileId> = files
            .with_path(&format!("{stem}.parquet"), false)
            .filter(|id| {
                text.clear();
                self.hashed_name(&files.get(*id), &mut text);
                text == wanted
            })
            .collect();
        if !direct.is_empty() {
            return direct;
        }
        let mut names = self.names.lock();
        while (names.named as usize) < files.len() {
            let id = names.named;
            text.clear();
            self.hashed_name(&files.get(id), &mut text);
            if let Some((_, hash)) = name::parse_presented(&text) {
                names.by_hash.insert(hash, id);
            }
            names.named += 1;
        }
        let Some(id) = names.by_hash.get(&hash).copied() else {
            return Vec::new();
        };
        drop(names);
        let file = files.get(id);
        text.clear();
        self.hashed_name(&file, &mut text);
        if text != wanted {
            return Vec::new();
        }
        let dv = file.deletion_vector.map(|dv| dv.unique_id.as_str());
        files
            .with_path(file.path, file.absolute)
            .filter(|id| {
                let other = files.get(*id).deletion_vector;
                other.map(|other| other.unique_id.as_str()) == dv
            })
            .collect()
    }

    /// The logical file, of those that `among` takes, that is called `wanted` in the directory
    /// `directory` (`""` for the version directory itself), except by its path in the raw view.
    pub(super) fn find(
        &self,
        files: &FileTable,
        provenance: Option<ProvenanceView>,
        directory: &str,
        wanted: &str,
        among: &dyn Fn(FileId) -> bool,
    ) -> Option<FileId> {
        if let Some(id) = self.find_hashed(files, directory, wanted, among) {
            return Some(id);
        }
        let id = self.find_own(files, wanted, among)?;
        let file = files.get(id);
        // Where the log does not reach back far enough to tell, an earlier mount may have listed
        // the file by its own name. That means its own bytes, so that it is no name of a version
        // that shows others.
        let is_own = match provenance.and_then(|provenance| provenance.added_under(&file)) {
            Some(shape) => self.shape().is_some_and(|own| own.fingerprint == shape),
            None => self.class(self.open(files, id)).1.is_none(),
        };
        is_own.then_some(id)
    }

    fn find_hashed(
        &self,
        files: &FileTable,
        directory: &str,
        wanted: &str,
        among: &dyn Fn(FileId) -> bool,
    ) -> Option<FileId> {
        let found = self.with_hashed_name(files, wanted).into_iter();
        found.filter(|id| among(*id)).find(|id| {
            let mut path = String::new();
            self.directory(&files.get(*id), &mut path).is_ok() && path == directory
        })
    }

    /// The logical file whose own name is `wanted`, where it could stand in a version directory.
    fn find_own(
        &self,
        files: &FileTable,
        wanted: &str,
        among: &dyn Fn(FileId) -> bool,
    ) -> Option<FileId> {
        if !self.is_flat() {
            return None;
        }
        files
            .with_path(wanted, false)
            .filter(|id| among(*id))
            .find(|id| self.own_name(&files.get(*id)).is_some())
    }

    /// The logical file, live in some version or not, that is called `wanted` in the directory
    /// `directory` wherever it is presented by this. `provenance` is that of the files numbered
    /// below.
    pub fn find_any(
        &self,
        files: &FileTable,
        provenance: Option<(ProvenanceView, FileId)>,
        directory: &str,
        wanted: &str,
    ) -> Option<FileId> {
        if self.is_raw() {
            let path = match directory {
                "" => wanted.to_owned(),
                _ => format!("{directory}/{wanted}"),
            };
            let at_path = files
                .with_path(&path, false)
                .find(|id| raw_path(&files.get(*id)).is_some());
            if at_path.is_some() {
                return at_path;
            }
        }
        if let Some(id) = self.find_hashed(files, directory, wanted, &|_| true) {
            return Some(id);
        }
        let (provenance, known) = provenance?;
        let id = self.find_own(files, wanted, &|id| id < known)?;
        let shape = provenance.added_under(&files.get(id))?;
        (self.shape()?.fingerprint == shape).then_some(id)
    }

    /// Whether files are shown under their own paths.
    pub(super) fn is_raw(&self) -> bool {
        self.view == View::Raw
    }

    /// Whether all files lie in the version directory itself.
    pub(super) fn is_flat(&self) -> bool {
        self.view == View::Logical && self.layout == Layout::Flat
    }

    /// The name of the data file itself, where it could stand in the version directory.
    pub(super) fn own_name<'a>(&self, file: &FileRef<'a>) -> Option<&'a str> {
        (!file.absolute && self.layout == Layout::Flat && self.objection(file).is_none())
            .then(|| name::own_name(file.path))
            .flatten()
    }

    /// Opens the bytes of a presented file.
    pub fn open(&self, files: &FileTable, id: FileId) -> Result<OpenPlan, ViewError> {
        let file = files.get(id);
        if let Some(objection) = self.objection(&file) {
            return Err(objection);
        }
        Ok(OpenPlan {
            id,
            location: file.location(),
            path: file.path.to_owned(),
            size: file.size,
            partition_values: self
                .partition_values(&file)
                .map(|(_, value)| value.map(str::to_owned))
                .collect(),
        })
    }

    /// Carries out what [`Presentation::open`] planned, without the file table.
    pub fn carry_out(&self, plan: &OpenPlan) -> Result<Box<dyn ObjectReader>, ViewError> {
        let reader = self
            .roots
            .open(&plan.location)
            .map_err(|error| match error {
                StorageError::NotFound { .. } => ViewError::Missing {
                    path: plan.path.clone(),
                },
                other => ViewError::Storage(other),
            })?;
        if reader.meta().size != plan.size {
            return Err(ViewError::WrongSize {
                path: plan.path.clone(),
                found: reader.meta().size,
                expected: plan.size,
            });
        }
        if self.view == View::Logical && !self.identity.lock().contains(&plan.id) {
            self.check_identity(plan, &*reader)?;
            self.identity.lock().put(plan.id, ());
        }
        Ok(reader)
    }

    fn check_identity(&self, plan: &OpenPlan, reader: &dyn ObjectReader) -> Result<(), ViewError> {
        let Some(shape) = self.shape() else {
            return Ok(());
        };
        let footer = Footer::read(reader)?;
        let partition_columns = &self.snapshot.metadata().partition_columns;
        let shape = identity::TableShape {
            schema: &shape.schema,
            partition_columns,
            mapping: shape.mapping,
            layout: self.layout,
        };
        let values: Vec<Option<&str>> =
            plan.partition_values.iter().map(Option::as_deref).collect();
        identity::compare(&footer, &shape, &values).map_err(|mismatch| ViewError::NotIdentity {
            path: plan.path.clone(),
            mismatch,
            advice: if self.layout == Layout::Flat && !partition_columns.is_empty() {
                "--layout hive, which shows partition values as directories, or --view raw to have \
                 its own bytes"
            } else {
                "--view raw to have its own bytes"
            },
        })
    }

    /// How a file is presented, looking at its footer where the log does not tell; with the reason
    /// where it is not.
    pub fn class(&self, plan: Result<OpenPlan, ViewError>) -> (Class, Option<ViewError>) {
        match plan.and_then(|plan| self.carry_out(&plan)) {
            Ok(_) if self.view == View::Raw => (Class::Raw, None),
            Ok(_) => (Class::Identity, None),
            Err(error) => (Class::Unsupported, Some(error)),
        }
    }
}

/// What has to be opened for a presented file.
#[derive(Debug)]
pub struct OpenPlan {
    id: FileId,
    location: crate::storage::Location,
    path: String,
    size: u64,
    partition_values: Vec<Option<String>>,
}

/// The path of a file in the raw view: its own. `None` where that is no path that can be shown, or
/// none below the table root, or looks like a made name; such a file gets a made name.
pub(super) fn raw_path<'a>(file: &FileRef<'a>) -> Option<&'a str> {
    if file.absolute || name::parse_presented(file.path).is_some() {
        return None;
    }
    name::raw_name(file.path)
}
