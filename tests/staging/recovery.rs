//! What a later mount makes of what an earlier one has left.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use deltafs::staging::Staging;

use crate::rig::{begin, commit, files_below, get, longs_in, open, put_rows, staging, status};
use crate::support::TableBuilder;
use crate::support::{batch, longs};

fn table() -> TableBuilder {
    TableBuilder::with_schema(&[("id", "long")])
}

fn ids(ids: &[i64]) -> arrow::array::RecordBatch {
    batch([("id", longs(ids.iter().copied()))])
}

/// The directories of transactions on disk.
fn directories(root: &Path) -> Vec<PathBuf> {
    let all = fs::read_dir(root.join("_deltafs/staging"));
    all.map_or_else(
        |_| Vec::new(),
        |rows| rows.map(|row| row.expect("a row").path()).collect(),
    )
}

/// Lets a staging area go as a kill does: nothing is tidied up, the locks go.
fn kill(staging: Staging) {
    drop(staging);
}

/// Kills a mount that has the transaction `b1` open, with the file `x.parquet` in it.
fn leave_open(root: &Path) {
    let area = staging(root);
    let transaction = begin(&area, "b1").unwrap();
    put_rows(&transaction, "x.parquet", &ids(&[1]));
    drop(transaction);
    kill(area);
}

/// The directory of the only transaction.
fn only_directory(root: &Path) -> PathBuf {
    let [directory] = &directories(root)[..] else {
        panic!("one transaction");
    };
    directory.clone()
}

#[test]
fn a_mount_that_only_reads_leaves_the_table_as_it_is() {
    let table = table();
    let area = staging(&table.root());
    assert_eq!(area.names(), [""; 0]);
    assert!(!table.root().join("_deltafs").exists());
}

#[test]
fn an_open_transaction_is_there_again_after_a_kill() {
    let table = table();
    leave_open(&table.root());
    let area = staging(&table.root());
    assert_eq!(area.names(), ["b1"]);
    let transaction = get(&area, "b1").unwrap();
    assert_eq!(status(&transaction)["state"], "open");
    assert_eq!(commit(&transaction, "").unwrap(), 1);
    drop(transaction);
    kill(area);
    // Asked again after another kill, it gives the first answer.
    let area = staging(&table.root());
    assert_eq!(get(&area, "b1").unwrap().commit().unwrap(), 1);
    assert_eq!(longs_in(&table.root(), "id"), [Some(1)]);
}

/// Where a file system has no files without names, a killed writer leaves one with a name in the log.
#[test]
fn temporaries_that_killed_writers_left_are_removed_after_a_day() {
    let table = table();
    let area = staging(&table.root());
    let log = table.root().join("_delta_log");
    let id = "8c4f8ab4-6f0b-4c51-9d3a-0f9e2f8a4e5b";
    let ours = |number| format!(".{number:020}.json.{id}.deltafs.tmp");
    let (old, new) = (ours(7), ours(8));
    let theirs = format!(".{:020}.json.{id}.tmp", 7);
    let sidecar = format!("_sidecars/.x.parquet.{id}.deltafs.tmp");
    fs::create_dir_all(log.join("_sidecars")).unwrap();
    for name in [&old, &new, &theirs, &sidecar] {
        let file = fs::File::create(log.join(name)).unwrap();
        let age = if *name == new { 23 } else { 25 };
        let modified = SystemTime::now() - Duration::from_secs(age * 60 * 60);
        file.set_modified(modified).unwrap();
    }
    let transaction = begin(&area, "b1").unwrap();
    put_rows(&transaction, "x.parquet", &ids(&[1]));
    assert_eq!(commit(&transaction, "").unwrap(), 1);
    area.settle();
    let left = [&old, &new, &theirs, &sidecar].map(|name| log.join(name).exists());
    assert_eq!(left, [false, true, true, false]);
}

