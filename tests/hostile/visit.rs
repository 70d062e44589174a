//! Looks at everything that a table has to show, and asserts what holds for every table.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use deltafs::base::clock::now_ms;
use deltafs::errno;
use deltafs::snapshot::Table;
use deltafs::tree::{Ino, NodeKind, ROOT_INO, Tree, TreeError, TreeOptions};
use deltafs::view::{Layout, View, ViewOptions};

use super::allocations;
use super::support::{open_root, read, tree_of};

/// What files outside the table hold: no node may show it.
pub const SECRET: &[u8] = b"what lies outside the table";

/// Opens the table at `root` and looks at all of it. Returns how many data files were listed.
pub fn visit(root: &Path) -> usize {
    let files = match open_root(root) {
        Ok(table) => {
            look_at_versions(&table);
            layouts()
                .into_iter()
                .map(|options| look_at_tree(&table, options))
                .sum()
        }
        Err(error) => {
            told(&error.to_string());
            0
        }
    };
    allocations::check();
    files
}

/// The ways in which a tree can look.
pub fn layouts() -> [TreeOptions; 3] {
    let of = |view, layout| TreeOptions {
        view: ViewOptions {
            view,
            layout,
            ..ViewOptions::default()
        },
        ..TreeOptions::default()
    };
    [
        of(View::Logical, Layout::Flat),
        of(View::Logical, Layout::Hive),
        of(View::Raw, Layout::Flat),
    ]
}

/// An error message of bounded length.
fn told(message: &str) {
    assert!(!message.is_empty());
    assert!(
        message.len() < 100_000,
        "{} bytes: {}",
        message.len(),
        &message[..200]
    );
}

fn look_at_versions(table: &Arc<Table>) {
    let generation = table.current();
    let beyond = [
        generation.newest(),
        generation.newest().wrapping_add(1),
        u64::MAX,
    ];
    for version in generation.rebuildable().into_iter().flatten().chain(beyond) {
        match generation.snapshot(version) {
            Ok(snapshot) => {
                assert_eq!(snapshot.version(), version);
                let _ = generation.checksum_problem(&snapshot);
                let _ = generation.size_of(&snapshot);
                let _ = generation.num_records(snapshot.files());
                if let Err(error) = snapshot.readable() {
                    told(&error.to_string());
                }
                let files = generation.files();
                let mut keys = HashSet::new();
                for id in snapshot.files() {
                    let file = files.get(id);
                    assert!(
                        keys.insert((file.path, file.absolute)),
                        "twice: {}",
                        file.path
                    );
                }
            }
            Err(error) => told(&error.to_string()),
        }
        let _ = generation.timestamp(version);
        let _ = generation.commit_info(version);
    }
    for at in [i64::MIN, -1, 0, 1_700_000_000_000, now_ms(), i64::MAX] {
        if let Err(error) = generation.version_at("then", at, now_ms()) {
            told(&error.to_string());
        }
    }
}

/// Lists and reads all of a tree. Returns how many data files were listed.
pub fn look_at_tree(table: &Arc<Table>, options: TreeOptions) -> usize {
    let layout = options.view.layout;
    let tree = tree_of(table, options);
    let mut files = 0;
    for (name, ino, kind) in listed(&tree, ROOT_INO).unwrap_or_default() {
        if name == "@info" {
            // It is the same in all of them.
            if layout == Layout::Hive {
                look_at_info(&tree, ino);
            }
            continue;
        }
        assert_eq!(kind, NodeKind::Directory, "{name}");
        files += look_at_directory(&tree, ino);
    }
    files
}

/// What `@info` tells of a version may be an error, if not a panic.
fn look_at_info(tree: &Tree, ino: Ino) {
    for (_, ino, kind) in listed(tree, ino).expect("@info can be listed") {
        if kind == NodeKind::File {
            let _ = read(tree, ino);
            continue;
        }
        for file in ["schema.json", "detail.json", "files.jsonl", "commit.json"] {
            match tree.lookup(ino, OsStr::new(file)) {
                Ok(entry) => {
                    let _ = read(tree, entry.attr.ino);
                }
                Err(error) => told(&error.to_string()),
            }
        }
    }
}

fn look_at_directory(tree: &Tree, ino: Ino) -> usize {
    attributes(tree, ino);
    let rows = match listed(tree, ino) {
        Ok(rows) => rows,
        Err(error) => {
            assert_ne!(errno::of_tree(&error), 0);
            told(&error.to_string());
            return 0;
        }
    };
    let mut files = 0;
    for (name, ino, kind) in rows {
        match kind {
            NodeKind::Directory => files += look_at_directory(tree, ino),
            NodeKind::File => {
                files += 1;
                attributes(tree, ino);
                match read(tree, ino) {
                    Ok(bytes) => {
                        let leak = bytes.windows(SECRET.len()).any(|window| window == SECRET);
                        assert!(!leak, "{name} shows what lies outside the table");
                    }
                    Err(error) => told(&error.to_string()),
                }
            }
            NodeKind::Symlink => panic!("{name} is a symlink"),
        }
    }
    files
}

fn attributes(tree: &Tree, ino: Ino) {
    tree.getattr(ino)
        .expect("a node that was looked up has attributes");
    for name in tree.listxattr(ino).unwrap_or_default() {
        // What Linux allows.
        assert!(name.len() <= 255 && !name.contains('\0'), "{name:?}");
        let value = tree.getxattr(ino, OsStr::new(&name)).unwrap_or_default();
        assert!(value.len() <= 65_536, "{name}: {} bytes", value.len());
    }
}

/// The rows of a directory; each name is one that a directory can have, and is found by look-up.
fn listed(tree: &Tree, ino: Ino) -> Result<Vec<(String, Ino, NodeKind)>, TreeError> {
    let handle = tree.opendir(ino)?;
    let mut rows = Vec::new();
    tree.readdir(handle, 0, false, &mut |row| {
        if row.name != "." && row.name != ".." || row.next_offset > 2 {
            rows.push((
                row.name.to_str().expect("text").to_owned(),
                row.ino,
                row.kind,
            ));
        }
        ControlFlow::Continue(())
    })?;
    tree.releasedir(handle);
    let mut names = HashSet::new();
    for (name, ino_listed, kind) in &rows {
        assert!(!matches!(name.as_str(), "" | "." | ".."), "{name:?}");
        assert!(name.len() <= 255 && !name.contains(['/', '\0']), "{name:?}");
        assert!(names.insert(name.clone()), "{name:?} is listed twice");
        let entry = tree
            .lookup(ino, OsStr::new(name))
            .unwrap_or_else(|error| panic!("{name:?} is listed and not found: {error}"));
        assert_eq!(
            (entry.attr.ino, entry.attr.kind),
            (*ino_listed, *kind),
            "{name:?}"
        );
    }
    Ok(rows)
}
