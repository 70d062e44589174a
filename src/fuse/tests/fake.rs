//! A small tree for tests of the mount: one node of each kind, files that fail in each way, and
//! counts of what was asked, readable as a file of the tree itself.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::fmt::Write;
use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::time::Duration;

use parking_lot::Mutex;

use crate::fuse::Nodes;
use crate::storage::Capacity;
use crate::storage::posix::{Access, NewFile, Range, Replacing, Seek};
use crate::tree::{Attr, Changes, DirEntry, Entry, Ino, NodeKind, Opened, TreeError};

/// Files in the directory `many`.
pub(crate) const MANY: u64 = 3000;
/// Size of `composed.parquet`.
pub(crate) const COMPOSED: u64 = 1_000_003;
/// What opening `broken.parquet` says is not open: any error that is more than "not there".
pub(crate) const BROKEN: u64 = 777;
/// The number of the first of [`TOGETHER`] files in `markers`: as staged files have them.
pub(crate) const MARKER: Ino = 1 << 61 | 40;
/// How many fsyncs of files in `markers` have to be under way for any to return.
pub(crate) const TOGETHER: u64 = 24;
const FOREVER: Duration = Duration::from_secs(100_000);
const FIRST_OF_MANY: Ino = 1000;

/// The byte at `offset` of `composed.parquet`.
pub(crate) fn pattern(offset: u64) -> u8 {
    (offset * 31 % 251) as u8
}

/// Name and inode of each node below a directory.
fn children(ino: Ino) -> Vec<(String, Ino)> {
    let named = |rows: &[(&str, Ino)]| {
        rows.iter()
            .map(|(name, ino)| ((*name).to_owned(), *ino))
            .collect::<Vec<_>>()
    };
    match ino {
        1 => named(&[
            ("@v1", 2),
            ("@info", 3),
            ("@2024-01-15", 4),
            ("many", 5),
            ("markers", 6),
        ]),
        2 => named(&[
            ("backed.parquet", 20),
            ("composed.parquet", 21),
            ("broken.parquet", 22),
            ("panics.parquet", 23),
            ("gone.parquet", 24),
            ("bare.parquet", 25),
        ]),
        3 => named(&[("latest", 30), ("counts", 31)]),
        5 => (0..MANY)
            .map(|i| (format!("f{i:04}"), FIRST_OF_MANY + i))
            .collect(),
        6 => (0..TOGETHER)
            .map(|i| (format!("m{i}"), MARKER + i))
            .collect(),
        _ => Vec::new(),
    }
}

#[derive(Debug, Default)]
struct Counts {
    lookups: HashMap<Ino, i64>,
    opens: BTreeMap<Ino, u64>,
    reads: BTreeMap<Ino, u64>,
    handles: HashMap<u64, Ino>,
    overforgotten: u64,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Fake {
    backing: Arc<File>,
    next_handle: AtomicU64,
    counts: Mutex<Counts>,
    together: Barrier,
    hangs: bool,
}

impl Fake {
    /// `backed.parquet` has the bytes of `backing`. With `hangs`, STATFS is never answered.
    pub fn new(backing: &Path, hangs: bool) -> io::Result<Fake> {
        Ok(Fake {
            backing: Arc::new(File::open(backing)?),
            next_handle: AtomicU64::new(1),
            counts: Mutex::new(Counts::default()),
            together: Barrier::new(TOGETHER as usize),
            hangs,
        })
    }

    fn attr(&self, ino: Ino) -> Result<Attr, TreeError> {
        let (kind, size, permissions) = match ino {
            1 | 2 | 3 | 5 | 6 => (NodeKind::Directory, 0, 0o555),
            4 => (NodeKind::Symlink, 3, 0o777),
            20 => {
                let size = self
                    .backing
                    .metadata()
                    .expect("an open file has metadata")
                    .len();
                (NodeKind::File, size, 0o444)
            }
            21 => (NodeKind::File, COMPOSED, 0o444),
            30 | 31 => (NodeKind::File, 0, 0o444),
            22 | 23 | 25 => (NodeKind::File, 10, 0o444),
            i if (MARKER..MARKER + TOGETHER).contains(&i) => (NodeKind::File, 10, 0o444),
            i if (FIRST_OF_MANY..FIRST_OF_MANY + MANY).contains(&i) => (NodeKind::File, i, 0o444),
            other => return Err(TreeError::UnknownInode(other)),
        };
        Ok(Attr {
            ino,
            kind,
            size,
            occupied: size,
            modified: 1_705_312_800_123,
            permissions,
            links: 1,
            owner: None,
            stored: None,
        })
    }

    fn entry(&self, ino: Ino) -> Result<Entry, TreeError> {
        let attr = self.attr(ino)?;
        let ttl = if matches!(ino, 30 | 31) {
            Duration::ZERO
        } else {
            FOREVER
        };
        Ok(Entry {
            attr,
            entry_ttl: FOREVER,
            attr_ttl: ttl,
        })
    }

    fn handle(&self, ino: Ino) -> u64 {
        let handle = self.next_handle.fetch_add(1, Ordering::Relaxed);
        self.counts.lock().handles.insert(handle, ino);
        handle
    }

