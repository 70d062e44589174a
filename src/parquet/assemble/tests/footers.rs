//! What the new footer says, byte for byte where it matters.

use ::parquet::basic::ColumnOrder;

use super::super::super::schema::TimeUnit;
use super::super::super::thrift::{Kind, Reader, write_binary, write_struct};
use super::*;

/// A field of the `FileMetaData` of a file.
fn field_of(file: &Bytes, wanted: i16) -> Option<Vec<u8>> {
    let footer = footer_of(file.to_vec());
    let mut reader = Reader::new(&footer.metadata);
    let mut last = 0;
    while let Some(field) = reader.field(&mut last).unwrap() {
        let value = reader.raw(field).unwrap();
        if field.id == wanted {
            return Some(value.to_vec());
        }
    }
    None
}

/// A file with some of the fields of its footer changed.
pub(super) fn edited(file: &[u8], mut edit: impl FnMut(i16, &[u8]) -> Option<Vec<u8>>) -> Vec<u8> {
    let footer = footer_of(file.to_vec());
    let mut out = file[..footer.data_end() as usize].to_vec();
    let mut written = Vec::new();
    let mut reader = Reader::new(&footer.metadata);
    write_struct(&mut written, |fields| {
        let mut last = 0;
        while let Some(field) = reader.field(&mut last).unwrap() {
            if let Some(value) = edit(field.id, reader.raw(field).unwrap()) {
                fields.verbatim(field, &value);
            }
        }
    });
    out.extend(&written);
    out.extend((written.len() as u32).to_le_bytes());
    out.extend(b"PAR1");
    out
}

/// As the first column a constant, whose chunk lies behind all row groups.
fn constant_first(footer: &Footer) -> Vec<OutputNode> {
    let mut schema = vec![leaf(
        "c",
        Annotation::None,
        PhysicalType::Int32,
        constant(&[1, 0, 0, 0]),
    )];
    schema.extend(mirror(footer.columns()));
    schema
}

#[test]
fn the_footer_starts_above_the_middle_of_each_row_group() {
    let original = sample();
    let footer = footer_of(original.clone());
    for schema in [constant_first(&footer), mirror(footer.columns())] {
        let file = present(&original, &schema);
        let start = footer_of(file.to_vec()).data_end();
        let middles: Vec<i64> = metadata(&file)
            .row_groups()
            .iter()
            .map(|group| group.column(0).byte_range().0 as i64 + group.compressed_size() / 2)
            .collect();
        assert!(
            middles.iter().all(|middle| *middle < start as i64),
            "{middles:?} {start}"
        );
    }
    // The zeros are there because of the middles, and no more than are needed.
    let file = present(&original, &constant_first(&footer));
    let start = footer_of(file.to_vec()).data_end();
    let metadata = metadata(&file);
    let middle = |group: &::parquet::file::metadata::RowGroupMetaData| {
        group.column(0).byte_range().0 as i64 + group.compressed_size() / 2
    };
    let last = metadata.row_groups().iter().map(middle).max().unwrap();
    assert_eq!(start as i64, last + 1);
    let offsets = metadata
        .row_groups()
        .last()
        .unwrap()
        .column(0)
        .offset_index_range()
        .unwrap();
    assert!(offsets.end < start);
}

#[test]
fn a_size_is_kept_or_refused() {
    let original = sample();
    let footer = footer_of(original.clone());
    let schema = constant_first(&footer);
    let groups = whole(&footer);
    let (_, extents) = assembled(&footer, &schema, &groups, &mut no_make, None).unwrap();
    let least: u64 = extents.iter().map(Extent::len).sum();
    for size in [least, least + 1, least + (3 << 30)] {
        let (_, extents) = assembled(&footer, &schema, &groups, &mut no_make, Some(size)).unwrap();
        assert_eq!(extents.iter().map(Extent::len).sum::<u64>(), size);
    }
    for size in [0, 10, least - 1] {
        let error = assembled(&footer, &schema, &groups, &mut no_make, Some(size)).unwrap_err();
        assert!(
            matches!(error, ParquetError::DoesNotFit { needed, .. } if needed == least),
            "{error}"
        );
    }
}

/// fastparquet decodes what it believes to be its own otherwise than the format has it.
#[test]
fn the_writer_is_told_unless_its_reader_presumes_what_made_chunks_do_not_keep_to() {
    for (by, expected) in [
        (
            "parquet-mr version 1.12.3",
            Some("parquet-mr version 1.12.3"),
        ),
        ("fastparquet-python version 2026.9.0 (build 0)", None),
    ] {
        let file = edited(&sample(), |id, value| match id {
            6 => {
                let mut text = Vec::new();
                write_binary(&mut text, by.as_bytes());
                Some(text)
            }
            _ => Some(value.to_vec()),
        });
        let schema = constant_first(&footer_of(file.clone()));
        let shown = present(&file, &schema);
        assert_eq!(metadata(&shown).file_metadata().created_by(), expected);
    }
}

