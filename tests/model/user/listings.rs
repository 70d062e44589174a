//! Listings: of the root, of `@latest`, of versions.

use std::collections::{BTreeMap, BTreeSet};

use deltafs::tree::{Entry, Ino, NodeKind, ROOT_INO};

use super::World;
use crate::mount::{Answer, Fault, Shown, ensure};
use crate::reference::{FileNumber, LogicalFile, Mode, Verdict};

/// What a directory may show: the content of one of some versions, or an error.
#[derive(Debug)]
pub(super) struct Expected {
    pub(super) versions: Vec<u64>,
    pub(super) errnos: Vec<i32>,
}

/// What a listing shows: paths below the version directory, inodes, and what they are.
pub(super) type Seen = Vec<(String, Ino, LogicalFile)>;

impl World {
    pub(super) fn check_root(&mut self) -> Result<(), Fault> {
        let rows = self.mount().list(ROOT_INO)?;
        let Some(_) = self.history().newest() else {
            ensure!(
                rows == Err(libc::ENOENT),
                "the table is gone, the root lists {rows:?}"
            );
            return Ok(());
        };
        let rows = rows.map_err(|errno| format!("listing the root: errno {errno}"))?;
        let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
        ensure!(
            names.starts_with(&["@latest", "@info"]),
            "the root lists {names:?}"
        );
        let versions: Vec<u64> = names[2..]
            .iter()
            .filter_map(|name| name.strip_prefix("@v")?.parse().ok())
            .collect();
        ensure!(
            versions.len() == names.len() - 2,
            "the root lists {names:?}"
        );
        ensure!(versions.is_sorted(), "the root lists {names:?}");
        let right: Vec<u64> = self.history().rebuildable().into_iter().collect();
        if self.disturbed() {
            // The listing of the log is up to ten seconds old where something was taken away.
            let missing = right.iter().find(|version| !versions.contains(version));
            ensure!(
                missing.is_none(),
                "of {right:?} the root lists only {versions:?}"
            );
        } else {
            ensure!(
                versions == right,
                "the log has {right:?}, the root lists {versions:?}"
            );
        }
        for (at, row) in rows.iter().enumerate() {
            let entry = self.mount().lookup(ROOT_INO, &row.name);
            let is_gone = at >= 2 && !right.contains(&versions[at - 2]);
            if is_gone && entry == Err(libc::ENOENT) {
                continue;
            }
            ensure!(
                entry.is_ok_and(|entry| entry.attr.ino == row.ino && entry.attr.kind == row.kind),
                "the root lists {row:?}, its look-up: {entry:?}"
            );
        }
        Ok(())
    }

    /// Lists `@latest`, and opens so many of the files.
    pub(super) fn check_latest(&mut self, open: usize) -> Result<(), Fault> {
        let latest = self.latest()?;
        let listed = self.mount().walk(latest)?;
        let Some(newest) = self.history().newest() else {
            ensure!(
                listed == Err(libc::ENOENT),
                "the table is gone, @latest lists {listed:?}"
            );
            return Ok(());
        };
        let mut expected = self.expected(newest);
        if self.history().verdict(newest) != Verdict::Exact && self.disturbed() {
            // A gap is seen when the log is listed.
            expected.versions.extend(newest.checked_sub(2));
        }
        let table = self.site.table();
        let Some((version, seen)) = self.check_listing(table, listed, &expected)? else {
            return Ok(());
        };
        let (schema, replaced) = (self.history().state(version).schema, self.mount().replaced);
        for (path, _, file) in &seen {
            let shown = Shown {
                file: file.clone(),
                version,
                schema,
                replaced,
            };
            self.mount().shown.insert((table, path.clone()), shown);
        }
        self.check_files(latest, version, &seen, open)
    }

    /// Looks up and lists a version directory, and opens so many of the files.
    pub(super) fn check_version(&mut self, version: u64, open: usize) -> Result<(), Fault> {
        let expected = self.expected(version);
        let directory = match self.mount().lookup(ROOT_INO, &format!("@v{version}")) {
            Ok(entry) => entry,
            Err(errno) => {
                // Behind a gap that the mount has not seen there is nothing.
                let unseen = self.disturbed() && errno == libc::ENOENT;
                let right =
                    expected.errnos.contains(&errno) || (unseen && !expected.errnos.is_empty());
                ensure!(
                    right,
                    "look-up of @v{version}: errno {errno}, expected {expected:?}"
                );
                return Ok(());
            }
        };
        ensure!(
            directory.attr.kind == NodeKind::Directory,
            "@v{version}: {directory:?}"
        );
        self.check_version_time(version, &directory)?;
        let ino = directory.attr.ino;
        let table = self.site.table();
        self.mount()
            .version_directories
            .entry((table, version))
            .or_default()
            .insert(ino);
        let listed = self.mount().walk(ino)?;
        match self.check_listing(table, listed, &expected)? {
            Some((version, seen)) => self.check_files(ino, version, &seen, open),
            None => Ok(()),
        }
    }

    /// Checks the modification time of a version directory.
    fn check_version_time(&self, version: u64, directory: &Entry) -> Result<(), Fault> {
        let time = match self.history().commits.get(&version) {
            Some(_) => self.history().state(version).time,
            // Nothing but a commit tells a time.
            None => 0,
        };
        let found = directory.attr.modified;
        // What a broken log does not tell now it may tell when it is mended.
        let unknown = self.is_broken() && found == 0 && directory.attr_ttl.is_zero();
        let is_right = found == time || unknown || self.disturbed();
        ensure!(is_right, "@v{version}, made {time}: {directory:?}");
        Ok(())
    }

