//! Statistics of logical files, read from where they lie only when somebody asks (PROTOCOL.md,
//! "Per-file Statistics").

use std::collections::HashMap;

use arrow::array::{Array, AsArray};
use arrow::datatypes::{DataType, Int64Type};
use roaring::RoaringBitmap;
use serde::Deserialize;

use super::LogError;
use super::checkpoint::Leaves;
use super::commit::lines;
use crate::storage::Store;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Statistics {
    num_records: Option<i64>,
}

#[derive(Deserialize)]
struct AddStatistics {
    stats: Option<String>,
}

#[derive(Deserialize)]
struct StatisticsLine {
    add: Option<AddStatistics>,
}

/// `numRecords` of the adds on `wanted` lines (from 0) of the JSON file at `path`. Lines without
/// that statistic have no entry.
pub fn records_in_json(
    store: &dyn Store,
    path: &str,
    wanted: &RoaringBitmap,
) -> Result<HashMap<u32, i64>, LogError> {
    let bytes = store.get(path)?;
    let mut found = HashMap::new();
    for (index, line) in lines(&bytes) {
        let Ok(index) = u32::try_from(index) else {
            break;
        };
        if wanted.contains(index)
            && let Ok(StatisticsLine {
                add: Some(AddStatistics { stats: Some(stats) }),
            }) = serde_json::from_slice(line)
            && let Some(records) = num_records(&stats)
        {
            found.insert(index, records);
        }
    }
    Ok(found)
}

fn num_records(stats: &str) -> Option<i64> {
    serde_json::from_str::<Statistics>(stats).ok()?.num_records
}

/// `numRecords` of the adds in `wanted` rows of the Parquet checkpoint file at `path`, from
/// `add.stats` or, where that is absent, `add.stats_parsed`.
pub fn records_in_parquet(
    store: &dyn Store,
    path: &str,
    wanted: &RoaringBitmap,
) -> Result<HashMap<u32, i64>, LogError> {
    let bad = |problem: String| LogError::BadCheckpoint {
        file: path.to_owned(),
        problem,
    };
    let leaves = Leaves::open(store, path, |leaf| {
        leaf == "add.stats" || leaf == "add.stats_parsed.numRecords"
    })?;
    let mut found = HashMap::new();
    if leaves.count == 0 {
        return Ok(found);
    }
    let mut first = 0_u32;
    let decoded = leaves.decode(|batch| {
        let rows = batch.num_rows() as u32;
        let Some(add) = batch.column_by_name("add").and_then(|a| a.as_struct_opt()) else {
            return false;
        };
        let text = add
            .column_by_name("stats")
            .and_then(|column| column.as_string_opt::<i32>());
        let parsed = add
            .column_by_name("stats_parsed")
            .and_then(|column| column.as_struct_opt())
            .and_then(|stats| stats.column_by_name("numRecords"))
            .filter(|column| column.data_type() == &DataType::Int64)
            .map(|column| column.as_primitive::<Int64Type>());
        for row in wanted.range(first..first.saturating_add(rows)) {
            let at = (row - first) as usize;
            let records = text
                .filter(|text| text.is_valid(at))
                .and_then(|text| num_records(text.value(at)))
                .or_else(|| {
                    parsed
                        .filter(|parsed| parsed.is_valid(at))
                        .map(|parsed| parsed.value(at))
                });
            if let Some(records) = records {
                found.insert(row, records);
            }
        }
        first = first.saturating_add(rows);
        true
    });
    decoded.map_err(bad)?;
    Ok(found)
}
