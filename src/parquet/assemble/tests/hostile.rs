//! Footers that are not what they seem.

use proptest::prelude::*;

use super::super::super::testing::MemoryObject;
use super::*;

/// Presents whatever schema the file has, with more columns.
fn exercise(bytes: &[u8]) {
    let Ok(footer) = Footer::read(&MemoryObject::new(bytes.to_vec())) else {
        return;
    };
    let Ok(metas) = footer.row_groups_meta() else {
        return;
    };
    for chunk in metas.iter().flat_map(|meta| &meta.chunks) {
        assert!(chunk.start + chunk.length <= footer.data_end());
    }
    let mut schema = vec![leaf(
        "c",
        Annotation::None,
        PhysicalType::Boolean,
        constant(&[1]),
    )];
    schema.extend(mirror(footer.columns()));
    let groups: Vec<_> = metas
        .iter()
        .enumerate()
        .map(|(original, meta)| OutputGroup {
            original,
            rows: meta.num_rows,
            dropped: false,
        })
        .collect();
    let mut most = 0;
    let mut tail = |bytes: Bytes| {
        most = most.max(bytes.len());
        Ok::<_, ParquetError>(())
    };
    let bound = size_bound(&footer, &schema, &groups, &|_, _| 0);
    let made = assemble(&footer, &schema, &groups, &mut no_make, &mut tail, None);
    match (bound, made) {
        (Ok(bound), Ok(extents)) => {
            assert!(extents.iter().map(Extent::len).sum::<u64>() <= bound);
            assert!(most <= 300 << 20);
        }
        (Err(_), Err(_)) => {}
        (bound, made) => panic!("{bound:?}, but {made:?}"),
    }
    for leaf in 0..20 {
        let (nulls, values) = (footer.null_count(leaf), footer.num_values(leaf));
        assert!(nulls.is_none() || values.is_some());
    }
}

#[test]
fn what_cannot_be_annotated_has_no_size() {
    let bytes = sample();
    let footer = footer_of(bytes);
    let mut schema = mirror(footer.columns());
    schema[0].annotation = Annotation::Other("UUID");
    let groups = whole(&footer);
    let bound = size_bound(&footer, &schema, &groups, &|_, _| 0).unwrap_err();
    let made = assembled(&footer, &schema, &groups, &mut no_make, None).unwrap_err();
    assert_eq!(bound.to_string(), made.to_string());
    assert!(bound.to_string().contains("UUID"), "{bound}");
}

proptest! {
    #![proptest_config(crate::base::random::cases(500))]

    #[test]
    fn flipped_bytes_are_an_error_or_a_file(
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)
    ) {
        thread_local!(static SAMPLE: Vec<u8> = sample());
        SAMPLE.with(|sample| {
            let mut bytes = sample.clone();
            let start = footer_of(bytes.clone()).data_end() as usize;
            let length = bytes.len() - 8 - start;
            for (at, value) in flips {
                bytes[start + at.index(length)] = value;
            }
            exercise(&bytes);
        });
    }
}

#[test]
fn every_byte_of_a_footer_may_be_a_huge_number() {
    let sample = sample();
    let start = footer_of(sample.clone()).data_end() as usize;
    for at in (start..sample.len() - 8).step_by(3) {
        let mut bytes = sample.clone();
        let end = (at + 9).min(sample.len() - 9);
        bytes[at..end].fill(0xFF);
        exercise(&bytes);
    }
}
