//! Timestamps as Delta on Spark writes them by default: INT96, of which the decoder makes
//! nanoseconds, which wrap around after the year 2262.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Fields, Schema, SchemaRef, TimeUnit};
use parquet::arrow::arrow_reader::ArrowReaderMetadata;
use parquet::basic::Type;

/// The schema by which INT96 columns are decoded as instants in microseconds; `None` where no leaf of
/// `leaves` is one, or where one of them is in nanoseconds in another way, which the decoder cannot
/// tell from it.
pub(super) fn in_microseconds(
    metadata: &ArrowReaderMetadata,
    leaves: &[usize],
) -> Option<SchemaRef> {
    let schema = metadata.parquet_schema();
    let is_int96 = |leaf: &&usize| schema.column(**leaf).physical_type() == Type::INT96;
    let int96 = leaves.iter().filter(is_int96).count();
    if int96 == 0 {
        return None;
    }
    let (fields, changed) = changed_fields(metadata.schema().fields());
    let all_int96 = (0..schema.num_columns())
        .filter(|leaf| schema.column(*leaf).physical_type() == Type::INT96)
        .count();
    (changed == all_int96).then(|| Arc::new(Schema::new(fields)))
}

/// The fields with nanoseconds without zone as instants in microseconds, and how many those are.
fn changed_fields(fields: &Fields) -> (Fields, usize) {
    let mut count = 0;
    let fields = fields
        .iter()
        .map(|field| {
            let data_type = match field.data_type() {
                DataType::Timestamp(TimeUnit::Nanosecond, None) => {
                    count += 1;
                    DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))
                }
                DataType::Struct(inner) => {
                    let (inner, changed) = changed_fields(inner);
                    count += changed;
                    DataType::Struct(inner)
                }
                _ => return field.clone(),
            };
            Arc::new(Field::new(field.name(), data_type, field.is_nullable()))
        })
        .collect();
    (fields, count)
}

#[cfg(test)]
mod tests {
    use arrow::array::{AsArray, RecordBatch};
    use arrow::datatypes::TimestampMicrosecondType;
    use parquet::data_type::{Int64Type, Int96, Int96Type};
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;

    use super::super::Leaves;

    /// A file of one row with a long and an INT96 in a struct.
    fn file(schema: &str, long: i64, old: Int96) -> Vec<u8> {
        let schema = parse_message_type(schema).expect("a schema");
        let mut writer = SerializedFileWriter::new(Vec::new(), schema.into(), Default::default())
            .expect("a file");
        let mut rows = writer.next_row_group().expect("a row group");
        let mut column = rows.next_column().expect("a column").expect("the first");
        column
            .typed::<Int64Type>()
            .write_batch(&[long], Some(&[2]), None)
            .expect("a value");
        column.close().expect("a chunk");
        let mut column = rows.next_column().expect("a column").expect("the second");
        column
            .typed::<Int96Type>()
            .write_batch(&[old], Some(&[2]), None)
            .expect("a value");
        column.close().expect("a chunk");
        rows.close().expect("a row group");
        writer.into_inner().expect("a file")
    }

    fn decoded(bytes: Vec<u8>) -> RecordBatch {
        let leaves = Leaves::of_bytes(bytes.into(), "x").expect("a file");
        let mut batches = Vec::new();
        leaves
            .decode(|batch| {
                batches.push(batch);
                true
            })
            .expect("rows");
        batches.remove(0)
    }

    /// 9999-12-31T23:59:59.999999.
    fn last() -> (Int96, i64) {
        let nanos: u64 = 86_400_000_000_000 - 1_000;
        let days: u32 = 2_440_588 + 2_932_896;
        let words = vec![nanos as u32, (nanos >> 32) as u32, days];
        (Int96::from(words), 253_402_300_799_999_999)
    }

    #[test]
    fn int96_keeps_years_after_2262() {
        let (int96, micros) = last();
        let schema = "message m { optional group s { optional int64 n; optional int96 t; } }";
        let batch = decoded(file(schema, 7, int96));
        let fields = batch.column(0).as_struct();
        let times = fields.column(1).as_primitive::<TimestampMicrosecondType>();
        assert_eq!(times.value(0), micros);
        assert_eq!(times.timezone(), Some("UTC"));
    }

    #[test]
    fn nanoseconds_of_another_kind_are_left_alone() {
        let (int96, _) = last();
        let schema = "message m { optional group s { \
                      optional int64 n (TIMESTAMP(NANOS,false)); optional int96 t; } }";
        let batch = decoded(file(schema, 7, int96));
        let fields = batch.column(0).as_struct();
        assert_eq!(
            fields.column(0).data_type(),
            fields.column(1).data_type(),
            "neither is told from the other"
        );
    }
}
