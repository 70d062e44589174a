//! Converted values, and nulls beside values.

use ::parquet::data_type::{
    ByteArray, ByteArrayType, DataType, DoubleType, FixedLenByteArray, FixedLenByteArrayType,
    FloatType, Int32Type, Int64Type, Int96, Int96Type,
};
use roaring::RoaringBitmap;

use super::support::{Column, Random, Style, Written, int96, read, write};
use crate::parquet::rewrite::{Change, rewrite_chunk, size_bound};
use crate::parquet::{Conversion, MadeChunk, ParquetError, PhysicalType};

fn made(
    written: &Written,
    deleted: &RoaringBitmap,
    change: Change,
) -> Result<MadeChunk, ParquetError> {
    let made = rewrite_chunk(&written.source(), deleted, change)?;
    let left = written.rows - deleted.len();
    let bound = size_bound(&written.shape(), left, change).expect("known");
    assert!(made.bytes.len() as u64 <= bound);
    Ok(made)
}

/// Converts required values, and optional ones with a row dropped.
fn convert<I: DataType, O: DataType>(
    from: PhysicalType,
    to: PhysicalType,
    conversion: Conversion,
    values: &[I::T],
) -> Result<Vec<O::T>, String>
where
    O::T: PartialEq + std::fmt::Debug,
{
    let change = Change::Convert {
        conversion,
        physical: to,
    };
    let none = RoaringBitmap::new();
    let written = write::<I>(&Column::required(from, values.to_vec()), &Style::default());
    let plain = made(&written, &none, change).map_err(|error| error.to_string())?;
    let found = read::<O>(&plain, to, (0, 0), values.len()).values;

    // Null, null (dropped), then the values.
    let optional = Column {
        max_definition: 1,
        definition: [vec![0, 0], vec![1; values.len()]].concat(),
        rows: values.len() + 2,
        ..Column::required(from, values.to_vec())
    };
    let written = write::<I>(
        &optional,
        &Style {
            dictionary: false,
            ..Style::default()
        },
    );
    let optional = made(&written, &RoaringBitmap::from_iter([1]), change).expect("as before");
    let again = read::<O>(&optional, to, (1, 0), values.len() + 1);
    assert_eq!(again.values, found);
    assert_eq!(again.definition[0], 0);
    assert_eq!(optional.statistics.expect("there").null_count, 1);
    Ok(found)
}

use PhysicalType::{
    ByteArray as Binary, Double, FixedLenByteArray as Fixed, Float, Int32, Int64, Int96 as I96,
};

#[test]
fn numbers_become_wider() {
    let ints = [i32::MIN, -1, 0, 1, i32::MAX];
    let longs = convert::<Int32Type, Int64Type>(Int32, Int64, Conversion::Int32ToInt64, &ints);
    assert_eq!(longs, Ok(ints.map(i64::from).to_vec()));
    let doubles = convert::<Int32Type, DoubleType>(Int32, Double, Conversion::Int32ToDouble, &ints);
    assert_eq!(doubles, Ok(ints.map(f64::from).to_vec()));
    let floats = [f32::MIN, -0.0, 0.1, f32::INFINITY];
    let doubles =
        convert::<FloatType, DoubleType>(Float, Double, Conversion::FloatToDouble, &floats);
    assert_eq!(doubles, Ok(floats.map(f64::from).to_vec()));
    let unsigned =
        convert::<Int32Type, Int64Type>(Int32, Int64, Conversion::Unsigned32ToInt64, &ints);
    assert_eq!(
        unsigned,
        Ok(vec![2_147_483_648, 4_294_967_295, 0, 1, 2_147_483_647])
    );
    let nan = convert::<FloatType, DoubleType>(Float, Double, Conversion::FloatToDouble, &[]);
    assert_eq!(nan, Ok(vec![]));
}

