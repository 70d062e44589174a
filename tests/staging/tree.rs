//! The tree over a staging area: numbers, handles, holds and errors, without a mount.

use std::ffi::OsStr;
use std::fs;
use std::ops::ControlFlow;
use std::os::unix::fs::{MetadataExt, symlink};
use std::sync::Arc;

use deltafs::errno;
use deltafs::storage::posix::{Access, NewFile, Owner, Range, Replacing, Seek, TimeChange};
use deltafs::tree::{
    Changes, Entry, Ino, NodeKind, Opened, ROOT_INO, Tree, TreeError, TreeOptions, is_staged,
};

use crate::rig::{files_of, open, staging};
use crate::support::{TableBuilder, batch, list, longs, parquet, tree_read};

const KEEP: Changes = Changes {
    permissions: None,
    uid: None,
    gid: None,
    size: None,
    accessed: TimeChange::Keep,
    modified: TimeChange::Keep,
};

fn name(text: &str) -> &OsStr {
    OsStr::new(text)
}

fn new(permissions: u16) -> NewFile {
    let own = fs::metadata("/proc/self").expect("there is a process");
    NewFile {
        permissions,
        owner: Owner {
            uid: own.uid(),
            gid: own.gid(),
        },
    }
}

fn errno<T>(outcome: Result<T, TreeError>) -> i32 {
    outcome.err().map_or(0, |error| errno::of_tree(&error))
}

/// A table whose only version has no file, as a tree with the transaction `t`.
struct Scene {
    table: TableBuilder,
    staging: Arc<deltafs::staging::Staging>,
    tree: Tree,
    area: Ino,
    top: Ino,
}

impl Scene {
    fn new() -> Scene {
        let table = TableBuilder::with_schema(&[("id", "long")]);
        let staging = Arc::new(staging(&table.root()));
        let options = TreeOptions {
            staging: Some(staging.clone()),
            ..TreeOptions::default()
        };
        let tree = Tree::new(open(&table.root()), options);
        let area = tree
            .lookup(ROOT_INO, name("@staging"))
            .expect("is there")
            .attr
            .ino;
        let top = tree.mkdir(area, name("t"), new(0o755)).expect("begins");
        Scene {
            table,
            staging,
            tree,
            area,
            top: top.attr.ino,
        }
    }

    fn create(&self, parent: Ino, text: &str) -> (Entry, Opened) {
        self.tree
            .create(parent, name(text), new(0o644), Access::ReadWrite, false)
            .expect("can be made")
    }

    fn put(&self, parent: Ino, text: &str, content: &[u8]) -> Ino {
        let (entry, opened) = self.create(parent, text);
        let ino = entry.attr.ino;
        let written = self.tree.write(ino, opened.handle, content, 0);
        assert_eq!(written.expect("can be written"), content.len());
        self.tree.release(opened.handle);
        ino
    }

    fn lookup(&self, parent: Ino, text: &str) -> Ino {
        let found = self.tree.lookup(parent, name(text));
        found
            .unwrap_or_else(|error| panic!("{text}: {error}"))
            .attr
            .ino
    }

    /// fsync of what has a number.
    fn fsync(&self, ino: Ino) -> i32 {
        let opened = self.tree.open(ino).expect("opens");
        let synced = errno(self.tree.fsync(ino, opened.handle, false));
        self.tree.release(opened.handle);
        synced
    }

    fn on_disk(&self) -> std::path::PathBuf {
        files_of(&self.staging.get(name("t")).expect("has begun"))
    }

    fn state(&self) -> String {
        let status = tree_read(&self.tree, "@staging/t/.status").expect("can be read");
        let status: serde_json::Value = serde_json::from_slice(&status).expect("JSON");
        status["state"].as_str().expect("text").to_owned()
    }
}

#[test]
fn without_staging_there_is_none() {
    let table = TableBuilder::with_schema(&[("id", "long")]);
    let tree = table.tree();
    assert_eq!(list(&tree, "").unwrap(), ["@latest", "@info", "@v0"]);
    assert_eq!(errno(tree.lookup(ROOT_INO, name("@staging"))), libc::ENOENT);
    let scene = Scene::new();
    assert_eq!(errno(tree.getattr(scene.area)), libc::ESTALE);
    assert_eq!(errno(tree.opendir(scene.area)), libc::ESTALE);
    assert_eq!(
        errno(tree.mkdir(scene.area, name("x"), new(0o755))),
        libc::ESTALE
    );
    assert_eq!(
        list(&scene.tree, "").unwrap(),
        ["@latest", "@info", "@staging", "@v0"]
    );
}

