use std::path::Path;

use tempfile::TempDir;

use super::*;
use crate::storage::ObjectReader;

const KEY: EntryKey = [7; 32];

fn directory(root: &TempDir) -> Directory {
    Directory::open(root.path(), 1 << 30).unwrap()
}

/// The same file, which refuses to be written to.
fn read_only(file: &File) -> File {
    use std::os::fd::AsRawFd;
    File::open(format!("/proc/self/fd/{}", file.as_raw_fd())).unwrap()
}

fn content(file: &CacheFile) -> Vec<u8> {
    let mut bytes = vec![0; file.size() as usize];
    assert_eq!(file.read_at(&mut bytes, 0).unwrap(), bytes.len());
    bytes
}

fn files_in(path: &Path) -> usize {
    std::fs::read_dir(path).map_or(0, Iterator::count)
}

#[test]
fn an_entry_moves_on_when_the_directory_refuses_a_write() {
    let root = TempDir::new().unwrap();
    let directory = directory(&root);
    let mut spool = Spool::begin(Some(&directory)).unwrap();
    let first = vec![1; 3 << 20];
    spool.write_all(&first).unwrap();
    assert_eq!(files_in(&root.path().join("v1/tmp")), 1);
    spool.file = read_only(&spool.file);
    spool.write_all(b"second").unwrap();
    assert!(matches!(spool.place, Place::Nameless), "{:?}", spool.place);
    assert_eq!(files_in(&root.path().join("v1/tmp")), 0);
    spool.file = read_only(&spool.file);
    spool.write_all(b"third").unwrap();
    assert!(matches!(spool.place, Place::Memory), "{:?}", spool.place);
    let finished = spool.finish(&KEY).unwrap();
    assert!(finished.problem.is_some());
    let expected = [&first[..], b"second", b"third"].concat();
    assert!(content(&finished.file) == expected);
    assert!(directory.get(&KEY).is_none());
}

#[test]
fn an_entry_moves_on_when_it_cannot_be_sealed() {
    let root = TempDir::new().unwrap();
    let directory = directory(&root);
    let mut spool = Spool::begin(Some(&directory)).unwrap();
    spool.write_all(b"content").unwrap();
    spool.file = read_only(&spool.file);
    let finished = spool.finish(&KEY).unwrap();
    assert!(finished.problem.is_some());
    assert_eq!(content(&finished.file), b"content");
    assert!(directory.get(&KEY).is_none());
    assert_eq!(files_in(&root.path().join("v1/tmp")), 0);
}

#[test]
fn an_entry_whose_bytes_were_lost_is_an_error() {
    let root = TempDir::new().unwrap();
    let directory = directory(&root);
    let mut spool = Spool::begin(Some(&directory)).unwrap();
    spool.write_all(b"content").unwrap();
    spool.file.write_all_at(b"C", 0).unwrap();
    spool.file = read_only(&spool.file);
    let error = spool.write_all(b"more").unwrap_err();
    assert!(error.to_string().contains("lost"), "{error}");
}

#[test]
fn memory_takes_so_much_and_no_more() {
    let mut spool = Spool::begin(None).unwrap();
    spool.place = Place::Memory;
    spool.file = memory().unwrap();
    spool.length = MEMORY_LIMIT - 3;
    assert_eq!(spool.write(b"123").unwrap(), 3);
    let error = spool.write(b"4").unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    assert!(
        spool.finish(&KEY).is_err(),
        "whether or not the error was heeded"
    );
}

#[test]
fn without_a_directory_an_entry_has_no_name() {
    let mut spool = Spool::begin(None).unwrap();
    assert!(matches!(spool.place, Place::Nameless));
    spool.write_all(b"content").unwrap();
    let finished = spool.finish(&KEY).unwrap();
    assert!(finished.problem.is_none());
    assert_eq!(content(&finished.file), b"content");
}
