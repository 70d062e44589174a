//! Mounting, and serving what is mounted.

use std::ffi::CString;
use std::io;
use std::num::NonZeroUsize;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fuser::{Config, Session, SessionACL};
use rustix::io::Errno;
use rustix::mount::MountFlags;

use super::adapter::Adapter;
use super::mountinfo::{self, Device};
use super::nodes::Nodes;
use super::ownership::Ownership;
use super::slow::Pending;
use super::unmount::Unmounter;
use super::{FuseError, fusermount, host};

/// The type in the list of mounts.
pub const FS_TYPE: &str = "fuse.deltafs";

const DEVICE: &str = "/dev/fuse";

/// What the kernel reads ahead in files that do not pass through it, in KiB: one request of the
/// largest size it makes. FUSE itself allows 128 KiB only.
const READ_AHEAD_KIB: u32 = 1024;

/// Who may use the mount.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Access {
    /// The user who mounts.
    #[default]
    Owner,
    /// That user and root.
    OwnerAndRoot,
    /// Everyone whom the files' modes allow.
    Everyone,
}

/// How to mount. The mount is without devices and set-uid programs, and the kernel checks
/// permissions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MountOptions {
    /// What the list of mounts says is mounted.
    pub source: String,
    /// Who may use it.
    pub access: Access,
    /// Nothing can be written, and there is nothing to write to.
    pub read_only: bool,
    /// No programs are run from it.
    pub no_exec: bool,
    /// Access times are not kept.
    pub no_atime: bool,
    /// Access times of directories are not kept.
    pub no_diratime: bool,
    /// Use kernel passthrough where the kernel allows it.
    pub passthrough: bool,
    /// Have the kernel open files without asking, where it can. On a read-only mount only, and of
    /// nodes whose sizes are told right before they are opened.
    pub fast_open: bool,
    /// How many threads answer requests; one that waits for storage holds its thread. Each request
    /// wakes the thread that has slept longest, so that more of them than cores cost time.
    pub threads: NonZeroUsize,
    /// Owner and modes.
    pub ownership: Ownership,
}

/// A mount that the kernel has accepted and that waits to be served. Dropping it unmounts.
#[derive(Debug)]
pub struct Mounted<N: Nodes> {
    // Dropped in this order.
    session: Session<Adapter<N>>,
    guard: Guard,
    pending: Pending,
}

/// Clears the mount away when dropped, after the session: a mount whose session ended before it
/// was unmounted would answer ENOTCONN to everyone. Whether it is dead is asked first, because the
/// mountpoint, and even the device number, may be another mount's by now.
#[derive(Debug)]
struct Guard(Unmounter);

impl Drop for Guard {
    fn drop(&mut self) {
        if host::ask(&self.0.mountpoint).is_err_and(|error| host::is_disconnected(&error))
            && let Err(error) = self.0.unmount()
        {
            tracing::error!("{}", super::with_causes(&error));
        }
    }
}

/// Mounts `nodes` on `mountpoint`, a canonical path. As root by mount(2), else by `fusermount3`.
pub fn mount<N: Nodes>(
    nodes: Arc<N>,
    mountpoint: &Path,
    options: &MountOptions,
) -> Result<Mounted<N>, FuseError> {
    let fd = match mount_directly(mountpoint, options) {
        Err(FuseError::Mount { source, .. } | FuseError::NoDevice { source })
            if source.kind() == io::ErrorKind::PermissionDenied =>
        {
            fusermount::mount(mountpoint, &fusermount_options(options))?
        }
        other => other?,
    };
    let device = device_of(mountpoint);
    let guard = Guard(Unmounter {
        mountpoint: mountpoint.to_owned(),
        device,
    });

    let mut config = Config::default();
    config.acl = match options.access {
        Access::Owner => SessionACL::Owner,
        Access::OwnerAndRoot => SessionACL::RootAndOwner,
        Access::Everyone => SessionACL::All,
    };
    config.n_threads = Some(options.threads.get());
    // Each thread's own channel is made by opening the device once more.
    config.clone_fd = host::open_device(Path::new(DEVICE)).is_ok();
    let adapter = Adapter::new(nodes, options);
    let (kernel, pending) = (adapter.kernel(), adapter.pending());
    let session = Session::from_fd(adapter, fd, config.acl, config).map_err(|source| {
        FuseError::Handshake {
            mountpoint: mountpoint.to_owned(),
            source,
        }
    })?;
    kernel.connect(session.notifier());
    if let Some(device) = device {
        raise_read_ahead(device);
    }
    Ok(Mounted {
        session,
        guard,
        pending,
    })
}