#[test]
fn numbers_are_those_of_the_disk_and_attributes_too() {
    let scene = Scene::new();
    let tree = &scene.tree;
    let directory = tree
        .mkdir(scene.top, name("d"), new(0o750))
        .expect("can be made");
    let file = scene.put(directory.attr.ino, "f", b"content");
    let on_disk = |path: &str| fs::metadata(scene.on_disk().join(path)).expect("is on disk");
    for (ino, path) in [(scene.top, ""), (directory.attr.ino, "d"), (file, "d/f")] {
        assert!(is_staged(ino));
        assert_eq!(ino & ((1 << 60) - 1), on_disk(path).ino());
    }
    for ino in [ROOT_INO, scene.area, scene.lookup(ROOT_INO, "@v0")] {
        assert!(!is_staged(ino));
    }
    let attr = tree.getattr(file).expect("is known").attr;
    let stored = attr.stored.expect("lies on the disk");
    let found = on_disk("d/f");
    assert_eq!(
        (attr.kind, attr.size, attr.permissions),
        (NodeKind::File, 7, 0o644)
    );
    assert_eq!(
        (
            stored.modified.seconds,
            i64::from(stored.modified.nanoseconds)
        ),
        (found.mtime(), found.mtime_nsec())
    );
    assert_eq!(
        attr.modified,
        found.mtime() * 1000 + found.mtime_nsec() / 1_000_000
    );
    assert_eq!(directory.attr.permissions, 0o750);
    // The number of a name does not change when it is forgotten.
    tree.forget(file, 1);
    assert_eq!(errno(tree.getattr(file)), libc::ESTALE);
    assert_eq!(scene.lookup(directory.attr.ino, "f"), file);
}

/// A node is held as long as it is known, and no longer: the number is not given away meanwhile,
/// and descriptors do not add up.
#[test]
fn nodes_are_held_until_they_are_forgotten() {
    let scene = Scene::new();
    let tree = &scene.tree;
    let held = || {
        fs::read_dir("/proc/self/fd")
            .expect("can be listed")
            .count()
    };
    let ino = scene.put(scene.top, "f", b"old");
    tree.unlink(scene.top, name("f")).expect("is there");
    assert_eq!(tree.getattr(ino).expect("is known").attr.links, 0);
    assert_ne!(scene.put(scene.top, "f", b"new"), ino);
    tree.forget(ino, 1);
    // Other tests of this process open files meanwhile, but not hundreds.
    let before = held();
    let inos: Vec<Ino> = (0..300)
        .map(|number| scene.put(scene.top, &format!("{number}"), b""))
        .collect();
    assert!(held() > before + 200);
    for ino in &inos {
        assert_eq!(tree.getattr(*ino).expect("is known").attr.links, 1);
        tree.forget(*ino, 1);
        assert_eq!(errno(tree.getattr(*ino)), libc::ESTALE);
    }
    assert!(held() < before + 150, "{before} then {}", held());
}

/// A removed file can be used as long as it is open, and takes no room from then on, although the
/// kernel has not forgotten it yet.
#[test]
fn a_removed_file_is_whole_while_it_is_open_and_takes_no_room_afterwards() {
    let scene = Scene::new();
    let tree = &scene.tree;
    let size = |ino| tree.getattr(ino).expect("is known").attr.size;
    let read = |handle| {
        let mut buffer = [0; 8];
        let count = tree.read(handle, &mut buffer, 0).expect("can be read");
        buffer[..count].to_vec()
    };
    let put = |text| scene.put(scene.top, text, b"old");

    let closed = put("closed");
    tree.unlink(scene.top, name("closed")).expect("is there");
    assert_eq!(size(closed), 0);
    assert_eq!(errno(tree.open(closed)), libc::ESTALE);

    let open = put("open");
    let handles = [(); 2].map(|()| tree.open(open).expect("opens").handle);
    tree.unlink(scene.top, name("open")).expect("is there");
    tree.release(handles[0]);
    assert_eq!(read(handles[1]), b"old");
    let once_more = tree.open(open).expect("it is open, so it can be opened");
    tree.release(handles[1]);
    assert_eq!(read(once_more.handle), b"old");
    tree.release(once_more.handle);
    assert_eq!(size(open), 0);

    let replaced = put("replaced");
    put("other");
    let (from, to) = (name("other"), name("replaced"));
    tree.rename(scene.top, from, scene.top, to, Replacing::Yes)
        .expect("is there");
    assert_eq!(size(replaced), 0);

    let twice = put("twice");
    tree.link(twice, scene.top, name("two")).expect("can be");
    tree.unlink(scene.top, name("twice")).expect("is there");
    assert_eq!(size(twice), 3, "it has another name");
    tree.unlink(scene.top, name("two")).expect("is there");
    assert_eq!(size(twice), 0);
}

