//! The bytes and names that a reader of one version sees.

mod class;
mod composed;
mod content;
mod directories;
mod error;
pub mod hive;
pub mod identity;
mod mismatch;
pub mod name;
mod open_plan;
pub mod plan;
mod presentation;
mod presented;
mod promises;
pub mod report;
mod rewritten;
mod schema;
mod version;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::storage::cache::DiskCache;
use crate::storage::clones::Clones;

pub use class::Class;
pub use directories::Directories;
pub use error::ViewError;
pub use mismatch::Mismatch;
pub use open_plan::OpenPlan;
pub use presentation::Presentation;
pub use presented::PresentedFile;
pub use schema::PresentedSchema;
pub use version::{VersionError, VersionView};

/// Where partition values stand (`--layout`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Layout {
    /// In the files, which lie directly in the version directory.
    #[default]
    Flat,
    /// In the names of directories, `region=US/`, and not in the files.
    Hive,
}

/// What a presented file holds (`--view`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum View {
    /// The rows and columns of the table at that version.
    #[default]
    Logical,
    /// The bytes of the data file, under its own path.
    Raw,
}

/// How the files of a table are presented, and where what is made for them is kept.
#[derive(Debug, Clone)]
pub struct ViewOptions {
    /// What files show.
    pub view: View,
    /// Where files stand.
    pub layout: Layout,
    /// Where rewritten chunks and sizes are kept.
    pub cache: Arc<DiskCache>,
    /// Whether sizes are told only of files that were looked at, never by what their names promise:
    /// for readers who are not told at the open that the size is another.
    pub proven_sizes: bool,
    /// The real files that are made of composed ones.
    pub clones: Arc<Clones>,
}

impl Default for ViewOptions {
    fn default() -> ViewOptions {
        ViewOptions {
            view: View::default(),
            layout: Layout::default(),
            cache: Arc::new(DiskCache::without_directory()),
            proven_sizes: false,
            clones: Arc::new(Clones::none()),
        }
    }
}

impl Layout {
    /// The name of the layout. Names of files are made from it, so it never changes.
    pub fn as_str(self) -> &'static str {
        match self {
            Layout::Flat => "flat",
            Layout::Hive => "hive",
        }
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Layout {
    type Err = ViewError;

    fn from_str(text: &str) -> Result<Layout, ViewError> {
        match text {
            "flat" => Ok(Layout::Flat),
            "hive" => Ok(Layout::Hive),
            _ => Err(ViewError::UnknownLayout {
                found: text.to_owned(),
            }),
        }
    }
}

impl fmt::Display for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            View::Logical => "logical",
            View::Raw => "raw",
        })
    }
}

impl FromStr for View {
    type Err = ViewError;

    fn from_str(text: &str) -> Result<View, ViewError> {
        match text {
            "logical" => Ok(View::Logical),
            "raw" => Ok(View::Raw),
            _ => Err(ViewError::UnknownView {
                found: text.to_owned(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_and_views_are_read_as_they_are_written() {
        for layout in [Layout::Flat, Layout::Hive] {
            assert_eq!(layout.to_string().parse::<Layout>().unwrap(), layout);
        }
        for view in [View::Logical, View::Raw] {
            assert_eq!(view.to_string().parse::<View>().unwrap(), view);
        }
        assert!(
            "Flat"
                .parse::<Layout>()
                .unwrap_err()
                .to_string()
                .contains("\"Flat\"")
        );
        assert!("".parse::<View>().is_err());
    }
}
