//! Files that are put together from pieces.

use bytes::Bytes;

use crate::parquet::Extent;
use crate::storage::cache::CacheFile;
use crate::storage::clones::{CloneParts, Piece};
use crate::storage::posix::Seek;
use crate::storage::{ObjectReader, StorageError, read_memory};

/// What was made for a presented file.
pub(super) enum Made {
    /// In memory.
    Memory(Bytes),
    /// In a file of the disk cache, from its start on.
    File(CacheFile),
}

impl Made {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, StorageError> {
        match self {
            Made::Memory(bytes) => Ok(read_memory(bytes, buffer, offset)),
            Made::File(file) => file.read_at(buffer, offset),
        }
    }

    fn piece(&self, start: u64, length: u64) -> Option<Piece<'_>> {
        Some(match self {
            Made::Memory(bytes) => {
                let start = usize::try_from(start).ok()?;
                let end = start.checked_add(usize::try_from(length).ok()?)?;
                Piece::Memory(bytes.get(start..end)?)
            }
            Made::File(file) => Piece::Cached {
                file,
                start,
                length,
            },
        })
    }

    fn held(&self) -> u64 {
        match self {
            Made::Memory(bytes) => bytes.len() as u64,
            Made::File(_) => 0,
        }
    }
}

/// The smallest run of zeros that is told of as a hole, bytes: smaller ones are not worth a question.
const HOLE: u64 = 64 << 10;

/// The bytes that an extent takes beside what was made: its kind, and two numbers.
const EXTENT: usize = 17;

/// How a presented file is put together.
///
/// Invariant: `ends` are the running sums of the lengths of `extents`.
pub(super) struct Composition {
    extents: Vec<Extent>,
    ends: Vec<u64>,
    made: Made,
}

impl Composition {
    pub(super) fn new(extents: Vec<Extent>, made: Made) -> Composition {
        let mut end = 0u64;
        let ends = extents
            .iter()
            .map(|extent| {
                end = end.saturating_add(extent.len());
                end
            })
            .collect();
        Composition {
            extents,
            ends,
            made,
        }
    }

    /// What [`Composition::load`] reads, to stand behind what was made.
    pub(super) fn index(extents: &[Extent]) -> Vec<u8> {
        let mut index = Vec::with_capacity(EXTENT * extents.len() + 8);
        for extent in extents {
            let (kind, start, length) = match *extent {
                Extent::Original { start, length } => (0, start, length),
                Extent::Made { start, length } => (1, start, length),
                Extent::Zeros(length) => (2, 0, length),
            };
            index.push(kind);
            index.extend_from_slice(&start.to_le_bytes());
            index.extend_from_slice(&length.to_le_bytes());
        }
        index.extend_from_slice(&(extents.len() as u64).to_le_bytes());
        index
    }

    /// A composition that was kept: what was made, and its index behind it. `None` where that is not
    /// what the file holds.
    pub(super) fn load(file: CacheFile) -> Result<Option<Composition>, StorageError> {
        let mut count = [0; 8];
        let Some(end) = file.size().checked_sub(8) else {
            return Ok(None);
        };
        file.read_at(&mut count, end)?;
        let length = u64::from_le_bytes(count).checked_mul(EXTENT as u64);
        let Some(start) = length.and_then(|length| end.checked_sub(length)) else {
            return Ok(None);
        };
        let Ok(length) = usize::try_from(end - start) else {
            return Ok(None);
        };
        let mut index = vec![0; length];
        file.read_at(&mut index, start)?;
        let number = |bytes: &[u8]| bytes.try_into().map(u64::from_le_bytes).unwrap_or(u64::MAX);
        let extents: Option<Vec<Extent>> = index
            .chunks_exact(EXTENT)
            .map(|entry| {
                let (first, length) = (number(&entry[1..9]), number(&entry[9..17]));
                match entry[0] {
                    0 => Some(Extent::Original {
                        start: first,
                        length,
                    }),
                    1 => (first.checked_add(length)? <= start).then_some(Extent::Made {
                        start: first,
                        length,
                    }),
                    2 => Some(Extent::Zeros(length)),
                    _ => None,
                }
            })
            .collect();
        Ok(extents.map(|extents| Composition::new(extents, Made::File(file))))
    }

