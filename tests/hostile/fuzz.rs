//! Bytes damaged at random, target by target: an error or a value, and memory in proportion.
//!
//! Each target tries as many cases as take a second or two, always the same ones.
//! `DELTAFS_FUZZ_SECONDS=3600 cargo test --test hostile fuzz -- --nocapture` tries others for that
//! long each. A case that fails tells its number; `DELTAFS_FUZZ_CASE=NUMBER` tries it alone. The
//! package in `fuzz/` tries the same targets guided by coverage.

pub mod checkpoints;
pub mod chunks;
pub mod files;
pub mod footers;
pub mod vectors;
pub mod written;

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::allocations;
use super::dice::Dice;

/// Tries a target. `case` gets chance that is the same for the same number.
fn run(target: &str, cases: u64, mut case: impl FnMut(&mut Dice)) {
    let asked = |name: &str| {
        std::env::var(name).ok().map(|text| -> u64 {
            text.parse()
                .unwrap_or_else(|_| panic!("{name} is a number"))
        })
    };
    let one = asked("DELTAFS_FUZZ_CASE");
    let time = asked("DELTAFS_FUZZ_SECONDS").map(Duration::from_secs);
    let first = match (one, time) {
        (Some(one), _) => one,
        (None, None) => 0,
        (None, Some(_)) => {
            let now = SystemTime::now().duration_since(UNIX_EPOCH);
            now.expect("it is after 1970").as_nanos() as u64
        }
    };
    let started = Instant::now();
    let mut tried = 0;
    loop {
        let done = match (one, time) {
            (Some(_), _) => tried == 1,
            (None, None) => tried == cases,
            (None, Some(time)) => started.elapsed() >= time,
        };
        if done {
            break;
        }
        let number = first.wrapping_add(tried);
        let mut dice = Dice::new(number);
        let result = catch_unwind(AssertUnwindSafe(|| {
            case(&mut dice);
            allocations::check();
        }));
        if let Err(panic) = result {
            eprintln!("{target}: DELTAFS_FUZZ_CASE={number} fails");
            resume_unwind(panic);
        }
        tried += 1;
    }
    println!("{target}: {tried} cases in {:?}", started.elapsed());
}

/// The bytes with something in them replaced, mostly by something that means more than chance does.
fn damaged(whole: &[u8], dice: &mut Dice) -> Vec<u8> {
    let mut bytes = whole.to_vec();
    super::mutations::damage(&mut bytes, dice);
    bytes
}

/// Files with their content, so that it can be put back.
type Contents = Vec<(PathBuf, Vec<u8>)>;

fn contents(paths: impl IntoIterator<Item = PathBuf>) -> Contents {
    let with_content = |path: PathBuf| {
        let content = fs::read(&path).expect("it was written");
        (path, content)
    };
    paths.into_iter().map(with_content).collect()
}
