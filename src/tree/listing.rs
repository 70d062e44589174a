//! Open directories: each listing is one snapshot.

use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use super::names::version_name;
use super::nodes::{Base, InfoFile, Node, directory_ino, file_ino, info_ino};
use super::nodes::{
    INFO_HISTORY_INO, INFO_INO, INFO_LATEST_INO, INFO_METRICS_INO, LATEST_INO, Nodes, STAGING_INO,
};
use super::staging::StagedRows;
use super::{Attr, DirEntry, Entry, Ino, NodeKind, ROOT_NAMES, TreeError, file_entry};
use crate::base::Version;
use crate::snapshot::{FileId, Generation};
use crate::view::{OpenPlan, VersionView};

/// A name that needs no work.
pub(super) struct Row {
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

/// An open directory.
pub(super) enum Listing {
    /// Names that need no work: the root and `@info`.
    Fixed {
        ino: Ino,
        parent: Ino,
        rows: Vec<Row>,
    },
    /// A version directory or one below it.
    Files {
        ino: Ino,
        parent: Ino,
        view: Arc<VersionView>,
        base: Base,
        path: Arc<str>,
        subdirectories: Vec<String>,
    },
    /// `@staging` or a directory below it.
    Staged(StagedRows),
}

impl Listing {
    /// The root: `@latest`, `@info`, `versions`, and `@staging` where there is one.
    pub(super) fn root(
        generation: &Arc<Generation>,
        versions: &[Version],
        staging: bool,
    ) -> Listing {
        let latest = Node::Directory {
            base: Base::Latest,
            path: "".into(),
        };
        let mut rows = vec![
            Row::new("@latest", LATEST_INO, latest),
            Row::new("@info", INFO_INO, Node::Info),
        ];
        if staging {
            rows.push(Row::new("@staging", STAGING_INO, Node::Staging));
        }
        rows.extend(versions.iter().map(|version| {
            let base = Base::Version(generation.clone(), *version);
            let ino = directory_ino(&base, "");
            let path = "".into();
            Row::new(version_name(*version), ino, Node::Directory { base, path })
        }));
        Listing::Fixed {
            ino: super::ROOT_INO,
            parent: super::ROOT_INO,
            rows,
        }
    }

    /// `@info`.
    pub(super) fn info(generation: &Arc<Generation>, versions: &[Version]) -> Listing {
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
        Listing::Fixed {
            ino: INFO_INO,
            parent: super::ROOT_INO,
            rows,
        }
    }

    /// `@info/vN`.
    pub(super) fn info_version(
        ino: Ino,
        generation: &Arc<Generation>,
        version: Version,
    ) -> Listing {
        let rows = InfoFile::ALL.into_iter().map(|file| {
            let ino = info_ino(generation, version, Some(file));
            let node = Node::InfoFile(generation.clone(), version, file);
            Row::new(file.name(), ino, node)
        });
        Listing::Fixed {
            ino,
            parent: INFO_INO,
            rows: rows.collect(),
        }
    }

    /// The directory `path` of a version.
    pub(super) fn files(
        ino: Ino,
        view: Arc<VersionView>,
        base: Base,
        path: Arc<str>,
    ) -> Result<Listing, TreeError> {
        let parent = match path.rsplit_once('/') {
            _ if path.is_empty() => super::ROOT_INO,
            Some((parent, _)) => directory_ino(&base, parent),
            None => directory_ino(&base, ""),
        };
        let subdirectories = if view.is_flat() {
            Vec::new()
        } else {
            view.directories()?
                .subdirectories(&path)
                .map(str::to_owned)
                .collect()
        };
        Ok(Listing::Files {
            ino,
            parent,
            view,
            base,
            path,
            subdirectories,
        })
    }

