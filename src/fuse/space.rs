//! Answering STATFS.

use fuser::ReplyStatfs;

use crate::storage::Capacity;

/// The unit in which space is counted.
const BLOCK: u32 = 4096;

/// The longest file name, in bytes.
const NAME_MAX: u32 = 255;

/// What is said of an object store, which has no end: 1 PiB, all of it free. Zeros, the honest
/// "unknown", make Samba and installers refuse the disk.
const ENDLESS: Capacity = Capacity {
    total: 1 << 50,
    free: 1 << 50,
    available: 1 << 50,
    files: 1 << 32,
    files_free: 1 << 32,
};

/// Answers with `capacity`, in whole blocks.
pub(super) fn reply(capacity: Option<Capacity>, reply: ReplyStatfs) {
    let space = capacity.unwrap_or(ENDLESS);
    let blocks = |bytes: u64| bytes / u64::from(BLOCK);
    reply.statfs(
        blocks(space.total),
        blocks(space.free),
        blocks(space.available),
        space.files,
        space.files_free,
        BLOCK,
        NAME_MAX,
        BLOCK,
    );
}
