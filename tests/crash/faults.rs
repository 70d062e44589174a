//! The k-th system call fails: once, or together with all behind it, or although it was done.

use std::path::Path;

use crate::calls::Call;
use crate::case::{Site, Template, chosen};
use crate::check;
use crate::mode::mode;
use crate::tracer::{Fault, Plan, Trace};
use crate::worker::{Answer, Job};

/// Faults of a kind in a mode, unless all are asked for.
const MOST: usize = 8;

fn fail_commits(name: &str, copy: impl Fn(&Path) -> Site) {
    let template = Template::new(mode(name));
    let steps = count(&copy(&template.root()), Plan::COUNT);
    let calls = count(&copy(&template.root()), Plan::COUNT.with_reads());
    assert!(calls > steps, "it looks too: {calls} calls, {steps} steps");
    let each = |count, plan: &dyn Fn(usize) -> Plan| {
        for at in chosen(count, MOST) {
            fail_commit(&template, &copy(&template.root()), plan(at));
        }
    };
    each(steps, &|at| Plan::new(Fault::Fail(libc::EIO), at));
    each(steps, &|at| Plan::new(Fault::Fail(libc::ENOSPC), at));
    each(steps, &|at| Plan::new(Fault::Lie(libc::EIO), at));
    each(steps, &|at| Plan::new(Fault::FailFrom(libc::ENOSPC), at));
    each(steps, &|at| Plan::new(Fault::FailFrom(libc::EIO), at));
    each(calls, &|at| {
        Plan::new(Fault::Fail(libc::EIO), at).with_reads()
    });
}

/// How many calls a commit makes until it is answered, all going well.
fn count(site: &Site, plan: Plan) -> usize {
    let trace = site.run(Job::Commit, plan, None);
    trace.answered.expect("nothing goes wrong")
}

fn fail_commit(template: &Template, site: &Site, plan: Plan) {
    let trace = site.run(Job::Commit, plan, None);
    site.checked((plan, &trace), || {
        let answers = site.answers();
        check_answers(template, site.root(), plan, &trace, &answers);
        check::after_commit(template, site.root(), &answers);
    });
}

/// What fails says so, and says why; the table is as it was; and a retry lands.
fn check_answers(template: &Template, root: &Path, plan: Plan, trace: &Trace, answers: &[Answer]) {
    let [retries @ .., Answer::Done(_)] = answers else {
        panic!("the retry did not land");
    };
    let [
        Answer::Failed {
            name,
            message,
            errno,
            rows,
            modify,
        },
    ] = retries
    else {
        assert!(retries.is_empty());
        return;
    };
    let (Fault::Fail(injected) | Fault::Lie(injected) | Fault::FailFrom(injected)) = plan.fault
    else {
        panic!("nothing went wrong, and it failed");
    };
    assert!(trace.struck.is_some(), "it failed by itself");
    if name == "CommitStateUnknown" {
        assert_eq!(*errno, libc::EIO);
        // What may be a version's is not changed.
        let is_in = *rows == (template.mode.after)();
        assert_eq!(*modify, Some(if is_in { libc::EROFS } else { 0 }));
    } else {
        assert_eq!(*errno, injected, "{message}");
        assert_eq!(
            *rows, template.before,
            "a failure leaves the table as it was"
        );
    }
    let mut places = template
        .staged
        .keys()
        .cloned()
        .chain([root.display().to_string()]);
    assert!(
        places.any(|place| message.contains(&place)),
        "it does not say where: {message}"
    );
}

macro_rules! modes {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            fail_commits(stringify!($name), Site::copy_of);
        })*
    };
}

modes!(append partitions split overwrite replace_where dynamic compaction rewrite rebased delete
    merge_schema overwrite_schema transaction applied checkpoint timed);

#[test]
fn staged_on_another_disk() {
    if Site::may_mount() {
        fail_commits("partitions", Site::on_two_disks);
    }
}

#[test]
fn what_is_in_doubt_is_looked_for() {
    let template = Template::new(mode("append"));
    let counted = Site::copy_of(&template.root()).run(Job::Commit, Plan::COUNT, None);
    let is_made = |path: &Path| {
        path.to_string_lossy()
            .ends_with("_delta_log/00000000000000000003.json")
    };
    let made = (counted.calls.iter())
        .position(|call| call.name == "linkat" && is_made(&call.path))
        .expect("the commit file is made by a link");
    // Counted from 1, this is the step behind it.
    let plan = Plan::new(Fault::FailFrom(libc::EIO), made + 2);
    let site = Site::copy_of(&template.root());
    let trace = site.run(Job::Commit, plan, None);
    site.checked(&trace, || {
        let answers = site.answers();
        let [Answer::Failed { name, rows, .. }, Answer::Done(Some(3))] = &answers[..] else {
            panic!("it is not in doubt");
        };
        assert_eq!(name, "CommitStateUnknown");
        assert_eq!(*rows, (template.mode.after)());
        check_answers(&template, site.root(), plan, &trace, &answers);
        check::after_commit(&template, site.root(), &answers);
    });
}

