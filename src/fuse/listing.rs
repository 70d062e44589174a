//! Answering READDIR and READDIRPLUS.

use std::ffi::{OsStr, OsString};
use std::ops::ControlFlow;
use std::time::Duration;

use fuser::{FileAttr, Generation, INodeNo, ReplyDirectory, ReplyDirectoryPlus};

use super::call::{Context, call};
use super::nodes::Nodes;
use super::ownership::{Ownership, file_type};
use crate::tree::{Attr, Entry, Ino, NodeKind};

/// The first of three inode numbers that stand, in a listing with attributes, for a row whose node
/// could not be had: one for each kind. The kernel forgets such a row at once and looks the name
/// up when somebody wants it, and then the look-up tells what is wrong.
const UNKNOWN: Ino = u64::MAX - 2;

/// Whether `ino` only ever stood in a listing.
pub(super) fn is_unknown(ino: Ino) -> bool {
    ino >= UNKNOWN
}

/// What a listing is of.
#[derive(Debug, Clone, Copy)]
pub(super) struct Listed {
    /// The directory.
    pub ino: Ino,
    /// Its handle.
    pub handle: u64,
    /// Where to go on.
    pub offset: u64,
}

/// Answers READDIR.
pub(super) fn plain<N: Nodes>(nodes: &N, listed: Listed, mut reply: ReplyDirectory) {
    let Listed {
        ino,
        handle,
        offset,
    } = listed;
    let mut taken = false;
    let outcome = call(
        Context {
            operation: "readdir",
            ino,
        },
        || {
            nodes.readdir(handle, offset, false, &mut |row| {
                if reply.add(
                    INodeNo(row.ino),
                    row.next_offset,
                    file_type(row.kind),
                    row.name,
                ) {
                    return ControlFlow::Break(());
                }
                taken = true;
                ControlFlow::Continue(())
            })
        },
    );
    match outcome {
        // Rows that were taken go out; the error comes again at the next request.
        Err(errno) if !taken => reply.error(errno),
        _ => reply.ok(),
    }
}

/// A row without a node, set aside while the tree is busy with the listing.
#[derive(Debug)]
struct Bare {
    name: OsString,
    ino: Ino,
    kind: NodeKind,
    next: u64,
}

/// Answers READDIRPLUS.
///
/// Each row with a node is one look-up for the kernel, so each row is either taken on both sides
/// or on neither.
pub(super) fn plus<N: Nodes>(
    nodes: &N,
    ownership: &Ownership,
    listed: Listed,
    mut reply: ReplyDirectoryPlus,
) {
    let Listed {
        ino,
        handle,
        mut offset,
    } = listed;
    let mut taken = false;
    loop {
        let mut bare = None;
        let outcome = call(
            Context {
                operation: "readdirplus",
                ino,
            },
            || {
                nodes.readdir(handle, offset, true, &mut |row| {
                    let next = row.next_offset;
                    let Some(entry) = &row.entry else {
                        let (name, ino, kind) = (row.name.to_owned(), row.ino, row.kind);
                        bare = Some(Bare {
                            name,
                            ino,
                            kind,
                            next,
                        });
                        return ControlFlow::Break(());
                    };
                    if add(&mut reply, ownership, row.name, next, entry) {
                        return ControlFlow::Break(());
                    }
                    taken = true;
                    ControlFlow::Continue(())
                })
            },
        );
        let row = match (outcome, bare) {
            (Err(errno), _) if !taken => return reply.error(errno),
            (Ok(()), Some(row)) => row,
            _ => return reply.ok(),
        };
        if add_bare(nodes, ownership, ino, &row, &mut reply) {
            return reply.ok();
        }
        taken = true;
        offset = row.next;
    }
}

/// Adds a row whose node the listing did not know: `.` and `..`, of which the kernel takes only
/// number and kind, or one that has to be looked up. Returns whether the reply was full before it.
fn add_bare<N: Nodes>(
    nodes: &N,
    ownership: &Ownership,
    parent: Ino,
    row: &Bare,
    reply: &mut ReplyDirectoryPlus,
) -> bool {
    let mut placeholder = |ino| {
        let (ttl, attr) = placeholder(ownership, ino, row.kind);
        reply.add(attr.ino, row.next, &row.name, &ttl, &attr, Generation(0))
    };
    if row.name == "." || row.name == ".." {
        return placeholder(row.ino);
    }
    let context = Context {
        operation: "readdirplus",
        ino: parent,
    };
    match call(context, || nodes.lookup(parent, &row.name)) {
        Ok(entry) => {
            let full = add(reply, ownership, &row.name, row.next, &entry);
            if full {
                nodes.forget(entry.attr.ino, 1);
            }
            full
        }
        Err(_) => placeholder(match row.kind {
            NodeKind::File => UNKNOWN,
            NodeKind::Directory => UNKNOWN + 1,
            NodeKind::Symlink => UNKNOWN + 2,
        }),
    }
}

/// Adds one row. Returns whether the reply was full before it. The kernel keeps one time to live
/// for name and attributes here: the shorter of the two.
fn add(
    reply: &mut ReplyDirectoryPlus,
    ownership: &Ownership,
    name: &OsStr,
    next: u64,
    entry: &Entry,
) -> bool {
    let attr = ownership.file_attr(&entry.attr);
    let ttl = entry.entry_ttl.min(entry.attr_ttl);
    reply.add(attr.ino, next, name, &ttl, &attr, Generation(0))
}

/// Attributes that say no more than number and kind, and are not to be remembered.
fn placeholder(ownership: &Ownership, ino: Ino, kind: NodeKind) -> (Duration, FileAttr) {
    let attr = Attr {
        ino,
        kind,
        size: 0,
        occupied: 0,
        modified: 0,
        permissions: 0,
        links: 1,
        owner: None,
        stored: None,
    };
    (Duration::ZERO, ownership.file_attr(&attr))
}
