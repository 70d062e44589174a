mod disks;

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Barrier;
use std::sync::atomic::AtomicUsize;
use std::time::{Duration, SystemTime};

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::storage::ObjectReader;

const LIMIT: u64 = 1 << 30;

/// What a caller's own failure looks like.
#[derive(Debug)]
enum TestError {
    Own,
    Storage(StorageError),
}

impl From<StorageError> for TestError {
    fn from(error: StorageError) -> TestError {
        TestError::Storage(error)
    }
}

fn key(number: u8) -> EntryKey {
    [number; 32]
}

/// Where the entry lies.
fn path(root: &TempDir, number: u8) -> PathBuf {
    let hex = format!("{number:02x}");
    root.path().join("v1").join(&hex).join(hex.repeat(31))
}

fn open(root: &TempDir, limit: u64) -> DiskCache {
    DiskCache::open(root.path(), limit).unwrap()
}

fn put(cache: &DiskCache, number: u8, content: &[u8]) -> CacheFile {
    let made: Result<CacheFile, TestError> = cache.make(&key(number), |writer| {
        writer.write_all(content).map_err(|_| TestError::Own)
    });
    made.unwrap()
}

fn content(file: &CacheFile) -> Vec<u8> {
    let mut bytes = vec![0; file.size() as usize + 10];
    let count = file.read_at(&mut bytes, 0).unwrap();
    bytes.truncate(count);
    bytes
}

/// The names in a directory, with those below.
fn names(path: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(path).into_iter().flatten() {
        let entry = entry.unwrap();
        match entry.file_type().unwrap().is_dir() {
            true => names.extend(self::names(&entry.path())),
            false => names.push(entry.file_name().to_str().unwrap().to_owned()),
        }
    }
    names
}

fn entries(root: &TempDir) -> usize {
    let names = names(&root.path().join("v1"));
    names.iter().filter(|name| name.len() == 62).count()
}

fn age(path: &Path, seconds: u64) {
    let time = SystemTime::now() - Duration::from_secs(seconds);
    File::open(path).unwrap().set_modified(time).unwrap();
}

#[test]
fn what_was_made_is_there_for_others() {
    let root = TempDir::new().unwrap();
    let cache = open(&root, LIMIT);
    assert!(cache.get(&key(1)).is_none());
    let made = put(&cache, 1, b"content");
    assert_eq!(content(&made), b"content");
    let mut buffer = [0; 4];
    assert_eq!(made.read_at(&mut buffer, 5).unwrap(), 2);
    assert_eq!(&buffer[..2], b"nt");
    for beyond in [7, 8, 1000, u64::MAX] {
        assert_eq!(made.read_at(&mut buffer, beyond).unwrap(), 0, "no trailer");
    }
    // Another mount that shares the directory, at the same time.
    let other = open(&root, LIMIT);
    assert_eq!(content(&other.get(&key(1)).unwrap()), b"content");
    let never: Result<CacheFile, TestError> = other.make(&key(1), |_| panic!("it is there"));
    assert_eq!(content(&never.unwrap()), b"content");
    assert!(cache.get(&key(2)).is_none());
    assert_eq!(content(&put(&cache, 2, b"")), b"");
    assert_eq!(cache.get(&key(2)).unwrap().size(), 0);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode(&root.path().join("v1")), 0o700);
    assert_eq!(mode(&path(&root, 1)), 0o600);
}

#[test]
fn two_caches_on_one_directory_make_the_same_at_once() {
    let root = TempDir::new().unwrap();
    let caches = [open(&root, LIMIT), open(&root, LIMIT)];
    let barrier = Barrier::new(2);
    let bytes = vec![9; 1 << 20];
    std::thread::scope(|scope| {
        for cache in &caches {
            let (barrier, bytes) = (&barrier, &bytes);
            scope.spawn(move || {
                let made: Result<CacheFile, TestError> = cache.make(&key(1), |writer| {
                    barrier.wait();
                    writer.write_all(bytes).map_err(|_| TestError::Own)
                });
                assert!(content(&made.unwrap()) == *bytes);
            });
        }
    });
    for cache in &caches {
        assert!(content(&cache.get(&key(1)).unwrap()) == bytes);
    }
    assert_eq!(names(&root.path().join("v1/tmp")), [""; 0]);
}

