//! Data files: small, real Parquet files, no two alike and no two of one size.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex};

use arrow::array::{Array, ArrayRef, AsArray, Int64Array, RecordBatch, StringArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Schema as ArrowSchema};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::arrow::arrow_writer::{ArrowWriter, ArrowWriterOptions};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;

/// A value of the partition column `p`; `None` is null.
pub type Value = Option<&'static str>;

/// The values that `p` takes. One has to be escaped in a directory name.
pub const VALUES: [Value; 3] = [Some("x"), Some("A/B"), None];

/// Which columns a data file holds: `id`, then `extra`, then `p`, which is the same in every row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Kind {
    pub extra: bool,
    pub p: Option<Value>,
}

impl Kind {
    /// One of eight.
    pub fn numbered(number: u8) -> Kind {
        Kind {
            extra: number & 1 == 1,
            p: match usize::from(number / 2 % 4) {
                0 => None,
                value => Some(VALUES[value - 1]),
            },
        }
    }

    pub fn columns(self) -> Vec<&'static str> {
        let mut columns = vec!["id"];
        columns.extend(self.extra.then_some("extra"));
        columns.extend(self.p.map(|_| "p"));
        columns
    }
}

/// How many different files there are of a kind before contents repeat.
const CONTENTS: usize = 64;

/// Larger than any file here is without padding.
const SMALLEST: usize = 2000;

type Made = HashMap<(Kind, usize), Arc<[u8]>>;

static MADE: LazyLock<Mutex<Made>> = LazyLock::new(Mutex::default);

/// The bytes of file number `number` of a kind.
pub fn content(kind: Kind, number: usize) -> Arc<[u8]> {
    let number = number % CONTENTS;
    let mut made = MADE.lock().expect("making a file does not panic");
    made.entry((kind, number))
        .or_insert_with(|| {
            let kinds = (0..8).map(Kind::numbered);
            let at = kinds.take_while(|other| *other != kind).count();
            sized(kind, number, SMALLEST + at * CONTENTS + number).into()
        })
        .clone()
}

/// A file of exactly `size` bytes: one that was cut off, or one in the place of another, shows by
/// its size.
fn sized(kind: Kind, number: usize, size: usize) -> Vec<u8> {
    let padding = 500;
    let first = write(kind, number, padding);
    let padding = padding + size - first.len();
    let file = write(kind, number, padding);
    assert_eq!(file.len(), size, "padding grows a file by as much");
    file
}

/// A row: each column with its value as text, in order.
pub type Row = Vec<(String, Option<String>)>;

/// The rows that a table of `columns` shows of file number `number` of a kind, of which `p` is
/// `partition` where that is given.
pub fn rows(kind: Kind, number: usize, columns: &[&str], partition: Option<Value>) -> Vec<Row> {
    let number = number % CONTENTS;
    (0..rows_of(number))
        .map(|row| {
            let value = |column: &str| match column {
                "id" => Some(id_of(number, row).to_string()),
                "extra" => kind.extra.then(|| extra_of(row)),
                _ => partition.or(kind.p).flatten().map(str::to_owned),
            };
            let named = |column: &&str| ((*column).to_owned(), value(column));
            columns.iter().map(named).collect()
        })
        .collect()
}

/// The rows of a file, by its bytes.
pub fn decode(bytes: &[u8]) -> Result<Vec<Row>, ParquetError> {
    let bytes = bytes::Bytes::copy_from_slice(bytes);
    let mut rows = Vec::new();
    for batch in ParquetRecordBatchReaderBuilder::try_new(bytes)?.build()? {
        let batch = batch?;
        let schema = batch.schema();
        let texts: Vec<(String, ArrayRef)> = schema
            .fields()
            .iter()
            .zip(batch.columns())
            .map(|(field, column)| Ok((field.name().clone(), cast(column, &DataType::Utf8)?)))
            .collect::<Result<_, ParquetError>>()?;
        for row in 0..batch.num_rows() {
            let value = |(name, texts): &(String, ArrayRef)| {
                let text = texts
                    .is_valid(row)
                    .then(|| texts.as_string::<i32>().value(row));
                (name.clone(), text.map(str::to_owned))
            };
            rows.push(texts.iter().map(value).collect());
        }
    }
    Ok(rows)
}

fn rows_of(number: usize) -> usize {
    1 + number % 3
}

fn id_of(number: usize, row: usize) -> i64 {
    (number * 10 + row) as i64
}

fn extra_of(row: usize) -> String {
    format!("row {row}")
}

fn write(kind: Kind, number: usize, padding: usize) -> Vec<u8> {
    let rows = rows_of(number);
    let ids: Int64Array = (0..rows).map(|row| id_of(number, row)).collect();
    let mut columns: Vec<(&str, ArrayRef)> = vec![("id", Arc::new(ids))];
    if kind.extra {
        let extra = StringArray::from_iter_values((0..rows).map(extra_of));
        columns.push(("extra", Arc::new(extra)));
    }
    if let Some(value) = kind.p {
        columns.push(("p", Arc::new(StringArray::from(vec![value; rows]))));
    }
    let fields: Vec<Field> = columns
        .iter()
        .map(|(name, array)| Field::new(*name, array.data_type().clone(), true))
        .collect();
    let schema = Arc::new(ArrowSchema::new(fields));
    let arrays = columns.into_iter().map(|(_, array)| array).collect();
    let batch = RecordBatch::try_new(schema.clone(), arrays).expect("columns fit together");
    let padding = KeyValue::new("padding".to_owned(), "-".repeat(padding));
    let properties = WriterProperties::builder()
        .set_key_value_metadata(Some(vec![padding]))
        .build();
    let options = ArrowWriterOptions::new()
        .with_skip_arrow_metadata(true)
        .with_properties(properties);
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new_with_options(&mut bytes, schema, options)
        .expect("the schema can be written");
    writer.write(&batch).expect("writing to memory");
    writer.close().expect("writing to memory");
    bytes
}
