//! Removing the directory of a transaction.

use std::ffi::{CStr, CString};
use std::os::fd::OwnedFd;

use rustix::fs::{self, AtFlags};
use rustix::io::{Errno, Result};

use super::{LOCK, subdirectory};

/// Removes the directory of a transaction with all in it, its lock last: as long as anything is
/// there, nobody else can own it.
pub(super) fn remove_directory(all: &OwnedFd, id: &str) -> Result<()> {
    let directory = match subdirectory(all, id) {
        Err(Errno::NOENT) => return Ok(()),
        directory => directory?,
    };
    for entry in fs::Dir::read_from(&directory)? {
        let entry = entry?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") || name.to_bytes() == LOCK.as_bytes() {
            continue;
        }
        match fs::unlinkat(&directory, name, AtFlags::empty()) {
            Err(Errno::ISDIR | Errno::PERM) => remove_tree(&directory, name)?,
            removed => there(removed)?,
        }
    }
    there(fs::unlinkat(&directory, LOCK, AtFlags::empty()))?;
    there(fs::unlinkat(all, id, AtFlags::REMOVEDIR))
}

/// Removes `name` in `at` with all below it. Symlinks are removed, not followed. However deep it is,
/// no more than a few descriptors are open, and nothing is recursive.
fn remove_tree(at: &OwnedFd, name: &CStr) -> Result<()> {
    // The directories found, each by its path from `at`; children come after their parents.
    let mut found: Vec<Vec<CString>> = vec![vec![name.to_owned()]];
    let mut next = 0;
    while let Some(path) = found.get(next).cloned() {
        next += 1;
        let Some(directory) = descend(at, &path)? else {
            continue;
        };
        for entry in fs::Dir::read_from(&directory)? {
            let entry = entry?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            match fs::unlinkat(&directory, name, AtFlags::empty()) {
                Err(Errno::ISDIR | Errno::PERM) => {
                    found.push([path.as_slice(), &[name.to_owned()]].concat());
                }
                removed => there(removed)?,
            }
        }
    }
    for path in found.iter().rev() {
        if let Some((last, parents)) = path.split_last()
            && let Some(directory) = descend(at, parents)?
        {
            there(fs::unlinkat(
                &directory,
                last.as_c_str(),
                AtFlags::REMOVEDIR,
            ))?;
        }
    }
    Ok(())
}

/// The directory at the end of a path; `None` where it is gone.
fn descend(at: &OwnedFd, path: &[CString]) -> Result<Option<OwnedFd>> {
    let mut directory = subdirectory(at, c".")?;
    for part in path {
        match subdirectory(&directory, part.as_c_str()) {
            Err(Errno::NOENT) => return Ok(None),
            below => directory = below?,
        }
    }
    Ok(Some(directory))
}

/// What is not there need not be removed.
fn there(done: Result<()>) -> Result<()> {
    match done {
        Err(Errno::NOENT) => Ok(()),
        done => done,
    }
}
