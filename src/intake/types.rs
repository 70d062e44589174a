//! Which stored values are values of which type, without loss.
//!
//! The rules go beyond what Delta on Spark takes (it casts upwards) in what other tools write:
//! unsigned numbers, nanoseconds, half-precision numbers.

use std::sync::Arc;

use arrow::datatypes::{DataType as ArrowType, TimeUnit as ArrowUnit};

use crate::parquet::{Annotation, PhysicalType, TimeUnit};
use crate::schema::PrimitiveType;

/// How stored values become values of a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fit {
    /// They are stored as a data file has to store them.
    Exact,
    /// They are stored so, and called something narrower: [`annotation`] makes them values of the
    /// type.
    Relabeled,
    /// Each of them is one, in another form: the column is encoded anew, and each value looked at.
    Converted,
}

/// How values stored as `physical`, and annotated so, become values of `primitive`. An error says
/// what to do.
pub(super) fn fit(
    primitive: PrimitiveType,
    physical: PhysicalType,
    annotation: Annotation,
) -> Result<Fit, &'static str> {
    let converted_if = |is_lossless, advice| match is_lossless {
        true => Ok(Fit::Converted),
        false => Err(advice),
    };
    const CAST: &str = "cast the column to the table's type before you stage the file";
    let integer = Integer::of(physical, annotation);
    let plain = annotation == Annotation::None;
    match primitive {
        PrimitiveType::Boolean if physical == PhysicalType::Boolean && plain => Ok(Fit::Exact),
        PrimitiveType::Boolean => Err(CAST),
        PrimitiveType::Byte | PrimitiveType::Short | PrimitiveType::Integer => {
            let bits = integer_bits(primitive);
            match integer {
                Some(Integer {
                    bits: found,
                    signed: true,
                }) if found == bits => Ok(Fit::Exact),
                // All of 32 bits: unsigned ones are not negative.
                Some(found) if found.signed_bits() <= bits => Ok(Fit::Relabeled),
                _ => Err(CAST),
            }
        }
        PrimitiveType::Long => match integer {
            Some(Integer {
                bits: 64,
                signed: true,
            }) => Ok(Fit::Exact),
            // Unsigned numbers of 64 bits as far as they fit.
            Some(_) => Ok(Fit::Converted),
            None => Err(CAST),
        },
        PrimitiveType::Float => match (physical, integer) {
            (PhysicalType::Float, _) if plain => Ok(Fit::Exact),
            (_, Some(integer)) => converted_if(integer.signed_bits() <= 25, CAST),
            _ => converted_if(is_half(physical, annotation), CAST),
        },
        PrimitiveType::Double => match (physical, integer) {
            (PhysicalType::Double, _) if plain => Ok(Fit::Exact),
            (PhysicalType::Float, _) if plain => Ok(Fit::Converted),
            (_, Some(integer)) => converted_if(integer.signed_bits() <= 54, CAST),
            _ => converted_if(is_half(physical, annotation), CAST),
        },
        PrimitiveType::Decimal { precision, scale } => {
            let (digits, places) = match (annotation, integer) {
                (Annotation::Decimal { precision, scale }, _) => (precision, scale),
                (_, Some(integer)) => (integer.digits(), 0),
                _ => return Err(CAST),
            };
            let (precision, scale) = (i32::from(precision), i32::from(scale));
            let is_decimal = matches!(annotation, Annotation::Decimal { .. });
            if is_decimal && (digits, places) == (precision, scale) {
                return match physical {
                    // Longer values are a wider decimal type to readers.
                    PhysicalType::FixedLenByteArray(17..) => Ok(Fit::Converted),
                    _ if digits <= i32::from(physical.decimal_digits()) => Ok(Fit::Exact),
                    _ => Err("its precision is more than its storage can hold; write it anew"),
                };
            }
            let is_wider = digits >= 1
                && places >= 0
                && scale >= places
                && digits
                    .checked_sub(places)
                    .is_some_and(|whole| precision - scale >= whole);
            let is_long_enough = !matches!(physical, PhysicalType::FixedLenByteArray(17..))
                && precision <= i32::from(physical.decimal_digits());
            if is_wider && is_decimal && places == scale && is_long_enough {
                return Ok(Fit::Relabeled);
            }
            converted_if(is_wider, CAST)
        }
        PrimitiveType::String => match (physical, annotation) {
            (PhysicalType::ByteArray, Annotation::String) => Ok(Fit::Exact),
            (PhysicalType::ByteArray, Annotation::Other("JSON" | "ENUM")) => Ok(Fit::Relabeled),
            (PhysicalType::ByteArray, Annotation::None) => {
                Err("the file says nothing of it being text; write it as strings (UTF-8)")
            }
            _ => Err(CAST),
        },
        PrimitiveType::Binary => match (physical, annotation) {
            (PhysicalType::ByteArray, Annotation::None) => Ok(Fit::Exact),
            (PhysicalType::ByteArray, Annotation::Other("BSON")) => Ok(Fit::Relabeled),
            (PhysicalType::FixedLenByteArray(_), Annotation::None) => Ok(Fit::Converted),
            _ => Err(CAST),
        },
        PrimitiveType::Date => match (physical, annotation) {
            (PhysicalType::Int32, Annotation::Date) => Ok(Fit::Exact),
            _ => Err(CAST),
        },
        PrimitiveType::Timestamp => match (physical, annotation) {
            (PhysicalType::Int96, _) => Ok(Fit::Converted),
            (PhysicalType::Int64, Annotation::Timestamp { utc: true, unit }) => Ok(match unit {
                TimeUnit::Micros => Fit::Exact,
                TimeUnit::Millis | TimeUnit::Nanos => Fit::Converted,
            }),
            // Some readers take the older annotation for a time without zone.
            (PhysicalType::Int64, Annotation::LegacyTimestamp(unit)) => Ok(match unit {
                TimeUnit::Micros => Fit::Relabeled,
                TimeUnit::Millis | TimeUnit::Nanos => Fit::Converted,
            }),
            (PhysicalType::Int64, Annotation::Timestamp { utc: false, .. }) => Err(
                "a time without zone is no instant: give the column a time zone (in pandas: \
                 .dt.tz_localize(\"UTC\"))",
            ),
            _ => Err(CAST),
        },
        PrimitiveType::TimestampNtz => match (physical, annotation) {
            (PhysicalType::Int64, Annotation::Timestamp { utc: false, unit }) => Ok(match unit {
                TimeUnit::Micros => Fit::Exact,
                TimeUnit::Millis | TimeUnit::Nanos => Fit::Converted,
            }),
            (PhysicalType::Int32, Annotation::Date) => Ok(Fit::Converted),
            (
                PhysicalType::Int64,
                Annotation::Timestamp { .. } | Annotation::LegacyTimestamp(_),
            )
            | (PhysicalType::Int96, _) => Err(
                "an instant has no wall-clock time of its own: drop the time zone of the column (in \
                 pandas: .dt.tz_localize(None))",
            ),
            _ => Err(CAST),
        },
        PrimitiveType::Void => Err("the table's type has no value but null; drop the column"),
    }
}