    /// The size of the presented file.
    pub(super) fn size(&self) -> u64 {
        self.ends.last().copied().unwrap_or(0)
    }

    /// The presented file as a clone of the original one with other bytes behind it; `None` where
    /// original bytes have moved, or stand behind others.
    pub(super) fn as_clone<'a>(&'a self, original: &'a dyn ObjectReader) -> Option<CloneParts<'a>> {
        let mut parts = CloneParts {
            original,
            prefix: 0,
            holes: Vec::new(),
            pieces: Vec::new(),
            size: self.size(),
        };
        let mut at = 0;
        for extent in &self.extents {
            match *extent {
                Extent::Original { start, length } => {
                    if start != at || !parts.pieces.is_empty() {
                        return None;
                    }
                    if parts.prefix < at {
                        parts.holes.push(parts.prefix..at);
                    }
                    parts.prefix = at + length;
                }
                Extent::Made { start, length } => {
                    parts.pieces.push((at, self.made.piece(start, length)?));
                }
                Extent::Zeros(_) => {}
            }
            at += extent.len();
        }
        Some(parts)
    }

    /// Where the next data or hole at or behind `offset` begins, as `lseek` finds them: the end counts
    /// as a hole, and there is none behind it.
    pub(super) fn seek(&self, what: Seek, offset: u64) -> Option<u64> {
        let is_hole = |extent: &Extent| matches!(extent, Extent::Zeros(length) if *length >= HOLE);
        let wanted = matches!(what, Seek::Hole);
        let mut at = self.ends.partition_point(|end| *end <= offset);
        if at == self.extents.len() {
            return None;
        }
        let mut found = offset;
        while let Some(extent) = self.extents.get(at) {
            if is_hole(extent) == wanted {
                return Some(found);
            }
            found = self.ends[at];
            at += 1;
        }
        wanted.then_some(found)
    }

    /// The memory it takes, in bytes.
    pub(super) fn held(&self) -> u64 {
        self.made.held() + 64 * self.extents.len() as u64
    }

    /// Fills `buffer` from `offset` on; fewer bytes only at the end.
    pub(super) fn read_at(
        &self,
        original: &dyn ObjectReader,
        buffer: &mut [u8],
        offset: u64,
    ) -> Result<usize, StorageError> {
        let mut done = 0;
        let mut at = self.ends.partition_point(|end| *end <= offset);
        while done < buffer.len() && at < self.extents.len() {
            let position = offset + done as u64;
            let extent = self.extents[at];
            let within = position - (self.ends[at] - extent.len());
            let left = usize::try_from(extent.len() - within).unwrap_or(usize::MAX);
            let wanted = left.min(buffer.len() - done);
            let piece = &mut buffer[done..done + wanted];
            match extent {
                Extent::Original { start, .. } => {
                    let count = original.read_at(piece, start + within)?;
                    if count < wanted {
                        return Err(cut_off(original, start + within + count as u64));
                    }
                }
                Extent::Made { start, .. } => {
                    let count = self.made.read_at(piece, start + within)?;
                    if count < wanted {
                        return Err(cut_off(original, start + within + count as u64));
                    }
                }
                Extent::Zeros(_) => piece.fill(0),
            }
            done += wanted;
            at += 1;
        }
        Ok(done)
    }
}

/// Bytes that were there when the file was opened are gone.
fn cut_off(original: &dyn ObjectReader, offset: u64) -> StorageError {
    StorageError::Io {
        location: original.meta().path.clone(),
        operation: "read",
        source: std::io::Error::new(
            std::io::ErrorKind::UnexpectedEof,
            format!("it ends at byte {offset}, before the end it had when it was opened"),
        ),
    }
}
