//! Column chunks that are decoded and encoded anew.

use deltafs::parquet::{
    Annotation, Change, ChunkMeta, ChunkShape, Conversion, Footer, Node, NodeKind, PhysicalType,
    Repetition, SourceChunk, SourceStatistics, chunk_size_bound, rewrite_chunk,
};
use roaring::RoaringBitmap;

use super::super::dice::Dice;
use super::super::footer::Object;
use super::footers::Sample;
use super::{damaged, run};

/// A leaf of a file.
struct Leaf {
    physical: PhysicalType,
    annotation: Annotation,
    max_definition: i16,
    max_repetition: i16,
}

/// A file and what its footer says.
struct File {
    sample: Sample,
    /// Each column chunk, the rows of its row group, and which leaf it is of.
    chunks: Vec<(ChunkMeta, u64, usize)>,
    leaves: Vec<Leaf>,
}

impl File {
    fn new(sample: Sample) -> File {
        let footer = Footer::read(&Object::new(sample.bytes.clone())).expect("a file");
        let mut chunks = Vec::new();
        for group in footer.row_groups_meta().expect("row groups") {
            for (leaf, chunk) in group.chunks.into_iter().enumerate() {
                chunks.push((chunk, group.num_rows, leaf));
            }
        }
        let mut found = Vec::new();
        leaves(footer.columns(), (0, 0), &mut found);
        File {
            sample,
            chunks,
            leaves: found,
        }
    }
}

fn leaves(nodes: &[Node], (definition, repetition): (i16, i16), found: &mut Vec<Leaf>) {
    for node in nodes {
        let definition = definition + i16::from(node.repetition != Repetition::Required);
        let repetition = repetition + i16::from(node.repetition == Repetition::Repeated);
        match &node.kind {
            NodeKind::Leaf { physical, .. } => found.push(Leaf {
                physical: *physical,
                annotation: node.annotation,
                max_definition: definition,
                max_repetition: repetition,
            }),
            NodeKind::Group(children) => leaves(children, (definition, repetition), found),
        }
    }
}

#[test]
fn fuzz_chunks() {
    run("chunks", 5_000, target());
}

/// Tries one case.
pub fn target() -> impl FnMut(&mut Dice) {
    let mut files: Vec<File> = Sample::all().into_iter().map(File::new).collect();
    files.retain(|file| !file.chunks.is_empty());
    move |dice| {
        let file = dice.pick(&files);
        let (chunk, rows, leaf) = dice.pick(&file.chunks);
        let leaf = &file.leaves[*leaf];
        let (start, end) = (chunk.start as usize, (chunk.start + chunk.length) as usize);
        let whole = &file.sample.bytes[start..end];
        let pages = match dice.below(20) {
            0 => whole.to_vec(),
            _ => damaged(whole, dice),
        };
        let mut shape = ChunkShape {
            codec: chunk.codec,
            encodings: &chunk.encodings,
            has_dictionary: chunk.dictionary_page_offset.is_some(),
            num_values: chunk.num_values,
            rows: *rows,
            uncompressed_size: chunk.uncompressed_size,
            physical: leaf.physical,
            annotation: leaf.annotation,
            max_definition: leaf.max_definition,
            max_repetition: leaf.max_repetition,
        };
        if dice.below(3) == 0 {
            distort(&mut shape, dice);
        }
        let claims = match dice.below(3) {
            0 => SourceStatistics::default(),
            _ => SourceStatistics {
                null_count: Some(dice.below(5) as u64),
                bounds: Some((&b"\0\0\0\0\0\0\0\0"[..], &b"\0\0\0\x7f"[..])),
            },
        };
        let source = SourceChunk {
            length: pages.len() as u64,
            reader: &Object::new(pages),
            location: "hostile.parquet",
            column: "a.b",
            start: 0,
            shape,
            statistics: claims,
            zone: None,
        };
        let deleted = deleted(shape.rows, dice);
        let change = change(&shape, dice);
        let Ok(made) = rewrite_chunk(&source, &deleted, change) else {
            return;
        };
        let left = shape.rows - deleted.range_cardinality(..shape.rows as u32);
        let bound = chunk_size_bound(&shape, left, change);
        assert!(bound.is_none_or(|bound| made.bytes.len() as u64 <= bound));
        let repeats = match change {
            Change::NullBeside { max_repetition, .. } => max_repetition,
            _ => shape.max_repetition,
        };
        assert!(made.num_values == left || repeats > 0 && made.num_values >= left);
    }
}

