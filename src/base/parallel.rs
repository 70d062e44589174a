//! Work on many items at once.

use std::convert::Infallible;
use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// How many threads have a core to run on.
pub fn cores() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

/// The results of `work` on each of `items`, in their order, by at most `threads` threads: this one
/// and others that are called `name`. Where the system has none to give, those that are there do the
/// work. A panic of `work` goes on here.
pub fn map<T: Sync, R: Send>(
    name: &str,
    threads: usize,
    items: &[T],
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    match try_map(name, threads, items, |item| Ok::<R, Infallible>(work(item))) {
        Ok(results) => results,
    }
}

/// [`map`] up to the first error that is met, which is returned; work that has begun is finished.
pub fn try_map<T: Sync, R: Send, E: Send>(
    name: &str,
    threads: usize,
    items: &[T],
    work: impl Fn(&T) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    let next = AtomicUsize::new(0);
    let run = || {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else {
                return done;
            };
            let result = work(item);
            if result.is_err() {
                next.store(items.len(), Ordering::Relaxed);
            }
            done.push((at, result));
        }
    };
    let mut done = thread::scope(|scope| {
        let others: Vec<_> = (1..threads.min(items.len()))
            .map_while(|_| {
                let thread = thread::Builder::new().name(name.to_owned());
                thread.spawn_scoped(scope, run).ok()
            })
            .collect();
        let mut done = run();
        for other in others {
            done.extend(other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        done
    });
    done.sort_unstable_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_items() {
        let items: Vec<usize> = (0..1000).collect();
        for threads in [0, 1, 4, 2000] {
            let doubled = map("test", threads, &items, |item| item * 2);
            assert!(doubled.iter().enumerate().all(|(at, is)| *is == at * 2));
            assert_eq!(doubled.len(), items.len());
        }
        assert_eq!(map("test", 4, &[], |item: &usize| *item), [] as [usize; 0]);
    }

    #[test]
    fn as_many_items_are_worked_on_at_once_as_there_are_threads() {
        let together = Barrier::new(4);
        map("test", 4, &[(); 4], |()| together.wait());
    }

    #[test]
    fn an_error_ends_the_work() {
        let begun = AtomicUsize::new(0);
        let items: Vec<usize> = (0..10_000).collect();
        let found = try_map("test", 2, &items, |item| {
            begun.fetch_add(1, Ordering::Relaxed);
            if *item == 10 { Err(*item) } else { Ok(()) }
        });
        assert_eq!(found, Err(10));
        assert!(begun.into_inner() < items.len());
    }

    #[test]
    #[should_panic(expected = "of item 3")]
    fn a_panic_goes_on() {
        map("test", 2, &[1, 2, 3], |item| {
            assert!(*item != 3, "of item {item}");
        });
    }
}
