//! `deltafs history`, `detail` and `files`: what the log says, without a mount.

mod print;

use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, ValueEnum};
use jiff::tz::TimeZone;
use serde_json::{Map, Value};

use self::print::{Column, Rows, print_fields};
use super::spec::absolute;
use super::{CliError, exit_codes, table};
use crate::base::Version;
use crate::base::clock::{now_ms, rfc3339};
use crate::base::parallel;
use crate::log::LogError;
use crate::snapshot::{FileId, Generation, SnapshotError};
use crate::storage::{StoreOptions, TableUrl};
use crate::tree::names::{parse_time, parse_version};
use crate::view::{Layout, VersionView, View, ViewOptions, report};

/// Which table, and how to print.
#[derive(Debug, Args)]
struct TableArgs {
    /// The table: a path or URL, with `@vN` or `@TIME` behind it for an old version.
    #[arg(value_name = "TABLE[@vN|@TIME]")]
    table: String,
    /// Print JSON, one object a line, instead of columns.
    #[arg(long)]
    json: bool,
    /// The time zone of TIME where it names none, such as Europe/Berlin.
    #[arg(long, value_name = "TZ", default_value = "UTC")]
    timezone: String,
    /// An option of the object store, such as aws_region=eu-central-1. May be given repeatedly.
    #[arg(short = 'o', value_name = "KEY=VALUE", value_parser = key_value)]
    option: Vec<(String, String)>,
}

pub(super) fn key_value(text: &str) -> Result<(String, String), String> {
    text.split_once('=')
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .ok_or_else(|| format!("expected KEY=VALUE, found {text:?}"))
}

fn prefix(text: &str) -> Result<String, &'static str> {
    absolute(text).ok_or("expected a directory or a URL")
}

fn number(text: &str) -> Result<usize, &'static str> {
    text.parse().map_err(|_| "expected a number")
}

/// Show the commits of a table, newest first.
#[derive(Debug, Args)]
#[command(after_help = concat!("\
Examples:
  deltafs history /data/orders
  deltafs history /data/orders --limit 5
  deltafs history s3://lake/orders -o aws_region=eu-central-1 --json
  deltafs history /data/orders@v7     commits up to version 7", exit_codes!()))]
pub(super) struct HistoryArgs {
    #[command(flatten)]
    table: TableArgs,
    /// Show at most this many commits.
    #[arg(long, value_name = "N", value_parser = number)]
    limit: Option<usize>,
}

/// Show what a table is: schema, protocol, properties, size, which versions can be read.
#[derive(Debug, Args)]
#[command(after_help = concat!("\
Examples:
  deltafs detail /data/orders
  deltafs detail /data/orders@v3 --json | jq .schema
  deltafs detail '/data/orders@2024-01-15 10:30' --timezone Europe/Berlin", exit_codes!()))]
pub(super) struct DetailArgs {
    #[command(flatten)]
    table: TableArgs,
}

/// List the live files of a version, by their names in a mount.
#[derive(Debug, Args)]
#[command(after_help = concat!("\
Examples:
  deltafs files /data/orders
  deltafs files /data/orders@v3 --json | jq -r .path
  deltafs files /data/orders --check      can all files be read in a mount?

The size is that of the data file; what a mount shows may be shorter or longer. docs/SEMANTICS.md \
explains the fields of --json.", exit_codes!()))]
pub(super) struct FilesArgs {
    #[command(flatten)]
    table: TableArgs,
    /// Open each file: say how it is presented (identity, composed, rewritten) or why it cannot be
    /// (unsupported), which makes the exit code 1.
    #[arg(long)]
    check: bool,
    /// As of the mount: a directory or URL outside the table that its files may lie under; may be given
    /// repeatedly.
    #[arg(long, value_name = "PREFIX", value_parser = prefix)]
    allow_path: Vec<String>,
    /// Files as a reader of the version sees them, or the data files' own bytes.
    #[arg(
        long,
        value_enum,
        default_value_t,
        value_name = "logical|raw",
        hide_possible_values = true
    )]
    view: ViewArg,
    /// All files in the version directory, or under column=value directories.
    #[arg(
        long,
        value_enum,
        default_value_t,
        value_name = "flat|hive",
        hide_possible_values = true
    )]
    layout: LayoutArg,
}

#[derive(Debug, Clone, Copy, Default, ValueEnum)]
enum ViewArg {
    #[default]
    Logical,
    Raw,
}