#[test]
fn one_of_many_callers_works() {
    let root = TempDir::new().unwrap();
    let cache = open(&root, LIMIT);
    let calls = AtomicUsize::new(0);
    let barrier = Barrier::new(8);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                barrier.wait();
                let made: Result<CacheFile, TestError> = cache.make(&key(1), |writer| {
                    calls.fetch_add(1, Ordering::SeqCst);
                    std::thread::sleep(Duration::from_millis(50));
                    writer.write_all(b"content").map_err(|_| TestError::Own)
                });
                assert_eq!(content(&made.unwrap()), b"content");
            });
        }
    });
    assert_eq!(calls.into_inner(), 1);
}

#[test]
fn a_failure_is_its_caller_s_and_the_next_one_tries() {
    let root = TempDir::new().unwrap();
    let cache = open(&root, LIMIT);
    let calls = AtomicUsize::new(0);
    let failures = AtomicUsize::new(0);
    let barrier = Barrier::new(8);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                barrier.wait();
                let made = cache.make(&key(1), |writer| {
                    writer.write_all(b"content").unwrap();
                    std::thread::sleep(Duration::from_millis(20));
                    match calls.fetch_add(1, Ordering::SeqCst) {
                        0 => Err(TestError::Own),
                        _ => Ok(()),
                    }
                });
                match made {
                    Ok(file) => assert_eq!(content(&file), b"content"),
                    Err(TestError::Own) => {
                        failures.fetch_add(1, Ordering::SeqCst);
                    }
                    Err(TestError::Storage(error)) => panic!("{error}"),
                }
            });
        }
    });
    assert_eq!((calls.into_inner(), failures.into_inner()), (2, 1));
    assert_eq!(names(&root.path().join("v1/tmp")), [""; 0]);
}

#[test]
fn a_panic_leaves_nothing_behind() {
    let root = TempDir::new().unwrap();
    let cache = open(&root, LIMIT);
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let _: Result<CacheFile, TestError> = cache.make(&key(1), |_| panic!("on purpose"));
    }));
    assert!(panicked.is_err());
    assert_eq!(content(&put(&cache, 1, b"content")), b"content");
    assert_eq!(names(&root.path().join("v1/tmp")), [""; 0]);
}

#[test]
fn damaged_entries_are_made_again() {
    let root = TempDir::new().unwrap();
    let cache = open(&root, LIMIT);
    put(&cache, 1, b"content");
    put(&cache, 2, b"another");
    let path = path(&root, 1);
    let whole = fs::read(&path).unwrap();
    let other = fs::read(super::tests::path(&root, 2)).unwrap();
    let longer = [&whole[..], b"x"].concat();
    for (damage, bytes) in [
        ("empty", vec![]),
        ("cut", whole[..whole.len() - 1].to_vec()),
        ("cut before the trailer", whole[..7].to_vec()),
        ("longer", longer),
        ("zeros of the right length", vec![0; whole.len()]),
        ("another entry", other),
    ] {
        fs::write(&path, &bytes).unwrap();
        assert!(cache.get(&key(1)).is_none(), "{damage}");
        assert!(!path.exists(), "{damage}");
        assert_eq!(content(&put(&cache, 1, b"content")), b"content");
        assert_eq!(fs::read(&path).unwrap(), whole);
    }
    for bit in 0..whole.len() * 8 {
        let mut bytes = whole.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        fs::write(&path, &bytes).unwrap();
        assert!(cache.get(&key(1)).is_none(), "bit {bit}");
    }
}

#[test]
fn a_large_entry_is_known_by_its_trailer() {
    let root = TempDir::new().unwrap();
    let cache = open(&root, LIMIT);
    let bytes = vec![5; 3 << 20];
    put(&cache, 1, &bytes);
    assert!(content(&cache.get(&key(1)).unwrap()) == bytes);
    let whole = fs::read(path(&root, 1)).unwrap();
    for cut in [1, entry::TRAILER_LEN, 1 << 20] {
        fs::write(path(&root, 1), &whole[..whole.len() - cut]).unwrap();
        assert!(cache.get(&key(1)).is_none(), "{cut} bytes less");
    }
}

#[test]
fn those_unused_longest_go_first() {
    let root = TempDir::new().unwrap();
    let cache = open(&root, 10 * 98_304);
    // What takes whole blocks, with the trailer.
    let bytes = vec![1; 98_304 - entry::TRAILER_LEN];
    let first = put(&cache, 0, &bytes);
    for number in 1..10 {
        put(&cache, number, &bytes);
    }
    assert_eq!(entries(&root), 10);
    for number in 0..10 {
        age(&path(&root, number), 10_000 - u64::from(number));
    }
    // Used anew, and so it stays.
    assert!(cache.get(&key(1)).is_some());
    put(&cache, 10, &bytes);
    let there: Vec<u8> = (0..=10).filter(|n| path(&root, *n).exists()).collect();
    assert_eq!(there, [1, 3, 4, 5, 6, 7, 8, 9, 10]);
    assert!(cache.get(&key(0)).is_none());
    assert!(content(&first) == bytes, "what is open stays readable");
}

