//! Every logical file ever seen, once. Versions are bitmaps over it.

mod arena;
mod partitions;

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::Arc;

use hashbrown::{DefaultHashBuilder, HashTable};
use roaring::RoaringBitmap;

use self::arena::{Arena, Chunked, Text};
use self::partitions::Partitions;
use crate::base::clock::TimestampMs;
use crate::log::actions::DeletionVectorDescriptor;
use crate::storage::{Location, StorageError};

/// The number of a logical file in a [`FileTable`].
pub type FileId = u32;

const NONE: u32 = u32::MAX;

/// A deletion vector together with its unique id.
#[derive(Debug, PartialEq, Eq)]
pub struct DeletionVector {
    /// `deletionVector.uniqueId` (PROTOCOL.md, "Derived Fields").
    pub unique_id: String,
    /// Where it is stored, and how many rows it deletes.
    pub descriptor: DeletionVectorDescriptor,
}

/// Where the statistics of a logical file lie: a file of the log and a line or row of it, from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatisticsSource {
    /// Path relative to the table root.
    pub path: Arc<str>,
    /// Line of a JSON file, or row of a Parquet file.
    pub position: u32,
}

/// What is known of a logical file.
#[derive(Debug)]
pub struct FileRef<'a> {
    /// Its number.
    pub id: FileId,
    /// Its decoded path: relative to the table root, or, when `absolute`, a URL.
    pub path: &'a str,
    /// Whether `path` is absolute.
    pub absolute: bool,
    /// Size of the data file, bytes.
    pub size: u64,
    /// `add.modificationTime`.
    pub modified: TimestampMs,
    /// Physical partition column names and values, as in the log.
    pub partition_values: &'a [(Arc<str>, Option<Arc<str>>)],
    /// Its deletion vector.
    pub deletion_vector: Option<&'a DeletionVector>,
    /// Fingerprint of the schema of the version whose commit first added the data file, where
    /// `FileTable::set_added_under` has told it.
    pub added_under: Option<u64>,
    /// Where its statistics lie.
    pub statistics: StatisticsSource,
}

impl FileRef<'_> {
    /// Where the data file lies.
    pub fn location(&self) -> Location {
        if self.absolute {
            Location::Absolute(self.path.to_owned())
        } else {
            Location::Relative(self.path.to_owned())
        }
    }
}

/// One row of the table. Field order keeps it at 56 bytes: there are millions.
#[derive(Clone, Copy)]
struct Row {
    size: u64,
    modified: TimestampMs,
    added_under: u64,
    path: Text,
    partition: u32,
    deletion_vector: u32,
    source: u32,
    position: u32,
    /// The logical file with the same path that was interned before this one.
    previous: u32,
    absolute: bool,
    added_under_known: bool,
}

/// A logical file to intern.
pub(super) struct NewFile<'a> {
    pub path: &'a str,
    pub absolute: bool,
    pub size: u64,
    pub modified: TimestampMs,
    pub partition: u32,
    pub deletion_vector: Option<u32>,
    pub source: u32,
    pub position: u32,
}

/// Interns logical files by (decoded path, deletion vector id). It only grows.
///
/// Invariant: `index` holds, for each distinct path, the newest logical file with it; older ones
/// hang behind it by `Row::previous`.
#[derive(Default)]
pub struct FileTable {
    rows: Chunked<Row>,
    paths: Arena,
    index: HashTable<u32>,
    hasher: DefaultHashBuilder,
    partitions: Partitions,
    deletion_vectors: Vec<DeletionVector>,
    deletion_vector_ids: HashMap<String, u32>,
    with_deletion_vector: RoaringBitmap,
    sources: Vec<Arc<str>>,
}

impl FileTable {
    /// How many logical files are known.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether none is known.
    pub fn is_empty(&self) -> bool {
        self.rows.len() == 0
    }

