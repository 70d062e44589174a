//! Column chunks that hold one value, or null, in every row: partition values, and columns that a
//! file lacks.
//!
//! They are uncompressed pages of version 1 with run lengths, which every reader knows: some 40
//! bytes for a million rows, booleans aside, which have no encoding of that kind that all know.

use bytes::Bytes;

use super::format::codec::UNCOMPRESSED;
use super::format::encoding::{PLAIN, RLE, RLE_DICTIONARY};
use super::leaves::LeafShape;
use super::output::{MadeChunk, MadePageIndex, MadeStatistics};
use super::page_header::{DictionaryPage, Header, PageKind, PageV1};
use super::schema::PhysicalType;
use super::thrift::{Kind, write_binary, write_bool_element, write_integer, write_struct};
use super::varint::write_varint;

/// Rows in each page but the last. A single page of 20 million rows is read at a third of the
/// speed; a multiple of eight, so that booleans fill their bytes.
const PAGE_ROWS: u64 = 1_000_000;

/// The most pages of one chunk, a bound for memory: a hundred thousand million rows.
const MAX_PAGES: u64 = 100_000;

/// The largest chunk, bytes: two thousand million booleans.
const MAX_SIZE: u64 = 256 * 1024 * 1024;

/// The longest constant, bytes: its dictionary page has a size of 31 bits.
const MAX_VALUE: usize = 64 * 1024 * 1024;

/// The longest value that is told as a bound, in statistics and in page indexes, bytes.
const MAX_BOUND: usize = 4096;

/// A leaf with the same entry in every row.
#[derive(Debug, Clone, Copy)]
pub(super) struct Synthetic<'a> {
    leaf: LeafShape,
    entry: Entry<'a>,
}

/// What is in every row.
#[derive(Debug, Clone, Copy)]
enum Entry<'a> {
    /// A value, plainly encoded, a byte array without its length.
    Value(&'a [u8]),
    /// Null, from that definition level on.
    Null(u16),
}

impl<'a> Synthetic<'a> {
    /// `value` in every row of a leaf that is not repeated; what is wrong with it is a clause.
    pub(super) fn constant(leaf: LeafShape, value: &'a [u8]) -> Result<Synthetic<'a>, String> {
        let physical = leaf.physical;
        let fits = match physical {
            PhysicalType::Boolean => matches!(value, [0 | 1]),
            PhysicalType::ByteArray => value.len() <= MAX_VALUE,
            _ => physical.width() == Some(value.len()) && value.len() <= MAX_VALUE,
        };
        if !fits {
            return Err(format!("{} bytes are no value of {physical}", value.len()));
        }
        if leaf.levels.repetition > 0 {
            return Err("a repeated leaf cannot have one value in every row".to_owned());
        }
        Ok(Synthetic {
            leaf,
            entry: Entry::Value(value),
        })
    }

    /// Null in every row; what is wrong with it is a clause.
    pub(super) fn null(leaf: LeafShape, definition: u16) -> Result<Synthetic<'a>, String> {
        let most = leaf.levels.definition;
        if definition >= most {
            return Err(format!(
                "definition level {definition} of {most} is no null"
            ));
        }
        Ok(Synthetic {
            leaf,
            entry: Entry::Null(definition),
        })
    }

    /// The size of the chunk, bytes; why it is not made is a clause.
    pub(super) fn size(&self, rows: u64) -> Result<u64, String> {
        let pages = self.pages(rows);
        let last = self.data_page(last_page_rows(rows)).len() as u64;
        let full = match pages {
            1 => 0,
            _ => self.data_page(PAGE_ROWS).len() as u64,
        };
        let dictionary = self.dictionary_page(rows).len() as u64;
        let size = full.saturating_mul(pages - 1) + dictionary + last;
        if pages > MAX_PAGES || size > MAX_SIZE {
            return Err(format!("{rows} rows are more than one row group can have"));
        }
        Ok(size)
    }

    /// How many data pages the chunk has.
    pub(super) fn pages(&self, rows: u64) -> u64 {
        rows.div_ceil(PAGE_ROWS).max(1)
    }