impl<N: Nodes> Mounted<N> {
    /// What unmounts this mount from another thread; [`Mounted::serve`] returns then.
    pub fn unmounter(&self) -> Unmounter {
        self.guard.0.clone()
    }

    /// Requests that wait for the disk, commits among them: what is not to be cut off.
    pub fn pending(&self) -> Pending {
        self.pending.clone()
    }

    /// Answers requests until the mount is gone, whoever unmounts it.
    pub fn serve(self) -> Result<(), FuseError> {
        let Mounted { session, guard, .. } = self;
        let mountpoint = guard.0.mountpoint.clone();
        session
            .run()
            .map_err(|source| FuseError::Session { mountpoint, source })
    }
}

fn mount_directly(mountpoint: &Path, options: &MountOptions) -> Result<OwnedFd, FuseError> {
    let device =
        host::open_device(Path::new(DEVICE)).map_err(|source| FuseError::NoDevice { source })?;
    let failed = |errno: Errno| FuseError::Mount {
        mountpoint: mountpoint.to_owned(),
        source: errno.into(),
    };
    let mut data = format!(
        "fd={},rootmode=40000,user_id={},group_id={},default_permissions",
        device.as_raw_fd(),
        rustix::process::getuid().as_raw(),
        rustix::process::getgid().as_raw(),
    );
    if options.access != Access::Owner {
        data.push_str(",allow_other");
    }
    let data = CString::new(data).expect("numbers and fixed words hold no NUL");
    let mut flags = MountFlags::NODEV | MountFlags::NOSUID;
    flags.set(MountFlags::RDONLY, options.read_only);
    flags.set(MountFlags::NOEXEC, options.no_exec);
    flags.set(MountFlags::NOATIME, options.no_atime);
    flags.set(MountFlags::NODIRATIME, options.no_diratime);
    rustix::mount::mount(
        options.source.as_str(),
        mountpoint,
        FS_TYPE,
        flags,
        data.as_c_str(),
    )
    .map_err(failed)?;
    Ok(device.into())
}

/// The options of [`mount_directly`] in the words of `fusermount3`.
fn fusermount_options(options: &MountOptions) -> String {
    let source = options.source.replace('\\', "\\\\").replace(',', "\\,");
    let mode = if options.read_only { "ro" } else { "rw" };
    let mut words =
        format!("fsname={source},subtype=deltafs,{mode},nodev,nosuid,default_permissions");
    let optional = [
        (options.access != Access::Owner, "allow_other"),
        (options.no_exec, "noexec"),
        (options.no_atime, "noatime"),
    ];
    for (wanted, word) in optional {
        if wanted {
            words.push(',');
            words.push_str(word);
        }
    }
    words
}

/// The device number of what is mounted on `mountpoint`. Asking the file system itself would wait
/// for an answer that nobody gives yet.
fn device_of(mountpoint: &Path) -> Option<Device> {
    match mountinfo::read() {
        Ok(entries) => mountinfo::top_at(&entries, mountpoint).map(|entry| entry.device),
        Err(error) => {
            tracing::debug!("{}", super::with_causes(&error));
            None
        }
    }
}

/// Lets the kernel read further ahead than FUSE allows by itself; root only, and no harm without.
fn raise_read_ahead((major, minor): Device) {
    let setting = PathBuf::from(format!("/sys/class/bdi/{major}:{minor}/read_ahead_kb"));
    if let Err(error) = host::write_setting(&setting, &READ_AHEAD_KIB.to_string()) {
        tracing::debug!(setting = %setting.display(), %error, "readahead stays as it is");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_source_is_escaped_for_fusermount() {
        let options = MountOptions {
            source: "/data/a,b\\c".into(),
            access: Access::Everyone,
            read_only: true,
            no_exec: true,
            no_atime: false,
            no_diratime: false,
            passthrough: true,
            fast_open: false,
            threads: NonZeroUsize::MIN,
            ownership: Ownership {
                uid: 0,
                gid: 0,
                file_mode: None,
                dir_mode: None,
                umask: 0,
            },
        };
        assert_eq!(
            fusermount_options(&options),
            "fsname=/data/a\\,b\\\\c,subtype=deltafs,ro,nodev,nosuid,default_permissions,\
             allow_other,noexec"
        );
    }
}
