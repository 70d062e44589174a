//! Mounts that the kernel opens files of without asking.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, MetadataExt};

use serde_json::json;

use crate::REMOVE;
use crate::rig::{Rig, may_mount};
use crate::semantics::says;
use crate::support::{batch, inline_vector, longs, parquet, parquet_longs, strings};

const FAST: [&str; 2] = ["--read-only", "--fast-open"];

fn counter(rig: &Rig, name: &str) -> u64 {
    let metrics = fs::read_to_string(rig.at("@info/metrics")).expect("opens");
    let line = (metrics.lines())
        .find_map(|line| line.strip_prefix(&format!("deltafs_{name} ")))
        .expect("a counter");
    line.parse().expect("a number")
}

/// What changes is made anew a second after it was told.
fn a_second_later() {
    std::thread::sleep(std::time::Duration::from_millis(1100));
}

#[test]
fn the_kernel_opens_what_it_knows_without_asking() {
    if !may_mount() {
        return;
    }
    says(
        "opening, closing and reading again what the kernel has in its page cache costs no request",
    );
    let mut rig = Rig::new();
    let bytes = parquet(&batch([("id", longs(0..5000))]));
    let add = rig.data_file("a.parquet", &bytes);
    rig.commit(1, &[&add]);
    rig.mount(&FAST);
    let path = rig.at("@v1/a.parquet");
    assert!(fs::read(&path).expect("opens") == bytes);
    let counts = |rig: &Rig| {
        (
            counter(rig, "opens_total"),
            counter(rig, "read_bytes_total"),
        )
    };
    let before = counts(&rig);
    for _ in 0..100 {
        assert!(fs::read(&path).expect("opens") == bytes);
    }
    a_second_later();
    let after = counts(&rig);
    // The counters themselves were opened and read.
    assert!(after.0 - before.0 < 10, "{before:?}, {after:?}");
    assert!(
        after.1 - before.1 < bytes.len() as u64 * 3,
        "{before:?}, {after:?}"
    );
}

/// Readers go by the size that `stat` tells: it is right before anybody has opened the file, also of
/// a file that is not what its name promises, and whether it was found by its name or in a listing.
#[test]
fn sizes_are_right_before_anything_is_opened() {
    if !may_mount() {
        return;
    }
    says("Sizes are only told of files that were looked at");
    let mut rig = Rig::new();
    let good = parquet(&batch([("id", longs([1, 2]))]));
    let more = parquet(&batch([("id", longs([3])), ("more", strings(["x"]))]));
    let adds = [
        rig.data_file("a.parquet", &good),
        rig.data_file("b.parquet", &more),
        rig.data_file("c.parquet", &more),
    ];
    let deleted = parquet(&batch([("id", longs(0..5000))]));
    let add = rig.data_file("d.parquet", &deleted);
    let mut add: serde_json::Value = serde_json::from_str(&add).expect("JSON");
    add["add"]["deletionVector"] = inline_vector(&[0, 4999]);
    let protocol = json!({"protocol": {"minReaderVersion": 3, "minWriterVersion": 7,
        "readerFeatures": ["deletionVectors"], "writerFeatures": ["deletionVectors"]}})
    .to_string();
    let add = add.to_string();
    let mut actions: Vec<&str> = adds.iter().map(String::as_str).collect();
    actions.extend([protocol.as_str(), add.as_str()]);
    rig.commit(1, &actions);
    for listed in [false, true] {
        rig.mount(&FAST);
        // The first keeps the promise of its name.
        assert_eq!(fs::read(rig.at("@v1/a.parquet")).expect("opens"), good);
        if listed {
            for row in fs::read_dir(rig.at("@v1")).expect("can be listed") {
                row.expect("a row").metadata().expect("is there");
            }
        }
        for (name, rows) in [("b.parquet", vec![Some(3)]), ("c.parquet", vec![Some(3)])] {
            let told = fs::metadata(rig.at("@v1").join(name))
                .expect("is there")
                .len();
            let bytes = fs::read(rig.at("@v1").join(name)).expect("opens");
            assert_eq!(bytes.len() as u64, told, "{name}");
            assert_eq!(parquet_longs(&bytes, "id"), rows);
        }
        let name = (rig.names("@v1").into_iter())
            .find(|name| name.starts_with('d'))
            .expect("is listed");
        let file = File::open(rig.at("@v1").join(name)).expect("opens");
        let mut bytes =
            vec![0; usize::try_from(file.metadata().expect("is open").len()).expect("small")];
        file.read_exact_at(&mut bytes, 0).expect("can be read");
        let rows: Vec<Option<i64>> = (1..4999).map(Some).collect();
        assert_eq!(parquet_longs(&bytes, "id"), rows);
        rig.unmount();
    }
}

