//! Where the column chunks of a presented file lie, and their page indexes.

use std::ops::Range;

use bytes::Bytes;

use super::super::ParquetError;
use super::super::chunks::ChunkMeta;
use super::super::output::{LeafSource, MadeChunk, MadePageIndex, MadeStatistics};
use super::super::thrift::{Kind, write_struct};
use super::plan::{MAX_BOUND, Plan};

/// The most bytes of made chunks that page indexes of the original file are kept apart by from
/// those of made chunks. Readers fetch all page indexes of a file, or of a row group, in one read.
const MAX_APART: u64 = 8 * 1024 * 1024;

/// A column chunk and where it lies.
pub(super) enum Placed<'p> {
    Original(&'p ChunkMeta),
    Made(Box<PlacedMade>),
}

/// A made chunk without its pages. Offsets are those in the presented file.
pub(super) struct PlacedMade {
    pub(super) codec: i32,
    pub(super) encodings: Vec<i32>,
    pub(super) num_values: u64,
    pub(super) uncompressed_size: u64,
    pub(super) start: u64,
    pub(super) length: u64,
    pub(super) data_page_offset: u64,
    pub(super) dictionary_page_offset: Option<u64>,
    pub(super) statistics: Option<MadeStatistics>,
    pub(super) column_index: Option<Range<u64>>,
    pub(super) offset_index: Option<Range<u64>>,
    page_index: Option<MadePageIndex>,
}

impl Placed<'_> {
    pub(super) fn start(&self) -> u64 {
        match self {
            Placed::Original(chunk) => chunk.start,
            Placed::Made(chunk) => chunk.start,
        }
    }

    pub(super) fn length(&self) -> u64 {
        match self {
            Placed::Original(chunk) => chunk.length,
            Placed::Made(chunk) => chunk.length,
        }
    }

    pub(super) fn uncompressed_size(&self) -> u64 {
        match self {
            Placed::Original(chunk) => chunk.uncompressed_size,
            Placed::Made(chunk) => chunk.uncompressed_size,
        }
    }
}

/// The chunks that have been placed, group after group, and in each leaf after leaf.
pub(super) struct Placement<'p> {
    plan: &'p Plan<'p>,
    chunks: Vec<Placed<'p>>,
    /// Where the next made bytes lie.
    end: u64,
}

