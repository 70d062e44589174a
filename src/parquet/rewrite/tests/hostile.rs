//! Chunks that are not what they should be: an error or a result, never a panic.

use ::parquet::data_type::{
    ByteArray, ByteArrayType, DataType, FixedLenByteArray, FixedLenByteArrayType, Int32Type,
    Int64Type,
};
use roaring::RoaringBitmap;

use super::support::{self, Column, Random, Style, Written, write};
use crate::parquet::rewrite::{Change, rewrite_chunk};
use crate::parquet::{ParquetError, PhysicalType};

fn problem(written: &Written) -> String {
    rewrite_chunk(
        &written.source(),
        &RoaringBitmap::from_iter([1]),
        Change::Keep,
    )
    .expect_err("damaged")
    .to_string()
}

fn ints() -> Column<i32> {
    let mut random = Random(5);
    Column::random(&mut random, PhysicalType::Int32, (1, 0), 1_000, |random| {
        random.below(100) as i32
    })
}

#[test]
fn a_footer_that_counts_otherwise_is_refused() {
    let written = || write::<Int32Type>(&ints(), &Style::default());
    for (rows, num_values) in [
        (999, 999),
        (1_001, 1_001),
        (1_000, 999),
        (1_000, 1_001),
        (0, 0),
    ] {
        let found = problem(&Written {
            rows,
            num_values,
            ..written()
        });
        assert!(
            found.contains("part-0.parquet") && found.contains("a.b"),
            "{found}"
        );
    }
    let found = problem(&Written {
        length: 1 << 40,
        ..written()
    });
    assert!(found.contains("1099511627776 bytes"), "{found}");
    let found = problem(&Written {
        length: 1 << 20,
        ..written()
    });
    assert!(found.contains("1048576 bytes from 11 on"), "{found}");
    let found = problem(&Written {
        codec: 3,
        ..written()
    });
    assert!(found.contains("codec 3"), "{found}");
    let found = problem(&Written {
        codec: 0,
        ..written()
    });
    assert!(found.contains("damaged column chunk at 11"), "{found}");
    let cut = written().pages();
    problem(&written().with_pages(&cut[..cut.len() - 1]));
    // Levels that the schema does not have.
    let deep = Column {
        max_definition: 3,
        definition: vec![3, 2, 3],
        rows: 3,
        ..Column::required(PhysicalType::Int32, vec![1, 2])
    };
    let deep = Written {
        levels: (2, 0),
        ..write::<Int32Type>(&deep, &Style::default())
    };
    assert!(problem(&deep).contains("definition level"));
}

#[test]
fn a_chunk_larger_than_its_footer_says_is_refused() {
    let values = (0..5_000_u64)
        .map(|n| ByteArray::from(support::bytes(n, 50)))
        .collect();
    let column = Column::required(PhysicalType::ByteArray, values);
    let style = Style {
        dictionary: false,
        ..Style::default()
    };
    let written = Written {
        uncompressed_size: 1_000,
        ..write::<ByteArrayType>(&column, &style)
    };
    let error = rewrite_chunk(&written.source(), &RoaringBitmap::new(), Change::Keep);
    assert!(
        matches!(error, Err(ParquetError::LargerThanFooter { .. })),
        "{error:?}"
    );
}

#[test]
fn strings_that_share_long_prefixes_are_read() {
    let text = |n: usize| ByteArray::from(vec![b'a'; n]);
    let column = Column::required(PhysicalType::ByteArray, (0..3_000).map(text).collect());
    let style = Style {
        dictionary: false,
        encoding: 2,
        ..Style::default()
    };
    let written = write::<ByteArrayType>(&column, &style);
    let made = rewrite_chunk(&written.source(), &RoaringBitmap::new(), Change::Keep).expect("made");
    let found = support::read::<ByteArrayType>(&made, PhysicalType::ByteArray, (0, 0), 3_000);
    assert_eq!(found.values, column.values);
}

/// Room for two thousand million bytes was reserved for each value.
#[test]
fn streams_of_values_longer_than_the_page_are_refused() {
    let value = |n: u8| FixedLenByteArray::from(ByteArray::from(vec![n; 4]));
    let column = Column::required(
        PhysicalType::FixedLenByteArray(4),
        (0..100).map(value).collect(),
    );
    let style = Style {
        dictionary: false,
        encoding: 1,
        ..Style::default()
    };
    let written = write::<FixedLenByteArrayType>(&column, &style);
    let mut source = written.source();
    let deleted = RoaringBitmap::from_iter([1]);
    assert!(rewrite_chunk(&source, &deleted, Change::Keep).is_ok());
    source.shape.physical = PhysicalType::FixedLenByteArray(i32::MAX as u32);
    let error = rewrite_chunk(&source, &deleted, Change::Keep).expect_err("damaged");
    let text = error.to_string();
    assert!(
        text.contains("claims 100 of 2147483647 bytes each"),
        "{text}"
    );
}

/// A delta header: a block of 128 in four parts, that many values, the first one, and what follows.
fn delta(values: u64, first: u8, blocks: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x80, 0x01, 4];
    let mut left = values;
    while left >= 0x80 {
        bytes.push(left as u8 | 0x80);
        left >>= 7;
    }
    bytes.extend([left as u8, first]);
    bytes.extend(blocks);
    bytes
}

