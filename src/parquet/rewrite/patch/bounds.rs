//! Whether the bounds of a chunk stay what they are when values go.

use super::super::bounds::{Order, compare_big_endian, has_room};
use crate::parquet::PhysicalType;

/// What a footer says of the values of a column chunk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SourceStatistics<'a> {
    /// Nulls.
    pub null_count: Option<u64>,
    /// The least and the greatest value, plainly encoded, a byte array without its length; `None`
    /// where one of them is missing or may be shortened.
    pub bounds: Option<(&'a [u8], &'a [u8])>,
}

/// The bounds of a chunk of which values go. They stay while no value that equals one of them goes,
/// or another one that equals it was seen to stay.
pub(super) struct KeptBounds<'a> {
    physical: PhysicalType,
    order: Order,
    /// The least and the greatest value; `None` where that has to be found out from all values.
    bounds: Option<[&'a [u8]; 2]>,
    /// For each, whether a value that equals it went, and whether one stays.
    gone: [bool; 2],
    stays: [bool; 2],
}

/// What became of the bounds.
pub(super) enum Outcome<'a> {
    /// These are exact, unless they are too long to be told.
    Known(Option<(&'a [u8], &'a [u8])>),
    /// All values that stay have to be looked at.
    Unknown,
}

impl<'a> KeptBounds<'a> {
    pub(super) fn new(
        physical: PhysicalType,
        order: Order,
        bounds: Option<(&'a [u8], &'a [u8])>,
    ) -> KeptBounds<'a> {
        let bounds = bounds.map(|(least, greatest)| [least, greatest]);
        let are_values = |bounds: &[&[u8]; 2]| {
            order != Order::Undefined && bounds.iter().all(|bound| is_value(bound, physical, order))
        };
        KeptBounds {
            physical,
            order,
            bounds: bounds.filter(are_values),
            gone: [false; 2],
            stays: [false; 2],
        }
    }

    /// Whether the values that stay have to be looked at for NaN: bounds leave it out, and must not
    /// be told beside it.
    pub(super) fn minds_nan(&self) -> bool {
        self.bounds.is_some() && matches!(self.physical, PhysicalType::Float | PhysicalType::Double)
    }

    /// Gives up: all values have to be looked at.
    pub(super) fn forget(&mut self) {
        self.bounds = None;
    }

    /// Whether there is anything to watch for.
    pub(super) fn is_watching(&self) -> bool {
        self.bounds.is_some()
    }

    /// Which bounds `value` equals, plainly encoded, a byte array without its length.
    pub(super) fn equals(&self, value: &[u8]) -> [bool; 2] {
        match &self.bounds {
            Some(bounds) => bounds.map(|bound| self.is_equal(bound, value)),
            None => [false; 2],
        }
    }

    fn is_equal(&self, bound: &[u8], value: &[u8]) -> bool {
        match (self.physical, self.order) {
            (PhysicalType::Float | PhysicalType::Double, _) => {
                float(bound).is_some_and(|bound| Some(bound) == float(value))
            }
            (_, Order::BigEndian) => {
                compare_big_endian(bound, value).is_some_and(std::cmp::Ordering::is_eq)
            }
            _ => bound == value,
        }
    }

    /// Values that equal those bounds go.
    pub(super) fn go(&mut self, which: [bool; 2]) {
        for (gone, which) in self.gone.iter_mut().zip(which) {
            *gone |= which;
        }
    }

    /// Values that equal those bounds stay.
    pub(super) fn stay(&mut self, which: [bool; 2]) {
        for (stays, which) in self.stays.iter_mut().zip(which) {
            *stays |= which;
        }
    }

    /// Which bounds hold only if a value that equals them is found among those that stay.
    pub(super) fn wanted(&self) -> [bool; 2] {
        match self.bounds {
            Some(_) => [0, 1].map(|which| self.gone[which] && !self.stays[which]),
            None => [false; 2],
        }
    }

    pub(super) fn finish(self) -> Outcome<'a> {
        if self.order == Order::Undefined {
            return Outcome::Known(None);
        }
        match self.bounds {
            Some([least, greatest]) if self.wanted() == [false; 2] => {
                Outcome::Known(has_room(least, greatest).then_some((least, greatest)))
            }
            _ => Outcome::Unknown,
        }
    }
}

/// Whether bytes are a value that has a place in the order.
fn is_value(bytes: &[u8], physical: PhysicalType, order: Order) -> bool {
    match physical {
        PhysicalType::Boolean => matches!(bytes, [0 | 1]),
        PhysicalType::Float => bytes.len() == 4 && !is_nan(bytes),
        PhysicalType::Double => bytes.len() == 8 && !is_nan(bytes),
        PhysicalType::Int32 => bytes.len() == 4,
        PhysicalType::Int64 => bytes.len() == 8,
        PhysicalType::Int96 => bytes.len() == 12,
        PhysicalType::FixedLenByteArray(length) => bytes.len() == length as usize,
        PhysicalType::ByteArray => order != Order::BigEndian || !bytes.is_empty(),
    }
}

/// A FLOAT or a DOUBLE, plainly encoded.
fn float(bytes: &[u8]) -> Option<f64> {
    match *bytes {
        [b0, b1, b2, b3] => Some(f32::from_le_bytes([b0, b1, b2, b3]).into()),
        _ => Some(f64::from_le_bytes(bytes.try_into().ok()?)),
    }
}

/// Whether there is a NaN among FLOATs or DOUBLEs of `width` bytes.
pub(super) fn has_nan(values: &[u8], width: usize) -> bool {
    if width == 4 {
        let (values, _) = values.as_chunks();
        return values.iter().fold(false, |found, value| {
            found | f32::from_le_bytes(*value).is_nan()
        });
    }
    let (values, _) = values.as_chunks();
    values.iter().fold(false, |found, value| {
        found | f64::from_le_bytes(*value).is_nan()
    })
}

fn is_nan(bytes: &[u8]) -> bool {
    float(bytes).is_none_or(f64::is_nan)
}

/// A bound of floating-point numbers as it is told: a zero below is negative, one above positive,
/// as both are equal.
pub(super) fn with_signed_zero(bound: &[u8], is_least: bool) -> Vec<u8> {
    let mut bytes = bound.to_vec();
    if float(bound) == Some(0.0)
        && let Some(last) = bytes.last_mut()
    {
        *last = if is_least { 0x80 } else { 0 };
    }
    bytes
}
