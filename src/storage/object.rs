//! An object store as a [`Store`].

mod client;
mod reader;
mod runtime;

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures::StreamExt;
use object_store::ObjectStore;
use object_store::list::PaginatedListStore;
use object_store::path::Path;

use super::{Capacity, ObjectMeta, ObjectReader, PutOutcome, StorageError, Store};
use client::Client;

/// How many requests of one call are under way at the same time.
const PARALLEL_REQUESTS: usize = 16;

/// The objects of a store whose keys begin with a prefix. Its calls block the calling thread while
/// the runtime of this module does the work, so they may be made from any thread that is not one of
/// that runtime.
#[derive(Debug)]
pub(super) struct ObjectStoreBackend {
    client: Arc<Client>,
    in_process: bool,
}

impl ObjectStoreBackend {
    /// The objects of `store` below `prefix`; `root` stands for both in messages. `pages`, where
    /// there is one, lists the same store and honours an offset and a delimiter together.
    pub(super) fn new(
        root: &str,
        prefix: &Path,
        store: Arc<dyn ObjectStore>,
        pages: Option<Arc<dyn PaginatedListStore>>,
    ) -> ObjectStoreBackend {
        ObjectStoreBackend {
            client: Arc::new(Client::new(root, prefix, store, pages)),
            in_process: false,
        }
    }

    /// The same, for a store that lives in this process: no call takes a network round trip.
    pub(super) fn in_process(self) -> ObjectStoreBackend {
        ObjectStoreBackend {
            in_process: true,
            ..self
        }
    }

    /// Waits for one call about one path.
    fn wait<T, F>(
        &self,
        operation: &'static str,
        path: &str,
        call: impl FnOnce(Arc<Client>, String) -> F,
    ) -> Result<T, StorageError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, StorageError>> + Send + 'static,
    {
        runtime::wait(call(self.client.clone(), path.to_owned()))
            .unwrap_or_else(|source| Err(self.client.failure(operation, path, source.into())))
    }

    /// Waits for one call for each path, some of them at a time.
    fn wait_each<T, F>(
        &self,
        operation: &'static str,
        paths: &[String],
        call: impl Fn(Arc<Client>, String) -> F + Send + Sync + 'static,
    ) -> Vec<Result<T, StorageError>>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, StorageError>> + Send + 'static,
    {
        let client = self.client.clone();
        let owned = paths.to_vec();
        let results = runtime::wait(async move {
            futures::stream::iter(owned)
                .map(|path| call(client.clone(), path))
                .buffered(PARALLEL_REQUESTS)
                .collect::<Vec<_>>()
                .await
        });
        results.unwrap_or_else(|source| {
            let source = source.to_string();
            let failed = |path: &String| {
                let source = source.clone().into();
                Err(self.client.failure(operation, path, source))
            };
            paths.iter().map(failed).collect()
        })
    }
}

impl Store for ObjectStoreBackend {
    fn root(&self) -> &str {
        self.client.root()
    }

    fn list_names(&self, dir: &str, after: Option<&str>) -> Result<Vec<String>, StorageError> {
        let skipped = if dir.is_empty() { 0 } else { dir.len() + 1 };
        let objects = self.list(dir, after)?;
        Ok(objects
            .into_iter()
            .map(|mut object| object.path.split_off(skipped))
            .collect())
    }

    fn list(&self, dir: &str, after: Option<&str>) -> Result<Vec<ObjectMeta>, StorageError> {
        let after = after.map(str::to_owned);
        self.wait("list", dir, |client, dir| async move {
            client.list(&dir, after.as_deref()).await
        })
    }

    fn head(&self, path: &str) -> Result<ObjectMeta, StorageError> {
        self.wait("stat", path, |client, path| async move {
            client.head(&path).await
        })
    }

    fn head_many(&self, paths: &[String]) -> Vec<Result<ObjectMeta, StorageError>> {
        self.wait_each("stat", paths, |client, path| async move {
            client.head(&path).await
        })
    }

    fn get(&self, path: &str) -> Result<Bytes, StorageError> {
        self.wait("read", path, |client, path| async move {
            client.get(&path).await
        })
    }

    fn get_many(&self, paths: &[String]) -> Vec<Result<Bytes, StorageError>> {
        self.wait_each("read", paths, |client, path| async move {
            client.get(&path).await
        })
    }

    fn get_range(&self, path: &str, range: Range<u64>) -> Result<Bytes, StorageError> {
        self.wait("read", path, |client, path| async move {
            client.get_range(&path, range).await
        })
    }

    fn open(&self, path: &str) -> Result<Box<dyn ObjectReader>, StorageError> {
        let reader = self.wait("open", path, |client, path| async move {
            client.open(&path).await
        })?;
        Ok(Box::new(reader))
    }

    fn put(&self, path: &str, content: Bytes) -> Result<(), StorageError> {
        self.wait("write", path, |client, path| async move {
            client.put(&path, content).await
        })
    }

    fn put_if_absent(&self, path: &str, content: Bytes) -> Result<PutOutcome, StorageError> {
        self.wait("create", path, |client, path| async move {
            client.put_if_absent(&path, content).await
        })
    }

    fn delete(&self, path: &str) -> Result<(), StorageError> {
        self.wait("delete", path, |client, path| async move {
            client.delete(&path).await
        })
    }

    fn capacity(&self) -> Option<Capacity> {
        None
    }

    fn is_local(&self) -> bool {
        self.in_process
    }
}
