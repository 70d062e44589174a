//! The types of Spark as far as expressions turn on them.

use crate::schema::{DataType, PrimitiveType};

pub(super) const VOID: DataType = DataType::Primitive(PrimitiveType::Void);
pub(super) const BOOLEAN: DataType = DataType::Primitive(PrimitiveType::Boolean);
pub(super) const INTEGER: DataType = DataType::Primitive(PrimitiveType::Integer);
pub(super) const LONG: DataType = DataType::Primitive(PrimitiveType::Long);
pub(super) const FLOAT: DataType = DataType::Primitive(PrimitiveType::Float);
pub(super) const DOUBLE: DataType = DataType::Primitive(PrimitiveType::Double);
pub(super) const STRING: DataType = DataType::Primitive(PrimitiveType::String);
pub(super) const BINARY: DataType = DataType::Primitive(PrimitiveType::Binary);
pub(super) const DATE: DataType = DataType::Primitive(PrimitiveType::Date);
pub(super) const TIMESTAMP: DataType = DataType::Primitive(PrimitiveType::Timestamp);
pub(super) const TIMESTAMP_NTZ: DataType = DataType::Primitive(PrimitiveType::TimestampNtz);

/// The digits that a decimal has at most.
pub(super) const MAX_PRECISION: u32 = 38;

/// Precision and scale.
pub(super) type Decimal = (u8, u8);

pub(super) fn primitive(data_type: &DataType) -> Option<PrimitiveType> {
    match data_type {
        DataType::Primitive(primitive) => Some(*primitive),
        _ => None,
    }
}

pub(super) fn decimal((precision, scale): Decimal) -> DataType {
    DataType::Primitive(PrimitiveType::Decimal { precision, scale })
}

/// The bounds of a type of whole numbers, and `None` for others.
pub(super) fn whole_range(primitive: PrimitiveType) -> Option<(i64, i64)> {
    match primitive {
        PrimitiveType::Byte => Some((i8::MIN.into(), i8::MAX.into())),
        PrimitiveType::Short => Some((i16::MIN.into(), i16::MAX.into())),
        PrimitiveType::Integer => Some((i32::MIN.into(), i32::MAX.into())),
        PrimitiveType::Long => Some((i64::MIN, i64::MAX)),
        _ => None,
    }
}

pub(super) fn is_whole(primitive: PrimitiveType) -> bool {
    whole_range(primitive).is_some()
}

pub(super) fn is_number(primitive: PrimitiveType) -> bool {
    is_whole(primitive)
        || matches!(
            primitive,
            PrimitiveType::Float | PrimitiveType::Double | PrimitiveType::Decimal { .. }
        )
}

/// The wider of two types of whole numbers.
pub(super) fn wider_whole(left: PrimitiveType, right: PrimitiveType) -> PrimitiveType {
    let most = |primitive| whole_range(primitive).map(|(_, most)| most);
    match most(left) >= most(right) {
        true => left,
        false => right,
    }
}

/// The decimal that holds every value of a number type: that of `DecimalType.forType`.
pub(super) fn decimal_for(primitive: PrimitiveType) -> Option<Decimal> {
    match primitive {
        PrimitiveType::Byte => Some((3, 0)),
        PrimitiveType::Short => Some((5, 0)),
        PrimitiveType::Integer => Some((10, 0)),
        PrimitiveType::Long => Some((20, 0)),
        PrimitiveType::Decimal { precision, scale } => Some((precision, scale)),
        _ => None,
    }
}

/// The decimal that holds the values of both, if 38 digits are enough.
pub(super) fn wider_decimal(left: Decimal, right: Decimal) -> Option<Decimal> {
    let whole = (left.0.saturating_sub(left.1)).max(right.0.saturating_sub(right.1));
    let scale = left.1.max(right.1);
    let precision = whole + scale;
    (u32::from(precision) <= MAX_PRECISION).then_some((precision, scale))
}

/// Spark's `DecimalType.adjustPrecisionScale`: digits are taken from the fraction, of which six
/// stay where there are six.
pub(super) fn adjusted(precision: u32, scale: u32) -> Decimal {
    let (precision, scale) = match precision > MAX_PRECISION {
        false => (precision, scale),
        true => {
            let kept = (MAX_PRECISION + scale).saturating_sub(precision);
            (MAX_PRECISION, kept.max(scale.min(6)))
        }
    };
    // Both are at most 38 here: the callers' scales are no larger than their precisions.
    (precision as u8, scale.min(MAX_PRECISION) as u8)
}