#[test]
fn times_become_microseconds() {
    let days = |days: &[i32]| {
        convert::<Int32Type, Int64Type>(Int32, Int64, Conversion::DaysToMicros, days)
    };
    assert_eq!(
        days(&[-719_162, 0, 2_932_896]),
        Ok(vec![-62_135_596_800_000_000, 0, 253_402_214_400_000_000])
    );
    let problem = days(&[0, i32::MAX]).expect_err("too far");
    assert!(
        problem.contains("row 1 of a row group, a.b is 2147483647 days"),
        "{problem}"
    );
    let from_long = |conversion, values: &[i64]| {
        convert::<Int64Type, Int64Type>(Int64, Int64, conversion, values)
    };
    assert_eq!(
        from_long(Conversion::MillisToMicros, &[-1, 7]),
        Ok(vec![-1_000, 7_000])
    );
    for beyond in [i64::MAX / 1_000 + 1, i64::MIN / 1_000 - 1] {
        from_long(Conversion::MillisToMicros, &[beyond]).expect_err("too far");
    }
    assert_eq!(
        from_long(
            Conversion::NanosToMicros,
            &[-1, -1_000, -1_001, 999, 1_000, i64::MIN]
        ),
        Ok(vec![-1, -1, -2, 0, 1, -9_223_372_036_854_776])
    );
    let mut before = Int96::new();
    before.set_data(u32::MAX, u32::MAX, 2_440_588);
    let micros = convert::<Int96Type, Int64Type>(
        I96,
        Int64,
        Conversion::Int96ToMicros,
        &[int96(5_000), before],
    );
    assert_eq!(micros, Ok(vec![5, -1]));
}

#[test]
fn dates_and_instants_leave_the_calendar_before_spark_3() {
    // 1582-10-14 of ISO 8601 is what was called 1582-10-04, and 0000-12-30 was 0001-01-01.
    let days = [0, -141_427, -141_428, -719_164];
    let found = convert::<Int32Type, Int32Type>(Int32, Int32, Conversion::OldDays, &days);
    assert_eq!(found, Ok(vec![0, -141_427, -141_438, -719_162]));
    let found = convert::<Int32Type, Int64Type>(Int32, Int64, Conversion::OldDaysToMicros, &days);
    let day = 86_400_000_000_i64;
    let micros = [0, -141_427 * day, -141_438 * day, -719_162 * day];
    assert_eq!(found, Ok(micros.to_vec()));
    let old = [
        1,
        -141_427 * day + 1,
        -141_428 * day + 1,
        -719_164 * day + 1,
    ];
    let found = convert::<Int64Type, Int64Type>(Int64, Int64, Conversion::OldMicros, &old);
    let new = [1, micros[1] + 1, micros[2] + 1, micros[3] + 1];
    assert_eq!(found, Ok(new.to_vec()));
    let found = convert::<Int64Type, Int64Type>(
        Int64,
        Int64,
        Conversion::OldMillisToMicros,
        &[-719_164 * day / 1_000],
    );
    assert_eq!(found, Ok(vec![micros[3]]));
    let mut year_one = Int96::new();
    year_one.set_data(1_000, 0, 2_440_588 - 719_164);
    let found =
        convert::<Int96Type, Int64Type>(I96, Int64, Conversion::OldInt96ToMicros, &[year_one]);
    assert_eq!(found, Ok(vec![micros[3] + 1]));
}

#[test]
fn decimals_take_another_scale() {
    let shift = |shift| Conversion::Decimal { shift };
    let ints = convert::<Int32Type, Int32Type>(Int32, Int32, shift(2), &[-7, 0, 21_474_836]);
    assert_eq!(ints, Ok(vec![-700, 0, 2_147_483_600]));
    let problem = convert::<Int32Type, Int32Type>(Int32, Int32, shift(2), &[21_474_837]);
    let problem = problem.expect_err("too large");
    assert!(
        problem.contains("2147483700 does not fit 32 bits"),
        "{problem}"
    );
    let longs = convert::<Int32Type, Int64Type>(Int32, Int64, shift(9), &[i32::MIN]);
    assert_eq!(longs, Ok(vec![-2_147_483_648_000_000_000]));
    convert::<Int64Type, Int64Type>(Int64, Int64, shift(1), &[i64::MAX / 10 + 1])
        .expect_err("large");

    let fixed = |bytes: &[u8]| FixedLenByteArray::from(bytes.to_vec());
    let found =
        convert::<Int64Type, FixedLenByteArrayType>(Int64, Fixed(3), shift(1), &[-1, 838_860]);
    assert_eq!(
        found,
        Ok(vec![fixed(b"\xff\xff\xf6"), fixed(b"\x7f\xff\xf8")])
    );
    convert::<Int64Type, FixedLenByteArrayType>(Int64, Fixed(3), shift(1), &[838_861])
        .expect_err("too large");
    let wide = convert::<FixedLenByteArrayType, FixedLenByteArrayType>(
        Fixed(2),
        Fixed(17),
        shift(0),
        &[fixed(b"\x80\x00")],
    );
    assert_eq!(
        wide,
        Ok(vec![fixed(&[[0xff; 15].as_slice(), b"\x80\x00"].concat())])
    );
    let text = |bytes: &[u8]| ByteArray::from(bytes.to_vec());
    let found = convert::<ByteArrayType, Int64Type>(
        Binary,
        Int64,
        shift(1),
        &[text(b"\xff"), text(b"\x01\x00")],
    );
    assert_eq!(found, Ok(vec![-10, 2_560]));
    convert::<ByteArrayType, Int64Type>(Binary, Int64, shift(0), &[text(b"")]).expect_err("empty");
    let unsigned = Conversion::UnsignedToDecimal { shift: 1 };
    let found =
        convert::<Int64Type, FixedLenByteArrayType>(Int64, Fixed(9), unsigned, &[-1, i64::MIN, 7]);
    assert_eq!(
        found,
        Ok(vec![
            fixed(b"\x09\xff\xff\xff\xff\xff\xff\xff\xf6"),
            fixed(b"\x05\x00\x00\x00\x00\x00\x00\x00\x00"),
            fixed(b"\x00\x00\x00\x00\x00\x00\x00\x00\x46"),
        ])
    );
    let found = convert::<Int32Type, Int64Type>(Int32, Int64, unsigned, &[-1]);
    assert_eq!(found, Ok(vec![42_949_672_950]));
    // Zero has any number of digits.
    assert_eq!(
        convert::<Int32Type, Int64Type>(Int32, Int64, shift(60), &[0]),
        Ok(vec![0])
    );
    convert::<Int32Type, Int64Type>(Int32, Int64, shift(60), &[1]).expect_err("too large");
}

