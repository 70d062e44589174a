//! The kernel's requests, one by one: one span, one call into the tree, one reply.

use std::cell::RefCell;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use fuser::{
    AccessFlags, BackingId, BsdFileFlags, CopyFileRangeFlags, Errno, FileHandle, Filesystem,
    FopenFlags, Generation, INodeNo, IoctlFlags, KernelConfig, LockOwner, OpenAccMode, OpenFlags,
    PollEvents, PollNotifier, RenameFlags, ReplyAttr, ReplyBmap, ReplyCreate, ReplyData,
    ReplyDirectory, ReplyDirectoryPlus, ReplyEmpty, ReplyEntry, ReplyIoctl, ReplyLseek, ReplyOpen,
    ReplyPoll, ReplyStatfs, ReplyWrite, ReplyXattr, Request, TimeOrNow, WriteFlags,
};
use tracing::debug_span;

use super::call::{Context, call, notify};
use super::capabilities;
use super::listing::{self, Listed};
use super::nodes::Nodes;
use super::presentation::Presentation;
use super::slots::{Identity, Mode, Slots};
use super::slow::SlowLane;
use super::space;
use crate::tree::{Entry, Ino, Opened, TreeError};

thread_local! {
    /// Where a worker thread puts the bytes of a READ before they go to the kernel. It grows to the
    /// largest read, which the kernel bounds, and stays.
    static READ_BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// A tree as a FUSE file system. Read-only: whatever would change something is EROFS.
#[derive(Debug)]
pub(super) struct Adapter<N> {
    nodes: Arc<N>,
    shown: Presentation,
    slots: Slots<BackingId>,
    slow: SlowLane,
    passthrough: bool,
}

impl<N: Nodes> Adapter<N> {
    /// `passthrough` says whether to use kernel passthrough where the kernel allows it.
    pub fn new(nodes: Arc<N>, shown: Presentation, passthrough: bool) -> Self {
        Adapter {
            nodes,
            shown,
            slots: Slots::new(false),
            slow: SlowLane::default(),
            passthrough,
        }
    }

    fn reply_entry(&self, found: Result<Entry, Errno>, reply: ReplyEntry) {
        match found {
            Ok(entry) => reply.entry_with_ttls(
                &entry.attr_ttl,
                &entry.entry_ttl,
                &self.shown.file_attr(&entry.attr),
                Generation(0),
            ),
            Err(errno) => reply.error(errno),
        }
    }

    fn forget_one(&self, ino: Ino, count: u64) {
        if listing::is_unknown(ino) {
            return;
        }
        notify(
            Context {
                operation: "forget",
                ino,
            },
            || self.nodes.forget(ino, count),
        );
        self.slots.forget(ino);
    }

    /// Answers an open in the way the inode is being served. `NOFLUSH` spares a request at each
    /// close: nothing is ever dirty.
    fn reply_opened(&self, ino: Ino, opened: &Opened, reply: ReplyOpen) {
        let backing = match &opened.backing {
            Some(file) if self.slots.passthrough() => match identity(file) {
                Ok(identity) => Some((file, identity)),
                Err(error) => {
                    tracing::debug!(ino, %error, "stat of the backing file failed");
                    None
                }
            },
            _ => None,
        };
        let register = || match backing {
            Some((file, _)) => reply.open_backing(file.as_ref()),
            None => Err(io::ErrorKind::Unsupported.into()),
        };
        let mode = self
            .slots
            .open(ino, backing.map(|(_, is)| is), opened.immutable, register);
        let handle = FileHandle(opened.handle);
        match mode {
            Mode::Passthrough(id) => {
                reply.opened_passthrough(handle, FopenFlags::FOPEN_NOFLUSH, &id);
            }
            Mode::Cached => {
                reply.opened(
                    handle,
                    FopenFlags::FOPEN_KEEP_CACHE | FopenFlags::FOPEN_NOFLUSH,
                );
            }
            Mode::Direct => {
                reply.opened(
                    handle,
                    FopenFlags::FOPEN_DIRECT_IO | FopenFlags::FOPEN_NOFLUSH,
                );
            }
        }
    }
}

fn read<N: Nodes>(nodes: &N, ino: Ino, handle: u64, offset: u64, size: u32, reply: ReplyData) {
    let _span = debug_span!("read", ino, offset, size).entered();
    READ_BUFFER.with_borrow_mut(|buffer| {
        let size = size as usize;
        if buffer.len() < size {
            buffer.resize(size, 0);
        }
        let context = Context {
            operation: "read",
            ino,
        };
        let wanted = &mut buffer[..size];
        match call(context, || nodes.read(handle, wanted, offset)) {
            Ok(count) => reply.data(&buffer[..count.min(size)]),
            Err(errno) => reply.error(errno),
        }
    });
}

fn identity(file: &File) -> io::Result<Identity> {
    let stat = rustix::fs::fstat(file)?;
    Ok(Identity {
        device: stat.st_dev,
        inode: stat.st_ino,
        size: stat.st_size.unsigned_abs(),
        modified: (stat.st_mtime, stat.st_mtime_nsec),
    })
}

/// Answers a request for an attribute of which `value` is what the caller wants to have, in a
/// buffer of `size` bytes; 0 asks for the size only.
fn reply_xattr(value: Result<Vec<u8>, Errno>, size: u32, reply: ReplyXattr) {
    match value {
        Err(errno) => reply.error(errno),
        Ok(value) => match u32::try_from(value.len()) {
            Ok(length) if size == 0 => reply.size(length),
            Ok(length) if length <= size => reply.data(&value),
            Ok(_) => reply.error(Errno::ERANGE),
            Err(_) => reply.error(Errno::E2BIG),
        },
    }
}

impl<N: Nodes> Filesystem for Adapter<N> {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        let passthrough = capabilities::negotiate(config, self.passthrough);
        self.slots = Slots::new(passthrough);
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let _span = debug_span!("lookup", parent = parent.0, ?name).entered();
        let context = Context {
            operation: "lookup",
            ino: parent.0,
        };
        self.reply_entry(call(context, || self.nodes.lookup(parent.0, name)), reply);
    }

    fn forget(&self, _: &Request, ino: INodeNo, count: u64) {
        let _span = debug_span!("forget", ino = ino.0, count).entered();
        self.forget_one(ino.0, count);
    }

    // `batch_forget` is a loop over `forget` by default, which is what is wanted.

    fn getattr(&self, _: &Request, ino: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        let _span = debug_span!("getattr", ino = ino.0).entered();
        match call(
            Context {
                operation: "getattr",
                ino: ino.0,
            },
            || self.nodes.getattr(ino.0),
        ) {
            Ok(entry) => reply.attr(&entry.attr_ttl, &self.shown.file_attr(&entry.attr)),
            Err(errno) => reply.error(errno),
        }
    }

    fn readlink(&self, _: &Request, ino: INodeNo, reply: ReplyData) {
        let _span = debug_span!("readlink", ino = ino.0).entered();
        match call(
            Context {
                operation: "readlink",
                ino: ino.0,
            },
            || self.nodes.readlink(ino.0),
        ) {
            Ok(target) => reply.data(target.as_bytes()),
            Err(errno) => reply.error(errno),
        }
    }

    fn open(&self, _: &Request, ino: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        let _span = debug_span!("open", ino = ino.0, flags = flags.0).entered();
        if flags.acc_mode() != OpenAccMode::O_RDONLY || flags.0 & libc::O_TRUNC != 0 {
            return reply.error(Errno::EROFS);
        }
        match call(
            Context {
                operation: "open",
                ino: ino.0,
            },
            || self.nodes.open(ino.0),
        ) {
            Ok(opened) => self.reply_opened(ino.0, &opened, reply),
            Err(errno) => reply.error(errno),
        }
    }

    fn read(
        &self,
        _: &Request,
        ino: INodeNo,
        handle: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        if self.nodes.read_takes_long(handle.0, offset, size) {
            let nodes = self.nodes.clone();
            self.slow
                .run(move || read(&*nodes, ino.0, handle.0, offset, size, reply));
        } else {
            read(&*self.nodes, ino.0, handle.0, offset, size, reply);
        }
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }

    fn release(
        &self,
        _: &Request,
        ino: INodeNo,
        handle: FileHandle,
        _: OpenFlags,
        _: Option<LockOwner>,
        _: bool,
        reply: ReplyEmpty,
    ) {
        let _span = debug_span!("release", ino = ino.0).entered();
        notify(
            Context {
                operation: "release",
                ino: ino.0,
            },
            || self.nodes.release(handle.0),
        );
        self.slots.release(ino.0);
        reply.ok();
    }

    // ENOSYS from the next two would tell the kernel never to ask again, for the whole mount.
    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        reply.ok();
    }

    fn fsyncdir(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        reply.ok();
    }

    // The kernel is not to cache listings itself (FOPEN_CACHE_DIR): that is slower than asking.
    fn opendir(&self, _: &Request, ino: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        let _span = debug_span!("opendir", ino = ino.0).entered();
        match call(
            Context {
                operation: "opendir",
                ino: ino.0,
            },
            || self.nodes.opendir(ino.0),
        ) {
            Ok(handle) => reply.opened(FileHandle(handle), FopenFlags::empty()),
            Err(errno) => reply.error(errno),
        }
    }

    fn readdir(
        &self,
        _: &Request,
        ino: INodeNo,
        handle: FileHandle,
        offset: u64,
        reply: ReplyDirectory,
    ) {
        let _span = debug_span!("readdir", ino = ino.0, offset).entered();
        listing::plain(
            &*self.nodes,
            Listed {
                ino: ino.0,
                handle: handle.0,
                offset,
            },
            reply,
        );
    }

    fn readdirplus(
        &self,
        _: &Request,
        ino: INodeNo,
        handle: FileHandle,
        offset: u64,
        reply: ReplyDirectoryPlus,
    ) {
        let _span = debug_span!("readdirplus", ino = ino.0, offset).entered();
        let listed = Listed {
            ino: ino.0,
            handle: handle.0,
            offset,
        };
        listing::plus(&*self.nodes, &self.shown, listed, reply);
    }

    fn releasedir(
        &self,
        _: &Request,
        ino: INodeNo,
        handle: FileHandle,
        _: OpenFlags,
        reply: ReplyEmpty,
    ) {
        let _span = debug_span!("releasedir", ino = ino.0).entered();
        notify(
            Context {
                operation: "releasedir",
                ino: ino.0,
            },
            || {
                self.nodes.releasedir(handle.0);
            },
        );
        reply.ok();
    }

    fn statfs(&self, _: &Request, ino: INodeNo, reply: ReplyStatfs) {
        let _span = debug_span!("statfs", ino = ino.0).entered();
        let context = Context {
            operation: "statfs",
            ino: ino.0,
        };
        match call(context, || Ok::<_, TreeError>(self.nodes.capacity())) {
            Ok(capacity) => space::reply(capacity, reply),
            Err(errno) => reply.error(errno),
        }
    }

    fn getxattr(&self, _: &Request, ino: INodeNo, name: &OsStr, size: u32, reply: ReplyXattr) {
        let _span = debug_span!("getxattr", ino = ino.0, ?name).entered();
        // `ls -l` asks for security.* and system.* of every file, until one answer is that the file
        // system has none of those. ENODATA is no such answer.
        if !name.as_bytes().starts_with(b"user.") {
            return reply.error(Errno::EOPNOTSUPP);
        }
        let context = Context {
            operation: "getxattr",
            ino: ino.0,
        };
        reply_xattr(
            call(context, || self.nodes.getxattr(ino.0, name)),
            size,
            reply,
        );
    }

    fn listxattr(&self, _: &Request, ino: INodeNo, size: u32, reply: ReplyXattr) {
        let _span = debug_span!("listxattr", ino = ino.0).entered();
        let context = Context {
            operation: "listxattr",
            ino: ino.0,
        };
        let names = call(context, || self.nodes.listxattr(ino.0));
        let joined = names.map(|names| {
            names
                .iter()
                .flat_map(|name| name.bytes().chain(std::iter::once(0)))
                .collect()
        });
        reply_xattr(joined, size, reply);
    }

    // Only sent without `default_permissions`.
    fn access(&self, _: &Request, _: INodeNo, mask: AccessFlags, reply: ReplyEmpty) {
        if mask.contains(AccessFlags::W_OK) {
            return reply.error(Errno::EROFS);
        }
        reply.ok();
    }

    // ENOSYS, sent once, makes the kernel find data and holes by the size alone: all is data.
    fn lseek(&self, _: &Request, _: INodeNo, _: FileHandle, _: i64, _: i32, reply: ReplyLseek) {
        reply.error(Errno::ENOSYS);
    }

    // ENOSYS, sent once, makes every file always ready, as files on disk are.
    fn poll(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        _: PollNotifier,
        _: PollEvents,
        _: fuser::PollFlags,
        reply: ReplyPoll,
    ) {
        reply.error(Errno::ENOSYS);
    }

    fn ioctl(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        _: IoctlFlags,
        _: u32,
        _: &[u8],
        _: u32,
        reply: ReplyIoctl,
    ) {
        reply.error(Errno::ENOTTY);
    }

    // There is no block device to map to.
    fn bmap(&self, _: &Request, _: INodeNo, _: u32, _: u64, reply: ReplyBmap) {
        reply.error(Errno::ENOTTY);
    }

    // `getlk` and `setlk` are not asked for: the kernel keeps locks itself.

    fn setattr(
        &self,
        _: &Request,
        _: INodeNo,
        _: Option<u32>,
        _: Option<u32>,
        _: Option<u32>,
        _: Option<u64>,
        _: Option<TimeOrNow>,
        _: Option<TimeOrNow>,
        _: Option<SystemTime>,
        _: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        reply.error(Errno::EROFS);
    }

    fn mknod(&self, _: &Request, _: INodeNo, _: &OsStr, _: u32, _: u32, _: u32, reply: ReplyEntry) {
        reply.error(Errno::EROFS);
    }

    fn mkdir(&self, _: &Request, _: INodeNo, _: &OsStr, _: u32, _: u32, reply: ReplyEntry) {
        reply.error(Errno::EROFS);
    }

    fn unlink(&self, _: &Request, _: INodeNo, _: &OsStr, reply: ReplyEmpty) {
        reply.error(Errno::EROFS);
    }

    fn rmdir(&self, _: &Request, _: INodeNo, _: &OsStr, reply: ReplyEmpty) {
        reply.error(Errno::EROFS);
    }

    fn symlink(&self, _: &Request, _: INodeNo, _: &OsStr, _: &Path, reply: ReplyEntry) {
        reply.error(Errno::EROFS);
    }

    fn rename(
        &self,
        _: &Request,
        _: INodeNo,
        _: &OsStr,
        _: INodeNo,
        _: &OsStr,
        _: RenameFlags,
        reply: ReplyEmpty,
    ) {
        reply.error(Errno::EROFS);
    }

    fn link(&self, _: &Request, _: INodeNo, _: INodeNo, _: &OsStr, reply: ReplyEntry) {
        reply.error(Errno::EROFS);
    }

    fn create(
        &self,
        _: &Request,
        _: INodeNo,
        _: &OsStr,
        _: u32,
        _: u32,
        _: i32,
        reply: ReplyCreate,
    ) {
        reply.error(Errno::EROFS);
    }

    fn write(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        _: u64,
        _: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        reply.error(Errno::EROFS);
    }

    fn setxattr(
        &self,
        _: &Request,
        _: INodeNo,
        _: &OsStr,
        _: &[u8],
        _: i32,
        _: u32,
        reply: ReplyEmpty,
    ) {
        reply.error(Errno::EROFS);
    }

    fn removexattr(&self, _: &Request, _: INodeNo, _: &OsStr, reply: ReplyEmpty) {
        reply.error(Errno::EROFS);
    }

    fn fallocate(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        _: u64,
        _: u64,
        _: i32,
        reply: ReplyEmpty,
    ) {
        reply.error(Errno::EROFS);
    }

    fn copy_file_range(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        _: u64,
        _: INodeNo,
        _: FileHandle,
        _: u64,
        _: u64,
        _: CopyFileRangeFlags,
        reply: ReplyWrite,
    ) {
        reply.error(Errno::EROFS);
    }
}
