//! Pages that are patched: which stay as they are, and what is known of their values.

use ::parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, FixedLenByteArray,
    FixedLenByteArrayType, FloatType, Int32Type, Int64Type,
};
use roaring::RoaringBitmap;

use super::support::{Column, Random, Style, Written, anew, bytes, patched, read, write};
use super::{CODECS, LEVELS, without};
use crate::parquet::rewrite::{Change, rewrite_chunk};
use crate::parquet::{Annotation, MadeChunk, PhysicalType};

/// Pages with their headers.
fn split(mut pages: &[u8]) -> Vec<&[u8]> {
    let mut found = Vec::new();
    while !pages.is_empty() {
        let length = crate::parquet::rewrite::patch::page_length(pages).expect("a page");
        let (page, rest) = pages.split_at(length);
        found.push(page);
        pages = rest;
    }
    found
}

#[test]
fn pages_of_which_no_row_goes_stay_as_they_are() {
    let mut random = Random(77);
    for levels in LEVELS {
        for (codec, version_2, dictionary) in CODECS
            .into_iter()
            .filter(|&codec| codec != 5)
            .flat_map(|codec| {
                [
                    (codec, true, true),
                    (codec, false, true),
                    (codec, true, false),
                ]
            })
        {
            let style = Style {
                codec,
                version_2,
                dictionary,
                page_rows: 64,
                ..Style::default()
            };
            let column = Column::random(
                &mut random,
                PhysicalType::Int64,
                levels,
                64 * 20,
                |random| random.below(90) as i64,
            );
            let written = write::<Int64Type>(&column, &style);
            // All of a page, the last rows of one, and the first of one.
            let deleted: RoaringBitmap = (64 * 3..64 * 4).chain([64 * 7 - 1, 64 * 9]).collect();
            let made = patched(&written.source(), &deleted).expect("patched");
            let pages = written.pages();
            let (pages, left) = (split(&pages), split(&made.bytes));
            let dictionary = usize::from(dictionary);
            if levels.1 == 0 {
                assert_eq!(
                    (pages.len(), left.len()),
                    (20 + dictionary, 19 + dictionary)
                );
                for page in 0..20 {
                    let to = dictionary + page - usize::from(page > 3);
                    match page {
                        3 => {}
                        6 | 9 => assert!(pages[dictionary + page] != left[to]),
                        _ => assert!(pages[dictionary + page] == left[to], "{page}"),
                    }
                }
            } else {
                // A page ends with a row, but of any length.
                let changed = left.iter().filter(|page| !pages.contains(page)).count();
                let gone = pages.iter().filter(|page| !left.contains(page)).count();
                assert!((2..=5).contains(&changed), "{changed}");
                assert!((changed..=8).contains(&gone), "{gone}");
                assert!(pages.len() >= 15 + dictionary);
            }
            assert!(dictionary == 0 || pages[0] == left[0]);
            let expected = without(&column, &deleted);
            let found = read::<Int64Type>(&made, PhysicalType::Int64, levels, expected.rows);
            assert!(found.values == expected.values);
            assert_eq!(found.definition, expected.definition);
            assert_eq!(found.repetition, expected.repetition);
        }
    }
}

#[test]
fn what_a_patched_chunk_says_of_its_sizes_is_so() {
    let style = Style {
        codec: 0,
        page_rows: 50,
        ..Style::default()
    };
    let values = (0..1_000_u64).map(|n| ByteArray::from(bytes(n % 30, 20)));
    let column = Column::required(PhysicalType::ByteArray, values.collect());
    let written = write::<ByteArrayType>(&column, &style);
    for deleted in [RoaringBitmap::new(), (0..1_000).step_by(7).collect()] {
        let made = patched(&written.source(), &deleted).expect("patched");
        assert_eq!(made.uncompressed_size, made.bytes.len() as u64);
        assert_eq!(made.encodings, [0, 8]);
        assert_eq!(made.dictionary_page_at, Some(0));
        assert_eq!(made.data_page_at, split(&made.bytes)[0].len() as u64);
    }
    let made = patched(&written.source(), &RoaringBitmap::new()).expect("patched");
    assert!(made.bytes == written.pages());
}

