//! `deltafs mount`.

use std::path::PathBuf;
use std::sync::Arc;

use clap::{ArgAction, Args};

use super::daemon;
use super::exit_codes;
use super::options::{MountSettings, OptionError, Unknown};
use super::serve::serve;
use super::spec::absolute;
use super::{CliError, MountSpec, checks, logging};
use crate::fuse::Nodes;

const HELP: &str = concat!(
    "\
Examples:
  deltafs mount /data/orders /mnt/orders
  deltafs mount s3://lake/orders /mnt/orders -o aws_region=eu-central-1
  deltafs mount /data/orders /mnt/orders -f -v
  In /etc/fstab, with deltafs linked as /sbin/mount.deltafs:
    s3://lake/orders  /mnt/orders  deltafs  ro,_netdev,nofail,allow_other  0  0

Every long option can also be given with -o, dashes written as underscores: -o view=raw,list=50. \
A comma in a value is written \\,. With -o alone: umask=OCTAL, fsname=NAME, no_passthrough, the usual \
options of fstab(5), and those of object stores (aws_..., azure_..., google_..., endpoint, region, \
...), of which secrets are better kept in the environment, where `ps` does not show them.

The command ends when the mount answers, and leaves a daemon, which logs to the system log unless \
there is a --log-file. SIGINT, SIGTERM and SIGHUP unmount, lazily if the mount is in use, and end \
the daemon with exit code 0.",
    exit_codes!()
);

/// Mount a table.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(super) struct MountArgs {
    /// The table: a path, or a URL (file:, s3:, az:, abfss:, gs:).
    table: String,
    /// An existing directory outside the table; what it holds is hidden until the table is unmounted.
    mountpoint: PathBuf,
    /// Stay in the foreground and log to stderr.
    #[arg(short, long)]
    foreground: bool,
    /// Options in the form of mount(8).
    #[arg(short = 'o', value_name = "KEY[=VALUE],...")]
    options: Vec<String>,
    /// Mount read-only, without @staging.
    #[arg(long)]
    read_only: bool,
    /// Have the kernel open files without asking deltafs: faster for programs that open thousands of
    /// small files, slower for first reads of large ones. Needs a read-only mount (docs/SEMANTICS.md
    /// says what it costs).
    #[arg(long)]
    fast_open: bool,
    /// Let in all users whom the files' modes allow. Where root mounts, and not read-only, users who may
    /// write to the table's directory may commit.
    #[arg(long)]
    allow_other: bool,
    /// Let in root, besides the user who mounts.
    #[arg(long)]
    allow_root: bool,
    /// Owner of the files.
    #[arg(long, value_name = "UID")]
    uid: Option<String>,
    /// Group of the files.
    #[arg(long, value_name = "GID")]
    gid: Option<String>,
    /// Permission bits of files, octal.
    #[arg(long, value_name = "MODE")]
    file_mode: Option<String>,
    /// Permission bits of directories, octal.
    #[arg(long, value_name = "MODE")]
    dir_mode: Option<String>,
    /// Files as a reader of the version sees them, or the data files' own bytes [default: logical].
    #[arg(long, value_name = "logical|raw")]
    view: Option<String>,
    /// All files in the version directory, or under column=value directories [default: flat].
    #[arg(long, value_name = "flat|hive")]
    layout: Option<String>,
    /// How many of the newest versions the root lists; all of them open by name [default: 1000].
    #[arg(long, value_name = "N|all")]
    list: Option<String>,
    /// How long to wait before the newest version of a table in an object store is looked for again
    /// [default: 1].
    #[arg(long, value_name = "SECONDS")]
    refresh: Option<String>,
    /// A directory or URL outside the table that its files may lie under; may be given repeatedly.
    #[arg(long, value_name = "PREFIX")]
    allow_path: Vec<String>,
    /// Where files that had to be rewritten for reading are kept. If it is on the table's own file
    /// system, and that is XFS or btrfs, large ones are read at native speed [default:
    /// $XDG_CACHE_HOME/deltafs; for root /var/cache/deltafs, else ~/.cache/deltafs].
    #[arg(long, value_name = "DIR")]
    cache_dir: Option<String>,
    /// How much is kept there; the least recently used goes first [default: 10G].
    #[arg(long, value_name = "SIZE")]
    cache_size: Option<String>,
    /// Where transactions are kept: an existing directory on a local disk [default: the table's own
    /// directory, in _deltafs/staging].
    #[arg(long, value_name = "DIR")]
    staging_dir: Option<String>,
    /// The time zone of names like @2024-01-15 that give none [default: UTC].
    #[arg(long, value_name = "TZ")]
    timezone: Option<String>,
    /// Log to this file.
    #[arg(long, value_name = "FILE")]
    log_file: Option<String>,
    /// Log more: -v what happens, -vv every request, -vvv everything.
    #[arg(short, action = ArgAction::Count)]
    verbose: u8,
}

