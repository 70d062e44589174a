//! Primitive types.

use super::*;
use crate::parquet::{Node, NodeKind, PhysicalType};
use crate::schema::PrimitiveType;

#[test]
fn b12_widened_types_are_relabelled_or_converted() {
    for (file, data_type, wanted) in [
        (
            "int32 c (INTEGER(8,true))",
            r#""short""#,
            "INT(16) INT32 = leaf 0",
        ),
        (
            "int32 c (INTEGER(16,true))",
            r#""integer""#,
            "INT32 = leaf 0",
        ),
        ("int32 c", r#""long""#, "INT64 = Int32ToInt64 of leaf 0"),
        ("int32 c", r#""double""#, "DOUBLE = Int32ToDouble of leaf 0"),
        ("float c", r#""double""#, "DOUBLE = FloatToDouble of leaf 0"),
        (
            "int32 c (DATE)",
            r#""timestamp_ntz""#,
            "TIMESTAMP(MICROS, local) INT64 = DaysToMicros of leaf 0",
        ),
        (
            "int32 c (DECIMAL(5,2))",
            r#""decimal(9,2)""#,
            "DECIMAL(9, 2) INT32 = leaf 0",
        ),
        (
            "int32 c (DECIMAL(5,2))",
            r#""decimal(10,2)""#,
            "DECIMAL(10, 2) INT64 = Decimal { shift: 0 } of leaf 0",
        ),
        (
            "int32 c (DECIMAL(5,2))",
            r#""decimal(8,5)""#,
            "DECIMAL(8, 5) INT32 = Decimal { shift: 3 } of leaf 0",
        ),
        (
            "int64 c",
            r#""decimal(22,2)""#,
            "DECIMAL(22, 2) FIXED_LEN_BYTE_ARRAY(10) = Decimal { shift: 2 } of leaf 0",
        ),
        (
            "int32 c",
            r#""decimal(10,0)""#,
            "DECIMAL(10, 0) INT64 = Decimal { shift: 0 } of leaf 0",
        ),
        (
            "int96 c",
            r#""timestamp""#,
            "TIMESTAMP(MICROS, UTC) INT64 = Int96ToMicros of leaf 0",
        ),
        (
            "int64 c (TIMESTAMP(NANOS,true))",
            r#""timestamp""#,
            "TIMESTAMP(MICROS, UTC) INT64 = NanosToMicros of leaf 0",
        ),
        (
            "int64 c (TIMESTAMP_MILLIS)",
            r#""timestamp""#,
            "TIMESTAMP(MICROS, UTC) INT64 = MillisToMicros of leaf 0",
        ),
        (
            "int32 c (INTEGER(16,false))",
            r#""integer""#,
            "INT32 = leaf 0",
        ),
        (
            "int32 c (INTEGER(32,false))",
            r#""long""#,
            "INT64 = Unsigned32ToInt64 of leaf 0",
        ),
        (
            "int32 c (INTEGER(32,false))",
            r#""decimal(10,0)""#,
            "DECIMAL(10, 0) INT64 = UnsignedToDecimal { shift: 0 } of leaf 0",
        ),
        (
            "int64 c (INTEGER(64,false))",
            r#""decimal(20,0)""#,
            "DECIMAL(20, 0) FIXED_LEN_BYTE_ARRAY(9) = UnsignedToDecimal { shift: 0 } of leaf 0",
        ),
        (
            "int96 c",
            r#""timestamp_ntz""#,
            "TIMESTAMP(MICROS, local) INT64 = Int96ToMicros of leaf 0",
        ),
        (
            "int64 c (TIMESTAMP(MICROS,true))",
            r#""timestamp_ntz""#,
            "TIMESTAMP(MICROS, local) INT64 = leaf 0",
        ),
        (
            "fixed_len_byte_array(4) c",
            r#""binary""#,
            "BYTE_ARRAY = FixedToByteArray of leaf 0",
        ),
        (
            "fixed_len_byte_array(16) c (UUID)",
            r#""binary""#,
            "BYTE_ARRAY = FixedToByteArray of leaf 0",
        ),
        ("binary c (JSON)", r#""binary""#, "BYTE_ARRAY = leaf 0"),
    ] {
        let shown = one(&format!("optional {file};"), data_type).unwrap();
        assert_eq!(
            shown.strip_prefix("?c ").unwrap(),
            wanted,
            "{file} as {data_type}"
        );
    }
}

#[test]
fn what_may_lose_something_is_refused() {
    for (file, data_type) in [
        ("int64 c", r#""integer""#),
        ("int32 c (INTEGER(32,true))", r#""short""#),
        ("int32 c (INTEGER(32,false))", r#""integer""#),
        ("int64 c (INTEGER(64,false))", r#""long""#),
        ("double c", r#""float""#),
        ("int32 c (DECIMAL(9,2))", r#""decimal(8,2)""#),
        ("int32 c (DECIMAL(9,2))", r#""decimal(9,1)""#),
        ("int32 c (DECIMAL(9,2))", r#""decimal(9,3)""#),
        ("int64 c", r#""decimal(10,0)""#),
        ("binary c (STRING)", r#""long""#),
        ("fixed_len_byte_array(16) c (UUID)", r#""string""#),
        ("int32 c (INTEGER(32,false))", r#""decimal(9,0)""#),
        ("int64 c (INTEGER(64,false))", r#""decimal(19,0)""#),
        ("int32 c (INTEGER(32,false))", r#""double""#),
        ("group c { optional int64 x; }", r#""long""#),
    ] {
        let end = if file.ends_with('}') { "" } else { ";" };
        let refused = one(&format!("optional {file}{end}"), data_type);
        assert!(refused.is_err(), "{file} as {data_type}: {refused:?}");
    }
    // Without annotation, it may be a short that was written by others than Spark.
    let shown = one("optional int32 c;", r#""short""#).unwrap();
    assert_eq!(shown, "?c INT(16) INT32 = leaf 0");
}

#[test]
fn integers_of_a_size_that_there_is_not_are_refused() {
    for physical in [PhysicalType::Int32, PhysicalType::Int64] {
        for bits in [i8::MIN, -8, 0, 24, i8::MAX] {
            for signed in [true, false] {
                let node = Node {
                    name: "c".to_owned(),
                    id: None,
                    repetition: Repetition::Optional,
                    annotation: Annotation::Integer { bits, signed },
                    kind: NodeKind::Leaf { physical, leaf: 0 },
                };
                let made = leaf::convert(PrimitiveType::Long, &node);
                assert!(made.is_none(), "{node}");
            }
        }
    }
}