fn distort(shape: &mut ChunkShape<'_>, dice: &mut Dice) {
    const NUMBERS: [u64; 8] = [0, 1, 2, 100, 1 << 20, 1 << 31, 1 << 40, u64::MAX >> 1];
    match dice.below(8) {
        0 => shape.codec = dice.below(9) as i32 - 1,
        1 => shape.encodings = *dice.pick(&[&[] as &[i32], &[0, 3], &[8], &[5], &[7], &[9, -1]]),
        2 => shape.has_dictionary ^= true,
        3 => shape.num_values = *dice.pick(&NUMBERS),
        4 => shape.rows = (*dice.pick(&NUMBERS)).min(u32::MAX.into()),
        5 => shape.uncompressed_size = *dice.pick(&NUMBERS),
        6 => {
            shape.physical = *dice.pick(&[
                PhysicalType::Boolean,
                PhysicalType::Int32,
                PhysicalType::Int64,
                PhysicalType::Int96,
                PhysicalType::Float,
                PhysicalType::Double,
                PhysicalType::ByteArray,
                PhysicalType::FixedLenByteArray(0),
                PhysicalType::FixedLenByteArray(3),
                PhysicalType::FixedLenByteArray(i32::MAX as u32),
                PhysicalType::FixedLenByteArray(u32::MAX),
            ]);
        }
        _ => {
            shape.max_repetition = dice.below(4) as i16;
            shape.max_definition = shape.max_repetition + dice.below(4) as i16;
        }
    }
}

fn deleted(rows: u64, dice: &mut Dice) -> RoaringBitmap {
    let rows = rows.min(1 << 20) as usize;
    match dice.below(4) {
        0 => RoaringBitmap::new(),
        _ if rows == 0 => RoaringBitmap::new(),
        1 => (0..dice.below(rows + 1) as u32).collect(),
        2 => (0..rows as u32).step_by(1 + dice.below(5)).collect(),
        _ => RoaringBitmap::from_iter([dice.below(rows) as u32]),
    }
}

fn change(shape: &ChunkShape<'_>, dice: &mut Dice) -> Change {
    let physical = *dice.pick(&[
        PhysicalType::Int32,
        PhysicalType::Int64,
        PhysicalType::Double,
        PhysicalType::FixedLenByteArray(9),
        PhysicalType::FixedLenByteArray(16),
    ]);
    match dice.below(4) {
        0 | 1 => Change::Keep,
        2 => Change::Convert {
            physical,
            conversion: *dice.pick(&[
                Conversion::Int32ToInt64,
                Conversion::Int32ToDouble,
                Conversion::FloatToDouble,
                Conversion::DaysToMicros,
                Conversion::Int96ToMicros,
                Conversion::MillisToMicros,
                Conversion::NanosToMicros,
                Conversion::Decimal { shift: 0 },
                Conversion::Decimal { shift: 3 },
                Conversion::Decimal { shift: 38 },
            ]),
        },
        _ => {
            let repetition = dice.below(shape.max_repetition as usize + 1) as i16;
            let room = (shape.max_definition - repetition).max(0) as usize + 1;
            let definition = repetition + dice.below(room) as i16;
            let deeper = dice.below(3) as i16;
            Change::NullBeside {
                definition,
                repetition,
                physical,
                max_definition: definition + 1 + deeper,
                max_repetition: repetition + dice.below(deeper as usize + 1) as i16,
            }
        }
    }
}
