//! The generated files of `@info`: what they say, and what of that is kept.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use lru::LruCache;
use parking_lot::Mutex;
use serde_json::{Map, Value};

use super::metrics::{Gauges, metrics};
use super::node::{InfoFile, Node};
use super::{Ino, Tree, TreeError};
use crate::base::Version;
use crate::base::clock::{TimestampMs, now_ms};
use crate::snapshot::Generation;
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

impl Tree {
    /// What `@info/latest` says.
    pub(super) fn latest_text(&self) -> Result<String, TreeError> {
        Ok(format!("{}\n", self.table().refresh()?.newest()))
    }

    /// The content of a node that changes.
    pub(super) fn changing(&self, node: &Node) -> Result<Arc<[u8]>, TreeError> {
        let content = match node {
            Node::InfoLatest => self.latest_text()?.into_bytes(),
            Node::InfoHistory => history(&*self.table().refresh()?),
            _ => self.metrics(),
        };
        Ok(content.into())
    }

    /// The content of a file of `@info/vN/`.
    pub(super) fn info_content(
        &self,
        ino: Ino,
        generation: &Arc<Generation>,
        version: Version,
        file: InfoFile,
    ) -> Result<Arc<[u8]>, TreeError> {
        self.info.get_or_make(ino, || {
            version_file(generation, version, file, || {
                self.versions.of(generation, version)
            })
        })
    }

    fn metrics(&self) -> Vec<u8> {
        let current = self.table().current();
        metrics(
            &self.counters,
            &Gauges {
                inodes: self.inodes.len(),
                file_handles: self.open_files.lock().len(),
                directory_handles: self.open_directories.lock().len(),
                latest_version: current.newest(),
                known_files: current.files().len(),
                clones: self.options.view.clones.kept(),
                clones_made: self.options.view.clones.made(),
            },
        )
    }
}

/// What `@info/vN/FILE` says. `view` is asked for only where names are needed.
fn version_file(
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
fn history(generation: &Generation) -> Vec<u8> {
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