/// What values of a type are called in data files, where only that has to change.
pub(super) fn annotation(primitive: PrimitiveType) -> Annotation {
    match primitive {
        PrimitiveType::Byte | PrimitiveType::Short => Annotation::Integer {
            bits: integer_bits(primitive).cast_signed(),
            signed: true,
        },
        PrimitiveType::String => Annotation::String,
        PrimitiveType::Decimal { precision, scale } => Annotation::Decimal {
            precision: precision.into(),
            scale: scale.into(),
        },
        PrimitiveType::Date => Annotation::Date,
        PrimitiveType::Timestamp | PrimitiveType::TimestampNtz => Annotation::Timestamp {
            utc: primitive == PrimitiveType::Timestamp,
            unit: TimeUnit::Micros,
        },
        PrimitiveType::Integer
        | PrimitiveType::Long
        | PrimitiveType::Float
        | PrimitiveType::Double
        | PrimitiveType::Boolean
        | PrimitiveType::Binary
        | PrimitiveType::Void => Annotation::None,
    }
}

/// Whether a leaf holds nothing but null, by its very type.
pub(super) fn is_always_null(annotation: Annotation) -> bool {
    matches!(annotation, Annotation::Other(name) if name.starts_with("UNKNOWN"))
}

/// A whole number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Integer {
    bits: u8,
    signed: bool,
}

