//! Lists, maps and variants.

use super::*;

const STRUCTS: &str = r#"{"type":"array","elementType":{"type":"struct","fields":[{"name":"x","type":"long","nullable":true,"metadata":{}}]},"containsNull":true}"#;

#[test]
fn lists_of_every_form_are_shown_in_three_levels() {
    for (file, data_type, wanted) in [
        (
            "optional group c (LIST) { repeated group bag { optional int64 item; } }",
            LONGS,
            "?c LIST{*bag{?item INT64 = leaf 0}}",
        ),
        (
            "optional group c (LIST) { repeated int64 array; }",
            LONGS,
            "?c LIST{*list{!element INT64 = leaf 0}}",
        ),
        (
            "repeated int64 c;",
            LONGS,
            "!c LIST{*list{!element INT64 = leaf 0}}",
        ),
        (
            "optional group c (LIST) { repeated group array { optional int64 x; } }",
            STRUCTS,
            "?c LIST{*list{!element{?x INT64 = leaf 0}}}",
        ),
        (
            "optional group c (LIST) { repeated group c_tuple { optional int64 x; } }",
            STRUCTS,
            "?c LIST{*list{!element{?x INT64 = leaf 0}}}",
        ),
        (
            "optional group c (LIST) { repeated group list { optional group element { optional int64 \
             x; } } }",
            STRUCTS,
            "?c LIST{*list{?element{?x INT64 = leaf 0}}}",
        ),
        (
            "optional group c (LIST) { repeated group array { optional int64 item; } }",
            LONGS,
            "?c LIST{*list{?item INT64 = leaf 0}}",
        ),
        (
            "optional group c (LIST) { repeated group element { optional int64 x; optional int64 y; } }",
            STRUCTS,
            "?c LIST{*list{!element{?x INT64 = leaf 0}}}",
        ),
    ] {
        assert_eq!(one(file, data_type).unwrap(), wanted, "{file}");
    }
}

#[test]
fn a_field_missing_from_a_struct_in_a_list_follows_its_neighbour() {
    let element = r#"{"type":"array","elementType":{"type":"struct","fields":[{"name":"x","type":"long","nullable":true,"metadata":{}},{"name":"y","type":"date","nullable":true,"metadata":{}}]},"containsNull":true}"#;
    assert_eq!(
        one(
            "optional group c (LIST) { repeated group list { optional group element { optional \
             int64 x; } } }",
            element
        )
        .unwrap(),
        "?c LIST{*list{?element{?x INT64 = leaf 0, ?y DATE INT32 = null at 3, 1 beside 0}}}"
    );
}

#[test]
fn maps_keep_their_form_and_lose_old_annotations() {
    let map = r#"{"type":"map","keyType":"string","valueType":"integer","valueContainsNull":true}"#;
    assert_eq!(
        one(
            "optional group c (MAP) { repeated group map (MAP_KEY_VALUE) { required binary key \
             (UTF8); optional int32 value; } }",
            map
        )
        .unwrap(),
        "?c MAP{*map{!key STRING BYTE_ARRAY = leaf 0, ?value INT32 = leaf 1}}"
    );
    let optional_keys = one(
        "optional group c (MAP) { repeated group map { optional binary key (UTF8); optional int32 \
         value; } }",
        map,
    );
    assert!(optional_keys.unwrap_err().found.contains("null"));
}

#[test]
fn variants_are_shown_as_they_are_and_shredded_ones_are_called_so() {
    let plain = "optional group c { required binary value; required binary metadata; }";
    assert_eq!(
        one(plain, r#""variant""#).unwrap(),
        "?c{!value BYTE_ARRAY = leaf 0, !metadata BYTE_ARRAY = leaf 1}"
    );
    let typed_alone = "optional group c { required binary metadata; optional int64 typed_value; }";
    assert_eq!(
        one(typed_alone, r#""variant""#).unwrap(),
        "?c VARIANT{!metadata BYTE_ARRAY = leaf 0, ?typed_value INT64 = leaf 1}"
    );
    let shredded = "optional group c { required binary metadata; optional binary value; optional \
                    int64 typed_value; }";
    assert_eq!(
        one(shredded, r#""variant""#).unwrap(),
        "?c VARIANT{!metadata BYTE_ARRAY = leaf 0, ?value BYTE_ARRAY = leaf 1, ?typed_value INT64 \
         = leaf 2}"
    );
}
