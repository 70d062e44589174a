//! Things in a table that are no files.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::support::{TableBuilder, add, tree_read};
use super::visit::{SECRET, visit};

const ID: &[(&str, &str)] = &[("id", "long")];

/// What something is, and what makes it at a path.
type Special = (&'static str, Box<dyn Fn(&Path)>);

/// What can stand in the place of a file.
fn specials(outside: &Path) -> Vec<Special> {
    let secret = outside.join("secret.json");
    fs::write(&secret, SECRET).unwrap();
    vec![
        (
            "a directory",
            Box::new(|path| fs::create_dir(path).unwrap()),
        ),
        // Opening one for reading waits for a writer.
        (
            "a named pipe",
            Box::new(|path| mknodat(CWD, path, FileType::Fifo, Mode::RUSR, 0).unwrap()),
        ),
        (
            "a socket",
            Box::new(|path| mknodat(CWD, path, FileType::Socket, Mode::RUSR, 0).unwrap()),
        ),
        (
            "a link to nothing",
            Box::new(|path| symlink("nothing", path).unwrap()),
        ),
        (
            "a link to itself",
            Box::new(|path| symlink(path.file_name().unwrap(), path).unwrap()),
        ),
        (
            "a link to a device",
            Box::new(|path| symlink("/dev/zero", path).unwrap()),
        ),
        (
            "a link out",
            Box::new(move |path| symlink(&secret, path).unwrap()),
        ),
    ]
}

#[test]
fn a_log_file_that_is_no_file_costs_what_it_stands_for() {
    for name in [
        "00000000000000000002.json",
        "00000000000000000001.checkpoint.parquet",
        "00000000000000000001.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json",
        "00000000000000000001.00000000000000000002.compacted.json",
        "00000000000000000001.crc",
        "_last_checkpoint",
    ] {
        let outside = tempfile::tempdir().unwrap();
        for (what, make) in specials(outside.path()) {
            let mut table = TableBuilder::with_schema(ID);
            table.commit_adds(1);
            make(&table.log(name));
            visit(&table.root());
            table.check(&table.generation(), [1, 0]);
            let newer = table.snapshot(2);
            assert!(newer.is_err(), "{what} as {name}");
        }
    }
}

#[test]
fn a_data_file_that_is_no_file_does_not_open() {
    let outside = tempfile::tempdir().unwrap();
    for (what, make) in specials(outside.path()) {
        let mut table = TableBuilder::with_schema(ID);
        make(&table.path("f.parquet"));
        table.commit([add("f.parquet").size(SECRET.len() as i64)]);
        visit(&table.root());
        assert!(tree_read(&table.tree(), "@v1/f.parquet").is_err(), "{what}");
    }
}

#[test]
fn a_log_directory_that_is_none_is_no_table() {
    let outside = tempfile::tempdir().unwrap();
    for (what, make) in specials(outside.path()) {
        if what == "a directory" {
            continue;
        }
        let table = TableBuilder::new();
        fs::remove_dir_all(table.log("")).unwrap();
        make(&table.path("_delta_log"));
        assert_eq!(visit(&table.root()), 0, "{what}");
        assert!(super::support::open_root(&table.root()).is_err(), "{what}");
    }
}
