//! Leaves of a file as values of a type.

use crate::parquet::{Annotation, Conversion, LeafSource, OutputKind, PhysicalType, TimeUnit};
use crate::schema::PrimitiveType;

/// A leaf of the file as it is.
pub(super) fn original(physical: PhysicalType, leaf: usize) -> OutputKind {
    OutputKind::Leaf {
        physical,
        source: LeafSource::Original(leaf),
    }
}

/// How values stored as `physical` and annotated so are presented as `primitive`: the annotation
/// and the leaf. `None` where they are no such values, or may not all be.
pub(super) fn convert(
    primitive: PrimitiveType,
    physical: PhysicalType,
    annotation: Annotation,
    leaf: usize,
) -> Option<(Annotation, OutputKind)> {
    let (shown, stored) = storage(primitive)?;
    let as_is = Some((shown, original(physical, leaf)));
    let converted = |conversion| {
        Some((
            shown,
            OutputKind::Leaf {
                physical: stored,
                source: LeafSource::Converted { leaf, conversion },
            },
        ))
    };
    let integer = integer_bits(physical, annotation);
    match primitive {
        PrimitiveType::Boolean => (physical == PhysicalType::Boolean
            && annotation == Annotation::None)
            .then(|| as_is.clone())
            .flatten(),
        // Spark reads what has no annotation, too.
        PrimitiveType::Byte => (integer? == 8 || annotation == Annotation::None)
            .then(|| int32(physical, &as_is))
            .flatten(),
        PrimitiveType::Short => (integer? <= 16 || annotation == Annotation::None)
            .then(|| int32(physical, &as_is))
            .flatten(),
        PrimitiveType::Integer => (integer? <= 32).then(|| int32(physical, &as_is)).flatten(),
        PrimitiveType::Long => match (integer?, physical) {
            (_, PhysicalType::Int64) => as_is,
            (..=32, PhysicalType::Int32) => converted(Conversion::Int32ToInt64),
            _ => None,
        },
        PrimitiveType::Float => (physical == PhysicalType::Float && annotation == Annotation::None)
            .then(|| as_is.clone())
            .flatten(),
        PrimitiveType::Double => match (physical, annotation) {
            (PhysicalType::Double, Annotation::None) => as_is,
            (PhysicalType::Float, Annotation::None) => converted(Conversion::FloatToDouble),
            (PhysicalType::Int32, _) if integer.is_some() => converted(Conversion::Int32ToDouble),
            _ => None,
        },
        PrimitiveType::String => match (physical, annotation) {
            (
                PhysicalType::ByteArray,
                Annotation::String | Annotation::None | Annotation::Other("ENUM" | "JSON"),
            ) => as_is,
            _ => None,
        },
        PrimitiveType::Binary => match (physical, annotation) {
            (PhysicalType::ByteArray, Annotation::None | Annotation::String) => as_is,
            _ => None,
        },
        PrimitiveType::Date => (physical == PhysicalType::Int32 && annotation == Annotation::Date)
            .then(|| as_is.clone())
            .flatten(),
        PrimitiveType::Timestamp => match (physical, annotation) {
            (PhysicalType::Int96, _) => converted(Conversion::Int96ToMicros),
            // Without `utc`: what other writers than Spark make of times without a zone, which
            // Delta takes for UTC.
            (PhysicalType::Int64, Annotation::Timestamp { unit, .. })
            | (PhysicalType::Int64, Annotation::LegacyTimestamp(unit)) => match unit {
                TimeUnit::Micros => as_is,
                TimeUnit::Millis => converted(Conversion::MillisToMicros),
                TimeUnit::Nanos => converted(Conversion::NanosToMicros),
            },
            _ => None,
        },
        PrimitiveType::TimestampNtz => match (physical, annotation) {
            (PhysicalType::Int64, Annotation::Timestamp { utc: false, unit }) => match unit {
                TimeUnit::Micros => as_is,
                TimeUnit::Millis => converted(Conversion::MillisToMicros),
                TimeUnit::Nanos => converted(Conversion::NanosToMicros),
            },
            (PhysicalType::Int32, Annotation::Date) => converted(Conversion::DaysToMicros),
            _ => None,
        },
        PrimitiveType::Decimal { precision, scale } => {
            let (digits, places) = match annotation {
                Annotation::Decimal { precision, scale } => (precision, scale),
                // Integers widen to decimals (PROTOCOL.md, "Type Widening").
                _ => (digits_of(integer?), 0),
            };
            let shift = i32::from(scale).checked_sub(places)?;
            let widens = shift >= 0 && digits.checked_add(shift)? <= i32::from(precision);
            if !widens || digits < 1 || places < 0 {
                return None;
            }
            let is_decimal = matches!(annotation, Annotation::Decimal { .. });
            if is_decimal && shift == 0 && precision <= decimal_capacity(physical) {
                return as_is;
            }
            converted(Conversion::Decimal {
                shift: shift.try_into().ok()?,
            })
        }
        PrimitiveType::Void => None,
    }
}

