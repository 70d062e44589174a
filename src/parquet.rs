//! What we know of the Parquet format ourselves: footers and the thrift they are written in.
//!
//! Footers come from the files of a table and are hostile until read: every length is checked
//! against the bytes there are, nesting is bounded, and nothing panics. That is why the footer is
//! not handed to the `parquet` crate, whose schema decoder recurses as deep, and reserves as much
//! memory, as the footer tells it to.

mod assemble;
mod calendar;
mod chunks;
mod error;
mod footer;
mod format;
mod hints;
mod leaves;
mod orders;
mod output;
mod page_header;
mod pages;
mod rewrite;
mod schema;
mod statistics;
mod synthetic;
mod thrift;
mod varint;

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;

pub use assemble::{assemble, kept_originals, size_bound as file_size_bound};
pub use calendar::{OldCalendar, OldZone};
pub use chunks::{ChunkMeta, RowGroupMeta};
pub use error::ParquetError;
pub use footer::Footer;
pub use hints::ReaderHint;
pub use leaves::{LeafShape, Levels, visit_leaves};
pub use output::{
    Conversion, Extent, LeafSource, MadeChunk, MadePageIndex, MadeStatistics, OutputGroup,
    OutputKind, OutputNode,
};
pub use pages::{ChunkLimits, check_pages, check_values};
pub use rewrite::{
    Change, ChunkShape, SourceChunk, SourceStatistics, expansion_of, rewrite_chunk,
    size_bound as chunk_size_bound,
};
pub use schema::{Annotation, ListForm, Node, NodeKind, PhysicalType, Repetition, TimeUnit};
pub use statistics::Constant;
