//! How large a made chunk can become, from the numbers of the footer alone.
//!
//! A presented file has to say its size before any of it is made. Every value that is written occurs
//! in the source chunk, which bounds what is written:
//!
//! - Of a type of fixed width, a plain value takes its width and one in a dictionary an index.
//!   There are at most as many as entries stay.
//! - A byte array takes its bytes and four more, plainly or in a dictionary. Its source chunk holds
//!   each at least once in that form, in a plain page or in its dictionary; in
//!   DELTA_LENGTH_BYTE_ARRAY pages without most of the four. So all distinct ones, which is what a
//!   dictionary has, and all those of a chunk without a dictionary, which is written plainly, take
//!   what the source chunk takes uncompressed, and four for each. Only DELTA_BYTE_ARRAY, which shares
//!   prefixes, has no such bound.
//! - Where a dictionary holds whatever the source has in its own, values that come from plain pages
//!   alone are written plainly behind it: each takes its bytes of the source just once.
//! - For the same reason the dictionary of a type of fixed width has no more values than the source
//!   chunk has room for, unless those are delta-encoded.
//! - Indices and levels are at most bit-packed with one byte for each eight: the encoder turns to
//!   runs of one value where they are at least eight long, and these take one byte and that value.
//! - A page ends when it has [`PAGE_ROWS`] rows or [`PAGE_SIZE`] bytes of values. For indices the
//!   latter is the worst case of their encoding.
//!
//! That is so for a chunk that is encoded anew. One that is patched has the pages of its source, and
//! is taken only if it keeps to the bound as well. It does unless most values of a dictionary went, of
//! which none is left out, or there are far more pages than writers make; it is encoded anew then.

use super::{Change, ChunkShape, codec, input};
use crate::parquet::format::encoding::{
    DELTA_BINARY_PACKED, DELTA_BYTE_ARRAY, DELTA_LENGTH_BYTE_ARRAY,
};
use crate::parquet::{Conversion, PhysicalType};

/// The rows of a data page.
pub(super) const PAGE_ROWS: usize = 20_000;

/// The size of a data page, bytes.
pub(super) const PAGE_SIZE: usize = 1024 * 1024;

/// The size of a dictionary beyond which values of a type of fixed width are written plainly, bytes.
pub(super) const DICTIONARY_LIMIT: usize = 1024 * 1024;

/// The most a page takes beside values and levels: its header of at most 40 bytes without statistics,
/// eight for the lengths of its levels, one for the bit width of its indices; and of each the last
/// group, which is padded: twice 17 bytes for levels, 33 for indices.
const PAGE_OVERHEAD: u64 = 128;

/// How plain values can grow beyond those of the source before a dictionary has to hold them all.
const MAX_GROWTH: u64 = 8;

/// Whether values lie in a dictionary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dictionary {
    /// None of them.
    Off,
    /// The first ones, until it reaches [`DICTIONARY_LIMIT`].
    Limited,
    /// All of them, up to where no page of the source refers to its dictionary any more.
    Whole,
}

impl Dictionary {
    /// As in the source, so that what is small stays small. Byte arrays, and values that are much
    /// larger than what they are stored as, stay in the dictionary: plainly they could take any
    /// number of bytes.
    pub(super) fn of(shape: &ChunkShape<'_>, change: Change) -> Dictionary {
        let physical = change.physical(shape);
        if physical == PhysicalType::Boolean
            || matches!(change, Change::NullBeside { .. })
            || !shape.is_dictionary_encoded()
        {
            return Dictionary::Off;
        }
        let plain = width(shape, change).map(|width| shape.num_values.saturating_mul(width));
        match plain {
            Some(plain) if plain <= shape.uncompressed_size.saturating_mul(MAX_GROWTH) => {
                Dictionary::Limited
            }
            _ => Dictionary::Whole,
        }
    }
}

