//! Small facts: numbers by key, in memory and in a file that several processes append to.
//!
//! A record is 32 bytes: a mark (4), the key (16), the value (8), and the CRC-32 of these (4);
//! numbers in little endian. Records are read by looking for the mark, so that one that was torn
//! (a full disk, a crash) costs itself and no other.
//!
//! Facts come in two generations. When the young one is full it becomes the old one, whose facts
//! are forgotten but for those that were recalled since; its file, `facts`, becomes `facts.old`.
//! Processes that share the directory learn of each other's facts when they open it.
#![allow(clippy::disallowed_methods)]

use std::collections::HashMap;
use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use memchr::memmem;
use parking_lot::Mutex;

use super::FactKey;

/// Begins every record.
const MARK: [u8; 4] = [0xDF, b'f', b'1', 0xD1];

/// Bytes of a record.
const RECORD: usize = 32;

/// How many facts a generation holds: both together take up to 32 MiB on disk, and some 50 in
/// memory.
const GENERATION: usize = 512 << 10;

/// Facts; see the module.
#[derive(Debug)]
pub(super) struct Facts {
    known: Mutex<Known>,
}

#[derive(Debug)]
struct Known {
    young: HashMap<FactKey, u64>,
    old: HashMap<FactKey, u64>,
    log: Option<Log>,
    generation: usize,
}

/// The files of both generations.
#[derive(Debug)]
struct Log {
    path: PathBuf,
    old: PathBuf,
    /// `path`, for appending.
    file: File,
}

impl Facts {
    /// Reads the facts in `directory`, or begins without any; where the file cannot be made or
    /// read, they stay in memory.
    pub(super) fn open(directory: &Path) -> Facts {
        Facts::of_generation(directory, GENERATION)
    }

    pub(super) fn of_generation(directory: &Path, generation: usize) -> Facts {
        let path = directory.join("facts");
        let old = directory.join("facts.old");
        let mut known = Known {
            generation,
            ..Known::default()
        };
        for path in [&old, &path] {
            match read_tail(path, (2 * generation * RECORD) as u64) {
                Ok(bytes) => records(&bytes).for_each(|(key, value)| {
                    known.learn(key, value);
                }),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => {
                    tracing::debug!(file = %path.display(), %error, "facts cannot be read");
                }
            }
        }
        match append_to(&path) {
            Ok(file) => known.log = Some(Log { path, old, file }),
            Err(error) => tracing::debug!(
                file = %path.display(), %error, "facts are not kept beyond this process"
            ),
        }
        Facts {
            known: Mutex::new(known),
        }
    }

    pub(super) fn in_memory() -> Facts {
        Facts {
            known: Mutex::new(Known::default()),
        }
    }

    pub(super) fn recall(&self, key: &FactKey) -> Option<u64> {
        let mut known = self.known.lock();
        if let Some(value) = known.young.get(key) {
            return Some(*value);
        }
        let value = *known.old.get(key)?;
        known.remember(&[(*key, value)]);
        Some(value)
    }

    pub(super) fn remember(&self, facts: &[(FactKey, u64)]) {
        self.known.lock().remember(facts);
    }
}

impl Default for Known {
    fn default() -> Known {
        Known {
            young: HashMap::new(),
            old: HashMap::new(),
            log: None,
            generation: GENERATION,
        }
    }
}

impl Known {
    fn remember(&mut self, facts: &[(FactKey, u64)]) {
        let mut bytes = Vec::new();
        let mut is_turned = false;
        for (key, value) in facts {
            if self.young.get(key) != Some(value) {
                is_turned |= self.learn(*key, *value);
                bytes.extend_from_slice(&record(key, *value));
            }
        }
        let limit = (self.generation * RECORD) as u64;
        let Some(log) = self.log.as_mut().filter(|_| !bytes.is_empty()) else {
            return;
        };
        if let Err(error) = log.append(&bytes, is_turned, limit) {
            tracing::debug!(file = %log.path.display(), %error, "facts are not kept");
        }
    }

    /// Takes a fact into the young generation; whether that made another one begin.
    fn learn(&mut self, key: FactKey, value: u64) -> bool {
        let is_full = self.young.len() >= self.generation && !self.young.contains_key(&key);
        if is_full {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key, value);
        is_full
    }
}

impl Log {
    /// Appends records in one write, which is whole among those of other processes. Before that,
    /// another file is begun where `is_turned` or there is no room up to `limit` bytes, or somebody
    /// else has begun one.
    fn append(&mut self, records: &[u8], is_turned: bool, limit: u64) -> io::Result<()> {
        let size = self.file.metadata()?;
        let is_current = match fs::metadata(&self.path) {
            Ok(named) => (named.dev(), named.ino()) == (size.dev(), size.ino()),
            Err(_) => false,
        };
        if !is_current {
            self.file = append_to(&self.path)?;
        } else if is_turned || size.len() + records.len() as u64 > limit {
            self.turn()?;
        }
        match self.file.write(records)? {
            written if written == records.len() => Ok(()),
            written => Err(io::Error::other(format!(
                "only {written} of {} bytes were written",
                records.len()
            ))),
        }
    }

    /// Makes the file that of the old generation, unless another process does, and begins another.
    fn turn(&mut self) -> io::Result<()> {
        // Of those who hold this very file open, one renames it. Where locks do not work, a second
        // rename forgets a generation, which is allowed.
        if let Err(TryLockError::WouldBlock) = self.file.try_lock() {
            return Ok(());
        }
        let own = self.file.metadata()?;
        if fs::metadata(&self.path).is_ok_and(|named| named.ino() == own.ino()) {
            fs::rename(&self.path, &self.old)?;
        }
        self.file = append_to(&self.path)?;
        Ok(())
    }
}

fn append_to(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.append(true).create(true).mode(0o600).open(path)
}

/// The last `limit` bytes of a file.
fn read_tail(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let size = file.metadata()?.len();
    file.seek(SeekFrom::Start(size.saturating_sub(limit)))?;
    let mut bytes = Vec::new();
    file.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn record(key: &FactKey, value: u64) -> [u8; RECORD] {
    let mut bytes = [0; RECORD];
    bytes[..4].copy_from_slice(&MARK);
    bytes[4..20].copy_from_slice(key);
    bytes[20..28].copy_from_slice(&value.to_le_bytes());
    let checksum = crc32fast::hash(&bytes[..28]);
    bytes[28..].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

/// The fact of a record, if it is one.
fn parse(bytes: &[u8; RECORD]) -> Option<(FactKey, u64)> {
    let (body, checksum) = bytes.split_last_chunk::<4>()?;
    let (mark, body) = body.split_first_chunk::<4>()?;
    let (key, value) = body.split_first_chunk::<16>()?;
    let value = u64::from_le_bytes(value.try_into().ok()?);
    let is_whole = *mark == MARK && u32::from_le_bytes(*checksum) == crc32fast::hash(&bytes[..28]);
    is_whole.then_some((*key, value))
}

/// The whole records among `bytes`, in their order.
fn records(bytes: &[u8]) -> impl Iterator<Item = (FactKey, u64)> {
    let finder = memmem::Finder::new(&MARK).into_owned();
    let mut rest = bytes;
    std::iter::from_fn(move || {
        loop {
            rest = &rest[finder.find(rest)?..];
            let fact = parse(rest.first_chunk()?);
            rest = &rest[if fact.is_some() { RECORD } else { 1 }..];
            if fact.is_some() {
                return fact;
            }
        }
    })
}

#[cfg(test)]
mod tests;
