//! Reading back what was written.

use arrow::array::{Array, RecordBatch};

use super::super::columns::read_state;
use super::super::decode::Leaves;
use super::super::{AddBatch, AddSink, CheckpointState};
use super::WriteError;
use super::digest::Digest;
use super::encode::Encoded;
use crate::storage::Store;

/// How much of a stored file is compared at once, bytes.
const COMPARED_AT_ONCE: usize = 4 * 1024 * 1024;

/// Decodes a whole file of a checkpoint: its adds go to `sink`, what is no file action to `state`.
/// Every field of every file action must be what was written.
pub(super) fn read_back(
    file: &Encoded,
    state: &mut CheckpointState,
    sink: &mut dyn AddSink,
) -> Result<(), WriteError> {
    let differs = |problem: String| WriteError::Differs {
        file: file.path.clone(),
        problem,
    };
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
