//! Row groups and their column chunks, as a footer describes them: where in the file they lie and
//! how they are encoded.

mod read;

use std::ops::Range;

use super::leaves::LeafShape;
use super::thrift::Damage;
use super::{Footer, ParquetError};
use read::Parser;

/// A row group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowGroupMeta {
    /// Its rows.
    pub num_rows: u64,
    /// Its column chunks, in the order of the leaves of the schema.
    pub chunks: Vec<ChunkMeta>,
    /// The leaves its rows are sorted by, the most significant first.
    pub(super) sorting: Vec<SortingColumn>,
}

/// A column chunk: the values of one leaf in one row group.
///
/// Invariant: unless it is empty it lies between the magic number and the footer of its file, and
/// the first data page starts within it, where there is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChunkMeta {
    /// The compression, by its number in the format (`CompressionCodec`).
    pub codec: i32,
    /// The encodings of its pages and levels, by their numbers in the format (`Encoding`).
    pub encodings: Vec<i32>,
    /// Values and nulls: entries, for a repeated leaf.
    pub num_values: u64,
    /// What its pages are without compression, page headers included, bytes.
    pub uncompressed_size: u64,
    /// Where it starts in the file.
    pub start: u64,
    /// Its size in the file: all its pages with their headers, bytes.
    pub length: u64,
    /// Where its first data page starts in the file; 0 for none, in a chunk without values.
    pub data_page_offset: u64,
    /// Where its dictionary page starts in the file.
    pub dictionary_page_offset: Option<u64>,
    /// Nulls, where the statistics say so; at most `num_values`.
    pub null_count: Option<u64>,
    /// Where its column index lies in the file.
    pub column_index: Option<Range<u64>>,
    /// Where its offset index lies in the file.
    pub offset_index: Option<Range<u64>>,
    /// What the statistics say of the least and the greatest value.
    pub(super) bounds: Bounds,
    /// Its `ColumnChunk` in the footer.
    pub(super) thrift: Range<usize>,
}

/// What the statistics of a chunk say of the least and the greatest value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bounds {
    /// Both, and not that they are shortened.
    Exact,
    /// One of them, shortened ones, or the older `min` and `max` alone.
    Partial,
    /// Nothing.
    Absent,
}

/// A leaf that the rows of a row group are sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SortingColumn {
    pub(super) leaf: i32,
    pub(super) descending: bool,
    pub(super) nulls_first: bool,
}

impl Footer {
    /// The row groups, each column chunk checked to lie in the file and to have the type of its
    /// leaf.
    pub fn row_groups_meta(&self) -> Result<Vec<RowGroupMeta>, ParquetError> {
        let parser = Parser {
            metadata: &self.metadata,
            data_end: self.data_end,
            leaves: LeafShape::of_leaves(&self.columns),
        };
        parser
            .row_groups(self.row_groups_at)
            .map_err(|Damage(reason)| self.malformed(reason))
    }

    pub(super) fn malformed(&self, reason: String) -> ParquetError {
        ParquetError::Malformed {
            location: self.location.to_string(),
            reason,
        }
    }
}

#[cfg(test)]
mod tests;
