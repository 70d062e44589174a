//! Making the chunks of a rewritten file, and telling beforehand how large they become.

use std::collections::HashMap;
use std::io::Write;

use bytes::Bytes;

use super::Rewrite;
use crate::base::parallel;
use crate::parquet::{
    Change, ChunkShape, Extent, LeafSource, MadeChunk, OutputGroup, SourceChunk, assemble,
    chunk_size_bound, file_size_bound, rewrite_chunk,
};
use crate::storage::clones::BLOCK;
use crate::storage::{ObjectReader, StorageError};
use crate::view::ViewError;
use crate::view::composed::Composition;

/// How many chunks each thread makes before they are written out.
const CHUNKS_EACH: usize = 2;

impl Rewrite {
    /// The most bytes that the presented file can have; `None` where only the work tells.
    pub(super) fn bound(&self) -> Result<Option<u64>, ViewError> {
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

    /// Writes what is made of the file, and its index behind it, to `out`.
    pub(super) fn make(
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
        let lead = self.originals_kept.size() % BLOCK;
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
        let threads = parallel::cores();
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
        let made = parallel::try_map("rewrite", threads, &jobs, make)?;
        Ok(made.into_iter().collect())
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
