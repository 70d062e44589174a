//! How an open is answered.

use std::fs::File;
use std::io;
use std::sync::Arc;

use fuser::{
    BackingId, Errno, FileHandle, FopenFlags, Generation, OpenAccMode, OpenFlags, ReplyCreate,
    ReplyOpen,
};

use super::super::nodes::Nodes;
use super::super::slots::{Identity, Mode};
use super::Adapter;
use crate::storage::posix::Access;
use crate::tree::{Entry, Ino, Opened};

/// Files of the table smaller than this, bytes, do not pass through the kernel on a mount that may be
/// written to: there each read that passes through makes the kernel ask for the file's attributes at
/// the next `fstat`, since the access time may have changed, while a read from the page cache does
/// not. Programs that ask before each read pay more for that than passing through saves them, as
/// long as reads are small.
const CACHED_BELOW: u64 = 16 << 20;

/// What the flags of an open allow.
pub(super) fn access(flags: OpenFlags) -> Access {
    match flags.acc_mode() {
        OpenAccMode::O_RDONLY => Access::Read,
        OpenAccMode::O_WRONLY => Access::Write,
        OpenAccMode::O_RDWR => Access::ReadWrite,
    }
}

impl<N: Nodes> Adapter<N> {
    /// The size from which on files of the table pass through the kernel; `None` where none do.
    pub(super) fn passes_from(&self) -> Option<u64> {
        let least = if self.writable { CACHED_BELOW } else { 0 };
        self.slots.passthrough().then_some(least)
    }

    /// Answers an open in the way the inode is being served.
    pub(super) fn reply_opened(&self, ino: Ino, opened: &Opened, how: OpenFlags, reply: ReplyOpen) {
        let (flags, id) = self.serve(ino, opened, how, |file| reply.open_backing(file));
        let handle = FileHandle(opened.handle);
        match id {
            Some(id) => reply.opened_passthrough(handle, flags, &id),
            None => reply.opened(handle, flags),
        }
    }

    /// Answers the creation of a file.
    pub(super) fn reply_created(
        &self,
        created: Result<(Entry, Opened), Errno>,
        how: OpenFlags,
        reply: ReplyCreate,
    ) {
        let (entry, opened) = match created {
            Ok(created) => created,
            Err(errno) => return reply.error(errno),
        };
        let ino = entry.attr.ino;
        let (flags, id) = self.serve(ino, &opened, how, |file| reply.open_backing(file));
        let attr = self.ownership.file_attr(&entry.attr);
        let handle = FileHandle(opened.handle);
        // The kernel keeps one time to live for name and attributes here.
        let ttl = entry.entry_ttl.min(entry.attr_ttl);
        match id {
            Some(id) => {
                reply.created_passthrough(&ttl, &attr, Generation(0), handle, flags, &id);
            }
            None => reply.created(&ttl, &attr, Generation(0), handle, flags),
        }
    }

    /// Counts an open and decides how it is served.
    fn serve(
        &self,
        ino: Ino,
        opened: &Opened,
        how: OpenFlags,
        register: impl FnOnce(&File) -> io::Result<BackingId>,
    ) -> (FopenFlags, Option<Arc<BackingId>>) {
        let backing = self.backing(ino, opened);
        let register = || match backing {
            Some((file, _)) => register(file),
            None => Err(io::ErrorKind::Unsupported.into()),
        };
        let cached = opened.immutable || opened.staged;
        let mode = self
            .slots
            .open(ino, backing.map(|(_, is)| is), cached, register);
        // `NOFLUSH` spares a request at each close where nothing can be dirty.
        match mode {
            Mode::Passthrough(id) => {
                let mut flags = FopenFlags::FOPEN_NOFLUSH;
                // The kernel opens the backing file with `O_DIRECT` too, and keeps it so when a
                // program takes the flag back for the last bytes of a file, as dd does: they would
                // be EINVAL. With this flag, such reads and writes come to us instead.
                flags.set(
                    FopenFlags::FOPEN_DIRECT_IO,
                    opened.staged && how.0 & libc::O_DIRECT != 0,
                );
                (flags, Some(id))
            }
            Mode::Cached => (self.cached(opened, access(how)), None),
            Mode::Direct => {
                let flags = FopenFlags::FOPEN_DIRECT_IO | FopenFlags::FOPEN_NOFLUSH;
                (flags, None)
            }
        }
    }

    /// The file that the kernel may be given for an open one, and which that is.
    fn backing<'o>(&self, ino: Ino, opened: &'o Opened) -> Option<(&'o File, Identity)> {
        let least = match opened.staged {
            true => self.slots.passthrough().then_some(0),
            false => self.passes_from(),
        }?;
        let file = opened.backing.as_deref()?;
        match identity(file, opened.staged) {
            Ok(identity) => (identity.size >= least).then_some((file, identity)),
            Err(error) => {
                tracing::debug!(ino, %error, "stat of the backing file failed");
                None
            }
        }
    }

    /// A file that has passed through the kernel before may have changed without the page cache
    /// knowing. One that was written to by way of a mapping has dirty pages when it is closed.
    fn cached(&self, opened: &Opened, access: Access) -> FopenFlags {
        let mut flags = FopenFlags::empty();
        flags.set(
            FopenFlags::FOPEN_KEEP_CACHE,
            !opened.staged || !self.slots.passthrough(),
        );
        flags.set(
            FopenFlags::FOPEN_NOFLUSH,
            !opened.staged || !access.writes(),
        );
        flags
    }
}

/// A staged file is the same as long as the kernel knows it, whatever is written to it.
fn identity(file: &File, staged: bool) -> io::Result<Identity> {
    let stat = rustix::fs::fstat(file)?;
    let (size, modified) = match staged {
        true => (0, (0, 0)),
        false => (
            stat.st_size.unsigned_abs(),
            (stat.st_mtime, stat.st_mtime_nsec),
        ),
    };
    Ok(Identity {
        device: stat.st_dev,
        inode: stat.st_ino,
        size,
        modified,
        is_nameless: stat.st_nlink == 0,
    })
}
