//! How long a presented file can become, before any chunk of it is made.

use super::super::calendar::VERSION;
use super::super::chunks::RowGroupMeta;
use super::super::output::{OutputGroup, OutputKind, OutputNode};
use super::super::{Footer, ParquetError};
use super::TRAILER;
use super::footer::{TYPE_DEFINED_ORDER, checked_sum};
use super::place::{index_allotment, middle, offset_index_bound};
use super::plan::{ChunkSource, Plan};

/// What a `SchemaElement`, a `RowGroup` without its chunks, and the `ColumnChunk` of a made chunk
/// take at most beside names and bounds, and what an original `ColumnChunk` may grow by, bytes.
const ELEMENT: u64 = 128;
const ROW_GROUP: u64 = 128;
const MADE_CHUNK: u64 = 320;
const ORIGINAL_CHUNK: u64 = 32;

/// An upper bound of the size of the presented file that [`super::assemble`] makes of the same
/// arguments, bytes. It depends on nothing but the arguments.
///
/// `made` tells for a position in `groups` and one among the leaves of `schema` an upper bound of
/// the size of the chunk; it is asked for those that `assemble` has made by its caller.
pub fn size_bound(
    footer: &Footer,
    schema: &[OutputNode],
    groups: &[OutputGroup],
    made: &dyn Fn(usize, usize) -> u64,
) -> Result<u64, ParquetError> {
    let plan = Plan::new(footer, schema, groups)?;
    let too_large = || plan.unpresentable_file("it would exceed 63 bits in size".to_owned());
    let (mut end, mut indexes, mut middles) = (plan.kept_end(), 0u64, 0);
    let mut rows = 0u64;
    for (position, group) in groups.iter().enumerate() {
        let (mut first, mut length, mut uncompressed) = (None, 0u64, 0u64);
        for leaf in 0..plan.leaves.len() {
            let source = plan.source(position, leaf)?;
            let claimed = match &source {
                ChunkSource::Original(chunk) => chunk.uncompressed_size,
                ChunkSource::Synthetic(_) | ChunkSource::Make => 0,
            };
            uncompressed = checked_sum(&plan, uncompressed, claimed)?;
            let (start, size, index) = match source {
                ChunkSource::Original(chunk) => (Some(chunk.start), chunk.length, 0),
                ChunkSource::Synthetic(synthetic) => {
                    let size = synthetic.size(group.rows);
                    let size = size.map_err(|reason| plan.unpresentable(leaf, &reason))?;
                    let pages = synthetic.pages(group.rows);
                    let index = synthetic.index_bound(group.rows) + offset_index_bound(pages);
                    (None, size, index)
                }
                ChunkSource::Make => {
                    let size = made(position, leaf);
                    (None, size, index_allotment(size))
                }
            };
            first.get_or_insert(start.unwrap_or(end));
            if start.is_none() {
                end = end.checked_add(size).ok_or_else(too_large)?;
            }
            indexes = indexes.checked_add(index).ok_or_else(too_large)?;
            length = length.checked_add(size).ok_or_else(too_large)?;
        }
        rows = checked_sum(&plan, rows, group.rows)?;
        middles = middle(first.unwrap_or(0), length).max(middles);
    }
    let least = end.checked_add(indexes).ok_or_else(too_large)?;
    least
        .max(middles.saturating_add(1))
        .checked_add(footer_bound(&plan) + TRAILER)
        .filter(|&size| i64::try_from(size).is_ok())
        .ok_or_else(too_large)
}

/// An upper bound of the size of the footer, bytes.
fn footer_bound(plan: &Plan<'_>) -> u64 {
    let carried = &plan.carried;
    let texts = carried
        .spark
        .map_or(0, |version| VERSION.len() + version.len() + 32);
    let mut bound = 128
        + elements(plan.schema)
        + (carried.root.len() + carried.created_by.map_or(0, <[u8]>::len)) as u64
        + texts as u64;
    if let Some(orders) = &carried.column_orders {
        // Each original leaf may be presented more than once.
        let longest = orders.iter().map(|order| order.len()).max().unwrap_or(0);
        bound += (longest.max(TYPE_DEFINED_ORDER.len()) * plan.leaves.len()) as u64;
    }
    // What each leaf takes where it is original, beside the bytes in the original footer, and where
    // it is made.
    let sizes: Vec<(u64, u64)> = (0..plan.leaves.len())
        .map(|leaf| {
            let names = &plan.leaves[leaf].path;
            let path = names.iter().map(|name| name.len() + 5).sum::<usize>() as u64 + 8;
            let bounds = 4 * plan.bound_size(leaf) as u64;
            (ORIGINAL_CHUNK + path, MADE_CHUNK + path + bounds)
        })
        .collect();
    for (position, group) in plan.groups.iter().enumerate() {
        let RowGroupMeta { sorting, .. } = &plan.originals[group.original];
        bound += ROW_GROUP + 16 * sorting.len() as u64;
        for (leaf, (original, made)) in sizes.iter().enumerate() {
            bound += match plan.source(position, leaf) {
                Ok(ChunkSource::Original(chunk)) => original + chunk.thrift.len() as u64,
                _ => *made,
            };
        }
    }
    bound
}

fn elements(nodes: &[OutputNode]) -> u64 {
    nodes.iter().fold(ELEMENT, |sum, node| {
        sum + node.name.len() as u64
            + match &node.kind {
                OutputKind::Leaf { .. } => ELEMENT,
                OutputKind::Group(children) => ELEMENT + elements(children),
            }
    })
}
