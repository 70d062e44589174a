//! Paths and partition values.

use std::fs;

use deltafs::schema::unescape_hive;

use crate::support::{
    Action, Checkpoint, TableBuilder, add, list, list_all, metadata, open_root, protocol, remove,
    roots, tree_of, tree_read, xattr,
};
use crate::{ID, errno_of, hive, ids, plain, raw};

/// A table partitioned by `p` of type `kind`.
fn partitioned(kind: &str) -> TableBuilder {
    TableBuilder::with_actions([
        protocol(1, 2),
        metadata(&[("id", "long"), ("p", kind)]).partitioned_by(&["p"]),
    ])
}

/// A data file at a path on disk, and the add whose log path is `in_log`.
fn data_at(table: &TableBuilder, on_disk: &str, in_log: &str) -> Action {
    table.data(on_disk, &ids([1, 2])).with("path", in_log)
}

/// delta-rs#1896: a directory whose name has an escape in it was escaped again.
#[test]
fn a1_a_path_is_decoded_once() {
    let directory = "d=2023-11-05 00%3A00%3A00";
    let mut table = TableBuilder::with_schema(ID);
    let file = data_at(
        &table,
        &format!("{directory}/f.parquet"),
        "d=2023-11-05%2000%253A00%253A00/f.parquet",
    );
    table.commit([file]);
    let tree = table.tree_with(raw());
    assert_eq!(list(&tree, "@v1").unwrap(), [directory]);
    let bytes = tree_read(&tree, &format!("@v1/{directory}/f.parquet")).unwrap();
    assert_eq!(
        bytes,
        fs::read(table.path(&format!("{directory}/f.parquet"))).unwrap()
    );
    assert!(list(&table.tree(), "@v1").unwrap()[0].starts_with("f~"));
}

/// delta-rs#433: a slash and a blank in a partition value.
#[test]
fn a2_a_slash_in_a_partition_value_makes_no_directory() {
    let mut table = partitioned("string");
    let slash = data_at(&table, "x=A%2FA/f.parquet", "x=A%252FA/f.parquet").partition("p", "A/A");
    let blank = data_at(&table, "x=B B/f.parquet", "x=B%20B/f.parquet").partition("p", "B B");
    table.commit([slash, blank]);
    let tree = table.tree_with(hive());
    assert_eq!(list(&tree, "@v1").unwrap(), ["p=A%2FA", "p=B B"]);
    for (directory, value) in [("p=A%2FA", "A/A"), ("p=B B", "B B")] {
        let names = list(&tree, &format!("@v1/{directory}")).unwrap();
        assert_eq!(names.len(), 1, "{names:?}");
        let path = format!("@v1/{directory}/{}", names[0]);
        assert_eq!(
            xattr(&tree, &path, "user.delta.partition.p").unwrap(),
            value
        );
        assert!(tree_read(&tree, &path).is_ok());
    }
    assert_eq!(list(&table.tree(), "@v1").unwrap().len(), 2);
}

/// delta-rs#3577, polars#23367: characters escaped twice, slashes at the ends dropped.
#[test]
fn a4_every_value_comes_back_as_it_is() {
    let mut values: Vec<String> = (' '..='~').map(String::from).collect();
    values.extend(
        [
            "/a", "a/", "//", "é", "🦀", "%2F", "a%", "..", "a\\b", "null", "\u{1}",
        ]
        .map(str::to_owned),
    );
    let mut table = partitioned("string");
    let adds: Vec<Action> = values
        .iter()
        .enumerate()
        .map(|(at, value)| add(&format!("f{at}.parquet")).partition("p", value.as_str()))
        .collect();
    table.commit(adds);
    table.checkpoint(1, Checkpoint::Classic);
    let tree = table.tree_with(hive());
    let mut directories = Vec::new();
    let mut found = Vec::new();
    for (path, _) in list_all(&tree, "@v1").unwrap() {
        let below = path.strip_prefix("@v1/").unwrap();
        match below.split_once('/') {
            None => directories.push(unescape_hive(below.strip_prefix("p=").unwrap()).into_owned()),
            Some((_, name)) => {
                assert!(!name.contains('/'), "{path}");
                found.push(xattr(&tree, &path, "user.delta.partition.p").unwrap());
            }
        }
    }
    values.sort();
    found.sort();
    directories.sort();
    assert_eq!(found, values);
    assert_eq!(
        directories, values,
        "a reader that unescapes directories has the values"
    );
}

