//! What every [`Store`] does, as tests that run against each backend.
//!
//! `DELTAFS_CONFORMANCE_URL=s3://BUCKET/PREFIX cargo test --lib conformance::given -- --ignored`
//! runs them against any store; the environment configures it.

mod local;
mod pages;

use std::sync::Arc;
use std::sync::Barrier;

use bytes::Bytes;
use tempfile::TempDir;
use uuid::Uuid;

use super::local::LocalStore;
use super::{PutOutcome, StorageError, Store, StoreOptions, open_store};

/// An empty store, and what must be kept while it is used.
struct Fixture {
    store: Arc<dyn Store>,
    _directory: Option<TempDir>,
}

impl Fixture {
    fn local(open: fn(&std::path::Path) -> Result<LocalStore, StorageError>) -> Fixture {
        let directory = TempDir::new().expect("a temporary directory");
        Fixture {
            store: Arc::new(open(directory.path()).expect("the directory exists")),
            _directory: Some(directory),
        }
    }

    fn url(url: &str) -> Fixture {
        Fixture {
            store: open_store(url, &StoreOptions::default()).expect("the URL is valid"),
            _directory: None,
        }
    }
}

fn memory() -> Fixture {
    Fixture::url(&format!("memory:///{}", Uuid::new_v4()))
}

fn given() -> Fixture {
    let url = std::env::var("DELTAFS_CONFORMANCE_URL").expect("DELTAFS_CONFORMANCE_URL is set");
    Fixture::url(&format!("{url}/{}", Uuid::new_v4()))
}

