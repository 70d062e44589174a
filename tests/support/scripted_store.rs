//! A store that fails where a test says so.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use deltafs::storage::{Capacity, ObjectMeta, ObjectReader, PutOutcome, StorageError, Store};

/// A put to answer: by itself, or with the help of the store behind.
pub type OnPut =
    dyn FnMut(&dyn Store, &str, Bytes) -> Result<PutOutcome, StorageError> + Send + 'static;

/// What to say of a read or a sync, if anything, before it is done.
pub type OnCall = dyn FnMut(&str) -> Option<StorageError> + Send + 'static;

/// A store in front of another one. It notes each call as `name path`.
pub struct ScriptedStore {
    inner: Arc<dyn Store>,
    is_local: bool,
    calls: Mutex<Vec<String>>,
    on_put: Mutex<Option<Box<OnPut>>>,
    on_call: Mutex<Option<Box<OnCall>>>,
}

impl fmt::Debug for ScriptedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl ScriptedStore {
    /// In front of `inner`; `is_local` as the test wants it.
    pub fn new(inner: Arc<dyn Store>, is_local: bool) -> Arc<ScriptedStore> {
        Arc::new(ScriptedStore {
            inner,
            is_local,
            calls: Mutex::default(),
            on_put: Mutex::default(),
            on_call: Mutex::default(),
        })
    }

    /// Answers every put-if-absent from now on.
    pub fn on_put(
        &self,
        answer: impl FnMut(&dyn Store, &str, Bytes) -> Result<PutOutcome, StorageError> + Send + 'static,
    ) {
        *self.on_put.lock().unwrap() = Some(Box::new(answer));
    }

    /// Is asked before every other call, as `name path`.
    pub fn on_call(&self, answer: impl FnMut(&str) -> Option<StorageError> + Send + 'static) {
        *self.on_call.lock().unwrap() = Some(Box::new(answer));
    }

    /// Passes everything on again.
    pub fn heal(&self) {
        *self.on_put.lock().unwrap() = None;
        *self.on_call.lock().unwrap() = None;
    }

    /// The calls since this was asked last.
    pub fn take_calls(&self) -> Vec<String> {
        std::mem::take(&mut self.calls.lock().unwrap())
    }

    fn note(&self, name: &str, path: &str) -> Result<(), StorageError> {
        let call = format!("{name} {path}");
        let answer = match &mut *self.on_call.lock().unwrap() {
            Some(answer) => answer(&call),
            None => None,
        };
        self.calls.lock().unwrap().push(call);
        answer.map_or(Ok(()), Err)
    }
}

/// A failure of a remote store that leaves open what became of the request.
pub fn remote_error() -> StorageError {
    StorageError::Remote {
        operation: "create",
        location: "somewhere".to_owned(),
        source: "the connection was closed before the message completed".into(),
    }
}

/// A failure of a local file system.
pub fn io_error() -> StorageError {
    StorageError::Io {
        operation: "create",
        location: "somewhere".to_owned(),
        source: std::io::Error::from_raw_os_error(5),
    }
}

impl Store for ScriptedStore {
    fn root(&self) -> &str {
        self.inner.root()
    }

    fn list_names(&self, dir: &str, after: Option<&str>) -> Result<Vec<String>, StorageError> {
        self.note("list_names", dir)?;
        self.inner.list_names(dir, after)
    }

    fn list(&self, dir: &str, after: Option<&str>) -> Result<Vec<ObjectMeta>, StorageError> {
        self.note("list", dir)?;
        self.inner.list(dir, after)
    }

    fn head(&self, path: &str) -> Result<ObjectMeta, StorageError> {
        self.note("head", path)?;
        self.inner.head(path)
    }

    fn head_many(&self, paths: &[String]) -> Vec<Result<ObjectMeta, StorageError>> {
        paths.iter().map(|path| self.head(path)).collect()
    }

    fn get(&self, path: &str) -> Result<Bytes, StorageError> {
        self.note("get", path)?;
        self.inner.get(path)
    }

    fn get_many(&self, paths: &[String]) -> Vec<Result<Bytes, StorageError>> {
        paths.iter().map(|path| self.get(path)).collect()
    }

    fn get_range(&self, path: &str, range: Range<u64>) -> Result<Bytes, StorageError> {
        self.note("get_range", path)?;
        self.inner.get_range(path, range)
    }

    fn open(&self, path: &str) -> Result<Box<dyn ObjectReader>, StorageError> {
        self.note("open", path)?;
        self.inner.open(path)
    }

    fn put(&self, path: &str, content: Bytes) -> Result<(), StorageError> {
        self.note("put", path)?;
        self.inner.put(path, content)
    }

    fn put_if_absent(&self, path: &str, content: Bytes) -> Result<PutOutcome, StorageError> {
        self.calls
            .lock()
            .unwrap()
            .push(format!("put_if_absent {path}"));
        match &mut *self.on_put.lock().unwrap() {
            Some(answer) => answer(&*self.inner, path, content),
            None => self.inner.put_if_absent(path, content),
        }
    }

    fn sync_dir(&self, dir: &str) -> Result<(), StorageError> {
        self.note("sync_dir", dir)?;
        self.inner.sync_dir(dir)
    }

    fn delete(&self, path: &str) -> Result<(), StorageError> {
        self.note("delete", path)?;
        self.inner.delete(path)
    }

    fn capacity(&self) -> Option<Capacity> {
        self.inner.capacity()
    }

    fn is_local(&self) -> bool {
        self.is_local
    }
}