/// delta-rs#1228: colon and `%3A` in directory names.
#[test]
fn a5_directories_that_differ_by_an_escape_are_different() {
    let mut table = TableBuilder::with_schema(ID);
    let files =
        [("p=x", "p=x"), ("p=x:y", "p=x:y"), ("p=x%3Ay", "p=x%253Ay")].map(|(on_disk, in_log)| {
            data_at(
                &table,
                &format!("{on_disk}/f.parquet"),
                &format!("{in_log}/f.parquet"),
            )
        });
    table.commit(files);
    assert_eq!(table.live(1).len(), 3);
    let tree = table.tree();
    let names = list(&tree, "@v1").unwrap();
    assert_eq!(names.len(), 3);
    for name in &names {
        assert!(tree_read(&tree, &format!("@v1/{name}")).is_ok(), "{name}");
    }
}

/// delta-rs#4304: a remove spelt otherwise than its add.
#[test]
fn a6_adds_and_removes_meet_by_their_decoded_paths() {
    for spelling in [
        "city=New%20York/f",
        "city=New York/f",
        "city=%4Eew%20York/f",
        "./city=New York//f",
    ] {
        let mut table = TableBuilder::with_schema(ID);
        table.commit([add("city=New%20York/f")]);
        table.commit([remove(spelling)]);
        assert_eq!(table.live(2), [], "{spelling}");
    }
}

/// duckdb-delta#74: the table root put before an absolute path.
#[test]
fn a10_an_absolute_path_is_taken_as_it_is() {
    let table = {
        let mut table = TableBuilder::with_schema(ID);
        let elsewhere = table.outside().join("elsewhere/part 0.parquet");
        let inside = table.path("part-1.parquet");
        let mut actions = Vec::new();
        for path in [&elsewhere, &inside] {
            let relative = "written-here.parquet";
            let add = table.data(relative, &ids([7]));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::rename(table.path(relative), path).unwrap();
            let url = format!("file://{}", path.to_str().unwrap().replace(' ', "%20"));
            actions.push(add.with("path", url));
        }
        table.commit(actions);
        table
    };
    let outside = table.outside().join("elsewhere");
    let allowed = deltafs::snapshot::Table::open(
        roots(&table.root(), &[&outside]),
        std::time::Duration::ZERO,
    );
    let allowed = std::sync::Arc::new(allowed.unwrap());
    let refused = open_root(&table.root()).unwrap();
    for options in [raw(), Default::default(), hive()] {
        let tree = tree_of(&allowed, options.clone());
        let names = list(&tree, "@v1").unwrap();
        let of = |stem: &str| {
            let name = names.iter().find(|name| name.starts_with(stem));
            format!(
                "@v1/{}",
                name.unwrap_or_else(|| panic!("{stem} in {names:?}"))
            )
        };
        assert_eq!(names.len(), 2, "by their own names, in no directory");
        assert!(tree_read(&tree, &of("part 0")).is_ok());
        assert!(tree_read(&tree, &of("part-1")).is_ok());

        let tree = tree_of(&refused, options);
        let (errno, message) = errno_of(tree_read(&tree, &of("part 0")));
        assert_eq!(errno, libc::EACCES, "{message}");
        assert!(message.contains("elsewhere/part 0.parquet"), "{message}");
        assert!(message.contains("--allow-path"), "{message}");
        assert!(
            tree_read(&tree, &of("part-1")).is_ok(),
            "it lies in the table"
        );
    }
}