#[test]
fn what_cannot_be_opened_says_so_when_it_is_looked_up() {
    if !may_mount() {
        return;
    }
    says("A file that cannot be had or presented is listed, and looking it up tells why");
    let mut rig = Rig::new();
    let gone = rig.data_file("gone.parquet", &parquet(&batch([("id", longs([1]))])));
    let broken = rig.data_file("broken.parquet", b"no Parquet");
    rig.commit(1, &[&gone, &broken]);
    fs::remove_file(rig.table().join("gone.parquet")).expect("was there");
    rig.mount(&FAST);
    assert_eq!(rig.names("@v1"), ["broken.parquet", "gone.parquet"]);
    let failed = |name: &str| File::open(rig.at("@v1").join(name)).expect_err("cannot be opened");
    assert_eq!(failed("gone.parquet").kind(), io::ErrorKind::NotFound);
    let number = failed("broken.parquet").raw_os_error();
    // It comes back with its file.
    let bytes = parquet(&batch([("id", longs([1]))]));
    fs::write(rig.table().join("gone.parquet"), &bytes).expect("can be written");
    assert_eq!(fs::read(rig.at("@v1/gone.parquet")).expect("opens"), bytes);
    rig.unmount();
    // The errno is that of an open where there is one.
    rig.mount(&["--read-only"]);
    let refused = File::open(rig.at("@v1/broken.parquet")).expect_err("cannot be opened");
    assert_eq!(refused.raw_os_error(), number);
}

#[test]
fn a_file_that_goes_later_says_so_when_it_is_read() {
    if !may_mount() {
        return;
    }
    says("a file that VACUUM removes after it was looked up fails at the first read instead");
    let mut rig = Rig::new();
    let adds: Vec<String> = (0..300)
        .map(|i| {
            rig.data_file(
                &format!("{i}.parquet"),
                &parquet(&batch([("id", longs([i]))])),
            )
        })
        .collect();
    rig.commit(1, &adds.iter().map(String::as_str).collect::<Vec<_>>());
    rig.mount(&FAST);
    for i in 0..300 {
        fs::metadata(rig.at(&format!("@v1/{i}.parquet"))).expect("is there");
    }
    for i in 0..300 {
        fs::remove_file(rig.table().join(format!("{i}.parquet"))).expect("was there");
    }
    let mut errors = 0;
    for i in 0..300 {
        match fs::read(rig.at(&format!("@v1/{i}.parquet"))) {
            Ok(bytes) => assert_eq!(parquet_longs(&bytes, "id"), [Some(i)]),
            Err(error) => {
                assert_eq!(error.kind(), io::ErrorKind::NotFound);
                errors += 1;
            }
        }
    }
    // Some were still open.
    assert!((1..300).contains(&errors), "{errors}");
}

#[test]
fn what_changes_is_read_whole_and_a_second_old_at_most() {
    if !may_mount() {
        return;
    }
    says("`@info/latest`, `history.jsonl` and `metrics` are as old as a second");
    let mut rig = Rig::new();
    for version in 1..10 {
        let add = rig.data_file(&format!("{version}.parquet"), b"x");
        rig.commit(version, &[&add]);
    }
    rig.mount(&[FAST[0], FAST[1], "--view", "raw"]);
    let latest = |rig: &Rig| fs::read_to_string(rig.at("@info/latest")).expect("opens");
    let history = |rig: &Rig| fs::read_to_string(rig.at("@info/history.jsonl")).expect("opens");
    assert_eq!(latest(&rig), "9\n");
    assert_eq!(history(&rig).lines().count(), 10);
    let add = rig.data_file("10.parquet", b"y");
    rig.commit(10, &[&add, REMOVE]);
    // Data are as new as ever.
    assert_eq!(fs::read(rig.at("@latest/10.parquet")).expect("opens"), b"y");
    assert_eq!(fs::read(rig.at("@v10/10.parquet")).expect("opens"), b"y");
    a_second_later();
    assert_eq!(latest(&rig), "10\n");
    let told = history(&rig);
    assert_eq!(told.lines().count(), 11);
    for line in told.lines() {
        serde_json::from_str::<serde_json::Value>(line).expect("whole lines");
    }
    // Byte by byte is the same text: the size, and what stands there, hold for a second.
    let mut bytes = Vec::new();
    let mut file = File::open(rig.at("@info/metrics")).expect("opens");
    let mut byte = [0];
    while file.read(&mut byte).expect("can be read") == 1 {
        bytes.push(byte[0]);
    }
    assert_eq!(bytes.last(), Some(&b'\n'));
    let names = rig.names("@info/v10");
    assert_eq!(
        names,
        ["commit.json", "detail.json", "files.jsonl", "schema.json"]
    );
    for name in names {
        let path = rig.at("@info/v10").join(name);
        let size = fs::metadata(&path).expect("is there").len();
        assert_eq!(fs::read(&path).expect("opens").len() as u64, size);
    }
}