#[test]
fn bytes_of_a_fixed_length_become_byte_arrays() {
    let texts = [b"\xff\x00\x01", b"abc", b"abc"];
    let fixed: Vec<FixedLenByteArray> = (texts.iter())
        .map(|text| FixedLenByteArray::from(text.to_vec()))
        .collect();
    let found = convert::<FixedLenByteArrayType, ByteArrayType>(
        Fixed(3),
        Binary,
        Conversion::FixedToByteArray,
        &fixed,
    );
    let wanted: Vec<ByteArray> = texts.iter().map(|t| ByteArray::from(t.to_vec())).collect();
    assert_eq!(found, Ok(wanted));

    // All values differ, and with their lengths they take more room than before; and the other way
    // around.
    let change = Change::Convert {
        conversion: Conversion::FixedToByteArray,
        physical: Binary,
    };
    for distinct in [1, 50_000] {
        for dictionary in [false, true] {
            let values = (0..50_000u32)
                .map(|i| FixedLenByteArray::from((i % distinct).to_be_bytes()[1..].to_vec()));
            let column = Column::required(Fixed(3), values.collect());
            let style = Style {
                dictionary,
                ..Style::default()
            };
            let written = write::<FixedLenByteArrayType>(&column, &style);
            let made = made(&written, &RoaringBitmap::new(), change).expect("made");
            let (least, greatest) = made.statistics.expect("there").bounds.expect("there");
            assert_eq!(&least[..], [0; 3]);
            assert_eq!(&greatest[..], &(distinct - 1).to_be_bytes()[1..]);
        }
    }
}

#[test]
fn decimal_bounds_are_those_of_the_made_type() {
    let column = Column::required(Int64, vec![5_i64, -3, 4]);
    let written = write::<Int64Type>(&column, &Style::default());
    let change = Change::Convert {
        conversion: Conversion::Decimal { shift: 1 },
        physical: Fixed(2),
    };
    let made = made(&written, &RoaringBitmap::new(), change).expect("made");
    let (least, greatest) = made.statistics.expect("there").bounds.expect("there");
    assert_eq!(
        (&least[..], &greatest[..]),
        (&b"\xff\xe2"[..], &b"\x00\x32"[..])
    );
}

#[test]
fn an_error_names_the_row_that_the_file_has() {
    let column = Column {
        max_definition: 2,
        max_repetition: 1,
        rows: 4,
        definition: vec![2, 2, 0, 2, 2, 2],
        repetition: vec![0, 1, 0, 0, 0, 1],
        ..Column::required(Int32, vec![1, 2, 3, 4, i32::MAX])
    };
    let written = write::<Int32Type>(&column, &Style::default());
    let change = Change::Convert {
        conversion: Conversion::DaysToMicros,
        physical: Int64,
    };
    for (deleted, row) in [(vec![], 3), (vec![0], 3), (vec![1, 2], 3)] {
        let error = rewrite_chunk(&written.source(), &deleted.into_iter().collect(), change);
        let error = error.expect_err("too far");
        assert!(
            matches!(error, ParquetError::ValueOutOfRange { row: found, .. } if found == row),
            "{error}"
        );
    }
    made(&written, &RoaringBitmap::from_iter([3]), change).expect("the row is gone");
}

