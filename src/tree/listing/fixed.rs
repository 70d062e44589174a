//! Listings of names that need no work: the root and `@info`.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::{DOTS, Offers};
use crate::base::Version;
use crate::snapshot::Generation;
use crate::tree::names::version_name;
use crate::tree::node::{
    Base, INFO_HISTORY_INO, INFO_INO, INFO_LATEST_INO, INFO_METRICS_INO, InfoFile, LATEST_INO,
    Node, STAGING_INO, directory_ino, info_ino,
};
use crate::tree::{Ino, ROOT_INO};

/// An open directory whose names are all at hand.
pub(in crate::tree) struct FixedRows {
    ino: Ino,
    parent: Ino,
    rows: Vec<Row>,
}

struct Row {
    name: String,
    ino: Ino,
    node: Node,
}

impl Row {
    fn new(name: impl Into<String>, ino: Ino, node: Node) -> Row {
        Row {
            name: name.into(),
            ino,
            node,
        }
    }
}

impl FixedRows {
    /// See [`Listing::root`](super::Listing::root).
    pub(super) fn root(
        generation: &Arc<Generation>,
        versions: &[Version],
        staging: bool,
    ) -> FixedRows {
        let top = |base| Node::Directory {
            base,
            path: "".into(),
        };
        let mut rows = vec![
            Row::new("@latest", LATEST_INO, top(Base::Latest)),
            Row::new("@info", INFO_INO, Node::Info),
        ];
        if staging {
            rows.push(Row::new("@staging", STAGING_INO, Node::Staging));
        }
        rows.extend(versions.iter().map(|version| {
            let base = Base::Version(generation.clone(), *version);
            let ino = directory_ino(&base, "");
            Row::new(version_name(*version), ino, top(base))
        }));
        FixedRows {
            ino: ROOT_INO,
            parent: ROOT_INO,
            rows,
        }
    }

    /// See [`Listing::info`](super::Listing::info).
    pub(super) fn info(generation: &Arc<Generation>, versions: &[Version]) -> FixedRows {
        let mut rows = vec![
            Row::new("latest", INFO_LATEST_INO, Node::InfoLatest),
            Row::new("history.jsonl", INFO_HISTORY_INO, Node::InfoHistory),
            Row::new("metrics", INFO_METRICS_INO, Node::InfoMetrics),
        ];
        rows.extend(versions.iter().map(|version| {
            let ino = info_ino(generation, *version, None);
            let node = Node::InfoVersion(generation.clone(), *version);
            Row::new(format!("v{version}"), ino, node)
        }));
        FixedRows {
            ino: INFO_INO,
            parent: ROOT_INO,
            rows,
        }
    }

    /// See [`Listing::info_version`](super::Listing::info_version).
    pub(super) fn info_version(
        ino: Ino,
        generation: &Arc<Generation>,
        version: Version,
    ) -> FixedRows {
        let rows = InfoFile::ALL.into_iter().map(|file| {
            let ino = info_ino(generation, version, Some(file));
            let node = Node::InfoFile(generation.clone(), version, file);
            Row::new(file.name(), ino, node)
        });
        FixedRows {
            ino,
            parent: INFO_INO,
            rows: rows.collect(),
        }
    }

    /// Offers the rows behind `offset`.
    pub(super) fn read(&self, offset: u64, mut offers: Offers<'_>) -> ControlFlow<()> {
        offers.dots(self.ino, self.parent, offset)?;
        let skip = usize::try_from(offset.saturating_sub(DOTS)).unwrap_or(usize::MAX);
        for (at, row) in self.rows.iter().enumerate().skip(skip) {
            offers.bare(&row.name, row.ino, DOTS + 1 + at as u64, &row.node)?;
        }
        ControlFlow::Continue(())
    }
}