    /// A logical file. `id` must be one that this table gave out.
    pub fn get(&self, id: FileId) -> FileRef<'_> {
        let row = self.rows.get(id);
        FileRef {
            id,
            path: self.paths.get(row.path),
            absolute: row.absolute,
            size: row.size,
            modified: row.modified,
            partition_values: self.partitions.get(row.partition),
            deletion_vector: self.deletion_vectors.get(row.deletion_vector as usize),
            added_under: row.added_under_known.then_some(row.added_under),
            statistics: StatisticsSource {
                path: self.sources[row.source as usize].clone(),
                position: row.position,
            },
        }
    }

    /// The size of a logical file's data file, bytes.
    pub fn size(&self, id: FileId) -> u64 {
        self.rows.get(id).size
    }

    /// The logical files with a path, newest interned first.
    pub fn with_path(&self, path: &str, absolute: bool) -> impl Iterator<Item = FileId> + '_ {
        let hash = self.hash(path, absolute);
        let first = self
            .index
            .find(hash, |id| self.has_path(*id, path, absolute));
        std::iter::successors(first.copied(), |id| {
            Some(self.rows.get(*id).previous).filter(|previous| *previous != NONE)
        })
    }

    /// The logical files (path, deletion vector id): one, unless the same pair was added again with
    /// another size or other partition values.
    pub(super) fn find(
        &self,
        path: &str,
        absolute: bool,
        deletion_vector: Option<&DeletionVectorDescriptor>,
    ) -> impl Iterator<Item = FileId> + '_ {
        let wanted = match deletion_vector {
            None => Some(NONE),
            Some(dv) => self.deletion_vector_ids.get(&dv.unique_id()).copied(),
        };
        self.with_path(path, absolute)
            .filter(move |id| Some(self.rows.get(*id).deletion_vector) == wanted)
    }

    /// One of `ids` that shares its path with another of them.
    pub(super) fn twin_among(&self, ids: &RoaringBitmap) -> Option<FileId> {
        let earlier =
            |id: FileId| Some(self.rows.get(id).previous).filter(|previous| *previous != NONE);
        ids.iter().find(|id| {
            std::iter::successors(earlier(*id), |id| earlier(*id)).any(|other| ids.contains(other))
        })
    }

    /// Makes room for `count` more files.
    pub(super) fn reserve(&mut self, count: usize) {
        let FileTable {
            index,
            rows,
            paths,
            hasher,
            ..
        } = self;
        index.reserve(count, |id| {
            let row = rows.get(*id);
            hash_path(hasher, paths.get(row.path), row.absolute)
        });
    }

    /// The number of the file; `None` when 2^32 - 1 files are known already.
    ///
    /// A file known already takes the newer time and statistics: "information from the latest
    /// version should replace that from any previous version". One added again with another size
    /// or other partition values is another row, so that older versions keep theirs.
    pub(super) fn intern(&mut self, file: &NewFile<'_>) -> Option<FileId> {
        let hash = self.hash(file.path, file.absolute);
        let wanted = file.deletion_vector.unwrap_or(NONE);
        let newest = self
            .index
            .find(hash, |id| self.has_path(*id, file.path, file.absolute))
            .copied();
        let mut at = newest;
        while let Some(id) = at {
            let row = self.rows.get_mut(id);
            if row.deletion_vector == wanted
                && row.size == file.size
                && row.partition == file.partition
            {
                row.modified = file.modified;
                row.source = file.source;
                row.position = file.position;
                return Some(id);
            }
            at = Some(row.previous).filter(|previous| *previous != NONE);
        }
        let id = u32::try_from(self.rows.len())
            .ok()
            .filter(|id| *id != NONE)?;
        // Another deletion vector of a known path shares the stored path.
        let (path, added_under) = match newest {
            Some(newest) => {
                let row = self.rows.get(newest);
                (row.path, row.added_under_known.then_some(row.added_under))
            }
            None => (self.paths.push(file.path), None),
        };
        self.rows.push(Row {
            size: file.size,
            modified: file.modified,
            added_under: added_under.unwrap_or(0),
            path,
            partition: file.partition,
            deletion_vector: wanted,
            source: file.source,
            position: file.position,
            previous: newest.unwrap_or(NONE),
            absolute: file.absolute,
            added_under_known: added_under.is_some(),
        });
        if wanted != NONE {
            self.with_deletion_vector.insert(id);
        }
        let FileTable {
            index,
            rows,
            paths,
            hasher,
            ..
        } = self;
        match newest {
            Some(newest) => {
                if let Some(slot) = index.find_mut(hash, |known| *known == newest) {
                    *slot = id;
                }
            }
            None => {
                index.insert_unique(hash, id, |id| {
                    let row = rows.get(*id);
                    hash_path(hasher, paths.get(row.path), row.absolute)
                });
            }
        }
        Some(id)
    }

    /// Notes that the commit that first added the data file of `id` was made under the schema with
    /// the fingerprint `shape`. The first word counts.
    pub(super) fn set_added_under(&mut self, id: FileId, shape: u64) {
        let mut at = Some(id);
        while let Some(id) = at {
            let row = self.rows.get_mut(id);
            if row.added_under_known {
                return;
            }
            row.added_under = shape;
            row.added_under_known = true;
            at = Some(row.previous).filter(|previous| *previous != NONE);
        }
    }

    /// The logical files that have a deletion vector.
    pub fn with_deletion_vector(&self) -> &RoaringBitmap {
        &self.with_deletion_vector
    }

    /// The number of a tuple of partition values.
    pub(super) fn partition(&mut self, values: &[(&str, Option<&str>)]) -> u32 {
        self.partitions.intern(values)
    }

    /// The number of a deletion vector.
    pub(super) fn deletion_vector(&mut self, descriptor: DeletionVectorDescriptor) -> u32 {
        let unique_id = descriptor.unique_id();
        if let Some(id) = self.deletion_vector_ids.get(&unique_id) {
            return *id;
        }
        let id = self.deletion_vectors.len() as u32;
        self.deletion_vectors.push(DeletionVector {
            unique_id: unique_id.clone(),
            descriptor,
        });
        self.deletion_vector_ids.insert(unique_id, id);
        id
    }

    /// Gives a number to a file of the log, for the files whose statistics lie in it.
    pub(super) fn add_source(&mut self, path: &str) -> u32 {
        self.sources.push(path.into());
        (self.sources.len() - 1) as u32
    }

    fn has_path(&self, id: FileId, path: &str, absolute: bool) -> bool {
        let row = self.rows.get(id);
        row.absolute == absolute && self.paths.get(row.path) == path
    }

    fn hash(&self, path: &str, absolute: bool) -> u64 {
        hash_path(&self.hasher, path, absolute)
    }
}

fn hash_path(hasher: &DefaultHashBuilder, path: &str, absolute: bool) -> u64 {
    hasher.hash_one((path, absolute))
}

/// The decoded path of a log entry, borrowed where nothing needed decoding.
pub(super) fn decode_path(path: &str) -> Result<(Cow<'_, str>, bool), StorageError> {
    match Location::key(path)? {
        Cow::Borrowed(path) => Ok((Cow::Borrowed(path), false)),
        Cow::Owned(key) => match Location::from_key(&key) {
            Location::Relative(path) => Ok((Cow::Owned(path), false)),
            Location::Absolute(path) => Ok((Cow::Owned(path), true)),
        },
    }
}
