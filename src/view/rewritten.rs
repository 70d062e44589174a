//! Files of which some column chunks are encoded anew: rows dropped, values converted.
//!
//! The size is known at once: it is what the new chunks can take at most, and the gap that they
//! leave is in front of the footer, where readers do not look. The work is done when a byte
//! behind the original ones, which come first, is read for the first time.

mod make;

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock, Weak};

use bytes::Bytes;
use parking_lot::Mutex;
use roaring::{RoaringBitmap, RoaringTreemap};

use super::OpenPlan;
use super::composed::{Composition, Made};
use super::error::ViewError;
use crate::log::deletion_vector::deleted_in;
use crate::parquet::{
    Annotation, Footer, LeafShape, LeafSource, Node, OutputGroup, OutputKind, OutputNode,
    RowGroupMeta, kept_originals, visit_leaves,
};
use crate::storage::ObjectReader;
use crate::storage::cache::{DiskCache, EntryKey};

/// What has to be known to make the chunks of a presented file.
pub(super) struct Rewrite {
    path: String,
    kept: Kept,
    footer: Footer,
    schema: Vec<OutputNode>,
    groups: Vec<OutputGroup>,
    /// The rows that each of `groups` loses.
    deleted: Vec<RoaringBitmap>,
    originals: Vec<RowGroupMeta>,
    /// The leaves of the file.
    leaves: Vec<FileLeaf>,
    /// The leaves of the presented file, and where each comes from.
    output: Vec<(LeafShape, LeafSource)>,
    /// What comes before all that is made.
    originals_kept: Composition,
    size: u64,
    /// Made when first needed, and kept as long as somebody has the file open, or it is among the
    /// recent ones. The lock is held meanwhile: who comes later waits for the first.
    composition: Mutex<Weak<Composition>>,
}

/// A leaf of the file.
struct FileLeaf {
    /// The dotted path.
    path: String,
    annotation: Annotation,
    shape: LeafShape,
}

/// Where what is made of a file is kept.
pub(super) struct Kept {
    pub(super) cache: Arc<DiskCache>,
    pub(super) recent: Arc<Recent>,
    /// What it depends on.
    pub(super) key: EntryKey,
}

/// The rewritten files that were read last: each holds a file of the cache open.
#[derive(Default)]
pub(super) struct Recent(Mutex<VecDeque<Arc<Composition>>>);

impl Recent {
    /// How many there are at most.
    const MOST: usize = 16;

    fn hold(&self, composition: &Arc<Composition>) {
        let mut held = self.0.lock();
        held.push_back(composition.clone());
        let gone = (held.len() > Self::MOST).then(|| held.pop_front());
        drop(held);
        // Closing a file may take time: not under the lock.
        drop(gone);
    }
}

/// Whether it is as long as was told.
fn is_right(made: &Composition, size: Option<u64>) -> bool {
    size.is_none_or(|size| made.size() == size)
}

impl Rewrite {
    /// Whether a file has to be rewritten to be presented so.
    pub(super) fn is_needed(schema: &[OutputNode], deleted: Option<&RoaringTreemap>) -> bool {
        deleted.is_some_and(|deleted| !deleted.is_empty())
            || output_leaves(schema).iter().any(|(_, source)| {
                matches!(
                    source,
                    LeafSource::Converted { .. } | LeafSource::NullBeside { .. }
                )
            })
    }

    /// Works out what is to be done. Reads the file only where the size cannot be told otherwise.
    pub(super) fn new(
        footer: Footer,
        schema: Vec<OutputNode>,
        deleted: Option<RoaringTreemap>,
        plan: &OpenPlan,
        original: &dyn ObjectReader,
        kept: Kept,
    ) -> Result<Rewrite, ViewError> {
        let originals = footer.row_groups_meta()?;
        let mut groups = Vec::with_capacity(originals.len());
        let mut deleted_in_groups = Vec::with_capacity(originals.len());
        let mut first_row = 0u64;
        for (original, group) in originals.iter().enumerate() {
            let deleted = match &deleted {
                Some(all) => deleted_in(all, first_row, group.num_rows, &plan.path)?,
                None => RoaringBitmap::new(),
            };
            first_row += group.num_rows;
            let rows = group.num_rows - deleted.len();
            if rows == 0 && group.num_rows > 0 {
                continue;
            }
            groups.push(OutputGroup {
                original,
                rows,
                dropped: !deleted.is_empty(),
            });
            deleted_in_groups.push(deleted);
        }
        let originals_kept = kept_originals(&footer, &schema, &groups)?;
        let mut rewrite = Rewrite {
            path: plan.path.clone(),
            kept,
            leaves: file_leaves(footer.columns()),
            output: output_leaves(&schema),
            footer,
            schema,
            groups,
            deleted: deleted_in_groups,
            originals,
            originals_kept: Composition::new(originals_kept, Made::Memory(Bytes::new())),
            size: 0,
            composition: Mutex::default(),
        };
        rewrite.size = match rewrite.bound()? {
            Some(bound) => bound,
            None => {
                let composition = Arc::new(rewrite.cached(original, None)?);
                *rewrite.composition.get_mut() = Arc::downgrade(&composition);
                rewrite.kept.recent.hold(&composition);
                composition.size()
            }
        };
        Ok(rewrite)
    }