fn int32(
    physical: PhysicalType,
    as_is: &Option<(Annotation, OutputKind)>,
) -> Option<(Annotation, OutputKind)> {
    match physical {
        PhysicalType::Int32 => as_is.clone(),
        _ => None,
    }
}

/// How made values of a type are annotated and stored; `None` for void.
pub(super) fn storage(primitive: PrimitiveType) -> Option<(Annotation, PhysicalType)> {
    let micros = |utc| Annotation::Timestamp {
        utc,
        unit: TimeUnit::Micros,
    };
    let integer = |bits| Annotation::Integer { bits, signed: true };
    Some(match primitive {
        PrimitiveType::Boolean => (Annotation::None, PhysicalType::Boolean),
        PrimitiveType::Byte => (integer(8), PhysicalType::Int32),
        PrimitiveType::Short => (integer(16), PhysicalType::Int32),
        PrimitiveType::Integer => (Annotation::None, PhysicalType::Int32),
        PrimitiveType::Long => (Annotation::None, PhysicalType::Int64),
        PrimitiveType::Float => (Annotation::None, PhysicalType::Float),
        PrimitiveType::Double => (Annotation::None, PhysicalType::Double),
        PrimitiveType::String => (Annotation::String, PhysicalType::ByteArray),
        PrimitiveType::Binary => (Annotation::None, PhysicalType::ByteArray),
        PrimitiveType::Date => (Annotation::Date, PhysicalType::Int32),
        PrimitiveType::Timestamp => (micros(true), PhysicalType::Int64),
        PrimitiveType::TimestampNtz => (micros(false), PhysicalType::Int64),
        PrimitiveType::Decimal { precision, scale } => (
            Annotation::Decimal {
                precision: precision.into(),
                scale: scale.into(),
            },
            match precision {
                ..=9 => PhysicalType::Int32,
                10..=18 => PhysicalType::Int64,
                _ => PhysicalType::FixedLenByteArray(bytes_of_decimal(precision)),
            },
        ),
        PrimitiveType::Void => return None,
    })
}

/// The bits that signed integers so stored need at most: of an unsigned one, one more than it has.
/// `None` for what is no integer.
fn integer_bits(physical: PhysicalType, annotation: Annotation) -> Option<u8> {
    let (most, annotated) = match (physical, annotation) {
        (PhysicalType::Int32, Annotation::None) => (32, 32),
        (PhysicalType::Int64, Annotation::None) => (64, 64),
        (PhysicalType::Int32, Annotation::Integer { bits, signed }) => {
            (32, bits + i8::from(!signed))
        }
        (PhysicalType::Int64, Annotation::Integer { bits, signed }) => {
            (64, bits.checked_add(i8::from(!signed))?)
        }
        _ => return None,
    };
    let bits = u8::try_from(annotated).ok()?;
    (1..=most).contains(&bits).then_some(bits)
}

/// The digits of decimals to which Delta widens integers of that many bits.
fn digits_of(bits: u8) -> i32 {
    match bits {
        ..=8 => 3,
        9..=16 => 5,
        17..=32 => 10,
        _ => 20,
    }
}

/// The fewest bytes for any decimal of that many digits.
fn bytes_of_decimal(precision: u8) -> u32 {
    (1..=16)
        .find(|length| decimal_capacity(PhysicalType::FixedLenByteArray(*length)) >= precision)
        .unwrap_or(16)
}

/// The most digits that a decimal so stored can have; 0 where decimals are not stored so. Longer
/// fixed-length values than 16 bytes are a wider decimal type to readers.
pub(in crate::view) fn decimal_capacity(physical: PhysicalType) -> u8 {
    /// By the number of bytes, from 1 on.
    const DIGITS: [u8; 16] = [2, 4, 6, 9, 11, 14, 16, 18, 21, 23, 26, 28, 31, 33, 35, 38];
    match physical {
        PhysicalType::Int32 => 9,
        PhysicalType::Int64 => 18,
        PhysicalType::ByteArray => 38,
        PhysicalType::FixedLenByteArray(length) => {
            let index = usize::try_from(length)
                .ok()
                .and_then(|length| length.checked_sub(1));
            index
                .and_then(|index| DIGITS.get(index))
                .copied()
                .unwrap_or(0)
        }
        _ => 0,
    }
}
