//! Composed files on file systems that share blocks between files: the kernel reads clones of them.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use serde_json::json;

use crate::rig::{Rig, has_passthrough, may_mount};
use crate::semantics::says;
use crate::support::{Disk, batch, column, inline_vector, longs, parquet, parquet_longs, strings};

/// A size that passes through on every mount, and one that does on read-only mounts alone.
const LARGE: usize = 17 << 20;
const MEDIUM: usize = 5 << 20;

/// What is in the data files and in no presented one.
const SECRET: &str = "secret";

/// A disk of each kind that shares blocks; none where this machine does not let tests have them.
fn disks(size: u64) -> Vec<Disk> {
    if !may_mount() || !has_passthrough() {
        return Vec::new();
    }
    [
        ("xfs", &["-q", "-m", "reflink=1"][..]),
        ("btrfs", &["-q"][..]),
    ]
    .into_iter()
    .filter_map(|(kind, options)| Disk::new(kind, size, options))
    .collect()
}

/// The ids and texts of a data file of about `size` bytes.
fn parts(seed: usize, size: usize) -> (Vec<i64>, Vec<String>) {
    let rows = size.div_ceil(1 << 18);
    let ids = (0..rows).map(|row| (seed * 1000 + row) as i64).collect();
    let texts = (0..rows).map(|row| {
        let letters = "abcdefghijklmnopqrstuvw".repeat(2);
        let first = (seed * 5 + row) % 23;
        letters[first..first + 23].repeat((1 << 18) / 23)
    });
    (ids, texts.collect())
}

/// A table with renamed columns and a partition column, all of whose files are composed: `sizes`
/// are those of its data files.
fn fill(rig: &Rig, sizes: &[usize]) {
    let field = |id: u32, name: &str, kind: &str| {
        json!({"name": name, "type": kind, "nullable": true, "metadata": {
            "delta.columnMapping.id": id, "delta.columnMapping.physicalName": format!("col-{id}")}})
    };
    let fields = [
        field(1, "id", "long"),
        field(2, "text", "string"),
        field(3, "region", "string"),
    ];
    let schema = json!({"type": "struct", "fields": fields}).to_string();
    rig.commit(
        0,
        &[
            r#"{"protocol":{"minReaderVersion":2,"minWriterVersion":5}}"#,
            &json!({"metaData": {
                "id": "t", "format": {"provider": "parquet", "options": {}},
                "schemaString": schema, "partitionColumns": ["region"],
                "configuration": {"delta.columnMapping.mode": "name",
                    "delta.columnMapping.maxColumnId": "3"}}})
            .to_string(),
        ],
    );
    for (number, size) in sizes.iter().enumerate() {
        add(rig, number, *size);
    }
}

/// The bytes of the data file that [`add`] makes.
fn data(number: usize, size: usize) -> Vec<u8> {
    let (ids, texts) = parts(number, size);
    let texts = strings(texts.iter().map(String::as_str));
    // A column that the table has no more: a hole in the clone, within blocks that it shares.
    let gone = ids.iter().map(|id| format!("{SECRET} {id:06}").repeat(900));
    let gone: Vec<String> = gone.collect();
    let gone = strings(gone.iter().map(String::as_str));
    parquet(&batch([
        ("col-1", longs(ids)),
        ("col-9", gone),
        ("col-2", texts),
    ]))
}

/// Adds a data file in version `number` + 1.
fn add(rig: &Rig, number: usize, size: usize) {
    let name = format!("{number:02}.parquet");
    let bytes = data(number, size);
    let add = rig.data_file(&name, &bytes);
    let mut add: serde_json::Value = serde_json::from_str(&add).expect("JSON");
    add["add"]["partitionValues"] = json!({"col-3": "EU"});
    // Cloning waits until they are on the disk.
    sync(&rig.table().join(name));
    rig.commit(number as u64 + 1, &[&add.to_string()]);
}

fn sync(path: &Path) {
    let synced = File::open(path).and_then(|file| file.sync_all());
    synced.expect("a disk that works");
}

