//! Notes: small files that are written over in place, whose names need not be made durable anew.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::os::fd::OwnedFd;

use rustix::fs::{self, Mode, OFlags};

use super::directory::{RECORD_MAX, read_all};

/// A checksum in front of a note tells whether all of it is there.
const CHECKSUM: usize = 4;

/// Writes a note in place of the one before.
pub(super) fn write_note(mut file: &File, note: &[u8]) -> io::Result<()> {
    let mut content = crc32fast::hash(note).to_le_bytes().to_vec();
    content.extend_from_slice(note);
    file.set_len(0)?;
    file.seek(SeekFrom::Start(0))?;
    file.write_all(&content)
}

/// The note that is there; `None` where there is none, or not all of one.
pub(super) fn read_note(mut file: &File) -> io::Result<Option<Vec<u8>>> {
    file.seek(SeekFrom::Start(0))?;
    let content = read_all(file, RECORD_MAX)?;
    let Some((checksum, note)) = content.split_first_chunk::<CHECKSUM>() else {
        return Ok(None);
    };
    let is_whole = crc32fast::hash(note) == u32::from_le_bytes(*checksum);
    Ok(is_whole.then(|| note.to_vec()))
}

/// Opens a note, which `create` may make.
pub(super) fn open_note(
    directory: &OwnedFd,
    name: &str,
    create: OFlags,
) -> rustix::io::Result<File> {
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | create;
    fs::openat(directory, name, flags, Mode::from_raw_mode(0o600)).map(File::from)
}
