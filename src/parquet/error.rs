//! What can be wrong with a Parquet file.

use super::{Conversion, PhysicalType};
use crate::storage::StorageError;

/// An error of the parquet floor. `location` is the path of the file.
#[derive(Debug, thiserror::Error)]
pub enum ParquetError {
    /// Not a Parquet file, or one that was cut off.
    #[error(
        "{location} is not a complete Parquet file: it has {size} bytes and ends in {found}, but a \
         Parquet file ends in \"PAR1\"; it was cut off while it was written or copied, or is \
         something else; restore it"
    )]
    NotParquet {
        /// The file.
        location: String,
        /// Its size in bytes.
        size: u64,
        /// Its last bytes, escaped.
        found: String,
    },
    /// The footer or columns are encrypted.
    #[error(
        "{location} is encrypted ({what}); encrypted Parquet files are not supported: read it with \
         a tool that has the keys, under --view raw"
    )]
    Encrypted {
        /// The file.
        location: String,
        /// What of it is encrypted.
        what: &'static str,
    },
    /// The footer says it is longer than the file, or than what is read.
    #[error(
        "{location} claims a footer of {length} bytes, but {limit} is the most that {reason}; the \
         file is damaged: restore it"
    )]
    FooterLength {
        /// The file.
        location: String,
        /// The length it claims, in bytes.
        length: u64,
        /// The most it could be, in bytes.
        limit: u64,
        /// Where the limit comes from.
        reason: &'static str,
    },
    /// The footer is not what the format says.
    #[error("{location} has a damaged footer: {reason}; restore the file")]
    Malformed {
        /// The file.
        location: String,
        /// What was found, and what was expected.
        reason: String,
    },
    /// A column chunk is not what the format, or the footer, says.
    #[error(
        "{location} has a damaged column chunk at {start}, of {column}: {reason}; restore the file"
    )]
    DamagedChunk {
        /// The file.
        location: String,
        /// The leaf, dotted.
        column: String,
        /// Where the chunk starts in the file.
        start: u64,
        /// What was found, and what was expected.
        reason: String,
    },
    /// A column chunk is compressed in a way that is not known.
    #[error(
        "{location} compresses {column} with codec {codec}, but a column that is made anew can be \
         read with UNCOMPRESSED, SNAPPY, GZIP, BROTLI, LZ4, ZSTD and LZ4_RAW (0, 1, 2, 4 to 7): \
         write the table again with one of them, or read the file under --view raw"
    )]
    UnsupportedCompression {
        /// The file.
        location: String,
        /// The leaf, dotted.
        column: String,
        /// The number of the codec in the format (`CompressionCodec`).
        codec: i32,
    },
    /// A value does not exist in the type that the table has for the column.
    #[error(
        "{location} has a value that the column's type in the table does not have: in row {row} of a \
         row group, {column} is {problem}; read the file under --view raw, or correct the row"
    )]
    ValueOutOfRange {
        /// The file.
        location: String,
        /// The leaf, dotted.
        column: String,
        /// The row within its row group, from 0 on.
        row: u64,
        /// The value, and what it does not fit.
        problem: String,
    },
    /// A conversion was asked for that does not lead from the one type to the other.
    #[error(
        "{location} stores {column} as {from}, which {conversion:?} does not convert to {to}; read the \
         file under --view raw, and report this"
    )]
    NoConversion {
        /// The file.
        location: String,
        /// The leaf, dotted.
        column: String,
        /// The conversion.
        conversion: Conversion,
        /// How the values are stored.
        from: PhysicalType,
        /// How they were to be stored.
        to: PhysicalType,
    },
    /// The footer says less of a column chunk than there is in it.
    #[error(
        "{location} has a footer that contradicts its column {column}: made anew the column chunk has \
         {size} bytes, and {bound} is the most by the sizes and encodings the footer states; the file \
         is damaged: restore it, or read it under --view raw"
    )]
    LargerThanFooter {
        /// The file.
        location: String,
        /// The leaf, dotted.
        column: String,
        /// The size, in bytes.
        size: u64,
        /// The most it should have been, in bytes.
        bound: u64,
    },
    /// A column chunk is too large to be made anew.
    #[error(
        "{location} has too much of {column} in a row group to make it anew: {problem}; rewrite the \
         table with smaller row groups (OPTIMIZE), or read the file under --view raw"
    )]
    ChunkTooLarge {
        /// The file.
        location: String,
        /// The leaf, dotted.
        column: String,
        /// How much there is, and what is the most.
        problem: String,
    },
    /// No presented file can be made of it.
    #[error(
        "{location} cannot be presented as a file of its table: {reason}; mount with --view raw to \
         have its own bytes"
    )]
    Unpresentable {
        /// The file.
        location: String,
        /// What was asked for, and what the file allows.
        reason: String,
    },
    /// A presented file is longer than was announced before it was made.
    #[error(
        "the file made of {location} takes {needed} bytes, but {size} were announced; this is a \
         defect of deltafs, please report it"
    )]
    DoesNotFit {
        /// The original file.
        location: String,
        /// What it takes, bytes.
        needed: u64,
        /// What was announced, bytes.
        size: u64,
    },
    /// The bytes could not be read.
    #[error(transparent)]
    Storage(#[from] StorageError),
}
