//! What delta-encoded byte arrays claim: the decoder reserves as many lengths as they claim to have,
//! and values that share prefixes can be larger than their page by its square.
//!
//! See "Delta-length byte array" and "Delta Strings" in `Encodings.md` of the format.

use crate::parquet::varint::take_varint;

/// The most bytes of values with shared prefixes that a chunk may have.
pub(super) const MAX_DECODED: u64 = 1 << 30;

/// The most values of a page. Writers make pages of thousands, and a few bytes can claim any number.
const MAX_VALUES: u64 = 1 << 24;

const CUT_OFF: &str = "a page ends before its lengths";

/// Checks the values of a DELTA_LENGTH_BYTE_ARRAY page with that many values and nulls.
pub(super) fn check_lengths(values: &[u8], entries: u32) -> Result<(), String> {
    Integers::new(values, entries).map(drop)
}

/// Checks the values of a DELTA_BYTE_ARRAY page with that many values and nulls, and returns how
/// many bytes they have in all.
pub(super) fn check_prefixes(values: &[u8], entries: u32) -> Result<u64, String> {
    let mut prefixes = Integers::new(values, entries)?;
    let mut total = 0_u64;
    while let Some(prefix) = prefixes.next()? {
        // A negative one is left to the decoder, which refuses it.
        total = total.saturating_add(u64::try_from(prefix).unwrap_or(0));
    }
    let suffixes = prefixes.rest();
    check_lengths(suffixes, entries)?;
    Ok(total.saturating_add(suffixes.len() as u64))
}

/// Integers in DELTA_BINARY_PACKED encoding.
struct Integers<'a> {
    bytes: &'a [u8],
    miniblocks: u64,
    values_per_miniblock: u64,
    left: u64,
    last: i64,
    is_first: bool,
    min_delta: i64,
    /// The bit widths of the miniblocks of this block that are still to come.
    widths: &'a [u8],
    /// The packed deltas of this miniblock, how wide they are, and how many were read.
    packed: &'a [u8],
    width: u8,
    read: u64,
}

impl<'a> Integers<'a> {
    fn new(bytes: &'a [u8], entries: u32) -> Result<Integers<'a>, String> {
        let mut integers = Integers {
            bytes,
            miniblocks: 0,
            values_per_miniblock: 0,
            left: 0,
            last: 0,
            is_first: true,
            min_delta: 0,
            widths: &[],
            packed: &[],
            width: 0,
            read: 0,
        };
        let block = integers.varint()?;
        integers.miniblocks = integers.varint()?;
        integers.left = integers.varint()?;
        integers.last = integers.zigzag()?;
        let most = u64::from(entries).min(MAX_VALUES);
        if integers.left > most {
            return Err(format!(
                "a page claims {} values where it may have {most}",
                integers.left
            ));
        }
        if integers.miniblocks == 0
            || block > u64::from(u32::MAX)
            || block % 128 != 0
            || block % integers.miniblocks != 0
            || !(block / integers.miniblocks).is_multiple_of(32)
        {
            return Err(format!(
                "a page has blocks of {block} values in {} parts",
                integers.miniblocks
            ));
        }
        integers.values_per_miniblock = block / integers.miniblocks;
        integers.read = integers.values_per_miniblock;
        Ok(integers)
    }

    fn next(&mut self) -> Result<Option<i64>, String> {
        let Some(left) = self.left.checked_sub(1) else {
            return Ok(None);
        };
        self.left = left;
        if std::mem::take(&mut self.is_first) {
            return Ok(Some(self.last));
        }
        if self.read >= self.values_per_miniblock {
            self.next_miniblock()?;
        }
        let delta = self.unpack();
        self.read += 1;
        // Lengths have 32 bits and are added with overflow.
        let next = self.last.wrapping_add(self.min_delta).wrapping_add(delta);
        self.last = i64::from(next as i32);
        Ok(Some(self.last))
    }

    fn next_miniblock(&mut self) -> Result<(), String> {
        if self.widths.is_empty() {
            self.min_delta = self.zigzag()?;
            self.widths = self.take(self.miniblocks)?;
        }
        let (&width, widths) = self.widths.split_first().ok_or("a block has no parts")?;
        self.widths = widths;
        if width > 32 {
            return Err(format!("a page has lengths of {width} bits"));
        }
        self.width = width;
        self.packed = self.take(u64::from(width) * self.values_per_miniblock / 8)?;
        self.read = 0;
        Ok(())
    }

    /// The delta at `read`, without the least one.
    fn unpack(&self) -> i64 {
        let first_bit = self.read * u64::from(self.width);
        let (byte, shift) = ((first_bit / 8) as usize, first_bit % 8);
        let mut word = [0; 8];
        for (to, from) in word.iter_mut().zip(self.packed.iter().skip(byte)) {
            *to = *from;
        }
        let mask = (1_u64 << self.width) - 1;
        ((u64::from_le_bytes(word) >> shift) & mask) as i64
    }

    /// What comes behind. The miniblocks that no value is left for have no bytes.
    fn rest(&self) -> &'a [u8] {
        self.bytes
    }

    fn take(&mut self, length: u64) -> Result<&'a [u8], String> {
        let taken = usize::try_from(length)
            .ok()
            .and_then(|length| self.bytes.split_at_checked(length));
        let (taken, rest) = taken.ok_or(CUT_OFF)?;
        self.bytes = rest;
        Ok(taken)
    }

    fn varint(&mut self) -> Result<u64, String> {
        Ok(take_varint(&mut self.bytes, CUT_OFF)?)
    }

    fn zigzag(&mut self) -> Result<i64, String> {
        let number = self.varint()?;
        Ok((number >> 1) as i64 ^ -((number & 1) as i64))
    }
}