/// dask-deltatable#13: the value guessed from the directory name.
#[test]
fn a11_values_come_from_the_log() {
    for path in ["zz/part-0.parquet", "p=2/part-0.parquet"] {
        let mut table = partitioned("integer");
        let file = data_at(&table, path, path).partition("p", "1");
        table.commit([file]);
        let tree = table.tree_with(hive());
        assert_eq!(list(&tree, "@v1").unwrap(), ["p=1"], "{path}");
        let name = &list(&tree, "@v1/p=1").unwrap()[0];
        let value = xattr(&tree, &format!("@v1/p=1/{name}"), "user.delta.partition.p");
        assert_eq!(value.unwrap(), "1", "{path}");
    }
}

/// delta-rs#348 and others: a null crashes, or is a string, or differs from the empty string.
#[test]
fn a12_null_and_the_empty_string_are_null_for_every_type() {
    for kind in ["string", "integer", "date"] {
        let mut table = partitioned(kind);
        let null = data_at(&table, "a.parquet", "a.parquet").partition("p", None);
        let empty = data_at(&table, "b.parquet", "b.parquet").partition("p", "");
        table.commit([null, empty]);
        let tree = table.tree_with(hive());
        assert_eq!(
            list(&tree, "@v1").unwrap(),
            ["p=__HIVE_DEFAULT_PARTITION__"],
            "{kind}"
        );
        let names = list(&tree, "@v1/p=__HIVE_DEFAULT_PARTITION__").unwrap();
        assert_eq!(names.len(), 2);
        for name in names {
            let path = format!("@v1/p=__HIVE_DEFAULT_PARTITION__/{name}");
            assert!(tree_read(&tree, &path).is_ok());
            assert_eq!(xattr(&tree, &path, "user.delta.partition.p").unwrap(), "");
        }
    }
}

/// gluten#1372: a null became the zero of its type.
#[test]
fn a13_a_null_integer_is_not_zero() {
    let mut table = partitioned("integer");
    table.commit([
        add("a.parquet").partition("p", None),
        add("b.parquet").partition("p", "0"),
    ]);
    let tree = table.tree_with(hive());
    assert_eq!(
        list(&tree, "@v1").unwrap(),
        ["p=0", "p=__HIVE_DEFAULT_PARTITION__"]
    );
}

/// ClickHouse PR 114538: a partition column that the schema does not have.
#[test]
fn a16_a_partition_column_outside_the_schema_is_refused_by_name() {
    let mut table = TableBuilder::with_schema(ID);
    table.commit([metadata(ID).partitioned_by(&["nowhere"])]);
    let (errno, message) = errno_of(list(&table.tree(), "@v1"));
    assert_eq!(errno, libc::EUCLEAN);
    assert!(
        message.contains("nowhere") && message.contains("version 1"),
        "{message}"
    );
    assert_eq!(
        list(&table.tree(), "@v0").unwrap(),
        [""; 0],
        "other versions are served"
    );
}

/// delta-rs PR 4747: a hidden directory whose name begins like a partition column.
#[test]
fn a18_only_what_the_log_names_is_data() {
    let mut table = TableBuilder::with_actions([
        protocol(1, 2),
        metadata(&[("id", "long"), ("_date", "string")]).partitioned_by(&["_date"]),
    ]);
    let file = data_at(&table, "_date=1/f.parquet", "_date=1/f.parquet").partition("_date", "1");
    table.commit([file]);
    table.data("_dates_backup/f.parquet", &ids([1]));
    table.data("_date=2/f.parquet", &ids([1]));
    table.data("stray.parquet", &ids([1]));
    assert_eq!(table.live(1), [plain("_date=1/f.parquet")]);
    assert_eq!(list(&table.tree(), "@v1").unwrap().len(), 1);
    let paths = list_all(&table.tree_with(raw()), "@v1").unwrap();
    let paths: Vec<&str> = paths.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(paths, ["@v1/_date=1", "@v1/_date=1/f.parquet"]);
}
