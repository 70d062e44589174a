use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use bytes::Bytes;
use tempfile::TempDir;

use super::*;

/// A table with one file, next to it two directories with one each.
struct Fixture {
    directory: TempDir,
}

impl Fixture {
    fn new() -> Fixture {
        let directory = TempDir::new().expect("a temporary directory");
        for name in ["table", "allowed", "forbidden", "allowed-too"] {
            let dir = directory.path().join(name);
            fs::create_dir(&dir).expect("a directory can be made");
            fs::write(dir.join("f 1"), name).expect("it can be written");
        }
        Fixture { directory }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).to_str().expect("a UTF-8 path").to_owned()
    }

    fn roots(&self, allowed: &[&str]) -> TableRoots {
        let options = StoreOptions::default();
        let root = open_store(&self.text("table"), &options).expect("it is there");
        let allowed: Vec<String> = allowed.iter().map(|name| self.text(name)).collect();
        TableRoots::new(root, &allowed, &options).expect("they are there")
    }
}

fn read(roots: &TableRoots, path_in_log: &str) -> Result<String, StorageError> {
    let reader = roots.open(&Location::parse(path_in_log)?)?;
    let mut buffer = vec![0; 64];
    let count = reader.read_at(&mut buffer, 0)?;
    buffer.truncate(count);
    Ok(String::from_utf8(buffer).expect("the tests write text"))
}

fn assert_outside(roots: &TableRoots, path_in_log: &str) {
    match read(roots, path_in_log) {
        Err(StorageError::Outside { .. }) => {}
        other => panic!("{path_in_log}: {other:?}"),
    }
}

#[test]
fn relative_locations_open_under_the_table() {
    let fixture = Fixture::new();
    let roots = fixture.roots(&[]);
    assert_eq!(read(&roots, "f%201").expect("it is there"), "table");
    assert!(
        read(&roots, "absent")
            .expect_err("it is absent")
            .is_not_found()
    );
    assert_eq!(roots.table().root(), fixture.text("table"));
}

#[test]
fn a10_an_absolute_location_opens_where_it_lies() {
    let fixture = Fixture::new();
    let roots = fixture.roots(&["allowed"]);
    for (name, content) in [("table", "table"), ("allowed", "allowed")] {
        let path = fixture.text(name);
        for location in [
            format!("{path}/f%201"),
            format!("file:{path}/f%201"),
            format!("file://{path}/f%201"),
            format!("file://localhost{path}/f%201"),
        ] {
            assert_eq!(read(&roots, &location).expect(&location), content);
        }
    }
    for name in ["forbidden/f%201", "forbidden/absent", "allowed-too/f%201"] {
        assert_outside(&roots, &format!("file://{}", fixture.text(name)));
    }
    assert_outside(&roots, "file:///etc/passwd");
    assert_outside(
        &roots,
        &format!("file://host{}/f%201", fixture.text("allowed")),
    );
    assert_outside(&roots, "s3://bucket/f");
    let absent = format!("file://{}/absent", fixture.text("allowed"));
    assert!(
        read(&roots, &absent)
            .expect_err("it is absent")
            .is_not_found()
    );
}

#[test]
fn the_refusal_names_what_and_how() {
    let fixture = Fixture::new();
    let error = read(&fixture.roots(&[]), &fixture.text("forbidden/f"));
    let error = error.expect_err("it is forbidden").to_string();
    assert!(error.contains(&fixture.text("forbidden/f")), "{error}");
    assert!(error.contains(&fixture.text("table")), "{error}");
    assert!(error.contains("--allow-path"), "{error}");
}

#[test]
fn dots_never_lead_out() {
    let fixture = Fixture::new();
    // Even with everything allowed.
    let roots = TableRoots::new(
        fixture.roots(&[]).table().clone(),
        &["/".to_owned()],
        &StoreOptions::default(),
    )
    .expect("the root is there");
    let table = fixture.text("table");
    for path in [
        "../allowed/f%201",
        "a/../../allowed/f%201",
        "%2E%2E/allowed/f%201",
        "a%2F..%2F..%2Fallowed/f%201",
        "%2Fetc/passwd",
        "",
        &format!("file://{table}/%2E%2E/allowed/f%201"),
        &format!("file://{table}/a%2F..%2F..%2Fallowed/f%201"),
        &format!("file:///..{table}/f%201"),
    ] {
        assert_outside(&roots, path);
    }
    // Dots that Spark resolves before it opens anything leave no trace.
    let around = format!("file://{table}/../allowed/f%201");
    assert_eq!(read(&roots, &around).expect("all is allowed"), "allowed");
    assert_outside(&fixture.roots(&[]), &around);
}