impl Integer {
    fn of(physical: PhysicalType, annotation: Annotation) -> Option<Integer> {
        let stored = match physical {
            PhysicalType::Int32 => 32,
            PhysicalType::Int64 => 64,
            _ => return None,
        };
        match annotation {
            Annotation::None => Some(Integer {
                bits: stored,
                signed: true,
            }),
            Annotation::Integer { bits, signed } => match (stored, bits) {
                (32, 8 | 16 | 32) | (64, 64) => Some(Integer {
                    bits: bits.unsigned_abs(),
                    signed,
                }),
                _ => None,
            },
            _ => None,
        }
    }

    /// The bits of the signed numbers that hold them all.
    fn signed_bits(self) -> u8 {
        self.bits + u8::from(!self.signed)
    }

    /// The decimal digits that the greatest has.
    fn digits(self) -> i32 {
        match (self.bits, self.signed) {
            (8, _) => 3,
            (16, _) => 5,
            (32, _) => 10,
            (_, true) => 19,
            (_, false) => 20,
        }
    }
}

/// The bits of a type of whole numbers.
fn integer_bits(primitive: PrimitiveType) -> u8 {
    match primitive {
        PrimitiveType::Byte => 8,
        PrimitiveType::Short => 16,
        PrimitiveType::Integer => 32,
        _ => 64,
    }
}

fn is_half(physical: PhysicalType, annotation: Annotation) -> bool {
    physical == PhysicalType::FixedLenByteArray(2) && annotation == Annotation::Other("FLOAT16")
}

