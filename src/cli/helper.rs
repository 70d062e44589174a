//! `mount.deltafs`: the form in which mount(8) calls its helpers, for fstab. The type `fuse.deltafs`,
//! which /proc/mounts shows, makes it call mount.fuse(8) instead, and that calls
//! `deltafs TABLE MOUNTPOINT -o ...`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{ArgAction, Parser};

use super::options::{MountSettings, OptionError, Unknown};
use super::{CliError, MountSpec, checks, complain, mount, show_usage};
use crate::fuse::Nodes;

/// Exit codes of mount(8): wrong usage.
const USAGE: u8 = 1;

/// Exit codes of mount(8): the mount failed.
const MOUNT_FAILED: u8 = 32;

const EXIT_CODES: &str = "\
Exit codes, those of mount(8):
  0   done
  1   wrong usage
  32  the mount failed

See `deltafs mount --help` for the options.";

/// Mount a Delta Lake table, called by mount(8).
#[derive(Debug, Parser)]
#[command(name = "mount.deltafs", version, about, after_help = EXIT_CODES)]
struct HelperArgs {
    /// The table: a path or a URL.
    source: String,
    /// An existing directory outside the table.
    mountpoint: PathBuf,
    /// Ignore options that are not known.
    #[arg(short = 's')]
    sloppy: bool,
    /// Check everything, mount nothing.
    #[arg(short = 'f')]
    fake: bool,
    /// Do not write /etc/mtab, which is not written anyway.
    #[arg(short = 'n')]
    no_mtab: bool,
    /// Log more.
    #[arg(short = 'v', action = ArgAction::Count)]
    verbose: u8,
    /// Options.
    #[arg(short = 'o', value_name = "KEY[=VALUE],...")]
    options: Vec<String>,
    /// The type from fstab.
    #[arg(short = 't', value_name = "TYPE", value_parser = ["deltafs", "fuse.deltafs"])]
    fs_type: Option<String>,
}

/// Whether the program was called by a helper's name, or as mount.fuse(8) calls it: with a table where
/// a command should be.
pub(super) fn is_helper(arguments: &[OsString]) -> bool {
    let name = (arguments.first()).and_then(|program| Path::new(program).file_name());
    let by_name = name.is_some_and(|name| name == "mount.deltafs" || name == "mount.fuse.deltafs");
    let first = arguments.get(1).map(|first| first.as_encoded_bytes());
    by_name || first.is_some_and(|first| !first.starts_with(b"-") && first.contains(&b'/'))
}

/// Runs the helper's command line and returns the exit code for mount(8).
pub(super) fn run<N: Nodes>(
    arguments: &[OsString],
    build: impl FnOnce(&MountSpec) -> Result<Arc<N>, CliError>,
) -> u8 {
    let args = match HelperArgs::try_parse_from(arguments) {
        Ok(args) => args,
        Err(error) => return show_usage(&error, USAGE),
    };
    let outcome = spec(&args).and_then(|spec| match args.fake {
        true => checks::mountpoint(&spec).map(drop),
        false => mount::mount(spec, build),
    });
    match outcome {
        Ok(()) => 0,
        Err(error) => {
            complain(&error);
            exit_code(&error)
        }
    }
}

fn exit_code(error: &CliError) -> u8 {
    if error.exit_code() == 2 {
        USAGE
    } else {
        MOUNT_FAILED
    }
}

fn spec(args: &HelperArgs) -> Result<MountSpec, CliError> {
    let unknown = if args.sloppy {
        Unknown::Ignored
    } else {
        Unknown::Refused
    };
    let mut settings = MountSettings::default();
    // The options that mount(8) finds in /proc/mounts come with it, and not all of them are ours.
    let is_remount = |text: &String| text.split(',').any(|word| word == "remount");
    if args.options.iter().any(is_remount) {
        return Err(OptionError::Remount.into());
    }
    for text in &args.options {
        settings.take(text, unknown)?;
    }
    Ok(MountSpec {
        table: mount::table(&args.source)?,
        mountpoint: args.mountpoint.clone(),
        settings,
        foreground: false,
        verbosity: args.verbose,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &[&str]) -> Result<MountSpec, CliError> {
        let args = HelperArgs::try_parse_from(std::iter::once(&"mount.deltafs").chain(words))
            .expect("the words have the helper's form");
        spec(&args)
    }

    #[test]
    fn the_name_decides() {
        for name in [
            "mount.deltafs",
            "/sbin/mount.deltafs",
            "/usr/sbin/mount.fuse.deltafs",
        ] {
            assert!(is_helper(&[name.into()]), "{name}");
        }
        for name in ["deltafs", "/opt/mount.deltafs/deltafs", "xmount.deltafs"] {
            assert!(!is_helper(&[name.into(), "mount".into()]), "{name}");
            assert!(is_helper(&[
                name.into(),
                "s3://b/t".into(),
                "/mnt/t".into()
            ]));
        }
        assert!(!is_helper(&[]));
        assert!(!is_helper(&["deltafs".into(), "--log-file=/x".into()]));
    }

    #[test]
    fn g20_what_mount_passes_is_understood() {
        let words = [
            "s3://b/t",
            "/mnt/t",
            "-sn",
            "-o",
            "rw,_netdev,nofail,view=raw,sillyness",
        ];
        let spec = parsed(&words).expect("sloppy");
        assert_eq!(spec.table, "s3://b/t");
        assert_eq!(spec.settings.view, crate::view::View::Raw);
        let strict = parsed(&["s3://b/t", "/mnt/t", "-v", "-o", "rw,sillyness"]);
        let error = strict.expect_err("the option is unknown");
        assert_eq!(exit_code(&error), USAGE);
        assert!(error.to_string().contains("sillyness"));
    }

    #[test]
    fn g20_a_relative_source_becomes_absolute() {
        let here = std::env::current_dir().expect("there is a working directory");
        let spec = parsed(&["data/t", "/mnt/t"]).expect("right");
        assert_eq!(Path::new(&spec.table), here.join("data/t"));
    }

    #[test]
    fn clap_finds_no_fault_with_the_definitions() {
        use clap::CommandFactory;
        HelperArgs::command().debug_assert();
        super::super::Cli::command().debug_assert();
    }
}
