//! From what the user asked for to the tree that is served.

use std::io;
use std::path::Path;
use std::sync::Arc;

use super::{CliError, MountSpec, table};
use crate::errno;
use crate::fuse::{Access, host, with_causes};
use crate::snapshot::Table;
use crate::staging::{Staging, StagingOptions};
use crate::storage::cache::{DiskCache, default_directory};
use crate::storage::clones::Clones;
use crate::storage::posix::Owner;
use crate::tree::{Tree, TreeOptions};
use crate::txn::CommitOptions;
use crate::view::{VersionError, View, ViewOptions};

/// Opens the table and makes its tree. Runs in the process that will serve it: it may start
/// threads.
pub(super) fn build_tree(spec: &MountSpec) -> Result<Arc<Tree>, CliError> {
    let settings = &spec.settings;
    if let Some(path) = &settings.staging_dir {
        check_staging(path)?;
    }
    let table = table::open(
        &spec.table,
        &settings.store,
        &settings.allow_paths,
        settings.refresh,
    )?;
    let table = Arc::new(table);
    check_newest(spec, &table)?;
    let cache = Arc::new(cache(spec));
    let view = ViewOptions {
        view: settings.view,
        layout: settings.layout,
        proven_sizes: settings.fast_open,
        clones: Arc::new(clones(spec, &cache)),
        cache,
    };
    let (staging_owner, staging_permissions) = staging_access(spec);
    let options = TreeOptions {
        list_limit: settings.list_limit,
        staging: staging(spec, &table, &view).map(Arc::new),
        staging_owner,
        staging_permissions,
        view,
        timezone: settings.timezone.clone(),
        reads_unopened: settings.fast_open,
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

/// Owner and permission bits of `@staging`: who may begin transactions. That is the user who mounts.
/// A mount of root's that lets everyone in commits for others what they could not write to the table
/// themselves, so there it is whoever may write to the table's directory.
fn staging_access(spec: &MountSpec) -> (Option<Owner>, u16) {
    let settings = &spec.settings;
    let is_shared = settings.access == Access::Everyone && rustix::process::geteuid().is_root();
    let table = spec.local_table().filter(|_| is_shared);
    let Some((owner, mode)) = table.and_then(|table| host::ownership(&table).ok()) else {
        return (None, 0o755);
    };
    let writers = [6, 3, 0].map(|class| match mode >> class & 0o3 {
        0o3 => 0o7 << class,
        _ => 0o5 << class,
    });
    let owner = Owner {
        uid: settings.uid.unwrap_or(owner.uid),
        gid: settings.gid.unwrap_or(owner.gid),
    };
    // Nobody ends the transaction of another.
    (Some(owner), writers.iter().sum::<u16>() | 0o1000)
}

/// The cache that the settings ask for. The raw view needs none.
fn cache(spec: &MountSpec) -> DiskCache {
    let settings = &spec.settings;
    if settings.view == View::Raw {
        return DiskCache::without_directory();
    }
    let Some(directory) = &settings.cache_dir else {
        return DiskCache::open_or_without(default_directory().as_deref(), settings.cache_size);
    };
    DiskCache::open(directory, settings.cache_size).unwrap_or_else(|error| {
        let error = with_causes(&error);
        warn(
            spec,
            &format!(
                "the cache directory cannot be used: {error}; what is made for a read is forgotten \
                 when the file is closed: give another --cache-dir"
            ),
        );
        DiskCache::without_directory()
    })
}

/// Refuses a directory for transactions that is none. Where nobody names one, the first `mkdir` in
/// `@staging` makes the table's own.
fn check_staging(path: &Path) -> Result<(), CliError> {
    let unusable = |source| CliError::StagingDirectory {
        path: path.to_owned(),
        source,
    };
    match host::is_directory(path).map_err(unusable)? {
        true => Ok(()),
        false => Err(unusable(io::ErrorKind::NotADirectory.into())),
    }
}

/// A warning for whoever mounts, which the log of a daemon keeps as well.
#[allow(clippy::disallowed_macros)]
fn warn(spec: &MountSpec, text: &str) {
    tracing::warn!("{text}");
    // Otherwise the log is what is seen already.
    if !spec.foreground || spec.settings.log_file.is_some() {
        eprintln!("deltafs: warning: {text}");
    }
}

/// Clones of the data files, where the kernel may be asked to read them. Only what may be written to
/// takes them.
fn clones(spec: &MountSpec, cache: &Arc<DiskCache>) -> Clones {
    let settings = &spec.settings;
    if !settings.passthrough || settings.fast_open || settings.view == View::Raw {
        return Clones::none();
    }
    let cache = cache.clone();
    Clones::new(!spec.is_read_only(), Some(cache), settings.cache_size)
}

/// Builds the newest version, so that the first look at the mount need not, and so that a table
/// that cannot be read is refused now. Where only the newest version is bad, the others are served,
/// with a warning.
fn check_newest(spec: &MountSpec, table: &Table) -> Result<(), CliError> {
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
    warn(
        spec,
        &format!("the newest version cannot be read: {error}; older ones are served"),
    );
    Ok(())
}
