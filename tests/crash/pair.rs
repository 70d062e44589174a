//! A process is killed while it commits two transactions at once, or while another takes over what
//! is left and a third begins something new.

use std::collections::BTreeMap;
use std::path::Path;

use crate::area;
use crate::case::{Site, Template, chosen, staged_in};
use crate::check::on_disk;
use crate::log::Log;
use crate::mode::{NAME, Row, mode, rows_at};
use crate::rig;
use crate::support::{batch, longs};
use crate::tracer::{Fault, Plan};
use crate::worker::{Job, SECOND};

/// Kills, unless all are asked for.
const MOST: usize = 24;

/// How often a transaction is begun while others look for leftovers.
const BEGUN: usize = 100;

#[test]
fn each_is_committed_whole_or_not_at_all() {
    let template = Template::new(mode("append"));
    let both = Site::copy_of(&template.root());
    let area = area::take_over(both.root());
    let second = rig::begin(&area, SECOND).expect("another name");
    rig::put_rows(&second, "y.parquet", &batch([("id", longs([20, 21]))]));
    rig::put(&second, ".commit", "");
    let staged = BTreeMap::from([
        (NAME, template.staged.clone()),
        (SECOND, staged_in(&second.place())),
    ]);
    drop((second, area));
    let count = Site::copy_of(both.root())
        .run(Job::Pair, Plan::COUNT, None)
        .calls
        .len();
    for at in chosen(count, MOST) {
        let site = Site::copy_of(both.root());
        let trace = site.run(Job::Pair, Plan::new(Fault::Kill, at), None);
        site.checked((at, &trace), || check(&template, &staged, site.root()));
    }
}

fn check(template: &Template, staged: &BTreeMap<&str, BTreeMap<String, Vec<u8>>>, root: &Path) {
    let area = area::take_over(root);
    assert_eq!(area.names(), [NAME, SECOND]);
    let new = Log::read(root).0.len() - template.versions;
    let committed = |name: &&str| {
        let transaction = rig::get(&area, name).expect("it is listed");
        rig::status(&transaction)["state"] == "committed"
    };
    let done: Vec<&str> = [NAME, SECOND].into_iter().filter(committed).collect();
    assert_eq!(new, done.len(), "versions and {done:?}");
    let rows = |done: &[&str]| {
        let ids = |name| match name {
            NAME => [7, 8],
            _ => [20, 21],
        };
        let new = done.iter().flat_map(|name| ids(*name)).map(|id| (id, None));
        let mut rows: Vec<Row> = template.before.iter().cloned().chain(new).collect();
        rows.sort();
        rows
    };
    assert_eq!(rows_at(root), rows(&done));
    assert_eq!(on_disk(root), Log::read(root).named());
    for name in [NAME, SECOND] {
        let transaction = rig::get(&area, name).expect("it is listed");
        assert!(
            staged_in(&transaction.place()) == staged[name],
            "staged files of {name}"
        );
        let version = transaction.commit().expect("a retry lands");
        assert_eq!(transaction.commit().expect("the same answer"), version);
    }
    assert_eq!(rows_at(root), rows(&[NAME, SECOND]));
    assert_eq!(Log::read(root).0.len(), template.versions + 2);
    assert_eq!(on_disk(root), Log::read(root).named());
}

#[test]
fn a_mount_that_starts_leaves_alone_what_is_being_begun() {
    let table = (mode("append").table)();
    let root = table.root();
    drop(rig::begin(&rig::staging(&root), "first").expect("the directory is made"));
    std::thread::scope(|scope| {
        let beginning = scope.spawn(|| {
            let area = rig::staging(&root);
            for number in 0..BEGUN {
                let name = format!("t{number}");
                let transaction = rig::begin(&area, &name).expect("nobody is in the way");
                rig::put(&transaction, "x.parquet", "x");
                let there = transaction.place().join("x.parquet");
                assert!(there.is_file(), "{there:?} is in a directory that is gone");
            }
            area
        });
        while !beginning.is_finished() {
            drop(rig::staging(&root));
        }
        let area = beginning.join().expect("it went well");
        for number in 0..BEGUN {
            let transaction = rig::get(&area, &format!("t{number}")).expect("it was begun");
            assert!(transaction.place().join("x.parquet").is_file());
        }
    });
}
