//! Other people's doings: to the model and to the disk alike.

use std::collections::BTreeMap;

use serde_json::json;

use super::disk::{Damage, Disk};
use super::files::{Kind, VALUES, content};
use super::ops::{New, Other};
use super::reference::{DataFile, FileNumber, Health, History, SCHEMAS, Schema, State, Verdict};
use super::support::{Action, add, commit_info, dv, metadata, remove, table_features};

/// The place where a table is: the tables that have stood there, the last one perhaps dropped.
pub struct Site {
    pub disk: Disk,
    pub histories: Vec<History>,
    /// The actions of the versions of the last table.
    commits: Vec<Vec<Action>>,
    /// A version whose commit file does not appear.
    held_back: Option<u64>,
    /// The newest version where its commit file was never a good one.
    stillborn: Option<u64>,
    clock: i64,
    deletion_vectors: u32,
}

/// What a running mount may notice beyond new commits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Effect {
    /// The log did not just grow at its end.
    pub disturbed: bool,
    /// The newest commit file was changed or taken away: to a mount that has seen it, another log
    /// has taken the place.
    pub replaced: bool,
}

const GROWN: Effect = Effect {
    disturbed: false,
    replaced: false,
};
const DISTURBED: Effect = Effect {
    disturbed: true,
    ..GROWN
};
const REPLACED: Effect = Effect {
    replaced: true,
    ..DISTURBED
};

impl Site {
    /// With a table of no files.
    pub fn new() -> Site {
        let mut site = Site {
            disk: Disk::new(),
            histories: Vec::new(),
            commits: Vec::new(),
            held_back: None,
            stillborn: None,
            clock: 1_700_000_000_000,
            deletion_vectors: 0,
        };
        site.make(0);
        site
    }

    /// The table that stands there, or stood there last.
    pub fn history(&self) -> &History {
        self.histories
            .last()
            .expect("there was a table from the start")
    }

    fn history_mut(&mut self) -> &mut History {
        self.histories
            .last_mut()
            .expect("there was a table from the start")
    }

    /// The number of that table.
    pub fn table(&self) -> usize {
        self.histories.len() - 1
    }

    fn make(&mut self, schema: usize) {
        self.histories.push(History::default());
        self.commits.clear();
        self.held_back = None;
        self.stillborn = None;
        let actions = vec![table_features(&["deletionVectors"]), self.metadata(schema)];
        self.commit(
            actions,
            State {
                live: BTreeMap::new(),
                schema,
                time: 0,
            },
        );
    }

    fn metadata(&self, schema: usize) -> Action {
        let Schema {
            columns,
            partitioned,
        } = &SCHEMAS[schema];
        let columns: Vec<(&str, &str)> = columns
            .iter()
            .map(|column| (*column, if *column == "id" { "long" } else { "string" }))
            .collect();
        metadata(&columns)
            .partitioned_by(if *partitioned { &["p"] } else { &[] })
            .id(&format!("00000000-0000-4000-8000-{:012}", self.table()))
            .with("description", json!(format!("as of {}", self.clock)))
    }

    /// The state of the newest version, when a writer can read it.
    fn readable(&self) -> Option<&State> {
        let newest = self.history().newest()?;
        (self.history().verdict(newest) == Verdict::Exact).then(|| self.history().state(newest))
    }

    /// Makes a version without writing its commit file.
    fn prepare(&mut self, actions: Vec<Action>, mut state: State) -> u64 {
        // Any two commits are at least 1 ms apart, so that their times need no adjusting.
        self.clock += 1 + self.clock % 3 * 700;
        state.time = self.clock;
        self.history_mut().states.push(state);
        self.commits.push([vec![commit_info()], actions].concat());
        self.commits.len() as u64 - 1
    }

    fn commit(&mut self, actions: Vec<Action>, state: State) -> Effect {
        let version = self.prepare(actions, state);
        self.write_commit(version);
        GROWN
    }

    fn write_commit(&mut self, version: u64) {
        let time = self.history().state(version).time;
        self.disk
            .write_commit(version, &self.commits[version as usize], time);
        self.history_mut().commits.insert(version, Health::Good);
    }

    fn write_damaged_commit(&mut self, version: u64, harm: Damage) {
        let time = self.history().state(version).time;
        let actions = &self.commits[version as usize];
        self.disk.write_damaged_commit(version, actions, time, harm);
        self.history_mut().commits.insert(version, Health::Damaged);
    }

