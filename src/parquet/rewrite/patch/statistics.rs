//! Statistics of a chunk that was patched.

use ::parquet::data_type::{
    BoolType, ByteArrayType, DataType, DoubleType, FixedLenByteArrayType, FloatType, Int32Type,
    Int64Type, Int96Type,
};
use bytes::Bytes;

use super::super::batch::Batch;
use super::super::bounds::{Bounds, Order, Value};
use super::super::input::ChunkInput;
use super::super::{ChunkShape, SourceChunk};
use super::Declined;
use super::bounds::{KeptBounds, Outcome, with_signed_zero};
use crate::parquet::{MadeChunk, MadeStatistics, ParquetError, PhysicalType};

/// What is known of the values of `made` already, or else what reading all of them tells.
pub(super) fn of(
    source: &SourceChunk<'_>,
    made: &MadeChunk,
    rows: u64,
    null_count: Option<u64>,
    bounds: KeptBounds<'_>,
) -> Result<MadeStatistics, Declined> {
    let physical = source.shape.physical;
    if let (Outcome::Known(bounds), Some(null_count)) = (bounds.finish(), null_count) {
        let told = |bound: &[u8], is_least| match physical {
            PhysicalType::Float | PhysicalType::Double => {
                Bytes::from(with_signed_zero(bound, is_least))
            }
            _ => Bytes::copy_from_slice(bound),
        };
        return Ok(MadeStatistics {
            null_count,
            bounds: bounds.map(|(least, greatest)| (told(least, true), told(greatest, false))),
        });
    }
    let source = SourceChunk {
        shape: ChunkShape {
            num_values: made.num_values,
            rows,
            ..source.shape
        },
        ..*source
    };
    let read = match physical {
        PhysicalType::Boolean => read::<BoolType>(&source, &made.bytes),
        PhysicalType::Int32 => read::<Int32Type>(&source, &made.bytes),
        PhysicalType::Int64 => read::<Int64Type>(&source, &made.bytes),
        PhysicalType::Int96 => read::<Int96Type>(&source, &made.bytes),
        PhysicalType::Float => read::<FloatType>(&source, &made.bytes),
        PhysicalType::Double => read::<DoubleType>(&source, &made.bytes),
        PhysicalType::ByteArray => read::<ByteArrayType>(&source, &made.bytes),
        PhysicalType::FixedLenByteArray(_) => read::<FixedLenByteArrayType>(&source, &made.bytes),
    };
    read.map_err(|error| error.to_string())
}

fn read<T: DataType>(
    source: &SourceChunk<'_>,
    chunk: &Bytes,
) -> Result<MadeStatistics, ParquetError>
where
    T::T: Value,
{
    let mut input = ChunkInput::<T>::open(source, chunk)?;
    let mut bounds = Bounds::new(Order::of(source.shape.physical, source.shape.annotation));
    let mut batch = Batch::default();
    let mut null_count = 0;
    while input.next(&mut batch)?.is_some() {
        null_count += (batch.entries - batch.values.len()) as u64;
        bounds.add(&batch.values);
    }
    Ok(MadeStatistics {
        null_count,
        bounds: bounds.finish(),
    })
}
