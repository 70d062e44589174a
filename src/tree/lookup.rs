//! Finding names.

use std::ffi::OsStr;
use std::sync::Arc;

use super::file_node::FileNode;
use super::metrics::Counters;
use super::node::{
    Base, INFO_HISTORY_INO, INFO_INO, INFO_LATEST_INO, INFO_METRICS_INO, InfoFile, LATEST_INO,
    Node, STAGING_INO, directory_ino, file_ino, info_ino, join, link_ino,
};
use super::{Entry, Ino, Tree, TreeError, names};
use crate::base::Version;
use crate::base::clock::now_ms;
use crate::log::LogError;
use crate::snapshot::{Generation, SnapshotError};
use crate::view::VersionView;

impl Tree {
    /// Finds `name` in the directory `parent`. Counts as one look-up of the inode it returns.
    pub fn lookup(&self, parent: Ino, name: &OsStr) -> Result<Entry, TreeError> {
        Counters::add(&self.counters.lookups, 1);
        let node = self.node(parent)?;
        match &node {
            Node::Staging => return self.lookup_transaction(name),
            Node::Staged(staged) => return self.lookup_staged(staged, name),
            _ => {}
        }
        // Every other name is text.
        let Some(name) = name.to_str() else {
            return Err(not_found(&name.to_string_lossy(), "names are UTF-8"));
        };
        match node {
            Node::Root => self.lookup_root(name),
            Node::Info => self.lookup_info(name),
            Node::InfoVersion(generation, version) => {
                self.lookup_info_file(generation, version, name)
            }
            Node::Directory { base, path } => self.lookup_file(base, &path, name),
            Node::InfoLatest
            | Node::InfoHistory
            | Node::InfoMetrics
            | Node::InfoFile(..)
            | Node::File(_)
            | Node::Link { .. }
            | Node::Staging
            | Node::Staged(_)
            | Node::Status(_) => Err(TreeError::NotADirectory(parent)),
        }
    }

    fn lookup_root(&self, name: &str) -> Result<Entry, TreeError> {
        match name {
            "@latest" => return self.getattr(LATEST_INO),
            "@info" => return self.getattr(INFO_INO),
            "@staging" if self.options.staging.is_some() => return self.getattr(STAGING_INO),
            _ => {}
        }
        if let Some((version, canonical)) = names::parse_version(name) {
            let generation = self.version_exists(name, version)?;
            if canonical {
                let base = Base::Version(generation, version);
                let ino = directory_ino(&base, "");
                return self.remember(ino, || Node::Directory {
                    base,
                    path: "".into(),
                });
            }
            return self.remember_link(&generation, name, names::version_name(version));
        }
        let time = name
            .strip_prefix('@')
            .and_then(|text| names::parse_time(text, &self.options.timezone));
        let Some(time) = time else {
            return Err(not_found(
                name,
                "the root holds @latest, @vN, @TIME (such as @2024-01-15), @info, and @staging \
                 where the mount is not read-only",
            ));
        };
        let generation = self.table().refresh_versions()?;
        let version = generation
            .version_at(name, time, now_ms())
            .inspect_err(|error| tracing::warn!(%error, "a time names no version"))?;
        self.remember_link(&generation, name, names::version_name(version))
    }

    /// The table, when the log can rebuild `version`.
    fn version_exists(&self, name: &str, version: Version) -> Result<Arc<Generation>, TreeError> {
        let generation = self.table().refresh()?;
        if matches!(
            generation.listing().check(version),
            Err(LogError::Gap { .. })
        ) {
            // It may have been mended since the log was listed.
            generation.relist()?;
        }
        let listing = generation.listing();
        if listing
            .rebuildable()
            .iter()
            .any(|range| range.contains(&version))
        {
            return Ok(generation);
        }
        match listing.check(version) {
            Err(error) => Err(SnapshotError::from(error).into()),
            Ok(()) => Err(not_found(name, "the log cannot rebuild it")),
        }
    }

    fn remember_link(
        &self,
        generation: &Generation,
        name: &str,
        target: String,
    ) -> Result<Entry, TreeError> {
        let ino = link_ino(generation, name, &target);
        self.remember(ino, || Node::Link {
            target: target.into(),
        })
    }