#[test]
fn two_mounts_do_not_touch_each_others_transactions() {
    let table = table();
    let (one, two) = (staging(&table.root()), staging(&table.root()));
    let transaction = begin(&one, "b1").unwrap();
    assert!(get(&two, "b1").is_none());
    begin(&two, "b1").unwrap();
    let three = staging(&table.root());
    assert_eq!(three.names(), [""; 0]);
    drop(transaction);
    kill(one);
    kill(two);
    // Both are called b1.
    let next = staging(&table.root());
    assert_eq!(next.names(), ["b1", "b1~2"]);
}

/// Notes for the only transaction that a commit was cut off.
fn cut_off(root: &Path, id: &str, files: &[&str]) {
    cut_off_with(root, id, files, &[]);
}

/// [`cut_off`], after it had made directories.
fn cut_off_with(root: &Path, id: &str, files: &[&str], made: &[&str]) {
    let directory = only_directory(root);
    let note = serde_json::json!({"id": id, "from": 1, "files": files, "directories": made});
    let note = note.to_string();
    let mut content = crc32fast::hash(note.as_bytes()).to_le_bytes().to_vec();
    content.extend_from_slice(note.as_bytes());
    fs::write(directory.join("attempt"), content).unwrap();
    fs::write(directory.join("outcome"), b"").unwrap();
}

#[test]
fn directories_made_by_a_commit_cut_off_go_when_nothing_is_in_them() {
    let table = table();
    let area = staging(&table.root());
    begin(&area, "b1").unwrap();
    kill(area);
    let id = "0a0b0c0d-0000-4000-8000-000000000001";
    let orphan = format!("p=1/q=2/part-00000-{id}-c000.parquet");
    for path in [orphan.as_str(), "p=3/somebody-else.parquet", "p=4/.keep"] {
        table.write(path, b"");
    }
    let root = table.root();
    fs::remove_file(root.join("p=4/.keep")).unwrap();
    let never_made = format!("p=5/part-00001-{id}-c000.parquet");
    let made = ["p=1", "p=1/q=2", "p=3", "p=5"];
    cut_off_with(&root, id, &[&orphan, &never_made], &made);
    staging(&root);
    let left = ["p=1", "p=3", "p=4"].map(|path| root.join(path).exists());
    assert_eq!(left, [false, true, true], "p=4 was there before");
    assert_eq!(files_below(&root), ["p=3/somebody-else.parquet"]);
}

#[test]
fn a_commit_cut_off_before_the_commit_file_is_taken_back() {
    let table = table();
    leave_open(&table.root());
    let id = "0a0b0c0d-0000-4000-8000-000000000001";
    let orphan = format!("part-00000-{id}-c000.parquet");
    table.write(&orphan, b"orphan");
    table.write("part-00000-somebody-else.parquet", b"not ours");
    cut_off(
        &table.root(),
        id,
        &[&orphan, "part-00000-somebody-else.parquet"],
    );

    let area = staging(&table.root());
    let transaction = get(&area, "b1").unwrap();
    assert_eq!(status(&transaction)["state"], "failed");
    assert_eq!(status(&transaction)["error"]["name"], "CommitInterrupted");
    // What does not bear the attempt's id is let be, whatever the record says.
    assert_eq!(
        files_below(&table.root()),
        ["part-00000-somebody-else.parquet"]
    );
    assert_eq!(commit(&transaction, "").unwrap(), 1);
    assert_eq!(longs_in(&table.root(), "id"), [Some(1)]);
}

#[test]
fn a_commit_cut_off_after_the_commit_file_has_succeeded() {
    let table = table();
    let area = staging(&table.root());
    let transaction = begin(&area, "b1").unwrap();
    put_rows(&transaction, "x.parquet", &ids(&[1]));
    commit(&transaction, "").unwrap();
    drop(transaction);
    kill(area);
    let info = &crate::rig::actions(&table.root(), 1)[0]["commitInfo"];
    let id = info["txnId"].as_str().unwrap().to_owned();
    let files = files_below(&table.root());
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    cut_off(&table.root(), &id, &files);
    let area = staging(&table.root());
    let found = get(&area, "b1").expect("taken over by whoever mounts next");
    assert_eq!(status(&found)["state"], "committed");
    assert_eq!(status(&found)["version"], 1);
    assert_eq!(found.commit().unwrap(), 1);
    assert_eq!(longs_in(&table.root(), "id"), [Some(1)]);
}

