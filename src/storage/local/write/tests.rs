use std::fs::{read_dir, read_to_string, write};

use tempfile::TempDir;

use super::*;

fn open(directory: &TempDir) -> OwnedFd {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY;
    fs::openat(fs::CWD, directory.path(), flags, Mode::empty()).expect("the directory exists")
}

/// What stands in for linkat where a file system has no hard links.
#[test]
fn renaming_creates_once() {
    let directory = TempDir::new().expect("a temporary directory");
    let dir = open(&directory);
    for (content, expected) in [
        ("one", PutOutcome::Created),
        ("two", PutOutcome::AlreadyExists),
    ] {
        let mut temporary = Temporary::write(&dir, "f", content.as_bytes()).expect("written");
        assert_eq!(temporary.rename_to("f"), Ok(expected));
    }
    let content = read_to_string(directory.path().join("f")).expect("it is there");
    assert_eq!(content, "one");
    let left = read_dir(directory.path()).expect("a directory").count();
    assert_eq!(left, 1, "the loser's temporary file is removed");
}

/// A link that exists although linkat failed, as over NFS when the answer was lost.
#[test]
fn a_link_of_ours_counts_whatever_linkat_said() {
    let directory = TempDir::new().expect("a temporary directory");
    let dir = open(&directory);
    let temporary = Temporary::write(&dir, "f", b"ours").expect("written");
    fs::linkat(&dir, &temporary.name, &dir, "f", AtFlags::empty()).expect("links work here");
    assert_eq!(temporary.link_to("f"), Ok(PutOutcome::Created));
    write(directory.path().join("g"), "theirs").expect("written");
    assert_eq!(temporary.link_to("g"), Ok(PutOutcome::AlreadyExists));
}

#[test]
fn temporary_names_fit() {
    for target in [
        "f".to_owned(),
        "x".repeat(255),
        "é".repeat(127),
        "😀".repeat(63),
    ] {
        let name = temporary_name(&target);
        assert!(name.len() <= NAME_MAX, "{name}");
        assert!(name.starts_with('.') && name.ends_with(".tmp"), "{name}");
    }
    assert!(temporary_name("00000.json").starts_with(".00000.json."));
}
