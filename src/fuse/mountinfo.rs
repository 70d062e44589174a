//! The list of mounts, `/proc/self/mountinfo` (proc_pid_mountinfo(5)).

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use super::FuseError;
use super::host;

/// A device number: major, minor.
pub type Device = (u32, u32);

/// One mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MountEntry {
    /// Number of the mount, unique while it lives.
    pub id: u64,
    /// Device number of the file system.
    pub device: Device,
    /// Where it is mounted, as seen from the root of this process.
    pub mountpoint: PathBuf,
    /// Type, with subtype: `fuse.deltafs`.
    pub fs_type: String,
    /// What is mounted, as the file system calls it.
    pub source: OsString,
    /// Options of the mount and of the file system, comma-separated.
    pub options: String,
}

/// The mounts this process sees, in the order they were made.
pub fn read() -> Result<Vec<MountEntry>, FuseError> {
    let content = host::read(Path::new("/proc/self/mountinfo"))
        .map_err(|source| FuseError::MountInfo { source })?;
    Ok(parse(&content))
}

/// The entries of a mountinfo file. A line of another form is none of ours and is left out.
pub fn parse(content: &[u8]) -> Vec<MountEntry> {
    content
        .split(|&byte| byte == b'\n')
        .filter_map(parse_line)
        .collect()
}

/// The mount that a path which is a mountpoint shows: the last one made there.
pub fn top_at<'a>(entries: &'a [MountEntry], mountpoint: &Path) -> Option<&'a MountEntry> {
    entries
        .iter()
        .rev()
        .find(|entry| entry.mountpoint == mountpoint)
}

fn parse_line(line: &[u8]) -> Option<MountEntry> {
    let mut fields = line.split(|&byte| byte == b' ');
    let id = text(fields.next()?)?.parse().ok()?;
    let _parent = fields.next()?;
    let (major, minor) = std::str::from_utf8(fields.next()?).ok()?.split_once(':')?;
    let device = (major.parse().ok()?, minor.parse().ok()?);
    let _root = fields.next()?;
    let mountpoint = PathBuf::from(OsString::from_vec(unescape(fields.next()?)));
    let mount_options = text(fields.next()?)?;
    // Optional fields (propagation) up to a lone dash.
    fields.by_ref().find(|&field| field == b"-")?;
    let fs_type = text(fields.next()?)?;
    let source = OsString::from_vec(unescape(fields.next()?));
    let options = format!("{mount_options},{}", text(fields.next()?)?);
    Some(MountEntry {
        id,
        device,
        mountpoint,
        fs_type,
        source,
        options,
    })
}

fn text(field: &[u8]) -> Option<String> {
    String::from_utf8(unescape(field)).ok()
}

/// Undoes `\040`: a backslash and three octal digits stand for one byte.
fn unescape(field: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&byte, tail)) = rest.split_first() {
        let octal = match tail {
            [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', ..] if byte == b'\\' => {
                Some((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'))
            }
            _ => None,
        };
        match octal {
            Some(value) => {
                bytes.push(value);
                rest = &tail[3..];
            }
            None => {
                bytes.push(byte);
                rest = tail;
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: &[u8] = b"\
22 27 0:21 / /proc rw,relatime - proc proc rw\n\
36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 shared:5 - ext3 /dev/root rw,errors=continue\n\
40 27 0:44 / /mnt/a\\040b\\134c ro,nosuid,nodev - fuse.deltafs s3://bucket/my\\040table ro,user_id=0\n\
41 27 0:45 / /mnt/a\\040b\\134c ro,nosuid,nodev - fuse.deltafs /data/other ro,user_id=0\n\
\n\
nonsense\n";

    #[test]
    fn fields_are_found_behind_any_number_of_optional_ones() {
        let entries = parse(SAMPLE);
        assert_eq!(entries.len(), 4);
        assert_eq!(entries[0].fs_type, "proc");
        let ext3 = &entries[1];
        assert_eq!((ext3.id, ext3.device), (36, (98, 0)));
        assert_eq!(
            (ext3.fs_type.as_str(), ext3.source.as_os_str()),
            ("ext3", "/dev/root".as_ref())
        );
        assert_eq!(ext3.options, "rw,noatime,rw,errors=continue");
    }

    #[test]
    fn octal_escapes_are_undone() {
        let entries = parse(SAMPLE);
        assert_eq!(entries[2].mountpoint, Path::new("/mnt/a b\\c"));
        assert_eq!(entries[2].source, "s3://bucket/my table");
        assert_eq!(unescape(b"\\04x\\\\400\\011"), b"\\04x\\\\400\t");
    }

    #[test]
    fn of_stacked_mounts_the_last_one_shows() {
        let entries = parse(SAMPLE);
        assert_eq!(
            top_at(&entries, Path::new("/mnt/a b\\c")).map(|e| e.id),
            Some(41)
        );
        assert_eq!(top_at(&entries, Path::new("/mnt")), None);
    }

    #[test]
    fn this_process_has_proc_mounted() {
        let entries = read().expect("mountinfo can be read");
        assert_eq!(
            top_at(&entries, Path::new("/proc")).map(|e| e.fs_type.as_str()),
            Some("proc")
        );
    }
}