#[test]
fn what_others_add_counts_too() {
    let root = TempDir::new().unwrap();
    let limit = 64 * 4096;
    let caches = [open(&root, limit), open(&root, limit), open(&root, limit)];
    for number in 0..200 {
        put(&caches[usize::from(number) % 3], number, b"a block each");
        let most = limit / 4096 + 3 * 4;
        assert!(entries(&root) as u64 <= most, "{}", entries(&root));
    }
    assert!(entries(&root) > 32);
}

#[test]
fn a_lower_limit_takes_effect() {
    let root = TempDir::new().unwrap();
    let cache = open(&root, LIMIT);
    for number in 0..20 {
        put(&cache, number, b"content");
    }
    let cache = open(&root, 10 * 4096);
    put(&cache, 20, b"content");
    assert!(entries(&root) <= 10);
    assert!(path(&root, 20).exists());
    open(&root, 0);
    assert_eq!(entries(&root), 0);
}

#[test]
fn what_is_larger_than_the_limit_is_made_and_not_kept() {
    for limit in [0, 4096] {
        let root = TempDir::new().unwrap();
        let cache = open(&root, limit);
        let bytes = vec![3; 5000];
        let made = put(&cache, 1, &bytes);
        assert!(cache.get(&key(1)).is_none());
        assert_eq!(names(&root.path().join("v1")), ["facts"]);
        assert!(content(&made) == bytes);
        assert!(content(&put(&cache, 1, &bytes)) == bytes);
    }
}

#[test]
fn a_directory_that_takes_nothing_fails_no_read() {
    let root = TempDir::new().unwrap();
    let cache = open(&root, LIMIT);
    put(&cache, 1, b"content");
    // A file where directories have to be, which stops root as well.
    fs::remove_dir_all(root.path().join("v1/tmp")).unwrap();
    fs::write(root.path().join("v1/tmp"), b"").unwrap();
    assert_eq!(content(&put(&cache, 2, b"other")), b"other");
    assert!(cache.get(&key(2)).is_none());
    assert_eq!(content(&cache.get(&key(1)).unwrap()), b"content");
    fs::remove_file(root.path().join("v1/tmp")).unwrap();
    // Where the entry's own directory should be.
    fs::write(root.path().join("v1/03"), b"").unwrap();
    assert_eq!(content(&put(&cache, 3, b"third")), b"third");
    assert!(cache.get(&key(3)).is_none());
    assert_eq!(names(&root.path().join("v1/tmp")), [""; 0]);
    assert_eq!(content(&put(&cache, 2, b"other")), b"other");
    assert!(cache.get(&key(2)).is_some(), "it recovers");
}

#[test]
fn a_directory_that_vanishes_is_made_again() {
    let root = TempDir::new().unwrap();
    let cache = open(&root, LIMIT);
    let made = put(&cache, 1, b"content");
    fs::remove_dir_all(root.path().join("v1")).unwrap();
    assert!(cache.get(&key(1)).is_none());
    assert_eq!(content(&made), b"content");
    put(&cache, 1, b"content");
    assert!(path(&root, 1).exists());
}

#[test]
fn leftovers_of_the_dead_are_removed() {
    let root = TempDir::new().unwrap();
    drop(open(&root, LIMIT));
    let tmp = root.path().join("v1/tmp");
    fs::create_dir_all(&tmp).unwrap();
    let leave = |name: &str, seconds: u64| {
        let file = File::create(tmp.join(name)).unwrap();
        age(&tmp.join(name), seconds);
        file
    };
    drop(leave("fresh", 1));
    drop(leave("dead", 1000));
    let living = leave("living", 1000);
    living.lock().unwrap();
    let ancient = leave("ancient", 100_000);
    ancient.lock().unwrap();
    open(&root, LIMIT);
    let mut left = names(&tmp);
    left.sort();
    assert_eq!(left, ["fresh", "living"]);
}

#[test]
fn a_file_being_written_is_locked() {
    let root = TempDir::new().unwrap();
    let cache = open(&root, LIMIT);
    let made: Result<CacheFile, TestError> = cache.make(&key(1), |writer| {
        let tmp = root.path().join("v1/tmp");
        let name = names(&tmp).pop().unwrap();
        age(&tmp.join(&name), 1000);
        open(&root, LIMIT);
        assert_eq!(names(&tmp), [name]);
        writer.write_all(b"content").map_err(|_| TestError::Own)
    });
    assert_eq!(content(&made.unwrap()), b"content");
    let published = File::open(path(&root, 1)).unwrap();
    assert!(published.try_lock().is_ok(), "no longer");
}

