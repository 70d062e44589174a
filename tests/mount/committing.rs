//! Commits through the kernel: what is there when fsync has returned, what a mount finds of those
//! before it, and the commands `deltafs commit` and `deltafs create`.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use arrow::array::{ArrayRef, Int32Array};
use serde_json::{Value, json};

use crate::rig::{Rig, may_mount};
use crate::semantics::says;
use crate::support::{batch, longs, parquet, parquet_longs, strings};

/// Begins a transaction with one file of these rows.
fn stage(rig: &Rig, name: &str, ids: impl IntoIterator<Item = i64>) -> PathBuf {
    let directory = rig.at(&format!("@staging/{name}"));
    fs::create_dir(&directory).expect("a transaction begins");
    fs::write(
        directory.join("x.parquet"),
        parquet(&batch([("id", longs(ids))])),
    )
    .expect("can be written");
    directory
}

/// Writes the marker and makes it durable; the errno, 0 for success.
fn commit(directory: &Path, marker: &str) -> i32 {
    let path = directory.join(".commit");
    fs::write(&path, marker).expect("can be written");
    sync(&path)
}

fn sync(path: &Path) -> i32 {
    let answer = File::open(path).and_then(|file| file.sync_all());
    answer.map_or_else(|error| error.raw_os_error().unwrap_or(-1), |()| 0)
}

fn status(directory: &Path) -> Value {
    let text = fs::read(directory.join(".status")).expect("can be read");
    serde_json::from_slice(&text).expect("JSON")
}

/// The ids in all files of a directory of the mount, sorted.
fn ids(rig: &Rig, directory: &str) -> Vec<i64> {
    let mut ids: Vec<i64> = (rig.names(directory).iter())
        .flat_map(|name| {
            let bytes = fs::read(rig.at(&format!("{directory}/{name}"))).expect("opens");
            parquet_longs(&bytes, "id")
        })
        .map(|id| id.expect("not null"))
        .collect();
    ids.sort_unstable();
    ids
}

fn commits(rig: &Rig) -> usize {
    let log = fs::read_dir(rig.table().join("_delta_log")).expect("can be listed");
    let names = log.map(|row| {
        row.expect("a row")
            .file_name()
            .into_string()
            .expect("UTF-8")
    });
    names
        .filter(|name| name.ends_with(".json") && !name.starts_with('.'))
        .count()
}

#[test]
fn the_example_of_the_manual_commits() {
    if !may_mount() {
        return;
    }
    let version = Command::new("sync").arg("--version").output();
    let is_gnu =
        version.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains("GNU"));
    if !is_gnu {
        // G1 (uutils#14591): it ignores its operand, so that `deltafs commit` is for those who have it.
        eprintln!("skipped: the sync here is not GNU's");
        return;
    }
    let mut rig = Rig::new();
    rig.mount(&[]);
    let source = rig.table().with_file_name("source");
    fs::create_dir(&source).expect("can be made");
    for (name, ids) in [("a.parquet", 0..3), ("b.parquet", 3..5)] {
        fs::write(source.join(name), parquet(&batch([("id", longs(ids))])))
            .expect("can be written");
    }
    let script = "mkdir @staging/b1; cp \"$0\"/*.parquet @staging/b1/; touch @staging/b1/.commit; \
                  sync @staging/b1/.commit";
    let output = Command::new("sh")
        .args(["-euc", script])
        .arg(&source)
        .current_dir(rig.at(""))
        .output()
        .expect("there is a shell");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(ids(&rig, "@v1"), [0, 1, 2, 3, 4]);
    assert_eq!(commits(&rig), 2);
}

