use proptest::prelude::*;

use super::*;

fn relative(path: &str) -> Location {
    Location::Relative(path.to_owned())
}

fn absolute_at(url: &str) -> Location {
    Location::Absolute(url.to_owned())
}

fn parsed(path_in_log: &str) -> Location {
    Location::parse(path_in_log).expect("a valid path")
}

#[test]
fn a1_an_escaped_directory_is_decoded_once() {
    let location = parsed("d=2023-11-05%2000%253A00%253A00/f.parquet");
    assert_eq!(location, relative("d=2023-11-05 00%3A00%3A00/f.parquet"));
}

#[test]
fn a2_an_escaped_slash_makes_no_directory() {
    // `A/A` stands on disk as `x=A%2FA`, and so in the log with its `%` escaped.
    assert_eq!(parsed("x=A%252FA/f"), relative("x=A%2FA/f"));
    assert_eq!(parsed("x=B%20B/f"), relative("x=B B/f"));
}

#[test]
fn a4_every_character_comes_back() {
    let ascii: String = (32u8..=126)
        .filter(|b| *b != b'/')
        .map(char::from)
        .collect();
    for name in [
        ascii.as_str(),
        "é",
        "e\u{301}",
        "😀",
        "%2Fa",
        "a%2F",
        " ",
        "%",
    ] {
        let location = relative(&format!("p={name}/part-0.parquet"));
        let path = location.to_log_path();
        assert!(
            path.is_ascii() && !path.contains([' ', '#', '?', '[']),
            "{path}"
        );
        assert_eq!(parsed(&path), location, "{path}");
    }
}

#[test]
fn a5_colon_escaped_colon_and_none_are_three() {
    // As Spark writes them, and as a writer that leaves colons alone does.
    assert_eq!(parsed("p=x/f"), relative("p=x/f"));
    assert_eq!(parsed("p=x:y/f"), relative("p=x:y/f"));
    assert_eq!(parsed("p=x%3Ay/f"), relative("p=x:y/f"));
    assert_eq!(parsed("p=x%253Ay/f"), relative("p=x%3Ay/f"));
}

#[test]
fn a6_a_literal_space_is_an_escaped_one() {
    assert_eq!(parsed("city=New%20York/f"), parsed("city=New York/f"));
    let keys = ["city=New%20York/f", "city=New York/f"].map(Location::key);
    let [escaped, literal] = keys.map(|key| key.expect("a valid path"));
    assert_eq!(escaped, literal);
}

#[test]
fn a10_absolute_paths_are_absolute() {
    let expected = absolute_at("file:///elsewhere/part-0.parquet");
    for path in [
        "file:///elsewhere/part-0.parquet",
        "file:/elsewhere/part-0.parquet",
        "file://localhost/elsewhere/part-0.parquet",
        "file://LOCALHOST/elsewhere/part-0.parquet",
        "FILE:/elsewhere/part-0.parquet",
        "/elsewhere/part-0.parquet",
        "//elsewhere/part-0.parquet",
        "/elsewhere//./part-0.parquet",
        "file:////elsewhere/part-0.parquet",
        "file:///%65lsewhere/part-0.parquet",
    ] {
        assert_eq!(parsed(path), expected, "{path}");
    }
}

#[test]
fn object_store_urls_are_absolute() {
    assert_eq!(parsed("s3://b/k/f%20g"), absolute_at("s3://b/k/f g"));
    assert_eq!(parsed("s3a://b/k"), absolute_at("s3://b/k"));
    assert_eq!(parsed("s3n://b/k"), absolute_at("s3://b/k"));
    assert_eq!(
        parsed("abfs://c@a.dfs.core.windows.net/k"),
        absolute_at("abfss://c@a.dfs.core.windows.net/k")
    );
    assert_eq!(parsed("gs://b//k/"), absolute_at("gs://b/k"));
    assert_eq!(parsed("s3://b"), absolute_at("s3://b/"));
    assert_eq!(parsed("file://host/p"), absolute_at("file://host/p"));
    assert_eq!(parsed("memory:/t/f"), absolute_at("memory:///t/f"));
}

