//! Deletion vectors and their descriptors.

use deltafs::log::actions::DeletionVectorDescriptor;
use deltafs::log::deletion_vector::{deleted_in, read};

use super::super::dice::Dice;
use super::super::support::{TableBuilder, roots, serialized_vector, vector_file, z85};
use super::{damaged, run};

const ID: [u8; 16] = [7; 16];
const NAME: &str = "deletion_vector_07070707-0707-0707-0707-070707070707.bin";

/// Vectors with containers of each form: arrays, bitmaps, and runs as other writers have them.
fn vectors() -> Vec<Vec<u8>> {
    let mut vectors: Vec<Vec<u8>> = [
        vec![],
        vec![0],
        (0..50).map(|row| row * 3).collect(),
        (0..20_000).map(|row| row * 2).collect(),
        vec![5, 70_000, 1 << 32, (1 << 40) + 3],
    ]
    .iter()
    .map(|rows: &Vec<u64>| serialized_vector(rows))
    .collect();
    // Rows 10 to 109 as a run: the cookie with one container, which is a run, its key, how many
    // values it has less one, how many runs, the first and the length less one.
    let mut run = 1_681_511_377_u32.to_le_bytes().to_vec();
    run.extend(1_u64.to_le_bytes());
    run.extend(0_u32.to_le_bytes());
    run.extend(12_347_u32.to_le_bytes());
    run.push(1);
    for part in [0_u16, 99, 1, 10, 99] {
        run.extend(part.to_le_bytes());
    }
    vectors.push(run);
    vectors
}

#[test]
fn fuzz_vectors() {
    run("vectors", 8_000, target());
}

/// Tries one case.
pub fn target() -> impl FnMut(&mut Dice) {
    let table = TableBuilder::new();
    let roots = roots(&table.root(), &[]);
    let vectors = vectors();
    move |dice| {
        let whole = dice.pick(&vectors);
        let vector = match dice.below(20) {
            0 => whole.clone(),
            _ => damaged(whole, dice),
        };
        let mut descriptor = DeletionVectorDescriptor {
            storage_type: "i".to_owned(),
            path_or_inline_dv: z85(&vector),
            offset: None,
            size_in_bytes: vector.len() as i32,
            cardinality: cardinality(&vector, dice),
        };
        if dice.below(3) == 0 {
            let mut file = vector_file(&[&vector]);
            if dice.below(4) == 0 {
                file = damaged(&file, dice);
            }
            table.write(NAME, file);
            "u".clone_into(&mut descriptor.storage_type);
            descriptor.path_or_inline_dv = z85(&ID);
            descriptor.offset = Some(1);
        }
        if dice.below(3) == 0 {
            distort(&mut descriptor, dice);
        }
        let rows = *dice.pick(&[None, Some(0), Some(1_000), Some(1 << 41)]);
        let Ok(deleted) = read(&roots, &descriptor, "f.parquet", rows) else {
            return;
        };
        assert_eq!(deleted.len() as i64, descriptor.cardinality);
        assert!(rows.is_none_or(|rows| deleted.max().is_none_or(|last| last < rows)));
        // Row groups that follow each other share the rows out.
        let mut first = 0;
        let mut found = 0;
        for _ in 0..5 {
            let group = *dice.pick(&[1, 100, 65_536, 1 << 31]);
            let part = deleted_in(&deleted, first, group, "f.parquet").expect("a small group");
            assert!(part.max().is_none_or(|last| u64::from(last) < group));
            found += part.len();
            first += group;
        }
        assert_eq!(found, deleted.rank(first - 1));
    }
}

/// What the log says; mostly what the vector has, as far as it has anything.
fn cardinality(vector: &[u8], dice: &mut Dice) -> i64 {
    let decoded = vector
        .get(4..)
        .and_then(|bytes| roaring::RoaringTreemap::deserialize_from(bytes).ok());
    match (decoded, dice.below(10)) {
        (Some(decoded), 1..) => decoded.len() as i64,
        _ => dice.below(100) as i64,
    }
}

fn distort(descriptor: &mut DeletionVectorDescriptor, dice: &mut Dice) {
    match dice.below(5) {
        0 => {
            let kinds = ["i", "u", "p", "", "x", "ü"];
            (*dice.pick(&kinds)).clone_into(&mut descriptor.storage_type);
        }
        1 => {
            let text = damaged(descriptor.path_or_inline_dv.as_bytes(), dice);
            descriptor.path_or_inline_dv = String::from_utf8_lossy(&text).into_owned();
        }
        2 => {
            descriptor.offset = *dice.pick(&[
                None,
                Some(0),
                Some(1),
                Some(2),
                Some(-1),
                Some(i32::MAX),
                Some(i32::MIN),
            ]);
        }
        3 => {
            descriptor.size_in_bytes = *dice.pick(&[
                0,
                1,
                -1,
                i32::MAX,
                i32::MIN,
                1 << 20,
                descriptor.size_in_bytes + 1,
            ]);
        }
        _ => descriptor.cardinality = *dice.pick(&[0, -1, i64::MAX, i64::MIN, 1]),
    }
}
