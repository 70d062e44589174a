//! Data files on their way into the table.

use std::fs::File;
use std::sync::Arc;

use uuid::Uuid;

use crate::intake::{Content, DataFile, StagedFile};
use crate::log::write::AddFile;
use crate::schema::{HIVE_DEFAULT_PARTITION, MappingMode, escape_hive};
use crate::snapshot::TableShape;
use crate::storage::{Location, StorageError};

/// The longest name that a directory or a file can have, bytes.
const NAME_MAX: usize = 255;

/// A data file with the name that it will have.
pub(super) struct Publishable<'a> {
    pub(super) file: &'a StagedFile,
    pub(super) part: DataFile,
    /// Below the table root.
    pub(super) path: String,
}

impl Publishable<'_> {
    /// Its bytes, open.
    pub(super) fn source(&self) -> Result<Arc<File>, StorageError> {
        match &self.part.content {
            Content::AsStaged => self.file.bytes.open(),
            Content::Made(made) => made.open(),
        }
    }

    /// The action that adds it.
    pub(super) fn to_add(&self, modified: i64, data_change: bool) -> AddFile {
        AddFile {
            path: Location::Relative(self.path.clone()).to_log_path(),
            partition_values: self.part.partition_values.clone(),
            size: self.part.size,
            modification_time: modified,
            data_change,
            stats: Some(self.part.stats.clone()),
            tags: None,
            deletion_vector: None,
            base_row_id: None,
            default_row_commit_version: None,
            clustering_provider: None,
        }
    }
}

/// The path of a data file below the table root: under `column=value` directories as other writers
/// have it, except where the names in the log are not those of the columns, or where a value makes
/// no name.
pub(super) fn data_path(
    part: &DataFile,
    number: usize,
    id: Uuid,
    partition_columns: &[String],
    shape: &TableShape,
) -> String {
    let codec = part
        .codec
        .map_or_else(String::new, |codec| format!(".{codec}"));
    let name = format!("part-{number:05}-{id}-c000{codec}.parquet");
    if shape.mapping != MappingMode::None {
        return name;
    }
    let mut path = String::new();
    for column in partition_columns {
        let value = part.partition_values.get(column).and_then(Option::as_deref);
        let value = value.filter(|value| !value.is_empty());
        let value = value.unwrap_or(HIVE_DEFAULT_PARTITION);
        let segment = format!("{}={}", escape_hive(column), escape_hive(value));
        if segment.len() > NAME_MAX {
            return name;
        }
        path.push_str(&segment);
        path.push('/');
    }
    path + &name
}
