//! Footers built by hand, and damaged ones.

use bytes::Bytes;
use proptest::prelude::*;

use super::*;

fn parse(metadata: Vec<u8>) -> Result<Footer, ParquetError> {
    Footer::parse(Bytes::from(metadata), 4, "part-0.parquet")
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value > 0x7F {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

fn zigzag(value: i64) -> Vec<u8> {
    varint(((value << 1) ^ (value >> 63)) as u64)
}

/// The header of a list of structs.
fn structs(count: usize) -> Vec<u8> {
    [vec![0xFC], varint(count as u64)].concat()
}

/// A schema element: an optional INT32 column.
fn leaf(name: &str) -> Vec<u8> {
    [
        &[0x15, 2, 0x25, 2, 0x18, name.len() as u8][..],
        name.as_bytes(),
        &[0],
    ]
    .concat()
}

/// A schema element: an optional group.
fn group(name: &str, children: i64) -> Vec<u8> {
    [
        &[0x35, 2, 0x18, name.len() as u8][..],
        name.as_bytes(),
        &[0x15],
        &zigzag(children),
        &[0],
    ]
    .concat()
}

/// A row group of that many rows and these column chunks.
fn row_group(rows: i64, chunks: &[&[u8]]) -> Vec<u8> {
    [
        &[0x19][..],
        &structs(chunks.len()),
        &chunks.concat(),
        &[0x26],
        &zigzag(rows),
        &[0],
    ]
    .concat()
}

/// A footer whose root has `children` children, followed by `elements`.
fn file_metadata(children: i64, elements: &[Vec<u8>], row_groups: &[Vec<u8>]) -> Vec<u8> {
    [
        &[0x15, 2, 0x19][..],
        &structs(elements.len() + 1),
        &group("m", children),
        &elements.concat(),
        &[0x16],
        &zigzag(0),
        &[0x19],
        &structs(row_groups.len()),
        &row_groups.concat(),
        &[0],
    ]
    .concat()
}

fn reason(metadata: Vec<u8>) -> String {
    match parse(metadata) {
        Err(ParquetError::Malformed { reason, .. }) => reason,
        other => panic!("expected a damaged footer, found {other:?}"),
    }
}

#[test]
fn the_footers_built_by_hand_are_right() {
    let metadata = file_metadata(
        2,
        &[leaf("a"), group("b", 1), leaf("c")],
        &[row_group(0, &[&[0], &[0]])],
    );
    let footer = parse(metadata).unwrap();
    assert_eq!(footer.columns()[1].children()[0].name, "c");
    assert_eq!(footer.row_groups(), 1);
}

#[test]
fn deep_schemas_are_refused_before_the_stack_ends() {
    let nested = |levels: usize| {
        let mut elements = vec![group("a", 1); levels];
        elements.push(leaf("a"));
        file_metadata(1, &elements, &[])
    };
    assert!(parse(nested(127)).is_ok());
    assert!(reason(nested(128)).contains("deeper than 128"));
    assert!(reason(nested(500_000)).contains("deeper than 128"));
}

#[test]
fn the_deepest_schema_has_room_on_a_small_stack() {
    let mut elements = vec![group("a", 1); 127];
    elements.push(leaf("a"));
    let mut metadata = file_metadata(1, &elements, &[]);
    metadata.pop();
    // Field 5: one key-value entry, `ARROW:schema` without a value.
    metadata.extend([0x19, 0x1C, 0x18, 12]);
    metadata.extend(b"ARROW:schema");
    metadata.extend([0, 0]);
    let footer = parse(metadata).unwrap();
    let look = move || footer.misleading_hint().map(|hint| hint.key);
    let thread = std::thread::Builder::new()
        .stack_size(1 << 20)
        .spawn(look)
        .unwrap();
    assert_eq!(thread.join().unwrap(), Some("ARROW:schema"));
}

#[test]
fn every_kind_of_unknown_value_is_passed_over() {
    let mut metadata = file_metadata(1, &[leaf("a")], &[]);
    metadata.pop();
    for value in [
        &[0x11][..],                              // true
        &[0x12],                                  // false
        &[0x13, 0xFF],                            // a byte
        &[0x14, 0xFE, 0x01],                      // 16 bits
        &[0x16, 0x02],                            // 64 bits
        &[0x17, 1, 2, 3, 4, 5, 6, 7, 8],          // a double
        &[0x18, 3, b'a', b'b', b'c'],             // a text
        &[0x19, 0x32, 1, 2, 1],                   // a list of three booleans
        &[0x1A, 0x15, 0x02],                      // a set
        &[0x1B, 0],                               // an empty map
        &[0x1B, 2, 0x85, 1, b'k', 2, 1, b'l', 4], // a map of text to 32 bits
        &[0x1C, 0x11, 0x1C, 0x00, 0x00],          // a struct in a struct
    ] {
        metadata.extend(value);
    }
    // Numbered from 16 on, where the format has no fields: the one before is number 4.
    let first = file_metadata(1, &[leaf("a")], &[]).len() - 1;
    metadata[first] = (12 << 4) | (metadata[first] & 0x0F);
    metadata.push(0);
    assert_eq!(parse(metadata).unwrap().columns().len(), 1);
}

#[test]
fn deep_values_elsewhere_are_refused_too() {
    // Field 15, unknown: lists in one another.
    let mut metadata = file_metadata(0, &[], &[]);
    metadata.pop();
    metadata.extend([0xB9]);
    metadata.extend(vec![0x19; 500_000]);
    metadata.extend([0; 2]);
    assert!(reason(metadata).contains("deeper than 128"));
}

#[test]
fn counts_that_the_bytes_do_not_bear_out_are_refused() {
    assert!(
        reason(file_metadata(i64::from(i32::MAX), &[leaf("a")], &[])).contains("more children")
    );
    assert!(reason(file_metadata(-1, &[], &[])).contains("-1 children"));
    assert!(reason(file_metadata(1, &[leaf("a"), leaf("b")], &[])).contains("1 elements more"));
    assert!(reason(file_metadata(0, &[], &[row_group(1, &[])])).contains("counts 0 rows"));
    assert!(
        reason(file_metadata(1, &[leaf("a")], &[row_group(0, &[])])).contains("1 leaf columns")
    );
    let uneven = [row_group(0, &[&[0]]), row_group(0, &[])];
    assert!(reason(file_metadata(1, &[leaf("a")], &uneven)).contains("1 column chunks, and 0"));
    assert!(reason(file_metadata(0, &[], &[row_group(-1, &[])])).contains("-1 rows"));

    let huge_list = [&[0x15, 2, 0x19][..], &structs(usize::MAX)].concat();
    assert!(reason(huge_list).contains("elements with 0 bytes left"));
    assert!(reason(vec![0x15, 2, 0]).contains("no schema"));
    assert!(reason(vec![]).contains("middle of a value"));
}

#[test]
fn any_flipped_bit_is_an_error_or_a_footer() {
    let whole = small_file();
    for at in 0..whole.len() {
        for bit in 0..8 {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << bit;
            exercise(bytes);
        }
    }
}

/// Everything that looks at the bytes of a footer.
fn exercise(bytes: Vec<u8>) {
    if let Ok(footer) = read(bytes) {
        for leaf in 0..5 {
            footer.constant(leaf);
        }
        footer.misleading_hint();
        footer.key_value("pandas");
    }
}

proptest! {
    #[test]
    fn damaged_footers_never_panic(edits in prop::collection::vec((any::<u16>(), any::<u8>()), 1..6)) {
        let mut bytes = small_file();
        for (at, byte) in edits {
            let at = usize::from(at) % bytes.len();
            bytes[at] = byte;
        }
        exercise(bytes);
    }

    #[test]
    fn any_bytes_as_footer_never_panic(metadata in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = parse(metadata);
    }
}

fn is_encrypted(error: &ParquetError, expected: &str) -> bool {
    matches!(error, ParquetError::Encrypted { what, .. } if *what == expected)
}

#[test]
fn encrypted_files_are_refused_by_name() {
    let mut bytes = small_file();
    let at = bytes.len() - 1;
    bytes[at] = b'E';
    let error = read(bytes).unwrap_err();
    assert!(is_encrypted(&error, "its footer is"), "{error}");

    // A plain footer that says how the columns are encrypted: field 8, an empty struct.
    let mut metadata = file_metadata(1, &[leaf("a")], &[]);
    assert_eq!(metadata.pop(), Some(0));
    metadata.extend([0x0C, 0x10, 0, 0]);
    let error = parse(metadata).unwrap_err();
    assert!(is_encrypted(&error, "its columns are"), "{error}");

    // A column chunk with crypto_metadata: field 8, an empty struct.
    let chunk = [0x8C, 0, 0];
    let error = parse(file_metadata(1, &[leaf("a")], &[row_group(0, &[&chunk])])).unwrap_err();
    assert!(is_encrypted(&error, "its columns are"), "{error}");
}
