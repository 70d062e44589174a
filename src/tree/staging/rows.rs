//! Listings of `@staging` and below.

use std::ffi::{OsStr, OsString};
use std::ops::ControlFlow;
use std::sync::Arc;

use parking_lot::Mutex;

use super::{STATUS_NAME, Staged, staged_ino, status_ino};
use crate::staging::Staging;
use crate::storage::posix::Kind;
use crate::tree::node::STAGING_INO;
use crate::tree::{DirEntry, Ino, NodeKind, ROOT_INO, TreeError};

/// An open directory in `@staging`: its names are read when a listing begins, and again when it
/// begins anew.
pub(in crate::tree) struct StagedRows {
    directory: Listed,
    rows: Mutex<Arc<[Row]>>,
}

enum Listed {
    Transactions(Arc<Staging>),
    Directory(Arc<Staged>),
}

struct Row {
    name: OsString,
    ino: Ino,
    kind: NodeKind,
}

impl StagedRows {
    /// Lists the transactions.
    pub(in crate::tree) fn transactions(staging: Arc<Staging>) -> StagedRows {
        StagedRows {
            directory: Listed::Transactions(staging),
            rows: Mutex::new([].into()),
        }
    }

    /// Lists a directory of a transaction.
    pub(in crate::tree) fn directory(staged: Arc<Staged>) -> Result<StagedRows, TreeError> {
        staged.directory()?;
        Ok(StagedRows {
            directory: Listed::Directory(staged),
            rows: Mutex::new([].into()),
        })
    }

    /// Offers the rows behind `offset`, which is the position of a row, `.` and `..` included. None
    /// comes with attributes: the kernel looks up those it wants.
    pub(in crate::tree) fn read(
        &self,
        offset: u64,
        take: &mut dyn FnMut(&DirEntry<'_>) -> ControlFlow<()>,
    ) -> Result<(), TreeError> {
        let rows = match offset {
            0 => {
                let rows: Arc<[Row]> = self.look()?.into();
                *self.rows.lock() = rows.clone();
                rows
            }
            _ => self.rows.lock().clone(),
        };
        let skip = usize::try_from(offset).unwrap_or(usize::MAX);
        for (at, row) in rows.iter().enumerate().skip(skip) {
            let taken = take(&DirEntry {
                name: &row.name,
                ino: row.ino,
                kind: row.kind,
                next_offset: at as u64 + 1,
                entry: None,
            });
            if taken.is_break() {
                break;
            }
        }
        Ok(())
    }

    fn look(&self) -> Result<Vec<Row>, TreeError> {
        match &self.directory {
            Listed::Transactions(staging) => Ok(transactions(staging)),
            Listed::Directory(staged) => staged.rows(),
        }
    }
}

fn directory_row(name: &str, ino: Ino) -> Row {
    Row {
        name: name.into(),
        ino,
        kind: NodeKind::Directory,
    }
}

fn transactions(staging: &Staging) -> Vec<Row> {
    let mut rows = vec![
        directory_row(".", STAGING_INO),
        directory_row("..", ROOT_INO),
    ];
    for name in staging.names() {
        // One may end while the names are gone through.
        let Some(stat) = staging.get(&name).and_then(|is| is.files().stat().ok()) else {
            continue;
        };
        rows.push(Row {
            name,
            ino: staged_ino(stat.inode),
            kind: NodeKind::Directory,
        });
    }
    rows
}

impl Staged {
    fn rows(&self) -> Result<Vec<Row>, TreeError> {
        let directory = self.directory()?;
        let parent = match self.is_top() {
            true => STAGING_INO,
            false => staged_ino(directory.stat_parent()?.inode),
        };
        let mut rows = vec![directory_row(".", self.ino()), directory_row("..", parent)];
        if self.is_top() {
            rows.push(Row {
                name: STATUS_NAME.into(),
                ino: status_ino(self.identity.1),
                kind: NodeKind::File,
            });
        }
        for row in directory.rows()? {
            if self.is_status(&row.name) {
                continue;
            }
            let kind = match row.kind {
                Some(kind) => kind,
                None => match directory.stat_child(OsStr::new(&row.name)) {
                    Ok(stat) => stat.kind,
                    // Gone since it was read.
                    Err(error) if error.is_not_found() => continue,
                    Err(error) => return Err(error.into()),
                },
            };
            rows.push(Row {
                ino: staged_ino(row.inode),
                name: row.name,
                kind: match kind {
                    Kind::Directory => NodeKind::Directory,
                    Kind::File | Kind::Other => NodeKind::File,
                },
            });
        }
        Ok(rows)
    }
}
