//! The model: what a mounted table shows, said as plainly as possible.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use deltafs::errno::Errno;
use deltafs::view::{Layout, View};

use super::files::{Kind, Row, Value, decode, rows};

/// How a table is mounted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Flat,
    Hive,
    Raw,
}

impl Mode {
    pub fn view(self) -> View {
        match self {
            Mode::Flat | Mode::Hive => View::Logical,
            Mode::Raw => View::Raw,
        }
    }

    pub fn layout(self) -> Layout {
        match self {
            Mode::Flat | Mode::Raw => Layout::Flat,
            Mode::Hive => Layout::Hive,
        }
    }
}

/// A table schema. Columns are nullable; `id` is a long, the others are strings.
#[derive(Debug)]
pub struct Schema {
    pub columns: &'static [&'static str],
    /// Whether `p` is a partition column.
    pub partitioned: bool,
}

pub const SCHEMAS: [Schema; 5] = [
    Schema {
        columns: &["id"],
        partitioned: false,
    },
    Schema {
        columns: &["id", "extra"],
        partitioned: false,
    },
    Schema {
        columns: &["id", "p"],
        partitioned: true,
    },
    Schema {
        columns: &["id", "extra", "p"],
        partitioned: true,
    },
    Schema {
        columns: &["id", "p"],
        partitioned: false,
    },
];

/// A data file that somebody wrote.
#[derive(Debug)]
pub struct DataFile {
    /// Below the table root, decoded.
    pub path: String,
    /// As it stands in the log.
    pub uri: String,
    pub kind: Kind,
    /// What `partitionValues` says of `p`; `None` where it says nothing.
    pub value: Option<Value>,
    pub bytes: Arc<[u8]>,
    /// By which the content was made.
    pub number: usize,
    pub modified: i64,
    /// The schema of the version that first added it.
    pub added_under: usize,
    /// Whether it is there (VACUUM removes it).
    pub exists: bool,
}

/// What a presented file holds.
#[derive(Debug, Clone)]
pub enum Content {
    /// These bytes.
    Bytes(Arc<[u8]>),
    /// These rows, in whatever bytes.
    Rows(Vec<Row>),
}

impl Content {
    /// What is wrong with `bytes`, if anything.
    pub fn difference(&self, bytes: &[u8]) -> Option<String> {
        match self {
            Content::Bytes(right) if **right == *bytes => None,
            Content::Bytes(right) => Some(format!(
                "{} bytes, expected {} others",
                bytes.len(),
                right.len()
            )),
            Content::Rows(right) => match decode(bytes) {
                Ok(rows) if rows == *right => None,
                Ok(rows) => Some(format!("the rows {rows:?}, expected {right:?}")),
                Err(error) => Some(format!("{} bytes: {error}", bytes.len())),
            },
        }
    }
}

/// A file of a table by its number.
pub type FileNumber = usize;

/// A logical file: a data file and, where rows of it are deleted, the id of the deletion vector.
pub type LogicalFile = (FileNumber, Option<String>);

/// One version: the live files, each with its deletion vector, and the schema.
#[derive(Debug, Clone)]
pub struct State {
    pub live: BTreeMap<FileNumber, Option<String>>,
    pub schema: usize,
    /// When it was committed, milliseconds since the epoch.
    pub time: i64,
}

/// Whether a file of the log can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Health {
    Good,
    Damaged,
}

/// A table from its creation on: its versions, and what is left of its log.
#[derive(Debug, Default)]
pub struct History {
    pub files: Vec<DataFile>,
    /// All versions from 0 on.
    pub states: Vec<State>,
    /// The commit files that are there.
    pub commits: BTreeMap<u64, Health>,
    /// The checkpoints that are there.
    pub checkpoints: BTreeMap<u64, Health>,
}

/// What a reader gets of a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Exactly this version's files.
    Exact,
    /// An error.
    Error(Errno),
}

impl History {
    /// The newest version of which there is a file of the log; `None` when the table is gone.
    pub fn newest(&self) -> Option<u64> {
        let commit = self.commits.keys().next_back();
        commit.max(self.checkpoints.keys().next_back()).copied()
    }

    /// Whether `version` follows from a checkpoint, or from nothing, and the commits behind it, of
    /// which only those count that `usable` takes.
    fn follows(&self, version: u64, usable: impl Fn(&Health) -> bool) -> bool {
        let commits =
            |first: u64| (first..=version).all(|v| self.commits.get(&v).is_some_and(&usable));
        let mut checkpoints = self.checkpoints.range(..=version);
        commits(0) || checkpoints.any(|(at, health)| usable(health) && commits(at + 1))
    }