#[test]
fn a_colon_alone_makes_no_scheme() {
    for path in [
        "C:/data/f",
        "x=a:b/f.parquet",
        "a:b",
        "p=s3://b/f",
        "1a:/f",
        "file:f",
        "s3:",
    ] {
        assert!(matches!(parsed(path), Location::Relative(_)), "{path}");
    }
    assert_eq!(parsed("x=a:b/f.parquet"), relative("x=a:b/f.parquet"));
    assert_eq!(parsed("C:/data/f"), relative("C:/data/f"));
}

#[test]
fn segments_are_normalized_as_by_spark() {
    assert_eq!(parsed("./a/./b//c/"), relative("a/b/c"));
    assert_eq!(parsed("a/../b"), relative("b"));
    assert_eq!(parsed(".a/b"), relative(".a/b"));
    assert_eq!(parsed("a/.b"), relative("a/.b"));
    assert_eq!(parsed("a/...//b"), relative("a/.../b"));
    // What leads out stays as it is, for the store to refuse.
    assert_eq!(parsed("../x"), relative("../x"));
    assert_eq!(parsed("a/../../x"), relative("../x"));
    assert_eq!(parsed("/../x"), absolute_at("file:///../x"));
    assert_eq!(parsed("%2E%2E/x"), relative("../x"));
    assert_eq!(parsed("a/%2e%2e/%2e%2e/x"), relative("a/../../x"));
    assert_eq!(parsed("a%2F..%2F..%2Fx"), relative("a/../../x"));
    assert_eq!(parsed("%2Fetc/passwd"), relative("/etc/passwd"));
    assert_eq!(parsed(""), relative(""));
}

#[test]
fn escapes_that_are_none_stay() {
    assert_eq!(parsed("a%zz/f"), relative("a%zz/f"));
    assert_eq!(parsed("a%"), relative("a%"));
    assert_eq!(parsed("a%4"), relative("a%4"));
    assert_eq!(parsed("a+b?c#d"), relative("a+b?c#d"));
}

#[test]
fn what_is_not_utf8_is_refused() {
    for path in ["a%ff", "p=%C3/f", "file:///%FE%FF"] {
        let error = Location::parse(path).expect_err("it is not UTF-8");
        assert!(matches!(error, StorageError::InvalidLocation { .. }));
        assert!(error.to_string().contains(path), "{error}");
    }
}

#[test]
fn plain_paths_are_their_own_keys_without_a_copy() {
    for path in [
        "part-0.parquet",
        "a=b/c=d/part-0.parquet",
        "a.b/c-d",
        "deletion_vector.bin",
    ] {
        let key = Location::key(path).expect("a valid path");
        assert!(matches!(key, Cow::Borrowed(_)), "{path}");
        assert_eq!(key, path);
    }
}

#[test]
fn a_relative_path_that_reads_as_absolute_has_another_key() {
    let key = |path: &str| Location::key(path).expect("a valid path").into_owned();
    for (disguised, honest) in [
        ("file%3A/%2F%2Fetc/passwd", "file:///etc/passwd"),
        ("s3%3A/%2Fb/k", "s3://b/k"),
        ("%2Fetc/passwd", "/etc/passwd"),
        ("%2E/a", "a"),
    ] {
        assert_ne!(key(disguised), key(honest));
        let location = Location::from_key(&key(disguised));
        assert!(matches!(location, Location::Relative(_)), "{location:?}");
        assert_ne!(parsed(disguised), parsed(honest));
    }
}

proptest! {
    #[test]
    fn keys_are_equal_exactly_when_locations_are(
        a in "[a./:%2FfEs3~é ]{0,12}",
        b in "[a./:%2FfEs3~é ]{0,12}",
    ) {
        if let (Ok(a_key), Ok(b_key)) = (Location::key(&a), Location::key(&b)) {
            prop_assert_eq!(a_key == b_key, parsed(&a) == parsed(&b));
            prop_assert_eq!(Location::from_key(&a_key), parsed(&a));
        }
    }

    #[test]
    fn a_written_path_parses_to_its_location(path in "([a./:%2FfEs3~é\\\\? ]|://){0,16}") {
        if let Ok(location) = Location::parse(&path) {
            let written = location.to_log_path();
            prop_assert_eq!(Location::parse(&written).expect("what we write is valid"), location);
        }
    }

    #[test]
    fn any_text_parses_or_is_refused(path in "\\PC*") {
        let _ = Location::parse(&path);
    }
}
