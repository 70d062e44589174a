//! What `stat` tells of each kind of node, and how long the kernel may believe it.

use std::sync::Arc;
use std::time::Duration;

use super::node::{Base, Node};
use super::{Attr, Entry, FOREVER, Ino, ROOT_NAMES, Tree, TreeError, info};
use crate::base::Version;
use crate::base::clock::{TimestampMs, now_ms};
use crate::snapshot::Generation;

impl Tree {
    /// The attributes of a node.
    pub fn getattr(&self, ino: Ino) -> Result<Entry, TreeError> {
        let node = self.node(ino)?;
        let kind = node.kind();
        let entry = |size, modified, entry_ttl, attr_ttl| Entry {
            attr: Attr::new(ino, kind, size, modified),
            entry_ttl,
            attr_ttl,
        };
        Ok(match node {
            Node::Root | Node::Info => entry(0, self.newest_time(), FOREVER, ROOT_NAMES),
            Node::InfoLatest | Node::InfoHistory | Node::InfoMetrics
                if self.options.reads_unopened =>
            {
                let (content, made) = self.told.tell(ino, || self.changing(&node))?;
                entry(content.len() as u64, made, FOREVER, info::TOLD)
            }
            Node::InfoLatest => {
                let size = self.latest_text()?.len() as u64;
                entry(size, now_ms(), FOREVER, Duration::ZERO)
            }
            // Their size is known once they are read: like files of /proc they show none.
            Node::InfoHistory | Node::InfoMetrics => entry(0, now_ms(), FOREVER, Duration::ZERO),
            Node::InfoVersion(generation, version) => {
                let (modified, lasts) = time_of(&generation, version);
                entry(0, modified, ROOT_NAMES, lasts)
            }
            Node::InfoFile(generation, version, file) => {
                let content = self.info_content(ino, &generation, version, file)?;
                let (modified, lasts) = time_of(&generation, version);
                entry(content.len() as u64, modified, FOREVER, lasts)
            }
            Node::Directory { base, path } => {
                let is_top = path.is_empty();
                match base {
                    Base::Latest => {
                        let names = if is_top { FOREVER } else { ROOT_NAMES };
                        entry(0, self.newest_time(), names, ROOT_NAMES)
                    }
                    Base::Version(generation, version) => {
                        let names = if is_top { ROOT_NAMES } else { FOREVER };
                        let (modified, lasts) = time_of(&generation, version);
                        entry(0, modified, names, lasts)
                    }
                }
            }
            Node::File(file) => {
                let entry = file.entry(ino);
                self.inodes.tell_size(ino, entry.attr.size);
                entry
            }
            Node::Link { target } => entry(target.len() as u64, 0, ROOT_NAMES, FOREVER),
            Node::Staging => self.staging_entry()?,
            Node::Staged(staged) => self.staged_attributes(&staged)?,
            Node::Status(transaction) => self.status_entry(ino, &transaction),
        })
    }

    /// The commit time of the newest version; the epoch when nothing tells it.
    fn newest_time(&self) -> TimestampMs {
        let newest = |generation: Arc<Generation>| time_of(&generation, generation.newest()).0;
        self.table().refresh().ok().map_or(0, newest)
    }
}

/// The commit time of a version, and how long it may be believed; the epoch when nothing tells it,
/// and when a damaged log does not tell it now.
fn time_of(generation: &Generation, version: Version) -> (TimestampMs, Duration) {
    match generation.timestamp(version) {
        Ok(time) => (time.unwrap_or(0), FOREVER),
        Err(_) => (0, Duration::ZERO),
    }
}
