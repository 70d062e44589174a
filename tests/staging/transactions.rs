//! What a transaction answers, and what it leaves where.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;

use deltafs::staging::StagingError;
use serde_json::json;

use crate::rig::{
    actions, begin, commit, files_below, files_of, live, longs_in, open, put, put_rows, staging,
    status,
};
use crate::support::TableBuilder;
use crate::support::{batch, longs, strings};

fn rows(ids: &[i64]) -> arrow::array::RecordBatch {
    batch([
        ("id", longs(ids.iter().copied())),
        ("name", strings(ids.iter().map(|_| "x"))),
    ])
}

fn table() -> TableBuilder {
    TableBuilder::with_schema(&[("id", "long"), ("name", "string")])
}

#[test]
fn staged_files_become_one_version_and_the_same_answer_comes_again() {
    let table = table();
    let staging = staging(&table.root());
    let transaction = begin(&staging, "b1").unwrap();
    assert_eq!(status(&transaction)["state"], "open");
    put_rows(&transaction, "one.parquet", &rows(&[1, 2]));
    put_rows(&transaction, "two.parquet", &rows(&[3]));
    put(&transaction, "_SUCCESS", "");
    assert_eq!(commit(&transaction, "").unwrap(), 1);
    assert_eq!(transaction.commit().unwrap(), 1);
    assert_eq!(status(&transaction)["state"], "committed");
    assert_eq!(status(&transaction)["version"], 1);
    assert_eq!(longs_in(&table.root(), "id"), [Some(1), Some(2), Some(3)]);
    assert!(matches!(
        transaction.modify(),
        Err(StagingError::Committed { version: 1, .. })
    ));

    // F8: no metaData in an append.
    let actions = actions(&table.root(), 1);
    assert!(
        actions
            .iter()
            .all(|action| action.get("metaData").is_none())
    );
    let info = &actions[0]["commitInfo"];
    assert_eq!(info["operation"], "WRITE");
    assert_eq!(info["isBlindAppend"], true);
    let adds: Vec<_> = actions
        .iter()
        .filter_map(|action| action.get("add"))
        .collect();
    assert_eq!(adds.len(), 2);
    let stats: serde_json::Value =
        serde_json::from_str(adds[0]["stats"].as_str().unwrap()).unwrap();
    assert_eq!(stats["numRecords"], 2);
    assert_eq!(stats["minValues"]["id"], 1);
    assert_eq!(stats["nullCount"]["name"], 0);
}

#[test]
fn a_transaction_is_removed_once_it_is_empty() {
    let table = table();
    let staging = staging(&table.root());
    let transaction = begin(&staging, "b1").unwrap();
    put_rows(&transaction, "one.parquet", &rows(&[1]));
    commit(&transaction, "").unwrap();
    assert!(matches!(
        staging.remove(OsStr::new("b1")),
        Err(StagingError::NotEmpty { .. })
    ));
    let files = files_of(&transaction);
    for name in ["one.parquet", ".commit"] {
        let _guard = transaction.removing().unwrap();
        fs::remove_file(files.join(name)).unwrap();
    }
    staging.remove(OsStr::new("b1")).unwrap();
    assert_eq!(staging.names(), [""; 0]);
    assert!(!files.exists());
    assert_eq!(longs_in(&table.root(), "id"), [Some(1)]);
}

#[test]
fn names_are_checked_and_taken_once() {
    let table = table();
    let staging = staging(&table.root());
    begin(&staging, "b1").unwrap();
    assert!(matches!(
        begin(&staging, "b1"),
        Err(StagingError::Exists { .. })
    ));
    for name in [".hidden", "@v1", "", "a/b"] {
        assert!(matches!(
            begin(&staging, name),
            Err(StagingError::BadName { .. })
        ));
    }
}

