//! The file actions of a version, from the log: commit files first, newest first, then the
//! checkpoint that they build on. What decides for a logical file is the first action met.

use std::io::{BufRead, BufReader};
use std::sync::Arc;
use std::sync::mpsc::sync_channel;

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Int64Array, RecordBatch, StringArray, StructArray,
};
use arrow::compute::filter;
use arrow::datatypes::{DataType, Int32Type, Int64Type};

use super::super::decode::{BATCHES_AHEAD, Cursor, Leaves, within};
use super::super::{DeletionVectorRef, sidecar_path};
use super::conform;
use super::fields::{add_fields, remove_fields};
use super::rows::{AddRows, FileLine, RemoveRows};
use super::statistics::json_of;
use super::{CheckpointSources, FileKey, Reconciliation, WriteError};
use crate::log::actions::{DeletionVectorDescriptor, Sidecar};
use crate::log::listing::CheckpointFiles;
use crate::log::names::commit_name;
use crate::log::{LogError, log_path};
use crate::storage::{StorageError, Store};

/// Bytes of a JSON file that are read together.
const READ_AT_ONCE: usize = 4 * 1024 * 1024;

/// Some file actions that the checkpoint takes.
pub(super) enum FileRows {
    /// Of `fields::add_fields`, and their `stats_parsed` where it has been found as it is wanted.
    Adds(StructArray, Option<ArrayRef>),
    /// Of `fields::remove_fields`.
    Removes(StructArray),
}

/// Where taken actions go.
type Out<'a> = dyn FnMut(FileRows) -> Result<(), WriteError> + 'a;

/// Feeds every file action of `sources` to `choice`, and those it takes to `out`. `statistics` is the
/// type that `stats_parsed` is wanted in.
pub(super) fn gather(
    store: &dyn Store,
    sources: &CheckpointSources,
    statistics: Option<&DataType>,
    choice: &mut dyn Reconciliation,
    out: &mut Out<'_>,
) -> Result<(), WriteError> {
    for version in sources.commits.clone().rev() {
        read_json(store, &log_path(&commit_name(version)), choice, out)?;
    }
    let Some((_, files)) = &sources.checkpoint else {
        return Ok(());
    };
    let names: Vec<&String> = match files {
        CheckpointFiles::Classic(name)
        | CheckpointFiles::UuidParquet(name)
        | CheckpointFiles::UuidJson(name) => vec![name],
        CheckpointFiles::Parts(names) => names.iter().collect(),
    };
    let mut sidecars: Vec<(String, Sidecar)> = Vec::new();
    for name in names {
        let path = log_path(name);
        let found = match files {
            CheckpointFiles::UuidJson(_) => read_json(store, &path, choice, out)?,
            _ => read_parquet(store, &path, statistics, choice, out)?,
        };
        sidecars.extend(found.into_iter().map(|sidecar| (path.clone(), sidecar)));
    }
    for (checkpoint, sidecar) in sidecars {
        let path = sidecar_path(&sidecar, &checkpoint)?;
        read_parquet(store, &path, statistics, choice, out)?;
    }
    Ok(())
}

fn bad_checkpoint(path: &str, problem: String) -> WriteError {
    WriteError::Log(LogError::BadCheckpoint {
        file: path.to_owned(),
        problem,
    })
}

