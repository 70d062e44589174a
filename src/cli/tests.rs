//! The command line, run in processes of its own over a fake tree.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

use super::{CliError, MountSpec, probe};
use crate::fuse::tests::fake::Fake;
use crate::fuse::tests::rig::{
    ARGUMENTS, LIFETIME, Rig, SEPARATOR, eventually, may_mount, output, stderr, wait,
};
use crate::storage::StorageError;

/// Not a test by itself: what [`Rig::command`] runs.
#[test]
#[ignore = "run by other tests, in processes of its own"]
fn command_line() {
    let Ok(arguments) = std::env::var(ARGUMENTS) else {
        return;
    };
    set_alarm();
    let words: Vec<OsString> = arguments.split(SEPARATOR).map(OsString::from).collect();
    std::process::exit(i32::from(super::run(&words, fake)));
}

/// A test that hangs ends, and with it whatever it holds up.
fn set_alarm() {
    // SAFETY: `alarm` has no preconditions.
    unsafe { libc::alarm(LIFETIME) };
}

fn fake(spec: &MountSpec) -> Result<Arc<Fake>, CliError> {
    set_alarm();
    let failed = |source: io::Error| {
        CliError::Storage(StorageError::Io {
            operation: "open",
            location: spec.table.clone(),
            source,
        })
    };
    let table = Path::new(&spec.table);
    if table.join("dies").exists() {
        std::process::abort();
    }
    if table.join("slow").exists() {
        std::thread::sleep(Duration::from_secs(1));
    }
    let hangs = table.join("hangs").exists();
    Fake::new(&table.join("backing"), hangs)
        .map(Arc::new)
        .map_err(failed)
}

/// The processes that serve a rig's table: those whose arguments, as their environment has them,
/// name it.
fn daemons(rig: &Rig) -> Vec<i32> {
    let table = rig.table();
    let needle = format!("mount{SEPARATOR}{}", table.display());
    fs::read_dir("/proc")
        .expect("can be listed")
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|pid: &i32| {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            String::from_utf8_lossy(&environment).contains(&needle)
        })
        .collect()
}

fn kill(pid: i32, signal: Signal) {
    let pid = Pid::from_raw(pid).expect("a process");
    rustix::process::kill_process(pid, signal).expect("is there");
}

#[test]
fn mount_returns_when_the_mount_answers_and_umount_when_it_is_gone() {
    if !may_mount() {
        return;
    }
    let rig = Rig::new();
    let mounted = output(rig.mount_command(&[]));
    assert!(mounted.status.success(), "{}", stderr(&mounted));
    assert_eq!(stderr(&mounted), "");
    // No waiting here.
    assert_eq!(
        fs::read_to_string(rig.at("@v1/bare.parquet")).expect("answers"),
        "ten bytes\n"
    );
    let [daemon] = daemons(&rig)[..] else {
        panic!("daemons: {:?}", daemons(&rig))
    };
    let link = |name: &str| fs::read_link(format!("/proc/{daemon}/{name}")).expect("a link");
    assert_eq!(link("cwd"), Path::new("/"));
    for fd in ["fd/0", "fd/1", "fd/2"] {
        assert_eq!(link(fd), Path::new("/dev/null"));
    }
    let unmounted = rig.umount(&[]);
    assert!(unmounted.status.success(), "{}", stderr(&unmounted));
    assert_eq!(rig.entry(), None);
    eventually("the daemon ends", || daemons(&rig).is_empty());
}

#[test]
fn a_mount_that_fails_says_why_and_leaves_nothing() {
    if !may_mount() {
        return;
    }
    let rig = Rig::new();
    fs::remove_file(rig.table().join("backing")).expect("was there");
    let failed = output(rig.mount_command(&[]));
    assert_eq!(failed.status.code(), Some(1));
    let message = stderr(&failed);
    assert!(message.starts_with("deltafs: open /"), "{message}");
    assert_eq!(
        message.matches("No such file or directory").count(),
        1,
        "{message}"
    );

    fs::write(rig.table().join("dies"), "").expect("can be written");
    let died = output(rig.mount_command(&[]));
    assert_eq!(died.status.code(), Some(1));
    assert!(stderr(&died).contains("signal 6"), "{}", stderr(&died));
    assert_eq!(rig.entry(), None);
    assert!(daemons(&rig).is_empty());
}