#[test]
fn lengths_that_claim_too_much_are_refused_before_they_are_reserved() {
    use crate::parquet::rewrite::delta::{check_lengths, check_prefixes};
    assert_eq!(check_lengths(&delta(1, 0, &[]), 1), Ok(()));
    for bytes in [
        delta(2, 0, &[]),
        delta(1 << 60, 0, &[]),
        vec![0x80; 20],
        vec![],
        vec![0x80, 0x01, 0, 1, 0],
        vec![0x81, 0x01, 4, 1, 0],
    ] {
        check_lengths(&bytes, 1).expect_err("too much");
    }
    assert!(check_lengths(&delta(1 << 25, 0, &[]), u32::MAX).is_err());
    // Prefixes of 0, 1, 2 (steps of one, no bits), and suffixes of one byte each.
    let prefixes = [delta(3, 0, &[2, 0, 0, 0, 0]), delta(3, 2, &[0, 0, 0, 0, 0])].concat();
    let decoded = check_prefixes(&prefixes, 3).expect("sound");
    assert_eq!(decoded, 3 + 10);
    // A million prefixes, each longer by 2,000.
    let mut long = delta(1_000_000, 0, &[]);
    for _ in 0..1_000_000 / 128 + 1 {
        long.extend([0xa0, 0x1f, 0, 0, 0, 0]);
    }
    long.extend(delta(1, 2, &[0, 0, 0, 0, 0]));
    let decoded = check_prefixes(&long, 1_000_000).expect("sound");
    assert!(decoded > crate::parquet::rewrite::delta::MAX_DECODED);
    check_prefixes(&delta(3, 0, &[2, 40, 0, 0, 0]), 3).expect_err("too wide");
    check_prefixes(&delta(3, 0, &[2, 8, 0, 0, 0, 1, 2]), 3).expect_err("cut off");
}

/// Changes bytes of a chunk at random, again and again.
fn fuzz<T: DataType>(column: &Column<T::T>, style: &Style, seed: u64) -> (usize, usize) {
    let mut random = Random(seed);
    let (mut made, mut refused) = (0, 0);
    let pages = write::<T>(column, style).pages();
    let deleted = RoaringBitmap::from_iter((0..column.rows as u32).step_by(3));
    for _ in 0..150 {
        let mut changed = pages.clone();
        for _ in 0..=random.below(3) {
            // Headers and levels, at the start of pages, matter most.
            let limit = if random.below(2) == 0 {
                changed.len().min(60)
            } else {
                changed.len()
            };
            let at = random.below(limit as u64) as usize;
            changed[at] = match random.below(3) {
                0 => changed[at] ^ (1 << random.below(8)),
                1 => 0xff,
                _ => random.below(256) as u8,
            };
        }
        if random.below(10) == 0 {
            changed.truncate(random.below(changed.len() as u64) as usize);
        }
        let written = write::<T>(column, style).with_pages(&changed);
        match rewrite_chunk(&written.source(), &deleted, Change::Keep) {
            Ok(_) => made += 1,
            Err(_) => refused += 1,
        }
    }
    (made, refused)
}

#[test]
fn damaged_bytes_are_an_error_or_a_result() {
    let (mut made, mut refused) = (0, 0);
    let mut seed = 1;
    for codec in [0, 1, 6] {
        for (dictionary, version_2, encoding) in [
            (true, false, 0),
            (false, false, 0),
            (false, true, 1),
            (false, false, 2),
            (true, true, 2),
        ] {
            let style = Style {
                codec,
                dictionary,
                version_2,
                encoding,
                page_rows: 200,
                ..Style::default()
            };
            seed += 2;
            let mut random = Random(seed);
            let levels = if encoding == 1 { (3, 1) } else { (1, 0) };
            let int64 = Column::random(&mut random, PhysicalType::Int64, levels, 600, |random| {
                random.below(1_000) as i64
            });
            let text = Column::random(
                &mut random,
                PhysicalType::ByteArray,
                levels,
                600,
                |random| {
                    let n = random.below(50);
                    ByteArray::from(support::bytes(n, n as usize))
                },
            );
            let fixed = PhysicalType::FixedLenByteArray(5);
            let fixed = Column::random(&mut random, fixed, levels, 600, |random| {
                FixedLenByteArray::from(support::bytes(random.below(50), 5))
            });
            for (good, bad) in [
                fuzz::<Int64Type>(&int64, &style, seed),
                fuzz::<ByteArrayType>(&text, &style, seed),
                fuzz::<FixedLenByteArrayType>(&fixed, &style, seed),
            ] {
                made += good;
                refused += bad;
            }
        }
    }
    assert!(
        made > 100 && refused > 100,
        "{made} made, {refused} refused"
    );
}

/// As pyarrow writes them where it gives up a dictionary: the last record before one is not one
/// that goes on.
#[test]
fn pages_without_entries_change_nothing() {
    let column: Column<i32> =
        Column::random(&mut Random(7), PhysicalType::Int32, (3, 1), 100, |random| {
            random.below(100) as i32
        });
    let style = Style {
        codec: 0,
        dictionary: false,
        ..Style::default()
    };
    let written = || write::<Int32Type>(&column, &style);
    // A data page of version 1 with two empty runs of levels.
    let mut empty = vec![0x15, 0, 0x15, 16, 0x15, 16, 0x2c];
    empty.extend([0x15, 0, 0x15, 0, 0x15, 6, 0x15, 6, 0, 0]);
    empty.extend([0; 8]);
    let whole = written().pages();
    for pages in [
        [&empty[..], &whole].concat(),
        [&whole[..], &empty].concat(),
        [&whole[..], &empty, &empty].concat(),
    ] {
        let padded = written().with_pages(&pages);
        for deleted in [RoaringBitmap::new(), RoaringBitmap::from_iter([3, 99])] {
            let make = |source: &Written| rewrite_chunk(&source.source(), &deleted, Change::Keep);
            assert_eq!(
                make(&padded).expect("it is whole"),
                make(&written()).expect("it is whole")
            );
        }
    }
}
