//! Footers: parsed, planned, and written anew.

use std::fs;

use bytes::Bytes;
use deltafs::parquet::{Extent, Footer, OutputGroup, ParquetError, assemble, file_size_bound};
use deltafs::schema::{MappingMode, StructType};
use deltafs::view::Layout;
use deltafs::view::PresentedSchema;
use deltafs::view::identity::compare;
use deltafs::view::plan::plan;

use super::super::dice::Dice;
use super::super::footer::Object;
use super::super::tables::{Mapping, case_of_seed, delta_struct};
use super::{damaged, run};

/// A data file and what a table makes of it.
pub struct Sample {
    pub bytes: Vec<u8>,
    /// Where its footer starts.
    pub footer: usize,
    schemas: [StructType; 2],
    mapping: MappingMode,
}

impl Sample {
    /// Files of random tables, some of them with rows.
    pub fn all() -> Vec<Sample> {
        (0..40)
            .map(|seed| {
                let case = case_of_seed(seed);
                let made = case.make();
                let bytes = fs::read(made.table.path("part-0.parquet")).expect("it was written");
                let parse = |text: String| StructType::parse(&text).expect("a right schema");
                Sample {
                    footer: bytes.len() - 8 - footer_length(&bytes),
                    bytes,
                    schemas: made
                        .expected
                        .map(|shown| parse(delta_struct(&shown.columns).to_string())),
                    mapping: match case.mapping {
                        Mapping::None => MappingMode::None,
                        Mapping::Name => MappingMode::Name,
                        Mapping::Id => MappingMode::Id,
                    },
                }
            })
            .collect()
    }

    /// The file with a damaged footer.
    pub fn with_damaged_footer(&self, dice: &mut Dice) -> Vec<u8> {
        let end = self.bytes.len() - 8;
        let footer = damaged(&self.bytes[self.footer..end], dice);
        let length = (footer.len() as u32).to_le_bytes();
        [&self.bytes[..self.footer], &footer, &length, b"PAR1"].concat()
    }
}

fn footer_length(bytes: &[u8]) -> usize {
    let at = bytes.len() - 8;
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes")) as usize
}

#[test]
fn fuzz_footers() {
    run("footers", 6_000, target());
}

/// Row groups that claim sizes which the format has no room for together.
#[test]
fn what_cannot_be_assembled_has_no_size() {
    target()(&mut Dice::new(1_796_051_484_755_375_791));
}

/// Tries one case.
pub fn target() -> impl FnMut(&mut Dice) {
    let samples = Sample::all();
    move |dice| {
        let sample = dice.pick(&samples);
        let bytes = match dice.below(50) {
            0 => sample.bytes.clone(),
            _ => sample.with_damaged_footer(dice),
        };
        exercise(sample, bytes, dice);
    }
}

fn exercise(sample: &Sample, bytes: Vec<u8>, dice: &mut Dice) {
    let Ok(footer) = Footer::read(&Object::new(bytes.clone())) else {
        return;
    };
    for leaf in 0..20 {
        let (constant, nulls) = (footer.constant(leaf), footer.null_count(leaf));
        assert!(
            nulls.is_none() || footer.num_values(leaf).is_some(),
            "{constant:?}"
        );
    }
    let _ = footer.misleading_hint();
    let Ok(metas) = footer.row_groups_meta() else {
        return;
    };
    let shape = PresentedSchema {
        schema: dice.pick(&sample.schemas),
        partition_columns: &[],
        mapping: sample.mapping,
        layout: Layout::Flat,
    };
    let _ = compare(&footer, &shape, &[]);
    let Ok(schema) = plan(&footer, &shape, &[]) else {
        return;
    };
    let groups: Vec<OutputGroup> = metas
        .iter()
        .enumerate()
        .filter(|_| dice.below(8) > 0)
        .map(|(original, meta)| OutputGroup {
            original,
            rows: meta.num_rows,
            dropped: false,
        })
        .collect();
    let bound = file_size_bound(&footer, &schema, &groups, &|_, _| 0);
    let mut tail: Vec<u8> = Vec::new();
    let mut refused = false;
    let mut make = |_: usize, _: usize| {
        refused = true;
        Err(ParquetError::Malformed {
            location: String::new(),
            reason: "no chunk is made here".to_owned(),
        })
    };
    let mut keep = |bytes: Bytes| {
        tail.extend_from_slice(&bytes);
        Ok::<_, ParquetError>(())
    };
    let made = assemble(&footer, &schema, &groups, &mut make, &mut keep, None);
    let (bound, extents) = match (bound, made) {
        (Ok(bound), Ok(extents)) => (bound, extents),
        (_, Err(_)) if refused => return,
        (Err(_), Err(_)) => return,
        (bound, made) => panic!("{bound:?}, but {made:?}"),
    };
    let size: u64 = extents.iter().map(Extent::len).sum();
    assert!(
        size <= bound,
        "{size} bytes, and no more than {bound} were promised"
    );
    if size > 64 << 20 {
        return;
    }
    let mut file = Vec::new();
    for extent in extents {
        match extent {
            Extent::Original { start, length } => {
                file.extend_from_slice(&bytes[start as usize..(start + length) as usize]);
            }
            Extent::Made { start, length } => {
                file.extend_from_slice(&tail[start as usize..(start + length) as usize]);
            }
            Extent::Zeros(count) => file.resize(file.len() + count as usize, 0),
        }
    }
    // What was written can be read, and says the same of the row groups.
    let footer = Footer::read(&Object::new(file)).expect("a footer of our own");
    let written = footer.row_groups_meta().expect("row groups of our own");
    let rows = |metas: &[deltafs::parquet::RowGroupMeta]| -> Vec<u64> {
        metas.iter().map(|meta| meta.num_rows).collect()
    };
    let expected: Vec<u64> = groups.iter().map(|group| group.rows).collect();
    assert_eq!(rows(&written), expected);
}
