//! Whose nodes are shown to be, and what `stat` shows of them.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fuser::{FileAttr, FileType, INodeNo};

use crate::base::clock::ms_to_system_time;
use crate::storage::posix::{Stat, Time};
use crate::tree::{Attr, NodeKind};

/// `st_blksize`: the page size, as local file systems have it.
const BLOCK_SIZE: u32 = 4096;

/// Owner and permissions of all nodes but staged ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ownership {
    /// Owner of every node.
    pub uid: u32,
    /// Group of every node.
    pub gid: u32,
    /// Permission bits of files, in place of the tree's.
    pub file_mode: Option<u16>,
    /// Permission bits of directories, in place of the tree's.
    pub dir_mode: Option<u16>,
    /// Permission bits that no file or directory has.
    pub umask: u16,
}

impl Ownership {
    /// `attr` as the kernel wants it. Every time of what is not staged is the modification time: a
    /// version's nodes have no other. What is staged belongs to whom it belongs to.
    pub(super) fn file_attr(&self, attr: &Attr) -> FileAttr {
        if let Some(stat) = &attr.stored {
            return stored_attr(attr, stat);
        }
        let time = ms_to_system_time(attr.modified);
        let perm = match attr.kind {
            NodeKind::File => self.file_mode.unwrap_or(attr.permissions) & !self.umask,
            NodeKind::Directory => self.dir_mode.unwrap_or(attr.permissions) & !self.umask,
            NodeKind::Symlink => attr.permissions,
        };
        FileAttr {
            ino: INodeNo(attr.ino),
            size: attr.size,
            blocks: attr.occupied.div_ceil(512),
            atime: time,
            mtime: time,
            ctime: time,
            crtime: time,
            kind: file_type(attr.kind),
            perm: perm & 0o7777,
            nlink: attr.links,
            uid: attr.owner.map_or(self.uid, |owner| owner.uid),
            gid: attr.owner.map_or(self.gid, |owner| owner.gid),
            rdev: 0,
            blksize: BLOCK_SIZE,
            flags: 0,
        }
    }
}

fn stored_attr(attr: &Attr, stat: &Stat) -> FileAttr {
    FileAttr {
        ino: INodeNo(attr.ino),
        size: stat.size,
        blocks: stat.blocks,
        atime: system_time(stat.accessed),
        mtime: system_time(stat.modified),
        ctime: system_time(stat.changed),
        crtime: system_time(stat.changed),
        kind: file_type(attr.kind),
        perm: stat.permissions,
        nlink: stat.links,
        uid: stat.owner.uid,
        gid: stat.owner.gid,
        rdev: 0,
        blksize: stat.block_size,
        flags: 0,
    }
}

fn system_time(time: Time) -> SystemTime {
    let fraction = Duration::from_nanos(time.nanoseconds.into());
    let seconds = Duration::from_secs(time.seconds.unsigned_abs());
    let whole = match time.seconds {
        0.. => UNIX_EPOCH.checked_add(seconds),
        _ => UNIX_EPOCH.checked_sub(seconds),
    };
    whole
        .and_then(|whole| whole.checked_add(fraction))
        .unwrap_or(UNIX_EPOCH)
}

/// The time that the kernel has sent. `fuser` makes of seconds before the epoch and nanoseconds
/// after them an instant that lies as many nanoseconds before the seconds.
pub(super) fn time_sent(time: SystemTime) -> Time {
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => Time {
            seconds: i64::try_from(after.as_secs()).unwrap_or(i64::MAX),
            nanoseconds: after.subsec_nanos(),
        },
        Err(before) => {
            let before = before.duration();
            Time {
                seconds: 0_i64.saturating_sub_unsigned(before.as_secs()),
                nanoseconds: before.subsec_nanos(),
            }
        }
    }
}

/// The kernel's word for a kind.
pub(super) fn file_type(kind: NodeKind) -> FileType {
    match kind {
        NodeKind::Directory => FileType::Directory,
        NodeKind::File => FileType::RegularFile,
        NodeKind::Symlink => FileType::Symlink,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attr(kind: NodeKind, permissions: u16) -> Attr {
        Attr {
            ino: 7,
            kind,
            size: 1025,
            occupied: 1025,
            modified: -1,
            permissions,
            links: 1,
            owner: None,
            stored: None,
        }
    }

    #[test]
    fn modes_replace_the_trees_and_the_umask_takes_bits_away() {
        let plain = Ownership {
            uid: 1,
            gid: 2,
            file_mode: None,
            dir_mode: None,
            umask: 0,
        };
        assert_eq!(plain.file_attr(&attr(NodeKind::File, 0o444)).perm, 0o444);
        let strict = Ownership {
            file_mode: Some(0o644),
            dir_mode: Some(0o750),
            umask: 0o027,
            ..plain
        };
        assert_eq!(strict.file_attr(&attr(NodeKind::File, 0o444)).perm, 0o640);
        assert_eq!(
            strict.file_attr(&attr(NodeKind::Directory, 0o555)).perm,
            0o750
        );
        assert_eq!(
            strict.file_attr(&attr(NodeKind::Symlink, 0o777)).perm,
            0o777
        );
    }

    #[test]
    fn times_of_the_disk_are_shown_as_they_are() {
        for (seconds, nanoseconds, expected) in [
            (0, 0, 0),
            (1, 999_999_999, 1_999_999_999),
            (-1, 1, -999_999_999),
            (-7, 0, -7_000_000_000),
            (1 << 33, 5, (1_i128 << 33) * 1_000_000_000 + 5),
        ] {
            let shown = system_time(Time {
                seconds,
                nanoseconds,
            });
            let found = match shown.duration_since(UNIX_EPOCH) {
                Ok(after) => after.as_nanos() as i128,
                Err(before) => -(before.duration().as_nanos() as i128),
            };
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn sizes_count_in_512_byte_blocks_and_times_may_lie_before_the_epoch() {
        let shown = Ownership {
            uid: 1,
            gid: 2,
            file_mode: None,
            dir_mode: None,
            umask: 0,
        }
        .file_attr(&attr(NodeKind::File, 0o444));
        assert_eq!((shown.size, shown.blocks), (1025, 3));
        assert!(shown.mtime < std::time::UNIX_EPOCH);
        assert_eq!((shown.uid, shown.gid), (1, 2));
    }
}