    /// The versions that the log has all files of, damaged or not.
    pub fn rebuildable(&self) -> BTreeSet<u64> {
        let end = self.newest().map_or(0, |newest| newest + 1);
        (0..end)
            .filter(|version| self.follows(*version, |_| true))
            .collect()
    }

    /// "What the log can rebuild is there; what was cleaned up does not exist; behind a gap or a
    /// damaged file is an error."
    pub fn verdict(&self, version: u64) -> Verdict {
        if self.follows(version, |health| *health == Health::Good) {
            return Verdict::Exact;
        }
        let rebuildable = self.rebuildable();
        let behind_something = rebuildable.iter().any(|other| *other < version);
        let known = self.newest().is_some_and(|newest| version <= newest);
        if rebuildable.contains(&version) || (known && behind_something) {
            Verdict::Error(libc::EUCLEAN)
        } else {
            Verdict::Error(libc::ENOENT)
        }
    }

    /// Whether all commits from 0 to `version` are there and can be read.
    pub fn is_whole(&self, version: u64) -> bool {
        (0..=version).all(|v| self.commits.get(&v) == Some(&Health::Good))
    }

    pub fn state(&self, version: u64) -> &State {
        &self.states[version as usize]
    }

    /// The directory of a file below a version directory, with a slash behind it, or nothing.
    pub fn directory(&self, state: &State, file: FileNumber, mode: Mode) -> String {
        let file = &self.files[file];
        match mode {
            Mode::Flat => String::new(),
            Mode::Raw => match file.path.rsplit_once('/') {
                Some((directory, _)) => format!("{directory}/"),
                None => String::new(),
            },
            Mode::Hive if !SCHEMAS[state.schema].partitioned => String::new(),
            Mode::Hive => match file.value.flatten() {
                Some(value) => format!("p={}/", value.replace('/', "%2F")),
                None => "p=__HIVE_DEFAULT_PARTITION__/".to_owned(),
            },
        }
    }

    /// Whether a file has a name that it can keep.
    pub fn may_keep_name(&self, (file, dv): &LogicalFile, schema: usize, mode: Mode) -> bool {
        let path = &self.files[*file].path;
        mode == Mode::Flat
            && dv.is_none()
            && !SCHEMAS[schema].partitioned
            && !path.contains(['/', ':'])
            && !path.starts_with('_')
    }

    /// Whether the bytes of a file are what a table of this schema shows of it.
    fn is_identity(&self, file: &DataFile, schema: usize, mode: Mode) -> bool {
        let schema = &SCHEMAS[schema];
        let in_directories = schema.partitioned && mode == Mode::Hive;
        let shown: Vec<&str> = (schema.columns.iter().copied())
            .filter(|column| !(in_directories && *column == "p"))
            .collect();
        let in_file = schema.partitioned && mode == Mode::Flat;
        file.kind.columns() == shown && (!in_file || file.kind.p == Some(file.value.flatten()))
    }

    /// What opening a live file gives, or an error.
    pub fn opened(
        &self,
        (file, dv): &LogicalFile,
        schema: usize,
        mode: Mode,
    ) -> Result<Content, Errno> {
        let file = &self.files[*file];
        // The files of deletion vectors are not there.
        if !file.exists || (mode != Mode::Raw && dv.is_some()) {
            return Err(libc::ENOENT);
        }
        if mode == Mode::Raw || self.is_identity(file, schema, mode) {
            return Ok(Content::Bytes(file.bytes.clone()));
        }
        let schema = &SCHEMAS[schema];
        let hidden = schema.partitioned && mode == Mode::Hive;
        let columns: Vec<&str> = (schema.columns.iter().copied())
            .filter(|column| !(hidden && *column == "p"))
            .collect();
        let partition = schema.partitioned.then(|| file.value.flatten());
        Ok(Content::Rows(rows(
            file.kind,
            file.number,
            &columns,
            partition,
        )))
    }

    /// The version that a time means, by the commit files that are there.
    pub fn at_time(&self, time: i64) -> Option<u64> {
        self.rebuildable()
            .into_iter()
            .rev()
            .find(|v| self.commits.contains_key(v) && self.state(*v).time <= time)
    }
}