#[test]
fn wrong_usage_is_exit_code_2() {
    let rig = Rig::new();
    let table = rig.table();
    let (table, mountpoint) = (table.to_str().expect("UTF-8"), rig.at(""));
    let mountpoint = mountpoint.to_str().expect("UTF-8");
    for (arguments, words) in [
        (vec!["mount", table], "MOUNTPOINT"),
        (
            vec!["mount", table, mountpoint, "--stage-dir", "/x"],
            "--stage-dir",
        ),
        (
            vec!["mount", table, mountpoint, "-o", "ro,nonsense=1"],
            "unknown option \"nonsense\"",
        ),
        (
            vec!["mount", table, mountpoint, "--list", "few"],
            "list is \"few\"",
        ),
        (
            vec!["mount", table, mountpoint, "-o", "remount"],
            "cannot be remounted",
        ),
        (vec!["umount"], "MOUNTPOINT"),
        (vec!["frobnicate"], "frobnicate"),
    ] {
        let refused = rig.run(&arguments);
        assert_eq!(
            refused.status.code(),
            Some(2),
            "{arguments:?}: {}",
            stderr(&refused)
        );
        assert!(
            stderr(&refused).contains(words),
            "{arguments:?}: {}",
            stderr(&refused)
        );
    }
}

#[test]
fn mountpoints_that_cannot_be_are_refused() {
    let rig = Rig::new();
    let file = rig.beside("file");
    fs::write(&file, "").expect("can be written");
    let inside = rig.table().join("sub");
    fs::create_dir(&inside).expect("can be made");
    let table = rig.table();
    for (mountpoint, words) in [
        (rig.beside("absent"), "create the directory first"),
        (file, "is not a directory"),
        (inside, "lie within each other"),
        (rig.beside(""), "lie within each other"),
        (table.clone(), "lie within each other"),
    ] {
        let path = mountpoint.to_str().expect("UTF-8");
        let refused = rig.run(&["mount", table.to_str().expect("UTF-8"), path]);
        assert_eq!(refused.status.code(), Some(1), "{path}");
        assert!(
            stderr(&refused).contains(words),
            "{path}: {}",
            stderr(&refused)
        );
        assert!(
            stderr(&refused).contains(path.trim_end_matches('/')),
            "{}",
            stderr(&refused)
        );
    }
}

#[test]
fn the_same_table_is_not_mounted_twice_on_one_directory() {
    if !may_mount() {
        return;
    }
    let rig = Rig::mounted(&[]);
    let again = output(rig.mount_command(&[]));
    assert_eq!(again.status.code(), Some(1));
    assert!(
        stderr(&again).contains("already mounted"),
        "{}",
        stderr(&again)
    );
    let hint = format!("`deltafs umount {}`", rig.at("").display());
    assert!(stderr(&again).contains(&hint), "{}", stderr(&again));
}

#[test]
fn signals_unmount_and_end_with_0() {
    if !may_mount() {
        return;
    }
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let mut rig = Rig::mounted(&[]);
        fs::read(rig.at("@v1/composed.parquet")).expect("can be read");
        kill(rig.daemon().id() as i32, signal);
        assert_eq!(rig.ended().code(), Some(0), "{signal:?}");
        assert_eq!(rig.entry(), None, "{signal:?}");
    }
}

/// G17 (restic#2774, borg#2082): Ctrl-C while a shell sits inside.
#[test]
fn g17_a_signal_detaches_a_mount_in_use() {
    if !may_mount() {
        return;
    }
    let mut rig = Rig::mounted(&[]);
    let mut shell = Command::new("sleep")
        .arg("60")
        .current_dir(rig.at("@v1"))
        .spawn()
        .expect("can be run");
    kill(rig.daemon().id() as i32, Signal::INT);
    let status = rig.ended();
    shell.kill().expect("is there");
    shell.wait().expect("ends");
    assert_eq!(status.code(), Some(0));
    assert_eq!(rig.entry(), None);
}

#[test]
fn umount_by_others_ends_with_0() {
    if !may_mount() {
        return;
    }
    let mut rig = Rig::mounted(&[]);
    let status = Command::new("umount")
        .arg(rig.at(""))
        .status()
        .expect("can be run");
    assert!(status.success());
    assert_eq!(rig.ended().code(), Some(0));
}

#[test]
fn umount_of_a_mount_in_use_names_who_uses_it() {
    if !may_mount() {
        return;
    }
    let mut rig = Rig::mounted(&[]);
    let held = File::open(rig.at("@v1/composed.parquet")).expect("opens");
    let refused = rig.umount(&[]);
    assert_eq!(refused.status.code(), Some(1));
    let message = stderr(&refused);
    assert!(
        message.contains(&format!("(pid {}, has ", std::process::id())),
        "{message}"
    );
    assert!(message.contains("composed.parquet open"), "{message}");
    assert!(message.contains("--lazy"), "{message}");
    assert!(rig.entry().is_some());

    let lazy = rig.umount(&["--lazy"]);
    assert!(lazy.status.success(), "{}", stderr(&lazy));
    assert_eq!(rig.entry(), None);
    drop(held);
    assert_eq!(rig.ended().code(), Some(0));
}

