//! What the tree counts about itself: `@info/metrics`.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::base::Version;

/// What only grows.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub lookups: AtomicU64,
    pub opens: AtomicU64,
    pub open_errors: AtomicU64,
    pub reads: AtomicU64,
    pub read_bytes: AtomicU64,
    pub listings: AtomicU64,
}

impl Counters {
    pub(super) fn add(counter: &AtomicU64, count: u64) {
        counter.fetch_add(count, Ordering::Relaxed);
    }
}

/// What is so at the moment.
pub(super) struct Gauges {
    pub inodes: usize,
    pub file_handles: usize,
    pub directory_handles: usize,
    pub latest_version: Version,
    pub known_files: usize,
    pub clones: usize,
    pub clones_made: u64,
}

/// `@info/metrics`, in the Prometheus text format.
pub(super) fn metrics(counters: &Counters, gauges: &Gauges) -> Vec<u8> {
    let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    let (gauge, counter) = ("gauge", "counter");
    #[rustfmt::skip]
    let rows = [
        ("inodes", gauge, "Inodes the kernel remembers.", gauges.inodes as u64),
        ("file_handles", gauge, "Open files.", gauges.file_handles as u64),
        ("dir_handles", gauge, "Open directories.", gauges.directory_handles as u64),
        ("latest_version", gauge, "Newest version seen.", gauges.latest_version),
        ("known_files", gauge, "Logical files in memory.", gauges.known_files as u64),
        ("lookups_total", counter, "Look-ups of names.", count(&counters.lookups)),
        ("opens_total", counter, "Files opened.", count(&counters.opens)),
        ("open_errors_total", counter, "Files that could not be opened.", count(&counters.open_errors)),
        ("reads_total", counter, "Reads that reached the daemon.", count(&counters.reads)),
        ("read_bytes_total", counter, "Bytes of those reads.", count(&counters.read_bytes)),
        ("clones", gauge, "Clones of data files kept for the kernel to read.", gauges.clones as u64),
        ("clones_made_total", counter, "Clones made of data files.", gauges.clones_made),
        ("listings_total", counter, "Directories opened.", count(&counters.listings)),
    ];
    let mut text = String::new();
    for (name, kind, help, value) in rows {
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "# HELP deltafs_{name} {help}\n# TYPE deltafs_{name} {kind}\ndeltafs_{name} {value}\n"
        );
    }
    text.into_bytes()
}