/// The Arrow type that values of a type have here, between reading and writing.
pub(super) fn arrow_type(primitive: PrimitiveType) -> ArrowType {
    match primitive {
        PrimitiveType::Boolean => ArrowType::Boolean,
        PrimitiveType::Byte => ArrowType::Int8,
        PrimitiveType::Short => ArrowType::Int16,
        PrimitiveType::Integer => ArrowType::Int32,
        PrimitiveType::Long => ArrowType::Int64,
        PrimitiveType::Float => ArrowType::Float32,
        PrimitiveType::Double => ArrowType::Float64,
        PrimitiveType::Decimal { precision, scale } => {
            // A parsed decimal has a scale of at most 38.
            ArrowType::Decimal128(precision, scale.cast_signed())
        }
        PrimitiveType::String => ArrowType::Utf8,
        PrimitiveType::Binary => ArrowType::Binary,
        PrimitiveType::Date => ArrowType::Date32,
        PrimitiveType::Timestamp => {
            ArrowType::Timestamp(ArrowUnit::Microsecond, Some(Arc::from("UTC")))
        }
        PrimitiveType::TimestampNtz => ArrowType::Timestamp(ArrowUnit::Microsecond, None),
        PrimitiveType::Void => ArrowType::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INT8: Annotation = Annotation::Integer {
        bits: 8,
        signed: true,
    };
    const INT16: Annotation = Annotation::Integer {
        bits: 16,
        signed: true,
    };

    fn unsigned(bits: i8) -> Annotation {
        Annotation::Integer {
            bits,
            signed: false,
        }
    }

    fn time(utc: bool, unit: TimeUnit) -> Annotation {
        Annotation::Timestamp { utc, unit }
    }

    fn decimal(precision: i32, scale: i32) -> Annotation {
        Annotation::Decimal { precision, scale }
    }

    #[test]
    fn what_is_exact_and_what_is_converted() {
        use PhysicalType::{ByteArray, Double, FixedLenByteArray, Float, Int32, Int64, Int96};
        use PrimitiveType as P;
        let table_decimal = P::Decimal {
            precision: 10,
            scale: 2,
        };
        for (primitive, physical, annotation, expected) in [
            (P::Byte, Int32, INT8, Some(Fit::Exact)),
            (P::Byte, Int32, unsigned(8), None),
            (P::Short, Int32, INT8, Some(Fit::Relabeled)),
            (P::Short, Int32, unsigned(8), Some(Fit::Relabeled)),
            (P::Short, Int32, Annotation::None, None),
            (P::Integer, Int32, Annotation::None, Some(Fit::Exact)),
            (P::Integer, Int32, INT16, Some(Fit::Relabeled)),
            (P::Integer, Int32, unsigned(16), Some(Fit::Relabeled)),
            (P::Integer, Int32, unsigned(32), None),
            (P::Integer, Int64, Annotation::None, None),
            (P::Long, Int64, Annotation::None, Some(Fit::Exact)),
            (P::Long, Int32, Annotation::None, Some(Fit::Converted)),
            (P::Long, Int32, unsigned(32), Some(Fit::Converted)),
            (P::Long, Int64, unsigned(64), Some(Fit::Converted)),
            (P::Long, Int64, time(true, TimeUnit::Micros), None),
            (P::Float, Int32, INT16, Some(Fit::Converted)),
            (P::Float, Int32, Annotation::None, None),
            (P::Float, Double, Annotation::None, None),
            (P::Double, Float, Annotation::None, Some(Fit::Converted)),
            (P::Double, Int32, unsigned(32), Some(Fit::Converted)),
            (P::Double, Int64, Annotation::None, None),
            (
                P::Double,
                FixedLenByteArray(2),
                Annotation::Other("FLOAT16"),
                Some(Fit::Converted),
            ),
            (table_decimal, Int64, decimal(10, 2), Some(Fit::Exact)),
            (
                table_decimal,
                FixedLenByteArray(5),
                decimal(10, 2),
                Some(Fit::Exact),
            ),
            (table_decimal, Int32, decimal(10, 2), None),
            (table_decimal, Int32, decimal(9, 2), Some(Fit::Converted)),
            (table_decimal, Int32, decimal(9, 1), Some(Fit::Converted)),
            (table_decimal, Int64, decimal(9, 2), Some(Fit::Relabeled)),
            (table_decimal, Int64, decimal(10, 1), None),
            (table_decimal, Int64, decimal(9, 3), None),
            (table_decimal, Int32, INT16, Some(Fit::Converted)),
            (table_decimal, Int32, Annotation::None, None),
            (P::String, ByteArray, Annotation::String, Some(Fit::Exact)),
            (P::String, ByteArray, Annotation::None, None),
            (
                P::String,
                FixedLenByteArray(16),
                Annotation::Other("UUID"),
                None,
            ),
            (P::Binary, ByteArray, Annotation::None, Some(Fit::Exact)),
            (P::Binary, ByteArray, Annotation::String, None),
            (
                P::Binary,
                FixedLenByteArray(3),
                Annotation::None,
                Some(Fit::Converted),
            ),
            (P::Date, Int32, Annotation::Date, Some(Fit::Exact)),
            (P::Date, Int32, Annotation::None, None),
            (
                P::Timestamp,
                Int64,
                time(true, TimeUnit::Micros),
                Some(Fit::Exact),
            ),
            (
                P::Timestamp,
                Int64,
                time(true, TimeUnit::Nanos),
                Some(Fit::Converted),
            ),
            (P::Timestamp, Int96, Annotation::None, Some(Fit::Converted)),
            (
                P::Timestamp,
                Int64,
                Annotation::LegacyTimestamp(TimeUnit::Micros),
                Some(Fit::Relabeled),
            ),
            (
                P::TimestampNtz,
                Int64,
                Annotation::LegacyTimestamp(TimeUnit::Micros),
                None,
            ),
            (P::Timestamp, Int64, time(false, TimeUnit::Micros), None),
            (
                P::TimestampNtz,
                Int64,
                time(false, TimeUnit::Micros),
                Some(Fit::Exact),
            ),
            (
                P::TimestampNtz,
                Int64,
                time(false, TimeUnit::Millis),
                Some(Fit::Converted),
            ),
            (
                P::TimestampNtz,
                Int32,
                Annotation::Date,
                Some(Fit::Converted),
            ),
            (P::TimestampNtz, Int64, time(true, TimeUnit::Micros), None),
            (P::Integer, Int32, Annotation::Other("TIME"), None),
        ] {
            assert_eq!(
                fit(primitive, physical, annotation).ok(),
                expected,
                "{primitive} from {physical} {annotation}"
            );
        }
    }
}
