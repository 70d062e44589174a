use std::fs;

use bytes::Bytes;
use tempfile::TempDir;

use super::super::PutOutcome;
use super::*;

fn split(argument: &str) -> (String, Option<String>) {
    let TableUrl { location, at } = TableUrl::parse(argument);
    (location, at)
}

fn open(location: &str) -> Result<Arc<dyn Store>, StorageError> {
    open_store(location, &StoreOptions::default())
}

fn with(location: &str, pairs: &[(&str, &str)]) -> Result<Arc<dyn Store>, StorageError> {
    let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    let pairs = pairs.iter().map(owned).collect();
    open_store(location, &StoreOptions { pairs })
}

#[test]
fn an_at_before_a_version_or_a_time_splits() {
    for (argument, location, at) in [
        ("/t@v12", "/t", "v12"),
        ("/t@V12", "/t", "V12"),
        ("/t@v007", "/t", "v007"),
        ("/t/@v1", "/t/", "v1"),
        ("t@2024-01-15", "t", "2024-01-15"),
        (
            "t@2024-01-15T10:30:00.5+02:00",
            "t",
            "2024-01-15T10:30:00.5+02:00",
        ),
        ("t@2024-01-15 10:30", "t", "2024-01-15 10:30"),
        ("t@20240115103000000", "t", "20240115103000000"),
        ("s3://user@bucket/x@v3", "s3://user@bucket/x", "v3"),
        ("s3://bucket@v3", "s3://bucket", "v3"),
        (
            "abfss://c@a.dfs.core.windows.net/t@v3",
            "abfss://c@a.dfs.core.windows.net/t",
            "v3",
        ),
        ("/me@home/t@2024-01-15", "/me@home/t", "2024-01-15"),
        ("/t@v1@v2", "/t@v1", "v2"),
    ] {
        let expected = (location.to_owned(), Some(at.to_owned()));
        assert_eq!(split(argument), expected, "{argument}");
    }
}

#[test]
fn any_other_at_belongs_to_the_location() {
    for argument in [
        "/t",
        "s3://user@bucket/x",
        "/me@home/t",
        "/t@latest",
        "/t@v",
        "/t@vx",
        "/t@v1x",
        "/t@-1",
        "/t@",
        "/data/a@1/t",
        "/t@2/",
        "@v12",
        "abfss://container@1account.dfs.core.windows.net",
        "az://container@v12",
    ] {
        assert_eq!(split(argument), (argument.to_owned(), None), "{argument}");
    }
}

#[test]
fn local_directories_open_in_all_spellings() {
    let directory = TempDir::new().expect("a temporary directory");
    let root = directory.path().join("a table%20x:y");
    fs::create_dir(&root).expect("a directory can be made");
    fs::write(root.join("f"), "here").expect("it can be written");
    let root = root.to_str().expect("a UTF-8 path");
    let escaped = root.replace('%', "%25").replace(' ', "%20");
    // Case B5: a slash at the end makes no difference.
    for location in [
        root.to_owned(),
        format!("{root}/"),
        format!("file:{escaped}"),
        format!("file://{escaped}"),
        format!("file://localhost{escaped}//"),
        format!("FILE://{escaped}/"),
    ] {
        let store = open(&location).unwrap_or_else(|error| panic!("{location}: {error}"));
        assert_eq!(store.root(), root, "{location}");
        assert_eq!(store.get("f").expect("it is there"), "here");
        assert!(store.is_local());
    }
}

#[test]
fn relative_paths_open() {
    let store = open("src").expect("tests run in the package's directory");
    assert!(store.root().starts_with('/') && store.root().ends_with("/src"));
    assert!(store.head("lib.rs").is_ok());
    assert!(open("./src/").is_ok());
    assert!(
        open("no:such/directory")
            .expect_err("absent")
            .is_not_found()
    );
}

#[test]
fn what_is_no_location_is_told_what_would_be() {
    for (location, word) in [
        ("hdfs://namenode/t", "s3:"),
        ("ftp:/x", "gs:"),
        ("", "a path"),
        ("file:relative", "file:///"),
        ("file://", "file:///"),
        ("file://host/t", "host"),
        ("file:///%ff", "UTF-8"),
        ("s3:bucket/t", "s3://BUCKET/PATH"),
        ("s3:/bucket/t", "s3://BUCKET/PATH"),
        ("s3://bucket/a?versionId=1", "%3F"),
        ("s3://bucket/a#b", "%23"),
        ("https://me:secret@host/t", "password"),
        ("s3://", "s3://BUCKET/PATH"),
    ] {
        let error = open(location).expect_err(location);
        assert!(
            matches!(error, StorageError::InvalidLocation { .. }),
            "{location}: {error:?}"
        );
        assert!(error.to_string().contains(word), "{location}: {error}");
        assert!(!error.to_string().contains("secret"), "{error}");
    }
}

#[test]
fn object_stores_open_without_a_request() {
    let credentials = [("azure_storage_account_name", "account")];
    for location in [
        "s3://bucket/a/t/",
        "s3a://bucket/a/t",
        "S3://bucket",
        "gs://bucket/t",
        "az://container/t",
        "abfs://container/t",
        "abfss://container@account.dfs.core.windows.net/t",
        "https://account.blob.core.windows.net/container/t",
        "http://localhost:1/t",
    ] {
        let store = with(location, &credentials).unwrap_or_else(|e| panic!("{location}: {e}"));
        assert_eq!(store.root(), location.trim_end_matches('/'));
        assert!(!store.is_local());
        assert_eq!(store.capacity(), None);
    }
}

#[test]
fn an_option_that_no_store_knows_is_refused() {
    assert!(
        with(
            "s3://b/t",
            &[("aws_region", "eu-west-1"), ("TIMEOUT", "5s")]
        )
        .is_ok()
    );
    assert!(with("s3://b/t", &[("google_service_account", "x")]).is_ok());
    let error = with("s3://b/t", &[("aws_regoin", "eu-west-1")]).expect_err("no such option");
    assert!(error.to_string().contains("aws_regoin"), "{error}");
    let error = with("s3://b/t", &[("allow_http", "perhaps")]).expect_err("no such value");
    assert!(
        matches!(error, StorageError::InvalidLocation { .. }),
        "{error:?}"
    );
}

#[test]
fn memory_urls_share_one_store() {
    let name = uuid::Uuid::new_v4();
    let store = open(&format!("memory:///{name}/t")).expect("a valid URL");
    assert_eq!(store.root(), format!("memory:///{name}/t"));
    assert!(store.is_local());
    let put = store.put_if_absent("f", Bytes::from_static(b"shared"));
    assert_eq!(put.expect("it can be put"), PutOutcome::Created);
    for location in [
        format!("memory:/{name}/t"),
        format!("memory:{name}/t/"),
        format!("memory://{name}//t"),
        format!(
            "memory:///%{:02x}{}/t",
            &name.to_string().as_bytes()[0],
            &name.to_string()[1..]
        ),
    ] {
        let other = open(&location).expect("a valid URL");
        assert_eq!(other.get("f").expect(&location), "shared");
    }
    let above = open(&format!("memory:///{name}")).expect("a valid URL");
    assert_eq!(above.get("t/f").expect("it is there"), "shared");
    let whole = open("memory:").expect("a valid URL");
    assert_eq!(whole.root(), "memory:///");
    assert_eq!(
        whole.get(&format!("{name}/t/f")).expect("it is there"),
        "shared"
    );
}
