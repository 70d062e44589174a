//! Constants and nulls of every physical type, in pages of their own.

use ::parquet::column::page::Page;
use ::parquet::file::reader::{FileReader, SerializedFileReader};
use ::parquet::file::statistics::Statistics;
use arrow::array::{
    BooleanArray, Date32Array, Decimal128Array, FixedSizeBinaryArray, Float32Array,
};
use arrow::buffer::Buffer;
use arrow::datatypes::TimeUnit::Nanosecond;

use super::super::super::schema::TimeUnit;
use super::*;

/// A column that is the same in every row: its name, its annotation and type, the plain value, and
/// the array that a reader makes of a number of rows.
type Case = (
    &'static str,
    Annotation,
    PhysicalType,
    Vec<u8>,
    fn(usize) -> ArrayRef,
);

fn cases() -> Vec<Case> {
    use PhysicalType::*;
    let decimal = |precision, scale| Annotation::Decimal { precision, scale };
    let micros = |utc| Annotation::Timestamp {
        utc,
        unit: TimeUnit::Micros,
    };
    let int = |bits| Annotation::Integer { bits, signed: true };
    let big_decimal = (-12_345i128).to_be_bytes()[3..].to_vec();
    // Noon of 2020-01-01, the day 2,458,850.
    let int96 = [
        43_200_000_000_000u64.to_le_bytes().as_slice(),
        &2_458_850u32.to_le_bytes(),
    ]
    .concat();
    vec![
        ("true", Annotation::None, Boolean, vec![1], |rows| {
            Arc::new(BooleanArray::from(vec![true; rows]))
        }),
        ("false", Annotation::None, Boolean, vec![0], |rows| {
            Arc::new(BooleanArray::from(vec![false; rows]))
        }),
        (
            "byte",
            int(8),
            Int32,
            (-7i32).to_le_bytes().to_vec(),
            |rows| Arc::new(arrow::array::Int8Array::from(vec![-7; rows])),
        ),
        (
            "int",
            Annotation::None,
            Int32,
            7i32.to_le_bytes().to_vec(),
            |rows| Arc::new(Int32Array::from(vec![7; rows])),
        ),
        (
            "date",
            Annotation::Date,
            Int32,
            18_262i32.to_le_bytes().to_vec(),
            |rows| Arc::new(Date32Array::from(vec![18_262; rows])),
        ),
        (
            "long",
            Annotation::None,
            Int64,
            i64::MIN.to_le_bytes().to_vec(),
            |rows| Arc::new(Int64Array::from(vec![i64::MIN; rows])),
        ),
        (
            "decimal",
            decimal(18, 4),
            Int64,
            5i64.to_le_bytes().to_vec(),
            |rows| {
                Arc::new(
                    Decimal128Array::from(vec![5; rows])
                        .with_precision_and_scale(18, 4)
                        .unwrap(),
                )
            },
        ),
        (
            "wide",
            decimal(30, 2),
            FixedLenByteArray(13),
            big_decimal,
            |rows| {
                Arc::new(
                    Decimal128Array::from(vec![-12_345; rows])
                        .with_precision_and_scale(30, 2)
                        .unwrap(),
                )
            },
        ),
        (
            "instant",
            micros(true),
            Int64,
            99i64.to_le_bytes().to_vec(),
            |rows| Arc::new(TimestampMicrosecondArray::from(vec![99; rows]).with_timezone("UTC")),
        ),
        (
            "local",
            micros(false),
            Int64,
            99i64.to_le_bytes().to_vec(),
            |rows| Arc::new(TimestampMicrosecondArray::from(vec![99; rows])),
        ),
        ("int96", Annotation::None, Int96, int96, |rows| {
            let array =
                arrow::array::TimestampNanosecondArray::from(vec![1_577_880_000_000_000_000; rows]);
            assert_eq!(array.data_type(), &DataType::Timestamp(Nanosecond, None));
            Arc::new(array)
        }),
        (
            "float",
            Annotation::None,
            Float,
            1.5f32.to_le_bytes().to_vec(),
            |rows| Arc::new(Float32Array::from(vec![1.5; rows])),
        ),
        (
            "double",
            Annotation::None,
            Double,
            (-2.5f64).to_le_bytes().to_vec(),
            |rows| Arc::new(Float64Array::from(vec![-2.5; rows])),
        ),
        (
            "zero",
            Annotation::None,
            Double,
            0f64.to_le_bytes().to_vec(),
            |rows| Arc::new(Float64Array::from(vec![0.0; rows])),
        ),
        (
            "nan",
            Annotation::None,
            Float,
            f32::NAN.to_le_bytes().to_vec(),
            |rows| Arc::new(Float32Array::from(vec![f32::NAN; rows])),
        ),
        (
            "text",
            Annotation::String,
            ByteArray,
            "é…".as_bytes().to_vec(),
            |rows| Arc::new(StringArray::from(vec!["é…"; rows])),
        ),
        ("empty", Annotation::String, ByteArray, Vec::new(), |rows| {
            Arc::new(StringArray::from(vec![""; rows]))
        }),
        ("bytes", Annotation::None, ByteArray, vec![0, 255], |rows| {
            Arc::new(arrow::array::BinaryArray::from(vec![
                [0, 255].as_slice();
                rows
            ]))
        }),
        (
            "fixed",
            Annotation::None,
            FixedLenByteArray(3),
            vec![1, 2, 3],
            |rows| {
                let values = Buffer::from([1u8, 2, 3].repeat(rows));
                Arc::new(FixedSizeBinaryArray::new(3, values, None))
            },
        ),
    ]
}