#[test]
fn a_directory_that_others_write_to_is_refused() {
    let root = TempDir::new().unwrap();
    drop(open(&root, LIMIT));
    let v1 = root.path().join("v1");
    for mode in [0o777, 0o770, 0o1777] {
        fs::set_permissions(&v1, fs::Permissions::from_mode(mode)).unwrap();
        match DiskCache::open(root.path(), LIMIT) {
            Err(error @ StorageError::Unsupported { .. }) => {
                let message = error.to_string();
                assert!(message.contains("--cache-dir"), "{message}");
            }
            other => panic!("{mode:o}: {other:?}"),
        }
    }
    let cache = DiskCache::open_or_without(Some(root.path()), LIMIT);
    assert_eq!(content(&put(&cache, 1, b"content")), b"content");
    assert_eq!(entries(&root), 0);
}

#[test]
fn what_is_no_directory_is_refused() {
    let root = TempDir::new().unwrap();
    let file = root.path().join("file");
    fs::write(&file, b"").unwrap();
    let error = DiskCache::open(&file, LIMIT).unwrap_err().to_string();
    assert!(error.contains("file/v1"), "{error}");
    let cache = DiskCache::open_or_without(Some(&file), LIMIT);
    assert_eq!(content(&put(&cache, 1, b"content")), b"content");
    cache.remember([1; 16], 5);
    assert_eq!(cache.recall(&[1; 16]), Some(5));
    let cache = DiskCache::open_or_without(None, LIMIT);
    assert_eq!(content(&put(&cache, 1, b"content")), b"content");
}

#[test]
fn a_missing_directory_is_made_for_its_user_alone() {
    let root = TempDir::new().unwrap();
    let deep = root.path().join("a/b");
    let cache = DiskCache::open(&deep, LIMIT).unwrap();
    put(&cache, 1, b"content");
    for path in [root.path().join("a"), deep.clone(), deep.join("v1/01")] {
        let mode = fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o700);
    }
}

#[test]
fn facts_are_shared_by_those_who_open_later() {
    let root = TempDir::new().unwrap();
    let cache = open(&root, LIMIT);
    assert_eq!(cache.recall(&[1; 16]), None);
    cache.remember([1; 16], 5);
    cache.remember([2; 16], 6);
    cache.remember([3; 16], u64::MAX);
    let later = open(&root, 0);
    assert_eq!(later.recall(&[1; 16]), Some(5));
    assert_eq!(later.recall(&[2; 16]), Some(6));
    assert_eq!(later.recall(&[3; 16]), Some(u64::MAX));
}

#[test]
fn the_default_directory_is_where_caches_are() {
    let by = |xdg: Option<&str>, home: Option<&str>, is_root| {
        directory_by(xdg.map(OsString::from), home.map(OsString::from), is_root)
    };
    let expected = |path: &str| Some(PathBuf::from(path));
    assert_eq!(by(Some("/x"), Some("/h"), false), expected("/x/deltafs"));
    assert_eq!(by(Some("/x"), Some("/h"), true), expected("/x/deltafs"));
    assert_eq!(by(None, Some("/h"), true), expected("/var/cache/deltafs"));
    for unset in [None, Some(""), Some("relative")] {
        assert_eq!(by(unset, Some("/h"), false), expected("/h/.cache/deltafs"));
        assert_eq!(by(unset, unset, false), None);
    }
}

proptest! {
    #![proptest_config(crate::base::random::cases(64))]

    #[test]
    fn entries_come_back_as_they_were_written(
        parts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..5000), 0..8),
        offset in 0_usize..50_000,
        length in 0_usize..50_000,
    ) {
        let root = TempDir::new().unwrap();
        let cache = open(&root, LIMIT);
        let made: Result<CacheFile, TestError> = cache.make(&key(1), |writer| {
            parts.iter().try_for_each(|part| writer.write_all(part).map_err(|_| TestError::Own))
        });
        let bytes = parts.concat();
        let expected = &bytes[offset.min(bytes.len())..(offset + length).min(bytes.len())];
        for file in [made.unwrap(), cache.get(&key(1)).unwrap()] {
            prop_assert_eq!(file.size(), bytes.len() as u64);
            let mut buffer = vec![0; length];
            let count = file.read_at(&mut buffer, offset as u64).unwrap();
            prop_assert_eq!(&buffer[..count], expected);
        }
    }
}