/// Streams a commit file or a JSON checkpoint; answers the sidecars it names.
fn read_json(
    store: &dyn Store,
    path: &str,
    choice: &mut dyn Reconciliation,
    out: &mut Out<'_>,
) -> Result<Vec<Sidecar>, WriteError> {
    let mut input = BufReader::with_capacity(READ_AT_ONCE, Cursor::new(store.open(path)?.into()));
    let (mut adds, mut removes) = (AddRows::new(), RemoveRows::new());
    let mut sidecars = Vec::new();
    let mut line = Vec::new();
    for number in 0_u32.. {
        line.clear();
        let read = input.read_until(b'\n', &mut line).map_err(|error| {
            match error.downcast::<StorageError>() {
                Ok(error) => WriteError::from(error),
                Err(source) => WriteError::from(StorageError::Io {
                    operation: "read",
                    location: path.to_owned(),
                    source,
                }),
            }
        })?;
        if read == 0 {
            break;
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        let actions: FileLine<'_> = serde_json::from_slice(&line)
            .map_err(|error| LogError::bad_line(path, number as usize, &line, &error))?;
        let bad = |action: &'static str, problem: String| LogError::BadAction {
            file: format!("{path} line {}", u64::from(number) + 1),
            action,
            problem,
        };
        if let Some(add) = &actions.add {
            let key = key_of(&add.path, add.deletion_vector.as_ref());
            if choice
                .add(&key, path, number)
                .and_then(|taken| taken.then(|| adds.push(add, line.len())).transpose())
                .map_err(|problem| bad("add", problem))?
                .is_some()
                && adds.is_full()
            {
                let rows = adds.finish().map_err(|problem| bad("add", problem))?;
                out(FileRows::Adds(rows, None))?;
            }
        }
        if let Some(remove) = &actions.remove {
            let key = key_of(&remove.path, remove.deletion_vector.as_ref());
            if choice
                .remove(&key, remove.deletion_timestamp)
                .and_then(|taken| taken.then(|| removes.push(remove, line.len())).transpose())
                .map_err(|problem| bad("remove", problem))?
                .is_some()
                && removes.is_full()
            {
                let rows = removes.finish().map_err(|problem| bad("remove", problem))?;
                out(FileRows::Removes(rows))?;
            }
        }
        sidecars.extend(actions.sidecar);
    }
    let rest = adds
        .finish()
        .map_err(|problem| bad_checkpoint(path, problem))?;
    out(FileRows::Adds(rest, None))?;
    let rest = removes
        .finish()
        .map_err(|problem| bad_checkpoint(path, problem))?;
    out(FileRows::Removes(rest))?;
    Ok(sidecars)
}

fn key_of<'a>(path: &'a str, dv: Option<&'a DeletionVectorDescriptor>) -> FileKey<'a> {
    FileKey {
        path,
        deletion_vector: dv.map(|dv| DeletionVectorRef {
            storage_type: &dv.storage_type,
            path_or_inline_dv: &dv.path_or_inline_dv,
            offset: dv.offset,
            size_in_bytes: dv.size_in_bytes,
            cardinality: dv.cardinality,
        }),
    }
}

/// Decodes a Parquet checkpoint file or sidecar ahead, on a thread of its own; answers the sidecars
/// it names.
fn read_parquet(
    store: &dyn Store,
    path: &str,
    statistics: Option<&DataType>,
    choice: &mut dyn Reconciliation,
    out: &mut Out<'_>,
) -> Result<Vec<Sidecar>, WriteError> {
    let leaves = Leaves::open(store, path, |leaf| {
        is_kept(leaf, "add.", &add_fields())
            || is_kept(leaf, "remove.", &remove_fields())
            || within(
                leaf,
                &["add.stats_parsed", "sidecar.path", "sidecar.sizeInBytes"],
            )
    })?;
    let bad = |problem: String| bad_checkpoint(path, problem);
    let mut sidecars = Vec::new();
    let (sender, receiver) = sync_channel(BATCHES_AHEAD);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let result = leaves.decode(|batch| sender.send(Ok(batch)).is_ok());
            if let Err(problem) = result {
                // Nobody listens any more only when the consumer has failed already.
                let _ = sender.send(Err(problem));
            }
        });
        for batch in receiver {
            let batch: RecordBatch = batch.map_err(bad)?;
            sidecars.extend(sidecars_of(&batch).map_err(bad)?);
            if let Some(rows) = adds_of(&batch, path, statistics, choice).map_err(bad)? {
                out(rows)?;
            }
            if let Some(rows) = removes_of(&batch, choice).map_err(bad)? {
                out(FileRows::Removes(rows))?;
            }
        }
        Ok(sidecars)
    })
}

