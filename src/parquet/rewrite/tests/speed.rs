//! How fast rows are dropped from a file of one's own, both ways.

use std::time::Duration;

use roaring::RoaringBitmap;
use rustix::time::{ClockId, clock_gettime};

use super::support::{Random, anew, patched};
use crate::parquet::LeafShape;
use crate::parquet::rewrite::{Change, ChunkShape, SourceChunk, rewrite_chunk};
use crate::parquet::testing::MemoryObject;
use crate::parquet::{Footer, NodeKind};

/// Processor time that `work` takes on this thread.
fn time<T>(spent: &mut Duration, work: impl FnOnce() -> T) -> T {
    let now = || {
        let now = clock_gettime(ClockId::ThreadCPUTime);
        Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
    };
    let before = now();
    let result = work();
    *spent += now() - before;
    result
}

/// `DELTAFS_SPEED_FILE=table.parquet cargo test --release --lib speed -- --ignored --nocapture`,
/// with a file without structs and lists.
#[test]
#[ignore = "measures, with a file that DELTAFS_SPEED_FILE names"]
fn megabytes_a_second() {
    let path = std::env::var_os("DELTAFS_SPEED_FILE").expect("DELTAFS_SPEED_FILE names a file");
    let object = MemoryObject::new(std::fs::read(path).expect("readable"));
    let footer = Footer::read(&object).expect("a Parquet file");
    let leaves = LeafShape::of_leaves(footer.columns());
    let groups = footer.row_groups_meta().expect("row groups");
    let mut random = Random(9);
    for (what, share, cluster) in [
        ("0.1% at random", 1_000, 1),
        ("0.1% clustered", 1_000, 500),
        ("10 rows per row group", 0, 1),
        ("20% at random", 5, 1),
    ] {
        let mut spent = [Duration::ZERO; 3];
        let (mut bytes, mut declined) = (0, Vec::new());
        let mut columns = vec![[Duration::ZERO; 2]; leaves.len()];
        let mut sizes = vec![0; leaves.len()];
        for group in &groups {
            let rows = group.num_rows;
            let mut deleted = RoaringBitmap::new();
            let count = rows.checked_div(share).unwrap_or(10) / cluster;
            for _ in 0..count.max(1) {
                let first = random.below(rows) as u32;
                deleted.extend(first..first + cluster as u32);
            }
            deleted.remove_range(rows as u32..);
            for (leaf, chunk) in group.chunks.iter().enumerate() {
                let shape = &leaves[leaf];
                let node = &footer.columns()[leaf];
                assert!(
                    matches!(node.kind, NodeKind::Leaf { .. }),
                    "no structs and lists"
                );
                let source = SourceChunk {
                    reader: &object,
                    location: "the file",
                    column: &node.name,
                    start: chunk.start,
                    length: chunk.length,
                    shape: ChunkShape {
                        codec: chunk.codec,
                        encodings: &chunk.encodings,
                        has_dictionary: chunk.dictionary_page_offset.is_some(),
                        num_values: chunk.num_values,
                        rows,
                        uncompressed_size: chunk.uncompressed_size,
                        physical: shape.physical,
                        annotation: node.annotation,
                        max_definition: shape.levels.definition as i16,
                        max_repetition: shape.levels.repetition as i16,
                    },
                    statistics: footer.chunk_statistics(chunk),
                    zone: None,
                };
                bytes += chunk.length;
                sizes[leaf] += chunk.length;
                let before = spent;
                let typed = time(&mut spent[0], || anew(&source, &deleted)).expect("made");
                let found = time(&mut spent[1], || patched(&source, &deleted));
                columns[leaf][0] += spent[0] - before[0];
                columns[leaf][1] += spent[1] - before[1];
                let made = time(&mut spent[2], || {
                    rewrite_chunk(&source, &deleted, Change::Keep)
                });
                let made = made.expect("made");
                assert_eq!(made.statistics, typed.statistics, "{}", node.name);
                assert_eq!(made.num_values, typed.num_values, "{}", node.name);
                match found {
                    Ok(found) if found == made => {}
                    Ok(_) => declined.push(format!("{}: too large", node.name)),
                    Err(reason) => declined.push(format!("{}: {reason}", node.name)),
                }
            }
        }
        let speed = |bytes: u64, spent: Duration| bytes as f64 / 1e6 / spent.as_secs_f64();
        println!(
            "{what}: {:.0} MB, encoded anew {:.0} MB/s, patched {:.0} MB/s, rewrite_chunk {:.0} \
             MB/s, not patched: {declined:?}",
            bytes as f64 / 1e6,
            speed(bytes, spent[0]),
            speed(bytes, spent[1]),
            speed(bytes, spent[2]),
        );
        for (leaf, [typed, patched]) in columns.iter().enumerate() {
            println!(
                "    {}: {:.1} MB, {:.0}, {:.0} MB/s",
                footer.columns()[leaf].name,
                sizes[leaf] as f64 / 1e6,
                speed(sizes[leaf], *typed),
                speed(sizes[leaf], *patched),
            );
        }
    }
}
