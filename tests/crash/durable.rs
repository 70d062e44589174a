//! What is durable of a directory: what POSIX promises of it, and nothing beyond. File systems keep
//! more than that, each something else, and hide what one has forgotten to fsync.
//!
//! A file's content is as it was when the file was fsynced last, and a directory's names are as they
//! were when the directory was. What was never fsynced is empty.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::calls::{Call, Kind};

/// See the module.
pub struct Durable {
    root: PathBuf,
    root_inode: u64,
    nodes: HashMap<u64, Node>,
}

/// A file or a directory, whatever its names are.
struct Node {
    /// Open, so that its inode number stays its own.
    _held: File,
    mode: u32,
    content: Content,
}

#[derive(Clone)]
enum Content {
    File(Vec<u8>),
    Directory(BTreeMap<std::ffi::OsString, u64>),
}

/// What became of a change that was not fsynced.
pub enum Fate<'a> {
    /// All of them are lost.
    Lost,
    /// For each directory and each file, this tells whether its changes are lost.
    Mixed(&'a mut dyn FnMut() -> bool),
}

impl Durable {
    /// All that is in a directory now is durable.
    pub fn of(root: &Path) -> Durable {
        let mut durable = Durable {
            root: root.to_owned(),
            root_inode: fs::metadata(root).expect("it is there").ino(),
            nodes: HashMap::new(),
        };
        durable.walk(root);
        durable
    }

    fn walk(&mut self, path: &Path) {
        if self.synced(path) {
            for row in fs::read_dir(path).expect("it is there") {
                self.walk(&row.expect("a row").path());
            }
        }
    }

    /// To be told of each call that has been made.
    pub fn observe(&mut self, tid: libc::pid_t, call: &Call, arguments: &[u64; 6]) {
        if call.kind == Kind::Sync {
            self.synced(Path::new(&format!("/proc/{tid}/fd/{}", arguments[0])));
        }
    }

    /// What is open at `path` is durable as it is now. Whether it is a directory.
    fn synced(&mut self, path: &Path) -> bool {
        let content = content_of(path);
        if let Content::Directory(names) = &content {
            for name in names.keys() {
                self.seen(&path.join(name));
            }
        }
        let is_directory = matches!(content, Content::Directory(_));
        let (inode, node) = node(path, content);
        self.nodes.insert(inode, node);
        is_directory
    }

    /// A durable name leads there; what is there may be not durable yet.
    fn seen(&mut self, path: &Path) {
        let Ok(metadata) = fs::symlink_metadata(path) else {
            // Removed by another thread meanwhile.
            return;
        };
        if !self.nodes.contains_key(&metadata.ino()) {
            let content = match metadata.is_dir() {
                true => Content::Directory(BTreeMap::new()),
                false => Content::File(Vec::new()),
            };
            let (inode, node) = node(path, content);
            self.nodes.insert(inode, node);
        }
    }

    /// Writes what is left after a loss of power to `target`.
    pub fn write_to(&self, target: &Path, fate: &mut Fate<'_>) {
        let mut current = HashMap::new();
        if matches!(fate, Fate::Mixed(_)) {
            collect(&self.root, &mut current);
        }
        self.write_node(self.root_inode, &current, target, fate);
    }

    fn write_node(
        &self,
        inode: u64,
        current: &HashMap<u64, (u32, Content)>,
        target: &Path,
        fate: &mut Fate<'_>,
    ) {
        let durable = self
            .nodes
            .get(&inode)
            .map(|node| (node.mode, &node.content));
        let now = current.get(&inode).map(|(mode, content)| (*mode, content));
        let is_lost = match fate {
            Fate::Lost => true,
            Fate::Mixed(choose) => choose(),
        };
        let chosen = match is_lost {
            true => durable.or(now),
            false => now.or(durable),
        };
        let (mode, content) = chosen.expect("a name was seen, and so was what it names");
        match content {
            // A name without anything durable behind it: an empty file.
            Content::File(_) if durable.is_none() && is_lost => {
                fs::write(target, b"").expect("can be written");
            }
            Content::File(bytes) => fs::write(target, bytes).expect("can be written"),
            Content::Directory(names) => {
                fs::create_dir(target).expect("can be made");
                if durable.is_some() || !is_lost {
                    for (name, inode) in names {
                        self.write_node(*inode, current, &target.join(name), fate);
                    }
                }
            }
        }
        fs::set_permissions(target, fs::Permissions::from_mode(mode)).expect("it is ours");
    }
}

fn node(path: &Path, content: Content) -> (u64, Node) {
    let held = (fs::OpenOptions::new().read(true).custom_flags(libc::O_PATH))
        .open(path)
        .expect("it is there");
    let metadata = held.metadata().expect("it is open");
    let node = Node {
        _held: held,
        mode: metadata.mode() & 0o7777,
        content,
    };
    (metadata.ino(), node)
}

fn content_of(path: &Path) -> Content {
    if !path.is_dir() {
        return Content::File(fs::read(path).expect("it is there"));
    }
    let rows = fs::read_dir(path).expect("it is there");
    let names = rows.map(|row| {
        let row = row.expect("a row");
        (row.file_name(), std::os::unix::fs::DirEntryExt::ino(&row))
    });
    Content::Directory(names.collect())
}

/// All that is below `path`, as it is now.
fn collect(path: &Path, current: &mut HashMap<u64, (u32, Content)>) {
    let metadata = fs::metadata(path).expect("it is there");
    let content = content_of(path);
    if let Content::Directory(names) = &content {
        for name in names.keys() {
            collect(&path.join(name), current);
        }
    }
    current.insert(metadata.ino(), (metadata.mode() & 0o7777, content));
}