/// Whether `leaf` lies in one of `fields`. What `dataChange` says is not asked.
fn is_kept(leaf: &str, prefix: &str, fields: &arrow::datatypes::Fields) -> bool {
    leaf.strip_prefix(prefix).is_some_and(|rest| {
        let first = rest.split('.').next().unwrap_or(rest);
        first != "dataChange" && fields.iter().any(|field| field.name() == first)
    })
}

fn sidecars_of(batch: &RecordBatch) -> Result<Vec<Sidecar>, String> {
    let mut state = super::super::CheckpointState::default();
    let columns: Vec<usize> = (batch.schema().fields().iter().enumerate())
        .filter(|(_, field)| field.name() == "sidecar")
        .map(|(index, _)| index)
        .collect();
    let batch = batch.project(&columns).map_err(|error| error.to_string())?;
    super::super::columns::read_state(&batch, &mut state)?;
    Ok(state.sidecars)
}

/// The struct column `name`.
fn action<'a>(batch: &'a RecordBatch, name: &str) -> Result<Option<&'a StructArray>, String> {
    match batch.column_by_name(name) {
        None => Ok(None),
        Some(column) => match column.as_struct_opt() {
            Some(column) => Ok(Some(column)),
            None => Err(format!(
                "column {name} has type {}, expected struct",
                column.data_type()
            )),
        },
    }
}

fn adds_of(
    batch: &RecordBatch,
    path: &str,
    statistics: Option<&DataType>,
    choice: &mut dyn Reconciliation,
) -> Result<Option<FileRows>, String> {
    let Some(found) = action(batch, "add")? else {
        return Ok(None);
    };
    let adds = conform::structure(found, &add_fields(), "add")?;
    let keys = Keys::of(&adds)?;
    let mask = keys.mask(|key| choice.add(key, path, u32::MAX))?;
    let Some(adds) = taken(&adds, &mask)? else {
        return Ok(None);
    };
    let parsed = match found.column_by_name("stats_parsed") {
        Some(parsed) => Some(filter(parsed, &mask).map_err(|error| error.to_string())?),
        None => None,
    };
    let length = adds.len();
    let (fields, mut columns, _) = adds.into_parts();
    let mut kept = None;
    for (field, column) in fields.iter().zip(&mut columns) {
        match (field.name().as_str(), &parsed) {
            ("dataChange", _) => *column = not_changed(length),
            ("stats", Some(parsed)) => {
                let in_both = (0..length).all(|row| parsed.is_valid(row) || column.is_null(row));
                kept = (in_both && statistics == Some(parsed.data_type())).then(|| parsed.clone());
                if (0..length).any(|row| column.is_null(row) && parsed.is_valid(row)) {
                    // Statistics that are there as columns alone.
                    let rendered = json_of(parsed)?;
                    let text = column.as_string::<i32>();
                    let text = text.iter().zip(&rendered).map(|(text, json)| text.or(json));
                    *column = Arc::new(text.collect::<StringArray>());
                }
            }
            _ => {}
        }
    }
    StructArray::try_new(fields, columns, None)
        .map(|rows| Some(FileRows::Adds(rows, kept)))
        .map_err(|error| error.to_string())
}

fn removes_of(
    batch: &RecordBatch,
    choice: &mut dyn Reconciliation,
) -> Result<Option<StructArray>, String> {
    let Some(found) = action(batch, "remove")? else {
        return Ok(None);
    };
    let removes = conform::structure(found, &remove_fields(), "remove")?;
    let keys = Keys::of(&removes)?;
    let times: &Int64Array = removes
        .column_by_name("deletionTimestamp")
        .and_then(|column| column.as_primitive_opt::<Int64Type>())
        .ok_or("column remove has no long deletionTimestamp")?;
    let mask = keys.mask_rows(|row, key| {
        let time = times.is_valid(row).then(|| times.value(row));
        choice.remove(key, time)
    })?;
    let Some(removes) = taken(&removes, &mask)? else {
        return Ok(None);
    };
    let length = removes.len();
    let (fields, mut columns, _) = removes.into_parts();
    for (field, column) in fields.iter().zip(&mut columns) {
        if field.name() == "dataChange" {
            *column = not_changed(length);
        }
    }
    StructArray::try_new(fields, columns, None)
        .map(Some)
        .map_err(|error| error.to_string())
}

