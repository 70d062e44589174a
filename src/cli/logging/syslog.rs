//! The system log: datagrams to `/dev/log`, which systemd's journal and every syslog read.

use std::io::{self, Write};
use std::os::unix::net::UnixDatagram;
use std::sync::Arc;

use tracing::{Level, Metadata};
use tracing_subscriber::fmt::MakeWriter;

const SOCKET: &str = "/dev/log";

/// The facility "daemon" (syslog(3)), shifted to its place in a priority.
const FACILITY: u8 = 3 << 3;

/// A connection to the system log.
#[derive(Debug, Clone)]
pub(super) struct Syslog {
    socket: Arc<UnixDatagram>,
}

impl Syslog {
    /// `None` where there is no system log.
    pub(super) fn connect() -> Option<Syslog> {
        let socket = UnixDatagram::unbound().ok()?;
        socket.connect(SOCKET).ok()?;
        // A log that does not keep up loses lines rather than stop the file system.
        socket.set_nonblocking(true).ok()?;
        Some(Syslog {
            socket: Arc::new(socket),
        })
    }
}

impl<'a> MakeWriter<'a> for Syslog {
    type Writer = Line;

    fn make_writer(&'a self) -> Line {
        Line {
            socket: Arc::clone(&self.socket),
            level: Level::INFO,
        }
    }

    fn make_writer_for(&'a self, meta: &Metadata<'_>) -> Line {
        Line {
            socket: Arc::clone(&self.socket),
            level: *meta.level(),
        }
    }
}

/// Writes each buffer it gets, which is one formatted event, as one datagram.
#[derive(Debug)]
pub(super) struct Line {
    socket: Arc<UnixDatagram>,
    level: Level,
}

impl Write for Line {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let datagram = datagram(self.level, std::process::id(), buffer);
        // After a restart of the logger the old connection is refused and a new one is not.
        if self.socket.send(&datagram).is_err() && self.socket.connect(SOCKET).is_ok() {
            self.socket.send(&datagram)?;
        }
        Ok(buffer.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// `<priority>deltafs[pid]: text`.
fn datagram(level: Level, pid: u32, text: &[u8]) -> Vec<u8> {
    let severity = match level {
        Level::ERROR => 3,
        Level::WARN => 4,
        Level::INFO => 6,
        Level::DEBUG | Level::TRACE => 7,
    };
    let mut datagram = format!("<{}>deltafs[{pid}]: ", FACILITY | severity).into_bytes();
    datagram.extend_from_slice(text.trim_ascii());
    datagram
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn priority_and_name_stand_before_the_text() {
        assert_eq!(
            datagram(Level::WARN, 7, b" WARN x\n"),
            b"<28>deltafs[7]: WARN x"
        );
        assert_eq!(datagram(Level::ERROR, 7, b"x"), b"<27>deltafs[7]: x");
    }
}
