//! Changes of names and attributes.

use std::ffi::OsStr;
use std::sync::Arc;

use super::marker::MarkerRename;
use super::{Held, Staged, marker};
use crate::staging::MARKER;
use crate::storage::posix::{self, Access, NewFile, Replacing, TimeChange};
use crate::tree::node::Node;
use crate::tree::open_files::OpenFile;
use crate::tree::{Entry, Ino, Opened, Tree, TreeError};

/// What is to become of a node's attributes; `None` leaves one as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Changes {
    /// Permission bits.
    pub permissions: Option<u16>,
    /// Owner.
    pub uid: Option<u32>,
    /// Group.
    pub gid: Option<u32>,
    /// Size in bytes.
    pub size: Option<u64>,
    /// Time of the last access.
    pub accessed: TimeChange,
    /// Time of the last modification.
    pub modified: TimeChange,
}

impl Tree {
    /// A directory that names can be made in.
    fn staged(&self, ino: Ino) -> Result<Arc<Staged>, TreeError> {
        match self.node(ino)? {
            Node::Staged(staged) => Ok(staged),
            Node::Staging => Err(TreeError::NotPermitted {
                reason: "@staging holds transactions only, which mkdir begins and rmdir ends"
                    .to_owned(),
            }),
            _ => Err(TreeError::ReadOnly(ino)),
        }
    }

    /// Makes a directory; in `@staging`, begins a transaction. Counts as one look-up.
    pub fn mkdir(&self, parent: Ino, name: &OsStr, new: NewFile) -> Result<Entry, TreeError> {
        if let Node::Staging = self.node(parent)? {
            let mode = new.permissions.into();
            let transaction = self.staging()?.begin(name, new.owner, mode)?;
            self.staging_has_changed();
            let (staged, stat) = Staged::top(transaction)?;
            return self.remember_staged(staged, &stat);
        }
        let parent = self.staged(parent)?;
        not_status(&parent, name)?;
        let leave = parent.transaction.modify()?;
        parent.directory()?.make_directory(name, new)?;
        drop(leave);
        self.lookup_staged(&parent, name)
    }

    /// Makes an empty file. Counts as one look-up.
    pub fn mknod(&self, parent: Ino, name: &OsStr, new: NewFile) -> Result<Entry, TreeError> {
        let parent = self.staged(parent)?;
        not_status(&parent, name)?;
        let leave = parent.transaction.modify()?;
        parent.directory()?.create(name, new, Access::Write)?;
        drop(leave);
        self.lookup_staged(&parent, name)
    }

    /// Makes a file and opens it. Counts as one look-up. [`TreeError::Raced`] when there is one by
    /// now and `exclusive` does not forbid that.
    pub fn create(
        &self,
        parent: Ino,
        name: &OsStr,
        new: NewFile,
        access: Access,
        exclusive: bool,
    ) -> Result<(Entry, Opened), TreeError> {
        let parent = self.staged(parent)?;
        not_status(&parent, name)?;
        let _leave = parent.transaction.modify()?;
        let file = match parent.directory()?.create(name, new, access) {
            Err(error) if error.errno() == libc::EEXIST && !exclusive => {
                return Err(TreeError::Raced);
            }
            created => created?,
        };
        let (staged, stat) = parent.child(name)?;
        let entry = self.remember_staged(staged, &stat)?;
        let Some(Node::Staged(staged)) = self.inodes.get(entry.attr.ino) else {
            return Err(TreeError::UnknownInode(entry.attr.ino));
        };
        staged.about_to_open()?;
        let opened = self.opened_staged(&staged, file, access);
        Ok((entry, opened))
    }

    /// Removes the name of a file. `.status` comes back at once, so that `rm -r` finds nothing
    /// that it cannot remove.
    pub fn unlink(&self, parent: Ino, name: &OsStr) -> Result<(), TreeError> {
        let parent = self.staged(parent)?;
        if parent.is_status(name) {
            return Ok(());
        }
        let _leave = parent.transaction.removing()?;
        let removed = parent.child(name);
        parent.directory()?.unlink(name)?;
        self.name_gone(removed.ok().as_ref().map(|(removed, _)| removed));
        Ok(())
    }

    /// Removes an empty directory; in `@staging`, ends a transaction without files.
    pub fn rmdir(&self, parent: Ino, name: &OsStr) -> Result<(), TreeError> {
        if let Node::Staging = self.node(parent)? {
            self.staging()?.remove(name)?;
            self.staging_has_changed();
            return Ok(());
        }
        let parent = self.staged(parent)?;
        let _leave = parent.transaction.removing()?;
        Ok(parent.directory()?.remove_directory(name)?)
    }

