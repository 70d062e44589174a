//! What stands directly in a directory.

use rustix::fs::{self, AtFlags, FileType, OFlags, RawDir, Stat};
use rustix::io::{Errno, Result};

use super::super::ObjectMeta;
use super::beneath::Root;
use super::read;

/// Directory entries are read this many bytes at a time: about 1,500 names of commit files a
/// system call.
const BUFFER_BYTES: usize = 64 * 1024;

/// A name that is not a directory's.
struct Entry {
    name: String,
    kind: FileType,
}

/// The names in `dir` greater than `after`, sorted. Directories are left out; symlinks are not
/// followed and so stay, whatever they lead to. Names that are not UTF-8 are skipped: no log
/// entry can name them.
pub(super) fn names(root: &Root, dir: &str, after: Option<&str>) -> Result<Vec<String>> {
    let fd = root.open_beneath(dir, OFlags::RDONLY | OFlags::DIRECTORY)?;
    let mut names: Vec<String> = entries(&fd, after)?
        .into_iter()
        .map(|entry| entry.name)
        .collect();
    names.sort_unstable();
    Ok(names)
}

/// The objects in `dir` whose names are greater than `after`, sorted by name.
///
/// A symlink that leads to a file has that file's size and time. One that cannot be followed
/// stands with its own, so that a log with such an entry is not taken for one without it: reading
/// it says why it cannot be read.
pub(super) fn objects(root: &Root, dir: &str, after: Option<&str>) -> Result<Vec<ObjectMeta>> {
    let fd = root.open_beneath(dir, OFlags::RDONLY | OFlags::DIRECTORY)?;
    let mut objects = Vec::new();
    for entry in entries(&fd, after)? {
        let path = match dir {
            "" => entry.name.clone(),
            _ => format!("{dir}/{}", entry.name),
        };
        let own = match fs::statat(&fd, &entry.name, AtFlags::SYMLINK_NOFOLLOW) {
            // Removed since the directory was read.
            Err(Errno::NOENT) => continue,
            stat => stat?,
        };
        let stat = match entry.kind {
            FileType::Symlink => followed(root, &path).unwrap_or(own),
            _ => own,
        };
        if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
            objects.push(read::meta(path, &stat));
        }
    }
    objects.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    Ok(objects)
}

fn followed(root: &Root, path: &str) -> Option<Stat> {
    let fd = root.open_beneath(path, OFlags::PATH).ok()?;
    fs::fstat(fd).ok()
}

/// The entries of a directory that are not directories, in the order of the directory.
fn entries(dir: &std::os::fd::OwnedFd, after: Option<&str>) -> Result<Vec<Entry>> {
    let mut buffer = Vec::with_capacity(BUFFER_BYTES);
    let mut raw = RawDir::new(dir, buffer.spare_capacity_mut());
    let mut entries = Vec::new();
    while let Some(entry) = raw.next() {
        let entry = entry?;
        let mut kind = entry.file_type();
        if kind == FileType::Directory {
            continue;
        }
        let Ok(name) = entry.file_name().to_str() else {
            continue;
        };
        // Where the file system gives no kinds, not even those two of itself and its parent.
        if matches!(name, "." | "..") || after.is_some_and(|after| name <= after) {
            continue;
        }
        if kind == FileType::Unknown {
            kind = match fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
                Err(Errno::NOENT) => continue,
                stat => FileType::from_raw_mode(stat?.st_mode),
            };
            if kind == FileType::Directory {
                continue;
            }
        }
        entries.push(Entry {
            name: name.to_owned(),
            kind,
        });
    }
    Ok(entries)
}