#[test]
fn a_symlink_may_lead_under_an_allowed_prefix() {
    let fixture = Fixture::new();
    let link = |target: &str, name: &str| {
        symlink(target, fixture.path(name)).expect("a link can be made");
    };
    link("../allowed/f 1", "table/relative");
    link(&fixture.text("allowed/f 1"), "table/absolute");
    link("../allowed", "table/dir");
    link("../forbidden/f 1", "table/forbidden");
    link("../forbidden", "table/forbidden-dir");
    link("../forbidden/f 1", "allowed/forbidden");
    link("../table/f 1", "allowed/back");
    let roots = fixture.roots(&["allowed"]);
    for path in ["relative", "absolute", "dir/f%201"] {
        assert_eq!(read(&roots, path).expect(path), "allowed");
        assert_outside(&fixture.roots(&[]), path);
    }
    for path in ["forbidden", "forbidden-dir/f%201", "dir/forbidden"] {
        assert_outside(&roots, path);
    }
    let allowed = fixture.text("allowed");
    assert_outside(&roots, &format!("{allowed}/forbidden"));
    assert_eq!(
        read(&roots, &format!("{allowed}/back")).expect("inside"),
        "table"
    );
}

#[test]
fn a_root_by_way_of_a_symlink_is_the_same_root() {
    let fixture = Fixture::new();
    symlink("table", fixture.path("link")).expect("a link can be made");
    symlink("allowed", fixture.path("allowed-link")).expect("a link can be made");
    let options = StoreOptions::default();
    let root = open_store(&fixture.text("link"), &options).expect("it is there");
    let allowed = [fixture.text("allowed-link")];
    let roots = TableRoots::new(root, &allowed, &options).expect("they are there");
    for (name, content) in [
        ("link", "table"),
        ("table", "table"),
        ("allowed", "allowed"),
        ("allowed-link", "allowed"),
    ] {
        let path = format!("{}/f%201", fixture.text(name));
        assert_eq!(read(&roots, &path).expect(&path), content);
    }
    // By a link that none of them was named by.
    symlink("table", fixture.path("another")).expect("a link can be made");
    let path = format!("{}/f%201", fixture.text("another"));
    assert_eq!(read(&roots, &path).expect(&path), "table");
}

#[test]
fn urls_open_under_their_prefixes() {
    let options = StoreOptions::default();
    let name = uuid::Uuid::new_v4();
    for dir in ["t", "allowed", "allowed-too"] {
        let store = open_store(&format!("memory:///{name}/{dir}"), &options).expect("valid");
        store
            .put("p=%3A/f", Bytes::from_static(dir.as_bytes()))
            .expect("it can be put");
    }
    let root = open_store(&format!("memory:///{name}/t/"), &options).expect("valid");
    let allowed = [format!("memory:/{name}/allowed/")];
    let roots = TableRoots::new(root, &allowed, &options).expect("valid");
    assert_eq!(read(&roots, "p=%253A/f").expect("it is there"), "t");
    for dir in ["t", "allowed"] {
        for path in [
            format!("memory:///{name}/{dir}/p=%253A/f"),
            format!("memory:/{name}//{dir}/p=%253A/f"),
        ] {
            assert_eq!(read(&roots, &path).expect(&path), dir);
        }
    }
    assert_outside(&roots, &format!("memory:///{name}/allowed-too/p=%253A/f"));
    assert_outside(
        &roots,
        &format!("memory:///{name}/allowed/%2E%2E/t/p=%253A/f"),
    );
    assert_outside(&roots, "file:///etc/passwd");
}

#[test]
fn s3_spellings_are_one_prefix() {
    let options = StoreOptions::default();
    let root = open_store("s3a://bucket/a%20t/", &options).expect("valid");
    let place = Place::new(root);
    assert_eq!(place.path_of("s3://bucket/a t/p=1/f"), Some("p=1/f"));
    assert_eq!(place.path_of("s3://bucket/a tt/f"), None);
    assert_eq!(place.path_of("s3://other/a t/f"), None);
    let whole = Place::new(open_store("s3://bucket", &options).expect("valid"));
    assert_eq!(whole.path_of("s3://bucket/f"), Some("f"));
    assert_eq!(whole.path_of("s3://bucket-too/f"), None);
}

#[test]
fn an_allowed_prefix_must_be_one() {
    let fixture = Fixture::new();
    let refuse = |prefix: &str| {
        let root = fixture.roots(&[]).table().clone();
        TableRoots::new(root, &[prefix.to_owned()], &StoreOptions::default())
            .expect_err("no prefix")
    };
    assert!(matches!(
        refuse("relative"),
        StorageError::InvalidLocation { .. }
    ));
    assert!(matches!(refuse(""), StorageError::InvalidLocation { .. }));
    assert!(matches!(
        refuse("hdfs://x/y"),
        StorageError::InvalidLocation { .. }
    ));
    assert!(refuse(&fixture.text("absent")).is_not_found());
}
