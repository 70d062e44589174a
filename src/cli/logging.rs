//! Where log lines go.

mod syslog;

use std::fs::File;
use std::io::{self, IsTerminal};
use std::sync::Arc;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::MakeWriter;

use super::{CliError, MountSpec};
use crate::base::panics;
use crate::fuse::host;
use syslog::Syslog;

const VARIABLE: &str = "DELTAFS_LOG";

/// Starts logging: to the log file if there is one, else to stderr in the foreground and to the
/// system log in a daemon. Returns the log file. To be called once in a process.
pub(super) fn start(spec: &MountSpec) -> Result<Option<Arc<File>>, CliError> {
    let filter = filter(spec.verbosity)?;
    panics_are_logged();
    if let Some(path) = &spec.settings.log_file {
        let file = host::open_log(path).map_err(|source| CliError::LogFile {
            path: path.clone(),
            source,
        })?;
        let file = Arc::new(file);
        install(filter, Arc::clone(&file), false, true)?;
        return Ok(Some(file));
    }
    if spec.foreground {
        install(filter, io::stderr, io::stderr().is_terminal(), true)?;
    } else if let Some(syslog) = Syslog::connect() {
        install(filter, syslog, false, false)?;
    }
    Ok(None)
}

/// Starts logging to stderr, for a command that stays in the terminal.
pub(super) fn on_terminal() -> Result<(), CliError> {
    panics_are_logged();
    install(filter(0)?, io::stderr, io::stderr().is_terminal(), false)
}

/// What is logged: `DELTAFS_LOG` if set, else our own lines up to the level that `-v` asks for.
fn filter(verbosity: u8) -> Result<EnvFilter, CliError> {
    match std::env::var(VARIABLE) {
        Ok(found) if !found.is_empty() => parse(&found).map_err(|reason| CliError::LogFilter {
            found: found.clone(),
            reason,
        }),
        _ => Ok(EnvFilter::new(match verbosity {
            0 => "warn",
            1 => "warn,deltafs=info",
            2 => "warn,deltafs=debug",
            _ => "info,deltafs=trace",
        })),
    }
}

/// Directives of `tracing`, but for a bare word that is no level: that would be taken for the name of a
/// crate, so that a mistyped level silences the log.
fn parse(directives: &str) -> Result<EnvFilter, String> {
    let is_bad = |word: &&str| {
        let is_bare = !word.is_empty() && word.chars().all(char::is_alphanumeric);
        is_bare && *word != "deltafs" && word.parse::<LevelFilter>().is_err()
    };
    match directives.split(',').map(str::trim).find(is_bad) {
        Some(word) => Err(format!("{word} is no level")),
        None => EnvFilter::builder()
            .parse(directives)
            .map_err(|error| error.to_string()),
    }
}

fn install<W>(filter: EnvFilter, writer: W, colours: bool, time: bool) -> Result<(), CliError>
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(colours)
        .with_target(false)
        .with_writer(writer);
    let set = if time {
        tracing::subscriber::set_global_default(lines.finish())
    } else {
        tracing::subscriber::set_global_default(lines.without_time().finish())
    };
    set.map_err(|error| CliError::System {
        operation: "start logging",
        source: io::Error::other(error),
    })
}

/// A panic is a fault of this program and an error in the log, unless it comes from a decoder over
/// bytes that it did not expect, which may be read again and again and are told of as damaged.
fn panics_are_logged() {
    std::panic::set_hook(Box::new(|info| match panics::is_expected() {
        true => tracing::debug!("{info}"),
        false => tracing::error!("{info}"),
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistyped_level_is_told_from_a_directive() {
        for right in [
            "debug",
            "WARN",
            "off",
            "warn,deltafs=debug",
            "info,fuser::ll=trace",
            "deltafs",
        ] {
            assert!(parse(right).is_ok(), "{right}");
        }
        for wrong in ["debg", "deltafs,loud", "warn,deltafs=loud"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