/// "`@latest` and `@vN+1` are there before fsync returns", also where both were looked at just before.
#[test]
fn a_version_is_there_when_fsync_returns() {
    if !may_mount() {
        return;
    }
    let mut rig = Rig::new();
    rig.mount(&["-o", "rw"]);
    let mut expected = Vec::new();
    for version in 1..=12_i64 {
        let directory = stage(&rig, &format!("b{version}"), [version]);
        let absent = fs::metadata(rig.at(&format!("@v{version}")));
        assert!(absent.is_err(), "there is no version {version} yet");
        assert_eq!(ids(&rig, "@latest"), expected);
        assert_eq!(commit(&directory, ""), 0);
        expected.push(version);
        assert_eq!(ids(&rig, &format!("@v{version}")), expected);
        assert_eq!(ids(&rig, "@latest"), expected);
        let latest = fs::read_to_string(rig.at("@info/latest")).expect("opens");
        assert_eq!(latest, format!("{version}\n"));
        assert_eq!(status(&directory)["version"], version);
    }
    rig.unmount();
    let checkpoint = "_delta_log/00000000000000000010.checkpoint.parquet";
    assert!(rig.table().join(checkpoint).is_file());
}

/// Each kind of failure: the errno of fsync is that of `.status`, the file is named, nothing is committed and nothing
/// lost, and once mended the same directory commits.
#[test]
fn a_failure_tells_its_errno_and_leaves_everything_as_it_was() {
    if !may_mount() {
        return;
    }
    let mut rig = Rig::new();
    rig.mount(&[]);
    let odd = parquet(&batch([("id", strings(["x"]))]));
    let more = parquet(&batch([("id", longs([1])), ("more", longs([2]))]));
    let cases: [(&str, &[u8], &str, i32, &str); 6] = [
        ("y.parquet", b"no Parquet", "", libc::EINVAL, ""),
        ("y.parquet", &odd, "", libc::EINVAL, "SchemaMismatch"),
        ("y.parquet", &more, "", libc::EINVAL, ""),
        ("y.csv", b"id\n1\n", "", libc::EINVAL, "UnexpectedFile"),
        (
            "_y",
            b"",
            r#"{"mod":"append"}"#,
            libc::EINVAL,
            "InvalidMarker",
        ),
        (
            "_y",
            b"",
            r#"{"remove":["z.parquet"]}"#,
            libc::ENOENT,
            "FileNotFound",
        ),
    ];
    for (number, (file, content, marker, errno, name)) in cases.into_iter().enumerate() {
        let directory = stage(&rig, &format!("b{number}"), [number as i64]);
        fs::write(directory.join(file), content).expect("can be written");
        let before = commits(&rig);
        assert_eq!(commit(&directory, marker), errno, "{number}");
        let said = status(&directory);
        assert_eq!(said["state"], "failed", "{said}");
        assert_eq!(said["error"]["errno"], errno, "{said}");
        assert!(said["error"]["message"].is_string(), "{said}");
        if !name.is_empty() {
            assert_eq!(said["error"]["name"], name, "{said}");
        }
        if file.starts_with('y') {
            assert_eq!(said["error"]["file"], file, "{said}");
        }
        assert_eq!(commits(&rig), before);
        let staged = fs::read(directory.join("x.parquet")).expect("is there");
        assert_eq!(parquet_longs(&staged, "id"), [Some(number as i64)]);
        fs::remove_file(directory.join(file)).expect("was there");
        assert_eq!(commit(&directory, ""), 0, "{}", status(&directory));
        assert_eq!(commits(&rig), before + 1);
    }
    assert_eq!(ids(&rig, "@latest"), [0, 1, 2, 3, 4, 5]);
}

/// `mkdir` pins the version that an overwrite is taken to have read; `readVersion` says another one.
#[test]
fn more_files_are_committed_than_can_be_open_twice() {
    if !may_mount() {
        return;
    }
    let mut rig = Rig::new();
    rig.mount(&["-o", "rw"]);
    // The kernel remembers each staged file, which keeps one open here; half of the files have to
    // be made anew.
    let count = 600;
    rig.limit_open_files(count + 400);
    let directory = stage(&rig, "t", []);
    fs::remove_file(directory.join("x.parquet")).expect("can be removed");
    for id in 0..count {
        let rows: ArrayRef = match id % 2 {
            0 => longs([i64::from(id)]),
            _ => Arc::new(Int32Array::from(vec![id.cast_signed()])),
        };
        let name = directory.join(format!("{id}.parquet"));
        fs::write(name, parquet(&batch([("id", rows)]))).expect("can be written");
    }
    assert_eq!(commit(&directory, ""), 0, "{}", status(&directory));
    assert_eq!(ids(&rig, "@v1"), (0..i64::from(count)).collect::<Vec<_>>());

    // Where there are too many all the same, the errno says so, and nothing is lost.
    let directory = stage(&rig, "u", [1]);
    rig.limit_open_files(8);
    assert_eq!(sync(&directory.join("x.parquet")), libc::EMFILE);
    rig.limit_open_files(count + 400);
    assert_eq!(commit(&directory, ""), 0, "{}", status(&directory));
}