/// The files of a version, with their paths.
fn files(rig: &Rig, version: &str) -> Vec<PathBuf> {
    let names = rig.names(version);
    names
        .iter()
        .map(|name| rig.at(version).join(name))
        .collect()
}

/// Reads a file in several ways, of which all give the same; also how much this took of the daemon.
fn read(rig: &Rig, path: &Path) -> (Vec<u8>, u64) {
    let before = rig.metric("deltafs_read_bytes_total");
    let bytes = fs::read(path).expect("opens");
    let size = fs::metadata(path).expect("is there").len();
    assert_eq!(bytes.len() as u64, size);
    let file = File::open(path).expect("opens");
    let mut part = vec![0; 70_000];
    for start in (0..size)
        .step_by(999_983)
        .chain([size.saturating_sub(70_000)])
    {
        let count = file.read_at(&mut part, start).expect("can be read");
        let at = start as usize;
        assert!(
            count > 0 && part[..count] == bytes[at..at + count],
            "{start}"
        );
    }
    assert_eq!(file.read_at(&mut part, size).expect("the end"), 0);
    let told = rig.metric("deltafs_read_bytes_total") - before;
    // What is read of the counters themselves is little.
    (bytes, told / (1 << 16) * (1 << 16))
}

fn check_rows(bytes: &[u8], number: usize, size: usize) {
    let (ids, texts) = parts(number, size);
    let ids: Vec<Option<i64>> = ids.into_iter().map(Some).collect();
    assert_eq!(parquet_longs(bytes, "id"), ids);
    let expected = strings(texts.iter().map(String::as_str));
    assert!(column(bytes, "text") == expected);
    let is_secret = |part: &[u8]| part == SECRET.as_bytes();
    assert!(!bytes.windows(SECRET.len()).any(is_secret));
    let regions = vec!["EU"; ids.len()];
    assert!(column(bytes, "region") == strings(regions));
}

/// All names below a directory, with what tells whether a file was changed.
fn below(root: &Path) -> BTreeSet<(PathBuf, u64, Option<SystemTime>)> {
    let mut all = BTreeSet::new();
    for row in fs::read_dir(root).expect("can be listed") {
        let path = row.expect("a row").path();
        let metadata = fs::symlink_metadata(&path).expect("is there");
        if metadata.is_dir() {
            all.extend(below(&path));
        }
        all.insert((path, metadata.ino(), metadata.modified().ok()));
    }
    let modified = fs::metadata(root).and_then(|metadata| metadata.modified());
    all.insert((root.to_owned(), 0, modified.ok()));
    all
}

#[test]
fn clones_hold_the_bytes_that_are_served_without_them() {
    says(
        "from 4 MiB on (16 MiB on a mount that may be written), where a file system that shares blocks",
    );
    for disk in disks(512 << 20) {
        let mut rig = Rig::on(&disk.root());
        fill(&rig, &[LARGE, MEDIUM, 1 << 18]);
        rig.mount(&["-o", "no_passthrough"]);
        let paths = files(&rig, "@v3");
        let served: Vec<Vec<u8>> = paths.iter().map(|path| read(&rig, path).0).collect();
        assert_eq!(rig.metric("deltafs_clones_made_total"), 0);
        for (number, size) in [LARGE, MEDIUM, 1 << 18].into_iter().enumerate() {
            check_rows(&served[number], number, size);
        }
        rig.unmount();
        let before = below(&rig.table());
        for (arguments, made) in [(&[][..], 1), (&["--read-only"][..], 2)] {
            rig.mount(arguments);
            for round in 0..2 {
                for (path, served) in paths.iter().zip(&served) {
                    let (bytes, by_us) = read(&rig, path);
                    assert!(bytes == *served, "{arguments:?}");
                    let passes = bytes.len() >= if made == 1 { 16 << 20 } else { 4 << 20 };
                    // The page cache has the others in the second round.
                    let is_asked_for = !passes && round == 0;
                    assert_eq!(
                        by_us > 0,
                        is_asked_for,
                        "{arguments:?}, {} bytes",
                        bytes.len()
                    );
                }
            }
            // The second round opened what the first one made.
            assert_eq!(rig.metric("deltafs_clones_made_total"), made);
            assert_eq!(rig.metric("deltafs_clones"), made);
            rig.unmount();
            let staging = rig.table().join("_deltafs");
            if staging.exists() {
                fs::remove_dir_all(staging).expect("nothing is staged");
            }
        }
        let after = below(&rig.table());
        let changed: Vec<_> = before.symmetric_difference(&after).collect();
        // The directory in which `_deltafs` was made and removed.
        assert!(
            changed.iter().all(|(path, ..)| *path == rig.table()),
            "{changed:?}"
        );
    }
}