    /// Writes a data file for a table of this schema.
    fn write_file(&mut self, new: New, schema: usize) -> FileNumber {
        let number = self.history().files.len();
        let (path, uri) = match new.place % 5 {
            0 => (format!("f{number}.parquet"), format!("f{number}.parquet")),
            1 => (
                format!("sub/f{number}.parquet"),
                format!("sub/f{number}.parquet"),
            ),
            2 => (
                format!("f {number}.parquet"),
                format!("f%20{number}.parquet"),
            ),
            3 => (
                format!("p=x/f{number}.parquet"),
                format!("p=x/f{number}.parquet"),
            ),
            _ => (format!("_f{number}.parquet"), format!("_f{number}.parquet")),
        };
        let kind = Kind::numbered(new.kind);
        let value = SCHEMAS[schema].partitioned.then(|| match new.value {
            0 => kind.p.unwrap_or(VALUES[0]),
            value => VALUES[usize::from(value - 1) % VALUES.len()],
        });
        // Tables that follow each other at one place have files of one name and different bytes.
        let bytes = content(kind, number + 17 * self.table());
        self.disk.write_data(&path, &bytes);
        let file = DataFile {
            path,
            uri,
            kind,
            value,
            bytes,
            number: number + 17 * self.table(),
            modified: self.clock,
            added_under: schema,
            exists: true,
        };
        self.history_mut().files.push(file);
        number
    }

    fn add(&self, number: FileNumber, id: Option<&String>) -> Action {
        let file = &self.history().files[number];
        let mut action = add(&file.uri)
            .size(file.bytes.len() as i64)
            .modified(file.modified);
        if let Some(value) = file.value {
            action = action.partition("p", value);
        }
        match id {
            Some(id) => action.dv(&dv(id)),
            None => action,
        }
    }

    fn remove(&self, number: FileNumber, id: Option<&String>) -> Action {
        let action = remove(&self.history().files[number].uri);
        match id {
            Some(id) => action.dv(&dv(id)),
            None => action,
        }
    }

    /// Does it, to the model and to the disk; nothing where it cannot be done now.
    pub fn apply(&mut self, other: Other) -> Effect {
        self.try_to(other).unwrap_or(GROWN)
    }

    fn try_to(&mut self, other: Other) -> Option<Effect> {
        match other {
            Other::Mend(take_away) => return Some(self.mend(take_away)),
            Other::Drop(keep_root) => return self.drop_table(keep_root),
            Other::Make(schema) => {
                if self.history().newest().is_some() {
                    return None;
                }
                self.disk.make_table();
                self.make(usize::from(schema) % SCHEMAS.len());
                return Some(REPLACED);
            }
            _ => {}
        }
        // Everything else needs a table that can be read.
        let newest = self.history().newest()?;
        let mut state = self.readable()?.clone();
        Some(match other {
            Other::Append(new) => {
                let number = self.write_file(new, state.schema);
                state.live.insert(number, None);
                self.commit(vec![self.add(number, None)], state)
            }
            Other::AppendTwo(first, second) => {
                let first = self.write_file(first, state.schema);
                let second = self.write_file(second, state.schema);
                state.live.extend([(first, None), (second, None)]);
                self.commit(vec![self.add(first, None), self.add(second, None)], state)
            }
            Other::Remove(at) => {
                let (number, id) = choose(state.live.clone(), at)?;
                state.live.remove(&number);
                self.commit(vec![self.remove(number, id.as_ref())], state)
            }
            Other::Overwrite(schema, new) => {
                let schema = usize::from(schema) % SCHEMAS.len();
                let mut actions = vec![self.metadata(schema)];
                for (number, id) in &state.live {
                    actions.push(self.remove(*number, id.as_ref()));
                }
                let number = self.write_file(new, schema);
                actions.push(self.add(number, None));
                let live = BTreeMap::from([(number, None)]);
                self.commit(
                    actions,
                    State {
                        live,
                        schema,
                        time: 0,
                    },
                )
            }
            Other::AddAgain(at) => {
                let number = choose(self.removed_files(&state), at)?;
                let file = &mut self.history_mut().files[number];
                file.exists = true;
                let (path, bytes) = (file.path.clone(), file.bytes.clone());
                self.disk.write_data(&path, &bytes);
                state.live.insert(number, None);
                self.commit(vec![self.add(number, None)], state)
            }
            Other::DeleteRows(at) => {
                let (number, old) = choose(state.live.clone(), at)?;
                self.deletion_vectors += 1;
                let new = format!("dv{:018}", self.deletion_vectors);
                let actions = vec![
                    self.remove(number, old.as_ref()),
                    self.add(number, Some(&new)),
                ];
                state.live.insert(number, Some(new));
                self.commit(actions, state)
            }
            Other::ChangeSchema(schema) => {
                state.schema = usize::from(schema) % SCHEMAS.len();
                self.commit(vec![self.metadata(state.schema)], state)
            }
            Other::Describe => self.commit(vec![self.metadata(state.schema)], state),
            Other::Nothing => self.commit(Vec::new(), state),
            Other::Checkpoint(at) => {
                let exact = |v: &u64| self.history().verdict(*v) == Verdict::Exact;
                let version = choose((0..=newest).filter(exact), at)?;
                self.write_checkpoint(version);
                DISTURBED
            }
            Other::CleanUp(at, own_commit) => self.clean_up(newest, at, own_commit)?,
            Other::Vacuum(at) => {
                let files = self.removed_files(&state).into_iter();
                let number = choose(files.filter(|file| self.history().files[*file].exists), at)?;
                let file = &mut self.history_mut().files[number];
                file.exists = false;
                let path = file.path.clone();
                self.disk.remove_data(&path);
                GROWN
            }
            Other::DamagedCommit(harm) => {
                let version = self.prepare(Vec::new(), state);
                self.write_damaged_commit(version, Damage::numbered(harm));
                self.stillborn = Some(version);
                DISTURBED
            }
            Other::Gap => {
                self.held_back = Some(self.prepare(Vec::new(), state.clone()));
                let version = self.prepare(Vec::new(), state);
                self.write_commit(version);
                DISTURBED
            }
            Other::DamageCommit(at, harm) => {
                let version = choose(self.history().commits.keys().copied(), at)?;
                self.write_damaged_commit(version, Damage::numbered(harm));
                // It may be the newest that the mount has seen.
                REPLACED
            }
            Other::DamageCheckpoint(at, harm) => {
                let version = choose(self.history().checkpoints.keys().copied(), at)?;
                // An empty one would count as none.
                let harm = if harm % 2 == 0 {
                    Damage::CutOff
                } else {
                    Damage::Garbage
                };
                self.disk.damage_checkpoint(version, harm);
                self.history_mut()
                    .checkpoints
                    .insert(version, Health::Damaged);
                DISTURBED
            }
            Other::Mend(_) | Other::Drop(_) | Other::Make(_) => return None,
        })
    }

