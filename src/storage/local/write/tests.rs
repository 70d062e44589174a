use std::fs::{read_dir, read_to_string, write};

use tempfile::TempDir;

use super::temporary::{NAME_MAX, is_temporary_name};
use super::*;

fn open(directory: &TempDir) -> OwnedFd {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY;
    fs::openat(fs::CWD, directory.path(), flags, Mode::empty()).expect("the directory exists")
}

fn names(directory: &TempDir) -> Vec<String> {
    let rows = read_dir(directory.path()).expect("a directory");
    let names = rows.map(|row| row.expect("a row").file_name().into_string());
    names.map(|name| name.expect("UTF-8")).collect()
}

/// Whether this machine's temporary directory takes files without names.
fn has_unnamed(dir: &OwnedFd) -> bool {
    let unnamed = Temporary::unnamed(dir, b"").expect("can be asked");
    if unnamed.is_none() {
        eprintln!("skipped: this file system has no files without names, or does not fsync them");
    }
    unnamed.is_some()
}

#[test]
fn a_file_without_a_name_leaves_nothing_and_gets_one_name_once() {
    let directory = TempDir::new().expect("a temporary directory");
    let dir = open(&directory);
    if !has_unnamed(&dir) {
        return;
    }
    let unnamed = |content: &[u8]| {
        let made = Temporary::unnamed(&dir, content).expect("written");
        made.expect("it worked before")
    };
    drop(unnamed(b"gone"));
    assert!(names(&directory).is_empty());
    let first = unnamed(b"one");
    assert_eq!(first.link_to("f"), Ok(PutOutcome::Created));
    assert_eq!(first.link_to("f"), Ok(PutOutcome::Created), "it is itself");
    assert_eq!(unnamed(b"two").link_to("f"), Ok(PutOutcome::AlreadyExists));
    let content = read_to_string(directory.path().join("f")).expect("it is there");
    assert_eq!(content, "one");
    unnamed(b"three").replace("f").expect("replaced");
    let content = read_to_string(directory.path().join("f")).expect("it is there");
    assert_eq!(content, "three");
    assert_eq!(names(&directory), ["f"]);
    // As readable as any other.
    Temporary::named(&dir, "g", b"")
        .and_then(|named| named.replace("g"))
        .expect("replaced");
    let mode = |name| {
        fs::statat(&dir, name, AtFlags::empty())
            .expect("is there")
            .st_mode
    };
    assert_eq!(mode("f"), mode("g"));
}

#[test]
fn only_old_temporaries_of_ours_are_left_for_good() {
    let directory = TempDir::new().expect("a temporary directory");
    let dir = open(&directory);
    let ours = temporary_name("00000000000000000001.json");
    let theirs = ".00000000000000000001.json.8c4f8ab4-6f0b-4c51-9d3a-0f9e2f8a4e5b.tmp";
    let all = [
        ours.as_str(),
        theirs,
        "00000000000000000001.json",
        ".x.deltafs.tmp",
        "._last_checkpoint.not-a-uuid.deltafs.tmp",
    ];
    for name in all {
        write(directory.path().join(name), "").expect("written");
    }
    let directory_of_that_name = temporary_name("d");
    std::fs::create_dir(directory.path().join(&directory_of_that_name)).expect("made");
    assert_eq!(remove_leftovers(&dir, 1_000_000), Ok(0), "they are new");
    assert_eq!(names(&directory).len(), all.len() + 1);
    assert_eq!(remove_leftovers(&dir, i64::MAX), Ok(1));
    let left = names(&directory);
    assert_eq!(left.len(), all.len());
    assert!(!left.contains(&ours));
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
        let mut temporary = Temporary::named(&dir, "f", content.as_bytes()).expect("written");
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
    let temporary = Temporary::named(&dir, "f", b"ours").expect("written");
    assert_eq!(temporary.link_to("f"), Ok(PutOutcome::Created));
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
        assert!(is_temporary_name(&name), "{name}");
    }
    assert!(temporary_name("00000.json").starts_with(".00000.json."));
}
