//! A staged file, opened: its footer, read twice with care.
//!
//! Our own [`Footer`] bounds what a footer may claim; only then is it handed to the `parquet`
//! crate, which believes it.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use ::parquet::errors::ParquetError as DecodeError;
use ::parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader};
use ::parquet::file::reader::{ChunkReader, Length};
use bytes::Bytes;

use super::{IntakeError, StagedFile};
use crate::base::panics::caught;
use crate::parquet::{Footer, check_values};
use crate::storage::{ObjectMeta, ObjectReader, StorageError};

/// A file that is read in both ways: by our own footer, and by the `parquet` crate.
#[derive(Debug)]
pub(super) struct Opened {
    /// Its name, for messages.
    pub(super) name: String,
    pub(super) source: Source,
    pub(super) footer: Footer,
    pub(super) metadata: Arc<ParquetMetaData>,
}

impl Opened {
    /// Opens a staged file. [`IntakeError::Footer`] where it is no Parquet file.
    pub(super) fn open(staged: &StagedFile) -> Result<Opened, IntakeError> {
        Opened::of(&staged.name, &staged.bytes.open()?, staged.size)
    }

    /// Opens any file, which messages call `name`.
    pub(super) fn of(name: &str, file: &Arc<File>, size: u64) -> Result<Opened, IntakeError> {
        let source = Source {
            meta: Arc::new(ObjectMeta {
                path: name.to_owned(),
                size,
                modified: 0,
            }),
            file: file.clone(),
            fault: Arc::default(),
        };
        let unreadable = |source| IntakeError::Footer {
            file: name.to_owned(),
            source,
        };
        let footer = Footer::read(&source).map_err(unreadable)?;
        // Column chunks are found to lie in the file.
        footer.row_groups_meta().map_err(unreadable)?;
        let metadata = caught(|| {
            let mut reader = ParquetMetaDataReader::new();
            reader
                .try_parse(&source)
                .and_then(|()| reader.finish())
                .map_err(|error| error.to_string())
        });
        let metadata = metadata.map_err(|problem| source.damaged(problem))?;
        Ok(Opened {
            name: name.to_owned(),
            source,
            footer,
            metadata: Arc::new(metadata),
        })
    }

    /// Refuses several files that were put one behind the other, as `cat` does. Only the last one's
    /// footer counts, by which the pages of the first one are read: where these are alike, nothing
    /// else tells that rows are missing.
    pub(super) fn check_single(&self) -> Result<(), IntakeError> {
        const BETWEEN: &[u8] = b"PAR1PAR1";
        let chunks = self.metadata.row_groups().iter();
        let ends = chunks.flat_map(|group| group.columns()).flat_map(|chunk| {
            let (start, length) = chunk.byte_range();
            let end = |at: Option<i64>, length: Option<i32>| {
                let length = u64::try_from(length?).ok()?;
                u64::try_from(at?).ok()?.checked_add(length)
            };
            [
                start.checked_add(length),
                end(chunk.column_index_offset(), chunk.column_index_length()),
                end(chunk.offset_index_offset(), chunk.offset_index_length()),
                end(chunk.bloom_filter_offset(), chunk.bloom_filter_length()),
            ]
        });
        // How long the last file is, up to its footer; so it begins that far in front of it.
        let Some(end) = ends.flatten().max() else {
            return Ok(());
        };
        let begin = self.footer.data_end().checked_sub(end);
        let magic = begin.and_then(|begin| begin.checked_sub(4));
        let Some(magic) = magic.filter(|magic| *magic > 0) else {
            return Ok(());
        };
        let found = self.source.get_bytes(magic, BETWEEN.len());
        match found.is_ok_and(|found| found == BETWEEN) {
            false => Ok(()),
            true => Err(self.damaged(format!(
                "it is several Parquet files, one behind the other, and the last one begins at {}: \
                 each has to be a file of its own",
                magic + 4
            ))),
        }
    }

