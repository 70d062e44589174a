//! Real deletion vectors (PROTOCOL.md, "Deletion Vector Format").

use roaring::RoaringTreemap;
use serde_json::{Value, json};

const MAGIC: u32 = 1_681_511_377;

/// The serialised vector: magic number, then the portable 64-bit form.
pub fn serialized_vector(rows: &[u64]) -> Vec<u8> {
    let mut bytes = MAGIC.to_le_bytes().to_vec();
    RoaringTreemap::from_iter(rows)
        .serialize_into(&mut bytes)
        .expect("writing to memory");
    bytes
}

/// A descriptor with the vector itself in it, which deletes `rows`, counted from 0.
pub fn inline_vector(rows: &[u64]) -> Value {
    let bytes = serialized_vector(rows);
    json!({
        "storageType": "i",
        "pathOrInlineDv": z85(&bytes),
        "sizeInBytes": bytes.len(),
        "cardinality": rows.len(),
    })
}

/// The bytes of a deletion vector file with these serialised vectors, the first of which begins at
/// byte 1.
pub fn vector_file(vectors: &[&[u8]]) -> Vec<u8> {
    let mut file = vec![1];
    for vector in vectors {
        file.extend((vector.len() as u32).to_be_bytes());
        file.extend_from_slice(vector);
        file.extend(crc32fast::hash(vector).to_be_bytes());
    }
    file
}

/// Z85 (<https://rfc.zeromq.org/spec/32/>), padded with zeros to whole groups of four bytes.
pub fn z85(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 85] =
        b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";
    let mut text = String::new();
    for group in bytes.chunks(4) {
        let mut padded = [0; 4];
        padded[..group.len()].copy_from_slice(group);
        let number = u32::from_be_bytes(padded);
        for power in (0..5).rev() {
            let digit = number / 85_u32.pow(power) % 85;
            text.push(char::from(ALPHABET[digit as usize]));
        }
    }
    text
}

#[test]
fn vectors_are_written_as_delta_writes_them() {
    // The rows of "JSON Example 3 — Inline", in the format of "Deletion Vector Format".
    let vector = inline_vector(&[3, 4, 7, 11, 18, 29]);
    assert_eq!(vector["sizeInBytes"], 44);
    assert_eq!(
        vector["pathOrInlineDv"],
        "^Bg9^0rr910000000000iXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L"
    );
}
