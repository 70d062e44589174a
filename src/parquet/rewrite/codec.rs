//! Compression codecs, by their numbers in the format (`CompressionCodec`).

use ::parquet::basic::{BrotliLevel, Compression, GzipLevel, ZstdLevel};

use crate::parquet::format::codec::{BROTLI, GZIP, LZ4, LZ4_RAW, LZO, SNAPPY, UNCOMPRESSED, ZSTD};

/// The codec of that number; `None` for one that cannot be read.
pub(super) fn source_codec(codec: i32) -> Option<Compression> {
    Some(match codec {
        UNCOMPRESSED => Compression::UNCOMPRESSED,
        SNAPPY => Compression::SNAPPY,
        GZIP => Compression::GZIP(GzipLevel::default()),
        BROTLI => Compression::BROTLI(BrotliLevel::default()),
        LZ4 => Compression::LZ4,
        ZSTD => Compression::ZSTD(ZstdLevel::default()),
        LZ4_RAW => Compression::LZ4_RAW,
        _ => return None,
    })
}

/// The number of the codec that a chunk made of one with `codec` is written with: the same, except
/// for the framed LZ4 of old, whose framing writers never agreed on; every reader knows SNAPPY.
pub(super) fn made_codec(codec: i32) -> i32 {
    match codec {
        UNCOMPRESSED | SNAPPY | GZIP | BROTLI | ZSTD | LZ4_RAW => codec,
        _ => SNAPPY,
    }
}

/// `expansion` of the codec of a column chunk.
pub fn expansion_of(compression: Compression) -> u64 {
    expansion(match compression {
        Compression::UNCOMPRESSED => UNCOMPRESSED,
        Compression::SNAPPY => SNAPPY,
        Compression::GZIP(_) => GZIP,
        Compression::LZO => LZO,
        Compression::BROTLI(_) => BROTLI,
        Compression::LZ4 => LZ4,
        Compression::ZSTD(_) => ZSTD,
        Compression::LZ4_RAW => LZ4_RAW,
    })
}

/// How many bytes one byte compressed with `codec` stands for at most.
pub(super) fn expansion(codec: i32) -> u64 {
    match codec {
        UNCOMPRESSED => 1,
        // A copy of 64 bytes takes three.
        SNAPPY => 24,
        // A match of 258 bytes takes two bits.
        GZIP => 1_100,
        // A copy of 16 MiB takes a few.
        BROTLI => 1 << 24,
        // A block of 128 KiB of one byte takes four.
        ZSTD => 40_000,
        // Each further byte of a length stands for 255.
        _ => 256,
    }
}

/// The most that `pages` pages of `bytes` bytes in all take when they are compressed with `codec`,
/// as the documentation of each library bounds what does not compress.
pub(super) fn compressed_bound(codec: i32, bytes: u64, pages: u64) -> u64 {
    let (share, each) = match codec {
        UNCOMPRESSED => (0, 0),
        // snappy: `32 + n + n / 6`.
        SNAPPY => (bytes / 6, 32),
        // miniz: the larger of `n + n / 10` and `n + 5 * (n / 31 KiB + 1)`, and 128; the gzip header
        // and trailer.
        GZIP => (bytes / 10, 192),
        // brotli: `n + 4 * (n / 16 KiB) + 6`, and the blocks that flushes cut.
        BROTLI => (bytes / 1024, 64),
        // zstd: `n + n / 256`, and 64 for inputs below 128 KiB; the frame header.
        ZSTD => (bytes / 256, 128),
        // lz4: `n + n / 255 + 16`; lz4_flex: `n + n / 10 + 20`.
        _ => (bytes / 10, 32),
    };
    bytes
        .saturating_add(share)
        .saturating_add(pages.saturating_mul(each))
}