    fn lookup_info(&self, name: &str) -> Result<Entry, TreeError> {
        match name {
            "latest" => self.getattr(INFO_LATEST_INO),
            "history.jsonl" => self.getattr(INFO_HISTORY_INO),
            "metrics" => self.getattr(INFO_METRICS_INO),
            _ => {
                let version = names::parse_version(&format!("@{name}"));
                let Some((version, true)) = version else {
                    return Err(not_found(
                        name,
                        "@info holds latest, history.jsonl, metrics and a directory vN for each \
                         version",
                    ));
                };
                let generation = self.version_exists(name, version)?;
                let ino = info_ino(&generation, version, None);
                self.remember(ino, || Node::InfoVersion(generation, version))
            }
        }
    }

    fn lookup_info_file(
        &self,
        generation: Arc<Generation>,
        version: Version,
        name: &str,
    ) -> Result<Entry, TreeError> {
        let file = InfoFile::ALL.into_iter().find(|file| file.name() == name);
        let Some(file) = file else {
            return Err(not_found(
                name,
                "there are schema.json, detail.json, files.jsonl and commit.json",
            ));
        };
        let ino = info_ino(&generation, version, Some(file));
        self.remember(ino, || Node::InfoFile(generation, version, file))
    }

    fn lookup_file(&self, base: Base, path: &str, name: &str) -> Result<Entry, TreeError> {
        let now = self.versions.now(&base);
        if let Ok(view) = &now
            && let Some(entry) = self.find_below(view, &base, path, name)?
        {
            return Ok(entry);
        }
        // "Names listed under @latest keep opening after the table moves on", also when the newest
        // version cannot be read; and so do the directories on the way to them.
        if matches!(base, Base::Latest) {
            if let Some(file) = self.versions.listed(path, name) {
                return Ok(self.remember_file(file, &join(path, name)));
            }
            // Tools look for hidden files of many names.
            let may_be_old = name.ends_with(".parquet") || !name.starts_with(['_', '.']);
            for earlier in self.versions.earlier(may_be_old) {
                if let Some(entry) = self.find_below(&earlier, &base, path, name)? {
                    return Ok(entry);
                }
            }
        }
        now?;
        Err(not_found(name, "no live file of this version has the name"))
    }

    /// What is called `name` in the directory `path` of `view`, which `base` shows or has shown.
    fn find_below(
        &self,
        view: &VersionView,
        base: &Base,
        path: &str,
        name: &str,
    ) -> Result<Option<Entry>, TreeError> {
        if !view.is_flat() {
            let child = join(path, name);
            if view.directories()?.contains(&child) {
                let ino = directory_ino(base, &child);
                let entry = self.remember(ino, || Node::Directory {
                    base: base.clone(),
                    path: child.into(),
                })?;
                return Ok(Some(entry));
            }
        }
        Ok(self.find_file(view, path, name))
    }

    /// A file of `view`.
    fn find_file(&self, view: &VersionView, path: &str, name: &str) -> Option<Entry> {
        let id = view.find(&view.generation().files(), path, name)?;
        Some(self.remember_file(FileNode::of(view, id), &join(path, name)))
    }

    /// [`Tree::remember`] for a file at `path` below the version directory.
    fn remember_file(&self, file: FileNode, path: &str) -> Entry {
        let ino = file_ino(&file.generation, path);
        let entry = file.entry(ino);
        self.inodes
            .remember_file(ino, entry.attr.size, || Node::File(file));
        entry
    }

    /// Tells of an inode that is about to be handed to the kernel, and counts that.
    fn remember(&self, ino: Ino, node: impl FnOnce() -> Node) -> Result<Entry, TreeError> {
        self.inodes.remember(ino, node);
        self.getattr(ino)
            .inspect_err(|_| self.inodes.forget(ino, 1))
    }
}

fn not_found(name: &str, reason: &str) -> TreeError {
    TreeError::NotFound {
        name: name.to_owned(),
        reason: reason.to_owned(),
    }
}
