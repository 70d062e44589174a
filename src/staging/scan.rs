//! Which of the things in a transaction are its data files.

use std::cell::Cell;

use super::StagingError;
use super::marker::MARKER;
use crate::schema::{HIVE_DEFAULT_PARTITION, unescape_hive};
use crate::storage::{EntryKind, SpoolDirectory, WalkedEntry};

/// The directory that Hadoop's committer, so Spark's, works in, and removes when its job is done.
const TEMPORARY: &str = "_temporary";

/// A staged data file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Staged {
    /// What the disk says of it.
    pub entry: WalkedEntry,
    /// The `column=value` directories that it lies in, unescaped; `None` is null.
    pub directories: Vec<(String, Option<String>)>,
}

/// The data files of a transaction, sorted by path. `partition_columns` are the table's: a
/// directory of one of them counts also where its name begins with `_` or `.`.
///
/// Names that begin with `.` or `_`, `*.tmp` and `*.crc` are left out, with all below them. Anything
/// else that is no `*.parquet` file, at the top or below `column=value` directories, is an error:
/// nothing is left out silently. So is a directory `_temporary` at the top: rows are still to come
/// out of it, or never will.
pub(super) fn scan(
    directory: &SpoolDirectory,
    partition_columns: &[String],
) -> Result<Vec<Staged>, StagingError> {
    let is_unfinished = Cell::new(false);
    let enter = |path: &str, kind| {
        if path == TEMPORARY && kind == EntryKind::Directory {
            is_unfinished.set(true);
        }
        !is_ignored(last(path), kind, partition_columns)
    };
    let mut found = Vec::new();
    let walked = directory.walk(&enter)?;
    if is_unfinished.get() {
        return Err(StagingError::NotADataFile {
            file: TEMPORARY.to_owned(),
            problem:
                "is where a job of Spark or Hadoop keeps its files until it is done: wait for \
                      the job to end; if it was killed, remove the transaction and run it again"
                    .to_owned(),
        });
    }
    for entry in walked {
        let problem = match entry.kind {
            EntryKind::File => {
                found.push(staged(entry)?);
                continue;
            }
            // What is below it was walked; a directory without anything says nothing.
            EntryKind::Directory => continue,
            EntryKind::Other => "is no regular file: stage the files themselves, or remove it",
            EntryKind::Misnamed => "has a name that is not UTF-8: rename it, or remove it",
            EntryKind::TooDeep => {
                "lies deeper than any directory of partitions: move what is in it to the top, or to \
                 the directory of its partition"
            }
        };
        return Err(StagingError::NotADataFile {
            file: entry.path,
            problem: problem.to_owned(),
        });
    }
    Ok(found)
}

fn staged(entry: WalkedEntry) -> Result<Staged, StagingError> {
    let refused = |problem: String| StagingError::NotADataFile {
        file: entry.path.clone(),
        problem,
    };
    if !last(&entry.path).ends_with(".parquet") {
        return Err(refused(format!(
            "is no data file: these are called *.parquet; rename it, remove it, or have its name \
             begin with _ or . (as {MARKER}) to have it ignored"
        )));
    }
    let mut directories = Vec::new();
    let mut above: Vec<&str> = entry.path.split('/').collect();
    above.pop();
    for name in above {
        let Some((column, value)) = name
            .split_once('=')
            .filter(|(column, _)| !column.is_empty())
        else {
            return Err(refused(format!(
                "lies in directory {name:?}, which is not of the form column=value; move it to the \
                 top, or to the directory of its partition"
            )));
        };
        let value = (value != HIVE_DEFAULT_PARTITION).then(|| unescape_hive(value).into_owned());
        directories.push((unescape_hive(column).into_owned(), value));
    }
    Ok(Staged { entry, directories })
}

/// Whether a name is left out, with all below it.
fn is_ignored(name: &str, kind: EntryKind, partition_columns: &[String]) -> bool {
    if name.starts_with(['.', '_']) {
        let is_partition = kind != EntryKind::File
            && name.split_once('=').is_some_and(|(column, _)| {
                let column = unescape_hive(column);
                (partition_columns.iter()).any(|known| known.eq_ignore_ascii_case(&column))
            });
        return !is_partition;
    }
    name.ends_with(".tmp") || name.ends_with(".crc")
}

fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(path: &str) -> WalkedEntry {
        WalkedEntry {
            path: path.to_owned(),
            kind: EntryKind::File,
            size: 1,
            inode: 1,
            modified_ns: 0,
        }
    }

    #[test]
    fn directories_give_partition_values() {
        let found = staged(entry(
            "region=A%2FB/day=__HIVE_DEFAULT_PARTITION__/x.parquet",
        ))
        .unwrap();
        let expected = [
            ("region".to_owned(), Some("A/B".to_owned())),
            ("day".to_owned(), None),
        ];
        assert_eq!(found.directories, expected);
        for path in ["x.csv", "sub/x.parquet", "=a/x.parquet", "part-0"] {
            assert!(staged(entry(path)).is_err(), "{path}");
        }
    }

    #[test]
    fn what_writers_leave_beside_their_files_is_left_out() {
        let columns = ["_p".to_owned()];
        for (name, kind, ignored) in [
            ("_SUCCESS", EntryKind::File, true),
            ("_temporary", EntryKind::Directory, true),
            (".part-0.parquet.crc", EntryKind::File, true),
            ("x.parquet.tmp", EntryKind::File, true),
            (".x.parquet.a1B2c3", EntryKind::File, true),
            ("_p=1", EntryKind::Directory, false),
            ("_p=\u{FFFD}", EntryKind::Misnamed, false),
            (".x.\u{FFFD}.a1B2c3", EntryKind::Misnamed, true),
            ("_q=1", EntryKind::Directory, true),
            ("_p=1", EntryKind::File, true),
            ("x.parquet", EntryKind::File, false),
            ("notes.txt", EntryKind::File, false),
        ] {
            assert_eq!(is_ignored(name, kind, &columns), ignored, "{name}");
        }
    }
}
