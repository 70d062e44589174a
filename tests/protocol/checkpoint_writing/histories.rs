//! Histories made by chance.

use super::*;

/// Chance that is the same for the same number.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

/// "To replay the log, scan all file actions and keep only the newest reference for each logical file":
/// files come, go, come again, get deletion vectors; checkpoints are written in between, of any version
/// and from one another, and the log before them is cleaned up.
#[test]
fn histories_of_any_kind_are_checkpointed() {
    for seed in 1..=25_u64 {
        let mut chance = Chance(0x9E37_79B9_7F4A_7C15_u64.wrapping_mul(seed));
        let mut meta = metadata(&[("id", "long"), ("p", "string")]).partitioned_by(&["p"]);
        if chance.below(2) == 0 {
            meta = meta.property("delta.checkpointPolicy", "v2");
        }
        let features = table_features(&["v2Checkpoint", "deletionVectors"]).with(
            "writerFeatures",
            json!(["v2Checkpoint", "deletionVectors", "domainMetadata"]),
        );
        let mut table = TableBuilder::with_actions([features, meta]);
        let mut generation = table.generation();
        let mut oldest = 0;
        for version in 1..=12 {
            let live = table.reference(version - 1).adds().clone();
            let mut actions = Vec::new();
            for number in 0..8 {
                let path = format!("f%20{number}");
                let decoded = format!("f {number}");
                let known = live.iter().find(|((path, _), _)| *path == decoded);
                let fresh = |chance: &mut Chance| {
                    let file = add(&path)
                        .partition("p", (number > 2).then_some("v"))
                        .size(i64::try_from(number).unwrap())
                        .modified(i64::try_from(version * 10 + number).unwrap())
                        .stats(json!({"numRecords": version}));
                    match chance.below(3) {
                        0 => file.with("tags", json!({"version": version.to_string()})),
                        1 => file.with("baseRowId", version),
                        _ => file,
                    }
                };
                let gone = |known: &Action, chance: &mut Chance| {
                    let age = i64::try_from(chance.below(14)).unwrap();
                    let remove =
                        remove(&path).with("deletionTimestamp", now_ms() - age * DAY - DAY / 2);
                    match known.fields.get("deletionVector") {
                        Some(vector) => remove.dv(vector),
                        None => remove,
                    }
                };
                match (known, chance.below(6)) {
                    (None, 0 | 1) => actions.push(fresh(&mut chance)),
                    (Some((_, known)), 0) => actions.push(gone(known, &mut chance)),
                    (Some((_, known)), 1) => {
                        actions.push(gone(known, &mut chance));
                        let vector = dv(&format!("v{version}x{number}"));
                        actions.push(fresh(&mut chance).dv(&vector));
                    }
                    // The same logical file, told anew.
                    (Some((_, known)), 2) => {
                        let again = fresh(&mut chance);
                        actions.push(match known.fields.get("deletionVector") {
                            Some(vector) => again.dv(vector),
                            None => again,
                        });
                    }
                    _ => {}
                }
            }
            match chance.below(4) {
                0 => actions.push(txn(&format!("app{}", chance.below(2)), 7)),
                1 => actions.push(domain(&format!("d{}", chance.below(2)), "x")),
                2 => actions.push(domain_removed("d1")),
                _ => actions.push(commit_info()),
            }
            table.commit(actions);
            if chance.below(2) == 0 {
                generation = table.generation();
            }
            if chance.below(2) == 0 {
                let at = oldest + chance.below(version - oldest + 1);
                generation.relist().unwrap();
                let report = write_checkpoint(&generation, at)
                    .unwrap_or_else(|error| panic!("history {seed}, version {at}: {error}"));
                check_whole(&table, &report);
                if chance.below(3) == 0 && at > oldest {
                    table.delete_commits(oldest..=at - 1);
                    oldest = at;
                }
            }
        }
        table.check(&table.generation(), [12, oldest]);
    }
}
