//! Work on many files at once.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

/// `work` on each of `items`, by as many threads as there are cores; results in their order, or the
/// first error.
pub(super) fn in_parallel<T: Sync, R: Send, E: Send>(
    items: &[T],
    work: impl Fn(&T) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    let threads = std::thread::available_parallelism()
        .map_or(1, usize::from)
        .max(4)
        .min(items.len());
    if threads <= 1 {
        return items.iter().map(work).collect();
    }
    let next = AtomicUsize::new(0);
    let results: Mutex<BTreeMap<usize, Result<R, E>>> = Mutex::default();
    let run = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else {
                return;
            };
            let result = work(item);
            let failed = result.is_err();
            results.lock().insert(at, result);
            if failed {
                // The others finish what they have begun.
                next.store(items.len(), Ordering::Relaxed);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            let builder = std::thread::Builder::new().name("intake".to_owned());
            // Without another thread, those that are there do the work.
            let _ = builder.spawn_scoped(scope, run);
        }
        run();
    });
    let results = results.into_inner();
    results.into_values().collect()
}
