//! Writes the checkpoint of a version of a Delta table, in the form that the table's properties ask
//! for: `cargo run --example checkpoint -- /data/orders 10`.
//!
//! Commits made through a mount are followed by checkpoints on their own; this does it for tables
//! that other programs write.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "an example is a program of its own, outside the floors of the library"
)]

use std::error::Error;
use std::process::ExitCode;
use std::time::Duration;

use deltafs::snapshot::Table;
use deltafs::snapshot::checkpoint::{CheckpointReport, write_checkpoint};
use deltafs::storage::{StoreOptions, TableRoots, open_store};

fn checkpoint(table: &str, version: Option<u64>) -> Result<CheckpointReport, Box<dyn Error>> {
    let options = StoreOptions::default();
    let roots = TableRoots::new(open_store(table, &options)?, &[], &options)?;
    let generation = Table::open(roots, Duration::ZERO)?.current();
    let version = version.unwrap_or_else(|| generation.newest());
    Ok(write_checkpoint(&generation, version)?)
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (table, version) = match arguments.as_slice() {
        [table] => (table, None),
        [table, version] => match version.parse() {
            Ok(version) => (table, Some(version)),
            Err(error) => {
                eprintln!("checkpoint: {version:?} is no version: {error}");
                return ExitCode::from(2);
            }
        },
        _ => {
            eprintln!("usage: checkpoint TABLE [VERSION]    (the newest version by default)");
            return ExitCode::from(2);
        }
    };
    match checkpoint(table, version) {
        Ok(report) => {
            let written = &report.written;
            println!(
                "version {}: {} ({} live files, {} tombstones, {} bytes)",
                report.version,
                written.file.path,
                written.adds,
                written.removes,
                written.file.size + written.sidecars.iter().map(|file| file.size).sum::<u64>(),
            );
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("checkpoint: {table}: {error}");
            ExitCode::FAILURE
        }
    }
}
