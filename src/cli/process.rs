//! Child processes made by fork, before any thread exists.

use std::io;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitOptions, WaitStatus};

use super::CliError;
use crate::base::clock::monotonic;

/// Which side of a fork this is.
#[derive(Debug)]
pub(super) enum Side {
    /// The process that was there.
    Parent(Child),
    /// Its copy.
    Child,
}

/// A child process.
#[derive(Debug, Clone, Copy)]
pub(super) struct Child(Pid);

/// Forks. To be called while this process has one thread: the copy has only the calling one.
pub(super) fn fork() -> Result<Side, CliError> {
    // SAFETY: commands fork before they start any thread, so no lock is held in the copy by a
    // thread that does not exist there.
    let raw = unsafe { libc::fork() };
    if raw < 0 {
        let source = io::Error::last_os_error();
        return Err(CliError::System {
            operation: "fork",
            source,
        });
    }
    Ok(Pid::from_raw(raw).map_or(Side::Child, |pid| Side::Parent(Child(pid))))
}

/// Ends this process at once, without destructors: for a child that shares what its parent has yet
/// to destroy.
pub(super) fn exit_now(code: u8) -> ! {
    // SAFETY: `_exit` has no preconditions.
    unsafe { libc::_exit(i32::from(code)) }
}

impl Child {
    /// Waits for the end.
    pub(super) fn wait(self) -> Result<WaitStatus, CliError> {
        loop {
            match rustix::process::waitpid(Some(self.0), WaitOptions::empty()) {
                Ok(Some((_, status))) => return Ok(status),
                Ok(None) | Err(rustix::io::Errno::INTR) => {}
                Err(errno) => {
                    return Err(CliError::System {
                        operation: "waitpid",
                        source: errno.into(),
                    });
                }
            }
        }
    }

    /// Waits for the end, not longer than `limit`; `None` when it did not come.
    pub(super) fn wait_for(self, limit: Duration) -> Result<Option<WaitStatus>, CliError> {
        let start = monotonic();
        let mut pause = Duration::from_millis(1);
        loop {
            match rustix::process::waitpid(Some(self.0), WaitOptions::NOHANG) {
                Ok(Some((_, status))) => return Ok(Some(status)),
                Ok(None) | Err(rustix::io::Errno::INTR) => {}
                Err(errno) => {
                    return Err(CliError::System {
                        operation: "waitpid",
                        source: errno.into(),
                    });
                }
            }
            if start.elapsed() >= limit {
                return Ok(None);
            }
            thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(20));
        }
    }

    /// Sends a signal. A child that is gone already is as good.
    pub(super) fn signal(self, signal: Signal) {
        if let Err(errno) = rustix::process::kill_process(self.0, signal) {
            tracing::debug!(?errno, "the child is gone");
        }
    }
}

/// How a process ended, in words.
pub(super) fn describe(status: WaitStatus) -> String {
    if let Some(code) = status.exit_status() {
        return format!("exit code {code}");
    }
    match status.terminating_signal() {
        Some(signal) => format!("signal {signal}"),
        None => format!("status {status:?}"),
    }
}
