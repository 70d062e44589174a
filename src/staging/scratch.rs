//! Where data files are made that are not the staged ones, and where those are.

use std::fs::File;
use std::sync::Arc;

use crate::intake;
use crate::storage::{SpoolDirectory, SpoolFile, StorageError, WalkedEntry};

/// The scratch directory of a transaction.
#[derive(Debug)]
pub(super) struct Scratch<'a>(pub &'a SpoolDirectory);

impl intake::Scratch for Scratch<'_> {
    fn create(&self) -> Result<Box<dyn intake::ScratchFile>, StorageError> {
        Ok(Box::new(self.0.create_scratch()?))
    }
}

impl intake::ScratchFile for SpoolFile {
    fn open(&self) -> Result<Arc<File>, StorageError> {
        SpoolFile::open(self)
    }

    fn close(&mut self) -> Result<(), StorageError> {
        SpoolFile::close(self)
    }

    fn name(&self) -> &str {
        self.shown()
    }
}

/// A staged file by its name.
#[derive(Debug)]
pub(super) struct Named {
    pub(super) directory: Arc<SpoolDirectory>,
    pub(super) entry: WalkedEntry,
}

impl intake::StagedBytes for Named {
    fn open(&self) -> Result<Arc<File>, StorageError> {
        let found = self.directory.open_file(&self.entry.path)?;
        match self.entry.is_same(&found) {
            Ok(true) => Ok(Arc::new(found)),
            is_same => Err(StorageError::Io {
                operation: "open",
                location: self.entry.path.clone(),
                source: is_same.err().unwrap_or_else(|| {
                    std::io::Error::other("another file has its name since the commit began")
                }),
            }),
        }
    }
}

/// A copy of one, which nobody else knows.
impl intake::StagedBytes for SpoolFile {
    fn open(&self) -> Result<Arc<File>, StorageError> {
        SpoolFile::open(self)
    }
}