/// C16: another table at the same place.
#[test]
fn a_table_made_again_shows_its_new_content_without_opens() {
    if !may_mount() {
        return;
    }
    let mut rig = Rig::new();
    let add = rig.data_file("a.parquet", b"of the first");
    rig.commit(1, &[&add]);
    rig.mount(&[FAST[0], FAST[1], "--view", "raw"]);
    let path = rig.at("@v1/a.parquet");
    assert_eq!(fs::read(&path).expect("opens"), b"of the first");
    let ino = fs::metadata(&path).expect("is there").ino();
    rig.create_table("second");
    let add = rig.data_file("a.parquet", b"of the other");
    rig.commit(1, &[&add]);
    // Names in the root hold for a second.
    a_second_later();
    assert_eq!(fs::read(&path).expect("opens"), b"of the other");
    assert_ne!(fs::metadata(&path).expect("is there").ino(), ino);
}

#[test]
fn only_read_only_mounts_open_without_asking() {
    if !may_mount() {
        return;
    }
    says("It needs a read-only mount");
    let rig = Rig::new();
    let (table, mountpoint) = (rig.table(), rig.at(""));
    let refused = rig.run(&[
        "mount",
        table.to_str().expect("UTF-8"),
        mountpoint.to_str().expect("UTF-8"),
        "-o",
        "fast_open",
    ]);
    assert_eq!(refused.status.code(), Some(2));
    let message = String::from_utf8_lossy(&refused.stderr);
    assert!(message.contains("--read-only"), "{message}");
}

/// Another file in the place of one that was looked up is never read by the size of the first.
#[test]
fn a_file_that_was_replaced_is_stale_once() {
    if !may_mount() {
        return;
    }
    says("A file that another one has replaced since is ESTALE at one read");
    let file = |id: i64, name: usize, value: usize| {
        let value = strings([&*"y".repeat(value)]);
        parquet(&batch([("id", longs([id])), (&*"n".repeat(name), value)]))
    };
    // Two files as long as each other, whose second columns, which are not shown, are called by names
    // of other lengths: then what is shown of them is not as long.
    let (first, second) = (1..40)
        .flat_map(|name| (0..40).map(move |value| (name, value)))
        .find_map(|(name, value)| {
            let first = file(3, 8, 8);
            let second = file(4, name, value);
            (name != 8 && second.len() == first.len()).then_some((first, second))
        })
        .expect("some lengths fit");
    let mut rig = Rig::new();
    let mut adds = vec![rig.data_file("b.parquet", &first)];
    adds.extend((0..300).map(|i| {
        rig.data_file(
            &format!("{i}.parquet"),
            &parquet(&batch([("id", longs([i]))])),
        )
    }));
    rig.commit(1, &adds.iter().map(String::as_str).collect::<Vec<_>>());
    rig.mount(&FAST);
    let path = rig.at("@v1/b.parquet");
    let shown = fs::read(&path).expect("opens");
    assert_eq!(parquet_longs(&shown, "id"), [Some(3)]);

    // It has not stayed open, nor its pages in memory.
    fs::remove_file(rig.table().join("b.parquet")).expect("was there");
    a_second_later();
    fs::write(rig.table().join("b.parquet"), &second).expect("can be written");
    for i in 0..300 {
        fs::read(rig.at(&format!("@v1/{i}.parquet"))).expect("opens");
    }
    let open = File::open(&path).expect("costs no request");
    rustix::fs::fadvise(&open, 0, None, rustix::fs::Advice::DontNeed).expect("possible");
    let stale = fs::read(&path).expect_err("is another file");
    assert_eq!(stale.raw_os_error(), Some(libc::ESTALE));
    let bytes = fs::read(&path).expect("opens");
    assert_eq!(parquet_longs(&bytes, "id"), [Some(4)]);
    assert_eq!(bytes.len() as u64, open.metadata().expect("is open").len());
    assert_ne!(bytes.len(), shown.len());
}
