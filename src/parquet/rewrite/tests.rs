//! What is made of a chunk, against what a plain loop over rows makes of it.

mod bounds;
mod conversions;
mod hostile;
mod patched;
mod speed;
mod support;

use ::parquet::basic::Encoding;
use ::parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, FixedLenByteArray,
    FixedLenByteArrayType, FloatType, Int32Type, Int64Type, Int96Type,
};
use proptest::prelude::*;
use roaring::RoaringBitmap;

use super::{Change, rewrite_chunk, size_bound};
use crate::parquet::{MadeChunk, PhysicalType};
use support::{Column, Random, Style, Written, anew, patched, read, write};

/// Codecs by their numbers in the format; LZ4 with its old framing among them.
const CODECS: [i32; 7] = [0, 1, 2, 4, 5, 6, 7];

/// The highest definition and repetition level of leaves: required, optional, in structs, lists of
/// three and of two levels, lists in lists.
const LEVELS: [(i16, i16); 6] = [(0, 0), (1, 0), (4, 0), (3, 1), (1, 1), (6, 3)];

fn style() -> impl Strategy<Value = Style> {
    (
        any::<bool>(),
        any::<bool>(),
        prop::sample::select(CODECS.to_vec()),
        prop::sample::select(vec![0, 1, 2]),
        prop::sample::select(vec![3_usize, 50, 20_000]),
        prop::sample::select(vec![60_usize, 1_000, 1 << 20]),
    )
        .prop_map(
            |(dictionary, version_2, codec, encoding, page_rows, dictionary_limit)| Style {
                dictionary,
                version_2,
                codec,
                encoding,
                page_rows,
                dictionary_limit,
            },
        )
}

/// How many rows, which of them go (a share of 256, clustered or not), and how many distinct values.
#[derive(Debug, Clone)]
struct Rows {
    rows: usize,
    gone: u64,
    clustered: bool,
    distinct: u64,
    seed: u64,
}

fn rows() -> impl Strategy<Value = Rows> {
    (
        prop::sample::select(vec![0_usize, 1, 7, 300, 3_000, 9_000]),
        prop::sample::select(vec![0_u64, 1, 60, 250, 256]),
        any::<bool>(),
        prop::sample::select(vec![1_u64, 5, 200, u64::MAX]),
        any::<u64>(),
    )
        .prop_map(|(rows, gone, clustered, distinct, seed)| Rows {
            rows,
            gone,
            clustered,
            distinct,
            seed,
        })
}

impl Rows {
    fn deleted(&self, random: &mut Random) -> RoaringBitmap {
        let mut deleted = RoaringBitmap::new();
        let mut gone = false;
        for row in 0..self.rows as u32 {
            if !self.clustered || row % 64 == 0 {
                gone = random.below(256) < self.gone;
            }
            if gone {
                deleted.insert(row);
            }
        }
        // Rows of the next row group do not count.
        deleted.insert(self.rows as u32 + 3);
        deleted
    }
}

/// What is left of a column.
fn without<V: Clone>(column: &Column<V>, deleted: &RoaringBitmap) -> Column<V> {
    let mut left = Column {
        definition: Vec::new(),
        repetition: Vec::new(),
        values: Vec::new(),
        rows: 0,
        ..*column
    };
    let entries = if column.max_definition > 0 {
        column.definition.len()
    } else if column.max_repetition > 0 {
        column.repetition.len()
    } else {
        column.values.len()
    };
    let (mut row, mut values) = (None, column.values.iter());
    for entry in 0..entries {
        if column.max_repetition == 0 || column.repetition[entry] == 0 {
            row = Some(row.map_or(0, |row| row + 1));
            left.rows += usize::from(!deleted.contains(row.expect("set")));
        }
        let stays = !deleted.contains(row.expect("the first entry starts a row"));
        if stays && column.max_definition > 0 {
            left.definition.push(column.definition[entry]);
        }
        if stays && column.max_repetition > 0 {
            left.repetition.push(column.repetition[entry]);
        }
        if column.max_definition == 0 || column.definition[entry] == column.max_definition {
            let value = values.next().expect("a value for each entry");
            if stays {
                left.values.push(value.clone());
            }
        }
    }
    left
}

