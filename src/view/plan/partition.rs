//! Partition columns as columns of a file: one value in every row.

use crate::parquet::{LeafSource, OutputKind, OutputNode, PhysicalType, Repetition};
use crate::schema::{
    DataType, MappingMode, PartitionValue, PrimitiveType, StructField, is_null_partition_value,
};

use super::leaf;
use crate::view::Mismatch;
use crate::view::schema::field_id;

/// The column `field` with `value`, in its serialized form, in every row.
pub(super) fn column(
    field: &StructField,
    mapping: MappingMode,
    value: Option<&str>,
) -> Result<OutputNode, Mismatch> {
    let refused = |found: String| Mismatch {
        column: field.name.clone(),
        found,
        expected: format!("a partition value of type {}", field.data_type),
    };
    let DataType::Primitive(primitive) = field.data_type else {
        return Err(refused("a partition column with parts".to_owned()));
    };
    let (annotation, physical) = leaf::storage(primitive)
        .ok_or_else(|| refused("a partition column of type void".to_owned()))?;
    let text = value.filter(|_| !is_null_partition_value(value));
    let (repetition, source) = match text {
        None => (Repetition::Optional, LeafSource::Null { definition: 0 }),
        Some(text) => {
            let encoded = encode(text, primitive, physical)
                .ok_or_else(|| refused(format!("the value {text:?} in the log")))?;
            let repetition = match field.nullable {
                true => Repetition::Optional,
                false => Repetition::Required,
            };
            (repetition, LeafSource::Constant(encoded.into()))
        }
    };
    Ok(OutputNode {
        name: field.name.clone(),
        id: field_id(field, mapping),
        repetition,
        annotation,
        kind: OutputKind::Leaf { physical, source },
    })
}

/// A partition value, plainly encoded as it would be in a file: numbers little-endian, decimals of
/// fixed length big-endian. `None` where the text is no such value ([`PartitionValue::parse`]).
pub(in crate::view) fn encode(
    text: &str,
    primitive: PrimitiveType,
    physical: PhysicalType,
) -> Option<Vec<u8>> {
    Some(match PartitionValue::parse(text, primitive)? {
        PartitionValue::Text(text) => text.into_bytes(),
        PartitionValue::Boolean(value) => vec![value.into()],
        PartitionValue::Integer(value) => whole(value.into(), physical)?,
        PartitionValue::Days(days) => whole(days.into(), physical)?,
        PartitionValue::Micros(micros) => whole(micros.into(), physical)?,
        PartitionValue::Decimal(unscaled) => whole(unscaled, physical)?,
        PartitionValue::Float(value) => value.to_le_bytes().to_vec(),
        PartitionValue::Double(value) => value.to_le_bytes().to_vec(),
    })
}

fn whole(value: i128, physical: PhysicalType) -> Option<Vec<u8>> {
    match physical {
        PhysicalType::Int32 => Some(i32::try_from(value).ok()?.to_le_bytes().to_vec()),
        PhysicalType::Int64 => Some(i64::try_from(value).ok()?.to_le_bytes().to_vec()),
        PhysicalType::FixedLenByteArray(length) => {
            let bytes = value.to_be_bytes();
            let start = bytes.len().checked_sub(usize::try_from(length).ok()?)?;
            // What is cut off repeats the sign, since the precision fits the length.
            Some(bytes[start..].to_vec())
        }
        _ => None,
    }
}