impl MountArgs {
    /// The flags win over `-o`.
    fn settings(&self) -> Result<MountSettings, OptionError> {
        let mut settings = MountSettings::default();
        for text in &self.options {
            settings.take(text, Unknown::Refused)?;
        }
        let switches = [
            ("read-only", self.read_only),
            ("fast-open", self.fast_open),
            ("allow-other", self.allow_other),
            ("allow-root", self.allow_root),
        ];
        for (name, _) in switches.iter().filter(|(_, on)| *on) {
            settings.set(name, None)?;
        }
        let values = [
            ("uid", &self.uid),
            ("gid", &self.gid),
            ("file-mode", &self.file_mode),
            ("dir-mode", &self.dir_mode),
            ("view", &self.view),
            ("layout", &self.layout),
            ("list", &self.list),
            ("refresh", &self.refresh),
            ("cache-dir", &self.cache_dir),
            ("cache-size", &self.cache_size),
            ("staging-dir", &self.staging_dir),
            ("timezone", &self.timezone),
            ("log-file", &self.log_file),
        ];
        for (name, value) in values {
            if let Some(value) = value {
                settings.set(name, Some(value))?;
            }
        }
        for prefix in &self.allow_path {
            settings.set("allow-path", Some(prefix))?;
        }
        Ok(settings)
    }

    /// What is to be done.
    pub(super) fn spec(&self) -> Result<MountSpec, CliError> {
        Ok(MountSpec {
            table: table(&self.table)?,
            mountpoint: self.mountpoint.clone(),
            settings: self.settings()?,
            foreground: self.foreground,
            verbosity: self.verbose,
        })
    }
}

/// The table argument, made absolute.
pub(super) fn table(given: &str) -> Result<String, OptionError> {
    absolute(given).ok_or_else(|| OptionError::BadValue {
        option: "TABLE".into(),
        found: given.into(),
        expected: "a path or a URL",
    })
}

/// Mounts what `build` makes of `spec`: in the foreground until it is unmounted, else in a daemon.
pub(super) fn mount<N: Nodes>(
    mut spec: MountSpec,
    build: impl FnOnce(&MountSpec) -> Result<Arc<N>, CliError>,
) -> Result<(), CliError> {
    spec.mountpoint = checks::mountpoint(&spec)?;
    if spec.foreground {
        logging::start(&spec)?;
        return serve(&spec, build, || Ok(()));
    }
    daemon::launch(&spec.mountpoint, |caller| {
        let log = logging::start(&spec)?;
        let detached = |spec: &MountSpec| {
            let nodes = build(spec)?;
            // Only now: until the table is open, Ctrl-C at the terminal ends the daemon as well.
            let system = |operation, errno: rustix::io::Errno| CliError::System {
                operation,
                source: errno.into(),
            };
            rustix::process::setsid().map_err(|errno| system("setsid", errno))?;
            rustix::process::chdir("/").map_err(|errno| system("chdir /", errno))?;
            Ok(nodes)
        };
        serve(&spec, detached, || match caller.as_mut() {
            Some(line) => {
                line.mounted(log.as_deref())?;
                *caller = None;
                Ok(())
            }
            None => Ok(()),
        })
    })
}
