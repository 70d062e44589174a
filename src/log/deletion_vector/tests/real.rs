//! The vectors of real tables.

use serde::Deserialize;

use super::*;

/// The actions of a commit file that can have a vector.
#[derive(Deserialize)]
struct Line {
    add: Option<Action>,
    remove: Option<Action>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Action {
    path: String,
    stats: Option<String>,
    deletion_vector: Option<DeletionVectorDescriptor>,
}

/// Reads every vector of a table that its commit files name and that is still there; how many.
fn read_all(table: &Path) -> usize {
    let roots = roots_of(table);
    let mut count = 0;
    for entry in fs::read_dir(table.join("_delta_log")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        for line in fs::read_to_string(&path).unwrap().lines() {
            let Ok(line) = serde_json::from_str::<Line>(line) else {
                continue;
            };
            for action in line.add.into_iter().chain(line.remove) {
                let Some(vector) = action.deletion_vector else {
                    continue;
                };
                let rows = action.stats.and_then(|stats| {
                    let stats: serde_json::Value = serde_json::from_str(&stats).ok()?;
                    stats["numRecords"].as_u64()
                });
                match read(&roots, &vector, &action.path, rows) {
                    Ok(deleted) => {
                        assert_eq!(deleted.len() as i64, vector.cardinality);
                        count += 1;
                    }
                    Err(DeletionVectorError::Storage { source, .. }) if source.is_not_found() => {}
                    Err(error) => panic!("{}: {error}", table.display()),
                }
            }
        }
    }
    count
}

#[test]
fn the_vectors_of_real_tables_are_read() {
    let corpus = std::env::var_os("DELTAFS_CORPUS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus"),
        PathBuf::from,
    );
    if !corpus.is_dir() {
        eprintln!(
            "skipped: no real tables at {}; set DELTAFS_CORPUS",
            corpus.display()
        );
        return;
    }
    for (name, at_least) in [
        ("golden/dv-partitioned-with-checkpoint/delta", 15),
        ("golden/log-replay-dv-key-cases/delta", 3),
        ("other/compacted-log-files-table", 10),
        ("other/cdf-table-with-dv", 1),
        ("other/with-short-dv", 1),
    ] {
        let table = corpus.join(name);
        assert!(table.is_dir(), "{} is there", table.display());
        let count = read_all(&table);
        assert!(count >= at_least, "{name}: {count} vectors");
    }
}
