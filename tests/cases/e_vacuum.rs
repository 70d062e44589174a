//! Vacuum and retention.

use std::fs;

use crate::support::{TableBuilder, list, logged, resolve, tree_read, xattr};
use crate::{ID, errno_of, ids};

/// delta#174, kernel-rs#1000: the version loads, and files of it are gone.
#[test]
fn e1_a_vacuumed_file_costs_itself_and_is_told_once() {
    let mut table = TableBuilder::with_schema(ID);
    for version in 1..=3 {
        let file = table.data(&format!("f{version}.parquet"), &ids([version]));
        table.commit([file]);
    }
    fs::remove_file(table.path("f2.parquet")).unwrap();
    let tree = table.tree();
    let names = list(&tree, "@v3").unwrap();
    assert_eq!(
        names,
        ["f1.parquet", "f2.parquet", "f3.parquet"],
        "the log says they are live"
    );
    assert!(resolve(&tree, "@v3/f2.parquet").is_ok());
    let ((), logs) = logged(|| {
        for _ in 0..3 {
            let (errno, message) = errno_of(tree_read(&tree, "@v3/f2.parquet"));
            assert_eq!(errno, libc::ENOENT);
            assert!(
                message.contains("f2.parquet") && message.contains("VACUUM"),
                "{message}"
            );
        }
    });
    assert_eq!(logs.lines().count(), 1, "one line: {logs}");
    for name in ["f1.parquet", "f3.parquet"] {
        assert!(tree_read(&tree, &format!("@v3/{name}")).is_ok(), "{name}");
    }
    assert_eq!(
        xattr(&tree, "@v3", "user.delta.missing_files").unwrap(),
        "1"
    );
    assert!(
        xattr(&tree, "@v1", "user.delta.missing_files").is_err(),
        "nothing of it is gone"
    );
}