#[derive(Debug, Clone, Copy, Default, ValueEnum)]
enum LayoutArg {
    #[default]
    Flat,
    Hive,
}

/// A table opened, and the version asked for.
struct Target {
    generation: Arc<Generation>,
    version: Version,
}

impl TableArgs {
    fn open(&self, allow_paths: &[String]) -> Result<Target, CliError> {
        let options = StoreOptions {
            pairs: self.option.clone(),
        };
        let TableUrl { location, at } = TableUrl::parse(&self.table);
        let table = table::open(&location, &options, allow_paths, Duration::ZERO)?;
        let generation = table.current();
        let version = match at {
            None => generation.newest(),
            Some(at) => self.resolve(&generation, &at)?,
        };
        Ok(Target {
            generation,
            version,
        })
    }

    fn resolve(&self, generation: &Generation, at: &str) -> Result<Version, CliError> {
        if let Some((version, _)) = parse_version(&format!("@{at}")) {
            return Ok(version);
        }
        let zone = TimeZone::get(&self.timezone).map_err(|_| CliError::TimeZone {
            found: self.timezone.clone(),
        })?;
        let Some(time) = parse_time(at, &zone) else {
            return Err(CliError::VersionOrTime {
                found: at.to_owned(),
            });
        };
        Ok(generation.version_at(at, time, now_ms())?)
    }
}

/// Runs `deltafs history`.
pub(super) fn history(args: &HistoryArgs) -> Result<(), CliError> {
    let target = args.table.open(&[])?;
    let generation = &target.generation;
    let listing = generation.listing();
    if !listing.has_commit(target.version) {
        listing.check(target.version)?;
    }
    let versions = listing
        .commits()
        .iter()
        .rev()
        .copied()
        .filter(|version| *version <= target.version)
        .take(args.limit.unwrap_or(usize::MAX));
    let mut out = BufWriter::new(io::stdout().lock());
    let mut rows = Rows::new(vec![
        Column::right("VERSION"),
        Column::left("TIMESTAMP"),
        Column::left("OPERATION"),
        Column::left("PARAMETERS"),
    ]);
    for version in versions {
        let entry = report::history_entry(generation, version);
        if args.table.json {
            json_line(&mut out, entry)?;
        } else {
            rows.push(history_row(&entry));
        }
    }
    if !args.table.json {
        piped(rows.print(&mut out))?;
    }
    piped(out.flush())
}

