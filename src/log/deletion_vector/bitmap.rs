//! The serialised form of a set of rows (PROTOCOL.md, "Deletion Vector Format").

use roaring::{RoaringBitmap, RoaringTreemap};

/// `magicNumber` of the one format that PROTOCOL.md knows.
pub(super) const MAGIC: u32 = 1_681_511_377;

/// The fewest bytes that a bucket can have: its key, and an empty 32-bit bitmap.
const SMALLEST_BUCKET: usize = 4 + 8;

/// Why bytes are no set of rows.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum BitmapError {
    /// Another magic number.
    Magic(u32),
    /// What was found and what was expected.
    Damaged(String),
}

/// Decodes a whole vector. Keys ascend and have a 0 as their most significant bit, and nothing
/// follows the last bucket. Memory is bounded by a small multiple of `bytes.len()`.
pub(super) fn decode(bytes: &[u8]) -> Result<RoaringTreemap, BitmapError> {
    let damaged = |problem: String| Err(BitmapError::Damaged(problem));
    let Some((magic, rest)) = bytes.split_first_chunk::<4>() else {
        return damaged(format!(
            "it has {} bytes, expected a magic number of 4 first",
            bytes.len()
        ));
    };
    let magic = u32::from_le_bytes(*magic);
    if magic != MAGIC {
        return Err(BitmapError::Magic(magic));
    }
    let Some((count, mut rest)) = rest.split_first_chunk::<8>() else {
        return damaged(format!(
            "{} bytes follow the magic number, expected a bucket count of 8 first",
            rest.len()
        ));
    };
    let count = u64::from_le_bytes(*count);
    if count > (rest.len() / SMALLEST_BUCKET) as u64 {
        return damaged(format!(
            "it claims {count} buckets, and only {} bytes follow",
            rest.len()
        ));
    }
    let mut buckets: Vec<(u32, RoaringBitmap)> = Vec::new();
    let mut last_key = None;
    for _ in 0..count {
        let Some((key, after)) = rest.split_first_chunk::<4>() else {
            return damaged(format!(
                "it ends before bucket {} of {count}",
                buckets.len()
            ));
        };
        rest = after;
        let key = u32::from_le_bytes(*key);
        if last_key.is_some_and(|last| key <= last) || key > u32::MAX / 2 {
            return damaged(format!(
                "bucket key {key} follows {last_key:?}, expected ascending keys below 2^31"
            ));
        }
        last_key = Some(key);
        match RoaringBitmap::deserialize_from(&mut rest) {
            // Writers in Java write every bucket up to the last, also the empty ones.
            Ok(bitmap) if bitmap.is_empty() => {}
            Ok(bitmap) => buckets.push((key, bitmap)),
            Err(error) => return damaged(format!("bucket {key} is no Roaring bitmap: {error}")),
        }
    }
    if !rest.is_empty() {
        return damaged(format!(
            "{} bytes follow the last bucket, expected none",
            rest.len()
        ));
    }
    Ok(RoaringTreemap::from_bitmaps(buckets))
}
