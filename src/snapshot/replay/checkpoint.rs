//! Interning the files of a checkpoint.

use parking_lot::RwLock;
use roaring::RoaringBitmap;

use super::{intern, intern_add};
use crate::log::actions::Add;
use crate::log::checkpoint::{AddBatch, AddSink};
use crate::snapshot::file_table::{FileId, FileTable};

/// Interns the adds of a checkpoint.
pub(in crate::snapshot) struct CheckpointFiller<'a> {
    table: &'a RwLock<FileTable>,
    files: RoaringBitmap,
    source: Option<(String, u32)>,
}

impl<'a> CheckpointFiller<'a> {
    pub(in crate::snapshot) fn new(table: &'a RwLock<FileTable>) -> CheckpointFiller<'a> {
        CheckpointFiller {
            table,
            files: RoaringBitmap::new(),
            source: None,
        }
    }

    pub(in crate::snapshot) fn into_files(self) -> RoaringBitmap {
        self.files
    }

    fn source(&mut self, table: &mut FileTable, path: &str) -> u32 {
        match &self.source {
            Some((known, id)) if known == path => *id,
            _ => {
                let id = table.add_source(path);
                self.source = Some((path.to_owned(), id));
                id
            }
        }
    }
}

impl AddSink for CheckpointFiller<'_> {
    fn expect(&mut self, rows: usize) {
        self.table.write().reserve(rows);
    }

    fn batch(&mut self, path: &str, adds: &AddBatch) -> Result<(), String> {
        let table = self.table;
        let mut table = table.write();
        let source = self.source(&mut table, path);
        let mut values: Vec<(&str, Option<&str>)> = Vec::new();
        let mut ids: Vec<FileId> = Vec::with_capacity(adds.rows());
        for row in 0..adds.rows() {
            let Some(raw) = adds.path(row)? else {
                continue;
            };
            let at = |problem: String| format!("row {}: {problem}", adds.file_row(row));
            let size = adds
                .size(row)
                .ok_or_else(|| at("add.size is null".to_owned()))?;
            values.clear();
            adds.partition_values(row, |column, value| values.push((column, value)))?;
            let deletion_vector = adds
                .deletion_vector(row)?
                .map(|dv| table.deletion_vector(dv.to_descriptor()));
            let partition = table.partition(&values);
            let id = intern(
                &mut table,
                raw,
                size,
                adds.modification_time(row).unwrap_or(0),
                partition,
                deletion_vector,
                (source, adds.file_row(row)),
            )
            .map_err(at)?;
            ids.push(id);
        }
        // Numbers mostly ascend, which a bitmap takes in bulk much faster.
        if self.files.append(ids.iter().copied()).is_err() {
            self.files.extend(ids);
        }
        Ok(())
    }

    fn single(&mut self, path: &str, line: u32, add: Add<'_>) -> Result<(), String> {
        let table = self.table;
        let mut table = table.write();
        let source = self.source(&mut table, path);
        let id = intern_add(&mut table, add, (source, line))?;
        self.files.insert(id);
        Ok(())
    }

    fn finish(&self) -> Result<(), String> {
        let table = self.table.read();
        match table.twin_among(&self.files) {
            None => Ok(()),
            Some(id) => Err(format!(
                "it has several add actions of {:?}, expected one for each path",
                table.get(id).path
            )),
        }
    }
}