fn not_changed(length: usize) -> ArrayRef {
    Arc::new(BooleanArray::from(vec![false; length]))
}

/// The rows of `mask`, if there are any.
fn taken(rows: &StructArray, mask: &BooleanArray) -> Result<Option<StructArray>, String> {
    if mask.true_count() == 0 {
        return Ok(None);
    }
    let rows = filter(rows, mask).map_err(|error| error.to_string())?;
    Ok(rows.as_struct_opt().cloned())
}

/// What tells the logical files of `add` or `remove` rows.
struct Keys<'a> {
    rows: &'a StructArray,
    path: &'a StringArray,
    vectors: &'a StructArray,
    storage_type: &'a StringArray,
    vector_path: &'a StringArray,
    offset: &'a arrow::array::Int32Array,
    size: &'a arrow::array::Int32Array,
    cardinality: &'a Int64Array,
}

impl<'a> Keys<'a> {
    /// `rows` has the fields of `fields::add_fields` or `fields::remove_fields`.
    fn of(rows: &'a StructArray) -> Result<Keys<'a>, String> {
        let missing = |name: &str| format!("no column {name} of the expected type");
        let text = |array: &'a StructArray, name: &str| {
            array
                .column_by_name(name)
                .and_then(|column| column.as_string_opt::<i32>())
                .ok_or_else(|| missing(name))
        };
        let vectors = rows
            .column_by_name("deletionVector")
            .and_then(|column| column.as_struct_opt())
            .ok_or_else(|| missing("deletionVector"))?;
        let int = |name: &str| {
            vectors
                .column_by_name(name)
                .and_then(|column| column.as_primitive_opt::<Int32Type>())
                .ok_or_else(|| missing(name))
        };
        Ok(Keys {
            rows,
            path: text(rows, "path")?,
            vectors,
            storage_type: text(vectors, "storageType")?,
            vector_path: text(vectors, "pathOrInlineDv")?,
            offset: int("offset")?,
            size: int("sizeInBytes")?,
            cardinality: vectors
                .column_by_name("cardinality")
                .and_then(|column| column.as_primitive_opt::<Int64Type>())
                .ok_or_else(|| missing("cardinality"))?,
        })
    }

    /// The rows that `choice` takes. A row without path holds another action.
    fn mask_rows(
        &self,
        mut choice: impl FnMut(usize, &FileKey<'_>) -> Result<bool, String>,
    ) -> Result<BooleanArray, String> {
        let mut taken = Vec::with_capacity(self.rows.len());
        for row in 0..self.rows.len() {
            if self.rows.is_null(row) || self.path.is_null(row) {
                taken.push(false);
                continue;
            }
            let has_vector = self.vectors.is_valid(row) && self.storage_type.is_valid(row);
            let key = FileKey {
                path: self.path.value(row),
                deletion_vector: has_vector.then(|| DeletionVectorRef {
                    storage_type: self.storage_type.value(row),
                    path_or_inline_dv: self.vector_path.value(row),
                    offset: self.offset.is_valid(row).then(|| self.offset.value(row)),
                    size_in_bytes: self.size.value(row),
                    cardinality: self.cardinality.value(row),
                }),
            };
            taken.push(choice(row, &key)?);
        }
        Ok(taken.into())
    }

    fn mask(
        &self,
        mut choice: impl FnMut(&FileKey<'_>) -> Result<bool, String>,
    ) -> Result<BooleanArray, String> {
        self.mask_rows(|_, key| choice(key))
    }
}
