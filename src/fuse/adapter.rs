//! The kernel's requests, one by one: one span, one call into the tree, one reply.

mod opening;
mod reads;
mod writes;

use std::ffi::OsStr;
use std::io;
use std::num::NonZeroUsize;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use fuser::{
    AccessFlags, BackingId, BsdFileFlags, CopyFileRangeFlags, Errno, FileHandle, Filesystem,
    FopenFlags, Generation, INodeNo, IoctlFlags, KernelConfig, LockOwner, OpenFlags, PollEvents,
    PollNotifier, RenameFlags, ReplyAttr, ReplyBmap, ReplyCreate, ReplyData, ReplyDirectory,
    ReplyDirectoryPlus, ReplyEmpty, ReplyEntry, ReplyIoctl, ReplyLseek, ReplyOpen, ReplyPoll,
    ReplyStatfs, ReplyWrite, ReplyXattr, Request, TimeOrNow, WriteFlags,
};
use tracing::debug_span;

use super::call::{Context, call, notify};
use super::capabilities;
use super::kernel::Kernel;
use super::listing::{self, Listed};
use super::mount::MountOptions;
use super::nodes::Nodes;
use super::ownership::Ownership;
use super::readers::Readers;
use super::slots::Slots;
use super::slow::{Pending, SlowLane};
use super::space;
use crate::storage::posix;
use crate::tree::{Changes, Entry, Ino, TreeError};

/// Threads for reads that take long. They share the work of each with as many threads as there are
/// cores, so that a few are enough.
const SLOW_THREADS: NonZeroUsize = NonZeroUsize::new(4).expect("not zero");

/// Threads for requests that wait for the disk: as many commits and fsyncs as are under way at once
/// before further ones wait for these.
const DURABLE_THREADS: NonZeroUsize = NonZeroUsize::new(128).expect("not zero");

/// A tree as a FUSE file system.
#[derive(Debug)]
pub(super) struct Adapter<N: Nodes> {
    nodes: Arc<N>,
    ownership: Ownership,
    slots: Slots<BackingId>,
    /// For reads that first have to make what they read.
    slow: SlowLane,
    /// For requests that wait for the disk, and for commits.
    durable: SlowLane,
    passthrough: bool,
    writable: bool,
    /// For mounts that the kernel opens files of without asking.
    readers: Option<Readers<N>>,
    kernel: Kernel,
}

impl<N: Nodes> Adapter<N> {
    /// The adapter of a mount with these options. Where files are opened without asking, nothing
    /// passes through the kernel.
    pub fn new(nodes: Arc<N>, options: &MountOptions) -> Self {
        let fast_open = options.fast_open && options.read_only;
        Adapter {
            readers: fast_open.then(|| Readers::new(nodes.clone())),
            nodes,
            ownership: options.ownership,
            slots: Slots::new(false),
            slow: SlowLane::new("slow", SLOW_THREADS),
            durable: SlowLane::new("durable", DURABLE_THREADS),
            passthrough: options.passthrough && !fast_open,
            writable: !options.read_only,
            kernel: Kernel::default(),
        }
    }

    /// The kernel, for what it is to be told; there once the mount is served.
    pub fn kernel(&self) -> Kernel {
        self.kernel.clone()
    }

    /// Requests that wait for the disk, commits among them.
    pub fn pending(&self) -> Pending {
        self.durable.pending()
    }

    fn reply_entry(&self, found: Result<Entry, Errno>, reply: ReplyEntry) {
        match found {
            Ok(entry) => reply.entry_with_ttls(
                &entry.attr_ttl,
                &entry.entry_ttl,
                &self.ownership.file_attr(&entry.attr),
                Generation(0),
            ),
            Err(errno) => reply.error(errno),
        }
    }

    fn forget_one(&self, ino: Ino, count: u64) {
        if listing::is_unknown(ino) {
            return;
        }
        notify(Context::new("forget", ino), || {
            self.nodes.forget(ino, count)
        });
        self.slots.forget(ino);
        if let Some(readers) = &self.readers {
            readers.forget(ino);
        }
    }
}

