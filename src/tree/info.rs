//! The generated files of `@info`.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use lru::LruCache;
use parking_lot::Mutex;
use roaring::RoaringBitmap;
use serde_json::{Map, Value};

use super::nodes::InfoFile;
use super::{Ino, TreeError};
use crate::base::Version;
use crate::base::clock::{TimestampMs, now_ms};
use crate::snapshot::{FileId, Generation};
use crate::view::{VersionView, report};

/// Contents larger than this are made again each time rather than kept.
const KEPT_BYTES: usize = 8 << 20;

/// How many contents are kept.
const KEPT: NonZeroUsize = NonZeroUsize::new(32).expect("not zero");

/// Contents of `@info/vN/` files that were made before. They never change.
pub(super) struct InfoCache {
    kept: Mutex<LruCache<Ino, Arc<[u8]>>>,
}

impl Default for InfoCache {
    fn default() -> InfoCache {
        InfoCache {
            kept: Mutex::new(LruCache::new(KEPT)),
        }
    }
}

impl InfoCache {
    pub(super) fn get_or_make(
        &self,
        ino: Ino,
        make: impl FnOnce() -> Result<Vec<u8>, TreeError>,
    ) -> Result<Arc<[u8]>, TreeError> {
        if let Some(content) = self.kept.lock().get(&ino) {
            return Ok(content.clone());
        }
        let content: Arc<[u8]> = make()?.into();
        if content.len() <= KEPT_BYTES {
            self.kept.lock().put(ino, content.clone());
        }
        Ok(content)
    }
}

/// How long contents that change stay as they were told, where files are read that nobody opens.
pub(super) const TOLD: Duration = Duration::from_secs(1);

/// Contents that change, as the attributes told last have them: who reads without opening goes by
/// these.
#[derive(Default)]
pub(super) struct Told(Mutex<HashMap<Ino, Content>>);

/// A content, and when it was made.
type Content = (Arc<[u8]>, TimestampMs);

impl Told {
    /// The content for who asks for attributes, and when it was made: anew unless it was just now.
    pub(super) fn tell(
        &self,
        ino: Ino,
        make: impl FnOnce() -> Result<Arc<[u8]>, TreeError>,
    ) -> Result<Content, TreeError> {
        let now = now_ms();
        let mut told = self.0.lock();
        if let Some((content, made)) = told.get(&ino)
            && u128::from(now.abs_diff(*made)) < TOLD.as_millis()
        {
            return Ok((content.clone(), *made));
        }
        let content = make()?;
        told.insert(ino, (content.clone(), now));
        Ok((content, now))
    }

    /// The content for who reads.
    pub(super) fn told(
        &self,
        ino: Ino,
        make: impl FnOnce() -> Result<Arc<[u8]>, TreeError>,
    ) -> Result<Arc<[u8]>, TreeError> {
        let told = self.0.lock().get(&ino).map(|(content, _)| content.clone());
        told.map_or_else(make, Ok)
    }
}

/// What `@info/vN/FILE` says. `view` is asked for only where names are needed.
pub(super) fn version_file(
    generation: &Generation,
    version: Version,
    file: InfoFile,
    view: impl FnOnce() -> Result<Arc<VersionView>, TreeError>,
) -> Result<Vec<u8>, TreeError> {
    match file {
        InfoFile::Commit => Ok(generation.commit_file(version)?.to_vec()),
        InfoFile::Schema => {
            let snapshot = generation.snapshot(version)?;
            let text = &snapshot.metadata().schema_string;
            Ok(match serde_json::from_str::<Value>(text) {
                Ok(schema) => pretty(&schema),
                Err(_) => text.clone().into_bytes(),
            })
        }
        InfoFile::Detail => {
            let snapshot = generation.snapshot(version)?;
            let detail = report::detail(generation, &snapshot, false)?;
            Ok(pretty(&Value::Object(detail)))
        }
        InfoFile::Files => {
            let view = view()?;
            let ids = view.snapshot().files();
            let records = generation.num_records(ids)?;
            let files = generation.files();
            let mut content = Vec::new();
            for id in ids {
                push_line(
                    &mut content,
                    &report::file_line(&view, &files, id, &records, false),
                );
            }
            Ok(content)
        }
    }
}