    /// Offers the rows behind `offset` to `take`. Offsets are 1 and 2 for `.` and `..`, then the
    /// position of the row.
    pub(super) fn read(
        &self,
        nodes: &Nodes,
        offset: u64,
        plus: bool,
        take: &mut dyn FnMut(&DirEntry<'_>) -> ControlFlow<()>,
    ) -> Result<(), TreeError> {
        if let Listing::Staged(rows) = self {
            return rows.read(offset, take);
        }
        let _: ControlFlow<()> = self.rows(nodes, offset, plus, take);
        Ok(())
    }

    fn rows(
        &self,
        nodes: &Nodes,
        offset: u64,
        plus: bool,
        take: &mut dyn FnMut(&DirEntry<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let (ino, parent) = match self {
            Listing::Fixed { ino, parent, .. } | Listing::Files { ino, parent, .. } => {
                (*ino, *parent)
            }
            Listing::Staged(_) => return ControlFlow::Continue(()),
        };
        for (at, (name, ino)) in [(".", ino), ("..", parent)].into_iter().enumerate() {
            if offset <= at as u64 {
                take(&DirEntry {
                    name: OsStr::new(name),
                    ino,
                    kind: NodeKind::Directory,
                    next_offset: at as u64 + 1,
                    entry: None,
                })?;
            }
        }
        let skip = offset.saturating_sub(2);
        match self {
            Listing::Fixed { rows, .. } => {
                let skip = usize::try_from(skip).unwrap_or(usize::MAX);
                for (at, row) in rows.iter().enumerate().skip(skip) {
                    let next_offset = at as u64 + 3;
                    offer_bare(
                        nodes,
                        plus,
                        &row.name,
                        row.ino,
                        next_offset,
                        &row.node,
                        take,
                    )?;
                }
                ControlFlow::Continue(())
            }
            Listing::Staged(_) => ControlFlow::Continue(()),
            Listing::Files {
                view,
                base,
                path,
                subdirectories,
                ..
            } => {
                let directories = subdirectories.len() as u64;
                for at in skip..directories {
                    let name = &subdirectories[at as usize];
                    let child = join(path, name);
                    let ino = directory_ino(base, &child);
                    let node = Node::Directory {
                        base: base.clone(),
                        path: child.into(),
                    };
                    offer_bare(nodes, plus, name, ino, at + 3, &node, take)?;
                }
                let skip = skip.saturating_sub(directories);
                let rows = FileRows {
                    nodes,
                    view,
                    path,
                    plus,
                    first_offset: directories + 3,
                };
                if view.is_flat() {
                    let files = view.files();
                    let mut ids = files.iter();
                    let Some(first) = u32::try_from(skip).ok().and_then(|skip| files.select(skip))
                    else {
                        return ControlFlow::Continue(());
                    };
                    ids.advance_to(first);
                    rows.offer(ids, skip, take)
                } else {
                    let directories = view.directories().ok();
                    let files = directories
                        .and_then(|all| all.files(path))
                        .unwrap_or_default();
                    let skipped = usize::try_from(skip).unwrap_or(usize::MAX).min(files.len());
                    rows.offer(files[skipped..].iter().copied(), skip, take)
                }
            }
        }
    }
}

/// Offers a row of which number and kind are known at once, and the rest only with work: it carries
/// attributes that the kernel must not believe for any time.
fn offer_bare(
    nodes: &Nodes,
    plus: bool,
    name: &str,
    ino: Ino,
    next_offset: u64,
    node: &Node,
    take: &mut dyn FnMut(&DirEntry<'_>) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let kind = node.kind();
    take(&DirEntry {
        name: OsStr::new(name),
        ino,
        kind,
        next_offset,
        entry: plus.then(|| Entry {
            attr: Attr::new(ino, kind, 0, 0),
            entry_ttl: ROOT_NAMES,
            attr_ttl: Duration::ZERO,
        }),
    })?;
    if plus {
        nodes.remember(ino, || node.clone());
    }
    ControlFlow::Continue(())
}

/// How many files are looked at for their sizes together.
const SIZES_AT_ONCE: usize = 64;

struct FileRows<'a> {
    nodes: &'a Nodes,
    view: &'a VersionView,
    path: &'a str,
    plus: bool,
    first_offset: u64,
}

impl FileRows<'_> {
    fn offer(
        &self,
        mut ids: impl Iterator<Item = FileId>,
        first: u64,
        take: &mut dyn FnMut(&DirEntry<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        if !self.plus {
            return self.offer_some(ids, first, take);
        }
        // The kernel asks for attributes at the start of every listing; from then on only where
        // somebody wants them.
        let wanted = first > 0;
        let mut at = first;
        loop {
            let some: Vec<FileId> = ids.by_ref().take(SIZES_AT_ONCE).collect();
            if some.is_empty() {
                return ControlFlow::Continue(());
            }
            if wanted {
                self.find_sizes(&some);
            }
            let count = some.len() as u64;
            self.offer_some(some.into_iter(), at, take)?;
            at += count;
        }
    }

    /// Looks at those of the files whose sizes are not known.
    fn find_sizes(&self, ids: &[FileId]) {
        let presentation = self.view.presentation();
        let provenance = self.view.provenance();
        let files = self.view.generation().files();
        let plans: Vec<OpenPlan> = ids
            .iter()
            .filter(|id| {
                presentation
                    .known_size(&files.get(**id), provenance)
                    .is_none()
            })
            .map(|id| presentation.plan(&files, *id, provenance))
            .collect();
        drop(files);
        presentation.sizes(&plans);
    }

    fn offer_some(
        &self,
        ids: impl Iterator<Item = FileId>,
        first: u64,
        take: &mut dyn FnMut(&DirEntry<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let generation = self.view.generation();
        let presentation = self.view.presentation();
        let provenance = self.view.provenance();
        let files = generation.files();
        let mut text = String::new();
        for (at, id) in (first..).zip(ids) {
            let file = files.get(id);
            // The inode belongs to the path below the version directory, the row to its last part.
            text.clear();
            if !self.path.is_empty() {
                text.push_str(self.path);
                text.push('/');
            }
            let start = text.len();
            self.view.name(&file, &mut text);
            let ino = file_ino(generation, &text);
            let known = match self.plus {
                true => presentation.known_size(&file, provenance),
                false => None,
            };
            // What the kernel knows it may have open, and must not be told otherwise of.
            let size = known.or_else(|| self.plus.then(|| self.nodes.size_told(ino)).flatten());
            let entry: Option<Entry> = self.plus.then(|| match known {
                Some(size) => file_entry(ino, size, file.modified),
                // Attributes that are not to be believed for any time: who wants them has the
                // kernel look the name up.
                None => Entry {
                    entry_ttl: Duration::ZERO,
                    attr_ttl: Duration::ZERO,
                    ..file_entry(ino, size.unwrap_or(0), file.modified)
                },
            });
            take(&DirEntry {
                name: OsStr::new(&text[start..]),
                ino,
                kind: NodeKind::File,
                next_offset: self.first_offset + at,
                entry,
            })?;
            if self.plus {
                let node = || Node::File {
                    generation: generation.clone(),
                    presentation: presentation.clone(),
                    provenance,
                    id,
                };
                match size {
                    Some(size) => self.nodes.remember_file(ino, size, node),
                    None => self.nodes.remember(ino, node),
                }
            }
        }
        ControlFlow::Continue(())
    }
}

/// The path of a child of a directory below a version directory.
pub(super) fn join(parent: &str, name: &str) -> String {
    if parent.is_empty() {
        name.to_owned()
    } else {
        format!("{parent}/{name}")
    }
}