    /// The size of the presented file, bytes.
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// The memory it takes, in bytes, beside what was made.
    pub(super) fn held(&self) -> u64 {
        let chunks: usize = self.originals.iter().map(|group| group.chunks.len()).sum();
        let deleted: usize = (self.deleted.iter())
            .map(RoaringBitmap::serialized_size)
            .sum();
        let leaves = self.leaves.len() + self.output.len();
        self.footer.held() + self.originals_kept.held() + (256 * (chunks + leaves) + deleted) as u64
    }

    /// Fills `buffer` from `offset` on; fewer bytes only at the end. `held` belongs to who has the
    /// file open.
    pub(super) fn read_at(
        &self,
        original: &dyn ObjectReader,
        held: &OnceLock<Arc<Composition>>,
        buffer: &mut [u8],
        offset: u64,
    ) -> Result<usize, ViewError> {
        if offset.saturating_add(buffer.len() as u64) <= self.originals_kept.size() {
            return Ok(self.originals_kept.read_at(original, buffer, offset)?);
        }
        Ok(self
            .made(original, held)?
            .read_at(original, buffer, offset)?)
    }

    /// How it is put together, after the work is done. `held` belongs to who has the file open.
    pub(super) fn made<'h>(
        &self,
        original: &dyn ObjectReader,
        held: &'h OnceLock<Arc<Composition>>,
    ) -> Result<&'h Composition, ViewError> {
        if let Some(composition) = held.get() {
            return Ok(composition);
        }
        let made = self.composition(original)?;
        Ok(held.get_or_init(|| made))
    }

    /// Whether these bytes have to be made, or may be being made by somebody else.
    pub(super) fn is_to_be_made(&self, offset: u64, size: u64) -> bool {
        offset.saturating_add(size) > self.originals_kept.size()
            && self
                .composition
                .try_lock()
                .is_none_or(|made| made.strong_count() == 0)
    }

    fn composition(&self, original: &dyn ObjectReader) -> Result<Arc<Composition>, ViewError> {
        let mut made = self.composition.lock();
        if let Some(composition) = made.upgrade() {
            return Ok(composition);
        }
        let composition = Arc::new(self.cached(original, Some(self.size))?);
        *made = Arc::downgrade(&composition);
        self.kept.recent.hold(&composition);
        Ok(composition)
    }

    /// What was made before, and is still there. One that is being made is not waited for.
    pub(super) fn kept(&self) -> Option<Arc<Composition>> {
        let mut made = self.composition.try_lock()?;
        if let Some(composition) = made.upgrade() {
            return Some(composition);
        }
        let composition = Arc::new(self.found(Some(self.size)).ok()??);
        *made = Arc::downgrade(&composition);
        self.kept.recent.hold(&composition);
        Some(composition)
    }

    /// What the cache holds.
    fn found(&self, size: Option<u64>) -> Result<Option<Composition>, ViewError> {
        let Some(file) = self.kept.cache.get(&self.kept.key) else {
            return Ok(None);
        };
        Ok(Composition::load(file)?.filter(|made| is_right(made, size)))
    }

    /// What the cache holds, or what is made now and kept there.
    fn cached(
        &self,
        original: &dyn ObjectReader,
        size: Option<u64>,
    ) -> Result<Composition, ViewError> {
        if let Some(kept) = self.found(size)? {
            return Ok(kept);
        }
        let file = self
            .kept
            .cache
            .make(&self.kept.key, |out| self.make(original, size, out))?;
        let made = Composition::load(file)?.filter(|made| is_right(made, size));
        made.ok_or_else(|| ViewError::Cache {
            path: self.path.clone(),
        })
    }
}

fn file_leaves(columns: &[Node]) -> Vec<FileLeaf> {
    let mut leaves = Vec::new();
    visit_leaves(columns, |path, shape, node| {
        leaves.push(FileLeaf {
            path: path.join("."),
            annotation: node.annotation,
            shape,
        });
    });
    leaves
}

fn output_leaves(columns: &[OutputNode]) -> Vec<(LeafShape, LeafSource)> {
    let mut leaves = Vec::new();
    visit_leaves(columns, |_, shape, node| {
        if let OutputKind::Leaf { source, .. } = &node.kind {
            leaves.push((shape, source.clone()));
        }
    });
    leaves
}
