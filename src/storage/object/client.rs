//! The requests behind an object store's calls.

use std::error::Error as StdError;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use object_store::list::{PaginatedListOptions, PaginatedListStore};
use object_store::path::{DELIMITER, Path};
use object_store::{
    Error, GetOptions, GetRange, ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload,
};

use super::super::location::is_plain;
use super::super::{ObjectMeta, PutOutcome, StorageError};
use super::reader::RemoteReader;

/// How often a put-if-absent is tried that the store refuses although nothing is there: S3 answers
/// so while another conditional put of the same key is under way, and that one may yet fail.
const CREATE_ATTEMPTS: u32 = 4;

/// The wait before the second of those attempts; it doubles each time.
const CREATE_BACKOFF: Duration = Duration::from_millis(50);

/// A store and the prefix of the keys in it.
pub(super) struct Client {
    /// As shown, without a trailing slash.
    root: String,
    /// Without slashes at its ends; `""` for the whole store.
    prefix: String,
    store: Arc<dyn ObjectStore>,
    pages: Option<Arc<dyn PaginatedListStore>>,
}

impl fmt::Debug for Client {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Client")
            .field("root", &self.root)
            .field("prefix", &self.prefix)
            .finish_non_exhaustive()
    }
}

impl Client {
    pub(super) fn new(
        root: &str,
        prefix: &Path,
        store: Arc<dyn ObjectStore>,
        pages: Option<Arc<dyn PaginatedListStore>>,
    ) -> Client {
        Client {
            root: root.to_owned(),
            prefix: prefix.as_ref().to_owned(),
            store,
            pages,
        }
    }

    pub(super) fn root(&self) -> &str {
        &self.root
    }

    /// The objects directly in `dir` with names greater than `after`, sorted by name.
    pub(super) async fn list(
        &self,
        dir: &str,
        after: Option<&str>,
    ) -> Result<Vec<ObjectMeta>, StorageError> {
        let parent = match dir {
            "" => {
                Path::parse(&self.prefix).map_err(|error| self.error("list", dir, error.into()))?
            }
            _ => self.key(dir)?,
        };
        let listed = match &self.pages {
            Some(pages) => list_pages(pages.as_ref(), &parent, after).await,
            None => self
                .store
                .list_with_delimiter(Some(&parent))
                .await
                .map(|listed| listed.objects),
        };
        let listed = listed.map_err(|error| self.error("list", dir, error))?;
        let mut objects: Vec<ObjectMeta> = listed
            .iter()
            .filter_map(|object| {
                // Some tools put an empty object whose key is that of the directory itself.
                let name = child_name(&parent, &object.location)?;
                if after.is_some_and(|after| name <= after) {
                    return None;
                }
                let path = match dir {
                    "" => name.to_owned(),
                    _ => format!("{dir}/{name}"),
                };
                Some(to_meta(path, object))
            })
            .collect();
        // Stores promise no order.
        objects.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        Ok(objects)
    }

    pub(super) async fn head(&self, path: &str) -> Result<ObjectMeta, StorageError> {
        let meta = self.head_raw(path).await?;
        Ok(to_meta(path.to_owned(), &meta))
    }

    pub(super) async fn get(&self, path: &str) -> Result<Bytes, StorageError> {
        let key = self.key(path)?;
        self.fetch(&key, GetOptions::default())
            .await
            .map_err(|error| self.error("read", path, error))
    }

    pub(super) async fn get_range(
        &self,
        path: &str,
        range: Range<u64>,
    ) -> Result<Bytes, StorageError> {
        let key = self.key(path)?;
        if range.is_empty() {
            return self.head_raw(path).await.map(|_| Bytes::new());
        }
        let wanted = match i64::try_from(range.end) {
            Ok(_) => GetRange::Bounded(range.clone()),
            // Past any object's end; servers may count in i64.
            Err(_) => GetRange::Offset(range.start),
        };
        let options = GetOptions {
            range: Some(wanted),
            ..GetOptions::default()
        };
        match self.fetch(&key, options).await {
            Ok(bytes) => Ok(bytes),
            // A range that begins at the end or past it is refused by each store in its own way.
            Err(error @ Error::Generic { .. }) => {
                match range.start < self.head_raw(path).await?.size {
                    true => Err(self.error("read", path, error)),
                    false => Ok(Bytes::new()),
                }
            }
            Err(error) => Err(self.error("read", path, error)),
        }
    }

    pub(super) async fn open(&self, path: &str) -> Result<RemoteReader, StorageError> {
        let meta = self.head_raw(path).await?;
        Ok(RemoteReader::new(
            self.store.clone(),
            self.location(path),
            to_meta(path.to_owned(), &meta),
            meta,
        ))
    }

    pub(super) async fn put(&self, path: &str, content: Bytes) -> Result<(), StorageError> {
        let key = self.key(path)?;
        let put = self.store.put(&key, PutPayload::from(content)).await;
        put.map_err(|error| self.error("write", path, error))?;
        Ok(())
    }