/// Each behaviour a test, for each backend a module of them.
macro_rules! behaviours {
    ($($name:ident)*) => {
        behaviours!(local_kernel, Fixture::local(LocalStore::open), [#[test]], $($name)*);
        behaviours!(
            local_components,
            Fixture::local(LocalStore::open_by_components),
            [#[test]],
            $($name)*
        );
        behaviours!(in_memory, memory(), [#[test]], $($name)*);
        behaviours!(by_pages, pages::fixture(), [#[test]], $($name)*);
        behaviours!(
            given,
            given(),
            [#[test] #[ignore = "needs a store, named by DELTAFS_CONFORMANCE_URL"]],
            $($name)*
        );
    };
    ($backend:ident, $fixture:expr, $attributes:tt, $($name:ident)*) => {
        mod $backend {
            use super::*;
            $(behaviours!(@one $name, $fixture, $attributes);)*
        }
    };
    (@one $name:ident, $fixture:expr, [$($attributes:tt)*]) => {
        $($attributes)*
        fn $name() {
            let fixture = $fixture;
            super::$name(&*fixture.store);
        }
    };
}

behaviours! {
    lists_sorted_names_after_a_name
    lists_sizes_and_times
    lists_no_directories
    lists_an_absent_directory_as_its_kind_of_store_does
    lists_only_the_directory_asked_for
    keeps_special_characters_in_names
    tells_escaped_names_from_unescaped_ones
    reads_what_was_put
    reads_ranges_up_to_the_end
    reads_at_offsets
    reads_an_empty_object
    an_open_reader_never_mixes_two_contents
    replaces_whole
    puts_if_absent_once
    of_racing_puts_one_creates
    leaves_nothing_but_the_object
    deletes_once
    absent_objects_are_not_found
    a_directory_is_no_object
    answers_many_in_order
    refuses_paths_that_are_not_plain
    knows_the_time_it_wrote
}

fn put(store: &dyn Store, path: &str, content: &str) {
    let content = Bytes::copy_from_slice(content.as_bytes());
    store.put(path, content).expect("an object can be put");
}

fn get(store: &dyn Store, path: &str) -> String {
    let bytes = store.get(path).expect("the object can be read");
    String::from_utf8(bytes.to_vec()).expect("the tests write text")
}

fn names(store: &dyn Store, dir: &str, after: Option<&str>) -> Vec<String> {
    let names = store.list_names(dir, after).expect("it can be listed");
    let listed = store.list(dir, after).expect("it can be listed");
    let paths: Vec<String> = listed.into_iter().map(|object| object.path).collect();
    let expected: Vec<String> = match dir {
        "" => names.clone(),
        _ => names.iter().map(|name| format!("{dir}/{name}")).collect(),
    };
    assert_eq!(paths, expected, "both listings agree");
    names
}

fn lists_sorted_names_after_a_name(store: &dyn Store) {
    for name in ["b", "a", "a.b", "Z", "a-b", "é", "10", "9", "_c", "a0"] {
        put(store, &format!("log/{name}"), "");
    }
    let all = ["10", "9", "Z", "_c", "a", "a-b", "a.b", "a0", "b", "é"];
    assert_eq!(names(store, "log", None), all);
    for (index, name) in all.iter().enumerate() {
        assert_eq!(names(store, "log", Some(name)), all[index + 1..]);
    }
    assert_eq!(names(store, "log", Some("")), all);
    assert_eq!(
        names(store, "log", Some("a/")),
        all[7..],
        "one that is not there"
    );
    assert_eq!(names(store, "log", Some("\u{10ffff}")), [""; 0]);
}

fn lists_sizes_and_times(store: &dyn Store) {
    put(store, "d/a", "12345");
    put(store, "d/b", "");
    let listed = store.list("d", None).expect("it can be listed");
    let sizes: Vec<u64> = listed.iter().map(|object| object.size).collect();
    assert_eq!(sizes, [5, 0]);
    for object in &listed {
        assert_eq!(store.head(&object.path).expect("it is there"), *object);
    }
}

fn lists_no_directories(store: &dyn Store) {
    put(store, "d/file", "");
    put(store, "d/sub/file", "");
    put(store, "d/file.d/x", "");
    put(store, "top", "");
    assert_eq!(names(store, "d", None), ["file"]);
    assert_eq!(names(store, "d", Some("fil")), ["file"]);
    assert_eq!(names(store, "", None), ["top"]);
    assert_eq!(names(store, "", Some("to")), ["top"]);
}

fn lists_an_absent_directory_as_its_kind_of_store_does(store: &dyn Store) {
    put(store, "file", "");
    match store.root().starts_with('/') {
        true => {
            for dir in ["absent", "file"] {
                let error = store.list_names(dir, None).expect_err("it is no directory");
                assert!(error.is_not_found(), "{error}");
                let error = store.list(dir, None).expect_err("it is no directory");
                assert!(error.is_not_found(), "{error}");
            }
        }
        false => assert_eq!(names(store, "absent", None), [""; 0]),
    }
}

fn lists_only_the_directory_asked_for(store: &dyn Store) {
    for path in ["d/x", "d-e/x", "d.e/y", "de/z", "d0/w"] {
        put(store, path, "");
    }
    assert_eq!(names(store, "d", None), ["x"]);
    assert_eq!(names(store, "de", None), ["z"]);
}

/// Names that some layer between a caller and a disk likes to change.
const SPECIAL: [&str; 22] = [
    "a%3Ab", "a:b", "a%253Ab", "a b", "a+b", "a#b", "a?b", "é", "e\u{301}", "😀", "[a]", "~a",
    "k=v", "a&b", "a;b", "a\\b", "a*b", "{a}", "\"a\"", "a%", "%zz", "...",
];

fn keeps_special_characters_in_names(store: &dyn Store) {
    for name in SPECIAL {
        put(store, &format!("p={name}/{name}"), name);
    }
    for name in SPECIAL {
        let path = format!("p={name}/{name}");
        assert_eq!(get(store, &path), name, "{path}");
        assert_eq!(names(store, &format!("p={name}"), None), [name]);
        let head = store.head(&path).expect("it is there");
        assert_eq!((head.path, head.size), (path, name.len() as u64));
    }
}

/// Cases A1 and A5: a `%3A` on disk is a name, not an escape.
fn tells_escaped_names_from_unescaped_ones(store: &dyn Store) {
    let paths = [
        "p=x/f",
        "p=x:y/f",
        "p=x%3Ay/f",
        "d=2023-11-05 00%3A00%3A00/f",
    ];
    for path in paths {
        put(store, path, path);
    }
    for path in paths {
        assert_eq!(get(store, path), path);
    }
    let error = store.get("d=2023-11-05 00:00:00/f");
    assert!(error.expect_err("another name").is_not_found());
}

fn reads_what_was_put(store: &dyn Store) {
    let content: Bytes = (0..3_000_000u32).map(|n| (n % 251) as u8).collect();
    store.put("a/b/c", content.clone()).expect("it can be put");
    assert_eq!(store.get("a/b/c").expect("it is there"), content);
    let reader = store.open("a/b/c").expect("it is there");
    assert_eq!(reader.meta(), &store.head("a/b/c").expect("it is there"));
    let mut buffer = vec![0; content.len()];
    assert_eq!(
        reader.read_at(&mut buffer, 0).expect("it reads"),
        buffer.len()
    );
    assert_eq!(buffer, content);
}

fn reads_ranges_up_to_the_end(store: &dyn Store) {
    put(store, "f", "0123456789");
    let range = |range| store.get_range("f", range).expect("a range can be read");
    assert_eq!(range(0..10), "0123456789");
    assert_eq!(range(3..5), "34");
    assert_eq!(range(8..100), "89");
    assert_eq!(range(8..u64::MAX), "89");
    assert_eq!(range(9..10), "9");
    assert_eq!(range(4..4), "");
    assert_eq!(range(10..11), "");
    assert_eq!(range(11..12), "");
    assert_eq!(range(1 << 40..1 << 41), "");
    assert_eq!(range(u64::MAX - 1..u64::MAX), "");
    #[allow(clippy::reversed_empty_ranges)]
    let backwards = range(5..3);
    assert_eq!(backwards, "");
    for range in [0..1, 0..0, 7..u64::MAX] {
        let error = store.get_range("absent", range);
        assert!(error.expect_err("it is absent").is_not_found());
    }
}

fn reads_at_offsets(store: &dyn Store) {
    put(store, "f", "0123456789");
    let reader = store.open("f").expect("it is there");
    let read = |offset: u64, length: usize| {
        let mut buffer = vec![b'-'; length];
        let count = reader.read_at(&mut buffer, offset).expect("it can be read");
        assert!(buffer[count..].iter().all(|byte| *byte == b'-'));
        buffer.truncate(count);
        String::from_utf8(buffer).expect("the tests write text")
    };
    assert_eq!(read(0, 4), "0123");
    assert_eq!(read(6, 4), "6789");
    assert_eq!(read(6, 100), "6789");
    assert_eq!(read(10, 1), "");
    assert_eq!(read(3, 0), "");
    assert_eq!(read(u64::MAX, 2), "");
    assert_eq!(read(i64::MAX as u64, 2), "");
}

fn reads_an_empty_object(store: &dyn Store) {
    put(store, "empty", "");
    assert_eq!(get(store, "empty"), "");
    assert_eq!(store.get_range("empty", 0..5).expect("it is there"), "");
    assert_eq!(
        store.get_range("empty", 0..u64::MAX).expect("it is there"),
        ""
    );
    let reader = store.open("empty").expect("it is there");
    assert_eq!(reader.read_at(&mut [0; 8], 0).expect("it can be read"), 0);
}

fn an_open_reader_never_mixes_two_contents(store: &dyn Store) {
    put(store, "f", "old content");
    let reader = store.open("f").expect("it is there");
    let mut buffer = [0; 3];
    reader.read_at(&mut buffer, 0).expect("it can be read");
    assert_eq!(&buffer, b"old");
    put(store, "f", "new content");
    // The old bytes or an error, never the new ones.
    if reader.read_at(&mut buffer, 0).is_ok() {
        assert_eq!(&buffer, b"old");
    }
    store.delete("f").expect("it is there");
    if reader.read_at(&mut buffer, 0).is_ok() {
        assert_eq!(&buffer, b"old");
    }
    if let Some(file) = reader.as_file() {
        assert_eq!(file.metadata().expect("it is open").len(), 11);
    }
}

fn replaces_whole(store: &dyn Store) {
    put(store, "f", "a long first content");
    put(store, "f", "short");
    assert_eq!(get(store, "f"), "short");
}

fn puts_if_absent_once(store: &dyn Store) {
    let create = |content: &'static str| {
        let content = Bytes::from_static(content.as_bytes());
        store
            .put_if_absent("log/1", content)
            .expect("it can be put")
    };
    assert_eq!(create("one"), PutOutcome::Created);
    assert_eq!(create("two"), PutOutcome::AlreadyExists);
    assert_eq!(get(store, "log/1"), "one");
    store.delete("log/1").expect("it is there");
    assert_eq!(create("three"), PutOutcome::Created);
    assert_eq!(get(store, "log/1"), "three");
}

fn of_racing_puts_one_creates(store: &dyn Store) {
    const THREADS: usize = 8;
    const ROUNDS: usize = 20;
    let barrier = Barrier::new(THREADS);
    let winners: Vec<Vec<usize>> = std::thread::scope(|scope| {
        let race = |thread: usize| {
            let barrier = &barrier;
            move || {
                let mut won = Vec::new();
                for round in 0..ROUNDS {
                    barrier.wait();
                    let content = Bytes::from(format!("thread {thread} of round {round}"));
                    // The directory is new in each round: making it is part of the race.
                    let outcome = store.put_if_absent(&format!("{round}/log/commit"), content);
                    if outcome.expect("it can be put") == PutOutcome::Created {
                        won.push(round);
                    }
                }
                won
            }
        };
        let threads: Vec<_> = (0..THREADS).map(|n| scope.spawn(race(n))).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("the thread does not panic"))
            .collect()
    });
    for round in 0..ROUNDS {
        let won = (0..THREADS).filter(|thread| winners[*thread].contains(&round));
        let won: Vec<usize> = won.collect();
        assert_eq!(won.len(), 1, "round {round} was won by {won:?}");
        let content = get(store, &format!("{round}/log/commit"));
        assert_eq!(content, format!("thread {} of round {round}", won[0]));
        assert_eq!(names(store, &format!("{round}/log"), None), ["commit"]);
    }
}

fn leaves_nothing_but_the_object(store: &dyn Store) {
    put(store, "d/f", "1");
    put(store, "d/f", "2");
    for _ in 0..2 {
        let _ = store
            .put_if_absent("d/g", Bytes::from_static(b"3"))
            .expect("it can be put");
    }
    assert_eq!(names(store, "d", None), ["f", "g"]);
}

fn deletes_once(store: &dyn Store) {
    put(store, "d/f", "");
    store.delete("d/f").expect("it is there");
    for path in ["d/f", "absent/f"] {
        let error = store.delete(path).expect_err("it is not there");
        assert!(error.is_not_found(), "{error}");
    }
}

fn absent_objects_are_not_found(store: &dyn Store) {
    put(store, "f", "");
    for path in ["absent", "absent/absent", "f/below-a-file"] {
        let error = store.head(path).expect_err("it is absent");
        assert!(error.is_not_found(), "{error}");
        let error = store.get(path).expect_err("it is absent");
        assert!(error.is_not_found(), "{error}");
        let error = store.open(path).expect_err("it is absent");
        assert!(error.is_not_found(), "{error}");
        assert!(
            error
                .to_string()
                .contains(&format!("{}/{path}", store.root())),
            "{error}"
        );
    }
}

fn a_directory_is_no_object(store: &dyn Store) {
    put(store, "d/f", "");
    assert!(store.head("d").expect_err("a directory").is_not_found());
    assert!(store.get("d").expect_err("a directory").is_not_found());
    assert!(store.open("d").expect_err("a directory").is_not_found());
    assert!(store.delete("d").expect_err("a directory").is_not_found());
    assert_eq!(names(store, "d", None), ["f"]);
}

fn answers_many_in_order(store: &dyn Store) {
    for n in 0..40 {
        put(store, &format!("d/{n}"), &n.to_string());
    }
    let mut paths: Vec<String> = (0..40).map(|n| format!("d/{n}")).collect();
    paths.insert(7, "d/absent".to_owned());
    paths.insert(20, "../escape".to_owned());
    let heads = store.head_many(&paths);
    let contents = store.get_many(&paths);
    assert_eq!((heads.len(), contents.len()), (42, 42));
    for ((path, head), content) in paths.iter().zip(heads).zip(contents) {
        match path.as_str() {
            "d/absent" => {
                assert!(head.expect_err("it is absent").is_not_found());
                assert!(content.expect_err("it is absent").is_not_found());
            }
            "../escape" => {
                assert!(matches!(head, Err(StorageError::Outside { .. })));
                assert!(matches!(content, Err(StorageError::Outside { .. })));
            }
            _ => {
                assert_eq!(head.expect("it is there").path, *path);
                assert_eq!(content.expect("it is there"), path["d/".len()..]);
            }
        }
    }
    assert!(store.head_many(&[]).is_empty());
}

fn refuses_paths_that_are_not_plain(store: &dyn Store) {
    put(store, "a/f", "");
    let paths = [
        "",
        "/",
        ".",
        "..",
        "../x",
        "a/../../x",
        "a/../a/f",
        "a//f",
        "/a/f",
        "a/f/",
        "./a/f",
        "a/./f",
        "a/f\0",
        "/etc/passwd",
    ];
    for path in paths {
        let content = Bytes::from_static(b"x");
        let results = [
            store.head(path).err(),
            store.get(path).err(),
            store.get_range(path, 0..1).err(),
            store.open(path).err(),
            store.put(path, content.clone()).err(),
            store.put_if_absent(path, content).err(),
            store.delete(path).err(),
        ];
        for error in results {
            let is_outside = matches!(error, Some(StorageError::Outside { .. }));
            assert!(is_outside, "{path:?}: {error:?}");
        }
        if !path.is_empty() {
            let error = store.list_names(path, None);
            let is_outside = matches!(error, Err(StorageError::Outside { .. }));
            assert!(is_outside, "{path:?}: {error:?}");
        }
    }
}

fn knows_the_time_it_wrote(store: &dyn Store) {
    // Object stores count whole seconds, and another machine's clock is not quite ours.
    let slack = 60_000;
    let before = crate::base::clock::now_ms() - slack;
    put(store, "f", "");
    let after = crate::base::clock::now_ms() + slack;
    let modified = store.head("f").expect("it is there").modified;
    assert!(
        (before..=after).contains(&modified),
        "{before} {modified} {after}"
    );
}
