//! `deltafs create`: version 0 of a table, for those who have none yet.
#![allow(clippy::disallowed_methods)]

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{ArgGroup, Args};
use uuid::Uuid;

use super::mount::table;
use super::options::OptionError;
use super::spec::is_url;
use super::{CliError, exit_codes};
use crate::intake::{StagedFile, new_table, schema_of_file};
use crate::log::LOG_DIR;
use crate::schema::StructType;
use crate::storage::{StoreOptions, open_store};
use crate::txn::{self, CommitOptions, CommitOutcome, Operation, Proposal};

const HELP: &str = concat!(
    "\
Examples:
  deltafs create /data/orders --from day1.parquet
  deltafs create /data/orders --from day1.parquet --partition-by region,day
  deltafs create /data/orders --schema orders.json \\
      --property delta.appendOnly=true

The table begins without rows: --from takes the columns of a Parquet file, not its rows, which \
are added like all others:
  deltafs mount /data/orders /mnt/orders
  mkdir /mnt/orders/@staging/b1 && cp day1.parquet /mnt/orders/@staging/b1/
  deltafs commit /mnt/orders/@staging/b1

--schema takes the columns as the log has them, from @info/vN/schema.json of another table say:
  {\"type\":\"struct\",\"fields\":[{\"name\":\"id\",\"type\":\"long\",\"nullable\":false,\"metadata\":{}}]}",
    exit_codes!(conflict)
);

/// Make a table without rows.
#[derive(Debug, Args)]
#[command(after_help = HELP, group(ArgGroup::new("columns").required(true).args(["from", "schema"])))]
pub(super) struct CreateArgs {
    /// The table to be: a directory that is empty or not there, or a URL.
    table: String,
    /// Take the columns of this Parquet file.
    #[arg(long, value_name = "FILE.parquet")]
    from: Option<PathBuf>,
    /// Take the columns from this schema, JSON as in the log.
    #[arg(long, value_name = "FILE.json")]
    schema: Option<PathBuf>,
    /// Partition by these columns.
    #[arg(long, value_name = "COLUMN,...", value_delimiter = ',')]
    partition_by: Vec<String>,
    /// A table property; may be given repeatedly.
    #[arg(long, value_name = "KEY=VALUE", value_parser = super::inspect::key_value)]
    property: Vec<(String, String)>,
    /// An option of the object store, such as aws_region=eu-central-1. May be given repeatedly.
    #[arg(short = 'o', value_name = "KEY=VALUE", value_parser = super::inspect::key_value)]
    option: Vec<(String, String)>,
}

/// Runs the command.
pub(super) fn run(args: &CreateArgs) -> Result<(), CliError> {
    let location = table(&args.table)?;
    let schema = schema(args)?;
    let mut properties = BTreeMap::new();
    for (key, value) in &args.property {
        if properties.insert(key.clone(), value.clone()).is_some() {
            return Err(CliError::Option(OptionError::BadValue {
                option: "property".into(),
                found: key.clone(),
                expected: "each property once",
            }));
        }
    }
    let (protocol, metadata) = new_table(schema, &args.partition_by, &properties)?;
    let made = match is_url(&location) {
        true => None,
        false => prepare(Path::new(&location))?,
    };
    let store = open_store(
        &location,
        &StoreOptions {
            pairs: args.option.clone(),
        },
    )?;
    let mut operation = Operation::named("CREATE TABLE");
    let partition_by = serde_json::json!(args.partition_by).to_string();
    operation
        .parameters
        .insert("partitionBy".to_owned(), partition_by.into());
    let proposal = Proposal {
        protocol: Some(protocol),
        metadata: Some(metadata),
        ..Proposal::new(Uuid::new_v4(), None, operation)
    };
    let outcome = txn::create(&*store, &proposal, &CommitOptions::default());
    if !matches!(outcome, Ok(CommitOutcome::Committed { .. }))
        && let Some(made) = made
    {
        // Nothing was there before; what is there now by somebody else stays.
        let _ = fs::remove_dir(made.join(LOG_DIR));
        let _ = fs::remove_dir(made);
    }
    match outcome? {
        CommitOutcome::Committed { .. } => say(&format!("created {location}, version 0\n")),
        CommitOutcome::Conflicted(_) => Err(CliError::Conflict(format!(
            "{location} is a Delta table already; append to it, or create another"
        ))),
        CommitOutcome::Retryable { attempts } => Err(CliError::Conflict(format!(
            "others were faster {attempts} times; try again"
        ))),
        CommitOutcome::AlreadyApplied { .. } => say(&format!("{location} is there already\n")),
        CommitOutcome::Unknown { source, .. } => Err(source.into()),
    }
}

fn schema(args: &CreateArgs) -> Result<StructType, CliError> {
    let read = |path: &Path, source| CliError::Input {
        path: path.to_owned(),
        source,
    };
    if let Some(path) = &args.from {
        let file = File::open(path).map_err(|source| read(path, source))?;
        let size = file.metadata().map_err(|source| read(path, source))?.len();
        let staged = StagedFile {
            name: path.display().to_string(),
            bytes: Arc::new(Arc::new(file)),
            size,
            directories: Vec::new(),
        };
        return Ok(schema_of_file(&staged)?);
    }
    let path = args.schema.as_deref().unwrap_or(Path::new(""));
    let text = fs::read_to_string(path).map_err(|source| read(path, source))?;
    StructType::parse(&text).map_err(|source| CliError::Schema {
        path: path.to_owned(),
        source,
    })
}

/// Makes the directory of the table where it is missing, and returns it then. What is there must be
/// empty: files that the log does not name would be taken for leftovers.
fn prepare(path: &Path) -> Result<Option<PathBuf>, CliError> {
    let failed = |source| CliError::Input {
        path: path.to_owned(),
        source,
    };
    match fs::create_dir(path) {
        Ok(()) => {
            // The table is not to be lost with the name of its directory.
            let parent = path
                .parent()
                .filter(|parent| !parent.as_os_str().is_empty());
            File::open(parent.unwrap_or(Path::new(".")))
                .and_then(|parent| parent.sync_all())
                .map_err(failed)?;
            return Ok(Some(path.to_owned()));
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(CliError::NoTable {
                location: path.display().to_string(),
                found: "cannot be made".to_owned(),
                expected: "the directory above it to be there; make that first".to_owned(),
            });
        }
        Err(source) => return Err(failed(source)),
    }
    // A table that is there already is for the commit to find.
    if path.join(LOG_DIR).exists() {
        return Ok(None);
    }
    for row in fs::read_dir(path).map_err(failed)? {
        let name = row.map_err(failed)?.file_name();
        if !name.as_encoded_bytes().starts_with(b".") && !name.as_encoded_bytes().starts_with(b"_")
        {
            return Err(CliError::NotEmpty {
                path: path.to_owned(),
                found: name.to_string_lossy().into_owned(),
            });
        }
    }
    Ok(None)
}

fn say(text: &str) -> Result<(), CliError> {
    match io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.map_err(|source| CliError::System {
            operation: "write to standard output",
            source,
        }),
    }
}