#[test]
fn conversions_between_other_types_are_refused() {
    let written = write::<Int32Type>(&Column::required(Int32, vec![1]), &Style::default());
    for (conversion, physical) in [
        (Conversion::FloatToDouble, Double),
        (Conversion::Int32ToInt64, Double),
        (Conversion::Int96ToMicros, Int64),
        (Conversion::Decimal { shift: 0 }, Binary),
    ] {
        let change = Change::Convert {
            conversion,
            physical,
        };
        let error = rewrite_chunk(&written.source(), &RoaringBitmap::new(), change);
        assert!(
            matches!(error, Err(ParquetError::NoConversion { .. })),
            "{error:?}"
        );
    }
}

fn beside(definition: i16, repetition: i16, max_definition: i16, max_repetition: i16) -> Change {
    Change::NullBeside {
        definition,
        repetition,
        physical: Binary,
        max_definition,
        max_repetition,
    }
}

#[test]
fn nulls_lie_where_their_struct_does() {
    // struct (optional, 1) of an optional INT32 (2).
    let column = Column {
        max_definition: 2,
        rows: 4,
        definition: vec![2, 0, 1, 2],
        ..Column::required(Int32, vec![1, 2])
    };
    let written = write::<Int32Type>(&column, &Style::default());
    let nulls = made(&written, &RoaringBitmap::from_iter([0]), beside(1, 0, 2, 0)).expect("made");
    let found = read::<ByteArrayType>(&nulls, Binary, (2, 0), 3);
    assert_eq!(found.definition, [0, 1, 1]);
    assert_eq!(nulls.statistics.clone().expect("there").null_count, 3);
    assert_eq!(nulls.statistics.expect("there").bounds, None);
    // A list is missing beside it.
    let nulls = made(&written, &RoaringBitmap::new(), beside(1, 0, 4, 1)).expect("made");
    let found = read::<ByteArrayType>(&nulls, Binary, (4, 1), 4);
    assert_eq!(found.definition, [1, 0, 1, 1]);
    assert_eq!(found.repetition, [0; 4]);
}

#[test]
fn nulls_in_a_list_of_structs_repeat_as_the_structs_do() {
    // A list (2, 1) of structs (3) of which the sibling is a list in itself (5, 2).
    let column = Column {
        max_definition: 5,
        max_repetition: 2,
        rows: 3,
        definition: vec![5, 5, 2, 0, 5, 5, 5],
        repetition: vec![0, 2, 1, 0, 0, 1, 2],
        ..Column::required(Int32, vec![1, 2, 3, 4, 5])
    };
    let written = write::<Int32Type>(&column, &Style::default());
    let nulls = made(&written, &RoaringBitmap::new(), beside(3, 1, 4, 1)).expect("made");
    let found = read::<ByteArrayType>(&nulls, Binary, (4, 1), 3);
    assert_eq!(found.repetition, [0, 1, 0, 0, 1]);
    assert_eq!(found.definition, [3, 2, 0, 3, 3]);
    assert_eq!(nulls.num_values, 5);
}

#[test]
fn nulls_beside_a_required_leaf_lie_in_every_row() {
    let column = Column::required(Int64, vec![1_i64; 5_000]);
    let written = write::<Int64Type>(&column, &Style::default());
    let deleted = RoaringBitmap::from_iter(0..10);
    let nulls = made(&written, &deleted, beside(0, 0, 1, 0)).expect("made");
    let found = read::<ByteArrayType>(&nulls, Binary, (1, 0), 4_990);
    assert_eq!(found.definition, vec![0; 4_990]);
    assert!(nulls.bytes.len() < 200);
}

#[test]
fn nulls_are_the_same_beside_random_columns() {
    for seed in 1..20 {
        let mut random = Random(seed);
        let column = Column::random(&mut random, Int64, (6, 3), 500, |random| {
            random.below(9) as i64
        });
        let written = write::<Int64Type>(
            &column,
            &Style {
                page_rows: 7,
                ..Style::default()
            },
        );
        let nulls = made(&written, &RoaringBitmap::new(), beside(2, 1, 5, 2)).expect("made");
        let found = read::<ByteArrayType>(&nulls, Binary, (5, 2), 500);
        let kept = column.repetition.iter().zip(&column.definition);
        let kept: Vec<(i16, i16)> = kept
            .filter(|(repetition, _)| **repetition <= 1)
            .map(|(&repetition, &definition)| (repetition, definition.min(2)))
            .collect();
        let found: Vec<(i16, i16)> = found.repetition.into_iter().zip(found.definition).collect();
        assert_eq!(found, kept);
    }
}
