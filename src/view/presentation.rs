//! How the files of one schema are presented: their names, and the bytes behind them.

use std::collections::HashMap;
use std::fs::File;
use std::sync::Arc;

use parking_lot::Mutex;

use super::content::Contents;
use super::error::ViewError;
use super::hive::HiveDirs;
use super::presented::PresentedFile;
use super::{Layout, View, ViewOptions, name};
use crate::base::clock::TimestampMs;
use crate::log::actions::DeletionVectorDescriptor;
use crate::snapshot::{FileId, FileRef, FileTable, ProvenanceView, Snapshot, TableShape};
use crate::storage::TableRoots;

/// What kind of work makes the bytes of a presented file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// The data file's own bytes, whatever the table is: `--view raw`.
    Raw,
    /// The data file's own bytes, which are the logical ones.
    Identity,
    /// The data file's own column chunks, with others and a footer that were made.
    Composed,
    /// As composed, and some column chunks are encoded anew.
    Rewritten,
    /// Not presentable in this release.
    Unsupported,
}

impl Class {
    /// The word for extended attributes and listings.
    pub fn as_str(self) -> &'static str {
        match self {
            Class::Raw => "raw",
            Class::Identity => "identity",
            Class::Composed => "composed",
            Class::Rewritten => "rewritten",
            Class::Unsupported => "unsupported",
        }
    }
}

