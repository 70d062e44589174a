//! Requests that change something, as far as each is more than one call and one reply.

use std::ffi::OsStr;

use fuser::{
    Errno, RenameFlags, ReplyAttr, ReplyEmpty, ReplyEntry, ReplyWrite, Request, TimeOrNow,
};

use super::super::call::{Context, call};
use super::super::kernel::Kernel;
use super::super::nodes::Nodes;
use super::super::ownership::time_sent;
use super::Adapter;
use crate::storage::posix::{NewFile, Owner, Replacing, TimeChange};
use crate::tree::{Changes, Ino, is_staged};

/// What the caller of a request makes: the kernel has taken the umask away.
pub(super) fn new_file(request: &Request, mode: u32) -> NewFile {
    NewFile {
        permissions: (mode & 0o7777) as u16,
        owner: Owner {
            uid: request.uid(),
            gid: request.gid(),
        },
    }
}

/// What is to become of a time.
pub(super) fn time_change(time: Option<TimeOrNow>) -> TimeChange {
    match time {
        None => TimeChange::Keep,
        Some(TimeOrNow::Now) => TimeChange::Now,
        Some(TimeOrNow::SpecificTime(time)) => TimeChange::To(time_sent(time)),
    }
}

impl<N: Nodes> Adapter<N> {
    /// SETATTR.
    pub(super) fn change(&self, ino: Ino, handle: Option<u64>, changes: Changes, reply: ReplyAttr) {
        let context = Context::new("setattr", ino);
        match call(context, || self.nodes.setattr(ino, handle, changes)) {
            Ok(entry) => reply.attr(&entry.attr_ttl, &self.ownership.file_attr(&entry.attr)),
            Err(errno) => reply.error(errno),
        }
    }

    /// MKNOD: regular files only.
    pub(super) fn make_node(
        &self,
        parent: Ino,
        name: &OsStr,
        mode: u32,
        new: NewFile,
        reply: ReplyEntry,
    ) {
        let context = Context::new("mknod", parent);
        let made = call(context, || match mode & libc::S_IFMT {
            0 | libc::S_IFREG => self.nodes.mknod(parent, name, new),
            _ => Err(self.nodes.refuse_special(parent)),
        });
        self.reply_entry(made, reply);
    }

    /// RENAME, which commits where it makes a marker.
    pub(super) fn move_name(
        &self,
        from: (Ino, &OsStr),
        to: (Ino, &OsStr),
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        let replacing = if flags.is_empty() {
            Replacing::Yes
        } else if flags == RenameFlags::RENAME_NOREPLACE {
            Replacing::No
        } else if flags == RenameFlags::RENAME_EXCHANGE {
            Replacing::Exchange
        } else {
            return reply.error(Errno::EINVAL);
        };
        let ((parent, name), (new_parent, new_name)) = (from, to);
        let context = Context::new("rename", parent);
        if !self
            .nodes
            .rename_commits(parent, name, new_parent, new_name)
        {
            let renamed = call(context, || {
                self.nodes
                    .rename(parent, name, new_parent, new_name, replacing)
            });
            return done(renamed, reply);
        }
        let (name, new_name) = (name.to_owned(), new_name.to_owned());
        let (nodes, kernel) = (self.nodes.clone(), self.kernel());
        self.durable.run(move || {
            write_back(&*nodes, &kernel, new_parent);
            let renamed = call(context, || {
                nodes.rename(parent, &name, new_parent, &new_name, replacing)
            });
            done(renamed, reply);
        });
    }

    /// FSYNC. What is not staged is as durable as it will ever be.
    pub(super) fn make_durable(&self, ino: Ino, handle: u64, data_only: bool, reply: ReplyEmpty) {
        if !is_staged(ino) {
            return reply.ok();
        }
        let (nodes, kernel) = (self.nodes.clone(), self.kernel());
        self.durable.run(move || {
            write_back(&*nodes, &kernel, ino);
            let context = Context::new("fsync", ino);
            done(call(context, || nodes.fsync(ino, handle, data_only)), reply);
        });
    }

    /// FSYNCDIR.
    pub(super) fn make_names_durable(&self, ino: Ino, reply: ReplyEmpty) {
        if !is_staged(ino) {
            return reply.ok();
        }
        let nodes = self.nodes.clone();
        self.durable.run(move || {
            let context = Context::new("fsyncdir", ino);
            done(call(context, || nodes.fsyncdir(ino)), reply);
        });
    }

    /// COPY_FILE_RANGE.
    pub(super) fn copy(
        &self,
        ino: Ino,
        from: (u64, u64),
        to: (u64, u64),
        length: u64,
        reply: ReplyWrite,
    ) {
        let nodes = self.nodes.clone();
        self.durable.run(move || {
            let context = Context::new("copy_file_range", ino);
            written(
                call(context, || nodes.copy_range(ino, from, to, length)),
                reply,
            );
        });
    }
}

/// Before a commit: programs may have files mapped, and the commit is to see what they see.
fn write_back<N: Nodes>(nodes: &N, kernel: &Kernel, ino: Ino) {
    for written in nodes.written_before_commit(ino) {
        kernel.write_back(written);
    }
}

/// Answers a request that has nothing to tell.
pub(super) fn done(outcome: Result<(), Errno>, reply: ReplyEmpty) {
    match outcome {
        Ok(()) => reply.ok(),
        Err(errno) => reply.error(errno),
    }
}

/// Answers a request with how much was written. One request writes less than 4 GiB.
pub(super) fn written(outcome: Result<usize, Errno>, reply: ReplyWrite) {
    match outcome {
        Ok(count) => reply.written(u32::try_from(count).unwrap_or(u32::MAX)),
        Err(errno) => reply.error(errno),
    }
}
