//! The process is killed before its k-th step, and of what it did only what it has fsynced is left,
//! by the letter of POSIX; or also some of the rest.

use std::path::Path;

use tempfile::TempDir;

use crate::begin::begun;
use crate::case::{Site, Template, chosen};
use crate::check;
use crate::durable::{Durable, Fate};
use crate::mode::{NAME, mode};
use crate::tracer::{Fault, Plan};
use crate::worker::Job;

/// Places in a mode, unless all are asked for.
const MOST: usize = 16;

/// Mixtures of what is lost and what is not, at each place; `DELTAFS_CRASH_MIXTURES` overrides it.
const MIXTURES: u64 = 2;

fn mixtures() -> u64 {
    match std::env::var("DELTAFS_CRASH_MIXTURES") {
        Ok(text) => text.parse().expect("DELTAFS_CRASH_MIXTURES is a number"),
        Err(_) => MIXTURES,
    }
}

fn forget_commits(name: &str) {
    let template = Template::new(mode(name));
    let count = {
        let site = Site::copy_of(&template.root());
        site.run(Job::Commit, Plan::COUNT, None).calls.len()
    };
    // Beyond the last one, nothing but the power fails.
    for at in chosen(count + 1, MOST) {
        let site = Site::copy_of(&template.root());
        let mut durable = Durable::of(site.root());
        let mut observe = |tid, call: &_, arguments: &_, _| durable.observe(tid, call, arguments);
        let plan = Plan::new(Fault::Kill, at);
        let trace = site.run(Job::Commit, plan, Some(&mut observe));
        site.checked((at, &trace), || {
            check_after(&template, &site, &durable, &mut Fate::Lost);
        });
        for seed in 0..mixtures() {
            let mut dice = fastrand::Rng::with_seed(seed ^ (at as u64) << 8);
            site.checked((at, "seed", seed, &trace), || {
                check_after(
                    &template,
                    &site,
                    &durable,
                    &mut Fate::Mixed(&mut || dice.bool()),
                );
            });
        }
    }
}

fn check_after(template: &Template, site: &Site, durable: &Durable, fate: &mut Fate<'_>) {
    left(durable, fate, |root| {
        check::after_commit(template, root, &site.answers())
    });
}

/// Looks at what is left.
fn left(durable: &Durable, fate: &mut Fate<'_>, check: impl FnOnce(&Path)) {
    let directory = TempDir::new().expect("a temporary directory");
    let root = directory.path().join("table");
    durable.write_to(&root, fate);
    check(&root);
}

/// Runs a job on a copy of `from`, killed before each of some steps, and looks at what is left.
fn forget(from: &Path, job: Job, check: impl Fn(&Path, &Site)) {
    let count = Site::copy_of(from).run(job, Plan::COUNT, None).calls.len();
    for at in chosen(count + 1, MOST) {
        let site = Site::copy_of(from);
        let mut durable = Durable::of(site.root());
        let mut observe = |tid, call: &_, arguments: &_, _| durable.observe(tid, call, arguments);
        let trace = site.run(job, Plan::new(Fault::Kill, at), Some(&mut observe));
        site.checked((at, &trace), || {
            left(&durable, &mut Fate::Lost, |root| check(root, &site));
        });
    }
}

/// Spark fsyncs no directory that it makes.
#[test]
fn partitions_whose_directories_somebody_else_has_just_made() {
    let template = Template::new(mode("partitions"));
    let made = {
        let site = Site::copy_of(&template.root());
        site.run(Job::Commit, Plan::COUNT, None);
        check::directories_of_data(site.root())
    };
    assert!(!made.is_empty());
    let site = Site::copy_of(&template.root());
    let mut durable = Durable::of(site.root());
    for directory in &made {
        std::fs::create_dir_all(site.root().join(directory)).expect("can be made");
    }
    let mut observe = |tid, call: &_, arguments: &_, _| durable.observe(tid, call, arguments);
    let trace = site.run(Job::Commit, Plan::COUNT, Some(&mut observe));
    site.checked(&trace, || {
        check_after(&template, &site, &durable, &mut Fate::Lost);
    });
}

#[test]
fn a_transaction_that_is_begun() {
    let template = Template::new(mode("append"));
    forget(&template.root(), Job::Begin, |root, site| {
        let names = begun(root, &site.answers(), Plan::new(Fault::Kill, 0));
        assert_eq!(names[0], NAME, "the other one is still there");
    });
}

#[test]
fn the_first_transaction_of_a_table() {
    let table = (mode("append").table)();
    forget(&table.root(), Job::Begin, |root, site| {
        begun(root, &site.answers(), Plan::new(Fault::Kill, 0));
    });
}

#[test]
fn what_a_mount_has_taken_over() {
    let template = Template::new(mode("partitions"));
    let site = Site::copy_of(&template.root());
    let count = site.run(Job::Commit, Plan::COUNT, None).calls.len();
    for at in chosen(count, 6) {
        let cut_off = Site::copy_of(&template.root());
        cut_off.run(Job::Commit, Plan::new(Fault::Kill, at), None);
        forget(cut_off.root(), Job::Recover, |root, _| {
            check::after_commit(&template, root, &cut_off.answers());
        });
    }
}

macro_rules! modes {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            forget_commits(stringify!($name));
        })*
    };
}

modes!(append partitions split rewrite delete transaction checkpoint timed);