    fn counted(&self) -> String {
        let counts = self.counts.lock();
        let mut text = String::new();
        for (ino, count) in &counts.opens {
            writeln!(text, "opens {ino} {count}").expect("a string takes all");
        }
        for (ino, count) in &counts.reads {
            writeln!(text, "reads {ino} {count}").expect("a string takes all");
        }
        let lookups: i64 = counts.lookups.values().sum();
        writeln!(text, "handles {}", counts.handles.len()).expect("a string takes all");
        writeln!(text, "lookups {lookups}").expect("a string takes all");
        writeln!(text, "overforgotten {}", counts.overforgotten).expect("a string takes all");
        text
    }
}

impl Nodes for Fake {
    fn lookup(&self, parent: Ino, name: &OsStr) -> Result<Entry, TreeError> {
        let not_found = || TreeError::NotFound {
            name: name.to_string_lossy().into_owned(),
            reason: "the fake has no such node".into(),
        };
        let found = children(parent)
            .into_iter()
            .find(|(known, _)| name == known.as_str());
        let (_, ino) = found.ok_or_else(not_found)?;
        if ino == 24 {
            return Err(not_found());
        }
        let entry = self.entry(ino)?;
        *self.counts.lock().lookups.entry(ino).or_default() += 1;
        Ok(entry)
    }

    fn forget(&self, ino: Ino, count: u64) {
        let mut counts = self.counts.lock();
        let left = counts.lookups.entry(ino).or_default();
        *left -= i64::try_from(count).expect("small in tests");
        if *left < 0 {
            counts.overforgotten += 1;
        }
    }

    fn getattr(&self, ino: Ino) -> Result<Entry, TreeError> {
        self.entry(ino)
    }

    fn readlink(&self, ino: Ino) -> Result<String, TreeError> {
        if ino == 4 {
            Ok("@v1".into())
        } else {
            Err(TreeError::NotASymlink(ino))
        }
    }

    fn open_backed(&self, ino: Ino, access: Access, _: Option<u64>) -> Result<Opened, TreeError> {
        if access.writes() {
            return Err(TreeError::ReadOnly(ino));
        }
        if ino == 22 {
            return Err(TreeError::UnknownHandle(BROKEN));
        }
        assert_ne!(ino, 23, "this file makes the tree panic");
        *self.counts.lock().opens.entry(ino).or_default() += 1;
        Ok(Opened {
            handle: self.handle(ino),
            backing: (ino == 20).then(|| Arc::clone(&self.backing)),
            immutable: !matches!(ino, 30 | 31),
            staged: false,
        })
    }

    fn read(&self, handle: u64, buffer: &mut [u8], offset: u64) -> Result<usize, TreeError> {
        let ino = {
            let mut counts = self.counts.lock();
            let ino = *counts
                .handles
                .get(&handle)
                .ok_or(TreeError::UnknownHandle(handle))?;
            *counts.reads.entry(ino).or_default() += 1;
            ino
        };
        let content = match ino {
            20 => {
                use std::os::unix::fs::FileExt;
                let mut done = 0;
                while done < buffer.len() {
                    let at = offset + done as u64;
                    match self
                        .backing
                        .read_at(&mut buffer[done..], at)
                        .expect("readable")
                    {
                        0 => break,
                        count => done += count,
                    }
                }
                return Ok(done);
            }
            21 => {
                let count = COMPOSED.saturating_sub(offset).min(buffer.len() as u64) as usize;
                for (i, byte) in buffer[..count].iter_mut().enumerate() {
                    *byte = pattern(offset + i as u64);
                }
                return Ok(count);
            }
            30 => format!("read {}\n", self.counts.lock().reads[&30]),
            31 => self.counted(),
            _ => "ten bytes\n".into(),
        };
        let rest = content
            .as_bytes()
            .get(offset as usize..)
            .unwrap_or_default();
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }

    /// Some reads go the long way, so that all tests of bytes try it.
    fn read_takes_long(&self, _: u64, offset: u64, _: u32) -> bool {
        (offset / 4096).is_multiple_of(3)
    }

    fn release(&self, handle: u64) -> Option<Arc<File>> {
        self.counts.lock().handles.remove(&handle);
        None
    }

    fn opendir(&self, ino: Ino) -> Result<u64, TreeError> {
        match self.attr(ino)?.kind {
            NodeKind::Directory => Ok(self.handle(ino)),
            _ => Err(TreeError::NotADirectory(ino)),
        }
    }

