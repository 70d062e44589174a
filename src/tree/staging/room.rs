//! The room that a file takes on the disk once it has lost its last name.
//!
//! A node is held as long as the kernel knows it, and the kernel forgets one in its own time: what
//! the node held would go on taking room after `rm` has returned, and a program that removes a file
//! to make room for another finds the disk full. So a file that has no name and is not open is
//! emptied. Nobody can tell: it cannot be opened any more.

use parking_lot::Mutex;

use super::{Held, Staged};
use crate::storage::posix::PosixError;
use crate::tree::node::Node;
use crate::tree::{Tree, TreeError};

/// Whether a file is open, and whether it has been emptied for good.
#[derive(Debug, Default)]
pub(super) struct Room(Mutex<Use>);

#[derive(Debug, Default)]
struct Use {
    /// How often it is open.
    handles: usize,
    emptied: bool,
}

impl Staged {
    /// Counts an open file; [`Staged::closed`] takes it back.
    pub(super) fn about_to_open(&self) -> Result<(), TreeError> {
        let mut room = self.room.0.lock();
        match room.emptied {
            true => Err(TreeError::Removed(self.ino())),
            false => {
                room.handles += 1;
                Ok(())
            }
        }
    }

    /// One open file less.
    pub(super) fn closed(&self) {
        let mut room = self.room.0.lock();
        room.handles -= 1;
        if room.handles == 0 {
            self.give_up(&mut room);
            self.transaction.leaving().left(self.identity);
        }
    }

    /// One name less.
    fn name_gone(&self) {
        let mut room = self.room.0.lock();
        match room.handles {
            0 => self.give_up(&mut room),
            _ if self.has_no_name() => self.transaction.leaving().leaves(self.identity),
            _ => {}
        }
    }

    fn has_no_name(&self) -> bool {
        self.node().stat().is_ok_and(|stat| stat.links == 0)
    }

    /// Empties a file without a name that is not open.
    fn give_up(&self, room: &mut Use) {
        if let Held::File(node) = &self.held
            && !room.emptied
            && node
                .stat()
                .is_ok_and(|stat| stat.links == 0 && stat.size > 0)
            && !self.transaction.may_be_in_the_table()
        {
            let emptied: Result<(), PosixError> = node.set_size(0);
            match emptied {
                Ok(()) => room.emptied = true,
                // Its room is free when the kernel forgets it.
                Err(error) => tracing::debug!(%error, "a removed file is not emptied"),
            }
        }
    }
}

impl Tree {
    /// To be called for a file that has lost a name, as it was found under it.
    pub(super) fn name_gone(&self, file: Option<&Staged>) {
        if let Some(file) = file
            && let Some(Node::Staged(known)) = self.inodes.get(file.ino())
            && known.identity == file.identity
        {
            known.name_gone();
        }
    }
}
