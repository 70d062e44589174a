//! Small files and directories of the host system: `/proc`, `/sys`, `/dev`. Nothing of a table is
//! read here.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Dir, Mode, OFlags};

use crate::storage::posix::Owner;

/// Opens a device for reading and writing.
pub fn open_device(path: &Path) -> io::Result<File> {
    let fd = rustix::fs::open(path, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    Ok(File::from(fd))
}

/// Opens a file to append to, made with mode 0640 if it is not there.
pub fn open_log(path: &Path) -> io::Result<File> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::APPEND | OFlags::CLOEXEC;
    let fd = rustix::fs::open(path, flags, Mode::from_raw_mode(0o640))?;
    Ok(File::from(fd))
}

/// The whole content of a small file.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let fd = rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    let mut content = Vec::new();
    File::from(fd).read_to_end(&mut content)?;
    Ok(content)
}

/// Writes a setting under `/sys` or `/proc`.
pub fn write_setting(path: &Path, value: &str) -> io::Result<()> {
    let fd = rustix::fs::open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    File::from(fd).write_all(value.as_bytes())
}

/// The names in a directory, without `.` and `..`.
pub fn names(path: &Path) -> io::Result<Vec<Vec<u8>>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let fd = rustix::fs::open(path, flags, Mode::empty())?;
    let mut names = Vec::new();
    for entry in Dir::new(fd)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            names.push(name.to_vec());
        }
    }
    Ok(names)
}

/// Where a symbolic link points.
pub fn read_link(path: &Path) -> io::Result<PathBuf> {
    let target = rustix::fs::readlink(path, Vec::new())?;
    Ok(PathBuf::from(std::ffi::OsString::from_vec(
        target.into_bytes(),
    )))
}

/// `path` without symbolic links, `.` and `..`; it must exist.
pub fn canonical(path: &Path) -> io::Result<PathBuf> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let fd = rustix::fs::open(path, flags, Mode::empty())?;
    let raw = std::os::fd::AsRawFd::as_raw_fd(&fd);
    read_link(Path::new(&format!("/proc/self/fd/{raw}")))
}

/// Whether `path` is a directory, symbolic links followed.
pub fn is_directory(path: &Path) -> io::Result<bool> {
    let stat = rustix::fs::stat(path)?;
    Ok(rustix::fs::FileType::from_raw_mode(stat.st_mode).is_dir())
}

/// Owner, group and permission bits of `path`, symbolic links followed.
pub fn ownership(path: &Path) -> io::Result<(Owner, u16)> {
    let stat = rustix::fs::stat(path)?;
    let owner = Owner {
        uid: stat.st_uid,
        gid: stat.st_gid,
    };
    Ok((owner, (stat.st_mode & 0o7777) as u16))
}

/// Makes the file system at `path` answer a request that no cache answers. Waits for as long as it
/// takes.
pub fn ask(path: &Path) -> io::Result<()> {
    rustix::fs::statfs(path)?;
    Ok(())
}

/// Whether `error` says that the process behind a FUSE mount is gone.
pub fn is_disconnected(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::ENOTCONN | libc::ECONNABORTED)
    )
}
