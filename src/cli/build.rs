//! From what the user asked for to the tree that is served.

use std::sync::Arc;

use super::options::MountSettings;
use super::{CliError, MountSpec};
use crate::snapshot::Table;
use crate::storage::cache::{DiskCache, default_directory};
use crate::storage::{TableRoots, open_store};
use crate::tree::{Tree, TreeOptions};
use crate::view::{VersionError, View, ViewOptions};

/// Opens the table and makes its tree. Runs in the process that will serve it: it may start
/// threads.
pub(super) fn build_tree(spec: &MountSpec) -> Result<Arc<Tree>, CliError> {
    let settings = &spec.settings;
    let store = open_store(&spec.table, &settings.store)?;
    let roots = TableRoots::new(store, &settings.allow_paths, &settings.store)?;
    let table = Table::open(roots, settings.refresh)?;
    check_newest(&table)?;
    let options = TreeOptions {
        list_limit: settings.list_limit,
        view: ViewOptions {
            view: settings.view,
            layout: settings.layout,
            cache: Arc::new(cache(settings)),
        },
        timezone: settings.timezone.clone(),
    };
    Ok(Arc::new(Tree::new(Arc::new(table), options)))
}

/// The cache that the settings ask for. The raw view needs none.
fn cache(settings: &MountSettings) -> DiskCache {
    if settings.view == View::Raw {
        return DiskCache::without_directory();
    }
    let directory = settings.cache_dir.clone().or_else(default_directory);
    DiskCache::open_or_without(directory.as_deref(), settings.cache_size)
}

/// Builds the newest version, so that the first look at the mount need not, and so that a table
/// that cannot be read is refused now. Where only the newest version is bad, the others are served,
/// with a warning.
#[allow(clippy::disallowed_macros)]
fn check_newest(table: &Table) -> Result<(), CliError> {
    let generation = table.current();
    let newest = generation.newest();
    let checked = generation
        .snapshot(newest)
        .map_err(Arc::new)
        .and_then(|snapshot| snapshot.readable().map(|_| ()));
    let Err(error) = checked else {
        return Ok(());
    };
    let others = generation
        .rebuildable()
        .iter()
        .any(|range| *range.start() != newest || *range.end() != newest);
    if !others {
        return Err(CliError::from(VersionError::Snapshot(error)));
    }
    tracing::warn!(%error, "the newest version cannot be read; older ones are served");
    eprintln!(
        "deltafs: warning: the newest version cannot be read: {error}; older ones are served"
    );
    Ok(())
}
