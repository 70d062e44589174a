//! Files that are whole and durable before anybody finds them under their names.

use std::os::fd::{AsRawFd, OwnedFd};

use rustix::fs::{self, AtFlags, CWD, FsWord, Mode, OFlags, RenameFlags};
use rustix::io::{Errno, Result};
use uuid::Uuid;

use super::super::super::PutOutcome;

/// The longest name a file can have, in bytes, on the file systems of Linux.
pub(super) const NAME_MAX: usize = 255;

/// The end of the names of temporaries. Not that of others' (Spark's are `.TARGET.UUID.tmp`), so
/// that it can be told whose they are.
pub(super) const ENDING: &str = ".deltafs.tmp";

/// ext2 to ext4.
const EXT: FsWord = 0xef53;

/// Where fsync makes a file durable that has no name yet: ext, XFS and tmpfs. btrfs is none of them: it
/// logs nothing of such a file, and may then log the name that it gets with no content.
const UNNAMED_IS_DURABLE: [FsWord; 3] = [EXT, 0x5846_5342, 0x0102_1994];

/// A file that is whole and fsynced, and has no name, or one of its own, which is removed on drop.
#[derive(Debug)]
pub(super) struct Temporary<'a> {
    dir: &'a OwnedFd,
    file: OwnedFd,
    name: Option<String>,
    /// Whether a name is not durable together with the number of names.
    counts_apart: bool,
}

impl<'a> Temporary<'a> {
    /// A file without a name, of which a crash leaves nothing; `None` where the file system cannot
    /// have any.
    pub(super) fn unnamed(dir: &'a OwnedFd, content: &[u8]) -> Result<Option<Temporary<'a>>> {
        let kind = fs::fstatfs(dir)?.f_type;
        if !UNNAMED_IS_DURABLE.contains(&kind) {
            return Ok(None);
        }
        let flags = OFlags::WRONLY | OFlags::TMPFILE | OFlags::CLOEXEC;
        let file = match fs::openat(dir, c".", flags, Mode::from_raw_mode(0o666)) {
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => return Ok(None),
            file => file?,
        };
        fill(&file, content)?;
        Ok(Some(Temporary {
            dir,
            file,
            name: None,
            counts_apart: kind == EXT,
        }))
    }

    /// A file with a name of its own, which a crash may leave, and which readers of the directory
    /// ignore.
    pub(super) fn named(dir: &'a OwnedFd, target: &str, content: &[u8]) -> Result<Temporary<'a>> {
        let name = temporary_name(target);
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = fs::openat(dir, &name, flags, Mode::from_raw_mode(0o666))?;
        let temporary = Temporary {
            dir,
            file,
            name: Some(name),
            counts_apart: false,
        };
        fill(&temporary.file, content)?;
        Ok(temporary)
    }

    /// Gives the file a name unless that is taken; it keeps the one it may have.
    pub(super) fn link_to(&self, name: &str) -> Result<PutOutcome> {
        let linked = match &self.name {
            Some(own) => fs::linkat(self.dir, own, self.dir, name, AtFlags::empty()),
            None => {
                let own = format!("/proc/self/fd/{}", self.file.as_raw_fd());
                fs::linkat(CWD, own, self.dir, name, AtFlags::SYMLINK_FOLLOW)
            }
        };
        match linked {
            Ok(()) => Ok(PutOutcome::Created),
            // On NFS a repeated request whose first answer was lost fails although it was done.
            Err(_) if self.is_linked_as(name) => Ok(PutOutcome::Created),
            Err(Errno::EXIST) => Ok(PutOutcome::AlreadyExists),
            Err(errno) => Err(errno),
        }
    }

    /// To be called when a file without a name has got one, before that is made durable: without a
    /// journal, which ext need not have, the name would lead to a file that is removed for having none.
    pub(super) fn settle(&self) -> Result<()> {
        match self.counts_apart {
            true => fs::fsync(&self.file),
            false => Ok(()),
        }
    }

    fn is_linked_as(&self, name: &str) -> bool {
        let found = fs::statat(self.dir, name, AtFlags::SYMLINK_NOFOLLOW);
        match (fs::fstat(&self.file), found) {
            (Ok(own), Ok(other)) => own.st_dev == other.st_dev && own.st_ino == other.st_ino,
            _ => false,
        }
    }

    /// Moves the file, which has a name, to another one unless that is taken.
    pub(super) fn rename_to(&mut self, name: &str) -> Result<PutOutcome> {
        let own = self.name.as_deref().ok_or(Errno::NOENT)?;
        match fs::renameat_with(self.dir, own, self.dir, name, RenameFlags::NOREPLACE) {
            Ok(()) => {
                self.name = None;
                Ok(PutOutcome::Created)
            }
            Err(Errno::EXIST) => Ok(PutOutcome::AlreadyExists),
            Err(errno) => Err(errno),
        }
    }

    /// Moves the file to another name, whatever has that.
    pub(super) fn replace(mut self, name: &str) -> Result<()> {
        let own = match &self.name {
            Some(own) => own.as_str(),
            None => {
                let own = temporary_name(name);
                if self.link_to(&own)? == PutOutcome::AlreadyExists {
                    return Err(Errno::EXIST);
                }
                self.name = Some(own);
                self.settle()?;
                self.name.as_deref().ok_or(Errno::NOENT)?
            }
        };
        fs::renameat(self.dir, own, self.dir, name)?;
        self.name = None;
        Ok(())
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            // What stays is removed when it is old.
            let _ = fs::unlinkat(self.dir, name, AtFlags::empty());
        }
    }
}

fn fill(file: &OwnedFd, content: &[u8]) -> Result<()> {
    let mut rest = content;
    while !rest.is_empty() {
        match rustix::io::write(file, rest) {
            Ok(0) => return Err(Errno::IO),
            Ok(count) => rest = &rest[count..],
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    fs::fsync(file)
}

/// `.TARGET.UUID` and [`ENDING`], the target cut so that the whole is a name that a file can have.
pub(in super::super) fn temporary_name(target: &str) -> String {
    let uuid = Uuid::new_v4();
    let room = NAME_MAX - format!("..{uuid}{ENDING}").len();
    let target = &target[..target.floor_char_boundary(room)];
    format!(".{target}.{uuid}{ENDING}")
}

/// Whether a name is one of [`temporary_name`].
pub(super) fn is_temporary_name(name: &str) -> bool {
    let stem = name
        .strip_prefix('.')
        .and_then(|name| name.strip_suffix(ENDING));
    let uuid = stem.and_then(|stem| stem.rsplit_once('.'));
    uuid.is_some_and(|(target, uuid)| !target.is_empty() && Uuid::try_parse(uuid).is_ok())
}
