//! Reading back what was written.

use arrow::array::{Array, RecordBatch};

use super::super::columns::read_state;
use super::super::decode::Leaves;
use super::super::{AddBatch, AddSink, CheckpointState};
use super::digest::Digest;
use super::encode::Encoded;
use super::{Reconciliation, WriteError};
use crate::log::actions::Add;
use crate::storage::Store;

/// How much of a stored file is compared at once, bytes.
const COMPARED_AT_ONCE: usize = 4 * 1024 * 1024;

/// Decodes the files of a checkpoint that hold its adds, and compares these with the version.
/// `path` is that of the checkpoint. Returns what they hold besides file actions.
pub(super) fn read_back_all(
    path: &str,
    files: &[Encoded],
    choice: &dyn Reconciliation,
) -> Result<CheckpointState, WriteError> {
    choice.finish().map_err(|problem| differs(path, problem))?;
    let mut state = CheckpointState::default();
    let mut comparison = choice.comparison();
    for file in files {
        read_back(file, &mut state, &mut *comparison)?;
    }
    comparison
        .finish()
        .map_err(|problem| differs(path, problem))?;
    Ok(state)
}

/// Decodes the file of a V2 checkpoint that has sidecars; it must hold no adds of its own.
pub(super) fn read_back_without_adds(
    file: &Encoded,
    state: &mut CheckpointState,
) -> Result<(), WriteError> {
    read_back(file, state, &mut NoAdds)
}

/// Decodes a whole file of a checkpoint: its adds go to `sink`, what is no file action to `state`.
/// Every field of every file action must be what was written.
fn read_back(
    file: &Encoded,
    state: &mut CheckpointState,
    sink: &mut dyn AddSink,
) -> Result<(), WriteError> {
    let differs = |problem: String| differs(&file.path, problem);
    let leaves = Leaves::of_bytes(file.bytes.clone(), &file.path)
        .map_err(|error| differs(error.to_string()))?;
    let mut rows = 0_u64;
    let (mut adds, mut removes) = (Digest::default(), Digest::default());
    let mut problem = None;
    let decoded = leaves.decode(|batch| {
        let mut take = |batch: &RecordBatch| -> Result<(), String> {
            let first_row = u32::try_from(rows).map_err(|_| "more than 2^32 rows".to_owned())?;
            rows += batch.num_rows() as u64;
            read_state(batch, state)?;
            if let Some(adds) = AddBatch::of(batch, first_row)? {
                sink.batch(&file.path, &adds)?;
            }
            for (name, digest) in [("add", &mut adds), ("remove", &mut removes)] {
                if let Some(column) = batch.column_by_name(name)
                    && column.null_count() < column.len()
                {
                    digest.update(column)?;
                }
            }
            Ok(())
        };
        problem = take(&batch).err();
        problem.is_none()
    });
    decoded.map_err(differs)?;
    if let Some(problem) = problem {
        return Err(differs(problem));
    }
    if rows != file.rows {
        return Err(differs(format!("{rows} rows, expected {}", file.rows)));
    }
    for (name, found, written) in [
        ("add", &adds, &file.adds),
        ("remove", &removes, &file.removes),
    ] {
        if found != written {
            return Err(differs(format!(
                "its {} {name} actions are not the {} that were written",
                found.rows(),
                written.rows()
            )));
        }
    }
    Ok(())
}

/// Whether the file that lies where `file` was put has its very bytes.
pub(super) fn is_stored(store: &dyn Store, file: &Encoded) -> Result<bool, WriteError> {
    let reader = store.open(&file.path)?;
    if reader.meta().size != file.bytes.len() as u64 {
        return Ok(false);
    }
    let mut buffer = vec![0; COMPARED_AT_ONCE.min(file.bytes.len())];
    for (index, written) in file.bytes.chunks(COMPARED_AT_ONCE).enumerate() {
        let buffer = &mut buffer[..written.len()];
        let read = reader.read_at(buffer, (index * COMPARED_AT_ONCE) as u64)?;
        if read < written.len() || buffer != written {
            return Ok(false);
        }
    }
    Ok(true)
}

struct NoAdds;

impl AddSink for NoAdds {
    fn expect(&mut self, _rows: usize) {}

    fn batch(&mut self, _path: &str, adds: &AddBatch) -> Result<(), String> {
        for row in 0..adds.rows() {
            if adds.path(row)?.is_some() {
                return Err(format!("row {} holds an add action", adds.file_row(row)));
            }
        }
        Ok(())
    }

    fn single(&mut self, _path: &str, line: u32, _add: Add<'_>) -> Result<(), String> {
        Err(format!("line {line} holds an add action"))
    }

    fn finish(&self) -> Result<(), String> {
        Ok(())
    }
}

pub(super) fn differs(path: &str, problem: String) -> WriteError {
    WriteError::Differs {
        file: path.to_owned(),
        problem,
    }
}
