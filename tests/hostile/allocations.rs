//! The largest piece of memory that was asked for at once, and how much there was at most.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

/// No file here is larger than some hundred kilobytes: what asks for more believes a claim.
const LIMIT: usize = 64 << 20;

/// What all tests that run at once may have in memory together.
const LIVE_LIMIT: usize = 1 << 30;

/// Where memory ends: who asks for more ends the process before the system comes to it.
const END: usize = 4 << 30;

static LARGEST: AtomicUsize = AtomicUsize::new(0);
static LIVE: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// What this thread has asked for and not given back; what others give back for it counts for
    /// them.
    static OWN: Cell<isize> = const { Cell::new(0) };
}

/// What this thread has in memory, if it keeps to itself.
pub fn of_this_thread() -> isize {
    OWN.get()
}

fn own(change: isize) {
    // A thread that ends gives back what nobody asks about any more.
    let _ = OWN.try_with(|own| own.set(own.get() + change));
}

struct Watched;

/// Counts a piece of memory; `false` when there is none left.
fn take(size: usize) -> bool {
    LARGEST.fetch_max(size, Ordering::Relaxed);
    let live = LIVE.fetch_add(size, Ordering::Relaxed) + size;
    MOST.fetch_max(live, Ordering::Relaxed);
    own(size.cast_signed());
    if live > END {
        give(size);
    }
    live <= END
}

fn give(size: usize) {
    LIVE.fetch_sub(size, Ordering::Relaxed);
    own(-size.cast_signed());
}

/// Takes what was counted back where there was no memory after all.
fn counted(pointer: *mut u8, size: usize) -> *mut u8 {
    if pointer.is_null() {
        give(size);
    }
    pointer
}

// SAFETY: every call goes to the system's allocator as it is, or returns null as that may.
unsafe impl GlobalAlloc for Watched {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match take(layout.size()) {
            true => counted(unsafe { System.alloc(layout) }, layout.size()),
            false => ptr::null_mut(),
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        match take(layout.size()) {
            true => counted(unsafe { System.alloc_zeroed(layout) }, layout.size()),
            false => ptr::null_mut(),
        }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        give(layout.size());
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !take(size) {
            return ptr::null_mut();
        }
        let moved = counted(unsafe { System.realloc(pointer, layout, size) }, size);
        if !moved.is_null() {
            give(layout.size());
        }
        moved
    }
}

#[global_allocator]
static ALLOCATOR: Watched = Watched;

/// Asserts that nobody asked for memory out of proportion so far, and forgets it if somebody did.
pub fn check() {
    let largest = LARGEST.swap(0, Ordering::Relaxed);
    assert!(largest <= LIMIT, "{largest} bytes were asked for at once");
    let most = MOST.swap(0, Ordering::Relaxed);
    assert!(
        most <= LIVE_LIMIT,
        "{most} bytes were in memory at once, of which {LIVE_LIMIT} are too many"
    );
}
