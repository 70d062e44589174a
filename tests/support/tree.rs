//! Paths in a mounted table, without a mount.

use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::sync::Arc;

use deltafs::snapshot::Table;
use deltafs::tree::{Entry, Ino, NodeKind, ROOT_INO, Tree, TreeError, TreeOptions};

/// Mounts a table.
pub fn tree_of(table: &Arc<Table>, options: TreeOptions) -> Tree {
    Tree::new(table.clone(), options)
}

/// Looks up `path` (`@v3/region=US/part-0.parquet`, `""` for the root); symlinks are not followed.
pub fn lookup(tree: &Tree, path: &str) -> Result<Entry, TreeError> {
    let mut entry = tree.getattr(ROOT_INO)?;
    let mut link = None;
    for name in path.split('/').filter(|name| !name.is_empty()) {
        if let Some(target) = link.take() {
            entry = tree.lookup(ROOT_INO, OsStr::new(&target))?;
        }
        entry = tree.lookup(entry.attr.ino, OsStr::new(name))?;
        if entry.attr.kind == NodeKind::Symlink {
            link = Some(tree.readlink(entry.attr.ino)?);
        }
    }
    Ok(entry)
}

/// Looks up `path`; a symlink in the root is followed.
pub fn resolve(tree: &Tree, path: &str) -> Result<Entry, TreeError> {
    let entry = lookup(tree, path)?;
    match entry.attr.kind {
        NodeKind::Symlink => tree.lookup(ROOT_INO, OsStr::new(&tree.readlink(entry.attr.ino)?)),
        NodeKind::Directory | NodeKind::File => Ok(entry),
    }
}

/// The names in a directory, as listed, without `.` and `..`.
pub fn list(tree: &Tree, path: &str) -> Result<Vec<String>, TreeError> {
    let ino = resolve(tree, path)?.attr.ino;
    Ok(pages(tree, ino, usize::MAX)?
        .into_iter()
        .flatten()
        .collect())
}

/// The names in a directory without `.` and `..`, read in pages of at most `rows` rows, each from
/// the offset where the one before ended.
pub fn pages(tree: &Tree, ino: Ino, rows: usize) -> Result<Vec<Vec<String>>, TreeError> {
    let handle = tree.opendir(ino)?;
    let mut pages = Vec::new();
    let mut offset = 0;
    loop {
        let mut page = Vec::new();
        let mut left = rows;
        tree.readdir(handle, offset, false, &mut |row| {
            if left == 0 {
                return ControlFlow::Break(());
            }
            left -= 1;
            offset = row.next_offset;
            page.push(row.name.to_str().expect("text").to_owned());
            ControlFlow::Continue(())
        })?;
        if page.is_empty() {
            break;
        }
        page.retain(|name| name != "." && name != "..");
        pages.push(page);
    }
    tree.releasedir(handle);
    Ok(pages)
}

/// Every path below a directory with its kind, depth first, subdirectories before what is in them.
pub fn list_all(tree: &Tree, path: &str) -> Result<Vec<(String, NodeKind)>, TreeError> {
    let mut found = Vec::new();
    let mut left = vec![(path.to_owned(), resolve(tree, path)?.attr.ino)];
    while let Some((path, ino)) = left.pop() {
        let handle = tree.opendir(ino)?;
        let mut rows = Vec::new();
        tree.readdir(handle, 0, false, &mut |row| {
            if row.name != "." && row.name != ".." {
                rows.push((row.name.to_str().expect("text").to_owned(), row.kind));
            }
            ControlFlow::Continue(())
        })?;
        tree.releasedir(handle);
        for (name, kind) in rows {
            let child = format!("{path}/{name}");
            if kind == NodeKind::Directory {
                left.push((child.clone(), tree.lookup(ino, OsStr::new(&name))?.attr.ino));
            }
            found.push((child, kind));
        }
    }
    Ok(found)
}

/// All bytes of a file.
pub fn read(tree: &Tree, ino: Ino) -> Result<Vec<u8>, TreeError> {
    let opened = tree.open(ino)?;
    let mut content = Vec::new();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let count = tree.read(opened.handle, &mut buffer, content.len() as u64)?;
        content.extend_from_slice(&buffer[..count]);
        if count < buffer.len() {
            break;
        }
    }
    tree.release(opened.handle);
    Ok(content)
}

/// All bytes of the file at `path`: `tree_read(&tree, "@v3/part-0.parquet")`.
pub fn tree_read(tree: &Tree, path: &str) -> Result<Vec<u8>, TreeError> {
    read(tree, resolve(tree, path)?.attr.ino)
}

/// An extended attribute of the node at `path`, as text.
pub fn xattr(tree: &Tree, path: &str, name: &str) -> Result<String, TreeError> {
    let value = tree.getxattr(resolve(tree, path)?.attr.ino, OsStr::new(name))?;
    Ok(String::from_utf8(value).expect("attributes are text"))
}