/// What a version has under a name of its own is not emptied when VACUUM has taken that name away:
/// a reader may have it open.
#[test]
fn a_committed_file_is_never_emptied() {
    let scene = Scene::new();
    let tree = &scene.tree;
    let rows = parquet(&batch([("id", longs(0..3))]));
    let ino = scene.put(scene.top, "a.parquet", &rows);
    let marker = scene.put(scene.top, ".commit", b"");
    assert_eq!(scene.fsync(marker), 0);
    let data = crate::rig::files_below(&scene.table.root());
    assert_eq!(data.len(), 1);
    let data = scene.table.root().join(&data[0]);
    let reader = fs::File::open(&data).expect("is there");
    fs::remove_file(&data).expect("is there");
    tree.unlink(scene.top, name("a.parquet")).expect("is there");
    let attr = tree.getattr(ino).expect("is known").attr;
    assert_eq!((attr.links, attr.size), (0, rows.len() as u64));
    assert_eq!(reader.metadata().expect("is open").len(), rows.len() as u64);
}

#[test]
fn what_comes_to_be_at_the_same_time_is_looked_up_again() {
    let scene = Scene::new();
    scene.put(scene.top, "f", b"x");
    let create = |exclusive| {
        let made = scene
            .tree
            .create(scene.top, name("f"), new(0o644), Access::Write, exclusive);
        errno(made)
    };
    assert_eq!(create(true), libc::EEXIST);
    assert_eq!(create(false), libc::ESTALE);
}

#[test]
fn all_but_the_marker_pass_through() {
    let scene = Scene::new();
    let (_, opened) = scene.create(scene.top, "f");
    assert!(opened.backing.is_some() && opened.staged && !opened.immutable);
    let (_, marker) = scene.create(scene.top, ".commit");
    assert!(marker.backing.is_none() && marker.staged);
    let below = scene
        .tree
        .mkdir(scene.top, name("d"), new(0o755))
        .expect("can be made");
    let (_, opened) = scene.create(below.attr.ino, ".commit");
    assert!(opened.backing.is_some(), "the marker lies at the top");
    let ino = scene.lookup(scene.top, ".commit");
    scene
        .tree
        .rename(
            scene.top,
            name(".commit"),
            scene.top,
            name("m"),
            Replacing::Yes,
        )
        .expect("is an ordinary rename");
    assert!(scene.tree.open(ino).expect("opens").backing.is_some());
}

#[test]
fn a_commit_waits_for_what_is_mapped_in_its_own_transaction() {
    let scene = Scene::new();
    let tree = &scene.tree;
    let other = tree
        .mkdir(scene.area, name("u"), new(0o755))
        .expect("begins");
    let (marker, _marker) = scene.create(scene.top, ".commit");
    let (written, first) = scene.create(scene.top, "a");
    let second = tree
        .open_for(written.attr.ino, Access::Write)
        .expect("opens");
    let _read = tree.open(scene.put(scene.top, "b", b"x")).expect("opens");
    let (_, _elsewhere) = scene.create(other.attr.ino, "c");
    let before = |ino| tree.written_before_commit(ino);
    assert_eq!(before(marker.attr.ino), [written.attr.ino]);
    assert_eq!(
        before(written.attr.ino),
        [0; 0],
        "an fsync of it commits nothing"
    );
    assert_eq!(before(ROOT_INO), [0; 0]);
    let both = before(scene.top);
    assert!(
        both.contains(&written.attr.ino) && both.len() == 2,
        "{both:?}"
    );
    tree.release(first.handle);
    assert_eq!(before(marker.attr.ino), [written.attr.ino]);
    tree.release(second.handle);
    assert_eq!(before(marker.attr.ino), [0; 0]);
}

