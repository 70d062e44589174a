//! The process is killed before its k-th step.

use std::path::Path;

use crate::case::{Site, Template};
use crate::check;
use crate::mode::mode;
use crate::tracer::{Fault, Plan};
use crate::worker::Job;

fn kill_commits(template: &Template, copy: impl Fn(&Path) -> Site) {
    let site = copy(&template.root());
    let counted = site.run(Job::Commit, Plan::COUNT, None);
    let count = counted.calls.len();
    site.checked(&counted, || {
        let steps_before = if template.mode.makes_version { 10 } else { 1 };
        assert!(
            counted.answered.is_some_and(|calls| calls >= steps_before),
            "too few calls"
        );
        check::after_commit(template, site.root(), &site.answers());
    });
    // All of them: a kill is cheap.
    for at in 1..=count {
        let site = copy(&template.root());
        let trace = site.run(Job::Commit, Plan::new(Fault::Kill, at), None);
        site.checked((at, &trace), || {
            let answers = site.answers();
            assert!(
                trace.code.is_none() || !answers.is_empty(),
                "it ended without an answer"
            );
            check::after_commit(template, site.root(), &answers);
        });
    }
}

macro_rules! modes {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            kill_commits(&Template::new(mode(stringify!($name))), Site::copy_of);
        })*
    };
}

modes!(append partitions split overwrite replace_where dynamic compaction rewrite rebased delete
    merge_schema overwrite_schema transaction applied checkpoint timed);

/// Where files cannot be without names, a kill may leave one in the log, under a name that tells
/// whose it is and that readers ignore. All else holds.
#[test]
fn where_files_have_to_have_names() {
    let template = Template::new(mode("checkpoint"));
    let site = Site::copy_of(&template.root());
    let count = (site.run(Job::Commit, Plan::COUNT.by_name(), None))
        .calls
        .len();
    let mut left = 0;
    for at in 1..=count {
        let site = Site::copy_of(&template.root());
        let trace = site.run(Job::Commit, Plan::new(Fault::Kill, at).by_name(), None);
        site.checked((at, &trace), || {
            left += remove_temporaries(&site.root().join("_delta_log"));
            check::after_commit(&template, site.root(), &site.answers());
        });
    }
    assert!(left > 0, "they have names, and kills leave some");
}

/// Removes what a later mount would remove, and says how many there were.
fn remove_temporaries(log: &Path) -> usize {
    let rows = std::fs::read_dir(log).expect("a log");
    let paths = rows.map(|row| row.expect("a row").path());
    let temporaries: Vec<_> = paths
        .filter(|path| path.to_string_lossy().ends_with(".deltafs.tmp"))
        .collect();
    for path in &temporaries {
        std::fs::remove_file(path).expect("it is there");
    }
    temporaries.len()
}

#[test]
fn staged_on_another_disk() {
    if !Site::may_mount() {
        return;
    }
    for name in ["append", "partitions", "split"] {
        kill_commits(&Template::new(mode(name)), Site::on_two_disks);
    }
}