#[test]
fn the_order_of_each_column_is_the_one_the_file_gives() {
    let original = sample();
    let footer = footer_of(original.clone());
    // This writer gives floating-point columns a total order, by the field 2.
    let (typed, total) = (&[0x1C, 0, 0][..], &[0x2C, 0, 0][..]);
    let mut schema = mirror(footer.columns());
    schema.swap(0, 3);
    schema.truncate(2);
    schema.push(leaf(
        "zero",
        Annotation::None,
        PhysicalType::Double,
        constant(&0f64.to_le_bytes()),
    ));
    let file = present(&original, &schema);
    let expected = [&[0x3C], total, typed, typed].concat();
    assert_eq!(field_of(&file, 7).unwrap(), expected);
}

#[test]
fn without_orders_only_single_values_bound_made_chunks() {
    let original = sample();
    let unordered = edited(&original, |id, value| (id != 7).then(|| value.to_vec()));
    assert_eq!(field_of(&Bytes::from(unordered.clone()), 7), None);
    let schema = [
        leaf(
            "one",
            Annotation::None,
            PhysicalType::Int64,
            constant(&1i64.to_le_bytes()),
        ),
        leaf(
            "zero",
            Annotation::None,
            PhysicalType::Double,
            constant(&0f64.to_le_bytes()),
        ),
        mirror(footer_of(unordered.clone()).columns()).remove(0),
    ];
    let file = present(&unordered, &schema);
    assert_eq!(field_of(&file, 7), None);
    let metadata = metadata(&file);
    assert_eq!(
        metadata.file_metadata().column_orders(),
        None::<&Vec<ColumnOrder>>
    );
    let statistics = |column: usize| metadata.row_group(1).column(column).statistics().unwrap();
    assert_eq!(statistics(0).min_bytes_opt(), Some(&1i64.to_le_bytes()[..]));
    assert_eq!(statistics(1).min_bytes_opt(), None);
    assert_eq!(statistics(1).null_count_opt(), Some(0));
    // The older fields too, for readers that look at no others without an order.
    let footer = footer_of(file.to_vec());
    let chunk = &footer.row_groups_meta().unwrap()[0].chunks[0];
    let thrift = &footer.metadata[chunk.thrift.clone()];
    let value = [&[0x18, 8][..], &1i64.to_le_bytes()].concat();
    assert_eq!(
        thrift.windows(10).filter(|bytes| *bytes == value).count(),
        3
    );
}

/// Fields that nobody knew when this was written, in a chunk and in its metadata, survive; the file
/// that a chunk claims to be in does not.
#[test]
fn what_a_chunk_says_is_copied_also_what_is_not_known() {
    let mut meta = Vec::new();
    write_struct(&mut meta, |meta| {
        meta.i32(1, 2);
        meta.list(2, Kind::I32, 0);
        meta.i32(4, 0);
        meta.i64(5, 1);
        meta.binary(99, b"future");
    });
    let mut original = Vec::new();
    let field = |id, kind| super::super::super::thrift::Field { id, kind };
    write_struct(&mut original, |chunk| {
        chunk.binary(1, b"elsewhere.parquet");
        chunk.i64(2, 4);
        chunk.verbatim(field(3, Kind::Struct), &meta);
        chunk.bool(40, true);
    });
    let mut copied = Vec::new();
    super::super::chunk::write_original(
        &mut copied,
        &original,
        &["a", "b.c"],
        super::super::chunk::Told::All,
    )
    .unwrap();
    let mut expected_meta = Vec::new();
    write_struct(&mut expected_meta, |meta| {
        meta.i32(1, 2);
        meta.list(2, Kind::I32, 0);
        meta.list(3, Kind::Binary, 2).extend(b"\x01a\x03b.c");
        meta.i32(4, 0);
        meta.i64(5, 1);
        meta.binary(99, b"future");
    });
    let mut expected = Vec::new();
    write_struct(&mut expected, |chunk| {
        chunk.i64(2, 4);
        chunk.verbatim(field(3, Kind::Struct), &expected_meta);
        chunk.bool(40, true);
    });
    assert_eq!(copied, expected);
}

