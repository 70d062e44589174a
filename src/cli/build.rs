//! From what the user asked for to the tree that is served.

use std::sync::Arc;

use super::options::MountSettings;
use super::{CliError, MountSpec};
use crate::errno;
use crate::fuse::Access;
use crate::snapshot::Table;
use crate::staging::{Staging, StagingOptions};
use crate::storage::cache::{DiskCache, default_directory};
use crate::storage::{TableRoots, open_store};
use crate::tree::{Tree, TreeOptions};
use crate::txn::CommitOptions;
use crate::view::{VersionError, View, ViewOptions};

/// Opens the table and makes its tree. Runs in the process that will serve it: it may start
/// threads.
pub(super) fn build_tree(spec: &MountSpec) -> Result<Arc<Tree>, CliError> {
    let settings = &spec.settings;
    let store = open_store(&spec.table, &settings.store)?;
    let roots = TableRoots::new(store, &settings.allow_paths, &settings.store)?;
    let table = Arc::new(Table::open(roots, settings.refresh)?);
    check_newest(&table)?;
    let view = ViewOptions {
        view: settings.view,
        layout: settings.layout,
        cache: Arc::new(cache(settings)),
    };
    let options = TreeOptions {
        list_limit: settings.list_limit,
        staging: staging(spec, &table, &view).map(Arc::new),
        staging_permissions: staging_permissions(settings),
        view,
        timezone: settings.timezone.clone(),
    };
    Ok(Arc::new(Tree::new(table, options)))
}

/// The transactions, where the mount may be written to: those that earlier mounts have left too.
fn staging(spec: &MountSpec, table: &Arc<Table>, view: &ViewOptions) -> Option<Staging> {
    if spec.is_read_only() {
        return None;
    }
    let options = StagingOptions {
        directory: spec.settings.staging_dir.clone(),
        view: view.clone(),
        commit: CommitOptions::default(),
        errno_of: errno::of_staging,
    };
    Some(Staging::open(table.clone(), options))
}

/// Who may begin transactions: everyone whom the mount lets in, where the daemon can give them the
/// files that they make; else the user who mounts.
fn staging_permissions(settings: &MountSettings) -> u16 {
    match settings.access == Access::Everyone && rustix::process::geteuid().is_root() {
        true => 0o1777,
        false => 0o755,
    }
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
