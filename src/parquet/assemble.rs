//! Assembling a presented file: what is kept of the original bytes, behind it the column chunks that
//! are made, their page indexes, and a footer of its own.
//!
//! The footer is not written by the `parquet` crate: what is known of an original chunk is copied
//! field by field, also what that crate does not know, and the order of floating-point columns
//! stays what the file says it is.

mod bound;
mod carried;
mod chunk;
mod footer;
mod originals;
mod place;
mod plan;
mod schema;

use bytes::Bytes;

use super::output::{Extent, MadeChunk, OutputGroup, OutputNode};
use super::{Footer, ParquetError};
use place::Placement;
use plan::{ChunkSource, Plan};

pub use bound::size_bound;

/// What of the original bytes the presented file of these arguments begins with, as the extents that
/// [`assemble`] returns begin. No extent is of what is made.
pub fn kept_originals(
    footer: &Footer,
    schema: &[OutputNode],
    groups: &[OutputGroup],
) -> Result<Vec<Extent>, ParquetError> {
    Ok(Plan::new(footer, schema, groups)?.kept)
}

/// The length of the footer and the magic number, behind the footer.
const TRAILER: u64 = 8;

/// Assembles the presented file of `schema` and `groups` out of the file that `footer` is of.
///
/// `make` is asked for each chunk whose values have to be read: of a source that is neither
/// `Original`, `Constant` nor `Null`, and of an `Original` in a group with dropped rows. It gets the
/// position in `groups` and the position among the leaves of `schema`, in ascending order. `tail`
/// gets what was made, piece by piece; no chunk is kept. In the extents that are returned `Made`
/// counts from the first byte that `tail` got.
///
/// With `size` the file is exactly that long: one that [`size_bound`] gave for the same arguments
/// is always enough. Without, it is as short as it can be.
pub fn assemble<E: From<ParquetError>>(
    footer: &Footer,
    schema: &[OutputNode],
    groups: &[OutputGroup],
    make: &mut dyn FnMut(usize, usize) -> Result<MadeChunk, E>,
    tail: &mut dyn FnMut(Bytes) -> Result<(), E>,
    size: Option<u64>,
) -> Result<Vec<Extent>, E> {
    let plan = Plan::new(footer, schema, groups)?;
    let mut placement = Placement::new(&plan);
    for (position, group) in groups.iter().enumerate() {
        for leaf in 0..plan.leaves.len() {
            let made = match plan.source(position, leaf)? {
                ChunkSource::Original(chunk) => {
                    placement.original(chunk);
                    continue;
                }
                ChunkSource::Synthetic(synthetic) => synthetic
                    .chunk(group.rows)
                    .map_err(|reason| plan.unpresentable(leaf, &reason))?,
                ChunkSource::Make => make(position, leaf)?,
            };
            tail(placement.made(position, leaf, made)?)?;
        }
    }
    let indexes = placement.page_indexes();
    if !indexes.is_empty() {
        tail(Bytes::from(indexes))?;
    }
    let made = placement.end() - plan.kept_end();

    let written = footer::write(&plan, &placement)?;
    let least = placement.least_footer_start();
    let length = written.len() as u64;
    let start = match size {
        None => least,
        Some(size) => match size.checked_sub(length) {
            Some(start) if start >= least => start,
            _ => {
                return Err(E::from(ParquetError::DoesNotFit {
                    location: footer.location.to_string(),
                    needed: least + length,
                    size,
                }));
            }
        },
    };
    tail(Bytes::from(written))?;
    let mut extents = plan.kept.clone();
    extents.extend([
        Extent::Made {
            start: 0,
            length: made,
        },
        Extent::Zeros(start - placement.end()),
        Extent::Made {
            start: made,
            length,
        },
    ]);
    extents.retain(|extent| !extent.is_empty());
    Ok(extents)
}

#[cfg(test)]
mod tests;