/// A directory that cannot be written to, as long as this lives.
struct ReadOnly(PathBuf);

impl ReadOnly {
    fn new(path: PathBuf) -> ReadOnly {
        let path = ReadOnly(path);
        let at = path.0.as_os_str();
        mounted(&["--bind".as_ref(), at, at]);
        mounted(&["-o".as_ref(), "remount,bind,ro".as_ref(), at]);
        path
    }
}

fn mounted(arguments: &[&OsStr]) {
    let done = Command::new("mount").args(arguments).status();
    assert!(done.is_ok_and(|status| status.success()), "{arguments:?}");
}

impl Drop for ReadOnly {
    fn drop(&mut self) {
        let done = Command::new("umount").arg("-l").arg(&self.0).status();
        assert!(done.is_ok_and(|status| status.success()));
    }
}

#[test]
fn a_read_only_disk_is_told_as_such() {
    if !may_mount() {
        return;
    }
    let mut rig = Rig::new();
    let disk = ReadOnly::new(rig.table());
    rig.mount(&["-o", "rw"]);
    let error = fs::create_dir(rig.at("@staging/b")).expect_err("nothing can be written");
    assert_eq!(error.raw_os_error(), Some(libc::EROFS));
    assert_eq!(rig.names("@v0"), [""; 0], "it can be read");
    rig.signal("TERM");
    rig.ended();
    drop(disk);
}

#[test]
fn what_was_committed_since_mkdir_is_not_overwritten_unseen() {
    if !may_mount() {
        return;
    }
    let mut rig = Rig::new();
    rig.mount(&[]);
    assert_eq!(commit(&stage(&rig, "first", [1]), ""), 0);
    let pinned = stage(&rig, "pinned", [100]);
    assert_eq!(status(&pinned)["readVersion"], 1);
    let other = stage(&rig, "other", [2]);
    assert_eq!(commit(&other, r#"{"mode":"overwrite"}"#), 0);

    let overwrite = r#"{"mode":"overwrite"}"#;
    assert_eq!(commit(&pinned, overwrite), libc::ESTALE);
    let said = status(&pinned);
    let name = said["error"]["name"].as_str().expect("a name");
    assert!(name.starts_with("Concurrent"), "{said}");
    assert_eq!(ids(&rig, "@latest"), [2]);
    // Again: the same answer, for nothing has changed.
    assert_eq!(commit(&pinned, overwrite), libc::ESTALE);
    // Whoever has looked at version 2 says so.
    assert_eq!(
        commit(&pinned, r#"{"mode":"overwrite","readVersion":2}"#),
        0
    );
    assert_eq!(ids(&rig, "@latest"), [100]);
    // An append has read nothing.
    let append = stage(&rig, "append", [3]);
    assert_eq!(commit(&stage(&rig, "again", [4]), overwrite), 0);
    assert_eq!(commit(&append, ""), 0);
    assert_eq!(ids(&rig, "@latest"), [3, 4]);
}

#[test]
fn fsyncs_at_once_give_one_version_and_one_answer() {
    says(
        "Once it has succeeded they are EROFS: only `unlink` and `rmdir` are left, and `fsync` of the marker, which is 0 again.",
    );
    if !may_mount() {
        return;
    }
    let mut rig = Rig::new();
    rig.mount(&[]);
    let directory = stage(&rig, "b", 0..1000);
    let marker = directory.join(".commit");
    fs::write(&marker, "").expect("can be written");
    let barrier = Barrier::new(8);
    let answers: Vec<i32> = thread::scope(|scope| {
        let ask = || {
            barrier.wait();
            sync(&marker)
        };
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(ask)).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("ends"))
            .collect()
    });
    assert_eq!(answers, [0; 8]);
    assert_eq!(commits(&rig), 2);
    assert_eq!(status(&directory)["version"], 1);

    // Transactions of their own become versions of their own.
    let directories: Vec<PathBuf> = (0..8).map(|i| stage(&rig, &format!("t{i}"), [i])).collect();
    let answers: Vec<i32> = thread::scope(|scope| {
        let threads: Vec<_> = (directories.iter())
            .map(|directory| scope.spawn(|| commit(directory, "")))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("ends"))
            .collect()
    });
    assert_eq!(answers, [0; 8]);
    let mut versions: Vec<u64> = (directories.iter())
        .map(|directory| status(directory)["version"].as_u64().expect("a version"))
        .collect();
    versions.sort_unstable();
    assert_eq!(versions, (2..10).collect::<Vec<u64>>());
}

