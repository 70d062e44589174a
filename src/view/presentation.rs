//! How the files of one schema are presented: their names, and the bytes behind them.

mod find;

use std::fs::File;
use std::sync::Arc;

use parking_lot::Mutex;

use super::content::Contents;
use super::error::ViewError;
use super::hive::HiveDirs;
use super::presented::PresentedFile;
use super::{Class, Layout, OpenPlan, View, ViewOptions, name};
use crate::snapshot::{FileId, FileRef, FileTable, ProvenanceView, Snapshot, TableShape};
use crate::storage::TableRoots;
use find::HashedNames;

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

impl Presentation {
    /// The presentation of the schema of `snapshot`, which must be readable; nothing else of it counts.
    /// An error when the layout cannot show the partition columns.
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
            may_be_original: match view {
                View::Raw => true,
                View::Logical => {
                    let shape = shape_of(&snapshot);
                    snapshot.metadata().partition_columns.is_empty()
                        && !shape.schema.is_renamed(shape.mapping)
                }
            },
            contents: Contents::new(roots, options.clone(), snapshot.clone()),
            snapshot,
            names: Mutex::default(),
        })
    }

    /// Whether `snapshot` is presented by this.
    pub(super) fn presents(&self, snapshot: &Snapshot) -> bool {
        self.snapshot.same_definition(snapshot)
            || snapshot
                .readable()
                .is_ok_and(|other| other.fingerprint == self.fingerprint())
    }

    fn shape(&self) -> &TableShape {
        shape_of(&self.snapshot)
    }

    /// Which schema this presents.
    fn fingerprint(&self) -> u64 {
        self.shape().fingerprint
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
                    .schema
                    .field(column)
                    .map_or(column.as_str(), |field| field.name_in_files(shape.mapping));
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
        match self.kept_name(file, provenance) {
            Some(own) => out.push_str(own),
            None => self.hashed_name(file, out),
        }
    }

    /// Appends the name that a file has where it cannot have its own.
    pub(super) fn hashed_name(&self, file: &FileRef<'_>, out: &mut String) {
        let dv = file.deletion_vector.map(|dv| dv.unique_id.as_str());
        name::presented_name(file.path, dv, self.fingerprint(), self.layout, out);
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
    fn own_name<'a>(&self, file: &FileRef<'a>) -> Option<&'a str> {
        (self.may_be_original
            && !file.absolute
            && self.layout == Layout::Flat
            && file.deletion_vector.is_none())
        .then(|| name::own_name(file.path))
        .flatten()
    }

    /// The name of the data file itself, where that is what it is called: it promises its own bytes.
    fn kept_name<'a>(
        &self,
        file: &FileRef<'a>,
        provenance: Option<ProvenanceView>,
    ) -> Option<&'a str> {
        let shape = provenance?.added_under(file)?;
        (shape == self.fingerprint()).then(|| self.own_name(file))?
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
            promised: self.kept_name(&file, provenance).is_some(),
        }
    }

    /// The size of a presented file, where it is known without looking at the file.
    ///
    /// A file under its own name may be taken to be as long as the log says, if enough others kept
    /// the promise that their bytes are their own and none broke it. [`PresentedFile::size`] has the
    /// last word.
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
        let believed = self.contents.believes(file.modified);
        (believed && self.kept_name(file, provenance).is_some()).then_some(file.size)
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

fn shape_of(snapshot: &Snapshot) -> &TableShape {
    snapshot
        .readable()
        .expect("only readable versions are presented")
}

/// The path of a file in the raw view: its own. `None` where that is no path that can be shown, or
/// none below the table root, or looks like a made name; such a file gets a made name.
pub(super) fn raw_path<'a>(file: &FileRef<'a>) -> Option<&'a str> {
    if file.absolute || name::parse_presented(file.path).is_some() {
        return None;
    }
    name::raw_name(file.path)
}