/// A rewritten file is made when it is first read. From then on it is composed of the data file and of
/// what the cache directory has, and a clone shares the blocks of both.
#[test]
fn rewritten_files_pass_through_once_they_are_made() {
    for disk in disks(512 << 20) {
        let mut rig = Rig::on(&disk.root());
        fill(&rig, &[LARGE]);
        let add = fs::read_to_string(rig.table().join(format!("_delta_log/{:020}.json", 1)));
        let mut add: serde_json::Value = serde_json::from_str(&add.expect("UTF-8")).expect("JSON");
        add["add"]["deletionVector"] = inline_vector(&[0, 7]);
        let features = ["columnMapping", "deletionVectors"];
        let protocol = json!({"protocol": {"minReaderVersion": 3, "minWriterVersion": 7,
            "readerFeatures": features, "writerFeatures": features}});
        let remove = json!({"remove": {"path": "00.parquet", "deletionTimestamp": 1,
            "dataChange": true}});
        let actions = [&protocol, &remove, &add].map(ToString::to_string);
        rig.commit(2, &actions.each_ref().map(String::as_str));

        let (mut ids, mut texts) = parts(0, LARGE);
        for row in [7, 0] {
            ids.remove(row);
            texts.remove(row);
        }
        let elsewhere = tempfile::tempdir().expect("a temporary directory");
        let elsewhere = elsewhere.path().to_str().expect("UTF-8");
        let mut seen = Vec::new();
        // What was made is too much to be copied.
        for (arguments, clones) in [
            (&["-o", "no_passthrough"][..], 0),
            (&["--cache-dir", elsewhere], 0),
            (&[], 1),
            (&["--read-only"], 1),
        ] {
            rig.mount(arguments);
            let path = &files(&rig, "@v2")[0];
            seen.push(read(&rig, path).0);
            let (bytes, _) = read(&rig, path);
            let text = strings(texts.iter().map(String::as_str));
            assert_eq!(
                parquet_longs(&bytes, "id"),
                ids.iter().copied().map(Some).collect::<Vec<_>>()
            );
            assert!(column(&bytes, "text") == text);
            assert_eq!(
                rig.metric("deltafs_clones_made_total"),
                clones,
                "{arguments:?}"
            );
            if clones > 0 {
                // Nothing of it is in the page cache of the mount.
                let before = rig.metric("deltafs_read_bytes_total");
                let file = File::open(path).expect("opens");
                rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).expect("a hint");
                let mut again = Vec::new();
                (&file).read_to_end(&mut again).expect("can be read");
                assert!(again == bytes);
                assert!(rig.metric("deltafs_read_bytes_total") - before < 1 << 16);
            }
            seen.push(bytes);
            if clones > 0 {
                // What was made is gone, and the clone with it at the next look; who has it reads on.
                fs::remove_dir_all(rig.cache()).expect("was there");
                seen.push(read(&rig, path).0);
            }
            rig.unmount();
        }
        assert!(seen.iter().all(|other| *other == seen[0]));
    }
}

