//! `deltafs create` when something goes wrong.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::log::Log;
use crate::rig;
use crate::tracer::{self, Fault, Plan};

const SCHEMA: &str =
    r#"{"type":"struct","fields":[{"name":"id","type":"long","nullable":true,"metadata":{}}]}"#;

/// A directory in which the table is to be.
struct Place(TempDir);

impl Place {
    fn new() -> Place {
        let directory = tempfile::tempdir().expect("a temporary directory");
        fs::write(directory.path().join("schema.json"), SCHEMA).expect("can be written");
        Place(directory)
    }

    fn table(&self) -> std::path::PathBuf {
        self.0.path().join("table")
    }

    fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_deltafs"));
        let log = fs::File::create(self.0.path().join("messages")).expect("can be made");
        command
            .arg("create")
            .arg(self.table())
            .arg("--schema")
            .arg(self.0.path().join("schema.json"))
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a descriptor"))
            .stderr(log);
        command
    }

    fn messages(&self) -> String {
        fs::read_to_string(self.0.path().join("messages")).expect("it was made")
    }
}

fn is_table(root: &Path) -> bool {
    if !root.join("_delta_log").is_dir() {
        return false;
    }
    let log = Log::read(root);
    assert!(log.0.len() <= 1);
    log.0.len() == 1
}

#[test]
fn a_table_is_created_whole_or_not_at_all() {
    let place = Place::new();
    let counted = tracer::run(
        &mut place.command(),
        &place.table(),
        Plan::COUNT.at_once(),
        None,
    );
    assert_eq!(counted.code, Some(0), "{}", place.messages());
    let count = counted.calls.len();
    assert!(count > 6, "{counted:?}");
    for fault in [
        Fault::Kill,
        Fault::Fail(libc::EIO),
        Fault::Fail(libc::ENOSPC),
        Fault::Lie(libc::EIO),
        Fault::FailFrom(libc::ENOSPC),
    ] {
        for at in 1..=count {
            let place = Place::new();
            let root = place.table();
            let plan = Plan::new(fault, at).at_once();
            let trace = tracer::run(&mut place.command(), &root, plan, None);
            let what = || format!("{trace:#?}: {}", place.messages());
            let there = is_table(&root);
            match trace.code {
                Some(0) => assert!(there, "{}", what()),
                // Killed, or in doubt, it may be there.
                None => {}
                Some(1) if there => {
                    assert!(!matches!(fault, Fault::Fail(_)), "it is there: {}", what());
                }
                Some(1) => {}
                Some(_) => panic!("{}", what()),
            }
            let again = place.command().status().expect("can be run");
            assert_eq!(again.success(), !there, "{}", what());
            assert!(is_table(&root), "{}", what());
            assert_eq!(rig::open(&root).current().newest(), 0);
        }
    }
}
