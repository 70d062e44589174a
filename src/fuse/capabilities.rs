//! What is asked of the kernel at INIT.

use fuser::{InitFlags, KernelConfig};

/// Background requests (readahead) the kernel may have under way at once.
const MAX_BACKGROUND: u16 = 64;

/// How many file systems may be stacked below us for passthrough: 2 lets the table lie on
/// overlayfs, and is the kernel's limit.
const STACK_DEPTH: u32 = 2;

/// Asked for where the kernel has it. Left out on purpose: `WRITEBACK_CACHE` (it excludes
/// passthrough), `POSIX_LOCKS` and `FLOCK_LOCKS` (the kernel keeps locks itself), `EXPORT_SUPPORT`
/// (it promises that an inode can be found by its number alone, long after it was forgotten).
const WANTED: InitFlags = InitFlags::FUSE_ASYNC_READ
    .union(InitFlags::FUSE_PARALLEL_DIROPS)
    .union(InitFlags::FUSE_DO_READDIRPLUS)
    .union(InitFlags::FUSE_READDIRPLUS_AUTO)
    .union(InitFlags::FUSE_CACHE_SYMLINKS)
    .union(InitFlags::FUSE_DIRECT_IO_ALLOW_MMAP);

/// Asked for on a mount that may be written to: without it the kernel asks for the capabilities of a
/// file before each write. No staged file has any, nor set-uid and set-gid, so there is nothing to
/// take away. Left out on purpose: `ATOMIC_O_TRUNC` (truncation by a request of its own is the same),
/// `AUTO_INVAL_DATA` (nobody but the kernel writes what it caches).
const WANTED_TO_WRITE: InitFlags = InitFlags::FUSE_HANDLE_KILLPRIV_V2;

/// Takes what is wanted of what the kernel offers. Returns whether passthrough is on.
///
/// Readahead stays at what the kernel proposes, its most. Timestamps stay at nanoseconds: ours are
/// whole milliseconds anyway.
pub(super) fn negotiate(config: &mut KernelConfig, passthrough: bool, writable: bool) -> bool {
    let offered = config.capabilities();
    add(config, WANTED & offered);
    if writable {
        add(config, WANTED_TO_WRITE & offered);
    }
    if let Err(least) = config.set_max_background(MAX_BACKGROUND) {
        tracing::debug!(least, "max_background refused");
    }
    if !passthrough || !offered.contains(InitFlags::FUSE_PASSTHROUGH) {
        tracing::debug!(
            passthrough,
            ?offered,
            "reads do not pass through the kernel"
        );
        return false;
    }
    add(config, InitFlags::FUSE_PASSTHROUGH);
    match config.set_max_stack_depth(STACK_DEPTH) {
        Ok(_) => true,
        Err(most) => {
            tracing::debug!(most, "stack depth refused");
            false
        }
    }
}

/// Asks for what a mount needs of which files are opened without asking; `false` where the kernel
/// always asks. A file that changes is known by its times then: nobody tells at its open that its
/// page cache is out of date.
pub(super) fn negotiate_fast_open(config: &mut KernelConfig) -> bool {
    let offered = config.capabilities();
    add(config, InitFlags::FUSE_AUTO_INVAL_DATA & offered);
    offered.contains(InitFlags::FUSE_NO_OPEN_SUPPORT | InitFlags::FUSE_AUTO_INVAL_DATA)
}

fn add(config: &mut KernelConfig, flags: InitFlags) {
    if let Err(missing) = config.add_capabilities(flags) {
        tracing::debug!(?missing, "the kernel took back a capability it had offered");
    }
}
