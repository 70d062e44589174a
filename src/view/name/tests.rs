use proptest::prelude::*;

use super::*;

fn name(path: &str, dv: Option<&str>, shape: u64, layout: Layout) -> String {
    let mut out = String::new();
    presented_name(path, dv, shape, layout, &mut out);
    out
}

fn flat(path: &str) -> String {
    name(path, None, 0, Layout::Flat)
}

#[test]
fn a_plain_name_in_the_root_is_kept() {
    for path in [
        "part-00000-3935a07c-416b-4344-ad97-2a38342ee2fc.c000.snappy.parquet",
        "a b.parquet",
        "é.parquet",
        "x~0123456789abcde.parquet",
        "x~0123456789ABCDEF.parquet",
    ] {
        assert_eq!(own_name(path), Some(path));
    }
}

#[test]
fn a_name_that_makes_trouble_is_not_kept() {
    let long = format!("{}.parquet", "x".repeat(248));
    for path in [
        "p=1/part-0.parquet",
        "/part-0.parquet",
        "file:///elsewhere/part-0.parquet",
        "part-0",
        "part-0.parquet.crc",
        "part-0.PARQUET",
        "_part-0.parquet",
        ".part-0.parquet",
        ".parquet",
        "a:b.parquet",
        "a\\b.parquet",
        "a\nb.parquet",
        "a\u{85}b.parquet",
        "",
        "x~0123456789abcdef.parquet",
        &long,
    ] {
        assert_eq!(own_name(path), None, "{path}");
    }
    assert!(own_name(&long[1..]).is_some());
}

#[test]
fn names_never_change() {
    assert_eq!(
        name("p=1/part-0.parquet", Some("uABC@1"), 7, Layout::Hive),
        "part-0~59b7174218602d9a.parquet"
    );
    assert_eq!(flat("part-0.parquet"), "part-0~1e24b04ffe126917.parquet");
    assert_eq!(inode_of("part-0.parquet"), 0xb695_fbeb_efbb_a2e3);
}

#[test]
fn stems_are_made_harmless() {
    for (path, stem) in [
        ("x/y/part-0.parquet", "part-0"),
        ("_hidden.parquet", "hidden"),
        ("._..x", "x"),
        ("a:b\\c\nd.parquet", "a-b-c-d"),
        ("_:.parquet", "-"),
        ("", "file"),
        (".parquet", "file"),
        ("__", "file"),
        ("x/", "file"),
        ("x~0123456789abcdef.parquet", "x~0123456789abcdef"),
        ("no-suffix", "no-suffix"),
    ] {
        assert_eq!(parse_presented(&flat(path)).unwrap().0, stem, "{path}");
    }
    let long = flat(&"é".repeat(200));
    assert_eq!(long.len(), 255);
    assert_eq!(flat(&format!("x{}", "é".repeat(200))).len(), 254);
}

#[test]
fn only_presented_names_are_parsed() {
    for name in [
        "x.parquet",
        "x~0123456789abcdef",
        "~0123456789abcdef.parquet",
        "x~0123456789abcde.parquet",
        "x~0123456789abcdeg.parquet",
        "x~+123456789abcdef.parquet",
        "x~0123456789ABCDEF.parquet",
    ] {
        assert_eq!(parse_presented(name), None, "{name}");
    }
    let parsed = parse_presented("a~b~0123456789abcdef.parquet");
    assert_eq!(parsed, Some(("a~b", 0x0123_4567_89ab_cdef)));
}

#[test]
fn raw_names_stay_below_their_directory() {
    let raw = "region=A%2FA/_x:y/part-0";
    assert_eq!(raw_name(raw), Some(raw));
    let long = "x".repeat(256);
    for path in [
        "",
        "/a",
        "a/",
        "a//b",
        "..",
        "a/../b",
        "./a",
        "a/.",
        "file:///a",
        "a\0b",
        &long,
    ] {
        assert_eq!(raw_name(path), None, "{path}");
    }
}

fn layout() -> impl Strategy<Value = Layout> {
    prop_oneof![Just(Layout::Flat), Just(Layout::Hive)]
}

proptest! {
    #[test]
    fn presented_names_are_harmless(
        path in "\\PC{0,300}|[\\x00-\\x7f]{0,20}|([_.:/a]|\\n|\\\\){0,9}(\\.parquet)?",
        dv in prop::option::of("[a-z]{0,3}"),
        shape: u64,
        layout in layout(),
    ) {
        let name = name(&path, dv.as_deref(), shape, layout);
        prop_assert!(name.len() <= 255);
        prop_assert!(name.ends_with(".parquet"));
        prop_assert!(!name.contains(['/', ':', '\\']));
        prop_assert!(!name.chars().any(char::is_control));
        prop_assert!(!name.starts_with(['_', '.']));
        prop_assert!(parse_presented(&name).is_some());
        prop_assert_eq!(own_name(&name), None, "it never meets a name that a file keeps");
    }

    #[test]
    fn kept_names_are_harmless(path in "[a-z_.:/\\\\]{0,9}(\\.parquet)?") {
        if let Some(name) = own_name(&path) {
            prop_assert!(name.len() <= 255 && name.ends_with(".parquet"));
            prop_assert!(!name.contains(['/', ':', '\\']) && !name.starts_with(['_', '.']));
            prop_assert_eq!(name, &path);
        }
    }

    #[test]
    fn different_inputs_have_different_names(
        one in ("[ab/]{0,3}", prop::option::of("[ab]{1,2}"), 0u64..3, layout()),
        other in ("[ab/]{0,3}", prop::option::of("[ab]{1,2}"), 0u64..3, layout()),
    ) {
        let name_of = |(path, dv, shape, layout): &(String, Option<String>, u64, Layout)| {
            name(path, dv.as_deref(), *shape, *layout)
        };
        prop_assert_eq!(one == other, name_of(&one) == name_of(&other));
    }

    #[test]
    fn inodes_stand_apart_from_those_of_directories(name in "\\PC{0,30}") {
        prop_assert_eq!(inode_of(&name) >> 62, 0b10);
    }
}
