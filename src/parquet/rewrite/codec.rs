//! Compression codecs, by their numbers in the format (`CompressionCodec`).

use ::parquet::basic::{BrotliLevel, Compression, GzipLevel, ZstdLevel};

/// The codec of that number; `None` for one that cannot be read.
pub(super) fn source_codec(codec: i32) -> Option<Compression> {
    Some(match codec {
        0 => Compression::UNCOMPRESSED,
        1 => Compression::SNAPPY,
        2 => Compression::GZIP(GzipLevel::default()),
        4 => Compression::BROTLI(BrotliLevel::default()),
        5 => Compression::LZ4,
        6 => Compression::ZSTD(ZstdLevel::default()),
        7 => Compression::LZ4_RAW,
        _ => return None,
    })
}

/// The number of the codec that a chunk made of one with `codec` is written with: the same, except
/// for the framed LZ4 of old, whose framing writers never agreed on; every reader knows SNAPPY.
pub(super) fn made_codec(codec: i32) -> i32 {
    match codec {
        0 | 1 | 2 | 4 | 6 | 7 => codec,
        _ => 1,
    }
}

/// `expansion` of the codec of a column chunk.
pub fn expansion_of(compression: Compression) -> u64 {
    expansion(match compression {
        Compression::UNCOMPRESSED => 0,
        Compression::SNAPPY => 1,
        Compression::GZIP(_) => 2,
        Compression::LZO => 3,
        Compression::BROTLI(_) => 4,
        Compression::LZ4 => 5,
        Compression::ZSTD(_) => 6,
        Compression::LZ4_RAW => 7,
    })
}

/// How many bytes one byte compressed with `codec` stands for at most.
pub(super) fn expansion(codec: i32) -> u64 {
    match codec {
        0 => 1,
        // A copy of 64 bytes takes three.
        1 => 24,
        // A match of 258 bytes takes two bits.
        2 => 1_100,
        // A copy of 16 MiB takes a few.
        4 => 1 << 24,
        // A block of 128 KiB of one byte takes four.
        6 => 40_000,
        // Each further byte of a length stands for 255.
        _ => 256,
    }
}

/// The most that `pages` pages of `bytes` bytes in all take when they are compressed with `codec`,
/// as the documentation of each library bounds what does not compress.
pub(super) fn compressed_bound(codec: i32, bytes: u64, pages: u64) -> u64 {
    let (share, each) = match codec {
        0 => (0, 0),
        // snappy: `32 + n + n / 6`.
        1 => (bytes / 6, 32),
        // miniz: the larger of `n + n / 10` and `n + 5 * (n / 31 KiB + 1)`, and 128; the gzip header
        // and trailer.
        2 => (bytes / 10, 192),
        // brotli: `n + 4 * (n / 16 KiB) + 6`, and the blocks that flushes cut.
        4 => (bytes / 1024, 64),
        // zstd: `n + n / 256`, and 64 for inputs below 128 KiB; the frame header.
        6 => (bytes / 256, 128),
        // lz4: `n + n / 255 + 16`; lz4_flex: `n + n / 10 + 20`.
        _ => (bytes / 10, 32),
    };
    bytes
        .saturating_add(share)
        .saturating_add(pages.saturating_mul(each))
}