#[test]
fn a_dictionary_that_no_page_refers_to_goes() {
    let values = |from: u64| (from..from + 100).map(|n| ByteArray::from(bytes(n, 20)));
    let style = |dictionary| Style {
        codec: 0,
        dictionary,
        ..Style::default()
    };
    let write = |from, dictionary| {
        let column = Column::required(PhysicalType::ByteArray, values(from).collect());
        write::<ByteArrayType>(&column, &style(dictionary))
    };
    let (first, second) = (write(0, true), write(100, false));
    let first_pages = first.pages();
    let pages = [&first_pages[..], &second.pages()].concat();
    let written = Written {
        rows: 200,
        num_values: 200,
        uncompressed_size: pages.len() as u64,
        ..first.with_pages(&pages)
    };
    let deleted = (0..100).collect();
    let made = patched(&written.source(), &deleted).expect("patched");
    assert!(made.bytes == second.pages());
    assert_eq!((made.dictionary_page_at, made.data_page_at), (None, 0));
    assert_eq!((made.num_values, &made.encodings[..]), (100, &[0][..]));
    assert_eq!(made.uncompressed_size, made.bytes.len() as u64);
    let made = patched(&written.source(), &(100..200).collect()).expect("patched");
    assert!(made.bytes == first_pages);
    assert_eq!(made.dictionary_page_at, Some(0));
}

/// A chunk of those values without each of some sets of rows, by both ways: the bounds are alike.
fn check_bounds<T: DataType>(physical: PhysicalType, annotation: Annotation, values: &[T::T]) {
    let rows = values.len() as u32;
    for (dictionary, version_2, page_rows) in [
        (true, false, 2),
        (false, false, 2),
        (true, true, 3),
        (false, true, 1_000),
    ] {
        let style = Style {
            dictionary,
            version_2,
            page_rows,
            codec: 1,
            ..Style::default()
        };
        let column = Column::required(physical, values.to_vec());
        let written = Written {
            annotation,
            ..write::<T>(&column, &style)
        }
        .with_statistics();
        for rows in 1..(1_u32 << rows) - 1 {
            let deleted = (0..32).filter(|row| rows >> row & 1 == 1).collect();
            let made = patched(&written.source(), &deleted).expect("patched");
            let expected = anew(&written.source(), &deleted).expect("made");
            let told = |made: &MadeChunk| made.statistics.clone().expect("there").bounds;
            assert_eq!(
                told(&made),
                told(&expected),
                "{values:?} without {deleted:?}"
            );
        }
    }
}

#[test]
fn bounds_are_those_of_what_stays() {
    use PhysicalType::{
        Boolean, ByteArray as Binary, Double, FixedLenByteArray as Fixed, Float, Int32,
    };
    let none = Annotation::None;
    check_bounds::<Int32Type>(Int32, none, &[3, -5, 4, 4, -5, 0, 9]);
    let unsigned = Annotation::Integer {
        bits: 32,
        signed: false,
    };
    check_bounds::<Int32Type>(Int32, unsigned, &[3, -5, 4]);
    check_bounds::<BoolType>(Boolean, none, &[true, false, true, true, false]);
    let nan = f64::NAN;
    check_bounds::<DoubleType>(Double, none, &[1.5, 0.0, -0.0, 3.0, 0.0, 1.5]);
    check_bounds::<DoubleType>(Double, none, &[-0.0, -1.0, 0.0]);
    check_bounds::<DoubleType>(Double, none, &[1.5, nan, 2.0, nan, 3.0]);
    check_bounds::<FloatType>(Float, none, &[1.5, f32::NAN, 2.0, f32::NAN, -0.0]);
    let binary = |values: &[&[u8]]| -> Vec<ByteArray> {
        let values = values.iter().map(|value| ByteArray::from(value.to_vec()));
        values.collect()
    };
    let long = [b'z'; 300];
    let texts = binary(&[b"b", b"", b"a", b"\xff", b"b", &long, b"a"]);
    check_bounds::<ByteArrayType>(Binary, Annotation::String, &texts);
    let decimal = Annotation::Decimal {
        precision: 9,
        scale: 2,
    };
    let decimals = binary(&[b"\xff\xff", b"\x7f", b"\x80", b"\x00\x01"]);
    check_bounds::<ByteArrayType>(Binary, decimal, &decimals);
    let fixed = [*b"\x80\x00", *b"\x7f\xff", *b"\x00\x00", *b"\x80\x00"];
    let fixed = fixed.map(|value| FixedLenByteArray::from(value.to_vec()));
    check_bounds::<FixedLenByteArrayType>(Fixed(2), decimal, &fixed);
    check_bounds::<FixedLenByteArrayType>(Fixed(2), none, &fixed);
}

