//! Making one clone.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::fs::{FallocateFlags, Stat, fallocate, fstat, fstatvfs};
use rustix::ioctl::{Opcode, Setter, ioctl, opcode};

use super::super::ObjectReader;
use super::{BLOCK, CloneParts, Piece};
use crate::base::clock::monotonic;

/// How much is cloned at first, bytes; each further step is twice as long as the one before. A step
/// waits until the data file is on the disk, as far as the step goes, and cannot be broken off.
const FIRST_STEP: u64 = 8 << 20;

/// How long steps may have taken for another one to be begun. An open waits for them.
const MOST_TIME: Duration = Duration::from_millis(100);

/// How many bytes are copied at most. An open waits for that too.
const MOST_COPIED: u64 = 16 << 20;

/// What a hole counts as, bytes: the blocks at both its ends may have to be read from the disk.
const PUNCHED: u64 = 64 << 10;

/// How much is copied at once, bytes.
const BUFFER: u64 = 256 << 10;

/// `struct file_clone_range` of the kernel.
#[repr(C)]
#[derive(Debug)]
struct FileCloneRange {
    source: i64,
    source_offset: u64,
    source_length: u64,
    target_offset: u64,
}

const FICLONERANGE: Opcode = opcode::write::<FileCloneRange>(0x94, 13);

/// A data file as it was when it was looked at.
#[derive(Debug)]
pub(super) struct Source {
    file: Arc<File>,
    stat: Stat,
}

impl Source {
    /// `None` where it is no local file.
    pub(super) fn of(original: &dyn ObjectReader) -> Option<io::Result<Source>> {
        let file = original.as_file()?.clone();
        Some(match fstat(&file) {
            Ok(stat) => Ok(Source { file, stat }),
            Err(errno) => Err(errno.into()),
        })
    }

    pub(super) fn device(&self) -> u64 {
        self.stat.st_dev
    }

    /// Which file it is, and in which state.
    pub(super) fn identity(&self) -> Vec<u8> {
        identity(&self.stat)
    }
}

fn identity(stat: &Stat) -> Vec<u8> {
    [
        stat.st_dev,
        stat.st_ino,
        stat.st_size.unsigned_abs(),
        stat.st_mtime.cast_unsigned(),
        stat.st_mtime_nsec,
    ]
    .iter()
    .flat_map(|number| number.to_le_bytes())
    .collect()
}

/// A clone that was made.
#[derive(Debug)]
pub(super) struct Made {
    pub(super) file: File,
    /// How many of its bytes are its own.
    pub(super) copied: u64,
    /// The files whose blocks it shares.
    pub(super) sources: Vec<Arc<File>>,
}

/// A new file without a name, to become a clone.
#[derive(Debug)]
pub(super) struct Begun {
    pub(super) file: File,
    /// The space of its directory that may be taken, bytes.
    pub(super) room: u64,
}

impl Begun {
    /// `None` where all space that is free is left to others.
    pub(super) fn new(file: io::Result<File>, room: Option<u64>) -> io::Result<Begun> {
        let file = file?;
        let room = room.ok_or(io::ErrorKind::StorageFull)?;
        Ok(Begun { file, room })
    }
}

/// Makes the file what `parts` say. Only a whole one is returned.
pub(super) fn make(begun: Begun, source: &Source, parts: &CloneParts<'_>) -> io::Result<Made> {
    let Begun { file, room } = begun;
    // For quotas, of which a file system tells as the free space of a directory, shared blocks count as
    // the clone's own.
    let lengths = parts.pieces.iter().map(|(_, piece)| piece.len());
    if lengths.fold(parts.prefix, u64::saturating_add) > room {
        return Err(io::Error::other("it is longer than the free space"));
    }
    let space = fstatvfs(&file)?;
    let mut target = Target {
        block: space.f_bsize.max(space.f_frsize).max(BLOCK),
        begun: monotonic(),
        made: Made {
            file,
            copied: 0,
            sources: Vec::new(),
        },
    };
    target.add(0, &source.file, 0, parts.prefix)?;
    for hole in &parts.holes {
        target.punch(hole)?;
    }
    for (offset, piece) in &parts.pieces {
        match *piece {
            Piece::Memory(bytes) => target.write(*offset, bytes)?,
            Piece::Cached {
                file,
                start,
                length,
            } => target.add_or_copy(*offset, file.file(), start, length)?,
        }
    }
    let Made { file, .. } = &target.made;
    if file.metadata()?.len() < parts.size {
        file.set_len(parts.size)?;
    }
    if identity(&fstat(&source.file)?) != source.identity() {
        return Err(io::Error::other("the data file changed meanwhile"));
    }
    let length = file.metadata()?.len();
    if length != parts.size {
        let reason = format!("it has {length} bytes, not {}", parts.size);
        return Err(io::Error::other(reason));
    }
    Ok(target.made)
}

