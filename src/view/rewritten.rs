//! Files of which some column chunks are encoded anew: rows dropped, values converted.
//!
//! The size is known at once: it is what the new chunks can take at most, and the gap that they
//! leave is in front of the footer, where readers do not look. The work is done when a byte
//! behind the original ones is read for the first time.

use std::collections::{HashMap, VecDeque};
use std::io::Write;
use std::sync::{Arc, OnceLock, Weak};

use bytes::Bytes;
use parking_lot::Mutex;
use roaring::{RoaringBitmap, RoaringTreemap};

use super::OpenPlan;
use super::composed::Composition;
use super::error::ViewError;
use crate::log::deletion_vector::deleted_in;
use crate::parquet::{
    Annotation, Change, ChunkShape, Extent, Footer, LeafShape, LeafSource, MadeChunk, Node,
    OutputGroup, OutputKind, OutputNode, RowGroupMeta, SourceChunk, assemble, chunk_size_bound,
    file_size_bound, rewrite_chunk, visit_leaves,
};
use crate::storage::cache::{DiskCache, EntryKey};
use crate::storage::clones::BLOCK;
use crate::storage::{ObjectReader, StorageError};

/// How many chunks each thread makes before they are written out.
const CHUNKS_EACH: usize = 2;

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
        let mut dropped = Vec::with_capacity(originals.len());
        let mut first = 0u64;
        for (original, group) in originals.iter().enumerate() {
            let lost = match &deleted {
                Some(deleted) => deleted_in(deleted, first, group.num_rows, &plan.path)?,
                None => RoaringBitmap::new(),
            };
            first += group.num_rows;
            let rows = group.num_rows - lost.len();
            if rows == 0 && group.num_rows > 0 {
                continue;
            }
            groups.push(OutputGroup {
                original,
                rows,
                dropped: !lost.is_empty(),
            });
            dropped.push(lost);
        }
        let mut rewrite = Rewrite {
            path: plan.path.clone(),
            kept,
            leaves: file_leaves(footer.columns()),
            output: output_leaves(&schema),
            footer,
            schema,
            groups,
            deleted: dropped,
            originals,
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
        self.footer.held() + (256 * (chunks + leaves) + deleted) as u64
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
        // The original bytes come first, whatever is made.
        if offset.saturating_add(buffer.len() as u64) <= self.footer.data_end() {
            return Ok(original.read_at(buffer, offset)?);
        }
        let composition = match held.get() {
            Some(composition) => composition,
            None => {
                let made = self.composition(original)?;
                held.get_or_init(|| made)
            }
        };
        Ok(composition.read_at(original, buffer, offset)?)
    }

    /// Whether these bytes have to be made, or may be being made by somebody else.
    pub(super) fn is_to_be_made(&self, offset: u64, size: u64) -> bool {
        offset.saturating_add(size) > self.footer.data_end()
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

    /// The most bytes that the presented file can have; `None` where only the work tells.
    fn bound(&self) -> Result<Option<u64>, ViewError> {
        let mut bounds: HashMap<(usize, usize), u64> = HashMap::new();
        for (position, group) in self.groups.iter().enumerate() {
            for leaf in 0..self.output.len() {
                let Some((source, change)) = self.change(group, leaf) else {
                    continue;
                };
                let shape = self.shape(group, source);
                match chunk_size_bound(&shape, group.rows, change) {
                    Some(bound) => bounds.insert((position, leaf), bound),
                    None => return Ok(None),
                };
            }
        }
        let size = file_size_bound(&self.footer, &self.schema, &self.groups, &|group, leaf| {
            bounds.get(&(group, leaf)).copied().unwrap_or(0)
        })?;
        Ok(Some(size))
    }

    fn make(
        &self,
        original: &dyn ObjectReader,
        size: Option<u64>,
        out: &mut dyn Write,
    ) -> Result<(), ViewError> {
        let mut write = |bytes: &[u8]| {
            out.write_all(bytes).map_err(|source| StorageError::Io {
                operation: "write",
                location: format!("what is made of {}", self.path),
                source,
            })
        };
        // So that a clone can share blocks with what is made, which stands there behind the original
        // bytes.
        let lead = self.footer.data_end() % BLOCK;
        write(&vec![0; usize::try_from(lead).expect("less than a block")])?;
        let mut ready: HashMap<usize, MadeChunk> = HashMap::new();
        let mut extents = assemble::<ViewError>(
            &self.footer,
            &self.schema,
            &self.groups,
            &mut |group, leaf| {
                if let Some(made) = ready.remove(&leaf) {
                    return Ok(made);
                }
                ready = self.make_chunks(original, group, leaf)?;
                Ok(ready
                    .remove(&leaf)
                    .expect("a chunk that is asked for has something to be made of"))
            },
            &mut |bytes: Bytes| {
                write(&bytes)?;
                Ok(())
            },
            size,
        )?;
        for extent in &mut extents {
            if let Extent::Made { start, .. } = extent {
                *start += lead;
            }
        }
        write(&Composition::index(&extents))?;
        Ok(())
    }

    /// The next chunks of one row group that have to be made, from an output leaf on: as many as
    /// keep all cores busy, so that few are in memory at a time.
    fn make_chunks(
        &self,
        original: &dyn ObjectReader,
        position: usize,
        from: usize,
    ) -> Result<HashMap<usize, MadeChunk>, ViewError> {
        let group = &self.groups[position];
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let jobs: Vec<(usize, usize, Change)> = (from..self.output.len())
            .filter_map(|leaf| {
                let (source, change) = self.change(group, leaf)?;
                Some((leaf, source, change))
            })
            .take(CHUNKS_EACH * threads)
            .collect();
        let zone = self.footer.old_zone().ok();
        let make = |&(leaf, source, change): &(usize, usize, Change)| {
            let chunk = &self.originals[group.original].chunks[source];
            let source = SourceChunk {
                reader: original,
                location: &self.path,
                column: &self.leaves[source].path,
                start: chunk.start,
                length: chunk.length,
                shape: self.shape(group, source),
                statistics: self.footer.chunk_statistics(chunk),
                zone: zone.as_ref(),
            };
            rewrite_chunk(&source, &self.deleted[position], change).map(|made| (leaf, made))
        };
        let next = std::sync::atomic::AtomicUsize::new(0);
        let work = || {
            let mut made = Vec::new();
            while let Some(job) = jobs.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed))
            {
                made.push(make(job)?);
            }
            Ok::<_, crate::parquet::ParquetError>(made)
        };
        let parts = std::thread::scope(|scope| {
            let work = &work;
            let others: Vec<_> = (1..threads.min(jobs.len()))
                .filter_map(|_| {
                    let thread = std::thread::Builder::new().name("rewrite".to_owned());
                    // Where the system has no thread to give, this one does the work.
                    thread.spawn_scoped(scope, work).ok()
                })
                .collect();
            let mut parts = vec![work()];
            parts.extend(others.into_iter().map(|thread| {
                thread
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            }));
            parts
        });
        let mut made = HashMap::new();
        for part in parts {
            made.extend(part?);
        }
        Ok(made)
    }

    /// What is to be done for an output leaf in a group, and to which leaf of the file; `None` where
    /// its chunk is copied, or made from nothing.
    fn change(&self, group: &OutputGroup, leaf: usize) -> Option<(usize, Change)> {
        let (output, source) = &self.output[leaf];
        match *source {
            LeafSource::Original(source) => group.dropped.then_some((source, Change::Keep)),
            LeafSource::Converted { leaf, conversion } => Some((
                leaf,
                Change::Convert {
                    conversion,
                    physical: output.physical,
                },
            )),
            LeafSource::NullBeside {
                beside,
                definition,
                repetition,
            } => Some((
                beside,
                Change::NullBeside {
                    definition: signed(definition),
                    repetition: signed(repetition),
                    physical: output.physical,
                    max_definition: signed(output.levels.definition),
                    max_repetition: signed(output.levels.repetition),
                },
            )),
            LeafSource::Constant(_) | LeafSource::Null { .. } => None,
        }
    }

    fn shape(&self, group: &OutputGroup, leaf: usize) -> ChunkShape<'_> {
        let original = &self.originals[group.original];
        let chunk = &original.chunks[leaf];
        let leaf = &self.leaves[leaf];
        ChunkShape {
            codec: chunk.codec,
            encodings: &chunk.encodings,
            has_dictionary: chunk.dictionary_page_offset.is_some(),
            num_values: chunk.num_values,
            rows: original.num_rows,
            uncompressed_size: chunk.uncompressed_size,
            physical: leaf.shape.physical,
            annotation: leaf.annotation,
            max_definition: signed(leaf.shape.levels.definition),
            max_repetition: signed(leaf.shape.levels.repetition),
        }
    }
}

/// A level as the decoder counts them. Schemas nest far less deep than it can count.
fn signed(level: u16) -> i16 {
    i16::try_from(level).unwrap_or(i16::MAX)
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