/// The most bytes that a chunk made by [`rewrite_chunk`](super::rewrite_chunk) has when `rows` rows
/// stay. `None` when the footer does not tell: the chunk then has to be made to know. The bound
/// depends on nothing else, and holds whichever rows these are.
pub fn size_bound(shape: &ChunkShape<'_>, rows: u64, change: Change) -> Option<u64> {
    // Each row has one entry, or one or more where the leaf is repeated.
    let dropped = shape.rows.saturating_sub(rows);
    let entries = shape.num_values.saturating_sub(dropped);
    let entries = if shape.max_repetition == 0 {
        entries.min(rows)
    } else {
        entries
    };
    let (max_definition, max_repetition) = change.max_levels(shape);
    let levels = |max: i16| match u64::try_from(max) {
        Ok(0) | Err(_) => 0,
        Ok(max) => packed(entries, max),
    };
    let levels = levels(max_definition).saturating_add(levels(max_repetition));
    let values = match change {
        Change::NullBeside { .. } => Values::default(),
        Change::Keep | Change::Convert { .. } => Values::bound(shape, entries, change)?,
    };
    // One more than those that are full; with a dictionary, its page and the one where values turn
    // from it to plain. A page that is full of indices has more than 200,000: 33 bytes for eight.
    let plain = values.plain.max(values.dictionary);
    let full = rows / PAGE_ROWS as u64 + plain / PAGE_SIZE as u64 + entries / 200_000;
    let pages = full
        + if Dictionary::of(shape, change) == Dictionary::Off {
            1
        } else {
            3
        };
    let uncompressed = levels
        .saturating_add(values.dictionary)
        .saturating_add(values.plain.max(values.indices))
        .saturating_add(pages.saturating_mul(PAGE_OVERHEAD));
    Some(codec::compressed_bound(
        codec::made_codec(shape.codec),
        uncompressed,
        pages,
    ))
}

/// Bytes that values take at most.
#[derive(Default)]
struct Values {
    /// In a dictionary; and those that are written plainly behind one that is [`Dictionary::Whole`].
    dictionary: u64,
    /// If all of them are written plainly.
    plain: u64,
    /// If all of them are written as indices.
    indices: u64,
}

impl Values {
    fn bound(shape: &ChunkShape<'_>, entries: u64, change: Change) -> Option<Values> {
        let physical = change.physical(shape);
        let dictionary = Dictionary::of(shape, change);
        let stored = if shape.uses(&[
            DELTA_BINARY_PACKED,
            DELTA_LENGTH_BYTE_ARRAY,
            DELTA_BYTE_ARRAY,
        ]) {
            u64::MAX
        } else {
            shape.uncompressed_size / input::smallest_value(shape.physical)
        };
        let distinct = entries.min(stored);
        let all = match width(shape, change) {
            // Not in a dictionary, eight to a byte.
            Some(_) if physical == PhysicalType::Boolean => Values {
                plain: entries.div_ceil(8),
                ..Values::default()
            },
            Some(width) => Values {
                dictionary: distinct.saturating_mul(width),
                plain: entries.saturating_mul(width),
                indices: packed(entries, distinct.saturating_sub(1)),
            },
            None if shape.uses(&[DELTA_BYTE_ARRAY]) => return None,
            None => {
                let lengths = if shape.uses(&[DELTA_LENGTH_BYTE_ARRAY]) {
                    entries.saturating_mul(4)
                } else {
                    0
                };
                let bytes = shape.uncompressed_size.saturating_add(lengths);
                Values {
                    dictionary: bytes,
                    plain: bytes,
                    indices: packed(entries, distinct.saturating_sub(1)),
                }
            }
        };
        Some(match dictionary {
            Dictionary::Off => Values {
                dictionary: 0,
                indices: 0,
                ..all
            },
            Dictionary::Whole => Values { plain: 0, ..all },
            // A dictionary that cannot reach the limit holds all.
            Dictionary::Limited if all.dictionary < DICTIONARY_LIMIT as u64 => {
                Values { plain: 0, ..all }
            }
            Dictionary::Limited => all,
        })
    }
}

/// The bytes that a value takes plainly afterwards, where all take the same; at most those of a
/// boolean.
fn width(shape: &ChunkShape<'_>, change: Change) -> Option<u64> {
    if let Change::Convert {
        conversion: Conversion::FixedToByteArray,
        ..
    } = change
        && let PhysicalType::FixedLenByteArray(length) = shape.physical
    {
        return Some(u64::from(length) + 4);
    }
    match change.physical(shape) {
        PhysicalType::Boolean => Some(1),
        PhysicalType::Int32 | PhysicalType::Float => Some(4),
        PhysicalType::Int64 | PhysicalType::Double => Some(8),
        PhysicalType::Int96 => Some(12),
        PhysicalType::FixedLenByteArray(length) => Some(length.into()),
        PhysicalType::ByteArray => None,
    }
}

/// The most bytes of `count` numbers up to `max` in the hybrid of runs and bit-packing. Eight take
/// a byte of header and their bits; or they are a run, with a byte of header and one number, which
/// has no more bytes than eight numbers have in bits. A run of more than 63 takes another byte.
fn packed(count: u64, max: u64) -> u64 {
    let bits = u64::from(u64::BITS - max.leading_zeros());
    count.div_ceil(8).saturating_mul(1 + bits)
}
