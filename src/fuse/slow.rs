//! Requests that take long, away from the threads that answer all others.
//!
//! Each thread that reads requests also answers them. A read that first has to make what it reads,
//! or an fsync that waits for a disk, would hold one of these few for seconds, and as many such
//! requests as there are threads would stop the mount.

use std::collections::VecDeque;
use std::fmt;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use parking_lot::{Condvar, Mutex};

type Job = Box<dyn FnOnce() + Send>;

/// Threads that are started when there is work for them, and joined when this is dropped.
pub(super) struct SlowLane {
    name: &'static str,
    most: NonZeroUsize,
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
    /// All jobs are done.
    all_done: Condvar,
}

/// What a lane has still to do, for who waits for that.
#[derive(Clone)]
pub struct Pending(Arc<Shared>);

impl fmt::Debug for Pending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pending").finish_non_exhaustive()
    }
}

impl Pending {
    /// How many requests are under way or wait to be.
    pub fn count(&self) -> usize {
        self.0.queue.lock().unfinished()
    }

    /// Returns once there is none.
    pub fn wait(&self) {
        let mut queue = self.0.queue.lock();
        while queue.unfinished() > 0 {
            self.0.all_done.wait(&mut queue);
        }
    }
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    /// Jobs that have been begun and not ended.
    running: usize,
    /// Threads that wait for a job.
    idle: usize,
    /// No more jobs will come.
    closed: bool,
}

impl Queue {
    fn unfinished(&self) -> usize {
        self.jobs.len() + self.running
    }
}

impl fmt::Debug for SlowLane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SlowLane")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl SlowLane {
    /// A lane of at most so many threads, named after it.
    pub(super) fn new(name: &'static str, most: NonZeroUsize) -> SlowLane {
        SlowLane {
            name,
            most,
            shared: Arc::default(),
            threads: Mutex::default(),
        }
    }

    /// What it has still to do.
    pub(super) fn pending(&self) -> Pending {
        Pending(self.shared.clone())
    }

    /// Runs `job` on another thread, or here where the system has none to give.
    pub(super) fn run(&self, job: impl FnOnce() + Send + 'static) {
        let mut threads = self.threads.lock();
        let mut queue = self.shared.queue.lock();
        if queue.jobs.len() >= queue.idle && threads.len() < self.most.get() {
            let shared = self.shared.clone();
            let thread = thread::Builder::new().name(format!("{}-{}", self.name, threads.len()));
            threads.extend(thread.spawn(move || shared.work()).ok());
        }
        if threads.is_empty() {
            drop((queue, threads));
            return job();
        }
        queue.jobs.push_back(Box::new(job));
        self.shared.changed.notify_one();
    }
}

impl Shared {
    /// Takes jobs until there will be no more.
    fn work(&self) {
        let mut queue = self.queue.lock();
        loop {
            if let Some(job) = queue.jobs.pop_front() {
                queue.running += 1;
                drop(queue);
                job();
                queue = self.queue.lock();
                queue.running -= 1;
                if queue.unfinished() == 0 {
                    self.all_done.notify_all();
                }
            } else if queue.closed {
                return;
            } else {
                queue.idle += 1;
                self.changed.wait(&mut queue);
                queue.idle -= 1;
            }
        }
    }
}

impl Drop for SlowLane {
    fn drop(&mut self) {
        self.shared.queue.lock().closed = true;
        self.shared.changed.notify_all();
        for thread in self.threads.get_mut().drain(..) {
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

    const MOST: NonZeroUsize = NonZeroUsize::new(4).expect("not zero");

    #[test]
    fn jobs_run_side_by_side_and_all_are_done_when_the_lane_is_dropped() {
        let lane = SlowLane::new("test", MOST);
        let together = Arc::new(Barrier::new(MOST.get() + 1));
        let done = Arc::new(AtomicUsize::new(0));
        for _ in 0..MOST.get() {
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
        assert!(lane.threads.lock().len() <= MOST.get());
        lane.pending().wait();
        assert_eq!(done.load(Ordering::Relaxed), MOST.get() + 20);
        assert_eq!(lane.pending().count(), 0);
        drop(lane);
        assert_eq!(done.load(Ordering::Relaxed), MOST.get() + 20);
    }

    #[test]
    fn a_lane_without_work_starts_nothing_and_one_job_at_a_time_needs_one_thread() {
        let lane = SlowLane::new("test", MOST);
        assert!(lane.threads.lock().is_empty());
        let done = Arc::new(Barrier::new(2));
        for _ in 0..50 {
            let done = done.clone();
            // The thread that has done the job before is not back yet, perhaps.
            while !lane.threads.lock().is_empty() && lane.shared.queue.lock().idle == 0 {
                thread::yield_now();
            }
            let job = done.clone();
            lane.run(move || {
                job.wait();
            });
            done.wait();
        }
        assert_eq!(lane.threads.lock().len(), 1);
    }
}
