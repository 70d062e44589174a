//! Leaves of a file as values of a type.

use crate::parquet::{
    Annotation, Conversion, LeafSource, Node, NodeKind, OutputKind, PhysicalType, TimeUnit,
};
use crate::schema::PrimitiveType;

/// How the values of the leaf `node` are presented as `primitive`: the annotation and the leaf.
/// `None` where they are no such values, or may not all be, and where it is no leaf.
pub(super) fn convert(primitive: PrimitiveType, node: &Node) -> Option<(Annotation, OutputKind)> {
    let NodeKind::Leaf { physical, leaf } = node.kind else {
        return None;
    };
    let annotation = node.annotation;
    let (shown, stored) = storage(primitive)?;
    let from = |physical, source| Some((shown, OutputKind::Leaf { physical, source }));
    let as_is = || from(physical, LeafSource::Original(leaf));
    let as_is_if = |fits: bool| fits.then(as_is).flatten();
    let converted = |conversion| from(stored, LeafSource::Converted { leaf, conversion });
    let as_is_or = |conversion: Option<Conversion>| conversion.map_or_else(as_is, converted);
    let plain = annotation == Annotation::None;
    let integer = integer_bits(physical, annotation);
    match primitive {
        PrimitiveType::Boolean => as_is_if(physical == PhysicalType::Boolean && plain),
        // Spark reads what has no annotation, too.
        PrimitiveType::Byte => {
            as_is_if(physical == PhysicalType::Int32 && (integer? == 8 || plain))
        }
        PrimitiveType::Short => {
            as_is_if(physical == PhysicalType::Int32 && (integer? <= 16 || plain))
        }
        PrimitiveType::Integer => as_is_if(physical == PhysicalType::Int32 && integer? <= 32),
        PrimitiveType::Long => match (integer?, physical) {
            (..=64, PhysicalType::Int64) => as_is(),
            (..=32, PhysicalType::Int32) => converted(Conversion::Int32ToInt64),
            (33, PhysicalType::Int32) => converted(Conversion::Unsigned32ToInt64),
            _ => None,
        },
        PrimitiveType::Float => as_is_if(physical == PhysicalType::Float && plain),
        PrimitiveType::Double => match (physical, annotation) {
            (PhysicalType::Double, Annotation::None) => as_is(),
            (PhysicalType::Float, Annotation::None) => converted(Conversion::FloatToDouble),
            (PhysicalType::Int32, _) if integer? <= 32 => converted(Conversion::Int32ToDouble),
            _ => None,
        },
        PrimitiveType::String => match (physical, annotation) {
            (
                PhysicalType::ByteArray,
                Annotation::String | Annotation::None | Annotation::Other("ENUM" | "JSON"),
            ) => as_is(),
            _ => None,
        },
        PrimitiveType::Binary => match (physical, annotation) {
            (
                PhysicalType::ByteArray,
                Annotation::None
                | Annotation::String
                | Annotation::Other("ENUM" | "JSON" | "BSON" | "GEOMETRY" | "GEOGRAPHY"),
            ) => as_is(),
            (PhysicalType::FixedLenByteArray(_), Annotation::None | Annotation::Other("UUID")) => {
                converted(Conversion::FixedToByteArray)
            }
            _ => None,
        },
        PrimitiveType::Date => {
            as_is_if(physical == PhysicalType::Int32 && annotation == Annotation::Date)
        }
        PrimitiveType::Timestamp => match (physical, annotation) {
            (PhysicalType::Int96, _) => converted(Conversion::Int96ToMicros),
            // Without `utc`: what other writers than Spark make of times without a zone, which
            // Delta takes for UTC.
            (PhysicalType::Int64, Annotation::Timestamp { unit, .. })
            | (PhysicalType::Int64, Annotation::LegacyTimestamp(unit)) => as_is_or(to_micros(unit)),
            _ => None,
        },
        PrimitiveType::TimestampNtz => match (physical, annotation) {
            // An instant has the wall-clock time that it has in UTC, as in Spark since 4.0.
            (PhysicalType::Int64, Annotation::Timestamp { unit, .. })
            | (PhysicalType::Int64, Annotation::LegacyTimestamp(unit)) => as_is_or(to_micros(unit)),
            (PhysicalType::Int32, Annotation::Date) => converted(Conversion::DaysToMicros),
            // It has no zone, either.
            (PhysicalType::Int96, _) => converted(Conversion::Int96ToMicros),
            _ => None,
        },
        PrimitiveType::Decimal { precision, scale } => {
            as_is_or(to_decimal(precision, scale, physical, annotation)?)
        }
        PrimitiveType::Void => None,
    }
}

