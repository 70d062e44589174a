//! The life of a mount in the process that serves it.

use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::CapabilitySet;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::signal_name;

use super::{CliError, MountSpec};
use crate::fuse::{self, Nodes, Pending, Unmounter, with_causes};

/// How long requests under way may take when a signal has unmounted the file system. Programs that
/// sit inside a detached mount lose it after that.
const GRACE: Duration = Duration::from_secs(1);

/// Mounts what `build` makes and serves it until it is unmounted, by a signal or by anyone.
/// `mounted` is told when the mount is there; if it fails, so does all of this.
pub(super) fn serve<N: Nodes>(
    spec: &MountSpec,
    build: impl FnOnce(&MountSpec) -> Result<Arc<N>, CliError>,
    mounted: impl FnOnce() -> Result<(), CliError>,
) -> Result<(), CliError> {
    raise_open_files();
    obey_quotas();
    let nodes = build(spec)?;
    // From here on a signal must not end the process with a mount left behind. It waits until the
    // mount is there.
    let signals = Signals::new([SIGINT, SIGTERM, SIGHUP]).map_err(|source| CliError::System {
        operation: "catch signals",
        source,
    })?;
    let mount = fuse::mount(nodes, &spec.mountpoint, &spec.fuse_options())?;
    tracing::info!(
        table = spec.table,
        mountpoint = %spec.mountpoint.display(),
        "mounted, {}",
        if spec.is_read_only() { "read-only" } else { "read-write" }
    );
    let (unmounter, pending) = (mount.unmounter(), mount.pending());
    thread::Builder::new()
        .name("signals".into())
        .spawn(move || unmount_on_signal(signals, &unmounter, &pending))
        .map_err(|source| CliError::System {
            operation: "start a thread",
            source,
        })?;
    mounted()?;
    mount.serve()?;
    tracing::info!(mountpoint = %spec.mountpoint.display(), "unmounted");
    Ok(())
}

/// Each file open in the mount may be one open here, and so is each staged file that the kernel
/// remembers. Programs open thousands: the limit of a login shell, 1024, is raised as far as the
/// system lets it.
fn raise_open_files() {
    let limit = getrlimit(Resource::Nofile);
    let most = fuse::host::read(Path::new("/proc/sys/fs/nr_open"))
        .ok()
        .and_then(|text| std::str::from_utf8(&text).ok()?.trim().parse().ok());
    let raised = |maximum: Option<u64>| {
        let to = Rlimit {
            current: maximum,
            maximum,
        };
        setrlimit(Resource::Nofile, to)
    };
    // Root may raise the hard limit too.
    if (most.is_none() || raised(most).is_err())
        && let Err(errno) = raised(limit.maximum)
    {
        tracing::debug!(?limit, %errno, "the limit of open files stays as it is");
    }
}

/// Root's right to pass over quotas is not for what programs write by way of the mount. Threads
/// started from now on do not have it either.
fn obey_quotas() {
    let dropped = rustix::thread::capabilities(None).and_then(|mut sets| {
        sets.effective.remove(CapabilitySet::SYS_RESOURCE);
        rustix::thread::set_capabilities(None, sets)
    });
    if let Err(errno) = dropped {
        tracing::debug!(%errno, "quotas do not hold for what root writes");
    }
}

/// Unmounts at the first signal that lets it, and ends the process with 0 if serving does not end
/// by itself: when the mount was in use, or lives on in another mount namespace.
///
/// Commits under way are finished, however long they take, and so are fsyncs.
fn unmount_on_signal(mut signals: Signals, unmounter: &Unmounter, pending: &Pending) {
    for signal in signals.forever() {
        let name = signal_name(signal).unwrap_or("a signal");
        match unmounter.unmount() {
            Ok(how) => {
                tracing::info!(?how, "unmounted at {name}");
                thread::sleep(GRACE);
                let count = pending.count();
                if count > 0 {
                    tracing::info!("{count} commits and fsyncs are under way: they are finished");
                    pending.wait();
                }
                std::process::exit(0);
            }
            Err(error) => tracing::error!("{name}: {}", with_causes(&error)),
        }
    }
}
