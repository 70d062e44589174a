//! The directories of a version, from the paths of its files.

use std::collections::{BTreeMap, BTreeSet};

use roaring::RoaringBitmap;

use crate::snapshot::FileId;

/// Directories by path (`""` is the version directory itself); each knows its subdirectories and
/// the files directly in it.
#[derive(Debug, Default)]
pub struct Directories {
    by_path: BTreeMap<Box<str>, Directory>,
    shadowed: RoaringBitmap,
}

#[derive(Debug, Default)]
struct Directory {
    subdirectories: BTreeSet<Box<str>>,
    files: Vec<FileId>,
}

impl Directories {
    /// Puts a file into the directory `path`, and that into its parents. Files come in ascending
    /// order.
    pub(super) fn insert(&mut self, path: &str, file: FileId) {
        if !self.by_path.contains_key(path) {
            self.make(path);
        }
        if let Some(directory) = self.by_path.get_mut(path) {
            directory.files.push(file);
        }
    }

    fn make(&mut self, path: &str) {
        self.by_path.entry(path.into()).or_default();
        let mut child = path;
        while !child.is_empty() {
            let (parent, name) = child.rsplit_once('/').unwrap_or(("", child));
            let known = self.by_path.contains_key(parent);
            let directory = self.by_path.entry(parent.into()).or_default();
            directory.subdirectories.insert(name.into());
            if known {
                break;
            }
            child = parent;
        }
    }

    /// Takes note of the files whose own name is that of a directory beside them.
    pub(super) fn note_shadowed<'a>(&mut self, own_name: impl Fn(FileId) -> Option<&'a str>) {
        let parents = self.by_path.values();
        for parent in parents.filter(|parent| !parent.subdirectories.is_empty()) {
            let shadowed = |id: &FileId| {
                own_name(*id).is_some_and(|name| parent.subdirectories.contains(name))
            };
            self.shadowed
                .extend(parent.files.iter().copied().filter(shadowed));
        }
    }

    /// Whether a file's own name is that of a directory beside it.
    pub fn is_shadowed(&self, file: FileId) -> bool {
        self.shadowed.contains(file)
    }

    /// Whether there is a directory `path`. The version directory always is.
    pub fn contains(&self, path: &str) -> bool {
        path.is_empty() || self.by_path.contains_key(path)
    }

    /// The names of the directories directly in `path`, sorted.
    pub fn subdirectories(&self, path: &str) -> impl Iterator<Item = &str> {
        self.by_path
            .get(path)
            .into_iter()
            .flat_map(|directory| directory.subdirectories.iter().map(|name| &**name))
    }

    /// The files directly in `path`, ascending.
    pub fn files(&self, path: &str) -> Option<&[FileId]> {
        self.by_path.get(path).map(|directory| &*directory.files)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_hold_their_subdirectories_and_files() {
        let mut directories = Directories::default();
        directories.insert("a=1/b=x", 1);
        directories.insert("", 2);
        directories.insert("a=1/b=y", 3);
        directories.insert("a=2/b=x", 4);
        directories.insert("a=1/b=x", 5);
        assert_eq!(directories.files(""), Some(&[2][..]));
        assert_eq!(directories.files("a=1/b=x"), Some(&[1, 5][..]));
        assert_eq!(directories.files("a=1"), Some(&[][..]));
        assert_eq!(directories.files("a=3"), None);
        let names = |path| directories.subdirectories(path).collect::<Vec<_>>();
        assert_eq!(names(""), ["a=1", "a=2"]);
        assert_eq!(names("a=1"), ["b=x", "b=y"]);
        assert_eq!(names("a=1/b=x"), [] as [&str; 0]);
        assert!(directories.contains("a=2") && !directories.contains("b=x"));
    }
}