/// Drops rows of a random column and compares.
fn check_drop<T: DataType>(
    physical: PhysicalType,
    levels: (i16, i16),
    style: &Style,
    rows: &Rows,
    value: impl Fn(u64) -> T::T,
) where
    T::T: PartialEq + std::fmt::Debug,
{
    let mut random = Random(rows.seed | 1);
    let column = Column::random(&mut random, physical, levels, rows.rows, |random| {
        value(random.below(rows.distinct))
    });
    let deleted = rows.deleted(&mut random);
    let expected = without(&column, &deleted);
    let check = |made: &MadeChunk| {
        let found = read::<T>(made, physical, levels, expected.rows);
        assert_eq!(found.values, expected.values);
        assert_eq!(found.definition, expected.definition);
        assert_eq!(found.repetition, expected.repetition);
        assert_eq!(made.num_values, expected.entries() as u64);
        let statistics = made.statistics.as_ref().expect("always there");
        assert_eq!(
            statistics.null_count,
            (expected.entries() - expected.values.len()) as u64
        );
    };
    let written = write::<T>(&column, style);
    let encoded = anew(&written.source(), &deleted).expect("made");
    check(&encoded);
    let bound = size_bound(&written.shape(), expected.rows as u64, Change::Keep);
    // Where it is not known, values share prefixes.
    match bound {
        Some(bound) => assert!(
            encoded.bytes.len() as u64 <= bound,
            "{} > {bound}",
            encoded.bytes.len()
        ),
        None => assert!(
            written
                .encodings
                .contains(&(Encoding::DELTA_BYTE_ARRAY as i32))
        ),
    }
    // With statistics in the footer, and without.
    let known = written.with_statistics();
    for written in [&written, &known] {
        let patched = patched(&written.source(), &deleted);
        let encodings = support::data_encodings(&written.pages().into());
        let patchable = encodings.iter().all(|used| [0, 2, 3, 8].contains(used));
        assert_eq!(
            patched.is_ok(),
            patchable && style.codec != 5 && expected.rows > 0,
            "{patched:?}"
        );
        let made = rewrite_chunk(&written.source(), &deleted, Change::Keep).expect("made");
        match patched {
            Ok(patched) => {
                check(&patched);
                assert_eq!(patched.statistics, encoded.statistics);
                assert!(made == patched || made == encoded);
                let fits = bound.is_none_or(|bound| patched.bytes.len() as u64 <= bound);
                assert_eq!(made == patched, fits || patched == encoded);
            }
            Err(_) => assert!(made == encoded),
        }
    }
}

proptest! {
    #![proptest_config(crate::base::random::cases(48))]

    #[test]
    fn rows_are_dropped_from_numbers(
        style in style(), rows in rows(), levels in prop::sample::select(LEVELS.to_vec()),
    ) {
        check_drop::<BoolType>(PhysicalType::Boolean, levels, &style, &rows, |n| n % 3 == 0);
        check_drop::<Int32Type>(PhysicalType::Int32, levels, &style, &rows, |n| n as i32);
        check_drop::<Int64Type>(PhysicalType::Int64, levels, &style, &rows, |n| n as i64);
        check_drop::<FloatType>(PhysicalType::Float, levels, &style, &rows, |n| n as f32 / 3.0);
        check_drop::<DoubleType>(PhysicalType::Double, levels, &style, &rows, |n| n as f64 / 3.0);
    }

    #[test]
    fn rows_are_dropped_from_bytes(
        style in style(), rows in rows(), levels in prop::sample::select(LEVELS.to_vec()),
        width in prop::sample::select(vec![1_u32, 7, 16, 100]),
    ) {
        check_drop::<Int96Type>(PhysicalType::Int96, levels, &style, &rows, support::int96);
        check_drop::<ByteArrayType>(PhysicalType::ByteArray, levels, &style, &rows, |n| {
            ByteArray::from(support::bytes(n, (n % 40) as usize))
        });
        let fixed = PhysicalType::FixedLenByteArray(width);
        check_drop::<FixedLenByteArrayType>(fixed, levels, &style, &rows, |n| {
            FixedLenByteArray::from(support::bytes(n, width as usize))
        });
    }
}

#[test]
fn the_bound_holds_for_what_does_not_compress() {
    for codec in CODECS {
        for dictionary in [false, true] {
            let style = Style {
                codec,
                dictionary,
                ..Style::default()
            };
            let rows = Rows {
                rows: 300_000,
                gone: 1,
                clustered: false,
                distinct: u64::MAX,
                seed: 7,
            };
            check_drop::<Int64Type>(PhysicalType::Int64, (1, 0), &style, &rows, |n| n as i64);
            let rows = Rows {
                rows: 20_000,
                ..rows
            };
            check_drop::<ByteArrayType>(PhysicalType::ByteArray, (3, 1), &style, &rows, |n| {
                ByteArray::from(support::bytes(n, (n % 100) as usize))
            });
        }
    }
}