impl<'p> Placement<'p> {
    pub(super) fn new(plan: &'p Plan<'p>) -> Placement<'p> {
        Placement {
            plan,
            chunks: Vec::new(),
            end: plan.kept_end(),
        }
    }

    /// Where what was made so far ends.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// The chunks of each group.
    pub(super) fn groups(&self) -> impl Iterator<Item = &[Placed<'p>]> {
        self.chunks.chunks(self.plan.leaves.len())
    }

    /// The chunk of a leaf in each group.
    pub(super) fn of_leaf(&self, leaf: usize) -> impl Iterator<Item = &Placed<'p>> {
        self.groups().map(move |chunks| &chunks[leaf])
    }

    /// The next chunk is one of the original file.
    pub(super) fn original(&mut self, chunk: &'p ChunkMeta) {
        self.chunks.push(Placed::Original(chunk));
    }

    /// The next chunk is made, and lies behind what was made before. Returns its bytes.
    pub(super) fn made(
        &mut self,
        group: usize,
        leaf: usize,
        made: MadeChunk,
    ) -> Result<Bytes, ParquetError> {
        let rows = self.plan.groups[group].rows;
        let output = &self.plan.leaves[leaf];
        let length = made.bytes.len() as u64;
        let inconsistent = made.data_page_at > length
            || made
                .dictionary_page_at
                .is_some_and(|at| at > made.data_page_at)
            || (output.shape.levels.repetition == 0 && made.num_values != rows)
            || made.num_values > i64::MAX as u64
            || made.uncompressed_size > i64::MAX as u64;
        if inconsistent {
            let reason = format!(
                "a chunk of {} values, {length} bytes, with its pages from {} on was made for \
                 {rows} rows",
                made.num_values, made.data_page_at
            );
            return Err(self.plan.unpresentable(leaf, &reason));
        }
        let synthetic = matches!(
            output.source,
            LeafSource::Constant(_) | LeafSource::Null { .. }
        );
        let ordered = self.plan.carried.column_orders.is_some();
        let keeps = |bounds: &(Bytes, Bytes)| {
            let short = bounds.0.len().max(bounds.1.len()) <= MAX_BOUND;
            (synthetic || short) && (ordered || bounds.0 == bounds.1)
        };
        let statistics = made.statistics.map(|statistics| MadeStatistics {
            bounds: statistics.bounds.filter(keeps),
            ..statistics
        });
        // What bounds mean is not defined without an order, in page indexes too.
        let tellable = statistics
            .as_ref()
            .is_some_and(|known| known.bounds.is_some() || known.null_count == made.num_values);
        let mut page_index = made
            .page_index
            .filter(|index| synthetic || index_size(index) <= index_allotment(length));
        if let Some(index) = &mut page_index
            && !ordered
            && !(synthetic && tellable)
        {
            index.column_index = Bytes::new();
        }
        self.chunks.push(Placed::Made(Box::new(PlacedMade {
            codec: made.codec,
            encodings: made.encodings,
            num_values: made.num_values,
            uncompressed_size: made.uncompressed_size,
            start: self.end,
            length,
            data_page_offset: self.end + made.data_page_at,
            dictionary_page_offset: made.dictionary_page_at.map(|at| self.end + at),
            statistics,
            column_index: None,
            offset_index: None,
            page_index,
        })));
        self.end += length;
        Ok(made.bytes)
    }

    /// The page indexes of the made chunks, which lie behind the chunks: the column indexes, then
    /// the offset indexes.
    pub(super) fn page_indexes(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        let original = |chunk: &Placed<'_>| matches!(chunk, Placed::Original(chunk) if chunk.offset_index.is_some());
        let apart = self.end - self.plan.kept_end() > MAX_APART;
        if apart && self.chunks.iter().any(original) {
            return out;
        }
        let start = self.end;
        for chunk in &mut self.chunks {
            let Placed::Made(chunk) = chunk else { continue };
            if let Some(index) = &chunk.page_index
                && !index.column_index.is_empty()
            {
                let at = start + out.len() as u64;
                out.extend_from_slice(&index.column_index);
                chunk.column_index = Some(at..start + out.len() as u64);
            }
        }
        for chunk in &mut self.chunks {
            let Placed::Made(chunk) = chunk else { continue };
            if let Some(index) = chunk.page_index.take() {
                let at = start + out.len() as u64;
                write_offset_index(&mut out, chunk.start, &index.pages);
                chunk.offset_index = Some(at..start + out.len() as u64);
            }
        }
        self.end += out.len() as u64;
        out
    }

    /// Where the footer may start: behind all else, and above the middle of each row group counted
    /// from its first chunk, since Spark looks for a row group where its middle is and loses it,
    /// silently, where that lies behind the end of the file.
    pub(super) fn least_footer_start(&self) -> u64 {
        let middles = self.groups().map(|chunks| {
            let length = chunks
                .iter()
                .fold(0u64, |sum, chunk| sum.saturating_add(chunk.length()));
            middle(chunks.first().map_or(0, Placed::start), length)
        });
        middles.fold(self.end, |least, middle| {
            least.max(middle.saturating_add(1))
        })
    }
}

/// The middle of a row group of that length, counted from where its first chunk starts.
pub(super) fn middle(start: u64, length: u64) -> u64 {
    start.saturating_add(length / 2)
}

/// How long the page index of a chunk that is made of values may be, bytes: longer ones are left
/// out, so that their size can be told from a bound of the size of the chunk.
pub(super) fn index_allotment(chunk: u64) -> u64 {
    2048 + chunk / 16
}

/// An upper bound of the size of a page index, bytes.
fn index_size(index: &MadePageIndex) -> u64 {
    index.column_index.len() as u64 + offset_index_bound(index.pages.len() as u64)
}

/// An upper bound of the size of an offset index, bytes.
pub(super) fn offset_index_bound(pages: u64) -> u64 {
    pages.saturating_mul(30) + 16
}

fn write_offset_index(out: &mut Vec<u8>, chunk: u64, pages: &[(u64, u32, u64)]) {
    write_struct(out, |index| {
        let locations = index.list(1, Kind::Struct, pages.len());
        for &(at, size, first_row) in pages {
            write_struct(locations, |page| {
                page.i64(1, (chunk + at) as i64);
                page.i32(2, size as i32);
                page.i64(3, first_row as i64);
            });
        }
    });
}