#[test]
fn a_failed_rename_to_the_marker_is_undone_whatever_was_there() {
    for (replacing, marker) in [
        (Replacing::Yes, false),
        (Replacing::Yes, true),
        (Replacing::No, false),
        (Replacing::Exchange, true),
    ] {
        let scene = Scene::new();
        let below = scene
            .tree
            .mkdir(scene.top, name("_d"), new(0o755))
            .expect("can be made");
        let below = below.attr.ino;
        let ino = scene.put(below, "m", b"wrong");
        let there = marker.then(|| scene.put(scene.top, ".commit", b"{}"));
        let rename = || {
            let renamed =
                scene
                    .tree
                    .rename(below, name("m"), scene.top, name(".commit"), replacing);
            errno(renamed)
        };
        for _ in 0..2 {
            assert_eq!(rename(), libc::EINVAL, "{replacing:?} {marker}");
            assert_eq!(scene.state(), "failed");
            assert_eq!(scene.lookup(below, "m"), ino);
            let found = scene.tree.lookup(scene.top, name(".commit"));
            assert_eq!(found.ok().map(|entry| entry.attr.ino), there);
            let rows = list(&scene.tree, "@staging/t").expect("can be listed");
            assert_eq!(rows.len(), 2 + usize::from(marker), "{rows:?}");
        }
        // Mended, it commits, and nothing is left of what it replaced.
        scene
            .tree
            .setattr(
                ino,
                None,
                Changes {
                    size: Some(0),
                    ..KEEP
                },
            )
            .expect("can be cut");
        let rows = parquet(&batch([("id", longs([1]))]));
        scene.put(scene.top, "a.parquet", &rows);
        assert_eq!(rename(), 0);
        assert_eq!(scene.state(), "committed");
        assert_eq!(scene.lookup(scene.top, ".commit"), ino);
        let mut rows = list(&scene.tree, "@staging/t").expect("can be listed");
        rows.sort();
        assert_eq!(rows, [".commit", ".status", "_d", "a.parquet"]);
        assert_eq!(scene.fsync(ino), 0, "the first answer again");
        assert_eq!(
            list(&scene.tree, "@latest").expect("can be listed").len(),
            1
        );
    }
}

#[test]
fn a_marker_that_is_a_directory_commits_nothing() {
    let scene = Scene::new();
    let tree = &scene.tree;
    tree.mkdir(scene.top, name("d"), new(0o755))
        .expect("can be made");
    let renamed = tree.rename(
        scene.top,
        name("d"),
        scene.top,
        name(".commit"),
        Replacing::Yes,
    );
    assert_ne!(errno(renamed), 0);
    assert_eq!(list(tree, "@staging/t").unwrap(), [".status", "d"]);
    let made = tree
        .mkdir(scene.top, name(".commit"), new(0o755))
        .expect("is a name");
    tree.fsyncdir(made.attr.ino).expect("an ordinary fsync");
    assert_eq!(list(tree, "@v0").unwrap(), Vec::<String>::new());
    assert_eq!(errno(tree.lookup(ROOT_INO, name("@v1"))), libc::ENOENT);
}

#[test]
fn listings_begin_anew_at_their_beginning_only() {
    let scene = Scene::new();
    let tree = &scene.tree;
    scene.put(scene.top, "a", b"");
    let handle = tree.opendir(scene.top).expect("opens");
    let rows = |offset, most: usize| {
        let mut names = Vec::new();
        let mut next = offset;
        tree.readdir(handle, offset, true, &mut |row| {
            if names.len() == most {
                return ControlFlow::Break(());
            }
            assert!(row.entry.is_none(), "nothing is looked up for a listing");
            names.push(row.name.to_str().expect("text").to_owned());
            next = row.next_offset;
            ControlFlow::Continue(())
        })
        .expect("can be listed");
        (names, next)
    };
    let (first, next) = rows(0, 3);
    assert_eq!(first, [".", "..", ".status"]);
    scene.put(scene.top, "b", b"");
    assert_eq!(rows(next, 9).0, ["a"], "the listing goes on as it began");
    assert_eq!(rows(0, 9).0.len(), 5, "and anew with what is there now");
    assert_eq!(rows(u64::MAX >> 1, 9).0, Vec::<String>::new());
    tree.releasedir(handle);
}

