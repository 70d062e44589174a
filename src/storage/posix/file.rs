//! Calls on open files beyond reading and writing.

use std::ffi::OsStr;
use std::fs::File;
use std::io::ErrorKind;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

use rustix::fs::{self, FallocateFlags, SeekFrom};
use rustix::io::Errno;

use super::PosixError;
use super::error::failed;

/// How often a call that signals interrupt is made again. None reach the threads that make it, so
/// once is rare; a program never gets to see EINTR, which would make it hang in `fsync`.
const ATTEMPTS: usize = 64;

fn again(mut call: impl FnMut() -> Result<(), Errno>) -> Result<(), Errno> {
    for _ in 1..ATTEMPTS {
        match call() {
            Err(Errno::INTR) => {}
            done => return done,
        }
    }
    match call() {
        Err(Errno::INTR) => Err(Errno::IO),
        done => done,
    }
}

/// Fills `buffer` from `offset` on and returns how many bytes there were: fewer only at the end.
pub fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> Result<usize, PosixError> {
    let mut done = 0;
    while done < buffer.len() {
        match file.read_at(&mut buffer[done..], offset.saturating_add(done as u64)) {
            Ok(0) => break,
            Ok(count) => done += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(PosixError::new("read", OsStr::new(""), error)),
        }
    }
    Ok(done)
}

/// Writes `bytes` at `offset` and returns how many were written: fewer when the disk filled up on
/// the way, and at least one.
pub fn write_all_at(file: &File, bytes: &[u8], offset: u64) -> Result<usize, PosixError> {
    let mut done = 0;
    while done < bytes.len() {
        match file.write_at(&bytes[done..], offset.saturating_add(done as u64)) {
            Ok(0) => break,
            Ok(count) => done += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) if done > 0 => break,
            Err(error) => return Err(PosixError::new("write", OsStr::new(""), error)),
        }
    }
    Ok(done)
}

/// Sets the size of an open file.
pub fn set_size(file: &File, size: u64) -> Result<(), PosixError> {
    again(|| fs::ftruncate(file, size)).map_err(failed("truncate"))
}

/// Makes content (and with `data_only` false, all attributes) durable.
pub fn sync(file: &File, data_only: bool) -> Result<(), PosixError> {
    again(|| match data_only {
        true => fs::fdatasync(file),
        false => fs::fsync(file),
    })
    .map_err(failed("fsync"))
}

/// A part of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    /// Where it begins.
    pub offset: u64,
    /// How long it is.
    pub length: u64,
}

/// `fallocate` with the flags of the system call: room for a range, a hole in its place, or zeros.
pub fn allocate(file: &File, flags: u32, range: Range) -> Result<(), PosixError> {
    let failed = failed("fallocate");
    let flags = FallocateFlags::from_bits(flags).ok_or_else(|| failed(Errno::OPNOTSUPP))?;
    again(|| fs::fallocate(file, flags, range.offset, range.length)).map_err(failed)
}

/// Copies up to `length` bytes between files of one file system, sharing them where it can, and
/// returns how many: 0 at the end of `from`. EXDEV and EOPNOTSUPP say that it has to be done by
/// reading and writing.
pub fn copy_range(
    from: (&File, u64),
    to: (&File, u64),
    length: usize,
) -> Result<usize, PosixError> {
    let (mut read_at, mut write_at) = (from.1, to.1);
    let mut copied = 0;
    again(|| {
        copied = fs::copy_file_range(
            from.0,
            Some(&mut read_at),
            to.0,
            Some(&mut write_at),
            length,
        )?;
        Ok(())
    })
    .map_err(failed("copy_file_range"))?;
    Ok(copied)
}

/// What to look for in a file with holes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seek {
    /// The next byte that is stored.
    Data,
    /// The next hole; there is one at the end.
    Hole,
}

/// Where the next data or hole at or behind `offset` begins; ENXIO when there is none.
pub fn seek(file: &File, what: Seek, offset: u64) -> Result<u64, PosixError> {
    let position = match what {
        Seek::Data => SeekFrom::Data(offset),
        Seek::Hole => SeekFrom::Hole(offset),
    };
    fs::seek(file, position).map_err(failed("lseek"))
}

/// Lets what has been written to a file be on its way to the disk, so that a later fsync has less to
/// wait for. Where that cannot be, nothing is lost but time.
pub fn begin_writeback(file: &File) {
    // SAFETY: the call takes numbers only, and the descriptor is open as long as `file` is.
    let begun =
        unsafe { libc::sync_file_range(file.as_raw_fd(), 0, 0, libc::SYNC_FILE_RANGE_WRITE) };
    if begun != 0 {
        tracing::debug!(error = %std::io::Error::last_os_error(), "writing back was not begun");
    }
}