fn is_fsync_of_staged(call: &Call) -> bool {
    call.name == "fsync" && call.path.ends_with("files/x.parquet")
}

/// Commits in a process of its own what another one has left, and says whether it takes the staged
/// file for one that an fsync makes durable.
fn is_believed(template: &Template, site: &Site) -> bool {
    let trace = site.run(Job::Once, Plan::COUNT, None);
    site.checked(&trace, || {
        assert_eq!(site.answers().last(), Some(&Answer::Done(Some(3))));
        check::after_commit(template, site.root(), &[]);
    });
    trace.calls.iter().any(is_fsync_of_staged)
}

/// What could not be written stays in the page cache, so that reading shows it, and the error has
/// been told: another process must not be deceived.
#[test]
fn a_file_that_the_disk_did_not_take_is_not_believed_after_a_kill_either() {
    let template = Template::new(mode("append"));
    let site = || Site::copy_of(&template.root());
    let counted = site().run(Job::Commit, Plan::COUNT, None);
    let at = |is_it: &dyn Fn(&Call) -> bool| {
        let found = counted.calls.iter().position(is_it);
        found.expect("it makes this call") + 1
    };
    assert!(is_believed(&template, &site()), "nothing went wrong");

    // The commit was told, and ends.
    let failed = site();
    let plan = Plan::new(Fault::Fail(libc::EIO), at(&is_fsync_of_staged));
    let trace = failed.run(Job::Once, plan, None);
    assert!(trace.struck.as_ref().is_some_and(is_fsync_of_staged));
    assert!(!is_believed(&template, &failed));

    // A program was told, by its own fsync.
    let synced = site();
    let trace = synced.run(Job::Sync, Plan::new(Fault::Fail(libc::EIO), 1), None);
    assert!(trace.struck.as_ref().is_some_and(is_fsync_of_staged));
    assert!(!is_believed(&template, &synced));

    // The commit was killed, so that nobody was told.
    let killed = site();
    killed.run(
        Job::Commit,
        Plan::new(Fault::Kill, at(&is_fsync_of_staged)),
        None,
    );
    assert!(!is_believed(&template, &killed));

    // It was killed later.
    let is_link = |call: &Call| call.name == "linkat" && !call.path.to_string_lossy().contains('_');
    let killed = site();
    killed.run(Job::Commit, Plan::new(Fault::Kill, at(&is_link)), None);
    assert!(is_believed(&template, &killed));
}

/// Who staged a file must not be able to change it once it is a version's, whatever a loss of power
/// takes.
#[test]
fn a_data_file_is_durably_the_tables() {
    if !Site::may_mount() {
        return;
    }
    let template = Template::new(mode("append"));
    let site = Site::copy_of(&template.root());
    let area = crate::area::take_over(site.root());
    let staged = crate::rig::get(&area, crate::mode::NAME)
        .expect("it was begun")
        .place();
    drop(area);
    std::os::unix::fs::chown(staged.join("x.parquet"), Some(12_345), Some(12_345))
        .expect("this is root");
    let trace = site.run(Job::Commit, Plan::COUNT, None);
    let given = trace.calls.iter().position(|call| call.name == "fchown");
    let given = given.expect("the file is given to the owner of the table");
    let path = &trace.calls[given].path;
    let is_synced = |call: &Call| call.name == "fsync" && call.path == *path;
    let answered = trace.answered.expect("nothing goes wrong");
    assert!(
        trace.calls[given..answered].iter().any(is_synced),
        "{trace:?}"
    );
}

#[test]
fn a_file_that_the_disk_did_not_take_is_not_believed_to_be_there() {
    let template = Template::new(mode("append"));
    let steps = count(&Site::copy_of(&template.root()), Plan::COUNT);
    let mut seen = 0;
    for at in 1..=steps {
        let site = Site::copy_of(&template.root());
        let plan = Plan::new(Fault::Fail(libc::EIO), at);
        let trace = site.run(Job::Commit, plan, None);
        if !trace.struck.as_ref().is_some_and(is_fsync_of_staged) {
            continue;
        }
        seen += 1;
        site.checked(&trace, || {
            let struck = (trace.calls.iter())
                .filter(|call| is_fsync_of_staged(call))
                .count();
            assert_eq!(struck, 1, "a second fsync tells nothing");
            check::after_commit(&template, site.root(), &site.answers());
        });
    }
    assert!(seen > 0, "the staged file is fsynced");
}