#[test]
fn a_directory_that_was_never_whole_is_cleared_away() {
    let table = table();
    let area = staging(&table.root());
    drop(begin(&area, "b1").unwrap());
    kill(area);
    let directory = only_directory(&table.root());
    fs::remove_file(directory.join("transaction.json")).unwrap();
    assert_eq!(staging(&table.root()).names(), [""; 0]);
    assert!(directories(&table.root()).is_empty());
}

#[test]
fn files_are_not_committed_to_another_table_in_the_same_place() {
    let mut table = table();
    leave_open(&table.root());
    table.commit_at(
        0,
        [
            crate::support::protocol(1, 2),
            crate::support::metadata(&[("id", "long")]).id("another"),
        ],
    );
    let area = staging(&table.root());
    let transaction = get(&area, "b1").unwrap();
    let error = commit(&transaction, "").unwrap_err();
    assert_eq!(deltafs::errno::of_staging(&error), libc::ESTALE);
    assert_eq!(open(&table.root()).current().newest(), 0);
}

#[test]
fn what_another_user_has_made_is_let_be() {
    use std::os::unix::fs::{MetadataExt, chown};

    let table = table();
    leave_open(&table.root());
    let directory = only_directory(&table.root());
    // What its record says could have been written to make this process, as root, remove files and
    // give them away.
    if fs::metadata(&directory).unwrap().uid() != 0 || chown(&directory, Some(12345), None).is_err()
    {
        eprintln!("skipped: only root can give a directory away");
        return;
    }
    let id = "0a0b0c0d-0000-4000-8000-000000000001";
    let planted = format!("part-00000-{id}-c000.parquet");
    table.write(&planted, b"somebody's");
    cut_off(&table.root(), id, &[&planted]);
    let area = staging(&table.root());
    assert_eq!(area.names(), [""; 0]);
    assert!(directory.join("files/x.parquet").exists());
    assert_eq!(files_below(&table.root()), [planted]);
    // The mount can be written to all the same.
    let transaction = begin(&area, "b1").unwrap();
    put_rows(&transaction, "x.parquet", &ids(&[2]));
    assert_eq!(commit(&transaction, "").unwrap(), 1);
}

#[test]
fn a_staging_directory_that_leads_out_of_the_table_costs_writing_not_reading() {
    let table = table();
    let outside = table.outside().join("elsewhere");
    fs::create_dir(&outside).unwrap();
    for (number, make) in [0, 1].into_iter().enumerate() {
        let place = table.root().join("_deltafs");
        match make {
            0 => std::os::unix::fs::symlink(&outside, &place).unwrap(),
            _ => fs::write(&place, b"a file").unwrap(),
        }
        let area = staging(&table.root());
        assert_eq!(area.names(), [""; 0], "{number}");
        let error = begin(&area, "b1").unwrap_err();
        assert!(error.to_string().contains("_deltafs"), "{error}");
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
        fs::remove_file(place).unwrap();
    }
}

#[test]
fn a_directory_of_names_that_are_no_text_is_removed_too() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    let table = table();
    let area = staging(&table.root());
    drop(begin(&area, "b1").unwrap());
    kill(area);
    let directory = only_directory(&table.root());
    let deep = directory.join(OsStr::from_bytes(b"files/\xFF/\xFE"));
    fs::create_dir_all(&deep).unwrap();
    fs::write(deep.join("x"), b"").unwrap();
    std::os::unix::fs::symlink("/etc", deep.join("link")).unwrap();
    fs::remove_file(directory.join("transaction.json")).unwrap();
    drop(staging(&table.root()));
    assert!(!directory.exists());
    assert!(Path::new("/etc").exists());
}
