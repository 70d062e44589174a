//! What stays of the original bytes: those that something in the presented file refers to.
//!
//! Column chunks that the presented file does not have, being of dropped columns or encoded anew, and
//! their page indexes, are zeros, or missing where nothing stands behind them. All else stays where
//! it is, also what no footer tells of: writers have been known to call a chunk shorter than it is.

use std::ops::Range;

use super::super::Footer;
use super::super::chunks::{ChunkMeta, RowGroupMeta};
use super::super::output::{Extent, LeafSource, OutputGroup};
use super::plan::OutputLeaf;

/// The magic number that every file begins with.
const MAGIC: u64 = 4;

/// The extents of a presented file that come from the original bytes, which stay at the offsets that
/// they have in the original file: the first begins at 0.
pub(super) fn kept(
    footer: &Footer,
    originals: &[RowGroupMeta],
    groups: &[OutputGroup],
    leaves: &[OutputLeaf<'_>],
) -> Vec<Extent> {
    let mut shown = Shown::new(originals);
    for group in groups.iter().filter(|group| !group.dropped) {
        for leaf in leaves {
            if let LeafSource::Original(from) = *leaf.source {
                shown.add(group.original, from);
            }
        }
    }
    let all = footer.data_end();
    let (live, dead) = shown.ranges(originals);
    if dead.is_empty() {
        return whole(all);
    }
    if live.is_empty() {
        return whole(all.min(MAGIC));
    }
    with_holes(all, &without(&dead, &live))
}

/// Which chunks of the original file are chunks of the presented one.
struct Shown {
    /// The chunks of each row group.
    chunks: Vec<Vec<bool>>,
}

impl Shown {
    fn new(originals: &[RowGroupMeta]) -> Shown {
        let chunks = originals.iter();
        Shown {
            chunks: chunks
                .map(|group| vec![false; group.chunks.len()])
                .collect(),
        }
    }

    fn add(&mut self, group: usize, leaf: usize) {
        self.chunks[group][leaf] = true;
    }

    /// The bytes of those that are shown, and of those that are not: in ascending order, those
    /// that touch joined.
    fn ranges(&self, originals: &[RowGroupMeta]) -> (Vec<Range<u64>>, Vec<Range<u64>>) {
        let (mut live, mut dead) = (Vec::new(), Vec::new());
        for (group, shown) in originals.iter().zip(&self.chunks) {
            for (chunk, shown) in group.chunks.iter().zip(shown) {
                match shown {
                    true => live.extend(bytes_of(chunk).chain(place_of(chunk))),
                    false => dead.extend(bytes_of(chunk)),
                }
            }
        }
        (joined(live), joined(dead))
    }
}

/// All that a chunk takes, as far as its length is told.
fn bytes_of(chunk: &ChunkMeta) -> impl Iterator<Item = Range<u64>> {
    let data = chunk.start..chunk.start + chunk.length;
    let indexes = [chunk.column_index.clone(), chunk.offset_index.clone()];
    std::iter::once(data)
        .chain(indexes.into_iter().flatten())
        .filter(|range| !range.is_empty())
}

/// The byte in front of where a chunk starts: a chunk without bytes, too, lies in its file.
fn place_of(chunk: &ChunkMeta) -> Option<Range<u64>> {
    let before = chunk.start.checked_sub(1)?;
    (chunk.length == 0).then_some(before..chunk.start)
}

fn joined(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.sort_unstable_by_key(|range| (range.start, range.end));
    let mut joined: Vec<Range<u64>> = Vec::new();
    for range in ranges {
        match joined.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined
}

/// What of `ranges` is in none of `others`. All are in ascending order and apart from each other.
fn without(ranges: &[Range<u64>], others: &[Range<u64>]) -> Vec<Range<u64>> {
    let mut left = Vec::new();
    let mut others = others;
    for range in ranges {
        let mut start = range.start;
        // One that reaches beyond this range may reach into the next.
        while let Some(other) = others.first()
            && other.start < range.end
        {
            if start < other.start {
                left.push(start..other.start);
            }
            start = start.max(other.end);
            if other.end > range.end {
                break;
            }
            others = &others[1..];
        }
        if start < range.end {
            left.push(start..range.end);
        }
    }
    left
}

fn whole(length: u64) -> Vec<Extent> {
    vec![Extent::Original { start: 0, length }]
}

/// The first `end` bytes with zeros in place of `holes`; those at the end are left out.
fn with_holes(mut end: u64, holes: &[Range<u64>]) -> Vec<Extent> {
    let mut inner = holes;
    if let Some((last, others)) = holes.split_last()
        && last.end == end
    {
        (inner, end) = (others, last.start);
    }
    let mut extents = Vec::with_capacity(2 * inner.len() + 1);
    let mut at = 0;
    for hole in inner {
        extents.push(Extent::Original {
            start: at,
            length: hole.start - at,
        });
        extents.push(Extent::Zeros(hole.end - hole.start));
        at = hole.end;
    }
    extents.push(Extent::Original {
        start: at,
        length: end - at,
    });
    extents
}

#[cfg(test)]
mod tests {
    use super::super::super::chunks::Bounds;
    use super::*;

    /// Ranges by their ends.
    type Ends<'a> = &'a [(u64, u64)];

    fn ranges(ends: Ends<'_>) -> Vec<Range<u64>> {
        ends.iter().map(|&(start, end)| start..end).collect()
    }

    #[test]
    fn touching_ranges_are_joined() {
        let found = joined(ranges(&[(8, 9), (4, 6), (6, 7), (5, 6)]));
        assert_eq!(found, ranges(&[(4, 7), (8, 9)]));
        assert_eq!(joined(Vec::new()), []);
    }

    #[test]
    fn what_is_shared_is_not_dead() {
        let cases: [(Ends<'_>, Ends<'_>, Ends<'_>); 6] = [
            (&[(4, 8)], &[], &[(4, 8)]),
            (&[(4, 8)], &[(4, 8)], &[]),
            (&[(4, 8)], &[(0, 100)], &[]),
            (&[(4, 8), (10, 12)], &[(0, 5), (7, 11)], &[(5, 7), (11, 12)]),
            (&[(4, 20)], &[(5, 6), (8, 9)], &[(4, 5), (6, 8), (9, 20)]),
            (
                &[(4, 8), (9, 12), (14, 16)],
                &[(6, 15)],
                &[(4, 6), (15, 16)],
            ),
        ];
        for (dead, live, left) in cases {
            let found = without(&ranges(dead), &ranges(live));
            assert_eq!(found, ranges(left), "{dead:?} without {live:?}");
        }
    }

    fn chunk(start: u64, length: u64) -> ChunkMeta {
        ChunkMeta {
            codec: 0,
            encodings: Vec::new(),
            num_values: 0,
            uncompressed_size: length,
            start,
            length,
            data_page_offset: start,
            dictionary_page_offset: None,
            null_count: None,
            column_index: None,
            offset_index: None,
            bounds: Bounds::Absent,
            thrift: 0..0,
        }
    }

    #[test]
    fn a_chunk_without_bytes_that_is_shown_lies_in_what_is_kept() {
        for (start, kept) in [(50, &[(49, 50)][..]), (4, &[(3, 4)]), (0, &[])] {
            let group = RowGroupMeta {
                num_rows: 0,
                chunks: vec![chunk(4, 96), chunk(start, 0)],
                sorting: Vec::new(),
            };
            let groups = [group];
            let mut shown = Shown::new(&groups);
            shown.add(0, 1);
            let (live, dead) = shown.ranges(&groups);
            assert_eq!(live, ranges(kept), "{start}");
            let extents = with_holes(100, &without(&dead, &live));
            let end: u64 = extents.iter().map(Extent::len).sum();
            assert!(end >= start.max(MAGIC), "{start}: {extents:?}");
        }
    }

    #[test]
    fn what_is_dead_at_the_end_is_left_out_and_elsewhere_zeros() {
        let original = |start, length| Extent::Original { start, length };
        assert_eq!(with_holes(20, &[]), [original(0, 20)]);
        assert_eq!(
            with_holes(20, &ranges(&[(4, 6), (10, 20)])),
            [original(0, 4), Extent::Zeros(2), original(6, 4)]
        );
        assert_eq!(
            with_holes(20, &ranges(&[(4, 6)])),
            [original(0, 4), Extent::Zeros(2), original(6, 14)]
        );
    }
}
