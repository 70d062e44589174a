//! What processes have left that were killed while they made a file.

use std::os::fd::OwnedFd;

use rustix::fs::{self, AtFlags, FileType};
use rustix::io::{Errno, Result};

use super::temporary::is_temporary_name;
use crate::base::clock::TimestampMs;

/// Removes the temporaries of ours directly in a directory that were last written to before a time,
/// and returns how many. Should somebody be at one yet after so long, he finds it gone, and fails
/// without having made anything.
pub(in super::super) fn remove_leftovers(dir: &OwnedFd, before: TimestampMs) -> Result<usize> {
    let mut removed = 0;
    for entry in fs::Dir::read_from(dir)? {
        let entry = entry?;
        let name = entry.file_name();
        if !name.to_str().is_ok_and(is_temporary_name) {
            continue;
        }
        let gone = fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW).and_then(|stat| {
            let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
            match is_file && stat.st_mtime.saturating_mul(1000) < before {
                true => fs::unlinkat(dir, name, AtFlags::empty()).map(|()| true),
                false => Ok(false),
            }
        });
        match gone {
            Ok(gone) => removed += usize::from(gone),
            Err(Errno::NOENT) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(removed)
}
