//! How many records of a repeated leaf are read at once. Their lengths can differ by any factor, a
//! few bytes can stand for a record of billions of entries, and the decoder holds whole records, so
//! their lengths are looked at before they are decoded.
//!
//! See "Run Length Encoding / Bit-Packing Hybrid" in `Encodings.md` of the format.

use std::collections::VecDeque;

use ::parquet::basic::Encoding;
use ::parquet::column::page::Page;

use crate::parquet::varint::take_varint;

/// Entries that are read at once, unless a record has more.
pub(super) const BATCH_ENTRIES: u64 = 4 * 1024;

/// The most entries of a record.
pub(super) const MAX_RECORD: u64 = 1 << 24;

const CUT_OFF: &str = "a page ends in its repetition levels";

/// Batches of records, from the repetition levels of pages in their order.
#[derive(Default)]
pub(super) struct Batches {
    /// The records of each that is full.
    full: VecDeque<u64>,
    /// The records that follow, the last of which may go on, and their entries.
    records: u64,
    entries: u64,
    /// The entries of the last record so far.
    last: u64,
}

impl Batches {
    /// Takes the levels of a page into account, of which `max` is the highest. An error is a clause.
    pub(super) fn add_page(&mut self, page: &Page, max: i16) -> Result<(), String> {
        let bits = u64::from(16 - max.leading_zeros());
        let (levels, encoding, entries) = match page {
            Page::DictionaryPage { .. } => return Ok(()),
            Page::DataPage {
                buf,
                num_values,
                rep_level_encoding: Encoding::RLE,
                ..
            } => {
                let (length, rest) = buf.split_first_chunk().ok_or("a page has no levels")?;
                let length = u32::from_le_bytes(*length) as usize;
                (rest.get(..length), Encoding::RLE, *num_values)
            }
            // Bit-packed, up to where other levels start.
            Page::DataPage {
                buf,
                num_values,
                rep_level_encoding,
                ..
            } => (Some(&buf[..]), *rep_level_encoding, *num_values),
            Page::DataPageV2 {
                buf,
                num_values,
                rep_levels_byte_len,
                ..
            } => (
                buf.get(..*rep_levels_byte_len as usize),
                Encoding::RLE,
                *num_values,
            ),
        };
        let levels = levels.ok_or("the levels of a page are longer than the page")?;
        if encoding == Encoding::RLE {
            self.add_hybrid(levels, bits, entries.into())
        } else {
            self.add_packed(levels, bits, entries.into())
        }
    }

    /// How many records to read next; `None` when all were.
    pub(super) fn next(&mut self) -> Option<u64> {
        self.full
            .pop_front()
            .or_else(|| Some(std::mem::take(&mut self.records)).filter(|&records| records > 0))
    }

    fn add_hybrid(&mut self, mut levels: &[u8], bits: u64, entries: u64) -> Result<(), String> {
        let mut left = entries;
        while left > 0 {
            let header = take_varint(&mut levels, CUT_OFF)?;
            let count = header >> 1;
            if header & 1 == 1 {
                let count = count.saturating_mul(8).min(left);
                // The last group need not be whole.
                let length = (header >> 1).saturating_mul(bits).min(levels.len() as u64) as usize;
                let (packed, rest) = levels.split_at(length);
                self.add_packed(packed, bits, count)?;
                levels = rest;
                left -= count;
            } else {
                let count = count.min(left);
                let value = levels.split_at_checked(bits.div_ceil(8) as usize);
                let (value, rest) = value.ok_or(CUT_OFF)?;
                levels = rest;
                self.add(value.iter().all(|&byte| byte == 0), count)?;
                left -= count;
                if count == 0 {
                    return Err("a run of repetition levels has none".to_owned());
                }
            }
        }
        Ok(())
    }

    fn add_packed(&mut self, packed: &[u8], bits: u64, count: u64) -> Result<(), String> {
        if (packed.len() as u64).saturating_mul(8) < bits.saturating_mul(count) {
            return Err("a page has fewer repetition levels than values".to_owned());
        }
        for at in 0..count {
            let first_bit = at * bits;
            let byte = (first_bit / 8) as usize;
            let mut word = [0; 4];
            for (to, from) in word.iter_mut().zip(&packed[byte..]) {
                *to = *from;
            }
            let level = (u32::from_le_bytes(word) >> (first_bit % 8)) & ((1 << bits) - 1);
            self.add(level == 0, 1)?;
        }
        Ok(())
    }

    /// Takes entries into account that each start a record, or none of which does.
    fn add(&mut self, start: bool, mut count: u64) -> Result<(), String> {
        if !start {
            self.last = self.last.saturating_add(count);
            self.entries = self.entries.saturating_add(count);
            if self.last > MAX_RECORD {
                return Err(format!(
                    "a row has more than {MAX_RECORD} values in its lists or maps, which is the \
                     most that is held in memory"
                ));
            }
            return Ok(());
        }
        while count > 0 {
            if self.entries >= BATCH_ENTRIES {
                self.full.push_back(self.records);
                (self.records, self.entries) = (0, 0);
            }
            let taken = count.min(BATCH_ENTRIES - self.entries);
            self.records += taken;
            self.entries += taken;
            count -= taken;
        }
        self.last = 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(mut batches: Batches) -> Vec<u64> {
        std::iter::from_fn(|| batches.next()).collect()
    }

    #[test]
    fn short_records_are_read_together_and_long_ones_alone() {
        let mut batches = Batches::default();
        batches.add(true, 10_000).expect("short");
        batches.add(false, 50_000).expect("long");
        batches.add(true, 2).expect("short");
        batches.add(false, 1).expect("short");
        assert_eq!(all(batches), [4_096, 4_096, 1_808, 2]);
        assert!(all(Batches::default()).is_empty());
    }

    #[test]
    fn runs_and_packed_levels_count_alike() {
        // Four runs of one level of two bits, and eight packed: 0, 1, 2, 3, 0, 1, 2, 3.
        let hybrid = [3, 0b1110_0100, 0b1110_0100, 4 << 1, 0, 3 << 1, 2, 1 << 1, 0];
        let mut batches = Batches::default();
        batches.add_hybrid(&hybrid, 2, 16).expect("sound");
        assert_eq!((batches.records, batches.entries, batches.last), (7, 16, 1));
        // The last group is padded.
        let mut batches = Batches::default();
        batches
            .add_hybrid(&[3, 0b1110_0100, 0], 2, 4)
            .expect("sound");
        assert_eq!((batches.records, batches.entries, batches.last), (1, 4, 4));
    }

    #[test]
    fn levels_that_are_none_are_refused() {
        for levels in [&[][..], &[3], &[0, 0], &[4], &[0x80; 12], &[2, 1, 5, 0]] {
            let mut batches = Batches::default();
            assert!(batches.add_hybrid(levels, 2, 100).is_err(), "{levels:?}");
        }
        let mut batches = Batches::default();
        // A run of a billion.
        let run = [0x80, 0x94, 0xeb, 0xdc, 0x07, 1];
        let problem = batches.add_hybrid(&run, 1, u64::MAX).expect_err("long");
        assert!(problem.contains("16777216"), "{problem}");
    }
}
