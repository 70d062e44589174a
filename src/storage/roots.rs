//! The table root and the other prefixes that data files may lie under.

use std::path::Path;
use std::sync::Arc;

use super::location::{is_plain, split_path, split_scheme};
use super::{Location, ObjectReader, StorageError, Store, StoreOptions, open_store};

/// The table root, and the prefixes outside it that the person who mounts allowed.
#[derive(Debug, Clone)]
pub struct TableRoots {
    root: Place,
    allowed: Vec<Place>,
}

/// A store and the absolute locations that lie in it.
#[derive(Debug, Clone)]
struct Place {
    store: Arc<dyn Store>,
    /// Canonical locations of its root (see [`Location`]), each with one slash at its end: as it
    /// was given, and for a local one also with its symlinks resolved.
    prefixes: Vec<String>,
}

impl TableRoots {
    /// `allow_paths` are `--allow-path` values: absolute local directories or URLs. One that is
    /// neither is [`StorageError::InvalidLocation`], one that does not exist
    /// [`StorageError::NotFound`].
    pub fn new(
        root: Arc<dyn Store>,
        allow_paths: &[String],
        options: &StoreOptions,
    ) -> Result<TableRoots, StorageError> {
        let allow = |path: &String| {
            if !path.starts_with('/') && split_scheme(path).is_none() {
                return Err(StorageError::InvalidLocation {
                    found: path.clone(),
                    expected: "an allowed prefix is an absolute path or a URL".to_owned(),
                });
            }
            Ok(Place::new(open_store(path, options)?))
        };
        Ok(TableRoots {
            root: Place::new(root),
            allowed: allow_paths.iter().map(allow).collect::<Result<_, _>>()?,
        })
    }

    /// The same allowed prefixes around another table root.
    #[must_use]
    pub fn around(&self, root: Arc<dyn Store>) -> TableRoots {
        TableRoots {
            root: Place::new(root),
            allowed: self.allowed.clone(),
        }
    }

    /// The store of the table itself.
    pub fn table(&self) -> &Arc<dyn Store> {
        &self.root.store
    }

    /// Opens a data file. [`StorageError::Outside`] when it lies neither under the table root nor
    /// under an allowed prefix, symlinks resolved; also when it has a `..` or an empty segment.
    pub fn open(&self, location: &Location) -> Result<Box<dyn ObjectReader>, StorageError> {
        match location {
            Location::Relative(path) => match self.table().open(path) {
                Err(error @ StorageError::Outside { .. }) if is_plain(path) => {
                    self.open_link_target(&self.root, path, error)
                }
                opened => opened,
            },
            Location::Absolute(url) => self.open_absolute(url),
        }
    }

    fn open_absolute(&self, url: &str) -> Result<Box<dyn ObjectReader>, StorageError> {
        let outside = || StorageError::Outside {
            location: url.to_owned(),
            root: self.table().root().to_owned(),
        };
        let (base, path) = split_path(url);
        if !path.strip_prefix('/').is_some_and(is_plain) {
            return Err(outside());
        }
        if let Some((place, path)) = self.place_of(url) {
            return match place.store.open(path) {
                Err(error @ StorageError::Outside { .. }) => {
                    self.open_link_target(place, path, error)
                }
                opened => opened,
            };
        }
        if base != LOCAL {
            return Err(outside());
        }
        // By way of a symlink it may lie under a prefix all the same.
        self.open_real(Path::new(path), outside())
    }

    /// Opens what the symlinks in `path`, which lead out of `place`, lead to.
    fn open_link_target(
        &self,
        place: &Place,
        path: &str,
        refused: StorageError,
    ) -> Result<Box<dyn ObjectReader>, StorageError> {
        let root = place.store.root();
        match root.starts_with('/') {
            true => self.open_real(&Path::new(root).join(path), refused),
            false => Err(refused),
        }
    }

    /// Opens a local file under the prefix that its real path has, or gives `refused` where it has
    /// none. Whatever changes between resolving and opening, the store that opens it does not
    /// leave its root.
    fn open_real(
        &self,
        path: &Path,
        refused: StorageError,
    ) -> Result<Box<dyn ObjectReader>, StorageError> {
        let Some(url) = real_location(path) else {
            return Err(refused);
        };
        match self.place_of(&url) {
            Some((place, path)) => place.store.open(path),
            None => Err(refused),
        }
    }

    /// The place that an absolute location lies in, and its path there.
    fn place_of<'a>(&'a self, url: &'a str) -> Option<(&'a Place, &'a str)> {
        std::iter::once(&self.root)
            .chain(&self.allowed)
            .find_map(|place| Some((place, place.path_of(url)?)))
    }
}

/// What the canonical location of a local file begins with.
const LOCAL: &str = "file://";

impl Place {
    fn new(store: Arc<dyn Store>) -> Place {
        let root = store.root();
        let mut prefixes = Vec::new();
        if root.starts_with('/') {
            // A path is not a URL: a `%` in it is one.
            prefixes.push(format!("{LOCAL}{root}"));
            prefixes.extend(real_location(Path::new(root)));
        } else if let Ok(Location::Absolute(url)) = Location::parse(root) {
            prefixes.push(url);
        }
        for prefix in &mut prefixes {
            if !prefix.ends_with('/') {
                prefix.push('/');
            }
        }
        prefixes.dedup();
        Place { store, prefixes }
    }

    fn path_of<'a>(&self, url: &'a str) -> Option<&'a str> {
        self.prefixes
            .iter()
            .find_map(|prefix| url.strip_prefix(prefix.as_str()))
    }
}

/// The canonical location of an existing local file, symlinks resolved.
#[allow(clippy::disallowed_methods)]
fn real_location(path: &Path) -> Option<String> {
    let real = std::fs::canonicalize(path).ok()?;
    Some(format!("{LOCAL}{}", real.to_str()?))
}

#[cfg(test)]
mod tests;
