//! The least and the greatest of values, in the order that the format defines for their type.

use std::cmp::Ordering;

use ::parquet::data_type::{ByteArray, FixedLenByteArray, Int96};
use bytes::Bytes;

use crate::parquet::{Annotation, PhysicalType};

/// The largest bound that is kept, bytes. Readers keep all of them in memory.
const MAX_BOUND: usize = 256;

/// How values are ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// As numbers; `false` is less than `true`.
    Number,
    /// Byte by byte, unsigned.
    Bytes,
    /// As signed big-endian numbers.
    BigEndian,
    /// In a way that readers do not agree on, that is not written here, or not at all.
    Undefined,
}

impl Order {
    pub(super) fn of(physical: PhysicalType, annotation: Annotation) -> Order {
        match (physical, annotation) {
            (
                PhysicalType::Boolean | PhysicalType::Float | PhysicalType::Double,
                Annotation::None,
            )
            | (
                PhysicalType::Int32 | PhysicalType::Int64,
                Annotation::None
                | Annotation::Date
                | Annotation::Timestamp { .. }
                | Annotation::LegacyTimestamp(_)
                | Annotation::Decimal { .. }
                | Annotation::Integer { signed: true, .. }
                | Annotation::Other("TIME"),
            ) => Order::Number,
            (PhysicalType::ByteArray, Annotation::None | Annotation::String)
            | (PhysicalType::ByteArray, Annotation::Other("ENUM" | "JSON" | "BSON"))
            | (PhysicalType::FixedLenByteArray(_), Annotation::None | Annotation::Other("UUID")) => {
                Order::Bytes
            }
            (
                PhysicalType::ByteArray | PhysicalType::FixedLenByteArray(_),
                Annotation::Decimal { .. },
            ) => Order::BigEndian,
            _ => Order::Undefined,
        }
    }

    /// The order of numbers that are stored as `physical`.
    pub(super) fn of_number(physical: PhysicalType) -> Order {
        match physical {
            PhysicalType::ByteArray | PhysicalType::FixedLenByteArray(_) => Order::BigEndian,
            PhysicalType::Int96 => Order::Undefined,
            _ => Order::Number,
        }
    }
}

/// A value of a physical type.
pub(super) trait Value: Clone + Default {
    /// `None` beside NaN, and where the order does not apply to the type.
    fn compare(&self, other: &Self, order: Order) -> Option<Ordering>;

    /// Plainly encoded, a byte array without its length.
    fn plain(&self) -> Bytes;

    /// As a lower bound, which differs for a zero that has a sign.
    fn plain_least(&self) -> Bytes {
        self.plain()
    }

    /// As an upper bound, which differs for a zero that has a sign.
    fn plain_greatest(&self) -> Bytes {
        self.plain()
    }

    /// A copy that keeps no page in memory.
    fn detached(&self) -> Self {
        self.clone()
    }
}

/// The bounds of the values so far.
pub(super) struct Bounds<V> {
    order: Order,
    /// The least and the greatest.
    bounds: Option<(V, V)>,
}

impl<V: Value> Bounds<V> {
    pub(super) fn new(order: Order) -> Bounds<V> {
        Bounds {
            order,
            bounds: None,
        }
    }

    pub(super) fn add(&mut self, values: &[V]) {
        let (Some(first), false) = (values.first(), self.order == Order::Undefined) else {
            return;
        };
        let (mut least, mut greatest) = match &self.bounds {
            Some((least, greatest)) => (least, greatest),
            None => (first, first),
        };
        for value in values {
            // Comparing with itself finds a NaN that comes first.
            match (
                value.compare(least, self.order),
                value.compare(greatest, self.order),
            ) {
                (Some(below), Some(above)) => {
                    if below == Ordering::Less {
                        least = value;
                    }
                    if above == Ordering::Greater {
                        greatest = value;
                    }
                }
                // Some readers take NaN for the greatest of all numbers, so bounds that leave it
                // out would hide rows from them.
                _ => {
                    self.order = Order::Undefined;
                    self.bounds = None;
                    return;
                }
            }
        }
        self.bounds = Some((least.detached(), greatest.detached()));
    }

