//! The data files that a staged file becomes.

use arrow::array::ArrayRef;

use super::Job;
use crate::intake::columns::Column;
use crate::intake::convert::{self, is_stored};
use crate::intake::partition::{self, Groups, PartitionColumn, Value};
use crate::intake::reencode::{Encoder, Rows, Written};
use crate::intake::staged::{Compression, codec_name, codec_of};
use crate::intake::{Content, DataFile, IntakeError, Scratch, batches, recompose, statistics};
use crate::schema::StructField;

/// The table property that names the codec of new data files.
const CODEC: &str = "delta.parquet.compression.codec";

impl Job<'_> {
    /// The data file of a file whose values stay as they are.
    pub(super) fn keep(&self, scratch: &dyn Scratch) -> Result<DataFile, IntakeError> {
        let written: Vec<&Column<'_>> = (0..self.columns.len())
            .filter(|index| self.is_written(*index))
            .map(|index| &self.columns[index])
            .collect();
        let (content, size) = if self.is_renamed {
            let mapping = self.target.shape.mapping;
            let (file, size) = recompose::recompose(self.opened, &written, mapping, scratch)?;
            (Content::Made(file), size)
        } else {
            (Content::AsStaged, self.staged.size)
        };
        let values: Vec<Value> = self
            .partitions
            .iter()
            .map(|partition| partition.fixed().cloned().flatten())
            .collect();
        let is_left_out = |field: &StructField| self.is_partition(field) || !is_stored(field);
        let metadata = &self.opened.metadata;
        Ok(DataFile {
            content,
            size,
            partition_values: partition::partition_values(self.target, &self.partitions, &values),
            stats: statistics::of_columns(self.target, metadata, self.columns, &is_left_out),
            num_records: self.opened.footer.num_rows(),
            codec: codec_name(codec_of(&self.opened.metadata)),
        })
    }

    /// The data files of a file that is encoded anew.
    pub(super) fn encode(&self, scratch: &dyn Scratch) -> Result<Vec<DataFile>, IntakeError> {
        let indices: Vec<usize> = (0..self.columns.len())
            .filter(|index| self.is_written(*index))
            .collect();
        let fields: Vec<&StructField> = indices.iter().map(|i| self.columns[*i].field).collect();
        let mut encoder = Encoder::new(
            &self.staged.name,
            &fields,
            self.target.shape.mapping,
            self.codec(),
            &self.target.metadata.partition_columns,
            scratch,
        );
        let mut written = Vec::new();
        loop {
            batches::read(self.opened, self.columns, &|_| true, &mut |batch| {
                let count = batch.rows;
                let first_row = batch.first_row;
                let mut columns = self.check(&|_| true, batch)?;
                let partitions = self.partition_rows(&columns, first_row)?;
                let columns = indices.iter().filter_map(|index| columns[*index].take());
                encoder.write(Rows {
                    columns: columns.collect(),
                    partitions,
                    count,
                })
            })?;
            if encoder.finish_reading(&mut written)? {
                break;
            }
        }
        Ok(written
            .into_iter()
            .map(|written| self.data_file(written, &fields))
            .collect())
    }

    /// The combinations of partition values in a batch, where they are not those of all rows, and
    /// the rows that have each.
    fn partition_rows(
        &self,
        columns: &[Option<ArrayRef>],
        first_row: u64,
    ) -> Result<Option<Groups>, IntakeError> {
        let is_open = |partition: &&PartitionColumn| partition.fixed().is_none();
        let mut arrays = Vec::new();
        for partition in self.partitions.iter().filter(is_open) {
            let array = columns[partition.index].as_ref();
            let field = self.columns[partition.index].field;
            arrays.push(array.ok_or_else(|| partition::no_value(&self.staged.name, field))?);
        }
        if arrays.is_empty() {
            return Ok(None);
        }
        let groups = partition::groups(&arrays).map_err(|problem| self.opened.damaged(problem))?;
        let mut keyed = Vec::with_capacity(groups.len());
        for rows in groups {
            let first = rows.first().map_or(0, |row| *row as usize);
            let mut arrays = arrays.iter();
            let mut values = Vec::with_capacity(self.partitions.len());
            for partition in &self.partitions {
                values.push(match partition.fixed() {
                    Some(value) => value.clone(),
                    None => {
                        let array = arrays.next().copied();
                        self.partition_value(partition, array, first, first_row)?
                    }
                });
            }
            keyed.push((values, rows));
        }
        Ok(Some(keyed))
    }

    /// The value of a partition column in a row of a batch.
    fn partition_value(
        &self,
        partition: &PartitionColumn,
        array: Option<&ArrayRef>,
        row: usize,
        first_row: u64,
    ) -> Result<Value, IntakeError> {
        let column = &self.columns[partition.index];
        let array = array.ok_or_else(|| partition::no_value(&self.staged.name, column.field))?;
        let value = partition::serialized(array, row, partition.primitive);
        let value = value.ok_or_else(|| IntakeError::PartitionValue {
            file: self.staged.name.clone(),
            column: column.path.clone(),
            found: convert::text(array, row),
            expected: column.field.data_type.to_string(),
        })?;
        // The empty text is null as a partition value.
        if value.is_none() && !column.field.nullable {
            return Err(self.null(&column.path, first_row + row as u64));
        }
        Ok(value)
    }

    /// The codec of files that are encoded anew: the table's (PROTOCOL.md, "Table Properties"), or
    /// else that of the staged file.
    fn codec(&self) -> Compression {
        let wanted = self.target.metadata.configuration.get(CODEC);
        match wanted.map(|name| name.to_ascii_lowercase()).as_deref() {
            Some("none" | "uncompressed") => Compression::UNCOMPRESSED,
            Some("snappy") => Compression::SNAPPY,
            Some("gzip") => Compression::GZIP(Default::default()),
            Some("lz4_raw") => Compression::LZ4_RAW,
            Some("zstd") => Compression::ZSTD(Default::default()),
            // A property that is not understood, or names a codec that readers disagree on.
            Some(_) | None => codec_of(&self.opened.metadata),
        }
    }

    fn data_file(&self, written: Written, fields: &[&StructField]) -> DataFile {
        let values = if written.values.is_empty() {
            let fixed = self.partitions.iter().map(|p| p.fixed().cloned().flatten());
            fixed.collect()
        } else {
            written.values
        };
        let is_left_out = |field: &StructField| self.is_partition(field);
        let metadata = &written.metadata;
        DataFile {
            size: written.size,
            partition_values: partition::partition_values(self.target, &self.partitions, &values),
            stats: statistics::of_written(self.target, metadata, fields, &is_left_out),
            num_records: written.rows,
            codec: codec_name(codec_of(metadata)),
            content: Content::Made(written.file),
        }
    }
}