#[test]
fn a_dead_mount_is_explained_and_cleaned() {
    if !may_mount() {
        return;
    }
    let mut rig = Rig::mounted(&[]);
    // Attributes in the kernel's memory must not make it look alive.
    fs::metadata(rig.at("@v1")).expect("answers");
    kill(rig.daemon().id() as i32, Signal::KILL);
    rig.ended();
    let refused = output(rig.mount_command(&[]));
    assert_eq!(refused.status.code(), Some(1));
    let hint = format!("`deltafs umount {}`", rig.at("").display());
    assert!(
        stderr(&refused).contains("dead mount"),
        "{}",
        stderr(&refused)
    );
    assert!(stderr(&refused).contains(&hint), "{}", stderr(&refused));
    let cleaned = rig.umount(&[]);
    assert!(cleaned.status.success(), "{}", stderr(&cleaned));
    assert_eq!(rig.entry(), None);
    assert!(output(rig.mount_command(&[])).status.success());
}

#[test]
fn umount_leaves_other_file_systems_alone() {
    let rig = Rig::new();
    let nothing = rig.umount(&[]);
    assert_eq!(nothing.status.code(), Some(1));
    assert!(
        stderr(&nothing).contains("nothing is mounted"),
        "{}",
        stderr(&nothing)
    );
    let other = rig.run(&["umount", "/proc"]);
    assert_eq!(other.status.code(), Some(1));
    assert!(stderr(&other).contains("type proc"), "{}", stderr(&other));
}

#[test]
fn a_mount_made_by_another_name_is_found() {
    if !may_mount() {
        return;
    }
    let rig = Rig::mounted(&[]);
    let link = rig.beside("link");
    std::os::unix::fs::symlink(rig.at(""), &link).expect("can be made");
    let unmounted = rig.run(&["umount", link.to_str().expect("UTF-8")]);
    assert!(unmounted.status.success(), "{}", stderr(&unmounted));
    assert_eq!(rig.entry(), None);
}

#[test]
fn a_daemon_logs_to_its_file() {
    if !may_mount() {
        return;
    }
    let rig = Rig::new();
    let log = rig.beside("log");
    let option = format!("rw,log_file={}", log.display());
    let mounted = output(rig.mount_command(&["-v", "-o", &option]));
    assert!(mounted.status.success(), "{}", stderr(&mounted));
    File::open(rig.at("@v1/broken.parquet")).expect_err("is broken");
    assert!(rig.umount(&[]).status.success());
    eventually("the daemon ends", || daemons(&rig).is_empty());
    let lines = fs::read_to_string(&log).expect("there is a log");
    for words in ["mounted, read-write", "handle 777 is not open", "unmounted"] {
        assert!(lines.contains(words), "{words:?} in {lines}");
    }
    assert!(!lines.contains('\u{1b}'), "no colours in a file: {lines}");
}

#[test]
fn a_mount_that_hangs_holds_nobody_up() {
    if !may_mount() {
        return;
    }
    let mut rig = Rig::new();
    fs::write(rig.table().join("hangs"), "").expect("can be written");
    rig.start(&[]);
    let start = Instant::now();
    let answer = probe::ask(&rig.at(""), Duration::from_millis(300)).expect("can be asked");
    assert!(matches!(answer, probe::Answer::Silent), "{answer:?}");
    // What is there does not answer; the new mount would, but it is the same table.
    let again = output(rig.mount_command(&[]));
    assert!(
        stderr(&again).contains("already mounted"),
        "{}",
        stderr(&again)
    );
    assert!(
        start.elapsed() < Duration::from_secs(10),
        "{:?}",
        start.elapsed()
    );
    kill(rig.daemon().id() as i32, Signal::KILL);
    rig.ended();
}