fn history_row(entry: &Map<String, Value>) -> Vec<String> {
    let text = |key: &str| match entry.get(key) {
        None | Some(Value::Null) => "-".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    let time = entry.get("timestamp").and_then(Value::as_i64);
    let parameters = match entry.get("operationParameters") {
        Some(Value::Object(parameters)) => parameters
            .iter()
            .map(|(key, value)| match value {
                Value::String(text) => format!("{key}={text}"),
                other => format!("{key}={other}"),
            })
            .collect::<Vec<_>>()
            .join(" "),
        _ => entry
            .get("error")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned(),
    };
    vec![
        text("version"),
        time.map_or_else(|| "-".to_owned(), rfc3339),
        text("operation"),
        parameters,
    ]
}

/// Runs `deltafs detail`.
pub(super) fn detail(args: &DetailArgs) -> Result<(), CliError> {
    let target = args.table.open(&[])?;
    let snapshot = target.generation.snapshot(target.version)?;
    let detail = report::detail(&target.generation, &snapshot, true)?;
    let mut out = BufWriter::new(io::stdout().lock());
    if args.table.json {
        json_line(&mut out, detail)?;
    } else {
        piped(print_fields(&mut out, &detail))?;
    }
    piped(out.flush())
}

/// Runs `deltafs files`.
pub(super) fn files(args: &FilesArgs) -> Result<(), CliError> {
    let target = args.table.open(&args.allow_path)?;
    let view = VersionView::new(
        target.generation.clone(),
        target.version,
        &ViewOptions {
            view: match args.view {
                ViewArg::Logical => View::Logical,
                ViewArg::Raw => View::Raw,
            },
            layout: match args.layout {
                LayoutArg::Flat => Layout::Flat,
                LayoutArg::Hive => Layout::Hive,
            },
            ..ViewOptions::default()
        },
        &[],
    )?;
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    let mut bad = 0;
    if args.table.json {
        let records = target.generation.num_records(view.snapshot().files())?;
        let files = target.generation.files();
        for id in view.snapshot().files() {
            let line = report::file_line(&view, &files, id, &records, args.check);
            bad += u64::from(line.get("reason").is_some_and(Value::is_string));
            if !json_line(&mut out, line)? {
                return Ok(());
            }
        }
    } else {
        let printed = print_files(&mut out, &view, args.check);
        bad = *printed.as_ref().unwrap_or(&0);
        piped(printed.map(drop))?;
    }
    piped(out.flush())?;
    match bad {
        0 => Ok(()),
        _ => Err(CliError::Unpresentable {
            bad,
            all: view.snapshot().files().len(),
        }),
    }
}

/// How many lines a thread makes at a time.
const LINES: usize = 8192;

/// One line a file, in columns of fixed width, so that a million files need not be held back. A
/// person gets headings; a pipe gets one line a file. Returns how many cannot be presented, as far as
/// that was looked at.
fn print_files(out: &mut impl Write, view: &VersionView, check: bool) -> io::Result<u64> {
    if io::stdout().is_terminal() {
        let class = if check { "CLASS        " } else { "" };
        writeln!(out, "{:>14}  {:<24}  {class}NAME", "SIZE", "MODIFIED")?;
    }
    let threads = parallel::cores();
    let mut ids = view.snapshot().files().iter();
    let mut bad = 0;
    loop {
        let batch: Vec<FileId> = ids.by_ref().take(threads * LINES).collect();
        if batch.is_empty() {
            return Ok(bad);
        }
        // Making a name costs a hash, which is most of the work.
        let parts: Vec<&[FileId]> = batch.chunks(LINES).collect();
        let lines = parallel::map("files", threads, &parts, |ids| file_lines(view, ids, check));
        for (lines, unpresentable) in lines {
            out.write_all(lines.as_bytes())?;
            bad += unpresentable;
        }
    }
}

fn file_lines(view: &VersionView, ids: &[FileId], check: bool) -> (String, u64) {
    let files = view.generation().files();
    let mut lines = String::with_capacity(ids.len() * 128);
    let mut name = String::new();
    let mut bad = 0;
    // Files of one commit share their time.
    let mut time = (0, rfc3339(0));
    for id in ids {
        let file = files.get(*id);
        if time.0 != file.modified {
            time = (file.modified, rfc3339(file.modified));
        }
        name.clear();
        view.path(&file, &mut name);
        let name = printable(&name);
        let _: fmt::Result = if check {
            let presentation = view.presentation();
            let (class, reason) =
                presentation.class(&presentation.plan(&files, *id, view.provenance()));
            bad += u64::from(reason.is_some());
            let reason = reason.map_or_else(String::new, |reason| format!("  {reason}"));
            let (class, reason) = (class.as_str(), printable(&reason));
            writeln!(
                lines,
                "{:>14}  {}  {class:<11}  {name}{reason}",
                file.size, time.1
            )
        } else {
            writeln!(lines, "{:>14}  {}  {name}", file.size, time.1)
        };
    }
    (lines, bad)
}

/// Text from a table, as it may go to a terminal: control characters are shown, not sent.
fn printable(text: &str) -> Cow<'_, str> {
    // Text is nearly always ASCII, of which bytes tell all.
    let shows = match text.is_ascii() {
        true => !text
            .bytes()
            .fold(false, |found, byte| found | (byte < b' ') | (byte == 0x7F)),
        false => !text.chars().any(char::is_control),
    };
    if !shows {
        Cow::Owned(text.escape_debug().to_string())
    } else {
        Cow::Borrowed(text)
    }
}

/// Writes one object on a line; `false` when nobody reads any more.
fn json_line(out: &mut impl Write, line: Map<String, Value>) -> Result<bool, CliError> {
    let written = serde_json::to_writer(&mut *out, &line)
        .map_err(io::Error::from)
        .and_then(|()| out.write_all(b"\n"));
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        other => piped(other).map(|()| true),
    }
}

/// A reader that has seen enough, such as `head`, is no failure.
fn piped(result: io::Result<()>) -> Result<(), CliError> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(source) => Err(CliError::System {
            operation: "write to standard output",
            source,
        }),
        Ok(()) => Ok(()),
    }
}

impl From<LogError> for CliError {
    fn from(error: LogError) -> CliError {
        SnapshotError::from(error).into()
    }
}
