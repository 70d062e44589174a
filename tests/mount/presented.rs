//! Files that are put together, through the kernel.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::{FileExt, MetadataExt};

use serde_json::json;

use parquet::basic::Compression;
use rustix::fs::{SeekFrom, seek};

use crate::rig::{Rig, may_mount};
use crate::support::{
    batch, inline_vector, longs, parquet, parquet_compressed, parquet_longs, strings,
};

/// The options of mounts on which the kernel reads files in different ways.
const WAYS: [&[&str]; 4] = [
    &[],
    &["-o", "no_passthrough"],
    &["--read-only"],
    &["--read-only", "--fast-open"],
];

/// In a table of several writers some files are their own bytes and others are not. Spark asks for the
/// size of each before it opens one, and looks for the footer where it is by that.
#[test]
fn the_size_is_right_before_anybody_opens_the_file() {
    if !may_mount() {
        return;
    }
    let mut rig = Rig::new();
    let good = parquet(&batch([("id", longs([1, 2]))]));
    let more = parquet(&batch([("id", longs([3])), ("more", strings(["x"]))]));
    let names = ["a.parquet", "b.parquet", "c.parquet", "d.parquet"];
    let contents = [&good, &more, &good, &more];
    let adds: Vec<String> = (names.iter().zip(contents))
        .map(|(name, bytes)| rig.data_file(name, bytes))
        .collect();
    rig.commit(1, &adds.iter().map(String::as_str).collect::<Vec<_>>());
    rig.mount(&[]);

    let told: Vec<u64> = rig
        .names("@v1")
        .iter()
        .map(|name| {
            fs::metadata(rig.at(&format!("@v1/{name}")))
                .expect("is there")
                .len()
        })
        .collect();
    for (name, told) in names.iter().zip(told) {
        let bytes = fs::read(rig.at(&format!("@v1/{name}"))).expect("opens");
        assert_eq!(bytes.len() as u64, told, "{name}");
        assert_eq!(&bytes[bytes.len() - 4..], b"PAR1", "{name}");
    }
}

/// A file under its own name that turns out not to be what its name promises, after thousands were:
/// whoever asked for its size before anybody looked gets the file all the same, and then the right size.
#[test]
fn a_file_of_another_size_than_was_told_opens() {
    const ENOUGH: usize = 4096;
    if !may_mount() {
        return;
    }
    for options in ["rw", "no_passthrough"] {
        let mut rig = Rig::new();
        let good = parquet(&batch([("id", longs([1, 2]))]));
        let more = parquet(&batch([("id", longs([3])), ("more", strings(["x"]))]));
        let mut adds: Vec<String> = (0..ENOUGH)
            .map(|number| rig.data_file(&format!("a{number:04}.parquet"), &good))
            .collect();
        adds.push(rig.data_file("b.parquet", &more));
        rig.commit(1, &adds.iter().map(String::as_str).collect::<Vec<_>>());
        rig.mount(&["-o", options]);

        // All but the last keep the promise.
        let mut names = rig.names("@v1");
        assert_eq!(names.pop().as_deref(), Some("b.parquet"));
        assert_eq!(names.len(), ENOUGH);
        for name in names {
            let path = rig.at(&format!("@v1/{name}"));
            assert_eq!(
                fs::metadata(path).expect("is there").len(),
                good.len() as u64
            );
        }
        assert_eq!(fs::read(rig.at("@v1/a0000.parquet")).expect("opens"), good);
        let path = rig.at("@v1/b.parquet");
        let told = fs::metadata(&path).expect("is there").len();
        assert_eq!(told, more.len() as u64, "{options}");
        let mut file = File::open(&path).expect("opens");
        let size = file.metadata().expect("is open").len();
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).expect("can be read");
        assert_eq!(bytes.len() as u64, size, "{options}");
        assert_ne!(bytes, more, "{options}");
        assert_eq!(parquet_longs(&bytes, "id"), [Some(3)]);
        assert_eq!(fs::metadata(&path).expect("is there").len(), size);
        let mut tail = [0; 4];
        file.read_exact_at(&mut tail, size - 4)
            .expect("can be read");
        assert_eq!(&tail, b"PAR1");
    }
}

/// "The same name always means the same bytes and the same inode, across remounts": with the cache,
/// without it, and with another one.
#[test]
fn rewritten_files_are_the_same_with_and_without_the_cache() {
    if !may_mount() {
        return;
    }
    let mut rig = Rig::new();
    let bytes = parquet(&batch([("id", longs(0..5000))]));
    let add = rig.data_file("a.parquet", &bytes);
    let actions = without_ends(&add, 5000);
    rig.commit(1, &[&actions[0], &actions[1]]);

    let mut seen = Vec::new();
    for round in 0..4 {
        rig.mount(&[]);
        let names = rig.names("@v1");
        let [name] = names.as_slice() else {
            panic!("one file, found {names:?}");
        };
        let path = rig.at(&format!("@v1/{name}"));
        let told = fs::metadata(&path).expect("is there");
        let bytes = fs::read(&path).expect("opens");
        assert_eq!(bytes.len() as u64, told.len());
        let rows: Vec<Option<i64>> = (1..4999).map(Some).collect();
        assert_eq!(parquet_longs(&bytes, "id"), rows);
        seen.push((name.clone(), told.ino(), bytes));
        rig.unmount();
        match round {
            // The next mount has what this one kept; the one after it has lost it.
            0 => assert!(rig.cache().join("v1").is_dir()),
            1 => fs::remove_dir_all(rig.cache()).expect("can be removed"),
            // And then there is a file where the directory should be.
            2 => {
                fs::remove_dir_all(rig.cache()).expect("can be removed");
                fs::write(rig.cache(), b"").expect("can be written");
            }
            _ => {}
        }
    }
    assert!(seen.iter().all(|other| *other == seen[0]));
}

