//! Mounting and unmounting through `fusermount3`, the set-uid helper for those who are not root.

use std::io::{self, IoSliceMut, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};

use super::FuseError;

const PROGRAM: &str = "fusermount3";

/// Mounts with `options` (comma-separated, escaped) and returns the connected `/dev/fuse`.
pub(super) fn mount(mountpoint: &Path, options: &str) -> Result<OwnedFd, FuseError> {
    let (ours, theirs) = UnixStream::pair().map_err(|source| failed(mountpoint, source))?;
    // `dup` leaves out close-on-exec, so that the child inherits this one descriptor.
    let inherited = rustix::io::dup(&theirs).map_err(|errno| failed(mountpoint, errno.into()))?;
    drop(theirs);
    let mut child = Command::new(PROGRAM)
        .arg("-o")
        .arg(options)
        .arg("--")
        .arg(mountpoint)
        .env("_FUSE_COMMFD", inherited.as_raw_fd().to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|source| FuseError::NoFusermount { source })?;
    drop(inherited);

    let received = receive(&ours);
    let message = child.stderr.take().map_or_else(String::new, |mut stderr| {
        let mut message = Vec::new();
        match stderr.read_to_end(&mut message) {
            Ok(_) => String::from_utf8_lossy(&message).trim().to_owned(),
            Err(error) => error.to_string(),
        }
    });
    let status = child.wait().map_err(|source| failed(mountpoint, source))?;
    match received {
        Ok(Some(fd)) if status.success() => Ok(fd),
        Ok(_) => {
            let message = if message.is_empty() {
                status.to_string()
            } else {
                message
            };
            Err(refused(mountpoint, message))
        }
        Err(source) => Err(failed(mountpoint, source)),
    }
}

/// Unmounts; with `lazy`, also when it is in use.
pub(super) fn unmount(mountpoint: &Path, lazy: bool) -> Result<(), FuseError> {
    let output = Command::new(PROGRAM)
        .arg(if lazy { "-uz" } else { "-u" })
        .arg("--")
        .arg(mountpoint)
        .stdin(Stdio::null())
        .output()
        .map_err(|source| FuseError::NoFusermount { source })?;
    if output.status.success() {
        return Ok(());
    }
    let message = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    if message.contains("busy") {
        return Err(FuseError::Busy {
            mountpoint: mountpoint.to_owned(),
        });
    }
    let message = if message.is_empty() {
        output.status.to_string()
    } else {
        message
    };
    Err(refused(mountpoint, message))
}

fn refused(mountpoint: &Path, message: String) -> FuseError {
    let hint = if message.contains("/dev/fuse: Permission denied") {
        "; only root may use FUSE here: `chmod 666 /dev/fuse` opens it to all, as it usually is, or \
         run as root"
    } else if message.contains("user_allow_other") {
        "; add that line to the file, or mount as root, to let other users or root in"
    } else if message.contains("not found in /etc/mtab") {
        "; another user has mounted it: who that was, or root, can unmount it"
    } else if message.contains("no write access to mountpoint") {
        "; mount on a directory of your own, or as root"
    } else {
        ""
    };
    FuseError::Fusermount {
        mountpoint: mountpoint.to_owned(),
        message,
        hint,
    }
}

fn failed(mountpoint: &Path, source: io::Error) -> FuseError {
    FuseError::Mount {
        mountpoint: mountpoint.to_owned(),
        source,
    }
}

/// The descriptor that comes with the helper's one message; `None` when it ends without one.
fn receive(socket: &UnixStream) -> io::Result<Option<OwnedFd>> {
    let mut byte = [0u8];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let message = loop {
        let flags = RecvFlags::CMSG_CLOEXEC;
        match recvmsg(
            socket,
            &mut [IoSliceMut::new(&mut byte)],
            &mut control,
            flags,
        ) {
            Err(rustix::io::Errno::INTR) => continue,
            other => break other?,
        }
    };
    if message.bytes == 0 {
        return Ok(None);
    }
    Ok(control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut fds) => fds.next(),
        _ => None,
    }))
}