    /// Looks whether all column chunks have their pages, by the headers of these. A file that was
    /// shifted, or has a hole, has an end that is well and says nothing of it.
    pub(super) fn check_pages(&self) -> Result<(), IntakeError> {
        let groups = self.footer.row_groups_meta();
        let groups = groups.map_err(|source| IntakeError::Footer {
            file: self.name.clone(),
            source,
        })?;
        for (group, meta) in groups.iter().enumerate() {
            for (leaf, chunk) in meta.chunks.iter().enumerate() {
                let read = |at: u64, length| {
                    // Chunks were found to lie in the file.
                    let bytes = self.source.get_bytes(chunk.start + at, length);
                    bytes.map_err(|error| error.to_string())
                };
                check_values(chunk.length, chunk.num_values, read).map_err(|problem| {
                    let described = self.metadata.row_groups().get(group);
                    let column = described.and_then(|group| group.columns().get(leaf));
                    let column = column.map_or_else(String::new, |c| c.column_path().string());
                    self.damaged(format!("column {column} of row group {group}: {problem}"))
                })?;
            }
        }
        Ok(())
    }

    /// That the pages of the file are damaged, or cannot be had.
    pub(super) fn damaged(&self, problem: String) -> IntakeError {
        self.source.damaged(problem)
    }
}

/// The codec of the first column chunk of a file.
pub(super) fn codec_of(metadata: &ParquetMetaData) -> Compression {
    let first = metadata.row_groups().first();
    first
        .and_then(|group| group.columns().first())
        .map_or(Compression::UNCOMPRESSED, |chunk| chunk.compression())
}

pub(super) use ::parquet::basic::Compression;

/// A codec as Delta on Spark puts it into file names.
pub(super) fn codec_name(codec: Compression) -> Option<&'static str> {
    match codec {
        Compression::UNCOMPRESSED => None,
        Compression::SNAPPY => Some("snappy"),
        Compression::GZIP(_) => Some("gz"),
        Compression::LZO => Some("lzo"),
        Compression::BROTLI(_) => Some("br"),
        Compression::LZ4 => Some("lz4hadoop"),
        Compression::ZSTD(_) => Some("zstd"),
        Compression::LZ4_RAW => Some("lz4raw"),
    }
}

/// The bytes of a local file. Reading moves no cursor, so that several may read at once.
#[derive(Debug, Clone)]
pub(super) struct Source {
    meta: Arc<ObjectMeta>,
    file: Arc<File>,
    /// The errno of the last read that failed, 0 for none: decoders make text of it.
    fault: Arc<AtomicI32>,
}

impl Source {
    /// What a decoder's failure comes of: a damaged file, unless reading it failed.
    fn damaged(&self, problem: String) -> IntakeError {
        match self.fault.load(Ordering::Relaxed) {
            0 => IntakeError::Damaged {
                file: self.meta.path.clone(),
                problem,
            },
            errno => IntakeError::Storage(StorageError::Io {
                operation: "read",
                location: self.meta.path.clone(),
                source: io::Error::from_raw_os_error(errno),
            }),
        }
    }
}

impl ObjectReader for Source {
    fn meta(&self) -> &ObjectMeta {
        &self.meta
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, StorageError> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self
                .file
                .read_at(&mut buffer[filled..], offset + filled as u64)
            {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => {
                    let errno = source.raw_os_error().unwrap_or_default();
                    self.fault.store(errno, Ordering::Relaxed);
                    return Err(StorageError::Io {
                        operation: "read",
                        location: self.meta.path.clone(),
                        source,
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

impl Length for Source {
    fn len(&self) -> u64 {
        self.meta.size
    }
}

impl ChunkReader for Source {
    type T = BufReader<Cursor>;

    fn get_read(&self, start: u64) -> Result<Self::T, DecodeError> {
        let cursor = Cursor {
            source: self.clone(),
            position: start,
        };
        // Page headers are read through this; their pages follow by `get_bytes`.
        Ok(BufReader::with_capacity(512, cursor))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, DecodeError> {
        let end = start.checked_add(length as u64);
        if end.is_none_or(|end| end > self.meta.size) {
            return Err(DecodeError::EOF(format!(
                "{length} bytes at {start} of a file of {} bytes",
                self.meta.size
            )));
        }
        let mut buffer = vec![0; length];
        let read = self
            .read_at(&mut buffer, start)
            .map_err(|error| DecodeError::External(Box::new(error)))?;
        if read < length {
            return Err(DecodeError::EOF(format!(
                "the file ends at {}",
                start + read as u64
            )));
        }
        Ok(buffer.into())
    }
}

/// Reads from a place on.
#[derive(Debug)]
pub(super) struct Cursor {
    source: Source,
    position: u64,
}

impl Read for Cursor {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self
            .source
            .read_at(buffer, self.position)
            .map_err(io::Error::other)?;
        self.position += read as u64;
        Ok(read)
    }
}
