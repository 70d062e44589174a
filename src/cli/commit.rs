//! `deltafs commit`: the marker, its fsync and the answer, in one command.
#![allow(clippy::disallowed_methods)]

use std::fs::{self, File};
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use clap::{Args, ValueEnum};
use serde_json::{Map, Value};

use super::options::OptionError;
use super::{CliError, exit_codes};
use crate::base::clock::monotonic;
use crate::fuse::host;
use crate::staging::marker::CommitRequest;
use crate::staging::{MARKER, STATUS};

/// How long a commit may take without a word about it on a terminal, and how often there is one.
const PATIENCE: Duration = Duration::from_millis(500);

const HELP: &str = concat!(
    "\
Examples:
  mkdir /mnt/orders/@staging/b1
  cp *.parquet /mnt/orders/@staging/b1/
  deltafs commit /mnt/orders/@staging/b1
  deltafs commit /mnt/orders/@staging/b1 --mode overwrite \\
      --option replaceWhere=\"day = '2024-01-15'\"
  deltafs commit /mnt/orders/@staging/b1 \\
      --option txnAppId=loader --option txnVersion=17

Options, as in STAGING_DIR/.commit:
  replaceWhere=PREDICATE          with overwrite: replaces these partitions only
  partitionOverwriteMode=dynamic  with overwrite: replaces those of the rows
  mergeSchema=true                adds columns that only the files have
  overwriteSchema=true            with overwrite: takes the schema of the files
  remove=NAME                     takes this file of @vN out; repeatable
  dataChange=false                with remove: the same rows, in other files
  txnAppId=NAME, txnVersion=N     is done once, however often it is tried
  readVersion=N                   the version that was read, if not at mkdir
  isolationLevel=Serializable     appends of others conflict, too
  userMetadata=TEXT               text for the history

It writes the options to STAGING_DIR/.commit and fsyncs that file. Without options, a .commit that \
is there keeps what it says, and a new one means append.

A commit that failed has changed nothing: the message says why, and so does STAGING_DIR/.status. \
Mend it and run the command again. Asked again after success, it gives the same answer.",
    exit_codes!(conflict)
);

/// Commit a staging directory: all of its files, or none.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(super) struct CommitArgs {
    /// A directory in @staging of a mount.
    #[arg(value_name = "STAGING_DIR")]
    directory: PathBuf,
    /// Add to the table, or replace it [default: append].
    #[arg(long, value_name = "MODE")]
    mode: Option<ModeArg>,
    /// An option of .commit, listed below; may be given repeatedly.
    #[arg(long = "option", value_name = "KEY=VALUE", value_parser = super::inspect::key_value)]
    options: Vec<(String, String)>,
    /// Print the content of .status instead of a sentence.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ModeArg {
    Append,
    Overwrite,
}

impl CommitArgs {
    /// The content of the marker; `None` to leave it as it is.
    fn marker(&self) -> Result<Option<Vec<u8>>, OptionError> {
        if self.mode.is_none() && self.options.is_empty() {
            return Ok(None);
        }
        let mut object = Map::new();
        if let Some(mode) = self.mode {
            let mode = match mode {
                ModeArg::Append => "append",
                ModeArg::Overwrite => "overwrite",
            };
            object.insert("mode".to_owned(), mode.into());
        }
        let twice = |key: &str| OptionError::Commit {
            problem: format!(
                "{key} is given twice; give each option once (only remove may be repeated)"
            ),
        };
        for (key, value) in &self.options {
            let value = Value::from(value.clone());
            match (key.as_str(), object.get_mut(key)) {
                ("remove", Some(Value::Array(names))) => names.push(value),
                ("remove", _) => drop(object.insert(key.clone(), Value::Array(vec![value]))),
                (_, Some(_)) => return Err(twice(key)),
                (_, None) => drop(object.insert(key.clone(), value)),
            }
        }
        let content = Value::Object(object).to_string().into_bytes();
        match CommitRequest::parse(&content) {
            Ok(_) => Ok(Some(content)),
            // Nobody typed the JSON that a position would point into.
            Err(mut problem) => {
                problem.truncate(problem.find(" at line ").unwrap_or(problem.len()));
                Err(OptionError::Commit { problem })
            }
        }
    }
}

/// Runs the command.
pub(super) fn run(args: &CommitArgs) -> Result<(), CliError> {
    let content = args.marker()?;
    let directory = &args.directory;
    let status = directory.join(STATUS);
    let marker = directory.join(MARKER);
    check(directory, &status)?;
    let answer = wait_for(&marker, content);
    let now = fs::read_to_string(&status).unwrap_or_default();
    let said: Value = serde_json::from_str(&now).unwrap_or_default();
    if args.json {
        write_out(&now)?;
    }
    match answer {
        Ok(()) => {
            let version = said
                .get("version")
                .map(Value::to_string)
                .unwrap_or_default();
            let already = said.get("alreadyApplied").is_some();
            match args.json {
                true => Ok(()),
                false if already => write_out(&format!(
                    "already committed as version {version}; nothing was added\n"
                )),
                false => write_out(&format!("committed version {version}\n")),
            }
        }
        Err(source) => {
            let message = said.pointer("/error/message").and_then(Value::as_str);
            let name = said.pointer("/error/name").and_then(Value::as_str);
            let state = said.get("state").and_then(Value::as_str);
            match (state, message, name) {
                (Some("failed"), Some(message), Some(name)) => Err(CliError::Commit {
                    // That of a conflict begins with its name.
                    message: match message.starts_with(name) {
                        true => message.to_owned(),
                        false => format!("{name}: {message}"),
                    },
                    errno: source.raw_os_error(),
                }),
                (Some("committed"), ..) if source.raw_os_error() == Some(libc::EROFS) => {
                    Err(CliError::Committed {
                        directory: directory.clone(),
                        version: said
                            .get("version")
                            .map(Value::to_string)
                            .unwrap_or_default(),
                    })
                }
                _ => Err(CliError::Input {
                    path: marker,
                    source,
                }),
            }
        }
    }
}

