//! The values of a page of which some go.

use std::ops::Range;

use super::super::input::smallest_value;
use super::bounds::{KeptBounds, has_nan};
use super::dictionary::{Dictionary, take_binary};
use super::hybrid;
use crate::parquet::PhysicalType;
use crate::parquet::format::encoding::{PLAIN, PLAIN_DICTIONARY, RLE, RLE_DICTIONARY};

/// How the values of a page are encoded, of the ways in which some can be left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ValueEncoding {
    /// Plainly, that many bytes each.
    Fixed(usize),
    /// Plainly, each behind its length.
    Binary,
    /// One bit each.
    Bits,
    /// One bit each, in runs.
    BitRuns,
    /// As indices into the dictionary.
    Indices,
}

impl ValueEncoding {
    pub(super) fn of(encoding: i32, physical: PhysicalType) -> Option<ValueEncoding> {
        Some(match (encoding, physical) {
            (PLAIN, PhysicalType::Boolean) => ValueEncoding::Bits,
            (PLAIN, PhysicalType::ByteArray) => ValueEncoding::Binary,
            // One that has no bytes does not tell how many there are.
            (PLAIN, PhysicalType::FixedLenByteArray(0)) => return None,
            (PLAIN, _) => ValueEncoding::Fixed(smallest_value(physical) as usize),
            (RLE, PhysicalType::Boolean) => ValueEncoding::BitRuns,
            (PLAIN_DICTIONARY | RLE_DICTIONARY, _) => ValueEncoding::Indices,
            _ => return None,
        })
    }
}

/// The values of a page, and which of them stay.
pub(super) struct PageValues<'a> {
    /// What there is of them.
    pub(super) bytes: &'a [u8],
    /// How many there are.
    pub(super) count: usize,
    /// Those that stay, in their order.
    pub(super) stay: &'a [Range<usize>],
}

/// The ranges between those that stay.
fn gaps(stay: &[Range<usize>], count: usize) -> impl Iterator<Item = Range<usize>> {
    let ends = std::iter::once(0).chain(stay.iter().map(|range| range.end));
    let starts = stay.iter().map(|range| range.start).chain([count]);
    ends.zip(starts)
        .map(|(from, to)| from..to)
        .filter(|gap| !gap.is_empty())
}

