//! Directories: names, and what is done with them.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use rustix::fs::{self, AtFlags, CWD, Dir, FileType, Gid, Mode, OFlags, RenameFlags, Uid};
use rustix::io::Errno;

use super::error::{failed, failed_on};
use super::node::effective;
use super::{Access, Kind, Node, Owner, PosixError, Stat};

/// The bit that makes what is created in a directory belong to the directory's group.
const SET_GID: u16 = 0o2000;

/// A directory, held by an `O_PATH` descriptor.
#[derive(Debug)]
pub struct Directory {
    node: Node,
}

/// What a new node is to be like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewFile {
    /// Permission bits, the caller's umask already taken away.
    pub permissions: u16,
    /// The caller. In a set-gid directory the group is the directory's.
    pub owner: Owner,
}

/// What a rename does with what has the new name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replacing {
    /// It is replaced.
    Yes,
    /// There must be nothing: EEXIST.
    No,
    /// It gets the old name.
    Exchange,
}

/// A row of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The name.
    pub name: OsString,
    /// The inode number on the device.
    pub inode: u64,
    /// What kind of node has the name; `None` where the file system does not say.
    pub kind: Option<Kind>,
}

impl Directory {
    /// Opens a directory by its path, of which the last part may not be a symbolic link.
    pub fn open(path: &Path) -> Result<Directory, PosixError> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = fs::openat(CWD, path, flags, Mode::empty())
            .map_err(failed_on("open", path.as_os_str()))?;
        Ok(Directory {
            node: Node::new(fd),
        })
    }

    /// Another hold on an open directory.
    pub fn of(directory: impl AsFd) -> Result<Directory, PosixError> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = fs::openat(directory, c".", flags, Mode::empty()).map_err(failed("open"))?;
        Ok(Directory {
            node: Node::new(fd),
        })
    }

    /// Opens a directory by its path, after making it and those above it where they are missing.
    pub fn open_or_make(path: &Path) -> Result<Directory, PosixError> {
        match Directory::open(path) {
            Err(error) if error.is_not_found() => {}
            opened => return opened,
        }
        if let Some(parent) = path.parent() {
            Directory::open_or_make(parent)?;
        }
        match fs::mkdirat(CWD, path, Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST) => Directory::open(path),
            Err(errno) => Err(failed_on("mkdir", path.as_os_str())(errno)),
        }
    }

    /// A node as the directory that it is; ENOTDIR when it is none.
    pub fn from_node(node: Node) -> Result<Directory, PosixError> {
        match node.stat()?.kind {
            Kind::Directory => Ok(Directory { node }),
            Kind::File | Kind::Other => Err(failed("open")(Errno::NOTDIR)),
        }
    }

    /// The directory as a node, with its attributes.
    pub fn node(&self) -> &Node {
        &self.node
    }

    /// Its attributes.
    pub fn stat(&self) -> Result<Stat, PosixError> {
        self.node.stat()
    }

    /// Another hold on the same directory.
    pub fn try_clone(&self) -> Result<Directory, PosixError> {
        let fd = self
            .node
            .fd()
            .try_clone_to_owned()
            .map_err(|error| PosixError::new("open", OsStr::new(""), error))?;
        Ok(Directory {
            node: Node::new(fd),
        })
    }

    /// What has a name here, a symbolic link as such.
    pub fn child(&self, name: &OsStr) -> Result<Node, PosixError> {
        let failed = failed_on("open", name);
        check(name).map_err(&failed)?;
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = fs::openat(self.node.fd(), name, flags, Mode::empty()).map_err(failed)?;
        Ok(Node::new(fd))
    }

    /// The directory that has a name here; ENOTDIR when it is none.
    pub fn directory(&self, name: &OsStr) -> Result<Directory, PosixError> {
        Directory::from_node(self.child(name)?)
    }

    /// The attributes of what has a name here.
    pub fn stat_child(&self, name: &OsStr) -> Result<Stat, PosixError> {
        let failed = failed_on("stat", name);
        check(name).map_err(&failed)?;
        let stat = fs::statat(self.node.fd(), name, AtFlags::SYMLINK_NOFOLLOW);
        Ok(stat.map_err(failed)?.into())
    }

    /// The attributes of the directory above.
    pub fn stat_parent(&self) -> Result<Stat, PosixError> {
        let stat = fs::statat(self.node.fd(), c"..", AtFlags::SYMLINK_NOFOLLOW);
        Ok(stat.map_err(failed("stat"))?.into())
    }

    /// Makes a file, which must not be there yet, and opens it: also for a use that its permission
    /// bits rule out.
    pub fn create(&self, name: &OsStr, new: NewFile, access: Access) -> Result<File, PosixError> {
        let failed = failed_on("create", name);
        check(name).map_err(&failed)?;
        let permissions = effective(Kind::File, new.permissions);
        let flags = access.flags()
            | OFlags::CREATE
            | OFlags::EXCL
            | OFlags::NOFOLLOW
            | OFlags::NOCTTY
            | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(permissions.into());
        let fd = fs::openat(self.node.fd(), name, flags, mode).map_err(&failed)?;
        let settled = self.settle(&fd, permissions, new.owner);
        if let Err(errno) = settled {
            // Nobody has seen it yet.
            let _ = fs::unlinkat(self.node.fd(), name, AtFlags::empty());
            return Err(failed(errno));
        }
        Ok(File::from(fd))
    }

    /// Gives a new open file its owner and, against this process's umask, its permission bits.
    fn settle(&self, fd: &OwnedFd, permissions: u16, owner: Owner) -> Result<(), Errno> {
        let stat = Stat::from(fs::fstat(fd)?);
        let (uid, gid) = self.ownership(&stat, owner)?;
        if uid.is_some() || gid.is_some() {
            may_fail_for_group(uid, fs::fchown(fd, uid, gid))?;
        }
        if stat.permissions != permissions {
            fs::fchmod(fd, Mode::from_raw_mode(permissions.into()))?;
        }
        Ok(())
    }

    /// Which of user and group have to be set for a new node to belong to `owner`.
    fn ownership(&self, stat: &Stat, owner: Owner) -> Result<(Option<Uid>, Option<Gid>), Errno> {
        let parent = Stat::from(fs::fstat(self.node.fd())?);
        let gid = match parent.permissions & SET_GID {
            0 => owner.gid,
            _ => parent.owner.gid,
        };
        let uid = (stat.owner.uid != owner.uid).then(|| Uid::from_raw(owner.uid));
        let gid = (stat.owner.gid != gid).then(|| Gid::from_raw(gid));
        Ok((uid, gid))
    }

    /// Makes a directory, which must not be there yet.
    pub fn make_directory(&self, name: &OsStr, new: NewFile) -> Result<Directory, PosixError> {
        let failed = failed_on("mkdir", name);
        check(name).map_err(&failed)?;
        let mode = Mode::from_raw_mode((new.permissions & 0o1777).into());
        fs::mkdirat(self.node.fd(), name, mode).map_err(&failed)?;
        self.settle_directory(name, new).inspect_err(|_| {
            let _ = fs::unlinkat(self.node.fd(), name, AtFlags::REMOVEDIR);
        })
    }

    fn settle_directory(&self, name: &OsStr, new: NewFile) -> Result<Directory, PosixError> {
        let failed = failed_on("mkdir", name);
        let directory = self.directory(name)?;
        let stat = directory.stat()?;
        let parent = self.stat()?;
        let (uid, gid) = self.ownership(&stat, new.owner).map_err(&failed)?;
        if uid.is_some() || gid.is_some() {
            let flags = AtFlags::EMPTY_PATH;
            let changed = fs::chownat(directory.node.fd(), c"", uid, gid, flags);
            may_fail_for_group(uid, changed).map_err(&failed)?;
        }
        let permissions = (new.permissions & 0o1777) | (parent.permissions & SET_GID);
        if directory.stat()?.permissions != permissions {
            directory.node.set_permissions(permissions)?;
        }
        Ok(directory)
    }

    /// Removes the name of a file.
    pub fn unlink(&self, name: &OsStr) -> Result<(), PosixError> {
        let failed = failed_on("unlink", name);
        check(name).map_err(&failed)?;
        fs::unlinkat(self.node.fd(), name, AtFlags::empty()).map_err(failed)
    }

    /// Removes an empty directory.
    pub fn remove_directory(&self, name: &OsStr) -> Result<(), PosixError> {
        let failed = failed_on("rmdir", name);
        check(name).map_err(&failed)?;
        fs::unlinkat(self.node.fd(), name, AtFlags::REMOVEDIR).map_err(failed)
    }

    /// Moves what has a name here to another name or directory of the same file system.
    pub fn rename(
        &self,
        name: &OsStr,
        to: &Directory,
        new_name: &OsStr,
        replacing: Replacing,
    ) -> Result<(), PosixError> {
        let failed = failed_on("rename", name);
        check(name)
            .and_then(|()| check(new_name))
            .map_err(&failed)?;
        let flags = match replacing {
            Replacing::Yes => RenameFlags::empty(),
            Replacing::No => RenameFlags::NOREPLACE,
            Replacing::Exchange => RenameFlags::EXCHANGE,
        };
        let (from, to) = (self.node.fd(), to.node.fd());
        // File systems without renameat2 still have renameat.
        match replacing {
            Replacing::Yes => fs::renameat(from, name, to, new_name),
            _ => fs::renameat_with(from, name, to, new_name, flags),
        }
        .map_err(failed)
    }

    /// Gives a file another name.
    pub fn link(&self, name: &OsStr, file: &Node) -> Result<(), PosixError> {
        let failed = failed_on("link", name);
        check(name).map_err(&failed)?;
        let flags = AtFlags::SYMLINK_FOLLOW;
        fs::linkat(CWD, file.magic_link(), self.node.fd(), name, flags).map_err(failed)
    }

    /// All names, without `.` and `..`, in no order.
    pub fn rows(&self) -> Result<Vec<Row>, PosixError> {
        let failed = failed("list");
        let mut rows = Vec::new();
        for entry in Dir::new(self.reopened().map_err(&failed)?).map_err(&failed)? {
            let entry = entry.map_err(&failed)?;
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            rows.push(Row {
                name: OsString::from_vec(name.to_vec()),
                inode: entry.ino(),
                kind: match entry.file_type() {
                    FileType::Unknown => None,
                    kind => Some(Kind::of(kind)),
                },
            });
        }
        Ok(rows)
    }

    /// Makes the names durable.
    pub fn sync(&self) -> Result<(), PosixError> {
        let failed = failed("fsync");
        let directory = self.reopened().map_err(&failed)?;
        match fs::fsync(directory) {
            // A file system without the notion: names are durable as they are made.
            Err(Errno::INVAL) => Ok(()),
            done => done.map_err(failed),
        }
    }

    /// The directory, open for reading.
    fn reopened(&self) -> Result<OwnedFd, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        fs::openat(self.node.fd(), c".", flags, Mode::empty())
    }
}

/// A process that is not root can give files only to groups it is in: then they keep its own, as
/// long as the user is right.
fn may_fail_for_group(uid: Option<Uid>, changed: Result<(), Errno>) -> Result<(), Errno> {
    match changed {
        Err(Errno::PERM) if uid.is_none() => Ok(()),
        done => done,
    }
}

/// Refuses what is not one name.
fn check(name: &OsStr) -> Result<(), Errno> {
    match name.as_bytes() {
        b"" => Err(Errno::NOENT),
        b"." | b".." => Err(Errno::INVAL),
        bytes if bytes.contains(&b'/') || bytes.contains(&0) => Err(Errno::INVAL),
        _ => Ok(()),
    }
}
