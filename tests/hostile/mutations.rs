//! A log of every kind of file, damaged at random.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};

use serde_json::json;

use super::dice::Dice;
use super::support::{
    Checkpoint, TableBuilder, add, batch, commit_info, domain, dv, inline_vector, longs, metadata,
    remove, table_features, txn,
};
use super::visit::{SECRET, visit};

/// Seven versions with every kind of action, and every kind of file in the log.
fn table() -> TableBuilder {
    let schema = metadata(&[("id", "long"), ("p", "string")])
        .partitioned_by(&["p"])
        .property("delta.enableInCommitTimestamps", "true");
    let info = |ms| commit_info().in_commit_timestamp(ms);
    let mut table = TableBuilder::with_actions([
        info(1_000),
        table_features(&["deletionVectors", "v2Checkpoint"]),
        schema,
    ]);
    let rows = batch([("id", longs([1, 2, 3]))]);
    let files =
        ["a.parquet", "p=1/b.parquet"].map(|path| table.data(path, &rows).partition("p", "1"));
    table.commit([info(2_000)].into_iter().chain(files));
    table.commit([
        info(3_000),
        add("c%20c.parquet").partition("p", None),
        txn("app", 1),
    ]);
    table.commit([
        info(4_000),
        remove("a.parquet"),
        add("a.parquet")
            .partition("p", "1")
            .dv(&dv("x"))
            .stats(json!({"numRecords": 3})),
        domain("d", "{}"),
    ]);
    table.commit([
        info(5_000),
        add("file:///elsewhere/e.parquet").partition("p", "é"),
    ]);
    table.commit([
        info(6_000),
        add("v.parquet")
            .partition("p", "2")
            .dv(&inline_vector(&[1])),
    ]);
    table.commit([info(7_000), remove("c%20c.parquet"), txn("app", 2)]);
    table.checkpoint(2, Checkpoint::Classic);
    table.checkpoint(4, Checkpoint::Json(2));
    table.compact(5, 6);
    table.write_checksum(6, &table.checksum(6));
    table.hint(4);
    fs::write(table.outside().join("secret.parquet"), SECRET).unwrap();
    table
}

/// Every file of the log, with its content.
fn log_files(table: &TableBuilder) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    for directory in ["", "_sidecars"] {
        for entry in fs::read_dir(table.log(directory)).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                files.push((path.clone(), fs::read(path).unwrap()));
            }
        }
    }
    files.sort();
    files
}

/// Bytes that mean something to a parser.
const TELLING: [&[u8]; 26] = [
    b"\0",
    b"\n",
    b"\"",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"\\",
    b"\xff",
    b"-1",
    b"null",
    b"true",
    b"9223372036854775807",
    b"9223372036854775808",
    b"-9223372036854775808",
    b"1e300",
    b"0.5",
    b"../../secret.parquet",
    b"/",
    b"%00",
    b"%2e%2e/",
    b"\\u0000",
    b"PAR1",
    b"\xff\xff\xff\x7f",
];

/// Damages some bytes in one to four places, and says how.
pub fn damage(bytes: &mut Vec<u8>, dice: &mut Dice) -> String {
    let mut what = Vec::new();
    for _ in 0..=dice.below(3) {
        if bytes.is_empty() {
            break;
        }
        let at = dice.below(bytes.len());
        let end = (at + 1 + dice.below(40)).min(bytes.len());
        let kind = dice.below(8);
        match kind {
            0 => bytes[at] ^= 1 << dice.below(8),
            1 => bytes[at] = dice.below(256) as u8,
            2 => bytes.truncate(at),
            3 => {
                let part = bytes[at..end].to_vec();
                let to = dice.below(bytes.len());
                bytes.splice(to..to, part);
            }
            4 => {
                bytes.drain(at..end);
            }
            5 => {
                bytes.splice(at..end, dice.pick(&TELLING).iter().copied());
            }
            6 => {
                bytes.splice(at..at, dice.pick(&TELLING).iter().copied());
            }
            _ => bytes[at..end].fill(*dice.pick(&[0, 0x7f, 0xff])),
        }
        what.push(format!("{kind} at {at}..{end}"));
    }
    what.join(", ")
}

/// Damages each file of a log in turn, `cases` times in all.
fn run(cases: u64, seed: u64, mut damage: impl FnMut(&mut Vec<u8>, &Path, &mut Dice) -> String) {
    let table = table();
    let files = log_files(&table);
    assert!(visit(&table.root()) > 0, "the table is whole to begin with");
    for case in 0..cases {
        let (path, whole) = &files[(case % files.len() as u64) as usize];
        let mut dice = Dice::new(seed + case);
        let mut bytes = whole.clone();
        let what = damage(&mut bytes, path, &mut dice);
        fs::write(path, &bytes).unwrap();
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| visit(&table.root()))) {
            eprintln!("case {case} of seed {seed}: {}: {what}", path.display());
            resume_unwind(panic);
        }
        fs::write(path, whole).unwrap();
    }
    assert!(visit(&table.root()) > 0, "the table is whole again");
}

#[test]
fn damaged_bytes_are_an_error_or_a_value() {
    run(700, 1, |bytes, _, dice| damage(bytes, dice));
}

#[test]
fn files_cut_off_anywhere_are_an_error_or_a_value() {
    run(300, 2, |bytes, _, dice| {
        let at = dice.below(bytes.len() + 1);
        bytes.truncate(at);
        format!("cut off at {at}")
    });
}

#[test]
fn lines_in_any_order_and_number_are_an_error_or_a_value() {
    run(300, 3, |bytes, path, dice| {
        if path
            .extension()
            .is_some_and(|extension| extension == "parquet")
        {
            return damage(bytes, dice);
        }
        let mut lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
        let mut what = Vec::new();
        for _ in 0..=dice.below(4) {
            let (from, to) = (dice.below(lines.len()), dice.below(lines.len()));
            match dice.below(3) {
                0 => lines.swap(from, to),
                1 => lines.insert(to, lines[from]),
                _ => lines[to] = b"",
            }
            what.push(format!("{from} {to}"));
        }
        *bytes = lines.join(&b'\n');
        what.join(", ")
    });
}

/// One file under the name of another.
#[test]
fn swapped_files_are_an_error_or_a_value() {
    let others = log_files(&table());
    run(200, 4, |bytes, _, dice| {
        let (path, other) = dice.pick(&others);
        bytes.clone_from(other);
        format!("content of {}", path.display())
    });
}