#[test]
fn f27_what_is_no_parquet_file_is_refused_and_all_stays() {
    let whole = crate::support::parquet(&rows(&[1]));
    let cut = &whole[..whole.len() - 5];
    for bad in [cut, b"", b"PAR1PAR1", b"id,name\n1,x\n"] {
        let table = table();
        let staging = staging(&table.root());
        let transaction = begin(&staging, "b1").unwrap();
        put_rows(&transaction, "good.parquet", &rows(&[1]));
        put(&transaction, "bad.parquet", bad);
        let error = commit(&transaction, "").unwrap_err();
        assert_eq!(deltafs::errno::of_staging(&error), libc::EINVAL, "{error}");
        let status = status(&transaction);
        assert_eq!(status["state"], "failed");
        assert_eq!(status["error"]["errno"], libc::EINVAL);
        assert_eq!(status["error"]["file"], "bad.parquet");
        assert_eq!(files_below(&table.root()), [""; 0]);
        assert_eq!(open(&table.root()).current().newest(), 0);

        // Mended, it goes through.
        fs::remove_file(files_of(&transaction).join("bad.parquet")).unwrap();
        assert_eq!(transaction.commit().unwrap(), 1);
        assert_eq!(longs_in(&table.root(), "id"), [Some(1)]);
    }
}

#[test]
fn nothing_is_left_out_silently() {
    let table = table();
    let staging = staging(&table.root());
    for (path, blamed) in [
        ("data.csv", "data.csv"),
        ("sub/x.parquet", "sub/x.parquet"),
        ("notes", "notes"),
    ] {
        let name = path.replace('/', "-");
        let transaction = begin(&staging, &name).unwrap();
        put_rows(&transaction, "good.parquet", &rows(&[1]));
        put(&transaction, path, "x");
        let error = commit(&transaction, "").unwrap_err();
        assert!(error.to_string().contains(blamed), "{error}");
        assert_eq!(status(&transaction)["error"]["file"], blamed);
    }
    // A partition whose name is no text, and a directory that no partition lies in.
    let deep = ["d"; 70].join("/");
    for (number, path) in [&b"x\xFF.parquet"[..], b"p=\xFF/x.parquet", deep.as_bytes()]
        .into_iter()
        .enumerate()
    {
        let transaction = begin(&staging, &format!("misnamed-{number}")).unwrap();
        put_rows(&transaction, "good.parquet", &rows(&[1]));
        let path = files_of(&transaction).join(OsStr::from_bytes(path));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "x").unwrap();
        let error = commit(&transaction, "").unwrap_err();
        assert!(
            matches!(error, StagingError::NotADataFile { .. }),
            "{error}"
        );
        assert_eq!(status(&transaction)["error"]["errno"], libc::EINVAL);
        assert!(
            !error.to_string().contains("_deltafs"),
            "the path is the user's: {error}"
        );
    }
    let transaction = begin(&staging, "ignored").unwrap();
    put_rows(&transaction, "good.parquet", &rows(&[1]));
    let hidden = files_of(&transaction).join(OsStr::from_bytes(b".x\xFF.parquet.a1B2c3"));
    fs::write(hidden, "x").unwrap();
    assert_eq!(
        commit(&transaction, "").unwrap(),
        1,
        "rsync leaves such files"
    );
    let transaction = begin(&staging, "link").unwrap();
    std::os::unix::fs::symlink("/etc/passwd", files_of(&transaction).join("x.parquet")).unwrap();
    assert!(commit(&transaction, "").is_err());
    let transaction = begin(&staging, "empty").unwrap();
    assert!(matches!(
        commit(&transaction, ""),
        Err(StagingError::Nothing { .. })
    ));
    assert_eq!(open(&table.root()).current().newest(), 1);
}

/// Hadoop's committer, so Spark's, moves files out of `_temporary` as the last that it does.
#[test]
fn a_job_of_spark_that_is_not_done_commits_nothing() {
    let table = table();
    let staging = staging(&table.root());
    let transaction = begin(&staging, "b1").unwrap();
    put_rows(&transaction, "part-0.parquet", &rows(&[1]));
    put_rows(
        &transaction,
        "_temporary/0/task_1/part-1.parquet",
        &rows(&[2]),
    );
    let error = commit(&transaction, "").unwrap_err();
    assert_eq!(deltafs::errno::of_staging(&error), libc::EINVAL, "{error}");
    assert_eq!(status(&transaction)["error"]["file"], "_temporary");
    assert_eq!(open(&table.root()).current().newest(), 0);

    // Without it, and with what such a job leaves, the files are whole.
    let files = files_of(&transaction);
    fs::rename(
        files.join("_temporary/0/task_1/part-1.parquet"),
        files.join("part-1.parquet"),
    )
    .unwrap();
    fs::remove_dir_all(files.join("_temporary")).unwrap();
    put(&transaction, "_SUCCESS", "");
    put(&transaction, ".part-1.parquet.crc", "crc");
    assert_eq!(transaction.commit().unwrap(), 1);
    assert_eq!(longs_in(&table.root(), "id"), [Some(1), Some(2)]);
}