/// "A daemon killed at any point loses no staged file": the next mount has all transactions as they were.
#[test]
fn the_next_mount_finds_every_transaction_as_it_was() {
    if !may_mount() {
        return;
    }
    for signal in ["TERM", "KILL"] {
        let mut rig = Rig::new();
        rig.mount(&[]);
        let open = stage(&rig, "open", [1]);
        let committed = stage(&rig, "committed", [2]);
        assert_eq!(commit(&committed, ""), 0);
        let failed = stage(&rig, "failed", [3]);
        assert_eq!(commit(&failed, "?"), libc::EINVAL);
        let before = [status(&open), status(&committed), status(&failed)];
        rig.signal(signal);
        rig.ended();

        rig.mount(&[]);
        assert_eq!(
            rig.names("@staging"),
            ["committed", "failed", "open"],
            "{signal}"
        );
        let after = [status(&open), status(&committed), status(&failed)];
        assert_eq!(after, before, "{signal}");
        assert_eq!(sync(&committed.join(".commit")), 0);
        assert_eq!(commit(&failed, ""), 0);
        assert_eq!(commit(&open, ""), 0);
        assert_eq!(ids(&rig, "@latest"), [1, 2, 3]);
        assert_eq!(commits(&rig), 4);
        for directory in [open, committed, failed] {
            fs::remove_dir_all(directory).expect("can be removed");
        }
        rig.unmount();
        let staging = rig.table().join("_deltafs/staging");
        assert_eq!(
            fs::read_dir(staging).expect("is there").count(),
            0,
            "{signal}"
        );
    }
}

/// "SIGTERM finishes running commits, unmounts and exits": whoever waits for fsync is told 0.
#[test]
fn a_commit_under_way_is_finished_when_the_daemon_is_to_end() {
    says("finishes the commits and fsyncs that are under way; exit code 0.");
    if !may_mount() {
        return;
    }
    let mut rig = Rig::new();
    rig.mount(&[]);
    let directory = stage(&rig, "b", [0]);
    let rows = parquet(&batch([("id", longs(1..2000))]));
    for number in 0..300 {
        fs::write(directory.join(format!("{number}.parquet")), &rows).expect("can be written");
    }
    let marker = directory.join(".commit");
    fs::write(&marker, "").expect("can be written");
    let answer = thread::scope(|scope| {
        let waiting = scope.spawn(|| sync(&marker));
        while status(&directory)["state"] == "open" {
            thread::sleep(Duration::from_millis(1));
        }
        rig.signal("TERM");
        waiting.join().expect("ends")
    });
    rig.ended();
    assert_eq!(answer, 0);
    assert_eq!(commits(&rig), 2);
    rig.mount(&[]);
    assert_eq!(rig.names("@v1").len(), 301);
    assert_eq!(status(&directory)["version"], 1);
}

