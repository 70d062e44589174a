//! The files of one version as they are presented: a tree of directories and names.

use std::sync::{Arc, OnceLock};

use roaring::RoaringBitmap;

use super::directories::Directories;
use super::presentation::{Presentation, raw_path};
use super::{ViewError, ViewOptions};
use crate::base::Version;
use crate::snapshot::{
    FileId, FileRef, FileTable, Generation, ProvenanceView, Snapshot, SnapshotError,
};

/// Why a version cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum VersionError {
    /// It cannot be built or read.
    #[error(transparent)]
    Snapshot(Arc<SnapshotError>),
    /// The layout cannot show it.
    #[error(transparent)]
    View(Arc<ViewError>),
}

impl From<ViewError> for VersionError {
    fn from(error: ViewError) -> VersionError {
        VersionError::View(Arc::new(error))
    }
}

impl From<Arc<ViewError>> for VersionError {
    fn from(error: Arc<ViewError>) -> VersionError {
        VersionError::View(error)
    }
}

impl From<SnapshotError> for VersionError {
    fn from(error: SnapshotError) -> VersionError {
        VersionError::Snapshot(Arc::new(error))
    }
}

impl From<Arc<SnapshotError>> for VersionError {
    fn from(error: Arc<SnapshotError>) -> VersionError {
        VersionError::Snapshot(error)
    }
}

/// The live files of one version under the names that they have in a mount, and where each stands.
pub struct VersionView {
    generation: Arc<Generation>,
    snapshot: Arc<Snapshot>,
    presentation: Arc<Presentation>,
    provenance: Option<ProvenanceView>,
    /// The live files that are shown, where these are not all of the snapshot.
    shown: Option<RoaringBitmap>,
    directories: OnceLock<Result<Directories, Arc<ViewError>>>,
}

impl VersionView {
    /// The view of one version; an error when it cannot be built or read. `known` are presentations of
    /// other versions, one of which may fit.
    pub fn new(
        generation: Arc<Generation>,
        version: Version,
        options: &ViewOptions,
        known: &[Arc<Presentation>],
    ) -> Result<VersionView, VersionError> {
        let snapshot = generation.snapshot(version)?;
        snapshot.readable()?;
        let presentation = match known.iter().find(|known| known.presents(&snapshot)) {
            Some(known) => known.clone(),
            None => Arc::new(Presentation::new(
                generation.roots().clone(),
                options,
                snapshot.clone(),
            )?),
        };
        let provenance = if presentation.wants_provenance() {
            Some(generation.prepare_provenance(version)?)
        } else {
            None
        };
        let shown = match presentation.is_raw() {
            true => None,
            false => {
                let hidden = generation.without_rows(&snapshot);
                (!hidden.is_empty()).then(|| snapshot.files() - hidden)
            }
        };
        let view = VersionView {
            generation,
            shown,
            snapshot,
            presentation,
            provenance,
            directories: OnceLock::new(),
        };
        if view.presentation.is_raw() {
            // Names depend on them, and are asked for by callers that hold the file table.
            view.directories()?;
        }
        Ok(view)
    }

    /// The version.
    pub fn version(&self) -> Version {
        self.snapshot.version()
    }

    /// The state of the version.
    pub fn snapshot(&self) -> &Arc<Snapshot> {
        &self.snapshot
    }

    /// The live files that are shown: all but those of which every row is deleted.
    pub fn files(&self) -> &RoaringBitmap {
        self.shown.as_ref().unwrap_or(self.snapshot.files())
    }

    /// The table it belongs to.
    pub fn generation(&self) -> &Arc<Generation> {
        &self.generation
    }

    /// Where its files came from, where names depend on it.
    pub fn provenance(&self) -> Option<ProvenanceView> {
        self.provenance
    }

    /// How its files are presented.
    pub fn presentation(&self) -> &Arc<Presentation> {
        &self.presentation
    }

    /// Whether all files lie in the version directory itself.
    pub fn is_flat(&self) -> bool {
        self.presentation.is_flat()
    }

    /// The directories and which files lie in each. Made when first asked for. An error when the
    /// layout cannot show a partition value: leaving the file out would leave out its rows.
    pub fn directories(&self) -> Result<&Directories, Arc<ViewError>> {
        match self.directories.get() {
            Some(made) => made.as_ref().map_err(Arc::clone),
            None => self.directories_of(&self.generation.files()),
        }
    }

    /// [`VersionView::directories`] for callers that hold the file table already.
    fn directories_of(&self, files: &FileTable) -> Result<&Directories, Arc<ViewError>> {
        let made = self.directories.get_or_init(|| {
            let mut directories = Directories::default();
            let mut path = String::new();
            for id in self.files() {
                path.clear();
                self.presentation.directory(&files.get(id), &mut path)?;
                directories.insert(&path, id);
            }
            if self.presentation.is_raw() {
                directories.note_shadowed(|id| raw_path(&files.get(id))?.rsplit('/').next());
            }
            Ok(directories)
        });
        made.as_ref().map_err(Arc::clone)
    }

    /// Appends the name of a live file within its directory to `out`.
    pub fn name(&self, file: &FileRef<'_>, out: &mut String) {
        if self.is_shadowed(file) {
            self.presentation.hashed_name(file, out);
        } else {
            self.presentation.name(file, self.provenance, out);
        }
    }

    /// Whether a file cannot stand at its own path in the raw view, since other files lie in a
    /// directory of that path: on an object store they can.
    fn is_shadowed(&self, file: &FileRef<'_>) -> bool {
        let made = self
            .directories
            .get()
            .filter(|_| self.presentation.is_raw());
        made.is_some_and(|made| {
            made.as_ref()
                .is_ok_and(|directories| directories.is_shadowed(file.id))
        })
    }

    /// Appends the path of a live file below the version directory to `out`.
    pub fn path(&self, file: &FileRef<'_>, out: &mut String) {
        let start = out.len();
        if self.presentation.directory(file, out).is_err() {
            out.truncate(start);
        }
        if out.len() > start {
            out.push('/');
        }
        self.name(file, out);
    }

    /// The live file that is called `wanted` in the directory `directory` (`""` for the version
    /// directory itself).
    pub fn find(&self, files: &FileTable, directory: &str, wanted: &str) -> Option<FileId> {
        let live = |id| self.files().contains(id);
        let in_place = |id| live(id) && !self.is_shadowed(&files.get(id));
        self.presentation
            .find_raw(files, directory, wanted, &in_place)
            .or_else(|| {
                self.presentation
                    .find(files, self.provenance, directory, wanted, &live)
            })
    }
}
