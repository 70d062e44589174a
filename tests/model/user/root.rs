//! Other names in the root, and calls that make no sense.

use std::ffi::OsStr;
use std::ops::ControlFlow;

use deltafs::errno::of_tree;
use deltafs::tree::{NodeKind, ROOT_INO, TreeError};
use jiff::Timestamp;

use super::World;
use crate::mount::{Fault, ensure};

impl World {
    pub(super) fn check_spelling(&mut self, version: u64, form: u8) -> Result<(), Fault> {
        let name = [
            format!("@V{version}"),
            format!("@v0{version}"),
            format!("@V{version:020}"),
        ][usize::from(form % 3)]
        .clone();
        let expected = self.expected(version);
        match self.mount().lookup(ROOT_INO, &name) {
            Ok(entry) => {
                let target = self
                    .mount()
                    .tree
                    .readlink(entry.attr.ino)
                    .map_err(|e| e.to_string())?;
                ensure!(
                    entry.attr.kind == NodeKind::Symlink && target == format!("@v{version}"),
                    "{name} is {entry:?} and leads to {target}"
                );
                ensure!(
                    entry.attr.size == target.len() as u64,
                    "{name}: {entry:?}, {target}"
                );
                let there = !expected.versions.is_empty()
                    || self.history().rebuildable().contains(&version);
                ensure!(there, "{name} exists: {entry:?}");
            }
            Err(errno) => {
                let unseen = self.disturbed() && errno == libc::ENOENT;
                let right =
                    expected.errnos.contains(&errno) || (unseen && !expected.errnos.is_empty());
                ensure!(right, "{name}: errno {errno}, expected {expected:?}");
            }
        }
        Ok(())
    }

    pub(super) fn check_time(&mut self, version: u64, delta: i8) -> Result<(), Fault> {
        let Some(state) = self.history().states.get(version as usize) else {
            return Ok(());
        };
        let time = state.time + i64::from(delta);
        let name = Timestamp::from_millisecond(time).map_err(|error| error.to_string())?;
        let name = format!(
            "@{}{:03}",
            name.strftime("%Y%m%d%H%M%S"),
            time.rem_euclid(1000)
        );
        let right = self.history().at_time(time);
        let target = match self.mount().lookup(ROOT_INO, &name) {
            Ok(entry) => {
                ensure!(entry.attr.kind == NodeKind::Symlink, "{name} is {entry:?}");
                Ok(self
                    .mount()
                    .tree
                    .readlink(entry.attr.ino)
                    .map_err(|error| error.to_string())?)
            }
            Err(errno) => Err(errno),
        };
        // What the mount has in memory of versions cleaned up since tells times too.
        let states = &self.history().states;
        let all = states
            .iter()
            .rposition(|state| state.time <= time)
            .map(|at| at as u64);
        let broken = self.is_broken();
        let is = |version: Option<u64>| match (&target, version) {
            (Ok(target), Some(version)) => *target == format!("@v{version}"),
            (Err(errno), None) => *errno == libc::ENOENT,
            _ => false,
        };
        ensure!(
            is(right) || (self.disturbed() && is(all)) || (broken && target == Err(libc::EUCLEAN)),
            "{name} leads to {target:?}, expected {right:?}"
        );
        Ok(())
    }

    /// What is not there, and calls that make no sense: each has its errno.
    pub(super) fn check_mistakes(&mut self) -> Result<(), Fault> {
        let far = self.history().states.len() as u64 + 7;
        if self.history().newest().is_some() {
            for name in [
                "x",
                "@",
                "@v",
                "@v-1",
                "@v1x",
                "@latest2",
                "@2024-13-01",
                "latest",
                "_delta_log",
                "@2999-01-01",
                "@1990-01-01",
                "@staging",
                &format!("@v{far}"),
                &format!("@V{far}"),
            ] {
                let found = self.mount().lookup(ROOT_INO, name);
                // Only the newest version tells whether commits carry their own times.
                let broken = self.is_broken() && found == Err(libc::EUCLEAN);
                ensure!(found == Err(libc::ENOENT) || broken, "{name}: {found:?}");
            }
            let latest = self.latest()?;
            for name in [
                "nothing.parquet",
                "nothing~0123456789abcdef.parquet",
                "p=x y",
                "_delta_log",
            ] {
                let found = self.mount().lookup(latest, name);
                let broken = found == Err(libc::EUCLEAN) || found == Err(libc::ENOENT);
                ensure!(broken, "@latest/{name}: {found:?}");
            }
        }
        let latest = self.latest()?;
        let tree = &self.mount().tree;
        let missing = 1 << 40;
        let errno = |result: Result<(), TreeError>| result.map_err(|e| of_tree(&e));
        for (what, found, right) in [
            (
                "open of a directory",
                errno(tree.open(latest).map(drop)),
                libc::EISDIR,
            ),
            (
                "readlink of a directory",
                errno(tree.readlink(latest).map(drop)),
                libc::EINVAL,
            ),
            (
                "stat of no inode",
                errno(tree.getattr(missing).map(drop)),
                libc::ESTALE,
            ),
            (
                "open of no inode",
                errno(tree.open(missing).map(drop)),
                libc::ESTALE,
            ),
            (
                "opendir of no inode",
                errno(tree.opendir(missing).map(drop)),
                libc::ESTALE,
            ),
            (
                "look-up in a file",
                errno(tree.lookup(4, OsStr::new("x")).map(drop)),
                libc::ENOTDIR,
            ),
            (
                "opendir of a file",
                errno(tree.opendir(4).map(drop)),
                libc::ENOTDIR,
            ),
            (
                "read of no handle",
                errno(tree.read(missing, &mut [0], 0).map(drop)),
                libc::EBADF,
            ),
            (
                "readdir of no handle",
                errno(tree.readdir(missing, 0, false, &mut |_| ControlFlow::Break(()))),
                libc::EBADF,
            ),
        ] {
            ensure!(
                found == Err(right),
                "{what}: {found:?}, expected errno {right}"
            );
        }
        Ok(())
    }
}