    pub(super) async fn put_if_absent(
        &self,
        path: &str,
        content: Bytes,
    ) -> Result<PutOutcome, StorageError> {
        let key = self.key(path)?;
        let mut attempt = 1;
        loop {
            let payload = PutPayload::from(content.clone());
            let options = PutOptions::from(PutMode::Create);
            let refusal = match self.store.put_opts(&key, payload, options).await {
                Ok(_) => return Ok(PutOutcome::Created),
                Err(error @ (Error::AlreadyExists { .. } | Error::Precondition { .. })) => error,
                Err(error) => return Err(self.error("create", path, error)),
            };
            match self.store.head(&key).await {
                Ok(_) => return Ok(PutOutcome::AlreadyExists),
                Err(Error::NotFound { .. }) if attempt < CREATE_ATTEMPTS => {
                    tokio::time::sleep(CREATE_BACKOFF * 2u32.pow(attempt - 1)).await;
                    attempt += 1;
                }
                Err(Error::NotFound { .. }) => return Err(self.error("create", path, refusal)),
                // Who may write but not read is told of the object by the refusal alone.
                Err(Error::PermissionDenied { .. } | Error::Unauthenticated { .. }) => {
                    return Ok(PutOutcome::AlreadyExists);
                }
                Err(error) => return Err(self.error("create", path, error)),
            }
        }
    }

    pub(super) async fn delete(&self, path: &str) -> Result<(), StorageError> {
        let key = self.key(path)?;
        // Most stores delete what is not there without a word.
        self.head_raw(path).await?;
        let deleted = self.store.delete(&key).await;
        deleted.map_err(|error| self.error("delete", path, error))
    }

    async fn head_raw(&self, path: &str) -> Result<object_store::ObjectMeta, StorageError> {
        let key = self.key(path)?;
        let meta = self.store.head(&key).await;
        meta.map_err(|error| self.error("stat", path, error))
    }

    async fn fetch(&self, key: &Path, options: GetOptions) -> object_store::Result<Bytes> {
        self.store.get_opts(key, options).await?.bytes().await
    }

    /// The full URL of an object, for messages.
    fn location(&self, path: &str) -> String {
        match path {
            "" => self.root.clone(),
            _ => format!("{}/{path}", self.root.trim_end_matches('/')),
        }
    }

    /// The key of an object: the prefix and the path, character for character. `Path::parse` keeps
    /// the text, where `Path::from` would percent-encode `%`, `#`, `[`, `~` and others once more.
    fn key(&self, path: &str) -> Result<Path, StorageError> {
        if !is_plain(path) {
            return Err(StorageError::Outside {
                location: self.location(path),
                root: self.root.clone(),
            });
        }
        let key = match self.prefix.as_str() {
            "" => Path::parse(path),
            prefix => Path::parse(format!("{prefix}{DELIMITER}{path}")),
        };
        key.map_err(|error| StorageError::Unsupported {
            location: self.location(path),
            operation: "addressing an object by this name",
            reason: format!("{error}; rename it in the table"),
        })
    }

    /// A failure that the store had no word in.
    pub(super) fn failure(
        &self,
        operation: &'static str,
        path: &str,
        source: Box<dyn StdError + Send + Sync>,
    ) -> StorageError {
        StorageError::Remote {
            operation,
            location: self.location(path),
            source,
        }
    }

    fn error(&self, operation: &'static str, path: &str, error: Error) -> StorageError {
        error_of(operation, self.location(path), error)
    }
}

/// The error floor's word for what a store said.
pub(super) fn error_of(operation: &'static str, location: String, error: Error) -> StorageError {
    match error {
        Error::NotFound { .. } => StorageError::NotFound { location },
        Error::PermissionDenied { source, .. } | Error::Unauthenticated { source, .. } => {
            StorageError::PermissionDenied { location, source }
        }
        Error::NotImplemented { .. } | Error::NotSupported { .. } => StorageError::Unsupported {
            location,
            operation,
            reason: error.to_string(),
        },
        other => StorageError::Remote {
            operation,
            location,
            source: Box::new(other),
        },
    }
}

fn to_meta(path: String, meta: &object_store::ObjectMeta) -> ObjectMeta {
    ObjectMeta {
        path,
        size: meta.size,
        modified: meta.last_modified.timestamp_millis(),
    }
}

/// The name of `key` in the directory `parent`, if it stands directly in it.
fn child_name<'a>(parent: &Path, key: &'a Path) -> Option<&'a str> {
    let rest = key.as_ref().strip_prefix(parent.as_ref())?;
    let name = match parent.as_ref() {
        "" => rest,
        _ => rest.strip_prefix(DELIMITER)?,
    };
    (!name.is_empty() && !name.contains(DELIMITER)).then_some(name)
}

/// Lists the objects directly below `parent`, the store leaving out those up to `after` and what
/// lies deeper: reading the newest commits does not page through the older ones or the sidecars.
async fn list_pages(
    pages: &dyn PaginatedListStore,
    parent: &Path,
    after: Option<&str>,
) -> object_store::Result<Vec<object_store::ObjectMeta>> {
    let prefix = match parent.as_ref() {
        "" => String::new(),
        parent => format!("{parent}{DELIMITER}"),
    };
    let offset = after.map(|after| format!("{prefix}{after}"));
    let mut objects = Vec::new();
    let mut page_token = None;
    loop {
        let options = PaginatedListOptions {
            offset: offset.clone(),
            delimiter: Some(DELIMITER.into()),
            page_token,
            ..PaginatedListOptions::default()
        };
        let listed = (!prefix.is_empty()).then_some(prefix.as_str());
        let page = pages.list_paginated(listed, options).await?;
        objects.extend(page.result.objects);
        page_token = page.page_token;
        if page_token.is_none() {
            return Ok(objects);
        }
    }
}
