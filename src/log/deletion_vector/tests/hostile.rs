//! Vectors that are not what they say.

use super::*;

/// Each byte of the vector, its size and its checksum counts.
#[test]
fn every_flipped_bit_is_noticed() {
    let mut table = Table::new();
    let vector = table.add(ROWS);
    for at in 0..table.bytes.len() * 8 {
        table.bytes[at / 8] ^= 1 << (at % 8);
        table.write();
        assert!(table.read(&vector).is_err(), "bit {at}");
        table.bytes[at / 8] ^= 1 << (at % 8);
    }
    let whole = table.bytes.clone();
    for length in 0..whole.len() {
        table.bytes.truncate(length);
        table.write();
        assert_refused(table.read(&vector), libc::EIO, &["only"]);
        table.bytes.clone_from(&whole);
    }
}

#[test]
fn counts_are_checked_against_the_bytes_that_are_there() {
    let magic = bitmap::MAGIC.to_le_bytes();
    let of = |parts: &[&[u8]]| bitmap::decode(&parts.concat());
    let problem = |parts: &[&[u8]]| match of(parts) {
        Err(BitmapError::Damaged(problem)) => problem,
        other => panic!("{other:?}"),
    };
    assert_eq!(of(&[&[0; 4]]), Err(BitmapError::Magic(0)));
    assert!(problem(&[&magic[..3]]).contains("3 bytes"));
    assert!(problem(&[&magic, &[0; 7]]).contains("7 bytes"));
    assert!(problem(&[&magic, &[0xFF; 8]]).contains("18446744073709551615 buckets"));
    assert!(problem(&[&magic, &[0; 8], &[0]]).contains("1 bytes follow"));
    let mut one = Vec::new();
    RoaringBitmap::from([7]).serialize_into(&mut one).unwrap();
    let two = 2_u64.to_le_bytes();
    let key = |key: u32| key.to_le_bytes();
    assert_eq!(
        rows(&of(&[&magic, &two, &key(0), &one, &key(2), &one]).unwrap()),
        [7, (2 << 32) + 7]
    );
    for keys in [[1, 0], [1, 1], [0, 1 << 31]] {
        let found = problem(&[&magic, &two, &key(keys[0]), &one, &key(keys[1]), &one]);
        assert!(found.contains("ascending"), "{found}");
    }
}

/// A vector of which every length and count lies may cost an error, not memory or a panic.
fn exercise(bytes: &[u8]) {
    if let Ok(rows) = bitmap::decode(bytes) {
        assert!(rows.max().is_none_or(|last| last < 1 << 63));
    }
}

proptest! {
    #[test]
    fn damaged_vectors_never_panic(
        set in prop::collection::btree_set(0_u64..1 << 34, 1..200),
        dense in any::<bool>(),
        edits in prop::collection::vec((any::<u16>(), any::<u8>()), 1..6),
    ) {
        let mut map: RoaringTreemap = set.into_iter().collect();
        if dense {
            map.insert_range(70_000..90_000);
            map.optimize();
        }
        let mut bytes = bitmap::MAGIC.to_le_bytes().to_vec();
        map.serialize_into(&mut bytes).unwrap();
        for (at, byte) in edits {
            let at = usize::from(at) % bytes.len();
            bytes[at] = byte;
        }
        exercise(&bytes);
    }

    #[test]
    fn any_bytes_after_the_magic_number_never_panic(
        count in 0_u64..4,
        rest in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let magic = bitmap::MAGIC.to_le_bytes();
        exercise(&[&magic[..], &count.to_le_bytes(), &rest].concat());
    }
}