    /// Moves a name within a transaction. Where it makes something the marker, it commits, and is
    /// undone when that fails.
    pub fn rename(
        &self,
        parent: Ino,
        name: &OsStr,
        new_parent: Ino,
        new_name: &OsStr,
        replacing: Replacing,
    ) -> Result<(), TreeError> {
        let from = self.staged(parent)?;
        let to = self.staged(new_parent)?;
        if !Arc::ptr_eq(&from.transaction, &to.transaction) {
            return Err(TreeError::OtherTransaction);
        }
        if from.is_status(name) || to.is_status(new_name) {
            return Err(TreeError::NotPermitted {
                reason: ".status is kept by the transaction".to_owned(),
            });
        }
        let (from_directory, to_directory) = (from.directory()?, to.directory()?);
        if to.is_top() && new_name == MARKER {
            let from = (from_directory, name);
            return MarkerRename::begin(&to.transaction, from, replacing)?.commit();
        }
        if replacing == Replacing::Exchange && from.is_top() && name == MARKER {
            let to = (to_directory, new_name);
            return MarkerRename::begin(&from.transaction, to, replacing)?.commit();
        }
        let _leave = from.transaction.modify()?;
        let replaced = match replacing {
            Replacing::Yes => to.child(new_name).ok(),
            Replacing::No | Replacing::Exchange => None,
        };
        from_directory.rename(name, to_directory, new_name, replacing)?;
        self.name_gone(replaced.as_ref().map(|(replaced, _)| replaced));
        Ok(())
    }

    /// Gives a file another name in its transaction. Counts as one look-up. The marker has no
    /// second name: an `O_SYNC` write to a file that is open already would not commit.
    pub fn link(&self, ino: Ino, new_parent: Ino, new_name: &OsStr) -> Result<Entry, TreeError> {
        let parent = self.staged(new_parent)?;
        let file = match self.node(ino)? {
            Node::Staged(file) => file,
            _ => return Err(TreeError::OtherTransaction),
        };
        if !Arc::ptr_eq(&file.transaction, &parent.transaction) {
            return Err(TreeError::OtherTransaction);
        }
        not_status(&parent, new_name)?;
        if parent.is_top() && new_name == MARKER || marker::may_be(&file) {
            return Err(TreeError::NotPermitted {
                reason: ".commit cannot be a hard link: create it, or rename a file to it"
                    .to_owned(),
            });
        }
        let leave = parent.transaction.modify()?;
        parent.directory()?.link(new_name, file.file()?)?;
        drop(leave);
        self.lookup_staged(&parent, new_name)
    }

    /// Changes attributes. `handle` is the open file through which they are changed, if there is
    /// one.
    pub fn setattr(
        &self,
        ino: Ino,
        handle: Option<u64>,
        changes: Changes,
    ) -> Result<Entry, TreeError> {
        let staged = self.staged(ino)?;
        let leave = staged.transaction.modify()?;
        let node = staged.node();
        if changes.uid.is_some() || changes.gid.is_some() {
            node.set_owner(changes.uid, changes.gid)?;
        }
        if let Some(permissions) = changes.permissions {
            node.set_permissions(permissions)?;
        }
        if let Some(size) = changes.size {
            self.set_size(&staged, handle, size)?;
        }
        if (changes.accessed, changes.modified) != (TimeChange::Keep, TimeChange::Keep) {
            node.set_times(changes.accessed, changes.modified)?;
        }
        drop(leave);
        self.staged_attributes(&staged)
    }

    /// By way of the handle where there is one: its file may have lost the permission to be opened.
    fn set_size(&self, staged: &Staged, handle: Option<u64>, size: u64) -> Result<(), TreeError> {
        let node = staged.file()?;
        if let Some(handle) = handle
            && let OpenFile::Staged(file) = &*self.open_file(handle)?
        {
            return Ok(posix::set_size(file.file(), size)?);
        }
        Ok(node.set_size(size)?)
    }

    /// Makes the names in a directory durable.
    pub fn fsyncdir(&self, ino: Ino) -> Result<(), TreeError> {
        match self.node(ino)? {
            Node::Staged(staged) => match &staged.held {
                Held::Top | Held::Directory(_) => Ok(staged.directory()?.sync()?),
                Held::File(_) => Err(TreeError::NotADirectory(ino)),
            },
            _ => Ok(()),
        }
    }

    /// Why an extended attribute cannot be set or removed.
    pub fn refuse_attribute(&self, ino: Ino) -> TreeError {
        match self.node(ino) {
            Ok(Node::Staging | Node::Staged(_) | Node::Status(_)) => {
                TreeError::NotSupported("setting extended attributes")
            }
            Ok(_) => TreeError::ReadOnly(ino),
            Err(error) => error,
        }
    }

    /// Why a symbolic link or a special file cannot be made.
    pub fn refuse_special(&self, parent: Ino) -> TreeError {
        match self.node(parent) {
            Ok(Node::Staging | Node::Staged(_)) => TreeError::NotPermitted {
                reason: "a transaction holds files and directories only".to_owned(),
            },
            Ok(_) => TreeError::ReadOnly(parent),
            Err(error) => error,
        }
    }

    /// Whether a rename commits a transaction, which may take seconds.
    pub fn rename_commits(&self, parent: Ino, name: &OsStr, new_parent: Ino, new: &OsStr) -> bool {
        let is_marker = |directory, name: &OsStr| {
            name == MARKER
                && matches!(self.node(directory), Ok(Node::Staged(staged)) if staged.is_top())
        };
        is_marker(new_parent, new) || is_marker(parent, name)
    }
}

/// Whether something may be made under a name.
fn not_status(parent: &Staged, name: &OsStr) -> Result<(), TreeError> {
    match parent.is_status(name) {
        true => Err(TreeError::Exists(name.to_string_lossy().into_owned())),
        false => Ok(()),
    }
}