    fn readdir(
        &self,
        handle: u64,
        offset: u64,
        plus: bool,
        take: &mut dyn FnMut(&DirEntry<'_>) -> ControlFlow<()>,
    ) -> Result<(), TreeError> {
        // Held to the end, so that a look-up from within `take` would never return.
        let mut counts = self.counts.lock();
        let ino = *counts
            .handles
            .get(&handle)
            .ok_or(TreeError::UnknownHandle(handle))?;
        let dots = [(".".to_owned(), ino), ("..".to_owned(), 1)];
        let rows = dots.into_iter().chain(children(ino));
        for (index, (name, child)) in rows.enumerate().skip(offset as usize) {
            let (name, child) = (&name, &child);
            let bare =
                index < 2 || matches!(child, 24 | 25) || *child >= FIRST_OF_MANY && child % 3 == 0;
            let entry = if plus && !bare {
                Some(self.entry(*child)?)
            } else {
                None
            };
            let kind = if *child == 24 {
                NodeKind::File
            } else {
                self.attr(*child)?.kind
            };
            let next_offset = index as u64 + 1;
            let row = DirEntry {
                name: OsStr::new(name),
                ino: *child,
                kind,
                next_offset,
                entry,
            };
            if take(&row).is_break() {
                break;
            }
            if row.entry.is_some() {
                *counts.lookups.entry(*child).or_default() += 1;
            }
        }
        Ok(())
    }

    fn releasedir(&self, handle: u64) {
        self.release(handle);
    }

    fn getxattr(&self, ino: Ino, name: &OsStr) -> Result<Vec<u8>, TreeError> {
        match name.to_str() {
            Some("user.delta.path") if ino == 20 => Ok(b"part-0.parquet".to_vec()),
            Some("user.delta.version") if ino == 20 => Ok(b"1".to_vec()),
            _ => Err(TreeError::NoAttribute(name.to_string_lossy().into_owned())),
        }
    }

    fn listxattr(&self, ino: Ino) -> Result<Vec<String>, TreeError> {
        Ok(match ino {
            20 => vec!["user.delta.path".into(), "user.delta.version".into()],
            _ => Vec::new(),
        })
    }

    fn capacity(&self) -> Option<Capacity> {
        if self.hangs {
            std::thread::sleep(FOREVER);
        }
        None
    }

    fn mkdir(&self, parent: Ino, _: &OsStr, _: NewFile) -> Result<Entry, TreeError> {
        Err(TreeError::ReadOnly(parent))
    }

    fn mknod(&self, parent: Ino, _: &OsStr, _: NewFile) -> Result<Entry, TreeError> {
        Err(TreeError::ReadOnly(parent))
    }

    fn create(
        &self,
        parent: Ino,
        _: &OsStr,
        _: NewFile,
        _: Access,
        _: bool,
    ) -> Result<(Entry, Opened), TreeError> {
        Err(TreeError::ReadOnly(parent))
    }

    fn unlink(&self, parent: Ino, _: &OsStr) -> Result<(), TreeError> {
        Err(TreeError::ReadOnly(parent))
    }

    fn rmdir(&self, parent: Ino, _: &OsStr) -> Result<(), TreeError> {
        Err(TreeError::ReadOnly(parent))
    }

    fn rename(
        &self,
        parent: Ino,
        _: &OsStr,
        _: Ino,
        _: &OsStr,
        _: Replacing,
    ) -> Result<(), TreeError> {
        Err(TreeError::ReadOnly(parent))
    }

    fn rename_commits(&self, _: Ino, _: &OsStr, _: Ino, _: &OsStr) -> bool {
        false
    }

    fn link(&self, ino: Ino, _: Ino, _: &OsStr) -> Result<Entry, TreeError> {
        Err(TreeError::ReadOnly(ino))
    }

    fn setattr(&self, ino: Ino, _: Option<u64>, _: Changes) -> Result<Entry, TreeError> {
        Err(TreeError::ReadOnly(ino))
    }

    fn write(&self, ino: Ino, _: u64, _: &[u8], _: u64) -> Result<usize, TreeError> {
        Err(TreeError::ReadOnly(ino))
    }

    fn allocate(&self, ino: Ino, _: u64, _: u32, _: Range) -> Result<(), TreeError> {
        Err(TreeError::ReadOnly(ino))
    }

    fn copy_range(
        &self,
        ino: Ino,
        _: (u64, u64),
        _: (u64, u64),
        _: u64,
    ) -> Result<usize, TreeError> {
        Err(TreeError::ReadOnly(ino))
    }

    fn seek(&self, handle: u64, what: Seek, offset: u64) -> Result<Option<u64>, TreeError> {
        let ino = self.counts.lock().handles.get(&handle).copied();
        let size = self
            .attr(ino.ok_or(TreeError::UnknownHandle(handle))?)?
            .size;
        Ok((offset < size).then_some(match what {
            Seek::Data => offset,
            Seek::Hole => size,
        }))
    }

    /// Of a marker: returns once [`TOGETHER`] of these wait.
    fn fsync(&self, ino: Ino, _: u64, _: bool) -> Result<(), TreeError> {
        assert!(ino >= MARKER, "the adapter answers the others");
        self.together.wait();
        Ok(())
    }

    fn written_before_commit(&self, _: Ino) -> Vec<Ino> {
        Vec::new()
    }

    fn fsyncdir(&self, _: Ino) -> Result<(), TreeError> {
        Ok(())
    }

    fn refuse_attribute(&self, ino: Ino) -> TreeError {
        TreeError::ReadOnly(ino)
    }

    fn refuse_special(&self, parent: Ino) -> TreeError {
        TreeError::ReadOnly(parent)
    }
}
