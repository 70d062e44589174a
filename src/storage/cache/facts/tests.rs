use proptest::prelude::*;
use tempfile::TempDir;

use super::*;

fn key(number: u64) -> FactKey {
    let mut key = [0xAB; 16];
    key[..8].copy_from_slice(&number.to_be_bytes());
    key
}

#[test]
fn facts_outlive_the_process() {
    let dir = TempDir::new().unwrap();
    let facts = Facts::open(dir.path());
    assert_eq!(facts.recall(&key(1)), None);
    facts.remember(&[(key(1), 10), (key(2), 20)]);
    facts.remember(&[(key(1), 11), (key(2), 20)]);
    assert_eq!(facts.recall(&key(1)), Some(11));
    let later = Facts::open(dir.path());
    assert_eq!(later.recall(&key(1)), Some(11));
    assert_eq!(later.recall(&key(2)), Some(20));
    let size = fs::metadata(dir.path().join("facts")).unwrap().len();
    assert_eq!(
        size,
        3 * RECORD as u64,
        "what is known is not written again"
    );
}

#[test]
fn several_processes_append() {
    let dir = TempDir::new().unwrap();
    std::thread::scope(|scope| {
        for process in 0..4 {
            let facts = Facts::open(dir.path());
            scope.spawn(move || {
                for number in 0..100 {
                    facts.remember(&[(key(process * 1000 + number), number)]);
                }
            });
        }
    });
    let facts = Facts::open(dir.path());
    for process in 0..4 {
        for number in 0..100 {
            assert_eq!(facts.recall(&key(process * 1000 + number)), Some(number));
        }
    }
}

#[test]
fn a_torn_record_costs_itself_alone() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("facts");
    let whole = |number| record(&key(number), number);
    for torn in 0..RECORD {
        let bytes = [
            &whole(1)[..],
            &whole(2)[..torn],
            &whole(3),
            &[0; 4096],
            &whole(4),
        ]
        .concat();
        fs::write(&path, bytes).unwrap();
        let facts = Facts::open(dir.path());
        facts.remember(&[(key(5), 5)]);
        drop(facts);
        let facts = Facts::open(dir.path());
        for (number, found) in [(1, true), (2, false), (3, true), (4, true), (5, true)] {
            assert_eq!(
                facts.recall(&key(number)),
                found.then_some(number),
                "{torn} {number}"
            );
        }
    }
}

#[test]
fn generations_bound_what_is_kept() {
    let dir = TempDir::new().unwrap();
    let facts = Facts::of_generation(dir.path(), 100);
    for number in 0..1000 {
        facts.remember(&[(key(number), number)]);
        // Recalled all the time, so it stays.
        assert_eq!(facts.recall(&key(0)), Some(0));
    }
    let check = |facts: &Facts| {
        assert_eq!(facts.recall(&key(0)), Some(0));
        assert_eq!(facts.recall(&key(100)), None);
        for number in 900..1000 {
            assert_eq!(facts.recall(&key(number)), Some(number));
        }
        let known = facts.known.lock();
        assert!(known.young.len() <= 100 && known.old.len() <= 100);
    };
    check(&facts);
    check(&Facts::of_generation(dir.path(), 100));
    for name in ["facts", "facts.old"] {
        let size = fs::metadata(dir.path().join(name)).unwrap().len();
        assert!(size <= 101 * RECORD as u64, "{name}: {size}");
    }
}

#[test]
fn processes_that_share_files_turn_them_once() {
    let dir = TempDir::new().unwrap();
    let one = Facts::of_generation(dir.path(), 100);
    let two = Facts::of_generation(dir.path(), 100);
    for number in 0..90 {
        one.remember(&[(key(number), number)]);
        two.remember(&[(key(1000 + number), number)]);
    }
    // 100 of the 180 are in the old file now, and none is lost.
    let three = Facts::of_generation(dir.path(), 100);
    let known = three.known.lock();
    assert_eq!((known.old.len(), known.young.len()), (100, 80));
}

#[test]
fn a_directory_that_is_gone_is_no_failure() {
    let dir = TempDir::new().unwrap();
    let gone = dir.path().join("gone");
    let facts = Facts::open(&gone);
    facts.remember(&[(key(1), 1)]);
    assert_eq!(facts.recall(&key(1)), Some(1));
    let facts = Facts::in_memory();
    facts.remember(&[(key(1), 1)]);
    assert_eq!(facts.recall(&key(1)), Some(1));

    fs::create_dir(&gone).unwrap();
    let facts = Facts::open(&gone);
    facts.remember(&[(key(1), 1)]);
    fs::remove_dir_all(&gone).unwrap();
    facts.remember(&[(key(2), 2)]);
    fs::create_dir(&gone).unwrap();
    facts.remember(&[(key(3), 3)]);
    for number in 1..=3 {
        assert_eq!(facts.recall(&key(number)), Some(number));
    }
    assert_eq!(Facts::open(&gone).recall(&key(3)), Some(3));
}

proptest! {
    #[test]
    fn damage_never_makes_a_fact(
        count in 1_u64..20,
        edits in prop::collection::vec((any::<u16>(), any::<u8>()), 0..8),
        cut in 0_usize..40,
    ) {
        let mut bytes: Vec<u8> = (0..count).flat_map(|n| record(&key(n), n * n)).collect();
        for (at, byte) in &edits {
            let at = usize::from(*at) % bytes.len();
            bytes[at] = *byte;
        }
        bytes.truncate(bytes.len().saturating_sub(cut));
        let found: Vec<_> = records(&bytes).collect();
        prop_assert!(found.len() + edits.len() + cut.div_ceil(RECORD) >= count as usize);
        for (found, value) in found {
            prop_assert!((0..count).any(|n| found == key(n) && value == n * n));
        }
    }
}