/// Presents the files of all versions that share a schema. Two versions whose schemas have the same
/// fingerprint present the same logical file by the same name with the same bytes: what is found out
/// about it under one is known under the other.
pub struct Presentation {
    view: View,
    layout: Layout,
    snapshot: Arc<Snapshot>,
    hive: Option<HiveDirs>,
    contents: Contents,
    /// Whether files may be shown as they are, by what the schema tells: without partition columns
    /// that are to stand in them, and without renamed columns.
    may_be_original: bool,
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
        options: &ViewOptions,
        snapshot: Arc<Snapshot>,
    ) -> Result<Presentation, ViewError> {
        let ViewOptions { view, layout, .. } = *options;
        let hive = match (view, layout) {
            (View::Logical, Layout::Hive) => {
                Some(HiveDirs::new(&snapshot.metadata().partition_columns)?)
            }
            _ => None,
        };
        Ok(Presentation {
            view,
            layout,
            hive,
            may_be_original: match (view, snapshot.readable()) {
                (View::Logical, Ok(shape)) => {
                    snapshot.metadata().partition_columns.is_empty()
                        && !shape.schema.is_renamed(shape.mapping)
                }
                _ => true,
            },
            contents: Contents::new(roots, options.clone(), snapshot.clone()),
            snapshot,
            names: Mutex::default(),
        })
    }

    /// Whether `snapshot` is presented by this.
    pub(super) fn presents(&self, snapshot: &Snapshot) -> bool {
        self.snapshot.same_definition(snapshot)
            || match (self.shape(), snapshot.readable()) {
                (Some(own), Ok(other)) => own.fingerprint == other.fingerprint,
                _ => false,
            }
    }

    fn shape(&self) -> Option<&TableShape> {
        self.snapshot.readable().ok()
    }

    /// Whether names depend on where files came from.
    pub(super) fn wants_provenance(&self) -> bool {
        self.view == View::Logical && self.layout == Layout::Flat
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
        // Where the log does not reach back far enough to tell under which schema a file was added,
        // its own name means nothing, even if an earlier mount has listed it: that the file's bytes
        // are what this schema shows does not prove that they are what that one showed.
        let id = self.find_own(files, wanted, among)?;
        let shape = provenance?.added_under(&files.get(id))?;
        (self.shape()?.fingerprint == shape).then_some(id)
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

    /// The name of the data file itself, where it could stand in the version directory: where the
    /// log does not tell already that other bytes are shown than those of the file.
    pub(super) fn own_name<'a>(&self, file: &FileRef<'a>) -> Option<&'a str> {
        (self.may_be_original
            && !file.absolute
            && self.layout == Layout::Flat
            && file.deletion_vector.is_none())
        .then(|| name::own_name(file.path))
        .flatten()
    }

    /// Whether a file is called by its own name, which promises its own bytes.
    fn promises_own_bytes(&self, file: &FileRef<'_>, provenance: Option<ProvenanceView>) -> bool {
        let fingerprint = self.shape().map_or(0, |shape| shape.fingerprint);
        self.view == View::Logical
            && provenance.and_then(|provenance| provenance.added_under(file)) == Some(fingerprint)
            && self.own_name(file).is_some()
    }

    /// What has to be opened for a presented file.
    pub fn plan(
        &self,
        files: &FileTable,
        id: FileId,
        provenance: Option<ProvenanceView>,
    ) -> OpenPlan {
        let file = files.get(id);
        OpenPlan {
            id,
            location: file.location(),
            path: file.path.to_owned(),
            size: file.size,
            modified: file.modified,
            deletion_vector: file.deletion_vector.map(|dv| dv.descriptor.clone()),
            partition_values: self
                .partition_values(&file)
                .map(|(_, value)| value.map(str::to_owned))
                .collect(),
            promised: self.promises_own_bytes(&file, provenance),
        }
    }

    /// The size of a presented file, where it is known without looking at the file.
    ///
    /// A file under its own name is taken to be as long as the log says once thousands were looked
    /// at, and all of them kept the promise that their bytes are their own. [`PresentedFile::size`]
    /// has the last word.
    pub fn known_size(
        &self,
        file: &FileRef<'_>,
        provenance: Option<ProvenanceView>,
    ) -> Option<u64> {
        if self.view == View::Raw {
            return Some(file.size);
        }
        if let Some(size) = self.contents.known_size(file.id) {
            return Some(size);
        }
        let believed = self.contents.promises_are_believed();
        (believed && self.promises_own_bytes(file, provenance)).then_some(file.size)
    }

    /// The sizes of presented files, in the order of `plans`, looking at the files where it has to
    /// be, at several of them at once. `None` for one that cannot be had; opening it tells why.
    pub fn sizes(&self, plans: &[OpenPlan]) -> Vec<Option<u64>> {
        self.contents.sizes(plans)
    }

    /// Opens the bytes of a presented file.
    pub fn open(&self, plan: &OpenPlan) -> Result<PresentedFile, ViewError> {
        self.contents.open(plan)
    }

    /// The local file whose bytes, all of them, are those of a presented one that was opened by
    /// `plan`: the data file, or a clone of it, where one can be made and is worth it.
    pub fn backing(&self, plan: &OpenPlan, file: &PresentedFile) -> Option<Arc<File>> {
        self.contents.backing(plan, file)
    }

    /// How a file is presented, looking at its footer where the log does not tell; with the reason
    /// where it is not.
    pub fn class(&self, plan: &OpenPlan) -> (Class, Option<ViewError>) {
        match self.contents.class(plan) {
            Ok(class) => (class, None),
            Err(error) => (Class::Unsupported, Some(error)),
        }
    }
}

/// What has to be opened for a presented file.
#[derive(Debug)]
pub struct OpenPlan {
    pub(super) id: FileId,
    pub(super) location: crate::storage::Location,
    pub(super) path: String,
    /// `add.size`.
    pub(super) size: u64,
    /// `add.modificationTime`.
    pub(super) modified: TimestampMs,
    pub(super) deletion_vector: Option<DeletionVectorDescriptor>,
    pub(super) partition_values: Vec<Option<String>>,
    /// Whether the file's name promises its own bytes.
    pub(super) promised: bool,
}

/// The path of a file in the raw view: its own. `None` where that is no path that can be shown, or
/// none below the table root, or looks like a made name; such a file gets a made name.
pub(super) fn raw_path<'a>(file: &FileRef<'a>) -> Option<&'a str> {
    if file.absolute || name::parse_presented(file.path).is_some() {
        return None;
    }
    name::raw_name(file.path)
}
