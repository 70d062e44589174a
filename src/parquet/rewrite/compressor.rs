//! Compressing and decompressing pages, one at a time.

use std::io::{Read, Write};

use crate::parquet::format::codec;

/// A codec with what it keeps from page to page.
pub(super) enum Compressor {
    Uncompressed,
    Snappy(Box<(snap::raw::Encoder, snap::raw::Decoder)>),
    Gzip,
    Brotli,
    Zstd(
        Box<(
            zstd::bulk::Compressor<'static>,
            zstd::bulk::Decompressor<'static>,
        )>,
    ),
    Lz4Raw,
}

/// The level of gzip, as the library of the typed way has it.
const GZIP_LEVEL: u32 = 6;

/// The level of zstd, likewise.
const ZSTD_LEVEL: i32 = 1;

/// The level and the window of brotli, likewise.
const BROTLI: (u32, u32) = (1, 22);

/// The buffer of brotli, bytes.
const BROTLI_BUFFER: usize = 4096;

impl Compressor {
    /// For the codec of that number in the format (`CompressionCodec`); `None` for those that pages
    /// are not written with.
    pub(super) fn of(number: i32) -> Option<Compressor> {
        Some(match number {
            codec::UNCOMPRESSED => Compressor::Uncompressed,
            codec::SNAPPY => Compressor::Snappy(Box::new((
                snap::raw::Encoder::new(),
                snap::raw::Decoder::new(),
            ))),
            codec::GZIP => Compressor::Gzip,
            codec::BROTLI => Compressor::Brotli,
            codec::ZSTD => {
                let compressor = zstd::bulk::Compressor::new(ZSTD_LEVEL).ok()?;
                let decompressor = zstd::bulk::Decompressor::new().ok()?;
                Compressor::Zstd(Box::new((compressor, decompressor)))
            }
            codec::LZ4_RAW => Compressor::Lz4Raw,
            _ => return None,
        })
    }

    /// Replaces what is in `into` by what `packed` stands for, which has to be `size` bytes. Takes
    /// no more memory than those. An error is a clause.
    pub(super) fn decompress(
        &mut self,
        packed: &[u8],
        size: usize,
        into: &mut Vec<u8>,
    ) -> Result<(), String> {
        // What is there is overwritten, so that only growth is filled with zeros.
        if into.len() < size {
            into.resize(size, 0);
        }
        into.truncate(size);
        let found = match self {
            Compressor::Uncompressed => {
                into.clear();
                into.extend_from_slice(packed.get(..size).unwrap_or(packed));
                Ok(packed.len())
            }
            Compressor::Snappy(both) => both.1.decompress(packed, into).map_err(text),
            Compressor::Gzip => read(flate2::read::MultiGzDecoder::new(packed), into),
            Compressor::Brotli => read(brotli::Decompressor::new(packed, BROTLI_BUFFER), into),
            Compressor::Zstd(both) => both
                .1
                .decompress_to_buffer(packed, &mut into[..])
                .map_err(text),
            Compressor::Lz4Raw => lz4_flex::block::decompress_into(packed, into).map_err(text),
        }?;
        if found == size {
            return Ok(());
        }
        Err(format!("a page has {found} bytes and claims {size}"))
    }

    /// Appends `bytes`, compressed, to `into`. An error is a clause.
    pub(super) fn compress(&mut self, bytes: &[u8], into: &mut Vec<u8>) -> Result<(), String> {
        let start = into.len();
        let written = match self {
            Compressor::Uncompressed => {
                into.extend_from_slice(bytes);
                return Ok(());
            }
            Compressor::Gzip => {
                let level = flate2::Compression::new(GZIP_LEVEL);
                let mut encoder = flate2::write::GzEncoder::new(into, level);
                encoder.write_all(bytes).map_err(text)?;
                return encoder.finish().map(drop).map_err(text);
            }
            Compressor::Brotli => {
                let (level, window) = BROTLI;
                let mut encoder = brotli::CompressorWriter::new(into, BROTLI_BUFFER, level, window);
                // Dropping the encoder ends the stream.
                return encoder.write_all(bytes).map_err(text);
            }
            Compressor::Snappy(both) => {
                let room = room(into, snap::raw::max_compress_len(bytes.len()));
                both.0.compress(bytes, room).map_err(text)
            }
            Compressor::Zstd(both) => {
                let room = room(into, zstd::zstd_safe::compress_bound(bytes.len()));
                both.0.compress_to_buffer(bytes, room).map_err(text)
            }
            Compressor::Lz4Raw => {
                let room = room(into, lz4_flex::block::get_maximum_output_size(bytes.len()));
                lz4_flex::block::compress_into(bytes, room).map_err(text)
            }
        }?;
        into.truncate(start + written);
        Ok(())
    }
}

/// Appends `most` bytes to `into`.
fn room(into: &mut Vec<u8>, most: usize) -> &mut [u8] {
    let start = into.len();
    into.resize(start + most, 0);
    &mut into[start..]
}

/// Fills `into`, and tells how many bytes there are, at most one more than it holds.
fn read(mut from: impl Read, into: &mut [u8]) -> Result<usize, String> {
    let mut filled = 0;
    while filled < into.len() {
        match from.read(&mut into[filled..]).map_err(text)? {
            0 => return Ok(filled),
            more => filled += more,
        }
    }
    Ok(filled + from.read(&mut [0]).map_err(text)?)
}

fn text(error: impl std::fmt::Display) -> String {
    format!("a page cannot be decompressed or compressed: {error}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_compressed_comes_back_and_claims_are_checked() {
        let bytes: Vec<u8> = (0..20_000_u32).map(|n| (n * n / 7) as u8).collect();
        for codec in [0, 1, 2, 4, 6, 7] {
            let mut compressor = Compressor::of(codec).expect("known");
            for bytes in [&bytes[..], &bytes[..1]] {
                let mut packed = b"before".to_vec();
                compressor.compress(bytes, &mut packed).expect("compressed");
                let packed = packed.strip_prefix(b"before").expect("still there");
                let mut found = vec![9; 30_000];
                compressor
                    .decompress(packed, bytes.len(), &mut found)
                    .expect("decompressed");
                assert!(found == bytes, "{codec}");
                for size in [bytes.len() - 1, bytes.len() + 1] {
                    let refused = compressor.decompress(packed, size, &mut found);
                    assert!(refused.is_err(), "{codec}");
                }
            }
        }
        assert!(Compressor::of(3).is_none());
        assert!(Compressor::of(5).is_none());
    }
}