/// The conversion of times in that unit to microseconds, unless they are that.
fn to_micros(unit: TimeUnit) -> Option<Conversion> {
    match unit {
        TimeUnit::Micros => None,
        TimeUnit::Millis => Some(Conversion::MillisToMicros),
        TimeUnit::Nanos => Some(Conversion::NanosToMicros),
    }
}

/// The conversion of decimals, or of the integers that widen to decimals (PROTOCOL.md, "Type
/// Widening"), unless they are such decimals already. `None` where they may not all fit.
fn to_decimal(
    precision: u8,
    scale: u8,
    physical: PhysicalType,
    annotation: Annotation,
) -> Option<Option<Conversion>> {
    let (digits, places) = match annotation {
        Annotation::Decimal { precision, scale } => (precision, scale),
        _ => (digits_of(integer_bits(physical, annotation)?), 0),
    };
    let shift = i32::from(scale).checked_sub(places)?;
    let widens = shift >= 0 && digits.checked_add(shift)? <= i32::from(precision);
    if !widens || digits < 1 || places < 0 {
        return None;
    }
    let is_decimal = matches!(annotation, Annotation::Decimal { .. });
    if is_decimal && shift == 0 && precision <= physical.decimal_digits() {
        return Some(None);
    }
    let shift = shift.try_into().ok()?;
    Some(Some(match annotation {
        Annotation::Integer { signed: false, .. } => Conversion::UnsignedToDecimal { shift },
        _ => Conversion::Decimal { shift },
    }))
}

/// Values of a leaf that may hold dates or instants of the calendar that Spark used before 3.0, as
/// [`convert`] answered, out of that calendar.
pub(super) fn out_of_old_calendar(primitive: PrimitiveType, kind: OutputKind) -> OutputKind {
    let OutputKind::Leaf { physical, source } = kind else {
        return kind;
    };
    let source = match (primitive, source) {
        (PrimitiveType::Date, LeafSource::Original(leaf)) => LeafSource::Converted {
            leaf,
            conversion: Conversion::OldDays,
        },
        (PrimitiveType::Timestamp, LeafSource::Original(leaf)) => LeafSource::Converted {
            leaf,
            conversion: Conversion::OldMicros,
        },
        // A time without zone is in no calendar but that of the format; a date that became one was.
        (
            PrimitiveType::TimestampNtz,
            source @ LeafSource::Converted {
                conversion: Conversion::Int96ToMicros,
                ..
            },
        ) => source,
        (_, LeafSource::Converted { leaf, conversion }) => LeafSource::Converted {
            leaf,
            conversion: conversion.out_of_old_calendar().unwrap_or(conversion),
        },
        (_, source) => source,
    };
    OutputKind::Leaf { physical, source }
}

/// How made values of a type are annotated and stored; `None` for void.
pub(in crate::view) fn storage(primitive: PrimitiveType) -> Option<(Annotation, PhysicalType)> {
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

/// The bits that integers so stored need at most as signed ones: one more where they have no sign.
/// `None` for what is no integer.
fn integer_bits(physical: PhysicalType, annotation: Annotation) -> Option<u8> {
    let most: i8 = match physical {
        PhysicalType::Int32 => 32,
        PhysicalType::Int64 => 64,
        _ => return None,
    };
    match annotation {
        Annotation::None => Some(most.unsigned_abs()),
        Annotation::Integer {
            bits: bits @ (8 | 16 | 32 | 64),
            signed,
        } if bits <= most => Some(bits.unsigned_abs() + u8::from(!signed)),
        _ => None,
    }
}

/// The digits of decimals to which Delta widens integers of that many bits.
fn digits_of(bits: u8) -> i32 {
    match bits {
        ..=8 => 3,
        9..=16 => 5,
        17..=33 => 10,
        _ => 20,
    }
}

/// The fewest bytes for any decimal of that many digits.
fn bytes_of_decimal(precision: u8) -> u32 {
    (1..=16)
        .find(|length| PhysicalType::FixedLenByteArray(*length).decimal_digits() >= precision)
        .unwrap_or(16)
}
