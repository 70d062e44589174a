//! Data files as another writer writes them.
//!
//! `DELTAFS_PROPERTY_WRITER` is a command, run by the shell, such as
//! `python3 tests/property/pyarrow_writer.py`. It gets lines of a path and a number on its standard
//! input, writes the file at the path anew, in a way that the number decides, and answers each with
//! the line `done`.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{LazyLock, Mutex};

struct Writer {
    /// Kept so that the process ends with this one: its input closes.
    _child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

static WRITER: LazyLock<Option<Mutex<Writer>>> = LazyLock::new(|| {
    let command = std::env::var("DELTAFS_PROPERTY_WRITER").ok()?;
    let mut child = Command::new("sh")
        .args(["-c", &command])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the other writer starts");
    Some(Mutex::new(Writer {
        input: child.stdin.take().expect("it is piped"),
        output: BufReader::new(child.stdout.take().expect("it is piped")),
        _child: child,
    }))
});

/// The file as another writer writes it; as it is where there is none.
pub fn rewritten(bytes: Vec<u8>, seed: u64) -> Vec<u8> {
    let Some(writer) = &*WRITER else {
        return bytes;
    };
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    std::fs::write(file.path(), bytes).expect("it can be written");
    let mut writer = writer.lock().expect("no case panicked while it waited");
    writeln!(writer.input, "{} {seed}", file.path().display()).expect("the writer runs");
    let mut answer = String::new();
    let read = writer.output.read_line(&mut answer);
    read.expect("the other writer answers");
    assert_eq!(answer, "done\n", "the other writer failed");
    std::fs::read(file.path()).expect("it is still there")
}