    /// An upper bound of the size of the column index, bytes.
    pub(super) fn index_bound(&self, rows: u64) -> u64 {
        let value = self.bounds().map_or(0, |(min, _)| min.len() as u64);
        self.pages(rows).saturating_mul(64 + 2 * value) + 64
    }

    /// The size of each of the bounds in the statistics, bytes.
    pub(super) fn bound_size(&self) -> usize {
        self.bounds().map_or(0, |(min, _)| min.len())
    }

    /// The chunk; why it is not made is a clause.
    pub(super) fn chunk(&self, rows: u64) -> Result<MadeChunk, String> {
        let mut bytes = Vec::with_capacity(self.size(rows)? as usize);
        let dictionary = self.dictionary_page(rows);
        let has_dictionary = !dictionary.is_empty();
        bytes.extend_from_slice(&dictionary);

        let count = self.pages(rows);
        let mut pages = Vec::with_capacity(count as usize);
        let mut add = |page: &[u8], index: u64| {
            pages.push((bytes.len() as u64, page.len() as u32, index * PAGE_ROWS));
            bytes.extend_from_slice(page);
        };
        if count > 1 {
            let full = self.data_page(PAGE_ROWS);
            (0..count - 1).for_each(|index| add(&full, index));
        }
        add(&self.data_page(last_page_rows(rows)), count - 1);

        let mut encodings = vec![PLAIN, RLE];
        encodings.extend(has_dictionary.then_some(RLE_DICTIONARY));
        Ok(MadeChunk {
            codec: UNCOMPRESSED,
            encodings,
            num_values: rows,
            uncompressed_size: bytes.len() as u64,
            dictionary_page_at: has_dictionary.then_some(0),
            data_page_at: dictionary.len() as u64,
            bytes: Bytes::from(bytes),
            statistics: Some(MadeStatistics {
                null_count: match self.entry {
                    Entry::Null(_) => rows,
                    Entry::Value(_) => 0,
                },
                bounds: self.bounds().filter(|_| rows > 0),
            }),
            page_index: (rows > 0).then(|| MadePageIndex {
                column_index: self.column_index(rows),
                pages,
            }),
        })
    }

    /// The page that the indices of a constant refer to; empty where there is none.
    fn dictionary_page(&self, rows: u64) -> Vec<u8> {
        let value = match self.entry {
            Entry::Value(value) if self.leaf.physical != PhysicalType::Boolean && rows > 0 => value,
            _ => return Vec::new(),
        };
        let mut body = Vec::with_capacity(value.len() + 4);
        if self.leaf.physical == PhysicalType::ByteArray {
            body.extend((value.len() as u32).to_le_bytes());
        }
        body.extend_from_slice(value);
        page_of(
            PageKind::Dictionary(DictionaryPage {
                values: 1,
                encoding: PLAIN,
            }),
            &body,
        )
    }

    /// A data page of `rows` rows, at most [`PAGE_ROWS`].
    fn data_page(&self, rows: u64) -> Vec<u8> {
        let definition = match self.entry {
            Entry::Value(_) => self.leaf.levels.definition,
            Entry::Null(definition) => definition,
        };
        let mut body = Vec::new();
        write_levels(&mut body, rows, 0, self.leaf.levels.repetition);
        write_levels(&mut body, rows, definition, self.leaf.levels.definition);
        let encoding = match self.entry {
            Entry::Value(value) if self.leaf.physical == PhysicalType::Boolean => {
                write_bits(&mut body, rows, value == [1]);
                PLAIN
            }
            Entry::Value(_) if rows > 0 => {
                // The indices have one bit: some readers do not know that they may have none.
                body.push(1);
                write_run(&mut body, rows, 0, 1);
                RLE_DICTIONARY
            }
            _ => PLAIN,
        };
        page_of(
            PageKind::V1(PageV1 {
                entries: rows as usize,
                encoding,
                definition_encoding: RLE,
                repetition_encoding: RLE,
            }),
            &body,
        )
    }

