//! Something goes wrong while a mount takes over what a killed one has left.

use crate::case::{Site, Template, chosen};
use crate::check::{self, Left};
use crate::mode::mode;
use crate::tracer::{Fault, Plan};
use crate::worker::Job;

/// Commits that are cut off, unless all are asked for.
const COMMITS: usize = 12;

/// Recoveries of each that are, unless all are asked for.
const RECOVERIES: usize = 6;

fn cut_off_twice(name: &str) {
    let template = Template::new(mode(name));
    let site = Site::copy_of(&template.root());
    let count = site.run(Job::Commit, Plan::COUNT, None).calls.len();
    let mut most = 0;
    for at in chosen(count, COMMITS) {
        let cut_off = Site::copy_of(&template.root());
        let commit = cut_off.run(Job::Commit, Plan::new(Fault::Kill, at), None);
        let count = |plan: Plan| {
            let site = Site::copy_of(cut_off.root());
            site.run(Job::Recover, plan, None).calls.len()
        };
        let steps = count(Plan::COUNT);
        let calls = count(Plan::COUNT.with_reads());
        most = most.max(steps);
        let at_steps = |fault| {
            let chosen = chosen(steps, RECOVERIES).into_iter();
            chosen.map(move |at| Plan::new(fault, at))
        };
        let plans = at_steps(Fault::Kill)
            .chain(at_steps(Fault::Fail(libc::EIO)))
            .chain(at_steps(Fault::FailFrom(libc::ENOSPC)))
            .chain(
                chosen(calls, RECOVERIES)
                    .into_iter()
                    .map(|at| Plan::new(Fault::Fail(libc::EIO), at).with_reads()),
            );
        for plan in plans {
            let site = Site::copy_of(cut_off.root());
            let recovery = site.run(Job::Recover, plan, None);
            site.checked((&commit, plan, &recovery), || {
                let left = match plan.fault {
                    Fault::Kill => Left::Nothing,
                    _ => Left::Directories,
                };
                check::after_commit_left(&template, site.root(), &cut_off.answers(), left);
            });
        }
    }
    assert!(most > 4, "nothing had to be recovered");
}

#[test]
fn partitions() {
    cut_off_twice("partitions");
}

#[test]
fn checkpoint() {
    cut_off_twice("checkpoint");
}
