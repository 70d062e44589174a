//! What is known of a table, as JSON with Delta's own field names: `@info` and the command line.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::VersionView;
use crate::base::Version;
use crate::snapshot::{FileId, FileTable, Generation, Snapshot, SnapshotError};

/// Live files beyond which nobody waits for a `stat` of each.
const CHECKED_FILES: u64 = 100_000;

/// One version in the history of a table: its number and time, then its `commitInfo`. What cannot be
/// read is null, and `error` says why.
pub fn history_entry(generation: &Generation, version: Version) -> Map<String, Value> {
    let mut entry = Map::new();
    entry.insert("version".to_owned(), json!(version));
    let info = match generation.commit_info(version) {
        Ok(info) => info,
        Err(error) => {
            entry.insert("timestamp".to_owned(), Value::Null);
            entry.insert("error".to_owned(), json!(error.to_string()));
            return entry;
        }
    };
    match generation.timestamp(version) {
        Ok(time) => entry.insert("timestamp".to_owned(), json!(time)),
        Err(error) => {
            entry.insert("timestamp".to_owned(), Value::Null);
            entry.insert("error".to_owned(), json!(error.to_string()))
        }
    };
    for (key, value) in info {
        // The time that counts is the one above; what the writer noted is kept beside it.
        let key = match key.as_str() {
            "timestamp" => "commitInfoTimestamp".to_owned(),
            _ => key,
        };
        entry.entry(key).or_insert(value);
    }
    entry
}

/// What `DESCRIBE DETAIL` tells of a version, and more. Without `now`, only what can never change;
/// with it, also what is so at the moment: the newest commit, the versions that can be rebuilt, how
/// many data files are missing.
pub fn detail(
    generation: &Generation,
    snapshot: &Snapshot,
    now: bool,
) -> Result<Map<String, Value>, SnapshotError> {
    let metadata = snapshot.metadata();
    let protocol = snapshot.protocol();
    let mut features: Vec<&String> = protocol
        .reader_features
        .iter()
        .chain(&protocol.writer_features)
        .flatten()
        .collect();
    features.sort_unstable();
    features.dedup();
    let schema: Value = serde_json::from_str(&metadata.schema_string)
        .unwrap_or_else(|_| Value::String(metadata.schema_string.clone()));
    let readable = match snapshot.readable() {
        Ok(_) => Value::Null,
        Err(error) => Value::String(error.to_string()),
    };
    let Value::Object(mut detail) = json!({
        "version": snapshot.version(),
        "timestamp": generation.timestamp(snapshot.version())?,
        "format": metadata.format.provider,
        "id": metadata.id,
        "name": metadata.name,
        "description": metadata.description,
        "location": generation.roots().table().root(),
        "createdAt": metadata.created_time,
        "partitionColumns": metadata.partition_columns,
        "numFiles": snapshot.files().len(),
        "sizeInBytes": generation.size_of(snapshot),
        "properties": metadata.configuration,
        "minReaderVersion": protocol.min_reader_version,
        "minWriterVersion": protocol.min_writer_version,
        "tableFeatures": features,
        "transactions": snapshot.transactions().values().collect::<Vec<_>>(),
        "domains": snapshot.domains().values().collect::<Vec<_>>(),
        "checksum": generation.checksum_problem(snapshot),
        "unreadable": readable,
        "schema": schema,
    }) else {
        return Ok(Map::new());
    };
    if now {
        let ranges: Vec<Value> = generation
            .rebuildable()
            .iter()
            .map(|range| json!([range.start(), range.end()]))
            .collect();
        let missing =
            (snapshot.files().len() <= CHECKED_FILES).then(|| missing_files(generation, snapshot));
        // A newest version that cannot be built does not stand in the way of this one.
        let newest = generation.timestamp(generation.newest()).ok().flatten();
        detail.insert("lastModified".to_owned(), json!(newest));
        detail.insert("rebuildableVersions".to_owned(), json!(ranges));
        detail.insert("missingFiles".to_owned(), json!(missing));
    }
    Ok(detail)
}

/// How many data files of a version are not there any more.
fn missing_files(generation: &Generation, snapshot: &Snapshot) -> u64 {
    let locations: Vec<_> = {
        let files = generation.files();
        snapshot
            .files()
            .iter()
            .map(|id| files.get(id).location())
            .collect()
    };
    locations
        .iter()
        .filter(|location| {
            generation
                .roots()
                .open(location)
                .is_err_and(|error| error.is_not_found())
        })
        .count() as u64
}

/// One live file: its name and directory below the version directory, then what the log says of it.
/// `records` are [`Generation::num_records`]; with `check`, its footer decides how it is presented.
pub fn file_line(
    view: &VersionView,
    files: &FileTable,
    id: FileId,
    records: &HashMap<FileId, i64>,
    check: bool,
) -> Map<String, Value> {
    let file = files.get(id);
    let presentation = view.presentation();
    let mut name = String::new();
    view.path(&file, &mut name);
    let values: Map<String, Value> = presentation
        .partition_values(&file)
        .map(|(column, value)| (column.to_owned(), json!(value)))
        .collect();
    let deletion_vector = file.deletion_vector.map(|dv| {
        let mut descriptor = json!(dv.descriptor);
        if let Value::Object(fields) = &mut descriptor {
            fields.insert("uniqueId".to_owned(), json!(dv.unique_id));
        }
        descriptor
    });
    let (class, reason) = match check {
        false => ("unknown", None),
        true => {
            let (class, reason) =
                presentation.class(&presentation.plan(files, id, view.provenance()));
            (class.as_str(), reason)
        }
    };
    let Value::Object(line) = json!({
        "name": name,
        "path": file.path,
        "size": file.size,
        "modificationTime": file.modified,
        "partitionValues": values,
        "deletionVector": deletion_vector,
        "numRecords": records.get(&id),
        "class": class,
        "reason": reason.map(|reason| reason.to_string()),
    }) else {
        return Map::new();
    };
    line
}