/// `@info/history.jsonl`: every version that has a commit file, newest first.
pub(super) fn history(generation: &Generation) -> Vec<u8> {
    let listing = generation.listing();
    let mut content = Vec::new();
    for version in listing.commits().iter().rev() {
        push_line(&mut content, &report::history_entry(generation, *version));
    }
    content
}

fn push_line(content: &mut Vec<u8>, line: &Map<String, Value>) {
    // Writing JSON values with text keys into memory cannot fail.
    if serde_json::to_writer(&mut *content, line).is_ok() {
        content.push(b'\n');
    }
}

fn pretty(value: &Value) -> Vec<u8> {
    let mut text = serde_json::to_vec_pretty(value).unwrap_or_default();
    text.push(b'\n');
    text
}

/// What the tree counts about itself.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub lookups: AtomicU64,
    pub opens: AtomicU64,
    pub open_errors: AtomicU64,
    pub reads: AtomicU64,
    pub read_bytes: AtomicU64,
    pub listings: AtomicU64,
}

impl Counters {
    pub(super) fn add(counter: &AtomicU64, count: u64) {
        counter.fetch_add(count, Ordering::Relaxed);
    }
}

/// The gauges beside the counters.
pub(super) struct Gauges {
    pub inodes: usize,
    pub file_handles: usize,
    pub directory_handles: usize,
    pub latest_version: Version,
    pub known_files: usize,
    pub clones: usize,
    pub clones_made: u64,
}

/// `@info/metrics`, in the Prometheus text format.
pub(super) fn metrics(counters: &Counters, gauges: &Gauges) -> Vec<u8> {
    let mut text = String::new();
    let mut row = |name: &str, kind: &str, help: &str, value: u64| {
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "# HELP deltafs_{name} {help}\n# TYPE deltafs_{name} {kind}\ndeltafs_{name} {value}\n"
        );
    };
    let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    row(
        "inodes",
        "gauge",
        "Inodes the kernel remembers.",
        gauges.inodes as u64,
    );
    row(
        "file_handles",
        "gauge",
        "Open files.",
        gauges.file_handles as u64,
    );
    row(
        "dir_handles",
        "gauge",
        "Open directories.",
        gauges.directory_handles as u64,
    );
    row(
        "latest_version",
        "gauge",
        "Newest version seen.",
        gauges.latest_version,
    );
    row(
        "known_files",
        "gauge",
        "Logical files in memory.",
        gauges.known_files as u64,
    );
    row(
        "lookups_total",
        "counter",
        "Look-ups of names.",
        count(&counters.lookups),
    );
    row(
        "opens_total",
        "counter",
        "Files opened.",
        count(&counters.opens),
    );
    row(
        "open_errors_total",
        "counter",
        "Files that could not be opened.",
        count(&counters.open_errors),
    );
    row(
        "reads_total",
        "counter",
        "Reads that reached the daemon.",
        count(&counters.reads),
    );
    row(
        "read_bytes_total",
        "counter",
        "Bytes of those reads.",
        count(&counters.read_bytes),
    );
    row(
        "clones",
        "gauge",
        "Clones of data files kept for the kernel to read.",
        gauges.clones as u64,
    );
    row(
        "clones_made_total",
        "counter",
        "Clones made of data files.",
        gauges.clones_made,
    );
    row(
        "listings_total",
        "counter",
        "Directories opened.",
        count(&counters.listings),
    );
    text.into_bytes()
}

/// Live files of which somebody found that they are gone, by generation.
#[derive(Debug, Default)]
pub(super) struct Missing(Mutex<HashMap<u64, RoaringBitmap>>);

impl Missing {
    /// Takes note; `false` when it was known already.
    pub(super) fn note(&self, generation: &Generation, id: FileId) -> bool {
        self.0
            .lock()
            .entry(generation.number())
            .or_default()
            .insert(id)
    }

    /// How many of `ids` are known to be gone.
    pub(super) fn among(&self, generation: &Generation, ids: &RoaringBitmap) -> u64 {
        let missing = self.0.lock();
        missing
            .get(&generation.number())
            .map_or(0, |missing| missing.intersection_len(ids))
    }
}
