//! The runtime that object stores' requests run on, and the only place that waits for it.

use std::io;
use std::sync::OnceLock;
use std::sync::mpsc::sync_channel;

use tokio::runtime::{Builder, Runtime};

/// Threads that drive requests; these wait for the network, so a few serve many.
const THREADS: usize = 2;

/// Started by the first call, so that a process that forks into the background before it opens a
/// store does not leave the threads behind.
static RUNTIME: OnceLock<Runtime> = OnceLock::new();

/// Runs `call` on the runtime and waits for its result on a channel, never by `block_on`: the
/// calling thread may be any but one of the runtime's own. An error when the runtime cannot be
/// started or `call` panics.
pub(super) fn wait<F>(call: F) -> io::Result<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let (sender, receiver) = sync_channel(1);
    runtime()?.spawn(async move {
        // Nobody waits any more only when the waiting thread is gone.
        let _ = sender.send(call.await);
    });
    receiver
        .recv()
        .map_err(|_| io::Error::other("the request was abandoned: its task panicked"))
}

fn runtime() -> io::Result<&'static Runtime> {
    if let Some(runtime) = RUNTIME.get() {
        return Ok(runtime);
    }
    let built = Builder::new_multi_thread()
        .worker_threads(THREADS)
        .thread_name("object-store")
        .enable_all()
        .build()?;
    // Of racing first calls one wins; the others' runtimes are dropped unused.
    Ok(RUNTIME.get_or_init(|| built))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_from_many_threads_at_once() {
        let sums: Vec<u64> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..16u64)
                .map(|n| {
                    scope.spawn(move || {
                        (0..50u64)
                            .map(|m| wait(async move { n * m }).expect("nothing panics"))
                            .sum()
                    })
                })
                .collect();
            threads
                .into_iter()
                .map(|thread| thread.join().expect("nothing panics"))
                .collect()
        });
        let expected: Vec<u64> = (0..16).map(|n| n * (0..50).sum::<u64>()).collect();
        assert_eq!(sums, expected);
    }

    #[test]
    fn a_panic_is_an_error_and_the_runtime_lives_on() {
        let failed: io::Result<u32> = wait(async { panic!("on purpose") });
        assert!(failed.is_err());
        assert_eq!(wait(async { 7 }).expect("the runtime lives"), 7);
    }
}