impl PageValues<'_> {
    /// Appends those that stay to `out`. `numbers` is for use meanwhile. An error is a clause.
    pub(super) fn write(
        &self,
        encoding: ValueEncoding,
        dictionary: Option<&Dictionary>,
        kept: &mut KeptBounds<'_>,
        numbers: &mut Vec<u32>,
        out: &mut Vec<u8>,
    ) -> Result<(), String> {
        match encoding {
            ValueEncoding::Fixed(width) => self.fixed(width, kept, out),
            ValueEncoding::Binary => self.binary(kept, out),
            ValueEncoding::Bits => {
                let length = self.count.div_ceil(8);
                let bytes = self.bytes.get(..length).ok_or(FEWER)?;
                numbers.clear();
                numbers.extend((0..self.count).map(|at| u32::from(bytes[at / 8] >> (at % 8) & 1)));
                self.keep_bits(kept, numbers);
                out.extend(numbers.chunks(8).map(|group| {
                    let bits = group.iter().rev();
                    bits.fold(0, |byte, &bit| byte << 1 | bit as u8)
                }));
                Ok(())
            }
            ValueEncoding::BitRuns => {
                let runs = self.bytes.split_first_chunk();
                let (length, runs) = runs.ok_or(FEWER)?;
                let runs = runs.get(..u32::from_le_bytes(*length) as usize);
                hybrid::decode(runs.ok_or(FEWER)?, 1, self.count, numbers)?;
                self.keep_bits(kept, numbers);
                write_sized(out, |out| hybrid::encode(numbers, 1, out));
                Ok(())
            }
            ValueEncoding::Indices => {
                let dictionary =
                    dictionary.ok_or("a page refers to a dictionary that is not there")?;
                self.indices(dictionary, kept, numbers, out)
            }
        }
    }

    fn fixed(
        &self,
        width: usize,
        kept: &mut KeptBounds<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), String> {
        let length = self.count.saturating_mul(width);
        let bytes = self.bytes.get(..length).ok_or(FEWER)?;
        let of = |range: &Range<usize>| &bytes[range.start * width..range.end * width];
        if kept.is_watching() {
            for gap in gaps(self.stay, self.count) {
                for value in of(&gap).chunks_exact(width) {
                    kept.go(kept.equals(value));
                }
            }
        }
        let start = out.len();
        for range in self.stay {
            out.extend_from_slice(of(range));
        }
        if kept.minds_nan() && has_nan(&out[start..], width) {
            kept.forget();
        }
        look_for_wanted(kept, out[start..].chunks_exact(width));
        Ok(())
    }

    fn binary(&self, kept: &mut KeptBounds<'_>, out: &mut Vec<u8>) -> Result<(), String> {
        let start = out.len();
        let (mut rest, mut at) = (self.bytes, 0);
        let end = std::iter::once(self.count..self.count);
        for range in self.stay.iter().cloned().chain(end) {
            for _ in at..range.start {
                let value = take_binary(&mut rest)?;
                kept.go(kept.equals(value));
            }
            let before = rest;
            for _ in range.clone() {
                take_binary(&mut rest)?;
            }
            out.extend_from_slice(&before[..before.len() - rest.len()]);
            at = range.end;
        }
        let mut staying = &out[start..];
        let values = std::iter::from_fn(|| take_binary(&mut staying).ok());
        look_for_wanted(kept, values);
        Ok(())
    }

    fn keep_bits(&self, kept: &mut KeptBounds<'_>, bits: &mut Vec<u32>) {
        for gap in gaps(self.stay, self.count) {
            for &bit in &bits[gap] {
                kept.go(kept.equals(&[bit as u8]));
            }
        }
        keep(bits, self.stay);
        for bit in [0, 1] {
            if kept.wanted() != [false; 2] && bits.contains(&bit) {
                kept.stay(kept.equals(&[bit as u8]));
            }
        }
    }

    fn indices(
        &self,
        dictionary: &Dictionary,
        kept: &mut KeptBounds<'_>,
        indices: &mut Vec<u32>,
        out: &mut Vec<u8>,
    ) -> Result<(), String> {
        let Some((&bits, bytes)) = self.bytes.split_first() else {
            // Where there are only nulls, some writers leave out the width, too.
            return (self.count == 0)
                .then_some(())
                .ok_or_else(|| FEWER.to_owned());
        };
        if bits > 32 {
            return Err(format!("a page has indices of {bits} bits"));
        }
        hybrid::decode(bytes, bits.into(), self.count, indices)?;
        if let Some(greatest) = indices
            .iter()
            .max()
            .filter(|&&index| index as usize >= dictionary.values)
        {
            return Err(format!(
                "a page has the index {greatest} into a dictionary of {} values",
                dictionary.values
            ));
        }
        let [least, greatest] = &dictionary.bounds;
        if kept.is_watching() {
            for gap in gaps(self.stay, self.count) {
                for index in &indices[gap] {
                    kept.go([least.contains(index), greatest.contains(index)]);
                }
            }
        }
        keep(indices, self.stay);
        let wanted = kept.wanted();
        let stays = |which: usize, of: &[u32]| {
            wanted[which] && of.iter().any(|index| indices.contains(index))
        };
        kept.stay([stays(0, least), stays(1, greatest)]);
        out.push(bits);
        hybrid::encode(indices, bits.into(), out);
        Ok(())
    }
}

const FEWER: &str = "a page has fewer values than its levels say";

/// Looks among values that stay for those that equal a bound of which one went.
fn look_for_wanted<'v>(kept: &mut KeptBounds<'_>, values: impl Iterator<Item = &'v [u8]>) {
    if kept.wanted() == [false; 2] {
        return;
    }
    for value in values {
        let equals = kept.equals(value);
        if equals != [false; 2] {
            kept.stay(equals);
            if kept.wanted() == [false; 2] {
                return;
            }
        }
    }
}

/// Leaves only those ranges.
pub(super) fn keep<T: Copy>(numbers: &mut Vec<T>, ranges: &[Range<usize>]) {
    let mut to = 0;
    for range in ranges {
        numbers.copy_within(range.clone(), to);
        to += range.len();
    }
    numbers.truncate(to);
}

/// Appends what `write` does, behind its length in four bytes.
pub(super) fn write_sized(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let at = out.len();
    out.extend([0; 4]);
    write(out);
    let length = (out.len() - at - 4) as u32;
    out[at..at + 4].copy_from_slice(&length.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_what_does_not_stay() {
        let all = |stay: &[Range<usize>]| gaps(stay, 10).collect::<Vec<_>>();
        assert_eq!(all(&[]), vec![Range { start: 0, end: 10 }]);
        assert!(all(&[0..4, 4..10]).is_empty());
        assert_eq!(all(&[0..2, 3..5]), [2..3, 5..10]);
        assert_eq!(all(&[1..2, 9..10]), [0..1, 2..9]);
        let mut numbers: Vec<u8> = (0..10).collect();
        keep(&mut numbers, &[1..2, 4..7, 9..10]);
        assert_eq!(numbers, [1, 4, 5, 6, 9]);
    }
}
