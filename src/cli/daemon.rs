//! Mounting in the background: the command ends when the mount answers, the daemon stays.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::Signal;

use super::CliError;
use super::probe::{self, Answer};
use super::process::{self, Child, Side, fork};
use crate::fuse::{host, with_causes};

/// How long a mount that was reported may take to answer its first request.
const FIRST_ANSWER: Duration = Duration::from_secs(20);

/// How long a daemon that is told to end may take.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// What the daemon tells the command that started it, once.
#[derive(Debug, PartialEq, Eq)]
enum Report {
    /// The mount is there.
    Mounted,
    /// It will not be.
    Failed { code: u8, message: String },
}

impl Report {
    fn encode(&self) -> Vec<u8> {
        match self {
            Report::Mounted => vec![b'+'],
            Report::Failed { code, message } => {
                let mut bytes = vec![b'-', *code];
                bytes.extend_from_slice(message.as_bytes());
                bytes
            }
        }
    }

    /// `None` when the daemon ended without a report.
    fn decode(bytes: &[u8]) -> Option<Report> {
        match bytes {
            [b'+'] => Some(Report::Mounted),
            [b'-', code, message @ ..] => {
                let message = String::from_utf8_lossy(message).into_owned();
                Some(Report::Failed {
                    code: *code,
                    message,
                })
            }
            _ => None,
        }
    }
}

/// The daemon's line to the command that started it.
#[derive(Debug)]
pub(super) struct Caller {
    pipe: File,
}

impl Caller {
    /// Cuts loose: reports that the mount is there and gives up the caller's terminal. Messages of
    /// a crash go to `stderr`, or nowhere.
    pub(super) fn mounted(&mut self, stderr: Option<&File>) -> Result<(), CliError> {
        let system = |operation, source| CliError::System { operation, source };
        let null = host::open_device(Path::new("/dev/null"))
            .map_err(|source| system("open /dev/null", source))?;
        let redirect = || {
            rustix::stdio::dup2_stdin(&null)?;
            rustix::stdio::dup2_stdout(&null)?;
            rustix::stdio::dup2_stderr(stderr.unwrap_or(&null))
        };
        redirect().map_err(|errno| system("redirect stdio", errno.into()))?;
        // A caller that is gone, killed while it waited, wanted no mount.
        self.pipe
            .write_all(&Report::Mounted.encode())
            .map_err(|_| CliError::CallerGone)
    }

    fn failed(mut self, error: &CliError) {
        let report = Report::Failed {
            code: error.exit_code(),
            message: with_causes(error),
        };
        if self.pipe.write_all(&report.encode()).is_err() {
            tracing::error!("{}", with_causes(error));
        }
    }
}

/// Runs `serve` in a daemon and returns when it has mounted and `mountpoint` answers. `serve` gets
/// the line on which to report; what it returns before that is reported as it is, later errors are
/// logged. The daemon does not return from here.
pub(super) fn launch(
    mountpoint: &Path,
    serve: impl FnOnce(&mut Option<Caller>) -> Result<(), CliError>,
) -> Result<(), CliError> {
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC).map_err(|errno| CliError::System {
        operation: "pipe",
        source: errno.into(),
    })?;
    let child = match fork()? {
        Side::Parent(child) => child,
        Side::Child => {
            drop(reader);
            std::process::exit(i32::from(run(writer, serve)));
        }
    };
    drop(writer);
    match listen(reader)? {
        Some(Report::Mounted) => confirm(mountpoint, child),
        Some(Report::Failed { code, message }) => {
            child.wait()?;
            Err(CliError::Daemon { code, message })
        }
        None => Err(CliError::DaemonDied {
            status: process::describe(child.wait()?),
        }),
    }
}

fn run(writer: OwnedFd, serve: impl FnOnce(&mut Option<Caller>) -> Result<(), CliError>) -> u8 {
    let mut caller = Some(Caller {
        pipe: File::from(writer),
    });
    let Err(error) = serve(&mut caller) else {
        return 0;
    };
    match caller {
        Some(caller) => caller.failed(&error),
        None => tracing::error!("{}", with_causes(&error)),
    }
    error.exit_code()
}

fn listen(reader: OwnedFd) -> Result<Option<Report>, CliError> {
    let mut bytes = Vec::new();
    File::from(reader)
        .read_to_end(&mut bytes)
        .map_err(|source| CliError::System {
            operation: "wait for the daemon",
            source,
        })?;
    Ok(Report::decode(&bytes))
}

fn confirm(mountpoint: &Path, child: Child) -> Result<(), CliError> {
    let reason = match probe::ask(mountpoint, FIRST_ANSWER)? {
        Answer::Alive => return Ok(()),
        Answer::Failed(error) => error.to_string(),
        Answer::Silent => format!("nothing in {} s", FIRST_ANSWER.as_secs()),
    };
    child.signal(Signal::TERM);
    if child.wait_for(LAST_WORDS)?.is_none() {
        // Its death makes the kernel fail what is waiting for it.
        child.signal(Signal::KILL);
        crate::fuse::unmount_at(mountpoint, true)?;
    }
    Err(CliError::NoAnswer {
        mountpoint: mountpoint.to_owned(),
        reason,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_survive_the_pipe() {
        for report in [
            Report::Mounted,
            Report::Failed {
                code: 2,
                message: String::new(),
            },
            Report::Failed {
                code: 1,
                message: "read ä: no\nsuch thing".into(),
            },
        ] {
            assert_eq!(Report::decode(&report.encode()), Some(report));
        }
    }

    #[test]
    fn silence_is_no_report() {
        assert_eq!(Report::decode(b""), None);
        assert_eq!(Report::decode(b"-"), None);
        assert_eq!(Report::decode(b"+x"), None);
    }
}
