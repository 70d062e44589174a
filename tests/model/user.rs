//! What the user of a mount may rely on, checked.

mod listings;
mod names;
mod root;

use std::collections::HashMap;

use deltafs::tree::Ino;

use super::mount::{Fault, Mount, ensure};
use super::ops::{Op, User};
use super::others::{Effect, Site};
use super::reference::{History, Mode, Verdict};
use names::Bound;

/// A table, a mount of it, and what was seen so far.
pub struct World {
    site: Site,
    mode: Mode,
    mount: Option<Mount>,
    /// Names by table and path below a version directory. It outlives mounts.
    names: HashMap<(usize, String), Bound>,
    /// Counts checks, to spread those that are made now and then.
    turn: usize,
}

/// Carries out a sequence and checks all properties on the way.
pub fn run(mode: Mode, sequence: &[Op]) -> Result<(), Fault> {
    let site = Site::new();
    let mut world = World {
        mount: Some(Mount::new(&site.disk.root(), mode).map_err(|e| format!("mount: errno {e}"))?),
        site,
        mode,
        names: HashMap::new(),
        turn: 0,
    };
    for (at, op) in sequence.iter().enumerate() {
        let step = |fault: Fault| format!("{mode:?}, step {at}, {op:?}: {fault}");
        match op {
            Op::Other(other) | Op::Unseen(other) => {
                let Effect {
                    disturbed,
                    replaced,
                } = world.site.apply(*other);
                if let Some(mount) = &mut world.mount {
                    mount.disturbed |= disturbed;
                    mount.replaced += usize::from(replaced);
                }
            }
            Op::User(user) => world.act(*user).map_err(step)?,
        }
        if !matches!(op, Op::Unseen(_)) {
            world.glance().map_err(step)?;
        }
    }
    let end = |fault: Fault| format!("{mode:?}, at the end: {fault}");
    world.look_at_everything().map_err(end)?;
    world.remount().map_err(end)?;
    world.look_at_everything().map_err(end)?;
    match world.mount.take() {
        Some(mount) => mount.unmount().map_err(end),
        None => Ok(()),
    }
}

impl World {
    fn history(&self) -> &History {
        self.site.history()
    }

    fn act(&mut self, user: User) -> Result<(), Fault> {
        if self.mount.is_none() && user != User::Remount {
            return Ok(());
        }
        match user {
            User::ListRoot => self.check_root(),
            User::ListLatest => self.check_latest(usize::MAX),
            User::List(at) => self.check_version(self.some_version(at), usize::MAX),
            User::LookAtEverything => self.look_at_everything(),
            User::LookUp(name, at) => match self.some_name(name) {
                Some(path) => self.check_name(self.some_version(at), &path),
                None => Ok(()),
            },
            User::LookUpLatest(name) => match self.some_name(name) {
                Some(path) => self.check_name_in_latest(&path),
                None => Ok(()),
            },
            User::KeepFile(at, file) => self.keep_file(at, file),
            User::KeepDirectory(at, rows) => {
                let version = self.some_version(at);
                match self.mount().directory(&format!("@v{version}")) {
                    Ok(ino) => self.keep_directory(ino, rows),
                    Err(_) => self.check_version(version, 0),
                }
            }
            User::KeepLatest(rows) => {
                let latest = self.latest()?;
                self.keep_directory(latest, rows)
            }
            User::ReadKeptFile(at) => self.mount().read_kept_file(at),
            User::CloseFile(at) => {
                self.mount().close_file(at);
                Ok(())
            }
            User::ReadKeptDirectory(at) => self.mount().read_kept_directory(at),
            User::CloseDirectory(at) => {
                self.mount().close_directory(at);
                Ok(())
            }
            User::Forget(which) => {
                let known = self.mount().known();
                let some = known
                    .into_iter()
                    .filter(|ino| ino % 4 != u64::from(which % 4));
                some.for_each(|ino| self.mount().forget(ino));
                Ok(())
            }
            User::Spelling(at, form) => self.check_spelling(self.some_version(at), form),
            User::Time(at, delta) => self.check_time(self.some_version(at), delta),
            User::Mistakes => self.check_mistakes(),
            User::Remount => self.remount(),
        }
    }

    /// The mount. Callers know that there is one.
    fn mount(&mut self) -> &mut Mount {
        self.mount.as_mut().expect("steps of the user need a mount")
    }

    /// Whether the newest version cannot be read.
    fn is_broken(&self) -> bool {
        let newest = self.history().newest();
        newest.is_some_and(|newest| self.history().verdict(newest) != Verdict::Exact)
    }

    fn disturbed(&self) -> bool {
        self.mount.as_ref().is_some_and(|mount| mount.disturbed)
    }

    /// A version that there is or was, or, rarely, the next one.
    fn some_version(&self, number: u8) -> u64 {
        u64::from(number) % (self.history().states.len() as u64 + 1)
    }

    fn some_name(&self, number: u8) -> Option<String> {
        let mut names = self.names_now();
        let at = usize::from(number).checked_rem(names.len())?;
        Some(names.swap_remove(at))
    }

    /// All names met of the table that stands there.
    fn names_now(&self) -> Vec<String> {
        let now = self.site.table();
        let names = self.names.keys().filter(|(table, _)| *table == now);
        let mut names: Vec<String> = names.map(|(_, path)| path.clone()).collect();
        names.sort_unstable();
        names
    }

    fn latest(&mut self) -> Result<Ino, Fault> {
        self.mount()
            .directory("@latest")
            .map_err(|errno| format!("@latest: errno {errno}"))
    }

    /// The checks after every step: cheap, of what matters most.
    fn glance(&mut self) -> Result<(), Fault> {
        self.turn += 1;
        if self.mount.is_none() {
            return Ok(());
        }
        self.check_latest(1)?;
        let version = self.some_version(self.turn as u8);
        self.check_version(version, 1)?;
        let mount = self.mount();
        mount.read_kept_file(0)
    }

    fn look_at_everything(&mut self) -> Result<(), Fault> {
        if self.mount.is_none() {
            return Ok(());
        }
        self.check_root()?;
        self.check_latest(usize::MAX)?;
        self.check_mistakes()?;
        let end = self.history().states.len() as u64;
        for version in 0..=end {
            self.check_version(version, usize::MAX)?;
        }
        for path in self.names_now() {
            self.check_name_in_latest(&path)?;
            for version in 0..=end {
                self.check_name(version, &path)?;
            }
        }
        self.check_old_directories()
    }

    fn remount(&mut self) -> Result<(), Fault> {
        if let Some(mount) = self.mount.take() {
            mount.unmount()?;
        }
        match Mount::new(&self.site.disk.root(), self.mode) {
            Ok(mount) => {
                ensure!(
                    self.history().newest().is_some(),
                    "a table that is gone was mounted"
                );
                self.mount = Some(mount);
            }
            Err(errno) => {
                let gone = self.history().newest().is_none();
                ensure!(gone && errno == libc::ENOENT, "mount: errno {errno}");
            }
        }
        Ok(())
    }

    fn keep_directory(&mut self, ino: Ino, rows: u8) -> Result<(), Fault> {
        // Whether it may fail is checked where it is listed.
        self.mount().keep_directory(ino, rows).map(|_| ())
    }
}
