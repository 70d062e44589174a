//! Converting values one by one.

use ::parquet::data_type::{
    ByteArray, ByteArrayType, DataType, DoubleType, FixedLenByteArray, FixedLenByteArrayType,
    FloatType, Int32Type, Int64Type, Int96, Int96Type,
};

use super::bounds::Value;
use super::{BadValue, Job};
use crate::parquet::calendar::{new_day, new_instant};
use crate::parquet::{Conversion, MadeChunk, ParquetError, PhysicalType};

const MICROS_PER_DAY: i64 = 86_400_000_000;
const NANOS_PER_DAY: i128 = 86_400_000_000_000;

/// The Julian day of 1970-01-01.
const JULIAN_EPOCH: i128 = 2_440_588;

/// Makes a chunk of converted values. Of types that the conversion does not have:
/// [`ParquetError::NoConversion`].
pub(super) fn run(
    job: &Job<'_>,
    conversion: Conversion,
    physical: PhysicalType,
) -> Result<MadeChunk, ParquetError> {
    use PhysicalType as P;
    let source = job.source.shape.physical;
    let zone = job.source.zone;
    match (conversion, source, physical) {
        (Conversion::Int32ToInt64, P::Int32, P::Int64) => {
            each::<Int32Type, Int64Type>(job, |&value| Ok(value.into()))
        }
        (Conversion::Unsigned32ToInt64, P::Int32, P::Int64) => {
            each::<Int32Type, Int64Type>(job, |&value| Ok(value.cast_unsigned().into()))
        }
        (Conversion::Int32ToDouble, P::Int32, P::Double) => {
            each::<Int32Type, DoubleType>(job, |&value| Ok(value.into()))
        }
        (Conversion::FloatToDouble, P::Float, P::Double) => {
            each::<FloatType, DoubleType>(job, |&value| Ok(value.into()))
        }
        (Conversion::OldDays, P::Int32, P::Int32) => each::<Int32Type, Int32Type>(job, |&days| {
            i32::try_from(new_day(days.into()))
                .map_err(|_| beyond(format_args!("{days} days since 1970"), "32 bits"))
        }),
        (Conversion::DaysToMicros, P::Int32, P::Int64) => {
            each::<Int32Type, Int64Type>(job, |&days| days_to_micros(days.into()))
        }
        (Conversion::OldDaysToMicros, P::Int32, P::Int64) => {
            each::<Int32Type, Int64Type>(job, |&days| days_to_micros(new_day(days.into())))
        }
        (Conversion::OldMicros, P::Int64, P::Int64) => {
            each::<Int64Type, Int64Type>(job, |&micros| new_instant(micros, zone))
        }
        (Conversion::OldMillisToMicros, P::Int64, P::Int64) => {
            each::<Int64Type, Int64Type>(job, |&millis| {
                new_instant(millis_to_micros(millis)?, zone)
            })
        }
        (Conversion::OldInt96ToMicros, P::Int96, P::Int64) => {
            each::<Int96Type, Int64Type>(job, |value| new_instant(int96_to_micros(value)?, zone))
        }
        (Conversion::Int96ToMicros, P::Int96, P::Int64) => {
            each::<Int96Type, Int64Type>(job, int96_to_micros)
        }
        (Conversion::MillisToMicros, P::Int64, P::Int64) => {
            each::<Int64Type, Int64Type>(job, |&millis| millis_to_micros(millis))
        }
        (Conversion::NanosToMicros, P::Int64, P::Int64) => {
            each::<Int64Type, Int64Type>(job, |nanos| Ok(nanos.div_euclid(1_000)))
        }
        (Conversion::Decimal { shift }, P::Int32, _) => {
            decimal::<Int32Type>(job, conversion, shift, physical, |&value| Ok(value.into()))
        }
        (Conversion::Decimal { shift }, P::Int64, _) => {
            decimal::<Int64Type>(job, conversion, shift, physical, |&value| Ok(value.into()))
        }
        (Conversion::Decimal { shift }, P::ByteArray, _) => {
            decimal::<ByteArrayType>(job, conversion, shift, physical, |value: &ByteArray| {
                from_big_endian(value.data())
            })
        }
        (Conversion::Decimal { shift }, P::FixedLenByteArray(_), _) => {
            decimal::<FixedLenByteArrayType>(
                job,
                conversion,
                shift,
                physical,
                |value: &FixedLenByteArray| from_big_endian(value.data()),
            )
        }
        (Conversion::UnsignedToDecimal { shift }, P::Int32, _) => {
            decimal::<Int32Type>(job, conversion, shift, physical, |&value| {
                Ok(value.cast_unsigned().into())
            })
        }
        (Conversion::UnsignedToDecimal { shift }, P::Int64, _) => {
            decimal::<Int64Type>(job, conversion, shift, physical, |&value| {
                Ok(value.cast_unsigned().into())
            })
        }
        (Conversion::FixedToByteArray, P::FixedLenByteArray(_), P::ByteArray) => {
            each::<FixedLenByteArrayType, ByteArrayType>(job, |value: &FixedLenByteArray| {
                Ok(ByteArray::clone(value))
            })
        }
        _ => Err(no_conversion(job, conversion, physical)),
    }
}

