//! Reading open files.

use std::fs::File;
use std::ops::Range;
use std::os::fd::AsFd;
use std::sync::Arc;

use rustix::buffer::spare_capacity;
use rustix::fs::Stat;
use rustix::io::{Errno, Result, pread};

use super::super::{ObjectMeta, ObjectReader, StorageError};
use crate::base::clock::TimestampMs;

/// Size in bytes.
pub(super) fn size(stat: &Stat) -> u64 {
    u64::try_from(stat.st_size).unwrap_or(0)
}

/// The metadata of the object at `path`. Times before the epoch round down, as all times do.
pub(super) fn meta(path: String, stat: &Stat) -> ObjectMeta {
    let nanoseconds = TimestampMs::try_from(stat.st_mtime_nsec).unwrap_or(0);
    ObjectMeta {
        path,
        size: size(stat),
        modified: TimestampMs::from(stat.st_mtime)
            .saturating_mul(1000)
            .saturating_add(nanoseconds / 1_000_000),
    }
}

/// The bytes of `range`, which ends at the end of the file at the latest; fewer where the file has
/// become shorter. `ENOMEM` rather than an abort where it does not fit in memory.
pub(super) fn range(file: impl AsFd, range: Range<u64>) -> Result<Vec<u8>> {
    let length = range.end.saturating_sub(range.start);
    let length = usize::try_from(length).map_err(|_| Errno::NOMEM)?;
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(length).map_err(|_| Errno::NOMEM)?;
    while bytes.len() < length {
        // The allocator may have reserved more than asked: what lies past the range is cut off.
        let offset = range.start + bytes.len() as u64;
        match pread(&file, spare_capacity(&mut bytes), offset) {
            Ok(0) => break,
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    bytes.truncate(length);
    Ok(bytes)
}

/// An open regular file.
#[derive(Debug)]
pub(super) struct LocalReader {
    file: Arc<File>,
    meta: ObjectMeta,
    /// The full path, for messages.
    location: String,
}

impl LocalReader {
    pub(super) fn new(file: File, meta: ObjectMeta, location: String) -> LocalReader {
        LocalReader {
            file: Arc::new(file),
            meta,
            location,
        }
    }
}

impl ObjectReader for LocalReader {
    fn meta(&self) -> &ObjectMeta {
        &self.meta
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> std::result::Result<usize, StorageError> {
        let mut filled = 0;
        // The kernel counts offsets in i64; nothing lies beyond.
        let room = (i64::MAX as u64).saturating_sub(offset);
        let wanted = buffer
            .len()
            .min(usize::try_from(room).unwrap_or(usize::MAX));
        while filled < wanted {
            let at = offset + filled as u64;
            match pread(&*self.file, &mut buffer[filled..wanted], at) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(Errno::INTR) => {}
                Err(errno) => {
                    return Err(StorageError::Io {
                        operation: "read",
                        location: self.location.clone(),
                        source: errno.into(),
                    });
                }
            }
        }
        Ok(filled)
    }

    fn as_file(&self) -> Option<&Arc<File>> {
        Some(&self.file)
    }
}
