//! Writing an entry, wherever there is room for it.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::PathBuf;

use rustix::fs::MemfdFlags;

use super::EntryKey;
use super::directory::{Directory, Temporary};
use super::entry::{CacheFile, TRAILER_LEN, trailer};
use crate::base::clock;

/// The longest entry that is held in memory when no disk takes it, bytes.
const MEMORY_LIMIT: u64 = 256 << 20;

/// An entry that is being written. When its place refuses a write, it moves to the next one with
/// all that was written so far, so whoever writes does not notice.
#[derive(Debug)]
pub(super) struct Spool<'a> {
    place: Place<'a>,
    file: File,
    length: u64,
    checksum: crc32fast::Hasher,
    /// Why it is not in the cache directory.
    problem: Option<io::Error>,
    /// Whether a write failed in the end: what was written is not all that was meant to be.
    is_torn: bool,
}

/// Where an entry is written, from the best to the last resort.
#[derive(Debug)]
enum Place<'a> {
    /// In the cache directory, to get its name there.
    Directory(Temporary<'a>),
    /// A file without a name in the temporary directory.
    Nameless,
    /// Memory.
    Memory,
}

/// An entry that was written.
#[derive(Debug)]
pub(super) struct Finished {
    /// The entry, open.
    pub(super) file: CacheFile,
    /// Why it was not kept, where the cache directory refused it.
    pub(super) problem: Option<io::Error>,
}

impl<'a> Spool<'a> {
    /// Begins an entry in `directory`, or in a file without a name where that is `None` or refuses.
    pub(super) fn begin(directory: Option<&'a Directory>) -> io::Result<Spool<'a>> {
        let (place, file, problem) = match directory.map(Directory::temporary) {
            Some(Ok((temporary, file))) => (Place::Directory(temporary), file, None),
            refused => {
                let (place, file) = match nameless() {
                    Ok(file) => (Place::Nameless, file),
                    Err(_) => (Place::Memory, memory()?),
                };
                (place, file, refused.and_then(Result::err))
            }
        };
        Ok(Spool {
            place,
            file,
            length: 0,
            checksum: crc32fast::Hasher::new(),
            problem,
            is_torn: false,
        })
    }

    /// Makes the entry durable and gives it its name, where it is in the cache directory and fits.
    /// An error after a write that failed, also where whoever wrote did not care.
    pub(super) fn finish(mut self, key: &EntryKey) -> io::Result<Finished> {
        if self.is_torn {
            return Err(io::Error::other("a write to it failed before"));
        }
        let mut path = "a cache entry without a name".to_owned();
        if let Err(problem) = self.seal(key) {
            // After a failed sync the bytes may be there or not: moving them compares checksums.
            self.move_on(problem)?;
        } else if let Place::Directory(temporary) = &mut self.place {
            match temporary.publish(key, self.length + TRAILER_LEN as u64) {
                Ok(Some(published)) => path = published.display().to_string(),
                Ok(None) => {}
                // What was written is whole and open; only its name is missing.
                Err(problem) => self.problem = Some(problem),
            }
        }
        // The lock tells who removes leftovers that somebody still writes; that is over.
        let _ = self.file.unlock();
        Ok(Finished {
            file: CacheFile::new(self.file, path, self.length, clock::now_ms()),
            problem: self.problem,
        })
    }

    /// Writes the trailer and syncs, where the entry may get a name.
    fn seal(&mut self, key: &EntryKey) -> io::Result<()> {
        if !matches!(&self.place, Place::Directory(_)) {
            return Ok(());
        }
        let trailer = trailer(key, self.length, self.checksum.clone().finalize());
        self.file.write_all_at(&trailer, self.length)?;
        self.file.sync_data()
    }

    /// Moves to the next place, because `refused` came of the present one; gives `refused` back
    /// when there is none.
    fn move_on(&mut self, mut refused: io::Error) -> io::Result<()> {
        loop {
            let from_directory = matches!(self.place, Place::Directory(_));
            let next = match self.place {
                Place::Directory(_) => nameless().map(|file| (Place::Nameless, file)),
                Place::Nameless => memory().map(|file| (Place::Memory, file)),
                Place::Memory => {
                    self.is_torn = true;
                    return Err(refused);
                }
            };
            let copied = next.and_then(|(place, file)| {
                self.copy_to(&file, matches!(place, Place::Memory))?;
                Ok((place, file))
            });
            match copied {
                Ok((place, file)) => {
                    if from_directory {
                        self.problem = Some(refused);
                    }
                    (self.place, self.file) = (place, file);
                    return Ok(());
                }
                Err(error) if from_directory => {
                    // On to memory, from the file as it is.
                    self.problem = Some(refused);
                    self.place = Place::Nameless;
                    refused = error;
                }
                Err(_) => {
                    self.is_torn = true;
                    return Err(refused);
                }
            }
        }
    }

    /// Copies what was written to the beginning of `file`, which it leaves at their end, and
    /// compares it with its checksum.
    fn copy_to(&self, mut file: &File, to_memory: bool) -> io::Result<()> {
        if to_memory && self.length > MEMORY_LIMIT {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let mut buffer = vec![0; 1 << 20];
        let mut checksum = crc32fast::Hasher::new();
        let mut offset = 0;
        while offset < self.length {
            let left = usize::try_from(self.length - offset).unwrap_or(usize::MAX);
            let part = buffer.len().min(left);
            let part = &mut buffer[..part];
            self.file.read_exact_at(part, offset)?;
            checksum.update(part);
            file.write_all(part)?;
            offset += part.len() as u64;
        }
        if checksum.finalize() != self.checksum.clone().finalize() {
            return Err(io::Error::other(
                "the bytes of a cache entry were lost when its disk failed; try again",
            ));
        }
        Ok(())
    }
}

impl Write for Spool<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            let fits = self.length + bytes.len() as u64 <= MEMORY_LIMIT;
            let written = match self.place {
                Place::Memory if !fits => Err(io::ErrorKind::StorageFull.into()),
                _ => self.file.write(bytes),
            };
            match written {
                Ok(0) if !bytes.is_empty() => self.move_on(io::ErrorKind::WriteZero.into())?,
                Ok(count) => {
                    self.checksum.update(&bytes[..count]);
                    self.length += count as u64;
                    return Ok(count);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => self.move_on(error)?,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A file without a name in the temporary directory.
#[allow(clippy::disallowed_methods)]
fn nameless() -> io::Result<File> {
    let directory: PathBuf = std::env::temp_dir();
    let mut options = File::options();
    options.read(true).write(true).mode(0o600);
    let opened = options
        .clone()
        .custom_flags(libc::O_TMPFILE)
        .open(&directory);
    opened.or_else(|_| {
        // A file system that knows no files without a name.
        let path = directory.join(format!("deltafs-{}", uuid::Uuid::new_v4()));
        let file = options.create_new(true).open(&path)?;
        std::fs::remove_file(&path)?;
        Ok(file)
    })
}

fn memory() -> io::Result<File> {
    let file = rustix::fs::memfd_create("deltafs-cache", MemfdFlags::CLOEXEC)?;
    Ok(File::from(file))
}

#[cfg(test)]
mod tests;
