//! Names: what each means for ever, where it is found, what it opens.

use deltafs::errno::Errno;
use deltafs::tree::{Entry, Ino, NodeKind};

use super::World;
use super::listings::{Seen, hash_of, number_of};
use crate::mount::{Answer, Fault, ensure};
use crate::others::choose;
use crate::reference::{Content, LogicalFile, Mode, Verdict};

/// What a name stands for, for ever.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Meaning {
    pub(super) file: LogicalFile,
    /// The schema, where the name depends on it.
    pub(super) schema: Option<usize>,
}

/// A name met below a version directory, and its inode in every mount that sees one table only.
#[derive(Debug)]
pub(super) struct Bound {
    pub(super) meaning: Meaning,
    pub(super) ino: Option<Ino>,
}

impl World {
    /// "The same name always means the same bytes and the same inode."
    pub(super) fn bind(
        &mut self,
        table: usize,
        path: &str,
        ino: Ino,
        file: &LogicalFile,
        schema: usize,
    ) -> Result<(), Fault> {
        let hashed = self.mode != Mode::Raw && hash_of(path).is_some();
        let meaning = Meaning {
            // Deletion vectors are nothing to the raw view.
            file: if self.mode == Mode::Raw {
                (file.0, None)
            } else {
                file.clone()
            },
            schema: hashed.then_some(schema),
        };
        let key = (table, path.to_owned());
        let bound = self.names.entry(key.clone()).or_insert_with(|| Bound {
            meaning: meaning.clone(),
            ino: None,
        });
        ensure!(
            bound.meaning == meaning,
            "{path:?} meant {:?}, now {meaning:?}",
            bound.meaning
        );
        let mount = self.mount.as_mut().expect("a listing comes from a mount");
        if mount.replaced == 0 {
            let before = *bound.ino.get_or_insert(ino);
            ensure!(
                before == ino,
                "{path:?} was inode {before:#x}, now {ino:#x}"
            );
        }
        let meant = mount.meanings.entry(ino).or_insert_with(|| key.clone());
        ensure!(*meant == key, "inode {ino:#x} was {meant:?}, now {key:?}");
        let inos = mount.inos.entry(key).or_default();
        inos.insert(ino);
        ensure!(
            inos.len() <= 1 + mount.replaced,
            "{path:?} has the inodes {inos:x?}"
        );
        Ok(())
    }

    /// Looks up, stats, opens and reads so many of the listed files of a version.
    pub(super) fn check_files(
        &mut self,
        directory: Ino,
        version: u64,
        seen: &Seen,
        count: usize,
    ) -> Result<(), Fault> {
        let start = self.turn.checked_rem(seen.len()).unwrap_or(0);
        for (path, ino, file) in seen.iter().cycle().skip(start).take(count.min(seen.len())) {
            let entry = self.mount().lookup_path(directory, path);
            ensure!(
                entry.is_ok_and(|entry| entry.attr.ino == *ino),
                "{path:?} was listed with inode {ino:#x}, its look-up: {entry:?}"
            );
            let schema = self.history().state(version).schema;
            let right = self.history().opened(file, schema, self.mode);
            self.check_open(path, *ino, file, right)?;
        }
        Ok(())
    }

    /// Stats, opens and reads a file.
    fn check_open(
        &mut self,
        path: &str,
        ino: Ino,
        file: &LogicalFile,
        right: Answer<Content>,
    ) -> Result<(), Fault> {
        let data = &self.history().files[file.0];
        let (size, modified) = (data.bytes.len() as u64, data.modified);
        let read = self.mount().read_file(ino)?;
        let fault = match (&read, &right) {
            (Ok(bytes), Ok(right)) => right.difference(bytes),
            (Err(read), Err(right)) if read == right => None,
            (Ok(bytes), Err(right)) => {
                Some(format!("{} bytes, expected errno {right}", bytes.len()))
            }
            (Err(read), _) => Some(format!("errno {read}, expected {right:?}")),
        };
        if let Some(fault) = fault {
            return Err(format!("opening {path:?} gives {fault}"));
        }
        // Of a file that cannot be had, the size may be what it was when it could.
        let gone = read.is_err();
        let size = read.map_or(size, |bytes| bytes.len() as u64);
        let stat = self
            .mount()
            .tree
            .getattr(ino)
            .map_err(|error| error.to_string())?;
        ensure!(
            stat.attr.kind == NodeKind::File
                && (gone || stat.attr.size == size)
                && stat.attr.modified == modified
                && stat.attr.permissions == 0o444,
            "{path:?} has {size} bytes of {modified}, stat says {stat:?}"
        );
        Ok(())
    }

    pub(super) fn meaning(&self, path: &str) -> &Meaning {
        &self.names[&(self.site.table(), path.to_owned())].meaning
    }

    /// Whether a name met before stands in a version; `None` where it may or may not.
    fn stands_in(&self, version: u64, path: &str) -> Option<bool> {
        let (meaning, state) = (self.meaning(path), self.history().state(version));
        let (number, dv) = &meaning.file;
        let live = state.live.get(number);
        if self.mode == Mode::Raw {
            return Some(live.is_some());
        }
        if live != Some(dv) {
            return Some(false);
        }
        match meaning.schema {
            Some(schema) => Some(schema == state.schema),
            None => {
                let due = self.history().files[*number].added_under == state.schema;
                match self.is_certain(version) {
                    true => Some(due),
                    // Nobody can tell any more, except who has told before.
                    false if due => None,
                    false => Some(false),
                }
            }
        }
    }

