//! Transactions that are begun, or removed, when something goes wrong.

use std::path::Path;

use crate::area;
use crate::case::{Site, Template, chosen};
use crate::check;
use crate::mode::{NAME, mode};
use crate::rig;
use crate::tracer::{Fault, Plan};
use crate::worker::{Answer, Job, SECOND};

/// Faults of a kind, unless all are asked for.
const MOST: usize = 12;

/// Every kind of fault at its places, with nothing else on the disk than what `job` finds there.
fn each_plan(from: &Path, job: Job, mut check: impl FnMut(&Site, Plan)) {
    let counted = |plan: Plan| {
        let site = Site::copy_of(from);
        let trace = site.run(job, plan, None);
        check(&site, plan);
        assert!(trace.answered.is_some(), "nothing goes wrong");
        trace.calls.len()
    };
    let mut counted = counted;
    let steps = counted(Plan::COUNT);
    let calls = counted(Plan::COUNT.with_reads());
    let mut plans: Vec<Plan> = (1..=steps).map(|at| Plan::new(Fault::Kill, at)).collect();
    for fault in [
        Fault::Fail(libc::EIO),
        Fault::Fail(libc::ENOSPC),
        Fault::Lie(libc::EIO),
        Fault::FailFrom(libc::ENOSPC),
    ] {
        plans.extend(
            chosen(steps, MOST)
                .into_iter()
                .map(|at| Plan::new(fault, at)),
        );
    }
    let fail = |at| Plan::new(Fault::Fail(libc::EIO), at).with_reads();
    plans.extend(chosen(calls, MOST).into_iter().map(fail));
    for plan in plans {
        let site = Site::copy_of(from);
        let trace = site.run(job, plan, None);
        site.checked((plan, &trace), || check(&site, plan));
    }
}

#[test]
fn a_transaction_is_begun_whole_or_not_at_all() {
    let template = Template::new(mode("append"));
    each_plan(&template.root(), Job::Begin, |site, plan| {
        let names = begun(site.root(), &site.answers(), plan);
        assert_eq!(names[0], NAME, "the other one is still there");
        let area = area::take_over(site.root());
        for name in &names[1..] {
            area.remove(name.as_ref()).expect("it is empty");
        }
        drop(area);
        check::after_commit(&template, site.root(), &[]);
    });
}

#[test]
fn the_first_transaction_of_a_table_is_begun_whole_or_not_at_all() {
    let table = (mode("append").table)();
    each_plan(&table.root(), Job::Begin, |site, plan| {
        let names = begun(site.root(), &site.answers(), plan);
        let area = area::take_over(site.root());
        if names.is_empty() {
            rig::begin(&area, SECOND).expect("nothing is in the way");
        }
        for name in area.names() {
            area.remove(&name).expect("it is empty");
        }
        assert_eq!(area::directories(site.root()), 0);
    });
}

/// The names of the transactions that there are after one was begun, or should have been.
pub fn begun(root: &Path, answers: &[Answer], plan: Plan) -> Vec<String> {
    let area = area::take_over(root);
    let names: Vec<String> = area
        .names()
        .into_iter()
        .map(|name| name.into_string().expect("UTF-8"))
        .collect();
    assert_eq!(area::directories(root), names.len(), "nothing else is left");
    for name in names.iter().filter(|name| *name != NAME) {
        let transaction = rig::get(&area, name).expect("it is listed");
        assert_eq!(rig::status(&transaction)["state"], "open");
        rig::put(&transaction, "new.parquet", "new");
        std::fs::remove_file(transaction.place().join("new.parquet")).expect("it was written");
        let is_left_over =
            matches!(plan.fault, Fault::FailFrom(_)) && *name == format!("{SECOND}~2");
        assert!(name == SECOND || is_left_over, "{name}");
    }
    if answers
        .iter()
        .any(|answer| matches!(answer, Answer::Done(_)))
    {
        assert!(names.iter().any(|name| name == SECOND), "it was answered");
    }
    if plan.fault != Fault::Kill {
        assert!(
            matches!(answers.last(), Some(Answer::Done(_))),
            "the second try lands"
        );
    }
    names
}

#[test]
fn a_transaction_is_removed_whole_or_not_at_all() {
    let template = Template::new(mode("append"));
    let bare = Site::copy_of(&template.root());
    let area = area::take_over(bare.root());
    let place = rig::get(&area, NAME).expect("it was begun").place();
    for name in template.staged.keys() {
        std::fs::remove_file(place.join(name)).expect("it was staged");
    }
    drop(area);
    each_plan(bare.root(), Job::Remove, |site, plan| {
        let area = area::take_over(site.root());
        assert_eq!(area::directories(site.root()), area.names().len());
        if site
            .answers()
            .iter()
            .any(|answer| matches!(answer, Answer::Done(_)))
        {
            assert_eq!(area.names(), [""; 0], "it was answered");
        } else {
            assert_eq!(plan.fault, Fault::Kill, "the second try lands");
        }
        // What is there is as good as new.
        for name in area.names() {
            let transaction = rig::get(&area, NAME).expect("it is the only one");
            rig::put(&transaction, "x.parquet", &template.staged["x.parquet"]);
            assert_eq!(
                rig::commit(&transaction, "").expect("it can be committed"),
                3
            );
            assert_eq!(name, NAME);
        }
    });
}
