//! Where data files are made that are not the staged ones.

use std::fs::File;

use crate::intake;
use crate::storage::{SpoolDirectory, SpoolFile, StorageError};

/// The scratch directory of a transaction.
#[derive(Debug)]
pub(super) struct Scratch<'a>(pub &'a SpoolDirectory);

impl intake::Scratch for Scratch<'_> {
    fn create(&self) -> Result<Box<dyn intake::ScratchFile>, StorageError> {
        Ok(Box::new(self.0.create_scratch()?))
    }
}

impl intake::ScratchFile for SpoolFile {
    fn file(&self) -> &File {
        SpoolFile::file(self)
    }

    fn name(&self) -> &str {
        self.shown()
    }
}