#[test]
fn the_command_commits_and_its_exit_code_tells_how_it_went() {
    if !may_mount() {
        return;
    }
    let mut rig = Rig::new();
    rig.mount(&[]);
    let run = |arguments: &[&str], directory: &Path| {
        let mut all = vec!["commit", directory.to_str().expect("UTF-8")];
        all.extend(arguments);
        let output = rig.run(&all);
        (
            output.status.code().expect("ends by itself"),
            String::from_utf8(output.stdout).expect("UTF-8"),
            String::from_utf8(output.stderr).expect("UTF-8"),
        )
    };
    let directory = stage(&rig, "b1", [1]);
    let pinned = stage(&rig, "pinned", [2]);
    // 2: wrong usage, noticed before anything is written.
    for wrong in [
        ["--option", "mod=append"],
        ["--mode", "replace"],
        ["--option", "mode"],
    ] {
        let (code, _, message) = run(&wrong, &directory);
        assert_eq!(code, 2, "{wrong:?}: {message}");
        assert!(!directory.join(".commit").exists());
    }
    // 0: done, and done already.
    let (code, said, message) = run(&[], &directory);
    assert_eq!(
        (code, said.as_str()),
        (0, "committed version 1\n"),
        "{message}"
    );
    let (code, said, _) = run(&["--json"], &directory);
    let said: Value = serde_json::from_str(&said).expect("JSON");
    assert_eq!((code, &said["version"]), (0, &json!(1)));
    let overwriting = stage(&rig, "b2", [3]);
    let options = [
        "--mode",
        "overwrite",
        "--option",
        "txnAppId=app",
        "--option",
        "txnVersion=7",
    ];
    let (code, said, message) = run(&options, &overwriting);
    assert_eq!(
        (code, said.as_str()),
        (0, "committed version 2\n"),
        "{message}"
    );
    // Asked again it says so again, with the same options; with others there is nothing to say yes to.
    let (code, said, message) = run(&options, &overwriting);
    assert_eq!(
        (code, said.as_str()),
        (0, "committed version 2\n"),
        "{message}"
    );
    let (code, _, message) = run(&["--mode", "append"], &overwriting);
    assert_eq!(code, 1, "{message}");
    assert!(message.contains("version 2, with other"), "{message}");
    let again = stage(&rig, "b3", [3]);
    let (code, said, message) = run(&options, &again);
    assert_eq!(code, 0, "{message}");
    assert!(
        said.contains("already") && said.contains("version 2"),
        "{said}"
    );
    // 3: a conflict, by Delta's name.
    let (code, said, message) = run(&["--mode", "overwrite", "--json"], &pinned);
    let said: Value = serde_json::from_str(&said).expect("JSON");
    assert_eq!(code, 3, "{message}");
    let name = said["error"]["name"].as_str().expect("a name");
    assert!(
        name.starts_with("Concurrent") && message.contains(name),
        "{said} {message}"
    );
    // 1: anything else.
    fs::write(pinned.join("notes.txt"), "").expect("can be written");
    let (code, _, message) = run(&["--mode", "append"], &pinned);
    assert_eq!(code, 1, "{message}");
    assert!(message.contains("notes.txt"), "{message}");
    for (directory, found) in [
        ("@staging/nothing", "does not exist"),
        ("@info/latest", "is a file"),
        ("@v1", "is not a transaction"),
        ("..", "is not a transaction"),
    ] {
        let (code, _, message) = run(&[], &rig.at(directory));
        assert_eq!(code, 1, "{message}");
        assert!(message.contains(found), "{message}");
        assert!(!rig.at(directory).join(".commit").exists());
    }
    assert_eq!(ids(&rig, "@latest"), [3]);
}

