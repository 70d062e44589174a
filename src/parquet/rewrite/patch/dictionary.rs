//! The dictionary of a chunk: how many values it has, and which of them are bounds.

use super::super::input::smallest_value;
use super::bounds::{KeptBounds, has_nan};
use crate::parquet::PhysicalType;

/// How many values of a dictionary may equal a bound before bounds are found out otherwise. Writers
/// have each value once, or twice for a zero that has a sign.
const MAX_EQUAL: usize = 8;

/// What has to be known of a dictionary whose page stays as it is.
pub(super) struct Dictionary {
    /// How many values it has.
    pub(super) values: usize,
    /// The indices of the values that equal each of the bounds.
    pub(super) bounds: [Vec<u32>; 2],
}

impl Dictionary {
    /// Reads the dictionary in `page`, which is plainly encoded and not compressed. An error is a clause.
    pub(super) fn new(
        page: &[u8],
        values: usize,
        physical: PhysicalType,
        kept: &mut KeptBounds<'_>,
    ) -> Result<Dictionary, String> {
        let mut dictionary = Dictionary {
            values,
            bounds: [Vec::new(), Vec::new()],
        };
        let mut see = |index: usize, value: &[u8]| {
            for (indices, equals) in dictionary.bounds.iter_mut().zip(kept.equals(value)) {
                if equals && indices.len() <= MAX_EQUAL {
                    // Above 2^31 there is none.
                    indices.push(index as u32);
                }
            }
        };
        if physical == PhysicalType::ByteArray {
            let mut rest = page;
            for index in 0..values {
                see(index, take_binary(&mut rest)?);
            }
        } else {
            let width = smallest_value(physical) as usize;
            let page = page
                .get(..values.saturating_mul(width))
                .ok_or("a dictionary has fewer values than it says")?;
            if kept.is_watching() {
                for (index, value) in page.chunks_exact(width).enumerate() {
                    see(index, value);
                }
            }
            if kept.minds_nan() && has_nan(page, width) {
                kept.forget();
            }
        }
        if dictionary
            .bounds
            .iter()
            .any(|indices| indices.len() > MAX_EQUAL)
        {
            kept.forget();
        }
        Ok(dictionary)
    }
}

/// Takes a byte array with its length off the front.
pub(super) fn take_binary<'a>(rest: &mut &'a [u8]) -> Result<&'a [u8], String> {
    let (length, behind) = rest
        .split_first_chunk()
        .ok_or("a page ends before its values")?;
    let length = u32::from_le_bytes(*length) as usize;
    let (value, behind) = behind
        .split_at_checked(length)
        .ok_or("a value is longer than its page")?;
    *rest = behind;
    Ok(value)
}
