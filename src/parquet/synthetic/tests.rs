use super::*;
use crate::parquet::Levels;

const ROWS: [u64; 9] = [
    0,
    1,
    7,
    8,
    9,
    999_999,
    PAGE_ROWS,
    PAGE_ROWS + 1,
    3 * PAGE_ROWS,
];

fn leaf(physical: PhysicalType, definition: u16, repetition: u16) -> LeafShape {
    LeafShape {
        physical,
        levels: Levels {
            definition,
            repetition,
        },
    }
}

fn kinds() -> Vec<Synthetic<'static>> {
    let constant = |physical, definition, value| {
        Synthetic::constant(leaf(physical, definition, 0), value).unwrap()
    };
    vec![
        constant(PhysicalType::Boolean, 1, &[1]),
        constant(PhysicalType::Boolean, 0, &[0]),
        constant(PhysicalType::Int32, 0, &[1, 2, 3, 4]),
        constant(PhysicalType::ByteArray, 1, b"a text"),
        Synthetic::null(leaf(PhysicalType::Int64, 1, 0), 0).unwrap(),
        Synthetic::null(leaf(PhysicalType::ByteArray, 5, 2), 2).unwrap(),
        Synthetic::null(leaf(PhysicalType::Float, 300, 280), 299).unwrap(),
    ]
}

#[test]
fn sizes_are_known_beforehand() {
    for synthetic in kinds() {
        for rows in ROWS {
            let chunk = synthetic.chunk(rows).unwrap();
            assert_eq!(synthetic.size(rows), Ok(chunk.bytes.len() as u64));
            assert_eq!(chunk.uncompressed_size, chunk.bytes.len() as u64);
            assert_eq!(chunk.num_values, rows);
            let Some(index) = chunk.page_index else {
                assert_eq!(rows, 0);
                continue;
            };
            assert!(index.column_index.len() as u64 <= synthetic.index_bound(rows));
            assert_eq!(index.pages.len() as u64, synthetic.pages(rows));
            // The pages follow each other up to the end of the chunk.
            let mut at = chunk.data_page_at;
            for (position, (start, size, first_row)) in index.pages.into_iter().enumerate() {
                assert_eq!((start, first_row), (at, position as u64 * PAGE_ROWS));
                at += u64::from(size);
            }
            assert_eq!(at, chunk.bytes.len() as u64);
        }
    }
}

#[test]
fn pages_hold_what_they_should() {
    let constant = Synthetic::constant(leaf(PhysicalType::ByteArray, 1, 0), b"ab").unwrap();
    let page = constant.data_page(1_000);
    // Definition levels: their length, 1,000 times 1; indices of one bit: 1,000 times 0.
    assert!(page.ends_with(&[3, 0, 0, 0, 0xD0, 0x0F, 1, 1, 0xD0, 0x0F, 0]));
    assert!(
        constant
            .dictionary_page(1_000)
            .ends_with(&[2, 0, 0, 0, b'a', b'b'])
    );

    let deep = Synthetic::null(leaf(PhysicalType::ByteArray, 300, 280), 299).unwrap();
    let levels = [
        &[4, 0, 0, 0, 0xD0, 0x0F, 0, 0][..],
        &[4, 0, 0, 0, 0xD0, 0x0F, 0x2B, 1],
    ];
    assert!(deep.data_page(1_000).ends_with(&levels.concat()));
    assert!(deep.dictionary_page(1_000).is_empty());

    let bits = Synthetic::constant(leaf(PhysicalType::Boolean, 0, 0), &[1]).unwrap();
    assert!(bits.data_page(11).ends_with(&[0, 0, 0xFF, 0x07]));
}

#[test]
fn values_that_are_none_of_the_type_are_refused() {
    let wrong: [(PhysicalType, &[u8]); 8] = [
        (PhysicalType::Boolean, &[]),
        (PhysicalType::Boolean, &[2]),
        (PhysicalType::Int32, &[0; 8]),
        (PhysicalType::Int64, &[0; 4]),
        (PhysicalType::Int96, &[0; 8]),
        (PhysicalType::Float, &[]),
        (PhysicalType::Double, &[0; 9]),
        (PhysicalType::FixedLenByteArray(3), &[0; 4]),
    ];
    for (physical, value) in wrong {
        assert!(
            Synthetic::constant(leaf(physical, 1, 0), value).is_err(),
            "{physical}"
        );
    }
    assert!(Synthetic::constant(leaf(PhysicalType::Int32, 1, 1), &[0; 4]).is_err());
    assert!(Synthetic::null(leaf(PhysicalType::Int32, 1, 0), 1).is_err());
    assert!(Synthetic::null(leaf(PhysicalType::Int32, 0, 0), 0).is_err());
}

#[test]
fn rows_beyond_reason_are_refused_at_once() {
    for synthetic in kinds() {
        for rows in [1_000_000_000_000, u64::MAX] {
            assert!(synthetic.size(rows).is_err());
            assert!(synthetic.chunk(rows).is_err());
        }
    }
    // A hundred million rows are a hundred small pages, but for booleans.
    for synthetic in &kinds()[2..] {
        assert!(synthetic.size(100_000_000).unwrap() < 8_000);
    }
    let value = vec![b'x'; 5_000];
    let long = Synthetic::constant(leaf(PhysicalType::ByteArray, 1, 0), &value).unwrap();
    let chunk = long.chunk(10).unwrap();
    assert_eq!(chunk.statistics.unwrap().bounds, None);
    assert_eq!(chunk.page_index.unwrap().column_index, Bytes::new());
}

#[test]
fn zeros_and_what_is_no_number_have_the_bounds_the_format_asks_for() {
    let bounds = |physical, value: &[u8]| {
        let constant = Synthetic::constant(leaf(physical, 0, 0), value).unwrap();
        let bounds = constant.bounds();
        bounds.map(|(min, max)| (min.to_vec(), max.to_vec()))
    };
    for zero in [0f32, -0.0] {
        let expected = ((-0f32).to_le_bytes().to_vec(), 0f32.to_le_bytes().to_vec());
        assert_eq!(
            bounds(PhysicalType::Float, &zero.to_le_bytes()),
            Some(expected)
        );
    }
    for zero in [0f64, -0.0] {
        let expected = ((-0f64).to_le_bytes().to_vec(), 0f64.to_le_bytes().to_vec());
        assert_eq!(
            bounds(PhysicalType::Double, &zero.to_le_bytes()),
            Some(expected)
        );
    }
    assert_eq!(bounds(PhysicalType::Float, &f32::NAN.to_le_bytes()), None);
    assert_eq!(
        bounds(PhysicalType::Double, &(-f64::NAN).to_le_bytes()),
        None
    );
    assert_eq!(bounds(PhysicalType::Int96, &[1; 12]), None);
    let infinite = f64::NEG_INFINITY.to_le_bytes().to_vec();
    assert_eq!(
        bounds(PhysicalType::Double, &infinite),
        Some((infinite.clone(), infinite.clone()))
    );
}