/// The constants and, under another name, nulls of the same types; optional and required.
fn constant_columns(repetition: Repetition) -> Vec<OutputNode> {
    let mut schema = Vec::new();
    for (name, annotation, physical, value, _) in cases() {
        let mut node = leaf(name, annotation, physical, constant(&value));
        node.repetition = repetition;
        schema.push(node);
        let null = LeafSource::Null { definition: 0 };
        schema.push(leaf(&format!("{name} null"), annotation, physical, null));
    }
    schema
}

#[test]
fn constants_of_every_type_are_read_back() {
    for repetition in [Repetition::Optional, Repetition::Required] {
        let after = read(&present(&sample(), &constant_columns(repetition)));
        assert_eq!(after.num_rows(), ROWS);
        for (name, .., expected) in cases() {
            assert_eq!(column(&after, name), &expected(ROWS), "{name}");
            let nulls = column(&after, &format!("{name} null"));
            assert_eq!(nulls.null_count(), ROWS, "{name}");
            assert_eq!(nulls.data_type(), expected(0).data_type(), "{name}");
        }
    }
}

/// What the low-level reader says of pages, statistics, page index.
#[test]
fn constants_have_exact_statistics_and_a_page_index() {
    let rows = 2_500_000;
    let numbers: ArrayRef = Arc::new(Int32Array::from(vec![1; rows]));
    let original = super::super::super::testing::file_of(&[("n", numbers)], rows);
    let file = present(&original, &constant_columns(Repetition::Optional));
    let metadata = metadata(&file);
    let indexes = metadata.page_index_for_row_group(0);
    let reader = SerializedFileReader::new(file.clone()).unwrap();
    let group = reader.get_row_group(0).unwrap();
    let all = cases();
    for (index, (name, _, physical, value, _)) in all.iter().enumerate() {
        let chunk = metadata.row_group(0).column(2 * index);
        assert_eq!(chunk.num_values(), rows as i64);
        assert_eq!(chunk.compression(), Compression::UNCOMPRESSED);
        assert_eq!(chunk.column_path().parts(), [*name]);
        let statistics = chunk.statistics().unwrap();
        assert_eq!(statistics.null_count_opt(), Some(0), "{name}");
        let bounds = statistics.min_bytes_opt().zip(statistics.max_bytes_opt());
        let columns = indexes.column_index(2 * index);
        match *name {
            "int96" | "nan" => {
                assert_eq!(bounds, None, "{name}");
                assert!(columns.is_none(), "{name}");
                continue;
            }
            "zero" => assert!(matches!(
                statistics,
                Statistics::Double(bounds) if bounds.min_opt().unwrap().to_bits() == (-0f64).to_bits()
                    && bounds.max_opt().unwrap().to_bits() == 0
            )),
            _ => {
                assert_eq!(bounds, Some((&value[..], &value[..])), "{name}");
                assert!(statistics.min_is_exact() && statistics.max_is_exact());
            }
        }
        let columns = columns.unwrap();
        let pages = indexes.page_locations(2 * index).unwrap();
        assert_eq!(columns.num_pages(), 3, "{name}");
        assert_eq!(columns.null_count(2), Some(0));
        assert!(columns.is_sorted() && !columns.is_null_page(0), "{name}");
        let first_rows: Vec<_> = pages.iter().map(|page| page.first_row_index).collect();
        assert_eq!(first_rows, [0, 1_000_000, 2_000_000]);

        let mut found = group.get_column_page_reader(2 * index).unwrap();
        let (mut counts, mut dictionaries) = (Vec::new(), 0);
        while let Some(page) = found.get_next_page().unwrap() {
            match page {
                Page::DataPage { num_values, .. } => counts.push(num_values),
                Page::DictionaryPage { num_values, .. } => dictionaries += num_values,
                Page::DataPageV2 { .. } => panic!("a page of version 2"),
            }
        }
        assert_eq!(counts, [1_000_000, 1_000_000, 500_000]);
        assert_eq!(dictionaries, u32::from(*physical != PhysicalType::Boolean));

        let chunk = metadata.row_group(0).column(2 * index + 1);
        let statistics = chunk.statistics();
        assert_eq!(
            statistics.and_then(Statistics::null_count_opt),
            Some(rows as u64)
        );
        let columns = indexes.column_index(2 * index + 1).unwrap();
        assert!((0..3).all(|page| columns.is_null_page(page)), "{name}");
        assert_eq!(columns.null_count(2), Some(500_000));
    }
}