/// A clone that is being made.
struct Target {
    /// What the file system shares are multiples of this, bytes.
    block: u64,
    begun: Instant,
    made: Made,
}

impl Target {
    /// Puts `length` bytes of `source`, from `start` on, at `offset`: whole blocks are shared, which
    /// has to be possible, and what is before and behind them is copied.
    fn add(&mut self, offset: u64, source: &Arc<File>, start: u64, length: u64) -> io::Result<()> {
        if offset % self.block != start % self.block {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let first = offset.next_multiple_of(self.block).min(offset + length);
        let end = offset + length;
        let last = (end - end % self.block).max(first);
        // Where in the source what stands at a place of the clone.
        let within = |at: u64| start + (at - offset);
        self.copy(offset, source, start, first - offset)?;
        if first < last {
            self.share(first, source, within(first), last - first)?;
            self.made.sources.push(source.clone());
        }
        self.copy(last, source, within(last), end - last)
    }

    /// As [`Target::add`]; all of it is copied where nothing can be shared.
    fn add_or_copy(
        &mut self,
        offset: u64,
        source: &Arc<File>,
        start: u64,
        length: u64,
    ) -> io::Result<()> {
        match self.add(offset, source, start, length) {
            Err(error) if is_no_sharing(&error) => self.copy(offset, source, start, length),
            added => added,
        }
    }

    fn share(&self, offset: u64, source: &File, start: u64, length: u64) -> io::Result<()> {
        let (mut done, mut step) = (0, FIRST_STEP);
        while done < length {
            if monotonic().duration_since(self.begun) > MOST_TIME {
                return Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    "sharing its blocks takes long: it is not on the disk yet, or in many pieces",
                ));
            }
            let range = FileCloneRange {
                source: source.as_raw_fd().into(),
                source_offset: start + done,
                source_length: step.min(length - done),
                target_offset: offset + done,
            };
            done += range.source_length;
            step *= 2;
            // SAFETY: the request reads one `struct file_clone_range`, whose descriptor is open as
            // long as `source` is.
            unsafe { ioctl(&self.made.file, Setter::<FICLONERANGE, _>::new(range)) }?;
        }
        Ok(())
    }

    /// Takes what is in a range away; zeros are read there. The blocks that it shares with other
    /// bytes are copied.
    fn punch(&mut self, hole: &Range<u64>) -> io::Result<()> {
        self.count(PUNCHED)?;
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        fallocate(&self.made.file, flags, hole.start, hole.end - hole.start)?;
        Ok(())
    }

    fn copy(&mut self, offset: u64, source: &File, start: u64, length: u64) -> io::Result<()> {
        self.count(length)?;
        let mut buffer = vec![0; usize::try_from(length.min(BUFFER)).expect("a buffer's length")];
        let mut done = 0;
        while done < length {
            let count = usize::try_from((length - done).min(BUFFER)).expect("a buffer's length");
            let part = &mut buffer[..count];
            source.read_exact_at(part, start + done)?;
            self.made.file.write_all_at(part, offset + done)?;
            done += count as u64;
        }
        Ok(())
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.count(bytes.len() as u64)?;
        self.made.file.write_all_at(bytes, offset)
    }

    /// Counts bytes that are copied, before they are.
    fn count(&mut self, length: u64) -> io::Result<()> {
        self.made.copied += length;
        match self.made.copied <= MOST_COPIED {
            true => Ok(()),
            false => Err(io::Error::other("too much of it would be a copy")),
        }
    }
}

/// Whether the system said that these two files, or these parts of them, share nothing.
fn is_no_sharing(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::InvalidInput || super::lasts(error)
}
