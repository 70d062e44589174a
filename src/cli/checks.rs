//! Whether a mountpoint can be mounted on.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::options::OptionError;
use super::probe::{self, Answer};
use super::{CliError, MountSpec};
use crate::fuse::{FS_TYPE, host, mountinfo};

/// How long what is mounted there already may take to answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// Checks the mountpoint and returns it in canonical form. A directory that is not empty is fine:
/// its content is hidden while the mount is there.
pub(super) fn mountpoint(spec: &MountSpec) -> Result<PathBuf, CliError> {
    if spec.settings.fast_open && !spec.is_read_only() {
        return Err(OptionError::FastOpenNotReadOnly.into());
    }
    let given = &spec.mountpoint;
    let unusable = |source: std::io::Error| {
        if host::is_disconnected(&source) {
            CliError::Stale {
                mountpoint: given.clone(),
            }
        } else {
            CliError::Mountpoint {
                mountpoint: given.clone(),
                source,
            }
        }
    };
    let mountpoint = host::canonical(given).map_err(unusable)?;
    let mounts = mountinfo::read()?;
    if let Some(there) = mountinfo::top_at(&mounts, &mountpoint)
        && there.fs_type.starts_with("fuse")
    {
        match probe::ask(&mountpoint, PATIENCE)? {
            Answer::Failed(error) if host::is_disconnected(&error) => {
                return Err(CliError::Stale { mountpoint });
            }
            // Even a mount that hangs can be mounted over.
            Answer::Alive | Answer::Failed(_) | Answer::Silent => {}
        }
        if there.fs_type == FS_TYPE && there.source == spec.fuse_options().source.as_str() {
            return Err(CliError::AlreadyMounted {
                table: spec.table.clone(),
                mountpoint,
            });
        }
    }
    if !host::is_directory(&mountpoint).map_err(unusable)? {
        return Err(CliError::NotADirectory {
            mountpoint: given.clone(),
        });
    }
    if let Some(table) = spec.local_table() {
        apart(&mountpoint, &table)?;
    }
    Ok(mountpoint)
}

/// Refuses a mountpoint inside the table and a table inside the mountpoint. That the table exists
/// is for others to say.
fn apart(mountpoint: &Path, table: &Path) -> Result<(), CliError> {
    let Ok(table) = host::canonical(table) else {
        return Ok(());
    };
    if mountpoint.starts_with(&table) || table.starts_with(mountpoint) {
        return Err(CliError::Overlap {
            mountpoint: mountpoint.to_owned(),
            table,
        });
    }
    Ok(())
}
