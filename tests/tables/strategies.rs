//! Random tables.

use arrow::datatypes::TimeUnit;
use parquet::basic::{BrotliLevel, Compression, GzipLevel, ZstdLevel};
use parquet::file::properties::EnabledStatistics;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree;
use proptest::test_runner::{RngSeed, TestRunner};

use super::case::{Case, Deletions, Partition, Style};
use super::evolve::Change;
use super::kinds::{Kind, Mapping, Part, Primitive};

fn primitive() -> impl Strategy<Value = Primitive> {
    prop_oneof![
        12 => select(vec![
            Primitive::Integer,
            Primitive::Boolean,
            Primitive::Byte,
            Primitive::Short,
            Primitive::Long,
            Primitive::Float,
            Primitive::Double,
            Primitive::String,
            Primitive::Binary,
            Primitive::Date,
            Primitive::Timestamp,
            Primitive::TimestampNtz,
        ]),
        3 => (1_u8..=38, 0_u8..=38).prop_map(|(precision, scale)| {
            Primitive::Decimal(precision, scale.min(precision) as i8)
        }),
    ]
}

fn part() -> impl Strategy<Value = Part> {
    let leaf = (primitive(), prop::bool::weighted(0.8)).prop_map(|(primitive, nullable)| Part {
        kind: Kind::Primitive(primitive),
        nullable,
    });
    leaf.prop_recursive(3, 12, 3, |inner| {
        let kind = prop_oneof![
            3 => prop::collection::vec(inner.clone(), 1..4)
                .prop_map(|parts| Part::structure(parts).kind),
            2 => inner.clone().prop_map(|element| Kind::List(Box::new(element))),
            1 => (primitive(), inner).prop_map(|(key, value)| Kind::Map(key, Box::new(value))),
        ];
        (kind, prop::bool::weighted(0.8)).prop_map(|(kind, nullable)| Part { kind, nullable })
    })
}

fn change() -> impl Strategy<Value = Change> {
    let n = || 0_usize..30;
    prop_oneof![
        3 => (n(), n(), part(), any::<bool>()).prop_map(|(to, position, part, again)| {
            Change::Add { to, position, part, again }
        }),
        1 => (n(), n(), n()).prop_map(|(of, first, second)| Change::Swap { of, first, second }),
        2 => (n(), n()).prop_map(|(from, position)| Change::Drop { from, position }),
        1 => (n(), n()).prop_map(|(of, position)| Change::Rename { of, position }),
        1 => (n(), n(), n()).prop_map(|(of, from, to)| Change::Move { of, from, to }),
        3 => (n(), n(), any::<u8>(), any::<u8>()).prop_map(|(leaf, choice, digits, places)| {
            Change::Widen { leaf, choice, digits, places }
        }),
    ]
}

fn partition() -> impl Strategy<Value = Partition> {
    (
        primitive(),
        0_usize..6,
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
    )
        .prop_map(|(primitive, position, null, required, in_file)| Partition {
            primitive,
            position,
            null,
            required,
            in_file,
        })
}

fn deletions() -> impl Strategy<Value = Deletions> {
    prop_oneof![
        7 => Just(Deletions::None),
        2 => (1_usize..16).prop_map(Deletions::Random),
        2 => (0_usize..16, 1_usize..100)
            .prop_map(|(from, length)| Deletions::Cluster { from, length }),
        1 => (2_usize..4).prop_map(Deletions::Groups),
        1 => any::<usize>().prop_map(Deletions::One),
        1 => any::<usize>().prop_map(Deletions::AllButOne),
        1 => Just(Deletions::All),
    ]
}

fn style() -> impl Strategy<Value = Style> {
    let sizes = (
        prop_oneof![1 => Just(0), 4 => 1_usize..60, 3 => 60_usize..400],
        select(vec![1_000_usize, 100, 37, 8]),
        select(vec![1_000_usize, 20, 5, 1]),
        select(vec![1_usize << 20, 40, 600]),
    );
    let encoding = (
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
        select(vec![
            Compression::UNCOMPRESSED,
            Compression::SNAPPY,
            Compression::ZSTD(ZstdLevel::default()),
            Compression::GZIP(GzipLevel::default()),
            Compression::LZ4_RAW,
            Compression::BROTLI(BrotliLevel::default()),
        ]),
    );
    let extras = (
        select(vec![
            EnabledStatistics::Page,
            EnabledStatistics::Chunk,
            EnabledStatistics::None,
        ]),
        any::<bool>(),
        prop_oneof![
            3 => Just(TimeUnit::Microsecond),
            1 => Just(TimeUnit::Millisecond),
            1 => Just(TimeUnit::Nanosecond),
        ],
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
    );
    let values = (
        select(vec![3_usize, 0, 14, 16]),
        select(vec![0_usize, 1, 4]),
    );
    (sizes, encoding, extras, values).prop_map(
        |(
            (rows, group_rows, page_rows, dictionary_limit),
            (dictionary, version_2, special_encodings, compression),
            (statistics, bloom_filters, unit, ids, backwards, legacy_names, optional, mixed_codecs),
            (nulls, distinct),
        )| Style {
            rows,
            group_rows,
            page_rows,
            dictionary,
            dictionary_limit,
            compression,
            version_2,
            special_encodings,
            statistics,
            bloom_filters,
            unit,
            ids,
            backwards,
            legacy_names,
            optional,
            mixed_codecs,
            nulls,
            distinct,
        },
    )
}

/// The table of a seed.
pub fn case_of_seed(seed: u64) -> Case {
    let config = ProptestConfig {
        rng_seed: RngSeed::Fixed(seed),
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    any_case()
        .new_tree(&mut TestRunner::new(config))
        .expect("no strategy here rejects anything")
        .current()
}

/// Any table.
pub fn any_case() -> impl Strategy<Value = Case> {
    (
        select(vec![Mapping::None, Mapping::Name, Mapping::Id]),
        prop::collection::vec(part(), 1..5),
        prop_oneof![
            1 => Just(Vec::new()),
            1 => prop::collection::vec(partition(), 1..4),
        ],
        prop_oneof![
            2 => prop::collection::vec(change(), 0..2),
            3 => prop::collection::vec(change(), 0..8),
        ],
        deletions(),
        style(),
        any::<u64>(),
    )
        .prop_map(
            |(mapping, columns, partitions, changes, deletions, style, seed)| Case {
                mapping,
                columns,
                partitions,
                changes,
                deletions,
                style,
                seed,
            },
        )
}
