//! Parquet checkpoints that claim more than they hold.

use parquet::basic::{Compression, ZstdLevel};
use serde_json::json;

use super::allocations;
use super::support::{TableBuilder, add, batch_of, open_root, parquet_compressed};

const ID: &[(&str, &str)] = &[("id", "long")];

/// Thrift's form of a number: seven bits a byte, the sign last.
fn zigzag(number: i64) -> Vec<u8> {
    let mut left = ((number << 1) ^ (number >> 63)).cast_unsigned();
    let mut bytes = Vec::new();
    loop {
        let byte = (left & 0x7f) as u8;
        left >>= 7;
        if left == 0 {
            bytes.push(byte);
            return bytes;
        }
        bytes.push(byte | 0x80);
    }
}

/// The file with the number that may begin at `at` replaced by a huge one.
///
/// Where numbers are is not known: where none was, something else breaks. Its length is right where
/// the last byte is the first without the continuation bit.
fn with_claim(whole: &[u8], at: usize, claim: &[u8]) -> Vec<u8> {
    let mut bytes = whole.to_vec();
    let continued = bytes[at..].iter().take_while(|byte| **byte & 0x80 != 0);
    let end = (at + 1 + continued.count()).min(bytes.len() - 8);
    let grown = claim.len() as i64 - (end - at) as i64;
    bytes.splice(at..end, claim.iter().copied());
    // The footer says its own length.
    let tail = bytes.len() - 8;
    let footer = u32::from_le_bytes(bytes[tail..tail + 4].try_into().expect("four bytes"));
    if at >= whole.len() - 8 - footer as usize {
        let longer = (i64::from(footer) + grown) as u32;
        bytes[tail..tail + 4].copy_from_slice(&longer.to_le_bytes());
    }
    bytes
}

/// Every number in the pages and the footer of a checkpoint, one at a time, becomes a huge one:
/// sizes of pages, counts of values and rows, offsets, lengths of lists and texts.
#[test]
fn claims_of_size_take_no_memory() {
    let mut table = TableBuilder::with_schema(ID);
    table.commit(
        (0..40)
            .map(|at| add(&format!("f{at}.parquet")).stats(json!({"numRecords": 1})))
            .collect::<Vec<_>>(),
    );
    table.commit_adds(1);
    let name = "00000000000000000001.checkpoint.parquet";
    let state = table.reference(1);
    let rows = batch_of(&[state.non_file_actions(), state.file_actions()].concat());
    table.delete_commits(0..=1);
    let huge = [1 << 28, 1 << 30, i64::from(i32::MAX), i64::MAX].map(zigzag);
    let zstd = Compression::ZSTD(ZstdLevel::default());
    for (turn, compression) in [Compression::UNCOMPRESSED, Compression::SNAPPY, zstd]
        .into_iter()
        .enumerate()
    {
        let whole = parquet_compressed(&rows, compression);
        table.write_log(name, &whole);
        assert_eq!(table.live(2).len(), 40);
        for at in (4 + turn..whole.len() - 8).step_by(3) {
            table.write_log(name, with_claim(&whole, at, &huge[at % huge.len()]));
            if let Ok(generation) = open_root(&table.root()).map(|table| table.current())
                && let Ok(snapshot) = generation.snapshot(2)
            {
                let _ = generation.num_records(snapshot.files());
            }
            allocations::check();
        }
    }
}