/// A mount that may not write makes no clone in the table, but in its cache directory, where that lies
/// on the same file system.
#[test]
fn a_read_only_mount_takes_no_space_of_the_table_s_disk_but_in_its_cache() {
    says("on a read-only mount that of the cache directory, if it is the same");
    for disk in disks(320 << 20) {
        let mut rig = Rig::on(&disk.root());
        fill(&rig, &[MEDIUM]);
        let elsewhere = tempfile::tempdir().expect("a temporary directory");
        let elsewhere = elsewhere.path().to_str().expect("UTF-8");
        let own = rig.cache();
        let own = own.to_str().expect("UTF-8");
        for (cache, size, clones) in [
            (elsewhere, "1G", 0),
            (own, "1G", 1),
            // Nothing is to be kept: each open makes its own.
            (own, "0", 2),
        ] {
            let arguments = ["--read-only", "--cache-dir", cache, "--cache-size", size];
            rig.mount(&arguments);
            let before = below(&rig.table());
            let path = &files(&rig, "@v1")[0];
            let (bytes, by_us) = read(&rig, path);
            check_rows(&bytes, 0, MEDIUM);
            assert_eq!(by_us == 0, clones > 0, "{arguments:?}");
            assert_eq!(rig.metric("deltafs_clones_made_total"), clones);
            assert_eq!(rig.metric("deltafs_clones"), clones % 2);
            assert_eq!(below(&rig.table()), before);
            rig.unmount();
        }
    }
}

/// What holds of all files: the bytes are those of the file that has the name. One that takes its
/// place while it is open, or between two opens, is another one.
#[test]
fn a_data_file_that_is_replaced_is_shown_as_it_is_then() {
    for disk in disks(512 << 20) {
        let mut rig = Rig::on(&disk.root());
        fill(&rig, &[LARGE]);
        rig.mount(&[]);
        let path = &files(&rig, "@v1")[0];
        let first = read(&rig, path).0;
        check_rows(&first, 0, LARGE);

        // Of the same size, with other values.
        let other = data(1, LARGE);
        let original = rig.table().join("00.parquet");
        assert_eq!(
            fs::metadata(&original).expect("is there").len(),
            other.len() as u64
        );
        let held = File::open(path).expect("opens");
        let new = rig.table().join("new");
        fs::write(&new, &other).expect("can be written");
        sync(&new);
        fs::rename(&new, &original).expect("can be renamed");
        // Who has it open keeps what was opened.
        let mut bytes = vec![0; first.len()];
        held.read_exact_at(&mut bytes, 0).expect("can be read");
        assert!(bytes == first);
        drop(held);
        let (second, by_us) = read(&rig, path);
        check_rows(&second, 1, LARGE);
        assert_eq!(by_us, 0);

        // And in place, not on the disk yet.
        fs::write(&original, data(2, LARGE)).expect("can be written");
        check_rows(&read(&rig, path).0, 2, LARGE);

        // While it is opened again and again.
        let stop = std::sync::atomic::AtomicBool::new(false);
        let is_stopped = || stop.load(std::sync::atomic::Ordering::Relaxed);
        let contents = [data(3, LARGE), data(4, LARGE)];
        let presented: Vec<Vec<u8>> = contents
            .iter()
            .map(|content| {
                fs::write(&new, content).expect("can be written");
                sync(&new);
                fs::rename(&new, &original).expect("can be renamed");
                read(&rig, path).0
            })
            .collect();
        thread::scope(|scope| {
            scope.spawn(|| {
                while !is_stopped() {
                    for content in &contents {
                        fs::write(&new, content).expect("can be written");
                        sync(&new);
                        fs::rename(&new, &original).expect("can be renamed");
                    }
                }
            });
            for _ in 0..20 {
                // The kernel opens once more when the size is another one; here it is the same.
                let file = File::open(path).expect("opens");
                let mut bytes = vec![0; first.len()];
                file.read_exact_at(&mut bytes, 0).expect("can be read");
                assert!(presented.contains(&bytes), "a mixture of two files");
            }
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
        });
    }
}

#[test]
fn a_cache_directory_that_is_lost_costs_no_read() {
    for disk in disks(512 << 20) {
        let mut rig = Rig::on(&disk.root());
        fill(&rig, &[MEDIUM, MEDIUM]);
        rig.mount(&["--read-only"]);
        let paths = files(&rig, "@v2");
        let (first, by_us) = read(&rig, &paths[0]);
        assert_eq!(by_us, 0);
        fs::remove_dir_all(rig.cache()).expect("was there");
        // What was made is there, and nothing new.
        assert!(read(&rig, &paths[0]) == (first, 0));
        let (second, by_us) = read(&rig, &paths[1]);
        check_rows(&second, 1, MEDIUM);
        assert!(by_us > 0);
        assert_eq!(rig.metric("deltafs_clones_made_total"), 1);
    }
}