/// A part that is missing from a struct which may be null: null where the struct is, and in it.
#[test]
fn parts_are_null_at_the_level_of_their_struct() {
    let original = sample();
    let mut schema = mirror(footer_of(original.clone()).columns());
    let OutputKind::Group(parts) = &mut schema[5].kind else {
        unreachable!()
    };
    let mut inner = leaf(
        "inner",
        Annotation::None,
        PhysicalType::Int32,
        LeafSource::Null { definition: 1 },
    );
    inner.id = Some(3);
    parts.push(OutputNode {
        name: "deep".to_owned(),
        id: None,
        repetition: Repetition::Optional,
        annotation: Annotation::None,
        kind: OutputKind::Group(vec![inner]),
    });
    let list = LeafSource::Null { definition: 0 };
    let mut element = leaf("element", Annotation::None, PhysicalType::Int64, list);
    element.repetition = Repetition::Required;
    let group = |name: &str, repetition, annotation, children| OutputNode {
        name: name.to_owned(),
        id: None,
        repetition,
        annotation,
        kind: OutputKind::Group(children),
    };
    let repeated = group(
        "list",
        Repetition::Repeated,
        Annotation::None,
        vec![element],
    );
    schema.push(group(
        "more tags",
        Repetition::Optional,
        Annotation::List,
        vec![repeated],
    ));

    let after = read(&present(&original, &schema));
    let deep = column(&after, "place")
        .as_struct()
        .column_by_name("deep")
        .unwrap();
    assert_eq!(deep.null_count(), 0);
    assert_eq!(deep.as_struct().column(0).null_count(), ROWS);
    assert_eq!(column(&after, "more tags").null_count(), ROWS);
}