#[test]
fn a_dictionary_is_kept_and_what_is_plain_stays_plain() {
    let column = Column::required(
        PhysicalType::ByteArray,
        (0..50_000_u64)
            .map(|n| ByteArray::from(support::bytes(n % 10, 30)))
            .collect(),
    );
    for dictionary in [false, true] {
        let style = Style {
            dictionary,
            codec: 0,
            ..Style::default()
        };
        let written = write::<ByteArrayType>(&column, &style);
        let deleted = RoaringBitmap::from_iter([5]);
        let made = rewrite_chunk(&written.source(), &deleted, Change::Keep).expect("made");
        assert_eq!(made.dictionary_page_at.is_some(), dictionary);
        let bound = size_bound(&written.shape(), 49_999, Change::Keep).expect("known");
        // The footer does not tell how many values the dictionary has, nor how wide indices are.
        let most = made.bytes.len() as u64 * if dictionary { 5 } else { 2 };
        assert!(bound < most, "{bound} for {}", made.bytes.len());
        assert_eq!(made.codec, 0);
        assert!(made.uncompressed_size >= made.bytes.len() as u64);
    }
}

/// Texts that `n` determines, and a chunk of them.
fn texts(numbers: impl Iterator<Item = u64>, style: &Style) -> (Vec<ByteArray>, Written) {
    let texts: Vec<ByteArray> = numbers
        .map(|n| ByteArray::from(support::bytes(n, 30)))
        .collect();
    let column = Column::required(PhysicalType::ByteArray, texts.clone());
    (texts, write::<ByteArrayType>(&column, style))
}

#[test]
fn what_lies_behind_a_dictionary_that_was_full_stays_plain() {
    let style = Style {
        dictionary_limit: 2_000,
        codec: 0,
        ..Style::default()
    };
    // Few values at first, then all differ.
    let numbers = (0..30_000).map(|n| if n < 10_000 { n % 10 } else { n });
    let (texts, written) = texts(numbers, &style);
    let deleted = RoaringBitmap::from_iter([0, 29_999]);
    let made = anew(&written.source(), &deleted).expect("made");
    assert_eq!(support::data_encodings(&made.bytes), [8, 0]);
    assert_eq!(made.dictionary_page_at, Some(0));
    let found = read::<ByteArrayType>(&made, PhysicalType::ByteArray, (0, 0), 29_998);
    assert_eq!(found.values, texts[1..29_999]);
    // A batch is all that moves into the dictionary.
    assert!((made.bytes.len() as u64) < written.length + 4_096 * 4);
    assert_eq!(made.uncompressed_size, made.bytes.len() as u64);
}

#[test]
fn a_chunk_that_returns_to_its_dictionary_keeps_all_in_one() {
    let in_dictionary = Style {
        codec: 0,
        ..Style::default()
    };
    let plain = Style {
        dictionary: false,
        ..in_dictionary
    };
    let (first, written) = texts((0..9_000).map(|n| n % 10), &in_dictionary);
    let (second, plain) = texts(100..6_000, &plain);
    let pages = written.pages();
    let dictionary = pages.len() - written.data_pages as usize;
    let pages = [&pages, &plain.pages()[..], &pages[dictionary..]].concat();
    let written = Written {
        num_values: 23_900,
        rows: 23_900,
        uncompressed_size: pages.len() as u64,
        ..written.with_pages(&pages)
    };
    let made = anew(&written.source(), &RoaringBitmap::new()).expect("made");
    assert_eq!(support::data_encodings(&made.bytes), [8]);
    let found = read::<ByteArrayType>(&made, PhysicalType::ByteArray, (0, 0), 23_900);
    assert!(found.values == [&first[..], &second[..], &first[..]].concat());
}

#[test]
fn large_values_make_many_pages() {
    let column = Column::required(
        PhysicalType::ByteArray,
        (0..40_u64)
            .map(|n| ByteArray::from(support::bytes(n, 300_000)))
            .collect(),
    );
    let style = Style {
        dictionary: false,
        codec: 0,
        ..Style::default()
    };
    let written = write::<ByteArrayType>(&column, &style);
    let made = rewrite_chunk(&written.source(), &RoaringBitmap::new(), Change::Keep).expect("made");
    let found = read::<ByteArrayType>(&made, PhysicalType::ByteArray, (0, 0), 40);
    assert_eq!(found.values, column.values);
    // No bound that long is kept.
    assert_eq!(made.statistics.expect("there").bounds, None);
}