fn no_conversion(job: &Job<'_>, conversion: Conversion, physical: PhysicalType) -> ParquetError {
    ParquetError::NoConversion {
        location: job.source.location.to_owned(),
        column: job.source.column.to_owned(),
        conversion,
        from: job.source.shape.physical,
        to: physical,
    }
}

fn each<I: DataType, O: DataType>(
    job: &Job<'_>,
    convert: impl Fn(&I::T) -> Result<O::T, String>,
) -> Result<MadeChunk, ParquetError>
where
    I::T: Value,
    O::T: Value,
{
    job.run::<I, O>(|values, into| {
        into.clear();
        for (at, value) in values.iter().enumerate() {
            into.push(convert(value).map_err(|problem| BadValue { at, problem })?);
        }
        Ok(())
    })
}

/// Converts decimals, read as whole numbers by `read`, to those of another scale.
fn decimal<I: DataType>(
    job: &Job<'_>,
    conversion: Conversion,
    shift: u8,
    physical: PhysicalType,
    read: impl Fn(&I::T) -> Result<i128, String>,
) -> Result<MadeChunk, ParquetError>
where
    I::T: Value,
{
    let scaled = |value: &I::T| -> Result<i128, String> {
        let unscaled = read(value)?;
        let power = 10_i128.checked_pow(shift.into());
        power
            .and_then(|power| unscaled.checked_mul(power))
            .or((unscaled == 0).then_some(0))
            .ok_or_else(|| {
                beyond(
                    format_args!("{unscaled} with {shift} more digits"),
                    "128 bits",
                )
            })
    };
    match physical {
        PhysicalType::Int32 => each::<I, Int32Type>(job, |value| {
            let number = scaled(value)?;
            i32::try_from(number)
                .map_err(|_| beyond(format_args!("an unscaled value of {number}"), "32 bits"))
        }),
        PhysicalType::Int64 => each::<I, Int64Type>(job, |value| {
            let number = scaled(value)?;
            i64::try_from(number)
                .map_err(|_| beyond(format_args!("an unscaled value of {number}"), "64 bits"))
        }),
        PhysicalType::FixedLenByteArray(length) => each::<I, FixedLenByteArrayType>(job, |value| {
            let number = scaled(value)?;
            let bytes = to_big_endian(number, length as usize).ok_or_else(|| {
                beyond(
                    format_args!("an unscaled value of {number}"),
                    &format!("{length} bytes"),
                )
            })?;
            Ok(FixedLenByteArray::from(bytes))
        }),
        _ => Err(no_conversion(job, conversion, physical)),
    }
}

/// A clause that says what does not fit.
fn beyond(what: std::fmt::Arguments<'_>, target: &str) -> String {
    format!("{what} does not fit {target}")
}

fn days_to_micros(days: i64) -> Result<i64, String> {
    days.checked_mul(MICROS_PER_DAY)
        .ok_or_else(|| beyond(format_args!("{days} days since 1970"), "microseconds"))
}

fn millis_to_micros(millis: i64) -> Result<i64, String> {
    millis.checked_mul(1_000).ok_or_else(|| {
        beyond(
            format_args!("{millis} milliseconds since 1970"),
            "microseconds",
        )
    })
}