    /// The bounds, plainly encoded. None where there is no value, where a value has no place in the
    /// order, and where one of them is long.
    pub(super) fn finish(self) -> Option<(Bytes, Bytes)> {
        let (least, greatest) = self.bounds?;
        let bounds = (least.plain_least(), greatest.plain_greatest());
        has_room(&bounds.0, &bounds.1).then_some(bounds)
    }
}

/// Whether bounds are short enough to be kept.
pub(super) fn has_room(least: &[u8], greatest: &[u8]) -> bool {
    least.len() <= MAX_BOUND && greatest.len() <= MAX_BOUND
}

impl Value for bool {
    fn compare(&self, other: &bool, _: Order) -> Option<Ordering> {
        Some(self.cmp(other))
    }

    fn plain(&self) -> Bytes {
        Bytes::copy_from_slice(&[u8::from(*self)])
    }
}

impl Value for i32 {
    fn compare(&self, other: &i32, _: Order) -> Option<Ordering> {
        Some(self.cmp(other))
    }

    fn plain(&self) -> Bytes {
        Bytes::copy_from_slice(&self.to_le_bytes())
    }
}

impl Value for i64 {
    fn compare(&self, other: &i64, _: Order) -> Option<Ordering> {
        Some(self.cmp(other))
    }

    fn plain(&self) -> Bytes {
        Bytes::copy_from_slice(&self.to_le_bytes())
    }
}

impl Value for Int96 {
    fn compare(&self, _: &Int96, _: Order) -> Option<Ordering> {
        None
    }

    fn plain(&self) -> Bytes {
        self.data()
            .iter()
            .flat_map(|word| word.to_le_bytes())
            .collect()
    }
}

macro_rules! float {
    ($float:ty) => {
        impl Value for $float {
            fn compare(&self, other: &$float, _: Order) -> Option<Ordering> {
                self.partial_cmp(other)
            }

            fn plain(&self) -> Bytes {
                Bytes::copy_from_slice(&self.to_le_bytes())
            }

            fn plain_least(&self) -> Bytes {
                if *self == 0.0 { -0.0 } else { *self }.plain()
            }

            fn plain_greatest(&self) -> Bytes {
                if *self == 0.0 { 0.0 } else { *self }.plain()
            }
        }
    };
}

float!(f32);
float!(f64);

impl Value for ByteArray {
    fn compare(&self, other: &ByteArray, order: Order) -> Option<Ordering> {
        compare_bytes(self.data(), other.data(), order)
    }

    fn plain(&self) -> Bytes {
        Bytes::copy_from_slice(self.data())
    }

    fn detached(&self) -> ByteArray {
        ByteArray::from(self.data().to_vec())
    }
}

impl Value for FixedLenByteArray {
    fn compare(&self, other: &FixedLenByteArray, order: Order) -> Option<Ordering> {
        compare_bytes(self.data(), other.data(), order)
    }

    fn plain(&self) -> Bytes {
        Bytes::copy_from_slice(self.data())
    }

    fn detached(&self) -> FixedLenByteArray {
        FixedLenByteArray::from(self.data().to_vec())
    }
}

fn compare_bytes(this: &[u8], other: &[u8], order: Order) -> Option<Ordering> {
    match order {
        Order::Bytes => Some(this.cmp(other)),
        Order::BigEndian => compare_big_endian(this, other),
        Order::Number | Order::Undefined => None,
    }
}

/// Compares signed big-endian numbers of any length. No bytes are no number.
pub(super) fn compare_big_endian(this: &[u8], other: &[u8]) -> Option<Ordering> {
    let negative = (*this.first()? >= 0x80, *other.first()? >= 0x80);
    Some(match negative {
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
        (sign, _) => {
            let (this, other) = (significant(this, sign), significant(other, sign));
            // Of one sign and in two's complement, more bytes are further from zero, and bytes
            // compare alike for both signs.
            let longer = this.len().cmp(&other.len());
            let longer = if sign { longer.reverse() } else { longer };
            longer.then_with(|| this.cmp(other))
        }
    })
}

/// Without the bytes that do nothing but extend the sign.
fn significant(bytes: &[u8], negative: bool) -> &[u8] {
    let filler = if negative { 0xff } else { 0 };
    let start = bytes.iter().position(|&byte| byte != filler);
    &bytes[start.unwrap_or(bytes.len())..]
}
