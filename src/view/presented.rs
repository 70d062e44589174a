//! An open file, as it is presented.

use std::fs::File;
use std::sync::{Arc, OnceLock};

use super::Class;
use super::composed::Composition;
use super::error::ViewError;
use super::rewritten::Rewrite;
use crate::storage::ObjectReader;
use crate::storage::posix::Seek;

/// How a presented file comes from its data file.
#[derive(Clone)]
pub(super) enum Content {
    /// It is the data file.
    Original,
    /// It is put together from the data file and what is in memory.
    Composed(Arc<Composition>),
    /// Some of it is encoded anew when first read.
    Rewritten(Arc<Rewrite>),
}

impl Content {
    /// What kind of work makes it.
    pub(super) fn class(&self) -> Class {
        match self {
            Content::Original => Class::Identity,
            Content::Composed(_) => Class::Composed,
            Content::Rewritten(_) => Class::Rewritten,
        }
    }

    /// The memory it takes, in bytes.
    pub(super) fn held(&self) -> u64 {
        match self {
            Content::Original => 0,
            Content::Composed(composition) => composition.held(),
            Content::Rewritten(rewrite) => rewrite.held(),
        }
    }
}

/// A presented file, open.
pub struct PresentedFile {
    original: Box<dyn ObjectReader>,
    content: Content,
    /// What was made, where it is rewritten and was read.
    rewritten: OnceLock<Arc<Composition>>,
}

impl std::fmt::Debug for PresentedFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PresentedFile")
            .field("original", &self.original)
            .field("class", &self.content.class())
            .finish()
    }
}

impl PresentedFile {
    /// `content` presented from an open data file.
    pub(super) fn new(original: Box<dyn ObjectReader>, content: Content) -> PresentedFile {
        PresentedFile {
            original,
            content,
            rewritten: OnceLock::new(),
        }
    }

    /// What kind of work makes it.
    pub(super) fn class(&self) -> Class {
        self.content.class()
    }

    /// Its size in bytes.
    pub fn size(&self) -> u64 {
        match &self.content {
            Content::Original => self.original.meta().size,
            Content::Composed(composition) => composition.size(),
            Content::Rewritten(rewrite) => rewrite.size(),
        }
    }

    /// Fills `buffer` from `offset` on and returns how many bytes there were: fewer than
    /// `buffer.len()` only at the end.
    pub fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, ViewError> {
        match &self.content {
            Content::Original => Ok(self.original.read_at(buffer, offset)?),
            Content::Composed(composition) => {
                Ok(composition.read_at(&*self.original, buffer, offset)?)
            }
            Content::Rewritten(rewrite) => {
                rewrite.read_at(&*self.original, &self.rewritten, buffer, offset)
            }
        }
    }

    /// Where the next data or hole at or behind `offset` begins; `None` when there is none. The end
    /// counts as a hole. What is rewritten is made for that.
    pub fn seek(&self, what: Seek, offset: u64) -> Result<Option<u64>, ViewError> {
        let composition = match &self.content {
            Content::Original => {
                let size = self.size();
                return Ok((offset < size).then_some(match what {
                    Seek::Data => offset,
                    Seek::Hole => size,
                }));
            }
            Content::Composed(composition) => composition,
            Content::Rewritten(rewrite) => rewrite.made(&*self.original, &self.rewritten)?,
        };
        Ok(composition.seek(what, offset))
    }

    /// Whether a read of these bytes has to make them first, which may take seconds.
    pub fn takes_long(&self, offset: u64, size: u64) -> bool {
        match &self.content {
            Content::Original | Content::Composed(_) => false,
            Content::Rewritten(rewrite) => {
                self.rewritten.get().is_none() && rewrite.is_to_be_made(offset, size)
            }
        }
    }

    /// The data file.
    pub(super) fn original(&self) -> &dyn ObjectReader {
        &*self.original
    }

    /// How it is put together, where that takes no work any more.
    pub(super) fn composition(&self) -> Option<Arc<Composition>> {
        match &self.content {
            Content::Original => None,
            Content::Composed(composition) => Some(composition.clone()),
            Content::Rewritten(rewrite) => rewrite.kept(),
        }
    }

    /// The local file whose bytes, all of them, are this one's.
    pub fn as_file(&self) -> Option<&Arc<File>> {
        match self.content {
            Content::Original => self.original.as_file(),
            Content::Composed(_) | Content::Rewritten(_) => None,
        }
    }
}