impl<N: Nodes> Filesystem for Adapter<N> {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        if self.readers.is_some() && !capabilities::negotiate_fast_open(config) {
            tracing::warn!("this kernel asks at every open: fast_open changes nothing");
            self.readers = None;
        }
        let passthrough = capabilities::negotiate(config, self.passthrough, self.writable);
        self.slots = Slots::new(passthrough);
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let _span = debug_span!("lookup", parent = parent.0, ?name).entered();
        let context = Context::new("lookup", parent.0);
        let found = call(context, || self.nodes.lookup(parent.0, name));
        self.reply_entry(found.and_then(|entry| self.opened_before(entry)), reply);
    }

    fn forget(&self, _: &Request, ino: INodeNo, count: u64) {
        let _span = debug_span!("forget", ino = ino.0, count).entered();
        self.forget_one(ino.0, count);
    }

    // `batch_forget` is a loop over `forget` by default, which is what is wanted.

    fn getattr(&self, _: &Request, ino: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        let _span = debug_span!("getattr", ino = ino.0).entered();
        match call(Context::new("getattr", ino.0), || self.nodes.getattr(ino.0)) {
            Ok(entry) => reply.attr(&entry.attr_ttl, &self.ownership.file_attr(&entry.attr)),
            Err(errno) => reply.error(errno),
        }
    }

    fn readlink(&self, _: &Request, ino: INodeNo, reply: ReplyData) {
        let _span = debug_span!("readlink", ino = ino.0).entered();
        match call(Context::new("readlink", ino.0), || {
            self.nodes.readlink(ino.0)
        }) {
            Ok(target) => reply.data(target.as_bytes()),
            Err(errno) => reply.error(errno),
        }
    }

    fn open(&self, _: &Request, ino: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        let _span = debug_span!("open", ino = ino.0, flags = flags.0).entered();
        // ENOSYS, sent once, keeps the kernel from asking ever again: not at a close either.
        if self.readers.is_some() {
            return reply.error(Errno::ENOSYS);
        }
        let access = opening::access(flags);
        let context = Context::new("open", ino.0);
        let backed_from = self.passes_from();
        match call(context, || {
            self.nodes.open_backed(ino.0, access, backed_from)
        }) {
            Ok(opened) => self.reply_opened(ino.0, &opened, flags, reply),
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
        self.read_range(ino.0, handle.0, offset, size, reply);
    }

    // ENOSYS, sent once, keeps the kernel from asking at each close.
    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        if self.readers.is_some() {
            return reply.error(Errno::ENOSYS);
        }
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
        notify(Context::new("release", ino.0), || {
            if let Some(written) = self.nodes.release(handle.0) {
                // It may have to wait until the disk takes more.
                self.durable.run(move || posix::begin_writeback(&written));
            }
        });
        self.slots.release(ino.0);
        reply.ok();
    }

    // ENOSYS from the next two would tell the kernel never to ask again, for the whole mount.
    fn fsync(
        &self,
        _: &Request,
        ino: INodeNo,
        handle: FileHandle,
        datasync: bool,
        reply: ReplyEmpty,
    ) {
        let _span = debug_span!("fsync", ino = ino.0, datasync).entered();
        self.make_durable(ino.0, handle.0, datasync, reply);
    }

    fn fsyncdir(&self, _: &Request, ino: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        let _span = debug_span!("fsyncdir", ino = ino.0).entered();
        self.make_names_durable(ino.0, reply);
    }

    // The kernel is not to cache listings itself (FOPEN_CACHE_DIR): that is slower than asking.
    fn opendir(&self, _: &Request, ino: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        let _span = debug_span!("opendir", ino = ino.0).entered();
        match call(Context::new("opendir", ino.0), || self.nodes.opendir(ino.0)) {
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
        listing::plus(&*self.nodes, &self.ownership, listed, reply);
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
        notify(Context::new("releasedir", ino.0), || {
            self.nodes.releasedir(handle.0);
        });
        reply.ok();
    }

    fn statfs(&self, _: &Request, ino: INodeNo, reply: ReplyStatfs) {
        let _span = debug_span!("statfs", ino = ino.0).entered();
        let context = Context::new("statfs", ino.0);
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
        let context = Context::new("getxattr", ino.0);
        reads::reply_xattr(
            call(context, || self.nodes.getxattr(ino.0, name)),
            size,
            reply,
        );
    }

    fn listxattr(&self, _: &Request, ino: INodeNo, size: u32, reply: ReplyXattr) {
        let _span = debug_span!("listxattr", ino = ino.0).entered();
        let context = Context::new("listxattr", ino.0);
        let names = call(context, || self.nodes.listxattr(ino.0));
        reads::reply_xattr(names.map(|names| reads::joined(&names)), size, reply);
    }

    // Only sent without `default_permissions`.
    fn access(&self, _: &Request, _: INodeNo, mask: AccessFlags, reply: ReplyEmpty) {
        if mask.contains(AccessFlags::W_OK) {
            return reply.error(Errno::EROFS);
        }
        reply.ok();
    }

    fn lseek(
        &self,
        _: &Request,
        ino: INodeNo,
        handle: FileHandle,
        offset: i64,
        whence: i32,
        reply: ReplyLseek,
    ) {
        self.seek(ino.0, handle.0, offset, whence, reply);
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
        ino: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        size: Option<u64>,
        accessed: Option<TimeOrNow>,
        modified: Option<TimeOrNow>,
        _: Option<SystemTime>,
        handle: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let changes = Changes {
            permissions: mode.map(|mode| (mode & 0o7777) as u16),
            uid,
            gid,
            size,
            accessed: writes::time_change(accessed),
            modified: writes::time_change(modified),
        };
        let _span = debug_span!("setattr", ino = ino.0, ?changes).entered();
        self.change(ino.0, handle.map(|handle| handle.0), changes, reply);
    }

    fn mknod(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _: u32,
        _: u32,
        reply: ReplyEntry,
    ) {
        let _span = debug_span!("mknod", parent = parent.0, ?name, mode).entered();
        self.make_node(parent.0, name, mode, writes::new_file(request, mode), reply);
    }

    fn mkdir(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _: u32,
        reply: ReplyEntry,
    ) {
        let _span = debug_span!("mkdir", parent = parent.0, ?name, mode).entered();
        let context = Context::new("mkdir", parent.0);
        let new = writes::new_file(request, mode);
        self.reply_entry(
            call(context, || self.nodes.mkdir(parent.0, name, new)),
            reply,
        );
    }

    fn unlink(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let _span = debug_span!("unlink", parent = parent.0, ?name).entered();
        let context = Context::new("unlink", parent.0);
        writes::done(call(context, || self.nodes.unlink(parent.0, name)), reply);
    }

    fn rmdir(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let _span = debug_span!("rmdir", parent = parent.0, ?name).entered();
        let context = Context::new("rmdir", parent.0);
        writes::done(call(context, || self.nodes.rmdir(parent.0, name)), reply);
    }

    fn symlink(&self, _: &Request, parent: INodeNo, _: &OsStr, _: &Path, reply: ReplyEntry) {
        let context = Context::new("symlink", parent.0);
        let refused = call(context, || Err(self.nodes.refuse_special(parent.0)));
        self.reply_entry(refused, reply);
    }

    fn rename(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        new_parent: INodeNo,
        new_name: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        let _span = debug_span!("rename", parent = parent.0, ?name, ?new_name).entered();
        self.move_name((parent.0, name), (new_parent.0, new_name), flags, reply);
    }

    fn link(
        &self,
        _: &Request,
        ino: INodeNo,
        new_parent: INodeNo,
        new_name: &OsStr,
        reply: ReplyEntry,
    ) {
        let _span = debug_span!("link", ino = ino.0, ?new_name).entered();
        let context = Context::new("link", ino.0);
        let linked = call(context, || self.nodes.link(ino.0, new_parent.0, new_name));
        self.reply_entry(linked, reply);
    }

    fn create(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _: u32,
        flags: i32,
        reply: ReplyCreate,
    ) {
        let _span = debug_span!("create", parent = parent.0, ?name, mode, flags).entered();
        let access = opening::access(OpenFlags(flags));
        let exclusive = flags & libc::O_EXCL != 0;
        let new = writes::new_file(request, mode);
        let context = Context::new("create", parent.0);
        let created = call(context, || {
            self.nodes.create(parent.0, name, new, access, exclusive)
        });
        self.reply_created(created, OpenFlags(flags), reply);
    }

    fn write(
        &self,
        _: &Request,
        ino: INodeNo,
        handle: FileHandle,
        offset: u64,
        bytes: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let _span = debug_span!("write", ino = ino.0, offset, size = bytes.len()).entered();
        let context = Context::new("write", ino.0);
        let outcome = call(context, || self.nodes.write(ino.0, handle.0, bytes, offset));
        writes::written(outcome, reply);
    }

    fn setxattr(
        &self,
        _: &Request,
        ino: INodeNo,
        _: &OsStr,
        _: &[u8],
        _: i32,
        _: u32,
        reply: ReplyEmpty,
    ) {
        let context = Context::new("setxattr", ino.0);
        let refused = call(context, || Err(self.nodes.refuse_attribute(ino.0)));
        writes::done(refused, reply);
    }

    fn removexattr(&self, _: &Request, ino: INodeNo, _: &OsStr, reply: ReplyEmpty) {
        let context = Context::new("removexattr", ino.0);
        let refused = call(context, || Err(self.nodes.refuse_attribute(ino.0)));
        writes::done(refused, reply);
    }

    fn fallocate(
        &self,
        _: &Request,
        ino: INodeNo,
        handle: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        let _span = debug_span!("fallocate", ino = ino.0, offset, length, mode).entered();
        let context = Context::new("fallocate", ino.0);
        let range = posix::Range { offset, length };
        let flags = mode.cast_unsigned();
        let outcome = call(context, || {
            self.nodes.allocate(ino.0, handle.0, flags, range)
        });
        writes::done(outcome, reply);
    }

    fn copy_file_range(
        &self,
        _: &Request,
        _: INodeNo,
        from: FileHandle,
        from_offset: u64,
        ino: INodeNo,
        to: FileHandle,
        to_offset: u64,
        length: u64,
        _: CopyFileRangeFlags,
        reply: ReplyWrite,
    ) {
        let _span = debug_span!("copy_file_range", ino = ino.0, length).entered();
        self.copy(
            ino.0,
            (from.0, from_offset),
            (to.0, to_offset),
            length,
            reply,
        );
    }
}
