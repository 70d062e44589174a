//! Reading columns of a staged file, batch by batch.

use std::sync::Arc;

use ::parquet::arrow::ProjectionMask;
use ::parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
    ParquetRecordBatchReaderBuilder,
};
use ::parquet::basic::Type;
use ::parquet::column::reader::ColumnReader;
use ::parquet::data_type::Int96;
use ::parquet::file::metadata::ColumnChunkMetaData;
use ::parquet::file::reader::{ChunkReader, FileReader};
use ::parquet::file::serialized_reader::SerializedFileReader;
use arrow::array::ArrayRef;
use arrow::datatypes::{DataType as ArrowType, Field, FieldRef, Fields, Schema, TimeUnit};

use super::columns::{Column, Part, Shape};
use super::convert::convert;
use super::staged::Opened;
use super::{IntakeError, calendar};
use crate::base::panics::caught;
use crate::parquet::{ChunkLimits, PhysicalType, check_pages, expansion_of};
use crate::schema::PrimitiveType;

/// The most rows in a batch.
const MOST_ROWS: usize = 8192;
/// What a batch should take, bytes.
const BATCH_BYTES: u64 = 16 * 1024 * 1024;
/// 1970-01-01 as a Julian day.
const EPOCH: i64 = 2_440_588;

/// A batch of columns of the table.
pub(super) struct Batch {
    /// The first row, within the file.
    pub(super) first_row: u64,
    pub(super) rows: usize,
    /// The columns that were asked for and that the file has, in the order of the table, by the
    /// table's types.
    pub(super) columns: Vec<Option<ArrayRef>>,
}

