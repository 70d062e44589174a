//! What was made of files, as long as there is room for it.

use lru::LruCache;
use parking_lot::Mutex;

use crate::base::clock::TimestampMs;
use crate::snapshot::FileId;
use crate::view::presented::Content;

/// What may be held in memory, in bytes.
const HELD: u64 = 64 * 1024 * 1024;

/// What was made of the files that were opened last.
pub(super) struct HeldContents(Mutex<Held>);

struct Held {
    /// Each with when the data file was modified that it was made of.
    contents: LruCache<FileId, (TimestampMs, Content)>,
    bytes: u64,
}

impl Default for HeldContents {
    fn default() -> HeldContents {
        HeldContents(Mutex::new(Held {
            contents: LruCache::unbounded(),
            bytes: 0,
        }))
    }
}

impl HeldContents {
    /// What was made of a file that was modified then.
    pub(super) fn get(&self, id: FileId, modified: TimestampMs) -> Option<Content> {
        let mut held = self.0.lock();
        let (of, content) = held.contents.get(&id)?;
        (*of == modified).then(|| content.clone())
    }

    /// Keeps what was made of a file that was modified then.
    pub(super) fn put(&self, id: FileId, modified: TimestampMs, content: &Content) {
        if matches!(content, Content::Original) {
            return;
        }
        let mut held = self.0.lock();
        held.bytes += content.held();
        if let Some((_, before)) = held.contents.put(id, (modified, content.clone())) {
            held.bytes -= before.held();
        }
        while held.bytes > HELD && held.contents.len() > 1 {
            let Some((_, (_, least))) = held.contents.pop_lru() else {
                break;
            };
            held.bytes -= least.held();
        }
    }
}