#[test]
fn a_nan_that_a_footer_leaves_out_leaves_no_bounds() {
    for dictionary in [true, false] {
        let style = Style {
            dictionary,
            page_rows: 2,
            ..Style::default()
        };
        let values = vec![1.0, 2.0, 3.0, 4.0, f64::NAN, 5.0, 6.0];
        let column = Column::required(PhysicalType::Double, values);
        let bound = |value: f64| value.to_le_bytes().to_vec();
        let written = Written {
            null_count: Some(0),
            bounds: Some((bound(1.0), bound(6.0))),
            ..write::<DoubleType>(&column, &style)
        };
        // On a page that stays as it is, on one that does not, and gone.
        for (row, expected) in [(1, None), (5, None), (4, Some((bound(1.0), bound(6.0))))] {
            let made = patched(&written.source(), &RoaringBitmap::from_iter([row]));
            let bounds = made.expect("patched").statistics.expect("there").bounds;
            let bounds = bounds.map(|(least, greatest)| (least.to_vec(), greatest.to_vec()));
            assert_eq!(bounds, expected, "without {row}");
        }
    }
}

#[test]
fn many_small_pages_that_would_not_fit_are_encoded_anew() {
    let style = Style {
        page_rows: 1,
        dictionary: false,
        ..Style::default()
    };
    let column = Column::required(PhysicalType::Int32, (0..2_000).collect());
    let written = write::<Int32Type>(&column, &style);
    let pages = written.pages();
    // The writer does not make pages that small of batches of 64.
    let page = split(&pages)[0];
    let small = Column::required(PhysicalType::Int32, vec![7]);
    let small = write::<Int32Type>(&small, &style).pages();
    let pages = [page, &small.repeat(1_000)].concat();
    let rows = 64 + 1_000;
    let written = Written {
        rows,
        num_values: rows,
        ..written.with_pages(&pages)
    };
    let deleted = RoaringBitmap::from_iter([0]);
    let source = written.source();
    let found = patched(&source, &deleted).expect("patched");
    let made = rewrite_chunk(&source, &deleted, Change::Keep).expect("made");
    assert!(found.bytes.len() > 3 * made.bytes.len());
    assert!(made == anew(&source, &deleted).expect("made"));
}

#[test]
fn a_dictionary_with_many_equal_values_is_no_burden() {
    // As no writer makes it: 1,000 values, all of them 7.
    let column = Column::required(PhysicalType::Int32, (0..1_000).collect());
    let style = Style {
        codec: 0,
        ..Style::default()
    };
    let written = write::<Int32Type>(&column, &style);
    let mut pages = written.pages();
    let dictionary = split(&pages)[0].len();
    pages[dictionary - 4_000..dictionary].copy_from_slice(&7_i32.to_le_bytes().repeat(1_000));
    let seven = 7_i32.to_le_bytes().to_vec();
    let written = Written {
        null_count: Some(0),
        bounds: Some((seven.clone(), seven.clone())),
        ..written.with_pages(&pages)
    };
    let made = patched(&written.source(), &RoaringBitmap::from_iter([1])).expect("patched");
    let bounds = made.statistics.expect("there").bounds.expect("there");
    assert_eq!((&bounds.0[..], &bounds.1[..]), (&seven[..], &seven[..]));
}

#[test]
fn an_index_beyond_the_dictionary_is_refused() {
    let column = Column::required(PhysicalType::Int32, (0..200).map(|n| n % 5).collect());
    let style = Style {
        codec: 0,
        ..Style::default()
    };
    let written = write::<Int32Type>(&column, &style);
    let mut pages = written.pages();
    *pages.last_mut().expect("a page") = 0xff;
    let written = written.with_pages(&pages);
    let deleted = RoaringBitmap::from_iter([0]);
    let refused = patched(&written.source(), &deleted).expect_err("damaged");
    assert!(refused.contains("index 7"), "{refused}");
    rewrite_chunk(&written.source(), &deleted, Change::Keep).expect_err("damaged");
}
