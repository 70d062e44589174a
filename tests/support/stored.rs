//! The actions in a Parquet file of the log, read by the parquet crate alone.

use std::fs::File;
use std::path::Path;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Float64Type, Int32Type, Int64Type,
    TimestampMicrosecondType,
};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::{Map, Value, json};

/// Its rows, each the name of its one column that is not null, and that column's value; fields that
/// are null are left out.
pub fn actions_in(path: &Path) -> Vec<(String, Value)> {
    let file = File::open(path).expect("the file is there");
    let reader = ParquetRecordBatchReaderBuilder::try_new(file)
        .and_then(|builder| builder.build())
        .expect("a Parquet file");
    let mut actions = Vec::new();
    for batch in reader {
        let batch = batch.expect("readable rows");
        for row in 0..batch.num_rows() {
            let schema = batch.schema();
            let found: Vec<(String, Value)> = (schema.fields().iter().zip(batch.columns()))
                .filter(|(_, column)| column.is_valid(row))
                .map(|(field, column)| (field.name().clone(), value(column, row)))
                .collect();
            assert_eq!(found.len(), 1, "one action a row: {found:?}");
            actions.extend(found);
        }
    }
    actions
}

/// The schema of a Parquet file as the format itself prints it.
pub fn parquet_schema(path: &Path) -> String {
    let file = File::open(path).expect("the file is there");
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).expect("a Parquet file");
    let mut text = Vec::new();
    parquet::schema::printer::print_schema(
        &mut text,
        builder.parquet_schema().root_schema_ptr().as_ref(),
    );
    String::from_utf8(text).expect("text")
}

fn value(array: &ArrayRef, row: usize) -> Value {
    if array.is_null(row) {
        return Value::Null;
    }
    match array.data_type() {
        DataType::Utf8 => json!(array.as_string::<i32>().value(row)),
        DataType::Boolean => json!(array.as_boolean().value(row)),
        DataType::Int32 => json!(array.as_primitive::<Int32Type>().value(row)),
        DataType::Int64 => json!(array.as_primitive::<Int64Type>().value(row)),
        DataType::Float64 => json!(array.as_primitive::<Float64Type>().value(row)),
        DataType::Date32 => json!(array.as_primitive::<Date32Type>().value(row)),
        DataType::Timestamp(..) => {
            json!(array.as_primitive::<TimestampMicrosecondType>().value(row))
        }
        DataType::Decimal128(..) => {
            json!(array.as_primitive::<Decimal128Type>().value_as_string(row))
        }
        DataType::Struct(fields) => {
            let columns = array.as_struct().columns();
            let fields: Map<String, Value> = (fields.iter().zip(columns))
                .filter(|(_, column)| column.is_valid(row))
                .map(|(field, column)| (field.name().clone(), value(column, row)))
                .collect();
            Value::Object(fields)
        }
        DataType::List(_) => {
            let items = array.as_list::<i32>().value(row);
            (0..items.len()).map(|item| value(&items, item)).collect()
        }
        DataType::Map(..) => {
            let entries = array.as_map().value(row);
            let (keys, values) = (entries.column(0), entries.column(1));
            let pairs: Map<String, Value> = (0..entries.len())
                .map(|entry| {
                    let key = keys.as_string::<i32>().value(entry).to_owned();
                    (key, value(values, entry))
                })
                .collect();
            Value::Object(pairs)
        }
        other => panic!("no type of checkpoints: {other}"),
    }
}