    /// Directories that were looked up before: of this table, or of one that is gone.
    pub(super) fn check_old_directories(&mut self) -> Result<(), Fault> {
        let directories = self.mount().version_directories.clone();
        for ((table, version), inos) in directories {
            for ino in inos {
                let listed = self.mount().walk(ino)?;
                let expected = match table == self.site.table() && self.mount().replaced == 0 {
                    true => self.expected(version),
                    false => Expected {
                        versions: vec![version],
                        errnos: vec![libc::ENOENT, libc::EUCLEAN],
                    },
                };
                self.check_listing(table, listed, &expected)
                    .map_err(|fault| {
                        format!("@v{version} of table {table}, as {ino:#x}: {fault}")
                    })?;
            }
        }
        Ok(())
    }

    /// What a version directory looked up now may show.
    pub(super) fn expected(&self, version: u64) -> Expected {
        match self.history().verdict(version) {
            Verdict::Exact => Expected {
                versions: vec![version],
                errnos: vec![],
            },
            // What a mount has in memory it may go on showing.
            Verdict::Error(errno) => Expected {
                versions: (self.disturbed() && version < self.history().states.len() as u64)
                    .then_some(version)
                    .into_iter()
                    .collect(),
                errnos: vec![errno],
            },
        }
    }

    /// Checks that a listing is that of one version, and what its names mean. Returns which.
    fn check_listing(
        &mut self,
        table: usize,
        listed: Answer<BTreeMap<String, Ino>>,
        expected: &Expected,
    ) -> Result<Option<(u64, Seen)>, Fault> {
        let listed = match listed {
            Ok(listed) => listed,
            Err(errno) => {
                ensure!(
                    expected.errnos.contains(&errno),
                    "errno {errno}, expected {expected:?}"
                );
                return Ok(None);
            }
        };
        let mut faults = Vec::new();
        for version in &expected.versions {
            match self.match_listing(table, *version, &listed) {
                Ok(seen) => {
                    for (path, ino, file) in &seen {
                        let schema = self.site.histories[table].state(*version).schema;
                        self.bind(table, path, *ino, file, schema)?;
                    }
                    return Ok(Some((*version, seen)));
                }
                Err(fault) => faults.push(fault),
            }
        }
        Err(format!(
            "listed {listed:?}, expected {expected:?}: {}",
            faults.join("; ")
        ))
    }

    /// Checks that a listing is that of `version`.
    fn match_listing(
        &self,
        table: usize,
        version: u64,
        listed: &BTreeMap<String, Ino>,
    ) -> Result<Seen, Fault> {
        let history = &self.site.histories[table];
        let state = history.state(version);
        let mut seen = Vec::new();
        for (path, ino) in listed {
            let number = number_of(path).ok_or_else(|| format!("{path:?} is no name of a file"))?;
            let Some(dv) = state.live.get(&number) else {
                return Err(format!("{path:?} is not live in version {version}"));
            };
            let file = (number, dv.clone());
            let directory = history.directory(state, number, self.mode);
            let Some(name) = path
                .strip_prefix(&directory)
                .filter(|name| !name.contains('/'))
            else {
                return Err(format!("{path:?} does not lie in {directory:?}"));
            };
            let own = history.files[number].path.rsplit('/').next() == Some(name);
            if self.mode == Mode::Raw {
                ensure!(
                    own,
                    "{path:?}: the raw view shows {:?}",
                    history.files[number].path
                );
            } else {
                ensure!(
                    own || hash_of(name).is_some(),
                    "{path:?} is no presented name"
                );
                let may = history.may_keep_name(&file, state.schema, self.mode);
                let same = history.files[number].added_under == state.schema;
                ensure!(
                    !own || (may && same),
                    "{path:?} has no right to its own name"
                );
                // Where the log does not reach back, nobody can tell whose schema it was.
                let certain = self.is_certain(version);
                ensure!(
                    own || !(may && same && certain),
                    "{path:?} may keep its own name"
                );
            }
            seen.push((path.clone(), *ino, file));
        }
        let found: BTreeSet<FileNumber> = seen.iter().map(|(_, _, (number, _))| *number).collect();
        ensure!(
            found.len() == seen.len(),
            "a file of version {version} is listed twice"
        );
        let missing = state.live.keys().find(|number| !found.contains(number));
        ensure!(
            missing.is_none(),
            "file {missing:?} of version {version} is not listed"
        );
        Ok(seen)
    }

    /// Whether the log tells under which schemas the files of a version were added.
    pub(super) fn is_certain(&self, version: u64) -> bool {
        self.history().is_whole(version) && !self.disturbed()
    }
}

/// The number of the file that a name was made from.
pub(super) fn number_of(path: &str) -> Option<FileNumber> {
    let name = path.rsplit('/').next()?;
    let stem = match hash_of(name) {
        Some(_) => name.rsplit_once('~')?.0,
        None => name.strip_suffix(".parquet")?,
    };
    stem.trim_start_matches('_')
        .strip_prefix('f')?
        .trim_start_matches(' ')
        .parse()
        .ok()
}

/// The hash in a name of the form `STEM~HASH.parquet`.
pub(super) fn hash_of(name: &str) -> Option<&str> {
    let (_, hash) = name.strip_suffix(".parquet")?.rsplit_once('~')?;
    let hexadecimal = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    (hash.len() == 16 && hash.bytes().all(hexadecimal)).then_some(hash)
}