/// Reads the columns of the table that `wanted` takes, those that the file has, and gives them to
/// `take` batch by batch. A value that the table's type does not have is
/// [`IntakeError::ValueLost`].
pub(super) fn read(
    opened: &Opened,
    columns: &[Column<'_>],
    wanted: &dyn Fn(usize) -> bool,
    take: &mut dyn FnMut(Batch) -> Result<(), IntakeError>,
) -> Result<(), IntakeError> {
    let parts: Vec<(usize, &Part<'_>)> = columns
        .iter()
        .enumerate()
        .filter(|(index, _)| wanted(*index))
        .filter_map(|(index, column)| Some((index, column.part()?)))
        .collect();
    for (index, part) in &parts {
        check_int96(opened, part, &columns[*index].path)?;
    }
    let mut reader = caught(|| open(opened, &parts)).map_err(|problem| opened.damaged(problem))?;
    // The decoder gives top-level columns in the order of the file.
    let mut roots: Vec<usize> = parts.iter().map(|(_, part)| part.position).collect();
    roots.sort_unstable();

    let mut first_row = 0;
    loop {
        let batch = caught(|| reader.next().transpose().map_err(|error| error.to_string()))
            .map_err(|problem| opened.damaged(problem))?;
        let Some(batch) = batch else { break };
        let mut made: Vec<Option<ArrayRef>> = vec![None; columns.len()];
        for (index, part) in &parts {
            let column = &columns[*index];
            let place = roots.partition_point(|root| *root < part.position);
            let array = batch.columns().get(place).ok_or_else(|| {
                opened.damaged(format!("the decoder left out column {}", column.path))
            })?;
            let array = convert(part, &column.field.data_type, array, &column.path);
            made[*index] = Some(array.map_err(|lost| IntakeError::ValueLost {
                file: opened.name.clone(),
                column: lost.path,
                row: first_row + lost.index as u64,
                value: lost.value,
                expected: lost.expected,
            })?);
        }
        take(Batch {
            first_row,
            rows: batch.num_rows(),
            columns: made,
        })?;
        first_row += batch.num_rows() as u64;
    }
    if first_row != opened.footer.num_rows() {
        return Err(opened.damaged(format!(
            "its footer counts {} rows, and its pages hold {first_row}",
            opened.footer.num_rows()
        )));
    }
    Ok(())
}

fn open(opened: &Opened, parts: &[(usize, &Part<'_>)]) -> Result<ParquetRecordBatchReader, String> {
    let roots: Vec<usize> = parts.iter().map(|(_, part)| part.position).collect();
    let descriptor = opened.metadata.file_metadata().schema_descr();
    let mask = ProjectionMask::roots(descriptor, roots);
    let mut row_bytes = 1_u64;
    for group in opened.metadata.row_groups() {
        let mut bytes = 0_u64;
        for leaf in (0..descriptor.num_columns()).filter(|leaf| mask.leaf_included(*leaf)) {
            let chunk = group.column(leaf);
            check_chunk(opened, chunk)?;
            // A text in a dictionary takes its place in each row that has it, once decoded.
            let unencoded = chunk.unencoded_byte_array_data_bytes().unwrap_or(0);
            let size = chunk.uncompressed_size().max(unencoded);
            bytes = bytes.saturating_add(size.unsigned_abs());
        }
        row_bytes = row_bytes.max(bytes / group.num_rows().unsigned_abs().max(1));
    }
    // The Arrow schema that some writers embed adds nothing and varies the types.
    let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    let mut metadata = ArrowReaderMetadata::try_new(opened.metadata.clone(), options.clone())
        .map_err(|error| error.to_string())?;
    if let Some(schema) = with_micros(metadata.schema(), parts) {
        metadata = ArrowReaderMetadata::try_new(
            opened.metadata.clone(),
            options.with_schema(Arc::new(schema)),
        )
        .map_err(|error| error.to_string())?;
    }
    let rows = usize::try_from(BATCH_BYTES / row_bytes).unwrap_or(MOST_ROWS);
    ParquetRecordBatchReaderBuilder::new_with_metadata(opened.source.clone(), metadata)
        .with_projection(mask)
        .with_batch_size(rows.clamp(1, MOST_ROWS))
        .build()
        .map_err(|error| error.to_string())
}

/// Looks at the page headers of a chunk before the decoder takes their word.
fn check_chunk(opened: &Opened, chunk: &ColumnChunkMetaData) -> Result<(), String> {
    let (start, length) = chunk.byte_range();
    let limits = ChunkLimits {
        length,
        expansion: expansion_of(chunk.compression()),
        smallest_value: match chunk.column_type() {
            Type::BOOLEAN | Type::FIXED_LEN_BYTE_ARRAY => 1,
            Type::INT32 | Type::FLOAT | Type::BYTE_ARRAY => 4,
            Type::INT64 | Type::DOUBLE => 8,
            Type::INT96 => 12,
        },
    };
    check_pages(limits, |at, length| {
        let start = start
            .checked_add(at)
            .ok_or("a column chunk lies beyond all files")?;
        let bytes = opened.source.get_bytes(start, length);
        bytes.map_err(|error| error.to_string())
    })
    .map_err(|problem| format!("column {}: {problem}", chunk.column_path().string()))
}

/// The schema by which INT96 is decoded to microseconds, which hold all the years that nanoseconds
/// do not; `None` where there is no INT96.
fn with_micros(schema: &Schema, parts: &[(usize, &Part<'_>)]) -> Option<Schema> {
    let mut fields: Vec<FieldRef> = schema.fields().iter().cloned().collect();
    let mut is_changed = false;
    for (_, part) in parts {
        if let Some(field) = fields.get_mut(part.position)
            && let Some(changed) = micros_field(field, part)
        {
            *field = changed;
            is_changed = true;
        }
    }
    is_changed.then(|| Schema::new_with_metadata(fields, schema.metadata().clone()))
}

fn micros_field(field: &FieldRef, part: &Part<'_>) -> Option<FieldRef> {
    let with_type = |data_type| {
        let changed = Field::clone(field).with_data_type(data_type);
        Some(Arc::new(changed))
    };
    match (&part.shape, field.data_type()) {
        (Shape::Leaf { .. }, _) if is_int96(part) => {
            with_type(ArrowType::Timestamp(TimeUnit::Microsecond, None))
        }
        (Shape::Struct(columns), ArrowType::Struct(fields)) => {
            let mut fields: Vec<FieldRef> = fields.iter().cloned().collect();
            let mut is_changed = false;
            for part in columns.iter().filter_map(Column::part) {
                if let Some(field) = fields.get_mut(part.position)
                    && let Some(changed) = micros_field(field, part)
                {
                    *field = changed;
                    is_changed = true;
                }
            }
            is_changed
                .then(|| with_type(ArrowType::Struct(fields.into())))
                .flatten()
        }
        (Shape::List(_, element), ArrowType::List(inner)) => {
            with_type(ArrowType::List(micros_field(inner, element)?))
        }
        (Shape::Map(_, parts), ArrowType::Map(entries, sorted)) => {
            let ArrowType::Struct(fields) = entries.data_type() else {
                return None;
            };
            let [key, value] = fields.iter().as_slice() else {
                return None;
            };
            let changed = (micros_field(key, &parts.0), micros_field(value, &parts.1));
            if changed.0.is_none() && changed.1.is_none() {
                return None;
            }
            let pair = Fields::from(vec![
                changed.0.unwrap_or_else(|| key.clone()),
                changed.1.unwrap_or_else(|| value.clone()),
            ]);
            let entries = Field::clone(entries).with_data_type(ArrowType::Struct(pair));
            with_type(ArrowType::Map(Arc::new(entries), *sorted))
        }
        _ => None,
    }
}

fn is_int96(part: &Part<'_>) -> bool {
    matches!(
        part.node.kind,
        crate::parquet::NodeKind::Leaf {
            physical: PhysicalType::Int96,
            ..
        }
    )
}

/// Checks that the INT96 values of a column are whole microseconds, of years that microseconds have.
/// The decoder would cut them off silently.
fn check_int96(opened: &Opened, part: &Part<'_>, path: &str) -> Result<(), IntakeError> {
    match &part.shape {
        Shape::Leaf { leaf, .. } if is_int96(part) => {
            let found = caught(|| first_bad_int96(opened, *leaf));
            match found.map_err(|problem| opened.damaged(problem))? {
                None => Ok(()),
                Some((_, value)) if micros(&value).is_some() => {
                    Err(calendar::old_int96(&opened.name, path))
                }
                Some((row, value)) => Err(IntakeError::ValueLost {
                    file: opened.name.clone(),
                    column: path.to_owned(),
                    row,
                    value: int96_text(&value),
                    expected: PrimitiveType::Timestamp.to_string(),
                }),
            }
        }
        Shape::Leaf { .. } | Shape::Variant => Ok(()),
        Shape::Struct(columns) => columns.iter().try_for_each(|column| match column.part() {
            Some(part) => check_int96(opened, part, &column.path),
            None => Ok(()),
        }),
        Shape::List(_, element) => check_int96(opened, element, path),
        Shape::Map(_, parts) => {
            check_int96(opened, &parts.0, path)?;
            check_int96(opened, &parts.1, path)
        }
    }
}

/// The row, or one shortly before it, and the first INT96 value that is no whole microsecond, or in
/// a calendar of old.
fn first_bad_int96(opened: &Opened, leaf: usize) -> Result<Option<(u64, Int96)>, String> {
    let is_bad = |value: &Int96| {
        micros(value).is_none_or(|micros| calendar::is_old_int96(micros, &opened.footer))
    };
    let reader = SerializedFileReader::new(opened.source.clone()).map_err(|e| e.to_string())?;
    let mut first_row = 0_u64;
    for index in 0..reader.num_row_groups() {
        let group = reader.get_row_group(index).map_err(|e| e.to_string())?;
        check_chunk(opened, group.metadata().column(leaf))?;
        let column = group.get_column_reader(leaf).map_err(|e| e.to_string())?;
        let ColumnReader::Int96ColumnReader(mut column) = column else {
            return Err("a column is not of the type that the footer says".to_owned());
        };
        let (mut values, mut definitions, mut repetitions) = (Vec::new(), Vec::new(), Vec::new());
        let mut row = first_row;
        loop {
            values.clear();
            definitions.clear();
            repetitions.clear();
            let (records, read, levels) = column
                .read_records(
                    MOST_ROWS,
                    Some(&mut definitions),
                    Some(&mut repetitions),
                    &mut values,
                )
                .map_err(|error| error.to_string())?;
            if let Some(value) = values.iter().take(read).find(|value| is_bad(value)) {
                return Ok(Some((row, *value)));
            }
            if records == 0 && levels == 0 {
                break;
            }
            row += records as u64;
        }
        first_row += u64::try_from(group.metadata().num_rows()).unwrap_or(0);
    }
    Ok(None)
}

/// An INT96 value in microseconds since the epoch, if it is whole ones.
fn micros(value: &Int96) -> Option<i64> {
    let [low, high, day] = *value.data() else {
        return None;
    };
    let nanos = (u64::from(high) << 32 | u64::from(low)).cast_signed();
    if nanos % 1_000 != 0 {
        return None;
    }
    (i64::from(day.cast_signed()) - EPOCH)
        .checked_mul(86_400_000_000)?
        .checked_add(nanos / 1_000)
}

fn int96_text(value: &Int96) -> String {
    let [low, high, day] = *value.data() else {
        return "an INT96 value".to_owned();
    };
    let nanos = u64::from(high) << 32 | u64::from(low);
    format!("day {} and {nanos} ns (INT96)", i64::from(day) - EPOCH)
}
