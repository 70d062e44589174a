//! Numbers that the format gives to its encodings, codecs and kinds of page.

/// `Encoding`.
pub(super) mod encoding {
    pub(in crate::parquet) const PLAIN: i32 = 0;
    pub(in crate::parquet) const PLAIN_DICTIONARY: i32 = 2;
    pub(in crate::parquet) const RLE: i32 = 3;
    pub(in crate::parquet) const DELTA_BINARY_PACKED: i32 = 5;
    pub(in crate::parquet) const DELTA_LENGTH_BYTE_ARRAY: i32 = 6;
    pub(in crate::parquet) const DELTA_BYTE_ARRAY: i32 = 7;
    pub(in crate::parquet) const RLE_DICTIONARY: i32 = 8;

    /// Whether values of that encoding are indices into a dictionary.
    pub(in crate::parquet) fn is_dictionary(encoding: i32) -> bool {
        matches!(encoding, PLAIN_DICTIONARY | RLE_DICTIONARY)
    }
}

/// `CompressionCodec`.
pub(super) mod codec {
    pub(in crate::parquet) const UNCOMPRESSED: i32 = 0;
    pub(in crate::parquet) const SNAPPY: i32 = 1;
    pub(in crate::parquet) const GZIP: i32 = 2;
    pub(in crate::parquet) const LZO: i32 = 3;
    pub(in crate::parquet) const BROTLI: i32 = 4;
    /// LZ4 in frames, which writers never agreed on.
    pub(in crate::parquet) const LZ4: i32 = 5;
    pub(in crate::parquet) const ZSTD: i32 = 6;
    pub(in crate::parquet) const LZ4_RAW: i32 = 7;
}

/// `PageType`.
pub(super) mod page_type {
    pub(in crate::parquet) const DATA: i32 = 0;
    pub(in crate::parquet) const DICTIONARY: i32 = 2;
    pub(in crate::parquet) const DATA_V2: i32 = 3;
}
