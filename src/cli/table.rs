//! Opening the table that was named, and telling whoever misnamed it what to name.

use std::path::Path;
use std::time::Duration;

use super::CliError;
use super::spec::{is_url, local_path};
use crate::fuse::{host, with_causes};
use crate::log::LOG_DIR;
use crate::snapshot::Table;
use crate::storage::{StoreOptions, TableRoots, TableUrl, open_store};

/// Where the clouds' own machines get their credentials from, which is asked last. An error that
/// speaks of one of these says that there were no others.
const METADATA_SERVICES: [&str; 3] = [
    "169.254.169.254",
    "169.254.170.2",
    "metadata.google.internal",
];

/// Opens the table at `location`, which has no version behind it.
pub(super) fn open(
    location: &str,
    options: &StoreOptions,
    allow_paths: &[String],
    refresh: Duration,
) -> Result<Table, CliError> {
    let opened = (|| {
        let store = open_store(location, options)?;
        let roots = TableRoots::new(store, allow_paths, options)?;
        Ok(Table::open(roots, refresh)?)
    })();
    opened.map_err(|error| match misnamed(location) {
        Some(better) => better,
        None => without_credentials(location, error),
    })
}

/// What is wrong with a location where no table was found, when that can be seen from it.
fn misnamed(location: &str) -> Option<CliError> {
    let path = local_path(location)?;
    let no_table = |found: String, expected: String| {
        Some(CliError::NoTable {
            location: location.to_owned(),
            found,
            expected,
        })
    };
    match host::is_directory(&path) {
        Ok(true) if path.ends_with(LOG_DIR) => no_table(
            "is the log of a table".to_owned(),
            format!("the directory above it, {}", above(&path)),
        ),
        Ok(false) => no_table(
            "is a file".to_owned(),
            format!("the directory of a table, with {LOG_DIR}/ in it"),
        ),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let TableUrl { location, at } = TableUrl::parse(location);
            match (at, location.rsplit_once('@')) {
                (Some(at), _) => no_table(
                    "does not exist".to_owned(),
                    format!(
                        "a table without a version behind it, {location} (in a mount, version \
                         {at} is MOUNTPOINT/@{at})"
                    ),
                ),
                (None, Some((table, at))) if !at.contains('/') && !table.is_empty() => no_table(
                    "does not exist".to_owned(),
                    format!(
                        "a table, or {table}@v12, {table}@2024-01-15 or \
                         {table}@2024-01-15T10:30:00Z, if {at:?} was to be a version or a time"
                    ),
                ),
                _ => None,
            }
        }
        _ => None,
    }
}

fn above(path: &Path) -> String {
    path.parent().unwrap_or(path).display().to_string()
}

/// Says of an error that comes from a lack of credentials what to set.
fn without_credentials(location: &str, error: CliError) -> CliError {
    let text = with_causes(&error);
    let is_lack = is_url(location) && METADATA_SERVICES.iter().any(|host| text.contains(host));
    let scheme = location.split(':').next().unwrap_or_default();
    let expected = match scheme.to_ascii_lowercase().as_str() {
        "s3" | "s3a" => {
            "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment (~/.aws is not read), \
             or -o skip_signature=true for a public bucket"
        }
        "gs" => "GOOGLE_SERVICE_ACCOUNT=FILE.json in the environment",
        "az" | "azure" | "adl" | "abfs" | "abfss" => {
            "AZURE_STORAGE_ACCOUNT_KEY in the environment, or -o use_azure_cli=true after `az login`"
        }
        _ => return error,
    };
    match is_lack {
        true => CliError::NoCredentials {
            location: location.to_owned(),
            expected,
            source: Box::new(error),
        },
        false => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(location: &str) -> String {
        let error = open(location, &StoreOptions::default(), &[], Duration::ZERO)
            .expect_err("no table is there");
        with_causes(&error)
    }

    #[test]
    fn whoever_misnames_a_table_is_told_what_to_name() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let table = directory.path().join("t");
        std::fs::create_dir_all(table.join(LOG_DIR)).expect("it can be made");
        std::fs::write(table.join("a.parquet"), "x").expect("it can be written");
        let table = table.display().to_string();
        for (location, hint) in [
            (
                format!("{table}/{LOG_DIR}"),
                format!("expected the directory above it, {table}"),
            ),
            (
                format!("{table}/a.parquet"),
                "is a file; expected the directory".to_owned(),
            ),
            (format!("{table}@v1"), "MOUNTPOINT/@v1".to_owned()),
            (format!("{table}@yesterday"), format!("{table}@2024-01-15")),
            (format!("{table}x"), format!("{table}x does not exist")),
            (table.clone(), "is not a Delta table".to_owned()),
        ] {
            let said = told(&location);
            assert!(said.contains(&hint), "{location}: {said}");
        }
    }

    #[test]
    fn a_lack_of_credentials_is_told_by_what_to_set() {
        let error = || CliError::Daemon {
            code: 1,
            message: "GET http://169.254.169.254/latest/api/token: refused".to_owned(),
        };
        let said = with_causes(&without_credentials("s3://b/t", error()));
        assert!(
            said.contains("AWS_ACCESS_KEY_ID") && said.contains("refused"),
            "{said}"
        );
        let said = with_causes(&without_credentials("/b/t", error()));
        assert!(!said.contains("AWS"), "{said}");
    }
}
