//! One entry: its content, followed by a trailer that proves it whole.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use super::super::{ObjectMeta, ObjectReader, StorageError};
use super::EntryKey;
use crate::base::clock::TimestampMs;

/// The first bytes of a trailer; a new form of it gets a new directory beside `v1`.
const MAGIC: [u8; 8] = *b"deltafs1";

/// `MAGIC`, the key, the content's length (8 bytes) and CRC-32 (4), and the CRC-32 of all these;
/// numbers in little endian.
pub(super) const TRAILER_LEN: usize = 8 + 32 + 8 + 4 + 4;

/// The content of an entry up to this length is compared with its checksum on every opening.
const SMALL: u64 = 1 << 20;

/// The trailer of an entry.
pub(super) fn trailer(key: &EntryKey, length: u64, checksum: u32) -> [u8; TRAILER_LEN] {
    let mut bytes = [0; TRAILER_LEN];
    bytes[..8].copy_from_slice(&MAGIC);
    bytes[8..40].copy_from_slice(key);
    bytes[40..48].copy_from_slice(&length.to_le_bytes());
    bytes[48..52].copy_from_slice(&checksum.to_le_bytes());
    let own = crc32fast::hash(&bytes[..52]);
    bytes[52..].copy_from_slice(&own.to_le_bytes());
    bytes
}

/// The length of the content of a file that is the entry `key`; else what is wrong with it.
pub(super) fn check(file: &File, key: &EntryKey) -> io::Result<Result<u64, String>> {
    let size = file.metadata()?.len();
    let Some(length) = size.checked_sub(TRAILER_LEN as u64) else {
        return Ok(Err(format!("it has {size} bytes, too few for a trailer")));
    };
    let mut found = [0; TRAILER_LEN];
    file.read_exact_at(&mut found, length)?;
    let checksum = u32::from_le_bytes([found[48], found[49], found[50], found[51]]);
    if found != trailer(key, length, checksum) {
        return Ok(Err("its trailer is not that of a whole entry".to_owned()));
    }
    if length <= SMALL {
        let mut content = vec![0; length as usize];
        file.read_exact_at(&mut content, 0)?;
        let computed = crc32fast::hash(&content);
        if computed != checksum {
            return Ok(Err(format!(
                "its checksum is {checksum:#010x}, and that of its content {computed:#010x}"
            )));
        }
    }
    Ok(Ok(length))
}

/// An entry that is open: it stays readable after it was evicted. Cheap to clone.
#[derive(Debug, Clone)]
pub struct CacheFile {
    file: Arc<File>,
    meta: Arc<ObjectMeta>,
}

impl CacheFile {
    pub(super) fn new(file: File, path: String, size: u64, modified: TimestampMs) -> CacheFile {
        CacheFile {
            file: Arc::new(file),
            meta: Arc::new(ObjectMeta {
                path,
                size,
                modified,
            }),
        }
    }

    /// The file, which holds more behind the content.
    pub(in crate::storage) fn file(&self) -> &Arc<File> {
        &self.file
    }

    /// Size of the content, bytes.
    pub fn size(&self) -> u64 {
        self.meta.size
    }
}

impl ObjectReader for CacheFile {
    fn meta(&self) -> &ObjectMeta {
        &self.meta
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, StorageError> {
        let left = self.size().saturating_sub(offset);
        let wanted = buffer
            .len()
            .min(usize::try_from(left).unwrap_or(usize::MAX));
        self.file
            .read_exact_at(&mut buffer[..wanted], offset)
            .map_err(|source| StorageError::Io {
                operation: "read",
                location: self.meta.path.clone(),
                source,
            })?;
        Ok(wanted)
    }

    /// `None`: more than the content is in the file.
    fn as_file(&self) -> Option<&Arc<File>> {
        None
    }
}
