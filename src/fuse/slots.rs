//! How each open inode is being served.
//!
//! The kernel holds every open of an inode to one way of doing I/O: a cached open while a
//! passthrough open lives, or a second backing id for the inode, is EIO. The table decides the way
//! at the first open, hands it to every further one, and forgets it at the last close.
//!
//! The kernel's own count of opens begins after our reply to OPEN and ends before it sends
//! RELEASE, so it lies within ours: when a slot is empty here, the kernel has none either.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use lru::LruCache;
use parking_lot::Mutex;

use crate::tree::Ino;

/// Backing ids kept for inodes that nobody has open, so that reopening costs no system call. Each
/// keeps one file open in the kernel, with its disk space when it has been deleted.
const KEPT_CLOSED: NonZeroUsize = NonZeroUsize::new(4096).expect("4096 is not zero");

/// The way an open is answered. `B` is the registered backing file.
#[derive(Debug)]
pub(super) enum Mode<B> {
    /// The kernel reads the backing file itself.
    Passthrough(Arc<B>),
    /// Reads come to us once; the page cache is kept from open to open.
    Cached,
    /// Every read comes to us; nothing is cached and the size does not limit it.
    Direct,
}

impl<B> Clone for Mode<B> {
    fn clone(&self) -> Self {
        match self {
            Mode::Passthrough(id) => Mode::Passthrough(Arc::clone(id)),
            Mode::Cached => Mode::Cached,
            Mode::Direct => Mode::Direct,
        }
    }
}

/// Which file a backing id stands for. A name can come to mean other bytes when a table is dropped
/// and made again, and then a kept id must not be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Identity {
    /// Device number.
    pub device: u64,
    /// Inode number on it.
    pub inode: u64,
    /// Size in bytes.
    pub size: u64,
    /// Modification time, seconds and nanoseconds.
    pub modified: (i64, u64),
    /// Whether it has no name. How long its space is taken is the business of who made it so.
    pub is_nameless: bool,
}

#[derive(Debug)]
struct Slot<B> {
    mode: Mode<B>,
    identity: Option<Identity>,
    opens: u64,
}

#[derive(Debug)]
struct Tables<B> {
    open: HashMap<Ino, Slot<B>>,
    closed: LruCache<Ino, (Identity, Arc<B>)>,
}

/// The table. Safe to use from all worker threads: a decision is made under its lock.
#[derive(Debug)]
pub(super) struct Slots<B> {
    tables: Mutex<Tables<B>>,
    /// Cleared for good when the kernel says that this process may not register backing files.
    passthrough: AtomicBool,
}

impl<B> Slots<B> {
    /// An empty table. Without `passthrough` no open is answered with [`Mode::Passthrough`].
    pub(super) fn new(passthrough: bool) -> Self {
        Slots {
            tables: Mutex::new(Tables {
                open: HashMap::new(),
                closed: LruCache::new(KEPT_CLOSED),
            }),
            passthrough: AtomicBool::new(passthrough),
        }
    }

    /// Whether passthrough is still worth trying.
    pub(super) fn passthrough(&self) -> bool {
        self.passthrough.load(Ordering::Relaxed)
    }

    /// Counts an open of `ino` and says how to answer it. `register` makes a backing id of the
    /// file that `backing` identifies; it is called under the lock, and only when `ino` is not
    /// open and no id of it is kept. `immutable` decides between the other two modes.
    pub(super) fn open(
        &self,
        ino: Ino,
        backing: Option<Identity>,
        immutable: bool,
        register: impl FnOnce() -> io::Result<B>,
    ) -> Mode<B> {
        let mut tables = self.tables.lock();
        let Tables { open, closed } = &mut *tables;
        let (mode, stale) = match open.entry(ino) {
            Entry::Occupied(mut slot) => {
                let slot = slot.get_mut();
                slot.opens += 1;
                (slot.mode.clone(), None)
            }
            Entry::Vacant(vacant) => {
                let kept = closed.pop(&ino);
                let (kept, stale) = match (kept, backing) {
                    (Some((was, id)), Some(is)) if was == is => (Some(id), None),
                    (kept, _) => (None, kept),
                };
                let id = match (kept, backing) {
                    (Some(id), _) => Some(id),
                    (None, Some(_)) if self.passthrough() => self.registered(ino, register),
                    (None, _) => None,
                };
                let mode = match id {
                    Some(id) => Mode::Passthrough(id),
                    None if immutable => Mode::Cached,
                    None => Mode::Direct,
                };
                vacant.insert(Slot {
                    mode: mode.clone(),
                    identity: backing,
                    opens: 1,
                });
                (mode, stale)
            }
        };
        drop(tables);
        // The last reference to a deleted file frees its blocks, which takes time: not under the
        // lock.
        drop(stale);
        mode
    }

    fn registered(&self, ino: Ino, register: impl FnOnce() -> io::Result<B>) -> Option<Arc<B>> {
        match register() {
            Ok(id) => Some(Arc::new(id)),
            Err(error) if error.raw_os_error() == Some(libc::EPERM) => {
                self.passthrough.store(false, Ordering::Relaxed);
                tracing::info!(
                    "the kernel lets only root pass reads through to the table's files: reads \
                     are served by this process instead"
                );
                None
            }
            Err(error) => {
                tracing::debug!(ino, %error, "no passthrough for this file");
                None
            }
        }
    }

