//! The command line: arguments, mounting as a daemon, signals, messages. Wiring only.

mod build;
mod checks;
mod commit;
mod create;
mod daemon;
mod error;
mod helper;
mod inspect;
mod logging;
mod mount;
mod options;
mod probe;
mod process;
mod serve;
mod spec;
mod table;
mod umount;

#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Parser, Subcommand};

pub use error::CliError;
pub use options::{MountSettings, OptionError};
pub use spec::MountSpec;

use crate::fuse::{Nodes, with_causes};

/// The exit codes of a command, for its help.
macro_rules! exit_codes {
    () => {
        "\n\nExit codes: 0 done, 1 failed, 2 wrong usage"
    };
    (conflict) => {
        "\n\nExit codes: 0 done, 1 failed, 2 wrong usage, 3 conflict (somebody else committed first: \
         read again and retry)"
    };
}
use exit_codes;

const HELP: &str = concat!(
    "\
Examples:
  deltafs mount /data/orders /mnt/orders
  ls /mnt/orders/@latest /mnt/orders/@v12 /mnt/orders/@2024-01-15
  deltafs umount /mnt/orders

Environment:
  DELTAFS_LOG               what to log, in place of -v: a level, or `warn,deltafs=debug`
  AWS_*, AZURE_*, GOOGLE_*  credentials and settings of object stores",
    exit_codes!(conflict)
);

/// Mount a Delta Lake table: every version is a directory of Parquet files.
#[derive(Debug, Parser)]
#[command(name = "deltafs", version, about, after_help = HELP)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Mount(Box<mount::MountArgs>),
    Umount(umount::UmountArgs),
    Commit(commit::CommitArgs),
    Create(create::CreateArgs),
    History(inspect::HistoryArgs),
    Detail(inspect::DetailArgs),
    Files(inspect::FilesArgs),
}

/// Runs the program with the arguments of this process. Called as `mount.deltafs` it takes the
/// arguments that mount(8) gives its helpers.
pub fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    ExitCode::from(run(&arguments, build::build_tree))
}

/// Runs a command line and returns its exit code. `build` makes what a mount serves.
fn run<N: Nodes>(
    arguments: &[OsString],
    build: impl FnOnce(&MountSpec) -> Result<Arc<N>, CliError>,
) -> u8 {
    if helper::is_helper(arguments) {
        return helper::run(arguments, build);
    }
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => return show_usage(&error, 2),
    };
    let outcome = match cli.command {
        Command::Mount(args) => args.spec().and_then(|spec| mount::mount(spec, build)),
        Command::Umount(args) => umount::run(&args),
        Command::Commit(args) => commit::run(&args),
        Command::Create(args) => logging::on_terminal().and_then(|()| create::run(&args)),
        Command::History(args) => logging::on_terminal().and_then(|()| inspect::history(&args)),
        Command::Detail(args) => logging::on_terminal().and_then(|()| inspect::detail(&args)),
        Command::Files(args) => logging::on_terminal().and_then(|()| inspect::files(&args)),
    };
    match outcome {
        Ok(()) => 0,
        Err(error) => {
            complain(&error);
            error.exit_code()
        }
    }
}

/// Prints an error, with its causes, for the person at the terminal.
#[allow(clippy::disallowed_macros)]
fn complain(error: &CliError) {
    eprintln!("deltafs: {}", with_causes(error));
}

/// Prints what clap has to say: help and version on stdout, a mistake on stderr in our style.
#[allow(clippy::disallowed_macros)]
fn show_usage(error: &clap::Error, mistake: u8) -> u8 {
    if !error.use_stderr() {
        // Nothing can be done about a closed pipe.
        let _ = error.print();
        return 0;
    }
    let text = error.render().to_string();
    match text.strip_prefix("error: ") {
        Some(text) => eprint!("deltafs: {text}"),
        None => eprint!("{text}"),
    }
    mistake
}