    /// The least and the greatest value, as far as the order of the type is defined. Zeros are
    /// equal in it, so the format asks for the lower one as the least and the upper one as the
    /// greatest.
    fn bounds(&self) -> Option<(Bytes, Bytes)> {
        let Entry::Value(value) = self.entry else {
            return None;
        };
        let value = Bytes::copy_from_slice(value);
        let zeros = |negative: &[u8], positive: &[u8]| {
            let copy = Bytes::copy_from_slice;
            Some((copy(negative), copy(positive)))
        };
        match (self.leaf.physical, &value[..]) {
            (PhysicalType::Int96, _) => None,
            _ if value.len() > MAX_BOUND => None,
            (PhysicalType::Float, &[b0, b1, b2, b3]) => {
                match f32::from_le_bytes([b0, b1, b2, b3]) {
                    number if number.is_nan() => None,
                    0.0 => zeros(&(-0f32).to_le_bytes(), &0f32.to_le_bytes()),
                    _ => Some((value.clone(), value)),
                }
            }
            (PhysicalType::Double, &[b0, b1, b2, b3, b4, b5, b6, b7]) => {
                match f64::from_le_bytes([b0, b1, b2, b3, b4, b5, b6, b7]) {
                    number if number.is_nan() => None,
                    0.0 => zeros(&(-0f64).to_le_bytes(), &0f64.to_le_bytes()),
                    _ => Some((value.clone(), value)),
                }
            }
            _ => Some((value.clone(), value)),
        }
    }

    /// The thrift struct `ColumnIndex`; empty where values have no order, for which the format has
    /// no column index.
    fn column_index(&self, rows: u64) -> Bytes {
        let bounds = self.bounds();
        let null = matches!(self.entry, Entry::Null(_));
        if bounds.is_none() && !null {
            return Bytes::new();
        }
        let (min, max) = bounds.unwrap_or_default();
        let count = self.pages(rows);
        let pages = count as usize;
        let mut index = Vec::with_capacity(self.index_bound(rows) as usize);
        write_struct(&mut index, |fields| {
            let out = fields.list(1, Kind::True, pages);
            (0..pages).for_each(|_| write_bool_element(out, null));
            for (id, value) in [(2, min), (3, max)] {
                let out = fields.list(id, Kind::Binary, pages);
                (0..pages).for_each(|_| write_binary(out, &value));
            }
            // Ascending.
            fields.i32(4, 1);
            let out = fields.list(5, Kind::I64, pages);
            for index in 0..count {
                let rows = PAGE_ROWS.min(rows - index * PAGE_ROWS);
                write_integer(out, if null { rows as i64 } else { 0 });
            }
        });
        Bytes::from(index)
    }
}

/// A page that is not compressed, with its header.
fn page_of(kind: PageKind, body: &[u8]) -> Vec<u8> {
    let mut page = Vec::with_capacity(body.len() + 32);
    Header::write(kind, body.len(), body.len(), &mut page);
    page.extend_from_slice(body);
    page
}

fn last_page_rows(rows: u64) -> u64 {
    match rows % PAGE_ROWS {
        0 => rows.min(PAGE_ROWS),
        rest => rest,
    }
}

/// `count` levels that are all `level`, with their length; nothing where the most is 0.
fn write_levels(out: &mut Vec<u8>, count: u64, level: u16, max: u16) {
    if max == 0 {
        return;
    }
    let mut levels = Vec::new();
    if count > 0 {
        write_run(&mut levels, count, level, u16::BITS - max.leading_zeros());
    }
    out.extend((levels.len() as u32).to_le_bytes());
    out.extend(levels);
}

/// A run of the RLE encoding: `count` times `value`, which has that many bits.
fn write_run(out: &mut Vec<u8>, count: u64, value: u16, bits: u32) {
    write_varint(out, count << 1);
    out.extend(&value.to_le_bytes()[..bits.div_ceil(8) as usize]);
}

/// `count` booleans, plainly encoded. What is left of the last byte is 0.
fn write_bits(out: &mut Vec<u8>, count: u64, value: bool) {
    let byte = if value { 0xFF } else { 0 };
    out.resize(out.len() + (count / 8) as usize, byte);
    if !count.is_multiple_of(8) {
        out.push(byte & ((1 << (count % 8)) - 1));
    }
}

#[cfg(test)]
mod tests;