    /// Counts a close of `ino`.
    pub(super) fn release(&self, ino: Ino) {
        let mut tables = self.tables.lock();
        let Tables { open, closed } = &mut *tables;
        let Entry::Occupied(mut slot) = open.entry(ino) else {
            return;
        };
        slot.get_mut().opens -= 1;
        if slot.get().opens > 0 {
            return;
        }
        let (evicted, given_up) = match slot.remove() {
            Slot {
                mode: Mode::Passthrough(id),
                identity: Some(identity),
                ..
            } if !identity.is_nameless => (closed.push(ino, (identity, id)), None),
            slot => (None, Some(slot)),
        };
        drop(tables);
        drop((evicted, given_up));
    }

    /// Gives up what is kept for `ino`, which the kernel has evicted.
    pub(super) fn forget(&self, ino: Ino) {
        let kept = self.tables.lock().closed.pop(&ino);
        drop(kept);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;
    use std::thread;

    use super::*;

    const A: Identity = Identity {
        device: 1,
        inode: 2,
        size: 3,
        modified: (4, 5),
        is_nameless: false,
    };

    fn id(mode: &Mode<u64>) -> u64 {
        match mode {
            Mode::Passthrough(id) => **id,
            other => panic!("expected passthrough, found {other:?}"),
        }
    }

    fn never() -> io::Result<u64> {
        panic!("nothing is to be registered here")
    }

    #[test]
    fn all_opens_of_an_inode_share_the_mode_of_the_first() {
        let slots = Slots::new(true);
        assert_eq!(id(&slots.open(9, Some(A), true, || Ok(70))), 70);
        // Even when a later open would choose otherwise.
        assert_eq!(id(&slots.open(9, None, false, never)), 70);
        slots.release(9);
        assert_eq!(id(&slots.open(9, Some(A), true, never)), 70);
        assert!(matches!(slots.open(10, None, true, never), Mode::Cached));
        assert!(matches!(slots.open(10, Some(A), true, never), Mode::Cached));
        assert!(matches!(slots.open(11, None, false, never), Mode::Direct));
    }

    #[test]
    fn a_closed_inode_reopens_with_the_id_it_had() {
        let slots = Slots::new(true);
        slots.open(9, Some(A), true, || Ok(70));
        slots.release(9);
        assert_eq!(id(&slots.open(9, Some(A), true, never)), 70);
        slots.release(9);
        slots.forget(9);
        assert_eq!(id(&slots.open(9, Some(A), true, || Ok(71))), 71);
    }

    #[test]
    fn a_kept_id_is_not_used_for_another_file() {
        let slots = Slots::new(true);
        slots.open(9, Some(A), true, || Ok(70));
        slots.release(9);
        let other = Identity { inode: 3, ..A };
        assert_eq!(id(&slots.open(9, Some(other), true, || Ok(71))), 71);
        slots.release(9);
        assert!(matches!(slots.open(9, None, true, never), Mode::Cached));
    }

    #[test]
    fn a_file_without_a_name_is_let_go_at_the_last_close() {
        let slots = Slots::new(true);
        let nameless = Identity {
            is_nameless: true,
            ..A
        };
        slots.open(9, Some(nameless), true, || Ok(70));
        assert_eq!(id(&slots.open(9, Some(nameless), true, never)), 70);
        slots.release(9);
        slots.release(9);
        assert_eq!(id(&slots.open(9, Some(nameless), true, || Ok(71))), 71);
    }

    #[test]
    fn eperm_ends_passthrough_for_all_and_other_errors_for_one() {
        let slots = Slots::<u64>::new(true);
        let refuse = |errno| move || Err(io::Error::from_raw_os_error(errno));
        assert!(matches!(
            slots.open(1, Some(A), true, refuse(libc::ELOOP)),
            Mode::Cached
        ));
        assert!(slots.passthrough());
        assert!(matches!(
            slots.open(2, Some(A), true, refuse(libc::EPERM)),
            Mode::Cached
        ));
        assert!(matches!(slots.open(3, Some(A), false, never), Mode::Direct));
    }

    #[test]
    fn kept_ids_are_bounded() {
        let dropped = Arc::new(AtomicU64::new(0));
        #[derive(Debug)]
        struct Counted(Arc<AtomicU64>);
        impl Drop for Counted {
            fn drop(&mut self) {
                self.0.fetch_add(1, Ordering::Relaxed);
            }
        }
        let slots = Slots::new(true);
        let total = KEPT_CLOSED.get() as u64 + 10;
        for ino in 0..total {
            slots.open(ino, Some(A), true, || Ok(Counted(Arc::clone(&dropped))));
            slots.release(ino);
        }
        assert_eq!(dropped.load(Ordering::Relaxed), 10);
    }

    #[test]
    fn racing_opens_and_closes_never_see_two_ids_at_once() {
        let slots = Slots::new(true);
        let registered = AtomicU64::new(0);
        // Opens by id; each thread's entry lies within the time it really has the inode open.
        let live = Mutex::new(HashMap::<u64, u64>::new());
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for round in 0..2000 {
                        let mine = id(&slots.open(5, Some(A), true, || {
                            Ok(registered.fetch_add(1, Ordering::Relaxed))
                        }));
                        {
                            let mut live = live.lock();
                            *live.entry(mine).or_default() += 1;
                            assert_eq!(live.len(), 1, "ids open at once: {live:?}");
                        }
                        thread::yield_now();
                        {
                            let mut live = live.lock();
                            let opens = live.get_mut(&mine).expect("counted above");
                            *opens -= 1;
                            if *opens == 0 {
                                live.remove(&mine);
                            }
                        }
                        slots.release(5);
                        if round % 64 == 0 {
                            slots.forget(5);
                        }
                    }
                });
            }
        });
        assert!(slots.tables.lock().open.is_empty());
    }
}
