//! Small inputs that readers of this kind got wrong, each from a public report about some other
//! project (named above the test): what the report had, and what is right.

// Tests make and break tables with the plain file system.
#![allow(clippy::disallowed_methods)]

#[path = "../support/mod.rs"]
mod support;

mod a_paths;
mod b_presented;
mod b_rows;
mod b_types;
mod c_log;
mod d_timestamps;
mod e_vacuum;
mod f_commits;
mod f_intake;
mod g_names;

use arrow::array::RecordBatch;
use deltafs::errno;
use deltafs::tree::{TreeError, TreeOptions};
use deltafs::view::{Layout, View, ViewOptions};

/// A `long` column `id`, which most tables here have.
const ID: &[(&str, &str)] = &[("id", "long")];

/// Rows of a column `id`.
fn ids(values: impl IntoIterator<Item = i64>) -> RecordBatch {
    support::batch([("id", support::longs(values))])
}

fn hive() -> TreeOptions {
    TreeOptions {
        view: ViewOptions {
            layout: Layout::Hive,
            ..ViewOptions::default()
        },
        ..TreeOptions::default()
    }
}

fn raw() -> TreeOptions {
    TreeOptions {
        view: ViewOptions {
            view: View::Raw,
            ..ViewOptions::default()
        },
        ..TreeOptions::default()
    }
}

/// A file without deletion vector.
fn plain(path: &str) -> support::LogicalFile {
    (path.to_owned(), None)
}

/// The errno of a result that must be an error.
fn errno_of<T>(result: Result<T, TreeError>) -> (i32, String) {
    match result {
        Ok(_) => panic!("an error was expected"),
        Err(error) => (errno::of_tree(&error), error.to_string()),
    }
}
