//! The largest piece of memory that was asked for at once.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// No file here is larger than some hundred kilobytes: what asks for more believes a claim.
const LIMIT: usize = 64 << 20;

static LARGEST: AtomicUsize = AtomicUsize::new(0);

struct Watched;

fn note(size: usize) {
    LARGEST.fetch_max(size, Ordering::Relaxed);
}

// SAFETY: every call goes to the system's allocator as it is.
unsafe impl GlobalAlloc for Watched {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note(size);
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Watched = Watched;

/// Asserts that nobody asked for memory out of proportion so far, and forgets it if somebody did.
pub fn check() {
    let largest = LARGEST.swap(0, Ordering::Relaxed);
    assert!(largest <= LIMIT, "{largest} bytes were asked for at once");
}
