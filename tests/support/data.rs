//! Small Parquet data files.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, BooleanArray, Int32Array, Int64Array, RecordBatch, StringArray,
};
use arrow::datatypes::{Field, Schema};
use bytes::Bytes;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::arrow::arrow_writer::{ArrowWriter, ArrowWriterOptions};
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

/// A batch of nullable columns.
pub fn batch<const N: usize>(columns: [(&str, ArrayRef); N]) -> RecordBatch {
    let fields: Vec<Field> = columns
        .iter()
        .map(|(name, array)| Field::new(*name, array.data_type().clone(), true))
        .collect();
    let arrays = columns.into_iter().map(|(_, array)| array).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).expect("columns fit together")
}

/// A `long` column.
pub fn longs(values: impl IntoIterator<Item = impl Into<Option<i64>>>) -> ArrayRef {
    let values: Int64Array = values.into_iter().map(Into::into).collect();
    Arc::new(values)
}

/// An `integer` column.
pub fn ints(values: impl IntoIterator<Item = impl Into<Option<i32>>>) -> ArrayRef {
    let values: Int32Array = values.into_iter().map(Into::into).collect();
    Arc::new(values)
}

/// A `string` column.
pub fn strings<'a>(values: impl IntoIterator<Item = impl Into<Option<&'a str>>>) -> ArrayRef {
    let values: StringArray = values.into_iter().map(Into::into).collect();
    Arc::new(values)
}

/// A `boolean` column.
pub fn booleans(values: impl IntoIterator<Item = impl Into<Option<bool>>>) -> ArrayRef {
    let values: BooleanArray = values.into_iter().map(Into::into).collect();
    Arc::new(values)
}

/// The bytes of a Parquet file with the rows of `batch`, without Arrow's own schema, as Spark
/// writes it.
pub fn parquet(batch: &RecordBatch) -> Vec<u8> {
    parquet_compressed(batch, Compression::UNCOMPRESSED)
}

/// [`parquet`], with pages compressed.
pub fn parquet_compressed(batch: &RecordBatch, compression: Compression) -> Vec<u8> {
    let mut bytes = Vec::new();
    let properties = WriterProperties::builder()
        .set_compression(compression)
        .build();
    let options = ArrowWriterOptions::new()
        .with_skip_arrow_metadata(true)
        .with_properties(properties);
    let mut writer = ArrowWriter::try_new_with_options(&mut bytes, batch.schema(), options)
        .expect("the schema can be written");
    writer.write(batch).expect("writing to memory");
    writer.close().expect("writing to memory");
    bytes
}

/// The column `name` of all rows of a Parquet file, in order.
pub fn column(bytes: &[u8], name: &str) -> ArrayRef {
    let reader = ParquetRecordBatchReaderBuilder::try_new(Bytes::copy_from_slice(bytes))
        .expect("a Parquet file")
        .build()
        .expect("a Parquet file");
    let arrays: Vec<ArrayRef> = reader
        .map(|batch| {
            let batch = batch.expect("readable rows");
            batch.column_by_name(name).expect("the column").clone()
        })
        .collect();
    let arrays: Vec<&dyn Array> = arrays.iter().map(AsRef::as_ref).collect();
    arrow::compute::concat(&arrays).expect("batches of one type")
}

/// The values of the `long` column `name` of a Parquet file.
pub fn parquet_longs(bytes: &[u8], name: &str) -> Vec<Option<i64>> {
    let array = column(bytes, name);
    let array = array.as_any().downcast_ref::<Int64Array>();
    array.expect("a long column").iter().collect()
}