    /// Files that were live once and are not in `state`.
    fn removed_files(&self, state: &State) -> Vec<FileNumber> {
        let history = self.history();
        let was_live = |file: &FileNumber| history.states.iter().any(|s| s.live.contains_key(file));
        let files = (0..history.files.len()).filter(|file| !state.live.contains_key(file));
        files.filter(was_live).collect()
    }

    fn write_checkpoint(&mut self, version: u64) {
        let state = self.history().state(version);
        let mut actions = vec![
            table_features(&["deletionVectors"]),
            self.metadata(state.schema),
        ];
        actions.extend(
            state
                .live
                .iter()
                .map(|(number, id)| self.add(*number, id.as_ref())),
        );
        self.disk.write_checkpoint(version, &actions);
        self.history_mut().checkpoints.insert(version, Health::Good);
    }

    fn clean_up(&mut self, newest: u64, at: u8, own_commit: bool) -> Option<Effect> {
        let good = self
            .history()
            .checkpoints
            .iter()
            .filter(|(_, health)| **health == Health::Good);
        let checkpoint = choose(good.map(|(version, _)| *version), at)?;
        let (disk, history) = (&self.disk, self.histories.last_mut()?);
        history.commits.retain(|version, _| {
            let goes = *version < checkpoint || (own_commit && *version == checkpoint);
            if goes {
                disk.remove_commit(*version);
            }
            !goes
        });
        history.checkpoints.retain(|version, _| {
            if *version < checkpoint {
                disk.remove_checkpoint(*version);
            }
            *version >= checkpoint
        });
        Some(if own_commit && checkpoint == newest {
            REPLACED
        } else {
            DISTURBED
        })
    }

    fn mend(&mut self, take_away: bool) -> Effect {
        let mut effect = GROWN;
        if let Some(version) = self.held_back.take() {
            effect = DISTURBED;
            if take_away {
                effect = REPLACED;
                self.take_away(version + 1);
                self.history_mut().states.pop();
                self.commits.pop();
            } else {
                self.write_commit(version);
            }
        }
        let damaged = |health: &BTreeMap<u64, Health>| -> Vec<u64> {
            health
                .iter()
                .filter(|(_, health)| **health == Health::Damaged)
                .map(|(v, _)| *v)
                .collect()
        };
        for version in damaged(&self.history().checkpoints) {
            effect.disturbed = true;
            self.write_checkpoint(version);
        }
        for version in damaged(&self.history().commits) {
            effect = REPLACED;
            if take_away && self.stillborn == Some(version) {
                self.take_away(version);
            } else {
                self.write_commit(version);
            }
        }
        self.stillborn = None;
        effect
    }

    /// Takes the newest commit file away, and with it the version.
    fn take_away(&mut self, version: u64) {
        self.disk.remove_commit(version);
        let history = self.history_mut();
        history.commits.remove(&version);
        history.states.pop();
        self.commits.pop();
    }

    fn drop_table(&mut self, keep_root: bool) -> Option<Effect> {
        self.history().newest()?;
        self.disk.drop_table(keep_root);
        self.held_back = None;
        let history = self.history_mut();
        history.commits.clear();
        history.checkpoints.clear();
        for file in &mut history.files {
            file.exists = false;
        }
        Some(REPLACED)
    }
}

/// One of several by number.
pub fn choose<T>(from: impl IntoIterator<Item = T>, number: u8) -> Option<T> {
    let mut all: Vec<T> = from.into_iter().collect();
    let at = usize::from(number).checked_rem(all.len())?;
    Some(all.swap_remove(at))
}