#[test]
fn two_mounts_of_a_table_and_many_readers_read_the_same() {
    for disk in disks(512 << 20) {
        let mut rig = Rig::on(&disk.root());
        fill(&rig, &[LARGE, LARGE]);
        let mut other = Rig::on(&disk.root());
        fs::remove_dir_all(other.table()).expect("was there");
        std::os::unix::fs::symlink(rig.table(), other.table()).expect("can be made");
        rig.mount(&[]);
        other.mount(&[]);
        thread::scope(|scope| {
            for at in 0..8 {
                let rig = if at % 2 == 0 { &rig } else { &other };
                scope.spawn(move || {
                    let number = at / 2 % 2;
                    let path = &files(rig, "@v2")[number];
                    check_rows(&fs::read(path).expect("opens"), number, LARGE);
                });
            }
        });
        for rig in [&rig, &other] {
            assert!(rig.metric("deltafs_read_bytes_total") < 1 << 20);
            assert_eq!(rig.metric("deltafs_clones"), 2);
        }
    }
}

#[test]
fn a_full_disk_costs_no_read() {
    for disk in disks(320 << 20) {
        let mut rig = Rig::on(&disk.root());
        fill(&rig, &[LARGE, LARGE]);
        rig.mount(&[]);
        let paths = files(&rig, "@v2");
        let (first, by_us) = read(&rig, &paths[0]);
        check_rows(&first, 0, LARGE);
        assert_eq!((by_us, rig.metric("deltafs_clones")), (0, 1));
        let filler = disk.root().join("filler");
        let block = vec![1; 1 << 20];
        let file = File::create(&filler).expect("can be made");
        let mut length = 0;
        while file.write_at(&block, length).is_ok_and(|count| count > 0) {
            length += 1 << 20;
        }
        let (second, by_us) = read(&rig, &paths[1]);
        check_rows(&second, 1, LARGE);
        assert!(by_us > 0);
        // What was made of other files has been given up, and what is open stays.
        assert_eq!(rig.metric("deltafs_clones"), 0);
        assert!(read(&rig, &paths[0]).0 == first);
    }
}

/// The space of a data file that was removed comes back, and who has it open can read on.
#[test]
fn a_killed_mount_leaves_nothing_behind() {
    for disk in disks(512 << 20) {
        let mut rig = Rig::on(&disk.root());
        let sizes = [MEDIUM; 24];
        fill(&rig, &sizes);
        let own = rig.cache();
        rig.mount(&["--read-only"]);
        rig.signal("TERM");
        rig.ended();
        let names = below(&rig.table());
        let (free, cached) = (disk.free(), below(&own));
        for round in 0..6 {
            rig.mount(&["--read-only"]);
            let paths = files(&rig, "@v24");
            thread::scope(|scope| {
                scope.spawn(|| {
                    // Until the mount is gone.
                    for path in &paths {
                        let Ok(file) = File::open(path) else { break };
                        drop(file);
                    }
                });
                thread::sleep(Duration::from_millis(round * 3));
                rig.signal("KILL");
            });
            rig.ended();
            assert_eq!(below(&rig.table()), names);
        }
        // Facts alone.
        let left: Vec<_> = below(&own).difference(&cached).cloned().collect();
        assert!(
            left.iter()
                .all(|(path, ..)| path.ends_with("facts") || path.is_dir()),
            "{left:?}"
        );
        wait_for(
            || free.saturating_sub(disk.free()) < 1 << 20,
            "space comes back",
        );
        rig.mount(&["--read-only"]);
        for (number, path) in files(&rig, "@v24").iter().enumerate() {
            check_rows(&fs::read(path).expect("opens"), number, MEDIUM);
        }
    }
}

fn wait_for(is_so: impl Fn() -> bool, what: &str) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(20), "{what}");
        thread::sleep(Duration::from_millis(50));
    }
}
