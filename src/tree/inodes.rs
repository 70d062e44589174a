//! The inodes that the kernel knows.

use std::collections::HashMap;

use parking_lot::Mutex;

use super::node::{
    Base, INFO_HISTORY_INO, INFO_INO, INFO_LATEST_INO, INFO_METRICS_INO, LATEST_INO, Node,
    STAGING_INO,
};
use super::{Ino, ROOT_INO};

/// An inode that the kernel knows.
struct Known {
    node: Node,
    lookups: u64,
    /// The size that the kernel was told last, of a data file.
    size: Option<u64>,
}

/// The inodes that the kernel knows, with how often it was told of each.
#[derive(Default)]
pub(super) struct Inodes {
    known: Mutex<HashMap<Ino, Known>>,
}

impl Inodes {
    /// The node of an inode.
    pub(super) fn get(&self, ino: Ino) -> Option<Node> {
        match ino {
            ROOT_INO => Some(Node::Root),
            LATEST_INO => Some(Node::Directory {
                base: Base::Latest,
                path: "".into(),
            }),
            INFO_INO => Some(Node::Info),
            INFO_LATEST_INO => Some(Node::InfoLatest),
            INFO_HISTORY_INO => Some(Node::InfoHistory),
            INFO_METRICS_INO => Some(Node::InfoMetrics),
            STAGING_INO => Some(Node::Staging),
            _ => self.known.lock().get(&ino).map(|known| known.node.clone()),
        }
    }

    /// Counts one look-up of an inode. Fixed ones are always known.
    pub(super) fn remember(&self, ino: Ino, node: impl FnOnce() -> Node) {
        if ino > STAGING_INO {
            count(&mut self.known.lock(), ino, node);
        }
    }

    /// Counts one look-up of a data file that comes with its size.
    pub(super) fn remember_file(&self, ino: Ino, size: u64, node: impl FnOnce() -> Node) {
        count(&mut self.known.lock(), ino, node).size = Some(size);
    }

    /// Notes the size of a data file that the kernel is told.
    pub(super) fn tell_size(&self, ino: Ino, size: u64) {
        if let Some(known) = self.known.lock().get_mut(&ino) {
            known.size = Some(size);
        }
    }

    /// The size of a data file that the kernel was told last, if it was.
    pub(super) fn size_told(&self, ino: Ino) -> Option<u64> {
        self.known.lock().get(&ino)?.size
    }

    /// Takes back `count` look-ups; an inode without any is forgotten.
    pub(super) fn forget(&self, ino: Ino, count: u64) {
        let mut known = self.known.lock();
        let mut forgotten = None;
        if let Some(entry) = known.get_mut(&ino) {
            entry.lookups = entry.lookups.saturating_sub(count);
            if entry.lookups == 0 {
                forgotten = known.remove(&ino);
            }
        }
        // A kernel that forgets a million entries should get their memory back.
        if known.capacity() > 4096 && known.len() < known.capacity() / 8 {
            known.shrink_to_fit();
        }
        drop(known);
        // A staged file that was deleted gives its space back now, which takes time.
        drop(forgotten);
    }

    /// How many inodes are known.
    pub(super) fn len(&self) -> usize {
        self.known.lock().len()
    }
}

/// Counts one look-up.
fn count(known: &mut HashMap<Ino, Known>, ino: Ino, node: impl FnOnce() -> Node) -> &mut Known {
    let known = known.entry(ino).or_insert_with(|| Known {
        node: node(),
        lookups: 0,
        size: None,
    });
    known.lookups += 1;
    known
}