/// Protocol and add action of a file without its first and its last row.
fn without_ends(add: &str, rows: u64) -> [String; 2] {
    let mut add: serde_json::Value = serde_json::from_str(add).expect("JSON");
    add["add"]["deletionVector"] = inline_vector(&[0, rows - 1]);
    let protocol = json!({"protocol": {"minReaderVersion": 3, "minWriterVersion": 7,
        "readerFeatures": ["deletionVectors"], "writerFeatures": ["deletionVectors"]}});
    [protocol.to_string(), add.to_string()]
}

#[test]
fn a_column_that_the_version_does_not_have_is_not_in_the_bytes() {
    if !may_mount() {
        return;
    }
    let rows = 20_000;
    let secrets: Vec<String> = (0..rows).map(|row| format!("secret {row}")).collect();
    let data = parquet(&batch([
        ("gone", strings(secrets.iter().map(String::as_str))),
        ("id", longs(0..rows)),
        ("gone too", longs(0..rows)),
    ]));
    let holds = |bytes: &[u8]| bytes.windows(6).any(|window| window == b"secret");
    assert!(holds(&data));
    let mut rig = Rig::new();
    let add = rig.data_file("a.parquet", &data);
    rig.commit(1, &[&add]);
    let mut seen = Vec::new();
    for options in WAYS {
        rig.mount(options);
        let path = rig.at("@v1").join(&rig.names("@v1")[0]);
        let told = fs::metadata(&path).expect("is there");
        let file = File::open(&path).expect("opens");
        let size = file.metadata().expect("is open").len();
        // The magic number, the hole, and the rest.
        let hole = seek(&file, SeekFrom::Hole(0)).expect("a hole");
        let data_again = seek(&file, SeekFrom::Data(hole)).expect("data behind it");
        assert_eq!(hole, 4, "{options:?}");
        assert!(data_again > 200_000, "{options:?}: {data_again}");
        assert_eq!(seek(&file, SeekFrom::Data(0)), Ok(0));
        assert_eq!(seek(&file, SeekFrom::Data(100)), Ok(data_again));
        // And the other hole, between the column and what is told of its pages.
        let other = seek(&file, SeekFrom::Hole(data_again)).expect("a hole");
        let behind = seek(&file, SeekFrom::Data(other)).expect("data behind it");
        assert!(behind - other > 100_000, "{options:?}: {other} to {behind}");
        assert_eq!(seek(&file, SeekFrom::Hole(behind)), Ok(size));
        let bytes = fs::read(&path).expect("can be read");
        assert!(!holds(&bytes), "{options:?}");
        let ids: Vec<Option<i64>> = (0..rows).map(Some).collect();
        assert_eq!(parquet_longs(&bytes, "id"), ids);
        seen.push((told.ino(), bytes));
        drop(file);
        rig.unmount();
    }
    assert!(seen.iter().all(|other| *other == seen[0]));
}

#[test]
fn a_rewritten_file_takes_no_more_room_than_its_data_file() {
    if !may_mount() {
        return;
    }
    let rows = 300_000;
    let batch = batch([("id", longs((0..rows).map(|row| row / 16)))]);
    let data = parquet_compressed(&batch, Compression::SNAPPY);
    let mut rig = Rig::new();
    let add = rig.data_file("a.parquet", &data);
    let actions = without_ends(&add, rows.unsigned_abs());
    rig.commit(1, &[&actions[0], &actions[1]]);
    for options in WAYS {
        rig.mount(options);
        let path = rig.at("@v1").join(&rig.names("@v1")[0]);
        let told = fs::metadata(&path).expect("is there");
        assert!(told.len() > data.len() as u64 + (256 << 10), "{options:?}");
        let room = told.blocks() * 512;
        let most = (data.len() as u64).next_multiple_of(512);
        assert!(room <= most, "{options:?}: {room} of {most}");
        // What copies holes as such asks for them before it reads anything.
        let copy = rig.table().join("copy");
        let status = std::process::Command::new("cp")
            .args([&path, &copy])
            .status();
        assert!(status.expect("cp runs").success());
        let copied = fs::metadata(&copy).expect("was copied");
        assert_eq!(copied.len(), told.len());
        let taken = copied.blocks() * 512;
        assert!(taken < data.len() as u64 * 5 / 4, "{options:?}: {taken}");
        let bytes = fs::read(&copy).expect("can be read");
        assert_eq!(bytes, fs::read(&path).expect("can be read"));
        let ids: Vec<Option<i64>> = (1..rows - 1).map(|row| Some(row / 16)).collect();
        assert_eq!(parquet_longs(&bytes, "id"), ids);
        rig.unmount();
    }
}