#[test]
fn every_annotation_survives() {
    let fields = "required int32 a (INTEGER(8,true)); required int32 b (INTEGER(16,false));
        required int32 c (DATE); required int32 d (DECIMAL(9,2)); required int64 e (DECIMAL(18,0));
        required fixed_len_byte_array(16) f (DECIMAL(38,38)); optional binary g (STRING);
        required int64 i (TIMESTAMP(MILLIS,true)); required int64 j (TIMESTAMP(NANOS,false));
        required int64 l (TIMESTAMP(MICROS,false)); required int64 k (TIMESTAMP_MICROS);
        required int96 m; required boolean q; required float r; required double s;
        required int64 u (TIMESTAMP_MILLIS); required int64 w (INTEGER(64,false));
        optional group v (MAP) { repeated group key_value {
            required binary key (UTF8); optional int32 value; } }
        optional group x (LIST) { repeated group list { optional int32 element; } }
        required binary y;";
    let original = super::super::super::testing::empty_file(fields, &[]);
    let footer = footer_of(original.clone());
    let mut schema = mirror(footer.columns());
    schema.push(OutputNode {
        name: "variant".to_owned(),
        id: Some(-5),
        repetition: Repetition::Optional,
        annotation: Annotation::Variant,
        kind: OutputKind::Group(
            ["metadata", "value"]
                .map(|name| {
                    let null = LeafSource::Null { definition: 0 };
                    let mut part = leaf(name, Annotation::None, PhysicalType::ByteArray, null);
                    part.repetition = Repetition::Required;
                    part
                })
                .to_vec(),
        ),
    });
    let file = present(&original, &schema);
    let presented = footer_of(file.to_vec());
    let columns = presented.columns();
    assert_eq!(&columns[..columns.len() - 1], footer.columns());
    let variant = &columns[columns.len() - 1];
    assert_eq!(
        (variant.id, variant.annotation),
        (Some(-5), Annotation::Variant)
    );

    // The older annotations are those that the parquet crate gives the same logical types.
    let converted = |file: &Bytes| {
        let metadata = metadata(file);
        let schema = metadata.file_metadata().schema_descr();
        let columns = schema.columns().iter();
        columns
            .map(|column| (column.converted_type(), column.type_precision()))
            .collect::<Vec<_>>()
    };
    let (before, after) = (converted(&Bytes::from(original)), converted(&file));
    assert_eq!(before, after[..before.len()]);
}

#[test]
fn a_map_key_value_and_a_nanosecond_without_logical_type_have_none() {
    let annotations = [
        (Annotation::MapKeyValue, Some(Annotation::MapKeyValue)),
        (
            Annotation::LegacyTimestamp(TimeUnit::Nanos),
            Some(Annotation::None),
        ),
        (Annotation::Other("JSON"), None),
        (Annotation::Unknown(40), None),
    ];
    for (annotation, expected) in annotations {
        let original = sample();
        let mut schema = mirror(footer_of(original.clone()).columns());
        schema[0].annotation = annotation;
        let footer = footer_of(original.clone());
        let result = assembled(&footer, &schema, &whole(&footer), &mut no_make, None);
        let presented = result.map(|(made, extents)| materialised(&original, &made, &extents));
        match (presented, expected) {
            (Ok(file), Some(expected)) => {
                assert_eq!(footer_of(file.to_vec()).columns()[0].annotation, expected);
            }
            (Err(ParquetError::Unpresentable { .. }), None) => {}
            (result, _) => panic!("{annotation}: {result:?}"),
        }
    }
}

#[test]
fn plans_that_do_not_fit_the_file_are_refused() {
    let original = sample();
    let footer = footer_of(original);
    let good = mirror(footer.columns());
    let groups = whole(&footer);
    let with = |node: OutputNode| vec![node];
    let int = |source| leaf("x", Annotation::None, PhysicalType::Int32, source);
    let beside = |beside, definition, repetition| LeafSource::NullBeside {
        beside,
        definition,
        repetition,
    };
    // A leaf beside may lie deeper than the struct that both are in.
    size_bound(&footer, &with(int(beside(7, 0, 0))), &groups, &|_, _| 0).unwrap();
    let wrong_group = |change: fn(&mut OutputGroup)| {
        let mut groups = groups.clone();
        change(&mut groups[0]);
        groups
    };
    for (schema, groups) in [
        (Vec::new(), groups.clone()),
        (with(int(LeafSource::Original(0))), groups.clone()),
        (with(int(LeafSource::Original(80))), groups.clone()),
        (
            with(int(LeafSource::Constant(Bytes::from_static(b"abc")))),
            groups.clone(),
        ),
        (
            with(int(LeafSource::Null { definition: 1 })),
            groups.clone(),
        ),
        (with(int(beside(7, 1, 0))), groups.clone()),
        (with(int(beside(7, 0, 1))), groups.clone()),
        (with(int(beside(8, 0, 0))), groups.clone()),
        (good.clone(), wrong_group(|group| group.rows += 1)),
        (good.clone(), wrong_group(|group| group.rows -= 1)),
        (good.clone(), wrong_group(|group| group.original = 3)),
        (
            good.clone(),
            wrong_group(|group| (group.dropped, group.rows) = (true, 101)),
        ),
    ] {
        let error = assembled(&footer, &schema, &groups, &mut no_make, None).unwrap_err();
        assert!(
            matches!(error, ParquetError::Unpresentable { .. }),
            "{error}"
        );
        let error = size_bound(&footer, &schema, &groups, &|_, _| 0).unwrap_err();
        assert!(
            matches!(error, ParquetError::Unpresentable { .. }),
            "{error}"
        );
    }
}
