//! Answers that carry bytes.

use std::cell::RefCell;

use fuser::{Errno, ReplyData, ReplyXattr};
use tracing::debug_span;

use super::super::call::{Context, call};
use super::super::nodes::Nodes;
use crate::tree::Ino;

thread_local! {
    /// Where a worker thread puts the bytes of a READ before they go to the kernel. It grows to the
    /// largest read, which the kernel bounds, and stays.
    static READ_BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// READ.
pub(super) fn read<N: Nodes>(
    nodes: &N,
    ino: Ino,
    handle: u64,
    offset: u64,
    size: u32,
    reply: ReplyData,
) {
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