    /// Looks up a name met before in some version directory.
    pub(super) fn check_name(&mut self, version: u64, path: &str) -> Result<(), Fault> {
        if self.history().verdict(version) != Verdict::Exact {
            return self.check_version(version, 0);
        }
        let directory = self.mount().directory(&format!("@v{version}"));
        let directory = directory.map_err(|errno| format!("@v{version}: errno {errno}"))?;
        let entry = self.mount().lookup_path(directory, path);
        let place = format!("@v{version}/{path}");
        self.check_entry(version, &place, path, entry)
    }

    fn check_entry(
        &mut self,
        version: u64,
        place: &str,
        path: &str,
        entry: Answer<Entry>,
    ) -> Result<(), Fault> {
        let entry = match entry {
            Ok(entry) => entry,
            Err(errno) => {
                ensure!(errno == libc::ENOENT, "{place:?}: errno {errno}");
                ensure!(
                    self.stands_in(version, path) != Some(true),
                    "{place:?} is not found"
                );
                return Ok(());
            }
        };
        ensure!(
            self.stands_in(version, path) != Some(false),
            "{place:?} is found: {entry:?}"
        );
        let state = self.history().state(version);
        let schema = state.schema;
        let number = self.meaning(path).file.0;
        let file = (number, state.live[&number].clone());
        self.bind(self.site.table(), path, entry.attr.ino, &file, schema)?;
        let mut right = self.history().opened(&file, schema, self.mode);
        if self.stands_in(version, path).is_none() {
            // Not a name that this version lists, and refused where another one that does refuses.
            let read = self.mount().read_file(entry.attr.ino)?;
            right = right.and_then(|right| read.map(|_| right));
        }
        self.check_open(place, entry.attr.ino, &file, right)
    }

    /// "Names listed under `@latest` keep opening after the table moves on."
    pub(super) fn check_name_in_latest(&mut self, path: &str) -> Result<(), Fault> {
        let Some(newest) = self.history().newest() else {
            return Ok(());
        };
        let exact = self.history().verdict(newest) == Verdict::Exact;
        let latest = self.latest()?;
        let entry = self.mount().lookup_path(latest, path);
        let place = format!("@latest/{path}");
        if exact && self.stands_in(newest, path) == Some(true) {
            return self.check_entry(newest, &place, path, entry);
        }
        let key = (self.site.table(), path.to_owned());
        let replaced = self.mount().replaced;
        let kept = self.mount().shown.get(&key).cloned().filter(|shown| {
            shown.replaced == replaced || self.history().verdict(shown.version) == Verdict::Exact
        });
        if let Some(shown) = kept {
            let opened = self.history().opened(&shown.file, shown.schema, self.mode);
            // Another reading of the log knows a file's own name only where the log tells what it
            // means.
            let is_own = self.meaning(path).schema.is_none();
            let is_kept = shown.replaced == replaced || self.is_certain(shown.version);
            if let Err(errno) = entry
                && is_own
                && !is_kept
            {
                return self.check_absence(&place, newest, errno);
            }
            let entry =
                entry.map_err(|errno| format!("{place:?}, listed before: errno {errno}"))?;
            self.bind(
                self.site.table(),
                path,
                entry.attr.ino,
                &shown.file,
                shown.schema,
            )?;
            return self.check_open(&place, entry.attr.ino, &shown.file, opened);
        }
        match entry {
            Ok(entry) => {
                // A name of an older version.
                let Meaning { file, schema } = self.meaning(path).clone();
                let schema = schema.unwrap_or(self.history().files[file.0].added_under);
                self.bind(self.site.table(), path, entry.attr.ino, &file, schema)?;
                let right = self.history().opened(&file, schema, self.mode);
                self.check_open(&place, entry.attr.ino, &file, right)
            }
            Err(errno) => self.check_absence(&place, newest, errno),
        }
    }

    /// What `@latest` answers to a name that it need not know: that it is not there or, where the
    /// newest version cannot be read, that nobody can tell.
    fn check_absence(&self, place: &str, newest: u64, errno: Errno) -> Result<(), Fault> {
        let right = match self.history().verdict(newest) {
            Verdict::Exact => errno == libc::ENOENT,
            // It may be in memory.
            Verdict::Error(unreadable) => {
                errno == unreadable || (errno == libc::ENOENT && self.disturbed())
            }
        };
        ensure!(right, "{place:?}: errno {errno}");
        Ok(())
    }

    pub(super) fn keep_file(&mut self, at: u8, file: u8) -> Result<(), Fault> {
        let version = self.some_version(at);
        if self.history().verdict(version) != Verdict::Exact {
            return Ok(());
        }
        let state = self.history().state(version);
        let Some((number, dv)) = choose(state.live.clone(), file) else {
            return Ok(());
        };
        let right = self
            .history()
            .opened(&(number, dv), state.schema, self.mode);
        let Ok(content) = right else {
            return Ok(());
        };
        let directory = self.mount().directory(&format!("@v{version}"));
        let directory = directory.map_err(|errno| format!("@v{version}: errno {errno}"))?;
        let files = self
            .mount()
            .walk(directory)?
            .map_err(|errno| format!("@v{version}: {errno}"))?;
        let path = files.keys().find(|path| number_of(path) == Some(number));
        let path = path.ok_or_else(|| format!("@v{version} does not list file {number}"))?;
        let entry = self.mount().lookup_path(directory, path);
        let entry = entry.map_err(|errno| format!("@v{version}/{path}: errno {errno}"))?;
        self.mount().keep_file(entry.attr.ino, &content)
    }
}