/// A table made by the command is mounted and written to; F32 (delta-rs#2882): timestamps without zone need a table
/// feature, which is listed among those of readers and of writers.
#[test]
fn f32_a_created_table_has_the_protocol_that_its_columns_need() {
    let rig = Rig::new();
    let table = rig.table().with_file_name("new");
    let schema = rig.table().with_file_name("schema.json");
    let column = |name: &str, kind: &str| json!({"name": name, "type": kind, "nullable": true, "metadata": {}});
    let write = |fields: Value| {
        fs::write(
            &schema,
            json!({"type": "struct", "fields": fields}).to_string(),
        )
        .expect("can be written");
    };
    let path = |path: &Path| path.to_str().expect("UTF-8").to_owned();
    let create = |more: &[&str]| {
        let (table, schema) = (path(&table), path(&schema));
        let mut arguments = vec!["create", &table, "--schema", &schema];
        arguments.extend(more);
        rig.run(&arguments)
    };
    write(json!([
        column("id", "long"),
        column("t", "timestamp_ntz"),
        column("p", "string")
    ]));
    let made = create(&["--partition-by", "p", "--property", "delta.appendOnly=true"]);
    assert!(
        made.status.success(),
        "{}",
        String::from_utf8_lossy(&made.stderr)
    );
    let log =
        fs::read_to_string(table.join("_delta_log/00000000000000000000.json")).expect("is there");
    let actions: Vec<Value> = (log.lines())
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let of = |name: &str| {
        actions
            .iter()
            .find_map(|action| action.get(name))
            .expect(name)
    };
    let protocol = of("protocol");
    assert_eq!(protocol["minReaderVersion"], 3);
    assert_eq!(protocol["minWriterVersion"], 7);
    let names = |key: &str| protocol[key].as_array().expect("a list").clone();
    assert!(
        names("readerFeatures").contains(&json!("timestampNtz")),
        "{protocol}"
    );
    assert!(
        names("writerFeatures").contains(&json!("timestampNtz")),
        "{protocol}"
    );
    assert!(
        names("writerFeatures").contains(&json!("appendOnly")),
        "{protocol}"
    );
    assert_eq!(of("metaData")["partitionColumns"], json!(["p"]));
    assert_eq!(of("metaData")["configuration"]["delta.appendOnly"], "true");

    // There is a table now: whoever makes it again is told.
    let again = create(&[]);
    assert_eq!(
        again.status.code(),
        Some(3),
        "{}",
        String::from_utf8_lossy(&again.stderr)
    );
    // Nothing is left of a table that could not be made.
    fs::remove_dir_all(&table).expect("was there");
    for (fields, more) in [
        (json!([column("id", "integral")]), vec![]),
        (
            json!([column("id", "long")]),
            vec!["--partition-by", "nothing"],
        ),
        (json!([column("id", "long"), column("ID", "long")]), vec![]),
        (
            json!([column("id", "long")]),
            vec!["--property", "delta.appendOnly=perhaps"],
        ),
    ] {
        write(fields.clone());
        let refused = create(&more);
        let message = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(
            matches!(refused.status.code(), Some(1 | 2)),
            "{fields} {more:?}: {message}"
        );
        assert!(!table.exists(), "{fields} {more:?}: {message}");
    }
}

/// F7 (delta-rs#3505): of two who create one table at once, one does, and the other is told.
#[test]
fn f7_one_of_two_creators_makes_the_table() {
    let rig = Rig::new();
    let like = rig.table().with_file_name("like.parquet");
    fs::write(&like, parquet(&batch([("id", longs([1]))]))).expect("can be written");
    for round in 0..5 {
        let table = rig.table().with_file_name(format!("new{round}"));
        let arguments = [
            "create",
            table.to_str().expect("UTF-8"),
            "--from",
            like.to_str().expect("UTF-8"),
        ];
        let mut codes: Vec<Option<i32>> = thread::scope(|scope| {
            let threads: Vec<_> = (0..2)
                .map(|_| scope.spawn(|| rig.run(&arguments)))
                .collect();
            (threads.into_iter())
                .map(|thread| thread.join().expect("ends").status.code())
                .collect()
        });
        codes.sort_unstable();
        assert_eq!(codes, [Some(0), Some(3)]);
        // Data files do not make it less of a table.
        fs::write(table.join("a.parquet"), "").expect("can be written");
        let message = String::from_utf8(rig.run(&arguments).stderr).expect("UTF-8");
        assert!(message.contains("is a Delta table already"), "{message}");
        let mut log: Vec<_> = fs::read_dir(table.join("_delta_log"))
            .expect("is there")
            .map(|row| row.expect("a row").file_name())
            .collect();
        log.sort();
        log.retain(|name| name.as_encoded_bytes().ends_with(b".json"));
        assert_eq!(log, ["00000000000000000000.json"]);
    }
}