/// Without privileges, through fusermount3.
#[test]
fn others_than_root_mount_through_fusermount() {
    if !may_mount() {
        return;
    }
    let helper = Command::new("fusermount3")
        .arg("-V")
        .stdout(Stdio::null())
        .status();
    let mode = fs::metadata("/dev/fuse")
        .expect("is there")
        .permissions()
        .mode();
    if helper.is_err() || mode & 0o006 != 0o006 {
        eprintln!("skipped: needs fusermount3 ({helper:?}), /dev/fuse for all ({mode:o})");
        return;
    }
    let nobody = 65534;
    let rig = Rig::new();
    for path in [rig.beside(""), rig.at(""), rig.table()] {
        std::os::unix::fs::chown(&path, Some(nobody), Some(nobody)).expect("root may");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).expect("root may");
    }
    let as_nobody = |mut command: Command| {
        command.uid(nobody).gid(nobody);
        command
    };
    let mounted = output(as_nobody(rig.mount_command(&[])));
    assert!(mounted.status.success(), "{}", stderr(&mounted));
    let entry = rig.entry().expect("is mounted as fuse.deltafs");
    assert_eq!(entry.source.as_os_str(), rig.table().as_os_str());
    let read = |path: &str| {
        let mut command = as_nobody(Command::new("cat"));
        command
            .arg(rig.at(path))
            .output()
            .expect("can be run")
            .stdout
    };
    assert_eq!(read("@v1/bare.parquet"), b"ten bytes\n");
    assert_eq!(read("@v1/backed.parquet").len(), 300_000);
    let umount = |arguments: &[&str]| {
        let mountpoint = rig.at("");
        let words = [
            &["deltafs", "umount", mountpoint.to_str().expect("UTF-8")],
            arguments,
        ];
        output(as_nobody(rig.command_line(&words.concat())))
    };

    // Only after the change of user may it enter the directory.
    let inside = format!("cd '{}' && exec sleep 60", rig.at("@v1").display());
    let mut holder = as_nobody(Command::new("sh"))
        .arg("-c")
        .arg(inside)
        .spawn()
        .expect("runs");
    eventually("it is inside", || {
        let cwd = fs::read_link(format!("/proc/{}/cwd", holder.id()));
        let comm = fs::read_to_string(format!("/proc/{}/comm", holder.id())).unwrap_or_default();
        cwd.is_ok_and(|cwd| cwd.ends_with("@v1")) && comm == "sleep\n"
    });
    let busy = umount(&[]);
    assert_eq!(busy.status.code(), Some(1));
    assert!(stderr(&busy).contains("sleep (pid"), "{}", stderr(&busy));
    let lazy = umount(&["--lazy"]);
    assert!(lazy.status.success(), "{}", stderr(&lazy));
    holder.kill().expect("is there");
    wait(&mut holder);
    assert_eq!(rig.entry(), None);
    eventually("the daemon ends", || daemons(&rig).is_empty());

    let again = output(as_nobody(rig.mount_command(&[])));
    assert!(again.status.success(), "{}", stderr(&again));
    let unmounted = umount(&[]);
    assert!(unmounted.status.success(), "{}", stderr(&unmounted));
    assert_eq!(rig.entry(), None);
    eventually("the daemon ends", || daemons(&rig).is_empty());
}

/// Killed while it waits, the command can report no mount any more, so there must not be one.
#[test]
fn a_caller_that_is_killed_leaves_no_mount() {
    if !may_mount() {
        return;
    }
    let rig = Rig::new();
    fs::write(rig.table().join("slow"), "").expect("can be written");
    let mut caller = rig.mount_command(&[]).spawn().expect("can be run");
    eventually("the daemon is forked", || daemons(&rig).len() == 2);
    caller.kill().expect("is there");
    wait(&mut caller);
    eventually("the daemon ends", || daemons(&rig).is_empty());
    assert_eq!(rig.entry(), None);
}

/// G20: as mount(8) calls its helper for a row of fstab, with the exit codes it wants.
#[test]
fn g20_the_helper_of_mount_mounts() {
    if !may_mount() {
        return;
    }
    let rig = Rig::new();
    let (table, mountpoint) = (rig.table(), rig.at(""));
    let (table, mountpoint) = (
        table.to_str().expect("UTF-8"),
        mountpoint.to_str().expect("UTF-8"),
    );
    let helper = |arguments: &[&str]| {
        let words = ["/sbin/mount.deltafs", table, mountpoint];
        output(rig.command_line(&[&words, arguments].concat()))
    };
    let row = "rw,_netdev,nofail,x-systemd.automount,noatime";
    let checked = helper(&["-f", "-o", row]);
    assert!(checked.status.success(), "{}", stderr(&checked));
    assert_eq!(rig.entry(), None, "-f is for fake");
    assert_eq!(helper(&["-o", "nonsense"]).status.code(), Some(1));
    let mounted = helper(&["-s", "-o", "nonsense", "-o", row]);
    assert!(mounted.status.success(), "{}", stderr(&mounted));
    let entry = rig.entry().expect("is mounted");
    assert!(entry.options.contains("noatime"), "{}", entry.options);
    assert_eq!(helper(&["-o", row]).status.code(), Some(32));
    let remount = "ro,user_id=0,default_permissions,remount";
    let refused = helper(&["-o", remount]);
    assert_eq!(refused.status.code(), Some(1));
    let said = stderr(&refused);
    assert!(said.contains("cannot be remounted"), "{said}");
    assert!(rig.umount(&[]).status.success());
    // As mount.fuse(8) calls the program for the type fuse.deltafs.
    let words = ["deltafs", table, mountpoint, "-o", "rw,noatime,dev,suid"];
    let mounted = output(rig.command_line(&words));
    assert!(mounted.status.success(), "{}", stderr(&mounted));
    assert!(rig.umount(&[]).status.success());
}