/// Microseconds since the epoch, rounded towards the past.
fn int96_to_micros(value: &Int96) -> Result<i64, String> {
    let &[low, high, day] = value.data() else {
        return Err("a timestamp of other than 96 bits".to_owned());
    };
    let nanos = ((u64::from(high) << 32) | u64::from(low)).cast_signed();
    let day = day.cast_signed();
    let since_epoch = (i128::from(day) - JULIAN_EPOCH) * NANOS_PER_DAY + i128::from(nanos);
    i64::try_from(since_epoch.div_euclid(1_000)).map_err(|_| {
        beyond(
            format_args!("Julian day {day} and {nanos} nanoseconds"),
            "64 bits of microseconds since 1970",
        )
    })
}

/// A signed number of any length.
fn from_big_endian(bytes: &[u8]) -> Result<i128, String> {
    let first = *bytes.first().ok_or("a decimal has no bytes")?;
    let sign = if first >= 0x80 { 0xff } else { 0 };
    let (extra, bytes) = bytes.split_at(bytes.len().saturating_sub(16));
    let mut number = [sign; 16];
    number[16 - bytes.len()..].copy_from_slice(bytes);
    if extra.iter().any(|&byte| byte != sign) || (number[0] ^ sign) >= 0x80 {
        return Err(format!(
            "a decimal of {} bytes does not fit 128 bits",
            extra.len() + bytes.len()
        ));
    }
    Ok(i128::from_be_bytes(number))
}

/// `number` in that many bytes; `None` when it does not fit.
fn to_big_endian(number: i128, length: usize) -> Option<Vec<u8>> {
    let sign = if number < 0 { 0xff } else { 0 };
    let bytes = number.to_be_bytes();
    if let Some(filler) = length.checked_sub(bytes.len()) {
        let mut padded = vec![sign; filler];
        padded.extend(bytes);
        return Some(padded);
    }
    let (extra, kept) = bytes.split_at(bytes.len() - length);
    let fits = extra.iter().all(|&byte| byte == sign) && (kept.first()? ^ sign) < 0x80;
    fits.then(|| kept.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn int96(day: u32, nanos: i64) -> Int96 {
        let mut value = Int96::new();
        let nanos = nanos.cast_unsigned();
        value.set_data(nanos as u32, (nanos >> 32) as u32, day);
        value
    }

    #[test]
    fn int96_is_read_as_a_julian_day_and_nanoseconds() {
        for (day, nanos, micros) in [
            (2_440_588, 0, 0),
            (2_440_588, 999, 0),
            (2_440_588, 1_999, 1),
            (2_440_588, -1, -1),
            (2_440_587, 86_399_999_999_999, -1),
            // 0001-01-01T00:00:00 and 9999-12-31T23:59:59.999999: 719,162 days before and
            // 2,932,896 days after the epoch.
            (1_721_426, 0, -62_135_596_800_000_000),
            (5_373_484, 86_399_999_999_999, 253_402_300_799_999_999),
            // Nanoseconds beyond the day count on.
            (2_440_588, 86_400_000_000_000, 86_400_000_000),
        ] {
            assert_eq!(
                int96_to_micros(&int96(day, nanos)),
                Ok(micros),
                "{day} {nanos}"
            );
        }
        for day in [i32::MAX, i32::MIN] {
            let problem = int96_to_micros(&int96(day.cast_unsigned(), 0)).expect_err("too far");
            assert!(problem.contains("does not fit"), "{problem}");
        }
    }

    #[test]
    fn big_endian_numbers_keep_their_sign_at_every_length() {
        for number in [
            0,
            1,
            -1,
            127,
            128,
            -128,
            -129,
            i128::from(i64::MIN),
            i128::MAX,
            i128::MIN,
        ] {
            let mut fits_before = false;
            for length in 0..20 {
                let bytes = to_big_endian(number, length);
                let fits = length >= 16 || {
                    let bits = 8 * length as u32;
                    bits > 0 && (number << (128 - bits)) >> (128 - bits) == number
                };
                assert_eq!(bytes.is_some(), fits, "{number} in {length}");
                assert!(fits || !fits_before);
                fits_before = fits;
                if let Some(bytes) = bytes {
                    assert_eq!(bytes.len(), length);
                    assert_eq!(from_big_endian(&bytes), Ok(number));
                }
            }
        }
        assert!(from_big_endian(&[]).is_err());
        let mut long = vec![0; 17];
        long[0] = 1;
        assert!(from_big_endian(&long).is_err());
        long[0] = 0;
        long[1] = 0x80;
        assert!(from_big_endian(&long).is_err());
    }
}