/// Refuses what is no directory of a transaction.
fn check(directory: &Path, status: &Path) -> Result<(), CliError> {
    let said = match fs::read(status) {
        Err(error) if host::is_disconnected(&error) => {
            let staging = directory
                .ancestors()
                .find(|path| path.ends_with("@staging"));
            let mountpoint = staging.and_then(Path::parent).unwrap_or(directory);
            return Err(CliError::Stale {
                mountpoint: mountpoint.to_owned(),
            });
        }
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            return Err(CliError::Input {
                path: status.to_owned(),
                source: error,
            });
        }
        said => said.unwrap_or_default(),
    };
    let said: Value = serde_json::from_slice(&said).unwrap_or_default();
    if said.get("state").is_some_and(Value::is_string) {
        return Ok(());
    }
    Err(CliError::NoTransaction {
        path: directory.to_owned(),
        found: match fs::metadata(directory) {
            Ok(found) if found.is_dir() => "is not a transaction",
            Ok(_) => "is a file",
            Err(_) => "does not exist",
        },
    })
}

/// Writes the marker where there is a content, and fsyncs it, with a word on the terminal where that
/// takes long.
fn wait_for(marker: &Path, content: Option<Vec<u8>>) -> io::Result<()> {
    let marker = marker.to_owned();
    let (sender, receiver) = channel();
    let thread = thread::Builder::new().name("commit".to_owned());
    let begun = monotonic();
    let committing = thread.spawn(move || {
        let result = (|| {
            let mut options = File::options();
            options.write(true).create(true).truncate(content.is_some());
            let mut file = match options.open(&marker) {
                // A transaction that was committed can be asked again, not written.
                Err(error) if error.raw_os_error() == Some(libc::EROFS) => {
                    return match content.is_none_or(|content| holds(&marker, &content)) {
                        true => File::open(&marker)?.sync_all(),
                        false => Err(error),
                    };
                }
                opened => opened?,
            };
            if let Some(content) = content {
                file.write_all(&content)?;
            }
            file.sync_all()
        })();
        let _ = sender.send(result);
    })?;
    let shows = io::stderr().is_terminal();
    let result = loop {
        match receiver.recv_timeout(PATIENCE) {
            Ok(result) => break result,
            Err(RecvTimeoutError::Timeout) if shows => {
                show(&format!("\rcommitting, {} s ", begun.elapsed().as_secs()));
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                break Err(io::Error::other("the thread that commits ended early"));
            }
        }
    };
    let _ = committing.join();
    if shows && begun.elapsed() > PATIENCE {
        show("\r\x1b[K");
    }
    result
}

fn holds(marker: &Path, content: &[u8]) -> bool {
    fs::read(marker).is_ok_and(|found| found == content)
}

#[allow(clippy::disallowed_macros)]
fn show(text: &str) {
    eprint!("{text}");
}

fn write_out(text: &str) -> Result<(), CliError> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        // Whoever reads has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.map_err(|source| CliError::System {
            operation: "write to standard output",
            source,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marker(mode: Option<ModeArg>, options: &[(&str, &str)]) -> Result<Option<String>, String> {
        let args = CommitArgs {
            directory: PathBuf::new(),
            mode,
            options: (options.iter())
                .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
                .collect(),
            json: false,
        };
        args.marker()
            .map(|content| content.map(|bytes| String::from_utf8(bytes).unwrap()))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn options_become_the_content_of_the_marker() {
        assert_eq!(marker(None, &[]), Ok(None));
        let content = marker(
            Some(ModeArg::Overwrite),
            &[("replaceWhere", "p = 1"), ("mergeSchema", "true")],
        );
        let expected = r#"{"mode":"overwrite","replaceWhere":"p = 1","mergeSchema":"true"}"#;
        assert_eq!(content, Ok(Some(expected.to_owned())));
        let content = marker(
            None,
            &[
                ("remove", "a.parquet"),
                ("dataChange", "false"),
                ("remove", "b.parquet"),
            ],
        );
        let expected = r#"{"remove":["a.parquet","b.parquet"],"dataChange":"false"}"#;
        assert_eq!(content, Ok(Some(expected.to_owned())));
    }

    #[test]
    fn wrong_options_are_refused_before_anything_is_written() {
        let error = marker(None, &[("mod", "append")]).unwrap_err();
        assert!(error.contains("unknown option `mod`"), "{error}");
        let error = marker(None, &[("userMetadata", "a"), ("userMetadata", "b")]).unwrap_err();
        assert!(error.contains("twice"), "{error}");
    }
}
