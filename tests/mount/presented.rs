//! Files that are put together, through the kernel.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::{FileExt, MetadataExt};

use serde_json::json;

use crate::rig::{Rig, may_mount};
use crate::support::{batch, inline_vector, longs, parquet, parquet_longs, strings};

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
    let mut add: serde_json::Value = serde_json::from_str(&add).expect("JSON");
    add["add"]["deletionVector"] = inline_vector(&[0, 4999]);
    let protocol = json!({"protocol": {"minReaderVersion": 3, "minWriterVersion": 7,
        "readerFeatures": ["deletionVectors"], "writerFeatures": ["deletionVectors"]}});
    rig.commit(1, &[&protocol.to_string(), &add.to_string()]);

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
