//! Requests that take long, away from the threads that answer all others.
//!
//! Each thread that reads requests also answers them. A read that first has to make what it reads
//! would hold one of these few for seconds, and as many such reads as there are threads would
//! stop the mount.

use std::fmt;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};

use parking_lot::Mutex;

/// Threads for long requests. They share the work of each with as many threads as there are cores,
/// so that a few are enough.
const THREADS: usize = 4;

type Job = Box<dyn FnOnce() + Send>;

/// Threads that are started when there is work for the first time, and joined when this is dropped.
#[derive(Default)]
pub(super) struct SlowLane {
    started: OnceLock<Started>,
}

struct Started {
    /// `None` when no more work is taken.
    jobs: Mutex<Option<Sender<Job>>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl fmt::Debug for SlowLane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SlowLane").finish_non_exhaustive()
    }
}

impl SlowLane {
    /// Runs `job` on another thread, or here where the system has none to give.
    pub fn run(&self, job: impl FnOnce() + Send + 'static) {
        let started = self.started.get_or_init(Started::new);
        let job: Job = Box::new(job);
        let unsent = match &*started.jobs.lock() {
            Some(jobs) => jobs.send(job).err().map(|unsent| unsent.0),
            None => Some(job),
        };
        if let Some(job) = unsent {
            job();
        }
    }
}

impl Started {
    fn new() -> Started {
        let (sender, receiver) = channel::<Job>();
        let receiver = Arc::new(Mutex::new(receiver));
        let threads: Vec<JoinHandle<()>> = (0..THREADS)
            .map_while(|number| {
                let receiver = receiver.clone();
                let thread = thread::Builder::new().name(format!("slow-{number}"));
                thread.spawn(move || work(&receiver)).ok()
            })
            .collect();
        let jobs = (!threads.is_empty()).then_some(sender);
        Started {
            jobs: Mutex::new(jobs),
            threads: Mutex::new(threads),
        }
    }
}

/// Takes jobs until there will be no more.
fn work(receiver: &Mutex<Receiver<Job>>) {
    loop {
        // The lock is held while waiting: the others wait for it instead of for the job.
        let job = receiver.lock().recv();
        match job {
            Ok(job) => job(),
            Err(_) => return,
        }
    }
}

impl Drop for SlowLane {
    fn drop(&mut self) {
        let Some(started) = self.started.take() else {
            return;
        };
        drop(started.jobs.lock().take());
        for thread in started.threads.into_inner() {
            // Jobs answer their own panics.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Arc, Barrier};

    use super::*;

    #[test]
    fn jobs_run_side_by_side_and_all_are_done_when_the_lane_is_dropped() {
        let lane = SlowLane::default();
        let together = Arc::new(Barrier::new(THREADS + 1));
        let done = Arc::new(AtomicUsize::new(0));
        for _ in 0..THREADS {
            let (together, done) = (together.clone(), done.clone());
            lane.run(move || {
                together.wait();
                done.fetch_add(1, Ordering::Relaxed);
            });
        }
        together.wait();
        for _ in 0..20 {
            let done = done.clone();
            lane.run(move || {
                done.fetch_add(1, Ordering::Relaxed);
            });
        }
        drop(lane);
        assert_eq!(done.load(Ordering::Relaxed), THREADS + 20);
    }

    #[test]
    fn a_lane_without_work_starts_nothing() {
        let lane = SlowLane::default();
        assert!(lane.started.get().is_none());
    }
}
