//! Random reads of one object.

use std::fmt;
use std::fs::File;
use std::sync::Arc;

use bytes::Bytes;
use object_store::{GetOptions, GetRange, ObjectStore};

use super::super::{ObjectMeta, ObjectReader, StorageError};
use super::client::error_of;
use super::runtime;

/// An object, read by ranged requests that demand the content it had when it was opened.
pub(super) struct RemoteReader {
    store: Arc<dyn ObjectStore>,
    /// The full URL, for messages.
    location: String,
    meta: ObjectMeta,
    seen: object_store::ObjectMeta,
}

impl fmt::Debug for RemoteReader {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("RemoteReader")
            .field("location", &self.location)
            .field("meta", &self.meta)
            .finish_non_exhaustive()
    }
}

impl RemoteReader {
    pub(super) fn new(
        store: Arc<dyn ObjectStore>,
        location: String,
        meta: ObjectMeta,
        seen: object_store::ObjectMeta,
    ) -> RemoteReader {
        RemoteReader {
            store,
            location,
            meta,
            seen,
        }
    }

    /// A request for part of the object that fails if the object is another by now.
    fn options(&self, range: GetRange) -> GetOptions {
        let options = GetOptions {
            range: Some(range),
            ..GetOptions::default()
        };
        match &self.seen.e_tag {
            // A weak tag never matches (RFC 9110, section 8.8.3.2).
            Some(tag) if !tag.starts_with("W/") => GetOptions {
                if_match: Some(tag.clone()),
                ..options
            },
            _ => GetOptions {
                if_unmodified_since: Some(self.seen.last_modified),
                ..options
            },
        }
    }

    fn fetch(&self, range: GetRange) -> Result<Bytes, StorageError> {
        let store = self.store.clone();
        let key = self.seen.location.clone();
        let options = self.options(range);
        match runtime::wait(async move { store.get_opts(&key, options).await?.bytes().await }) {
            Ok(Ok(bytes)) => Ok(bytes),
            Ok(Err(error)) => Err(error_of("read", self.location.clone(), error)),
            Err(source) => Err(StorageError::Remote {
                operation: "read",
                location: self.location.clone(),
                source: source.into(),
            }),
        }
    }
}

impl ObjectReader for RemoteReader {
    fn meta(&self) -> &ObjectMeta {
        &self.meta
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, StorageError> {
        let end = offset
            .saturating_add(buffer.len() as u64)
            .min(self.meta.size);
        if offset >= end {
            return Ok(0);
        }
        let bytes = self.fetch(GetRange::Bounded(offset..end))?;
        if bytes.len() as u64 != end - offset {
            return Err(StorageError::Remote {
                operation: "read",
                location: self.location.clone(),
                source: format!(
                    "the store sent {} bytes of {offset}..{end}; try again",
                    bytes.len()
                )
                .into(),
            });
        }
        buffer[..bytes.len()].copy_from_slice(&bytes);
        Ok(bytes.len())
    }

    fn as_file(&self) -> Option<&Arc<File>> {
        None
    }
}
