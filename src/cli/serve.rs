//! The life of a mount in the process that serves it.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::signal_name;

use super::{CliError, MountSpec};
use crate::fuse::{self, Nodes, Unmounter, with_causes};

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
        "mounted, read-only"
    );
    let unmounter = mount.unmounter();
    thread::Builder::new()
        .name("signals".into())
        .spawn(move || unmount_on_signal(signals, &unmounter))
        .map_err(|source| CliError::System {
            operation: "start a thread",
            source,
        })?;
    mounted()?;
    mount.serve()?;
    tracing::info!(mountpoint = %spec.mountpoint.display(), "unmounted");
    Ok(())
}

/// Each file open in the mount may be one open here, and programs open thousands: the soft limit of
/// a login shell, 1024, is raised to what the system allows.
fn raise_open_files() {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    if let Err(errno) = setrlimit(Resource::Nofile, raised) {
        tracing::debug!(?limit, %errno, "the limit of open files stays as it is");
    }
}

/// Unmounts at the first signal that lets it, and ends the process with 0 if serving does not end
/// by itself: when the mount was in use, or lives on in another mount namespace.
fn unmount_on_signal(mut signals: Signals, unmounter: &Unmounter) {
    for signal in signals.forever() {
        let name = signal_name(signal).unwrap_or("a signal");
        match unmounter.unmount() {
            Ok(how) => {
                tracing::info!(?how, "unmounted at {name}");
                thread::sleep(GRACE);
                std::process::exit(0);
            }
            Err(error) => tracing::error!("{name}: {}", with_causes(&error)),
        }
    }
}