#[test]
fn a_staging_directory_that_was_removed_is_made_anew() {
    let table = table();
    let staging = staging(&table.root());
    let lost = begin(&staging, "lost").unwrap();
    put_rows(&lost, "one.parquet", &rows(&[1]));
    fs::remove_dir_all(table.root().join("_deltafs")).unwrap();
    assert!(lost.commit().is_err(), "there is no marker any more");
    staging.remove(OsStr::new("lost")).unwrap();

    let transaction = begin(&staging, "b1").unwrap();
    put_rows(&transaction, "one.parquet", &rows(&[2]));
    assert_eq!(commit(&transaction, "").unwrap(), 1);
    assert_eq!(longs_in(&table.root(), "id"), [Some(2)]);
}

#[test]
fn a_marker_that_is_not_understood_commits_nothing() {
    let table = table();
    let staging = staging(&table.root());
    let transaction = begin(&staging, "b1").unwrap();
    put_rows(&transaction, "x.parquet", &rows(&[1]));
    let long = format!(r#"{{"userMetadata":"{}"}}"#, "x".repeat(33 << 20));
    for marker in [
        r#"{"mod":"append"}"#,
        "append",
        r#"{"mode":"append""#,
        &long,
    ] {
        let error = commit(&transaction, marker).unwrap_err();
        assert_eq!(deltafs::errno::of_staging(&error), libc::EINVAL);
        assert_eq!(status(&transaction)["error"]["name"], "InvalidMarker");
    }
    assert_eq!(commit(&transaction, r#"{"mode":"append"}"#).unwrap(), 1);
}

#[test]
fn f29_two_transactions_with_files_of_one_name_both_stay() {
    let table = table();
    let staging = staging(&table.root());
    let one = begin(&staging, "one").unwrap();
    let two = begin(&staging, "two").unwrap();
    put_rows(&one, "part.0.parquet", &rows(&[1]));
    put_rows(&two, "part.0.parquet", &rows(&[2]));
    assert_eq!(commit(&one, "").unwrap(), 1);
    assert_eq!(commit(&two, "").unwrap(), 2);
    assert_eq!(longs_in(&table.root(), "id"), [Some(1), Some(2)]);
}

#[test]
fn a_file_that_is_still_open_for_writing_is_committed_as_it_is_now() {
    use std::io::Write;
    use std::os::unix::fs::MetadataExt;

    let table = table();
    let staging = staging(&table.root());
    let transaction = begin(&staging, "b1").unwrap();
    put_rows(&transaction, "x.parquet", &rows(&[1]));
    let path = files_of(&transaction).join("x.parquet");
    let mut open = fs::File::options().append(true).open(&path).unwrap();
    transaction.note_writer(open.metadata().unwrap().ino());
    assert_eq!(commit(&transaction, "").unwrap(), 1);
    open.write_all(b"damage").unwrap();
    assert_eq!(longs_in(&table.root(), "id"), [Some(1)]);
}

#[test]
fn a_committed_file_is_as_readable_as_others_and_as_new_as_its_commit() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    let table = table();
    let staging = staging(&table.root());
    let transaction = begin(&staging, "b1").unwrap();
    put_rows(&transaction, "x.parquet", &rows(&[1]));
    let staged = files_of(&transaction).join("x.parquet");
    fs::set_permissions(&staged, fs::Permissions::from_mode(0o600)).unwrap();
    let file = fs::File::options().write(true).open(&staged).unwrap();
    // As `cp -p` and `rsync -t` leave it: VACUUM would take it for a leftover.
    file.set_modified(std::time::UNIX_EPOCH).unwrap();
    drop(file);
    commit(&transaction, "").unwrap();
    let [name] = &files_below(&table.root())[..] else {
        panic!("one file");
    };
    let committed = fs::metadata(table.root().join(name)).unwrap();
    assert_eq!(committed.mode() & 0o444, 0o444);
    assert!(committed.modified().unwrap().elapsed().unwrap().as_secs() < 3600);
    assert_eq!(
        json!(committed.len()),
        live(&open(&table.root()), 1)[name]["size"]
    );
}
