//! Answers that carry bytes.

use std::cell::RefCell;
use std::sync::Arc;

use fuser::{Errno, ReplyData, ReplyLseek, ReplyXattr};
use tracing::debug_span;

use super::super::call::{Context, call};
use super::super::nodes::Nodes;
use super::super::readers::Reader;
use super::Adapter;
use crate::storage::posix::Seek;
use crate::tree::{Entry, Ino, NodeKind};

thread_local! {
    /// Where a worker thread puts the bytes of a READ before they go to the kernel. It grows to the
    /// largest read, which the kernel bounds, and stays.
    static READ_BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Behind all that a file has.
const BEHIND: u64 = i64::MAX.unsigned_abs();

/// The handle that a read is from, and what keeps it open where the kernel has opened no file.
type ReadFrom<N> = (u64, Option<Arc<Reader<N>>>);

impl<N: Nodes> Adapter<N> {
    /// Where the kernel will not ask at an open, finding a name tells already why its file cannot be
    /// opened.
    pub(super) fn opened_before(&self, entry: Entry) -> Result<Entry, Errno> {
        let ino = entry.attr.ino;
        match &self.readers {
            Some(readers) if entry.attr.kind == NodeKind::File => match readers.of(ino) {
                Ok(_) => Ok(entry),
                Err(errno) => {
                    self.forget_one(ino, 1);
                    Err(errno)
                }
            },
            _ => Ok(entry),
        }
    }

    /// READ, away from the threads that answer all else where it takes long.
    pub(super) fn read_range(
        &self,
        ino: Ino,
        handle: u64,
        offset: u64,
        size: u32,
        reply: ReplyData,
    ) {
        let (handle, reader) = match self.read_from(ino, handle) {
            Ok(from) => from,
            Err(errno) => return reply.error(errno),
        };
        if self.nodes.read_takes_long(handle, offset, size) {
            let nodes = self.nodes.clone();
            self.slow.run(move || {
                read(&*nodes, ino, handle, offset, size, reply);
                drop(reader);
            });
        } else {
            read(&*self.nodes, ino, handle, offset, size, reply);
        }
    }

    /// LSEEK, which comes for data and holes only. Where the holes are is known of a file that has been
    /// made.
    pub(super) fn seek(&self, ino: Ino, handle: u64, offset: i64, whence: i32, reply: ReplyLseek) {
        let what = match whence {
            libc::SEEK_DATA => Seek::Data,
            libc::SEEK_HOLE => Seek::Hole,
            _ => return reply.error(Errno::EINVAL),
        };
        let Ok(offset) = u64::try_from(offset) else {
            return reply.error(Errno::ENXIO);
        };
        let (handle, reader) = match self.read_from(ino, handle) {
            Ok(from) => from,
            Err(errno) => return reply.error(errno),
        };
        if self.nodes.read_takes_long(handle, BEHIND, 1) {
            let nodes = self.nodes.clone();
            self.slow.run(move || {
                seek(&*nodes, ino, handle, what, offset, reply);
                drop(reader);
            });
        } else {
            seek(&*self.nodes, ino, handle, what, offset, reply);
        }
    }

    /// What a read is from: the handle of the kernel's open file, or, where it has none, a file that
    /// is open as long as it is held.
    fn read_from(&self, ino: Ino, handle: u64) -> Result<ReadFrom<N>, Errno> {
        let Some(readers) = &self.readers else {
            return Ok((handle, None));
        };
        match readers.of(ino) {
            Ok(reader) => Ok((reader.handle(), Some(reader))),
            Err(errno) => {
                if errno.code() == libc::ESTALE {
                    // Another file has taken its place: who reads next goes by its size.
                    self.kernel.forget_attributes(ino);
                }
                Err(errno)
            }
        }
    }
}

/// READ.
fn read<N: Nodes>(nodes: &N, ino: Ino, handle: u64, offset: u64, size: u32, reply: ReplyData) {
    let _span = debug_span!("read", ino, offset, size).entered();
    READ_BUFFER.with_borrow_mut(|buffer| {
        let size = size as usize;
        if buffer.len() < size {
            buffer.resize(size, 0);
        }
        let context = Context::new("read", ino);
        let wanted = &mut buffer[..size];
        match call(context, || nodes.read(handle, wanted, offset)) {
            Ok(count) => reply.data(&buffer[..count.min(size)]),
            Err(errno) => reply.error(errno),
        }
    });
}

/// LSEEK.
fn seek<N: Nodes>(nodes: &N, ino: Ino, handle: u64, what: Seek, offset: u64, reply: ReplyLseek) {
    let _span = debug_span!("lseek", ino, offset).entered();
    match call(Context::new("lseek", ino), || {
        nodes.seek(handle, what, offset)
    }) {
        Ok(Some(found)) => reply.offset(i64::try_from(found).unwrap_or(i64::MAX)),
        Ok(None) => reply.error(Errno::ENXIO),
        Err(errno) => reply.error(errno),
    }
}

/// Names as the kernel takes a list of them: each ends in NUL.
pub(super) fn joined(names: &[String]) -> Vec<u8> {
    let ended = |name: &String| [name.as_bytes(), &[0]].concat();
    names.iter().flat_map(ended).collect()
}

/// Answers a request for an attribute of which `value` is what the caller wants to have, in a
/// buffer of `size` bytes; 0 asks for the size only.
pub(super) fn reply_xattr(value: Result<Vec<u8>, Errno>, size: u32, reply: ReplyXattr) {
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
