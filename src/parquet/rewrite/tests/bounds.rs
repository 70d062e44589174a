//! Bounds of values that were written.

use ::parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, FixedLenByteArray,
    FixedLenByteArrayType, FloatType, Int32Type, Int64Type, Int96Type,
};
use roaring::RoaringBitmap;

use super::support::{self, Column, Style, Written, write};
use crate::parquet::rewrite::{Change, rewrite_chunk};
use crate::parquet::{Annotation, PhysicalType};

fn bounds<T: DataType>(
    physical: PhysicalType,
    annotation: Annotation,
    values: Vec<T::T>,
) -> Option<(Vec<u8>, Vec<u8>)> {
    let written = Written {
        annotation,
        ..write::<T>(&Column::required(physical, values), &Style::default())
    };
    let made = rewrite_chunk(&written.source(), &RoaringBitmap::new(), Change::Keep).expect("made");
    let bounds = made.statistics.expect("there").bounds;
    bounds.map(|(least, greatest)| (least.to_vec(), greatest.to_vec()))
}

#[test]
fn bounds_are_those_of_the_format() {
    use PhysicalType::{
        ByteArray as Binary, Double, FixedLenByteArray as Fixed, Float, Int32, Int64,
    };
    let none = Annotation::None;
    let decimal = Annotation::Decimal {
        precision: 9,
        scale: 2,
    };
    let le = |least: i32, greatest: i32| {
        Some((
            least.to_le_bytes().to_vec(),
            greatest.to_le_bytes().to_vec(),
        ))
    };
    assert_eq!(bounds::<Int32Type>(Int32, none, vec![3, -5, 4]), le(-5, 4));
    assert_eq!(
        bounds::<Int32Type>(Int32, Annotation::Date, vec![3, -5, 4]),
        le(-5, 4)
    );
    let unsigned = Annotation::Integer {
        bits: 32,
        signed: false,
    };
    assert_eq!(bounds::<Int32Type>(Int32, unsigned, vec![3, -5, 4]), None);
    assert_eq!(bounds::<Int32Type>(Int32, none, vec![]), None);
    assert_eq!(
        bounds::<BoolType>(PhysicalType::Boolean, none, vec![true, false]),
        Some((vec![0], vec![1]))
    );
    assert_eq!(
        bounds::<Int64Type>(Int64, Annotation::Unknown(99), vec![1]),
        None
    );
    assert_eq!(
        bounds::<Int96Type>(PhysicalType::Int96, none, vec![support::int96(1)]),
        None
    );

    let doubles = |least: f64, greatest: f64| {
        Some((
            least.to_le_bytes().to_vec(),
            greatest.to_le_bytes().to_vec(),
        ))
    };
    let double = |values: Vec<f64>| bounds::<DoubleType>(Double, none, values);
    assert_eq!(
        double(vec![1.5, -2.5, f64::INFINITY]),
        doubles(-2.5, f64::INFINITY)
    );
    assert_eq!(double(vec![0.0, 1.0]), doubles(-0.0, 1.0));
    assert_eq!(double(vec![-0.0, -1.0]), doubles(-1.0, 0.0));
    for nan in [
        vec![f64::NAN],
        vec![f64::NAN, 1.0],
        vec![1.0, f64::NAN],
        vec![1.0, f64::NAN, 2.0],
    ] {
        assert_eq!(double(nan), None);
    }
    let float = bounds::<FloatType>(Float, none, vec![0.0]);
    assert_eq!(
        float,
        Some((
            (-0.0f32).to_le_bytes().to_vec(),
            0.0f32.to_le_bytes().to_vec()
        ))
    );

    let binary = |annotation, values: &[&[u8]]| {
        let values = values.iter().map(|value| ByteArray::from(value.to_vec()));
        bounds::<ByteArrayType>(Binary, annotation, values.collect())
    };
    let pair = |least: &[u8], greatest: &[u8]| Some((least.to_vec(), greatest.to_vec()));
    assert_eq!(
        binary(Annotation::String, &[b"b", b"ab", b"\xff"]),
        pair(b"ab", b"\xff")
    );
    assert_eq!(
        binary(Annotation::String, &[&[b'a'; 256], b"b"]),
        pair(&[b'a'; 256], b"b")
    );
    assert_eq!(binary(Annotation::String, &[&[b'a'; 257], b"b"]), None);
    // -1, 127, 128 and -256, -257 in as many bytes as their writer liked.
    assert_eq!(
        binary(
            decimal,
            &[b"\xff\xff", b"\x7f", b"\x00\x80", b"\xff\x00", b"\xfe\xff"]
        ),
        pair(b"\xfe\xff", b"\x00\x80")
    );
    assert_eq!(
        binary(decimal, &[b"\xff", b"\xff\x00", b"\xff\x7f"]),
        pair(b"\xff\x00", b"\xff")
    );
    assert_eq!(binary(Annotation::Other("GEOMETRY"), &[b"a"]), None);

    let fixed = |annotation| {
        let values = [*b"\x80\x00", *b"\x7f\xff", *b"\x00\x00"];
        let values = values.map(|value| FixedLenByteArray::from(value.to_vec()));
        bounds::<FixedLenByteArrayType>(Fixed(2), annotation, values.to_vec())
    };
    assert_eq!(fixed(decimal), pair(b"\x80\x00", b"\x7f\xff"));
    assert_eq!(fixed(none), pair(b"\x00\x00", b"\x80\x00"));
    assert_eq!(fixed(Annotation::Other("FLOAT16")), None);
    assert_eq!(fixed(Annotation::Other("INTERVAL")), None);
}