#[test]
fn hostile_requests_are_errors() {
    let scene = Scene::new();
    let tree = &scene.tree;
    let ino = scene.put(scene.top, "f", b"x");
    for wrong in ["", ".", "..", "a/b", "../../escape", "a\0b"] {
        let wrong = name(wrong);
        assert_ne!(errno(tree.lookup(scene.top, wrong)), 0);
        assert_ne!(errno(tree.mkdir(scene.top, wrong, new(0o755))), 0);
        assert_ne!(errno(tree.mkdir(scene.area, wrong, new(0o755))), 0);
        assert_ne!(errno(tree.unlink(scene.top, wrong)), 0);
        assert_ne!(errno(tree.rmdir(scene.area, wrong)), 0);
        let renamed = tree.rename(scene.top, name("f"), scene.top, wrong, Replacing::Yes);
        assert_ne!(errno(renamed), 0);
        assert_ne!(errno(tree.link(ino, scene.top, wrong)), 0);
        let made = tree.create(scene.top, wrong, new(0o644), Access::Write, true);
        assert_ne!(errno(made), 0);
    }
    assert_eq!(list(tree, "@staging/t").unwrap(), [".status", "f"]);
    let range = Range {
        offset: u64::MAX,
        length: u64::MAX,
    };
    assert_eq!(errno(tree.write(ino, 999, b"x", 0)), libc::EBADF);
    assert_eq!(errno(tree.fsync(ino, 999, false)), libc::EBADF);
    assert_eq!(errno(tree.allocate(ino, 999, 0, range)), libc::EBADF);
    assert_eq!(errno(tree.seek(999, Seek::Data, 0)), libc::EBADF);
    assert_eq!(
        errno(tree.copy_range(ino, (999, 0), (999, 0), 1)),
        libc::EBADF
    );
    assert_eq!(errno(tree.fsyncdir(ino)), libc::ENOTDIR);
    assert_eq!(errno(tree.mkdir(ino, name("d"), new(0o755))), libc::ENOTDIR);
    assert_eq!(errno(tree.open(scene.top)), libc::EISDIR);
    let opened = tree.open_for(ino, Access::ReadWrite).expect("opens");
    assert_ne!(errno(tree.allocate(ino, opened.handle, 0, range)), 0);
    assert_ne!(errno(tree.write(ino, opened.handle, b"x", u64::MAX)), 0);
    let hole = tree.seek(opened.handle, Seek::Hole, u64::MAX);
    assert!(!matches!(hole, Ok(Some(_))), "{hole:?}");
    let cut = Changes {
        size: Some(u64::MAX),
        ..KEEP
    };
    assert_ne!(errno(tree.setattr(ino, Some(opened.handle), cut)), 0);
    assert_eq!(errno(tree.setattr(ino, Some(999), cut)), libc::EBADF);
    let latest = scene.lookup(ROOT_INO, "@info");
    let latest = scene.lookup(latest, "latest");
    let reading = tree.open(latest).expect("opens");
    assert_eq!(
        errno(tree.write(latest, reading.handle, b"x", 0)),
        libc::EROFS
    );
    let copied = tree.copy_range(ino, (reading.handle, 0), (opened.handle, 0), 1);
    assert_eq!(errno(copied), libc::EOPNOTSUPP);
    assert_eq!(errno(tree.open_for(latest, Access::Write)), libc::EROFS);
    assert_eq!(errno(tree.setattr(latest, None, cut)), libc::EROFS);
}

/// What somebody puts into the directory on the disk is not followed out of it.
#[test]
fn planted_links_and_pipes_are_refused() {
    let scene = Scene::new();
    let tree = &scene.tree;
    symlink("/etc", scene.on_disk().join("out")).expect("can be made");
    symlink("/etc/passwd", scene.on_disk().join("file")).expect("can be made");
    for planted in ["out", "file"] {
        assert_eq!(errno(tree.lookup(scene.top, name(planted))), libc::EPERM);
        let made = tree.create(scene.top, name(planted), new(0o644), Access::Write, false);
        assert_eq!(errno(made), libc::ESTALE);
    }
    assert_eq!(
        list(tree, "@staging/t").unwrap().len(),
        3,
        "they are not hidden"
    );
    tree.unlink(scene.top, name("out"))
        .expect("but can be removed");
    tree.unlink(scene.top, name("file"))
        .expect("but can be removed");
    tree.rmdir(scene.area, name("t")).expect("is empty");
    assert_eq!(errno(tree.lookup(scene.area, name("t"))), libc::ENOENT);
    // Who is still inside finds nothing, and no error that is none.
    assert_eq!(errno(tree.lookup(scene.top, name("f"))), libc::ENOENT);
    assert_eq!(
        errno(tree.mkdir(scene.top, name("d"), new(0o755))),
        libc::ENOENT
    );
}
