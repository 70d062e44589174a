//! Asking a mount whether it answers, without being held up when it does not.

use std::io;
use std::path::Path;
use std::time::Duration;

use rustix::process::Signal;

use super::CliError;
use super::process::{Side, exit_now, fork};
use crate::fuse::host;

/// What a mount said.
#[derive(Debug)]
pub(super) enum Answer {
    /// It answered.
    Alive,
    /// It answered with an error, or the kernel did for it.
    Failed(io::Error),
    /// It did not answer in time.
    Silent,
}

/// Asks the file system at `path` and waits not longer than `limit`. The question is put by a child
/// process: a process whose request nobody answers cannot even be killed.
pub(super) fn ask(path: &Path, limit: Duration) -> Result<Answer, CliError> {
    let child = match fork()? {
        Side::Child => {
            let code = match host::ask(path) {
                Ok(()) => 0,
                Err(error) => error
                    .raw_os_error()
                    .and_then(|errno| u8::try_from(errno).ok())
                    .unwrap_or(libc::EIO as u8),
            };
            exit_now(code)
        }
        Side::Parent(child) => child,
    };
    let Some(status) = child.wait_for(limit)? else {
        child.signal(Signal::KILL);
        return Ok(Answer::Silent);
    };
    match status.exit_status() {
        Some(0) => Ok(Answer::Alive),
        Some(errno) => Ok(Answer::Failed(io::Error::from_raw_os_error(errno))),
        None => Ok(Answer::Silent),
    }
}
