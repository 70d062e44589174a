//! Finding files by their names.

use std::collections::HashMap;

use super::{Presentation, raw_path};
use crate::snapshot::{FileId, FileTable, ProvenanceView};
use crate::view::name;

/// Files by the hash in their names. Made when such a name is first looked up, and kept up with the
/// file table from then on.
#[derive(Default)]
pub(super) struct HashedNames {
    /// How many files of the table have been named.
    named: u32,
    by_hash: HashMap<u64, FileId>,
}

impl Presentation {
    /// The logical file, of those that `among` takes, that is called `wanted` in the directory
    /// `directory` (`""` for the version directory itself), except by its path in the raw view.
    pub(in crate::view) fn find(
        &self,
        files: &FileTable,
        provenance: Option<ProvenanceView>,
        directory: &str,
        wanted: &str,
        among: &dyn Fn(FileId) -> bool,
    ) -> Option<FileId> {
        self.find_hashed(files, directory, wanted, among)
            .or_else(|| self.find_kept(files, provenance, wanted, among))
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
        self.find_raw(files, directory, wanted, &|_| true)
            .or_else(|| self.find_hashed(files, directory, wanted, &|_| true))
            .or_else(|| {
                let (provenance, known) = provenance?;
                self.find_kept(files, Some(provenance), wanted, &|id| id < known)
            })
    }

    /// In the raw view, the logical file that is called by its path.
    pub(in crate::view) fn find_raw(
        &self,
        files: &FileTable,
        directory: &str,
        wanted: &str,
        among: &dyn Fn(FileId) -> bool,
    ) -> Option<FileId> {
        if !self.is_raw() {
            return None;
        }
        let path = match directory {
            "" => wanted.to_owned(),
            _ => format!("{directory}/{wanted}"),
        };
        files
            .with_path(&path, false)
            .find(|id| among(*id) && raw_path(&files.get(*id)).is_some())
    }

    /// The logical file that is called by the name of its data file.
    ///
    /// Where the log does not reach back far enough to tell under which schema a file was added, that
    /// name means nothing, even if an earlier mount has listed it: that the file's bytes are what this
    /// schema shows does not prove that they are what that one showed.
    fn find_kept(
        &self,
        files: &FileTable,
        provenance: Option<ProvenanceView>,
        wanted: &str,
        among: &dyn Fn(FileId) -> bool,
    ) -> Option<FileId> {
        files
            .with_path(wanted, false)
            .find(|id| among(*id) && self.kept_name(&files.get(*id), provenance).is_some())
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

    /// The logical files, of any version, whose hashed name is `wanted`: one, unless a file was
    /// added again with another size or other partition values.
    fn with_hashed_name(&self, files: &FileTable, wanted: &str) -> Vec<FileId> {
        let Some((stem, hash)) = name::parse_presented(wanted) else {
            return Vec::new();
        };
        let has_name = |id: FileId| {
            let mut name = String::new();
            self.hashed_name(&files.get(id), &mut name);
            name == wanted
        };
        // Nearly always the file lies in the table root and is called like the stem: then the index
        // of all names is not needed.
        let direct: Vec<FileId> = files
            .with_path(&format!("{stem}.parquet"), false)
            .filter(|id| has_name(*id))
            .collect();
        if !direct.is_empty() {
            return direct;
        }
        let Some(id) = self.with_hash(files, hash).filter(|id| has_name(*id)) else {
            return Vec::new();
        };
        let file = files.get(id);
        let dv = file.deletion_vector.map(|dv| dv.unique_id.as_str());
        files
            .with_path(file.path, file.absolute)
            .filter(|id| {
                let other = files.get(*id).deletion_vector;
                other.map(|other| other.unique_id.as_str()) == dv
            })
            .collect()
    }

    /// A file whose hashed name has that hash.
    fn with_hash(&self, files: &FileTable, hash: u64) -> Option<FileId> {
        let mut names = self.names.lock();
        let mut text = String::new();
        while (names.named as usize) < files.len() {
            let id = names.named;
            text.clear();
            self.hashed_name(&files.get(id), &mut text);
            if let Some((_, hash)) = name::parse_presented(&text) {
                names.by_hash.insert(hash, id);
            }
            names.named += 1;
        }
        names.by_hash.get(&hash).copied()
    }
}
