//! `deltafs umount`.

mod holders;

use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use clap::Args;

use super::{CliError, exit_codes};
use crate::base::clock::monotonic;
use crate::fuse::mountinfo::{self, MountEntry};
use crate::fuse::{FS_TYPE, FuseError, host, unmount_at};

/// How long an unmounted mount may stay in the list.
const PATIENCE: Duration = Duration::from_secs(10);

const HELP: &str = concat!(
    "\
Examples:
  deltafs umount /mnt/orders
  deltafs umount --lazy /mnt/orders    even while it is in use

Also cleans up a dead mount, one whose daemon is gone (\"Transport endpoint is not connected\").",
    exit_codes!()
);

/// Unmount a table.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(super) struct UmountArgs {
    /// Where it is mounted.
    mountpoint: PathBuf,
    /// Detach the mount now, even if it is in use; programs inside keep it until they leave.
    #[arg(short, long)]
    lazy: bool,
}

pub(super) fn run(args: &UmountArgs) -> Result<(), CliError> {
    let mounts = mountinfo::read()?;
    let mount = find(&mounts, &args.mountpoint)?;
    // Not to be among those who use it: `deltafs umount .` is typed inside.
    rustix::process::chdir("/").map_err(|errno| CliError::System {
        operation: "chdir /",
        source: errno.into(),
    })?;
    match unmount_at(&mount.mountpoint, args.lazy) {
        Ok(()) => wait_until_gone(mount),
        Err(FuseError::Busy { mountpoint }) => {
            let holders = holders::of(&mountpoint);
            Err(CliError::Busy {
                mountpoint,
                holders,
            })
        }
        Err(error) => Err(error.into()),
    }
}

/// The mount that `given` means. The file system itself is not asked: it may be dead or hang.
fn find<'a>(mounts: &'a [MountEntry], given: &Path) -> Result<&'a MountEntry, CliError> {
    let found = candidates(given).find_map(|path| mountinfo::top_at(mounts, &path));
    match found {
        Some(mount) if mount.fs_type == FS_TYPE => Ok(mount),
        Some(mount) => Err(CliError::NotOurs {
            mountpoint: given.to_owned(),
            fs_type: mount.fs_type.clone(),
        }),
        None => {
            let ours: Vec<String> = mounts
                .iter()
                .filter(|mount| mount.fs_type == FS_TYPE)
                .map(|mount| mount.mountpoint.display().to_string())
                .collect();
            let mounts = if ours.is_empty() {
                "none".into()
            } else {
                ours.join(", ")
            };
            Err(CliError::NotMounted {
                mountpoint: given.to_owned(),
                mounts,
            })
        }
    }
}

/// The paths that `given` may stand for in the list of mounts, in the order to try them: with the
/// parent resolved and the last part as it is, then resolved altogether.
fn candidates(given: &Path) -> impl Iterator<Item = PathBuf> {
    let absolute = std::path::absolute(given).ok();
    let beside = absolute.as_ref().and_then(|path| {
        let parent = host::canonical(path.parent()?).ok()?;
        Some(parent.join(path.file_name()?))
    });
    let resolved = {
        let given = given.to_owned();
        std::iter::once_with(move || host::canonical(&given).ok()).flatten()
    };
    beside.into_iter().chain(absolute).chain(resolved)
}

fn wait_until_gone(mount: &MountEntry) -> Result<(), CliError> {
    let start = monotonic();
    while mountinfo::read()?.iter().any(|other| {
        other.id == mount.id && other.device == mount.device && other.mountpoint == mount.mountpoint
    }) {
        if start.elapsed() > PATIENCE {
            return Err(CliError::StillMounted {
                mountpoint: mount.mountpoint.clone(),
                seconds: PATIENCE.as_secs(),
            });
        }
        thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mounts() -> Vec<MountEntry> {
        let entry = |id, path: &str, fs_type: &str| MountEntry {
            id,
            device: (0, 40),
            mountpoint: path.into(),
            fs_type: fs_type.into(),
            source: "x".into(),
            options: String::new(),
        };
        vec![
            entry(1, "/", "ext4"),
            entry(2, "/nowhere/a", FS_TYPE),
            entry(3, "/proc", "proc"),
        ]
    }

    #[test]
    fn only_our_own_mounts_are_found() {
        let mounts = mounts();
        assert_eq!(
            find(&mounts, Path::new("/nowhere/a"))
                .map(|mount| mount.id)
                .ok(),
            Some(2)
        );
        assert_eq!(
            find(&mounts, Path::new("/nowhere/a/"))
                .map(|mount| mount.id)
                .ok(),
            Some(2)
        );
        let other = find(&mounts, Path::new("/proc")).expect_err("not ours");
        assert!(other.to_string().contains("type proc"), "{other}");
        let root = find(&mounts, Path::new("/")).expect_err("not ours");
        assert!(matches!(root, CliError::NotOurs { .. }));
        let nothing = find(&mounts, Path::new("/nowhere/b")).expect_err("nothing there");
        assert!(nothing.to_string().contains("/nowhere/a"), "{nothing}");
    }
}
